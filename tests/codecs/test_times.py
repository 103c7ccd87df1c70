"""Times are RFC 3339 in UTC or Unix milliseconds; digits finer than a millisecond are cut off."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.times import LATEST, format_duration, format_time, parse_duration, parse_time

MILLISECONDS = st.integers(0, LATEST)


@given(MILLISECONDS)
def test_formatting_then_parsing_is_the_identity(milliseconds: int) -> None:
    """For every time that RFC 3339 can write."""
    assert parse_time(format_time(milliseconds)) == milliseconds
    assert parse_time(milliseconds) == milliseconds


@given(MILLISECONDS)
def test_times_are_those_of_the_standard_library(milliseconds: int) -> None:
    """datetime reads what is written, and finds the same instant."""
    read = datetime.fromisoformat(format_time(milliseconds))

    assert read - datetime(1970, 1, 1, tzinfo=UTC) == timedelta(milliseconds=milliseconds)


@given(MILLISECONDS, st.integers(1, 9))
def test_finer_digits_are_cut_off(milliseconds: int, digits: int) -> None:
    """No time moves into the future."""
    whole = format_time(milliseconds // 1000 * 1000).removesuffix("Z")
    fraction = f"{milliseconds % 1000:03}999999"[:digits]

    assert parse_time(f"{whole}.{fraction}Z") == milliseconds // 1000 * 1000 + int(fraction[:3].ljust(3, "0"))


def test_the_shortest_form_is_written() -> None:
    """Digits of a second only where there are milliseconds."""
    assert format_time(1_779_968_400_000) == "2026-05-28T11:40:00Z"
    assert format_time(1_779_968_400_070) == "2026-05-28T11:40:00.070Z"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-28T13:40:00+02:00", "2026-05-28T11:40:00Z"),
        ("2026-05-27T23:10:00.070-12:30", "2026-05-28T11:40:00.070Z"),
        ("2026-05-28T11:40:00+00:00", "2026-05-28T11:40:00Z"),
        ("2026-05-28T11:40:00-00:00", "2026-05-28T11:40:00Z"),
        ("1970-01-01T02:00:00+02:00", "1970-01-01T00:00:00Z"),
        ("1969-12-31T23:00:00-01:00", "1970-01-01T00:00:00Z"),
        ("2017-01-01T01:59:60+02:00", "2017-01-01T00:00:00Z"),
    ],
)
def test_an_offset_is_read(value: str, expected: str) -> None:
    """As RFC 3339 counts it; what is written has a `Z`."""
    assert format_time(parse_time(value) or 0) == expected


def test_a_leap_second_is_the_next_minute() -> None:
    """As POSIX counts."""
    assert parse_time("2016-12-31T23:59:60Z") == parse_time("2017-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "value",
    [
        "",
        "yesterday",
        "2026-05-28",
        "2026-05-28T11:40:00",
        "2026-05-28t11:40:00z",
        "2026-05-28 11:40:00Z",
        "2026-05-28T11:40:00+0200",
        "2026-05-28T11:40:00+24:00",
        "2026-05-28T11:40:00+02:60",
        "2026-05-28T11:40:00Z+02:00",
        "2026-05-28T11:40:00\u221202:00",
        "1970-01-01T01:59:59+02:00",
        "9999-12-31T23:59:59-00:01",
        "2026-05-28T11:40:00.Z",
        "2026-05-28T11:40:00.1234567890Z",
        "2026-05-28T11:40Z",
        "2026-02-30T00:00:00Z",
        "2026-05-28T24:00:00Z",
        "2026-05-28T11:60:00Z",
        "2026-05-28T11:40:61Z",
        "1969-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "10000-01-01T00:00:00Z",
        "9999-12-31T23:59:60Z",
        "٢٠٢٦-05-28T11:40:00Z",
        "2026-05-28T11:40:00Z\n",
        -1,
        LATEST + 1,
    ],
)
def test_anything_else_is_no_time(value: str | int) -> None:
    """None, rather than a guess; whatever is a time can be written again."""
    assert parse_time(value) is None


@given(st.integers(0, 10**9 - 1), st.sampled_from(["ms", "s", "m", "h", "d"]))
def test_durations_keep_their_length(amount: int, unit: str) -> None:
    """Parsing, formatting and parsing again gives the same milliseconds."""
    milliseconds = parse_duration(f"{amount}{unit}")

    assert milliseconds is not None
    assert milliseconds == parse_duration(format_duration(milliseconds))


def test_durations_are_written_as_short_as_can_be() -> None:
    """In the greatest unit that divides them."""
    assert [format_duration(each) for each in (600_000, 90_000, 86_400_000, 1, 0)] == ["10m", "90s", "1d", "1ms", "0ms"]


@pytest.mark.parametrize("text", ["", "10", "m", "-1m", "1.5h", "1 m", "1w", "1M", "٣m", "1234567890s", "1m\n"])
def test_anything_else_is_no_duration(text: str) -> None:
    """None, rather than a guess."""
    assert parse_duration(text) is None
