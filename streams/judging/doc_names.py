"""The entries of a document that a name means: a dotted path, a place in a list, a JSON Pointer, or a key anywhere.

A name is compared from its end: the key of an entry, then the keys of all that it stands in, so that a key with dots in
it is no special case. Where the whole path of an entry is the name, entries whose path merely ends so are `others`.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Final, Literal, NamedTuple

from .doc_entries import Document
from .doc_markdown import headings_named
from .results import HeldReason

MAX_PARTS: Final = 64
"""Parts of one name."""
MAX_CANDIDATES: Final = 5


class Named(NamedTuple):
    """What a name means.

    Attributes:
        rows: the entries, in the document's order.
        others: further entries whose path ends in the name.
        doubt: the reason why there may be other ones.
    """

    rows: tuple[int, ...] = ()
    others: tuple[int, ...] = ()
    doubt: HeldReason | None = None


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
    folds = (False, True) if document.format in ("ini", "conf") else (False,)
    for spelling in _spellings(name):
        for fold in folds:
            named = _find(document, spelling, within, lines, fold)
            if named.rows or named.doubt is not None:
                return named
    return Named()


_ITEM: Final = re.compile(r"\[([0-9]{1,9})\]")
_REFERENCE: Final = re.compile(r"\$\(([^()$]+)\)|\$\{([^{}$]+)\}")


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
    document: Document, name: str, within: frozenset[int] | None, lines: tuple[int, int] | None, fold: bool
) -> Named:
    if name.count(".") >= MAX_PARTS:
        return Named(doubt="too-large")
    index, entries = document.index, document.entries
    starts = index.roots if within is None else within
    breaks = [0, *(mark.end() for mark in re.finditer(r"\.", name))]
    rows = [row for start in breaks for row in index.by_key.get(name[start:].lower(), ())]
    met = {row: _met(document, row, name.lower() if fold else name, starts, fold) for row in rows}
    if name.startswith("/"):  # a JSON Pointer (RFC 6901)
        tokens = [token.replace("~1", "/").replace("~0", "~") for token in name[1:].split("/")]
        for row in index.by_key.get(tokens[-1].lower(), ()):
            lineage = document.lineage(row)[: len(tokens)]
            if [str(entries[up].key) for up in reversed(lineage)] == tokens and entries[lineage[-1]].parent in starts:
                met[row] = "whole"
    met = {row: how for row, how in met.items() if _in_lines(document, row, lines)}
    whole = sorted(row for row, how in met.items() if how == "whole")
    ends = sorted(
        row
        for row, how in met.items()
        if how == "end" and (within is None or not within.isdisjoint(document.lineage(row)[1:]))
    )
    if whole or not ends:
        return Named(tuple(whole), tuple(ends))
    # `a.b` at another place, while there is an `a` without a `b` at the top, or one that is an alias or merges another.
    tops = {str(entries[child].key) for root in starts for child in index.children.get(root, ())}
    open_ = {str(entry.key) for entry in entries if entry.doubt is not None and entry.kind in ("mapping", "list")}
    begins = any(name[: end - 1] in tops for end in breaks[1:]) or any(
        name[start : end - 1] in open_ for end in breaks for start in breaks if start < end
    )
    return Named(tuple(ends), (), "ambiguous" if begins else None)


def _met(document: Document, row: int, name: str, starts: Set[int], fold: bool) -> Literal["whole", "end", ""]:
    """Whether a name is the whole path of an entry from where it starts, or the end of its path."""
    while row not in starts and row >= 0:
        entry = document.entries[row]
        key = str(entry.key).lower() if fold else str(entry.key)
        if name == key:
            return "whole" if entry.parent in starts else "end"
        if not name.endswith(f".{key}"):
            break
        row, name = entry.parent, name[: -len(key) - 1]
    return ""


def candidates(document: Document, rows: tuple[int, ...]) -> tuple[str, ...]:
    """The paths of some entries, each with its line where it has one, at most 5."""
    return tuple(
        document.path(row)[:200] + (f" (line {document.entries[row].first})" if document.entries[row].first else "")
        for row in rows[:MAX_CANDIDATES]
    )
