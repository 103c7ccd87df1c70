"""The decision table has the rows that the contract names, in their order."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from msgspec.structs import replace

from sluice.codecs.identifiers import Span
from sluice.codecs.records import Assertion, Cites, Emission, Reason, Retrieval, Severed, Status
from sluice.streams.adjudication import decisions
from sluice.streams.adjudication.decisions import TABLE, Case, Moment, Verdict, decide
from sluice.streams.adjudication.emission_state import A_LOOK, NUMBER_OF, AssertionState, ClassEvidence, Terms, short
from sluice.streams.policy.policy import Admissibility, ConfusablesByEffect, Policy, Sanitation

GREP, GIT = "substrate.grep", "substrate.git.log"
WINDOWS = {GREP: 100, GIT: 100}
RULES = Policy(
    admissibility=Admissibility(min_confidence=0.5),
    sanitation=Sanitation(confusables=ConfusablesByEffect(internal="reject", external="replace")),
)


def assertion_state(**fields: Any) -> AssertionState:
    defaults: dict[str, Any] = {
        "emission_id": "em-1",
        "attempt": 0,
        "span_key": "c:0-9",
        "kind": "assertion",
        "effect": "internal",
        "k": 2,
        "text": "It is so.",
        "declared": [],
        "annotated": True,
        "grounded": False,
        "confidence": None,
        "chain": None,
        "emitter": None,
        "traceparent": None,
        "emitted_at": 1000,
        "arrival": 1000,
        "terms": Terms(WINDOWS, 50, 0, 1000),
        "terms_number": 0,
        "order": 1,
    }
    return AssertionState(**{**defaults, **fields})


def case(one: AssertionState | None = None, assertion: Assertion | None = None, now: int = 1000, **fields: Any) -> Case:
    """A case that has just arrived, with nothing wrong about it and nothing known of it."""
    given = assertion or Assertion(span=Span(chars=(0, 9)))
    emission = Emission("em-1", 1000, text="It is so.", assertions=[given], contexts={"ctx": "It was “so”."})
    return Case(one or assertion_state(), RULES, now, emission, given, **fields)


def corroborated(*classes: str, ts: int = 1000, **fields: Any) -> AssertionState:
    seen = [ClassEvidence(NUMBER_OF[cls], ts, ts, 0, "observer-1") for cls in classes]
    return assertion_state(seen=seen, fresh=len(classes), ids=[short("o1")], **fields)


def quoting(quote: str) -> Case:
    return case(assertion_state(text=f"He said “{quote}” to me."), Assertion(cites=Cites("ctx", strictly=True)))


CASES: list[tuple[Moment, Case, str, str | None]] = [
    (Moment.REVIEW, case(review="admit"), "admitted", None),
    (Moment.REVIEW, case(review="refuse"), "rejected", "review"),
    (Moment.ARRIVAL, case(terminal="unverified-inference"), "unverified-inference", "declared-terminal"),
    (Moment.ARRIVAL, case(terminal="decayed-to-uncertainty"), "decayed-to-uncertainty", "declared-terminal"),
    (Moment.ARRIVAL, case(unknown=True), "unverified-inference", "unknown-class"),
    (Moment.ARRIVAL, case(assertion=Assertion(grounded=True)), "rejected", "ungrounded"),
    (
        Moment.ARRIVAL,
        case(assertion=Assertion(grounded=True, chain=[Retrieval(), Severed()])),
        "rejected",
        "ungrounded",
    ),
    (Moment.ARRIVAL, quoting("not so"), "rejected", "citation-violation"),
    (Moment.ARRIVAL, case(assertion_state(confidence=0.49)), "rejected", "low-confidence"),
    (Moment.ARRIVAL, case(assertion_state(text="It is sо.")), "rejected", "confusable-text"),
    (Moment.ARRIVAL, case(fabricated=True), "rejected", "fabricated-annotation"),
    (Moment.EVIDENCE, case(fabricated=True), "rejected", "fabricated-annotation"),
    (Moment.ARRIVAL, case(contradicted=True), "contradicted", "contradicted"),
    (Moment.EVIDENCE, case(contradicted=True), "contradicted", "contradicted"),
    (Moment.ARRIVAL, case(corroborated(GREP, GIT)), "admitted", None),
    (Moment.EVIDENCE, case(corroborated(GREP, GIT), now=1100), "admitted", None),
    (Moment.NEWER, case(newer=True), "rejected", "superseded"),
    (Moment.END, case(corroborated(GREP)), "below-floor", "below-floor"),
    (Moment.END, case(corroborated(GREP, aged=True)), "below-floor", "below-floor"),
    (Moment.END, case(assertion_state(aged=True)), "decayed-to-uncertainty", "aged-out"),
    (Moment.END, case(corroborated(GREP, GIT), now=1101), "decayed-to-uncertainty", "aged-out"),
    (Moment.END, case(), "unverified-inference", "not-looked-at"),
    (Moment.END, case(assertion_state(look=A_LOOK)), "unverified-inference", "no-corroboration"),
    (Moment.END, case(assertion_state(annotated=False)), "unannotated", "no-corroboration"),
]


@pytest.mark.parametrize(("moment", "one", "status", "reason"), CASES)
def test_each_row_of_the_table_decides(moment: Moment, one: Case, status: Status, reason: Reason | None) -> None:
    """Status and reason, at the moment that brings the row about."""
    assert decide(moment, one) == Verdict(status, reason)


@pytest.mark.parametrize(
    ("moment", "one"),
    [
        (Moment.ARRIVAL, case()),
        (Moment.ARRIVAL, quoting("so")),
        (Moment.ARRIVAL, case(assertion=Assertion(grounded=True, chain=[Retrieval()]))),
        (Moment.ARRIVAL, case(assertion_state(confidence=0.5))),
        (Moment.ARRIVAL, case(assertion_state(effect="external", text="It is sо."))),
        (Moment.EVIDENCE, case(corroborated(GREP))),
        (Moment.EVIDENCE, case(corroborated(GREP, GIT), now=1101)),
        (Moment.EVIDENCE, case(assertion_state(aged=True, annotated=False))),
        (Moment.NEWER, case()),
    ],
)
def test_where_no_row_holds_the_assertion_goes_on_waiting(moment: Moment, one: Case) -> None:
    """On the good side of each bound; at the end alone there is always a verdict."""
    assert decide(moment, one) is None


def test_the_rows_stand_in_the_order_of_the_design() -> None:
    """Statuses and reasons of the decision table, from the first to the last."""
    assert [(row.status, row.reason) for row in TABLE] == [
        ("admitted", None),
        ("rejected", "review"),
        (None, "declared-terminal"),
        ("unverified-inference", "unknown-class"),
        ("rejected", "ungrounded"),
        ("rejected", "citation-violation"),
        ("rejected", "low-confidence"),
        ("rejected", "confusable-text"),
        ("rejected", "fabricated-annotation"),
        ("contradicted", "contradicted"),
        ("contradicted", "session-failed"),
        ("admitted", None),
        ("rejected", "superseded"),
        ("below-floor", "partly-checked"),
        ("below-floor", "below-floor"),
        ("decayed-to-uncertainty", "aged-out"),
        ("unverified-inference", "not-checked"),
        ("unverified-inference", "session-only"),
        ("unverified-inference", "narrower-run"),
        ("unverified-inference", "stale-run"),
        ("unverified-inference", "no-run"),
        ("unverified-inference", "not-looked-at"),
        ("unverified-inference", "no-corroboration"),
        ("unannotated", "no-corroboration"),
    ]


EVERYTHING_WRONG = case(
    corroborated(GREP, GIT, text="He said “nоt so” to me.", confidence=0.1),
    Assertion(grounded=True, cites=Cites("ctx", strictly=True)),
    terminal="unverified-inference",
    unknown=True,
    fabricated=True,
    contradicted=True,
)
MENDED: list[tuple[str, dict[str, Any]]] = [
    ("declared-terminal", {"terminal": None}),
    ("unknown-class", {"unknown": False}),
    ("ungrounded", {"assertion": Assertion(cites=Cites("ctx", strictly=True))}),
    ("citation-violation", {"assertion": Assertion()}),
    ("low-confidence", {"state": corroborated(GREP, GIT, text="He said “nоt so” to me.")}),
    ("confusable-text", {"state": corroborated(GREP, GIT)}),
    ("fabricated-annotation", {"fabricated": False}),
    ("contradicted", {"contradicted": False}),
]


def test_of_several_rows_the_first_decides() -> None:
    """An assertion with everything wrong is told one thing at a time, in order, and is admitted when all is mended."""
    one = EVERYTHING_WRONG
    for reason, mending in MENDED:
        verdict = decide(Moment.ARRIVAL, one)
        assert verdict is not None
        assert verdict.reason == reason
        one = replace(one, **mending)

    assert decide(Moment.ARRIVAL, one) == Verdict("admitted", None)


def test_a_reviewer_is_above_everything() -> None:
    """Whatever is wrong: the person's word is the verdict."""
    assert decide(Moment.REVIEW, replace(EVERYTHING_WRONG, review="admit")) == Verdict("admitted", None)
    assert decide(Moment.REVIEW, replace(EVERYTHING_WRONG, review="refuse")) == Verdict("rejected", "review")


def test_every_reason_of_the_records_is_in_the_table() -> None:
    """Except `validity-ended`, which closes what was admitted, so that no reason is dead."""
    assert {row.reason for row in TABLE} - {None} == set(get_args(Reason)) - {"validity-ended"}


def test_every_row_names_its_source() -> None:
    """A rule without a section of a document would be nobody's."""
    assert all(row.source for row in TABLE)
    assert all(row.moments for row in TABLE)


def test_a_violation_says_where_the_quote_stands() -> None:
    """Offsets in the assertion's own text, without the quotation marks."""
    assert decisions.citation(quoting("not so")) == (9, 15)
    assert decisions.citation(quoting("so")) is None
    assert decisions.citation(replace(quoting("not so"), emission=None, assertion=None)) is None  # not on arrival
