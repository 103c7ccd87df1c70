"""What one fetch brings of one partition, and how much of it a lane lets wait."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...codecs.blocks import Event

HELD_BYTES = 2_000_000
"""An input of a lane is not fetched further while so many bytes of it wait: two blocks' worth, so that a transaction
in flight never leaves the fold idle, and a slow broker never makes the worker grow."""


class Fetched(NamedTuple):
    """What one fetch brought of one partition: the events of a range of offsets, those of one input of a lane.

    `byte_count` counts keys, values and headers; `epoch` names the seek that it follows.
    """

    topic: str
    partition: int
    epoch: int
    start: int
    next: int
    events: Sequence[Event]
    byte_count: int


class Bounds(NamedTuple):
    """One input's partition on the broker: how many there are, the first offset that is kept, and the log's end."""

    partitions: int
    first: int
    end: int
