"""What a lane asks of its worker, and what it tells: its inputs, its status, and each block that it has committed.

The interface of folds and of stored topics is in `ledger/interfaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from ...codecs.blocks import Event, Output
from ..kafka.frames import Bounds


class Inputs(Protocol):
    """What a lane asks of the consumer of its inputs; topics go by their logical names."""

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        """These inputs' bounds as of now."""
        ...

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        """Fetches from these positions on; frames that follow carry the epoch that is returned."""
        ...


class LaneStatus(NamedTuple):
    """A lane for people and probes. `phase` is one of taking-over, running, suspended, waiting, stopped.

    `fold` names its group; `skew` is by how many milliseconds this worker's clock was ahead of the broker's at the last
    block; `behind` is for how many seconds the lane has made no progress although there was something to do
    (progress.py). `lag` is how many offsets of each input are known to be there and in no block, `read_to` the time
    (Unix milliseconds) up to which each input has been read (watermark.py), where that is known.
    """

    fold: str
    lane: int
    phase: str
    height: int
    time: int
    watermark: int
    held: int
    skew: int
    counters: Mapping[str, int]
    behind: float = 0.0
    lag: Mapping[str, int] = {}
    read_to: Mapping[str, int] = {}


class Committed(NamedTuple):
    """A block that was committed with its outputs.

    Attributes:
        height, time: the block's.
        inputs: logical names of the topics that its events' `source` counts through.
        events: what it holds.
        byte_count: of the block as sealed.
        outputs: what it folds to.
        fold_seconds, commit_seconds: how long it took to seal and fold it, and to write it.
        left_to_python: how many of its events the compiled core left to Python, where it is in use.
    """

    height: int
    time: int
    inputs: Sequence[str]
    events: Sequence[Event]
    byte_count: int
    outputs: Sequence[Output]
    fold_seconds: float
    commit_seconds: float
    left_to_python: int = 0


class Meter(Protocol):
    """Who counts what lanes do. Called between blocks, in the lanes' event loop: it must be quick, and never fail."""

    def committed(self, fold: str, lane: int, block: Committed) -> None: ...
    def restored(self, fold: str, lane: int, seconds: float) -> None:
        """The lane was taken over, and runs."""
        ...

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        """A block was not committed: the error says whether the lane was fenced, or what else went wrong."""
        ...
