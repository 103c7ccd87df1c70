"""Reads bodies of the intake without holding up the event loop."""

from __future__ import annotations

import asyncio
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Final

from ...codecs.errors import UnreachableError
from ..settings.child_processes import bind_to_parent
from .bodies import Refused, Taken, read_body

READ_AT_ONCE: Final = 16_384
"""Bytes of a body that is read on the event loop."""
LINES_AT_ONCE: Final = 16
"""Lines of such a body: a line costs up to 0.1 ms, however short it is."""


class BodyReader:
    """Reads bodies: short ones at once, others in a process, one after the other.

    A thread would not do: it shares the interpreter's lock, which a decoder keeps for as long as a large body takes.
    """

    def __init__(self) -> None:
        self._pool: ProcessPoolExecutor | None = None

    def start(self) -> None:
        """Starts the process, so that the first large body need not wait for it."""
        self._opened().submit(read_body, b"", "", "emissions", 0)

    async def read(
        self, body: bytes, media_type: str, topic: str, now: int, headers: tuple[tuple[str, bytes], ...]
    ) -> list[Taken] | list[Refused]:
        """As `read_body`.

        Raises:
            UnreachableError: the process was killed; the next body gets a new one.
        """
        asked = (body, media_type, topic, now, headers)
        if len(body) <= READ_AT_ONCE and body.count(b"\n") <= LINES_AT_ONCE:
            return read_body(*asked)
        pool = self._opened()
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, read_body, *asked)
        except BrokenProcessPool:
            if self._pool is pool:
                self._pool = None
            raise UnreachableError("the process that reads bodies was killed, perhaps for want of memory") from None

    def close(self) -> None:
        """Ends the process; bodies that wait for it are not read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _opened(self) -> ProcessPoolExecutor:
        if self._pool is None:
            self._pool = ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), bind_to_parent)
        return self._pool
