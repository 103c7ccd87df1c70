"""What is annotated and that no observer has looked at by its horizon waits a while longer."""

from __future__ import annotations

from typing import Any

import pytest
from builders import GREP, READ, assertion_value, dispositions, emission, observation

from sluice.streams.adjudication import snapshot
from sluice.streams.policy.policy import Admissibility, Observer, Policy

T, SECOND = 1_790_000_000_000, 1000
TEXT = "It is so, and more."
SPAN = {"chars": [0, len(TEXT)]}
HORIZON, LATE = 60 * SECOND, 30 * SECOND
END, LATE_END = T + HORIZON + 1, T + HORIZON + LATE + 1


@pytest.fixture(params=["compiled", "pure"], autouse=True)
def _sides(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "pure":
        monkeypatch.setattr("sluice.streams.adjudication.fold_layout.core", None)


def waiting(verdicts: Any = "settled", **rules: Any) -> Policy:
    known = Admissibility(**{"horizon": HORIZON, "late_horizon": LATE, "min_confidence": 0.5, **rules})
    observers = {"captured": Observer(writable_by=["bot"])}
    return Policy(admissibility=known, disposition=dispositions("review"), verdicts=verdicts, observers=observers)


def said(name: str = "em-1", *provenance: dict[str, Any], **fields: Any) -> tuple[str, Any]:
    notes = provenance or ({"substrate_class": READ},)
    return emission(name, TEXT, at=T, assertions=[assertion_value(TEXT, *notes)], **fields)


def seen(cls: str = READ, outcome: str = "corroborates", name: str = "em-1", at: int = T, **fields: Any) -> Any:
    return observation(cls, outcome, emission_id=name, span=SPAN, at=at, **fields)


def decided(outputs: list[Any]) -> list[tuple[str, str]]:
    return [(one.value["status"], one.value.get("reason", "")) for one in outputs if one.topic in _DECISIONS]


def told(lane: Any) -> list[tuple[bool, str, str]]:
    """What the last block told on `verdicts`."""
    records = [one.value for one in lane.verdicts()]
    return [(one["settled"], a["status"], a.get("reason", "")) for one in records for a in one["assertions"]]


_DECISIONS = ("admitted", "inadmissible")
UNSEEN = ("unverified-inference", "not-looked-at")


@pytest.mark.parametrize("verdicts", ["settled", "all"])
def test_it_is_told_once_and_ends_later(new_lane: Any, verdicts: Any) -> None:
    """On `verdicts` alone: no record, no request, until `late_horizon` is over."""
    lane = new_lane(waiting(verdicts), T)
    lane.block(T, [said()])
    assert lane.block(END - 1) == []
    assert lane.block(END) == []
    assert told(lane) == [(False, "pending", "not-looked-at")]
    assert (lane.block(LATE_END - 1), told(lane)) == ([], [])
    assert decided(lane.block(LATE_END)) == [UNSEEN]
    assert told(lane) == [(True, *UNSEEN)]
    assert lane.state.unseen == 0


LOOKS = [
    *(seen(outcome=outcome) for outcome in ("absent", "terms-present", "contradicts", "unknown-observation")),
    seen(GREP), seen(observer="captured"), seen(verified=[7], coverage="whole"),
]  # fmt: skip


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("look", LOOKS)
def test_any_look_ends_the_waiting_at_the_horizon(new_lane: Any, look: Any, *, early: bool) -> None:
    """Whatever it found, and though it came before the emission."""
    lane = new_lane(waiting(), T)
    records = [look, said()] if early else [said(), look]
    outputs = [*lane.block(T, records), *lane.block(END)]

    assert len(decided(outputs)) == 1
    assert UNSEEN not in decided(outputs)


@pytest.mark.parametrize(
    "none",
    [
        seen(outcome="unavailable"),
        seen(confidence=0.1),
        seen(outcome="absent", confidence=0.1),
        seen(outcome="absent", judge="stranger"),
        observation(
            READ, "absent", at=T, subject={"emission_id": "em-1", "span": SPAN, "digest": "sha256:" + "0" * 64}
        ),
        seen("substrate.nowhere"),
        seen(observer="captured"),
    ],
)
def test_what_may_not_count_is_no_look(new_lane: Any, none: Any) -> None:
    """A bound or a time-out that was reached, an observer that the emitter can write to, another record."""
    lane = new_lane(waiting(), T)
    lane.block(T, [said(emitter={"system": "bot"}), none])

    lane.block(END)

    assert told(lane) == [(False, "pending", "not-looked-at")]


@pytest.mark.parametrize(("at", "counts"), [(HORIZON + LATE, True), (HORIZON + LATE + 1, False)])
def test_evidence_is_fresh_to_the_end_of_the_late_horizon(new_lane: Any, at: int, *, counts: bool) -> None:
    """That instant included, counted from the emission's own time."""
    lane = new_lane(waiting(), T)
    lane.block(T, [said()])
    lane.block(END)
    late = [seen(cls, at=T + at) for cls in (READ, GREP)]
    outputs = [*lane.block(T + at, late, watermark=LATE_END - 1), *lane.block(LATE_END)]

    assert decided(outputs) == [("admitted", "") if counts else ("unverified-inference", "no-corroboration")]


def test_a_look_while_it_waits_makes_it_an_ordinary_end(new_lane: Any) -> None:
    """It waits to the end of the late horizon all the same, and leaves its room to another."""
    lane = new_lane(waiting(max_unseen=1), T)
    lane.block(T, [said(), said("em-2")])
    first = lane.block(END)
    looked = lane.block(END + 1, [seen(outcome="absent")])
    lane.state = snapshot.load(list(snapshot.dump(lane.state)))

    assert decided(first) == [UNSEEN]  # the second, which had no room
    assert looked == []
    assert lane.state.unseen == 0
    assert decided(lane.block(LATE_END)) == [("unverified-inference", "no-corroboration")]


def test_a_flood_ends_at_once(new_lane: Any) -> None:
    """No more than `max_unseen` wait, also over a restart; what exceeds it ends at its horizon."""
    lane = new_lane(waiting(max_unseen=3), T)
    lane.block(T, [said(f"em-{number}") for number in range(8)])
    first = lane.block(END)
    lane.state = snapshot.load(list(snapshot.dump(lane.state)))
    assert lane.state.unseen == 3
    lane.block(LATE_END - 1, [said("em-8", emitted_at=T)])

    assert decided(first) == [UNSEEN] * 5
    assert decided(lane.block(LATE_END)) == [UNSEEN] * 3
    assert lane.state.unseen == 0


@pytest.mark.parametrize(
    ("policy", "provenance"),
    [(waiting(trust="declared"), [{"substrate_class": READ}]), (waiting(max_unseen=0), [{"substrate_class": READ}]),
     (waiting(), None)],
    ids=["declared", "no room", "unannotated"],
)  # fmt: skip
def test_who_waits_for_nobody_ends_at_the_horizon(new_lane: Any, policy: Policy, provenance: Any) -> None:
    """Nothing is to be seen, or no observer is heard."""
    lane = new_lane(policy, T)
    topic, value = said()
    value["assertions"][0]["provenance"] = provenance
    lane.block(T, [(topic, value)])

    assert len(decided(lane.block(END))) == 1
    assert lane.state.unseen == 0


@pytest.mark.parametrize("end", ["attempt", "refuse"])
def test_what_ends_otherwise_leaves_its_room(new_lane: Any, end: str) -> None:
    """A newer attempt, or a reviewer who refuses it."""
    lane = new_lane(waiting(), T)
    lane.block(T, [said()])
    lane.block(END)
    assert lane.state.unseen == 1
    review = ("reviews", {"emission_id": "em-1", "span": SPAN, "decision": "refuse"})
    lane.block(END + 1, [said(attempt=1) if end == "attempt" else review])

    assert lane.state.unseen == 0
