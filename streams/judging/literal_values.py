"""Reads what a literal in source code is worth, for `equals` and `compare` (docs/checks.md).

Only what is written down counts: numbers, strings, booleans, null, lists of them, and arithmetic on whole numbers that
are all written down. Everything else is None, which means that it is computed. Nothing is ever run. Each language says
in `Language.values` which of these readers takes which node; depth and size are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from struct import pack, unpack
from typing import TYPE_CHECKING, Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Value, number_of
from .string_escapes import Escapes, decode

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_TEXT: Final = 8_000
"""Bytes of a text that is compared: a check has 2,000 characters at most. Larger ones would be read over and over where
they are nested, at a quadratic cost."""
MAX_DEPTH: Final = 24
"""Brackets and operators inside one another."""
MAX_ITEMS: Final = 2_000
_MAX_BITS: Final = 1_300
"""Of a whole number that arithmetic comes to: some 390 digits, what a check can declare at most."""
_WRAPS: Final = 2**31 - 1
"""Beyond it, arithmetic means something else in every language whose numbers have a size."""

_MAX_PRECISION: Final = 15
"""Digits that every machine's fractions keep."""


class Found(NamedTuple):
    """The value of a literal. Where None is told instead of it, it is computed."""

    value: Value


class Reading(NamedTuple):
    """A file whose literals are read.

    Attributes:
        data: its text in UTF-8.
        values: how a literal is read, by node type.
        bounded: whole numbers of its language wrap around at some size.
    """

    data: bytes
    values: Mapping[str, Reader]
    bounded: bool

    def text(self, node: Node) -> str:
        """The text of a node, as it stands there; empty for one that is larger than anything a check could name."""
        start, end = node.start_byte, node.end_byte
        return "" if end - start > MAX_TEXT else self.data[start:end].decode("utf-8", "replace")


Reader = Callable[[Reading, "Node", int], Found | None]


def read(code: Reading, node: Node, depth: int = 0) -> Found | None:
    """The value of a literal.

    Args:
        code: the file it stands in.
        node: the expression.
        depth: of the expressions around it that are being read.

    Returns:
        None where it is computed, or beyond a bound.
    """
    reader = code.values.get(node.type)
    return None if reader is None or depth > MAX_DEPTH else reader(code, node, depth)


# ---------------------------------------------------------------- readers


def constant(value: Value) -> Reader:
    """Whatever the node's text, it is this value."""
    return lambda _, __, ___: Found(value)


def words(**values: Value) -> Reader:
    """Names that mean a value, such as `True`; any other name is computed."""
    table = {name: Found(value) for name, value in values.items()}
    return lambda code, node, _: table.get(code.text(node))


def inside(field: str = "") -> Reader:
    """What a node means is what stands in it: in a field, or as its only part that is no comment."""

    def reader(code: Reading, node: Node, depth: int) -> Found | None:
        if field:
            part = node.child_by_field_name(field)
            return None if part is None else read(code, part, depth + 1)
        parts = parts_of(node)
        return read(code, parts[0], depth + 1) if len(parts) == 1 else None

    return reader


def number(
    suffix: str = "", *, radix_suffix: str = "", zero: str = "", separator: str = "_", foreign: str = ""
) -> Reader:
    """A number.

    Args:
        suffix: what may stand behind a decimal one, as a regular expression.
        radix_suffix: the same for one in another base.
        zero: what a zero in front means: base 8, nothing (`decimal`), or that nobody writes so.
        separator: what may stand between digits.
        foreign: characters behind which it is no plain number, such as `j`.
    """
    decimal, other = re.compile(f"(?:{suffix})$"), re.compile(f"(?:{radix_suffix})$")

    def reader(code: Reading, node: Node, _: int) -> Found | None:
        text = code.text(node)
        if not text or len(text) > 500 or (foreign and text[-1] in foreign):
            return None
        radix = text[:2].lower() in ("0x", "0o", "0b")
        plain = (other if radix else decimal).sub("", text, count=1)
        if text[0] == "-" and "u" in text[len(plain) :].lower():
            return None  # of an unsigned number, the negative is another
        if separator != "_":
            plain = plain.replace(separator, "")
        if zero and _LEADING_ZERO.match(plain):
            digits = plain.replace("_", "")
            return _found(_octal(digits) if zero == "octal" else int(digits))
        return _found(number_of("0" if _LEADING_ZERO.match(plain) and not plain.strip("0_") else plain))

    return reader


_LEADING_ZERO: Final = re.compile(r"0[0-9_]+$", re.ASCII)


def _octal(text: str) -> int | None:
    return int(text, 8) if all("0" <= one <= "7" for one in text) else None


def _found(value: int | Decimal | None) -> Found | None:
    if value is None or (isinstance(value, Decimal) and len(value.as_tuple().digits) > _MAX_PRECISION):
        return None
    return Found(value)


def text_found(text: str | None) -> Found | None:
    """A string's value, in NFKC like all texts that are compared."""
    return None if text is None or len(text) > MAX_TEXT else Found(nfkc(text))


def quoted(escapes: Escapes | None, opening: str = "\"'", *, foreign: Iterable[str] = ()) -> Reader:
    """A string between quotes; raw where there are no escapes.

    Args:
        opening: the quotes that it may have.
        foreign: child nodes that make it more than text, such as an interpolation.
    """
    others = frozenset(foreign)

    def reader(code: Reading, node: Node, _: int) -> Found | None:
        text = code.text(node)
        if len(text) > MAX_TEXT or len(text) < 2 or text[0] not in opening or text[-1] != text[0]:
            return None
        if others and any(child.type in others for child in node.children):
            return None
        return text_found(text[1:-1] if escapes is None else decode(text[1:-1].replace("\r\n", "\n"), escapes))

    return reader


def joined(code: Reading, node: Node, depth: int) -> Found | None:
    """Strings side by side, which are one."""
    parts: list[str] = []
    for part in parts_of(node):
        found = read(code, part, depth + 1)
        if found is None or not isinstance(found.value, str):
            return None
        parts.append(found.value)
    return text_found("".join(parts))


def items(code: Reading, node: Node, depth: int) -> Found | None:
    """A list of literals."""
    return listed(code, parts_of(node), depth)


def listed(code: Reading, parts: list[Node], depth: int) -> Found | None:
    """The list that these expressions are, if all are literals."""
    if len(parts) > MAX_ITEMS:
        return None
    values: list[Value] = []
    for part in parts:
        found = read(code, part, depth + 1)
        if found is None:
            return None
        values.append(found.value)
    return Found(tuple(values))


def signed(code: Reading, node: Node, depth: int) -> Found | None:
    """`-x` and `+x`."""
    operator = node.children[0].type if node.children else ""
    parts = parts_of(node)
    if operator not in ("-", "+") or len(parts) != 1:
        return None
    found = read(code, parts[0], depth + 1)
    if found is None or isinstance(found.value, bool) or not isinstance(found.value, (int, Decimal)):
        return None
    if operator == "+":
        return found
    if code.bounded and "u" in code.text(parts[0]).lower():
        return None  # of an unsigned number, the negative is another
    return Found(-found.value)


def arithmetic(code: Reading, node: Node, depth: int) -> Found | None:
    """`10 * 1024`, `1 << 20`: whole numbers only, all of them literals; and texts that are put together."""
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    operator = node.child_by_field_name("operator")
    if left is None or right is None or operator is None:
        return None
    first, second = read(code, left, depth + 1), read(code, right, depth + 1)
    if first is None or second is None:
        return None
    sign, a, b = code.text(operator), first.value, second.value
    if sign == "+" and isinstance(a, str) and isinstance(b, str):
        return text_found(a + b) if type(a) is str and type(b) is str else None
    if isinstance(a, bool) or isinstance(b, bool) or not isinstance(a, int) or not isinstance(b, int):
        return None  # fractions are not added here as a machine adds them
    result = _computed(sign, a, b)
    if result is None or result.bit_length() > _MAX_BITS:
        return None
    if code.bounded and (max(abs(a), abs(b), abs(result)) > _WRAPS or (sign == "-" and result < 0)):
        return None
    return Found(result)


def _computed(sign: str, a: int, b: int) -> int | None:
    if sign == "+":
        return a + b
    if sign == "-":
        return a - b
    if sign == "*":
        return a * b
    if sign == "<<":
        return a << b if 0 <= b <= _MAX_BITS else None
    if sign == "**":
        return a**b if 0 <= b <= _MAX_BITS and a.bit_length() * b <= _MAX_BITS else None
    if sign in ("/", "//"):
        # An uneven one is rounded by some languages, and not by others.
        return a // b if b and a % b == 0 else None
    return None


def parts_of(node: Node) -> list[Node]:
    """The named parts of a node, without comments."""
    return [child for child in node.named_children if "comment" not in child.type]


# ---------------------------------------------------------------- declared types


def is_short(value: int | Decimal) -> bool:
    """Whether a `float` keeps a number exactly."""
    try:
        return Decimal(unpack("f", pack("f", float(value)))[0]) == value
    except OverflowError:
        return False


def fitting(bits: Mapping[str, int], texts: Iterable[str], fractions: Iterable[str]) -> Callable[[str, Value], bool]:
    """Whether a value stays what it is written as under a declared type.

    Args:
        bits: those of whole numbers that a type keeps; negative for one that has no numbers below zero.
        texts: types of texts.
        fractions: types that keep 15 digits.
    """

    def fits(declared: str, value: Value) -> bool:
        declared = declared.removesuffix("?")
        if isinstance(value, tuple):
            return declared.endswith("[]") and all(fits(declared[:-2], item) for item in value)
        if isinstance(value, bool) or value is None:
            return True
        if isinstance(value, str):
            return declared in texts
        if isinstance(value, Decimal):
            return declared in fractions or (declared == "float" and is_short(value))
        size = bits.get(declared, 0)
        return abs(value) < 2 ** abs(size) and (size > 0 or value >= 0) and size != 0

    return fits
