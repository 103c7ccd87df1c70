"""Rust: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .checks import Value
from .language import dotted, row
from .values import Found, Reading, items, text_found

if TYPE_CHECKING:
    from tree_sitter import Node

_RANGES: Final = {
    f"{sign}{size}": (-(2 ** (bits - 1)), 2 ** (bits - 1)) if sign == "i" else (0, 2**bits)
    for size, bits in {"8": 8, "16": 16, "32": 32, "64": 64, "128": 128, "size": 64}.items()
    for sign in "iu"
}
_TEXTS: Final = frozenset(("&str", "&'staticstr"))


def _fits(declared: str, value: Value) -> bool:
    """Another type may be any: an alias of a narrow one, for example."""
    if isinstance(value, bool):
        return declared == "bool"
    if isinstance(value, int):
        low, high = _RANGES.get(declared, (-(2**53), 2**53) if declared == "f64" else (0, 0))
        return low <= value < high
    if isinstance(value, str):
        return declared in _TEXTS or declared == "char"
    if isinstance(value, Decimal):
        return declared == "f64"
    return not isinstance(value, tuple) or declared.startswith(("[", "&[", "&'static[", "("))


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    text = code.text(node)
    if not text.startswith("r"):
        return None
    marks = len(text) - len(text[1:].lstrip("#")) - 1
    return text_found(text[2 + marks : -1 - marks])


def _array(code: Reading, node: Node, depth: int) -> Found | None:
    """`[1, 2]`; `[0; 9]` repeats, and an attribute may leave an item out."""
    if node.child_by_field_name("length") is not None or any(part.type == "attribute_item" for part in node.children):
        return None
    return items(code, node, depth)


def _members(code: Reading, node: Node) -> Found | None:
    inner = node.child_by_field_name("value") if node.type == "reference_expression" else node
    return _array(code, inner, 1) if inner is not None and inner.type == "array_expression" else None


def _imported(module: str, name: str) -> Iterable[str]:
    return dotted(module.removeprefix("::").replace("::", "."), name)


def _binding(module: str) -> str:
    return module.replace("::", ".").rpartition(".")[2]


RUST: Final = row("rust", raw=_raw, array=_array, fits=_fits, members=_members, imported=_imported, binding=_binding)
