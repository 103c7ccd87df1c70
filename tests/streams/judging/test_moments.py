"""Dates and times that a text names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.streams.judging.moments import SECOND, format_ns, moments, stretch

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
    assert moments(f"on {text}") == []


@pytest.mark.parametrize(
    ("text", "holding", "failing"),
    [
        ("modified on 2026-05-25", ["2026-05-25", "2026-05-25T23:59:59"], ["2026-05-24T23:59:59", "2026-05-26"]),
        ("modified before 2026-05-25", ["2026-05-24"], ["2026-05-25", "2026-05-26"]),
        ("older than 2026-05-25", ["2026-05-24"], ["2026-05-25"]),
        ("modified after 2026-05-25", ["2026-05-26"], ["2026-05-25T12:00", "2026-05-24"]),
        ("changed since 2026-05-25", ["2026-05-25", "2026-06-01"], ["2026-05-24"]),
        ("not before 2026-05-25", ["2026-05-25"], ["2026-05-24"]),
        ("no later than 2026-05-25", ["2026-05-25T12:00"], ["2026-05-26"]),
        ("has not been modified since 2026-05-25", ["2026-05-24"], ["2026-05-25", "2026-06-01"]),
        ("unchanged since 2026-05-25", ["2026-05-24"], ["2026-05-25"]),
        ("never modified after 2026-05-25", ["2026-05-25"], ["2026-05-26"]),
        ("It hasn't changed since May 2026", ["2026-04-30"], ["2026-05-01"]),
    ],
)
def test_relations_are_understood(text: str, holding: list[str], failing: list[str]):
    """before, after, since and their kin say on which side of the moment a time has to lie; «not» turns them."""
    (moment,) = moments(text)
    assert [time for time in holding if not moment.holds(ns(time))] == []
    assert [time for time in failing if moment.holds(ns(time))] == []


def test_a_range_holds_what_lies_in_it():
    """«between … and …» and «from … to …» name two moments that hold together."""
    for text in ("between 2026-05-01 and 2026-05-03", "from 2026-05-01 to 2026-05-03"):
        first, last = moments(text)
        assert [first.relation, last.relation] == ["since", "until"]
        assert first.holds(ns("2026-05-03T12:00"))
        assert last.holds(ns("2026-05-03T12:00"))
        assert not last.holds(ns("2026-05-04"))


def test_a_negation_counts_in_its_own_clause():
    """What one clause denies, the next does not."""
    first, second = moments("It was not written on 2026-05-24, but on 2026-05-25.")
    assert (first.negated, second.negated) == (True, False)


def test_a_denials_own_negation_can_be_left_out():
    """A denial is turned round by its kind: its «not» must not turn it a second time."""
    (moment,) = moments("has not been modified since 2026-05-25")
    assert moment.holds(ns("2026-06-01"), ignore_negation=True)
    assert not moment.holds(ns("2026-05-01"), ignore_negation=True)


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
