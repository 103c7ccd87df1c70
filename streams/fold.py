"""Adjudication: `fold(state, block) -> outputs`, the only place where anything is decided (architecture.md).

*Theory of operation.* A lane's state is a windowed table. A block first moves the clocks, which fires what is due: on
the watermark, pending assertions reach their end and waiting evidence is dropped; on time, validities, review windows
and memories end. Then its events are applied in order. Whenever something happens to an assertion, the decision table
is asked what that moment brings about (decisions.py), and the verdict is carried out (verdicts.py). No clock, no
randomness, no I/O: the same ledger gives the same bytes, always.

Every input has exactly one fate: outputs, live state, a dead letter, or a named counter.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b, sha256
from typing import NamedTuple

import msgspec

from ..codecs.blocks import MAX_INPUT_BYTES, Block, Event, EventKind, Output
from ..codecs.decode import assertion_text, decode_emission, decode_observation, decode_review
from ..codecs.errors import DoesNotHoldError, Fault
from ..codecs.partition import Partitioner
from ..codecs.records import EFFECTS, Assertion, Effect, Emission, Observation
from ..codecs.spans import span_key
from ..codecs.times import parse_time
from ..codecs.vocabulary import DECAYED, NEWEST, UNVERIFIED, Terminal, recognise
from . import corroboration, gates, grounding
from .decisions import Case, Moment
from .lives import NUMBER_OF, Attempt, Declared, Life, Phase, Waiting, json_of, short
from .outputs import Writer, traceparent_of
from .policy import Policy, policy_of_document
from .sanitise import CONFUSABLES_VERSION, SANITATION_VERSION, UNICODE_VERSION
from .state import MAX_TIMERS, State, counters, due, new_state, next_due
from .verdicts import Verdicts

FOLD_VERSION = (
    f"1 vocabulary={NEWEST} unicode={UNICODE_VERSION} confusables={CONFUSABLES_VERSION} sanitation={SANITATION_VERSION}"
)
"""Names everything that decides. Any change that alters an output changes it."""


def fold_version(partitioner: Partitioner = "murmur2") -> str:
    """What a block header names as `fold`: the version, and the partitioner that keys are checked by."""
    return f"{FOLD_VERSION} partitioner={partitioner}"


def fold(state: State, block: Block) -> list[Output]:
    """Moves the state over one block and returns its outputs, in order.

    Raises:
        DoesNotHoldError: the block has records, but no policy came before it, or is of a later version's making.
    """
    state.advance(block.header)
    state.enforce()
    if state.policy is None:
        for event in block.events:
            fault = _announce(state, event) if event.kind == EventKind.POLICY else None
            if event.kind != EventKind.POLICY or fault is not None:
                got = fault.detail if fault else f"an event of kind {event.kind}"
                raise DoesNotHoldError("a ledger begins with a policy", expected="a policy document", got=got)
        return []
    folding = _Folding(state, state.policy, block)
    folding.fire()
    for event in block.events:
        folding.apply(event)
    folding.verdicts.renew()
    state.settle()
    return folding.writer.outputs


def pass_over(state: State, block: Block) -> None:
    """Takes only policies and clocks from a block below the restore bound: nothing else of it can still matter."""
    state.advance(block.header)
    state.enforce()
    for event in block.events:
        if event.kind == EventKind.POLICY:
            _announce(state, event)


def event_for(
    source: int, offset: int, timestamp: int, headers: list[tuple[str, bytes]], key: bytes | None, value: bytes | None
) -> Event:
    """The event of an input record: raw, or hash and length where it is larger than an input may be."""
    size = len(value or b"") + len(key or b"") + sum(len(name) + len(content) for name, content in headers)
    if size <= MAX_INPUT_BYTES:
        return Event(EventKind.RECORD, source, offset, timestamp, headers, key, value)
    digest = {"sha256": sha256(value or b"").hexdigest(), "length": len(value or b"")}
    short = key if key is not None and len(key) <= 1024 else None
    return Event(EventKind.OVERSIZE, source, offset, timestamp, [], short, msgspec.json.encode(digest))


def _announce(state: State, event: Event) -> Fault | None:
    try:
        state.announce(policy_of_document(event.value or b""))
    except msgspec.MsgspecError as error:
        return Fault("schema", f"$: expected a policy document, got {error}")
    return None


Item = Life | Attempt | Waiting


class _Folding:
    """One block being folded: the state, the rules in force, and the writer of its outputs."""

    def __init__(self, state: State, policy: Policy, block: Block) -> None:
        self.state, self.policy = state, policy
        self.rules = policy.admissibility
        self.counters = state.counters
        self.writer = Writer(block, policy, state.policy_hash)
        self.verdicts = Verdicts(state, policy, self.writer)
        self.appliers = [_APPLIERS.get(source.topic) for source in block.header.sources]

    def fire(self) -> None:
        """Fires what is due, at most `MAX_TIMERS`, in the order of the instants, on whichever clock."""
        state, mark = self.state, self.state.evidence_mark()
        for _ in range(MAX_TIMERS):
            waits, expires = state.pending.head(mark), state.expiring.head(state.time)
            if waits is not None and (expires is None or waits < expires):
                self.end_waiting(*state.pending.pop())
            elif expires is not None:
                self.expire(*state.expiring.pop())
            else:
                return

    def end_waiting(self, emission_id: str, item: Item) -> None:
        """No more evidence will come: the last verdict on an assertion, or the end of evidence without one."""
        if isinstance(item, Waiting):
            self.state.drop(emission_id, item)
            self.counters["unmatched"] += 1
            return
        assert isinstance(item, Life)
        if item.arrival + item.bounds.horizon >= self.state.watermark:
            self.counters["stalled"] += 1
        self.verdicts.judge(Moment.END, self.verdicts.case(item))

    def expire(self, emission_id: str, item: Item) -> None:
        """A memory, a validity or a review window is over."""
        if isinstance(item, Attempt):
            self.state.rest(emission_id, item)  # a policy that came since may have moved the end on
            return
        assert isinstance(item, Life)
        if item.phase == Phase.ADMITTED:
            self.verdicts.close_admitted(item, "decayed-to-uncertainty", "validity-ended")
        else:
            self.counters["unreviewed"] += 1
            self.state.close(item)

    def apply(self, event: Event) -> None:
        """Applies one event; whatever is wrong with it becomes a dead letter and stops nothing."""
        kind = event.kind
        if kind == EventKind.RECORD:
            applier = self.appliers[event.source]
            if applier is None:
                fault = Fault("schema", "$: expected a record of this lane's inputs, got one of another topic")
            else:
                fault = applier(self, event)
        elif kind == EventKind.OVERSIZE:
            fault = Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
        elif kind == EventKind.POLICY:
            fault = _announce(self.state, event)
        elif kind == EventKind.GAP:
            self.counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
            fault = None
        else:
            raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))
        if fault is not None:
            self.counters["dead-letters"] += 1
            self.writer.dead_letter(event, fault)

    # ------------------------------------------------------------ emissions

    def emission(self, event: Event) -> Fault | None:
        """Takes an emission in: closes what it supersedes, then decides each of its assertions as far as it can."""
        emission = decode_emission(event.value)
        if isinstance(emission, Fault):
            return emission
        state = self.state
        emitted_at = parse_time(emission.emitted_at) or 0
        fault = (
            gates.misrouted(state, event, emission.emission_id)
            or gates.emission_skewed(state, emission)
            or gates.too_old(state, emitted_at)
        )
        if fault is not None:
            return fault
        digest = blake2b(event.value or b"", digest_size=16).digest()
        known = state.attempt(emission.emission_id, emission.attempt)
        if known is not None:
            if known.digest == digest:
                self.counters["duplicate"] += 1
                return None
            which = f"attempt {emission.attempt} of {emission.emission_id!r}"
            return Fault("conflicting-emission", f"$: expected the bytes that {which} first had, got others")
        newer_known = state.newest(emission.emission_id) > emission.attempt
        self.supersede(emission)
        attempt = Attempt(number=emission.attempt, emitted_at=emitted_at, digest=digest, order=state.next_order())
        state.remember(emission.emission_id, attempt)
        traceparent = traceparent_of(event)
        cases: list[Case] = []
        for assertion in emission.assertions or ():
            claims = _claims(emission, assertion)
            self.counters["newer-vocabulary"] += claims.newer  # a reason to upgrade [S §11.2]
            life = self.life(emission, assertion, claims, emitted_at, traceparent)
            state.add(attempt, life)
            case = Case(life, self.policy, state.time, emission, assertion)
            case.terminal, case.unknown, case.newer = claims.terminal, claims.unknown, newer_known
            cases.append(case)
        came_before = self.matched(emission.emission_id, attempt)
        for case in cases:
            self.begin(case, came_before.get(case.life.span_key, []))
        if not cases:
            state.rest(emission.emission_id, attempt)
        return None

    def life(
        self,
        emission: Emission,
        assertion: Assertion,
        claims: _Claims,
        emitted_at: int,
        traceparent: bytes | None,
    ) -> Life:
        """A new pending assertion with the bounds of the policy in force."""
        emitter = emission.emitter.system if emission.emitter is not None else None
        effect = self.effect(emitter, emission.effect, assertion.effect)
        k = self.rules.k
        return Life(
            emission_id=emission.emission_id,
            attempt=emission.attempt,
            span_key=assertion.span_key or "",
            kind=assertion.kind,
            effect=effect,
            k=k.external if effect == "external" else k.internal,
            text=assertion_text(emission, assertion),
            ids=claims.ids,
            declared=claims.declared,
            annotated=bool(assertion.provenance),
            grounded=bool(assertion.grounded),
            confidence=grounding.least_confidence(assertion),
            chain=json_of(assertion.chain),
            emitter=emitter,
            traceparent=traceparent,
            emitted_at=emitted_at,
            arrival=self.state.time,
            terms=self.state.terms[self.state.terms_number],
            terms_number=self.state.terms_number,
            order=self.state.next_order(),
        )

    def effect(self, emitter: str | None, *asked: Effect | None) -> Effect:
        """The greatest of what the policy gives the emitter and what the emission asks for: it can only be raised."""
        policy = self.policy
        greatest: Effect = policy.effect.get(emitter, policy.effect_default) if emitter else policy.effect_default
        for effect in asked:
            if effect is not None and EFFECTS.index(effect) > EFFECTS.index(greatest):
                greatest = effect
        return greatest

    def supersede(self, emission: Emission) -> None:
        """A newer attempt closes what is still pending of earlier ones."""
        known = self.state.known(emission.emission_id)
        for earlier in list(known.attempts) if known is not None else ():
            if earlier.number < emission.attempt:
                for life in [life for life in earlier.lives if life.phase == Phase.PENDING]:
                    case = self.verdicts.case(life)
                    case.newer = True
                    self.verdicts.judge(Moment.NEWER, case)

    def matched(self, emission_id: str, attempt: Attempt) -> dict[str, list[Waiting]]:
        """The evidence that waited for this attempt's assertions, by span key, in the order of its coming."""
        found: dict[str, list[Waiting]] = {}
        known = self.state.known(emission_id)
        for waiting in known.waiting if known is not None else ():
            if waiting.attempt == attempt.number and attempt.life(waiting.span_key) is not None:
                found.setdefault(waiting.span_key, []).append(waiting)
        for matched in found.values():
            for waiting in matched:
                self.state.drop(emission_id, waiting)
        return found

    def begin(self, case: Case, came_before: list[Waiting]) -> None:
        """An assertion's first verdict, on everything that is known of it, as if it had come at once."""
        life = case.life
        if case.newer or life.kind == "refusal":
            self.counters["late"] += len(came_before)
            if case.newer:  # an earlier attempt that comes later is superseded on arrival (records.md)
                self.verdicts.judge(Moment.NEWER, case)
            else:
                self.verdicts.pass_on(life)
            return
        if self.rules.trust == "declared":
            corroboration.count_declarations(life)
        # Corroborations first: a negative holds only if none has come since.
        for waiting in sorted(came_before, key=lambda one: one.negative):
            observation = decode_observation(waiting.record)
            assert not isinstance(observation, Fault), "it was decoded when it came"
            if not self.weigh(case, observation, corroboration.observed_at(observation)):
                self.counters["not-counted"] += 1
        if not self.verdicts.judge(Moment.ARRIVAL, case):
            self.state.pending.wait(life.emission_id, life, life.arrival + life.bounds.horizon)

    # ------------------------------------------------------------ observations

    def observation(self, event: Event) -> Fault | None:
        """Takes an observation in: to its assertion, or aside until that comes."""
        observation = decode_observation(event.value)
        if isinstance(observation, Fault):
            return observation
        state, subject, ts = self.state, observation.subject, corroboration.observed_at(observation)
        fault = (
            gates.misrouted(state, event, subject.emission_id)
            or gates.skewed(state, "$.observed_at", ts)
            or gates.unauthorised(self.policy, observation)
        )
        if fault is not None:
            return fault
        if corroboration.class_of(observation) is None or observation.outcome in ("absent", "unavailable"):
            self.counters["not-counted"] += 1
            return None
        key = span_key(subject.span)
        attempt = state.attempt(subject.emission_id, subject.attempt)
        life = attempt.life(key) if attempt is not None else None
        if life is not None:
            self.hear(life, observation, ts)
        elif attempt is not None and key in attempt.closed:
            self.counters["late"] += 1
        else:
            waiting = Waiting(
                record=event.value or b"",
                attempt=subject.attempt,
                span_key=key,
                negative=observation.outcome != "corroborates",
                order=state.next_order(),
            )
            state.put_aside(subject.emission_id, waiting, state.time + self.rules.horizon)
        return None

    def hear(self, life: Life, observation: Observation, ts: int) -> None:
        """Evidence for an assertion that is there."""
        if life.phase == Phase.REVIEW:
            self.counters["late"] += 1
            return
        verdicts = self.verdicts
        case = verdicts.case(life)
        if not self.weigh(case, observation, ts):
            self.counters["not-counted"] += 1
        elif life.phase == Phase.PENDING:
            verdicts.judge(Moment.EVIDENCE, case)
        elif case.fabricated:
            verdicts.close_admitted(life, "rejected", "fabricated-annotation")
        elif case.contradicted:
            verdicts.close_admitted(life, "contradicted", "contradicted")
        else:
            verdicts.extend(life, corroboration.validity(life))

    def weigh(self, case: Case, observation: Observation, ts: int) -> bool:
        """Notes what an observation says in the case or the life; False where it changes nothing."""
        life, cls = case.life, corroboration.class_of(observation)
        if cls is None or not corroboration.may_count(self.policy, life, observation):
            return False
        if observation.outcome == "corroborates":
            return corroboration.corroborate(self.policy, life, observation, ts, cls)
        if observation.outcome == "contradicts":
            holds = corroboration.contradicts(life, cls, ts)
            case.contradicted = case.contradicted or holds
        else:
            holds = corroboration.unmasks(life, observation, cls, ts)
            case.fabricated = case.fabricated or holds
        return holds

    # ------------------------------------------------------------ reviews

    def review(self, event: Event) -> Fault | None:
        """A person's decision, for an assertion that is there; a dead letter otherwise."""
        review = decode_review(event.value)
        if isinstance(review, Fault):
            return review
        decided_at = None if review.decided_at is None else parse_time(review.decided_at)
        fault = gates.misrouted(self.state, event, review.emission_id) or gates.skewed(
            self.state, "$.decided_at", decided_at
        )
        if fault is not None:
            return fault
        key = span_key(review.span)
        attempt = self.state.attempt(review.emission_id, review.attempt)
        life = attempt.life(key) if attempt is not None else None
        if life is None:
            which = f"{review.emission_id}#{key} of attempt {review.attempt}"
            return Fault("late-review", f"$: expected an assertion that may still be reviewed, got {which}")
        if life.phase == Phase.ADMITTED:
            self.verdicts.review_admitted(life, review.decision)
        else:
            case = self.verdicts.case(life)
            case.review = review.decision
            self.verdicts.judge(Moment.REVIEW, case)
        return None


class _Claims(NamedTuple):
    """What an assertion's annotations claim: those that may count, and what decides by itself."""

    ids: list[bytes]
    declared: list[Declared]
    terminal: Terminal | None
    unknown: bool
    newer: int  # anchors of a later vocabulary


def _claims(emission: Emission, assertion: Assertion) -> _Claims:
    ids: list[bytes] = []
    declared: list[Declared] = []
    terminal: Terminal | None = None
    unknown, newer = False, 0
    for annotation in assertion.annotations:
        found = recognise(annotation.substrate_class, emission.vocabulary)
        newer += found.newer
        if found.name is None or annotation.unknown:
            unknown = True
        elif found.terminal:
            terminal = terminal or (DECAYED if found.name == DECAYED else UNVERIFIED)
        else:
            ts = None if annotation.ts is None else parse_time(annotation.ts)
            place = -1
            if annotation.observation_id is not None:
                kept = short(annotation.observation_id)
                if kept not in ids:
                    ids.append(kept)
                place = ids.index(kept)
            declared.append(Declared(NUMBER_OF[found.name], place, ts))
    return _Claims(ids, declared, terminal, unknown, newer)


_APPLIERS: dict[str, Callable[[_Folding, Event], Fault | None]] = {
    "emissions": _Folding.emission,
    "observations": _Folding.observation,
    "reviews": _Folding.review,
}
INPUTS = tuple(_APPLIERS)
"""The topics that this fold takes in, in the order of a header's `sources`."""

__all__ = [
    "FOLD_VERSION",
    "INPUTS",
    "MAX_TIMERS",
    "State",
    "counters",
    "due",
    "event_for",
    "fold",
    "fold_version",
    "new_state",
    "next_due",
    "pass_over",
]
