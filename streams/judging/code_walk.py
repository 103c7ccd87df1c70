"""Walks over one definition, and tells of each node whether it is run with the definition's body (docs/checks.md).

What is left out: nested definitions, anonymous functions, branches that are never met, statements behind a `return`.
The walk goes by a cursor and is linear in the nodes. `ends_with` compares what is called or mentioned with a name.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING

from .code_building import unreached
from .code_model import Code, Definition

if TYPE_CHECKING:
    from tree_sitter import Node


class Part(IntEnum):
    """Where in a definition a node stands."""

    BODY = 0
    SIGNATURE = 1  # decorators, parameters, defaults, types
    ANONYMOUS = 2  # in a function without a name, which may be run or not
    NESTED = 3  # in a definition of its own
    DEAD = 4  # where nothing ever comes to


def nodes_of(code: Code, definition: Definition, near: Sequence[int] | None = None) -> Iterator[tuple[Node, Part]]:
    """Every node of a definition, in the order of the text, with the part of it that it is in.

    Args:
        code: the file.
        definition: whose nodes are wanted.
        near: the bytes at which something stands, in order: then what is inside a node without any of these is left
            out. Every other node has the same part as in a walk over all.
    """
    grammar, body = code.grammar, definition.body if definition.body is not None else definition.value
    nested, anonymous, branches, bodies = grammar.nested, grammar.anonymous, grammar.branches, code.bodies
    blocks, labels = grammar.blocks, grammar.labels
    body_id = body.id if body is not None else 0
    dead: set[int] = set()
    cursor = definition.node.walk()
    parts = [Part.SIGNATURE]
    left = [False]
    parents: list[Node] = []
    while True:
        node = cursor.node
        assert node is not None, "a cursor stands at a node"
        part, sort = parts[-1], node.type
        if node.id == body_id:
            part = Part.BODY
        elif left[-1] and sort in labels:
            left[-1] = False
        elif left[-1] or (dead and node.id in dead):
            part = Part.DEAD
        elif part is Part.BODY:
            if sort in nested or (bodies and (node.start_byte, node.end_byte) in bodies):
                part = Part.NESTED
            elif sort in anonymous and not (parents and grammar.inline(code, parents[-1])):
                part = Part.ANONYMOUS
        if sort in branches:
            dead.update(one.id for one in unreached(code, grammar, node))
        yield node, part
        if (near is None or _has_one(near, node)) and cursor.goto_first_child():
            parts.append(part)
            left.append(False)
            parents.append(node)
            continue
        while True:
            here = cursor.node
            assert here is not None, "a cursor stands at a node"
            if parents and parents[-1].type in blocks and _leaves(code, here):
                left[-1] = True
            if cursor.goto_next_sibling():
                break
            if not cursor.goto_parent():
                return
            parts.pop()
            left.pop()
            parents.pop()


def _has_one(near: Sequence[int], node: Node) -> bool:
    place = bisect_left(near, node.start_byte)
    return place < len(near) and near[place] < node.end_byte


def _leaves(code: Code, node: Node) -> bool:
    """Whether nothing behind a statement of a block is reached."""
    leaving = code.grammar.leaving
    if node.type in leaving:
        return True
    return node.type == "expression_statement" and node.child_count > 0 and node.children[0].type in leaving


def ends_with(code: Code, node: Node, wanted: tuple[str, ...]) -> bool:
    """Whether a name, or a chain of names such as `a.b.c`, ends with these components."""
    return tuple(reversed(last_components(code, node, len(wanted)))) == wanted


def last_components(code: Code, node: Node, most: int) -> list[str]:
    """The last components of a chain of names, the last first; an empty one where something else stands in it."""
    members, wrappers, names = code.grammar.members, code.grammar.wrappers, code.grammar.names
    found: list[str] = []
    waiting = [node]
    steps = 0
    while waiting and len(found) < most and steps < 64:
        steps += 1
        here = waiting.pop()
        sort = here.type
        fields = members.get(sort)
        if fields is not None:
            if found and here.child_by_field_name("arguments") is not None:
                found.append("")  # `a().b` is no `a.b`
                break
            waiting.extend(_sides(here, fields))
        elif sort in wrappers:
            waiting.extend(_sides(here, (wrappers[sort] or "0",)))
        elif sort in names:
            found.append(code.name(here))
        else:
            found.append("")
            break
    return found


def _sides(node: Node, fields: tuple[str, ...]) -> list[Node]:
    """What stands in front of the dot, and behind it; a field that is a number is a place among the named children."""
    sides: list[Node] = []
    for field in fields:
        if field.lstrip("-").isdigit():
            children = node.named_children
            side = children[int(field)] if children else None
        else:
            side = node.child_by_field_name(field)
        if side is not None:
            sides.append(side)
    return sides
