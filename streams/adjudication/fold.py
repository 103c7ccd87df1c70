"""Adjudication: `fold(state, block) -> outputs`, the only place where anything is decided.

*Theory of operation.* A lane's state is a windowed table. A block first moves the clocks, which fires what is due: on
the watermark, pending assertions reach their end and waiting evidence is dropped; on time, validities, review windows
and memories end. Then its events are applied in order. Whenever something happens to an assertion, the decision table
is asked what that moment brings about (decisions.py), and the verdict is carried out (verdicts.py). No clock, no
randomness, no I/O: the same ledger gives the same bytes, always.

Every input has exactly one fate: outputs, live state, a dead letter, or a named counter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Final

import msgspec

from ...codecs.blocks import MAX_HEADERS, MAX_INPUT_BYTES, Block, Event, EventKind, Output, refused
from ...codecs.canonical import fast_canonical, parse_json
from ...codecs.decode import (
    assertion_text,
    decode_review,
    decode_sighting,
    read_emission,
    read_observation,
    too_annotated,
)
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.identifiers import digest_of, span_key
from ...codecs.ledger_statements import is_adoption
from ...codecs.records import EFFECTS, Effect, Emission, Observation, Outcome
from ...codecs.times import parse_time
from ..policy.policy import Policy, demand_adoption, follow
from . import check_tally, corroboration, fold_layout, follow_up_requests, grounding, validation
from .check_tally import NotCountedReason
from .compiled import folder_for, topics_of
from .corroboration import DIGEST_BYTES
from .decisions import Case, Moment
from .emission_state import (
    A_LOOK,
    LATE,
    REASONS,
    AssertionState,
    Attempt,
    EmissionState,
    PendingEvidence,
    Phase,
    json_of,
)
from .grounding import Claims, claims_of
from .outputs import Citing, Writer, traceparent_of
from .state import MAX_TIMERS, OTHERS, State, counters, due, new_state, next_due, slot_of, too_many_waiting
from .trace import (
    UNTRACED,
    Armed,
    Began,
    Ended,
    Fired,
    FoldTrace,
    Late,
    PutAside,
    Repeated,
    Reviewed,
    TakenIn,
    Unmatched,
    Weighed,
)
from .verdicts import Verdicts
from .versions import COMPILED, FOLD_VERSION, fold_version, rules_of

OWNER_BYTES: Final = 8
"""Of the SHA-256 of the name of the emitter that signed it: whose emission id it is."""


def fold(state: State, block: Block, trace: FoldTrace = UNTRACED) -> list[Output]:
    """Moves the state over one block and returns its outputs, in order.

    Args:
        state: of the lane; it is changed.
        block: the next one.
        trace: told what happens in it; the outputs and the state are the same.

    Raises:
        DoesNotHoldError: the block has records, but no policy came before it, or is of a version's making that is not
            among ours (`versions.rules_of`).
        UsageError: its identifiers are hashed with a secret that the state does not have.
    """
    version = rules_of(block.header.fold)
    state.advance(block.header)
    state.enforce()
    if state.policy is None:
        for event in block.events:
            if event.kind == EventKind.LEDGER:
                continue
            fault = _announce(state, event) if event.kind == EventKind.POLICY else None
            if event.kind != EventKind.POLICY or fault is not None:
                got = fault.detail if fault else f"an event of kind {event.kind}"
                raise DoesNotHoldError("a ledger begins with a policy", expected="a policy document", got=got)
        return []
    folding = _Folding(state, state.policy, block, version, trace)
    folding.fire()
    folding.apply(block.events)
    folding.verdicts.renew(folding.core)
    folding.verdicts.publish(folding.core)
    state.settle(None if folding.core is None else 0)  # the compiled core takes up only what lies packed
    return folding.writer.outputs


def pass_over(state: State, block: Block) -> None:
    """Takes only policies and clocks from a block below the restore bound: nothing else of it can still matter."""
    state.advance(block.header)
    state.enforce()
    for event in block.events:
        if event.kind == EventKind.POLICY:
            _announce(state, event)


def event_for(
    source: int,
    offset: int,
    timestamp: int,
    headers: Iterable[tuple[str, bytes | None]],
    key: bytes | None,
    value: bytes | None,
) -> Event:
    """The event of an input record: raw, or hash and length where it is larger than an input may be.

    Headers count with their names and values; too many of them, which may all be empty, are too large as well.

    Kafka lets a header have no value; a ledger keeps an empty one.

    Args:
        source: the number of the input topic, as the block's header lists its sources.
        offset: of the record.
        timestamp: of the record, Unix ms.
        headers: of the record.
        key: of the record.
        value: of the record.
    """
    kept = [(name, content or b"") for name, content in headers] if headers else []
    size = len(value or b"") + len(key or b"") + sum(len(name) + len(content) for name, content in kept)
    if size <= MAX_INPUT_BYTES and len(kept) <= MAX_HEADERS:
        return Event(EventKind.RECORD, source, offset, timestamp, kept, key, value)
    digest = {"sha256": sha256(value or b"").hexdigest(), "length": len(value or b"")}
    short = key if key is not None and len(key) <= 1024 else None
    return Event(EventKind.OVERSIZE, source, offset, timestamp, [], short, msgspec.json.encode(digest))


def _announce(state: State, event: Event) -> Fault | None:
    found = follow(state.next_policy or state.policy, event.value or b"", event.headers, state.time)
    if isinstance(found, Fault):
        return found
    state.announce(found)
    return None


Item = AssertionState | Attempt | PendingEvidence


class _Folding:
    """One block being folded: the state, the rules in force, and the writer of its outputs.

    Attributes:
        version: the number of the fold's version that the block's header names; rules that came later ask it.
    """

    def __init__(self, state: State, policy: Policy, block: Block, version: int, trace: FoldTrace = UNTRACED) -> None:
        self.state, self.policy, self.version, self.trace = state, policy, version, trace
        self.rules = policy.admissibility
        self.counters = state.counters
        secret = state.secrets.named(block.header.fold, policy.privacy)
        self.writer = Writer(block, policy, state.policy_hash, secret, trace)
        self.verdicts = Verdicts(state, policy, self.writer, trace)
        self.appliers = [_APPLIERS.get(source.topic, _Folding.foreign) for source in block.header.sources]
        # What holds for the whole block, taken out of the loop over its records.
        self.latest = state.time + self.rules.max_skew
        self.oldest = state.time - min(milliseconds for _, milliseconds in state.max_validities)
        self.terms = state.terms[state.terms_number]
        self.cited = policy.sightings.classes
        self.refuses = tuple(policy.emitters.refuse)
        self.guarded = bool(policy.observers) or policy.require_signatures
        self.checked = validation.Checked(policy, state.time)
        self.authenticates = policy.emitters.authenticates
        is_compiled = version <= COMPILED and trace is UNTRACED
        self.core = folder_for(state, policy, block, self.writer, self.verdicts) if is_compiled else None
        self.reviewed = follow_up_requests.effects_reviewed(policy)
        self.looks_kept = follow_up_requests.effects_with_looks(policy) | self.reviewed
        self.counts_answers = self.rules.early_settle
        self.counts_looks = self.rules.trust != "declared"
        self.topics = topics_of(block, policy)
        state.lingers = self.verdicts.published_verdicts != "none"

    def fire(self) -> None:
        """Fires what is due, at most `MAX_TIMERS`, in the order of the instants, on whichever clock."""
        state, core, mark, left = self.state, self.core, self.state.evidence_mark(), MAX_TIMERS
        while left > 0:
            if core is not None and not self.lies_open(mark):
                left -= core.fire(left, mark)
                if left == 0:
                    return
            left -= 1
            waits, expires = state.pending.head(mark), state.expiring.head(state.time)
            if waits is not None and (expires is None or waits < expires):
                self.end_waiting(*state.pending.pop())
            elif expires is not None:
                self.expire(*state.expiring.pop())
            else:
                return

    def lies_open(self, mark: int) -> bool:
        """Whether what is due next is of an emission that Python has just taken apart: the core would pack it again,
        for each of a thousand assertions."""
        state = self.state
        return state.is_open(state.pending.first(mark)) or state.is_open(state.expiring.first(state.time))

    def end_waiting(self, emission_id: str, item: Item) -> None:
        """No more evidence will come: the last verdict on an assertion, or the end of evidence without one."""
        if isinstance(item, PendingEvidence):
            self.state.drop(emission_id, item)
            self.counters["unmatched"] += 1
            self.trace.note(Unmatched, emission_id, item.attempt, span_key=item.span_key, order=item.order)
            return
        assert isinstance(item, AssertionState)
        self.trace.note_of(Fired, item, clock=item.clock)
        late = item.bounds.late_horizon if item.look == LATE else 0
        if item.arrival + item.bounds.horizon + late >= self.state.watermark:
            self.counters["stalled"] += 1
        if not self.verdicts.wait_on(item):
            self.verdicts.judge(Moment.END, self.verdicts.case(item))

    def expire(self, emission_id: str, item: Item) -> None:
        """A memory, a validity or a review window is over."""
        if isinstance(item, Attempt):
            self.state.rest(emission_id, item)  # a policy that came since may have moved the end on
            return
        assert isinstance(item, AssertionState)
        self.trace.note_of(Fired, item, clock=item.clock)
        if item.phase == Phase.ADMITTED:
            self.verdicts.close_admitted(item, "decayed-to-uncertainty", "validity-ended")
        else:
            self.counters["unreviewed"] += 1
            self.trace.note_of(Ended, item)
            self.verdicts.unreviewed(item)

    def apply(self, events: Sequence[Event]) -> None:
        """Applies events in order: the compiled core what is common, where it is there."""
        if self.core is not None:
            self.state.left_to_python = self.core.apply(events, self.topics, self.take_in)
            return
        self.state.left_to_python = 0 if fold_layout.core is None else len(events)
        for event in self.trace.each(events):
            self.take_in(event)

    def take_in(self, event: Event) -> None:
        """Takes one event in; whatever is wrong with it becomes a dead letter and stops nothing."""
        fault = self.appliers[event.source](self, event) if event.kind == _RECORD else self.other(event)
        if fault is not None:
            self.counters["dead-letters"] += 1
            self.writer.dead_letter(event, fault)
            self.trace.refused(fault)

    def other(self, event: Event) -> Fault | None:
        """Takes in an event that is no record."""
        kind = event.kind
        if kind == EventKind.OVERSIZE:
            return Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
        if kind == EventKind.POLICY:
            fault = _announce(self.state, event)
            if fault is not None and fault.reason == "unauthorised-policy":
                self.counters["refused-policies"] += 1
            if fault is not None and fault.reason == "schema" and is_adoption(event.key):
                return Fault("schema", "$: expected an adoption that counts and names the topic's present id")
            return fault
        if kind == EventKind.GAP:
            self.counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
            return None
        if kind == EventKind.QUARANTINE:
            offsets, fault = refused(event)
            self.counters["quarantined"] += offsets
            return fault
        if kind == EventKind.ADOPT:
            demand_adoption(event, self.policy, self.state.time)
            return None
        if kind == EventKind.LEDGER:
            return None  # the chain says which one may stand there
        raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))

    def foreign(self, _: Event) -> Fault | None:
        """A record of a topic that this fold does not take in."""
        return Fault("schema", "$: expected a record of this lane's inputs, got one of another topic")

    # ------------------------------------------------------------ emissions

    def emission(self, event: Event) -> Fault | None:
        """Takes an emission in: closes what it supersedes, then decides each of its assertions as far as it can."""
        emission = read_emission(event.value)
        if isinstance(emission, Fault):
            return emission
        fault = too_annotated(emission, self.rules.max_annotations)
        if fault is not None:
            return fault
        state, emission_id = self.state, emission.emission_id
        if emission.emitter is not None and self.refuses:
            fault = validation.identified(emission.emitter, self.refuses)
            if fault is not None:
                return fault
        emitted_at = parse_time(emission.emitted_at) or 0
        known = state.known(emission_id)
        if known is None or event.key != emission_id.encode():
            fault = validation.misrouted(state, event, emission_id)
            if fault is not None:
                return fault
        all_claims: list[Claims] = []
        latest = emitted_at
        for assertion in emission.assertions or ():
            claims = claims_of(emission, assertion)
            all_claims.append(claims)
            if claims.latest > latest:
                latest = claims.latest
        if latest > self.latest:
            return validation.emission_skewed(state, emission)
        if emitted_at < self.oldest:
            fault = validation.too_old(state, emitted_at)
            if fault is not None:
                return fault
        digest = sha256(event.value or b"").digest()[:DIGEST_BYTES]
        first = known.attempt(emission.attempt) if known is not None else None
        if first is not None and first.digest.startswith(digest):
            return self.repeated(emission, first, digest)  # its signature was checked when it came first
        if self.authenticates:
            fault = validation.unauthorised_emitter(self.checked, emission, event.value)
            owner = self.owner_of(emission)
            fault = fault or (_of_another(known, owner) if known is not None else None)
            if fault is not None:
                return fault
            digest += owner
        newer_known, waits = False, False
        if first is not None:
            return self.repeated(emission, first, digest)
        fault = validation.too_much_text(emission)
        if fault is not None:
            return fault
        if emission.attempt:
            fault = validation.out_of_order(known, emission.attempt, self.rules.max_attempts)
            if fault is not None:
                return fault
        if known is not None:
            fault = validation.too_many_remembered(known, emission)
            if fault is not None:
                return fault
            newer_known, waits = known.newest() > emission.attempt, state.waits(emission_id)
            self.supersede(known, emission.attempt)
        attempt = Attempt(number=emission.attempt, emitted_at=emitted_at, digest=digest, order=state.next_order())
        state.remember(emission_id, attempt)
        self.trace.note(TakenIn, emission_id, emission.attempt)
        cases = self.cases(emission, all_claims, attempt, event)
        came_before = self.matched(emission_id, attempt) if waits else _NOTHING
        for case in cases:
            case.newer = newer_known
            self.begin(case, came_before.get(case.state.span_key, ()), digest)
        emitter = emission.emitter.system if emission.emitter is not None else None
        self.verdicts.mark_changed(emission_id, emitter)
        if not cases:
            self.verdicts.empty(emission_id, emitter)
            state.rest(emission_id, attempt, closing=True)
        if self.cited:
            self.cite(emission, cases, event.value or b"")
        return None

    def owner_of(self, emission: Emission) -> bytes:
        """Whose an emission is, as its attempt remembers it: of a name that has a key, so has signed; else empty."""
        name = emission.emitter.system if emission.emitter is not None else None
        if name is None or name not in self.policy.emitters.keys:
            return b""
        return sha256(name.encode()).digest()[:OWNER_BYTES]

    def cite(self, emission: Emission, cases: Iterable[Case], record: bytes) -> None:
        """Tells the binding lanes what the assertions cite for which evidence may still count (outputs.py)."""
        citing = Citing(emission, self.cited, self.state.time, digest_of(record))
        for case in cases:
            if case.state.phase in _ADJUDICATED and case.assertion is not None:
                for key, value in citing.of(case.assertion):
                    self.writer.citation(key, value, case.state.traceparent)
        self.counters["uncited"] += citing.left_out

    def repeated(self, emission: Emission, first: Attempt, digest: bytes) -> Fault | None:
        """The same emission and attempt again: with the same bytes nothing happens, with others the first stands."""
        if first.digest[:DIGEST_BYTES] == digest[:DIGEST_BYTES]:
            self.counters["duplicate"] += 1
            self.trace.note(Repeated, emission.emission_id, emission.attempt)
            return None
        which = f"attempt {emission.attempt} of {emission.emission_id!r}"
        return Fault("conflicting-emission", f"$: expected the bytes that {which} first had, got others")

    def cases(self, emission: Emission, all_claims: list[Claims], attempt: Attempt, event: Event) -> list[Case]:
        """A new pending assertion for each that the emission makes, with the bounds of the policy in force."""
        state, policy, k = self.state, self.policy, self.rules.k
        emitter = emission.emitter.system if emission.emitter is not None else None
        unauthenticated = policy.emitters.unauthenticated
        if unauthenticated is not None and emitter in policy.emitters.keys:
            unauthenticated = None
        cases: list[Case] = []
        traceparent = traceparent_of(event)
        locators = follow_up_requests.locators_of(emission, event.value) if self.reviewed else []
        proposed = validation.proposers_of(self.checked, emission, event.value)
        for number, (assertion, claims) in enumerate(zip(emission.assertions or (), all_claims, strict=True)):
            self.counters["newer-vocabulary"] += claims.newer  # a reason to upgrade [S §11.2]
            effect = self.effect(emitter, emission.effect, assertion.effect, unauthenticated)
            assertion_state = AssertionState(
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
                emitted_at=attempt.emitted_at,
                arrival=state.time,
                terms=self.terms,
                terms_number=state.terms_number,
                order=state.next_order(),
            )
            if assertion.session is not None and assertion.kind == "assertion":
                assertion_state.session = REASONS.index(grounding.session_reason(assertion.session))
            if effect in self.reviewed and assertion.kind != "refusal":
                assertion_state.reviewers = [follow_up_requests.material(emission, assertion, locators[number])]
            proposal = assertion.proposal
            checks = assertion.checks or (None if proposal is None else proposal.checks)
            check_tally.begin(assertion_state, checks, self.terms, proposed[number] if proposed else None)
            state.add(attempt, assertion_state)
            least = assertion_state.min_observers
            self.trace.note_of(Began, assertion_state, effect=effect, k=assertion_state.k, min_observers=least)
            cases.append(
                Case(
                    assertion_state,
                    policy,
                    state.time,
                    emission,
                    assertion,
                    terminal=claims.terminal,
                    unknown=claims.unknown,
                )
            )
        return cases

    def effect(self, emitter: str | None, *asked: Effect | None) -> Effect:
        """The greatest of what the policy gives the emitter and what the emission asks for: it can only be raised."""
        policy = self.policy
        greatest: Effect = policy.effect.get(emitter, policy.effect_default) if emitter else policy.effect_default
        for effect in asked:
            if effect is not None and effect != greatest and EFFECTS.index(effect) > EFFECTS.index(greatest):
                greatest = effect
        return greatest

    def supersede(self, known: EmissionState, attempt: int) -> None:
        """A newer attempt closes what is still pending of earlier ones, and ends their requests for a review."""
        for earlier in list(known.attempts):
            if earlier.number < attempt:
                for assertion_state in list(earlier.assertions):
                    self.verdicts.supersede(assertion_state, attempt)

    def matched(self, emission_id: str, attempt: Attempt) -> dict[str, list[PendingEvidence]]:
        """The evidence that waited for this attempt's assertions, by span key, in the order of its coming."""
        found: dict[str, list[PendingEvidence]] = {}
        spans = {assertion.span_key for assertion in attempt.assertions}
        for one in self.state.waiting_for(emission_id, attempt.number):
            if one.span_key in spans:
                found.setdefault(one.span_key, []).append(one)
        for matched in found.values():
            for one in matched:
                self.state.drop(emission_id, one)
        return found

    def begin(self, case: Case, came_before: Sequence[PendingEvidence], digest: bytes) -> None:
        """An assertion's first verdict, on everything that is known of it, as if it had come at once.

        Args:
            case: the assertion's.
            came_before: the evidence that waited under its id, attempt and span.
            digest: of its attempt's record.
        """
        assertion_state, trace = case.state, self.trace
        if case.newer or assertion_state.kind == "refusal":
            self.counters["late"] += len(came_before)
            for before in came_before:
                trace.note_of(Weighed, assertion_state, fate="late", why="closed", order=before.order)
            if case.newer:  # an earlier attempt that comes later is superseded on arrival (docs/reference/records.md)
                self.verdicts.judge(Moment.NEWER, case)
            else:
                self.verdicts.pass_on(assertion_state)
            return
        if self.rules.trust == "declared":
            corroboration.count_declarations(assertion_state)
        has_all_answers = False
        # Corroborations first: a negative holds only if none has come since.
        for before in sorted(came_before, key=lambda one: one.negative) if came_before else ():
            observation = read_observation(before.record)
            assert not isinstance(observation, Fault), "it was decoded when it came"
            cls, ts = corroboration.class_of(observation), corroboration.observed_at(observation)
            if corroboration.is_of_another(observation.subject, digest):
                self.counters["not-counted"] += 1
                trace.weighed(assertion_state, "other-record", before.order)
                self.note_uncounted(assertion_state, observation, ts, "other-record")
                continue
            why = "class-unknown" if cls is None else self.weigh(case, observation, before.record, ts, cls)
            if why is not None:
                self.counters["not-counted"] += 1
                self.note_uncounted(assertion_state, observation, ts, why)
            trace.weighed(assertion_state, why, before.order)
            # It was looked at when it came, by the policy of then.
            if self.counts_answers and cls is not None and why != "other-checks":
                fault = validation.unauthorised(self.checked, observation, before.record)
                if fault is None and corroboration.note_answer(self.policy, assertion_state, observation, cls):
                    has_all_answers = True
        if self.verdicts.judge(Moment.ARRIVAL, case):
            return
        if has_all_answers:
            self.verdicts.judge(Moment.END, case)
        else:
            until = assertion_state.arrival + self.terms.horizon
            self.state.pending.wait(assertion_state.emission_id, assertion_state, until)
            trace.note_of(Armed, assertion_state, clock=assertion_state.clock, due=until)

    # ------------------------------------------------------------ observations

    def observation(self, event: Event) -> Fault | None:
        """Takes an observation in: to its assertion, or aside until that comes."""
        observation = read_observation(event.value)
        if isinstance(observation, Fault):
            return observation
        subject, ts = observation.subject, parse_time(observation.observed_at) or 0
        emission_id = subject.emission_id
        known = self.state.known(emission_id)
        if known is None or event.key != emission_id.encode():
            fault = validation.misrouted(self.state, event, emission_id)
            if fault is not None:
                return fault
        if ts > self.latest:
            return validation.skewed(self.state, "$.observed_at", ts)
        if self.guarded:
            fault = validation.unauthorised(self.checked, observation, event.value)
            if fault is not None:
                return fault
        attempt = known.attempt(subject.attempt) if known is not None else None
        if attempt is not None and corroboration.is_of_another(observation.subject, attempt.digest):
            self.counters["not-counted"] += 1
            self.note_fate(observation, "not-counted", "other-record")
            self.note_uncounted(attempt.assertion(span_key(subject.span)), observation, ts, "other-record")
            return None
        cls = corroboration.class_of(observation)
        why = "class-unknown" if cls is None else _UNCOUNTED.get(observation.outcome)
        if cls is None or why is not None:
            if cls is not None and self.comes_early(known, observation):
                return self.put_aside(event, observation, span_key(subject.span))
            self.counters["not-counted"] += 1
            if why is not None:
                self.note_fate(observation, "not-counted", why)
            if cls is not None and attempt is not None:
                self.note_alone(attempt, observation, ts, cls)
            return None
        key = span_key(subject.span)
        assertion_state = attempt.assertion(key) if attempt is not None else None
        if assertion_state is not None:
            self.apply_observation(assertion_state, observation, event.value or b"", ts, cls)
            self.note_answer(assertion_state, observation, cls)
        elif attempt is not None and attempt.has_closed(key):
            self.counters["late"] += 1
            self.note_fate(observation, "late", "closed")
        else:
            return self.put_aside(event, observation, key)
        return None

    def slot_of(self, observation: Observation, record: bytes) -> tuple[str, bytes]:
        """The observer whose share of the room evidence takes while it waits, and the bytes that are kept of it.

        A listed observer's share holds only records that it signed itself, each once however its JSON is written.
        Otherwise a party that may write to the topic could fill the share with one record in many spellings, or with a
        real sighting bound to emissions that never come.
        """
        observer = self.policy.observers.get(observation.observer)
        if observer is None or not observer.all_keys:
            return slot_of(self.policy, observation.observer), record
        if observation.signature is None:
            return OTHERS, record
        return observation.observer, fast_canonical(parse_json(record))

    def comes_early(self, known: EmissionState | None, observation: Observation) -> bool:
        """Whether an observation that counts for nothing is a look at, or an answer about, an assertion that has yet to
        come."""
        is_look = self.counts_looks and observation.outcome != "unavailable"
        if not is_look and not (self.counts_answers and corroboration.may_be_answer(self.policy, observation)):
            return False
        attempt = known.attempt(observation.subject.attempt) if known is not None else None
        key = span_key(observation.subject.span)
        return attempt is None or (attempt.assertion(key) is None and not attempt.has_closed(key))

    def put_aside(self, event: Event, observation: Observation, key: str) -> Fault | None:
        """Keeps evidence whose assertion is not known for the horizon, as it came, where so much may wait."""
        state, subject = self.state, observation.subject
        emission_id = subject.emission_id
        slot, record = self.slot_of(observation, event.value or b"")
        if state.has_waiting(emission_id, record):
            self.counters["duplicate"] += 1
            self.note_fate(observation, "duplicate", "repeated")
            return None
        count, held = state.count_waiting(emission_id, slot), state.held.get(slot, 0)
        fault = too_many_waiting(self.policy, repr(emission_id), slot, count, held, record)
        if fault is not None:
            return fault
        one = PendingEvidence(
            record=record,
            attempt=subject.attempt,
            span_key=key,
            negative=observation.outcome != "corroborates",
            order=state.next_order(),
            slot=slot,
        )
        state.put_aside(emission_id, one, state.time + self.rules.horizon)
        self.trace.note(PutAside, emission_id, subject.attempt, span_key=key, order=one.order)
        return None

    def note_fate(self, observation: Observation, fate: str, why: NotCountedReason | Late) -> None:
        """Notes in the trace what became of an observation that met no living assertion."""
        subject = observation.subject
        if self.trace.follows(subject.emission_id):
            key = span_key(subject.span)
            self.trace.note(Weighed, subject.emission_id, subject.attempt, span_key=key, fate=fate, why=why)

    def apply_observation(
        self, assertion_state: AssertionState, observation: Observation, record: bytes, ts: int, cls: str
    ) -> None:
        """Evidence for an assertion that is there."""
        trace = self.trace
        if assertion_state.phase == Phase.REVIEW:
            self.counters["late"] += 1
            trace.note_of(Weighed, assertion_state, fate="late", why="waits-for-reviewer")
            return
        verdicts, classes = self.verdicts, len(assertion_state.seen)
        case = verdicts.case(assertion_state)
        why = self.weigh(case, observation, record, ts, cls)
        if why is None or len(assertion_state.seen) != classes:
            verdicts.mark_changed(assertion_state.emission_id, assertion_state.emitter)
        trace.weighed(assertion_state, why)
        if why is not None:
            self.counters["not-counted"] += 1
            self.note_uncounted(assertion_state, observation, ts, why)
        elif assertion_state.phase == Phase.PENDING:
            # Nothing that a corroboration can bring about holds below k: 2 us less for every other observation.
            if assertion_state.fresh >= check_tally.least_k(assertion_state) or case.fabricated or case.contradicted:
                verdicts.judge(Moment.EVIDENCE, case)
        elif case.fabricated:
            verdicts.close_admitted(assertion_state, "rejected", "fabricated-annotation")
        elif case.contradicted:
            verdicts.close_admitted(assertion_state, "contradicted", "contradicted")
        else:
            verdicts.extend(assertion_state, corroboration.validity(assertion_state))

    def weigh(self, case: Case, observation: Observation, record: bytes, ts: int, cls: str) -> NotCountedReason | None:
        """Notes what an observation says in the case or the assertion; where it changes nothing, says why."""
        assertion_state, outcome = case.state, observation.outcome
        if self.guarded and observation.signature is None:
            signed = self.as_signed(assertion_state, observation, record, cls)
            if signed is None:
                return "not-as-signed"
            observation = signed
        observation = check_tally.with_root(assertion_state.bounds, observation, cls)
        why = corroboration.exclusion_reason(self.policy, assertion_state, observation)
        if why is None:
            self.note_look(assertion_state, outcome)
            own = corroboration.of_own_checks(assertion_state, observation)
            why, observation = ("other-checks", observation) if own is None else (None, own)
        if why is None:
            self.note(assertion_state, observation, ts, cls)
        if outcome == "terms-present":
            if why is None:
                check_tally.note_words(assertion_state)
            return "terms-present"
        if outcome in _UNCOUNTED:  # it waited for its assertion, as an answer
            return _UNCOUNTED[outcome]
        if why is not None:
            return why
        if outcome == "corroborates":
            observation = check_tally.with_file(observation)
            return corroboration.corroborate(self.policy, assertion_state, observation, ts, cls)
        if outcome == "contradicts":
            why = corroboration.contradict(assertion_state, cls, ts)
            case.contradicted = case.contradicted or why is None
        else:
            why = corroboration.unmask(assertion_state, observation, cls, ts)
            case.fabricated = case.fabricated or why is None
        return why

    def as_signed(
        self, assertion_state: AssertionState, observation: Observation, record: bytes, cls: str
    ) -> Observation | None:
        """What an observation may say: of one that carries a sighting, what that bears out; None for nothing."""
        carried = validation.carried(record)
        sighting = None if carried is None else decode_sighting(carried)
        if sighting is None or isinstance(sighting, Fault):
            return observation
        return corroboration.as_signed(assertion_state, observation, cls, sighting)

    def note_alone(self, attempt: Attempt, observation: Observation, ts: int, cls: str) -> None:
        """Keeps what a class saw that says nothing for or against an assertion."""
        state = attempt.assertion(span_key(observation.subject.span))
        if state is None:
            return
        if state.phase == Phase.PENDING and corroboration.exclusion_reason(self.policy, state, observation) is None:
            self.note_look(state, observation.outcome)
            own = corroboration.of_own_checks(state, observation)
            if own is not None:
                self.note(state, own, ts, cls)
        self.note_uncounted(state, observation, ts, _UNCOUNTED.get(observation.outcome))
        self.note_answer(state, observation, cls)

    def note_look(self, assertion_state: AssertionState, outcome: Outcome) -> None:
        """Notes that an observer that may count has looked at an assertion; a bound or a time-out is no look."""
        if outcome != "unavailable" and assertion_state.phase == Phase.PENDING:
            self.state.end_lateness(assertion_state, A_LOOK)

    def note_uncounted(
        self, assertion_state: AssertionState | None, observation: Observation, ts: int, why: NotCountedReason | None
    ) -> None:
        """Keeps that an observation did not count, for who may have to review the assertion."""
        if assertion_state is not None and why is not None and assertion_state.phase == Phase.PENDING:
            follow_up_requests.keep_not_counted(self.policy, assertion_state, observation, ts, why)

    def note_answer(self, assertion_state: AssertionState, observation: Observation, cls: str) -> None:
        """Settles a pending assertion, as if its horizon had ended, where every observer has answered about it."""
        if (
            self.counts_answers
            and assertion_state.phase == Phase.PENDING
            and corroboration.of_own_checks(assertion_state, observation) is not None
            and corroboration.note_answer(self.policy, assertion_state, observation, cls)
        ):
            self.verdicts.judge(Moment.END, self.verdicts.case(assertion_state))

    def note(self, assertion_state: AssertionState, observation: Observation, ts: int, cls: str) -> None:
        """Keeps what a class saw of an assertion that its emitter may be asked to mend."""
        if (
            assertion_state.effect in self.looks_kept
            and assertion_state.phase == Phase.PENDING
            and (assertion_state.effect in self.reviewed or assertion_state.attempt + 1 < self.rules.max_attempts)
            and assertion_state.kind != "refusal"
        ):
            follow_up_requests.keep_look(assertion_state, observation, cls, ts)

    # ------------------------------------------------------------ reviews

    def review(self, event: Event) -> Fault | None:
        """A person's decision, for an assertion that is there; a dead letter otherwise."""
        review = decode_review(event.value)
        if isinstance(review, Fault):
            return review
        decided_at = None if review.decided_at is None else parse_time(review.decided_at)
        fault = validation.misrouted(self.state, event, review.emission_id) or validation.skewed(
            self.state, "$.decided_at", decided_at
        )
        if fault is not None:
            return fault
        fault = validation.unauthorised_reviewer(self.checked, review, event.value)
        if fault is not None:
            return fault
        key = span_key(review.span)
        attempt = self.state.attempt(review.emission_id, review.attempt)
        assertion_state = attempt.assertion(key) if attempt is not None else None
        if assertion_state is None:
            which = f"{review.emission_id}#{key} of attempt {review.attempt}"
            return Fault("late-review", f"$: expected an assertion that may still be reviewed, got {which}")
        if review.decision == "admit" and assertion_state.phase != Phase.REVIEW:
            got = f"one that is {assertion_state.phase.name.lower()}"
            return Fault("unrequested-review", f"$.decision: expected an assertion that is up for review, got {got}")
        fault = validation.stale_review(self.checked, review, decided_at, assertion_state)
        if fault is not None:
            return fault
        if review.decision == "admit" and not self.is_agreed(assertion_state, review.reviewer):
            return None
        if assertion_state.phase == Phase.ADMITTED:
            self.verdicts.refuse_admitted(assertion_state)
        else:
            self.trace.note_of(Reviewed, assertion_state)
            self.verdicts.reviewed(self.verdicts.case(assertion_state), review)
        return None

    def is_agreed(self, assertion_state: AssertionState, reviewer: str | None) -> bool:
        """Whether as many distinct reviewers as the policy asks for have admitted an assertion, this one included."""
        needed = self.policy.reviewers.needed(assertion_state.effect)
        if needed == 1:
            return True
        if reviewer is None or reviewer in assertion_state.admitted_by:
            self.counters["not-counted"] += 1
            self.trace.note_of(Reviewed, assertion_state, why="no-other-reviewer")
            return False
        assertion_state.reviewers.append(reviewer)
        if len(assertion_state.admitted_by) >= needed:
            return True
        self.trace.note_of(Reviewed, assertion_state)
        self.verdicts.ask_again(assertion_state)
        return False


def _of_another(known: EmissionState, owner: bytes) -> Fault | None:
    """Why an emission id is not this emitter's: another one has signed an earlier attempt."""
    if all(attempt.digest[DIGEST_BYTES:] in (b"", owner) for attempt in known.attempts):
        return None
    return Fault("unauthorised-emitter", "$.emission_id: expected an id of this emitter, got one of another's")


_RECORD: Final = int(EventKind.RECORD)  # a plain name in the loop: a member of an enum costs 0.1 us a look
_ADJUDICATED: Final = (Phase.PENDING, Phase.ADMITTED)
_UNCOUNTED: Final[Mapping[Outcome, NotCountedReason]] = {"absent": "absent", "unavailable": "unavailable"}
_NOTHING: Final[dict[str, list[PendingEvidence]]] = {}

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
