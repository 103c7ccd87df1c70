"""Go: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .checks import Value
from .language import as_path, row
from .values import Found, Reading, listed, parts_of, read, text_found

if TYPE_CHECKING:
    from tree_sitter import Node

_LISTS: Final = frozenset(("slice_type", "implicit_length_array_type"))
_VERSION: Final = re.compile(r"v[0-9]+")
_SIZED: Final = frozenset(f"{sign}int{size}" for sign in ("", "u") for size in ("", "8", "16", "32", "64"))
_INTEGERS: Final = _SIZED | {"byte", "rune", "uintptr"}
_EXACT: Final = {"string": str, "bool": bool, "error": type(None)}


def _fits(declared: str, value: Value) -> bool:
    """A whole number that its type cannot hold does not compile; a fraction may be rounded, and a type may be any."""
    if not declared:
        return True
    if declared in _EXACT:
        return isinstance(value, _EXACT[declared])
    if declared in _INTEGERS:
        return isinstance(value, int) and not isinstance(value, bool)
    if declared == "float64":
        return isinstance(value, Decimal) or (isinstance(value, int) and abs(value) < 2**53)
    return isinstance(value, tuple) and declared.startswith("[]")


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    return text_found(code.text(node)[1:-1].replace("\r", ""))


def _list(code: Reading, node: Node, depth: int) -> Found | None:
    """`[]string{"a", "b"}`; with keys it is none."""
    sort, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if sort is None or body is None or sort.type not in _LISTS:
        return None
    parts = parts_of(body)
    if any(part.type != "literal_element" or len(part.named_children) != 1 for part in parts):
        return None
    return listed(code, [part.named_children[0] for part in parts], depth)


def _members(code: Reading, node: Node) -> Found | None:
    """The items of a list; the keys of a mapping, where all are literals."""
    sort, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if sort is None or body is None or sort.type != "map_type":
        return _list(code, node, 1) if node.type == "composite_literal" else None
    keys: list[Value] = []
    for part in parts_of(body):
        key = part.child_by_field_name("key")
        found = None if key is None or not key.named_children else read(code, key.named_children[0], 1)
        if found is None:
            return None
        keys.append(found.value)
    return Found(tuple(keys)) if len(keys) == len(set(map(repr, keys))) else None


def _binding(module: str) -> str:
    """The last part of the path, but a version: the usual name of a package, which its own files tell."""
    *before, last = module.split("/")
    return before[-1] if before and _VERSION.fullmatch(last) else last


GO: Final = row("go", raw=_raw, list=_list, fits=_fits, members=_members, imported=as_path, binding=_binding)
