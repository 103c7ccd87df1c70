"""Who gets which lanes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.kafka.assignor import (
    HandOver,
    LaneAssignor,
    MemberState,
    Plan,
    plan,
    refusals,
    share,
    share_standbys,
)

LANES = st.integers(0, 20)
COUNTS = st.dictionaries(LANES, st.integers(-1, 30))
CLAIMS = st.builds(MemberState, st.frozensets(LANES), COUNTS, st.none() | COUNTS, st.none() | COUNTS)
WITHIN = 10
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


@pytest.mark.parametrize("told", [b"\xff", b"[]", b'{"x":' + b"[" * 100_000, b""])
def test_a_member_tells_what_it_has(told: bytes):
    """The claim goes with the join; one that cannot be read is no claim."""
    metadata = LaneAssignor(lambda: having(3, 1)).metadata(["emissions"])
    strange = LaneAssignor(MemberState).metadata(["emissions"])
    strange.user_data = told
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})

    assignment = LaneAssignor(MemberState).assign(cluster, {"a": strange, "b": metadata})

    assert dict(assignment["b"].assignment)["emissions"] == [1, 3]


# ---------------------------------------------------------------- who is refused


def of_app(app_id: str, prefix: str = "", *lanes: int) -> MemberState:
    """What a worker of an application tells."""
    return MemberState(frozenset(lanes), app_id=app_id, topic_prefix=prefix)


@pytest.mark.parametrize(
    ("members", "refused"),
    [
        ({"a": of_app("one"), "b": of_app("one")}, set()),
        ({"a": of_app("one"), "b": of_app("one"), "c": of_app("two")}, {"c"}),
        ({"a": of_app("two"), "b": of_app("two"), "c": of_app("one", "", 0)}, {"a", "b"}),
        ({"a": of_app("one"), "b": of_app("one", "staging.")}, {"b"}),
        ({"a": of_app("one"), "b": of_app("one", "staging.", 3)}, {"a"}),
        ({"a": of_app("one"), "b": MemberState(frozenset({0}))}, {"a"}),
        ({"a": of_app("b"), "b": of_app("a")}, {"a"}),
    ],
)
def test_members_of_another_installation_are_refused(members: dict[str, MemberState], refused: set[str]):
    """They get nothing, and are told both settings of both; the others share all lanes among themselves."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1, 2, 3})
    told: dict[str, list[str]] = {name: [] for name in members}
    assignors = {
        name: LaneAssignor(lambda state=state: state, standbys=1, refused=told[name].append)
        for name, state in members.items()
    }
    joined = {name: one.metadata([f"{members[name].topic_prefix}emissions"]) for name, one in assignors.items()}

    assignment = assignors["a"].assign(cluster, joined)
    for name, assignor in assignors.items():
        assignor.on_assignment(assignment[name])

    given = {name: [lane for _, lanes in one.assignment for lane in lanes] for name, one in assignment.items()}
    assert {name for name, sentences in told.items() if sentences} == refused
    assert {name for name, lanes in given.items() if not lanes} >= refused
    assert sorted(lane for lanes in given.values() for lane in lanes) == [0, 1, 2, 3]
    for name in refused:
        own = members[name]
        assert told[name][0].endswith(f"this worker has app_id {own.app_id!r} and topic_prefix {own.topic_prefix!r}")
        assert any(
            f"they have app_id {one.app_id!r} and topic_prefix {one.topic_prefix!r}" in told[name][0]
            for other, one in members.items()
            if other not in refused
        )


def test_members_that_read_other_topics_are_refused():
    """Whatever they are called: a lane's inputs would be torn apart."""
    both, few = ("emissions", "reviews"), ("emissions",)

    refused = refusals({"a": both, "b": few, "c": both}, {name: of_app("one") for name in "abc"})

    assert list(refused) == ["b"]
    assert "topic_prefix ''" in refused["b"]


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


# ---------------------------------------------------------------- lanes that wait for who is ready


def owning(*lanes: int, blocks: int = 1000, **behind: int) -> MemberState:
    """A member with the state of its lanes, so many blocks each; `lane3=7` follows lane 3, and lacks 7 blocks."""
    return MemberState(frozenset(lanes), {}, dict.fromkeys(lanes, blocks), {int(k[4:]): n for k, n in behind.items()})


def test_a_lane_stays_with_its_owner_until_the_new_one_is_ready():
    """The new member gets nothing at first, and is told what to follow; then it gets what it follows closely."""
    before = {"a": owning(0, 1, 2, 3), "b": owning(4, 5, 6, 7)}
    first = plan(range(8), {**before, "c": owning()}, WITHIN)
    second = plan(range(8), {**before, "c": owning(lane3=WITHIN, lane7=WITHIN + 1)}, WITHIN)

    assert first == Plan({"a": [0, 1, 2, 3], "b": [4, 5, 6, 7], "c": []}, {"a": [], "b": [], "c": [3, 7]})
    assert second == Plan({"a": [0, 1, 2], "b": [4, 5, 6, 7], "c": [3]}, {"a": [], "b": [], "c": [7]})


def test_a_ledger_that_is_short_is_not_waited_for():
    """To fold all of it is no more than what a member that is ready may lack."""
    found = plan(range(2), {"a": owning(0, 1, blocks=WITHIN), "b": owning()}, WITHIN)

    assert found == Plan({"a": [0], "b": [1]}, {"a": [], "b": []})


def test_a_lane_that_its_owner_has_yet_to_restore_moves_at_once():
    """Two members that begin together restore one half each, not one of them all."""
    beginning = MemberState(frozenset({0, 1}), {}, {}, {})

    assert plan(range(2), {"a": beginning, "b": owning()}, WITHIN).lanes == {"a": [0], "b": [1]}


def test_where_following_is_switched_off_lanes_move_at_once():
    """By the leader, or by the member that is to get the lane, or in a version that cannot."""
    claims = {"a": owning(0, 1), "b": owning()}

    assert plan(range(2), claims, 0).lanes == {"a": [0], "b": [1]}
    assert plan(range(2), {"a": owning(0, 1), "b": MemberState()}, WITHIN).lanes == {"a": [0], "b": [1]}


def test_a_lane_without_an_owner_goes_to_who_is_ready_although_that_has_more():
    """It moves on once the member that is to have it is ready, too."""
    claims = {"a": owning(0, 1, lane2=0), "b": owning(3)}
    found = plan(range(4), claims, WITHIN)

    assert found == Plan({"a": [0, 1, 2], "b": [3]}, {"a": [], "b": [2]})


def test_what_was_awaited_for_too_long_moves_as_it_is():
    """Whoever never becomes ready, or says so, holds nothing up for ever."""
    claims = {"a": owning(0, 1), "b": owning(lane1=10**9)}

    assert plan(range(2), claims, WITHIN).awaited["b"] == [1]
    assert plan(range(2), claims, WITHIN, overdue={1}) == Plan({"a": [0], "b": [1]}, {"a": [], "b": []})


def test_a_worker_of_an_older_version_keeps_its_lanes_until_the_new_one_is_ready():
    """It tells neither how many blocks it has nor what it lacks; it is taken to have the state of its lanes."""
    claims = {"a": having(0, 1), "b": owning()}

    assert plan(range(2), claims, WITHIN) == Plan({"a": [0, 1], "b": []}, {"a": [], "b": [1]})


@given(st.sets(st.integers(0, 12)), MEMBERS, st.integers(0, 20), st.sets(st.integers(0, 12)))
def test_whatever_members_tell_each_lane_has_one_owner(
    lanes: set[int], claims: dict[str, MemberState], within: int, overdue: set[int]
):
    """Lies included. What is awaited is somebody else's, and nothing is awaited by two."""
    found = plan(lanes, claims, within, overdue)

    assert sorted(lane for numbers in found.lanes.values() for lane in numbers) == sorted(lanes)
    awaited = [lane for numbers in found.awaited.values() for lane in numbers]
    assert len(awaited) == len(set(awaited))
    assert not set(awaited) & overdue
    for member, numbers in found.awaited.items():
        assert not set(numbers) & set(found.lanes[member])
    if not awaited:
        assert found.lanes == share(lanes, claims)


@given(st.sets(st.integers(0, 12)), MEMBERS, st.integers(1, 20))
def test_no_lane_moves_to_who_lacks_more_while_anybody_is_ready(
    lanes: set[int], claims: dict[str, MemberState], within: int
):
    """Ready is the owner with its state, and who follows closely; a member that cannot follow is not waited for."""
    found = plan(lanes, claims, within)

    for member, numbers in found.lanes.items():
        for lane in numbers:
            claim = claims[member]
            owners = [one for one in claims.values() if lane in one.lanes]
            stated = [one for one in owners if one.has_state(lane)]
            short = any((one.blocks or {}).get(lane, within + 1) <= within for one in stated)
            ready = [one for one in claims.values() if (one.behind or {}).get(lane, within + 1) <= within]
            if lane in claim.lanes or claim in ready or claim.behind is None or short:
                continue
            assert not stated
            assert not ready


@given(st.integers(1, 16), st.integers(1, 5), st.integers(1, 4), st.sets(st.integers(0, 15)), st.randoms())
def test_lanes_come_to_be_even_in_a_bounded_number_of_rebalances(
    count: int, members: int, more: int, gone: set[int], random: Any
):
    """Members come and go; at each rebalance somebody is ready for at least one lane that it awaits.

    No lane that has an owner with its state goes to a member that is not ready, and none moves twice.
    """
    names = [f"m{random.randrange(100):02}-{number}" for number in range(members + more)]
    held = share(range(count), {name: MemberState() for name in names[:members]})
    left = {name: {lane: 1000 for lane in held.get(name, []) if lane not in gone} for name in names}
    behind: dict[str, dict[int, int]] = {name: {} for name in names}
    moved: list[int] = []
    awaited: list[tuple[str, int]] = []
    for _ in range(count + 2):
        claims = {
            name: MemberState(frozenset(left[name]), dict.fromkeys(behind[name], 1), left[name], behind[name])
            for name in names
        }
        before = {lane: name for name in names for lane in left[name]}
        found = plan(range(count), claims, WITHIN)
        for name, numbers in found.lanes.items():
            for lane in numbers:
                if before.get(lane, name) != name:
                    assert behind[name][lane] <= WITHIN
                    moved.append(lane)
        left = {name: dict.fromkeys(numbers, 1000) for name, numbers in found.lanes.items()}
        awaited = [(name, lane) for name, numbers in found.awaited.items() for lane in numbers]
        if not awaited:
            break
        ready = set(random.sample(awaited, random.randint(1, len(awaited))))
        behind = {name: {} for name in names}
        for name, lane in awaited:
            behind[name][lane] = random.randint(0, WITHIN) if (name, lane) in ready else random.randint(11, 99)
    else:
        raise AssertionError(f"still awaited: {awaited}")

    counts = [len(numbers) for numbers in left.values()]
    assert max(counts) - min(counts) <= 1
    assert len(moved) == len(set(moved))


def test_the_leader_hands_over_what_was_awaited_for_too_long():
    """A member that says for ever that it is not ready: it gets the lanes after the time limit, and not before."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
    now = 0.0
    hand_over = HandOver(WITHIN, 60.0)
    leader = LaneAssignor(lambda: owning(0, 1), hand_over=hand_over, clock=lambda: now)
    liar = LaneAssignor(lambda: owning(lane1=10**12))

    def rebalance() -> dict[str, Any]:
        members = {"a": leader.metadata(["emissions"]), "b": liar.metadata(["emissions"])}
        found = leader.assign(cluster, members)
        leader.on_assignment(found["a"])
        return {name: dict(one.assignment)["emissions"] for name, one in found.items()}

    assert rebalance() == {"a": [0, 1], "b": []}
    now = 59.0
    assert not hand_over.ends_waiting(now)
    assert rebalance() == {"a": [0, 1], "b": []}
    now = 60.0
    assert hand_over.ends_waiting(now)
    assert rebalance() == {"a": [0], "b": [1]}
    assert not hand_over.ends_waiting(now)


def test_a_leader_whose_assignment_reached_nobody_forgets_once_another_one_leads():
    """It shared the lanes out, but the group was rebalanced before that was told, and another member led then."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
    hand_over = HandOver(WITHIN, 60.0)
    once = LaneAssignor(lambda: owning(0, 1), hand_over=hand_over, clock=lambda: 0.0)
    other = LaneAssignor(lambda: owning(lane1=10**12), hand_over=HandOver(WITHIN, 60.0))

    def members() -> dict[str, Any]:
        return {"a": once.metadata(["emissions"]), "b": other.metadata(["emissions"])}

    once.assign(cluster, members())
    assert hand_over.overdue(60.0) == {1}
    once.on_assignment(other.assign(cluster, members())["a"])

    assert not hand_over.overdue(60.0)


def test_a_member_is_told_what_it_awaits_and_follows_it():
    """In the assignment's user data, beside what it stands by for; an older version reads the plain list as ever."""
    cluster: Any = SimpleNamespace(partitions_for_topic=lambda topic: {0, 1})
    followed: list[list[int]] = []
    hand_over = HandOver(WITHIN, 60.0)
    member = LaneAssignor(owning, stand_by=followed.append, hand_over=hand_over)
    members = {"a": LaneAssignor(lambda: owning(0, 1)).metadata(["emissions"]), "b": member.metadata(["emissions"])}

    found = LaneAssignor(owning, standbys=1, hand_over=HandOver(WITHIN, 60.0)).assign(cluster, members)
    member.on_assignment(found["b"])
    older = {"a": LaneAssignor(lambda: having(0, 1)).metadata(["emissions"])}
    plain = LaneAssignor(owning, standbys=1, hand_over=HandOver(WITHIN, 60.0)).assign(cluster, older)

    assert (followed, hand_over.awaited) == ([[0, 1]], {1})
    assert plain["a"].user_data == b"[]"
