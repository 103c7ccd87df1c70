"""Whose bound observations stand where on `observations`, for an audit of the binding lanes.

Binding lanes and observers write to the same partitions, and one binding lane writes to several of them. The fold marks
what it binds (`streams.sightings.binding.BOUND`). So each partition is read once, before the binding lanes are audited,
and each lane then reads only those partitions, and those stretches of them, that hold its marks. The first reading
makes no objects of records without a mark: nearly all of the topic has none. What has no mark is an observer's, and no
ledger gives it: nothing is said of it.

A mark is no signature. Whoever may write to `observations` may write a record with one; the lane that it names gives no
such output, and its audit says so.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping
from contextlib import aclosing
from typing import Final

from ...codecs.blocks import Output
from ...codecs.errors import DoesNotHoldError
from ...streams.sightings.binding import BOUND, OBSERVATIONS
from ..ledger.export_files import Cut, Range, Stored
from ..ledger.interfaces import Logs

Marked = Mapping[int, Range]
"""By partition of `observations`: from the first record that names a lane to behind the last."""
TOGETHER: Final = 4
"""So many partitions are read at once."""
_MARK: Final = re.compile(rb"([0-9]{1,6})/([0-9]{1,18})/([0-9]{1,9})")


def mark_of(record: Stored | Output) -> bytes | None:
    """The mark of a bound observation; None where the record has none. One without a value is an empty one."""
    for name, value in record.headers:
        if name == BOUND:
            return value or b""
    return None


def place_in(mark: bytes) -> tuple[int, int, int] | None:
    """Lane, height and index that a mark names; None where it names none."""
    found = _MARK.fullmatch(mark)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))


def lane_of(record: Stored, partition: int, lanes: int) -> int | None:
    """The binding lane that has to account for a record; None: an observer wrote it.

    Args:
        record: of `observations`.
        partition: where it stands. A mark that names no lane is for the lane of that number to tell of.
        lanes: how many lanes there are.
    """
    mark = mark_of(record)
    if mark is None:
        return None
    found = place_in(mark)
    return found[0] if found is not None and found[0] < lanes else partition


async def find_marks(logs: Logs, cut: Cut, lanes: Collection[int]) -> Mapping[int, Marked]:
    """Reads `observations`, and tells of each of these lanes where its marks stand.

    A partition that cannot be read to its end is one for every lane to read: each then says what it could not see.

    Args:
        logs: what to read.
        cut: how far.
        lanes: that are to be audited.

    Raises:
        UnreachableError: no broker answers.
    """
    found: dict[int, dict[int, Range]] = {lane: {} for lane in lanes}
    few = asyncio.Semaphore(TOGETHER)

    async def read(partition: int, end: int) -> None:
        try:
            async with few, aclosing(logs.batches(OBSERVATIONS, partition, end=end, having=BOUND)) as batches:
                async for batch in batches:
                    for record in batch:
                        lane = lane_of(record, partition, logs.lanes)
                        if lane is not None and lane in found:
                            known = found[lane].get(partition)
                            first = record.offset if known is None else known.first
                            found[lane][partition] = Range(first, record.offset + 1)
        except DoesNotHoldError:
            for of_lane in found.values():
                of_lane[partition] = Range(0, end)

    await asyncio.gather(*(read(partition, end) for partition, end in enumerate(cut.ends[OBSERVATIONS])))
    return found
