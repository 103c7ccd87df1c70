"""Counts by stretches of time: none is lost, and there are never too many."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.audit.report import SHORTEST, STRETCHES, ActivityCounts

T = 1_790_000_000_000
TIMES = st.lists(st.tuples(st.integers(0, 400 * 86_400_000), st.integers(0, 9)), min_size=1, max_size=50)


@given(TIMES)
def test_nothing_is_lost_however_long_it_takes(times: list[tuple[int, int]]):
    """The sum stays, the stretches are few, and each count lies in the stretch of its time."""
    timeline = ActivityCounts()
    for time, count in sorted(times):
        timeline.add("inputs", T + time, count)

    counts = timeline.counts["inputs"]
    assert sum(counts) == sum(count for _, count in times)
    assert timeline.stretches <= STRETCHES + 1
    assert timeline.start % timeline.width == 0
    for place, count in enumerate(counts):
        first = timeline.start + place * timeline.width
        assert count == sum(one for time, one in times if first <= T + time < first + timeline.width)


def test_short_histories_are_reported_by_the_second():
    """No finer."""
    timeline = ActivityCounts()
    timeline.add("blocks", T)
    timeline.add("blocks", T + 999)
    timeline.add("blocks", T + 1000)

    assert (timeline.width, timeline.counts["blocks"]) == (SHORTEST, [2, 1])
