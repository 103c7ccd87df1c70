"""What stands in a document of keys and values (JSON, TOML, YAML, INI): one table of rows, each with its lines.

Parsers fill it; `doc_names.py` finds the rows that a name means, `doc_keys.py` decides checks by them. A value whose
meaning depends on who reads it is kept as doubtful, so that nothing exact is said of it; an alias stays a reference,
and is never expanded. The number of rows and their depth are bounded.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

import msgspec

from ...codecs.unicode_text import nfkc
from .checks import Value
from .results import HeldReason

MAX_ROWS: Final = 200_000
"""Keys and list items of one document; with them a document takes about 80 MB."""
MAX_DEPTH: Final = 128
"""Mappings and lists inside one another."""
MAX_ITEMS: Final = 4_000
"""Items of a list that a check is compared with, those of inner lists included; a check declares far fewer."""
_ROW_WEIGHT: Final = 400
_BLOCK_WEIGHT: Final = 400
"""Bytes that a row, and a header, takes, measured."""


class Unreadable(Exception):
    """A document that a parser does not take; the reason is what its checks come to."""

    def __init__(self, reason: HeldReason) -> None:
        super().__init__(reason)
        self.reason: HeldReason = reason


class Shape(Enum):
    """What a row holds where it is no value."""

    MAPPING = "mapping"
    SEQUENCE = "sequence"
    HIDDEN = "hidden"  # something that is not written down as a plain value, such as a tagged node


class Doubtful(msgspec.Struct, frozen=True, gc=False):
    """A value that readers of the format take differently, or that is worked out elsewhere.

    Attributes:
        text: as it is written; a check that declares the same text holds.
        reason: what any other check comes to.
    """

    text: str
    reason: HeldReason


class Either(msgspec.Struct, frozen=True, gc=False):
    """A text that some readers end earlier than others, such as `30 ; seconds`; both readings."""

    texts: tuple[str, str]


Content = Value | Doubtful | Either | Shape
Key = str | int


class Block(NamedTuple):
    """Lines that stand below one header.

    Attributes:
        first: the header's line.
        last: the last line of a key below it.
        reach: the line before the next header.
    """

    first: int
    last: int
    reach: int


class Tree:
    """The rows of one document.

    Invariants: a row's parent stands before it, that of a root is -1; `children` leads to the first row of each key,
    and all rows of a key that its parent has several times are in `repeated`; lines count from 1, and 0 is unknown.

    Attributes:
        keys, parents, contents, firsts, lasts: one item a row. A key is a text in NFKC, or the place in a list.
        roots: the rows of the documents themselves; YAML has several of them in one file.
        by_key: all rows of a textual key, in the document's order.
        aliases: from a row to the one that it stands for; the latter stands for no other.
        shared: rows that aliases stand for.
        merging: mappings that may have further keys, taken over from elsewhere.
        blocks: for the tables of a format with headers, where they stand.
        hides: it has keys that no name leads to.
        variables: its keys are variables of the environment.
        literal: its texts mean themselves, with nothing like `${NAME}` in them.
        folded: the same rows with keys in lower case, where readers of the format do not tell them apart.
    """

    __slots__ = (
        *("aliases", "blocks", "by_key", "children", "contents", "firsts", "folded", "hides", "keys", "lasts"),
        *("literal", "merging", "parents", "repeated", "roots", "shared", "variables"),
    )

    def __init__(self) -> None:
        self.keys: list[Key] = []
        self.parents: list[int] = []
        self.contents: list[Content] = []
        self.firsts: list[int] = []
        self.lasts: list[int] = []
        self.roots: list[int] = []
        self.children: dict[tuple[int, Key], int] = {}
        self.by_key: dict[str, list[int]] = {}
        self.repeated: set[int] = set()
        self.aliases: dict[int, int] = {}
        self.shared: set[int] = set()
        self.merging: set[int] = set()
        self.blocks: dict[int, list[Block]] = {}
        self.hides = False
        self.variables = False
        self.literal = False
        self.folded: Tree | None = None

    def root(self, content: Content, first: int, last: int) -> int:
        """Adds a document; returns its row."""
        row = self._append("", -1, content, first, last)
        self.roots.append(row)
        return row

    def add(self, parent: int, key: Key, content: Content, first: int, last: int) -> int:
        """Adds what stands under a key of a mapping, or at a place of a list; returns its row.

        Raises:
            Unreadable: there are more rows than a document may have.
        """
        if isinstance(key, str):
            key = key if key.isascii() else nfkc(key)
        row = self._append(key, parent, content, first, last)
        self._enter(row, parent, key)
        return row

    def _append(self, key: Key, parent: int, content: Content, first: int, last: int) -> int:
        row = len(self.keys)
        if row >= MAX_ROWS:
            raise Unreadable("too-large")
        self.keys.append(key)
        self.parents.append(parent)
        self.contents.append(content)
        self.firsts.append(first)
        self.lasts.append(last)
        return row

    def _enter(self, row: int, parent: int, key: Key) -> None:
        before = self.children.setdefault((parent, key), row)
        if before != row:
            self.repeated.update((before, row))
        if isinstance(key, str):
            self.by_key.setdefault(key, []).append(row)

    def fold_keys(self) -> None:
        """Makes `folded`; the document does not change after that."""
        folded = Tree()
        folded.keys = [key.lower() if isinstance(key, str) else key for key in self.keys]
        for name in ("parents", "contents", "firsts", "lasts", "roots", "aliases", "shared", "merging", "blocks"):
            setattr(folded, name, getattr(self, name))
        folded.hides, folded.literal, folded.repeated = self.hides, self.literal, set(self.repeated)
        for row, (parent, key) in enumerate(zip(self.parents, folded.keys, strict=True)):
            if parent >= 0:
                folded._enter(row, parent, key)
        self.folded = folded

    def target(self, row: int) -> int:
        """The row that a row stands for: itself, where it is no alias."""
        return self.aliases.get(row, row)

    def content(self, row: int) -> Content:
        """What a row holds; a list as a tuple where all of its items are plain values."""
        found = self.contents[self.target(row)]
        if found is not Shape.SEQUENCE:
            return found
        items = self._items(row, [MAX_ITEMS])
        return Shape.SEQUENCE if items is None else items

    def _items(self, row: int, left: list[int]) -> tuple[Value, ...] | None:
        """A list's items; None where one of them is no plain value, or there are more than are `left`.

        Every item counts, also those met again through an alias, so that lists of lists of aliases end here as well.
        """
        row = self.target(row)
        items: list[Value] = []
        while (child := self.children.get((row, len(items)))) is not None:
            left[0] -= 1
            if left[0] < 0:
                return None
            content = self.contents[self.target(child)]
            if content is Shape.SEQUENCE:
                content = self._items(child, left)
                if content is None:
                    return None
            if isinstance(content, Shape | Doubtful | Either) or self.interpolates(content):
                return None
            items.append(content)
        return tuple(items)

    def interpolates(self, content: Value) -> bool:
        """Whether something else may be put into a text before it is used: `$PORT`, `{{ port }}`, `%(port)s`."""
        return not self.literal and isinstance(content, str) and _INTERPOLATION.search(content) is not None

    def is_table(self, row: int) -> bool:
        """Whether a row holds keys: a mapping, or a list of mappings."""
        row = self.target(row)
        content = self.contents[row]
        if content is Shape.SEQUENCE:
            first = self.children.get((row, 0))
            return first is not None and self.contents[self.target(first)] is Shape.MAPPING
        return content is Shape.MAPPING

    def lineage(self, row: int) -> list[int]:
        """A row and all that it stands in."""
        found: list[int] = []
        while row >= 0:
            found.append(row)
            row = self.parents[row]
        return found

    def lines(self, row: int) -> tuple[int, int] | None:
        """First and last line of a key and its value; None where they are not known."""
        return (self.firsts[row], self.lasts[row]) if self.firsts[row] else None

    def weight(self, text: str) -> int:
        """About how many bytes the document takes, beside its text."""
        rows = len(self.keys) * (2 if self.folded else 1)
        return _ROW_WEIGHT * rows + _BLOCK_WEIGHT * len(self.blocks) + len(text)


_INTERPOLATION: Final = re.compile(r"\$[A-Za-z_({]|\{\{|%\(|<%|%[A-Za-z_]{1,64}%|@[A-Za-z_]{1,64}@")
