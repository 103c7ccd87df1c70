"""Where a recorder's emissions go: memory, a file, an HTTP endpoint, or Kafka.

A sink takes records one by one and keeps their order. `flush` makes sure that they are there, or raises and keeps them;
`close` flushes and lets go. Sinks are used by one thread at a time.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self
from urllib.parse import urlsplit

from ..codecs.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    from urllib.request import OpenerDirector

BUFFER_BYTES: Final = 64_000_000
"""What `HttpSink` keeps while the endpoint does not answer."""
HTTP_SECONDS: Final = 30.0
BATCH_BYTES: Final = 4_000_000
"""Bytes of one request."""


class Recorded(NamedTuple):
    """One emission on its way.

    Attributes:
        key: its `emission_id`.
        value: JSON, one line without its end.
        headers: such as `traceparent`.
    """

    key: str
    value: bytes
    headers: tuple[tuple[str, bytes], ...] = ()


class Sink(Protocol):
    """What a recorder gives its emissions to."""

    def put(self, record: Recorded) -> None:
        """Takes a record, whose value has no end of line.

        Raises:
            SluiceError: there is no room for it, or the sink is broken; it was not taken.
        """
        ...

    def flush(self) -> None:
        """Returns once all that was taken is where it belongs.

        Raises:
            UnreachableError: it is not; what was taken is kept, and another call tries again.
        """
        ...

    def close(self) -> None:
        """Flushes, and closes what the sink opened; a second call does nothing.

        Raises:
            UnreachableError: what was taken is not all where it belongs.
        """
        ...


class _Closing(ABC):
    """Closes when the block of a `with` ends."""

    @abstractmethod
    def close(self) -> None:
        """See `Sink`."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MemorySink(_Closing):
    """A `Sink` that keeps records in `records`: for tests, and for programs that read them in the same process."""

    def __init__(self) -> None:
        self.records: list[Recorded] = []

    def put(self, record: Recorded) -> None:
        self.records.append(record)

    def flush(self) -> None:
        """See `Sink`."""

    def close(self) -> None:
        """See `Sink`."""


class FileSink(_Closing):
    """A `Sink` that appends JSON Lines to a file, which `sluice produce` reads. Headers are left out.

    When `flush` returns, the operating system has the lines; when `close` returns, they are on its disk.

    Args:
        path: of the file; it is made where there is none, readable by its owner alone.

    Raises:
        UsageError: it cannot be opened.
    """

    def __init__(self, path: str | Path) -> None:
        self._path, self._file = str(path), self._open(path)

    @staticmethod
    def _open(path: str | Path) -> IO[bytes] | None:
        try:
            return os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab")
        except OSError as error:
            raise UsageError(f"the file cannot be written: {error.strerror}", path=str(path)) from None

    def put(self, record: Recorded) -> None:
        if self._file is None:
            raise UsageError("the sink is closed", path=self._path)
        self._file.write(record.value + b"\n")

    def flush(self) -> None:
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                raise UnreachableError(f"the file cannot be written: {error.strerror}", path=self._path) from None

    def close(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            with file:
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise UnreachableError(f"the file cannot be written: {error.strerror}", path=self._path) from None


def _opener() -> OpenerDirector:
    """Opens addresses, and follows no redirect, so that the token is sent to one address only."""
    from urllib.request import HTTPRedirectHandler, build_opener  # a client of HTTP, which few recorders need

    class NoRedirects(HTTPRedirectHandler):
        def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
            return None

    return build_opener(NoRedirects)


class HttpSink(_Closing):
    """A `Sink` that posts JSON Lines (`application/x-ndjson`) at each `flush`. Records of one trace go together.

    Args:
        url: `https:`, or `http:` to this host.
        token: goes as `Authorization: Bearer`.
        seconds: to wait for an answer, in s.
        buffer_bytes: how many bytes of emissions are kept while the endpoint does not answer.

    Raises:
        UsageError: the address is none, or the token would go over the network in clear.
    """

    def __init__(
        self, url: str, token: str | None = None, *, seconds: float = HTTP_SECONDS, buffer_bytes: int = BUFFER_BYTES
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UsageError("the sink's address is none", expected="https://host/path, without a name and password")
        if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
            raise UsageError("the sink's address is not encrypted", expected="https:, or http: to this host")
        if token is not None and not (token.isascii() and token.isprintable()):
            raise UsageError("the sink's token has characters that no header takes")
        self._url, self._token, self._seconds, self._most = url, token, seconds, buffer_bytes
        self._waiting: list[Recorded] = []
        self._byte_count = 0
        self._counting = threading.Lock()  # a flush may wait in another thread while emissions come
        self._opener = _opener()

    def put(self, record: Recorded) -> None:
        if self._byte_count + len(record.value) > self._most:
            raise UnreachableError(f"{len(self._waiting)} emissions wait for the endpoint; there is no room for more")
        with self._counting:
            self._waiting.append(record)
            self._byte_count += len(record.value)

    def flush(self) -> None:
        while self._waiting:
            batch = self._batch()
            self._post(batch)
            with self._counting:
                del self._waiting[: len(batch)]
                self._byte_count -= sum(len(record.value) for record in batch)

    def _batch(self) -> list[Recorded]:
        """The first records with the same headers, as many as one request takes."""
        batch, size = [self._waiting[0]], len(self._waiting[0].value)
        for record in self._waiting[1:]:
            size += len(record.value)
            if record.headers != batch[0].headers or size > BATCH_BYTES:
                break
            batch.append(record)
        return batch

    def _post(self, batch: list[Recorded]) -> None:
        headers = {"Content-Type": "application/x-ndjson", "User-Agent": "sluice-record"}
        headers |= {name: value.decode("latin-1") for name, value in batch[0].headers}
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        body = b"".join(record.value + b"\n" for record in batch)
        from urllib.error import HTTPError
        from urllib.request import Request

        request = Request(self._url, body, headers, method="POST")
        try:
            with self._opener.open(request, timeout=self._seconds) as answer:
                answer.read(65_536)
        except HTTPError as error:
            error.close()
            raise UnreachableError(f"the endpoint answers {error.code}", path=self._shown) from None
        except (OSError, ValueError) as error:
            raise UnreachableError(f"the endpoint does not answer: {type(error).__name__}", path=self._shown) from None

    @property
    def _shown(self) -> str:
        """The address without what may be secret in it."""
        parts = urlsplit(self._url)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"

    def close(self) -> None:
        self.flush()


class _Emitter(Protocol):
    """What of the client's blocking emitter is used here."""

    def emit(self, emission: bytes, timeout: float | None = None, *, headers: Any = ()) -> Any: ...

    def flush(self) -> None: ...

    def close(self) -> None: ...


class KafkaSink(_Closing):
    """A `Sink` that sends to the topic `emissions`, by the client's emitter. The small client's installation has it.

    Args:
        bootstrap: a broker's address; without it, and without an emitter, as `sluice.toml` and the environment have it.
        emitter: an open one of the client's that is used instead; it is flushed, and not closed.

    Raises:
        UsageError: the client is not installed, or the settings are wrong.
        UnreachableError: no broker answers.
    """

    def __init__(self, bootstrap: str | None = None, *, emitter: _Emitter | None = None) -> None:
        self._owned: Any = None
        if emitter is None:
            emitter = self._owned = _opened(bootstrap)
        self._emitter: _Emitter | None = emitter

    def put(self, record: Recorded) -> None:
        if self._emitter is None:
            raise UsageError("the sink is closed")
        self._emitter.emit(record.value, headers=record.headers)

    def flush(self) -> None:
        if self._emitter is not None:
            self._emitter.flush()

    def close(self) -> None:
        emitter, self._emitter = self._emitter, None
        if emitter is not None:
            emitter.flush()
        owned, self._owned = self._owned, None
        if owned is not None:
            owned.close()


def _opened(bootstrap: str | None) -> Any:
    # Imported by its name: a program that records to a file needs no Kafka client, so this package imports none.
    try:
        client = import_module("sluice.topology.client")
    except ImportError as error:
        raise UsageError(f"the Kafka client is not installed: {error}", hint="install sluice with its broker") from None
    emitter = client.Emitter(bootstrap=bootstrap) if bootstrap is not None else client.Emitter()
    return emitter.__enter__()
