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
from typing import Final, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import Partitioner
from ..adjudication import snapshot, waiting
from ..adjudication.state import MAX_TIMERS, TICK, State, new_state
from ..adjudication.timers import WATERMARK, TimerQueue

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
        slot: whose share of what may wait it takes (adjudication/waiting.py); of a citation, nobody's own.
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
    slot: str = waiting.OTHERS
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
        self._bytes[held.side, held.slot] += waiting.cost(held.record)
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
        _add(self._bytes, (held.side, held.slot), -waiting.cost(held.record))
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
    """How many timers a block would fire, counted up to `MAX_TIMERS + 1`. While pairs are still to be written it is
    `MAX_TIMERS + 1`, since pairs are written before any input is read.

    Args:
        state: after the block before.
        time: of the block, Unix ms; no timer of a binding lane is on it.
        watermark: of the block, Unix ms.
    """
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
