"""A view of topics in one SQLite file: its writer, its readers, and how words are found in it.

Exactly once: the next offset of each partition is stored in the transaction that stores its records, and what lies
below it is passed over. A view holds nothing that the topics do not hold: where it is lost, damaged, or of another
version or broker, it is made anew and read again from their beginning. SQLite's WAL lets readers go on while a batch
is written. Each reader asks in a thread: no question holds up another, and one that takes too long is broken off.

A query of words is untrusted: they are quoted, one by one, and go through `unicode_text.settle` as the texts did.
Only rare words are weighed, and of each match only the newest `CANDIDATES` are looked at: to rank all texts with
a common word took 190 ms at 100,000 texts.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import IO, ClassVar, Final, NamedTuple, TypeVar

import structlog

from ...codecs.errors import UnreachableError, UsageError
from ...codecs.unicode_text import settle
from ..settings.files import open_plain

VERSION: Final = "3"
"""Of the schema and of what `entries` makes of a record: another one makes the view anew."""
OURS: Final = 0x736C7663
"""The application id in the header of every view (SQLite's file format, 1.3.15): what has another one is not ours."""
_ID_AT: Final = 68
_HEADER_BYTES: Final = 100
TOKENIZER: Final = "porter unicode61 remove_diacritics 2"
"""Inflected English words by their stem, and words with and without accents alike."""
ASSERTION_WORDS: Final = "words_0"
ABOUT: Final = """
CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE positions (
    topic TEXT NOT NULL, partition INTEGER NOT NULL, next_offset INTEGER NOT NULL, PRIMARY KEY (topic, partition)
) WITHOUT ROWID;
"""
"""What every view has: where it stands."""
SCHEMA: Final = f"""
CREATE TABLE domains (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE attestations (
    id INTEGER PRIMARY KEY, domain INTEGER NOT NULL, claim_hash TEXT NOT NULL, validator_did TEXT NOT NULL,
    verdict TEXT NOT NULL, canonical_hash TEXT NOT NULL UNIQUE, counts INTEGER NOT NULL, standing INTEGER NOT NULL,
    shown BLOB NOT NULL, meta BLOB NOT NULL, words TEXT NOT NULL
);
CREATE INDEX standing ON attestations (claim_hash, domain, verdict, counts) WHERE standing;
CREATE UNIQUE INDEX one_word_each ON attestations (claim_hash, domain, validator_did) WHERE standing;
CREATE TABLE assertions (
    id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, partition INTEGER NOT NULL, canonical_hash TEXT NOT NULL,
    kind TEXT NOT NULL, status TEXT NOT NULL, holds INTEGER NOT NULL, valid_until INTEGER NOT NULL,
    coverage INTEGER NOT NULL, shown BLOB NOT NULL, words TEXT NOT NULL
);
CREATE INDEX by_hash ON assertions (canonical_hash);
CREATE INDEX by_end ON assertions (valid_until) WHERE holds;
CREATE INDEX by_partition ON assertions (partition);
CREATE VIRTUAL TABLE {ASSERTION_WORDS} USING fts5(words, content='', tokenize='{TOKENIZER}');
"""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class InUse(Exception):
    """Another process keeps this view up to date."""


def locked(path: Path) -> IO[bytes]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = path.with_name(path.name + ".lock").open("ab")
    except OSError as error:
        raise UsageError(
            f"the view cannot be written: {error.strerror}", path=str(path), hint="name another file with --view"
        ) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        raise InUse(str(path)) from None
    return lock


def opened(path: Path, identity: str, schema: str = SCHEMA, version: str = VERSION) -> sqlite3.Connection:
    """The file's connection; a view that is damaged, or of another identity or version, is made anew.

    Raises:
        UsageError: the file is something else, and stays as it is.
    """
    if path.exists():
        _demand_ours(path)
        db = _connected(path)
        why = _unfit(db, identity, version)
        if why is None:
            return db
        db.close()
        log.warning("the view is made anew from the topics", path=str(path), why=why)
    fresh = path.with_name(f"{path.name}-new")
    if fresh.exists():
        _demand_ours(fresh)
    for one in (path, fresh):
        for end in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                os.unlink(f"{one}{end}")
    # Readable by its owner only: it may hold more than one consumer's scope.
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(fresh, isolation_level=None)) as db:
        db.execute(f"PRAGMA application_id={OURS}")  # into the header at once, not into a log beside it
        db.execute("PRAGMA journal_mode=WAL")
        db.executescript(ABOUT + schema)
        db.executemany("INSERT INTO about VALUES (?, ?)", [("version", version), ("identity", identity)])
    os.rename(fresh, path)  # whole, for readers look for it meanwhile
    return _connected(path)


def _demand_ours(path: Path) -> None:
    """Whatever a user names by mistake must not be lost for it."""
    try:
        with open_plain(path) as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise UsageError(f"the view cannot be read: {error.strerror}", path=str(path)) from None
    if header and int.from_bytes(header[_ID_AT : _ID_AT + 4], "big") != OURS:
        hint = "name another file with --view, or remove this one if it was a view"
        raise UsageError("is not a view of sluice's", path=str(path), hint=hint)


def _connected(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with suppress(sqlite3.DatabaseError):  # of a file that is none, `_unfit` tells
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
    return db


def _unfit(db: sqlite3.Connection, identity: str, version: str) -> str | None:
    try:
        if db.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            return "the file is damaged"
        about = about_of(db)
    except sqlite3.DatabaseError:
        return "the file is damaged"
    if about.get("version") != version:
        return "it is of another version"
    return None if about.get("identity") == identity else "it is of another broker, or of other topics"


def about_view(path: Path) -> dict[str, str]:
    """What the writer last told; nothing where there is no view."""
    if not path.exists():
        return {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            return about_of(db)
    except sqlite3.DatabaseError:
        return {}


def about_of(db: sqlite3.Connection) -> dict[str, str]:
    """What the writer of a view last told."""
    return dict(db.execute("SELECT name, value FROM about"))


PARTITIONS: Final = "partitions."
"""Before a topic's name: how many it has."""
BEHIND: Final = "behind."
"""Before a topic's name: under which word a view says how many of its records are not in it (view_follower.py)."""


_UNFIT: Final = (
    *(ArithmeticError, LookupError, RecursionError, TypeError, ValueError, sqlite3.DataError, sqlite3.IntegrityError),
)
"""What a record can do to the one that stores it; what the disk or the file can do is none of these."""


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
        refused: counts records that are not fit to be shown, by topic.

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
        self._lock = locked(path)
        try:
            self._db = opened(path, identity, self.schema, self.version)
            self._opened()
            self._inode = path.stat().st_ino
        except BaseException:
            self._lock.close()
            raise

    def close(self) -> None:
        """Lets go of the file."""
        with self._turn:
            self._db.close()
            self._lock.close()

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
        """Counts and logs a record that is not fit to be shown, and why."""
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
    def _transaction(self) -> Generator[None, None, None]:
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


T = TypeVar("T")

READERS_AT_ONCE: Final = 4
PATIENCE_SECONDS: Final = 2.0
"""The slowest questions take some 20 ms; what takes longer than this must not hold a connection."""
SQLITE_STEPS: Final = 20_000
"""So many steps of SQLite's machine between two looks at the clock: some 0.5 ms."""


class NotReady(UnreachableError):
    """There is no view yet, it cannot be read, or it is not up to date; asking again in a moment may help.

    `progress` is how much of the topics has been read, 0 to 1; None where that is not known.
    """

    def __init__(self, what: str, progress: float | None = None) -> None:
        super().__init__(what, hint="ask again in a moment")
        self.progress = progress


STALE_SECONDS: Final = 60.0
"""So old may the last moment be at which the view was known to hold all that the topics held."""


def demand_current(about: Mapping[str, str], now: int) -> int:
    """Up to when a view is known to be complete, by what its writer told; times are Unix ms.

    Raises:
        NotReady: it is not up to date.
    """
    at = about.get("caught_up_at")
    if at is None:
        progress = float(about.get("progress", "0"))
        raise NotReady(f"the view is still being read from the broker ({progress:.0%})", progress)
    silent = (now - int(at)) / 1000
    if silent > STALE_SECONDS:
        raise NotReady(f"the view has not kept up with the broker for {silent:.0f} s")
    return int(at)


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
        self._room = asyncio.Semaphore(READERS_AT_ONCE)
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
            reader.db.set_progress_handler(lambda: monotonic() > end, SQLITE_STEPS)
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


MAX_WORDS: Final = 12
MAX_LETTERS: Final = 64
CANDIDATES: Final = 500
COMMON: Final = 2000
"""A word that stands in as many texts says too little to be weighed."""
MIN_PREFIX: Final = 4
"""A word's beginning has so many letters at least."""

_SPLIT = re.compile(r"[\s\x00-\x1f\x7f]+")


def words_of(query: str) -> list[str]:
    """The words of a query, each once, as FTS5 strings: quoted, so that nothing in them is an operator."""
    words: list[str] = []
    for chunk in _SPLIT.split(settle(query)):
        if not any(character.isalnum() for character in chunk):
            continue  # an empty phrase
        word = chunk[:MAX_LETTERS].replace("\x00", "").replace('"', '""').casefold()
        if (quoted := f'"{word}"') not in words:
            words.append(quoted)
    return words[:MAX_WORDS]


def find_rows(db: sqlite3.Connection, table: str, query: str, least: int) -> list[int]:
    """The rows of an index that have the query's words, best first.

    The query is untrusted; the name of the table is ours. Where all words together give fewer rows than `least`, looser
    matches come behind.
    """
    words = words_of(query)
    counts = {word: _count_texts(db, table, word) for word in words}
    # What stands nowhere is looked for by its beginning.
    sought = [word if counts[word] else _beginning(word) for word in words]
    terms = [term for term in sought if term is not None]
    if not terms:
        return []
    rare = [word for word in words if 0 < counts[word] < COMMON]
    weights = _weighed(db, table, " OR ".join(rare)) if rare else {}
    all_of_them = _newest(db, table, " AND ".join(terms)) if len(terms) == len(sought) else []
    found = sorted(all_of_them, key=lambda row: weights.get(row, 0.0))  # of equal ones the newest first, as they come
    if len(found) < least:
        there = set(found)
        found += [row for row in sorted(weights, key=lambda row: (weights[row], -row)) if row not in there]
    if not found and len(terms) > 1:
        found = _newest(db, table, " OR ".join(term for term in terms if counts.get(term, 0) < COMMON))
    return found


def _newest(db: sqlite3.Connection, table: str, expression: str) -> list[int]:
    """The newest rows that match; none for an empty expression."""
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {CANDIDATES}"
    return [row for (row,) in db.execute(sql, (expression,))] if expression else []


def _weighed(db: sqlite3.Connection, table: str, expression: str) -> dict[int, float]:
    """The newest rows that match, with BM25: the less, the better."""
    sql = f"SELECT rowid, bm25({table}) FROM {table} WHERE {table} MATCH ? ORDER BY rowid DESC LIMIT {CANDIDATES}"
    return dict(db.execute(sql, (expression,)))


def _count_texts(db: sqlite3.Connection, table: str, word: str) -> int:
    """In how many texts a word stands, counted up to `COMMON`."""
    inner = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {COMMON}"
    return db.execute(f"SELECT count(*) FROM ({inner})", (word,)).fetchone()[0]


def _beginning(word: str) -> str | None:
    """The word without the letters that inflection may have changed, to be found at a word's beginning."""
    letters = word[1:-1]
    if not letters.isalnum() or len(letters) <= MIN_PREFIX:
        return None
    kept = max(MIN_PREFIX, len(letters) - (3 if len(letters) > 7 else 2 if len(letters) > 5 else 1))
    return f'"{letters[:kept]}" *'


__all__ = ["BEHIND", "PARTITIONS", "Arrived", "Batch", "InUse", "KeptView", "Place"]
