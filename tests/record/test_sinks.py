"""Where emissions go: a file, an HTTP endpoint, Kafka; in order, and nothing lost on the way."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.record import FileSink, HttpSink, KafkaSink, Recorded, Recorder
from sluice.topology.client import FakeSluice

TRACE = ("traceparent", f"00-{'a' * 32}-{'b' * 16}-01".encode())


def record(number: int, *headers: tuple[str, bytes]) -> Recorded:
    return Recorded(f"em-{number}", b'{"emission_id":"em-%d"}' % number, headers)


class Endpoint:
    """An HTTP server that keeps what is posted, and answers as it is told."""

    def __init__(self) -> None:
        self.requests: list[tuple[dict[str, str], bytes]] = []
        self.answers: list[int] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                endpoint.requests.append((dict(self.headers), body))
                code = endpoint.answers.pop(0) if endpoint.answers else 204
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", endpoint.url + "elsewhere")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    @property
    def ids(self) -> list[list[str]]:
        return [[json.loads(line)["emission_id"] for line in body.splitlines()] for _, body in self.requests]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    made = Endpoint()
    yield made
    made.close()


def test_a_file_gets_lines_and_keeps_what_it_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Appended, readable by the owner alone, and synchronised when it is closed."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    path = tmp_path / "emissions.jsonl"
    for number in range(2):
        with FileSink(path) as sink:
            sink.put(record(number))
    assert path.read_bytes() == record(0).value + b"\n" + record(1).value + b"\n"
    assert path.stat().st_mode & 0o077 == 0
    assert len(synced) == 2


def test_a_flushed_file_has_its_lines_before_it_is_closed(tmp_path: Path) -> None:
    """Who follows it need not wait."""
    sink = FileSink(tmp_path / "a")
    sink.put(record(0))
    sink.flush()
    assert (tmp_path / "a").read_bytes() == record(0).value + b"\n"
    sink.close()
    sink.close()
    sink.flush()
    with pytest.raises(UsageError, match="closed"):
        sink.put(record(1))


def test_a_file_that_cannot_be_written_is_reported_at_once(tmp_path: Path) -> None:
    """Not when the first turn is at its end."""
    with pytest.raises(UsageError, match="cannot be written"):
        FileSink(tmp_path / "nowhere" / "a")


def test_an_endpoint_gets_lines_with_the_token(endpoint: Endpoint) -> None:
    """Records of one trace in one request, in their order."""
    with HttpSink(endpoint.url, token="t-1") as sink:
        for number in range(2):
            sink.put(record(number, TRACE))
        sink.put(record(2))
    assert endpoint.ids == [["em-0", "em-1"], ["em-2"]]
    first, second = (headers for headers, _ in endpoint.requests)
    assert first["Authorization"] == "Bearer t-1"
    assert first["Content-Type"] == "application/x-ndjson"
    assert first["Traceparent"] == TRACE[1].decode()
    assert "Traceparent" not in second


@pytest.mark.parametrize("code", [302, 401, 500])
def test_what_an_endpoint_does_not_take_is_kept(endpoint: Endpoint, code: int) -> None:
    """And sent with the next attempt; a redirection is not followed, since the token is for one address."""
    endpoint.answers = [code]
    sink = HttpSink(endpoint.url + "?key=hidden", token="t-1")
    sink.put(record(0))
    with pytest.raises(UnreachableError, match=str(code)) as raised:
        sink.flush()
    assert "hidden" not in str(raised.value)
    sink.put(record(1))
    sink.flush()
    assert endpoint.ids == [["em-0"], ["em-0", "em-1"]]


def test_an_endpoint_that_is_not_there_is_reported(endpoint: Endpoint) -> None:
    """What waits for it is bounded, and kept."""
    sink = HttpSink("http://127.0.0.1:1/", seconds=1, buffer_bytes=30)
    sink.put(record(0))
    with pytest.raises(UnreachableError, match="does not answer"):
        sink.flush()
    with pytest.raises(UnreachableError, match="no room"):
        sink.put(record(1))


@pytest.mark.parametrize(
    "url", ["ftp://a/b", "file:///etc/passwd", "https://", "http://example.org/", "https://u:p@a/"]
)
def test_addresses_that_are_unsafe_are_refused(url: str) -> None:
    """A token never goes over the network in clear."""
    with pytest.raises(UsageError):
        HttpSink(url, token="t")


def test_a_token_cannot_smuggle_headers() -> None:
    """Line ends are refused."""
    with pytest.raises(UsageError):
        HttpSink("https://example.org/", token="a\r\nX: y")


class Emitter:
    """What `KafkaSink` uses of the client."""

    def __init__(self) -> None:
        self.sent: list[tuple[bytes, Any]] = []
        self.flushed = self.closed = 0

    def emit(self, emission: bytes, timeout: float | None = None, *, headers: Any = ()) -> None:
        self.sent.append((emission, headers))

    def flush(self) -> None:
        self.flushed += 1

    def close(self) -> None:
        self.closed += 1


def test_kafka_gets_the_headers_too() -> None:
    """By the client's emitter; one that was given is not closed."""
    emitter = Emitter()
    with KafkaSink(emitter=emitter) as sink:
        sink.put(record(0, TRACE))
        sink.flush()
    assert emitter.sent == [(record(0).value, (TRACE,))]
    assert emitter.flushed == 2
    assert emitter.closed == 0
    with pytest.raises(UsageError, match="closed"):
        sink.put(record(1))


def test_what_is_recorded_is_decided_like_anything_else() -> None:
    """Through the client's emitter into a lane, which takes it."""
    fake = FakeSluice()
    with fake.emitter() as emitter, KafkaSink(emitter=emitter) as sink:
        recorder = Recorder("coding-agent", sink, clock=lambda: fake.now)
        with recorder.turn("c-1", traceparent=TRACE[1].decode()) as turn:
            turn.tool(name="Read", arguments={"file_path": "a.py"}, result="     1\tLIMIT = 42\n")
            turn.tool(
                name="Grep", arguments={"pattern": "LIMIT", "output_mode": "content"}, result="a.py:1:LIMIT = 42\n"
            )
            turn.text("`LIMIT` is 42.")
    assert fake.corroborate("c-1:0", "substrate.code.read", "substrate.grep", verified=[0]) == 2
    (admitted,) = fake.records("admitted")
    assert admitted["emission_id"] == "c-1:0"
    assert admitted["_untrusted_text"]["rendered"]
