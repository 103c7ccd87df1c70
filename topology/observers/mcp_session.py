"""One session with an MCP server: opened with the first call, kept, ended when it fails or the observer does.

The session lives in one task of the background loop, as its task groups want it; calls come from others. A call that
is cut off in the middle may leave the server busy, so the session ends with it and the next call starts another.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Final, TypeVar

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, CallToolResult

from .mcp_http import http_transport
from .mcp_stdio import Meter, stdio_transport
from .operator_list import McpServer

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
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if isinstance(error, FileNotFoundError | PermissionError):
        return f"the server cannot be started: {error.strerror}"
    if isinstance(error, MCPError):
        return f"the server refuses the session with error {error.code}"
    return f"the server is not to be reached: {type(error).__name__}"
