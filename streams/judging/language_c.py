"""C and C++: how their literals are read, and what the judge must know of them (docs/checks.md)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from . import values as literals
from .checks import Value
from .language import as_path, load_grammar, row
from .values import Found, Reading

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIERS: Final = re.compile(r"^(?:constexpr|const|inline)+|(?<=\*)const")
_INTEGERS: Final = (
    "8 signedchar int8_t uint8_t unsignedchar\n16 short int16_t uint16_t unsignedshort\n32 int signed long int32_t "
    "ssize_t ptrdiff_t uint32_t unsigned unsignedint unsignedlong size_t\n64 longlong int64_t uint64_t unsignedlonglong"
)
"""Types of whole numbers by the bits that they have on every machine: a `long` has 32 at least."""
_BITS: Final = {name: int(line[:2]) for line in _INTEGERS.split("\n") for name in line.split()[1:]}
_SINGLE: Final = re.compile("number_literal|string_literal|concatenated_string|parenthesized_expression|unary_.*|null")
"""What a macro may stand for so that what stands around it cannot take it apart."""


def _fits(declared: str, value: Value) -> bool:
    """Whether a value stays what is written under a declared type, which is without white space."""
    fixed, plain = "const" in declared, _QUALIFIERS.sub("", declared.replace("std::", ""))
    if plain in ("", "auto"):
        return not isinstance(value, tuple)
    if plain.endswith("[]"):
        if isinstance(value, tuple):
            return all(_fits(declared[:-2], item) for item in value)
        return fixed and plain == "char[]" and isinstance(value, str)
    if plain.endswith("*"):
        return value is None or (plain == "char*" and isinstance(value, str))
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        return value in (True, False) and plain in ("bool", "_Bool")
    if plain in ("float", "double"):
        return len(Decimal(value).as_tuple().digits) <= (6 if plain == "float" else 15)
    unsigned = plain.startswith(("u", "size_t"))
    bits = 7 if plain == "char" else _BITS.get(plain, 0) - (not unsigned)
    return isinstance(value, int) and bits > 0 and (0 if unsigned or bits == 7 else -(2**bits)) <= value < 2**bits


def _macro(code: Reading, node: Node, depth: int) -> Found | None:
    """What stands behind the name of a macro, where it is a literal on its own or in brackets."""
    from tree_sitter import Parser

    data = re.sub(rb"\\\r?\n", b" ", b"int x = " + code.text(node).encode("utf-8", "surrogatepass") + b"\n;")
    root = Parser(load_grammar("tree_sitter_c") or load_grammar("tree_sitter_cpp")).parse(data).root_node
    declared = root.named_children[0].child_by_field_name("declarator")
    value = None if declared is None else declared.child_by_field_name("value")
    if root.has_error or root.named_child_count != 1 or value is None or not _SINGLE.fullmatch(value.type):
        return None
    return literals.read(Reading(data, code.values, code.bounded), value, depth + 1)


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    match = re.fullmatch(r'(?s)R"([^()\\\s]{0,16})\((.*)\)\1"', code.text(node))
    return None if match is None else literals.text_found(match[2])


def _members(code: Reading, node: Node) -> Found | None:
    return literals.items(code, node, 1) if node.type == "initializer_list" else None


def _library(code: Reading, node: Node, _: int) -> Found | None:
    return literals.text_found(code.text(node)[1:-1])


C, CPP = (
    row(name, library=_library, raw=_raw, macro=_macro, fits=_fits, members=_members, imported=as_path)
    for name in ("c", "cpp")
)
