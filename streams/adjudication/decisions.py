"""The decision table, as data: every status an assertion can get before admission, in the order that decides.

docs/reference/decisions.md is generated from it, row by row. `decide` walks the rows that a moment can bring about and
returns the first that holds. To add a reason, add a row and a test.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from ...codecs.records import Assertion, Emission, Reason, Status
from ...codecs.vocabulary import Terminal
from ..policy.policy import Policy
from ..sanitise import unexpected_confusables
from . import check_tally, corroboration, grounding
from .emission_state import A_LOOK, REASONS, AssertionState


class Moment(StrEnum):
    """What happened, so that a verdict may be due. Text, since that is hashed in C: 0.1 us a verdict."""

    ARRIVAL = "the emission came"
    EVIDENCE = "an observation came"
    NEWER = "a newer attempt came"
    END = "the pending time is over"
    REVIEW = "a reviewer has decided"


class Case(msgspec.Struct, gc=False):
    """What the rows look at. `emission` and `assertion` are there on arrival only.

    Attributes:
        terminal: the first terminal that the emitter declared [S §5].
        unknown: an annotation names a class of no loaded version [S §4].
    """

    state: AssertionState
    policy: Policy
    now: int
    emission: Emission | None = None
    assertion: Assertion | None = None
    terminal: Terminal | None = None
    unknown: bool = False
    fabricated: bool = False
    contradicted: bool = False
    newer: bool = False
    review: Literal["admit", "refuse"] | None = None


class Verdict(NamedTuple):
    """A row that holds: the status and, where the table gives one, the reason."""

    status: Status
    reason: Reason | None


class Row(NamedTuple):
    """One row. `status` None: the same terminal that the emitter declared."""

    status: Status | None
    reason: Reason | None
    source: str
    holds: Callable[[Case], bool]
    moments: frozenset[Moment]


def _review_admits(case: Case) -> bool:
    return case.review == "admit"


def _review_refuses(case: Case) -> bool:
    return case.review == "refuse"


def _declares_terminal(case: Case) -> bool:
    return case.terminal is not None


def _names_unknown_class(case: Case) -> bool:
    return case.unknown


def _ungrounded(case: Case) -> bool:
    assertion = case.assertion
    return assertion is not None and bool(assertion.grounded) and grounding.is_ungrounded(assertion)


def citation(case: Case) -> tuple[int, int] | None:
    """The quote that violates a strict citation, as offsets in the assertion's text."""
    if case.emission is None or case.assertion is None or case.assertion.cites is None:
        return None
    return grounding.citation_violation(case.emission, case.assertion, case.state.text)


def _violates_citation(case: Case) -> bool:
    return citation(case) is not None


def _low_confidence(case: Case) -> bool:
    confidence = case.state.confidence
    return confidence is not None and confidence < case.policy.admissibility.min_confidence


def _confusable(case: Case) -> bool:
    state = case.state
    if state.text.isascii():
        return False
    rule = case.policy.sanitation.confusables.of(state.effect)
    return rule == "reject" and unexpected_confusables(state.text, by="word")


def _fabricated(case: Case) -> bool:
    return case.fabricated


def _contradicted(case: Case) -> bool:
    return case.contradicted


def _session_says(reason: Reason) -> Callable[[Case], bool]:
    """A row of what the emitter's own session says of a statement about a result (grounding.py)."""
    number = REASONS.index(reason)
    return lambda case: case.state.session == number


def _superseded(case: Case) -> bool:
    return case.newer


def _enough(case: Case) -> bool:
    return corroboration.is_enough(case.state)


def _admissible(case: Case) -> bool:
    state = case.state
    if not check_tally.stands(state) or corroboration.validity(state) < case.now:
        return False
    return check_tally.covers_enough(state)


def _partly_checked(case: Case) -> bool:
    """Its checks stand, and speak of less of the sentence than the policy wants."""
    return _enough(case) and not check_tally.covers_enough(case.state)


def _too_few(case: Case) -> bool:
    """Too few classes, or of enough classes too few observers [S §11.3]."""
    return case.state.fresh > 0 and not _enough(case)


def _aged_out(case: Case) -> bool:
    return _enough(case) or case.state.aged


def _words_alone(case: Case) -> bool:
    """Its words were found, and what it says of them was not checked."""
    checking = case.state.checking
    return checking is not None and checking.found_words


def _not_looked_at(case: Case) -> bool:
    """No observer that may count has said anything of what it annotates, though it was waited for."""
    return case.state.annotated and case.state.look != A_LOOK and case.policy.admissibility.trust != "declared"


def _annotated(case: Case) -> bool:
    return case.state.annotated


def _always(case: Case) -> bool:
    return True


_ON_ARRIVAL = frozenset({Moment.ARRIVAL})
_ON_EVIDENCE = frozenset({Moment.ARRIVAL, Moment.EVIDENCE})
_ON_NEWER = frozenset({Moment.NEWER})
_ON_END = frozenset({Moment.END})
_ON_REVIEW = frozenset({Moment.REVIEW})

_BY_SESSION = "docs/recording.md"

TABLE: tuple[Row, ...] = (
    Row("admitted", None, "[S §7] a reviewer", _review_admits, _ON_REVIEW),
    Row("rejected", "review", "[S §7] a reviewer", _review_refuses, _ON_REVIEW),
    Row(None, "declared-terminal", "[S §5, §7]", _declares_terminal, _ON_ARRIVAL),
    Row("unverified-inference", "unknown-class", "[S §4, §8, §11.2]", _names_unknown_class, _ON_ARRIVAL),
    Row("rejected", "ungrounded", "[C §2, §3]", _ungrounded, _ON_ARRIVAL),
    Row("rejected", "citation-violation", "[C §4]", _violates_citation, _ON_ARRIVAL),
    Row("rejected", "low-confidence", "[C §7]", _low_confidence, _ON_ARRIVAL),
    Row("rejected", "confusable-text", "[V §4.3]", _confusable, _ON_ARRIVAL),
    Row("rejected", "fabricated-annotation", "[S §11.1]", _fabricated, _ON_EVIDENCE),
    Row("contradicted", "contradicted", "[S §2] case (iii)", _contradicted, _ON_EVIDENCE),
    Row("contradicted", "session-failed", _BY_SESSION, _session_says("session-failed"), _ON_ARRIVAL),
    Row("admitted", None, "[S §3, §7]", _admissible, _ON_EVIDENCE),
    Row("rejected", "superseded", "docs/reference/records.md, `attempt`", _superseded, _ON_NEWER),
    Row("below-floor", "partly-checked", "docs/checks.md", _partly_checked, _ON_END),
    Row("below-floor", "below-floor", "[S §7, §11.3]", _too_few, _ON_END),
    Row("decayed-to-uncertainty", "aged-out", "[S §5]", _aged_out, _ON_END),
    Row("unverified-inference", "not-checked", "docs/checks.md", _words_alone, _ON_END),
    Row("unverified-inference", "session-only", _BY_SESSION, _session_says("session-only"), _ON_END),
    Row("unverified-inference", "narrower-run", _BY_SESSION, _session_says("narrower-run"), _ON_END),
    Row("unverified-inference", "stale-run", _BY_SESSION, _session_says("stale-run"), _ON_END),
    Row("unverified-inference", "no-run", _BY_SESSION, _session_says("no-run"), _ON_END),
    Row("unverified-inference", "not-looked-at", "docs/checks.md", _not_looked_at, _ON_END),
    Row("unverified-inference", "no-corroboration", "[S §5]", _annotated, _ON_END),
    Row("unannotated", "no-corroboration", "[S §5]", _always, _ON_END),
)

_ROWS = {moment: tuple((row.holds, row) for row in TABLE if moment in row.moments) for moment in Moment}


def decide(moment: Moment, case: Case) -> Verdict | None:
    """The first row that holds, or None: the assertion goes on waiting."""
    for holds, row in _ROWS[moment]:
        if holds(case):
            status = row.status or case.terminal
            assert status is not None, "only the row of declared terminals has no status of its own"
            return Verdict(status, row.reason)
    return None
