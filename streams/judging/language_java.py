"""Java: how its literals are read, and what the judge must know of it (docs/checks.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from struct import pack, unpack
from typing import TYPE_CHECKING, Final

from .checks import Value
from .languages import Language
from .literal_values import Found, Reading, arithmetic, constant, inside, items, number, parts_of, quoted, read, signed
from .string_escapes import JAVA as ESCAPES

if TYPE_CHECKING:
    from tree_sitter import Node

_SIZES: Final = {"byte": 7, "short": 15, "int": 31, "Integer": 31, "long": 63, "Long": 63, "float": 24, "double": 53}
"""Bits of whole numbers that a type keeps."""
_MARK: Final = re.compile(r"\\u+00(?:0[ad]|22|27|5c)", re.IGNORECASE)
_PLAIN: Final = {
    "decimal_integer_literal": number("[lL]", zero="octal"),
    "hex_integer_literal": number(radix_suffix="[lL]"),
    "octal_integer_literal": number("[lL]", zero="octal"),
    "binary_integer_literal": number(radix_suffix="[lL]"),
    "decimal_floating_point_literal": number("[fFdD]"),
}
_LISTED: Final = frozenset(("List.of", "Set.of", "Arrays.asList", "ImmutableList.of", "ImmutableSet.of"))


def _number(code: Reading, node: Node, depth: int) -> Found | None:
    """A number, where it has that value as an `int`, `long`, `float` or `double`."""
    text = code.text(node)
    if "floating" in node.type and text[-1:] in "dD":
        text = text[:-1]
    found = _PLAIN[node.type](code, node, depth)
    if found is None or not isinstance(found.value, (int, Decimal)):
        return None
    if "integer" in node.type:
        return found if found.value < 2 ** (63 if text[-1] in "lL" else 31) else None
    return found if text[-1] not in "fF" or is_short(found.value) else None


def is_short(value: int | Decimal) -> bool:
    """Whether a `float` keeps a number exactly."""
    try:
        return Decimal(unpack("f", pack("f", float(value)))[0]) == value
    except OverflowError:
        return False


def fits(declared: str, value: Value) -> bool:
    """Whether a value stays what it is written as under a declared type."""
    if isinstance(value, tuple):
        return declared.endswith("[]") and all(fits(declared[:-2], item) for item in value)
    if isinstance(value, bool) or value is None:
        return True
    if isinstance(value, str):
        return declared in ("String", "Object", "CharSequence")
    if isinstance(value, Decimal):
        return declared in ("double", "Double", "Object") or (declared in ("float", "Float") and is_short(value))
    return declared == "Object" or (declared in _SIZES and abs(value) < 2 ** _SIZES[declared])


def _string(code: Reading, node: Node, depth: int) -> Found | None:
    """A string on one line; one with a quote or a line feed that is written by its number may end before its end."""
    text = code.text(node)
    if text.startswith('"""') or _MARK.search(text) or any(child.type == "string_interpolation" for child in node.children):
        return None
    return quoted(ESCAPES)(code, node, depth)


def _members(code: Reading, node: Node) -> Found | None:
    """The items of an array, list or set."""
    if node.type == "method_invocation":
        call, arguments = code.text(node).partition("(")[0], node.child_by_field_name("arguments")
        found = items(code, arguments, 1) if arguments is not None and "".join(call.split()) in _LISTED else None
        return found if found is None or all(isinstance(item, (str, bool, int)) for item in found.value or ()) else None
    made = node.child_by_field_name("value") if node.type == "array_creation_expression" else node
    if made is None or made.type != "array_initializer":
        return None
    holder = node.parent.parent if node is made and node.parent is not None else node
    declared = None if holder is None else holder.child_by_field_name("type")
    found = items(code, made, 1)
    if found is None or declared is None or not isinstance(found.value, tuple):
        return None
    return found if all(fits(code.text(declared).removesuffix("[]"), item) for item in found.value) else None


def _imported(module: str, name: str) -> Iterable[str]:
    """An import as it stands there, and the package that it is from."""
    yield module
    package, _, last = module.rpartition(".")
    if last[:1].isupper() and package.rpartition(".")[2].islower():
        yield package


JAVA: Final = Language(
    "java",
    "tree_sitter_java",
    (".java",),
    queries=("java",),
    values={
        **dict.fromkeys(_PLAIN, _number),
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
    fits=fits,
    members=_members,
    naming=frozenset(("type_identifier", "scoped_type_identifier", "generic_type")),
    bare_members=True,
    modules=False,
    roots=frozenset(("Object", "Enum", "Record", "Annotation")),
    implicit=r"java\.lang(\.\w+)?|Object|Enum|Record|Throwable|StringBuilder|Objects|requireNonNull|append|toString|valueOf|values|"
    r"iterator|hasNext|next|close|addSuppressed|equals|hashCode|ordinal|name|compareTo|getClass|finalize|\w+Value|\w*Error|"
    r"\w*Exception|desiredAssertionStatus|main|readObject|writeObject|readResolve|writeReplace|<?(cl)?init>?",
    dynamic=frozenset(
        ("getMethod", "getDeclaredMethod", "getMethods", "getDeclaredMethods", "MethodHandles", "Proxy", "forName")
    )
    | (changing := frozenset(("getField", "getDeclaredField", "getFields", "getDeclaredFields", "Unsafe", "VarHandle"))),
    changing=changing,
    plain_types=frozenset(
        ("boolean", "byte", "short", "int", "long", "float", "double", "char", "void", "String", "Object")
    ),
    imported=_imported,
    binding=lambda module: module.rpartition(".")[2],
)
