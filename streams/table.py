"""The windowed table: a lane's whole state, by key, with its timers (architecture.md, «State and recovery»).

What lives here is bounded by what is live, never by history: pending assertions until the watermark passes their
pending time, admitted ones until their validity ends, what waits for a reviewer until the review window closes, waiting
evidence for the horizon, and a short memory of each attempt until a repetition of it would be too old anyway.

No item refers back to what holds it: the structs are not tracked by the cyclic collector (style.md), so a cycle would
never be freed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import msgspec

from ..codecs.records import AnyStep, Basis, Effect, Kind, Observation
from .policy import Policy
from .timers import TIME, WATERMARK, TimerQueue


class Phase(IntEnum):
    """What an assertion in the table waits for."""

    PENDING = 0  # evidence, on the watermark
    ADMITTED = 1  # the end of its validity, on time
    REVIEW = 2  # a reviewer, on time
    CLOSED = 3  # nothing


class Declared(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """An annotation that may count: the bare class, and what it names. A claim, not evidence [S §11.1]."""

    substrate_class: str
    observation_id: str | None
    ts: int | None


class Seen(msgspec.Struct, gc=False, eq=False, array_like=True):
    """What corroborates one assertion in one class: the newest evidence only, whoever saw it.

    Attributes:
        latest: the newest corroboration by an observer that may count, fresh or not; holds contradictions off. Unix
            ms, -1 where there is none.
        ts: the newest that counts, -1 where none does; the other fields describe that one.
    """

    substrate_class: str
    latest: int = -1
    ts: int = -1
    observation_id: str = ""
    observer: str = ""
    identity_bound: bool = False
    attestation: dict[str, Any] | None = None


class Life(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """One assertion of one attempt, from its arrival to its last word.

    Invariant: `phase` is CLOSED exactly when it is in no attempt's `lives`. `clock`, `due`, `filed`, `ticket`
    and `order` are its timer (timers.py).
    """

    emission_id: str
    attempt: int
    span_key: str
    kind: Kind
    effect: Effect
    k: int
    text: str
    declared: tuple[Declared, ...]
    annotated: bool
    grounded: bool
    confidence: float | None
    chain: list[AnyStep] | None
    emitter: str | None
    traceparent: bytes | None
    emitted_at: int
    arrival: int
    windows: Mapping[str, int]  # W of every class, as it was when the life began
    longest: int  # arrival + max_validity: no validity beyond it
    horizon: int
    order: int
    phase: Phase = Phase.PENDING
    seen: list[Seen] = []
    fresh: int = 0  # how many of `seen` count: distinct classes
    confirmed: dict[str, int] | None = None  # newest corroboration of a declared observation id
    aged: bool = False  # corroboration was seen that was already too old
    revision: int = 0
    basis: Basis = "corroboration"
    admitted_at: int = -1
    valid_until: int = -1
    touched: bool = False  # its validity moved on in this block
    clock: int = WATERMARK
    due: int | None = None
    filed: int | None = None
    ticket: int = 0


class Attempt(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """The memory of one attempt of an emission: for duplicates, newer attempts, and evidence that comes late.

    It is dropped once its `due` (when a repetition would be too old) has passed and nothing of it lives.
    """

    emission_id: str
    number: int
    emitted_at: int
    digest: bytes
    lives: list[Life]
    closed: list[str]  # span keys
    order: int
    clock: int = TIME
    due: int | None = None
    filed: int | None = None
    ticket: int = 0

    def life(self, span_key: str) -> Life | None:
        """The living assertion of a span. A scan: an emission holds at most 1000, nearly always fewer than ten."""
        for life in self.lives:
            if life.span_key == span_key:
                return life
        return None


class Waiting(msgspec.Struct, gc=False, eq=False, kw_only=True):
    """An observation that came before its emission, or names a span that the emission does not have."""

    observation: Observation
    span_key: str
    observed_at: int
    order: int
    clock: int = WATERMARK
    due: int | None = None
    filed: int | None = None
    ticket: int = 0


class Table:
    """The state of one lane. `fold` is the only writer.

    Attributes:
        time, watermark: of the last block, Unix ms; neither ever decreases.
        ran: milliseconds in which the lane ran; a gap of more than a second between two blocks counts as one.
        order: the next item's place in the lane's history.
        counters: the fates that leave no record: discarded, duplicate, late, unmatched, not-counted, and others.
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
        self.attempts: dict[str, tuple[Attempt, ...]] = {}
        self.waiting: dict[str, list[Waiting]] = {}
        self.pending: TimerQueue[Life | Waiting] = TimerQueue(WATERMARK)
        self.expiring: TimerQueue[Life | Attempt] = TimerQueue(TIME)
        self.counters: Counter[str] = Counter()
        self.max_validities: list[tuple[int, int]] = []  # (in force since, milliseconds), oldest first
        self.running: deque[tuple[int, int]] = deque()  # (ran, time) about once a second of running: for max_stall
        self.lives = 0

    def next_order(self) -> int:
        """A number for a new item, greater than every earlier one."""
        self.order += 1
        return self.order

    def attempt(self, emission_id: str, number: int) -> Attempt | None:
        """The memory of one attempt, or None where it is not known (any more)."""
        for attempt in self.attempts.get(emission_id, ()):
            if attempt.number == number:
                return attempt
        return None

    def newest(self, emission_id: str) -> int:
        """The newest attempt known of an emission, -1 where none is."""
        return max((attempt.number for attempt in self.attempts.get(emission_id, ())), default=-1)

    def remember(self, attempt: Attempt, until: int) -> None:
        """Takes an attempt in, to be forgotten after `until` at the earliest."""
        known = self.attempts.get(attempt.emission_id, ())
        self.attempts[attempt.emission_id] = (*known, attempt)
        self.expiring.wait(attempt, until)

    def forget(self, attempt: Attempt) -> None:
        """Drops an attempt of which nothing lives; another life of it may have kept it longer than its due."""
        rest = tuple(other for other in self.attempts[attempt.emission_id] if other is not attempt)
        if rest:
            self.attempts[attempt.emission_id] = rest
        else:
            del self.attempts[attempt.emission_id]

    def add(self, attempt: Attempt, life: Life) -> None:
        """Takes an assertion in."""
        attempt.lives.append(life)
        self.lives += 1

    def close(self, life: Life) -> None:
        """Ends an assertion: only its span key is remembered, to tell late evidence from unmatched evidence."""
        life.phase = Phase.CLOSED
        life.due = None
        attempt = self.attempt(life.emission_id, life.attempt)
        if attempt is None:
            raise AssertionError(f"{life.emission_id} lives without its attempt {life.attempt}")
        attempt.lives.remove(life)
        attempt.closed.append(life.span_key)
        self.lives -= 1
        if attempt.due is None and not attempt.lives:
            self.forget(attempt)

    def put_aside(self, waiting: Waiting, until: int) -> None:
        """Keeps evidence whose assertion is not known until the watermark has passed `until`."""
        self.waiting.setdefault(waiting.observation.subject.emission_id, []).append(waiting)
        self.pending.wait(waiting, until)

    def drop(self, waiting: Waiting) -> None:
        """Takes waiting evidence out: it was matched, or its time is over."""
        emission_id = waiting.observation.subject.emission_id
        rest = [other for other in self.waiting[emission_id] if other is not waiting]
        if rest:
            self.waiting[emission_id] = rest
        else:
            del self.waiting[emission_id]
        waiting.due = None
