"""Which rows of a document a name means: a dotted path, a place in a list, a JSON Pointer, or a key wherever it stands.

A name is read from the top first, in every way in which its dots can be part of keys; only where that leads nowhere it
is the end of a longer path. The answer says where there are several rows, or rows in another reading of the name.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .doc_tree import Shape, Tree
from .results import HeldReason

MAX_PARTS: Final = 64
"""Parts of one name."""
MAX_STEPS: Final = 100_000
"""Keys looked up for one name: hostile keys let one name be read in many ways."""


class Found(NamedTuple):
    """The rows that a name means.

    Attributes:
        rows: of the keys, in the document's order; an alias is not followed.
        doubt: why there may be others, or these may not be what the name means to every reader.
    """

    rows: tuple[int, ...] = ()
    doubt: HeldReason | None = None


def find(tree: Tree, name: str, within: int | None = None, lines: tuple[int, int] | None = None) -> Found:
    """The rows that a name means.

    Args:
        tree: the document.
        name: `a.b`, `a.0.b`, `a[0].b`, `/a/b/0`, or the end of such a path; in NFKC.
        within: a row whose keys alone are meant.
        lines: first and last line, from 1: only keys that stand there.
    """
    for spelling in _spellings(name):
        found = _find(tree, spelling, within, lines)
        if not found.rows and found.doubt is None and tree.folded is not None:
            found = _find(tree.folded, nfkc(spelling).lower(), within, lines)
        if found.rows or found.doubt is not None:
            return found
    return Found((), "not-found" if _FOREIGN.search(name) else None)


def _spellings(name: str) -> list[str]:
    """A name, and what it is without what jq, JSONPath and headers of tables set around it."""
    bare = name[2:] if name.startswith("$.") else name.removeprefix(".")
    if name.startswith("[") and name.endswith("]"):
        bare = name.removeprefix("[").removeprefix("[").removesuffix("]").removesuffix("]").strip()
    return [name] if bare == name or not bare else [name, bare]


_FOREIGN: Final = re.compile(r"[\[\]\"'*?]")
"""In a name that leads nowhere: perhaps a notation of paths that is not read here, so nothing is exact."""


def _find(tree: Tree, name: str, within: int | None, lines: tuple[int, int] | None) -> Found:
    search = _Search(tree, _Name(name))
    starts = tree.roots if within is None else [tree.target(within)]
    rows = search.walk([(row, 0) for row in starts])
    if name.startswith("/"):
        rows.update(search.pointer(starts))
    found = _placed(tree, Found(tuple(sorted(rows)), search.doubt), lines)
    if not found.rows and found.doubt is None:
        rows = search.anywhere(None if within is None else tree.target(within))
        if rows and search.begins(starts):
            return Found((), "ambiguous")  # `a.b` at another place, while there is an `a` without a `b` at the top
        found = _placed(tree, Found(tuple(sorted(rows)), search.doubt), lines)
    if len(found.rows) == 1 and not tree.repeated.isdisjoint(tree.lineage(found.rows[0])):
        return Found(found.rows, "ambiguous")  # its mapping, or one that it stands in, has the key twice
    return found


def _placed(tree: Tree, found: Found, lines: tuple[int, int] | None) -> Found:
    """Those of the rows whose keys stand in the lines; a row of which nobody knows where it stands is a doubt."""
    if lines is None:
        return found
    first, last = lines
    rows = tuple(row for row in found.rows if first <= tree.firsts[row] <= last)
    lost = any(tree.firsts[row] == 0 for row in found.rows)
    return Found(rows, "ambiguous" if lost else found.doubt)


class _Name:
    """A name and its parts: `a[0].b` has the parts `a`, `[0]` and `b`.

    Attributes:
        text: the whole name.
        starts, ends: of each part; what stands between the start of one and the end of another may be one key.
    """

    __slots__ = ("ends", "starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts, self.ends = [0], list[int]()
        for mark in _BREAK.finditer(text):
            if mark.start() == 0:
                continue
            if mark.start() > self.starts[-1] or not mark[1]:
                self.ends.append(mark.start())
                self.starts.append(mark.end() if mark[0] == "." else mark.start())
        self.ends.append(len(text))

    def slice(self, first: int, last: int) -> str:
        return self.text[self.starts[first] : self.ends[last]]

    def index(self, part: int) -> int | None:
        """The place in a list that a part means."""
        index = _INDEX.fullmatch(self.slice(part, part))
        return int(index[1] or index[2]) if index else None


_BREAK: Final = re.compile(r"\.|(?=\[([0-9]{1,9})\])")
_INDEX: Final = re.compile(r"(0|[1-9][0-9]{0,8})|\[(0|[1-9][0-9]{0,8})\]")


class _Search:
    """One search; `doubt` is what it met on its way."""

    def __init__(self, tree: Tree, name: _Name) -> None:
        self.tree, self.name = tree, name
        self.doubt: HeldReason | None = None
        self.steps = 0

    def walk(self, starts: list[tuple[int, int]]) -> set[int]:
        """The rows at which the whole name is used up, from rows at which so many of its parts are."""
        found: set[int] = set()
        parts = len(self.name.starts)
        if parts > MAX_PARTS:
            self.doubt = "too-large"
            return found
        open_, seen = list(starts), set(starts)
        while open_:
            row, used = open_.pop()
            if used == parts:
                found.add(row)
                continue
            steps = self._next(self.tree.target(row), used)
            self.steps += parts - used
            if self.steps > MAX_STEPS:
                self.doubt = "too-large"
                return found
            new = [step for step in steps if step not in seen]
            seen.update(new)
            open_ += new
        return found

    def _next(self, row: int, used: int) -> list[tuple[int, int]]:
        """Where the next parts of the name lead from a row, with how many are used up then."""
        tree, name = self.tree, self.name
        content = tree.contents[row]
        if row in tree.repeated:
            self.doubt = "ambiguous"
        if content is Shape.SEQUENCE:
            index = name.index(used)
            if index is None:
                if used:
                    self.doubt = "not-found"  # perhaps a key of its items is meant
                return []
            child = tree.children.get((row, index))
            return [] if child is None else [(child, used + 1)]
        if content is not Shape.MAPPING:
            if content is Shape.HIDDEN:
                self.doubt = "computed"
            return []
        steps: list[tuple[int, int]] = []
        for last in range(used, len(name.starts)):
            child = tree.children.get((row, name.slice(used, last)))
            if child is not None:
                steps.append((child, last + 1))
        if not steps and row in tree.merging:
            self.doubt = "computed"
        return steps

    def begins(self, starts: list[int]) -> bool:
        """Whether a name of several parts begins with a key that is there."""
        keys = [self.name.slice(0, last) for last in range(len(self.name.starts) - 1)]
        return any((row, key) in self.tree.children for row in starts for key in keys)

    def pointer(self, starts: list[int]) -> set[int]:
        """The rows that the name means as a JSON Pointer (RFC 6901)."""
        text = self.name.text
        if _BAD_ESCAPE.search(text):
            return set()
        found: set[int] = set()
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in text[1:].split("/")]
        for start in starts:
            row: int | None = start
            for token in tokens:
                row = self._child(self.tree.target(row), token)
                if row is None:
                    break
            if row is not None:
                found.add(row)
        return found

    def _child(self, row: int, token: str) -> int | None:
        tree = self.tree
        if row in tree.repeated:
            self.doubt = "ambiguous"
        if tree.contents[row] is Shape.SEQUENCE:
            index = _INDEX.fullmatch(token)
            return tree.children.get((row, int(index[1]))) if index and index[1] else None
        child = tree.children.get((row, token))
        if child is None and (row in tree.merging or tree.contents[row] is Shape.HIDDEN):
            self.doubt = "computed"
        return child

    def anywhere(self, within: int | None) -> set[int]:
        """The rows that the name leads to from a key at any place, if it begins with that key."""
        tree, name = self.tree, self.name
        found: set[int] = set()
        parts = len(name.starts)
        if parts > MAX_PARTS:
            return found
        inside = None if within is None else _below(tree, {within})
        for last in range(parts):
            starts = tree.by_key.get(name.slice(0, last), ())
            if inside is not None:
                starts = [row for row in starts if row in inside]
            found |= set(starts) if last + 1 == parts else self.walk([(row, last + 1) for row in starts])
        if found and tree.shared and not found.isdisjoint(_below(tree, tree.shared)):
            self.doubt = "ambiguous"  # through an alias it stands at other places as well
        return found


def _below(tree: Tree, rows: set[int]) -> set[int]:
    """The rows and all that stand in them."""
    inside = set(rows)
    for row in range(min(rows), len(tree.parents)):
        if tree.parents[row] in inside:
            inside.add(row)
    return inside


_BAD_ESCAPE: Final = re.compile(r"~(?![01])")
