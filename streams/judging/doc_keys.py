"""Checks on documents of keys and values: `defines`, `equals` and `compare` by key, and where a key's lines are.

A key that is there with another value makes `equals` exactly false; a key that is not there only fails it. Several keys
of one name, a key that its mapping has twice, values that readers of the format take differently and values that are
worked out elsewhere decide nothing.
"""

from __future__ import annotations

from typing import cast

from ...codecs.unicode_text import nfkc
from .checks import Check, Operator, Value
from .doc_names import Found, find
from .doc_tree import Block, Doubtful, Either, Shape, Tree
from .results import Held, HeldReason
from .values import compare, value_of_text

Answer = tuple[bool | None, HeldReason | None]


def verify_keys(check: Check, tree: Tree, lines: tuple[int, int] | None) -> Held:
    """Whether a check holds in a document.

    Args:
        check: `defines`, `equals` or `compare`; its `not` is left to the caller.
        tree: the document.
        lines: first and last line of the region, from 1; keys outside do not count. None for all.
    """
    within: int | None = None
    inside = check.text("in")
    if inside:
        scope = _scope(tree, inside, lines)
        if isinstance(scope, Held):
            return scope
        within = scope
    if check.name == "defines":
        return _defines(check, tree, find(tree, check.text("symbol"), within, lines))
    found = find(tree, check.text("name"), within, lines)
    if not found.rows:
        return Held(None, found.doubt or "not-found")
    row = found.rows[0]
    if len(found.rows) > 1 or found.doubt is not None:
        return Held(None, found.doubt or "ambiguous")
    op = cast("Operator", check.text("op") or "=")
    holds, reason = decide(op, check.value("value"), tree, row)
    return Held(holds, reason, None if holds is None else tree.lines(row))


def _scope(tree: Tree, name: str, lines: tuple[int, int] | None) -> int | Held:
    """The one row that `in` names, if some of it stands in the lines."""
    found = find(tree, name)
    rows = [row for row in found.rows if lines is None or _meets(tree, row, lines)]
    if len(rows) == 1 and found.doubt is None:
        return rows[0]
    return Held(None, found.doubt or ("ambiguous" if rows else "not-found"))


def _meets(tree: Tree, row: int, lines: tuple[int, int]) -> bool:
    """Whether something of a key stands in the lines; what stands nobody knows where may."""
    if tree.firsts[row] == 0:
        return True
    return any(first <= lines[1] and lines[0] <= last for first, last in extents_of(tree, row))


def _defines(check: Check, tree: Tree, found: Found) -> Held:
    kind = check.text("kind")
    if kind not in ("", "section") and not (kind == "variable" and tree.variables):
        return Held(None, "unlisted-language")
    rows = [row for row in found.rows if kind != "section" or tree.is_table(row)]
    if rows:
        return Held(True, None, tree.lines(rows[0]))
    if found.doubt is not None:
        return Held(None, found.doubt)
    if tree.hides or any(tree.content(row) is Shape.HIDDEN for row in found.rows):
        return Held(None, "computed")
    return Held(False, "differs")


def decide(op: Operator, declared: Value, tree: Tree, row: int) -> Answer:
    """Whether what a row holds stands in a relation to what is declared, and why not."""
    content = tree.content(row)
    if isinstance(content, Shape):
        return None, "computed" if content is Shape.HIDDEN else "incomparable"
    if isinstance(content, Either):
        answers = {compare(op, declared, value_of_text(text)) for text in content.texts}
        return _answer_of(answers.pop()) if len(answers) == 1 else (None, "ambiguous")
    if not isinstance(content, Doubtful) and tree.interpolates(content):
        content = Doubtful(cast("str", content), "computed")
    if isinstance(content, Doubtful):
        return _by_text(op, declared, content)
    return _answer_of(compare(op, declared, content))


def _answer_of(answer: bool | None) -> Answer:
    return answer, None if answer else "incomparable" if answer is None else "differs"


def _by_text(op: Operator, declared: Value, content: Doubtful) -> Answer:
    """A doubtful value is what it is written as, and no more is known of it."""
    if op in ("=", "!=") and isinstance(declared, str) and nfkc(content.text) == declared:
        return _answer_of(op == "=")
    return None, content.reason


def extents(tree: Tree, name: str) -> list[tuple[int, int]]:
    """First and last line of all keys, tables and sections that a name means; a table may be in several pieces."""
    found = find(tree, name)
    if found.doubt is not None:
        return []
    pieces = dict.fromkeys(piece for row in found.rows for piece in extents_of(tree, row))
    return list(pieces)


def extents_of(tree: Tree, row: int) -> list[tuple[int, int]]:
    """First and last line of one key and all that stands under it."""
    if not tree.blocks:
        lines = tree.lines(row)
        return [] if lines is None else [lines]
    merged: list[list[int]] = []
    for first, last, reach in sorted(_blocks(tree, row)):
        if merged and first <= merged[-1][2] + 1:
            merged[-1][1:] = [max(merged[-1][1], last), max(merged[-1][2], reach)]
        else:
            merged.append([first, last, reach])
    return [(first, last) for first, last, _ in merged]


def _blocks(tree: Tree, row: int) -> list[Block]:
    """The headers' blocks of a table and of the tables in it; for any other key its own lines."""
    end = row + 1
    while end < len(tree.parents) and tree.parents[end] >= row:
        end += 1
    found = [block for one in range(row, end) for block in tree.blocks.get(one, ())]
    lines = tree.lines(row)
    if not found and lines is not None:
        found.append(Block(*lines, lines[1]))
    return found
