"""An assertion without its own checks has those that observers tell; and how an observer could turn that."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GIT, GREP, READ, assertion_value, emission, observation

from sluice.streams.adjudication import snapshot
from sluice.streams.policy.policy import Admissibility, FloorOfCheck, Judging, LeastObservers, Policy

T, MINUTE = 1_790_000_000_000, 60_000
TEXT = "`MAX` equals 1000."
SPAN = {"chars": [0, len(TEXT)]}
OWN = "equals(MAX, 1000)"


@pytest.fixture(params=["compiled", "pure"], autouse=True)
def _sides(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr("sluice.streams.adjudication.fold_layout.core", None)


def claimed(**fields: Any) -> tuple[str, Any]:
    return emission("em-1", TEXT, at=T, assertions=[assertion_value(TEXT, {"substrate_class": READ})], **fields)


def told(cls: str, check: Any = OWN, *, at: int = T, **fields: Any) -> tuple[str, Any]:
    """An observer's word that it tells this check, which holds."""
    detail = {"checks": [{"check": check, "holds": True, "by": "form", "path": "a.py"}]}
    said = {"verified": [0], "coverage": "whole", "coverage_by": "form", "detail": detail, **fields}
    return observation(cls, at=at, span=SPAN, **said)


def fate(new_lane: Any, *observations: Any, policy: Policy | None = None) -> dict[str, Any]:
    lane = new_lane(policy or Policy(), T)
    outputs = [*lane.block(T + 1, [claimed(), *observations]), *lane.block(T + 25 * MINUTE)]
    return next((one.value for one in outputs if one.topic in ("admitted", "inadmissible")), {})


def test_what_two_kinds_of_evidence_tell_is_admitted(new_lane: Any) -> None:
    """As the check that was told; the fold reads nothing of the sentence."""
    word = fate(new_lane, told(READ), told(GREP, "equals(MAX,1000)"))

    assert (word["status"], word["coverage"], word["coverage_by"]) == ("admitted", "whole", "form")
    assert word["checks"] == [{"name": "equals", "classes": 2}]
    assert word["_untrusted_text"]["rendered"] == ["`MAX` in `a.py` equals 1000."]


@pytest.mark.parametrize(
    "odd",
    [
        told(GREP, "equals(MAX, 1001)"),
        told(GREP, "no check"),
        told(GREP, "levitates(MAX)"),
        told(GREP, 7),
        told(GREP, "exists(" + "a" * 3000 + ")"),
        told(GREP, detail={}),
        told(GREP, detail={"checks": []}),
        told(GREP, detail={"checks": [None, {"check": OWN, "holds": True}]}),
        told(GREP, verified=[1]),
        told(GREP, verified=[]),
        told(GREP, refuted=[0]),
        told(GREP, coverage="none"),
        told(READ),
    ],
)
def test_what_tells_another_check_or_none_is_no_second_word(new_lane: Any, odd: tuple[str, Any]) -> None:
    """Each kind of evidence has to tell the same check, by its canonical form."""
    assert fate(new_lane, told(READ), odd)["status"] == "below-floor"


@pytest.mark.parametrize("level", ["part", None])
def test_what_covers_a_part_is_not_admitted(new_lane: Any, level: str | None) -> None:
    """The form of one of them left something of the sentence open."""
    word = fate(new_lane, told(READ), told(GREP, coverage=level, coverage_by=None))

    assert (word["status"], word["reason"], word["coverage"]) == ("below-floor", "partly-checked", "part")


def test_the_first_check_that_stands_and_covers_is_admitted(new_lane: Any) -> None:
    """One that covers less, or that one kind of evidence tells alone, does not hinder it."""
    part = {"coverage": "part", "coverage_by": None}
    others = [told(READ, "equals(MAX, 1000, path=a.py)", **part), told(GIT, "exists(a.py)", observed_at=T - 1)]
    word = fate(new_lane, *others, told(READ, at=T + 1), told(GREP))

    assert (word["status"], word["checks"]) == ("admitted", [{"name": "equals", "classes": 2}])
    assert word["classes"] == [READ, GIT, GREP]


def test_at_most_four_are_kept(new_lane: Any) -> None:
    """An observer that tells five different ones leaves no room; what is kept goes on counting."""
    flood = [told(GREP, f"exists(a{number}.py)", at=T + number) for number in range(5)]

    assert fate(new_lane, *flood, told(READ, "exists(a3.py)"))["status"] == "admitted"
    assert fate(new_lane, *flood, told(READ, "exists(a4.py)"))["status"] == "below-floor"
    assert fate(new_lane, *flood[:3], told(READ), told(GREP, at=T + 9))["status"] == "admitted"


def test_after_admission_only_the_admitted_check_renews(new_lane: Any) -> None:
    """What tells another one is of other checks, whatever it saw."""
    lane = new_lane(Policy(), T)
    lane.block(T + 1, [claimed(), told(READ, "exists(b.py)"), told(READ, at=T + 1), told(GREP)])
    later = T + 30 * MINUTE
    others = lane.block(later, [told(cls, "exists(b.py)", at=later) for cls in (READ, GREP)])
    lane.state = snapshot.load(list(snapshot.dump(lane.state)))
    renewed = lane.block(later + 1, [told(cls, at=later) for cls in (READ, GREP)])

    assert [one.topic for one in others if one.topic == "admitted"] == []
    assert [one.value["status"] for one in renewed if one.topic == "admitted"] == ["renewed"]


def test_a_contradiction_has_to_tell_a_check(new_lane: Any) -> None:
    """As a corroboration has: what is no check contradicts nothing."""
    false = {"outcome": "contradicts", "verified": [], "refuted": [0]}

    assert fate(new_lane, told(GREP, **false))["status"] == "contradicted"
    assert fate(new_lane, told(GREP, "no check", **false)) == {}  # it is discarded at its end


def test_a_check_has_its_own_k_and_its_own_observers(new_lane: Any) -> None:
    """Of the one that is admitted; evidence for another one does not count for it."""
    alone = Policy(admissibility=Admissibility(k_by_check={"equals": FloorOfCheck(internal=1)}))
    assert fate(new_lane, told(READ), policy=alone)["k"] == 1
    assert fate(new_lane, told(READ, "exists(a.py)"), policy=alone)["status"] == "below-floor"

    two = Policy(admissibility=Admissibility(min_observers=LeastObservers(internal=2, external=2)))
    both = [told(READ), told(GREP), told(GIT, "exists(a.py)", observer="second")]
    assert fate(new_lane, *both, policy=two)["status"] == "below-floor"
    assert fate(new_lane, *both, told(READ, observer="second"), policy=two)["status"] == "admitted"


def test_foreign_observations_count_as_the_policy_says(new_lane: Any) -> None:
    """One that tells no check speaks of the assertion as a whole, unless checks are required."""
    plain = observation(GREP, at=T, span=SPAN)
    required = Policy(judging=Judging(require_checks=True))

    assert fate(new_lane, told(READ), plain)["checks"] == [{"name": "equals", "classes": 1}]
    assert fate(new_lane, plain, told(READ))["status"] == "admitted"
    assert fate(new_lane, told(READ), plain, policy=required)["status"] == "below-floor"


def test_a_denial_has_what_observers_tell_as_well(new_lane: Any) -> None:
    """Its kind is for the observers to judge."""
    lane = new_lane(Policy(), T)
    topic, value = claimed()
    value["assertions"][0]["kind"] = "denial"
    word = lane.block(T + 1, [(topic, value), *(told(cls, "not defines(MAX)") for cls in (READ, GREP))])[0].value

    assert word["checks"] == [{"name": "not defines", "classes": 2}]
