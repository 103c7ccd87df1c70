"""C#: how its literals are read, and what the judge must know of it (docs/checks.md).

There is no second reader of C# to measure this one by. So its checks are only ever proved by what is there.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .checks import Value
from .language_java import is_short
from .languages import Language
from .literal_values import (
    Found,
    Reading,
    arithmetic,
    constant,
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

_SIZES: Final = {
    "sbyte": (-(2**7), 2**7),
    "byte": (0, 2**8),
    "short": (-(2**15), 2**15),
    "ushort": (0, 2**16),
    "int": (-(2**31), 2**31),
    "uint": (0, 2**32),
    "long": (-(2**63), 2**63),
    "ulong": (0, 2**64),
    "float": (-(2**24), 2**24),
    "double": (-(2**53), 2**53),
    "decimal": (-(2**63), 2**63),
}
"""The whole numbers that a type keeps as they are written: from the first up to the second."""


def _fits(declared: str, value: Value) -> bool:
    """Whether a value stays what it is written as under a declared type."""
    declared = declared.removesuffix("?")
    if isinstance(value, tuple):
        return declared.endswith("[]") and all(_fits(declared[:-2], item) for item in value)
    if isinstance(value, bool) or value is None:
        return declared in ("bool", "object") or value is None
    if isinstance(value, str):
        return declared in ("string", "object")
    if isinstance(value, Decimal):
        return declared in ("double", "decimal", "object") or (declared == "float" and is_short(value))
    low, high = _SIZES.get(declared, (0, 0))
    return declared == "object" or low <= value < high


def _real(code: Reading, node: Node, depth: int) -> Found | None:
    found = number("[fFdDmM]")(code, node, depth)
    if found is None or not isinstance(found.value, (int, Decimal)):
        return None
    return found if code.text(node)[-1] not in "fF" or is_short(found.value) else None


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
    """The items of an array of texts, or of whole numbers that are no characters."""
    holder = node.parent.parent if node.parent is not None else None
    declared = None if holder is None else holder.child_by_field_name("type")
    found = read(code, node) if node.type in (*_LISTS, "collection_expression") else None
    return found if found is not None and declared is not None and _fits(code.text(declared), found.value) else None


SHARP: Final = Language(
    "c-sharp",
    "tree_sitter_c_sharp",
    (".cs", ".csx"),
    queries=("sharp",),
    values={
        "integer_literal": number("[uUlL]{1,2}", radix_suffix="[uUlL]{1,2}", zero="decimal"),
        "real_literal": _real,
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
    mutable=frozenset((*_LISTS, "collection_expression")),
    fits=_fits,
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
    imported=lambda module, _: (module,),
)
