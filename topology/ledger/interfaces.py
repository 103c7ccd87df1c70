"""What the rooms above a ledger ask of it and of its fold: `Fold` decides, `Logs` has the stored topics."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ...codecs.blocks import Block, Event, Output
from ...streams.policy.privacy import Secrets
from .export_files import Cut, Range, Stored


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
    ) -> Event: ...


class Logs(Protocol):
    """Topics to be read. `where` names them in sentences; `lanes` is how many partitions the ledger has; `secrets` are
    what the ledger's identifiers are hashed with, where they are (streams/policy/privacy.py)."""

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
        """What is kept of a partition; of one that is expected and not read yet, as it was when that was said."""
        ...

    async def cut(self) -> Cut:
        """Where to read each topic to, so that what is read fits together."""
        ...

    def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        """The committed records of a partition in order, some at a time.

        Args:
            topic: by its logical name; of one that is not there nothing comes.
            lane: the partition.
            start: the first offset; None: the first that is kept.
            end: the offset behind the last; None: the end as of now.

        Raises:
            DoesNotHoldError: a transaction hangs over it, or a file of an export is damaged.
            UnreachableError: no broker answers.
        """
        ...

    def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        """The same one by one."""
        ...
