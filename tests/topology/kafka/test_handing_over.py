"""When a rebalance is asked for so that lanes move."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.kafka.assignor import AGAIN_SECONDS, MOST_SECONDS, SETTLED_SECONDS, SOME_SECONDS, HandOver


def awaiting(*lanes: int, now: float = 0.0) -> HandOver:
    """A member that awaits these lanes, and may lack ten blocks."""
    found = HandOver(10, 60.0)
    found.assigned(lanes, now)
    return found


def test_a_member_asks_once_it_is_ready_for_all():
    """As soon as the last lane is close enough; who awaits nothing never asks."""
    member = awaiting(1, 2)

    assert not member.asks({1: 0}, 1.0)
    assert not member.asks({1: 0, 2: 11}, 1.0)
    assert not member.asks({1: 0, 2: 10, 3: 99}, 2.0)
    assert member.asks({1: 0, 2: 10, 3: 99}, 2.0 + SETTLED_SECONDS)
    nobody = awaiting()
    assert not any(nobody.asks({1: 0}, float(second)) for second in range(60))


def test_a_lane_that_has_only_just_come_close_is_not_asked_for():
    """At the end of a catch-up a fetch answer may be older than the ledger: the next one tells of more blocks."""
    member = awaiting(1, 2)
    looks = [(0.0, 0, 0), (0.3, 0, 14), (0.6, 15, 0), (0.9, 0, 0)]

    assert not any(member.asks({1: one, 2: two}, now) for now, one, two in looks)
    assert not member.asks({1: 0, 2: 11}, 1.2)  # whatever it was before: it is asked for while it is close
    assert member.asks({1: 10, 2: 0}, 1.5)


def test_a_standby_that_begins_anew_has_to_come_close_anew():
    """What it was before it ended says nothing."""
    member = awaiting(1)

    assert not member.asks({1: 0}, 0.0)
    assert not member.asks({}, 2.0)
    assert not member.asks({1: 0}, 4.0)
    assert member.asks({1: 0}, 4.0 + SETTLED_SECONDS)


def test_a_member_asks_for_some_after_a_while():
    """One lane that takes long does not hold up the others."""
    member = awaiting(1, 2)

    assert not member.asks({1: 0}, SOME_SECONDS - 2)
    assert not member.asks({1: 0}, SOME_SECONDS - 1)
    assert member.asks({1: 0}, SOME_SECONDS)


def test_who_asks_in_vain_asks_ever_more_rarely():
    """A leader that sees it otherwise, or does not understand: its group is not rebalanced for ever."""
    member, asked = awaiting(1), list[float]()
    for tenth in range(20_000):
        now = tenth / 10
        if member.asks({1: 0}, now):
            asked.append(now)
            member.assigned([1], now)

    pauses = [later - earlier for earlier, later in pairwise(asked)]
    assert pauses[0] == AGAIN_SECONDS
    assert all(later >= min(2 * earlier, MOST_SECONDS) for earlier, later in pairwise(pauses))


def test_who_was_given_a_lane_need_not_wait_for_the_next():
    """What it asked for came: so it was not in vain."""
    member = awaiting(1, 2)
    assert not member.asks({1: 0}, 0.0)
    assert member.asks({1: 0, 2: 0}, SOME_SECONDS)
    member.assigned([2], SOME_SECONDS)

    assert not member.asks({2: 0}, SOME_SECONDS)
    assert member.asks({2: 0}, SOME_SECONDS + SETTLED_SECONDS)


def test_the_leader_ends_a_wait_once():
    """It asks for one rebalance for what is overdue, and remembers since when, over rebalances."""
    leader = HandOver(10, 60.0)
    leader.leads([1], 0.0)
    leader.assigned([], 0.0)
    leader.leads([1, 2], 30.0)
    leader.assigned([], 30.0)

    assert not leader.ends_waiting(59.9)
    assert leader.ends_waiting(60.0)
    assert not leader.ends_waiting(61.0)
    assert leader.overdue(61.0) == {1}


def test_who_leads_no_more_ends_no_wait():
    """Another member remembers then."""
    leader = HandOver(10, 60.0)
    leader.leads([1], 0.0)
    leader.assigned([], 0.0)
    leader.assigned([], 30.0)

    assert not leader.ends_waiting(1000.0)


def test_who_joins_anew_before_it_was_assigned_anything_may_lead_no_more():
    """It shared the lanes out, and the group was rebalanced before anybody heard of that: now another member leads."""
    leader = HandOver(10, 60.0)
    leader.joins()
    leader.leads([1], 0.0)
    leader.joins()
    leader.assigned([], 1.0)

    assert not leader.overdue(1000.0)
    assert not leader.ends_waiting(1000.0)


def test_who_joins_anew_and_leads_again_remembers():
    """A rebalance that fails does not begin anybody's wait anew."""
    leader = HandOver(10, 60.0)
    leader.leads([1], 0.0)
    leader.joins()
    leader.leads([1], 30.0)
    leader.assigned([], 30.0)

    assert leader.overdue(60.0) == {1}


@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.floats(0, 100)), max_size=30))
def test_a_lane_is_never_awaited_longer_than_the_limit(steps: list[tuple[set[int], float]]):
    """Whatever the others do: while one leads, a lane that is still awaited at the limit is overdue."""
    leader, now, since = HandOver(10, 60.0), 0.0, dict[int, float]()
    for awaited, seconds in steps:
        now += seconds
        leader.leads(awaited, now)
        leader.assigned([], now)
        since = {lane: since.get(lane, now) for lane in awaited}
        assert leader.overdue(now) == {lane for lane, at in since.items() if now - at >= 60.0}
