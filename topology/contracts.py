"""What a lane asks of others, and what it tells: the fold, its inputs, and its status.

The ledger's contract stands beside its implementation, in ledger.py.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ..codecs.blocks import Block, Event, Output


class Fold(Protocol):
    """What decides: pure functions over a state that only they look into (`streams.fold`, `streams.framing`).

    Attributes:
        name: of the lane group, in logs and status.
        version: the newest that it folds, as a block's header names it as `fold`, but for the key of `named`.
        form: in which its state lies in snapshots: no package takes another's form for its own.
        inputs: logical names of the topics, in the order of a header's `sources`.
        outputs: logical names of the topics that it writes to, the ledger apart.
        stateless: nothing is kept between blocks, so no ledger is either.
        ledger: logical name of the topic that its blocks stand in; empty where it is stateless.
        consumes, produces: the data categories of each input and output (obligations.py).
    """

    name: str
    version: str
    form: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    stateless: bool
    ledger: str
    consumes: Mapping[str, Collection[str]]
    produces: Mapping[str, Collection[str]]

    def new(self, lane: int, lanes: int) -> Any: ...
    def fold(self, state: Any, block: Block) -> list[Output]: ...
    def due(self, state: Any, time: int, watermark: int) -> int: ...
    def next_due(self, state: Any) -> tuple[int | None, int | None]: ...
    def policy_hash(self, state: Any) -> str: ...
    def named(self, state: Any, ledger: str = "") -> str:
        """What the next block's header names as `fold`: the version, and the key that it hashes identifiers with.

        The version is that of `ledger`, its newest block's `fold`, or a later one that it is raised to.
        """
        ...

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
        octets: of the block as sealed.
        outputs: what it folds to.
        fold_seconds, commit_seconds: how long it took to seal and fold it, and to write it.
        left_to_python: how many of its events the compiled core left to Python, where it is in use.
    """

    height: int
    time: int
    inputs: Sequence[str]
    events: Sequence[Event]
    octets: int
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


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000
