"""The windowed table: a lane's whole state, by emission, with its timers (ARCHITECTURE.md).

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
from . import compiled_core
from .emission_state import AssertionState, Attempt, EmissionState, PendingEvidence, Phase, Terms, fill, pack, unpack
from .timers import TIME, WATERMARK, TimerQueue

OPEN = 1000
"""So many emissions stay unpacked between blocks: what belongs together mostly comes together. About 2 MB."""


class Table:
    """The state of one lane. `fold` is the only writer.

    Invariant: every emission of which anything is known is in `_packed`, in the order in which it was first heard of;
    where it is in `_open` as well, that is what holds.

    Attributes:
        time, watermark: of the last block, Unix ms; neither ever decreases.
        ran: milliseconds in which the lane ran; a gap of more than a second between two blocks counts as one.
        order: the next item's place in the lane's history.
        terms: the bounds that assertions began with, by their numbers.
        counters: the fates that leave no record: discarded, duplicate, late, unmatched, not-counted, and others.
        live, asides: how many assertions live, and how much evidence waits for its emission.
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
        self.live = self.asides = 0
        self._packed: dict[str, bytes] = {}
        self._open: dict[str, EmissionState] = {}

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
        known = self.known(emission_id)
        return None if known is None else known.item(order)

    def timer(self, emission_id: str, order: int) -> tuple[int, int | None] | None:
        """The clock and the instant of an item; the compiled core tells them without taking the emission apart."""
        if compiled_core.core is not None and emission_id not in self._open:
            packed = self._packed.get(emission_id)
            found = None if packed is None else compiled_core.core.timer(packed, order)
            if found is not NotImplemented:
                return found
        item = self.item(emission_id, order)
        return None if item is None else (item.clock, item.due)

    def tables(self) -> tuple[dict[str, bytes], dict[str, EmissionState], Counter[str], list[bytes], list[bytes]]:
        """What holds everything, for the compiled core (compiled.py), which works on what lies packed."""
        return self._packed, self._open, self.counters, self.pending.keys(), self.expiring.keys()

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
        return self._packed

    def put_back(self, packed: dict[str, bytes]) -> None:
        """Takes in what another table had at rest, in its order, into a table that has nothing; `terms` come first."""
        self._packed = packed
        queues = {WATERMARK: self.pending, TIME: self.expiring}
        for emission_id, raw in packed.items():
            known = unpack(emission_id, raw, self.terms)
            for attempt in known.attempts:
                self.live += len(attempt.assertions)
            self.asides += len(known.waiting)
            for item in known.items():
                if item.due is not None:
                    queues[item.clock].file(emission_id, item.order, item.due)

    def _forget_if_empty(self, emission_id: str, known: EmissionState) -> None:
        if not known.attempts and not known.waiting:
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

    def rest(self, emission_id: str, attempt: Attempt) -> None:
        """Nothing of an attempt lives (any more): it is forgotten when a repetition would be too old."""
        until = attempt.emitted_at + self.least_max_validity(attempt.emitted_at)
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

    def close(self, assertion_state: AssertionState) -> None:
        """Ends an assertion: only its span key is remembered, to tell late evidence from unmatched evidence."""
        assertion_state.phase = Phase.CLOSED
        assertion_state.due = None
        attempt = self.attempt(assertion_state.emission_id, assertion_state.attempt)
        if attempt is None:
            raise AssertionError(f"{assertion_state.emission_id} lives without its attempt {assertion_state.attempt}")
        attempt.assertions.remove(assertion_state)
        attempt.closed.append(assertion_state.span_key)
        self.live -= 1
        if not attempt.assertions:
            self.rest(assertion_state.emission_id, attempt)

    def _opened(self, emission_id: str) -> EmissionState:
        known = self._open.get(emission_id) or self.known(emission_id)
        if known is None:
            self._packed[emission_id] = b""  # its place in the order
            known = self._open[emission_id] = EmissionState()
        return known

    # ------------------------------------------------------------ waiting evidence

    def put_aside(self, emission_id: str, waiting: PendingEvidence, until: int) -> None:
        """Keeps evidence whose assertion is not known until the watermark has passed `until`."""
        self._opened(emission_id).waiting.append(waiting)
        self.asides += 1
        self.pending.wait(emission_id, waiting, until)

    def drop(self, emission_id: str, waiting: PendingEvidence) -> None:
        """Takes waiting evidence out: it was matched, or its time is over."""
        known = self._opened(emission_id)
        known.waiting.remove(waiting)
        waiting.due = None
        self.asides -= 1
        self._forget_if_empty(emission_id, known)
