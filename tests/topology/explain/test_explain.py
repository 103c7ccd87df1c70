"""`explain`: every status and reason of the decision table has its story, and every input its fate."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import fold_laws as laws
import msgspec
import pytest
from exported import (
    BASE,
    DECLARED,
    KEY,
    SPAN,
    TEXT,
    ExportedLane,
    H,
    M,
    S,
    emission_after,
    explanation_of,
    lane_after,
    lane_of,
    observation_after,
    reviewed_claim,
)
from hypothesis import HealthCheck, given, settings
from msgspec import UNSET
from msgspec.structs import replace
from search import examples

from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.times import format_time
from sluice.streams.adjudication import state as core_state
from sluice.streams.policy.policy import (
    DEFAULT_POLICY,
    INADMISSIBLE,
    Admissibility,
    Emitters,
    Observer,
    PerEffect,
    Policy,
    PrivacyRules,
    Reviewers,
)
from sluice.topology.audit.explanation import Explanation
from sluice.topology.engine.export_files import FolderLogs
from sluice.topology.engine.folds import partitioner_of
from sluice.topology.engine.replay import linked_blocks

CODE, GIT, GREP = "code.read", "git.log", "grep"
EVIDENCE = [observation_after(S, CODE), observation_after(S, GIT)]
ADMITTED = [(0, [emission_after()]), (2 * S, EVIDENCE)]
END = (21 * M, [])
QUOTING = 'It says "released by hand" there.'
GREEK = "Τhe release was made by hand."  # the first letter is a Greek tau
EXTERNAL = {"effect": "external"}
NOTE = {"substrate_class": "unverified-inference"}


def decided(disposition: str, **rules: Any) -> Policy:
    """A policy that does the same with every inadmissible assertion."""
    one = PerEffect(internal=disposition, external=disposition)
    return Policy(admissibility=Admissibility(**rules), disposition=dict.fromkeys(INADMISSIBLE, one))


def words(explanation: Explanation, place: int = -1) -> list[tuple[str, Any]]:
    """The verdicts on `admitted` and `inadmissible`, and the discarded ones, of one assertion."""
    verdicts = explanation.assertions[place].verdicts
    return [
        (one.status, None if one.reason is UNSET else one.reason)
        for one in verdicts
        if one.topic in (UNSET, "admitted", "inadmissible")
    ]


def fates(explanation: Explanation) -> list[tuple[str, str | None]]:
    """Every input's fate, and why."""
    return [(one.fate, None if one.why is UNSET else one.why) for one in explanation.inputs]


# ---------------------------------------------------------------- the decision table

INADMISSIBLE_STORIES = {
    "declared-terminal": ("unverified-inference", [(0, [emission_after(provenance=[NOTE])])]),
    "unknown-class": (
        "unverified-inference",
        [(0, [emission_after(provenance=[{"substrate_class": "substrate.moon"}])])],
    ),
    "ungrounded": ("rejected", [(0, [emission_after(grounded=True, chain=[{"step": "prompt-transform"}])])]),
    "citation-violation": (
        "rejected",
        [
            (
                0,
                [
                    emission_after(
                        text=QUOTING, cites={"context": "c", "strictly": True}, fields={"contexts": {"c": "no"}}
                    )
                ],
            )
        ],
    ),
    "low-confidence": ("rejected", [(0, [emission_after(confidence=0.1)])]),
    "confusable-text": ("rejected", [(0, [emission_after(text=GREEK, **EXTERNAL)])]),
    "fabricated-annotation": (
        "rejected",
        [(0, [emission_after()]), (S, [observation_after(S, CODE, "unknown-observation", observation_id=DECLARED)])],
    ),
    "contradicted": ("contradicted", [(0, [emission_after()]), (S, [observation_after(S, GREP, "contradicts")])]),
    "below-floor": ("below-floor", [(0, [emission_after()]), (S, EVIDENCE[:1]), END]),
    "aged-out": ("decayed-to-uncertainty", [(0, [emission_after()]), (S, [observation_after(-2 * H, CODE)]), END]),
    "no-corroboration": (
        "unverified-inference",
        [(0, [emission_after()]), (S, [observation_after(S, CODE, "absent")]), END],
    ),
    "not-looked-at": ("unverified-inference", [(0, [emission_after()]), END]),
}


@pytest.mark.parametrize("disposition", ["discard", "review", "re-emit", "refuse"])
@pytest.mark.parametrize("reason", INADMISSIBLE_STORIES)
async def test_a_verdict_is_reported_whatever_is_done_about_it(tmp_path: Path, reason: str, disposition: str):
    """Also of what was discarded, and stands on no topic, the status and the reason are told."""
    status, blocks = INADMISSIBLE_STORIES[reason]
    lane = lane_after(*blocks, policy=decided(disposition, min_confidence=0.5, max_attempts=9))

    explanation = await explanation_of(lane, tmp_path)

    first = explanation.assertions[0].verdicts[0]
    assert (first.status, first.reason, first.disposition) == (status, reason, disposition)
    assert (first.topic is UNSET, first.ledger is UNSET) == (disposition == "discard", disposition == "discard")
    assert (explanation.assertions[0].now.status, explanation.assertions[0].now.reason) == (status, reason)
    assert explanation.assertions[0].events[0].what == "claimed"
    assert (explanation.assertions[0].now.waits_for == "reviewer") == (disposition == "review")


@pytest.mark.parametrize("terminal", ["unverified-inference", "decayed-to-uncertainty"])
async def test_a_declared_terminal_is_reported_as_it_was_declared(tmp_path: Path, terminal: str):
    """The claim is marked as a terminal, and the verdict is the same one."""
    explanation = await explanation_of(
        lane_after((0, [emission_after(provenance=[{"substrate_class": terminal}])])), tmp_path
    )

    assert explanation.assertions[0].claims[0].terminal
    assert words(explanation) == [(terminal, "declared-terminal")]


async def test_an_unannotated_assertion_is_reported_as_one(tmp_path: Path):
    """Nothing was claimed for it, nothing was seen, all k classes are missing."""
    explanation = await explanation_of(lane_after((0, [emission_after(provenance=None)]), END), tmp_path)

    one = explanation.assertions[0]
    assert words(explanation) == [("unannotated", "no-corroboration")]
    assert (one.claims, one.classes, one.missing_floor) == ([], [], 2)


async def test_what_a_newer_attempt_supersedes_is_reported(tmp_path: Path):
    """The attempt names the one that superseded it; the newer one waits."""
    explanation = await explanation_of(
        lane_after((0, [emission_after()]), (S, [emission_after(S, attempt=1)])), tmp_path
    )

    assert words(explanation, 0) == [("rejected", "superseded")]
    assert [(one.attempt, one.superseded_by) for one in explanation.attempts] == [(0, 1), (1, UNSET)]
    assert explanation.assertions[1].now.waits_for == "evidence"
    assert explanation.assertions[1].now.until == format_time(BASE + S + 10 * M)


async def test_an_earlier_attempt_that_comes_later_is_superseded_on_arrival(tmp_path: Path):
    """It is told so although it came last."""
    explanation = await explanation_of(lane_after((0, [emission_after(attempt=1)]), (S, [emission_after(S)])), tmp_path)

    assert words(explanation) == [("rejected", "superseded")]
    assert [(one.attempt, one.superseded_by) for one in explanation.attempts] == [(1, UNSET), (0, 1)]


async def test_an_admission_is_reported_with_what_counted_for_it(tmp_path: Path):
    """Each observation says how many of k there were with it; the verdict names its place in the ledger."""
    explanation = await explanation_of(lane_after(*ADMITTED), tmp_path)

    one = explanation.assertions[0]
    seen = [(event.fate, event.counted, event.k) for event in one.events if event.what == "observed"]
    assert seen == [("counted", 1, 2), ("counted", 2, 2)]
    verdict = one.verdicts[0]
    assert (verdict.status, verdict.basis, verdict.classes) == (
        "admitted",
        "corroboration",
        ["substrate.code.read", "substrate.git.log"],
    )
    assert isinstance(verdict.ledger, msgspec.Struct)
    assert (verdict.ledger.height, verdict.ledger.index, verdict.topic) == (2, 0, "admitted")
    assert (one.missing_floor, one.now.holds) == (0, True)


async def test_a_declaration_is_reported_as_the_basis(tmp_path: Path):
    """In trust mode `declared` the annotations count, and what observers say does not."""
    notes = [{"substrate_class": f"substrate.{name}", "ts": BASE} for name in (CODE, GIT)]
    policy = decided("review", trust="declared")
    explanation = await explanation_of(
        lane_after((0, [emission_after(provenance=notes)]), (S, [observation_after(S, GREP)]), policy=policy), tmp_path
    )

    assert explanation.assertions[0].verdicts[0].basis == "declaration"
    assert fates(explanation)[1] == ("not-counted", "declarations-only")


async def test_an_emitters_refusal_is_reported_as_passed_on(tmp_path: Path):
    """It is never adjudicated, and evidence for it is late."""
    lane = lane_after(
        (-S // 2, [observation_after(-S, CODE)]), (0, [emission_after(kind="refusal"), observation_after(0, GIT)])
    )
    explanation = await explanation_of(lane, tmp_path)

    assert (words(explanation), explanation.assertions[0].verdicts[0].basis) == ([("refused", None)], "emitter")
    assert explanation.assertions[0].verdicts[0].checks is UNSET
    assert fates(explanation) == [("late", "closed"), ("taken-in", None), ("late", "closed")]


async def test_a_policys_refusal_does_not_hide_what_was_decided(tmp_path: Path):
    """`refused` says what is done; the assertion stands as what it was found to be."""
    explanation = await explanation_of(lane_after((0, [emission_after()]), END, policy=decided("refuse")), tmp_path)

    assert words(explanation) == [("unverified-inference", "not-looked-at"), ("refused", "not-looked-at")]
    assert explanation.assertions[0].now.status == "unverified-inference"


@pytest.mark.parametrize(("decision", "word"), [("admit", ("admitted", None)), ("refuse", ("rejected", "review"))])
async def test_a_reviewers_decision_is_reported(tmp_path: Path, decision: str, word: tuple[str, Any]):
    """Who decided what, and the verdict that it led to."""
    records = [reviewed_claim(decision, reason="I looked.", decided_at=BASE + 22 * M)]
    explanation = await explanation_of(
        lane_after((0, [emission_after()]), (S, EVIDENCE[:1]), END, (22 * M, records)), tmp_path
    )

    event = next(event for event in explanation.assertions[0].events if event.what == "reviewed")
    assert isinstance(event.review, msgspec.Struct)
    assert (event.fate, event.review.reviewer, event.review.reason) == ("decided", "reviewer-1", "I looked.")
    assert words(explanation)[-1] == word


AFTER_ADMISSION = {
    "renewed": ([observation_after(5 * M, CODE), observation_after(5 * M, GIT)], ("renewed", None)),
    "contradicted": ([observation_after(5 * M, GREP, "contradicts")], ("contradicted", "contradicted")),
    "fabricated": (
        [observation_after(5 * M, CODE, "unknown-observation", observation_id=DECLARED)],
        ("rejected", "fabricated-annotation"),
    ),
    "refused by a reviewer": ([reviewed_claim("refuse")], ("rejected", "review")),
}


@pytest.mark.parametrize("story", AFTER_ADMISSION)
async def test_what_happens_after_admission_is_reported(tmp_path: Path, story: str):
    """The last word, and whether it still holds."""
    records, word = AFTER_ADMISSION[story]
    explanation = await explanation_of(lane_after(*ADMITTED, (5 * M, records)), tmp_path)

    assert words(explanation) == [("admitted", None), word]
    assert explanation.assertions[0].now.holds == (word[0] == "renewed")


async def test_the_end_of_validity_is_reported(tmp_path: Path):
    """Until when it held is told after it has ended."""
    explanation = await explanation_of(lane_after(*ADMITTED, (2 * H, [])), tmp_path, now=BASE + 3 * H)

    assert words(explanation)[-1] == ("decayed-to-uncertainty", "validity-ended")
    assert explanation.assertions[0].now.valid_until == format_time(BASE + S + H)


async def test_only_now_is_by_a_clock(tmp_path: Path):
    """An admission whose validity is past holds no more, although no block has said so; its instant is included."""
    lane, until = lane_after(*ADMITTED), BASE + S + H

    at = (await explanation_of(lane, tmp_path / "a", now=until)).assertions[0]
    past = (await explanation_of(lane, tmp_path / "b", now=until + 1)).assertions[0]

    assert (at.now.holds, past.now.holds, past.now.status) == (True, False, "admitted")
    assert past.now.as_of == format_time(until + 1)
    assert at.events == past.events


async def test_an_earlier_attempts_admission_ends_with_a_newer_ones_word(tmp_path: Path):
    """It ends without a word of its own, and says whose word ended it."""
    newer = [emission_after(M, attempt=1), observation_after(M, CODE, attempt=1), observation_after(M, GIT, attempt=1)]
    explanation = await explanation_of(lane_after(*ADMITTED, (M, newer)), tmp_path)

    last = explanation.assertions[0].events[-1]
    assert (last.what, last.why, last.by_attempt) == ("ended", "newer-attempt", 1)
    assert [one.now.status for one in explanation.assertions] == ["ended", "admitted"]


async def test_a_review_window_that_ends_is_reported(tmp_path: Path):
    """Nobody spoke: the assertion stays what it was, and waits no more."""
    lane = lane_after((0, [emission_after()]), END, (22 * M, []), policy=decided("review", review_window=M))
    lane.block(BASE + 30 * M)
    explanation = await explanation_of(lane, tmp_path)

    assert explanation.assertions[0].events[-1].why == "review-window-over"
    assert explanation.assertions[0].now.waits_for is UNSET


async def test_what_waits_for_a_reviewer_ends_with_a_newer_attempts_word(tmp_path: Path):
    """Also where all of it happened in one block."""
    newer = [emission_after(M, attempt=1), observation_after(M, CODE, attempt=1), observation_after(M, GIT, attempt=1)]
    refused = [emission_after(), observation_after(S, CODE, "contradicts")]
    for number, blocks in enumerate([[(M, refused), (2 * M, newer)], [(M, [*refused, *newer])]]):
        explanation = await explanation_of(lane_after(*blocks, policy=decided("review")), tmp_path / str(number))

        last = explanation.assertions[0].events[-1]
        assert (last.what, last.why, last.by_attempt) == ("ended", "newer-attempt", 1)
        assert explanation.assertions[0].now.status == "contradicted"


async def test_a_review_window_that_is_over_is_not_ended_by_a_newer_attempt_of_the_same_block(tmp_path: Path):
    """The clock comes before the block's inputs."""
    newer = [emission_after(30 * M, attempt=1), *(observation_after(30 * M, name, attempt=1) for name in (CODE, GIT))]
    lane = lane_after((0, [emission_after()]), END, (30 * M, newer), policy=decided("review", review_window=M))
    explanation = await explanation_of(lane, tmp_path)

    last = explanation.assertions[0].events[-1]
    assert (last.what, last.why, last.by_attempt) == ("ended", "review-window-over", UNSET)
    assert explanation.assertions[1].now.status == "admitted"


async def test_what_was_over_is_reported_before_what_came_too_late(tmp_path: Path):
    """A review of the block in which the review window ends: the end comes first, and is why it is refused."""
    lane = lane_after(
        (0, [emission_after()]), END, (30 * M, [reviewed_claim("admit")]), policy=decided("review", review_window=M)
    )
    explanation = await explanation_of(lane, tmp_path)

    events = explanation.assertions[0].events[-2:]
    assert [(one.what, one.why) for one in events] == [("ended", "review-window-over"), ("reviewed", "late-review")]


async def test_evidence_that_waited_and_decides_at_once_tells_how_far_the_checks_had_come(tmp_path: Path):
    """As it would where it comes behind its emission."""
    seen = [observation_after(S, CODE), observation_after(S, GIT, "contradicts")]
    stated = emission_after(checks=["defines(MAX)"])
    for number, blocks in enumerate([[(0, [stated]), (2 * S, seen)], [(2 * S, seen), (3 * S, [stated])]]):
        explanation = await explanation_of(lane_after(*blocks, policy=decided("refuse")), tmp_path / str(number))

        verdict = explanation.assertions[0].verdicts[0]
        assert (verdict.status, [one.counted for one in verdict.checks]) == ("contradicted", [1])


# ---------------------------------------------------------------- what did not count, and why

BOT = Observer(writable_by=["bot"])
WEAK = decided("review", min_confidence=0.5)
NOT_COUNTED: dict[str, tuple[list[tuple[int, list[Any]]], Policy]] = {
    "class-unknown": ([(S, [observation_after(S, "moon")])], DEFAULT_POLICY),
    "absent": ([(S, [observation_after(S, CODE, "absent")])], DEFAULT_POLICY),
    "unavailable": ([(S, [observation_after(S, CODE, "unavailable")])], DEFAULT_POLICY),
    "low-confidence": ([(S, [observation_after(S, CODE, confidence=0.4)])], WEAK),
    "writable-by-emitter": ([(S, [observation_after(S, CODE)])], Policy(observers={"observer-1": BOT})),
    "owned-by-vendor": ([(S, [observation_after(S, "mcp.brief")])], Policy(emitters=Emitters(vendor={"bot": "Acme"}))),
    "too-old": ([(S, [observation_after(-H - 1, CODE)])], DEFAULT_POLICY),
    "too-late": ([(20 * M, [observation_after(20 * M + 1, CODE)])], DEFAULT_POLICY),
    "not-newer": (
        [(S, [observation_after(S, CODE), observation_after(S, CODE, observer="observer-2")])],
        DEFAULT_POLICY,
    ),
    "not-declared": ([(S, [observation_after(S, GREP)])], decided("review", trust="both")),
    "outweighed": (
        [(2 * S, [observation_after(2 * S, CODE), observation_after(S, CODE, "contradicts")])],
        DEFAULT_POLICY,
    ),
}


@pytest.mark.parametrize("came_before", [False, True], ids=["after its emission", "before its emission"])
@pytest.mark.parametrize("why", NOT_COUNTED)
async def test_what_did_not_count_says_why(tmp_path: Path, why: str, came_before: bool):
    """Also of evidence that waited for its emission, once that has come."""
    blocks, policy = NOT_COUNTED[why]
    said = (0, [emission_after()])
    if came_before:  # all of it at once, and then the emission: at times that keep what is too late too late
        moved = 2 * S if why != "too-late" else 20 * M
        blocks = [*blocks, (moved, [emission_after()])]
    else:
        blocks = [said, *blocks]
    explanation = await explanation_of(lane_after(*blocks, policy=policy), tmp_path)

    observed = [one for one in explanation.inputs if one.observation is not UNSET]
    assert (observed[-1].fate, observed[-1].why) == ("not-counted", why)
    immediate = why in ("class-unknown", "unavailable")
    assert (observed[-1].settled_at is UNSET) == (not came_before or immediate)


async def test_a_record_that_waits_already_says_so(tmp_path: Path):
    """The same one twice is one: the first is weighed when its emission comes."""
    waited = [observation_after(S, CODE), observation_after(S, CODE)]
    lane = lane_after((2 * S, waited), (3 * S, [emission_after()]))
    explanation = await explanation_of(lane, tmp_path)

    assert fates(explanation)[:2] == [("counted", None), ("duplicate", "repeated")]
    assert lane.state.counters["duplicate"] == 1


async def test_a_negative_that_is_too_old_says_so(tmp_path: Path):
    """Old news of a stalled observer undoes nothing."""
    said = [observation_after(-H - 1, CODE, "contradicts"), observation_after(-H - 1, CODE, "unknown-observation")]
    explanation = await explanation_of(lane_after((0, [emission_after()]), (S, said)), tmp_path)

    assert fates(explanation)[1:] == [("not-counted", "too-old")] * 2


async def test_an_invention_that_was_never_declared_says_so(tmp_path: Path):
    """An unknown observation holds against a declared id only."""
    explanation = await explanation_of(
        lane_after(
            (0, [emission_after()]), (S, [observation_after(S, CODE, "unknown-observation", observation_id="other")])
        ),
        tmp_path,
    )

    assert fates(explanation)[1] == ("not-counted", "not-declared")


async def test_a_review_by_no_other_reviewer_is_reported(tmp_path: Path):
    """Where several are needed: the first is followed, the same one again changes nothing."""
    policy = replace(decided("review"), reviewers=Reviewers(min_reviewers=PerEffect(internal=2, external=2)))
    said = [reviewed_claim("admit"), reviewed_claim("admit"), reviewed_claim("admit", reviewer="reviewer-2")]
    explanation = await explanation_of(
        lane_after((0, [emission_after()]), END, (22 * M, said), policy=policy), tmp_path
    )

    assert fates(explanation)[1:] == [("decided", None), ("not-counted", "no-other-reviewer"), ("decided", None)]
    assert explanation.assertions[0].now.status == "admitted"


async def test_late_evidence_says_for_what_it_was_late(tmp_path: Path):
    """For an assertion that waits for a reviewer, or for one that is closed."""
    late = [observation_after(21 * M, CODE)]
    for disposition, why in (("review", "waits-for-reviewer"), ("discard", "closed")):
        lane = lane_after((0, [emission_after()]), END, (22 * M, late), policy=decided(disposition))
        explanation = await explanation_of(lane, tmp_path / disposition)
        assert fates(explanation)[-1] == ("late", why)


async def test_evidence_of_no_assertion_waits_and_is_unmatched_in_the_end(tmp_path: Path):
    """It belongs to no assertion, so it stands among the inputs only, with the time at which that was clear."""
    other = observation_after(S, CODE, span={"chars": [0, 3]})
    waits = await explanation_of(lane_after((0, [emission_after()]), (S, [other])), tmp_path / "a")
    over = await explanation_of(lane_after((0, [emission_after()]), (S, [other]), (21 * M, [])), tmp_path / "b")

    assert (waits.inputs[1].fate, over.inputs[1].fate) == ("waiting", "unmatched")
    assert over.inputs[1].settled_at == format_time(BASE + 21 * M)
    assert all(event.what != "observed" for event in over.assertions[0].events)


async def test_evidence_that_came_before_its_emission_is_reported_where_it_came(tmp_path: Path):
    """The timeline is in the order in which things came, not in which they were understood."""
    lane = lane_after((S, [observation_after(S, CODE)]), (2 * S, [emission_after()]))
    explanation = await explanation_of(lane, tmp_path)

    assert [event.what for event in explanation.assertions[0].events] == ["observed", "claimed"]
    assert explanation.inputs[0].fate == "counted"


async def test_of_what_waited_corroborations_are_weighed_first(tmp_path: Path):
    """As if all of it had come at once: an older negative is outweighed although it came first."""
    again = observation_after(2 * S, CODE, observer="observer-2")
    waited = [observation_after(S, CODE, "contradicts"), observation_after(2 * S, CODE), again]
    explanation = await explanation_of(lane_after((2 * S, waited), (3 * S, [emission_after()])), tmp_path)

    assert fates(explanation)[:3] == [("not-counted", "outweighed"), ("counted", None), ("not-counted", "not-newer")]


async def test_what_was_discarded_cannot_be_reviewed(tmp_path: Path):
    """Not even in the block in which it was discarded: what is revealed for the telling does not live on."""
    records = [
        emission_after(provenance=[{"substrate_class": "x.y"}]),
        reviewed_claim("admit"),
        observation_after(0, CODE),
    ]
    explanation = await explanation_of(lane_after((0, records)), tmp_path)

    assert fates(explanation)[1:] == [("dead-letter", "late-review"), ("late", "closed")]
    assert words(explanation) == [("unverified-inference", "unknown-class")]


async def test_an_attempt_that_was_forgotten_may_come_again(tmp_path: Path):
    """It is another assertion of the same name, and what becomes of it is not told of the first one."""
    policy = decided("discard", max_validity=2 * H)
    again = emission_after(5 * H, confidence=0.9)
    lane = lane_after((0, [emission_after()]), (4 * H, []), (5 * H, [again]), policy=policy)
    explanation = await explanation_of(lane, tmp_path)

    assert [one.attempt for one in explanation.attempts] == [0, 0]
    assert [one.now.status for one in explanation.assertions] == ["unverified-inference", "pending"]
    assert words(explanation, 0) == [("unverified-inference", "not-looked-at")]


# ---------------------------------------------------------------- dead letters and duplicates

NARROW = Policy(observers={"observer-1": Observer(classes=["substrate.grep"])})
DEAD: dict[str, tuple[Any, Policy]] = {
    "not-json": (("emissions", (b"em-1", b"{")), DEFAULT_POLICY),
    "schema": (("observations", (b"em-1", b'{"observer": 1}')), DEFAULT_POLICY),
    "span-out-of-range": (emission_after(fields={"assertions": [{"span": {"chars": [0, 999]}}]}), DEFAULT_POLICY),
    "misrouted": (("observations", (b"em-2", msgspec.json.encode(observation_after(S, CODE)[1]))), DEFAULT_POLICY),
    "clock-skew": (observation_after(2 * M, CODE), DEFAULT_POLICY),
    "too-old": (emission_after(-25 * H, attempt=2), DEFAULT_POLICY),
    "oversize": (("emissions", (b"em-1", b" " * 1_000_001)), DEFAULT_POLICY),
    "conflicting-emission": (emission_after(confidence=0.7), DEFAULT_POLICY),
    "late-review": (reviewed_claim("admit", attempt=7), DEFAULT_POLICY),
    "unauthorised-observer": (observation_after(S, CODE), NARROW),
}


@pytest.mark.parametrize("reason", DEAD)
async def test_inputs_that_became_dead_letters_are_reported(tmp_path: Path, reason: str):
    """With the reason and the detail that the dead letter has, and where the input stood."""
    record, policy = DEAD[reason]
    lane = lane_after((0, [emission_after()]), (S, [record]), policy=policy)
    explanation = await explanation_of(lane, tmp_path)

    letter = next(one for one in lane.outputs if one.topic == "dead-letters")
    last = explanation.inputs[-1]
    assert (last.fate, last.why) == ("dead-letter", reason)
    assert dict(letter.headers)["sluice-detail"].decode() == last.detail
    assert dict(letter.headers)["sluice-source"].decode() == last.source


async def test_an_input_under_another_key_is_found_however_it_is_written(tmp_path: Path):
    """JSON may write the characters of an id as escapes."""
    hidden = b'{"emission_id": "\\u0065m-1", "emitted_at": 0, "text": "x"}'
    explanation = await explanation_of(
        lane_after((0, [emission_after()]), (S, [("emissions", (b"em-2", hidden))])), tmp_path
    )

    assert fates(explanation) == [("taken-in", None), ("dead-letter", "misrouted")]


async def test_other_emissions_are_no_part_of_the_story(tmp_path: Path):
    """Not even those whose id begins or ends like this one, or whose text names it."""
    others = [
        emission_after(0, "em-11"),
        emission_after(0, "xem-1"),
        emission_after(0, "em-2", text="em-1 is another one."),
    ]
    explanation = await explanation_of(
        lane_after((0, [*others, emission_after()]), (S, [emission_after(0, "em-2")])), tmp_path
    )

    assert [(one.source, one.fate) for one in explanation.inputs] == [("emissions/0/3", "taken-in")]


async def test_a_repetition_is_reported_as_a_duplicate(tmp_path: Path):
    """The same bytes again: nothing happens, and the story says so."""
    explanation = await explanation_of(lane_after((0, [emission_after()]), (S, [emission_after()])), tmp_path)

    assert fates(explanation) == [("taken-in", None), ("duplicate", None)]
    assert len(explanation.assertions) == 1


# ---------------------------------------------------------------- what is asked, and what is shown


async def test_one_span_can_be_asked_about(tmp_path: Path):
    """Only its assertions are told; inputs that name no span are about all of them."""
    text = f"{TEXT} It was made by hand."
    both = [{"span": SPAN}, {"span": {"chars": [len(TEXT) + 1, len(text)]}}]
    lane = lane_after(
        (0, [emission_after(fields={"text": text, "assertions": both})]), (S, [observation_after(S, CODE)])
    )

    explanation = await explanation_of(lane, tmp_path, span_key=KEY)
    other = await explanation_of(lane, tmp_path / "b", span_key=f"c:{len(TEXT) + 1}-{len(text)}")

    assert [one.span_key for one in explanation.assertions] == [KEY]
    assert [len(one.inputs) for one in (explanation, other)] == [2, 1]


async def test_what_the_ledger_does_not_know_is_said_in_a_sentence(tmp_path: Path):
    """An unknown emission, or a span that it does not have."""
    lane = lane_after((0, [emission_after()]))

    with pytest.raises(DoesNotHoldError, match=r"nothing about the emission 'em-9' stands in the ledger of lane 0"):
        await explanation_of(lane, tmp_path / "a", "em-9")
    with pytest.raises(DoesNotHoldError, match=rf"no assertion with the span c:0-1 \(expected one of {KEY}\)"):
        await explanation_of(lane, tmp_path / "b", span_key="c:0-1")


async def test_a_ledger_that_does_not_hold_is_not_reported_from(tmp_path: Path):
    """A story is what the ledger proves, or there is none."""
    lane = lane_after((0, [emission_after()]), (S, EVIDENCE), (2 * S, []))
    del lane.blocks[2]

    with pytest.raises(DoesNotHoldError, match="the chain of blocks is broken"):
        await explanation_of(lane, tmp_path)


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
async def test_the_lane_is_found_by_the_ledgers_own_partitioner(tmp_path: Path, partitioner: Any):
    """Which of several lanes holds an emission, its key and the blocks say."""
    number = lane_of("em-1", 7, partitioner)
    lane = ExportedLane(DEFAULT_POLICY, BASE - S, lane=number, lanes=7, partitioner=partitioner)
    lane.block(BASE, [emission_after()])

    explanation = await explanation_of(lane, tmp_path)

    assert (explanation.lane, explanation.lanes, fates(explanation)) == (number, 7, [("taken-in", None)])


async def test_what_strangers_wrote_is_sanitised(tmp_path: Path):
    """As in the outputs: text, locators, details, reasons, and classes that are none."""
    evil = "x\u202e<b onclick=1>y</b>"
    note = {"substrate_class": evil, "locator": {evil: evil}}
    records = [
        emission_after(text=f"{evil} is so.", provenance=[note]),
        observation_after(
            0, CODE, span={"chars": [0, 99]}, substrate_class=evil, locator={"p": evil}, detail={"d": evil}
        ),
        reviewed_claim("admit", reason=evil),
    ]
    explanation = await explanation_of(lane_after((0, records)), tmp_path)

    shown = msgspec.json.encode(explanation).decode()
    assert "\u202e" not in shown
    assert "onclick" not in shown


async def test_observation_ids_are_reported_as_far_as_the_policy_lets_them_out(tmp_path: Path):
    """Never of the identity-bound tier, and none where the policy omits them [S §12]."""
    records = [emission_after(), observation_after(0, CODE, tier="identity-bound"), observation_after(0, GIT)]
    clear = await explanation_of(lane_after((0, records)), tmp_path / "a")
    omitted = Policy(privacy=PrivacyRules(observation_ids="omitted"))
    none = await explanation_of(lane_after((0, records), policy=omitted), tmp_path / "b")

    assert [one.observation.observation_id for one in clear.inputs[1:]] == [UNSET, "seen:git.log"]
    assert clear.assertions[0].claims[0].observation_id == DECLARED
    assert [one.observation.observation_id for one in none.inputs[1:]] == [UNSET, UNSET]
    assert none.assertions[0].claims[0].observation_id is UNSET


async def test_a_policy_that_comes_into_force_is_reported_with(tmp_path: Path):
    """Each attempt names the policy under which it was taken in, and is judged by it."""
    stricter = replace(DEFAULT_POLICY, admissibility=replace(DEFAULT_POLICY.admissibility, min_confidence=0.9))
    lane = lane_after(
        (0, [emission_after(confidence=0.8)]),
        (S, [("policies", stricter), emission_after(S, attempt=1, confidence=0.8)]),
        (2 * S, [emission_after(2 * S, attempt=2, confidence=0.8)]),
    )
    explanation = await explanation_of(lane, tmp_path)

    assert [one.policy for one in explanation.attempts][1:] != [DEFAULT_POLICY.hash] * 2
    assert words(explanation) == [("rejected", "low-confidence")]


# ---------------------------------------------------------------- laws

_SETTINGS = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def stories(lane: ExportedLane) -> dict[str, Explanation]:
    """The stories of all emissions of a small world."""
    with tempfile.TemporaryDirectory() as folder:
        found: dict[str, Explanation] = {}
        for emission_id in ("em-0", "em-1", "em-2"):
            if any(event.key == emission_id.encode() for *_, event in lane.inputs):
                found[emission_id] = asyncio.run(explanation_of(lane, Path(folder) / emission_id, emission_id))
    return found


def explanations_of(policy: Policy, history: list[laws.Block]) -> tuple[ExportedLane, dict[str, Explanation]]:
    """A lane after a history, and its stories."""
    lane = ExportedLane(policy, laws.BASE - laws.U)
    for time, watermark, records in history:
        lane.block(time, records, watermark)
    return lane, stories(lane)


@_SETTINGS
@given(laws.worlds())
def test_the_verdicts_are_exactly_the_outputs(world: tuple[Policy, list[laws.Block]]):
    """Every output about the emission is a verdict of its story, in order, and no other is; but the end of a request,
    which its story tells of by what ended it."""
    lane, found = explanations_of(*world)

    for emission_id, explanation in found.items():
        key = f"{emission_id}#".encode()
        outputs = [msgspec.json.decode(one.value) | {"topic": one.topic} for one in lane.outputs if one.key[:5] == key]
        ends = [one for one in outputs if "ended_at" in one]
        outputs = [one for one in outputs if "ended_at" not in one]
        written = [(one["topic"], one["ledger"]["height"], one["ledger"]["index"], one["id"]) for one in outputs]
        verdicts = [one for assertion in explanation.assertions for one in assertion.verdicts if one.topic is not UNSET]
        read = [(one.topic, one.ledger.height, one.ledger.index, one.id) for one in verdicts]
        assert sorted(read) == sorted(one for one in written if one[0] != "dead-letters")
        for assertion in explanation.assertions:
            assert [one.verdict for one in assertion.events if one.what == "verdict"] == assertion.verdicts
        told = Counter(one.why for assertion in explanation.assertions for one in assertion.events)
        assert told["review-window-over"] == sum(one["status"] == "expired" for one in ends)


@_SETTINGS
@given(laws.worlds())
def test_every_input_is_reported_once_and_the_fates_add_up(world: tuple[Policy, list[laws.Block]]):
    """Inputs stand in the ledger's order, and their fates are what the lane has counted."""
    lane, found = explanations_of(*world)

    counted: Counter[str] = Counter()
    for emission_id, explanation in found.items():
        mine = [
            (height, f"{topic}/0/{offset}")
            for height, topic, offset, event in lane.inputs
            if event.key == emission_id.encode()
        ]
        assert [(one.height, one.source) for one in explanation.inputs] == mine
        counted.update(one.fate for one in explanation.inputs)
        counted["discarded"] += sum(one.disposition == "discard" for a in explanation.assertions for one in a.verdicts)
    counters = lane.state.counters
    named = ("duplicate", "late", "unmatched", "not-counted", "discarded")
    assert {name: counted[name] for name in named} == {name: counters[name] for name in named}
    assert (counted["dead-letter"], counted["waiting"]) == (counters["dead-letters"], lane.state.asides)


@_SETTINGS
@given(laws.worlds())
def test_what_lives_at_the_end_is_told_to_live(world: tuple[Policy, list[laws.Block]]):
    """Pending, admitted or waiting for a reviewer: as many as the lane has lives."""
    lane, found = explanations_of(*world)

    open_ = [
        one
        for explanation in found.values()
        for one in explanation.assertions
        if one.now.waits_for is not UNSET or one.now.status in ("admitted", "renewed")
    ]
    assert len(open_) == lane.state.live


def test_a_block_that_fires_only_a_part_of_what_is_due_is_reported_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """After an outage a lane closes empty blocks until nothing is due; each verdict stands in its own."""
    monkeypatch.setattr(core_state, "MAX_TIMERS", 1)
    monkeypatch.setattr("sluice.streams.adjudication.fold.MAX_TIMERS", 1)
    text = f"{TEXT} It was made by hand."
    both = [{"span": SPAN}, {"span": {"chars": [len(TEXT) + 1, len(text)]}}]
    waiting = observation_after(0, CODE, span={"chars": [0, 1]})
    lane = lane_after((0, [emission_after(fields={"text": text, "assertions": both}), waiting]), END, (21 * M, []), END)

    explanation = asyncio.run(explanation_of(lane, tmp_path))

    assert [one.verdicts[0].height for one in explanation.assertions] == [2, 3]
    assert explanation.inputs[1].fate == "unmatched"


@pytest.mark.parametrize("junk", [b"", b"junk", b"\x92\x80\x90", b"\xff" * 100, None])
@pytest.mark.parametrize("place", [0, 1, 3])
async def test_a_record_that_is_no_block_is_passed_over(tmp_path: Path, junk: bytes | None, place: int) -> None:
    """One record, or a copy of a block, would else keep everybody from every story (None: a copy of the first)."""
    lane = lane_after((0, [emission_after()]), (2 * S, [observation_after(S, "git.log")]))
    known = await explanation_of(lane, tmp_path)

    lane.blocks.insert(place, lane.blocks[0] if junk is None else junk)

    assert await explanation_of(lane, tmp_path) == known
    logs = FolderLogs(tmp_path / "export")
    assert [block.header.height async for _, block in linked_blocks(logs, lane.lane)] == [0, 1, 2]
    assert await partitioner_of(logs) == "murmur2"


async def test_a_block_that_is_not_there_is_no_record_to_pass_over(tmp_path: Path) -> None:
    """What would follow a missing block is not told as the whole story."""
    lane = lane_after((0, [emission_after()]), (2 * S, [observation_after(S, "git.log")]), (3 * S, []))
    lane.blocks[1] = b"junk"

    with pytest.raises(DoesNotHoldError, match="the chain of blocks is broken"):
        await explanation_of(lane, tmp_path)
