"""One block of a story: what each of its events about the emission did, read off a copy of what the lane knew of it.

Inputs get their fates here, in the order in which the block has them (isolated.py says how). What the lane itself
then said, and what is left waiting, is filled in by timeline.py once the block is folded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from ...codecs.blocks import Block, Event
from ...codecs.decode import decode_emission, decode_observation, decode_review
from ...codecs.errors import Fault
from ...codecs.records import Emission, Observation, Review
from ...codecs.spans import Span, parse_span_key, span_key
from ...codecs.times import format_time, parse_time
from ...streams.adjudication import standing
from ...streams.adjudication.emission_state import AssertionState, PendingEvidence, Phase
from ...streams.adjudication.outputs import source_of
from ...streams.adjudication.state import State
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import RedactionPolicy
from . import explanation
from .about import claims, emitter_of, is_bound, observed, reviewed
from .checks import checks, counts, stated
from .isolated import IsolatedFold, Step
from .log import Aside, Beat, ExplainLog, Timeline, still
from .text import shown_text
from .why import why_not

Record = Emission | Observation | Review
_DECODERS = {"emissions": decode_emission, "observations": decode_observation, "reviews": decode_review}


class BlockTrace:
    """A block, read before the lane folds it. The lane's state is only looked at.

    Attributes:
        policy: in force in the block; `redaction`: what it lets out.
        script: in order, what the copy said, and the events between the words.
        came: evidence that this block put aside; `matched`: that it took from there.
    """

    def __init__(self, book: ExplainLog, state: State, block: Block, places: Sequence[int], policy: Policy) -> None:
        """
        Args:
            book: so far; inputs, attempts and tales are added to it.
            state: the lane's, before the block.
            block: about to be folded.
            places: of the events that are about the emission.
            policy: in force in this block.
        """
        self.policy, self.time, self.height = policy, format_time(block.header.time), block.header.height
        self.redaction = RedactionPolicy(policy.privacy, state.secrets.named(block.header.fold, policy.privacy))
        self.script: list[Beat] = []
        self.came, self.matched = list[Aside](), list[Aside]()
        self._book, self._block, self._isolated = book, block, IsolatedFold(state, book.emission_id)
        before = self._isolated.copy().assertion_state
        self._note(self._isolated.step(block.header, None), before)
        pool, _ = still(book.aside, self._isolated.known.waiting)
        for place in places:
            event, record = block.events[place], _record(block, block.events[place])
            entry = explanation.Input(**self.at, index=place, source=source_of(block, event), fate="taken-in")
            book.inputs.append(entry)
            if isinstance(record, Emission):
                pool = self._emission(event, record, entry, pool)
            else:
                pool = self._other(event, record, entry, pool)

    @property
    def at(self) -> dict[str, Any]:
        """When and where everything in it happened."""
        return {"at": self.time, "height": self.height}

    def _emission(self, event: Event, emission: Emission, entry: explanation.Input, pool: list[Aside]) -> list[Aside]:
        before, waiting = self._isolated.copy(), list(self._isolated.known.waiting)
        step = self._isolated.step(self._block.header, event)
        entry.attempt = emission.attempt
        if _is_refused(entry, step):
            return pool
        if step.counted["duplicate"]:
            entry.fate = "duplicate"
            return pool
        for attempt in self._book.attempts:
            if attempt.attempt < emission.attempt:
                attempt.superseded_by = emission.attempt
        newest = max((one.attempt for one in self._book.attempts), default=-1)
        self._book.attempts.append(
            explanation.Attempt(
                **self.at,
                attempt=emission.attempt,
                source=entry.source,
                emitted_at=format_time(parse_time(emission.emitted_at) or 0),
                policy=self._block.header.policy,
                assertions=len(emission.assertions or ()),
                emitter=emitter_of(emission),
                superseded_by=newest if newest > emission.attempt else UNSET,
            )
        )
        self._begin(emission, entry, step)
        left, matched = still(pool, self._isolated.known.waiting)
        self.matched += matched
        self._weigh(before, event, list(zip(waiting, pool, strict=True)), matched)
        self._note(step, before.assertion_state)
        return left

    def _begin(self, emission: Emission, entry: explanation.Input, step: Step) -> None:
        """A tale for each assertion of an emission that was taken in."""
        spoken = {(one.word.attempt, one.span_key): one.word for one in step.words}
        for assertion in emission.assertions or ():
            key = assertion.span_key or ""
            of = self._isolated.assertion_state(emission.attempt, key) or spoken[emission.attempt, key]
            said = stated(emission, assertion, of.effect)
            facts: dict[str, Any] = {
                "span": _span(key),
                "text": shown_text(self.policy, said.text, of.effect),
                "kind": assertion.kind,
                "effect": of.effect,
                "k": of.k,
                "form": said.form,
                "checks": checks(self.policy, said),
                "min_observers": UNSET if of.min_observers == 1 else of.min_observers,
                "claims": claims(self.redaction, emission, assertion),
                "grounded": UNSET if assertion.grounded is None else assertion.grounded,
                "confidence": UNSET if assertion.confidence is None else assertion.confidence,
            }
            timeline = Timeline(emission.attempt, key, said, facts)
            self._book.timelines.append(timeline)
            self._book.current[timeline.attempt, key] = timeline
            self.script.append(
                Beat(timeline, explanation.Event(**self.at, what="claimed", source=entry.source, k=of.k), [])
            )

    def _weigh(
        self,
        before: IsolatedFold,
        event: Event,
        waiting: Sequence[tuple[PendingEvidence, Aside]],
        matched: Sequence[Aside],
    ) -> None:
        """The fates of the evidence that waited for the assertions that have just come."""
        groups: dict[str, list[tuple[PendingEvidence, Aside]]] = {}
        for one, aside in waiting:
            if aside in matched:
                groups.setdefault(one.span_key, []).append((one, aside))
        for key, group in groups.items():
            fates = before.weighed(self._block.header, event, [one for one, _ in group])
            for (one, aside), (fate, assertion_state) in zip(group, fates, strict=True):
                entry, observation = aside.input, decode_observation(one.record)
                assert isinstance(observation, Observation), "it was decoded when it came"
                timeline = self._book.current[one.attempt, key]
                entry.observation = observed(self.policy, self.redaction, observation, timeline.stated)
                entry.settled_at = self.time
                entry.fate = fate
                if fate == "not-counted":
                    entry.why = why_not(self.policy, assertion_state, observation)
                elif fate == "late":
                    entry.why = "closed"
                timeline.moments.append((entry.height, aside.number, _moment(entry)))

    def _other(
        self,
        event: Event,
        record: Record | Fault,
        entry: explanation.Input,
        pool: list[Aside],
    ) -> list[Aside]:
        """An observation, a review, or what nobody can read."""
        key, assertion_state, timeline = "", None, None
        if isinstance(record, Observation):
            entry.attempt, key = record.subject.attempt, span_key(record.subject.span)
            if is_bound(record):
                self._book.bound.add(record.observation_id)
        elif isinstance(record, Review):
            entry.attempt, key = record.attempt, span_key(record.span)
            entry.review = reviewed(record)
        if isinstance(record, Observation | Review):
            entry.span_key = key
            subject = record.subject if isinstance(record, Observation) else record
            ours = subject.emission_id == self._book.emission_id
            attempt = subject.attempt
            assertion_state, timeline = (
                self._isolated.assertion_state(attempt, key),
                self._book.current.get((attempt, key)) if ours else None,
            )
        if isinstance(record, Observation):
            entry.observation = observed(
                self.policy, self.redaction, record, None if timeline is None else timeline.stated
            )
        before = len(self._isolated.known.waiting)
        step = self._isolated.step(self._block.header, event)
        number = self._book.next()
        if _is_refused(entry, step):
            pass
        elif isinstance(record, Observation) and len(self._isolated.known.waiting) > before:
            entry.fate, timeline = "waiting", None
            aside = Aside(event.value or b"", entry, number)
            self.came.append(aside)
            pool = [*pool, aside]
        elif isinstance(record, Observation):
            _judge_observation(entry, step, self.policy, assertion_state, record)
        elif step.counted["not-counted"]:
            entry.fate, entry.why = "not-counted", "no-longer-than-now"
        else:
            entry.fate = "decided"
        if timeline is not None:
            moment = _moment(entry)
            after = self._isolated.assertion_state(timeline.attempt, key)
            if entry.fate == "counted":
                moment.counted, moment.k = _count(after, step), timeline.facts["k"]
                moment.short = _short(after)
            self.script.append(Beat(timeline, moment, []))
        self._note(step, lambda *_: assertion_state)
        return pool

    def _note(self, step: Step, before: Callable[[int, str], AssertionState | None]) -> None:
        """Keeps what a step said for the time when the lane's own words are known, and ends it.

        Args:
            step: of the copy; what it closed lives no more.
            before: the assertions as they were before it.
        """
        for one in step.words:
            if one.word.status != "renewed":
                of = one.word.attempt, one.span_key
                assertion_state = self._isolated.assertion_state(*of) or before(*of)
                self.script.append(
                    Beat(self._book.current[of], one, [] if assertion_state is None else counts(assertion_state))
                )
        self._isolated.conceal(self.policy, step)


def _span(key: str) -> Span | None:
    """As outputs have it: a pointer's names are the emitter's words, so it stands percent-encoded, as in the key."""
    return Span(path=key[2:]) if key.startswith("p:") else parse_span_key(key)


def _record(block: Block, event: Event) -> Record | Fault:
    decode = _DECODERS.get(block.header.sources[event.source].topic)
    return Fault("schema", "") if decode is None else decode(event.value)


def _is_refused(entry: explanation.Input, step: Step) -> bool:
    if step.dead is None:
        return False
    entry.fate = "dead-letter"
    entry.why, entry.detail = step.dead
    return True


def _judge_observation(
    entry: explanation.Input,
    step: Step,
    policy: Policy,
    assertion_state: AssertionState | None,
    observation: Observation,
) -> None:
    if step.counted["late"]:
        entry.fate = "late"
        entry.why = (
            "waits-for-reviewer" if assertion_state is not None and assertion_state.phase == Phase.REVIEW else "closed"
        )
    elif step.counted["not-counted"]:
        entry.fate, entry.why = "not-counted", why_not(policy, assertion_state, observation)
    else:
        entry.fate = "counted"


def _moment(entry: explanation.Input) -> explanation.Event:
    return explanation.Event(
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


def _count(after: AssertionState | None, step: Step) -> int:
    return after.fresh if after is not None else max((len(one.word.classes) for one in step.words), default=0)


def _short(after: AssertionState | None) -> int | UnsetType:
    """How many classes the check that has the fewest lacks, where as many as k count and it is not enough."""
    short = 0 if after is None or after.fresh < after.k else standing.missing(after)
    return short or UNSET
