"""The folds that a worker's lanes run, one lane group each (architecture.md, «The way of a record»).

Each is a thin face over pure functions of `streams/`, in the form that lanes take (`contracts.Fold`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Any

from ..codecs.blocks import Block, Event, Output, unseal
from ..codecs.partition import Partitioner
from ..streams import fold as core
from ..streams import framing, outputs, snapshot
from .contracts import Fold
from .stored import Logs


class Adjudicate:
    """Emissions, observations and reviews become verdicts (streams/fold.py)."""

    name = "adjudicate"
    inputs: Sequence[str] = core.INPUTS
    outputs: Sequence[str] = (
        outputs.ADMITTED,
        outputs.INADMISSIBLE,
        outputs.REVIEWS,
        outputs.REEMISSIONS,
        outputs.DEAD_LETTERS,
    )
    stateless = False

    def __init__(self, partitioner: Partitioner = "murmur2") -> None:
        self._partitioner: Partitioner = partitioner
        self.version = core.fold_version(partitioner)

    def new(self, lane: int, lanes: int) -> core.State:
        return core.new_state(lane, lanes, self._partitioner)

    def fold(self, state: core.State, block: Block) -> list[Output]:
        return core.fold(state, block)

    def due(self, state: core.State, time: int, watermark: int) -> int:
        return core.due(state, time, watermark)

    def next_due(self, state: core.State) -> tuple[int | None, int | None]:
        return core.next_due(state)

    def policy_hash(self, state: core.State) -> str:
        return state.policy_hash

    def counters(self, state: core.State) -> dict[str, int]:
        return core.counters(state)

    def dump(self, state: core.State) -> Iterator[bytes]:
        return snapshot.dump(state)

    def load(self, chunks: Iterable[bytes]) -> core.State:
        return snapshot.load(chunks)

    def event_for(
        self, source: int, offset: int, timestamp: int, headers: Any, key: bytes | None, value: bytes | None
    ) -> Event:
        return core.event_for(source, offset, timestamp, headers, key, value)


class Frame:
    """Attestations are typed, sanitised and framed (streams/framing.py)."""

    name = "frame"
    inputs: Sequence[str] = framing.INPUTS
    outputs: Sequence[str] = (framing.GROUNDED, outputs.DEAD_LETTERS)
    stateless = True

    def __init__(self, partitioner: Partitioner = "murmur2") -> None:
        self._partitioner: Partitioner = partitioner
        self.version = core.fold_version(partitioner)

    def new(self, lane: int, lanes: int) -> framing.State:
        return framing.State(lane, lanes, self._partitioner)

    def fold(self, state: framing.State, block: Block) -> list[Output]:
        return framing.fold(state, block)

    def due(self, state: framing.State, time: int, watermark: int) -> int:
        return int(time >= state.renew_at)

    def next_due(self, state: framing.State) -> tuple[int | None, int | None]:
        return state.renew_at, None

    def policy_hash(self, state: framing.State) -> str:
        return state.policy_hash

    def counters(self, state: framing.State) -> dict[str, int]:
        return dict(state.counters)

    def dump(self, state: framing.State) -> Iterator[bytes]:
        raise AssertionError("a stateless fold has nothing to write down")

    def load(self, chunks: Iterable[bytes]) -> framing.State:
        raise AssertionError("a stateless fold has nothing to read back")

    def event_for(
        self, source: int, offset: int, timestamp: int, headers: Any, key: bytes | None, value: bytes | None
    ) -> Event:
        return core.event_for(source, offset, timestamp, headers, key, value)


def folds(partitioner: Partitioner = "murmur2") -> tuple[Fold, ...]:
    """All that a worker runs; every partition number has one lane of each."""
    return Adjudicate(partitioner), Frame(partitioner)


async def partitioner_of(logs: Logs) -> Partitioner:
    """By which partitioner a ledger's keys are spread: its blocks say so. Kafka's own where there is no block yet."""
    for lane in range(logs.lanes):
        async with aclosing(logs.records("ledger", lane)) as records:
            async for record in records:
                return partitioner_named(unseal(record.value or b"").header.fold)
    return "murmur2"


def partitioner_named(fold: str) -> Partitioner:
    """The partitioner that a block header's `fold` names (`streams.fold.fold_version`)."""
    return "crc32" if "partitioner=crc32" in fold.split() else "murmur2"
