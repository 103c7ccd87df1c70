"""Values: what a literal in source code is worth, when two values are the same, and how they compare
(docs/checks.md, `equals` and `compare`): numbers, texts, quantities, dates and times, versions, lists.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from struct import pack, unpack
from typing import TYPE_CHECKING, Final, NamedTuple, TypeGuard

from ...codecs.unicode_text import nfkc
from .checks import Operator, Value, number_of
from .prose_literals import SECOND, UNIT_OF, literals, stretch

if TYPE_CHECKING:
    from tree_sitter import Node

_ESCAPE: Final = re.compile(
    r"\\(?:u\{(?P<braced>[0-9A-Fa-f_]{1,8})\}|x\{[^}]*\}|x(?P<x>[0-9A-Fa-f]{1,8})|u(?P<u>[0-9A-Fa-f]{4})"
    r"|U(?P<U>[0-9A-Fa-f]{8})|(?P<octal>[0-7]{1,3})|(?P<line>\r?\n[ \t]*)|(?P<one>.))",
    re.DOTALL,
)


class Escapes(NamedTuple):
    """How one language escapes characters in one sort of string.

    Attributes:
        simple: what a letter or mark behind the backslash means; None where that is not told here.
        numbers: those of `braced`, `x`, `u`, `U` and `octal` that it has.
        hex_digits: most digits behind `x`; fewer are as well where `short_hex`.
        short_hex: whether fewer digits will do.
        bytes: `x` and octal mean bytes, not characters, from 128 on.
        line: what a backslash at the end of a line does: nothing stays, or the white space of the next line goes too.
        unknown: what any other character behind a backslash means: itself, itself with the backslash, or nobody knows.
    """

    simple: Mapping[str, str | None]
    numbers: frozenset[str]
    hex_digits: int = 2
    short_hex: bool = False
    bytes: bool = False
    line: str = ""
    unknown: str = ""


_COMMON: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", "'": "'", '"': '"'}
_C: Final = {**_COMMON, "a": "\a", "v": "\v"}

ESCAPES: Final[Mapping[str, Escapes]] = {
    "PYTHON": Escapes({**_C, "N": None}, frozenset(("x", "u", "U", "octal")), line="join", unknown="keep"),
    "GO": Escapes(_C, frozenset(("x", "u", "U", "octal")), bytes=True),
    "SCRIPT": Escapes({**_COMMON, "v": "\v", "0": "\0"}, frozenset(("x", "u", "braced")), line="join", unknown="drop"),
    "JAVA": Escapes({**_COMMON, "s": " "}, frozenset(("u", "octal"))),
    "RUST": Escapes(
        {**{mark: _COMMON[mark] for mark in "ntr\\'\""}, "0": "\0"},
        frozenset(("x", "braced")),
        bytes=True,
        line="strip",
    ),
    "C": Escapes(
        {**_C, "?": "?"}, frozenset(("x", "u", "U", "octal")), hex_digits=8, short_hex=True, bytes=True, line="join"
    ),
    "SHARP": Escapes({**_C, "0": "\0"}, frozenset(("x", "u", "U")), hex_digits=4, short_hex=True),
    "RUBY": Escapes(
        {**_C, "e": "\x1b", "s": " ", "#": "#"},
        frozenset(("x", "u", "octal", "braced")),
        short_hex=True,
        bytes=True,
        line="join",
        unknown="drop",
    ),
    "QUOTED_ONCE": Escapes({"\\": "\\", "'": "'"}, frozenset(), unknown="keep"),  # Ruby's single quotes
    "SHELL": Escapes({mark: mark for mark in '"\\$`'}, frozenset(), line="join", unknown="keep"),  # double quotes
}
"""By language, as `data/languages.toml` names them."""


def decode(text: str, escapes: Escapes) -> str | None:
    """The characters that the inside of a string literal means; None where that cannot be told."""
    if "\\" not in text:
        return _whole(text)
    unclear = False

    def character(match: re.Match[str]) -> str:
        nonlocal unclear
        meant = _meant(match, escapes)
        unclear = unclear or meant is None
        return meant or ""

    decoded = _ESCAPE.sub(character, text)
    if unclear or (len(text) - len(text.rstrip("\\"))) % 2:
        return None
    return _whole(decoded)


def _whole(text: str) -> str | None:
    """The text with both halves of a character joined, if no half is left over."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        return None


def _meant(match: re.Match[str], escapes: Escapes) -> str | None:
    sort = match.lastgroup
    if sort is None:
        return None
    written = match[sort]
    if sort == "line":
        return {"join": written.lstrip("\r\n"), "strip": ""}.get(escapes.line)
    if sort == "one":
        return _simple(written, escapes)
    if sort == "octal" and sort not in escapes.numbers:
        # `\0` alone is a character even where there are no octal ones.
        return escapes.simple.get(written)
    if sort not in escapes.numbers:
        return _simple(sort[0], escapes, "" if sort == "braced" else written)
    if sort == "x":
        return _hexadecimal(written, escapes)
    number = int(written.replace("_", ""), 8 if sort == "octal" else 16)
    if number > 0x10FFFF or (sort == "octal" and (number > 255 or (escapes.bytes and number > 127))):
        return None
    return chr(number)


def _simple(letter: str, escapes: Escapes, rest: str = "") -> str | None:
    if letter in escapes.simple:
        meant = escapes.simple[letter]
        return None if meant is None else meant + rest
    return {"keep": "\\" + letter + rest, "drop": letter + rest}.get(escapes.unknown)


def _hexadecimal(digits: str, escapes: Escapes) -> str | None:
    own, rest = digits[: escapes.hex_digits], digits[escapes.hex_digits :]
    if len(own) < escapes.hex_digits and not escapes.short_hex:
        return None
    number = int(own, 16)
    return None if number > (127 if escapes.bytes else 0x10FFFF) else chr(number) + rest


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


class LiteralValue(NamedTuple):
    """The value of a literal. Where None is told instead of it, it is computed."""

    value: Value


class Reading(NamedTuple):
    """A file whose literals are read: its text in UTF-8, how a literal is read by node type, and whether whole numbers
    of its language wrap around at some size."""

    data: bytes
    values: Mapping[str, Reader]
    bounded: bool

    def text(self, node: Node) -> str:
        """The text of a node, as it stands there; empty for one that is larger than anything a check could name."""
        start, end = node.start_byte, node.end_byte
        return "" if end - start > MAX_TEXT else self.data[start:end].decode("utf-8", "replace")


Reader = Callable[[Reading, "Node", int], LiteralValue | None]


def read(code: Reading, node: Node, depth: int = 0) -> LiteralValue | None:
    """The value of a literal; None where it is computed, or stands in too many others."""
    reader = code.values.get(node.type)
    return None if reader is None or depth > MAX_DEPTH else reader(code, node, depth)


# ---------------------------------------------------------------- readers


def constant(value: Value) -> Reader:
    """Whatever the node's text, it is this value."""
    return lambda _, __, ___: LiteralValue(value)


def words(**values: Value) -> Reader:
    """Names that mean a value, such as `True`; any other name is computed."""
    table = {name: LiteralValue(value) for name, value in values.items()}
    return lambda code, node, _: table.get(code.text(node))


def inside(field: str = "") -> Reader:
    """What a node means is what stands in it: in a field, or as its only part that is no comment."""

    def reader(code: Reading, node: Node, depth: int) -> LiteralValue | None:
        if field:
            part = node.child_by_field_name(field)
            return None if part is None else read(code, part, depth + 1)
        parts = parts_of(node)
        return read(code, parts[0], depth + 1) if len(parts) == 1 else None

    return reader


def number(
    suffix: str = "", *, radix_suffix: str = "", zero: str = "", separator: str = "_", foreign: str = ""
) -> Reader:
    """A reader of numbers.

    `suffix` and `radix_suffix` are what may stand behind a decimal one and one in another base, as regular expressions,
    and `separator` what may stand between digits. A zero in front means base 8 (`octal`), nothing (`decimal`), or is
    not written. Behind one of the `foreign` characters it is no plain number.
    """
    decimal, other = re.compile(f"(?:{suffix})$"), re.compile(f"(?:{radix_suffix})$")

    def reader(code: Reading, node: Node, _: int) -> LiteralValue | None:
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


def _found(value: int | Decimal | None) -> LiteralValue | None:
    if value is None or (isinstance(value, Decimal) and len(value.as_tuple().digits) > _MAX_PRECISION):
        return None
    return LiteralValue(value)


def text_found(text: str | None) -> LiteralValue | None:
    """A string's value, in NFKC like all texts that are compared."""
    return None if text is None or len(text) > MAX_TEXT else LiteralValue(nfkc(text))


def quoted(escapes: Escapes | None, opening: str = "\"'", *, foreign: Iterable[str] = ()) -> Reader:
    """A reader of strings between quotes; raw without escapes. `foreign` child nodes make it more than text."""
    others = frozenset(foreign)

    def reader(code: Reading, node: Node, _: int) -> LiteralValue | None:
        text = code.text(node)
        if len(text) > MAX_TEXT or len(text) < 2 or text[0] not in opening or text[-1] != text[0]:
            return None
        if others and any(child.type in others for child in node.children):
            return None
        return text_found(text[1:-1] if escapes is None else decode(text[1:-1].replace("\r\n", "\n"), escapes))

    return reader


def joined(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """Strings side by side, which are one."""
    parts: list[str] = []
    for part in parts_of(node):
        found = read(code, part, depth + 1)
        if found is None or not isinstance(found.value, str):
            return None
        parts.append(found.value)
    return text_found("".join(parts))


def items(code: Reading, node: Node, depth: int) -> LiteralValue | None:
    """A list of literals."""
    return listed(code, parts_of(node), depth)


def listed(code: Reading, parts: list[Node], depth: int) -> LiteralValue | None:
    """The list that these expressions are, if all are literals."""
    if len(parts) > MAX_ITEMS:
        return None
    values: list[Value] = []
    for part in parts:
        found = read(code, part, depth + 1)
        if found is None:
            return None
        values.append(found.value)
    return LiteralValue(tuple(values))


def signed(code: Reading, node: Node, depth: int) -> LiteralValue | None:
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
    return LiteralValue(-found.value)


def arithmetic(code: Reading, node: Node, depth: int) -> LiteralValue | None:
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
    return LiteralValue(result)


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
    """Tells whether a value stays what it is written as under a declared type, by the bits of whole numbers that a type
    keeps (negative for one without numbers below zero), types of texts, and types that keep 15 digits."""

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


RELATIONS: Final[Mapping[Operator, Callable[[int], bool]]] = {
    "=": lambda sign: sign == 0,
    "!=": lambda sign: sign != 0,
    "<": lambda sign: sign < 0,
    "<=": lambda sign: sign <= 0,
    ">": lambda sign: sign > 0,
    ">=": lambda sign: sign >= 0,
}
"""For each operator: whether it holds where what was found is less (-1), the same (0) or more (1)."""


class Stretch(NamedTuple):
    """A stretch of time that a text names.

    Attributes:
        first: its first nanosecond since 1970 in UTC.
        past: the first nanosecond after it.
        offset: of its zone from UTC, in nanoseconds; None where the text names no zone, and UTC is taken.
    """

    first: int
    past: int
    offset: int | None = None

    def readings(self, named: Stretch) -> tuple[Stretch, ...]:
        """The stretches that this may be against one that is named without a zone: in UTC, and where it was."""
        if not self.offset or named.offset is not None:
            return (self,)
        return self, Stretch(self.first + self.offset, self.past + self.offset)


_ISO: Final = re.compile(
    r"[0-9]{4}(?:-[01][0-9](?:-[0-3][0-9](?:[T ](?:[01][0-9]|2[0-3]):[0-5][0-9]"
    r"(?::[0-5][0-9](?:\.[0-9]{1,9})?)?(?:Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])?)?)?)?"
)
_YEAR: Final = re.compile(r"[0-9]{4}")
_LONGEST: Final = 64
_OFFSET: Final = re.compile(r"([+-])([0-9]{2}):?([0-9]{2})$")
_NAMED_UTC: Final = re.compile(r"(?:Z|UTC|GMT)$")


def read_time(text: str) -> Stretch | None:
    """The stretch of time that a text names and nothing else: `2026-05`, `2026-05-25T10:00Z`, `25 May 2026`.

    A text of four digits is a number, not a year; `read_named_time` reads that as well.
    """
    if len(text) > _LONGEST or len(text) < 7:
        return None
    return read_named_time(text)


def read_named_time(text: str) -> Stretch | None:
    """The stretch of time that the argument of a check names, where a time has to stand; a year as well."""
    text = nfkc(text)
    if len(text) > _LONGEST or _YEAR.search(text) is None:
        return None
    if _ISO.fullmatch(text) is None:
        found = literals(text)
        if len(found) != 1 or found[0].form != "moment" or found[0].text != text:
            return None
    try:
        named = stretch(text)
    except ValueError:  # the stretch ends after the last year that the calendar has
        return None
    return None if named is None else Stretch(*named, _zone(text))


def _zone(text: str) -> int | None:
    if _NAMED_UTC.search(text):
        return 0
    match = _OFFSET.search(text) if ":" in text else None
    if match is None:
        return None
    offset = (int(match[2]) * 60 + int(match[3])) * 60 * SECOND
    return -offset if match[1] == "-" else offset


def compare_times(op: Operator, named: Stretch, readings: Sequence[Stretch]) -> bool | None:
    """Whether a time stands in a relation to the stretch that is named: `time op named`.

    What lies within the stretch is the same time; what ends before it begins is before it. Of several `readings` of a
    time (zones) one is enough for `=`, all have to differ for `!=`, and an order has to be the same for all. None where
    the time is told more coarsely than the stretch, or its readings come to different orders.
    """
    signs = [_side(named, one) for one in readings]
    if op in ("=", "!="):
        equal = True if 0 in signs else None if None in signs else False
        return equal if op == "=" or equal is None else not equal
    answers = {None if sign is None else RELATIONS[op](sign) for sign in signs}
    return answers.pop() if len(answers) == 1 else None


def _side(named: Stretch, time: Stretch) -> int | None:
    if time.past <= named.first:
        return -1
    if time.first >= named.past:
        return 1
    return 0 if named.first <= time.first and time.past <= named.past else None


Number = int | Decimal


class Text(str):
    """A value that its file writes without quotes (INI, a Makefile): it compares as text or as a number."""

    __slots__ = ()


def value_of_text(text: str) -> Value:
    """The value that an unquoted text is: a `Text`, in NFKC, without the white space around it."""
    return Text(nfkc(text).strip())


def same(declared: Value, found: Value) -> bool | None:
    """Whether a `declared` value and one that a file has (`found`; a `Text` where it has no quotes) are the same value.

    Numbers are compared as numbers, lists item by item, dates at the precision declared (`2026-05` is any day of that
    month), a number with a unit with the same unit only. Other texts are the same character for character in NFKC:
    letter case and white space inside count. A boolean is no number, and null is only null.

    None where that cannot be told: a declared number, boolean or null against a text that reads like it; a number
    against a quantity; quantities of units that may mean one amount; a date found coarser than declared; versions that
    differ by a `v` or a zero at the end; texts that differ by white space around them.
    """
    if isinstance(found, Text):
        return same_text(declared, found)
    if isinstance(declared, tuple) or isinstance(found, tuple):
        if not (isinstance(declared, tuple) and isinstance(found, tuple)):
            # `[0-9a-f]` may be meant as a list or as the text of a pattern.
            return None if isinstance(declared, str) or isinstance(found, str) else False
        return _same_lists(declared, found)
    if isinstance(declared, str):
        return _same_strings(declared, found) if isinstance(found, str) else _text_and_other(declared, found)
    if isinstance(found, str):
        return _word_and_text(declared, found)
    if declared is None or found is None or isinstance(declared, bool) or isinstance(found, bool):
        return declared is found
    return _same_numbers(declared, found)


def same_text(declared: Value, text: str) -> bool | None:
    """Whether a text that its file writes without quotes is the declared value, as text or as a number.

    `30`, `30.0` and `0x1e` are the number 30 and `true` is the boolean in any letter case. A boolean in other words
    (`yes`, `on`, `1`), a number in a form that not every reader reads alike (`030`, `+30`, `1,000`), a text in quotes,
    one with a comment behind it and a list come to None where they may mean the same.
    """
    text = nfkc(text).strip()
    if isinstance(declared, tuple):
        return None
    equal = _same_plain(declared, text)
    if equal is not False:
        return equal
    # Some readers of such files take a comment away, or quotes off, and some do not.
    inner = _COMMENT.split(text, maxsplit=1)[0].rstrip()
    if len(inner) > 1 and inner[0] in "\"'`" and inner[0] == inner[-1]:
        inner = inner[1:-1]
    return None if inner != text and _same_plain(declared, inner) is not False else False


_COMMENT: Final = re.compile(r"\s(?:[#;]|//)")


def _same_plain(declared: bool | Number | str | None, text: str) -> bool | None:
    if isinstance(declared, str):
        equal = _same_strings(declared, text)
        number = number_of(declared)
        return None if equal is False and number is not None and number == number_of(text) else equal
    if isinstance(declared, bool):
        return _boolean_and_text(declared, text.casefold())
    if declared is None:
        return text == "null" or (None if text.casefold() in _NULLS else False)
    number = number_of(text)
    if number is not None:
        return _same_numbers(declared, number)
    if _NUMBER_LIKE.fullmatch(text) or _quantity(text) or (text[:1] in ("v", "V") and declared == number_of(text[1:])):
        return None
    return False


def compare(op: Operator, declared: Value, found: Value) -> bool | None:
    """Whether what was found stands in a relation to what is declared: `found op declared`.

    Numbers have an order, quantities of one unit, dates and times (a stretch of time is before another that begins when
    it is over), and versions, component by component; two texts have none otherwise. None where the two have no order,
    and where `same` cannot tell.
    """
    if op == "=":
        return same(declared, found)
    if op == "!=":
        equal = same(declared, found)
        return None if equal is None else not equal
    if isinstance(found, Text):
        number = None if isinstance(declared, str) else number_of(found)
        found = str(found) if number is None else number
    if isinstance(declared, str) and isinstance(found, str):
        return _order_of_strings(op, nfkc(declared), nfkc(found))
    if _is_number(declared) and _is_number(found) and not _may_round(declared, found):
        return RELATIONS[op](_sign(declared, found))
    return None


def _is_number(value: Value) -> TypeGuard[Number]:
    """Whether it is a number that a check could declare: no boolean, not infinite, and not «no number»."""
    if isinstance(value, Decimal):
        return value.is_finite()
    return isinstance(value, int) and not isinstance(value, bool)


def _sign(declared: Number, found: Number) -> int:
    """Of `found - declared`, without a difference: an exact one may need more digits than decimals have room for."""
    return (found > declared) - (found < declared)


def _same_numbers(declared: Number, found: Number) -> bool | None:
    if not (_is_number(declared) and _is_number(found)) or _may_round(declared, found):
        return None
    negative_zero = isinstance(found, Decimal) and found.is_zero() and found.is_signed()
    return None if negative_zero and declared == 0 else declared == found


def _may_round(declared: Number, found: Number) -> bool:
    """Whether a fraction of more than 15 digits agrees with the other number in the first 15: as floating-point numbers
    the two may be the same, or one of them another than it says."""
    one, other = Decimal(declared), Decimal(found)
    written = [number for number in (declared, found) if isinstance(number, Decimal)]
    if not any(len(bytes(number.as_tuple().digits).rstrip(b"\0")) > _EXACT_DIGITS for number in written):
        return False
    difference = _WIDE.subtract(one, other)
    return difference.is_zero() or difference.adjusted() - max(one.adjusted(), other.adjusted()) <= -_EXACT_DIGITS


_EXACT_DIGITS: Final = 15
_WIDE: Final = Context(prec=40, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _same_lists(declared: tuple[Value, ...], found: tuple[Value, ...]) -> bool | None:
    if len(declared) != len(found):
        return False
    items = [same(one, other) for one, other in zip(declared, found, strict=True)]
    return False if False in items else None if None in items else True


MAX_COMPARISONS: Final = 100_000


def same_items(declared: tuple[Value, ...], found: tuple[Value, ...]) -> bool | None:
    """Whether two lists have the same items, in any order. None where one has an item more often than the other, where
    they are too large, or where `same` cannot tell."""
    if len(declared) * len(found) > MAX_COMPARISONS:
        return None
    table = [[same(one, other) for other in found] for one in declared]
    columns = list(zip(*table, strict=True)) if table else [()] * len(found)
    if any(True not in line and None not in line for line in (*table, *columns)):
        return False
    left = set(range(len(found)))
    for row in table:
        left.discard(next((at for at in left if row[at]), -1))
    return True if not left and len(declared) == len(found) else None


# ---------------------------------------------------------------- texts


def _same_strings(declared: str, found: str) -> bool | None:
    declared, found = nfkc(declared), nfkc(found)
    if declared == found:
        return True
    if declared.strip() == found.strip():
        return None
    named, seen = read_time(declared), read_time(found)
    if named is not None and seen is not None:
        return compare_times("=", named, seen.readings(named))
    amount, other = _quantity(declared), _quantity(found)
    if amount is not None and other is not None:
        return _same_quantities(amount, other)
    if (amount and number_of(found) is not None) or (other and number_of(declared) is not None):
        return None
    one, two = _version(declared), _version(found)
    if one is not None and one == two:
        return None
    bare, other_bare = (text[1:] if text[:1] in ("v", "V") else text for text in (declared, found))
    return None if bare == other_bare and bare[:1].isdigit() else False


def _text_and_other(declared: str, found: Value) -> bool | None:
    """A declared text against a number, a boolean or null; `"30"` is not 30, but 30 may be `30s`, or a date."""
    if found is None:
        return None if declared in _NULL_NAMES else False
    if isinstance(found, bool):
        reads_like = declared.casefold() in (_TRUE if found else _FALSE)
        return None if reads_like and declared not in _BOOLEANS else False
    return None if _quantity(nfkc(declared)) or read_time(declared) else False


def _word_and_text(declared: Value, found: str) -> bool | None:
    """A declared number, boolean or null against a text in quotes: `"30"` is not 30, but who says 30 may mean it."""
    return False if same_text(declared, found) is False else None


_TRUE: Final = frozenset(("true", "yes", "on", "1", "y", "t", "enabled"))
_FALSE: Final = frozenset(("false", "no", "off", "0", "n", "f", "disabled", ""))
_BOOLEANS: Final = frozenset(("true", "True", "false", "False"))
"""Texts that a check writes in quotes alone, and so means as texts."""
_NULL_NAMES: Final = frozenset(("NULL", "Null", "NIL", "Nil", "nullptr", "undefined", "~"))
_NULLS: Final = frozenset(("null", "none", "nil", "~", ""))
_NUMBER_LIKE: Final = re.compile(r"[+-]?[0-9][0-9.,_' ]*(?:[eE][+-]?[0-9]+)?[fFlLuUnN]{0,3}|\.[0-9]+")


def _boolean_and_text(declared: bool, folded: str) -> bool | None:
    written = "true" if declared else "false"
    if folded == written:
        return True
    return None if folded in (_TRUE if declared else _FALSE) else False


def _order_of_strings(op: Operator, declared: str, found: str) -> bool | None:
    named, seen = read_time(declared), read_time(found)
    if named is not None and seen is not None:
        return compare_times(op, named, seen.readings(named))
    amount, other = _quantity(declared), _quantity(found)
    if amount is not None and other is not None and amount.unit == other.unit:
        return RELATIONS[op](_sign(amount.number, other.number))
    one, two = _version(declared), _version(found)
    if one is None or two is None or (one == two and declared != found):
        return None
    return RELATIONS[op]((two > one) - (two < one))


# ---------------------------------------------------------------- quantities


class Quantity(NamedTuple):
    """A number with the unit behind it, in the unit's own letter case."""

    number: Number
    unit: str


_QUANTITY: Final = re.compile(
    "(-?[0-9][0-9_]*(?:\\.[0-9_]+)?) ?(%|\u00b0?[A-Za-z\u03bc\u03a9]{1,16}(?:/[A-Za-z]{1,16})?)"  # NFKC: one mu
)
_MAX_QUANTITY: Final = 64
_FACTORS: Final[Mapping[str, tuple[str, int]]] = {
    "ns": ("time", 1),
    "us": ("time", 10**3),
    "ms": ("time", 10**6),
    "s": ("time", 10**9),
    "min": ("time", 60 * 10**9),
    "h": ("time", 3600 * 10**9),
    "d": ("time", 86_400 * 10**9),
    "B": ("size", 1),
    "KiB": ("size", 2**10),
    "MiB": ("size", 2**20),
    "GiB": ("size", 2**30),
    "TiB": ("size", 2**40),
}
"""Units that mean one amount wherever they stand; MB does not, and `m` may be minutes."""


def _quantity(text: str) -> Quantity | None:
    if len(text) > _MAX_QUANTITY:
        return None
    match = _QUANTITY.fullmatch(text)
    number = number_of(match[1]) if match else None
    return None if match is None or number is None else Quantity(number, match[2])


def _same_quantities(declared: Quantity, found: Quantity) -> bool | None:
    """Only the same unit makes them the same; different units make them different where the amounts are."""
    if declared.unit == found.unit:
        return declared.number == found.number
    one, other = (_FACTORS.get(UNIT_OF.get(unit, "")) for unit in (declared.unit, found.unit))
    if one is None or other is None:
        return None
    if one[0] != other[0]:
        return False
    return None if Fraction(declared.number) * one[1] == Fraction(found.number) * other[1] else False


# ---------------------------------------------------------------- versions

_VERSION: Final = re.compile(r"[vV]?[0-9]{1,18}(?:\.[0-9]{1,18}){2,15}|[vV][0-9]{1,18}(?:\.[0-9]{1,18})?")


def _version(text: str) -> tuple[int, ...] | None:
    """The components of a version, without zeros at its end; None for what may be a number or has a suffix."""
    if len(text) > 320 or _VERSION.fullmatch(text) is None:
        return None
    parts = [int(part) for part in text.lstrip("vV").split(".")]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)
