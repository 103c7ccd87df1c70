"""Dates and times that a text names: which stretch of time is meant, and in which relation to it (observing.md).

`2026-05-25` is a day, `May 2026` a month, `2026-05-25T10:00Z` a minute: a time agrees with what a text names when it
lies in that stretch. Without a zone UTC is meant. «before», «after», «since», «until», «between … and» and their kin
are understood; «two days ago» is not, since it depends on when it is read. Times are nanoseconds since 1970 in UTC,
so that nothing a file system tells is lost. No clock is read.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

from .literals import MONTHS, Found, literals

Relation = Literal["at", "before", "after", "since", "until"]
SECOND: Final = 1_000_000_000
_DAY: Final = 86_400 * SECOND


class Moment(NamedTuple):
    """A stretch of time as a text names it.

    Attributes:
        text: the words.
        relation: how the sentence relates to it.
        negated: the sentence denies that relation («not since»).
        first: its first nanosecond.
        past: the first nanosecond after it.
    """

    text: str
    relation: Relation
    negated: bool
    first: int
    past: int

    def holds(self, time: int, ignore_negation: bool = False) -> bool:
        """Whether `time` (ns) stands in the relation that the text names; a denial's own «not» may be left out."""
        match self.relation:
            case "at":
                fits = self.first <= time < self.past
            case "before":
                fits = time < self.first
            case "after":
                fits = time >= self.past
            case "since":
                fits = time >= self.first
            case "until":
                fits = time < self.past
        return fits if ignore_negation else fits != self.negated


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


_NOT: Final = r"(?:not|no|never|n['’]t)\s"
_WORDS: Final[tuple[tuple[Relation, str], ...]] = (
    ("since", rf"{_NOT}(?:before|earlier than|older than)|(?:at|on) or after|since|starting(?: from)?"),
    ("until", rf"{_NOT}(?:after|later than|newer than|more recent than)|(?:at|on) or before|until|till|by|up to"),
    ("after", r"after|later than|newer than|(?:more recently|more recent|younger) than"),
    ("before", r"before|earlier than|older than|prior to|ahead of|preceding"),
)
_RELATIONS: Final[tuple[tuple[Relation, re.Pattern[str]], ...]] = tuple(
    (relation, re.compile(rf"\b(?:{words})\s*(?:(?:the|on|at|in|about)\s+)?$", re.IGNORECASE))
    for relation, words in _WORDS
)
_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|nowhere|unchanged|unmodified|untouched|neither|nor|without)\b|n['’]t\b",
    re.IGNORECASE,
)
_CLAUSE_END: Final = re.compile(r"[,;:]\s|\bbut\b|\band\b", re.IGNORECASE)
_RANGE: Final = re.compile(r"\s*(?:and|to|until|till|-|–|through)\s*")


def moments(text: str, found: list[Found] | None = None) -> list[Moment]:
    """Every date or time with a date that a text names, in order, each in the relation in which it is named."""
    dates = [one for one in (literals(text) if found is None else found) if one.form == "moment"]
    result: list[Moment] = []
    past = 0
    for place, one in enumerate(dates):
        named = stretch(one.text)
        if named is None:
            continue
        before = text[past : one.start]
        relation, negated = _relation(before)
        if place and result and _RANGE.fullmatch(before) and _opens_range(text[: dates[place - 1].start]):
            result[-1] = result[-1]._replace(relation="since")
            relation, negated = "until", result[-1].negated
        result.append(Moment(one.text, relation, negated, *named))
        past = one.end
    return result


def _opens_range(before: str) -> bool:
    return re.search(r"\b(?:between|from)\s*(?:the\s)?$", before, re.IGNORECASE) is not None


def _relation(before: str) -> tuple[Relation, bool]:
    """The relation that the words before a date name, and whether they deny it."""
    for relation, pattern in _RELATIONS:
        match = pattern.search(before)
        if match:
            return relation, negates(_CLAUSE_END.split(before[: match.start()])[-1])
    return "at", negates(_CLAUSE_END.split(before)[-1])


def negates(text: str) -> bool:
    """Whether a word of negation stands there."""
    return _NEGATION.search(text) is not None


def format_ns(time: int) -> str:
    """RFC 3339 in UTC, as fine as the time is: up to nine digits of a second, no zeros at their end."""
    seconds, rest = divmod(time, SECOND)
    text = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()
    fraction = f"{rest:09}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"
