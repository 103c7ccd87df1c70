"""A view of topics in one SQLite file: written by one process, read by many.

Exactly once: the next offset of each partition is stored in the transaction that stores its records, and what lies
below it is passed over. A view holds nothing that the topics do not hold: where it is lost, damaged, or of another
version or broker, it is made anew and read again from their beginning. SQLite's WAL lets readers go on while a batch
is written. What is made of a record is each view's own (adapter_view.py has the adapter's).
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, ClassVar, Final, NamedTuple

import structlog

from .view_file import SCHEMA, VERSION, InUse, locked, opened

PARTITIONS: Final = "partitions."
"""Before a topic's name: how many it has."""
BEHIND: Final = "behind."
"""Before a topic's name: under which word a view says how many of its records are not in it (view_follower.py)."""


_UNFIT: Final = (
    *(ArithmeticError, LookupError, RecursionError, TypeError, ValueError, sqlite3.DataError, sqlite3.IntegrityError),
)
"""What a record can do to the one that stores it; what the disk or the file can do is none of these."""
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Arrived(NamedTuple):
    """A record of a topic; `timestamp` is Unix milliseconds."""

    offset: int
    key: bytes | None
    value: bytes | None
    timestamp: int = 0


Place = tuple[str, int]
"""A partition: the topic's logical name and the number."""


class Batch(NamedTuple):
    """What was read of a partition: its records, and the offset to go on at."""

    records: Sequence[Arrived]
    next_offset: int


class KeptView:
    """The file's one writer. Threads take turns: a batch that is being stored is stored before the file is let go.

    Invariant: what is stored is what the topics hold below the stored positions.

    Attributes:
        topics: the logical names of those that it holds.
        tails: of topics that grow for ever and of which it holds the end alone: so many offsets of each partition.
        schema, version: of its tables; another version makes it anew.

    Args:
        path: the file; it and its folder are made where they are missing.
        identity: of the broker and the topics; a view of another identity is made anew.
        refused: where records that are not fit to be shown are counted, by topic.

    Raises:
        InUse: another process is the writer.
        UsageError: the file cannot be written.
    """

    topics: ClassVar[Sequence[str]] = ()
    tails: ClassVar[Mapping[str, int]] = {}
    schema: ClassVar[str] = SCHEMA
    version: ClassVar[str] = VERSION

    def __init__(self, path: Path, identity: str, refused: Counter[str] | None = None) -> None:
        self.path = path
        self.refused: Counter[str] = Counter() if refused is None else refused
        self._turn = threading.RLock()
        self._lock: IO[bytes] | None = locked(path)
        try:
            self._db = opened(path, identity, self.schema, self.version)
            self._opened()
            self._inode = path.stat().st_ino
        except BaseException:
            self._unlock()
            raise

    def close(self) -> None:
        """Lets go of the file."""
        with self._turn:
            self._db.close()
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    @property
    def lost(self) -> bool:
        """Whether the file has been taken away or replaced: what is written now reaches nobody."""
        try:
            return self.path.stat().st_ino != self._inode
        except OSError:
            return True

    def positions(self) -> dict[Place, int]:
        """The next offset of each partition that was read from."""
        with self._turn:
            rows = self._db.execute("SELECT topic, partition, next_offset FROM positions").fetchall()
        return {(topic, partition): offset for topic, partition, offset in rows}

    def tell(self, **about: str) -> None:
        """Stores words about the view: how far it is, the policy in force."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", list(about.items()))

    def take(self, batches: Mapping[Place, Batch], **about: str) -> None:
        """Stores records and positions, all or nothing; records below a stored position are passed over."""
        with self._transaction():
            known = self.positions()
            for (topic, partition), batch in sorted(batches.items()):
                position = known.get((topic, partition), 0)
                for record in batch.records:
                    if record.offset >= position:
                        self._take_in(topic, partition, record)
                self._db.execute(
                    "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
                    (topic, partition, max(position, batch.next_offset)),
                )
            self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", list(about.items()))

    def _take_in(self, topic: str, partition: int, record: Arrived) -> None:
        """Stores one record, or nothing of it: one that no column takes is passed over, since it would come again for
        ever."""
        self._db.execute("SAVEPOINT record")
        try:
            self._store(topic, partition, record)
        except _UNFIT as error:
            self._db.execute("ROLLBACK TO record")
            self._opened()
            self.refuse(topic, partition, record, str(error))
        self._db.execute("RELEASE record")

    def refuse(self, topic: str, partition: int, record: Arrived, why: str) -> None:
        """Counts and tells a record that is not fit to be shown.

        Args:
            topic, partition: where it stands.
            record: the record.
            why: it is not, for the log.
        """
        self.refused[topic] += 1
        log.warning("a record is not fit to be shown", topic=topic, partition=partition, offset=record.offset, why=why)

    def forget(self, topic: str, partition: int) -> None:
        """Retention has deleted records that were not read."""

    def prune(self, now: int) -> int:
        """Drops what nobody is told of any more (`now` in Unix ms); says how many."""
        return 0

    def _store(self, topic: str, partition: int, record: Arrived) -> None:
        """Takes in one record, within a transaction."""
        raise NotImplementedError

    def _opened(self) -> None:
        """The file is open, or a transaction was undone: what is remembered of it is read again."""

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._turn:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                self._opened()
                raise


__all__ = ["BEHIND", "PARTITIONS", "Arrived", "Batch", "InUse", "KeptView", "Place"]
