"""A judge behind an HTTP endpoint: one request a question, JSON in, JSON out.

What is sent: `{"text": …, "region": …, "checks": […]}`. What has to come back within the time, with status 200:
`{"verified": [0], "outcome": "corroborates", "score": 0.9}`, `outcome` being `corroborates`, `absent` or `contradicts`.
Anything else is a failure, and nothing of it is repeated anywhere. No redirect is followed, no proxy of the environment
is used, and no more is read than an answer can need.

Whoever lists this judge sends what observers read to that endpoint. It is configured by the environment:

    JUDGE_URL      https://judge.example.org/verdicts; http is for this host alone
    JUDGE_TOKEN    sent as a bearer token, if it is set
    JUDGE_SECONDS  for one question, from its beginning to the end of the answer [3]
"""

from __future__ import annotations

import http.client
import json
import math
import os
import socket
import ssl
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from sluice.codecs.errors import UsageError
from sluice.topology.observers.interface import JudgeFailed, Verdict, verdict_of
from sluice.topology.settings.settings import Settings

MAX_ANSWER = 65_536
LATE = "the judge did not answer in time"
LOCAL = frozenset(("127.0.0.1", "::1", "localhost"))


class HttpJudge:
    """Asks the endpoint; a connection of its own for each question, since questions come from several threads."""

    def __init__(self, settings: Settings) -> None:
        """Reads the environment.

        Raises:
            UsageError: a variable is missing or wrong.
        """
        address = os.environ.get("JUDGE_URL", "")
        try:
            parts = urlsplit(address)
            self._host, self._port = parts.hostname or "", parts.port
        except ValueError:
            raise UsageError("JUDGE_URL is no URL") from None
        plain = parts.scheme == "http" and self._host in LOCAL
        if not self._host or parts.username or parts.fragment or not (plain or parts.scheme == "https"):
            raise UsageError("JUDGE_URL is wrong", expected="an https URL without a user name, or http for this host")
        self._tls = None if plain else ssl.create_default_context()
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        token = os.environ.get("JUDGE_TOKEN", "")
        if not token.isprintable() or not token.isascii():
            raise UsageError("JUDGE_TOKEN holds characters that no header can")
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
        }
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._seconds = _seconds(os.environ.get("JUDGE_SECONDS") or "3")

    def judge(self, text: str, region: str, checks: list[str]) -> Verdict:
        """See `sluice.topology.observers.interface.Judge`.

        Raises:
            JudgeFailed: the endpoint cannot be asked, is too slow, or gives no verdict.
        """
        asked = json.dumps({"text": text, "region": region, "checks": checks}).encode()
        end = time.monotonic() + self._seconds
        connection, late = self._connection(), threading.Event()
        watch: threading.Timer | None = None
        try:
            connection.connect()
            # A time-out of the socket's is for each piece that comes; a server must not win time by single bytes.
            watch = threading.Timer(end - time.monotonic(), _cut, [connection.sock, late])
            watch.daemon = True
            watch.start()
            connection.request("POST", self._target, asked, self._headers)
            answer = connection.getresponse()
            if answer.status != 200:
                raise JudgeFailed(f"the judge answers with status {answer.status}")
            data = answer.read(MAX_ANSWER + 1)
        except (OSError, http.client.HTTPException) as error:
            if late.is_set() or isinstance(error, TimeoutError):
                raise JudgeFailed(LATE) from None
            raise JudgeFailed(f"the judge cannot be asked: {type(error).__name__}") from None
        finally:
            if watch is not None:
                watch.cancel()
            connection.close()
        if late.is_set():
            raise JudgeFailed(LATE)
        if len(data) > MAX_ANSWER:
            raise JudgeFailed(f"the judge's answer is longer than {MAX_ANSWER} bytes")
        return verdict_of(data)

    def close(self) -> None:
        """Nothing is left open."""

    def _connection(self) -> http.client.HTTPConnection:
        if self._tls is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._seconds)
        return http.client.HTTPSConnection(self._host, self._port, timeout=self._seconds, context=self._tls)


def _cut(connected: socket.socket, late: threading.Event) -> None:
    """Ends a question whose time is over, wherever it is."""
    late.set()
    with suppress(OSError):
        connected.shutdown(socket.SHUT_RDWR)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 600:
        raise UsageError("JUDGE_SECONDS is wrong", expected="a number above 0, at most 600")
    return seconds
