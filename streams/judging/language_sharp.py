"""C#: how its literals are read, and what the judge must know of it (docs/checks.md).

There is no second reader of C# to measure this one by. So its checks are only ever proved by what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .language import as_path, row
from .values import SHARP as ESCAPES
from .values import Found, Reading, items, parts_of, quoted, read, text_found

if TYPE_CHECKING:
    from tree_sitter import Node


def _string(code: Reading, node: Node, depth: int) -> Found | None:
    return None if code.text(node)[-1:] != '"' else quoted(ESCAPES)(code, node, depth)


def _verbatim(code: Reading, node: Node, _: int) -> Found | None:
    text = code.text(node)
    return text_found(text[2:-1].replace('""', '"')) if text.startswith('@"') and text.endswith('"') else None


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    content = [child for child in node.children if child.type == "raw_string_content"]
    text = code.text(content[0]) if len(content) == 1 else "\n"
    return None if "\n" in text or code.text(node)[-1:] != '"' else text_found(text)


def _created(code: Reading, node: Node, depth: int) -> Found | None:
    """`new[] { 1 }` and `new int[] { 1 }`."""
    parts = [child for child in parts_of(node) if child.type == "initializer_expression"]
    return items(code, parts[0], depth + 1) if len(parts) == 1 else None


_LISTS: Final = ("initializer_expression", "array_creation_expression", "implicit_array_creation_expression")


def _members(code: Reading, node: Node) -> Found | None:
    """The items of an array, where they stay what they are under its declared type."""
    holder = node.parent.parent if node.parent is not None else None
    declared = None if holder is None else holder.child_by_field_name("type")
    found = read(code, node) if node.type in _LISTS else None
    return (
        found if found is not None and declared is not None and SHARP.fits(code.text(declared), found.value) else None
    )


SHARP: Final = row(
    "c-sharp",
    string=_string,
    verbatim=_verbatim,
    raw=_raw,
    created=_created,
    members=_members,
    imported=as_path,
)
