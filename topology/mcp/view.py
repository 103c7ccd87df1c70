"""The materialised view of `grounded` and `admitted`: one SQLite file, written by one process, read by many.

Exactly once: the next offset of each partition is stored in the transaction that stores its records, and what lies
below it is passed over. The view holds nothing that the topics do not hold: where it is lost, damaged, or of another
version or broker, it is made anew and read again from their beginning. SQLite's WAL lets readers go on while a batch
is written. Text is indexed by FTS5 (search.py), one index for each consensus domain and one for assertions.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

import msgspec
import structlog

from .entries import AdmittedEntry, GroundedEntry, Refused, admitted_entry, grounded_entry
from .view_file import ASSERTION_WORDS, TOKENIZER, InUse, about_view, locked, opened

TOPICS: Final = ("admitted", "grounded")
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode


class Arrived(NamedTuple):
    """A record of a topic."""

    offset: int
    key: bytes | None
    value: bytes | None


Place = tuple[str, int]
"""A partition: the topic's logical name and the number."""


class Batch(NamedTuple):
    """What was read of a partition: its records, and the offset to go on at."""

    records: Sequence[Arrived]
    next_offset: int


class View:
    """The file's one writer. Threads take turns: a batch that is being stored is stored before the file is let go.

    Invariant: what is stored is what the topics hold below the stored positions.

    Args:
        path: the file; it and its folder are made where they are missing.
        identity: of the broker and the topics; a view of another identity is made anew.
        refused: where records that are not fit to be shown are counted, by topic.

    Raises:
        InUse: another process is the writer.
        UsageError: the file cannot be written.
    """

    def __init__(self, path: Path, identity: str, refused: Counter[str] | None = None) -> None:
        self.path = path
        self.refused: Counter[str] = Counter() if refused is None else refused
        self._turn = threading.RLock()
        self._lock: IO[bytes] | None = locked(path)
        try:
            self._db = opened(path, identity)
            self._domains: dict[str, int] = dict(self._db.execute("SELECT name, id FROM domains"))
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
                        self._store(topic, partition, record)
                self._db.execute(
                    "INSERT OR REPLACE INTO positions VALUES (?, ?, ?)",
                    (topic, partition, max(position, batch.next_offset)),
                )
            self._db.executemany("INSERT OR REPLACE INTO about VALUES (?, ?)", list(about.items()))

    def forget(self, partition: int) -> None:
        """Retention has deleted words on assertions that were not read: none of this partition is known any more."""
        with self._transaction():
            for key in [
                key for (key,) in self._db.execute("SELECT key FROM assertions WHERE partition=?", (partition,))
            ]:
                self._drop(key)

    def prune(self, now: int) -> int:
        """Drops assertions whose validity has ended (Unix ms), which answers leave out in any case; says how many."""
        with self._transaction():
            past = self._db.execute(
                "SELECT key FROM assertions WHERE holds AND valid_until < ? LIMIT 10000", (now,)
            ).fetchall()
            for (key,) in past:
                self._drop(key)
        return len(past)

    # ------------------------------------------------------------ one record

    def _store(self, topic: str, partition: int, record: Arrived) -> None:
        try:
            if topic == "grounded":
                self._attest(grounded_entry(record.value))
            elif record.value is None:
                self._drop(record.key or b"")
            else:
                self._decide(record.key or b"", partition, admitted_entry(record.value))
        except Refused as refusal:
            self.refused[topic] += 1
            if topic == "admitted":
                self._drop(record.key or b"")  # whatever held before, this was a later word on it
            log.warning(
                "a record is not fit to be shown",
                topic=topic,
                partition=partition,
                offset=record.offset,
                why=str(refusal),
            )

    def _attest(self, entry: GroundedEntry) -> None:
        db, domain = self._db, self._domain(entry.consensus_domain)
        if db.execute("SELECT 1 FROM attestations WHERE canonical_hash=?", (entry.canonical_hash,)).fetchone():
            return
        earlier = db.execute(
            "SELECT id, words FROM attestations WHERE standing AND claim_hash=? AND domain=? AND validator_did=?",
            (entry.claim_hash, domain, entry.validator_did),
        ).fetchone()
        if earlier is not None:
            # The row stays without its text, so that the same attestation, sent again, is still the same.
            db.execute("UPDATE attestations SET standing=0, shown=x'', meta=x'', words='' WHERE id=?", (earlier[0],))
            db.execute(f"INSERT INTO words_{domain}(words_{domain}, rowid, words) VALUES ('delete', ?, ?)", earlier)
        added = db.execute(
            "INSERT INTO attestations VALUES (NULL, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)",
            (
                *(domain, entry.claim_hash, entry.validator_did, entry.verdict, entry.canonical_hash, entry.counts),
                *(_encode(entry.shown), _encode(entry.meta), entry.words),
            ),
        )
        db.execute(f"INSERT INTO words_{domain}(rowid, words) VALUES (?, ?)", (added.lastrowid, entry.words))

    def _decide(self, key: bytes, partition: int, entry: AdmittedEntry) -> None:
        self._drop(key)
        if not entry.holds and entry.status != "refused":
            return  # decayed, contradicted, rejected: from now on nobody is told of it
        words = entry.words if entry.holds else ""
        added = self._db.execute(
            "INSERT INTO assertions VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(key, partition, entry.canonical_hash, entry.kind, entry.status, entry.holds, entry.valid_until),
                *(entry.coverage, _encode(entry.shown), words),
            ),
        )
        if words:
            self._db.execute(f"INSERT INTO {ASSERTION_WORDS}(rowid, words) VALUES (?, ?)", (added.lastrowid, words))

    def _drop(self, key: bytes) -> None:
        found = self._db.execute("SELECT id, words FROM assertions WHERE key=?", (key,)).fetchone()
        if found is None:
            return
        self._db.execute("DELETE FROM assertions WHERE id=?", (found[0],))
        if found[1]:
            self._db.execute(
                f"INSERT INTO {ASSERTION_WORDS}({ASSERTION_WORDS}, rowid, words) VALUES ('delete', ?, ?)", found
            )

    def _domain(self, name: str) -> int:
        if name not in self._domains:
            added = self._db.execute("INSERT INTO domains (name) VALUES (?)", (name,)).lastrowid
            assert added is not None
            self._db.execute(
                f"CREATE VIRTUAL TABLE words_{added} USING fts5(words, content='', tokenize='{TOKENIZER}')"
            )
            self._domains[name] = added
        return self._domains[name]

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
                self._domains = dict(self._db.execute("SELECT name, id FROM domains"))
                raise


__all__ = ["TOKENIZER", "TOPICS", "Arrived", "Batch", "InUse", "Place", "View", "about_view"]
