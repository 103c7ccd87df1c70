"""One block of a story, told from the fold's own trace of it (streams/adjudication/trace.py).

The trace says what each event did; the block's records and the words on its outputs are told beside it. Nothing is
decided here, and nothing is folded a second time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...codecs.blocks import Block, Event
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import Fault
from ...codecs.records import Emission, Observation, Review
from ...codecs.spans import Span, parse_span_key, span_key
from ...codecs.times import format_time, parse_time
from ...streams.adjudication import trace
from ...streams.adjudication.outputs import source_of
from ...streams.adjudication.state import State
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import RedactionPolicy
from . import explanation
from .about import claims, emitter_of, is_bound, observed, reviewed
from .explained_checks import check_counts, checks, stated
from .log import Aside, ExplainLog, Timeline
from .read_decisions import DecisionSummary, decision_in
from .text import marked, shown_text

Record = Emission | Observation | Review
_DECODERS = {"emissions": decode_emission, "observations": decode_observation, "reviews": decode_review}
_BEFORE_EVIDENCE = frozenset(
    {
        *("declared-terminal", "unknown-class", "ungrounded", "citation-violation", "low-confidence"),
        *("confusable-text", "superseded", "review"),
    }
)
"""Reasons that have nothing to do with how far checks have come."""


class BlockTrace:
    """A block that was folded. The lane's state is only looked at.

    Args:
        log: so far; what this block adds to the story is added to it.
        state: the lane's, after the block.
        block: the one.
        entries: what the fold did in it, about the emission.
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
        self, event: Event, record: Record | Fault, entry: explanation.Input, entries: Sequence[trace.Entry]
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
        verdict = explanation.Verdict(
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
