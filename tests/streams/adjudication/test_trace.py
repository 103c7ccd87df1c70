"""The fold's own trace: what each event did to one emission, and nothing that would be otherwise without it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import fold_laws as laws
import pytest
from builders import dispositions
from exported import BASE, KEY, ExportedLane, M, S, emission_after, lane_after, observation_after, reviewed_claim
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from search import examples

from sluice.codecs import compiled_core as codecs_core
from sluice.codecs.blocks import unseal
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import snapshot, trace
from sluice.streams.adjudication.state import State
from sluice.streams.adjudication.timers import TIME, WATERMARK
from sluice.streams.policy.policy import DEFAULT_POLICY, PerEffect, Policy, Reviewers

CODE, GIT, GREP = "code.read", "git.log", "grep"
SEARCH = settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def decided(disposition: str, **rules: Any) -> Policy:
    admissibility = replace(DEFAULT_POLICY.admissibility, **rules)
    return Policy(admissibility=admissibility, disposition=dispositions(disposition))


def traced(lane: ExportedLane, emission_id: str = "em-1") -> tuple[State, list[list[trace.Entry]], list[Any]]:
    """The lane's ledger folded with a trace: its state, the entries by block, and the outputs."""
    state, entries, outputs = core.new_state(lane.lane, lane.lanes), list[list[trace.Entry]](), list[Any]()
    for data in lane.blocks:
        listening = trace.FoldTrace(emission_id)
        outputs += core.fold(state, unseal(data), listening)
        entries.append(listening.entries)
    return state, entries, outputs


def kinds(entries: list[trace.Entry]) -> list[tuple[int, str]]:
    """Which event did what, timers apart."""
    quiet = (trace.Armed, trace.Fired)
    return [(one.event, type(one).__name__) for one in entries if not isinstance(one, quiet)]


# ---------------------------------------------------------------- it changes nothing


@SEARCH
@given(laws.worlds())
def test_outputs_and_state_are_those_of_a_fold_without_a_trace(world: tuple[Policy, list[laws.Block]]):
    """Byte for byte, block by block, whatever comes; and every input about the emission has its fate in the trace."""
    policy, history = world
    lane = ExportedLane(policy, laws.BASE - laws.U)
    for time, watermark, records in history:
        lane.block(time, records, watermark)

    state, entries, outputs = traced(lane, "em-0")

    assert [tuple(one) for one in outputs] == [tuple(one) for one in lane.outputs]
    assert b"".join(snapshot.dump(state)) == b"".join(snapshot.dump(lane.state))
    fates = (trace.Refused, trace.Repeated, trace.TakenIn, trace.PutAside, trace.Weighed, trace.Reviewed)
    for height, data in enumerate(lane.blocks):
        found = Counter(
            one.event for one in entries[height] if (isinstance(one, fates) and getattr(one, "order", -1) < 0)
            or isinstance(one, trace.PutAside)
        )  # fmt: skip
        for place, event in enumerate(unseal(data).events):
            if event.key == b"em-0":
                assert found[place] == 1


@SEARCH
@given(laws.worlds())
def test_every_record_about_the_emission_is_in_its_trace(world: tuple[Policy, list[laws.Block]]):
    """In the order of the outputs; what was discarded is there besides, and stands on no topic."""
    policy, history = world
    lane = ExportedLane(policy, laws.BASE - laws.U)
    for time, watermark, records in history:
        lane.block(time, records, watermark)

    _, entries, _ = traced(lane, "em-0")

    words = [one for block in entries for one in block if isinstance(one, trace.Decided | trace.RequestEnded)]
    discarded = [one for one in words if isinstance(one, trace.Decided) and one.disposition == "discard"]
    written = [one.output for one in words if one not in discarded]
    assert written == [one for one in lane.outputs if one.key[:5] == b"em-0#" and one.topic not in ("dead-letters",)]
    assert not any(one.output in lane.outputs for one in discarded)


@pytest.mark.skipif(codecs_core.codecs is None, reason="there is no compiled core")
def test_a_traced_block_is_folded_in_python():
    """The compiled core keeps no trace; without one it takes the common inputs."""
    lane = lane_after((0, [emission_after()]), (2 * S, [observation_after(S, CODE), observation_after(S, GIT)]))
    state, untraced = core.new_state(0, 1), core.new_state(0, 1)
    for data in lane.blocks:
        core.fold(state, unseal(data), trace.FoldTrace("em-1"))
        core.fold(untraced, unseal(data))

    assert (state.left_to_python, untraced.left_to_python) == (2, 0)


# ---------------------------------------------------------------- what it says


def test_an_admission_in_every_step():
    """The emission begins its assertion, which waits; each observation counts; the second one admits it."""
    _, entries, _ = traced(
        lane_after((0, [emission_after()]), (2 * S, [observation_after(S, CODE), observation_after(S, GIT)]))
    )

    assert kinds(entries[1]) == [(0, "TakenIn"), (0, "Began")]
    armed = entries[1][-1]
    assert isinstance(armed, trace.Armed)
    assert (armed.clock, armed.due, armed.span_key) == (WATERMARK, BASE + 10 * M, KEY)
    assert kinds(entries[2]) == [(0, "Weighed"), (1, "Weighed"), (1, "Decided")]
    weighed = [(one.fate, one.classes) for one in entries[2] if isinstance(one, trace.Weighed)]
    assert weighed == [("counted", 1), ("counted", 2)]
    word = entries[2][-1]
    assert isinstance(word, trace.Decided)
    assert (word.status, word.reason, word.output.topic) == ("admitted", "", "admitted")
    assert word.checks == []  # none was told
    assert [one.clock for one in entries[2] if isinstance(one, trace.Armed)] == [TIME]


def test_what_is_due_is_reported_before_the_events():
    """And what is said once a block behind them."""
    lane = lane_after(
        (0, [emission_after()]), (2 * S, [observation_after(S, CODE), observation_after(S, GIT)]),
        (3 * S, [observation_after(3 * S, CODE), observation_after(3 * S, GIT)]),
    )  # fmt: skip
    _, entries, _ = traced(lane)
    assert kinds(entries[3]) == [(0, "Weighed"), (1, "Weighed"), (trace.END, "Decided")]

    _, entries, _ = traced(lane_after((0, [emission_after()]), (21 * M, [observation_after(21 * M, CODE)])))
    assert [type(one) for one in entries[2][:4]] == [trace.Fired, trace.Armed, trace.Fired, trace.Decided]
    assert kinds(entries[2]) == [(trace.CLOCKS, "Decided"), (0, "Weighed")]


def test_what_is_discarded_is_reported_with_the_record_that_stands_nowhere():
    """Its status, its reason, and the words that a reviewer would have had."""
    asked = replace(decided("discard"), verdicts="settled")
    lane = lane_after((0, [emission_after()]), (21 * M, []), policy=asked)
    _, entries, outputs = traced(lane)

    word = entries[2][-1]
    assert isinstance(word, trace.Decided)
    assert (word.status, word.reason, word.disposition) == ("unverified-inference", "not-looked-at", "discard")
    assert word.output.topic == "review-requests"
    assert {one.topic for one in outputs} == {"verdicts"}


def test_evidence_that_waits_is_known_by_its_number():
    """From its coming to its weighing, or to the end of its time."""
    _, entries, _ = traced(
        lane_after((0, [observation_after(0, CODE), observation_after(0, GREP, attempt=1)]), (S, [emission_after()]))
    )
    aside = [one for one in entries[1] if isinstance(one, trace.PutAside)]
    assert [one.attempt for one in aside] == [0, 1]
    met = [one for one in entries[2] if isinstance(one, trace.Weighed)]
    assert [(one.order, one.fate) for one in met] == [(aside[0].order, "counted")]

    _, entries, _ = traced(lane_after((0, [observation_after(0, CODE)]), (21 * M, [])))
    assert [one.order for one in entries[2] if isinstance(one, trace.Unmatched)] == [
        one.order for one in entries[1] if isinstance(one, trace.PutAside)
    ]


def test_a_newer_attempt_supersedes_and_ends():
    """What is pending gets a record; what waits for a reviewer ends by the newer attempt's word."""
    _, entries, _ = traced(lane_after((0, [emission_after()]), (S, [emission_after(attempt=1)])))
    assert kinds(entries[2]) == [(0, "Decided"), (0, "TakenIn"), (0, "Began")]
    first = entries[2][0]
    assert isinstance(first, trace.Decided)
    assert (first.attempt, first.reason) == (0, "superseded")

    newer = [emission_after(M, attempt=1), observation_after(M, CODE, attempt=1), observation_after(M, GIT, attempt=1)]
    evidence = [observation_after(S, CODE), observation_after(S, GIT)]
    _, entries, _ = traced(lane_after((0, [emission_after()]), (S, evidence), (M, newer)))
    ended = entries[3][-1]
    assert isinstance(ended, trace.Ended)
    assert (ended.attempt, ended.by_attempt) == (0, 1)


def test_dead_letters_repetitions_and_reviews_are_noted():
    """Each by its event."""
    records = [
        emission_after(),
        emission_after(),
        ("observations", (b"em-1", b"{")),
        reviewed_claim("admit"),
        reviewed_claim("refuse"),
    ]
    _, entries, _ = traced(lane_after((0, records)))

    assert kinds(entries[1]) == [
        (0, "TakenIn"), (0, "Began"), (1, "Repeated"), (2, "Refused"), (3, "Refused"), (4, "Reviewed"), (4, "Decided")
    ]  # fmt: skip


def test_a_review_that_changes_nothing_says_why():
    """Where several reviewers are needed, each counts once."""
    policy = replace(decided("review"), reviewers=Reviewers(min_reviewers=PerEffect(internal=2, external=2)))
    said = [reviewed_claim("admit"), reviewed_claim("admit"), reviewed_claim("admit", reviewer="reviewer-2")]
    _, entries, _ = traced(lane_after((0, [emission_after()]), (21 * M, []), (22 * M, said), policy=policy))

    reviews = [one for one in entries[3] if isinstance(one, trace.Reviewed)]
    assert [one.why for one in reviews] == ["", "no-other-reviewer", ""]
    assert kinds(entries[3])[-1] == (2, "Decided")


def test_other_emissions_leave_nothing_in_it():
    """Only dead letters are noted whichever they are about, since nobody can tell."""
    lane = lane_after(
        (0, [emission_after(), emission_after(emission_id="em-2"), ("observations", (b"em-9", b"{"))]), (21 * M, [])
    )
    _, entries, _ = traced(lane, "em-3")

    assert [kinds(block) for block in entries] == [[], [(2, "Refused")], []]
