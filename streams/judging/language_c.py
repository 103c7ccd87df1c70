"""C and C++: how their literals are read, and what the judge must know of them (docs/checks.md)."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .checks import Value
from .languages import Language, grammar_of
from .literal_values import (
    Found,
    Reading,
    arithmetic,
    constant,
    inside,
    items,
    joined,
    number,
    quoted,
    read,
    signed,
    text_found,
)
from .string_escapes import C as ESCAPES

if TYPE_CHECKING:
    from tree_sitter import Node

_QUALIFIERS: Final = re.compile(r"^(?:constexpr|const|volatile|inline)+|(?<=\*)const")
_SIGNED: Final = {
    8: ("signedchar", "int8_t"),
    16: ("short", "shortint", "int16_t"),
    32: ("int", "signed", "signedint", "long", "longint", "int32_t", "ssize_t", "ptrdiff_t", "intptr_t"),
    64: ("longlong", "longlongint", "int64_t", "intmax_t"),
}
_UNSIGNED: Final = {
    8: ("unsignedchar", "uint8_t"),
    16: ("unsignedshort", "unsignedshortint", "uint16_t"),
    32: ("unsigned", "unsignedint", "unsignedlong", "unsignedlongint", "uint32_t", "size_t", "uintptr_t"),
    64: ("unsignedlonglong", "uint64_t", "uintmax_t"),
}
_RANGES: Final = {
    "char": (0, 127),
    **{name: (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits, names in _SIGNED.items() for name in names},
    **{name: (0, 2**bits - 1) for bits, names in _UNSIGNED.items() for name in names},
}
"""What every machine can keep in a type: a `long` has 32 bits at least."""
_FLOAT_DIGITS: Final = 6
_SINGLE: Final = frozenset(
    ("number_literal", "string_literal", "concatenated_string", "parenthesized_expression", "unary_expression")
)
"""What a macro may stand for so that what stands around it cannot take it apart."""


def _fits(declared: str, value: Value) -> bool:
    """Whether a value stays what is written under a declared type, which is without white space."""
    fixed, plain = "const" in declared, _QUALIFIERS.sub("", declared.replace("std::", ""))
    if not plain or plain == "auto":
        return not isinstance(value, tuple)
    if plain.endswith("[]"):
        if isinstance(value, tuple):
            return all(_fits(declared[:-2], item) for item in value)
        return fixed and plain == "char[]" and isinstance(value, str)
    if plain.endswith("*"):
        return value is None or (plain == "char*" and isinstance(value, str))
    if isinstance(value, bool):
        return plain in ("bool", "_Bool")
    if plain in ("float", "double"):
        digits = len(Decimal(value).as_tuple().digits) if isinstance(value, (int, Decimal)) else 99
        return digits <= (_FLOAT_DIGITS if plain == "float" else 15)
    low, high = _RANGES.get(plain, (1, 0))
    return isinstance(value, int) and low <= value <= high


def _macro(code: Reading, node: Node, depth: int) -> Found | None:
    """What stands behind the name of a macro, where it is a literal on its own or in brackets."""
    from tree_sitter import Parser

    text, grammar = code.text(node).replace("\\\r\n", " ").replace("\\\n", " "), grammar_of("c")
    if grammar is None or not text:
        return None
    data = b"int x = " + text.encode("utf-8", "surrogatepass") + b"\n;"
    root = Parser(grammar).parse(data).root_node
    declared = root.named_children[0].child_by_field_name("declarator") if root.named_children else None
    value = None if declared is None else declared.child_by_field_name("value")
    if root.has_error or root.named_child_count != 1 or value is None or value.type not in _SINGLE:
        return None
    return read(Reading(data, code.values, code.bounded), value, depth + 1)


def _raw(code: Reading, node: Node, _: int) -> Found | None:
    text = code.text(node)
    match = re.fullmatch(r'R"([^()\\\s]{0,16})\((.*)\)\1"', text, re.DOTALL)
    return None if match is None else text_found(match[2])


def _members(code: Reading, node: Node) -> Found | None:
    return items(code, node, 1) if node.type == "initializer_list" else None


_VALUES: Final = {
    "string_literal": quoted(ESCAPES, '"'),
    "concatenated_string": joined,
    "system_lib_string": lambda code, node, _: text_found(code.text(node)[1:-1]),
    "raw_string_literal": _raw,
    "preproc_arg": _macro,
    "true": constant(True),
    "false": constant(False),
    "null": constant(None),
    "initializer_list": items,
    "parenthesized_expression": inside(),
    "unary_expression": signed,
    "binary_expression": arithmetic,
}
_SUFFIXES: Final = r"[uUlLzZ]+|(?<=[.eE\d])[fF]"
_KEYWORDS: Final = (
    "if else while do for switch case default break continue return goto int char short long float double signed "
    "unsigned void bool struct union enum class typedef sizeof throw try catch new delete operator this true false "
    "namespace template using auto"
)


def _row(name: str, package: str, endings: tuple[str, ...], query: str, separator: str, implicit: str) -> Language:
    values = {**_VALUES, "number_literal": number(_SUFFIXES, radix_suffix="[uUlLzZ]+", zero="octal", separator=separator)}
    return Language(
        name,
        package,
        endings,
        queries=("c", query),
        values=values,
        mutable=frozenset(values),
        fits=_fits,
        members=_members,
        naming=frozenset(("type_identifier", "qualified_identifier", "template_type")),
        parent=frozenset(),
        bare_members=name == "cpp",
        implicit=implicit,
        dynamic=frozenset(("dlsym", "GetProcAddress", "asm", "__asm__", "__asm")),
        changing=frozenset(("push_macro", "pop_macro", "memcpy_s", "const_cast")),
        plain_types=frozenset(("int", "char", "short", "long", "unsigned", "float", "double", "void")),
        errors=True,
        keywords=frozenset(_KEYWORDS.split()),
        imported=lambda module, _: (module,) if module else (),
        binding=lambda _: "",
        by_path=True,
        modules=False,
    )


_IMPLICIT: Final = (
    r"~\w*|operator.*|begin|end|rbegin|rend|get|swap|main|await_\w+|\w+_suspend|get_return_object|return_v\w+|"
    r"yield_value|unhandled_exception|terminate|abort"
)
C: Final = _row("c", "tree_sitter_c", (".c", ".h"), "c_only", "_", r"main|abort|mem\w+")
CPP: Final = _row(
    "cpp",
    "tree_sitter_cpp",
    (".cc", ".cpp", ".cxx", ".c++", ".C", ".hh", ".hpp", ".hxx", ".h++", ".H", ".ipp", ".tpp", ".inl"),
    "cpp",
    "'",
    _IMPLICIT,
)
