"""A state as bytes: whole or refused. That a lane goes on from it as if never stopped is shown beside the fold."""

from __future__ import annotations

import inspect
import re
from typing import Any, get_args

import msgspec
import pytest
from builders import emission, observation

from sluice.codecs.errors import DoesNotHoldError
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import snapshot
from sluice.streams.adjudication.emission_state import AssertionState, EmissionState, Terms, pack, short, unpack, whole
from sluice.streams.policy.policy import Admissibility, Policy

T = 1_790_000_000_000
HASH = "sha256:" + "ab" * 32


def filled(new_lane: Any) -> Any:
    """A lane with an admitted assertion, a pending one, and evidence that waits."""
    lane = new_lane(Policy(), T)
    span = {"chars": [0, 6]}
    for name in ("em-1", "em-2"):
        note = {"substrate_class": "substrate.grep", "observation_id": HASH, "ts": T}
        chain = [{"step": "retrieval", "source": "x", "metadata": {"n": 10**30}}]
        lane.block(T, [emission(name, "It is.", at=T, claim={"provenance": [note], "chain": chain})])
    for cls in ("substrate.grep", "substrate.git.log"):
        for name in ("em-1", "em-3"):
            seen = {"emission_id": name, "span": span, "at": T, "observer": "observer-2", "observation_id": HASH}
            lane.block(T, [observation(cls, **seen)])
    return lane


def test_loading_what_was_dumped_is_the_state(new_lane: Any) -> None:
    """Counters, clocks, policies, lives, waiting evidence and what is due next."""
    lane = filled(new_lane)

    state = snapshot.load(list(snapshot.dump(lane.state)))

    assert core.counters(state) == core.counters(lane.state)
    assert (core.counters(state)["lives"], core.counters(state)["waiting"]) == (2, 2)
    assert core.next_due(state) == core.next_due(lane.state)
    assert (state.policy, state.policy_hash) == (lane.state.policy, lane.state.policy_hash)
    assert list(snapshot.dump(state)) == list(snapshot.dump(lane.state))


def test_dumping_leaves_the_state_as_it_was(new_lane: Any) -> None:
    """A lane that takes a snapshot goes on."""
    lane, other = filled(new_lane), filled(new_lane)
    list(snapshot.dump(lane.state))

    for one in (lane, other):
        one.block(T + 3_600_000 * 48)

    assert lane.outputs == other.outputs
    assert [output.topic for output in lane.outputs].count("admitted") == 2  # admitted, and decayed at its end


def test_an_announced_policy_comes_into_force_after_a_restore(new_lane: Any) -> None:
    """It stood in the last block before the snapshot."""
    lane = filled(new_lane)
    new = Policy(admissibility=Admissibility(min_confidence=0.5))
    lane.block(T + 1, [("policies", new)])

    lane.state = snapshot.load(list(snapshot.dump(lane.state)))
    lane.block(T + 2)

    assert lane.state.policy == new
    assert [terms.horizon for terms in lane.state.terms] == [600_000]


@pytest.mark.parametrize("cut", [lambda chunks: [], lambda chunks: chunks[1:], lambda chunks: [b"\xc1", *chunks]])
def test_what_is_no_snapshot_is_refused(new_lane: Any, cut: Any) -> None:
    """In one sentence, for whoever then folds the ledger instead."""
    with pytest.raises(DoesNotHoldError, match="the snapshot does not hold a lane's state"):
        snapshot.load(cut(list(snapshot.dump(filled(new_lane).state))))


def test_another_format_is_refused(new_lane: Any) -> None:
    """A later version's snapshot is not guessed at."""
    first, *rest = snapshot.dump(filled(new_lane).state)
    head = msgspec.msgpack.decode(first) | {"v": snapshot.FORMAT + 1}

    with pytest.raises(DoesNotHoldError, match="another format"):
        snapshot.load([msgspec.msgpack.encode(head), *rest])


@pytest.mark.parametrize(
    ("observation_id", "size"),
    [
        ("sha256:" + "ab" * 32, 33),
        ("ab" * 20, 21),
        ("AB" * 20, 41),
        ("sha256:" + "AB" * 32, 72),
        ("none:substrate.grep", 20),
        ("", 1),
    ],
)
def test_an_observation_id_is_kept_short(observation_id: str, size: int) -> None:
    """The bytes of a hash; every other id as it stands."""
    kept = short(observation_id)

    assert (whole(kept), len(kept)) == (observation_id, size)


def test_renewals_do_not_make_a_life_longer(new_lane: Any) -> None:
    """Of each class the newest evidence is kept, and no id that nothing names."""
    lane = filled(new_lane)
    sizes: list[int] = []
    for minute in range(1, 40):
        names = ("sha256:" + "ab" * 32, f"sha256:{minute:064x}")
        for cls, name in zip(("substrate.grep", "substrate.git.log"), names[:: 1 if minute % 2 else -1], strict=True):
            at, span = T + minute * 60_000, {"chars": [0, 6]}
            lane.block(at, [observation(cls, span=span, at=at, observer="o", observation_id=name)])
        sizes.append(len(lane.state.at_rest()["em-1"]))

    assert max(sizes) <= sizes[3]


def test_an_emission_packed_and_unpacked_is_itself() -> None:
    """What the holder knows is left out and filled in."""
    terms = [Terms({"substrate.grep": 1}, 2, 0, 3)]
    known = unpack("em-1", pack(EmissionState()), terms)
    assert (known.attempts, known.waiting) == ([], [])
    assert AssertionState.__struct_fields__[:4] == ("emission_id", "attempt", "emitted_at", "terms")


def structs_in(kind: Any) -> set[type]:
    """Every struct that a type can hold."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        fields = msgspec.structs.fields(kind)
        return {kind}.union(*(structs_in(field.type) for field in fields))
    return set().union(*(structs_in(one) for one in get_args(kind)))


def test_the_layout_names_every_struct_of_a_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """None is left out, so a package with another field anywhere takes no snapshot of this one's for its own."""
    named: list[Any] = []
    monkeypatch.setattr(snapshot, "_described", lambda part: named.append(part) or "")
    source = inspect.getsource(snapshot)
    call = re.search(r"^LAYOUT: Final = (layout_of\(.*\))$", source, re.MULTILINE)
    assert call is not None
    eval(call[1], vars(snapshot))

    assert structs_in(snapshot.Head) | structs_in(EmissionState) == {one for one in named if not isinstance(one, str)}


def test_another_field_is_another_layout() -> None:
    """Its name, its type and its place, of any struct."""

    class AssertionState(msgspec.Struct):
        k: int
        text: str

    class Other(msgspec.Struct):
        text: str
        k: int

    class Wider(msgspec.Struct):
        k: float
        text: str

    Other.__name__ = Wider.__name__ = "AssertionState"

    assert len({snapshot.layout_of(one) for one in (AssertionState, Other, Wider)}) == 3
    assert snapshot.layout_of(AssertionState) == snapshot.layout_of(AssertionState)
