"""What a lane asks of its worker, and what it tells: its inputs, its status, and each block that it has committed.

The interface of folds and of stored topics is in `ledger/interfaces.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from ...codecs.blocks import Event, Output
from ..kafka.fetched import Bounds


class Inputs(Protocol):
    """What a lane asks of the consumer of its inputs; topics go by their logical names, without a prefix.

    Called by lanes, in their event loop. `worker.lanes.Lanes` is the one of a worker.
    """

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        """These inputs' bounds as of now: how many partitions each topic has, and which offsets of the lane's are kept,
        and the topic's id where the broker tells one.

        Args:
            lane: the partition number.
            topics: logical names.

        Returns:
            The bounds by topic, one for each name that was given.

        Raises:
            KafkaError: the broker gives no answer. The lane closes its ledger and starts over, after a wait.
        """
        ...

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        """Fetches from these positions on. What was fetched before and is still under way belongs to an older epoch.

        Args:
            lane: the partition number.
            positions: the next offset to read, by logical topic.

        Returns:
            The epoch that ranges carry from now on (`Fetched.epoch`): the lane drops ranges of any other.
        """
        ...


PHASES: Final = ("taking-over", "running", "suspended", "waiting", "stopped", "failed")
"""The states of a lane."""


class LaneStatus(NamedTuple):
    """A lane for people and probes, as it is now.

    Attributes:
        fold: the name of its group: `adjudicate`, `bind` or `frame`.
        lane: the partition number.
        phase: one of `PHASES`.
        height: of its newest block, from 0; -1 before the first.
        time, watermark: of that block, Unix ms.
        held: how many bytes of records wait for a block, or are on their way.
        skew: by how many ms this worker's clock was ahead of the broker's at the last block.
        counters: what the fold counts, by name (`Fold.counters`).
        behind: for how many seconds it has made no progress although there was something to do (liveness.py).
        lag: how many offsets of each input are known to be there and in no block, by logical topic.
        read_to: when each input was last read to the end that a fetch answer told, Unix ms; where it never was, when
            the lane was taken over. For monitors.
        reason: why it has failed, or what it waits for before it may run; else empty.
        due: when the oldest of its timers that no block has handled is due, Unix ms; None where nothing waits.
        snapshot_at: when its newest snapshot was written here, Unix ms; None where none was.
        snapshot_fails: whether the last attempt to write one failed.
        checkpoint_at: the time of the newest checkpoint, Unix ms; None where there is none.
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
    reason: str = ""
    due: int | None = None
    snapshot_at: int | None = None
    snapshot_fails: bool = False
    checkpoint_at: int | None = None


class Committed(NamedTuple):
    """A block that was committed with its outputs.

    Attributes:
        height: the block's place in the ledger, from 0.
        time: the block's, Unix ms.
        inputs: logical names of the topics that its events' `source` counts through.
        events: what it holds, in the order in which they were folded.
        byte_count: how many bytes the block has as sealed.
        outputs: what it folds to, in order.
        fold_seconds, commit_seconds: how many seconds it took to seal and fold it, and to write it.
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
    """Counts what lanes do. It is called between blocks, in the lanes' event loop: it must be quick, and never fail.

    `fold` is the name of the lane's group, `lane` its partition number.
    """

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        """A block was written to the ledger, and its outputs to their topics.

        Args:
            fold, lane: which one.
            block: that was written.
        """
        ...

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        """The lane was taken over, and runs.

        Args:
            fold, lane: which one.
            seconds: how many s the restore took, until its state was that of the ledger's end.
        """
        ...

    def claimed(self, fold: str, lane: int) -> None:
        """The lane was claimed: this worker is its owner."""
        ...

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        """A block or a claim was not committed.

        Args:
            fold, lane: which one.
            error: says whether the lane was fenced, or what else went wrong.
        """
        ...
