"""When two values are the same, and how they compare: numbers, texts, quantities, dates, versions, lists
(docs/checks.md).

What a check declares is held against what was found. Arithmetic is exact, and nothing is converted. True and False are
given only where they are exact: two values that mean the same in one reading and not in another, such as the number 30
and the quantity `30s`, `1.0` and `"1.0"`, or two fractions that one floating-point number may stand for, come to None,
so that neither a check nor its `not` rests on them.
No file is read here, and no clock.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction
from typing import Final, NamedTuple, TypeGuard

from ...codecs.unicode_text import nfkc
from .checks import Operator, Value, number_of
from .lexicon import UNIT_OF
from .named_times import RELATIONS, compare_times, read_time

Number = int | Decimal


class Text(str):
    """A value that its file writes without quotes (INI, a Makefile): it compares as text or as a number."""

    __slots__ = ()


def value_of_text(text: str) -> Value:
    """The value that an unquoted text is: a `Text`, in NFKC, without the white space around it."""
    return Text(nfkc(text).strip())


def same(declared: Value, found: Value) -> bool | None:
    """Whether two values are the same value.

    Numbers are compared as numbers, lists item by item, dates at the precision declared (`2026-05` is any day of that
    month), a number with a unit with the same unit only. Other texts are the same character for character in NFKC:
    letter case and white space inside count. A boolean is no number, and null is only null.

    Args:
        declared: as a check says it.
        found: as the file says it; a `Text` where it stands there without quotes.

    Returns:
        None where that cannot be told: a declared number, boolean or null against a text that reads like it; a number
        against a quantity; quantities of units that may mean one amount; a date found coarser than declared; versions
        that differ by a `v` or a zero at the end; texts that differ by white space around them.
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

    Numbers have an order, quantities of one unit, dates and times (a stretch of time is before another that begins
    when it is over), and versions, component by component. Two texts have none otherwise.

    Returns:
        None where the two have no order, or it cannot be told; for `=` and `!=` where `same` cannot tell.
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
    """Whether two lists have the same items, in any order.

    Returns:
        None where one has an item more often than the other, where they are too large, or where `same` cannot tell.
    """
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
