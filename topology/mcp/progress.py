"""Progress of a call, told to the client while the call goes on (MCP, «Progress»), at most a few times a second."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from types import TracebackType
from typing import Final

from mcp.server.session import ServerSession

LEAST_SECONDS: Final = 0.2


class ToolProgress:
    """Passes on what `tell` was told last; a client that asked for no progress gets none."""

    def __init__(self, session: ServerSession) -> None:
        self._session = session
        self._news = asyncio.Event()
        self._latest = (0, 0)
        self._task: asyncio.Task[None] | None = None

    def tell(self, done: int, of: int) -> None:
        """So many of so many steps are done."""
        self._latest = (done, of)
        self._news.set()
        if self._task is None:
            self._task = asyncio.create_task(self._pass_on())

    async def _pass_on(self) -> None:
        reported = -1
        while True:
            await self._news.wait()
            self._news.clear()
            done, of = self._latest
            if done > reported:  # it must only ever increase
                reported = done
                await self._session.report_progress(done, of)
            await asyncio.sleep(LEAST_SECONDS)

    async def __aenter__(self) -> ToolProgress:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await self._task
