"""Requests for a review: each ends with exactly one record, so that the topic alone says what is open."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from builders import assertion_value, emission_value, observation_value, review_value, span_of
from fold_laws import U, World, run, worlds
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from search import examples

from sluice.streams.policy.policy import (
    DEFAULT_POLICY,
    Admissibility,
    Floor,
    LeastReviewers,
    PerEffect,
    Policy,
    Reviewers,
)

T = 1_800_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
WINDOW = HOUR
GREP = "substrate.grep"
TEXT = "It is so."


def policy(disposition: str = "review", reviewers: int = 1, **fields: Any) -> Policy:
    """Everything that is not admitted goes to a reviewer for an hour; what a reviewer refuses is disposed of so."""
    to_review: Any = PerEffect(internal="review", external="review")
    given: Any = PerEffect(internal=disposition, external=disposition)  # type: ignore[arg-type]
    return Policy(
        admissibility=Admissibility(k=Floor(internal=2, external=3), review_window=WINDOW),
        disposition={**dict.fromkeys(DEFAULT_POLICY.disposition, to_review), "rejected": given},
        reviewers=Reviewers(min_reviewers=LeastReviewers(internal=reviewers, external=reviewers)),
        **fields,
    )


def emission(attempt: int = 0, at: int = T, **fields: Any) -> tuple[str, dict[str, Any]]:
    claim = assertion_value(TEXT, GREP, span=span_of(TEXT))
    return "emissions", emission_value(text=TEXT, at=at, assertions=[claim], attempt=attempt, **fields)


def review(decision: str = "admit", reviewer: str | None = "ada", attempt: int = 0) -> tuple[str, dict[str, Any]]:
    value = review_value(decision, reviewer=reviewer, attempt=attempt, span=span_of(TEXT))
    return "reviews", {name: item for name, item in value.items() if item is not None}


def asked(new_lane: Any, rules: Policy | None = None) -> Any:
    """A lane with an open request."""
    lane = new_lane(rules or policy(), T)
    lane.block(T, [emission()])
    lane.block(T + HOUR)
    assert [one.value["status"] for one in said(lane)] == ["unverified-inference"]
    return lane


def said(lane: Any) -> list[Any]:
    """What stands on `review-requests` so far."""
    return lane.on("review-requests")


def last(lane: Any) -> dict[str, Any]:
    """What compaction leaves of the one key."""
    return said(lane)[-1].value


# ---------------------------------------------------------------- how they end


@pytest.mark.parametrize("disposition", ["discard", "review", "re-emit", "refuse"])
@pytest.mark.parametrize("decision", ["admit", "refuse"])
def test_a_review_ends_its_request_and_says_who_decided_what(new_lane: Any, disposition: str, decision: str) -> None:
    """With the revision of the request, and no text; whatever the policy does with what a reviewer refuses."""
    lane = asked(new_lane, policy(disposition))

    lane.block(T + HOUR + 1, [review(decision, "ada")])

    request, end = said(lane)
    assert (end.key, end.value["attempt"], end.value["revision"]) == (request.key, 0, request.value["revision"])
    assert (end.value["status"], end.value["decision"], end.value["reviewer"]) == ("reviewed", decision, "ada")
    assert (end.value["@type"], end.value["reason"]) == ("sluice:EndedReviewRequest", request.value["reason"])
    assert end.value["ended_at"] == end.headers["ce_time"]
    assert end.headers["ce_type"] == "sluice.review-requests.reviewed"
    assert end.headers["ce_id"] != request.headers["ce_id"]
    assert end.value["_untrusted_text"]["assertion"] == ""


def test_a_window_that_is_over_ends_the_request(new_lane: Any) -> None:
    """At the first block after it; the last instant of the window is still open."""
    lane = asked(new_lane)

    lane.block(T + HOUR + WINDOW)
    assert len(said(lane)) == 1
    lane.block(T + HOUR + WINDOW + 1)

    assert last(lane)["status"] == "expired"
    assert not {"decision", "reviewer", "superseded_by"} & set(last(lane))


def test_a_newer_attempt_ends_the_request_and_a_review_of_the_old_one_is_late(new_lane: Any) -> None:
    """It names the attempt; nobody can have admitted what is not said any more."""
    lane = asked(new_lane)

    lane.block(T + HOUR + 1, [emission(attempt=1, at=T + HOUR + 1)])
    assert (last(lane)["status"], last(lane)["attempt"], last(lane)["superseded_by"]) == ("superseded", 0, 1)
    (letter,) = lane.block(T + HOUR + 2, [review("admit", attempt=0)])

    assert letter.headers["sluice-reason"] == "late-review"


def test_a_newer_attempt_that_is_refused_ends_no_request(new_lane: Any) -> None:
    """One out of order, one too old, one that is no emission: the request stays open, and can be answered."""
    lane = asked(new_lane)
    forged = [emission(attempt=7), emission(attempt=1, at=T - 3 * DAY), ("emissions", b"{}")]

    letters = lane.block(T + HOUR + 1, forged)
    lane.block(T + HOUR + 2, [review("admit")])

    reasons = [one.headers["sluice-reason"] for one in letters]
    assert reasons == ["attempt-out-of-order", "too-old", "schema"]
    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]


def test_an_end_may_come_in_the_block_of_its_request(new_lane: Any) -> None:
    """The request is written first, then its end, in the order in which things happened."""
    lane = new_lane(policy(), T)
    lane.block(T, [emission()])

    lane.block(T + HOUR, [review("refuse")])

    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]
    places = [one.value["ledger"]["index"] for one in said(lane)]
    assert places == sorted(places)


def test_a_request_that_a_newer_attempt_makes_stands_behind_the_end_of_the_old_one(new_lane: Any) -> None:
    """They share a key, so compaction may leave the last only: it has to be the open one."""
    lane = asked(new_lane)
    unknown = assertion_value(TEXT, "tarot", span=span_of(TEXT))

    lane.block(
        T + HOUR + 1,
        [("emissions", emission_value(text=TEXT, at=T + HOUR, assertions=[unknown], attempt=1))],
    )

    assert [(one.value["attempt"], one.value["status"]) for one in said(lane)] == [
        (0, "unverified-inference"),
        (0, "superseded"),
        (1, "unverified-inference"),
    ]


def test_whoever_reviews_twice_ends_nothing_twice(new_lane: Any) -> None:
    """The second word finds what the first one left: a refusal takes an admission back, another admission is late."""
    lane = asked(new_lane)

    outputs = lane.block(T + HOUR + 1, [review("admit"), review("admit"), review("refuse"), review("refuse")])

    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]
    assert [one.value["status"] for one in outputs if one.topic == "admitted"] == ["admitted", "rejected"]
    letters = [one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters"]
    assert letters == ["unrequested-review", "late-review"]


def test_a_review_of_what_nobody_asked_about_ends_nothing(new_lane: Any) -> None:
    """A refusal of something pending decides it, and there was no request."""
    lane = new_lane(policy(), T)

    lane.block(T, [emission(), review("refuse")])
    lane.block(T + 2 * DAY)

    assert said(lane) == []


# ---------------------------------------------------------------- several reviewers


def test_the_first_of_two_reviewers_leaves_the_request_open_and_it_says_so(new_lane: Any) -> None:
    """The whole request is written again, since compaction leaves only the last record of a key."""
    lane = asked(new_lane, policy(reviewers=2))
    assert (last(lane)["reviewers_needed"], last(lane)["admitted_by"]) == (2, [])
    first = last(lane)

    lane.block(T + HOUR + 1, [review("admit", "ada")])

    again = last(lane)
    assert (again["admitted_by"], again["reviewers_needed"]) == (["ada"], 2)
    assert (again["status"], again["reason"], again["disposition"]) == (first["status"], first["reason"], "review")
    assert again["_untrusted_text"] == first["_untrusted_text"]
    assert (again["revision"], "ended_at" in again) == (first["revision"] + 1, False)

    lane.block(T + HOUR + 2, [review("admit", "bob")])
    assert (last(lane)["status"], last(lane)["reviewer"]) == ("reviewed", "bob")
    assert [one.value["status"] for one in said(lane)].count("reviewed") == 1


def test_one_reviewer_who_admits_twice_is_one(new_lane: Any) -> None:
    """The second word changes nothing, and the request is not written again for it."""
    lane = asked(new_lane, policy(reviewers=2))

    lane.block(T + HOUR + 1, [review("admit", "ada"), review("admit", "ada"), review("admit", "ada")])

    assert len(said(lane)) == 2
    assert lane.state.counters["not-counted"] == 2


@pytest.mark.parametrize("end", ["refuse", "expire", "supersede"])
def test_a_request_that_one_of_two_has_admitted_ends_like_any_other(new_lane: Any, end: str) -> None:
    """By one refusal, by its window, which the first admission does not move, or by a newer attempt."""
    lane = asked(new_lane, policy(reviewers=2))
    lane.block(T + HOUR + 1, [review("admit", "ada")])

    records = {"refuse": [review("refuse", "bob")], "supersede": [emission(attempt=1, at=T + HOUR)]}.get(end, [])
    lane.block(T + HOUR + WINDOW + (1 if end == "expire" else 0), records)

    ends = {"refuse": "reviewed", "expire": "expired", "supersede": "superseded"}
    assert last(lane)["status"] == ends[end]
    assert last(lane)["revision"] == 2


# ---------------------------------------------------------------- floods


def test_a_flood_of_attempts_ends_each_request_once_and_leaves_one_open(new_lane: Any) -> None:
    """An emitter who writes attempt after attempt gets as many ends as it made requests; of them one is open."""
    lane = new_lane(policy(), T)
    unknown = assertion_value(TEXT, "tarot", span=span_of(TEXT))

    for attempt in range(200):
        value = emission_value(text=TEXT, at=T, assertions=[unknown], attempt=attempt)
        lane.block(T + attempt, [("emissions", value)])

    counted = Counter(one.value["status"] for one in said(lane))
    assert counted == {"unverified-inference": 200, "superseded": 199}
    assert (last(lane)["attempt"], "ended_at" in last(lane)) == (199, False)
    assert lane.state.live == 1


# ---------------------------------------------------------------- the law


def demand_one_end(outputs: list[Any]) -> Counter[str]:
    """Under every key a request is open or it is not: it opens, may be written again, and ends once.

    Returns:
        how often requests ended how, and how many are open.
    """
    ended: Counter[str] = Counter()
    open_: dict[str, dict[str, Any]] = {}
    for one in outputs:
        if one.topic != "review-requests":
            continue
        value, before = one.value, open_.pop(one.key, None)
        if "ended_at" in value:
            assert before is not None, "it ended once already, or never began"
            assert (before["attempt"], before["revision"]) == (value["attempt"], value["revision"])
            assert (value["status"] == "reviewed") == ("decision" in value)
            assert (value["status"] == "superseded") == ("superseded_by" in value)
            ended[value["status"]] += 1
        else:
            assert before is None or before["attempt"] == value["attempt"], "two are open under one key"
            open_[one.key] = value
    ended["open"] = len(open_)
    return ended


SEARCH = settings(max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@SEARCH
@given(worlds())
def test_every_request_has_exactly_one_end(new_lane: Any, world: tuple[Policy, list[Any]]) -> None:
    """Whatever happens; and once every window is over, none is open, and as many expired as the counter says."""
    rules, history = world
    lane, outputs = run(new_lane, rules, history)
    demand_one_end(outputs)

    for later in (1000, 2000, 3000):
        outputs += lane.block(history[-1][0] + later * U)

    ended = demand_one_end(outputs)
    assert ended["open"] == 0
    assert ended["expired"] == lane.state.counters["unreviewed"]


def test_every_request_of_long_histories_has_exactly_one_end(new_lane: Any) -> None:
    """Most things go to review, where one or two people decide; all three ends are met."""
    met: Counter[str] = Counter()
    to_review: Any = PerEffect(internal="review", external="review")
    for seed in range(60):
        world = World(random.Random(7000 + seed).choice)
        rules = replace(
            world.policy(),
            disposition=dict.fromkeys(DEFAULT_POLICY.disposition, to_review),
            reviewers=Reviewers(min_reviewers=LeastReviewers(internal=1, external=1 + seed % 2)),
        )
        history = world.history(40)
        for _, _, records in history:
            for topic, value in records:
                if topic == "reviews":
                    value["reviewer"] = world.choose(["ada", "bob"])
        lane, outputs = run(new_lane, rules, history)
        outputs += lane.block(history[-1][0] + 1000 * U)
        outputs += lane.block(history[-1][0] + 2000 * U)
        met += demand_one_end(outputs)

    assert set(met) == {"reviewed", "expired", "superseded"}


def test_an_observation_of_what_is_up_for_review_ends_nothing(new_lane: Any) -> None:
    """Evidence that comes while a person is asked is late, as it was."""
    lane = asked(new_lane)

    lane.block(T + HOUR + 1, [("observations", observation_value(GREP, at=T, span=span_of(TEXT), attempt=0))])

    assert len(said(lane)) == 1
