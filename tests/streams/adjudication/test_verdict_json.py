"""What became of each assertion of an emission is told on `verdicts`, without any text (docs/verdicts.md)."""

from __future__ import annotations

from typing import Any

import msgspec
from builders import dispositions, emission, observation, review

from sluice.codecs.records import Verdicts
from sluice.streams.policy.policy import Admissibility, Floor, Policy, PublishedVerdicts

T = 1_800_000_000_000
MINUTE, HOUR = 60_000, 3_600_000
GREP, LOG = "substrate.grep", "substrate.git.log"
SECRET = "Zebras sing at noon."


def secret_said(spans: int = 2, **fields: Any) -> tuple[str, dict[str, Any]]:
    claims = [{"span": {"chars": [at, at + 5]}, "provenance": {"substrate_class": GREP}} for at in range(spans)]
    return emission(text=SECRET, assertions=claims, **{"emitter": {"system": "bot"}, **fields})


def seen(at: int, cls: str, **fields: Any) -> tuple[str, dict[str, Any]]:
    span, seen_id = {"chars": [at, at + 5]}, "sha256:" + "cd" * 32
    return observation(cls, **{"span": span, "observation_id": seen_id, "detail": {"secret": SECRET}, **fields})


def publishing(told: PublishedVerdicts = "settled", **fields: Any) -> Policy:
    return Policy(admissibility=Admissibility(k=Floor(internal=2)), verdicts=told, **fields)


def said(lane: Any) -> list[tuple[bool, list[str]]]:
    """Of each record of the last block whether it is settled, and each assertion's word."""
    return [
        (one.value["settled"], [f"{word['span_key']} {word['status']}" for word in one.value["assertions"]])
        for one in lane.verdicts()
    ]


def test_an_emission_is_told_of_once_nothing_is_pending(new_lane: Any) -> None:
    """One assertion is admitted, nothing is said; the other is discarded at its end, and both are told of in one
    record, though what is discarded stands nowhere else."""
    lane = new_lane(publishing(), T)
    lane.block(T, [secret_said()])
    assert said(lane) == []
    assert len(lane.block(T, [seen(0, GREP), seen(0, LOG)])) == 1
    assert said(lane) == []

    assert lane.block(T + 21 * MINUTE) == []
    (record,) = lane.verdicts()
    assert record.key == "em-1"
    assert record.headers["ce_type"] == "sluice.verdicts.settled"
    assert record.headers["ce_id"] == "verdicts/0/3/0"
    first, second = sorted(record.value["assertions"], key=lambda one: one["span_key"])
    assert first == {
        "attempt": 0,
        "span_key": "c:0-5",
        "kind": "assertion",
        "effect": "internal",
        "status": "admitted",
        "classes_seen": [LOG, GREP],
        "missing_floor": 0,
        "valid_until": "2027-01-15T09:00:00Z",
    }
    assert second == {
        "attempt": 0,
        "span_key": "c:1-6",
        "kind": "assertion",
        "effect": "internal",
        "status": "unverified-inference",
        "reason": "not-looked-at",
        "disposition": "discard",
        "classes_seen": [],
        "missing_floor": 2,
    }
    told = msgspec.convert(record.value, Verdicts)
    assert (told.emitter, told.attempt, told.settled) == ("bot", 0, True)
    assert SECRET.encode() not in msgspec.json.encode(record.value)
    assert "cd" * 32 not in str(record.value)

    lane.block(T + 2 * HOUR)
    assert said(lane) == [(True, ["c:1-6 unverified-inference", "c:0-5 decayed-to-uncertainty"])]


def test_all_tells_from_pending_on(new_lane: Any) -> None:
    """The arrival, counted evidence and the verdict each make a record; evidence that does not count makes none."""
    lane = new_lane(publishing("all"), T)
    lane.block(T, [secret_said(1)])
    assert said(lane) == [(False, ["c:0-5 pending"])]
    lane.block(T, [seen(0, GREP, outcome="absent"), seen(0, "substrate.of-nothing")])
    assert said(lane) == []
    lane.block(T, [seen(0, GREP)])
    assert said(lane) == [(False, ["c:0-5 pending"])]
    lane.block(T, [seen(0, GREP)])
    assert said(lane) == []
    lane.block(T, [seen(0, LOG)])
    assert said(lane) == [(True, ["c:0-5 admitted"])]


def test_none_tells_nothing(new_lane: Any) -> None:
    """Not even at the end."""
    lane = new_lane(publishing("none"), T)
    lane.block(T, [secret_said(1)])
    lane.block(T + 21 * MINUTE)
    assert said(lane) == []
    assert "verdicts" not in {output.topic for output in lane.outputs}


def test_a_newer_attempt_is_told_beside_the_one_before(new_lane: Any) -> None:
    """What was pending is superseded, and is told of once the newer attempt is settled."""
    lane = new_lane(publishing(), T)
    lane.block(T, [secret_said(1)])
    lane.block(T, [secret_said(1, attempt=1)])
    assert said(lane) == []
    lane.block(T + 21 * MINUTE)
    (record,) = lane.verdicts()
    assert record.value["attempt"] == 1
    assert [(one["attempt"], one["status"], one["reason"]) for one in record.value["assertions"]] == [
        (0, "rejected", "superseded"),
        (1, "unverified-inference", "not-looked-at"),
    ]


def test_what_waits_for_a_reviewer_says_why_until_the_reviewer_spoke(new_lane: Any) -> None:
    """An emitter cannot tell a review from a verdict, nor hide one by writing the review itself twice."""
    lane = new_lane(publishing(disposition=dispositions("review")), T)
    lane.block(T, [secret_said(1)])
    lane.block(T + 21 * MINUTE)
    ((_, words),) = said(lane)
    assert words == ["c:0-5 unverified-inference"]
    assert lane.verdicts()[0].value["assertions"][0]["disposition"] == "review"

    decision = review(span={"chars": [0, 5]})
    lane.block(T + 22 * MINUTE, [decision, decision])
    assert said(lane) == [(True, ["c:0-5 admitted"])]


def test_the_last_word_is_told_where_nothing_else_remembers_it(new_lane: Any) -> None:
    """What ends when the memory of its emission is over is told of, and then all is forgotten."""
    rules = Admissibility(k=Floor(internal=1), max_validity=HOUR + 10 * MINUTE)
    lane = new_lane(Policy(admissibility=rules, verdicts="settled"), T)
    lane.block(T, [secret_said(1, emitted_at=T - 5 * MINUTE)])
    lane.block(T + 9 * HOUR)
    assert said(lane) == [(True, ["c:0-5 unverified-inference"])]
    lane.block(T + 9 * HOUR + 1)
    assert said(lane) == []
    assert "em-1" not in lane.state


def test_a_policy_that_tells_again_says_what_it_knows(new_lane: Any) -> None:
    """What was closed while nothing was told is not made up."""
    lane = new_lane(publishing("none"), T)
    lane.block(T, [secret_said(2)])
    lane.block(T, [seen(0, GREP), seen(0, LOG)])
    lane.block(T + 21 * MINUTE, [("policies", publishing())])
    lane.block(T + 22 * MINUTE)
    lane.block(T + 2 * HOUR)
    assert said(lane) == [(True, ["c:0-5 decayed-to-uncertainty"])]
