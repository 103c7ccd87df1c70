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
from threading import Lock
from time import monotonic
from typing import Final, TypeVar

from ...codecs.errors import UnreachableError

T = TypeVar("T")

AT_ONCE: Final = 4
PATIENCE_SECONDS: Final = 2.0
"""The slowest questions take some 20 ms; what takes longer than this must not hold a connection."""
STEPS: Final = 20_000
"""So many steps of SQLite's machine between two looks at the clock: some 0.5 ms."""


class NotReady(UnreachableError):
    """There is no view yet, it cannot be read, or it is not up to date; asking again in a moment may help.

    Attributes:
        progress: how much of the topics has been read, 0 to 1; None where nobody can tell.
    """

    def __init__(self, what: str, progress: float | None = None) -> None:
        super().__init__(what, hint="ask again in a moment")
        self.progress = progress


class _Reader:
    """A connection, closed once no thread asks it: SQLite frees what a running question still reads.

    A cancelled task says nothing of its thread, which runs on. So a question that is asked while its reader is to
    close closes it, when it ends.
    """

    def __init__(self, inode: int, db: sqlite3.Connection) -> None:
        self.inode, self.db = inode, db
        self._lock = Lock()
        self._asked = self._to_close = False

    def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Asks inside one transaction: all of an answer is of one moment. Runs in a thread.

        Raises:
            sqlite3.Error: the view cannot be read, or the reader was closed first.
        """
        with self._lock:
            self._asked = True
        try:
            self.db.execute("BEGIN")
            try:
                return question(self.db)
            finally:
                with suppress(sqlite3.Error):
                    self.db.execute("ROLLBACK")
        finally:
            with self._lock:
                self._asked = False
                if self._to_close:
                    self._close()

    def close(self) -> None:
        """Closes it now, or breaks off what it is asked and lets that close it."""
        with self._lock:
            self._to_close = True
            if self._asked:
                self.db.interrupt()
            else:
                self._close()

    def _close(self) -> None:
        with suppress(sqlite3.Error):
            self.db.close()


class Readers:
    """Connections that read the view.

    Args:
        path: the file; it need not be there yet.
        patience: seconds for one question.
    """

    def __init__(self, path: Path, patience: float = PATIENCE_SECONDS) -> None:
        self._path, self._patience = path, patience
        self._room = asyncio.Semaphore(AT_ONCE)
        self._idle: list[_Reader] = []

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """What a question finds.

        Raises:
            NotReady: there is no view yet, or it cannot be read.
            UnreachableError: it took too long.
        """
        async with self._room:
            reader = self._take()
            end = monotonic() + self._patience
            reader.db.set_progress_handler(lambda: monotonic() > end, STEPS)
            try:
                found = await asyncio.to_thread(reader.ask, question)
            except asyncio.CancelledError:
                reader.close()
                raise
            except sqlite3.DatabaseError as error:
                reader.close()
                if isinstance(error, sqlite3.OperationalError) and monotonic() > end:
                    raise UnreachableError("the question took too long", hint="ask for less") from None
                raise NotReady("the view cannot be read") from None
            self._idle.append(reader)
            return found

    def close(self) -> None:
        """Closes the connections that nobody uses."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> _Reader:
        try:
            inode = self._path.stat().st_ino
        except OSError:
            self.close()
            raise NotReady("there is no view yet") from None
        while self._idle:
            reader = self._idle.pop()
            if reader.inode == inode:
                return reader
            reader.close()
        try:
            db = sqlite3.connect(
                f"file:{self._path}?mode=ro", uri=True, isolation_level=None, check_same_thread=False, timeout=1.0
            )
        except sqlite3.Error:
            raise NotReady("the view cannot be read") from None
        return _Reader(inode, db)
