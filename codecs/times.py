"""Times on the wire: RFC 3339 with a `Z` or an offset, or an integer of Unix milliseconds (docs/reference/records.md).

What is written is in UTC with a `Z`. Everything inside counts in whole Unix milliseconds (`int`). Digits finer than a
millisecond are cut off, never rounded, so that no time moves into the future. No clock is read here or anywhere in the
core.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

EXPECTED = "an RFC 3339 time with a Z or an offset, or Unix milliseconds"
_RFC3339 = re.compile(
    r"(\d{4}-\d\d-\d\d)T(\d\d):([0-5]\d):([0-5]\d|60)(?:\.(\d{1,9}))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))", re.ASCII
)
_EPOCH_ORDINAL = datetime(1970, 1, 1, tzinfo=UTC).toordinal()
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = 253_402_300_799_999
"""9999-12-31T23:59:59.999Z: the last time that RFC 3339 can write."""

# The times of a stream are few and repeat: looked up they cost 0.1 us, computed 1 to 4 us. Both caches are bounded,
# since strangers choose the times, and neither changes what a time is.
_CACHED = 1 << 16
_parsed: dict[str | int, int] = {}
_seconds: dict[int, str] = {}


def parse_time(value: str | int) -> int | None:
    """The time in Unix milliseconds, or None where it is not a time.

    A leap second (`:60`) is the first millisecond of the next minute, as POSIX counts. `-00:00` is UTC (RFC 3339, 4.3).
    """
    known = _parsed.get(value)  # no key is an int
    if known is not None:
        return known
    if isinstance(value, int):
        return value if 0 <= value <= LATEST else None
    match = _RFC3339.fullmatch(value)
    if match is None:
        return None
    date, hours, minutes, seconds, fraction, sign, offset_hours, offset_minutes = match.groups()
    try:
        days = datetime.fromisoformat(date).toordinal() - _EPOCH_ORDINAL
    except ValueError:
        return None
    hour = int(hours)
    if hour > 23:
        return None
    milliseconds = int((fraction + "00")[:3]) if fraction else 0
    minute = hour * 60 + int(minutes)
    if sign:
        ahead = int(offset_hours) * 60 + int(offset_minutes)
        minute -= ahead if sign == "+" else -ahead
    time = (days * 86_400 + minute * 60 + int(seconds)) * 1000 + milliseconds
    if not 0 <= time <= LATEST:  # it could not be written back: a leap second that would end the year 9999, too
        return None
    if len(_parsed) >= _CACHED:
        _parsed.clear()
    _parsed[value] = time
    return time


def format_time(milliseconds: int) -> str:
    """RFC 3339 in UTC with a `Z`; three digits of a second only where there are milliseconds."""
    second, rest = divmod(milliseconds, 1000)
    text = _seconds.get(second)
    if text is None:
        text = (_EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
        if len(_seconds) >= _CACHED:
            _seconds.clear()
        _seconds[second] = text
    return f"{text}.{rest:03}Z" if rest else f"{text}Z"


_DURATION = re.compile(r"(\d{1,9})(ms|s|m|h|d)", re.ASCII)
_UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_duration(text: str) -> int | None:
    """Milliseconds of a duration such as `500ms`, `30s`, `10m`, `24h`, `7d`, or None where it is none."""
    match = _DURATION.fullmatch(text)
    return int(match[1]) * _UNITS[match[2]] if match else None


def format_duration(milliseconds: int) -> str:
    """The shortest way to write a duration exactly: 600000 is `10m`."""
    for unit in ("d", "h", "m", "s"):
        if milliseconds and milliseconds % _UNITS[unit] == 0:
            return f"{milliseconds // _UNITS[unit]}{unit}"
    return f"{milliseconds}ms"
