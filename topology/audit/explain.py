"""`sluice explain`: the story of one emission, from the ledger alone.

What each block said about it comes from the fold's own trace (streams/adjudication/trace.py); the timeline of each
assertion and how everything stands at the end are made from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

from msgspec import UNSET, UnsetType

from ...codecs.blocks import Block, Event, Header, Output
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.identifiers import Span, parse_span_key, span_key
from ...codecs.partition import PARTITIONERS, Partitioner
from ...codecs.records import Emission, Observation, Review
from ...codecs.times import format_time, parse_time
from ...streams.adjudication import check_tally, trace
from ...streams.adjudication import fold as core
from ...streams.adjudication.emission_state import AssertionState, Phase
from ...streams.adjudication.outputs import ADMITTED, INADMISSIBLE, source_of
from ...streams.adjudication.state import State
from ...streams.adjudication.timers import WATERMARK
from ...streams.adjudication.trace import Entry, FoldTrace
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import NO_SECRETS, RedactionPolicy, Secrets
from ..engine.folds import Adjudicate, partitioner_of
from ..engine.interfaces import Logs, no_progress
from ..engine.replay import beginning, blocks_of, replay
from . import explanation
from .emission_facts import (
    About,
    DecisionSummary,
    Stated,
    check_counts,
    checks,
    claims,
    counts,
    decision_in,
    emitter_of,
    is_bound,
    observed,
    reviewed,
    stated,
)
from .explanation import Check, Explanation
from .explanation_words import marked, shown_text


@dataclass(eq=False)
class Timeline:
    """One assertion of one attempt. `moments` are (height, number, event): the order of the telling."""

    attempt: int
    span_key: str
    stated: Stated
    facts: dict[str, Any]
    moments: list[tuple[int, int, explanation.Event]] = field(default_factory=list[tuple[int, int, explanation.Event]])
    verdicts: list[explanation.VerdictView] = field(default_factory=list[explanation.VerdictView])

    @property
    def events(self) -> list[explanation.Event]:
        """In the order in which they happened."""
        return [event for *_, event in sorted(self.moments, key=lambda moment: moment[:2])]


@dataclass(eq=False)
class Aside:
    """An observation that waits for its assertion, and the number of the moment at which it came."""

    record: bytes
    input: explanation.Input
    number: int


@dataclass(eq=False)
class ExplainLog:
    """Everything that is known so far.

    Attributes:
        current: the latest timeline of an attempt's span; an attempt that was forgotten may come again.
        aside: what the lane keeps waiting for this emission, by the number that the fold gives it (`PutAside.order`).
        bound: ids of identity-bound observations, which claims must not show either [S §12].
    """

    emission_id: str
    inputs: list[explanation.Input] = field(default_factory=list[explanation.Input])
    attempts: list[explanation.Attempt] = field(default_factory=list[explanation.Attempt])
    timelines: list[Timeline] = field(default_factory=list[Timeline])
    current: dict[tuple[int, str], Timeline] = field(default_factory=dict[tuple[int, str], Timeline])
    aside: dict[int, Aside] = field(default_factory=dict[int, Aside])
    bound: set[str] = field(default_factory=set[str])
    number: int = 0

    def next(self) -> int:
        """The number of the next moment."""
        self.number += 1
        return self.number

    def add(self, timeline: Timeline, event: explanation.Event) -> None:
        """The next moment of an assertion."""
        timeline.moments.append((event.height, self.next(), event))


EmissionRecord = Emission | Observation | Review
_DECODERS = {"emissions": decode_emission, "observations": decode_observation, "reviews": decode_review}
_BEFORE_EVIDENCE = frozenset(
    {
        *("declared-terminal", "unknown-class", "ungrounded", "citation-violation", "low-confidence"),
        *("confusable-text", "superseded", "review"),
    }
)
"""Reasons that have nothing to do with how far checks have come."""


class BlockTrace:
    """A block that was folded, added to the story in `log`. The lane's `state` after it is only looked at; `entries`
    are what the fold did.
    """

    def __init__(self, log: ExplainLog, state: State, block: Block, entries: Iterable[trace.Entry]) -> None:
        assert state.policy is not None, "a ledger begins with a policy"
        self._log, self._block, self._policy = log, block, state.policy
        self._at: dict[str, Any] = {"at": format_time(block.header.time), "height": block.header.height}
        secret = state.secrets.named(block.header.fold, state.policy.privacy)
        self._redaction = RedactionPolicy(state.policy.privacy, secret)
        self._entries: dict[int, list[trace.Entry]] = {}
        for entry in entries:
            self._entries.setdefault(entry.event, []).append(entry)

    def tell(self, places: Sequence[int]) -> None:
        """Adds the block to the story; `places` are those of its events that are about the emission."""
        self._happen(self._entries.get(trace.CLOCKS, ()))
        for place in places:
            event, entries = self._block.events[place], self._entries.get(place, ())
            entry = explanation.Input(**self._at, index=place, source=source_of(self._block, event), fate="taken-in")
            self._log.inputs.append(entry)
            decode = _DECODERS.get(self._block.header.sources[event.source].topic)
            record = Fault("schema", "") if decode is None else decode(event.value)
            refused = next((one.fault for one in entries if isinstance(one, trace.Refused)), None)
            if refused is not None:
                entry.fate, entry.why, entry.detail = "dead-letter", refused.reason, refused.detail
            if isinstance(record, Emission):
                self._emission(record, entry, entries)
            else:
                self._other(event, record, entry, entries)
        self._happen(self._entries.get(trace.END, ()))

    # ------------------------------------------------------------ inputs

    def _emission(self, emission: Emission, entry: explanation.Input, entries: Sequence[trace.Entry]) -> None:
        entry.attempt = emission.attempt
        if entry.fate == "dead-letter":
            return
        if any(isinstance(one, trace.Repeated) for one in entries):
            entry.fate = "duplicate"
            return
        attempts = self._log.attempts
        for attempt in attempts:
            if attempt.attempt < emission.attempt:
                attempt.superseded_by = emission.attempt
        newest = max((one.attempt for one in attempts), default=-1)
        attempts.append(
            explanation.Attempt(
                **self._at,
                attempt=emission.attempt,
                source=entry.source,
                emitted_at=format_time(parse_time(emission.emitted_at) or 0),
                policy=self._block.header.policy,
                assertions=len(emission.assertions or ()),
                emitter=emitter_of(emission),
                superseded_by=newest if newest > emission.attempt else UNSET,
            )
        )
        self._begin(emission, entry, [one for one in entries if isinstance(one, trace.Began)])
        self._happen(entries)

    def _begin(self, emission: Emission, entry: explanation.Input, began: Sequence[trace.Began]) -> None:
        """A timeline for each assertion of an emission that was taken in."""
        for assertion, of in zip(emission.assertions or (), began, strict=True):
            said = stated(emission, assertion, of.effect)
            facts: dict[str, Any] = {
                "span": _span(of.span_key),
                "text": shown_text(self._policy, said.text, of.effect),
                "kind": assertion.kind,
                "effect": of.effect,
                "k": of.k,
                "form": said.form,
                "checks": checks(self._policy, said),
                "min_observers": UNSET if of.min_observers == 1 else of.min_observers,
                "claims": claims(self._redaction, emission, assertion),
                "grounded": UNSET if assertion.grounded is None else assertion.grounded,
                "confidence": UNSET if assertion.confidence is None else assertion.confidence,
            }
            timeline = Timeline(of.attempt, of.span_key, said, facts)
            self._log.timelines.append(timeline)
            self._log.current[of.attempt, of.span_key] = timeline
            self._log.add(timeline, explanation.Event(**self._at, what="claimed", source=entry.source, k=of.k))

    def _other(
        self, event: Event, record: EmissionRecord | Fault, entry: explanation.Input, entries: Sequence[trace.Entry]
    ) -> None:
        """An observation, a review, or what nobody can read."""
        timeline = None
        if isinstance(record, Observation | Review):
            subject = record.subject if isinstance(record, Observation) else record
            entry.attempt, entry.span_key = subject.attempt, span_key(subject.span)
            if subject.emission_id == self._log.emission_id:
                timeline = self._log.current.get((entry.attempt, entry.span_key))
        if isinstance(record, Review):
            entry.review = reviewed(record)
        elif isinstance(record, Observation):
            if is_bound(record):
                self._log.bound.add(record.observation_id)
            said = None if timeline is None else timeline.stated
            entry.observation = observed(self._policy, self._redaction, record, said)
        weighed: trace.Weighed | None = None
        for one in entries:
            if isinstance(one, trace.PutAside):
                entry.fate, timeline = "waiting", None
                self._log.aside[one.order] = Aside(event.value or b"", entry, self._log.next())
            elif isinstance(one, trace.Weighed):
                weighed, entry.fate, entry.why = one, one.fate, one.why or UNSET
            elif isinstance(one, trace.Reviewed) and one.why:
                entry.fate, entry.why = "not-counted", one.why
        if entry.fate == "taken-in":
            entry.fate = "decided"
        if timeline is not None:
            self._log.add(timeline, _moment(entry, weighed, timeline))
        self._happen(entries)

    # ------------------------------------------------------------ what the fold did

    def _happen(self, entries: Iterable[trace.Entry]) -> None:
        """Decisions and ends, and the fates of evidence that waited."""
        for one in entries:
            match one:
                case trace.Decided():
                    self._decided(one)
                case trace.Ended():
                    why = "review-window-over" if one.by_attempt < 0 else "newer-attempt"
                    ended = explanation.Event(**self._at, what="ended", why=why)
                    ended.by_attempt = UNSET if one.by_attempt < 0 else one.by_attempt
                    self._log.add(self._timeline(one), ended)
                case trace.Weighed() if one.order >= 0:
                    self._matched(one)
                case trace.Unmatched():
                    entry = self._log.aside.pop(one.order).input
                    entry.fate, entry.settled_at = "unmatched", self._at["at"]
                case _:
                    pass

    def _matched(self, one: trace.Weighed) -> None:
        """Evidence that waited, and has met its assertion: it is told where it came."""
        aside, timeline = self._log.aside.pop(one.order), self._timeline(one)
        entry, observation = aside.input, decode_observation(aside.record)
        assert isinstance(observation, Observation), "it was decoded when it came"
        entry.observation = observed(self._policy, self._redaction, observation, timeline.stated)
        entry.settled_at, entry.fate, entry.why = self._at["at"], one.fate, one.why or UNSET
        timeline.moments.append((entry.height, aside.number, _moment(entry)))

    def _decided(self, one: trace.Decided) -> None:
        """A record about an assertion; of what was discarded, what it would have said."""
        timeline, output = self._timeline(one), decision_in(one.output)
        decision, more = output.decision, dict[str, Any]()
        if one.disposition == "discard":
            more["disposition"] = "discard"
        else:
            more["topic"] = output.topic
            for name in ("revision", "id", "disposition", "valid_until", "policy", "ledger"):
                more[name] = getattr(decision, name)
        is_weighed = decision.reason not in _BEFORE_EVIDENCE and timeline.facts["kind"] != "refusal"
        verdict = explanation.VerdictView(
            **self._at,
            status=decision.status,
            k=decision.k,
            classes=decision.classes,
            reason=decision.reason,
            basis=decision.basis,
            missing_floor=decision.missing_floor,
            classes_seen=decision.classes_seen,
            min_observers=decision.min_observers,
            missing_observers=decision.missing_observers,
            rendered=decision.frame.rendered,
            assertion=decision.frame.assertion or UNSET,
            marked=_marked(self._policy, timeline, decision),
            coverage=decision.coverage,
            unchecked=decision.unchecked,
            checks=(check_counts(one.checks) if is_weighed else None) or UNSET,
            **more,
        )
        timeline.verdicts.append(verdict)
        self._log.add(timeline, explanation.Event(**self._at, what="verdict", verdict=verdict))

    def _timeline(self, one: trace.OfAssertion) -> Timeline:
        return self._log.current[one.attempt, one.span_key]


def _span(key: str) -> Span | None:
    """As outputs have it: a pointer's names are the emitter's words, so it stands percent-encoded, as in the key."""
    return Span(path=key[2:]) if key.startswith("p:") else parse_span_key(key)


def _moment(
    entry: explanation.Input, weighed: trace.Weighed | None = None, timeline: Timeline | None = None
) -> explanation.Event:
    """An input as a moment of its assertion's; of what has just counted also how many classes do now."""
    moment = explanation.Event(
        at=entry.at,
        height=entry.height,
        what="observed" if entry.review is UNSET else "reviewed",
        source=entry.source,
        fate=entry.fate,
        why=entry.why,
        detail=entry.detail,
        observation=entry.observation,
        review=entry.review,
    )
    if timeline is not None and weighed is not None and weighed.fate == "counted":
        moment.counted, moment.k, moment.short = weighed.classes, timeline.facts["k"], weighed.short or UNSET
    return moment


def _marked(policy: Policy, timeline: Timeline, decision: DecisionSummary) -> str | UnsetType:
    """The emitter's words with what no check speaks of in double brackets; nothing where no check was verified."""
    if decision.coverage is UNSET or decision.coverage == "whole":
        return UNSET
    of, spans = timeline.stated, [] if decision.unchecked is UNSET else decision.unchecked
    return marked(policy, of.text, of.effect, spans)


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
            **cast("Any", {**timeline.facts, "checks": _checks(timeline, assertion_state)}),
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
        return check_tally.missing(assertion_state)
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


Progress = Callable[[int, int, int], None]
"""Told after each block: its offset in the ledger, the first offset, and the end."""


class Watching(Adjudicate):
    """The lanes' own fold, which also notes what becomes of one emission. Its outputs are those of the fold.

    `emission_id` is the emission's; `partitioner` and `secrets` are those of `Adjudicate`.
    """

    def __init__(self, emission_id: str, partitioner: Partitioner, secrets: Secrets = NO_SECRETS) -> None:
        super().__init__(partitioner, secrets)
        self.builder = ExplanationBuilder(emission_id)
        self._emission_id, self._about = emission_id, About(emission_id)
        self._due: tuple[int | None, int | None] = (None, None)  # of the emission, on the watermark and on time

    def fold(self, state: State, block: Block) -> list[Output]:
        """Folds a block; where it may be about the emission, with a trace, which goes to the builder."""
        places = self._about.places(block)
        in_force = state.next_policy or state.policy
        if in_force is None or not (places or self._may_fire(state, block.header)):
            return super().fold(state, block)
        trace = FoldTrace(self._emission_id)
        outputs = core.fold(state, block, trace)
        self.builder.add(state, block, places, trace.entries)
        self._due = _next_due(state, self._emission_id)
        return outputs

    def _may_fire(self, state: State, header: Header) -> bool:
        """Whether something of the emission may be due in this block: it is, or `max_stall` might make it so."""
        waits, expires = self._due
        time = max(state.time, header.time)
        if expires is not None and time > expires:
            return True
        if waits is None:
            return False
        # What has run for `horizon + max_stall` began at least as long ago (`State.evidence_mark`).
        policies = [policy for policy in (state.policy, state.next_policy) if policy is not None]
        stalled = time - min(policy.admissibility.max_stall for policy in policies)
        return max(header.watermark, state.watermark, stalled) > waits


def _next_due(state: State, emission_id: str) -> tuple[int | None, int | None]:
    known = state.known(emission_id)
    items = [] if known is None else [item for item in known.items() if item.due is not None]
    waits = [item.due for item in items if item.clock == WATERMARK and item.due is not None]
    expires = [item.due for item in items if item.clock != WATERMARK and item.due is not None]
    return min(waits, default=None), min(expires, default=None)


async def explain(
    logs: Logs, emission_id: str, span_key: str | None, now: int, progress: Progress = no_progress
) -> Explanation:
    """Returns the story of an emission, or of its assertions with one span.

    `span_key` is canonical, such as `c:0-43`; None for all. `now` (Unix ms) is to say whether what was admitted still
    holds; `progress` is told how far the reading of `logs` has come.

    Raises:
        DoesNotHoldError: the ledger knows nothing of the emission (`emission_id`) or the span, or does not hold.
        UnreachableError: no broker answers.
        UsageError: the ledger's identifiers are hashed with a secret that is not given.
    """
    partitioner = await partitioner_of(logs)
    lane = PARTITIONERS[partitioner](emission_id.encode(), logs.lanes)
    fold = Watching(emission_id, partitioner, logs.secrets)
    first, end = await logs.range("ledger", lane)
    at = beginning(fold, lane, logs.lanes)
    async with aclosing(blocks_of(logs, lane)) as blocks:
        async for folded in replay(blocks, fold, lane=lane, lanes=logs.lanes, start=at):
            at = folded.restored
            progress(folded.offset, first, end)
    tip = at.tip
    ledger = {"where": logs.where, "height": tip.height, "block": tip.hash, "time": format_time(tip.time)}
    attempts, assertions = fold.builder.tell(at.state, now)
    explanation = Explanation(
        emission_id=emission_id,
        lane=lane,
        lanes=logs.lanes,
        ledger=ledger,
        attempts=attempts,
        assertions=assertions,
        inputs=fold.builder.inputs,
    )
    if not explanation.inputs:
        raise DoesNotHoldError(
            f"nothing about the emission {emission_id!r} stands in the ledger of lane {lane}",
            path=logs.where,
            hint="check the id; an input under another key is in that key's lane",
        )
    return explanation if span_key is None else _only(explanation, span_key)


def _only(explanation: Explanation, span_key: str) -> Explanation:
    """The part of a story that is about one span. Inputs that name no span are about all of them."""
    assertions = [one for one in explanation.assertions if one.span_key == span_key]
    inputs = [one for one in explanation.inputs if one.span_key in (span_key, UNSET)]
    if not assertions and not any(one.span_key == span_key for one in inputs):
        spans = sorted({one.span_key for one in explanation.assertions})
        raise DoesNotHoldError(
            f"the emission {explanation.emission_id!r} has no assertion with the span {span_key}",
            expected="one of " + ", ".join(spans[:10]) if spans else "",
        )
    explanation.assertions, explanation.inputs = assertions, inputs
    return explanation
