"""What one fetch brings of one partition, and how much of it a lane lets wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...codecs.blocks import Event

HELD_BYTES = 4_000_000
"""An input of a lane is not fetched further while so many bytes of it wait: what a transaction of several blocks takes
(`ledger.TOGETHER`) and one block more, so that it need not go with fewer, and a slow broker never makes the worker
grow."""


class Fetched(NamedTuple):
    """What one fetch brought of one partition: the events of a range of offsets, those of one input of a lane.

    Attributes:
        topic: by its logical name.
        partition: the lane.
        epoch: of the seek that it follows (`Inputs.place`).
        start, next: the first offset that it speaks of, and the one behind the last. Offsets in between may have no
            event: markers of transactions, and what was aborted.
        events: the records, in the order of their offsets.
        byte_count: how many bytes their keys, values and headers have.
    """

    topic: str
    partition: int
    epoch: int
    start: int
    next: int
    events: Sequence[Event]
    byte_count: int


class Bounds(NamedTuple):
    """One input's partition on the broker.

    Attributes:
        partitions: how many the topic has; 0 where it is not there.
        first: the first offset that is kept.
        end: the offset behind the last record.
        id: the topic's, as Kafka's tools show it; empty where the broker tells none.
    """

    partitions: int
    first: int
    end: int
    id: str = ""
