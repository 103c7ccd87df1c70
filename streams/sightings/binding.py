"""The fold of the lane `bind`: it joins sightings with the citations of assertions and makes observations of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from itertools import islice
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from ...codecs.blocks import MAX_INPUT_BYTES, Block, Event, EventKind, Output, refused
from ...codecs.decode import decode_citation, decode_sighting
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.partition import Partitioner
from ...codecs.records import MAX_UNCHECKED, Citation, Sighting
from ...codecs.times import parse_time
from ...codecs.vocabulary import recognise
from ..adjudication import snapshot, validation
from ..adjudication.emission_state import CLASSES, NUMBER_OF
from ..adjudication.outputs import dead_letter, traceparent_of
from ..adjudication.state import (
    MAX_TIMERS,
    OTHERS,
    TICK,
    State,
    new_state,
    share_of,
    slot_of,
    too_many_waiting,
    waiting_cost,
)
from ..adjudication.timers import WATERMARK, TimerQueue
from ..adjudication.versions import rules_of
from ..judging.checks import Held as Decided
from ..judging.checks import Unknown, canonical, parse_check
from ..judging.claim_forms import FORMS_VERSION, checks_of
from ..judging.coverage import Coverage, Proposed, cover
from ..judging.verify import AssertionChecks, checks_of_assertion, match
from ..policy.policy import BY_FORM, demand_adoption, follow

Side = Literal["sighting", "citation"]
FORMAT: Final = 2
CHUNK: Final = 512
"""So many records make a chunk of a snapshot; a record may have a megabyte, and most have less than one kilobyte."""


class Held(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """One side of a pair, as it came. Only its timer ever changes: a later end of its memory makes a new one.

    Attributes:
        name: the observation id.
        order: its place in the lane's history.
        side: which one it is.
        number: of its bare class (`emission_state.CLASSES`).
        digest: of the record's bytes; known by it when it is repeated.
        record: the bytes.
        traceparent: of a citation, that of its emission.
        until: waits for the other side up to this instant on the watermark, Unix ms.
        forget: is remembered up to this one.
        met: has had a partner.
        slot: whose share of what may wait it takes (adjudication/py); of a citation, nobody's own.
        clock, due: its timer (timers.py); `due` is `forget` while it waits.
    """

    name: str
    order: int
    side: Side
    number: int
    digest: bytes
    record: bytes
    traceparent: bytes | None
    until: int
    forget: int
    met: bool = False
    slot: str = OTHERS
    clock: int = WATERMARK
    due: int | None = None


class _Orders:
    """The orders of one side under one id and class, rising; what was dropped is passed over, and goes in bulk.

    So a side that is dropped costs the same however many stand there: no list is moved up for each.
    """

    __slots__ = ("all", "dead")

    def __init__(self) -> None:
        self.all: list[int] = []
        self.dead = 0


class Job(msgspec.Struct, gc=False, eq=False, array_like=True):
    """Pairs still to be written: of one side that came with all that came before it and waited then.

    Attributes:
        name: the observation id.
        order: of the side that came.
        past: the greatest order among its partners that is done.
        mark: the evidence mark when it came; partners that waited no more by then are none.
    """

    name: str
    order: int
    past: int
    mark: int


class BindState:
    """The state of one binding lane. `binding.fold` is the only writer.

    Invariant: every side in `_held`, by its order, is in `_orders` under its id, side and class, is counted in
    `_names`, has its digest in `_known`, and waits in `waiting` until its `forget`. A sighting without a partner is
    counted in `_unmet`. `_held` is in the order in which the sides came.

    Args:
        lane: its number.
        lanes: how many lanes there are.
        partitioner: the name of the lanes' partitioner.

    Attributes:
        rules: clocks, and the policy in force.
        jobs: pairs still to be written, in order.
        waiting: what is remembered, on the watermark.
        counters: the fates that leave no record: bound, unmatched, duplicate, not-counted, and others.
    """

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner) -> None:
        self.rules: State = new_state(lane, lanes, partitioner)
        self.jobs: deque[Job] = deque()
        self.waiting: TimerQueue[Held] = TimerQueue(WATERMARK, self.item)
        self.counters: Counter[str] = Counter()
        self._held: dict[int, Held] = {}
        self._orders: dict[tuple[str, Side, int], _Orders] = {}
        self._names: Counter[str] = Counter()
        self._unmet: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[tuple[Side, str]] = Counter()
        self._known: set[bytes] = set()

    def __contains__(self, name: str) -> bool:
        """Whether anything is held under an id."""
        return name in self._names

    def item(self, name: str, order: int) -> Held | None:
        """The side that a timer or a job stands for."""
        held = self._held.get(order)
        return held if held is not None and held.name == name else None

    def partners(self, side: Held, past: int) -> Iterator[Held]:
        """What came before a side under the same id, is of the other side and the same class, from behind `past` on."""
        found = self._orders.get((side.name, _OTHER[side.side], side.number))
        orders = [] if found is None else found.all
        for place in range(bisect_right(orders, past), bisect_left(orders, side.order)):
            held = self._held.get(orders[place])
            if held is not None:
                yield held

    def count_waiting(self, name: str, slot: str) -> int:
        """How many sightings of one slot under an id have had no partner."""
        return self._unmet[name, slot]

    def bytes_of(self, side: Side, slot: str) -> int:
        """How many bytes of one slot are held."""
        return self._bytes[side, slot]

    def knows(self, digest: bytes) -> bool:
        """Whether a record with these bytes is remembered."""
        return digest in self._known

    def take(self, held: Held) -> None:
        """Takes a side in; it waits from now on."""
        self._held[held.order] = held
        self._orders.setdefault((held.name, held.side, held.number), _Orders()).all.append(held.order)
        self._names[held.name] += 1
        self._bytes[held.side, held.slot] += waiting_cost(held.record)
        self._count_unmet(held, 1)
        self._known.add(held.digest)
        self.waiting.wait(held.name, held, held.forget)

    def meet(self, held: Held, until: int) -> None:
        """A side has met a partner that waits until an instant: it is remembered up to that at least.

        A snapshot that is under way still has the old one.
        """
        if until > held.forget or not held.met:
            self._count_unmet(self._held[held.order], -1)
            newer = replace(held, forget=max(until, held.forget), met=True)
            self._held[held.order] = newer
            self.waiting.wait(held.name, newer, newer.forget)

    def drop(self, held: Held) -> None:
        """Forgets a side."""
        del self._held[held.order]
        key = (held.name, held.side, held.number)
        found = self._orders[key]
        found.dead += 1
        if found.dead == len(found.all):
            del self._orders[key]
        elif 2 * found.dead > len(found.all):
            found.all, found.dead = [order for order in found.all if order in self._held], 0
        _add(self._names, held.name, -1)
        _add(self._bytes, (held.side, held.slot), -waiting_cost(held.record))
        self._count_unmet(held, -1)
        self._known.discard(held.digest)

    def _count_unmet(self, held: Held, more: int) -> None:
        if held.side == "sighting" and not held.met:
            _add(self._unmet, (held.name, held.slot), more)

    @property
    def held(self) -> int:
        """How many sides are remembered."""
        return len(self._held)

    def at_rest(self) -> list[Held]:
        """Everything that is held, in the order in which it came."""
        return list(self._held.values())


_OTHER: Final[dict[Side, Side]] = {"sighting": "citation", "citation": "sighting"}
_Counted = TypeVar("_Counted")


def _add(counts: Counter[_Counted], name: _Counted, more: int) -> None:
    """Counts; what has come to nothing goes."""
    counts[name] += more
    if not counts[name]:
        del counts[name]


# ---------------------------------------------------------------- when something is due


def due(state: BindState, time: int, watermark: int) -> int:
    """Returns how many timers a block would fire, counted up to `MAX_TIMERS + 1`; this many while pairs of `state` are
    still to be written, since pairs are written before any input is read. `watermark` in Unix ms; no timer of a binding
    lane is on `time`."""
    if state.jobs:
        return MAX_TIMERS + 1
    return state.waiting.count_due(max(watermark, state.rules.evidence_mark()), MAX_TIMERS + 1)


def next_due(state: BindState) -> tuple[int | None, int | None]:
    """As `state.next_due`; at once while pairs are still to be written."""
    if state.jobs:
        return state.rules.time, None
    first = state.waiting.next_due()
    if first is None:
        return None, None
    return max(first + 1, state.rules.time + TICK), first + 1


def counters(state: BindState) -> dict[str, int]:
    """The named fates so far, and what is held now."""
    return {**dict(sorted(state.counters.items())), "waiting": state.held}


# ---------------------------------------------------------------- snapshots


class Head(msgspec.Struct, gc=False, kw_only=True):
    """What a binding lane has beside the head of any lane (snapshot.py) and what it holds."""

    bind: int
    jobs: list[Job]
    counters: dict[str, int]


_Row = tuple[str, int, Side, int, bytes, bytes, bytes | None, int, int, bool, str]
LAYOUT: Final = snapshot.layout_of(snapshot.LAYOUT, repr((FORMAT, _Row)), Head, Job, Held)
"""As `snapshot.LAYOUT`."""

_encoder = msgspec.msgpack.Encoder(order="sorted")
_head = msgspec.msgpack.Decoder(Head)
_chunk = msgspec.msgpack.Decoder(list[_Row])


def dump(state: BindState) -> Iterator[bytes]:
    """The state as it is now, in chunks, as `snapshot.dump`: they may be made later, while the lane folds on."""
    rules = next(snapshot.dump(state.rules))
    head = _encoder.encode(Head(bind=FORMAT, jobs=list(state.jobs), counters=dict(state.counters)))
    return _chunks(rules, head, state.at_rest())


def _chunks(rules: bytes, head: bytes, sides: list[Held]) -> Iterator[bytes]:
    yield rules
    yield head
    rows = map(_row, sides)
    while chunk := list(islice(rows, CHUNK)):
        yield _encoder.encode(chunk)


def _row(held: Held) -> _Row:
    # Not its timer: that is the lane's own, and moves while a snapshot is written.
    return (
        held.name,
        held.order,
        held.side,
        held.number,
        held.digest,
        held.record,
        held.traceparent,
        held.until,
        held.forget,
        held.met,
        held.slot,
    )


def load(chunks: Iterable[bytes]) -> BindState:
    """The state that `dump` was given.

    Raises:
        DoesNotHoldError: the chunks are not those of a snapshot that this version reads.
    """
    given = iter(chunks)
    rules = snapshot.load([next(given, b"")])
    state = BindState(rules.lane, rules.lanes, rules.partitioner)
    state.rules = rules
    try:
        head = _head.decode(next(given, b""))
        if head.bind != FORMAT:
            raise DoesNotHoldError("the snapshot has another format", expected=str(FORMAT), got=str(head.bind))
        state.jobs, state.counters = deque(head.jobs), Counter(head.counters)
        for chunk in given:
            for row in _chunk.decode(chunk):
                name, order, side, number, digest, record, traceparent, until, forget, met, slot = row
                held = Held(
                    name=name,
                    order=order,
                    side=side,
                    number=number,
                    digest=digest,
                    record=record,
                    traceparent=traceparent,
                    until=until,
                    forget=forget,
                    met=met,
                    slot=slot,
                )
                state.take(held)
    except msgspec.MsgspecError as error:
        raise DoesNotHoldError(f"the snapshot does not hold a binding lane's state: {error}") from error
    return state


OBSERVATIONS: Final = "observations"
GREP: Final = "substrate.grep"
SSE_COUNT: Final = "substrate.do.sse-count"
FORMS: Final = f" forms={FORMS_VERSION}"
"""What a header's `fold` ends with: by which claim forms the lane derives checks and coverage."""
BOUND: Final = "sluice-bound"
"""The header that marks what this fold binds, among what observers write: `LANE/HEIGHT/INDEX` of the binding lane, its
block, and the place among that block's outputs. An audit looks for what is marked; nothing counts by it."""
MAX_PAIRS: Final = MAX_TIMERS
MAX_BYTES: Final = 4_000_000
MAX_WORK: Final = 20_000_000
"""A block writes at most so many observations, of so many bytes, after looking through so many characters (times
terms, about 0.1 s), since strangers choose how often a sighting is cited. The rest comes with the next block, before
anything else is read (`binding_state.due`)."""
ROOM: Final = 150_000
"""Bytes that an observation may need beside its sighting's own members: it has to be an input itself."""
MAX_SHOWN: Final = 200
"""Characters of a term that an observation shows, as observers show them."""

_encode = msgspec.json.Encoder().encode
_JSON: Final[tuple[str, bytes]] = ("content-type", b"application/json")


def new_bind_state(lane: int, lanes: int, partitioner: Partitioner = "murmur2") -> BindState:
    """Returns the state of binding lane number `lane` of `lanes` before its first block; keys are spread by
    `partitioner`."""
    return BindState(lane, lanes, partitioner)


def fold(state: BindState, block: Block) -> list[Output]:
    """Moves the state over one block and returns its outputs, in order.

    Raises:
        DoesNotHoldError: the block has records, but no policy came before it, or is of a version's making that is not
            among ours (`versions.rules_of`).
    """
    _demand_forms(block.header.fold)
    rules = state.rules
    rules.advance(block.header)
    rules.enforce()
    if rules.policy is None:
        for event in block.events:
            if event.kind == EventKind.LEDGER:
                continue
            if event.kind != EventKind.POLICY or not _announce(state, event):
                got = f"an event of kind {event.kind}"
                raise DoesNotHoldError("a ledger begins with a policy", expected="a policy document", got=got)
        return []
    binding = _Binding(state, validation.Checked(rules.policy, rules.time), block)
    binding.pair()
    if not state.jobs:  # who is still to be paired must not be forgotten before
        binding.forget()
    for event in block.events:
        binding.apply(event)
    binding.pair()
    return binding.outputs


def _demand_forms(fold: str) -> None:
    """Demands that this package folds a block of this version, with these claim forms."""
    rules_of(fold)
    if not fold.endswith(FORMS):
        raise DoesNotHoldError(
            "the ledger was folded with other claim forms than this package has",
            expected=FORMS.strip(),
            got=fold,
            hint="the package that wrote it folds it",
        )


def _announce(state: BindState, event: Event) -> bool:
    rules = state.rules
    found = follow(rules.next_policy or rules.policy, event.value or b"", event.headers, rules.time)
    if isinstance(found, Fault):
        return False
    rules.announce(found)  # in force from the next block on
    return True


class _Binding:
    """One block being folded."""

    def __init__(self, state: BindState, checked: validation.Checked, block: Block) -> None:
        self.outputs: list[Output] = []
        self._state, self._policy, self._block, self._rules = state, checked.policy, block, state.rules
        self._checked = checked
        self._counters = state.counters
        self._mark = state.rules.evidence_mark()
        self._takers = [_TAKERS.get(source.topic, _Binding._foreign) for source in block.header.sources]
        self._left = [MAX_PAIRS, MAX_BYTES, MAX_WORK]

    def forget(self) -> None:
        """Forgets what has waited long enough, at most `MAX_TIMERS` of it."""
        waiting = self._state.waiting
        for _ in range(MAX_TIMERS):
            if waiting.head(self._mark) is None:
                return
            _, held = waiting.pop()
            self._state.drop(held)
            if not held.met:
                self._counters["unmatched"] += 1

    # ------------------------------------------------------------ inputs

    def apply(self, event: Event) -> None:
        """Takes one event in; whatever is wrong with it becomes a dead letter and stops nothing."""
        fault = self._takers[event.source](self, event) if event.kind == EventKind.RECORD else self._other(event)
        if fault is not None:
            self._counters["dead-letters"] += 1
            self.outputs.append(dead_letter(self._block, event, fault))

    def _other(self, event: Event) -> Fault | None:
        kind = event.kind
        if kind == EventKind.OVERSIZE:
            return Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
        if kind == EventKind.POLICY:
            if not _announce(self._state, event):
                self._counters["no-policy"] += 1  # the adjudicating lane tells of it in a dead letter
            return None
        if kind == EventKind.GAP:
            self._counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
            return None
        if kind == EventKind.QUARANTINE:
            offsets, fault = refused(event)
            self._counters["quarantined"] += offsets
            return fault
        if kind == EventKind.ADOPT:
            demand_adoption(event, self._policy, self._rules.time)
            return None
        if kind == EventKind.LEDGER:
            return None  # the chain says which one may stand there
        raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))

    def _foreign(self, _: Event) -> Fault | None:
        return Fault("schema", "$: expected a record of this lane's inputs, got one of another topic")

    def _sighting(self, event: Event) -> Fault | None:
        sighting = decode_sighting(event.value)
        if isinstance(sighting, Fault):
            return sighting
        fault = (
            self._misrouted(event, sighting.observation_id)
            or validation.skewed(self._rules, "$.observed_at", parse_time(sighting.observed_at))
            or validation.unauthorised(self._checked, sighting, event.value)
            or _too_large(event, sighting)
        )
        if fault is not None:
            return fault
        name, slot = sighting.observation_id, slot_of(self._policy, sighting.observer)
        return self._take("sighting", event, name, sighting.substrate_class, slot)

    def _citation(self, event: Event) -> Fault | None:
        citation = decode_citation(event.value)
        if isinstance(citation, Fault):
            return citation
        fault = self._misrouted(event, citation.observation_id)
        if fault is not None:
            return fault
        return self._take("citation", event, citation.observation_id, citation.substrate_class, OTHERS)

    def _misrouted(self, event: Event, name: str) -> Fault | None:
        rules = self._rules
        fault = validation.wrong_key(event.key, "observation id", name, rules.partitioner)
        if fault is not None or name in self._state:
            return fault  # the partition of what was taken in has passed its test
        return validation.wrong_partition(name, rules.lane, rules.lanes, rules.partitioner)

    def _take(self, side: Side, event: Event, name: str, substrate_class: str, slot: str) -> Fault | None:
        """Lets one side wait for the other, where so much may, and asks for its pairs with what is there."""
        state, rules, bounds = self._state, self._rules, self._policy.admissibility
        found = recognise(substrate_class)
        if found.name is None or found.terminal:
            self._counters["not-counted"] += 1
            return None
        digest = blake2b(event.value or b"", digest_size=16, person=side.encode()).digest()
        if state.knows(digest):
            self._counters["duplicate"] += 1
            return None
        if fault := self._too_many(side, name, slot, event.value or b""):
            return fault
        until = rules.time + bounds.window[found.name] + bounds.horizon
        order = rules.next_order()
        held = Held(
            name=name,
            order=order,
            side=side,
            number=NUMBER_OF[found.name],
            digest=digest,
            record=event.value or b"",
            traceparent=traceparent_of(event),
            until=until,
            forget=until,
            slot=slot,
        )
        state.take(held)
        state.jobs.append(Job(name, order, -1, self._mark))
        return None

    def _too_many(self, side: Side, name: str, slot: str, record: bytes) -> Fault | None:
        """Half of the lane's budget is for sightings, in equal shares; the other half is for citations, of which any
        number may name one id, since our own lanes write them."""
        state, policy = self._state, self._policy
        held = state.bytes_of(side, slot)
        if side == "sighting":
            count, share = state.count_waiting(name, slot), share_of(policy) // 2
            return too_many_waiting(policy, repr(name), slot, count, held, record, share)
        share = policy.admissibility.max_waiting_bytes // 2
        return too_many_waiting(policy, repr(name), slot, 0, held, record, share)

    # ------------------------------------------------------------ pairs

    def pair(self) -> None:
        """Writes the observations of the pairs that were asked for, as many as the block has room for."""
        jobs = self._state.jobs
        while jobs:
            if not self._write(jobs[0]):
                return
            jobs.popleft()

    def _write(self, job: Job) -> bool:
        """The pairs of one side that came; False where there is no room for all of them."""
        state = self._state
        came = state.item(job.name, job.order)
        assert came is not None, "nothing is forgotten before it was paired"
        for other in state.partners(came, job.past):
            if other.until < job.mark:
                continue
            if min(self._left) <= 0:
                return False
            came = state.item(job.name, job.order) or came
            self._write_pair(*((came, other) if came.side == "sighting" else (other, came)))
            job.past = other.order
        return True

    def _write_pair(self, seen: Held, cited: Held) -> None:
        sighting = decode_sighting(seen.record)
        citation = decode_citation(cited.record)
        assert not isinstance(sighting, Fault), "it was decoded when it came"
        assert not isinstance(citation, Fault), "it was decoded when it came"
        value = _observation(sighting, citation, CLASSES[seen.number], seen.record)
        headers: list[tuple[str, bytes]] = [_JSON]
        if cited.traceparent is not None:
            headers.append(("traceparent", cited.traceparent))
        header = self._block.header
        headers.append((BOUND, f"{header.lane}/{header.height}/{len(self.outputs)}".encode()))
        self.outputs.append(Output(OBSERVATIONS, citation.emission_id.encode(), value, headers))
        self._counters["bound"] += 1
        self._state.meet(seen, cited.until)
        self._state.meet(cited, seen.until)
        length = len(sighting.content) if isinstance(sighting.content, str) else 0
        for place, spent in enumerate((1, len(value), len(seen.record) + length * len(citation.checks or "1"))):
            self._left[place] -= spent


def _too_large(event: Event, sighting: Sighting) -> Fault | None:
    """What is bound has to be an input itself: a sighting must leave it room. A signed one goes along."""
    whole = len(event.value or b"")
    if whole <= ROOM:
        return None
    size = len(_encode(_members(sighting, ""))) + (whole if sighting.signature is not None else 0)
    if size + ROOM <= MAX_INPUT_BYTES:
        return None
    what = "beside its content" if sighting.signature is None else "beside its content and, being signed, in all"
    return Fault("oversize", f"the record has {size} octets {what}; it may have {MAX_INPUT_BYTES - ROOM}")


def _members(sighting: Sighting, substrate_class: str) -> dict[str, Any]:
    """What an observation has of its sighting."""
    members: dict[str, Any] = {
        "observation_id": sighting.observation_id,
        "substrate_class": substrate_class,
        "observed_at": sighting.observed_at,
        "observer": sighting.observer,
        "tier": sighting.tier,
        "confidence": sighting.confidence,
        "locator": sighting.locator,
        "detail": sighting.detail,
        "attestation": sighting.attestation,
    }
    return {name: value for name, value in members.items() if value is not None}


def _observation(sighting: Sighting, citation: Citation, substrate_class: str, record: bytes) -> bytes:
    """The observation that a pair makes (docs/reference/records.md).

    A signed sighting goes along as it came: its signature is all that the observer signed (validation.py).
    """
    path = (sighting.locator or {}).get("path")
    derived = checks_of(citation.text or "", citation.kind, citation.checks)
    asked = checks_of_assertion(citation.kind, derived)
    covered = _covered(citation, substrate_class, asked)
    found = match(
        substrate_class, asked, covered, sighting.content, path if isinstance(path, str) else "", citation.path
    )
    members = _members(sighting, substrate_class)
    members["subject"] = {
        "emission_id": citation.emission_id,
        "span": citation.span,
        "attempt": citation.attempt,
        **({} if citation.digest is None else {"digest": citation.digest}),
    }
    members["outcome"] = found.outcome
    by = {"by": BY_FORM} if derived.form == "claim" else {}
    members["detail"] = {
        **(sighting.detail or {}),
        "checks": [_check(text, held) | by for text, held in zip(derived.checks, found.helds, strict=True)],
    }
    if found.reason is not None:
        members["detail"]["reason"] = found.reason
    if derived.checks:
        members["verified"], members["refuted"] = found.verified, found.refuted
        members["coverage"], members["unchecked"] = covered.level, covered.unchecked[:MAX_UNCHECKED]
        if covered.level == "whole" and covered.by:
            members["coverage_by"] = covered.by
    if sighting.signature is not None:
        members["sighting"] = msgspec.Raw(record)
    return _encode(members)


def _covered(citation: Citation, substrate_class: str, asked: AssertionChecks) -> Coverage:
    """How much of its sentence the checks of an assertion cover, as observers judge it."""
    if citation.text is None or not asked.checks:
        return Coverage("part", ())
    scope = "channel" if substrate_class == SSE_COUNT else "file"
    if substrate_class == GREP and citation.path is None:
        scope = "repository"
    proposal = None if citation.proposer is None else Proposed(citation.proposer, citation.whole)
    return cover(citation.text, asked.checks, path=citation.path, scope=scope, proposal=proposal)


def _check(text: str, held: Decided) -> dict[str, Any]:
    """What one check came to, as observations tell it."""
    check = parse_check(text)
    members: dict[str, Any] = {"check": _shown(text) if isinstance(check, Unknown) else canonical(check)}
    members["holds"] = held.holds
    if held.reason is not None:
        members["reason"] = held.reason
    if held.path:
        members["path"] = held.path
    return members


def _shown(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


_TAKERS: Final[dict[str, Callable[[_Binding, Event], Fault | None]]] = {
    "sightings": _Binding._sighting,  # pyright: ignore[reportPrivateUsage]
    "citations": _Binding._citation,  # pyright: ignore[reportPrivateUsage]
}
INPUTS: Final = tuple(_TAKERS)
"""The topics that this fold takes in, in the order of a header's `sources`."""

__all__ = ["BOUND", "FORMS", "INPUTS", "OBSERVATIONS", "BindState", "fold", "new_bind_state"]
