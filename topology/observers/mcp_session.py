"""Sessions with MCP servers, over a process's standard streams or over HTTP, bounded in bytes and time."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final, TypeVar, cast

import anyio
import httpx2
import mcp_types
from anyio.abc import Process
from mcp.client.client import Client
from mcp.client.stdio import get_default_environment
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, CallToolResult

from .operator_list import McpServer

_CHUNK: Final = 65_536
GRACE_SECONDS: Final = 1.0
"""How long a server may take to end by itself, and again after SIGTERM."""
MAX_NONSENSE: Final = 20
"""Lines that are no message: some servers log to standard output; one that does nothing else is none."""


Transport = AsyncGenerator[Any, None]
"""Yields the streams that the client wants, once."""


class Meter:
    """What a session may still send: bytes, and lines that are no message.

    Args:
        size: bytes between two calls of `reset`, and in one line, event or body.
        broken: told why, once, when either is exceeded or the stream ends.
    """

    def __init__(self, size: int, broken: Callable[[str], None]) -> None:
        self.size, self.broken = size, broken
        self._left, self._nonsense = size, 0

    def reset(self) -> None:
        """A new call: it may bring as much again."""
        self._left = self.size

    def spend(self, size: int) -> bool:
        """Counts bytes that came; False where they are too many."""
        self._left -= size
        if self._left < 0:
            self.broken(f"the server sent more than {self.size} bytes")
        return self._left >= 0

    def nonsense(self) -> bool:
        """Counts a line that is no message; False where there were too many."""
        self._nonsense += 1
        if self._nonsense > MAX_NONSENSE:
            self.broken("the server does not speak the Model Context Protocol")
        return self._nonsense <= MAX_NONSENSE


@asynccontextmanager
async def stdio_transport(command: Sequence[str], variables: Mapping[str, str], meter: Meter) -> Transport:
    """Starts the server; yields the streams that the client wants; ends the server.

    Args:
        command: the program and its arguments; never a shell.
        variables: of its environment, beside PATH, HOME and their like.
        meter: bounds what it may send.

    Raises:
        OSError: it cannot be started.
    """
    process = await anyio.open_process(
        list(command),
        env={**get_default_environment(), **variables},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    to_client, from_server = anyio.create_memory_object_stream[Any](0)
    to_server, from_client = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        assert process.stdout is not None
        buffer = bytearray()
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError):
            async with to_client:
                while True:
                    chunk = await process.stdout.receive(_CHUNK)
                    if not meter.spend(len(chunk)):
                        return
                    *lines, rest = chunk.split(b"\n")
                    for line in lines:
                        message = _message(bytes(buffer) + line)
                        buffer.clear()
                        if message is not None:
                            await to_client.send(message)
                        elif not meter.nonsense():
                            return
                    buffer += rest
        meter.broken("the server ended")

    async def write() -> None:
        assert process.stdin is not None
        with suppress(anyio.ClosedResourceError, anyio.BrokenResourceError, OSError):
            async for sent in from_client:
                line = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await process.stdin.send(line.encode() + b"\n")

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            try:
                yield from_server, to_server
            finally:
                tasks.cancel_scope.cancel()
    finally:
        try:
            with anyio.CancelScope(shield=True):
                await _end(process)
        finally:
            _kill(process)
        for stream in (to_client, from_server, to_server, from_client):
            stream.close()


def _message(line: bytes) -> SessionMessage | None:
    """The message of a line; None where it is none. An empty line is nonsense as well."""
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError:
        return None


async def _end(process: Process) -> None:
    """Ends the process and whatever it started in its group. Every wait is bounded."""
    if process.stdin is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdin.aclose()
    for number in (None, signal.SIGTERM, signal.SIGKILL):
        if number is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, number)
        if number != signal.SIGKILL and process.returncode is None:
            await _ended(process)
    await _ended(process)
    if process.stdout is not None:
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await process.stdout.aclose()


def _kill(process: Process) -> None:
    """The last word, without waiting: also where the wait was cut off."""
    with suppress(ProcessLookupError, PermissionError):
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    # A child that inherited the pipes would keep the event loop's end of them open; nothing public closes it.
    transport = getattr(getattr(process, "_process", None), "_transport", None)
    if transport is not None:
        with suppress(PermissionError):
            transport.close()


async def _ended(process: Process) -> None:
    # Not process.wait(): that also waits for the end of the pipes, which a child may have inherited.
    deadline = asyncio.get_running_loop().time() + GRACE_SECONDS
    while process.returncode is None and asyncio.get_running_loop().time() < deadline:  # noqa: ASYNC110
        await asyncio.sleep(0.01)


_SILENCE: Final = 300.0
"""Seconds without a byte until a waiting connection is closed: looks have shorter bounds of their own."""


class _Counted(httpx2.AsyncByteStream):
    """A body that is counted while it is read."""

    def __init__(self, stream: httpx2.AsyncByteStream, meter: Meter) -> None:
        self._stream, self._meter = stream, meter

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            if not self._meter.spend(len(chunk)):
                raise httpx2.ReadError("too many bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


class _Bounded(httpx2.AsyncBaseTransport):
    """HTTP whose answers are counted, and come uncompressed or not at all."""

    def __init__(self, meter: Meter) -> None:
        self._inner, self._meter = httpx2.AsyncHTTPTransport(trust_env=False), meter

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.headers["Accept-Encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            await answer.aclose()
            self._meter.broken("the server compresses its answers although nobody asked for it")
            raise httpx2.ReadError("a compressed answer", request=request)
        assert isinstance(answer.stream, httpx2.AsyncByteStream)
        return httpx2.Response(
            answer.status_code,
            headers=answer.headers,
            stream=_Counted(answer.stream, self._meter),
            extensions=answer.extensions,
            request=request,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_transport(url: str, headers: Mapping[str, str], seconds: float, meter: Meter) -> Transport:
    """The streams that the client wants, to a server behind a URL.

    Args:
        url: as the operator lists it.
        headers: of every request.
        seconds: to connect, and to send a request.
        meter: bounds what it may send.
    """
    timeout = httpx2.Timeout(seconds, read=_SILENCE)
    async with (
        httpx2.AsyncClient(transport=_Bounded(meter), headers=dict(headers), timeout=timeout, trust_env=False) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=meter.size) as streams,
    ):
        yield streams


T = TypeVar("T")

CALLS_AT_ONCE: Final = 4
"""Calls under way in one session; the others wait within their own time."""
MOST_PAGES: Final = 20
"""Pages of a server's list of tools that are read."""
MAY_WRITE: Final = "the server does not mark the tool read-only, and neither does the operator's list"
START_SECONDS: Final = 30.0
"""How long a server may take to agree to a session."""
RESOURCE_NOT_FOUND: Final = -32002
"""JSON-RPC error of MCP, «Resources», error handling."""

# The official client logs what servers send, with tracebacks: strangers' text, which may hold secrets.
for _name in ("mcp.client", "mcp.shared"):
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


class SessionFailed(Exception):
    """The server cannot be started or reached, died, or broke a bound; the message says which."""


class CallFailed(Exception):
    """The server answered this one call with an error.

    Attributes:
        missing: it says that the resource which the call names does not exist.
    """

    def __init__(self, reason: str, missing: bool) -> None:
        super().__init__(reason)
        self.missing = missing


class _Open:
    """A session under way.

    Attributes:
        broken: why the session is of no more use, once it is.
        calls: those under way.
        retired: no more calls come; the last one ends it.
        read_only: the tools that the server marks so; None before it was asked.
    """

    def __init__(self, client: Client, meter: Meter, broken: asyncio.Future[str], task: asyncio.Task[None]) -> None:
        self.client, self.meter, self.broken, self.task = client, meter, broken, task
        self.calls = 0
        self.retired = False
        self.read_only: frozenset[str] | None = None

    def leave(self) -> None:
        """The end of a call."""
        self.calls -= 1
        if self.retired and not self.calls:
            self.task.cancel()


class Session:
    """The session with one server.

    Args:
        listed: the server as the operator lists it.
        size: bytes that it may send for one call.
        seconds: to connect over HTTP.

    Attributes:
        agreed: the server agreed to the session that the last call was made in, or would have been.
    """

    def __init__(self, listed: McpServer, size: int, seconds: float) -> None:
        self._listed, self._size, self._seconds = listed, size, seconds
        self._room = asyncio.Semaphore(CALLS_AT_ONCE)
        self._task: asyncio.Task[None] | None = None
        self._open: asyncio.Future[_Open] | None = None
        self._ending: set[asyncio.Task[None]] = set()
        self.agreed = False

    async def call(self, tool: str, arguments: dict[str, Any], *, vouched: bool) -> CallToolResult:
        """The result of a tool call. Who waits for it bounds its time by cancelling.

        Args:
            tool: its name.
            arguments: as the operator's list allows them.
            vouched: the operator says that the tool only reads; otherwise the server has to.

        Raises:
            SessionFailed: there is no session, or it ended meanwhile.
            CallFailed: the server answered with an error.
        """
        async with self._room:
            session = await self._opened()
            session.calls += 1
            session.meter.reset()
            try:
                if not vouched and tool not in await self._read_only(session):
                    raise CallFailed(MAY_WRITE, False)
                return await self._unless_broken(session, session.client.call_tool(tool, arguments))
            except MCPError as error:
                if error.code == CONNECTION_CLOSED:
                    self._retire(session)
                    raise SessionFailed("the server ended the session") from None
                reason = f"the server answers with error {error.code}"
                raise CallFailed(reason, error.code == RESOURCE_NOT_FOUND) from None
            except (SessionFailed, asyncio.CancelledError):
                self._retire(session)
                raise
            except (RuntimeError, ValueError) as error:
                # The official client's own checks: an answer that is not as the tool's schema or the protocol says.
                raise CallFailed(f"the answer is not as the protocol wants it: {type(error).__name__}", False) from None
            finally:
                session.leave()

    async def _read_only(self, session: _Open) -> frozenset[str]:
        """The tools that the server marks read-only, asked once in a session."""
        if session.read_only is None:
            found: set[str] = set()
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                page = await self._unless_broken(session, session.client.list_tools(cursor=cursor))
                marked = (one for one in page.tools if one.annotations is not None)
                found |= {one.name for one in marked if one.annotations and one.annotations.read_only_hint is True}
                cursor = page.next_cursor
                if cursor is None:
                    break
            session.read_only = frozenset(found)
        return session.read_only

    async def close(self) -> None:
        """Ends the session, and with it the server's process."""
        self._task = self._open = None
        tasks = set(self._ending)
        for task in tasks:
            if not task.cancelling():  # one that is ending its process must not be kept from it
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _opened(self) -> _Open:
        if self._open is None or self._task is None or self._task.done():
            self._open = asyncio.get_running_loop().create_future()
            self.agreed = False
            self._task = asyncio.create_task(self._live(self._open))
            self._ending.add(self._task)
            self._task.add_done_callback(self._ending.discard)
        # A server that takes longer to start than a look may last is there for the next look.
        return await asyncio.shield(self._open)

    async def _unless_broken(self, session: _Open, call: Coroutine[Any, Any, T]) -> T:
        task = asyncio.ensure_future(call)
        try:
            await asyncio.wait({task, session.broken}, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not task.cancelled() and (task.exception() is None or not session.broken.done()):
                return task.result()
            raise SessionFailed(session.broken.result() if session.broken.done() else "the session ended")
        finally:
            task.cancel()
            with suppress(BaseException):
                await asyncio.wait({task}, timeout=1)

    async def _live(self, opened: asyncio.Future[_Open]) -> None:
        """The session from its start to its end."""
        loop = asyncio.get_running_loop()
        broken: asyncio.Future[str] = loop.create_future()

        def tell(reason: str) -> None:
            if not broken.done():
                broken.set_result(reason)

        meter = Meter(self._size, tell)
        entering = asyncio.current_task()
        assert entering is not None
        # A handshake that can no more succeed is not waited for.
        broken.add_done_callback(lambda _: None if opened.done() else entering.cancel())
        try:
            async with asyncio.timeout(START_SECONDS) as start, Client(self._transport(meter), cache=None) as client:
                start.reschedule(None)
                if not opened.done():
                    self.agreed = True
                    opened.set_result(_Open(client, meter, broken, entering))
                await broken
        except asyncio.CancelledError:
            if opened.done() or not broken.done():
                raise
        except Exception as error:  # noqa: BLE001 - a server's failure, of whatever kind, is the answer to the look
            tell(_why(error))
        finally:
            if not opened.done():
                opened.set_exception(SessionFailed(broken.result() if broken.done() else "the observer is ending"))
                opened.exception()  # somebody may have stopped waiting for it
            tell("the session ended")

    def _transport(self, meter: Meter) -> AbstractAsyncContextManager[Any]:
        listed = self._listed
        if listed.command is not None:
            return stdio_transport(listed.command, listed.environment, meter)
        assert listed.url is not None
        return http_transport(listed.url, listed.headers, self._seconds, meter)

    def _retire(self, session: _Open) -> None:
        """Takes no more calls in this session; those of others that are under way may end in it."""
        session.retired = True
        if self._task is session.task:
            self._task = self._open = None


def _why(error: BaseException) -> str:
    """One sentence without a word of the server's."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"the server cannot be started: {error.strerror}"
    if isinstance(error, MCPError):
        return f"the server refuses the session with error {error.code}"
    return f"the server is not to be reached: {type(error).__name__}"
