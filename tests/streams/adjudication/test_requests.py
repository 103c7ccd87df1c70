"""Requests for a review: they carry what a reviewer needs, within bounds; and each ends with exactly one record, so
that the topic alone says what is open."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import msgspec
import pytest
from builders import (
    assertion_value,
    dispositions,
    emission,
    emission_value,
    observation,
    present,
    review_value,
    span_of,
)
from fold_laws import U, World, run, worlds
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from search import examples

from sluice.streams.policy.policy import (
    Admissibility,
    Floor,
    LeastReviewers,
    Observer,
    Policy,
    PrivacyRules,
    Reviewers,
)

T = 1_800_000_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
WINDOW = HOUR
GREP = "substrate.grep"
TEXT = "It is so."


def reviewing(disposition: str = "review", reviewers: int = 1, **fields: Any) -> Policy:
    """Everything that is not admitted goes to a reviewer for an hour; what a reviewer refuses is disposed of so."""
    return Policy(
        admissibility=Admissibility(k=Floor(internal=2, external=3), review_window=WINDOW),
        disposition=dispositions("review", rejected=disposition),
        reviewers=Reviewers(min_reviewers=LeastReviewers(internal=reviewers, external=reviewers)),
        **fields,
    )


def decided(decision: str = "admit", reviewer: str | None = "ada", attempt: int = 0) -> tuple[str, dict[str, Any]]:
    return "reviews", present(review_value(decision, reviewer=reviewer, attempt=attempt))


def asked(new_lane: Any, rules: Policy | None = None) -> Any:
    """A lane with an open request."""
    lane = new_lane(rules or reviewing(), T)
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
    lane = asked(new_lane, reviewing(disposition))

    lane.block(T + HOUR + 1, [decided(decision, "ada")])

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
    (letter,) = lane.block(T + HOUR + 2, [decided("admit", attempt=0)])

    assert letter.headers["sluice-reason"] == "late-review"


def test_a_newer_attempt_that_is_refused_ends_no_request(new_lane: Any) -> None:
    """One out of order, one too old, one that is no emission: the request stays open, and can be answered."""
    lane = asked(new_lane)
    forged = [emission(attempt=7), emission(attempt=1, at=T - 3 * DAY), ("emissions", b"{}")]

    letters = lane.block(T + HOUR + 1, forged)
    lane.block(T + HOUR + 2, [decided("admit")])

    reasons = [one.headers["sluice-reason"] for one in letters]
    assert reasons == ["attempt-out-of-order", "too-old", "schema"]
    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]


def test_an_end_may_come_in_the_block_of_its_request(new_lane: Any) -> None:
    """The request is written first, then its end, in the order in which things happened."""
    lane = new_lane(reviewing(), T)
    lane.block(T, [emission()])

    lane.block(T + HOUR, [decided("refuse")])

    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]
    places = [one.value["ledger"]["index"] for one in said(lane)]
    assert places == sorted(places)


def test_a_request_that_a_newer_attempt_makes_stands_behind_the_end_of_the_old_one(new_lane: Any) -> None:
    """They share a key, so compaction may leave the last only: it has to be the open one."""
    lane = asked(new_lane)
    unknown = assertion_value(TEXT, "tarot", span=span_of(TEXT))

    lane.block(
        T + HOUR + 1,
        [emission(text=TEXT, at=T + HOUR, assertions=[unknown], attempt=1)],
    )

    assert [(one.value["attempt"], one.value["status"]) for one in said(lane)] == [
        (0, "unverified-inference"),
        (0, "superseded"),
        (1, "unverified-inference"),
    ]


def test_whoever_reviews_twice_ends_nothing_twice(new_lane: Any) -> None:
    """The second word finds what the first one left: a refusal takes an admission back, another admission is late."""
    lane = asked(new_lane)

    outputs = lane.block(T + HOUR + 1, [decided("admit"), decided("admit"), decided("refuse"), decided("refuse")])

    assert [one.value["status"] for one in said(lane)] == ["unverified-inference", "reviewed"]
    assert [one.value["status"] for one in outputs if one.topic == "admitted"] == ["admitted", "rejected"]
    letters = [one.headers["sluice-reason"] for one in outputs if one.topic == "dead-letters"]
    assert letters == ["unrequested-review", "late-review"]


def test_a_review_of_what_nobody_asked_about_ends_nothing(new_lane: Any) -> None:
    """A refusal of something pending decides it, and there was no request."""
    lane = new_lane(reviewing(), T)

    lane.block(T, [emission(), decided("refuse")])
    lane.block(T + 2 * DAY)

    assert said(lane) == []


# ---------------------------------------------------------------- several reviewers


def test_the_first_of_two_reviewers_leaves_the_request_open_and_it_says_so(new_lane: Any) -> None:
    """The whole request is written again, since compaction leaves only the last record of a key."""
    lane = asked(new_lane, reviewing(reviewers=2))
    assert (last(lane)["reviewers_needed"], last(lane)["admitted_by"]) == (2, [])
    first = last(lane)

    lane.block(T + HOUR + 1, [decided("admit", "ada")])

    again = last(lane)
    assert (again["admitted_by"], again["reviewers_needed"]) == (["ada"], 2)
    assert (again["status"], again["reason"], again["disposition"]) == (first["status"], first["reason"], "review")
    assert again["_untrusted_text"] == first["_untrusted_text"]
    assert (again["revision"], "ended_at" in again) == (first["revision"] + 1, False)

    lane.block(T + HOUR + 2, [decided("admit", "bob")])
    assert (last(lane)["status"], last(lane)["reviewer"]) == ("reviewed", "bob")
    assert [one.value["status"] for one in said(lane)].count("reviewed") == 1


def test_one_reviewer_who_admits_twice_is_one(new_lane: Any) -> None:
    """The second word changes nothing, and the request is not written again for it."""
    lane = asked(new_lane, reviewing(reviewers=2))

    lane.block(T + HOUR + 1, [decided("admit", "ada"), decided("admit", "ada"), decided("admit", "ada")])

    assert len(said(lane)) == 2
    assert lane.state.counters["not-counted"] == 2


@pytest.mark.parametrize("end", ["refuse", "expire", "supersede"])
def test_a_request_that_one_of_two_has_admitted_ends_like_any_other(new_lane: Any, end: str) -> None:
    """By one refusal, by its window, which the first admission does not move, or by a newer attempt."""
    lane = asked(new_lane, reviewing(reviewers=2))
    lane.block(T + HOUR + 1, [decided("admit", "ada")])

    records = {"refuse": [decided("refuse", "bob")], "supersede": [emission(attempt=1, at=T + HOUR)]}.get(end, [])
    lane.block(T + HOUR + WINDOW + (1 if end == "expire" else 0), records)

    ends = {"refuse": "reviewed", "expire": "expired", "supersede": "superseded"}
    assert last(lane)["status"] == ends[end]
    assert last(lane)["revision"] == 2


# ---------------------------------------------------------------- what a reviewer needs

LONG = "Before it stands this. It is so. Behind it stands that."
PART = {"chars": [23, 32]}
READ = "substrate.code.read"
CHECK = "equals(LIMIT, 3, path=a.py)"


def told(
    new_lane: Any, *seen: tuple[str, dict[str, Any]], rules: Policy | None = None, **fields: Any
) -> dict[str, Any]:
    """The request about the middle sentence, after some observations and its horizon."""
    located = {"substrate_class": GREP, "observation_id": "o-1", "ts": T, "locator": {"path": "a.py", "lines": [1, 2]}}
    given = {"provenance": [located, {"substrate_class": READ}], "checks": [CHECK], **fields}
    claim = assertion_value("It is so.", span=PART, **given)
    lane = new_lane(rules or reviewing(), T)
    lane.block(T, [emission(text=LONG, at=T, assertions=[claim])])
    lane.block(T + 1, seen)
    lane.block(T + HOUR)
    return last(lane)


def look(cls: str, outcome: str = "corroborates", at: int = T, **fields: Any) -> tuple[str, dict[str, Any]]:
    return observation(cls, outcome, span=PART, at=at, **{"attempt": 0, **fields})


def test_a_request_carries_what_was_claimed_and_the_text_around_it(new_lane: Any) -> None:
    """Classes, ids and times outside the frame; locators and the emission's text inside, sanitised."""
    request = told(new_lane)

    frame = request["reviewing"]["_untrusted_text"]
    assert request["annotations"] == [
        {"number": 0, "substrate_class": GREP, "ts": "2027-01-15T08:00:00Z"},
        {"number": 1, "substrate_class": READ},
    ]
    assert frame["claimed"] == [{"number": 0, "locator": {"path": "a.py", "lines": [1, 2]}}]
    assert (frame["before"], frame["after"]) == ("Before it stands this. ", " Behind it stands that.")
    assert frame["@type"] == "veritas:UntrustedValidatorText"
    assert request["reviewing"]["_meta"]["sanitation_version"] == "0.1"
    assert request["deadline"] == "2027-01-15T10:00:00Z"


@pytest.mark.parametrize(
    ("seen", "shown"),
    [
        ([], False),
        ([look(GREP, observation_id="o-1", tier="identity-bound")], False),
        ([look(READ, observation_id="o-2")], False),
        ([look(GREP, observation_id="o-1", tier="pseudonymous")], True),
    ],
)
def test_a_declared_id_is_told_once_an_observation_says_that_it_binds_nobody(
    new_lane: Any, seen: list[tuple[str, dict[str, Any]]], shown: bool
) -> None:
    """An emitter does not say of which tier an observation is, so its word alone lets no id out in clear [S §12]."""
    request = told(new_lane, *seen, checks=[])

    assert request["annotations"][0].get("observation_id") == ("o-1" if shown else None)


def test_a_request_says_which_classes_verified_and_refuted_each_check(new_lane: Any) -> None:
    """By name and number outside the frame, in its canonical form inside, with the place where it did not hold."""
    detail = {"checks": [{"check": CHECK, "holds": False, "path": "a.py", "lines": [4, 4]}]}
    request = told(
        new_lane,
        look(
            GREP, verified=[0], coverage="whole", detail={"checks": [{"check": CHECK, "holds": True, "path": "a.py"}]}
        ),
        look(READ, "absent", refuted=[0], detail={"reason": "changed-since", **detail}),
    )

    assert request["checks"] == [
        {"name": "equals", "classes": 1, "number": 0, "k": 2, "verified": [GREP], "refuted": [READ]}
    ]
    (asked_for,) = request["reviewing"]["_untrusted_text"]["asked"]
    assert asked_for["check"] == CHECK
    assert asked_for["seen"] == [{"substrate_class": READ, "path": "a.py", "lines": [4, 4]}]
    assert [(one["substrate_class"], one["outcome"], one["reason"]) for one in request["looks"]] == [
        (READ, "absent", "changed-since")
    ]


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (look(GREP, "absent"), "absent"),
        (look(GREP, "unavailable"), "unavailable"),
        (look(GREP, "terms-present"), "terms-present"),
        (look(GREP, at=T - 2 * HOUR), "too-old"),
        (look(GREP, verified=[5]), "verifies-nothing"),
        (look(GREP, verified=[0], coverage="none"), "check-not-bound"),
        (look(GREP, judge="somebody", verified=[0]), "judge-not-accepted"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_request_says_what_did_not_count_and_why(new_lane: Any, seen: Any, why: str) -> None:
    """Each with a word of the closed list."""
    (one,) = told(new_lane, seen)["not_counted"]

    assert (one["substrate_class"], one["observer"], one["why"]) == (GREP, "observer-1", why)


def test_a_captured_observer_is_named_as_such(new_lane: Any) -> None:
    """What the emitter can write to counts for nothing, and the reviewer is told so."""
    rules = reviewing(observers={"observer-1": Observer(writable_by=["bot"])})
    claim = assertion_value(TEXT, GREP, span=span_of(TEXT))
    lane = new_lane(rules, T)
    lane.block(T, [emission(text=TEXT, at=T, assertions=[claim], emitter={"system": "bot"})])
    lane.block(T, [observation(GREP, at=T, span=span_of(TEXT), attempt=0)])
    lane.block(T + HOUR)

    assert [one["why"] for one in last(lane)["not_counted"]] == ["writable-by-emitter"]


def test_what_came_before_its_emission_and_did_not_count_is_told_as_well(new_lane: Any) -> None:
    """It waited, and was weighed when the emission came."""
    lane = new_lane(reviewing(), T)
    lane.block(T, [observation(GREP, at=T - 2 * HOUR, span=span_of(TEXT), attempt=0)])
    lane.block(T, [emission()])
    lane.block(T + HOUR)

    assert [one["why"] for one in last(lane)["not_counted"]] == ["too-old"]


def test_strangers_hide_no_listed_observer(new_lane: Any) -> None:
    """Names cost nothing: of observers that the policy does not list only five are told."""
    rules = reviewing(observers={name: Observer() for name in ("one", "two")})
    flood = [look(GREP, "absent", observer=f"stranger-{number}") for number in range(100)]
    listed = [look(GREP, "absent", observer=name) for name in ("one", "two")]

    request = told(new_lane, *flood, *listed, rules=rules)

    names = [one["observer"] for one in request["not_counted"]]
    assert set(names) >= {"one", "two"}
    assert len(names) == 7


def test_the_newest_of_a_class_and_observer_is_told(new_lane: Any) -> None:
    """One entry, whatever comes in which order."""
    request = told(
        new_lane, look(GREP, "absent", at=T), look(GREP, "unavailable", at=T + 1), look(GREP, "absent", at=T - 1)
    )

    assert [one["why"] for one in request["not_counted"]] == ["unavailable"]


def test_what_only_repeats_evidence_that_counts_is_not_told(new_lane: Any) -> None:
    """An older look of a class that counts says nothing new."""
    rules = reviewing()
    request = told(new_lane, look(GREP, at=T + 1), look(GREP, at=T, observer="another"), rules=rules, checks=None)

    assert (request["classes_seen"], request["not_counted"]) == ([GREP], [])


def test_a_terminal_and_a_class_of_no_vocabulary_are_told(new_lane: Any) -> None:
    """The terminal by its name; the other's name is the emitter's word, and stands in the frame."""
    claim = assertion_value(TEXT, "tarot <b>", "unverified-inference", span=span_of(TEXT))
    lane = new_lane(reviewing(), T)
    lane.block(T, [emission(text=TEXT, at=T, assertions=[claim])])

    request = last(lane)
    assert [one["substrate_class"] for one in request["annotations"]] == ["unknown", "unverified-inference"]
    (claimed,) = request["reviewing"]["_untrusted_text"]["claimed"]
    assert claimed["substrate_class"].startswith("tarot")
    assert "<b>" not in claimed["substrate_class"]


@pytest.mark.parametrize("reviewers", [1, 2])
def test_a_hostile_emitter_makes_no_large_request(new_lane: Any, reviewers: int) -> None:
    """Around it half a megabyte of markup, a thousand annotations, long locators, long checks: all of it bounded."""
    text = "<x>" * 80_000 + "It is so." + "\u202e" * 30_000
    start = 240_000
    locator = {"path": "p" * 350, "more": ["\u202e<b>"] * 2}
    annotations = [
        {"substrate_class": GREP, "observation_id": f"o-{number}" + "x" * 200, "ts": T, "locator": locator}
        for number in range(800)
    ]
    checks = [f'contains("{number}{"y" * 1900}", path=a.py)' for number in range(20)]
    claim = assertion_value("It is so.", span={"chars": [start, start + 9]}, provenance=annotations, checks=checks)
    lane = new_lane(reviewing(reviewers=reviewers), T)
    lane.block(T, [emission(text=text, at=T, assertions=[claim])])
    names = [f"o{number}-" + "z" * 240 for number in range(50)]
    lane.block(
        T,
        [observation(GREP, "absent", span=claim["span"], at=T, attempt=0, observer=name) for name in names],
    )
    lane.block(T + HOUR)
    if reviewers == 2:
        value = review_value("admit", reviewer="ada", attempt=0, span=claim["span"])
        lane.block(T + HOUR, [("reviews", value)])

    for output in (one for one in lane.outputs if one.topic == "review-requests"):
        assert len(output.value) < 60_000
    request = last(lane)
    assert (len(request["annotations"]), request["annotations_left_out"]) == (20, 780)
    assert len(request["not_counted"]) == 5
    frame = request["reviewing"]["_untrusted_text"]
    assert "\u202e" not in msgspec.json.encode(frame).decode()
    assert max(len(frame["before"]), len(frame["after"])) <= 200
    assert request["reviewing"]["_meta"]["truncated"]


def test_identifiers_that_privacy_keeps_in_stay_in(new_lane: Any) -> None:
    """No observation id, no commit, nothing of who a peer is."""
    peer = {"substrate_class": "substrate.unix.peercred", "observation_id": "peercred:x", "locator": {"socket": "s"}}
    commit = {"substrate_class": "substrate.git.log", "observation_id": "4f2a91c", "locator": {"commit": "4f2a91c"}}
    request = told(
        new_lane, rules=reviewing(privacy=PrivacyRules(observation_ids="omitted")), provenance=[peer, commit]
    )

    assert [set(one) for one in request["annotations"]] == [{"number", "substrate_class"}] * 2
    assert b"4f2a91c" not in msgspec.json.encode(request)
    assert b"socket" not in msgspec.json.encode(request)


def test_nothing_is_kept_where_nothing_is_reviewed(new_lane: Any) -> None:
    """Nor once it is admitted, or the request is made."""
    lane = new_lane(replace(reviewing(), disposition=dispositions("discard")), T)
    lane.block(T, [emission()])
    assert kept(lane) is None

    lane = new_lane(reviewing(), T)
    lane.block(T, [emission()])
    assert kept(lane) is not None
    lane.block(T + HOUR)
    assert kept(lane) is None

    lane = new_lane(reviewing(), T)
    lane.block(
        T,
        [
            emission(),
            *(observation(cls, at=T, span=span_of(TEXT), attempt=0) for cls in (GREP, READ)),
        ],
    )
    assert lane.state.attempt("em-1", 0).assertions[0].phase == 1
    assert kept(lane) is None


def kept(lane: Any) -> Any:
    """What is kept for a reviewer of the one assertion."""
    return lane.state.attempt("em-1", 0).assertions[0].material


# ---------------------------------------------------------------- floods


def test_a_flood_of_attempts_ends_each_request_once_and_leaves_one_open(new_lane: Any) -> None:
    """An emitter who writes attempt after attempt gets as many ends as it made requests; of them one is open."""
    lane = new_lane(reviewing(), T)
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
    for seed in range(60):
        world = World(random.Random(7000 + seed).choice)
        rules = replace(
            world.policy(),
            disposition=dispositions("review"),
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

    lane.block(T + HOUR + 1, [observation(GREP, at=T, span=span_of(TEXT), attempt=0)])

    assert len(said(lane)) == 1
