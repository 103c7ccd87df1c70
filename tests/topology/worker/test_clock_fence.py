"""Which clock is wrong: this worker's, or a broker's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.engine.clocks import LEAST_SKEW, Clock, ClockFence
from sluice.topology.settings.process import BrokerTime

T = 1_790_000_000_000
DAY = 86_400_000
SKEW = 30_000


def fence_of(*ahead: int, took: int = 0) -> ClockFence:
    """Of brokers that are so far ahead of the true time, asked at the monotonic instant 0, when that was `T`."""
    fence = ClockFence(SKEW)
    fence.add_times(BrokerTime(node, T + by, -took, took) for node, by in enumerate(ahead))
    return fence


def after(milliseconds: int, wall_ahead: int = 0) -> Clock:
    return Clock(T + milliseconds + wall_ahead, milliseconds)


def test_clocks_that_agree_write_blocks() -> None:
    """Also hours after the broker was last heard of: the monotonic clock says how long that is."""
    fence = fence_of(0, 0, 0)

    assert not fence.doubts(0, after(5 * DAY))
    assert fence.evaluate(after(5 * DAY)) == (False, {}, 0)


@pytest.mark.parametrize("wrong", [DAY, -DAY, SKEW + 1, -SKEW - 1])
@pytest.mark.parametrize("brokers", [1, 2, 3, 5])
def test_a_worker_that_differs_from_most_brokers_is_wrong(brokers: int, wrong: int) -> None:
    """Whether its clock was wrong from the beginning, or was set while it ran."""
    fence = fence_of(*[0] * brokers)

    assert fence.doubts(0, after(1000, wrong))
    assert fence.evaluate(after(1000, wrong)) == (True, {}, wrong)


@pytest.mark.parametrize("wrong", [SKEW, -SKEW, 0])
def test_up_to_max_skew_is_no_difference(wrong: int) -> None:
    assert not fence_of(0).doubts(0, after(1000, wrong))


@pytest.mark.parametrize("brokers", [2, 3])
def test_one_broker_against_the_rest_and_the_worker_is_wrong(brokers: int) -> None:
    """It is named, with how far this worker is ahead of it; the partitions that it leads go on."""
    fence = fence_of(*[0] * (brokers - 1), DAY)

    assert fence.doubts(brokers - 1, after(1000))
    assert fence.evaluate(after(1000)) == (False, {brokers - 1: -DAY}, -DAY)


def test_a_worker_that_agrees_with_one_wrong_broker_is_wrong() -> None:
    """A virtual machine's host may give both the same wrong time."""
    assert fence_of(0, 0, DAY).evaluate(after(1000, DAY)).worker


def test_a_slow_answer_is_no_wrong_clock() -> None:
    """The broker gave its time at some moment of a request that took minutes."""
    fence = fence_of(0, took=5 * 60_000)

    assert not fence.doubts(0, after(10 * 60_000))
    assert fence.doubts(0, after(10 * 60_000, 6 * 60_000))


def test_nothing_is_held_against_a_broker_that_told_nothing() -> None:
    """Those without append times are never asked for one."""
    fence = ClockFence(SKEW)

    assert not fence.doubts(0, after(0, DAY))
    assert not fence.evaluate(after(0, DAY)).worker


def test_a_machine_that_slept_is_believed_once_brokers_were_heard_anew() -> None:
    """The monotonic clock stood still, so every prediction is behind."""
    fence = fence_of(0, 0)
    assert fence.evaluate(after(1000, DAY)).worker

    fence.add_times(BrokerTime(node, T + 1000 + DAY, 1000, 1000) for node in (0, 1))

    assert not fence.evaluate(after(1000, DAY)).worker


def test_a_policy_that_takes_no_skew_of_emitters_does_not_stop_every_worker() -> None:
    assert ClockFence(0).max_skew == LEAST_SKEW


@given(
    brokers=st.lists(st.integers(-2 * DAY, 2 * DAY), min_size=1, max_size=5),
    wall=st.integers(-2 * DAY, 2 * DAY),
    took=st.integers(0, 5000),
    elapsed=st.integers(5000, DAY),
)
def test_whoever_writes_is_within_max_skew_of_half_the_brokers(
    brokers: list[int], wall: int, took: int, elapsed: int
) -> None:
    """A block's time never runs ahead of the cluster's by more; nor does a worker stop that agrees with most."""
    fence = fence_of(*brokers, took=took)
    near = sum(abs(wall - by) <= SKEW - took for by in brokers)
    far = sum(abs(wall - by) > SKEW + took for by in brokers)

    worker = fence.evaluate(after(elapsed, wall)).worker

    assert not (worker and 2 * near >= len(brokers))
    assert worker or 2 * far <= len(brokers)
