"""Java: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from .language import Language
from .literal_values import (
    Found,
    Reading,
    arithmetic,
    constant,
    fitting,
    inside,
    is_short,
    items,
    number,
    quoted,
    signed,
)
from .string_escapes import JAVA as ESCAPES

if TYPE_CHECKING:
    from tree_sitter import Node

_DECIMAL: Final = number("[lL]", radix_suffix="[lL]", zero="octal")
_FRACTION: Final = number("[fFdD]")
_MARK: Final = re.compile(r"\\u+00(?:0[ad]|22|27|5c)", re.IGNORECASE)
_LISTED: Final = frozenset(("List.of", "Set.of", "Arrays.asList", "ImmutableList.of", "ImmutableSet.of"))
_CHANGING: Final = frozenset(("getField", "getDeclaredField", "getFields", "getDeclaredFields", "Unsafe", "VarHandle"))
_REACHING: Final = frozenset(
    ("getMethod", "getDeclaredMethod", "getMethods", "getDeclaredMethods", "MethodHandles", "Proxy", "forName")
)
_NUMBERS: Final = {"int": 31, "long": 63, "float": 24, "double": 53}
_SIZES: Final = {"byte": 7, "short": 15, "Integer": 31, "Long": 63, "Object": 63, **_NUMBERS}
_QUOTED: Final = quoted(ESCAPES, '"', foreign=("string_interpolation",))
_FITS: Final = fitting(_SIZES, ("String", "Object", "CharSequence"), ("double", "Double", "Object"))


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
    return found if _FITS(code.text(declared).removesuffix("[]") + "[]", found.value) else None


def _imported(module: str, name: str) -> Iterable[str]:
    """An import as it stands there, and the package that it is from."""
    yield module
    package, _, last = module.rpartition(".")
    if last[:1].isupper() and package.rpartition(".")[2].islower():
        yield package


def _last(module: str) -> str:
    return module.rpartition(".")[2]


JAVA: Final = Language(
    "java",
    "tree_sitter_java",
    (".java",),
    queries=("java",),
    values={
        **dict.fromkeys([f"{base}_integer_literal" for base in ("decimal", "hex", "octal", "binary")], _number),
        "decimal_floating_point_literal": _number,
        "string_literal": _string,
        "true": constant(True),
        "false": constant(False),
        "null_literal": constant(None),
        "array_initializer": items,
        "parenthesized_expression": inside(),
        "unary_expression": signed,
        "binary_expression": arithmetic,
    },
    mutable=frozenset(("array_initializer", "array_creation_expression", "method_invocation")),
    fits=_FITS,
    members=_members,
    naming=frozenset(("type_identifier", "scoped_type_identifier", "generic_type")),
    bare_members=True,
    marking=True,
    modules=False,
    roots=frozenset(("Object", "Enum", "Record", "Annotation")),
    implicit=r"java\.lang(\.\w+)?|Object|Enum|Record|Throwable|StringBuilder|Objects|requireNonNull|append|toString|"
    r"values?|valueOf|iterator|hasNext|next|close|addSuppressed|equals|hashCode|ordinal|name|compareTo|getClass|finalize|"
    r"\w+Value|\w*Error|\w*Exception|desiredAssertionStatus|main|(read|write)(Object|Resolve|Replace)|<?(cl)?init>?",
    dynamic=_CHANGING | _REACHING,
    changing=_CHANGING,
    plain_types=frozenset(("boolean", "byte", "short", "char", "void", "String", "Object", *_NUMBERS)),
    imported=_imported,
    binding=_last,
)
