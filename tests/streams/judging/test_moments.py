"""Dates and times that a text names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.prose_literals import SECOND, format_ns, negates, stretch

DAY = 86_400 * SECOND


def ns(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND


@pytest.mark.parametrize(
    ("text", "first", "length"),
    [
        ("2026", "2026-01-01", 365 * DAY),
        ("May 2026", "2026-05-01", 31 * DAY),
        ("2026-12", "2026-12-01", 31 * DAY),
        ("2026-05-25", "2026-05-25", DAY),
        ("2026/05/25", "2026-05-25", DAY),
        ("25th of May 2026", "2026-05-25", DAY),
        ("Sept. 3, 2026", "2026-09-03", DAY),
        ("2026-05-25T10:00Z", "2026-05-25T10:00", 60 * SECOND),
        ("2026-05-25 10:00:30", "2026-05-25T10:00:30", SECOND),
        ("2026-05-25T10:00:00+02:00", "2026-05-25T08:00", SECOND),
        ("May 25, 2026 at 10:05 pm", "2026-05-25T22:05", 60 * SECOND),
        ("2026-05-25T10:00:00.5Z", "2026-05-25T10:00", SECOND // 10),
    ],
)
def test_a_moment_is_as_long_as_it_is_precise(text: str, first: str, length: int):
    """A day is a day, a minute a minute, tenths of a second a tenth; without a zone it is UTC."""
    start, past = stretch(text) or (0, 0)
    assert past - start == length
    assert start // SECOND == ns(first) // SECOND


@pytest.mark.parametrize("text", ["2026-02-30", "2026-13-01", "31 April 2026"])
def test_a_date_that_no_calendar_has_is_no_moment(text: str):
    """Impossible dates name no time."""
    assert stretch(text) is None


@pytest.mark.parametrize(
    ("text", "holds"),
    [("It is not so.", True), ("It hasn’t changed.", True), ("Unchanged since May.", True), ("A notable one.", False)],
)
def test_a_word_of_negation_is_told(text: str, holds: bool):
    """Whole words, in any letter case."""
    assert negates(text) is holds


@given(st.datetimes(datetime(1970, 1, 1), datetime(2999, 12, 31)), st.integers(0, SECOND - 1))
def test_a_written_time_names_the_instant_it_was_written_from(time: datetime, rest: int):
    """Formatting, then reading, gives a stretch that begins at that time, whatever its precision."""
    instant = (time - datetime(1970, 1, 1)) // timedelta(seconds=1) * SECOND + rest
    start, past = stretch(format_ns(instant)) or (0, 0)
    assert start == instant < past


def test_a_time_is_written_as_fine_as_it_is():
    """Whole seconds have no fraction, and a fraction has no zeros at its end."""
    assert format_ns(0) == "1970-01-01T00:00:00Z"
    assert format_ns(1_500_000_000) == "1970-01-01T00:00:01.5Z"
    assert format_ns(1) == "1970-01-01T00:00:00.000000001Z"
