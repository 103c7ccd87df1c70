"""The windowed table: a lane's whole state, by emission, with its timers.

What lives here is bounded by what is live, never by history: pending assertions until the watermark passes their
pending time, admitted ones until their validity ends, what waits for a reviewer until the review window closes, waiting
evidence for the horizon, and a short memory of each attempt until a repetition of it would be too old anyway.

An emission is taken apart (emission_state.py) when a block first touches it, and packed again once `OPEN` of them lie
open.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from ..policy.policy import Policy
from . import compiled_fold, waiting
from .emission_state import (
    LATE,
    NO_LOOK,
    AssertionState,
    Attempt,
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
from .waiting import Crowd

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
        held: the bytes of the evidence that waits, by slot (waiting.py); a slot of which nothing waits is not there.
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
        if compiled_fold.core is not None and emission_id not in self._open:
            packed = self._packed.get(emission_id)
            found = None if packed is None else compiled_fold.core.timer(packed, order)
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
                self.hold(one.slot, waiting.cost(one.record))
            for item in known.items():
                if item.due is not None:
                    queues[item.clock].file(emission_id, item.order, item.due)
            if waiting.is_much(known.waiting):
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
        """Nothing of an attempt lives (any more): it is forgotten when a repetition would be too old.

        Args:
            emission_id: whose attempt.
            attempt: which.
            closing: its last assertion ends in this block.
        """
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
        """Keeps evidence whose assertion is not known until the watermark has passed `until`."""
        known, crowd = self._opened(emission_id), self._crowds.get(emission_id)
        if crowd is not None:
            crowd.add(one)
        else:
            known.waiting.append(one)
            if waiting.is_much(known.waiting):
                self._crowds[emission_id], known.waiting = Crowd(known.waiting), []
        self.asides += 1
        self.hold(one.slot, waiting.cost(one.record))
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
        self.hold(one.slot, -waiting.cost(one.record))
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
