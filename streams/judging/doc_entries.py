"""The content of a document as plain data: its keys, values, targets and headings in one list, each with its lines.

The readers of the formats fill a `Rows`; `doc_names.py` finds the entries that a name means; `documents.py` decides
checks by them. A value that readers of the format take differently has several readings. The number of entries and
their depth are bounded.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Final, Literal, NamedTuple

import msgspec

from ...codecs.unicode_text import nfkc
from .checks import MAX_DIGITS, Value, whole_or_decimal
from .index import literal_of
from .results import HeldReason
from .values import value_of_text

MAX_ENTRIES: Final = 10_000
"""Keys and list items of one document."""
MAX_DEPTH: Final = 128
"""Mappings and lists inside one another."""
_WEIGHT: Final = 400
"""Bytes that an entry takes in memory with its place in the indexes, measured."""

Format = Literal["json", "toml", "yaml", "ini", "conf", "env", "properties", "make", "markdown"]
Kind = Literal["mapping", "list", "value", "target", "variable", "section"]


class Unreadable(Exception):
    """A document that its parser does not take; the reason is what its checks come to."""

    def __init__(self, reason: HeldReason) -> None:
        super().__init__(reason)
        self.reason: HeldReason = reason


class Scalar(NamedTuple):
    """A value as its reader hands it over.

    Attributes:
        readings: what the readers of the format take it for, see `literal_of`.
        written: the text that a check may declare where the readings differ or the value is doubtful.
        doubt: the reason of any other check.
    """

    readings: tuple[str, ...] = ()
    written: str = ""
    doubt: HeldReason | None = None


class Entry(msgspec.Struct, gc=False, array_like=True, omit_defaults=True):
    """A key with its value, an item of a list, a rule or variable of a Makefile, or a heading with its section.

    Attributes:
        key: in NFKC; for an item its place in the list.
        parent: the entry that it stands in; -1 for a root.
        kind: the shape of its value.
        first, last: its lines, from 1, the value included. A table may go on at other places, see `documents.extents`.
        readings, written, doubt: see `Scalar`. A doubtful mapping or list may have more in it.
        under: the texts of the conditions that it stands under.
    """

    key: str | int
    parent: int
    kind: Kind
    first: int = 0
    last: int = 0
    readings: tuple[str, ...] = ()
    written: str = ""
    doubt: HeldReason | None = None
    under: tuple[str, ...] = ()


class Index:
    """The entries of a document by key.

    Attributes:
        by_key: the entries by their key in lower case, in the document's order.
        children: the entries that stand directly in an entry.
        repeated: the entries whose mapping has their key several times.
        roots: the entries of the documents themselves; YAML has several of them in one file.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self.by_key: dict[str, list[int]] = {}
        self.children: dict[int, list[int]] = {}
        self.repeated: set[int] = set()
        self.roots: set[int] = set()
        seen: dict[tuple[int, str], int] = {}
        for row, entry in enumerate(entries):
            if entry.parent < 0:
                self.roots.add(row)
                continue
            self.by_key.setdefault(str(entry.key).lower(), []).append(row)
            self.children.setdefault(entry.parent, []).append(row)
            before = seen.setdefault((entry.parent, str(entry.key)), row)
            if before != row:
                self.repeated.update((before, row))


class Document(msgspec.Struct, frozen=True, dict=True):
    """A parsed document. It is plain data: it can be encoded, sent and kept.

    Attributes:
        format: its format; None for a JSON value that was decoded elsewhere, which has no lines.
        entries: the content, each entry behind the one that it stands in.
        problem: the reason why it could not be read; all of its checks come to it.
        size: bytes of the text.
        complete: every line was understood, and no other text adds to the document.
        closed: no name of an entry is worked out elsewhere.
    """

    format: Format | None
    entries: list[Entry] = []
    problem: HeldReason | None = None
    size: int = 0
    complete: bool = True
    closed: bool = True

    @property
    def weight(self) -> int:
        """About how many bytes it takes, for a cache."""
        return 1_000 if self.problem else 1_000 + self.size + _WEIGHT * len(self.entries)

    @cached_property
    def index(self) -> Index:
        """The entries by key."""
        return Index(self.entries)

    def lineage(self, row: int) -> list[int]:
        """An entry and all that it stands in."""
        lineage: list[int] = []
        while row >= 0:
            lineage.append(row)
            row = self.entries[row].parent
        return lineage

    def path(self, row: int) -> str:
        """The keys that lead to an entry, with dots."""
        return ".".join(str(self.entries[up].key) for up in reversed(self.lineage(row)) if self.entries[up].parent >= 0)


class Rows:
    """The entries of a document while it is read. `complete` and `closed` are the document's."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.depths: list[int] = []
        self.complete = self.closed = True

    def add(
        self, parent: int, key: str | int, kind: Kind, first: int, last: int = 0, scalar: Scalar | None = None
    ) -> int:
        """Adds an entry; returns its place.

        Raises:
            Unreadable: there are more entries, or deeper ones, than a document may have.
        """
        depth = 0 if parent < 0 else self.depths[parent] + 1
        if len(self.entries) >= MAX_ENTRIES or depth > MAX_DEPTH:
            raise Unreadable("too-large")
        if isinstance(key, str) and not key.isascii():
            key = nfkc(key)
        self.entries.append(Entry(key, parent, kind, first, last or first))
        if scalar is not None:
            self.entries[-1].readings, self.entries[-1].written, self.entries[-1].doubt = scalar
        self.depths.append(depth)
        return len(self.entries) - 1

    def reach(self, row: int, last: int) -> None:
        """Lets an entry end on that line or later."""
        self.entries[row].last = max(self.entries[row].last, last)


_INTERPOLATION: Final = re.compile(r"\$[A-Za-z_({]|\{\{|%\(|<%|%[A-Za-z_]{1,64}%|@[A-Za-z_]{1,64}@")
"""Something else may be put into a text before it is used: `$PORT`, `{{ port }}`, `%(port)s`."""


def text(content: str, *, plain: bool = False) -> Scalar:
    """The value of a text; doubtful where something may be put into it.

    Args:
        content: the text.
        plain: its format has no quotes, so that it compares as text or as a number.
    """
    if _INTERPOLATION.search(content):
        return Scalar(written=content, doubt="computed")
    return reading(value_of_text(content) if plain else content)


def reading(*values: Value) -> Scalar:
    """A value with these readings."""
    return Scalar(tuple(literal_of(value) for value in dict.fromkeys(values)))


def number(content: str) -> Scalar:
    """The value of a decimal number.

    It has two readings where binary floating point of 64 bits does not keep it, and none where a check cannot write it.
    """
    try:
        exact = whole_or_decimal(Decimal(content)) if len(content) <= MAX_DIGITS else None
        rounded = None if exact is None else whole_or_decimal(Decimal(repr(float(content))))
    except (InvalidOperation, ValueError, OverflowError):
        exact = rounded = None
    if exact is None or rounded is None:
        return Scalar(written=content, doubt="incomparable")
    return reading(exact, rounded)


CONSTANTS: Final = {"true": reading(True), "false": reading(False), "null": reading(None)}
