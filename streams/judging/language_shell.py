"""Shell scripts, read as bash: how their literals are read, and what the judge must know of them (docs/checks.md).

Everything that a shell assigns is text, which compares as text or as a number. `${X:-value}` says the default of `X`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .checks import Value
from .language import as_path, row, unbound
from .values import SHELL as ESCAPES
from .values import Found, Reading, Text, decode, items, value_of_text

if TYPE_CHECKING:
    from tree_sitter import Node

_PATTERNS: Final = frozenset("*?[]{}~\\")


def _word(code: Reading, node: Node, _: int) -> Found | None:
    text = code.text(node)
    return None if not text or _PATTERNS.intersection(text) else Found(value_of_text(text))


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    text = code.text(node)
    return Found(Text(text[1:-1])) if len(text) > 1 else None


def _string(code: Reading, node: Node, depth: int) -> Found | None:
    if any(one.type != "string_content" for one in node.named_children):
        return None
    text = decode(code.text(node)[1:-1], ESCAPES)
    return None if text is None else Found(Text(text))


def _members(code: Reading, node: Node) -> Found | None:
    return items(code, node, 0) if node.type == "array" else None


def _fits(declared: str, value: Value) -> bool:
    return not declared  # a flag that changes what the value is worth


SHELL: Final = row(
    "shell", word=_word, raw=_raw, string=_string, fits=_fits, members=_members, imported=as_path, binding=unbound
)
