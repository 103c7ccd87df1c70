"""Who gets which lanes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.kafka.assignor import LaneAssignor, MemberState, share, share_standbys

CLAIMS = st.builds(
    MemberState, st.frozensets(st.integers(0, 20)), st.dictionaries(st.integers(0, 20), st.integers(-1, 9))
)
MEMBERS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), CLAIMS, min_size=1)


def having(*lanes: int, **standby: int) -> MemberState:
    """A member's claim; `lane3=7` stands by for lane 3 and has followed its ledger to height 7."""
    return MemberState(frozenset(lanes), {int(name[4:]): height for name, height in standby.items()})


@given(st.sets(st.integers(0, 12)), MEMBERS)
def test_every_lane_goes_to_one_member_and_counts_differ_by_one(lanes: set[int], claims: dict[str, MemberState]):
    """Whatever members claim: all lanes are given, once, and evenly."""
    given_out = share(lanes, claims)

    assert sorted(lane for numbers in given_out.values() for lane in numbers) == sorted(lanes)
    counts = [len(numbers) for numbers in given_out.values()]
    assert max(counts) - min(counts) <= 1


@given(st.integers(1, 12), st.integers(1, 5))
def test_nothing_moves_where_nothing_changed(lanes: int, members: int):
    """Shared out once, the same members keep what they have."""
    first = share(range(lanes), {f"m{number}": MemberState() for number in range(members)})

    assert share(range(lanes), {member: having(*numbers) for member, numbers in first.items()}) == first


def test_a_new_member_takes_only_its_share():
    """Of eight lanes with two members, a third one takes two; the rest stays."""
    shares = share(range(8), {"a": having(0, 1, 2, 3), "b": having(4, 5, 6, 7), "c": MemberState()})

    assert (len(shares["a"]), len(shares["b"]), len(shares["c"])) == (3, 3, 2)
    assert set(shares["a"]) <= {0, 1, 2, 3}
    assert set(shares["b"]) <= {4, 5, 6, 7}


def test_what_a_dead_member_leaves_goes_to_the_others():
    """The others keep their own."""
    shares = share(range(4), {"a": having(0, 1)})

    assert shares == {"a": [0, 1, 2, 3]}


def test_all_inputs_of_a_lane_go_together():
    """An emission and its evidence must meet: three members, four partitions, and no lane is torn apart."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})
    topics = ["emissions", "observations", "reviews"]
    members = {name: LaneAssignor(MemberState).metadata(topics) for name in "abc"}

    assignment = LaneAssignor(MemberState).assign(cluster, members)

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
    metadata = LaneAssignor(lambda: having(3, 1)).metadata(["emissions"])
    strange = LaneAssignor(MemberState).metadata(["emissions"])
    strange.user_data = b"\xff"
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})

    assignment = LaneAssignor(MemberState).assign(cluster, {"a": strange, "b": metadata})

    assert dict(assignment["b"].assignment)["emissions"] == [1, 3]


# ---------------------------------------------------------------- standbys


def test_a_free_lane_goes_to_the_standby_that_has_come_furthest():
    """Its owner has died: whoever has followed the ledger needs no refold."""
    claims = {"a": having(0, lane2=3), "b": having(1, lane2=9), "c": having(3)}

    assert share(range(5), claims)["b"] == [1, 2]


def test_evenness_comes_before_warmth():
    """A standby that is full already does not get the lane."""
    claims = {"a": having(0, 1, lane2=9), "b": MemberState()}

    assert share(range(4), claims) == {"a": [0, 1], "b": [2, 3]}


@given(st.sets(st.integers(0, 12)), MEMBERS, st.integers(0, 3))
def test_every_lane_has_its_standbys_and_none_is_its_own(lanes: set[int], claims: dict[str, MemberState], count: int):
    """As many as there are others, at the most; each lane once a member."""
    shares = share(lanes, claims)

    standbys = share_standbys(shares, claims, count)

    for member, numbers in standbys.items():
        assert not set(numbers) & set(shares[member])
        assert len(set(numbers)) == len(numbers)
    wanted = min(count, len(claims) - 1)
    assert all(sum(lane in numbers for numbers in standbys.values()) == wanted for lane in lanes)


@given(st.integers(1, 12), st.integers(2, 5))
def test_standbys_stay_where_they_are(lanes: int, members: int):
    """Their state is what they are for: a rebalance that changes nothing moves none."""
    claims = {f"m{number}": MemberState() for number in range(members)}
    shares = share(range(lanes), claims)
    standbys = share_standbys(shares, claims, 1)
    claims = {name: MemberState(frozenset(shares[name]), dict.fromkeys(standbys[name], 5)) for name in claims}

    assert (share(range(lanes), claims), share_standbys(shares, claims, 1)) == (shares, standbys)


def test_a_standby_s_height_travels_with_its_claim():
    """The leader knows from it who has come how far."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2})
    claims = {"a": having(0, lane2=3, lane1=0), "b": having(1, lane2=9)}
    members = {name: LaneAssignor(lambda claim=claim: claim).metadata(["emissions"]) for name, claim in claims.items()}

    assignment = LaneAssignor(MemberState).assign(cluster, members)

    assert dict(assignment["b"].assignment)["emissions"] == [1, 2]


def test_a_member_is_reported_what_to_stand_by_for():
    """In the assignment's user data; a leader of another version may have sent none."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
    reported: list[list[int]] = []
    member = LaneAssignor(MemberState, stand_by=reported.append)
    members = {name: member.metadata(["emissions"]) for name in "ab"}

    for assignment in LaneAssignor(MemberState, standbys=1).assign(cluster, members).values():
        member.on_assignment(assignment)
    member.on_assignment(SimpleNamespace(user_data=b""))  # type: ignore[arg-type]
    member.on_assignment(SimpleNamespace(user_data=b"\xff"))  # type: ignore[arg-type]

    assert reported == [[1], [0], [], []]
