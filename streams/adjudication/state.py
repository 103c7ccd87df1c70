"""One lane's state: the windowed table of emissions, the evidence that waits for one, the rules in force, the clocks.

Wall clock enters only through block headers: `time` runs what expires, `watermark` what waits for evidence
(docs/verdicts.md). The table holds emissions packed; a block takes apart those that it touches. Evidence
without an assertion waits within limits, so an observer that names what does not exist cannot fill a lane.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final

from ...codecs.blocks import Header
from ...codecs.errors import Fault
from ...codecs.partition import Partitioner
from ..policy.policy import Policy
from ..policy.privacy import NO_SECRETS, Secrets
from . import fold_layout
from .emission_state import (
    ALONE,
    COVERAGE,
    LATE,
    NO_LOOK,
    NUMBER_OF,
    AssertionState,
    Attempt,
    CheckTerms,
    Closed,
    EmissionState,
    PendingEvidence,
    Phase,
    Terms,
    fill,
    pack,
    unpack,
)
from .timers import TIME, WATERMARK, TimerQueue

FEW: Final = 16
"""So many records lie packed with their emission."""
SMALL: Final = 32_768
"""So many bytes of records lie packed with their emission."""
BESIDE: Final = 256
"""Bytes that a record which waits costs beside its own: its place, its timer, its digest."""
OTHERS: Final = ""
"""The slot of all observers that the policy does not list, and of all that came under earlier versions of the fold."""


class Crowd:
    """All that waits for one emission, where that is much.

    Invariant: every record in `_items` is in `_by_attempt` under its attempt and counted in `_slots` and `_digests`.
    The orders rise along every dictionary, as they were given.
    """

    __slots__ = ("_by_attempt", "_digests", "_items", "_slots")

    def __init__(self, items: Iterable[PendingEvidence] = ()) -> None:
        self._items: dict[int, PendingEvidence] = {}
        self._by_attempt: dict[int, dict[int, None]] = {}
        self._slots: Counter[str] = Counter()
        self._digests: Counter[bytes] = Counter()
        for one in items:
            self.add(one)

    def __len__(self) -> int:
        return len(self._items)

    def add(self, one: PendingEvidence) -> None:
        """Takes a record in, behind all others."""
        self._items[one.order] = one
        self._by_attempt.setdefault(one.attempt, {})[one.order] = None
        self._slots[one.slot] += 1
        self._digests[_digest(one.record)] += 1

    def remove(self, one: PendingEvidence) -> None:
        """Takes a record out."""
        del self._items[one.order]
        orders = self._by_attempt[one.attempt]
        del orders[one.order]
        if not orders:
            del self._by_attempt[one.attempt]
        _less(self._slots, one.slot)
        _less(self._digests, _digest(one.record))

    def item(self, order: int) -> PendingEvidence | None:
        """The record with this order, None where there is none."""
        return self._items.get(order)

    def items(self) -> list[PendingEvidence]:
        """All of them, in the order of their coming."""
        return list(self._items.values())

    def of(self, attempt: int) -> list[PendingEvidence]:
        """Those that speak of an attempt, in the order of their coming."""
        return [self._items[order] for order in self._by_attempt.get(attempt, ())]

    def count(self, slot: str) -> int:
        """How many there are of a slot."""
        return self._slots[slot]

    def has(self, record: bytes) -> bool:
        """Whether a record with these bytes waits."""
        return _digest(record) in self._digests


def _digest(record: bytes) -> bytes:
    return blake2b(record, digest_size=16).digest()


def _less(counted: Counter[str] | Counter[bytes], name: str | bytes) -> None:
    """One less; a name that stands for nothing any more goes."""
    counts: Counter[str | bytes] = counted  # pyright: ignore[reportAssignmentType]
    counts[name] -= 1
    if not counts[name]:
        del counts[name]


def waiting_cost(record: bytes) -> int:
    """What a record that waits takes of its slot's share, in bytes."""
    return len(record) + BESIDE


def is_much(items: list[PendingEvidence]) -> bool:
    """Whether so much waits that it must not lie packed with its emission."""
    return len(items) > FEW or sum(len(one.record) for one in items) > SMALL


def slot_of(policy: Policy, observer: str) -> str:
    """Whose share an observation takes."""
    return observer if observer in policy.observers else OTHERS


def share_of(policy: Policy) -> int:
    """The bytes that each slot may have waiting in a lane."""
    return policy.admissibility.max_waiting_bytes // (len(policy.observers) + 1)


def too_many_waiting(
    policy: Policy, what: str, slot: str, count: int, held: int, record: bytes, share: int | None = None
) -> Fault | None:
    """Returns `too-many-waiting` where no more records of a `slot` may wait under `policy` for `what`: `count` of it
    wait for the same emission, and `held` bytes of it in the lane, where `share` may (None: the share of an
    adjudicating lane); `record` has come."""
    most, share = policy.admissibility.max_waiting, share_of(policy) if share is None else share
    who = "an observer" if slot else "the observers that the policy does not list"
    if count >= most:
        return Fault(
            "too-many-waiting", f"$: expected at most {most} records of {who} to wait for {what}, got one more"
        )
    if held + waiting_cost(record) > share:
        got = f"{held} and one of {len(record)}"
        return Fault("too-many-waiting", f"$: expected at most {share} bytes of {who} to wait in a lane, got {got}")
    return None


OPEN = 1000
"""So many emissions stay unpacked between blocks: what belongs together mostly comes together. About 2 MB."""


class Table:
    """The state of one lane. `fold` is the only writer.

    Invariant: every emission of which anything is known is in `_packed`, in the order in which it was first heard of;
    where it is in `_open` as well, that is what holds. What waits for it lies there, or in `_crowds`, never in both.

    Attributes:
        time, watermark: of the last block, Unix ms; neither ever decreases.
        ran: milliseconds in which the lane ran; a gap of more than a second between two blocks counts as one.
        order: the next item's place in the lane's history.
        terms: the bounds that assertions began with, by their numbers.
        counters: the fates that leave no record: discarded, duplicate, late, unmatched, not-counted, and others.
        lingers: whether an attempt of which the last assertion has ended outlives the block, so that `verdicts` can
            tell of it; set by the fold for each block.
        live, asides: how many assertions live, and how much evidence waits for its emission.
        unseen: how many assertions wait beyond their horizon for a first look.
        held: the bytes of the evidence that waits, by slot (state.py); a slot of which nothing waits is not there.
    """

    def __init__(self, lane: int, lanes: int) -> None:
        self.lane = lane
        self.lanes = lanes
        self.policy: Policy | None = None
        self.next_policy: Policy | None = None
        self.time: int = 0
        self.watermark: int = 0
        self.ran: int = 0
        self.order: int = 0
        self.terms: list[Terms] = []
        self.pending: TimerQueue[AssertionState | Attempt | PendingEvidence] = TimerQueue(
            WATERMARK, self.item, self.timer
        )
        self.expiring: TimerQueue[AssertionState | Attempt | PendingEvidence] = TimerQueue(TIME, self.item, self.timer)
        self.counters: Counter[str] = Counter()
        self.max_validities: list[tuple[int, int]] = []  # (in force since, milliseconds), oldest first
        self.running: deque[tuple[int, int]] = deque()  # (ran, time) about once a second of running: for max_stall
        self.live = self.asides = self.unseen = 0
        self.held: dict[str, int] = {}
        self.lingers = False
        self._packed: dict[str, bytes] = {}
        self._open: dict[str, EmissionState] = {}
        self._crowds: dict[str, Crowd] = {}

    # ------------------------------------------------------------ emissions

    def __contains__(self, emission_id: str) -> bool:
        """Whether anything is known of an emission."""
        return emission_id in self._packed

    def __iter__(self) -> Iterator[str]:
        """The emissions of which anything is known."""
        return iter(self._packed)

    def known(self, emission_id: str) -> EmissionState | None:
        """All that is known of an emission; None where that is nothing."""
        known = self._open.get(emission_id)
        if known is None:
            packed = self._packed.get(emission_id)
            if packed is None:
                return None
            known = self._open[emission_id] = unpack(emission_id, packed, self.terms)
        return known

    def item(self, emission_id: str, order: int) -> AssertionState | Attempt | PendingEvidence | None:
        """The item that a timer stands for."""
        crowd = self._crowds.get(emission_id)
        if crowd is not None and (found := crowd.item(order)) is not None:
            return found
        known = self.known(emission_id)
        return None if known is None else known.item(order)

    def timer(self, emission_id: str, order: int) -> tuple[int, int | None] | None:
        """The clock and the instant of an item; the compiled core tells them without taking the emission apart."""
        crowd = self._crowds.get(emission_id)
        if crowd is not None and (waits := crowd.item(order)) is not None:
            return waits.clock, waits.due
        if fold_layout.core is not None and emission_id not in self._open:
            packed = self._packed.get(emission_id)
            found = None if packed is None else fold_layout.core.timer(packed, order)
            if found is not NotImplemented:
                return found
        item = self.item(emission_id, order)
        return None if item is None else (item.clock, item.due)

    def tables(
        self,
    ) -> tuple[
        dict[str, bytes],
        dict[str, EmissionState],
        dict[str, Crowd],
        dict[str, int],
        Counter[str],
        list[bytes],
        list[bytes],
    ]:
        """What holds everything, for the compiled core (compiled.py), which works on what lies packed."""
        counters, pending, expiring = self.counters, self.pending.keys(), self.expiring.keys()
        return self._packed, self._open, self._crowds, self.held, counters, pending, expiring

    def settle(self, most: int | None = None) -> None:
        """Between blocks: packs what lies open, where that has become more than `most` (`OPEN`)."""
        if len(self._open) > (OPEN if most is None else most):
            for emission_id, known in self._open.items():
                self._packed[emission_id] = pack(known)
            self._open.clear()

    def is_open(self, emission_id: str | None) -> bool:
        """Whether an emission lies unpacked."""
        return emission_id in self._open

    def put_away(self, emission_id: str) -> None:
        """Packs one emission that lies open: the compiled core (compiled.py) takes up only what lies packed."""
        self._packed[emission_id] = pack(self._open.pop(emission_id))

    def at_rest(self) -> dict[str, bytes]:
        """Every emission packed; what lies open goes on doing so."""
        for emission_id, known in self._open.items():
            self._packed[emission_id] = pack(known)
            fill(emission_id, known, self.terms)
        if not self._crowds:
            return self._packed
        rest = dict(self._packed)
        for emission_id, crowd in self._crowds.items():
            known = unpack(emission_id, rest[emission_id], self.terms)
            rest[emission_id] = pack(EmissionState(known.attempts, crowd.items()))
        return rest

    def put_back(self, packed: dict[str, bytes]) -> None:
        """Takes in what another table had at rest, in its order, into a table that has nothing; `terms` come first."""
        self._packed = packed
        queues = {WATERMARK: self.pending, TIME: self.expiring}
        for emission_id, raw in packed.items():
            known = unpack(emission_id, raw, self.terms)
            for attempt in known.attempts:
                self.live += len(attempt.assertions)
                self.unseen += sum(one.look == LATE for one in attempt.assertions)
            self.asides += len(known.waiting)
            for one in known.waiting:
                self.hold(one.slot, waiting_cost(one.record))
            for item in known.items():
                if item.due is not None:
                    queues[item.clock].file(emission_id, item.order, item.due)
            if is_much(known.waiting):
                self._crowds[emission_id], known.waiting = Crowd(known.waiting), []
                packed[emission_id] = pack(known)

    def _forget_if_empty(self, emission_id: str, known: EmissionState) -> None:
        if not known.attempts and not known.waiting and emission_id not in self._crowds:
            del self._packed[emission_id], self._open[emission_id]

    # ------------------------------------------------------------ attempts and assertions

    def next_order(self) -> int:
        """A number for a new item, greater than every earlier one."""
        self.order += 1
        return self.order

    def attempt(self, emission_id: str, number: int) -> Attempt | None:
        """The memory of one attempt, or None where it is not known (any more)."""
        known = self.known(emission_id)
        return None if known is None else known.attempt(number)

    def newest(self, emission_id: str) -> int:
        """The newest attempt known of an emission, -1 where none is."""
        known = self.known(emission_id)
        return -1 if known is None else known.newest()

    def remember(self, emission_id: str, attempt: Attempt) -> None:
        """Takes an attempt in. Once nothing of it lives, `rest` must be told."""
        self._opened(emission_id).attempts.append(attempt)

    def rest(self, emission_id: str, attempt: Attempt, *, closing: bool = False) -> None:
        """Nothing of an `attempt` of `emission_id` lives (any more): it is forgotten when a repetition would be too
        old. `closing`: its last assertion ends in this block."""
        until = attempt.emitted_at + self.least_max_validity(attempt.emitted_at)
        if closing and self.lingers:
            until = max(until, self.time)
        if until < self.time:
            self.forget(emission_id, attempt)
        else:
            self.expiring.wait(emission_id, attempt, until)

    def least_max_validity(self, emitted_at: int) -> int:
        """The smallest `max_validity` in force since `emitted_at`: the memory of an emission may have ended by that."""
        least = self.max_validities[-1][1]
        for since, milliseconds in reversed(self.max_validities):
            least = min(least, milliseconds)
            if since <= emitted_at:
                break
        return least

    def forget(self, emission_id: str, attempt: Attempt) -> None:
        """Drops an attempt of which nothing lives."""
        known = self._opened(emission_id)
        known.attempts.remove(attempt)
        self._forget_if_empty(emission_id, known)

    def add(self, attempt: Attempt, assertion_state: AssertionState) -> None:
        """Takes an assertion in."""
        attempt.assertions.append(assertion_state)
        self.live += 1

    def close(self, assertion_state: AssertionState, closed: Closed | None = None) -> None:
        """Ends an assertion: only its span key is remembered, to tell late evidence from unmatched evidence; or what
        became of it as well."""
        self.end_lateness(assertion_state)
        assertion_state.phase = Phase.CLOSED
        assertion_state.due = None
        attempt = self.attempt(assertion_state.emission_id, assertion_state.attempt)
        if attempt is None:
            raise AssertionError(f"{assertion_state.emission_id} lives without its attempt {assertion_state.attempt}")
        attempt.assertions.remove(assertion_state)
        attempt.closed.append(assertion_state.span_key if closed is None else closed)
        self.live -= 1
        if not attempt.assertions:
            self.rest(assertion_state.emission_id, attempt, closing=True)

    def end_lateness(self, assertion_state: AssertionState, look: int = NO_LOOK) -> None:
        """An assertion waits for its first look no longer, if it did; `look` says whether there was one."""
        self.unseen -= assertion_state.look == LATE
        if assertion_state.look == LATE or look:
            assertion_state.look = look

    def _opened(self, emission_id: str) -> EmissionState:
        known = self._open.get(emission_id) or self.known(emission_id)
        if known is None:
            self._packed[emission_id] = b""  # its place in the order
            known = self._open[emission_id] = EmissionState()
        return known

    # ------------------------------------------------------------ waiting evidence

    def put_aside(self, emission_id: str, one: PendingEvidence, until: int) -> None:
        """Keeps evidence of `emission_id` whose assertion is not known until the watermark has passed `until`."""
        known, crowd = self._opened(emission_id), self._crowds.get(emission_id)
        if crowd is not None:
            crowd.add(one)
        else:
            known.waiting.append(one)
            if is_much(known.waiting):
                self._crowds[emission_id], known.waiting = Crowd(known.waiting), []
        self.asides += 1
        self.hold(one.slot, waiting_cost(one.record))
        self.pending.wait(emission_id, one, until)

    def drop(self, emission_id: str, one: PendingEvidence) -> None:
        """Takes waiting evidence out: it was matched, or its time is over."""
        known, crowd = self._opened(emission_id), self._crowds.get(emission_id)
        if crowd is None:
            known.waiting.remove(one)
        else:
            crowd.remove(one)
            if not crowd:
                del self._crowds[emission_id]
        one.due = None
        self.asides -= 1
        self.hold(one.slot, -waiting_cost(one.record))
        self._forget_if_empty(emission_id, known)

    def hold(self, slot: str, more: int) -> None:
        """So many bytes more of a slot wait, or fewer; the compiled core does the same for what it takes in."""
        held = self.held.get(slot, 0) + more
        if held:
            self.held[slot] = held
        else:
            self.held.pop(slot, None)

    def waits(self, emission_id: str) -> bool:
        """Whether any evidence waits for an emission."""
        known = self.known(emission_id)
        return emission_id in self._crowds or (known is not None and bool(known.waiting))

    def waiting_for(self, emission_id: str, attempt: int) -> list[PendingEvidence]:
        """The evidence that waits for an attempt, in the order of its coming."""
        crowd = self._crowds.get(emission_id)
        if crowd is not None:
            return crowd.of(attempt)
        known = self.known(emission_id)
        return [] if known is None else [one for one in known.waiting if one.attempt == attempt]

    def count_waiting(self, emission_id: str, slot: str) -> int:
        """How much evidence of one slot waits for an emission."""
        crowd = self._crowds.get(emission_id)
        if crowd is not None:
            return crowd.count(slot)
        known = self.known(emission_id)
        return 0 if known is None else sum(one.slot == slot for one in known.waiting)

    def has_waiting(self, emission_id: str, record: bytes) -> bool:
        """Whether evidence with these bytes waits for an emission."""
        crowd = self._crowds.get(emission_id)
        if crowd is not None:
            return crowd.has(record)
        known = self.known(emission_id)
        return known is not None and any(one.record == record for one in known.waiting)


MAX_TIMERS = 200
"""At most so many timers fire in one block; a lane closes empty blocks until none is due. A rule of the fold, so that a
ledger replays: as many take 0.1 s where each is a decision that Python makes."""
TICK = 1000
"""A gap of more than a second between two blocks counts as one second of running (`max_stall`)."""


class State(Table):
    """One lane's state. `fold` is the only writer.

    Args:
        lane: its number.
        lanes: how many lanes there are.
        partitioner, secrets: see below.

    Attributes:
        partitioner: how producers choose a key's partition; the lane checks it.
        secrets: what identifiers are hashed with; of the process, not of the ledger, so in no snapshot.
        terms_number: of the terms of the policy in force.
        left_to_python: how many events of the last block the compiled core, where it is in use, left to Python. About
            the process, not about the lane: in no snapshot, and nothing is decided by it.
    """

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner, secrets: Secrets = NO_SECRETS) -> None:
        super().__init__(lane, lanes)
        self.partitioner: Partitioner = partitioner
        self.secrets = secrets
        self.terms_number = -1
        self.left_to_python = 0
        self._hash = self._next_hash = ""

    @property
    def policy_hash(self) -> str:
        """Hash of the policy that the next block's header names; empty before the first policy."""
        return self._next_hash or self._hash

    @property
    def key_in_force(self) -> str:
        """The id of the key that the next block's header names; empty where it hashes nothing."""
        policy = self.next_policy or self.policy
        return self.secrets.key_for(policy.privacy if policy is not None else None)

    def announce(self, policy: Policy) -> None:
        """Takes a policy document in: it is in force from the next block on."""
        self.next_policy, self._next_hash = policy, policy.hash

    def enforce(self) -> None:
        """Puts an announced policy into force. Lives that are under way keep the bounds that they started with."""
        policy = self.next_policy
        if policy is None:
            return
        self.policy, self.next_policy = policy, None
        self._hash, self._next_hash = self._next_hash, ""
        rules = policy.admissibility
        least = rules.min_observers
        # Where the emitter's own word is evidence no observer is heard, so none is counted (`policy check` warns).
        needed = ALONE if rules.trust == "declared" else (least.internal, least.external)
        terms = Terms(rules.window, rules.horizon, rules.late_horizon, rules.max_validity, needed, _check_terms(policy))
        if terms not in self.terms:
            self.terms.append(terms)
        self.terms_number = self.terms.index(terms)
        self.max_validities.append((self.time, rules.max_validity))

    def advance(self, header: Header) -> None:
        """Moves the clocks to a block's; they never go back, whatever a header says."""
        if self.time:
            self.ran += min(max(0, header.time - self.time), TICK)
        self.time = max(self.time, header.time)
        self.watermark = max(self.watermark, header.watermark)
        running = self.running
        if not running or self.ran - running[-1][0] >= TICK:
            running.append((self.ran, self.time))

    def evidence_mark(self) -> int:
        """The instant up to which all evidence is in: the watermark, or what `max_stall` makes of it (Unix ms).

        What has waited for `max_stall` of running time beyond its horizon is over, whatever the watermark says.
        """
        if self.policy is None:
            return self.watermark
        rules = self.policy.admissibility
        running, longest = self.running, rules.horizon + rules.max_stall
        while len(running) > 1 and self.ran - running[1][0] > longest:
            running.popleft()
        if not running or self.ran - running[0][0] <= longest:
            return self.watermark
        return max(self.watermark, running[0][1] + rules.horizon)


def _check_terms(policy: Policy) -> CheckTerms:
    judging = policy.judging
    least = judging.min_coverage
    return CheckTerms(
        (COVERAGE.index(least.internal), COVERAGE.index(least.external)),
        {name: (k.internal or 0, k.external or 0) for name, k in sorted(policy.admissibility.k_by_check.items())},
        judging.same_bytes,
        judging.same_root,
        [[NUMBER_OF[name] for name in group] for group in judging.groups],
    )


def new_state(lane: int, lanes: int, partitioner: Partitioner = "murmur2", secrets: Secrets = NO_SECRETS) -> State:
    """The state of a lane before its first block. The arguments `lane`, `lanes`, `partitioner` and `secrets` are those
    of `State`."""
    return State(lane, lanes, partitioner, secrets)


def due(state: State, time: int, watermark: int) -> int:
    """Returns how many timers a block of this `time` and `watermark` (Unix ms) would fire after the block before, which
    made `state`; counted up to `MAX_TIMERS + 1`."""
    most = MAX_TIMERS + 1
    found = state.pending.count_due(max(watermark, state.evidence_mark()), most)
    return found if found == most else min(most, found + state.expiring.count_due(time, most))


def next_due(state: State) -> tuple[int | None, int | None]:
    """The earliest block time, and the earliest watermark, at which something fires (Unix ms, None: nothing waits).

    While something waits for a watermark that does not come, a block a second is due, so that `max_stall` can run.
    """
    pending, expiring = state.pending.next_due(), state.expiring.next_due()
    times = [expiring + 1] if expiring is not None else []
    if pending is not None:
        times.append(max(pending + 1, state.time + TICK))
    return min(times, default=None), None if pending is None else pending + 1


def counters(state: State) -> dict[str, int]:
    """The named fates so far, and what lives now: `lives`, `waiting`."""
    return {**dict(sorted(state.counters.items())), "lives": state.live, "waiting": state.asides}
