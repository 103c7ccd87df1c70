"""The names that the declarators of C and C++ declare, whatever stands around them (docs/checks.md)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from .code_building import Builder

if TYPE_CHECKING:
    from tree_sitter import Node

_GENERIC: Final = re.compile(r"<[^<>]*>")


class Declared(NamedTuple):
    """What a declarator declares."""

    name: Node
    around: tuple[str, ...]
    text: str
    parameters: Node | None
    is_function: bool
    is_pointer: bool
    size: Node | None  # of an array that says it
    is_array: bool


def declared_by(builder: Builder, node: Node | None) -> Declared | None:
    """The name in a declarator, whatever pointers, brackets and parameters stand around it."""
    is_function, parameters = False, None
    is_pointer = is_array = False
    size: Node | None = None
    for _ in range(32):
        if node is None:
            return None
        sort = node.type
        if sort == "function_declarator":
            is_function, parameters = True, node.child_by_field_name("parameters")
        elif sort == "array_declarator":
            is_function, is_array, size = False, True, node.child_by_field_name("size")
        elif sort in ("pointer_declarator", "reference_declarator"):
            is_function, is_pointer = False, True
        elif sort in _NAMES:
            parts = parts_of_name(builder.code.text(node))
            if not parts:
                return None
            return Declared(node, parts[:-1], parts[-1], parameters, is_function, is_pointer, size, is_array)
        elif not sort.endswith("_declarator"):
            return None
        inner = node.child_by_field_name("declarator")
        node = inner if inner is not None else (node.named_children[-1] if node.named_children else None)
    return None


_NAMES: Final = frozenset(
    (
        "identifier",
        "field_identifier",
        "type_identifier",
        "qualified_identifier",
        "destructor_name",
        "operator_name",
        "operator_cast",
        "template_function",
    )
)


def parts_of_name(text: str) -> tuple[str, ...]:
    """`a::B<T>::c` as components."""
    text = "".join(text.split())
    if "operator" not in text:
        for _ in range(4):
            text = _GENERIC.sub("", text)
    return tuple(one for one in text.split("::") if one)
