"""With `early_settle` an assertion is settled once every listed observer has answered, for each class that it declares
(docs/verdicts.md); whoever else speaks, and however often, settles nothing."""

from __future__ import annotations

from typing import Any

import pytest
from builders import TEXT, T, assertion_value, dispositions, emission, observation_value, review
from foreign_signing import key_of, public, sign
from msgspec.structs import replace

from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import (
    Admissibility,
    Judging,
    Observer,
    Policy,
    Sightings,
)

GREP, READ, LOG = "substrate.grep", "substrate.code.read", "substrate.git.log"
MINUTE = 60_000
KEYS = {name: key_of(number) for number, name in enumerate(("one", "two", "other", "mute"), 1)}


def answered_early(*, early: bool = True, observers: dict[str, list[str]] | None = None, **fields: Any) -> Policy:
    """One observer of grep and two of code.read unless told otherwise; what is not admitted is written down."""
    given = {"one": [GREP, READ], "two": [READ]} if observers is None else observers
    listed = {name: Observer(public_key=public(KEYS[name]), classes=classes) for name, classes in given.items()}
    rules = Admissibility(early_settle=early)
    fields = {"observers": listed, "disposition": dispositions("review"), **fields}
    return Policy(admissibility=rules, **fields)


def declaring(*classes: str) -> tuple[str, dict[str, Any]]:
    return emission(assertions=[assertion_value(TEXT, *classes)])


def answer(name: str, cls: str, outcome: str = "absent", *, signed: bool = True, **fields: Any) -> tuple[str, Any]:
    value = observation_value(cls, outcome, observer=name, **fields)
    return "observations", sign(KEYS[name], "observations", value) if signed else value


ALL = [("one", GREP), ("one", READ), ("two", READ)]


def settled(lane: Any, records: list[Any], at: int = T) -> list[str]:
    """The reasons of what a block says on `inadmissible`."""
    return [one.value["reason"] for one in lane.block(at, records) if one.topic == "inadmissible"]


@pytest.fixture
def lane(new_lane: Any) -> Any:
    """Of which the assertion declares both classes."""
    found = new_lane(answered_early(), T)
    found.block(T, [declaring(GREP, READ)])
    return found


def test_the_last_answer_settles(lane: Any) -> None:
    """In the block in which it comes, as if the horizon had ended; what comes later is late."""
    assert settled(lane, [answer(*one) for one in ALL[:2]]) == []
    assert settled(lane, [answer(*ALL[2])]) == ["no-corroboration"]
    ((_, told),) = [(one.key, one.value) for one in lane.verdicts()]
    assert told["settled"]

    assert settled(lane, [answer("one", GREP, "corroborates"), answer("two", READ, "corroborates")]) == []
    assert core.counters(lane.state)["late"] == 2
    assert settled(lane, [], T + 21 * MINUTE) == []


def test_what_counts_decides_as_at_the_end(lane: Any) -> None:
    """One class bears it out, the others do not."""
    assert settled(lane, [answer("one", GREP, "corroborates"), *(answer(*one) for one in ALL[1:])]) == ["below-floor"]


def test_enough_is_admitted_without_waiting_for_all(lane: Any) -> None:
    """An admission waits for nobody; the answers that come behind it change nothing."""
    found = lane.block(T, [answer("one", GREP, "corroborates"), answer("one", READ, "corroborates")])
    assert [one.value["status"] for one in found] == ["admitted"]
    assert lane.block(T, [answer("two", READ)]) == []


def test_it_is_off_unless_it_is_asked_for(new_lane: Any) -> None:
    """By default everything waits for its horizon."""
    lane = new_lane(answered_early(early=False), T)
    assert settled(lane, [declaring(GREP, READ), *(answer(*one) for one in ALL)]) == []
    assert settled(lane, [], T + 21 * MINUTE) == ["no-corroboration"]


@pytest.mark.parametrize(
    "last",
    [
        answer("two", READ, "unavailable"),
        answer("two", READ, signed=False),
        ("observations", answer("two", READ)[1] | {"signature": answer("other", READ)[1]["signature"]}),
        answer("other", READ),
        ("observations", answer("other", READ)[1] | {"observer": "two"}),
        answer("two", LOG),
        answer("one", LOG),
        answer("one", READ),
        answer("two", READ, attempt=1),
        answer("two", READ, span={"chars": [0, 2]}),
        answer("two", READ, emission_id="em-2"),
        answer("two", READ, judge="arbiter"),
        answer("two", "substrate.of-nothing"),
    ],
    ids=[
        *("unavailable", "unsigned", "another's-signature", "unlisted", "another's-name", "class-not-its-own"),
        *("class-not-declared", "repeated", "another-attempt", "another-span", "another-emission", "a-judge's"),
        "class-unknown",
    ],
)
def test_nothing_else_stands_for_the_last_answer(lane: Any, last: Any) -> None:
    """Not from whom the policy does not list, not unsigned, not about something else; and the true one still does."""
    assert settled(lane, [answer(*one) for one in ALL[:2]]) == []
    assert settled(lane, [last, last]) == []
    assert settled(lane, [answer(*ALL[2])]) == ["no-corroboration"]


@pytest.mark.parametrize("first", [True, False])
def test_an_answer_behind_unavailable_counts(lane: Any, first: bool) -> None:
    """Who could not look may look again; who has looked need not again."""
    both = [answer(*ALL[2]), answer(*ALL[2], "unavailable")]
    assert settled(lane, [answer(*one) for one in ALL[:2]]) == []
    assert settled(lane, both if first else both[::-1]) == ["no-corroboration"]


@pytest.mark.parametrize(
    ("rules", "classes"),
    [
        (answered_early(), []),
        (answered_early(sightings=Sightings(classes=[GREP])), [GREP, READ]),
        (answered_early(), [GREP, READ, READ]),
        (answered_early(observers={"one": [GREP], "two": [GREP]}), [GREP, READ]),
        (answered_early(observers={}), [GREP, READ]),
        (answered_early(judging=Judging(accept=["checks", "arbiter"])), [GREP, READ]),
        (replace(answered_early(), observers={**answered_early().observers, "mute": Observer()}), [GREP, READ]),
    ],
    ids=["no-class", "bound-by-sightings", "class-twice", "nobody-for-a-class", "nobody", "judges", "no-key"],
)
def test_where_nobody_can_tell_the_horizon_settles(new_lane: Any, rules: Policy, classes: list[str]) -> None:
    """Everybody who is listed answers, for all classes, and the assertion still waits."""
    lane = new_lane(rules, T)
    lane.block(T, [declaring(*classes)])
    every = [answer(name, cls) for name, one in rules.observers.items() for cls in one.classes or [GREP, READ]]
    assert settled(lane, every * 2) == []
    assert len(settled(lane, [], T + 21 * MINUTE)) == 1


@pytest.mark.parametrize(
    ("outcome", "found"),
    [("absent", "no-corroboration"), ("terms-present", "not-checked"), ("corroborates", "below-floor")],
)
def test_what_came_before_its_emission_is_an_answer(new_lane: Any, outcome: str, found: str) -> None:
    """Whatever it found: the assertion is settled on arrival, as if the emission had come first."""
    lane = new_lane(answered_early(observers={"one": [GREP]}), T)
    lane.block(T, [answer("one", GREP, outcome)])

    assert settled(lane, [declaring(GREP)]) == [found]
    assert (lane.state.asides, lane.state.live) == (0, 1)


def test_an_early_answer_has_one_fate(new_lane: Any) -> None:
    """It waits, then it counts for nothing; or its emission never comes, and it is unmatched."""
    for records, fate in (([declaring(GREP)], "not-counted"), ([], "unmatched")):
        lane = new_lane(answered_early(observers={"one": [GREP]}), T)
        lane.block(T, [answer("one", GREP)])
        assert {name: count for name, count in lane.state.counters.items() if count} == {}
        assert lane.state.asides == 1

        lane.block(T, records)
        lane.block(T + 21 * MINUTE)

        assert lane.state.counters[fate] == 1
        assert lane.state.asides == 0


@pytest.mark.parametrize(
    "record",
    [
        answer("one", GREP, "unavailable"),
    ],
)
def test_what_is_no_look_does_not_wait(new_lane: Any, record: Any) -> None:
    """It is worth no memory."""
    lane = new_lane(answered_early(observers={"one": [GREP]}), T)
    lane.block(T, [record])

    assert lane.state.asides == 0
    assert lane.state.counters["not-counted"] == 1
    assert settled(lane, [declaring(GREP)]) == []


def test_early_answers_wait_within_the_bounds_of_evidence(new_lane: Any) -> None:
    """A listed observer that answers about an emission that never comes fills its own share, and no more."""
    rules = answered_early(observers={"one": [GREP], "two": [GREP]})
    rules = replace(rules, admissibility=replace(rules.admissibility, max_waiting=3))
    lane = new_lane(rules, T)
    many = [answer("one", GREP, at=T - number) for number in range(10)]

    letters = [one.headers["sluice-reason"] for one in lane.block(T, many)]
    lane.block(T, [answer("two", GREP)])

    assert letters == ["too-many-waiting"] * 7
    assert lane.state.asides == 4


def test_what_waited_unsigned_is_no_answer_once_signatures_are_asked_for(new_lane: Any) -> None:
    """It was heard under a policy that gave its observer no key."""
    lane = new_lane(replace(answered_early(observers={"one": [GREP]}), observers={"one": Observer()}), T)
    lane.block(T, [answer("one", GREP, "terms-present", signed=False)])
    lane.block(T, [("policies", answered_early(observers={"one": [GREP]}))])
    assert settled(lane, [declaring(GREP)]) == []
    assert settled(lane, [answer("one", GREP)]) == ["not-checked"]


def test_the_answers_are_kept_over_a_policy_that_does_not_count_them(new_lane: Any) -> None:
    """What was answered was answered; meanwhile nothing is settled, and what needs a reviewer is told as ever."""
    lane = new_lane(answered_early(), T)
    lane.block(T, [declaring(GREP, READ), *(answer(*one) for one in ALL[:2])])
    lane.block(T, [("policies", answered_early(early=False))])
    assert settled(lane, [answer(*ALL[2])]) == []
    lane.block(T, [("policies", answered_early())])
    assert settled(lane, [answer(*ALL[2])]) == ["no-corroboration"]

    other = new_lane(answered_early(verdicts="none"), T)
    other.block(T, [declaring(GREP, READ), *(answer(*one) for one in ALL[:2])])
    other.block(T, [("policies", answered_early(early=False))])
    assert settled(other, [], T + 21 * MINUTE) == ["no-corroboration"]
    spoken = [one.value["status"] for one in other.block(T + 22 * MINUTE, [review()])]
    assert spoken == ["reviewed", "admitted"]


def test_the_policy_says_so(new_lane: Any) -> None:
    """A warning where it settles nothing."""
    at = "admissibility.early_settle"
    unkeyed = replace(answered_early(), observers={"mute": Observer(), **answered_early().observers})
    assert at not in dict(answered_early().warnings())
    assert "mute" in dict(unkeyed.warnings())[at]
    assert dict(answered_early(observers={}).warnings())[at] == "lists nobody"
