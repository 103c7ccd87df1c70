"""Pages of an answer: how much stands on one, where the next begins, and what was changed on it.

A cursor is opaque, and goes with its question: with another one it is an error, not another question's page.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from hashlib import sha256
from typing import Any, Final, cast

from ...codecs.errors import UsageError
from ...codecs.records import SanitationMeta
from ...streams.sanitise import SANITATION_REVISION, SANITATION_VERSION, UNICODE_VERSION, Trace

PAGE_BYTES: Final = 400_000
"""A page that has as much as this has no more entries; one entry is always there."""
_META_LISTS = ("truncated", "confusables_replaced", "stripped_positions", "markup_stripped", "uris_rejected")


class Badly(UsageError):
    """What was asked cannot be answered; the sentence is for the caller, and holds none of the caller's text."""


Row = Any


def page_of(rows: Sequence[Row], limit: int) -> tuple[Sequence[Row], bool]:
    """As many of the rows as a page has, and whether there are more."""
    byte_count = 0
    for place, row in enumerate(rows[:limit]):
        byte_count += sum(map(len, row))
        if place and byte_count > PAGE_BYTES:
            return rows[:place], True
    return rows[:limit], len(rows) > limit


def _asked(*question: str) -> bytes:
    return sha256("\x1f".join(question).encode(errors="replace")).digest()[:9]


def cursor_of(start: int, *question: str) -> str:
    return base64.urlsafe_b64encode(_asked(*question) + start.to_bytes(3, "big")).decode()


def start_of(cursor: str | None, *question: str) -> int:
    """Where a page begins. A cursor goes with its question, and is opaque to whoever holds it."""
    if cursor is None:
        return 0
    try:
        raw = base64.urlsafe_b64decode(cursor.encode("ascii"))
    except ValueError:
        raw = b""
    if len(raw) != 12 or raw[:9] != _asked(*question):
        raise Badly("the cursor is not of this question", hint="leave it out to begin with the first page")
    return int.from_bytes(raw[9:], "big")


class Merged:
    """The `_meta` of an answer: that of its parts, each field named by its place in the answer."""

    def __init__(self, trace: Trace) -> None:
        self._lists: dict[str, list[dict[str, Any]]] = {name: [] for name in _META_LISTS}
        self._normalised: list[str] = []
        self._scripts: set[str] = set()
        self._confusables = False
        self.add("", trace.meta())

    def add(self, within: str, meta: SanitationMeta) -> None:
        """Takes the changes of one part over; `within` is where it stands."""
        for name in _META_LISTS:
            entries: list[dict[str, Any]] = getattr(meta, name)
            self._lists[name] += [{**entry, "field": within + str(entry.get("field", ""))} for entry in entries]
        self._normalised += [within + name for name in meta.normalised]
        self._scripts.update(meta.scripts)
        self._confusables = self._confusables or meta.confusables_present

    def meta(self) -> SanitationMeta:
        return SanitationMeta(
            sanitation_version=SANITATION_VERSION,
            sanitation_revision=SANITATION_REVISION,
            unicode_version=UNICODE_VERSION,
            normalised=self._normalised,
            scripts=sorted(self._scripts),
            confusables_present=self._confusables,
            **cast("Any", self._lists),  # without `unknown_members`: a model need not read names that strangers chose
        )
