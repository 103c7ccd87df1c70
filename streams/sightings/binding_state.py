"""What a binding lane keeps: sightings and citations by observation id, each until its own waiting time is over.

A side that comes waits for the other for `W(class) + horizon` on the watermark (docs/reference/records.md). It is
remembered for as long again as any partner that it has met still waits: so a repetition of either finds the other one
gone, or itself still known, and no pair is made twice. Nothing is remembered longer than twice its waiting time.

Clocks, policy and `max_stall` are those of any lane (`state.State`, here without emissions).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, Literal

import msgspec
from msgspec.structs import replace

from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import Partitioner
from ..adjudication import snapshot
from ..adjudication.state import MAX_TIMERS, TICK, State, new_state
from ..adjudication.timers import WATERMARK, TimerQueue

Side = Literal["sighting", "citation"]
FORMAT: Final = 1
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
    clock: int = WATERMARK
    due: int | None = None


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

    Invariant: every side in `_held`, by its order, is in `_orders` under its id, has its digest in `_known`, and waits
    in `waiting` until its `forget`. Both dictionaries' values are in the order in which the sides came.

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
        self._orders: dict[str, list[int]] = {}
        self._known: set[bytes] = set()

    def __contains__(self, name: str) -> bool:
        """Whether anything is held under an id."""
        return name in self._orders

    def item(self, name: str, order: int) -> Held | None:
        """The side that a timer or a job stands for."""
        held = self._held.get(order)
        return held if held is not None and held.name == name else None

    def partners(self, side: Held, past: int) -> Iterator[Held]:
        """What came before a side under the same id, is of the other side and the same class, from behind `past` on."""
        orders = self._orders[side.name]
        for place in range(bisect_right(orders, past), bisect_left(orders, side.order)):
            held = self._held[orders[place]]
            if held.side != side.side and held.number == side.number:
                yield held

    def knows(self, digest: bytes) -> bool:
        """Whether a record with these bytes is remembered."""
        return digest in self._known

    def take(self, held: Held) -> None:
        """Takes a side in; it waits from now on."""
        self._held[held.order] = held
        self._orders.setdefault(held.name, []).append(held.order)
        self._known.add(held.digest)
        self.waiting.wait(held.name, held, held.forget)

    def meet(self, held: Held, until: int) -> None:
        """A side has met a partner that waits until an instant: it is remembered up to that at least.

        A snapshot that is under way still has the old one.
        """
        if until > held.forget or not held.met:
            newer = replace(held, forget=max(until, held.forget), met=True)
            self._held[held.order] = newer
            self.waiting.wait(held.name, newer, newer.forget)

    def drop(self, held: Held) -> None:
        """Forgets a side."""
        del self._held[held.order]
        orders = self._orders[held.name]
        del orders[bisect_left(orders, held.order)]  # nearly always the first
        if not orders:
            del self._orders[held.name]
        self._known.discard(held.digest)

    @property
    def held(self) -> int:
        """How many sides are remembered."""
        return len(self._held)

    def at_rest(self) -> list[Held]:
        """Everything that is held, in the order in which it came."""
        return list(self._held.values())


# ---------------------------------------------------------------- when something is due


def due(state: BindState, time: int, watermark: int) -> int:
    """How many timers a block at that watermark would fire, counted up to one more than `MAX_TIMERS`; while pairs are
    still to be written, more than that: they come before whatever the inputs hold."""
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


_Row = tuple[str, int, Side, int, bytes, bytes, bytes | None, int, int, bool]
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
            for name, order, side, number, digest, record, traceparent, until, forget, met in _chunk.decode(chunk):
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
                )
                state.take(held)
    except msgspec.MsgspecError as error:
        raise DoesNotHoldError(f"the snapshot does not hold a binding lane's state: {error}") from error
    return state
