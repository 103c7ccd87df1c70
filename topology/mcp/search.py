"""Finding attestations and assertions by words, within a bounded time whatever is asked.

The query is untrusted: its words are quoted, one by one, and no operator of FTS5's language is ever taken from it. It
goes through the same steps as what is searched (`unicode_text.settle`), so that look-alikes and invisible characters
find what their plain forms do. First come texts with all the words, then those with the rarer ones. Of a word that
stands nowhere the beginning is looked for, for inflections that the stemmer does not know.

Nothing that grows with the number of texts is done for a common word: to rank all texts with one took 190 ms at 100,000
texts, and BM25 alone counts them (3 ms a word). So only rare words are weighed, and of each kind of match only the
newest `CANDIDATES` are looked at.
"""

from __future__ import annotations

import re
import sqlite3
from typing import Final

from ...codecs.unicode_text import settle

MAX_WORDS: Final = 12
MAX_LETTERS: Final = 64
CANDIDATES: Final = 500
COMMON: Final = 2000
"""A word that stands in as many texts says too little to be weighed."""
LEAST: Final = 4
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


def find(db: sqlite3.Connection, table: str, query: str, least: int) -> list[int]:
    """The rows of an index that have the query's words, best first.

    Args:
        db: a connection that reads the view.
        table: the index; a name of ours.
        query: untrusted.
        least: so many rows are wanted; where all words together give fewer, looser matches come behind.
    """
    words = words_of(query)
    counts = {word: _count(db, table, word) for word in words}
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


def _count(db: sqlite3.Connection, table: str, word: str) -> int:
    """In how many texts a word stands, counted up to `COMMON`."""
    inner = f"SELECT 1 FROM {table} WHERE {table} MATCH ? LIMIT {COMMON}"
    return db.execute(f"SELECT count(*) FROM ({inner})", (word,)).fetchone()[0]


def _beginning(word: str) -> str | None:
    """The word without the letters that inflection may have changed, to be found at a word's beginning."""
    letters = word[1:-1]
    if not letters.isalnum() or len(letters) <= LEAST:
        return None
    kept = max(LEAST, len(letters) - (3 if len(letters) > 7 else 2 if len(letters) > 5 else 1))
    return f'"{letters[:kept]}" *'
