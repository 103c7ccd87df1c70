"""The story of one emission: what the lane said about it, block by block, and how everything stands at the end.

What was *said* is read off the lane's own outputs; only what was discarded, which has none, off the copy in which the
block's events were gone through (block_trace.py). Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...codecs.blocks import Block, Output
from ...codecs.times import format_time
from ...streams.adjudication import standing
from ...streams.adjudication.emission_state import AssertionState, Phase
from ...streams.adjudication.outputs import ADMITTED, DEAD_LETTERS, INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import Policy
from . import explanation
from .block_trace import BlockTrace
from .checks import counts
from .discarded import Decision, DecisionOutput, decisions_in, is_discarded
from .explanation_checks import Check, CheckCount
from .log import ExplainLog, Timeline, still
from .text import marked

_OPEN = ("admitted", "renewed")
"""Words after which an assertion lives on."""
_BEFORE_EVIDENCE = frozenset(
    {
        *("declared-terminal", "unknown-class", "ungrounded", "citation-violation", "low-confidence"),
        *("confusable-text", "superseded", "review"),
    }
)
"""Reasons that have nothing to do with how far checks have come."""


class ExplanationBuilder:
    """For each block that may touch the emission: `open` before its fold, `close` after it; in the end `tell`."""

    def __init__(self, emission_id: str) -> None:
        self._book = ExplainLog(emission_id)

    @property
    def inputs(self) -> list[explanation.Input]:
        """Every input about the emission so far, in the ledger's order."""
        return self._book.inputs

    def open(self, state: State, block: Block, places: Sequence[int], policy: Policy) -> BlockTrace:
        """Reads a block that is about to be folded; see `BlockTrace`."""
        return BlockTrace(self._book, state, block, places, policy)

    # ------------------------------------------------------------ after the fold

    def close(self, trace: BlockTrace, state: State, outputs: Sequence[Output]) -> None:
        """Puts the lane's own words in, and notes what ended without one.

        Args:
            chapter: what `open` gave.
            state: the lane's, after the block; it is only read.
            outputs: of the block.
        """
        own = f"{self._book.emission_id}#".encode()
        words = list(
            decisions_in(one for one in outputs if one.topic != DEAD_LETTERS and (one.key or b"").startswith(own))
        )
        awaited = [one for one in words if one.word.status != "renewed"]
        requests = {
            (timeline, one.word.revision): one.word
            for timeline, one, _ in trace.script
            if isinstance(one, DecisionOutput) and one.topic not in (ADMITTED, INADMISSIBLE)
        }
        known = state.known(self._book.emission_id)
        for timeline, one, checks in trace.script:
            if isinstance(one, explanation.Event):
                self._add(timeline, one)
            elif not is_discarded(trace.policy, one.topic, one.word):
                # Where more is due than a block fires, the copy may be ahead of the lane: a later block has it.
                if awaited and _named(awaited[0]) == _named(one):
                    self._emit(trace, timeline, awaited.pop(0), checks)
            elif one.topic == INADMISSIBLE and self._state_of(state, timeline) is None:
                request = requests.get((timeline, one.word.revision), one.word)
                self._say(trace, timeline, DecisionOutput("", one.span_key, request), checks, disposition="discard")
        for one in (*awaited, *(one for one in words if one.word.status == "renewed")):
            timeline = self._book.current[one.word.attempt, one.span_key]
            assertion_state = self._state_of(state, timeline)
            self._emit(trace, timeline, one, [] if assertion_state is None else counts(assertion_state))
        self._end(trace, state, words)
        waiting = [] if known is None else known.waiting
        candidates = [one for one in (*self._book.aside, *trace.came) if one not in trace.matched]
        self._book.aside, gone = still(candidates, waiting)
        for one in gone:
            one.input.fate, one.input.settled_at = "unmatched", trace.time

    def _end(self, trace: BlockTrace, state: State, words: Iterable[DecisionOutput]) -> None:
        """What lives no more: by its own last word, or without one."""
        for timeline in self._book.timelines:
            if not timeline.is_live or self._state_of(state, timeline) is not None:
                continue
            timeline.is_live = False
            last = timeline.verdicts[-1] if timeline.verdicts else None
            if last is not None and last.height == trace.height and last.status not in _OPEN:
                continue
            newer = [
                one.word.attempt
                for one in words
                if (one.topic, one.span_key) == (ADMITTED, timeline.span_key) and one.word.attempt > timeline.attempt
            ]
            ended = explanation.Event(**trace.at, what="ended", why="newer-attempt" if newer else "review-window-over")
            ended.by_attempt = newer[0] if newer else UNSET
            self._add(timeline, ended)

    def _emit(self, trace: BlockTrace, timeline: Timeline, one: DecisionOutput, checks: list[CheckCount]) -> None:
        word = one.word
        self._say(
            trace,
            timeline,
            one,
            checks,
            revision=word.revision,
            topic=one.topic,
            id=word.id,
            disposition=word.disposition,
            valid_until=word.valid_until,
            policy=word.policy,
            ledger=word.ledger,
        )

    def _say(
        self, trace: BlockTrace, timeline: Timeline, one: DecisionOutput, checks: list[CheckCount], **fields: Any
    ) -> None:
        word = one.word
        verdict = explanation.Verdict(
            **trace.at,
            status=word.status,
            k=word.k,
            classes=word.classes,
            reason=word.reason,
            basis=word.basis,
            missing_floor=word.missing_floor,
            classes_seen=word.classes_seen,
            min_observers=word.min_observers,
            missing_observers=word.missing_observers,
            rendered=word.frame.rendered,
            assertion=word.frame.assertion or UNSET,
            marked=_marked(trace.policy, timeline, word),
            coverage=word.coverage,
            unchecked=word.unchecked,
            checks=checks if checks and word.reason not in _BEFORE_EVIDENCE else UNSET,
            **fields,
        )
        timeline.verdicts.append(verdict)
        self._add(timeline, explanation.Event(**trace.at, what="verdict", verdict=verdict))

    def _add(self, timeline: Timeline, event: explanation.Event) -> None:
        timeline.moments.append((event.height, self._book.next(), event))

    def _state_of(self, state: State, timeline: Timeline) -> AssertionState | None:
        """The state of a timeline's assertion; of a forgotten attempt that came again, only the later has one."""
        attempt = state.attempt(self._book.emission_id, timeline.attempt)
        if attempt is None or self._book.current[timeline.attempt, timeline.span_key] is not timeline:
            return None
        return attempt.assertion(timeline.span_key)

    # ------------------------------------------------------------ at the end

    def tell(self, state: State, now: int) -> tuple[list[explanation.Attempt], list[explanation.Assertion]]:
        """The attempts and the assertions, as they stand at the ledger's end; `now` is Unix ms."""
        for timeline in self._book.timelines:
            for claim in timeline.facts["claims"]:
                if claim.observation_id in self._book.bound:
                    claim.observation_id = claim.locator = UNSET
        return self._book.attempts, [self._assertion(state, timeline, now) for timeline in self._book.timelines]

    def _assertion(self, state: State, timeline: Timeline, now: int) -> explanation.Assertion:
        assertion_state = self._state_of(state, timeline) if timeline.is_live else None
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
            events=[event for *_, event in sorted(timeline.moments, key=lambda moment: moment[:2])],
            verdicts=timeline.verdicts,
            classes=classes,
            classes_seen=seen,
            missing_floor=_missing(timeline, assertion_state, len(classes)),
            now=_now(timeline, assertion_state, now),
        )


def _marked(policy: Policy, timeline: Timeline, word: Decision) -> str | UnsetType:
    """The emitter's words with what no check speaks of in double brackets; nothing where no check was verified."""
    if word.coverage is UNSET or word.coverage == "whole":
        return UNSET
    of, spans = timeline.stated, [] if word.unchecked is UNSET else word.unchecked
    return marked(policy, of.text, of.effect, spans)


def _checks(timeline: Timeline, assertion_state: AssertionState | None) -> list[Check]:
    """The assertion's checks, while it lives with how far each has come."""
    checks: list[Check] = timeline.facts["checks"]
    if assertion_state is None or assertion_state.kind == "refusal":
        return checks
    return [
        Check(check=one.check, unknown=one.unknown, count=count)
        for one, count in zip(checks, counts(assertion_state), strict=True)
    ]


def _missing(timeline: Timeline, assertion_state: AssertionState | None, classes: int) -> int:
    """How many classes more it would need, of the check that has the fewest."""
    if assertion_state is not None:
        return standing.missing(assertion_state)
    last = timeline.verdicts[-1] if timeline.verdicts else None
    if last is None or last.checks is UNSET or last.status in _OPEN:
        return max(0, timeline.facts["k"] - classes)
    return max([0, *(one.k - one.counted for one in last.checks)])


def _named(one: DecisionOutput) -> tuple[str, str, int, str]:
    return one.topic, one.span_key, one.word.attempt, one.word.status


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
