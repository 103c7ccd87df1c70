"""The interfaces of the engine's parts.

`Fold` decides what a block's outputs are. `Logs` has the stored topics. `Inputs` are what a lane asks of its worker,
`LaneStatus` and `Committed` what it tells, and a `Meter` receives them.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from ...codecs.blocks import Block, Event, Output
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import Secrets
from ..kafka.polling import Bounds

if TYPE_CHECKING:
    from .export_files import Cut, Range, Stored


class Fold(Protocol):
    """What decides: pure functions over a state that only they look into.

    Nothing here reads a clock, draws a random number or does I/O: the same blocks give the same outputs everywhere, and
    restore, audit and proofs rest on that. `folds.py` has the three of sluice. A lane calls them from one task.

    Attributes:
        consumes, produces: the data categories of each input and output (folds.py).
    """

    name: str  # of the lane group, in logs and status
    version: str  # the newest that it folds, as a block's header names it as `fold`, but for the key of `named`
    form: str  # in which its state lies in snapshots: no package takes another's form for its own
    inputs: Sequence[str]  # logical names of the topics, in the order of a header's `sources`
    outputs: Sequence[str]  # logical names of the topics that it writes to, the ledger apart
    ledger: str  # logical name of the topic that its blocks stand in; no two folds have one
    checkpoints: str  # logical name of the topic that its ledger's checkpoints stand in
    consumes: Mapping[str, Collection[str]]
    produces: Mapping[str, Collection[str]]

    def new(self, lane: int, lanes: int) -> Any:
        """Returns the state of a lane before its first block.

        `lane` is the partition number, from 0; a record whose key belongs to another of the `lanes` partitions is
        misrouted.
        """
        ...

    def fold(self, state: Any, block: Block) -> list[Output]:
        """Takes the next block of the chain in: first what is due at its time, then its events in order.

        The state after the block before is changed in place. Bad input is no error: it becomes an output on
        `dead-letters`. Returns the records to write, in the order in which they were decided.

        Raises:
            DoesNotHoldError: its header names a version that is not folded here, or no policy came before its records.
            UsageError: its identifiers are hashed with a secret that the fold does not have.
            After any error the state may be half changed.
        """
        ...

    def due(self, state: Any, time: int, watermark: int) -> int:
        """Returns how many timers a block of this `time` and `watermark` (Unix ms) would fire in `state`."""
        ...

    def next_due(self, state: Any) -> tuple[int | None, int | None]:
        """When the next timer is due on the clock and on the watermark, Unix ms each; None where none waits."""
        ...

    def policy_hash(self, state: Any) -> str:
        """The hash of the policy in force, as a header has it (`sha256:` and 64 hex digits); empty before the first."""
        ...

    def policy_in_force(self, state: Any) -> Policy | None:
        """The policy of the next block; None before the first one, and of a fold that admits nothing."""
        ...

    def named(self, state: Any, ledger: str = "") -> str:
        """What the next block's header names as `fold`: the version, and the key that it hashes identifiers with.

        The version is that of `ledger`, its newest block's `fold`, or a later one that it is raised to.
        """
        ...

    def refuses(self, state: Any, adoption: Event, time: int) -> str:
        """Returns why the next block, at `time` (Unix ms) behind `state`, must not take in `adoption`; empty where it
        may.
        """
        ...

    def counters(self, state: Any) -> dict[str, int]:
        """How many things of each kind have happened since the first block, and how many are live, by name."""
        ...

    def dump(self, state: Any) -> Iterator[bytes]:
        """The state as bytes. The call is quick; the chunks may be made in another thread while the lane folds on."""
        ...

    def load(self, chunks: Iterable[bytes]) -> Any:
        """The state that `dump` was given.

        Raises:
            DoesNotHoldError: they are not the bytes of one.
        """
        ...

    def event_for(
        self, source: int, offset: int, timestamp: int, headers: Any, key: bytes | None, value: bytes | None
    ) -> Event:
        """Returns the event that a block holds of a record: one that is too large is replaced by its hash and its
        length.

        `source` is the place of its topic in `inputs`; `offset`, `timestamp` (Unix ms), `headers`, `key` and `value`
        are as they came.
        """
        ...


class Logs(Protocol):
    """Stored topics to be read: of a broker (`stored_topics.KafkaLogs`) or of an export (`export_files.FolderLogs`).

    Topics go by their logical names, without a prefix.
    """

    where: str  # names them in sentences: the broker's address, or the folder
    secrets: Secrets  # what the ledger's identifiers are hashed with, where they are (streams/policy/privacy.py)
    lanes: int  # how many partitions the ledger has
    app_id: str  # of the workers that wrote them
    ledger: str
    """The ledger topic's full name: with `app_id` it names each lane's log (`codecs.checkpoints.origin`)."""

    def expect(self, topic: str, lane: int) -> None:
        """Says that a partition will be read from its beginning to an end that is named: a broker is asked at once."""
        ...

    async def range(self, topic: str, lane: int) -> Range:
        """Returns the first offset that is kept of a partition and the one behind its last; 0 and 0 where it is not
        there.

        Of a partition that is expected and not read yet, they are as they were when that was said.

        Raises:
            UnreachableError: no broker answers.
        """
        ...

    def as_of(self) -> int:
        """The time by which all that is gone from what is read was gone, Unix ms: now, or an export's."""
        ...

    async def cut(self) -> Cut:
        """Where to read each topic to, so that what is read fits together although a worker writes on.

        Raises:
            UnreachableError: no broker answers.
        """
        ...

    def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        """Yields the committed records of a partition (`topic`, `lane`) in order, some at a time; none of a topic that
        is not there.

        Args:
            start: the first offset; None: the first that is kept.
            end: the offset behind the last; None: the end as of now.
            having: only records with a header of this name are wanted, and others may be left out; None: all are.

        Raises:
            DoesNotHoldError: a transaction hangs over it, or a file of an export is damaged.
            UnreachableError: no broker answers.
        """
        ...

    def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        """As `batches`, record by record up to the end as of now."""
        ...


class Inputs(Protocol):
    """What a lane asks of the consumer of its inputs; topics go by their logical names, without a prefix.

    Called by lanes, in their event loop. `lanes.Lanes` is the one of a worker.
    """

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        """Returns the bounds of these inputs of a lane as of now, by topic.

        Raises:
            KafkaError: the broker gives no answer. The lane closes its ledger and starts over, after a wait.
        """
        ...

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        """Fetches from these positions on, by logical topic.

        Returns the epoch that ranges carry from now on (`Fetched.epoch`): the lane drops ranges of any other, such as
        what was fetched before.
        """
        ...


PHASES: Final = ("taking-over", "running", "suspended", "waiting", "stopped", "failed")
"""The states of a lane."""


class LaneStatus(NamedTuple):
    """A lane for people and probes, as it is now.

    Attributes:
        time, watermark: of that block, Unix ms.
        behind: for how many seconds it has made no progress although there was something to do (lane_control.py).
        lag: how many offsets of each input are known to be there and in no block, by logical topic.
        read_to: when each input was last read to the end that a fetch answer told, Unix ms; where it never was, when
            the lane was taken over. For monitors.
        due: when the oldest of its timers that no block has handled is due, Unix ms; None where nothing waits.
    """

    fold: str  # the name of its group: `adjudicate`, `bind` or `frame`
    lane: int  # the partition number
    phase: str  # one of `PHASES`
    height: int  # of its newest block, from 0; -1 before the first
    time: int
    watermark: int
    held: int  # how many bytes of records wait for a block, or are on their way
    skew: int  # by how many ms this worker's clock was ahead of the broker's at the last block
    counters: Mapping[str, int]  # what the fold counts, by name (`Fold.counters`)
    behind: float = 0.0
    lag: Mapping[str, int] = {}
    read_to: Mapping[str, int] = {}
    reason: str = ""  # why it has failed, or what it waits for before it may run; else empty
    due: int | None = None
    snapshot_at: int | None = None  # when its newest snapshot was written here, Unix ms; None where none was
    snapshot_fails: bool = False  # whether the last attempt to write one failed
    checkpoint_at: int | None = None  # the time of the newest checkpoint, Unix ms; None where there is none


class Committed(NamedTuple):
    """A block that was committed with its outputs.

    Attributes:
        byte_count: how many bytes the block has as sealed.
        fold_seconds, commit_seconds: how many seconds it took to seal and fold it, and to write it.
    """

    height: int  # the block's place in the ledger, from 0
    time: int  # the block's, Unix ms
    inputs: Sequence[str]  # logical names of the topics that its events' `source` counts through
    events: Sequence[Event]  # what it holds, in the order in which they were folded
    byte_count: int
    outputs: Sequence[Output]  # what it folds to, in order
    fold_seconds: float
    commit_seconds: float
    left_to_python: int = 0  # how many of its events the compiled core left to Python, where it is in use


class Meter(Protocol):
    """Counts what lanes do. It is called between blocks, in the lanes' event loop: it must be quick, and never fail.

    `fold` is the name of the lane's group, `lane` its partition number.
    """

    def committed(self, fold: str, lane: int, block: Committed) -> None:
        """A block was written to the ledger, and its outputs to their topics."""
        ...

    def restored(self, fold: str, lane: int, seconds: float) -> None:
        """The lane was taken over, and runs; the restore took so many seconds."""
        ...

    def claimed(self, fold: str, lane: int) -> None:
        """The lane was claimed: this worker is its owner."""
        ...

    def aborted(self, fold: str, lane: int, error: Exception) -> None:
        """A block or a claim was not committed; `error` says whether the lane was fenced, or what else went wrong."""
        ...


def no_progress(*_: object) -> None:
    """Does nothing: the default of functions that report their progress."""
