"""What a lane does before it may run: fold its ledger again, and hold its inputs against the ledger's positions.

Steps 2 to 4 of architecture.md, «State and recovery». Nothing is changed here: either there is a state to go on from,
or a sentence why not.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

import msgspec
import structlog

from ..codecs.blocks import Event, EventKind, unseal
from ..codecs.errors import DoesNotHoldError
from .chain import Tip, demand_version
from .contracts import Bounds, Fold

PROGRESS_SECONDS = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Restored(NamedTuple):
    """A lane's state as its ledger has it. `offset` is the tip's in the ledger, None where the ledger is new."""

    state: Any
    tip: Tip
    offset: int | None


async def restore(
    blocks: AsyncIterator[tuple[int, bytes]], fold: Fold, lane: int, lanes: int, stopping: Callable[[], bool]
) -> Restored | None:
    """Folds a ledger from its first block on, and checks every link on the way.

    Args:
        blocks: the ledger's blocks with their offsets, to its end.
        fold, lane, lanes: what decides, and for which lane of how many.
        stopping: asked after each block.

    Returns:
        The state at the ledger's end, or None where it was told to stop before.

    Raises:
        DoesNotHoldError: the chain is broken, belongs to another lane, does not fold to the outputs that it names, or
            was written by a later version.
    """
    state, tip, at, told_at = fold.new(lane, lanes), Tip(), None, monotonic()
    async for offset, data in blocks:
        block = unseal(data)
        demand_version(block.header.fold, fold.version)
        tip.demand_next(block, lane, lanes)
        tip, at = tip.after(block, fold.fold(state, block)), offset
        if monotonic() - told_at > PROGRESS_SECONDS:
            told_at = monotonic()
            log.info("restoring", height=tip.height, ledger_offset=offset)
        await asyncio.sleep(0)  # other lanes run meanwhile
        if stopping():
            return None
    return Restored(state, tip, at)


def positions_within(
    bounds: Mapping[str, Bounds], before: Mapping[str, int], inputs: Sequence[str], lane: int, lanes: int, now: int
) -> tuple[dict[str, int], list[Event]]:
    """Where to read on, by what the broker holds.

    Args:
        bounds: what the broker holds of each input.
        before: the next offset to read; of an input that has none, all that it holds is to be read.
        inputs, lane, lanes: the inputs in the order of a block's sources, and which lane of how many reads them.
        now: the time that gaps are recorded under, Unix ms.

    Returns:
        The positions, and a GAP event for each input of which retention has deleted what was not read.

    Raises:
        DoesNotHoldError: an input is not the one that the ledger speaks of.
    """
    positions: dict[str, int] = {}
    gaps: list[Event] = []
    for place, topic in enumerate(inputs):
        there = bounds[topic]
        at = before.get(topic, there.first)
        if there.partitions != lanes:
            raise DoesNotHoldError(
                f"{topic} has another number of partitions than the ledger",
                expected=str(lanes),
                got=str(there.partitions),
                hint="a ledger keeps its partition count for ever; a new count needs a new ledger",
            )
        if at > there.end:
            raise DoesNotHoldError(
                f"{topic}/{lane} ends before the position that the ledger names",
                expected=f"an end at {at} or later",
                got=str(there.end),
                hint="the topic was made anew or truncated; give it back its records, or start a new ledger",
            )
        if at < there.first:
            log.error("retention has deleted records that were not read", topic=topic, first=at, next=there.first)
            gaps.append(Event(EventKind.GAP, place, at, now, [], None, msgspec.json.encode(there.first)))
        positions[topic] = max(at, there.first)
    return positions, gaps
