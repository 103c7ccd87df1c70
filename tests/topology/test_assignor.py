"""Who gets which lanes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.assignor import LaneAssignor, share

MEMBERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.frozensets(st.integers(0, 20)), min_size=1)


@given(st.sets(st.integers(0, 12)), MEMBERS)
def test_every_lane_goes_to_one_member_and_counts_differ_by_one(lanes: set[int], held: dict[str, frozenset[int]]):
    """Whatever members claim: all lanes are given, once, and evenly."""
    given_out = share(lanes, held)

    assert sorted(lane for numbers in given_out.values() for lane in numbers) == sorted(lanes)
    counts = [len(numbers) for numbers in given_out.values()]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 12), st.integers(1, 5))
def test_nothing_moves_where_nothing_changed(lanes: int, members: int):
    """Shared out once, the same members keep what they have."""
    first = share(range(lanes), {f"m{number}": frozenset() for number in range(members)})

    assert share(range(lanes), {member: frozenset(numbers) for member, numbers in first.items()}) == first


def test_a_new_member_takes_only_its_share():
    """Of eight lanes with two members, a third one takes two; the rest stays."""
    shares = share(range(8), {"a": frozenset({0, 1, 2, 3}), "b": frozenset({4, 5, 6, 7}), "c": frozenset()})

    assert (len(shares["a"]), len(shares["b"]), len(shares["c"])) == (3, 3, 2)
    assert set(shares["a"]) <= {0, 1, 2, 3}
    assert set(shares["b"]) <= {4, 5, 6, 7}


def test_what_a_dead_member_leaves_goes_to_the_others():
    """The others keep their own."""
    shares = share(range(4), {"a": frozenset({0, 1})})

    assert shares == {"a": [0, 1, 2, 3]}


def test_all_inputs_of_a_lane_go_together():
    """An emission and its evidence must meet: three members, four partitions, and no lane is torn apart."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})
    topics = ["emissions", "observations", "reviews"]
    members = {name: LaneAssignor(lambda: ()).metadata(topics) for name in "abc"}

    assignment = LaneAssignor(lambda: ()).assign(cluster, members)

    for given_out in assignment.values():
        assert len({tuple(partitions) for _, partitions in given_out.assignment}) == 1
    assert sorted(p for one in assignment.values() for t, ps in one.assignment if t == "reviews" for p in ps) == [
        0,
        1,
        2,
        3,
    ]


def test_a_member_tells_what_it_has():
    """The claim goes with the join; one that cannot be read is no claim."""
    metadata = LaneAssignor(lambda: {3, 1}).metadata(["emissions"])
    strange = LaneAssignor(lambda: ()).metadata(["emissions"])
    strange.user_data = b"\xff"
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})

    assignment = LaneAssignor(lambda: ()).assign(cluster, {"a": strange, "b": metadata})

    assert dict(assignment["b"].assignment)["emissions"] == [1, 3]
