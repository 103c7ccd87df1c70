"""What a lane does before it may run: fold its ledger again, and hold its inputs against the ledger's positions.

Steps 2 to 4 of ARCHITECTURE.md. Nothing is changed here: either there is a state to go on from,
or a sentence why not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from time import monotonic
from typing import NamedTuple

import msgspec
import structlog

from ...codecs.blocks import Event, EventKind
from ...codecs.errors import DoesNotHoldError, LaterVersionError
from ..kafka.fetched import Bounds
from ..ledger.interfaces import Fold
from ..ledger.replay import Blocks, Restored, beginning, replay

PROGRESS_SECONDS = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Start(NamedTuple):
    """Something to go on from instead of the ledger's beginning: what it is called, and how to get it."""

    name: str
    begin: Callable[[], Awaitable[Restored]]


async def restore(
    blocks: Blocks, fold: Fold, lane: int, lanes: int, stopping: Callable[[], bool], starts: Iterable[Start] = ()
) -> Restored | None:
    """A lane's state at its ledger's end.

    Args:
        blocks: the ledger.
        fold, lane, lanes: what decides, and for which lane of how many.
        stopping: asked after each block.
        starts: tried in this order; one that fails, in itself or on the way from it, only costs time. After the last,
            the ledger is folded from its first block on.

    Returns:
        The state, or None where it was told to stop before.

    Raises:
        DoesNotHoldError: the ledger itself does not hold (`ledger.replay`).
    """
    for name, begin in starts:
        try:
            start = await begin()
            found, seen = await _to_end(blocks, fold, lane, lanes, stopping, start)
        except LaterVersionError:
            raise  # from the beginning it would only take longer to get there
        except (DoesNotHoldError, OSError) as error:
            log.warning("not restored from here: it takes longer", start=name, reason=str(error))
            continue
        if stopping():
            return None
        if seen:
            log.info("restored", start=name, height=start.tip.height, blocks=seen - 1)
            return found
        log.warning("not restored from here: it takes longer", start=name, reason="the ledger has no such block")
    found, _ = await _to_end(blocks, fold, lane, lanes, stopping, beginning(fold, lane, lanes))
    return None if stopping() else found


async def _to_end(
    blocks: Blocks, fold: Fold, lane: int, lanes: int, stopping: Callable[[], bool], start: Restored
) -> tuple[Restored, int]:
    """Folds blocks until they end or `stopping`; returns the state, and how many there were."""
    reported_at, seen, at = monotonic(), 0, start
    async with aclosing(replay(blocks(start.offset), fold, lane=lane, lanes=lanes, start=start)) as replayed:
        async for folded in replayed:
            at = folded.restored
            seen += 1
            if monotonic() - reported_at > PROGRESS_SECONDS:
                reported_at = monotonic()
                log.info("restoring", height=at.tip.height, ledger_offset=folded.offset)
            await asyncio.sleep(0)  # other lanes run meanwhile
            if stopping():
                break
    return at, seen


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
