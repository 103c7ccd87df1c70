"""JavaScript and TypeScript: how their literals are read, and what the judge must know of them (docs/checks.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from .language import row, unbound
from .values import SCRIPT, Found, Reading, listed, number, parts_of, quoted, read

if TYPE_CHECKING:
    from tree_sitter import Node

_PLAIN: Final = number("n", radix_suffix="n", zero="octal")
_TYPED: Final = ("as_expression", "satisfies_expression")
_NAME: Final = re.compile(r"[A-Za-z_$][\w$]*\Z")


def _number(code: Reading, node: Node, depth: int) -> Found | None:
    found = _PLAIN(code, node, depth)
    if found is None or (isinstance(found.value, int) and abs(found.value) > 2**53 and code.text(node)[-1] != "n"):
        return None
    return found


def _list(code: Reading, node: Node, depth: int) -> Found | None:
    """An array; one with holes is none."""
    marks = [child.type for child in node.children if child.type != "comment"]
    holes = any(one in ("[", ",") and other == "," for one, other in pairwise(marks))
    return None if holes else listed(code, parts_of(node), depth)


def _given(code: Reading, node: Node, names: tuple[str, ...]) -> Node | None:
    """The only argument of a call of one of these functions."""
    function = node.child_by_field_name("function") or node.child_by_field_name("constructor")
    arguments = node.child_by_field_name("arguments")
    called = function is not None and arguments is not None and code.text(function) in names
    given = parts_of(arguments) if called and arguments is not None else []
    return given[0] if len(given) == 1 else None


def _wrapped(code: Reading, node: Node, depth: int) -> Found | None:
    """What stands in brackets, with a type, or in `Object.freeze(…)`."""
    frozen = node.type == "call_expression"
    given = _given(code, node, ("Object.freeze",)) if frozen else next(iter(parts_of(node)), None)
    return None if given is None else read(code, given, depth + 1)


def _members(code: Reading, node: Node) -> Found | None:
    """The items of an array, or of a set that is made from one; the keys of an object."""
    given = _given(code, node, ("Object.freeze", "Set")) or node
    while given.type in (*_TYPED, "parenthesized_expression") and given.named_children:
        given = given.named_children[0]
    if given.type == "array":
        return _list(code, given, 1)
    if given.type != "object":
        return None
    keys: list[str] = []
    for child in parts_of(given):
        key = child.child_by_field_name("key") or child.child_by_field_name("name") or child
        name = read(code, key) if key.type == "string" else Found(code.text(key))
        plain = key.type in ("string", "property_identifier", "shorthand_property_identifier")
        if not plain or name is None or not isinstance(name.value, str) or not _NAME.match(name.value):
            return None
        keys.append(name.value)
    return Found(tuple(keys)) if len(keys) == len(set(keys)) and "__proto__" not in keys else None


def _imported(module: str, name: str) -> Iterable[str]:
    return (module, module.removeprefix("node:")) if module else ()


SCRIPTS: Final = tuple(
    row(
        name,
        number=_number,
        template=quoted(SCRIPT, "`", foreign=("template_substitution",)),
        list=_list,
        wrapped=_wrapped,
        members=_members,
        imported=_imported,
        binding=unbound,
    )
    for name in ("javascript", "typescript", "tsx")
)
