"""Evidence that waits is bounded, and each record of it costs the same however many wait (state.py)."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from typing import Any

import msgspec
import pytest
from builders import emission, observation
from fold_histories import pure
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.blocks import Output
from sluice.streams.adjudication import snapshot, state
from sluice.streams.adjudication.emission_state import EmissionState, PendingEvidence
from sluice.streams.policy.policy import Admissibility, Floor, Observer, Policy

T = 1_790_000_000_000
SPAN = {"chars": [0, 6]}
MINUTE = 60_000
sides = pytest.mark.parametrize("python_alone", [False, True])


def seen(
    number: int, emission_id: str = "em-1", observer: str = "stranger", span: Any = SPAN, **more: Any
) -> tuple[str, Any]:
    """An observation like no other, of an emission that may never come."""
    about = {"emission_id": emission_id, "span": span, "observation_id": f"id-{number}", "observer": observer}
    return observation(at=T, **about, **more)


def unannotated(emission_id: str = "em-1") -> tuple[str, Any]:
    return emission(emission_id, "It is.", at=T, claim={"provenance": []})


def policy_of(max_waiting: int = 100, observers: tuple[str, ...] = (), **bounds: Any) -> Policy:
    return Policy(
        admissibility=Admissibility(k=Floor(internal=1, external=1), max_waiting=max_waiting, **bounds),
        observers={name: Observer() for name in observers},
    )


def reasons(outputs: list[Any]) -> Counter[str]:
    return Counter(one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters")


def sided(python_alone: bool) -> Any:
    return pure() if python_alone else nullcontext()


# ---------------------------------------------------------------- how much may wait


@sides
@pytest.mark.parametrize("most", [1, 3, 16, 17, 40])
def test_no_more_of_an_observer_waits_for_an_emission(new_lane: Any, most: int, *, python_alone: bool) -> None:
    """What is beyond the bound is a dead letter that says so, whether it comes at once or block after block."""
    with sided(python_alone):
        lane = new_lane(policy_of(most), T)
        at_once = lane.block(T + 1, [seen(number) for number in range(most + 5)])
        later = lane.block(T + 2, [seen(1000), seen(1001)])

    assert reasons(at_once) == {"too-many-waiting": 5}
    assert reasons(later) == {"too-many-waiting": 2}
    assert lane.state.asides == most
    assert lane.state.counters["dead-letters"] == 7


def test_the_default_is_a_hundred(new_lane: Any) -> None:
    lane = new_lane(policy_of(), T)

    assert reasons(lane.block(T + 1, [seen(number) for number in range(120)])) == {"too-many-waiting": 20}


@sides
def test_the_same_observation_twice_is_one(new_lane: Any, *, python_alone: bool) -> None:
    """A replay takes nobody's place, few or many of them."""
    with sided(python_alone):
        lane = new_lane(policy_of(30), T)
        for count in (5, 30):
            outputs = lane.block(T + count, [seen(number) for _ in range(3) for number in range(count)])
            assert not reasons(outputs)
            assert lane.state.asides == count

    assert lane.state.counters["duplicate"] == 10 + 5 + 60


@sides
def test_strangers_take_nothing_from_observers_that_the_policy_lists(new_lane: Any, *, python_alone: bool) -> None:
    """However many names a stranger has: all that are not listed share one quota, and each listed one has its own."""
    with sided(python_alone):
        lane = new_lane(policy_of(10, ("alice", "bob")), T)
        flood = lane.block(T + 1, [seen(number, observer=f"name-{number}") for number in range(50)])
        listed = lane.block(T + 2, [seen(100 + number, observer="alice") for number in range(10)])
        other = lane.block(T + 3, [seen(200, observer="bob"), seen(201, observer="alice"), seen(202)])
        admitted = lane.block(T + 4, [unannotated()])

    assert reasons(flood) == {"too-many-waiting": 40}
    assert not reasons(listed)
    assert reasons(other) == {"too-many-waiting": 2}
    assert [one.topic for one in admitted] == ["admitted"]
    assert (lane.state.asides, lane.state.held) == (0, {})


@sides
def test_a_bound_is_of_one_emission(new_lane: Any, *, python_alone: bool) -> None:
    with sided(python_alone):
        lane = new_lane(policy_of(2), T)
        outputs = lane.block(T + 1, [seen(number, f"em-{number % 10}") for number in range(20)])

    assert not reasons(outputs)


@sides
def test_a_span_that_an_emission_does_not_have_is_bounded_as_well(new_lane: Any, *, python_alone: bool) -> None:
    """It waits for a later assertion that will not come; the emission's own goes on as if there were none of it."""
    with sided(python_alone):
        lane = new_lane(policy_of(20), T)
        lane.block(T + 1, [unannotated()])
        flood = lane.block(T + 2, [seen(number, span={"chars": [0, 2 + number]}) for number in range(10, 60)])
        admitted = lane.block(T + 3, [seen(1)])

    assert reasons(flood) == {"too-many-waiting": 30}
    assert [one.topic for one in admitted] == ["admitted"]


@sides
def test_room_is_given_back_when_waiting_ends(new_lane: Any, *, python_alone: bool) -> None:
    """After the horizon, as many may wait again."""
    with sided(python_alone):
        lane = new_lane(policy_of(40), T)
        lane.block(T + 1, [seen(number) for number in range(40)])
        lane.block(T + 11 * MINUTE)
        assert (lane.state.asides, lane.state.held, len(list(lane.state))) == (0, {}, 0)
        again = lane.block(T + 11 * MINUTE + 1, [seen(number, observed_at=T + 11 * MINUTE) for number in range(41)])

    assert lane.state.counters["unmatched"] == 40
    assert reasons(again) == {"too-many-waiting": 1}


@sides
def test_a_lane_keeps_no_more_bytes_than_its_budget(new_lane: Any, *, python_alone: bool) -> None:
    """Each listed observer has an equal share, the others together one; so one name fills nobody else's."""
    size = state.waiting_cost(msgspec.json.encode(seen(10)[1]))
    with sided(python_alone):
        lane = new_lane(policy_of(observers=("alice",), max_waiting_bytes=size * 20), T)
        flood = lane.block(T + 1, [seen(10 + number, f"e-{number:02}") for number in range(30)])
        listed = lane.block(T + 2, [seen(1, f"e-{number}", observer="alice") for number in range(5)])

    assert reasons(flood) == {"too-many-waiting": 20}
    assert not reasons(listed)
    assert lane.state.held[""] <= size * 10


@sides
def test_a_policy_that_lists_an_observer_later_moves_nothing_that_waits(new_lane: Any, *, python_alone: bool) -> None:
    """What waits keeps the share that it took; so nothing is counted twice or lost on the way out."""
    with sided(python_alone):
        lane = new_lane(policy_of(5), T)
        lane.block(T + 1, [seen(number, observer="alice") for number in range(5)])
        lane.block(T + 2, [("policies", policy_of(5, ("alice",)))])
        own = lane.block(T + 3, [seen(100 + number, observer="alice") for number in range(6)])
        lane.block(T + 4, [unannotated()])

    assert reasons(own) == {"too-many-waiting": 1}
    assert (lane.state.asides, lane.state.held) == (0, {})


# ---------------------------------------------------------------- what each costs


@sides
def test_the_last_of_many_costs_what_the_first_did(
    new_lane: Any, monkeypatch: pytest.MonkeyPatch, *, python_alone: bool
) -> None:
    """In bytes that are packed and unpacked, and in what lies packed, which is all that the compiled core copies."""
    spent = [0]

    def packing(known: EmissionState, pack: Any = state.pack) -> bytes:
        raw: bytes = pack(known)
        spent[0] += len(raw)
        return raw

    def unpacking(emission_id: str, packed: bytes, terms: Any, unpack: Any = state.unpack) -> EmissionState:
        spent[0] += len(packed)
        return unpack(emission_id, packed, terms)

    monkeypatch.setattr(state, "pack", packing)
    monkeypatch.setattr(state, "unpack", unpacking)
    with sided(python_alone):
        lane = new_lane(policy_of(2000), T)
        costs: list[int] = []
        for block in range(40):
            spent[0] = 0
            lane.block(T + block, [seen(block * 50 + number) for number in range(50)])
            costs.append(spent[0])
            assert all(len(raw) < 2 * state.SMALL for raw in lane.state.tables()[0].values())
        spent[0] = 0
        end = lane.block(T + 100, [unannotated()])
        matching = spent[0]

    assert lane.state.asides == 0
    assert [one.topic for one in end] == ["admitted"]
    assert max(costs[2:]) <= max(costs[:2])
    assert matching < 10_000


def test_nothing_of_a_crowd_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """One operation is a fixed number of hashes and look-ups, whatever stands there."""
    hashed = [0]

    def hashing(record: bytes, digest: Any = state._digest) -> bytes:
        hashed[0] += 1
        return digest(record)

    monkeypatch.setattr(state, "_digest", hashing)
    crowd = state.Crowd()
    for order in range(5000):
        hashed[0] = 0
        crowd.add(PendingEvidence(record=b"%d" % order, attempt=order % 3, span_key="", negative=False, order=order))
        assert hashed[0] == 1
    hashed[0] = 0
    assert crowd.has(b"4999")
    assert not crowd.has(b"5000")
    first = crowd.item(0)
    assert first is not None
    crowd.remove(first)
    assert (hashed[0], crowd.count(""), len(crowd)) == (3, 4999, 4999)


# ---------------------------------------------------------------- what was decided before, and snapshots


STEPS = st.lists(
    st.tuples(
        st.integers(0, 25),
        st.sampled_from(["em-1", "em-2"]),
        st.sampled_from(["alice", "bob", "x", "y"]),
        st.sampled_from([[0, 6], [0, 3]]),
        st.sampled_from([0, 0, 0, 40_000]),
    ),
    max_size=60,
)


@given(blocks=st.lists(STEPS, max_size=8), emission_at=st.integers(0, 10), most=st.sampled_from([1, 5, 20]))
def test_the_core_and_a_restored_lane_decide_alike(new_lane: Any, blocks: Any, emission_at: int, most: int) -> None:
    """However much waits, and wherever it lies: outputs, counters and snapshots are the same."""
    policy = policy_of(most, ("alice",), max_waiting_bytes=400_000)
    with pure():
        python = new_lane(policy, T)
    compiled, restored = new_lane(policy, T), new_lane(policy, T)
    for place, steps in enumerate([*blocks, [], []]):
        records = [
            seen(number, name, observer, {"chars": chars}, detail={"pad": "x" * size})
            for number, name, observer, chars, size in steps
        ]
        if place == emission_at:
            records.append(unannotated())
        time = T + place * 2 * MINUTE
        with pure():
            expected = python.block(time, records)
        assert compiled.block(time, records) == expected
        assert restored.block(time, records) == expected
        dumped = list(snapshot.dump(python.state))
        assert list(snapshot.dump(compiled.state)) == dumped
        assert list(snapshot.dump(restored.state)) == dumped
        assert compiled.state.held == python.state.held
        restored.state = snapshot.load(snapshot.dump(restored.state))
        assert restored.state.held == python.state.held


def test_a_dead_letter_says_whose_and_how_many(new_lane: Any) -> None:
    lane = new_lane(policy_of(1, ("alice",)), T)
    outputs: list[Output] = lane.block(T + 1, [seen(n, observer=who) for who in ("alice", "x") for n in range(2)])

    details = [one.headers["sluice-detail"] for one in outputs]
    assert details == [
        "$: expected at most 1 records of an observer to wait for 'em-1', got one more",
        "$: expected at most 1 records of the observers that the policy does not list to wait for 'em-1', got one more",
    ]
