"""substrate.mcp.brief: the result of a tool call of an MCP server that the operator lists [S §4].

The observation id is `sha256:` of the RFC 8785 form of the result's `content` and, if it has one,
`structuredContent`, as the server sent them but for `_meta`, integers beyond 2^53 - 1 as texts of their digits: what is
left is the same over either transport. What the result says of an assertion's checks is in briefs.py; here the server
is asked.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from ...codecs.canonical import CanonicalError, canonical_json
from ...codecs.records import Locator
from .ask import Ask, CannotLook, Finding
from .background import Background, TooSlow
from .briefs import NOTHING, Brief, brief_of, judge_brief, with_digits
from .kept_looks import Kept, Memory, Rest
from .operator_list import McpServer

if TYPE_CHECKING:
    from .mcp_session import Session

MAX_ARGUMENTS: Final = 16_384
"""Bytes of a locator's arguments."""
PART: Final = 0.95
"""Of a look's time, what a call gets: so that its end is the call's own, which knows what to leave alone."""


class McpBrief:
    """The observer of all listed servers.

    Args:
        servers: as the operator lists them, by name.
        seconds: for which a result holds: a tenth of W.
        size: bytes that a server may send for one call.
        connect: seconds to connect.
        background: where the sessions live.
        clock: the present time in Unix milliseconds.
    """

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        *,
        seconds: float,
        size: int,
        connect: float,
        background: Background,
        clock: Callable[[], int],
    ) -> None:
        # The SDK takes a second to load, on a busy machine several: not out of the first look's time.
        from . import mcp_session as mcp_session

        self._servers, self._size, self._connect = servers, size, connect
        self._background, self._clock = background, clock
        self._memory: Memory[Brief] = Memory(seconds)
        self._rest = Rest()
        self._sessions: dict[str, Session] = {}
        self._under_way: dict[str, asyncio.Task[Kept[Brief]]] = {}

    def admit(self, locator: Locator) -> Locator:
        """Raises:
        CannotLook: server, tool or an argument is not on the operator's list.
        """
        server, tool, arguments = (locator.get(name) for name in ("server", "tool", "arguments"))
        if not isinstance(server, str) or server not in self._servers:
            raise CannotLook("the server is not on the operator's list" if server else "the locator names no server")
        if not isinstance(tool, str) or tool not in self._servers[server].tools:
            raise CannotLook("the tool is not on the operator's list" if tool else "the locator names no tool")
        if arguments is None:
            return {"server": server, "tool": tool}
        if not isinstance(arguments, dict) or len(msgspec.json.encode(arguments)) > MAX_ARGUMENTS:
            raise CannotLook(f"the locator's arguments are no object of at most {MAX_ARGUMENTS} bytes")
        why = self._servers[server].tools[tool].arguments.why_not(arguments)
        if why is not None:
            raise CannotLook(why)
        return {"server": server, "tool": tool, "arguments": arguments}

    def observe(self, ask: Ask) -> Finding:
        """Calls the tool, or recalls what it gave not long ago, and holds the checks against it.

        Raises:
            CannotLook: the server cannot be asked, fails, or sends more than it may.
        """
        locator = self.admit(ask.locator)
        try:
            place = canonical_json(with_digits(locator)).decode()
        except CanonicalError:
            raise CannotLook("the arguments have no canonical form") from None
        kept = self._memory.recall(place)
        if kept is None:
            self._rest.check(locator["server"])
            self._rest.check(place)
            kept = self._background.run(lambda: self._shared(place, locator, PART * ask.budget.remaining()), ask.budget)
        return judge_brief(ask, kept.value, locator, kept.at, self._servers[locator["server"]].owner)

    def close(self) -> None:
        """Ends every session, and so every server's process."""
        sessions, self._sessions = list(self._sessions.values()), {}
        if sessions:
            self._background.finish(lambda: _close(sessions))

    async def _shared(self, place: str, locator: Locator, seconds: float) -> Kept[Brief]:
        """One call for all who ask the same at the same time."""
        task = self._under_way.get(place)
        if task is None:
            task = self._under_way[place] = asyncio.create_task(self._call(place, locator, seconds))
            task.add_done_callback(lambda done: self._done(place, done))
        return await asyncio.shield(task)

    def _done(self, place: str, task: asyncio.Task[Kept[Brief]]) -> None:
        self._under_way.pop(place, None)
        if not task.cancelled():
            task.exception()  # who asked may have stopped waiting for it

    async def _call(self, place: str, locator: Locator, seconds: float) -> Kept[Brief]:
        from .mcp_session import CallFailed, Session, SessionFailed

        name = locator["server"]
        began, at = time.monotonic(), self._clock()
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = Session(self._servers[name], self._size, self._connect)
        try:
            async with asyncio.timeout(seconds):
                tool = locator["tool"]
                vouched = self._servers[name].tools[tool].read_only
                result = await session.call(tool, locator.get("arguments") or {}, vouched=vouched)
                # Not on the loop: the canonical form of 16 MB of small values takes seconds, and others wait there.
                brief = await asyncio.to_thread(brief_of, result, locator)
        except TimeoutError:
            # Arguments are strangers': one call that is slow must not keep others from the server.
            slow = "the server did not answer in time"
            self._rest.failed(place if session.agreed else name, slow)
            raise TooSlow(slow) from None
        except SessionFailed as error:
            self._rest.failed(place if session.agreed else name, str(error))
            raise CannotLook(str(error)) from None
        except (CallFailed, CannotLook) as error:
            self._rest.worked(name)
            if not (isinstance(error, CallFailed) and error.missing):
                self._rest.failed(place, str(error))
                raise CannotLook(str(error)) from None
            brief = NOTHING
        self._rest.worked(name)
        self._rest.worked(place)
        kept = Kept(at, brief)
        self._memory.keep(place, began, brief.size, kept)
        return kept


async def _close(sessions: list[Session]) -> None:
    await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True)
