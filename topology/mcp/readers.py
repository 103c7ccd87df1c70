"""Readers of the view: a few connections, each asked in a thread, so that no question holds up another.

A question that takes too long is broken off, and so is one that nobody waits for any more (MCP, «Cancellation»). When
the file was made anew, the next question opens it anew.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Final, NamedTuple, TypeVar

from ...codecs.errors import UnreachableError

T = TypeVar("T")

AT_ONCE: Final = 4
PATIENCE_SECONDS: Final = 2.0
"""The slowest questions take some 20 ms; what takes longer than this must not hold a connection."""
STEPS: Final = 20_000
"""So many steps of SQLite's machine between two looks at the clock: some 0.5 ms."""


class _Open(NamedTuple):
    inode: int
    db: sqlite3.Connection


class Readers:
    """Connections that read the view.

    Args:
        path: the file; it need not be there yet.
        patience: seconds for one question.
    """

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        self._path, self._patience = path, patience
        self._room = asyncio.Semaphore(AT_ONCE)
        self._idle: list[_Open] = []

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """What a question finds.

        Raises:
            UnreachableError: there is no view yet, or it took too long.
        """
        async with self._room:
            reader = self._take()
            end = monotonic() + self._patience
            reader.db.set_progress_handler(lambda: monotonic() > end, STEPS)
            asking = asyncio.ensure_future(asyncio.to_thread(_in_one_view, reader.db, question))
            try:
                found = await asyncio.shield(asking)
            except asyncio.CancelledError:
                reader.db.interrupt()
                with suppress(BaseException):
                    await asyncio.wait({asking}, timeout=self._patience)
                asking.cancel()
                _close(reader)
                raise
            except sqlite3.DatabaseError as error:
                _close(reader)
                slow = isinstance(error, sqlite3.OperationalError) and monotonic() > end
                what = "the question took too long" if slow else "the view cannot be read"
                raise UnreachableError(what, hint="ask for less" if slow else "ask again in a moment") from None
            self._idle.append(reader)
            return found

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        while self._idle:
            _close(self._idle.pop())

    def _take(self) -> _Open:
        try:
            inode = self._path.stat().st_ino
        except OSError:
            self.close()
            raise UnreachableError("there is no view yet", hint="ask again in a moment") from None
        while self._idle:
            reader = self._idle.pop()
            if reader.inode == inode:
                return reader
            _close(reader)
        try:
            db = sqlite3.connect(
                f"file:{self._path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False, timeout=1.0
            )
        except sqlite3.Error:
            raise UnreachableError("the view cannot be read", hint="ask again in a moment") from None
        return _Open(inode, db)


def _in_one_view(db: sqlite3.Connection, question: Callable[[sqlite3.Connection], T]) -> T:
    """Asks inside one transaction: all of an answer is of one moment."""
    db.execute("BEGIN")
    try:
        return question(db)
    finally:
        with suppress(sqlite3.Error):
            db.execute("ROLLBACK")


def _close(reader: _Open) -> None:
    with suppress(sqlite3.Error):
        reader.db.close()
