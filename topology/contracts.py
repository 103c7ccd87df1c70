"""What a lane asks of others, and what it tells: the fold, its inputs, and its status.

The ledger's contract stands beside its implementation, in ledger.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..codecs.blocks import Block, Event, Output


class Fold(Protocol):
    """What decides: pure functions over a state that only they look into (`streams.fold`, `streams.framing`).

    Attributes:
        name: of the lane group, in logs and status.
        version: what a block's header names as `fold`.
        inputs: logical names of the topics, in the order of a header's `sources`.
        outputs: logical names of the topics that it writes to, the ledger apart.
        stateless: nothing is kept between blocks, so no ledger is either.
    """

    name: str
    version: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    stateless: bool

    def new(self, lane: int, lanes: int) -> Any: ...
    def fold(self, state: Any, block: Block) -> list[Output]: ...
    def due(self, state: Any, time: int, watermark: int) -> int: ...
    def next_due(self, state: Any) -> tuple[int | None, int | None]: ...
    def policy_hash(self, state: Any) -> str: ...
    def counters(self, state: Any) -> dict[str, int]: ...
    def dump(self, state: Any) -> Iterator[bytes]:
        """The state as octets. The call is quick; the chunks may be made in another thread while the lane folds on."""
        ...

    def load(self, chunks: Iterable[bytes]) -> Any:
        """The state that `dump` was given.

        Raises:
            DoesNotHoldError: they are not the octets of one.
        """
        ...

    def event_for(
        self, source: int, offset: int, timestamp: int, headers: Any, key: bytes | None, value: bytes | None
    ) -> Event: ...


class Bounds(NamedTuple):
    """One input's partition on the broker: how many there are, the first offset that is kept, and the log's end."""

    partitions: int
    first: int
    end: int


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
    (progress.py).
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


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000
