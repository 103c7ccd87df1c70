"""Dates and times that a text names: which stretch of time is meant (observing.md).

`2026-05-25` is a day, `May 2026` a month, `2026-05-25T10:00Z` a minute: a time agrees with what a text names when it
lies in that stretch. Without a zone UTC is meant. Times are nanoseconds since 1970 in UTC, so that nothing a file
system tells is lost. No clock is read.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from .literals import MONTHS

SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * SECOND


class Date(NamedTuple):
    """The parts of a date as far as they are named; `clock` is what the text says of the time of day."""

    year: int
    month: int | None
    day: int | None
    clock: str


_ISO = re.compile(r"(\d{4})(?:[-/](\d\d)(?:[-/](\d\d))?)?")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DAY_OF_MONTH = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?!\d)")
_CLOCK = re.compile(
    r"(?:^|[T\s,]|at\s)\s*(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(?:([ap])m|(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?$"
)


def parse_date(text: str) -> Date | None:
    """The parts of a literal of the form `moment`; None for a date that no calendar has."""
    iso = _ISO.match(text)
    if iso:
        year, month, day = int(iso[1]), iso[2] and int(iso[2]), iso[3] and int(iso[3])
        rest = text[iso.end() :]
    else:
        named = _YEAR.search(text)
        if named is None:
            return None
        before, rest, year = text[: named.start()], text[named.end() :], int(named[0])
        month = next((n for n, name in enumerate(MONTHS, 1) if name[:3] in before), None)
        number = _DAY_OF_MONTH.search(before)
        day = int(number[1]) if number else None
    try:
        datetime(year, month or 1, day or 1)
    except ValueError:
        return None
    return Date(year, month or None, day or None, rest)


def stretch(text: str) -> tuple[int, int] | None:
    """First nanosecond and the one after the last of what a literal of the form `moment` names."""
    date = parse_date(text)
    if date is None:
        return None
    first = _ns(date.year, date.month or 1, date.day or 1)
    if date.day is None:
        if date.year == datetime.max.year and date.month in (None, 12):
            return None  # what comes after it no calendar of ours has
        after = (date.year + 1, 1) if date.month in (None, 12) else (date.year, date.month + 1)
        return first, _ns(*after, 1)
    if not date.clock.strip():
        return first, first + _DAY
    clock = _CLOCK.search(date.clock)
    if clock is None:
        return None
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    if clock[5]:
        hour = hour % 12 + (12 if clock[5] == "p" else 0)
    offset = (int(clock[8]) * 60 + int(clock[9])) * (-1 if clock[7] == "-" else 1) if clock[7] else 0
    if hour > 23 or minute > 59 or second > 60:
        return None
    first += (hour * 3600 + (minute - offset) * 60 + second) * SECOND
    if clock[4]:
        first += int(clock[4].ljust(9, "0"))
    return first, first + (10 ** (9 - len(clock[4])) if clock[4] else SECOND if clock[3] else 60 * SECOND)


def _ns(year: int, month: int, day: int) -> int:
    return (datetime(year, month, day).toordinal() - datetime(1970, 1, 1).toordinal()) * _DAY


_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|nowhere|unchanged|unmodified|untouched|neither|nor|without)\b|n['’]t\b",
    re.IGNORECASE,
)


def negates(text: str) -> bool:
    """Whether a word of negation stands there."""
    return _NEGATION.search(text) is not None


def format_ns(time: int) -> str:
    """RFC 3339 in UTC, as fine as the time is: up to nine digits of a second, no zeros at their end."""
    seconds, rest = divmod(time, SECOND)
    text = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()
    fraction = f"{rest:09}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"
