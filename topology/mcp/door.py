"""How a service of ours is reached over HTTP: its address, its TLS, how often a client may ask; without any protocol.

The adapter (http.py) and `sluice serve` stand behind the same door.
"""

from __future__ import annotations

import asyncio
import ipaddress
import signal
import socket
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import structlog
import uvicorn

from ...codecs.errors import UnreachableError, UsageError
from .sockets import connections_of
from .tokens import read_tokens

CLIENTS: Final = 10_000
"""So many clients' rates are remembered; the one that was silent longest is forgotten first."""
LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Door(NamedTuple):
    """How the transport is reached.

    Attributes:
        host: to bind to; without a file of tokens, loopback only.
        tokens: the file of tokens; None: whoever is on this machine may ask.
        allowed_hosts: besides loopback, as clients write them: `name` or `name:port`.
        allowed_origins: besides none at all and loopback's, for pages in browsers.
        rate, burst: requests a second of one client, and how many at once.
        certificate, key: of TLS; both or none.
    """

    host: str = "127.0.0.1"
    port: int = 8710
    tokens: Path | None = None
    allowed_hosts: Sequence[str] = ()
    allowed_origins: Sequence[str] = ()
    rate: float = 20.0
    burst: int = 40
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    def check(self) -> None:
        """
        Raises:
            UsageError: strangers could come in, or TLS is named by half, or by files that are of no use to it.
        """
        if self.tokens is None and not self.is_loopback:
            raise UsageError(
                "whoever reaches this address could ask",
                path="--host",
                expected="loopback, or a file of tokens besides",
                hint="`sluice mcp token new --tokens FILE` makes one, `--tokens FILE` names it",
            )
        if self.tokens is not None:
            read_tokens(self.tokens)  # or nobody would be told before the first request
        if (self.certificate is None) != (self.key is None):
            raise UsageError("a certificate and its key go together", path="--tls-cert, --tls-key")
        for file in (self.certificate, self.key):
            if file is not None and not file.is_file():
                raise UsageError("there is no such file", path=str(file))
        if self.certificate is not None and self.key is not None:
            _check_chain(self.certificate, self.key)


def _check_chain(certificate: Path, key: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_verify_locations(certificate)
    except OSError:
        raise UsageError("no certificate can be read from it", path=str(certificate), expected="PEM") from None
    try:
        context.load_cert_chain(certificate, key, password="")  # or a service would wait for somebody to type one
    except OSError:
        raise UsageError(
            "no private key of that certificate can be read from it",
            path=str(key),
            expected="PEM, without a passphrase",
        ) from None


class Rates:
    """Token buckets, one for each client: `burst` requests at once, `rate` a second in the long run."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> bool:
        """Whether this client may ask once more now."""
        now = monotonic()
        left, since = self._buckets.pop(who, (float(self._burst), now))
        left = min(float(self._burst), left + (now - since) * self._rate)
        allowed = left >= 1
        self._buckets[who] = (left - 1 if allowed else left, now)
        if len(self._buckets) > CLIENTS:
            self._buckets.popitem(last=False)
        return allowed

    def charge(self, who: str, requests: float) -> None:
        """Charges a client for further requests: it is refused until its allowance has grown back."""
        left, since = self._buckets.get(who, (float(self._burst), monotonic()))
        self._buckets[who] = (left - requests, since)


async def served(application: Application, door: Door, connections: int, of_one: int | None = None) -> None:
    """Serves an application until cancelled; what is being answered then has three seconds.

    Args:
        application: what answers.
        door: where.
        connections: so many at a time.
        of_one: of them, of one address; None: all.

    Raises:
        UnreachableError: the address cannot be bound.
    """
    if not door.is_loopback and door.certificate is None:
        log.warning("bearer tokens cross the network in clear: use --tls-cert and --tls-key, or a proxy that ends TLS")
    config = uvicorn.Config(
        application,  # pyright: ignore[reportArgumentType]  # uvicorn's own names for the same shapes
        host=door.host.strip("[]"),
        port=door.port,
        ssl_certfile=door.certificate,
        ssl_keyfile=door.key,
        log_config=None,
        access_log=False,  # what is asked is nobody's to keep
        server_header=False,
        proxy_headers=False,  # an address in a header is whatever the client says
        http=connections_of(connections, of_one or connections),
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=3,
    )
    running = _Serving(config)
    serving = asyncio.ensure_future(running.serve(sockets=[_bound(door)]))
    try:
        await asyncio.shield(serving)
    except asyncio.CancelledError:
        running.should_exit = True
        await asyncio.wait({serving}, timeout=5)
        raise


async def until_stopped(
    work: Sequence[asyncio.Task[object]],
    stop: asyncio.Event | None,
    last: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Waits until one of the tasks ends or a stop is asked for, then runs `last` and cancels the tasks.

    Args:
        work: the tasks.
        stop: asks for the stop once it is set; None: SIGINT and SIGTERM do.
        last: runs before the tasks are cancelled; None: nothing does.

    Raises:
        Exception: whatever ended a task with an error.
    """
    if stop is None:
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    tasks: list[asyncio.Task[object]] = [*work, asyncio.create_task(stop.wait(), name="until-stopped")]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()  # with the reason why it ended
    finally:
        if last is not None:
            await last()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class _Serving(uvicorn.Server):
    """Leaves signals to the process, which has a view to let go of as well."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _bound(door: Door) -> socket.socket:
    """A socket at the door's address; uvicorn would end the process where there can be none."""
    host = door.host.strip("[]")
    try:
        return socket.create_server((host, door.port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise UnreachableError(
            f"the address cannot be bound: {error.strerror}",
            path=f"{door.host}:{door.port}",
            hint="choose another with --port",
        ) from None


def headers_of(scope: Scope) -> dict[str, str]:
    """The headers of an ASGI request, with their names in small letters.

    Several of one name are one list (RFC 9110, section 5.3), so two tokens or origins are neither of them.
    """
    headers: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        between = "; " if name == "cookie" else ", "
        headers[name] = headers[name] + between + value if name in headers else value
    return headers


def without_port(host: str) -> str:
    """A `Host` header without its port; an IPv6 address without one stays whole."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host
