"""The adapter's view: `grounded` and `admitted`, kept as kept_view.py has it.

Text is indexed by FTS5 (search.py), one index for each consensus domain and one for assertions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

import msgspec

from .entries import AdmittedEntry, GroundedEntry, Refused, admitted_entry, grounded_entry
from .kept_view import BEHIND, Arrived, Batch, InUse, KeptView, Place
from .view_file import ASSERTION_WORDS, TOKENIZER, about_view

TOPICS: Final = ("admitted", "grounded")
_encode = msgspec.json.Encoder().encode


class View(KeptView):
    """The adapter's view."""

    topics: ClassVar[Sequence[str]] = TOPICS

    def _opened(self) -> None:
        self._domains: dict[str, int] = dict(self._db.execute("SELECT name, id FROM domains"))

    def forget(self, topic: str, partition: int) -> None:
        """Where words on assertions are gone, none of this partition is known any more."""
        if topic != "admitted":
            return
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
            self.refuse(topic, partition, record, str(refusal))
            if topic == "admitted":
                self._drop(record.key or b"")  # whatever held before, this was a later word on it

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


__all__ = ["BEHIND", "TOKENIZER", "TOPICS", "Arrived", "Batch", "InUse", "Place", "View", "about_view"]
