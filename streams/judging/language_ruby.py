"""Ruby: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from . import values as literals
from .language import as_path, keys_of, row, unbound
from .values import QUOTED_ONCE, Found, Reading, decode, read, text_found
from .values import RUBY as ESCAPES

if TYPE_CHECKING:
    from tree_sitter import Node

_FROZEN: Final = re.compile(rb"(?:#[^\n]*\n)*?#(?: *-\*-)? *frozen[_-]string[_-]literal: *true\b", re.IGNORECASE)
"""The comment at the top of a file that makes every string in it one that cannot be changed."""
_COLLECTIONS: Final = frozenset(("array", "string_array", "symbol_array"))


def _string(code: Reading, node: Node, _: int) -> Found | None:
    children = node.children
    if len(children) < 2 or any(one.type == "interpolation" for one in children):
        return None
    opening = code.text(children[0])
    text = code.data[children[0].end_byte : children[-1].start_byte].decode("utf-8", "surrogatepass")
    once = opening == "'" or opening.startswith("%q")
    if once and opening != "'" and "\\" in text:
        return None
    return text_found(decode(text.replace("\r\n", "\n"), QUOTED_ONCE if once else ESCAPES))


def _symbol(code: Reading, node: Node, _: int) -> Found | None:
    return text_found(code.text(node).lstrip(":"))


def _words(code: Reading, node: Node, _: int) -> Found | None:
    """`%w[a b]` and `%i[a b]`."""
    texts = [code.text(one) for one in node.named_children]
    return None if any("\\" in text or "#{" in text for text in texts) else Found(tuple(texts))


def _thawed(code: Reading, node: Node) -> Node | None:
    """What `.freeze` is called on; None for any other call."""
    method, receiver = node.child_by_field_name("method"), node.child_by_field_name("receiver")
    return receiver if node.type == "call" and method is not None and code.text(method) == "freeze" else None


def _frozen(code: Reading, node: Node, depth: int) -> Found | None:
    return None if (receiver := _thawed(code, node)) is None else read(code, receiver, depth + 1)


def _is_fixed(code: Reading, node: Node, depth: int = 0) -> bool:
    """Whether nothing can change what a literal is, nor what is in it."""
    thawed, found = _thawed(code, node), read(code, node)
    frozen = _FROZEN.match(code.data) is not None
    plain = found is not None and not isinstance(found.value, (str, tuple))
    if plain or node.type == "simple_symbol" or (frozen and node.type == "string"):
        return True
    if thawed is None or depth > 2:
        return False
    if thawed.type in ("string", "symbol_array") or (frozen and thawed.type == "string_array"):
        return True
    inner = [child.child_by_field_name("value") or child for child in literals.parts_of(thawed)]
    return thawed.type in ("array", "hash") and all(_is_fixed(code, each, depth + 1) for each in inner)


def _members(code: Reading, node: Node) -> Found | None:
    """The items of an array, the keys of a hash."""
    given = _thawed(code, node) or node
    if given.type != "hash":
        return read(code, given) if given.type in _COLLECTIONS else None
    return keys_of(code, literals.parts_of(given))


RUBY: Final = row(
    "ruby",
    string=_string,
    symbol=_symbol,
    list=_words,
    frozen_call=_frozen,
    frozen=_is_fixed,
    members=_members,
    imported=as_path,
    binding=unbound,
)
