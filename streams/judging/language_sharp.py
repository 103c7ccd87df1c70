"""C#: how its literals are read, and what the judge must know of it (docs/checks.md).

There is no second reader of C# to measure this one by. So its checks are only ever proved by what is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .language import Language, as_path
from .literal_values import (
    Found,
    Reading,
    arithmetic,
    constant,
    fitting,
    inside,
    items,
    number,
    parts_of,
    quoted,
    read,
    signed,
    text_found,
    words,
)
from .string_escapes import SHARP as ESCAPES

if TYPE_CHECKING:
    from tree_sitter import Node

_BITS: Final = {
    "sbyte": 7,
    "short": 15,
    "int": 31,
    "long": 63,
    "float": 24,
    "double": 53,
    "decimal": 63,
    "object": 63,
    "byte": -8,
    "ushort": -16,
    "uint": -32,
    "ulong": -64,
}
_FITS: Final = fitting(_BITS, ("string", "object"), ("double", "decimal", "object"))


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
    return found if found is not None and declared is not None and _FITS(code.text(declared), found.value) else None


SHARP: Final = Language(
    "c-sharp",
    "tree_sitter_c_sharp",
    (".cs", ".csx"),
    queries=("sharp",),
    values={
        "integer_literal": number("[uUlL]{1,2}", radix_suffix="[uUlL]{1,2}", zero="decimal"),
        "real_literal": number("[dDmM]", foreign="fF"),
        "string_literal": _string,
        "verbatim_string_literal": _verbatim,
        "raw_string_literal": _raw,
        "boolean_literal": words(true=True, false=False),
        "null_literal": constant(None),
        "parenthesized_expression": inside(),
        "prefix_unary_expression": signed,
        "binary_expression": arithmetic,
        "initializer_expression": items,
        "array_creation_expression": _created,
        "implicit_array_creation_expression": _created,
        "arrow_expression_clause": inside(),
    },
    mutable=frozenset(_LISTS),
    fits=_FITS,
    members=_members,
    naming=frozenset(("identifier", "generic_name", "qualified_name", "alias_qualified_name")),
    sigils="@",
    parent=frozenset(("base",)),
    bare_members=True,
    modules=False,
    refutes=False,
    roots=frozenset(("object",)),
    dynamic=(changing := frozenset(("GetField", "GetFields", "GetProperty", "SetValue", "Unsafe"))),
    changing=changing,
    imported=as_path,
)
