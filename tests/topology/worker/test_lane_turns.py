"""Lanes take turns at making blocks: `topology/engine/lane_control.py`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.engine.lane_control import (
    INITIAL_LIMIT,
    LATE_SECONDS,
    MIN_LIMIT,
    WINDOW_SECONDS,
    ConcurrencyLimiter,
)


def no_news() -> None:
    """For who is not woken in a test."""


def test_who_asks_while_there_is_room_begins_at_once() -> None:
    turns = ConcurrencyLimiter()
    assert all(turns.ask(lane, no_news, 0.0) for lane in range(int(INITIAL_LIMIT)))
    assert not turns.ask("one more", no_news, 0.0)
    assert turns.waiting == 1


def test_turns_are_given_in_the_order_in_which_they_were_asked_for() -> None:
    turns, woken = ConcurrencyLimiter(), list[str]()
    for lane in range(turns.at_a_time):
        turns.ask(lane, no_news, 0.0)
    for name in ("first", "second", "third"):
        assert not turns.ask(name, lambda name=name: woken.append(name), 0.0)
    assert not turns.ask("first", no_news, 0.1), "who asks again keeps its place"
    turns.end(0, 0.1)
    turns.end(1, 0.1)
    assert woken == ["first", "second"]
    assert turns.ask("first", no_news, 0.1)
    assert not turns.ask("third", no_news, 0.1)


def test_who_has_nothing_to_do_any_more_gives_its_place_up() -> None:
    turns, woken = ConcurrencyLimiter(), list[str]()
    for lane in range(turns.at_a_time):
        turns.ask(lane, no_news, 0.0)
    turns.ask("suspended", lambda: woken.append("suspended"), 0.0)
    turns.ask("behind it", lambda: woken.append("behind it"), 0.0)
    turns.end("suspended", 0.0)
    turns.end(0, 0.0)
    assert woken == ["behind it"]


def test_a_lane_whose_broker_is_away_holds_nobody_up() -> None:
    turns = ConcurrencyLimiter()
    for lane in range(turns.at_a_time):
        assert turns.ask(lane, no_news, 0.0)
    assert not turns.ask("healthy", no_news, LATE_SECONDS / 2)
    assert turns.ask("healthy", no_news, LATE_SECONDS)
    turns.end("healthy", LATE_SECONDS + 0.01, 0.01)
    assert turns.ask("another", no_news, LATE_SECONDS + 0.01)


def run_lanes(turns: ConcurrencyLimiter, lanes: int, seconds_at: Callable[[int], float], rounds: int) -> None:
    """So many lanes always have something to do; `seconds_at` says what a turn takes among so many."""
    now, at_it = 0.0, deque[int]()
    waiting = deque(range(lanes))
    for _ in range(rounds):
        for lane in list(waiting):
            if turns.ask(lane, no_news, now):
                waiting.remove(lane)
                at_it.append(lane)
        seconds = seconds_at(len(at_it))
        now += seconds / len(at_it)
        lane = at_it.popleft()
        turns.end(lane, now, seconds)
        waiting.append(lane)


def test_where_turns_wait_for_one_another_there_are_few_at_a_time() -> None:
    turns = ConcurrencyLimiter()
    run_lanes(turns, 1, lambda _: 0.006, 3)  # what one takes alone
    run_lanes(turns, 64, lambda at_once: 0.006 * at_once, 2_000)
    assert MIN_LIMIT <= turns.at_a_time <= 8


def test_a_broker_that_is_far_away_gets_all_of_them() -> None:
    turns = ConcurrencyLimiter()
    run_lanes(turns, 64, lambda _: 0.05, 5_000)
    assert turns.at_a_time >= 60


def test_the_shortest_turn_of_long_ago_is_forgotten() -> None:
    turns = ConcurrencyLimiter()
    run_lanes(turns, 1, lambda _: 0.001, 3)
    run_lanes(turns, 64, lambda _: 0.05, int(3 * WINDOW_SECONDS / 0.05 * MIN_LIMIT))
    assert turns.at_a_time > 30, "a broker that moved far away is served as any other there"


def test_without_anybody_waiting_nothing_is_learned_of_more_turns() -> None:
    turns = ConcurrencyLimiter()
    run_lanes(turns, 2, lambda _: 0.01, 1_000)
    assert turns.at_a_time == int(INITIAL_LIMIT)


@given(st.lists(st.tuples(st.integers(0, 20), st.sampled_from(["ask", "end", "done"]), st.floats(0, 2)), max_size=200))
def test_whoever_waits_gets_its_turn_once_the_others_are_done(steps: list[tuple[int, str, float]]) -> None:
    turns, now, asked = ConcurrencyLimiter(), 0.0, set[int]()
    for lane, what, seconds in steps:
        now += seconds / 10
        if what == "ask":
            turns.ask(lane, no_news, now)
            asked.add(lane)
        else:
            turns.end(lane, now, seconds if what == "done" else None)
            asked.discard(lane)
    for lane in sorted(asked):
        assert any(turns.ask(lane, no_news, now + LATE_SECONDS * turn) for turn in range(1, 8))
    for lane in sorted(asked):
        turns.end(lane, now + 100)
    assert turns.waiting == 0
