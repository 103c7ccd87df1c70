"""The view's file: its schema, its one writer's lock, and whether it is fit to be gone on with."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, Final

import structlog

from ...codecs.errors import UsageError
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
        about = dict(db.execute("SELECT name, value FROM about"))
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
            return dict(db.execute("SELECT name, value FROM about"))
    except sqlite3.DatabaseError:
        return {}
