"""The three ledgers that an audit recomputes: what each lane group reads, writes, and shares its topics with.

For the binding lanes: which lane each bound observation on `observations` is from, and where it stands.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

from ...codecs.blocks import Output
from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import Partitioner
from ...streams.adjudication.outputs import VERDICTS
from ...streams.policy.privacy import Secrets
from ...streams.sightings.binding import BOUND, OBSERVATIONS
from ..engine.export_files import Cut, Range, Stored
from ..engine.folds import Adjudicate, Bind, FrameAttestations
from ..engine.interfaces import Fold, Logs


class Group(NamedTuple):
    """One lane group.

    Attributes:
        ledger, checkpoints: its topics, by logical name.
        sources: how the sources of its dead letters begin; empty: whatever is of no other group is its own.
    """

    name: str  # that of its fold
    ledger: str
    checkpoints: str
    inputs: Sequence[str]  # in the order of a header's `sources`
    outputs: Sequence[str]  # the topics that stand in the lane's own partition, and are compared record by record
    sources: tuple[bytes, ...]
    make: Callable[[Partitioner, Secrets], Fold]  # its fold

    def log_name(self, ledger: str) -> str:
        """The full name of this group's ledger topic, by that of the adjudicating one."""
        return ledger.removesuffix(ADJUDICATE.ledger) + self.ledger

    def is_its_letter(self, source: bytes) -> bool:
        """Whether a dead letter of this source is one of this group's."""
        if self.sources:
            return source.startswith(self.sources)
        return not any(source.startswith(other.sources) for other in GROUPS.values() if other.sources)

    def is_stored(self, cut: Cut) -> bool:
        """Whether what is read knows of this group's ledger: exports of earlier packages do not."""
        return self.ledger in cut.ends


def _bind(partitioner: Partitioner, _: Secrets) -> Fold:
    return Bind(partitioner)


def _frame(partitioner: Partitioner, _: Secrets) -> Fold:
    return FrameAttestations(partitioner)


ADJUDICATE: Final = Group(
    "adjudicate",
    Adjudicate.ledger,
    Adjudicate.checkpoints,
    Adjudicate.inputs,
    ("admitted", "inadmissible", "review-requests", "re-emission-requests", "dead-letters", VERDICTS),
    (),
    Adjudicate,
)
BIND: Final = Group(
    "bind",
    Bind.ledger,
    Bind.checkpoints,
    Bind.inputs,
    ("dead-letters",),
    (b"sightings/", b"citations/"),
    _bind,
)
FRAME: Final = Group(
    "frame",
    FrameAttestations.ledger,
    FrameAttestations.checkpoints,
    FrameAttestations.inputs,
    ("grounded", "dead-letters"),
    (b"attestations/",),
    _frame,
)
GROUPS: Final[Mapping[str, Group]] = {group.name: group for group in (ADJUDICATE, BIND, FRAME)}


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
    """Returns the binding lane that has to account for a record of `observations`; None: an observer wrote it.

    A mark that names no lane is for the lane of the `partition`'s number to tell of.
    """
    mark = mark_of(record)
    if mark is None:
        return None
    found = place_in(mark)
    return found[0] if found is not None and found[0] < lanes else partition


async def find_marks(logs: Logs, cut: Cut, lanes: Collection[int]) -> Mapping[int, Marked]:
    """Reads `observations` to the `cut`, and returns for each of these lanes where its marks stand.

    A partition that cannot be read to its end is one for every lane to read: each then says what it could not see.

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
