"""Python: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .language import keys_of, row
from .values import PYTHON as ESCAPES
from .values import Found, Reading, decode, items, parts_of, read, text_found

if TYPE_CHECKING:
    from tree_sitter import Node

_FIELDS: Final = frozenset(("field", "dataclasses.field", "attr.ib", "attr.field", "attrs.field", "attrib"))
_PYDANTIC: Final = frozenset(("Field", "pydantic.Field"))
_COLLECTING: Final = frozenset(("frozenset", "set", "tuple", "list"))
_CONTAINERS: Final = frozenset(("list", "tuple", "set"))


def _string(code: Reading, node: Node, _: int) -> Found | None:
    if any(child.type == "interpolation" for child in node.children) or len(node.children) < 2:
        return None
    opening, closing = node.children[0], node.children[-1]
    prefix = code.text(opening).rstrip("\"'").lower()
    if "b" in prefix or "t" in prefix:
        return None
    text = code.data[opening.end_byte : closing.start_byte].decode("utf-8", "replace").replace("\r\n", "\n")
    if "f" in prefix and ("{{" in text or "}}" in text):
        return None
    if "r" in prefix:
        return text_found(text)
    return text_found(decode(text, ESCAPES))


def _field(code: Reading, node: Node, depth: int) -> Found | None:
    """The default that a field of a class is declared with: `field(default=3)`, `Field(3)`."""
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    name = "" if function is None else code.text(function)
    if arguments is None or name not in _FIELDS | _PYDANTIC:
        return None
    for argument in arguments.named_children:
        key, value = argument.child_by_field_name("name"), argument.child_by_field_name("value")
        if key is not None and value is not None and code.text(key) == "default":
            return read(code, value, depth + 1)
    first = arguments.named_children[0] if arguments.named_children else None
    return read(code, first, depth + 1) if name in _PYDANTIC and first is not None else None


def _members(code: Reading, node: Node) -> Found | None:
    """The items of a list, set or tuple, or of a call that makes one of a list; the keys of a mapping."""
    if node.type in _CONTAINERS:
        return items(code, node, 1)
    if node.type == "dictionary":
        return keys_of(code, parts_of(node))
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None or arguments is None or code.text(function) not in _COLLECTING:
        return None
    given = parts_of(arguments)
    return items(code, given[0], 1) if len(given) == 1 and given[0].type in _CONTAINERS else None


PYTHON: Final = row("python", string=_string, field=_field, members=_members)
