"""Times that a check names, and how a time stands to them (docs/checks.md).

`2026-05` is a month and `2026-05-25T10:00Z` a minute: a time that lies in the stretch is that time, one that ends
before it begins is before it. A text is a time only where it says nothing else. No clock is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ...codecs.unicode_text import nfkc
from .checks import Operator
from .literals import literals
from .moments import SECOND, stretch

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

    What lies within the named stretch is the same time; what ends before it begins is before it.

    Args:
        op: the relation.
        named: the stretch that a check names.
        readings: the time; several where it can be told in several zones. For `=` one of them is enough and for `!=`
            all have to differ; an order has to be the same for all.

    Returns:
        None where the time is told more coarsely than the stretch, or its readings come to different orders.
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
