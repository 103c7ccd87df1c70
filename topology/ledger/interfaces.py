"""What the rooms above a ledger ask of it and of its fold: `Fold` decides, `Logs` has the stored topics."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...codecs.blocks import Block, Event, Output
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import Secrets

if TYPE_CHECKING:
    from .export_files import Cut, Range, Stored


class Fold(Protocol):
    """What decides: pure functions over a state that only they look into.

    Nothing here reads a clock, draws a random number or does I/O: the same blocks give the same outputs everywhere, and
    restore, audit and proofs rest on that. `folds.py` has the three of sluice. A lane calls them from one task.

    Attributes:
        name: of the lane group, in logs and status.
        version: the newest that it folds, as a block's header names it as `fold`, but for the key of `named`.
        form: in which its state lies in snapshots: no package takes another's form for its own.
        inputs: logical names of the topics, in the order of a header's `sources`.
        outputs: logical names of the topics that it writes to, the ledger apart.
        ledger: logical name of the topic that its blocks stand in; no two folds have one.
        checkpoints: logical name of the topic that its ledger's checkpoints stand in.
        consumes, produces: the data categories of each input and output (obligations.py).
    """

    name: str
    version: str
    form: str
    inputs: Sequence[str]
    outputs: Sequence[str]
    ledger: str
    checkpoints: str
    consumes: Mapping[str, Collection[str]]
    produces: Mapping[str, Collection[str]]

    def new(self, lane: int, lanes: int) -> Any:
        """The state of a lane before its first block.

        Args:
            lane: the partition number, from 0.
            lanes: how many partitions the topics have; a record whose key belongs to another one is misrouted.
        """
        ...

    def fold(self, state: Any, block: Block) -> list[Output]:
        """Takes a block in: first what is due at its time, then its events in order. The state is changed in place.

        Bad input is no error: it becomes an output on `dead-letters`.

        Args:
            state: after the block before.
            block: the next one of the chain; its header has time and watermark, Unix ms.

        Returns:
            The records to write, in the order in which they were decided.

        Raises:
            DoesNotHoldError: its header names a version that is not folded here, or no policy came before its records.
            UsageError: its identifiers are hashed with a secret that the fold does not have.
            After any error the state may be half changed.
        """
        ...

    def due(self, state: Any, time: int, watermark: int) -> int:
        """How many timers a block would fire.

        Args:
            state: after the block before.
            time: of the block, Unix ms.
            watermark: of the block, Unix ms.
        """
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
        """Why the next block must not adopt a topic (codecs/adoptions.py); empty where it may.

        Args:
            state: after the block before.
            adoption: with the record's key and value.
            time: of the block, Unix ms.
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
        """The event that a block holds of a record: one that is too large is replaced by its hash and its length.

        Args:
            source: the place of its topic in `inputs`.
            offset: its own in the partition.
            timestamp: the broker's, Unix ms.
            headers: pairs of a name and bytes or None, as they came.
            key, value: its bytes; None where it has none.
        """
        ...


class Logs(Protocol):
    """Stored topics to be read: of a broker (`log_reader.KafkaLogs`) or of an export (`export_files.FolderLogs`).

    Topics go by their logical names, without a prefix.

    Attributes:
        where: names them in sentences: the broker's address, or the folder.
        secrets: what the ledger's identifiers are hashed with, where they are (streams/policy/privacy.py).
        lanes: how many partitions the ledger has.
        app_id: of the workers that wrote them.
    """

    where: str
    secrets: Secrets
    lanes: int
    app_id: str
    ledger: str
    """The ledger topic's full name: with `app_id` it names each lane's log (`codecs.checkpoints.origin`)."""

    def expect(self, topic: str, lane: int) -> None:
        """Says that a partition will be read from its beginning to an end that is named: a broker is asked at once."""
        ...

    async def range(self, topic: str, lane: int) -> Range:
        """What is kept of a partition; of one that is expected and not read yet, as it was when that was said.

        Returns:
            The first offset and the one behind the last; 0 and 0 for a partition that is not there.

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
        """The committed records of a partition in order, some at a time.

        Args:
            topic: by its logical name; of one that is not there nothing comes.
            lane: the partition.
            start: the first offset; None: the first that is kept.
            end: the offset behind the last; None: the end as of now.
            having: only records with a header of this name are wanted, and others may be left out; None: all are.

        Raises:
            DoesNotHoldError: a transaction hangs over it, or a file of an export is damaged.
            UnreachableError: no broker answers.
        """
        ...

    def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        """The committed records of a partition one by one, in order, up to the end as of now.

        Args:
            topic: by its logical name; of one that is not there nothing comes.
            lane: the partition.
            start: the first offset; None: the first that is kept.

        Raises:
            DoesNotHoldError: a transaction hangs over it, or a file of an export is damaged.
            UnreachableError: no broker answers.
        """
        ...
