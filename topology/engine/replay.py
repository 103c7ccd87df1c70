"""One way through a ledger: each block is checked, linked to the one before, folded, and handed over.

`replay` is for readers that end where a ledger does not hold: restore, standby, explain, what-if and proofs. An audit,
and the client's, read damaged ledgers too: they go the same way with checks of their own (audit/ledger_checks.py),
which note what does not hold and say how to go on. `linked_blocks` folds nothing. `follow` is the way itself, and takes
any of the three.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol, TypeVar

from ...codecs.blocks import GENESIS, Block, Event, Header, Output, unseal
from ...codecs.errors import DoesNotHoldError, LaterVersionError
from ...codecs.ledger_statements import is_claim
from ..settings.late_logs import late_logger
from .chain import AUDIT, ChainHead, demand_version
from .interfaces import Logs

log = late_logger(__name__)


class Restored(NamedTuple):
    """A lane's state after some block of its ledger.

    `offset` is that block's in the ledger, None where the ledger is new.
    """

    state: Any
    tip: ChainHead
    offset: int | None


Blocks = Callable[[int | None], AsyncGenerator[tuple[int, bytes], None]]
"""A ledger's blocks with their offsets, from an offset (None: the first) to its end."""


class Replayed(Protocol):
    """What a replay asks of a fold (`interfaces.Fold` is one).

    Attributes:
        version: the newest that it folds, as a block's header names it as `fold`.
    """

    @property
    def version(self) -> str: ...
    def new(self, lane: int, lanes: int) -> Any:
        """The state of lane number `lane` of `lanes` before its first block."""
        ...

    def fold(self, state: Any, block: Block) -> list[Output]:
        """Takes the next block into the state, in place; returns its outputs in order."""
        ...


class FoldedBlock(NamedTuple):
    """A block of a ledger, and what it was folded to."""

    block: Block
    outputs: Sequence[Output]  # none of the block that the start was taken from: that is only compared
    state: Any  # after the block; the next one changes it in place
    head: ChainHead  # of the chain up to the block. Its root of outputs is that of none where they are not verified
    offset: int  # the block's in the ledger

    @property
    def header(self) -> Header:
        """The block's header."""
        return self.block.header

    @property
    def events(self) -> Sequence[Event]:
        """The block's events, in order."""
        return self.block.events

    @property
    def restored(self) -> Restored:
        """Where a later replay can go on from, as long as nothing else goes on from this state."""
        return Restored(self.state, self.head, self.offset)


def beginning(fold: Replayed, lane: int, lanes: int) -> Restored:
    """Returns a lane before its ledger's first block, with the fold's empty state: `lane` is its number, of `lanes`."""
    return Restored(fold.new(lane, lanes), ChainHead(), None)


# ---------------------------------------------------------------- the way


class Linked(NamedTuple):
    """The next block of a chain."""

    block: Block | None  # None where the record is no block, or is missing
    offset: int  # of its record
    height: int  # its place in the chain
    changed: bool = False  # whether it was found changed; it is folded as it stands


class Followed(NamedTuple):
    """The next block of a chain, judged, and folded if the checks let it be."""

    linked: Linked
    outputs: list[Output] | None  # None where it was not folded
    state: Any  # after the block; the next one changes it in place


Records = TypeVar("Records", contravariant=True)


class Checks(Protocol[Records]):
    """What a reader demands of a ledger. Each method may raise what ends the reading."""

    def feed(self, records: Records, /) -> None:
        """Takes the next record of the ledger, or some."""
        ...

    def end(self) -> None:
        """There are no more records."""
        ...

    async def take(self) -> Linked | None:
        """The next block of the chain; None where more records are needed first, or nothing is left."""
        ...

    def judge(self, linked: Linked, state: Any, /) -> Replayed | None:
        """What folds the next block; None where it is not to be folded. `state` is None before the first one."""
        ...

    def folded(self, linked: Linked, outputs: Sequence[Output], /) -> None:
        """What the block was folded to."""
        ...

    def failed(self, linked: Linked, error: Exception, /) -> None:
        """The block could not be folded: its state may be half changed."""
        ...


async def follow(
    records: AsyncIterator[Records], checks: Checks[Records], lane: int, lanes: int, state: Any = None
) -> AsyncGenerator[Followed, None]:
    """Takes block by block of a ledger, judges and folds it.

    It waits for nothing but the next records and `Checks.take`, and leaves closing `records` to the caller.

    Args:
        records: of the ledger, in the form that the checks take.
        checks: which block comes next, what folds it, and what becomes of a fault.
        lane, lanes: whose ledger it is, of how many.
        state: what to go on from; None: from a new one.
    """
    ended = False
    while True:
        linked = await checks.take()
        if linked is not None:
            followed = _fold(linked, state, checks, lane, lanes)
            state = followed.state
            yield followed
        elif ended:
            return
        elif (more := await anext(records, None)) is not None:
            checks.feed(more)
        else:
            ended = True
            checks.end()


def _fold(linked: Linked, state: Any, checks: Checks[Any], lane: int, lanes: int) -> Followed:
    fold, block = checks.judge(linked, state), linked.block
    if fold is None or block is None:
        return Followed(linked, None, state)
    if state is None:
        state = fold.new(lane, lanes)
    try:
        outputs = fold.fold(state, block)
    except Exception as error:  # noqa: BLE001 -- the checks say which of them ends the reading
        checks.failed(linked, error)
        return Followed(linked, None, state)
    checks.folded(linked, outputs)
    return Followed(linked, outputs, state)


# ---------------------------------------------------------------- for who ends where a ledger does not hold


class _InOrder:
    """Takes blocks as they come, and raises at the first thing that does not hold."""

    def __init__(self, lane: int, *, in_place: bool = False) -> None:
        self._lane, self._in_place = lane, in_place
        self._next: Linked | None = None

    def feed(self, record: tuple[int, bytes], /) -> None:
        offset, data = record
        block = unseal(data, in_place=self._in_place)
        self._next = Linked(block, offset, block.header.height)

    def end(self) -> None:
        pass

    async def take(self) -> Linked | None:
        linked, self._next = self._next, None
        return linked

    def folded(self, linked: Linked, outputs: Sequence[Output], /) -> None:
        pass

    def failed(self, _: Linked, error: Exception, /) -> None:
        raise error


class _Demands(_InOrder):
    """Also folds them. The arguments are those of `replay`."""

    def __init__(self, fold: Replayed, lane: int, lanes: int, at: Restored, *, verify: bool, in_place: bool) -> None:
        super().__init__(lane, in_place=in_place)
        self._fold, self._lanes, self._offset, self._verify = fold, lanes, at.offset, verify
        self.head = at.tip

    def judge(self, linked: Linked, _: Any, /) -> Replayed | None:
        block, offset, height, _ = linked
        assert block is not None, "unsealed"
        # Also of the block that a start was taken from: a newer package may have written both.
        demand_version(block.header.fold, self._fold.version, f"ledger of lane {self._lane}, block {height}")
        head = self.head
        if self._offset is not None and offset <= self._offset:
            if (offset, block.hash) != (self._offset, head.hash):
                raise DoesNotHoldError("the state is not of this ledger", expected=head.hash, got=block.hash)
            return None
        (head if self._verify else head._replace(outputs=block.header.outputs)).demand_next(
            block, self._lane, self._lanes
        )
        return self._fold

    def folded(self, linked: Linked, outputs: Sequence[Output], /) -> None:
        assert linked.block is not None, "it was folded"
        self.head, self._offset = self.head.after(linked.block, outputs if self._verify else ()), linked.offset

    def handed_over(self, followed: Followed) -> FoldedBlock:
        """A block that has come through."""
        (block, offset, *_), outputs, state = followed
        assert block is not None, "unsealed"
        return FoldedBlock(block, outputs or (), state, self.head, offset)


def fold_next(at: Restored, offset: int, block: Block, fold: Replayed, lane: int, lanes: int) -> FoldedBlock:
    """Folds one block into the state `at`: a step of `replay`, for a caller that has the block already.

    `offset` is that of the block's record; `fold`, `lane` and `lanes` are those of `replay`, and so are the errors.
    """
    demands = _Demands(fold, lane, lanes, at, verify=True, in_place=False)
    return demands.handed_over(_fold(Linked(block, offset, block.header.height), at.state, demands, lane, lanes))


async def replay(
    records: AsyncIterator[tuple[int, bytes]],
    fold: Replayed,
    *,
    lane: int,
    lanes: int,
    start: Restored | None = None,
    verify: bool = True,
    in_place: bool = True,
    on_block: Callable[[FoldedBlock], None] | None = None,
) -> AsyncGenerator[FoldedBlock, None]:
    """Folds a ledger block by block, up to its end or to the first thing that does not hold.

    It waits for nothing but the next record, and leaves closing them to the caller.

    Args:
        records: the blocks' bytes with their offsets in the ledger; from `start.offset` on, where there is a start.
        fold: what decides.
        lane, lanes: whose ledger it is, of how many.
        start: what to go on from; the block that it was taken from comes first, and is only compared.
        verify: whether the outputs must have the root that the next block names. The chain is checked in any case.
        in_place: whether events may lie in the record's bytes: each is like an `Event`, and none.
        on_block: called with each block, before it is handed over.

    Raises:
        DoesNotHoldError: the chain is broken, belongs to another lane, does not fold to the outputs that it names,
            was written by a later version (LaterVersionError), or is not the one that the start was taken from. The
            state may be ahead of what was handed over then.
    """
    at = beginning(fold, lane, lanes) if start is None else start
    demands = _Demands(fold, lane, lanes, at, verify=verify, in_place=in_place)
    async with aclosing(follow(records, demands, lane, lanes, at.state)) as followed:
        async for one in followed:
            folded = demands.handed_over(one)
            if on_block is not None:
                on_block(folded)
            yield folded


class _Links(_InOrder):
    """Demands that blocks follow upon one another from the first, and has none of them folded."""

    def __init__(self, lane: int) -> None:
        super().__init__(lane)
        self._height, self._hash = -1, GENESIS

    def judge(self, linked: Linked, _: Any, /) -> None:
        block, height = linked.block, self._height
        assert block is not None, "unsealed"
        header = block.header
        if (header.height, header.prev) != (height + 1, self._hash):
            raise DoesNotHoldError(
                "the chain of blocks is broken" if height >= 0 else "the ledger's first blocks are not there",
                path=f"ledger of lane {self._lane}, block {header.height}",
                expected=f"height {height + 1}, prev {self._hash}",
                hint=AUDIT if height >= 0 else "a proof needs all blocks from the first: use an older export",
            )
        self._height, self._hash = header.height, block.hash


async def linked_blocks(logs: Logs, lane: int) -> AsyncGenerator[tuple[int, Block], None]:
    """Yields a stored ledger's blocks with their offsets, from the first, each linked to the one before it and not
    folded.

    So a block that a later version wrote can be read too, for a proof of what stands in it.

    Raises:
        DoesNotHoldError: a record cannot be read, the first blocks are gone, or the chain is broken.
        UnreachableError: no broker answers.
    """
    async with (
        aclosing(blocks_of(logs, lane)) as records,
        aclosing(follow(records, _Links(lane), lane, logs.lanes)) as followed,
    ):
        async for one in followed:
            assert one.linked.block is not None, "unsealed"
            yield one.linked.offset, one.linked.block


async def blocks_of(logs: Logs, lane: int) -> AsyncGenerator[tuple[int, bytes], None]:
    """The blocks of a stored ledger, as `replay` takes them, without the claims between them.

    A record that is no block, and a block beside the chain, is told and passed over: one such record would
    otherwise stop every reader. Where blocks are missing, those behind them are there still, and do
    not follow.

    Raises:
        LaterVersionError: a block has a later format.
        DoesNotHoldError: a record cannot be read.
        UnreachableError: no broker answers.
    """
    height, newest = -1, GENESIS
    async with aclosing(logs.records("ledger", lane)) as records:
        async for record in records:
            if is_claim(record.key):
                continue
            data = record.value or b""
            try:
                block = unseal(data, in_place=True)
            except LaterVersionError:
                raise
            except DoesNotHoldError as error:
                log.warning("a ledger's record is passed over", lane=lane, offset=record.offset, why=str(error))
                continue
            if block.header.height <= height + 1 and block.header.prev != newest:
                why = f"it is no block that follows upon block {height}"
                log.warning("a ledger's record is passed over", lane=lane, offset=record.offset, why=why)
                continue
            height, newest = block.header.height, block.hash
            yield record.offset, data


def is_block(record: Any) -> bool:
    """Whether a ledger's record is a block: neither a claim nor anything else.

    Raises:
        LaterVersionError: it is one of a later format.
    """
    try:
        if is_claim(record.key):
            return False
        unseal(record.value or b"", in_place=True)
        return True
    except LaterVersionError:
        raise
    except DoesNotHoldError:
        return False
