"""Values as the oracle compares them."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any


class Word(str):
    """An argument of a check that was written without quotes."""

    __slots__ = ()


class Plain(str):
    """A value of a format that has nothing but text, such as INI: the same as a text, or as the number that it says."""

    __slots__ = ()


def value_of(written: Any) -> Any:
    """What a value of a check is: words are numbers or constants where they look so."""
    if isinstance(written, list):
        return [value_of(one) for one in written]
    if not isinstance(written, Word):
        return written
    constants = {"true": True, "false": False, "null": None}
    if written in constants:
        return constants[written]
    number = number_of(written)
    return str(written) if number is None else number


def number_of(word: str) -> Decimal | None:
    """The number that a word is, in decimal or as programs write it."""
    plain = word.replace("_", "")
    if re.fullmatch(r"-?0[xX][0-9A-Fa-f]+|-?0[oO][0-7]+|-?0[bB][01]+", plain):
        return Decimal(int(plain, 0))
    if not re.fullmatch(r"-?\d*\.?\d*(?:[eE][+-]?\d+)?", plain) or not any(map(str.isdigit, plain)):
        return None
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def same(declared: Any, found: Any) -> bool:
    """Whether two values are one: numbers by what they are worth, never a string for a number or a truth value."""
    if isinstance(found, Plain):
        if isinstance(declared, bool):
            return found.lower() == str(declared).lower()
        return found == declared if isinstance(declared, str) else number_of(found) == declared
    if isinstance(declared, list) and isinstance(found, list | tuple):
        return len(declared) == len(found) and all(map(same, declared, found))
    if isinstance(declared, bool) or isinstance(found, bool) or declared is None or found is None:
        return declared is found
    if isinstance(declared, Decimal):
        return isinstance(found, int | float | Decimal) and Decimal(str(found)) == declared
    return isinstance(found, str) and isinstance(declared, str) and declared == found


def as_number(found: Any) -> Decimal | None:
    """What a found value is worth; None where it has no order."""
    if isinstance(found, Plain):
        return number_of(found)
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal):
        return None
    return Decimal(str(found))
