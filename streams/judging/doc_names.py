"""The entries of a document that a name means: a dotted path, a place in a list, a JSON Pointer, or a key anywhere.

A name is compared from its end: the key of an entry, then the keys of all that it stands in, so that a key with dots in
it is no special case. Where the whole path of an entry is the name, entries whose path merely ends so are `others`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .doc_entries import Document, Index
from .doc_markdown import headings_named
from .results import HeldReason

MAX_PARTS: Final = 64
"""Parts of one name."""
MAX_STEPS: Final = 100_000
"""Entries looked at for one name."""
MAX_CANDIDATES: Final = 5


class Named(NamedTuple):
    """What a name means.

    Attributes:
        rows: the entries, in the document's order; an alias is not followed.
        others: further entries whose path ends in the name.
        doubt: the reason why there may be other ones.
    """

    rows: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    doubt: HeldReason | None = None


_ITEM: Final = re.compile(r"\[([0-9]{1,9})\]")
_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)|\$\{([^{}$]+)\}")


def find(
    document: Document, name: str, within: frozenset[int] | None = None, lines: tuple[int, int] | None = None
) -> Named:
    """The entries that a name means.

    Args:
        document: the document.
        name: `a.b`, `a.0.b`, `a[0].b`, `/a/b/0`, the end of such a path, or a heading; in NFKC.
        within: the entries in which alone it is looked for.
        lines: first and last line, from 1: only entries that begin there.
    """
    if document.format == "markdown":
        rows = [
            row
            for row, entry in enumerate(document.entries)
            if entry.parent >= 0
            and _in_lines(document, row, lines)
            and (within is None or not within.isdisjoint(document.lineage(row)[1:]))
        ]
        headings = [str(document.entries[row].key) for row in rows]
        return Named(tuple(rows[at] for at in headings_named(name, headings)))
    folds = document.format in ("ini", "conf")
    for spelling in _spellings(name):
        for index in (document.index, document.folded) if folds else (document.index,):
            named = _find(document, index, spelling.lower() if index is not document.index else spelling, within, lines)
            if named.rows or named.doubt is not None:
                return named
    return Named()


def _spellings(name: str) -> dict[str, None]:
    """A name, and what it is without what jq, JSONPath, headers of tables and references to variables set around it."""
    bare = name[2:] if name.startswith("$.") else name.removeprefix(".")
    if name.startswith("[") and name.endswith("]"):
        bare = name.removeprefix("[").removeprefix("[").removesuffix("]").removesuffix("]").strip()
    elif (reference := _REFERENCE.fullmatch(name)) is not None:
        bare = reference[1] or reference[2]
    return dict.fromkeys(spelling for spelling in (name, bare, _ITEM.sub(r".\1", bare).lstrip(".")) if spelling)


def _in_lines(document: Document, row: int, lines: tuple[int, int] | None) -> bool:
    return lines is None or lines[0] <= document.entries[row].first <= lines[1]


def _find(
    document: Document, index: Index, name: str, within: frozenset[int] | None, lines: tuple[int, int] | None
) -> Named:
    if name.count(".") >= MAX_PARTS:
        return Named(doubt="too-large")
    starts = frozenset(index.roots) if within is None else frozenset(map(document.target, within))
    search = _Search(document, index, starts)
    whole: list[int] = []
    ends: list[int] = []
    breaks = [0, *(mark.end() for mark in re.finditer(r"\.", name))]
    for start in breaks:
        for row in index.by_key.get(name[start:], ()):
            if not _in_lines(document, row, lines):
                continue
            met = search.climb(row, name[: start - 1] if start else None)
            if search.steps > MAX_STEPS:
                return Named(doubt="too-large")
            if met == "whole":
                whole.append(row)
            elif met == "end" and (within is None or not starts.isdisjoint(document.lineage(row)[1:])):
                ends.append(row)
    if name.startswith("/"):
        whole += search.pointer(name, lines)
    if whole:
        return Named(tuple(sorted(set(whole))), tuple(sorted(set(ends))))
    begins = any(search.is_top(name[: start - 1]) for start in breaks[1:])
    shared = any(up in index.aliases for row in ends for up in document.lineage(row))
    # `a.b` at another place, while there is an `a` without a `b` at the top; or a key that an alias repeats elsewhere
    return Named(tuple(sorted(set(ends))), (), "ambiguous" if ends and (begins or shared) else None)


class _Search:
    """One search; `steps` counts the entries that it looked at."""

    def __init__(self, document: Document, index: Index, starts: frozenset[int]) -> None:
        self.document, self.index, self.starts = document, index, starts
        self.steps = 0

    def climb(self, row: int, rest: str | None) -> str:
        """Compares what an entry stands in with what a name has left; `whole`, `end` or nothing.

        Args:
            row: the entry, whose own key was compared already.
            rest: what is left of the name; None for nothing.
        """
        met = ""
        open_, seen = [(row, rest)], {(row, rest)}
        while open_ and self.steps <= MAX_STEPS:
            row, rest = open_.pop()
            self.steps += 1
            parent = self.document.entries[row].parent
            if rest is None:
                met = "whole" if parent in self.starts else met or "end"
                continue
            for holder in (parent, *self.index.aliases.get(parent, ())):
                key = self.index.keys[holder]
                if self.document.entries[holder].parent < 0 or holder in self.starts:
                    continue
                if rest == key:
                    step = (holder, None)
                elif rest.endswith(f".{key}"):
                    step = (holder, rest[: -len(key) - 1])
                else:
                    continue
                if step not in seen:
                    seen.add(step)
                    open_.append(step)
        return met

    def is_top(self, key: str) -> bool:
        """Whether a key stands at the top."""
        rows = self.index.by_key.get(key, ())
        return any(self.document.entries[row].parent in self.starts for row in rows[:MAX_STEPS])

    def pointer(self, name: str, lines: tuple[int, int] | None) -> list[int]:
        """The entries that a name means as a JSON Pointer (RFC 6901)."""
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in name[1:].split("/")]
        rows: list[int] = []
        for row in self.index.by_key.get(tokens[-1], ()):
            self.steps += 1
            at = row
            for token in reversed(tokens):
                if self.index.keys[at] != token or self.document.entries[at].parent < 0:
                    break
                at = self.document.entries[at].parent
            else:
                if at in self.starts and _in_lines(self.document, row, lines):
                    rows.append(row)
        return rows


def candidates(document: Document, rows: tuple[int, ...]) -> tuple[str, ...]:
    """The paths of some entries, each with its line where it has one, at most 5."""
    return tuple(
        document.path(row)[:200] + (f" (line {document.entries[row].first})" if document.entries[row].first else "")
        for row in rows[:MAX_CANDIDATES]
    )
