"""The story of one emission: what the lane said about it, block by block, and how everything stands at the end.

What happened in a block is told from the fold's trace of it (block_trace.py). Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET

from ...codecs.blocks import Block
from ...codecs.times import format_time
from ...streams.adjudication import standing
from ...streams.adjudication.emission_state import AssertionState, Phase
from ...streams.adjudication.outputs import ADMITTED, INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.adjudication.trace import Entry
from . import explanation
from .block_trace import BlockTrace
from .explained_checks import counts
from .explanation_checks import Check
from .log import ExplainLog, Timeline

_OPEN = ("admitted", "renewed")
"""Words after which an assertion lives on."""


class ExplanationBuilder:
    """For each block that may touch the emission: `add` after its fold; in the end `tell`."""

    def __init__(self, emission_id: str) -> None:
        self._log = ExplainLog(emission_id)

    @property
    def inputs(self) -> list[explanation.Input]:
        """Every input about the emission so far, in the ledger's order."""
        return self._log.inputs

    def add(self, state: State, block: Block, places: Sequence[int], entries: Iterable[Entry]) -> None:
        """Adds a block to the story; the arguments are those of `BlockTrace` and of its `tell`."""
        BlockTrace(self._log, state, block, entries).tell(places)

    # ------------------------------------------------------------ at the end

    def tell(self, state: State, now: int) -> tuple[list[explanation.Attempt], list[explanation.Assertion]]:
        """The attempts and the assertions, as they stand at the ledger's end; `now` is Unix ms."""
        for timeline in self._log.timelines:
            for claim in timeline.facts["claims"]:
                if claim.observation_id in self._log.bound:
                    claim.observation_id = claim.locator = UNSET
        return self._log.attempts, [self._assertion(state, timeline, now) for timeline in self._log.timelines]

    def _state_of(self, state: State, timeline: Timeline) -> AssertionState | None:
        """The state of an assertion; of an attempt that was forgotten and came again, only the later one has one."""
        attempt = state.attempt(self._log.emission_id, timeline.attempt)
        if attempt is None or self._log.current[timeline.attempt, timeline.span_key] is not timeline:
            return None
        return attempt.assertion(timeline.span_key)

    def _assertion(self, state: State, timeline: Timeline, now: int) -> explanation.Assertion:
        assertion_state = self._state_of(state, timeline)
        last = timeline.verdicts[-1] if timeline.verdicts else None
        if assertion_state is not None:
            classes = sorted(seen.substrate_class for seen in assertion_state.seen if seen.ts >= 0)
            seen = sorted(seen.substrate_class for seen in assertion_state.seen if seen.latest >= 0 or seen.ts >= 0)
        else:
            classes = last.classes if last is not None else []
            seen = next(
                (one.classes_seen for one in reversed(timeline.verdicts) if one.classes_seen is not UNSET), UNSET
            )
        shown = next((one for one in reversed(timeline.verdicts) if one.rendered is not UNSET), None)
        return explanation.Assertion(
            **{**timeline.facts, "checks": _checks(timeline, assertion_state)},
            rendered=UNSET if shown is None else shown.rendered,
            marked=UNSET if shown is None else shown.marked,
            span_key=timeline.span_key,
            attempt=timeline.attempt,
            events=timeline.events,
            verdicts=timeline.verdicts,
            classes=classes,
            classes_seen=seen,
            missing_floor=_missing(timeline, assertion_state, len(classes)),
            now=_now(timeline, assertion_state, now),
        )


def _checks(timeline: Timeline, assertion_state: AssertionState | None) -> list[Check]:
    """The assertion's checks, while it lives with how far each has come."""
    checks: list[Check] = timeline.facts["checks"]
    if assertion_state is None or assertion_state.kind == "refusal":
        return checks
    known = counts(assertion_state)  # of what observers told, none before one of them has
    return [
        Check(check=one.check, unknown=one.unknown, count=known[place] if place < len(known) else UNSET)
        for place, one in enumerate(checks)
    ]


def _missing(timeline: Timeline, assertion_state: AssertionState | None, classes: int) -> int:
    """How many classes more it would need, of the check that has the fewest."""
    if assertion_state is not None:
        return standing.missing(assertion_state)
    last = timeline.verdicts[-1] if timeline.verdicts else None
    if last is None or last.checks is UNSET or last.status in _OPEN:
        return max(0, timeline.facts["k"] - classes)
    return max([0, *(one.k - one.counted for one in last.checks)])


def _now(timeline: Timeline, assertion_state: AssertionState | None, now: int) -> explanation.Now:
    """How an assertion stands: by its state where it has one, else by its last decision."""
    as_of = format_time(now)
    if assertion_state is not None and assertion_state.phase == Phase.PENDING:
        return explanation.Now(
            status="pending", as_of=as_of, holds=False, waits_for="evidence", until=_time(assertion_state.due)
        )
    # A refusal that a policy substitutes says what is done about a decision, not what was decided.
    decided = [
        one for one in timeline.verdicts if one.topic in (UNSET, ADMITTED, INADMISSIBLE) and one.basis != "policy"
    ]
    last = decided[-1]
    valid = next((one.valid_until for one in reversed(decided) if one.valid_until is not UNSET), UNSET)
    stands = explanation.Now(
        status=last.status,
        as_of=as_of,
        holds=False,
        reason=last.reason,
        disposition=last.disposition,
        valid_until=valid,
    )
    if assertion_state is not None and assertion_state.phase == Phase.REVIEW:
        stands.waits_for, stands.until = "reviewer", _time(assertion_state.due)
    elif assertion_state is not None:
        stands.valid_until, stands.holds = format_time(assertion_state.valid_until), now <= assertion_state.valid_until
    elif last.status in _OPEN:
        stands.status = "ended"
    return stands


def _time(due: int | None) -> str:
    return format_time(due or 0)
