"""Whether tokens of a sentence say a value, a number or a time of a check (docs/checks.md).

They are compared by what they mean, both ways round: a text is no number, a quantity has its unit, and a date named
more coarsely is another one. Nothing is looked up, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from .checks import Check, Value, number_of, parse_check
from .coverage_arguments import is_identifier_like
from .coverage_tokens import Token
from .lexicon import UNIT_OF
from .literals import NUMBER_WORDS
from .named_times import read_named_time
from .values import same

_GROUPED: Final = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
_QUANTITY: Final = re.compile(r"(-?[\d_,.]*\d) ?([^\W\d]+|%)", re.ASCII)
CONSTANTS: Final[dict[str, Value]] = {
    "true": True,
    "True": True,
    "false": False,
    "False": False,
    "null": None,
    "None": None,
    "nil": None,
}


def says_value(tokens: Sequence[Token], at: int, value: Value) -> Iterator[int]:
    """Where a value ends that tokens say at a place: a number, a constant, a text, a quantity, a date, a list."""
    token = tokens[at]
    for found in _values(token):
        if _is_same(found, value):
            yield at + 1
            return
    if isinstance(value, str) and at + 1 < len(tokens) and token.kind == tokens[at + 1].kind == "word":
        both = f"{token.text} {tokens[at + 1].text}"  # 30 seconds
        amount = _quantity(both)
        if amount is not None and amount == _quantity(value):
            yield at + 2


def _values(token: Token) -> Iterator[Value]:
    """What a token may be as a value."""
    text = token.text
    if token.kind == "quote":
        yield text
    elif token.kind == "code":
        yield from _written(text)
    elif token.kind == "moment":
        yield text
    elif token.kind == "word":
        number = number_in(token)
        if number is not None:
            yield number
        elif text in CONSTANTS:
            yield CONSTANTS[text]
        elif _quantity(text) is not None or is_identifier_like(text) or _is_version_like(text):
            yield text


def _is_version_like(text: str) -> bool:
    return (
        re.fullmatch(r"v?\d+(?:\.\d+)+(?:[-+.]?[A-Za-z]+\.?\d*)?|[A-Za-z][\w.]*[-/:][\w./:-]*\d[\w./:-]*", text)
        is not None
    )


def _written(text: str) -> Iterator[Value]:
    """What the text of a code span is as a value."""
    if text[:1] in ('"', "'") and len(text) > 1 and text[0] == text[-1]:
        inside = text[1:-1]
        if text[0] not in inside and "\\" not in inside:
            yield inside
        return
    number = number_of(text)
    if number is not None:
        yield number
        return
    if text in CONSTANTS:
        yield CONSTANTS[text]
        return
    if text[:1] == "[":
        check = parse_check(f"equals(x, {text})")
        if isinstance(check, Check):
            yield check.value("value")
    yield text


def number_in(token: Token) -> int | Decimal | None:
    """The number that a token is: `1,000`, `1_000` and `0x3e8` are one, and «two» is 2."""
    if token.kind not in ("word", "code"):
        return None
    if token.kind == "word":
        if _GROUPED.fullmatch(token.text):
            return number_of(token.text.replace(",", ""))
        if token.key in NUMBER_WORDS:
            return NUMBER_WORDS[token.key]
    return number_of(token.text)


def _is_same(said: Value, value: Value) -> bool:
    """Whether both say the same either way round; where one is coarser than the other they do not."""
    if type(said) is not type(value) and not (is_number(said) and is_number(value)):
        return False
    if isinstance(said, str) and said == value:
        return True
    return same(said, value) is True and same(value, said) is True


def is_number(value: Value) -> bool:
    """Whether a value is a number, which a boolean is not."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _quantity(text: str) -> tuple[int | Decimal, str] | None:
    """A number and its unit, by the unit's own name."""
    match = _QUANTITY.fullmatch(text) if len(text) <= 64 else None
    if match is None or match[2] not in UNIT_OF:
        return None
    digits = match[1].replace(",", "") if _GROUPED.fullmatch(match[1]) else match[1]
    number = number_of(digits)
    return None if number is None else (number, UNIT_OF[match[2]])


def says_time(token: Token, time: str) -> bool:
    """Whether a token names the same stretch of time, at the same precision."""
    if token.kind not in ("moment", "code", "quote", "word"):
        return False
    if token.kind == "word" and not token.text[:1].isdigit():
        return False
    named = read_named_time(time)
    return named is not None and read_named_time(token.text) == named
