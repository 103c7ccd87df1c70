"""All lanes of a report are drawn over one axis of time, with a scale."""

from __future__ import annotations

import re

import pytest

from sluice.topology.audit.report import ActivityCounts, LaneReport
from sluice.topology.audit.report_page import Axis, axis_of, plots

START = 1_790_000_000_000
DAY = 86_400_000


def lane(number: int, *times: int) -> LaneReport:
    made = ActivityCounts()
    for time in times:
        made.add("blocks", time)
    return LaneReport(lane=number, timeline=made)


def test_one_axis_has_room_for_every_lane():
    """The same moment stands at the same place in each plot."""
    lanes = [lane(0, START, START + 60_000), lane(1, START + 30_000), lane(2)]

    axis = axis_of(lanes)
    text = "".join(plots(lanes))

    assert axis == Axis(START, START + 61_000)
    first, second = text.split("<h3>Lane 1")
    assert re.findall(r'<rect x="([\d.]+)"', first) == ["0.0", "983.6"]
    assert re.findall(r'<rect x="([\d.]+)"', second) == ["491.8"]
    assert re.findall('<span.*?style="left: .*?</div>', first) == re.findall('<span.*?style="left: .*?</div>', second)
    assert "no blocks" in second


def test_a_row_says_its_scale():
    """The highest bar is so many in so long."""
    text = "".join(plots([lane(0, START, START + 1, START + 5_000)]))

    assert "blocks 3<span" in text
    assert "at most 2" in text
    assert "each bar is 1 s" in text


@pytest.mark.parametrize("length", [1, 999, 1000, 61_000, DAY, 40 * DAY, 20 * 365 * DAY])
@pytest.mark.parametrize("start", [0, START, START + 1])
def test_ticks_are_round_few_and_on_the_axis(start: int, length: int):
    axis = Axis(start, start + length)

    ticks = axis.ticks()

    assert 1 <= len(ticks) <= 5
    assert all(0 <= axis.share(one) < 1 for one in ticks)


def test_no_lane_no_axis():
    assert axis_of([lane(0)]) is None
    assert "no blocks" in "".join(plots([lane(0)]))
