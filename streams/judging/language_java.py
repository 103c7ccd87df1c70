"""Java: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .language import row
from .values import JAVA as ESCAPES
from .values import Found, Reading, is_short, items, number, quoted

if TYPE_CHECKING:
    from tree_sitter import Node

_DECIMAL: Final = number("[lL]", radix_suffix="[lL]", zero="octal")
_FRACTION: Final = number("[fFdD]")
_MARK: Final = re.compile(r"\\u+00(?:0[ad]|22|27|5c)", re.IGNORECASE)
_LISTED: Final = frozenset(("List.of", "Set.of", "Arrays.asList", "ImmutableList.of", "ImmutableSet.of"))
_QUOTED: Final = quoted(ESCAPES, '"', foreign=("string_interpolation",))


def _number(code: Reading, node: Node, depth: int) -> Found | None:
    """A number, where it has that value as an `int`, `long`, `float` or `double`."""
    text, whole = code.text(node), "integer" in node.type
    found = (_DECIMAL if whole else _FRACTION)(code, node, depth)
    if found is None or not isinstance(found.value, (int, Decimal)):
        return None
    keeps = found.value < 2 ** (63 if text[-1] in "lL" else 31) if whole else text[-1] not in "fF"
    return found if keeps or (not whole and is_short(found.value)) else None


def _string(code: Reading, node: Node, depth: int) -> Found | None:
    """A string on one line; one with a quote that is written by its number may end before its end."""
    text = code.text(node)
    return None if text.startswith('"""') or _MARK.search(text) else _QUOTED(code, node, depth)


def _members(code: Reading, node: Node) -> Found | None:
    """The items of an array, list or set."""
    arguments = node.child_by_field_name("arguments")
    holder = node.parent.parent if node.parent is not None and node.type == "array_initializer" else node
    declared = holder.child_by_field_name("type") if holder is not None else None
    if node.type == "method_invocation" and arguments is not None:
        return items(code, arguments, 1) if "".join(code.text(node).partition("(")[0].split()) in _LISTED else None
    made = node.child_by_field_name("value") if node.type == "array_creation_expression" else node
    found = items(code, made, 1) if made is not None and made.type == "array_initializer" else None
    if found is None or declared is None or not isinstance(found.value, tuple):
        return None
    return found if JAVA.fits(code.text(declared).removesuffix("[]") + "[]", found.value) else None


def _imported(module: str, name: str) -> Iterable[str]:
    """An import as it stands there, and the package that it is from."""
    yield module
    package, _, last = module.rpartition(".")
    if last[:1].isupper() and package.rpartition(".")[2].islower():
        yield package


def _last(module: str) -> str:
    return module.rpartition(".")[2]


JAVA: Final = row("java", number=_number, string=_string, members=_members, imported=_imported, binding=_last)
