"""One way through a ledger: each block is checked, linked to the one before, folded, and handed over.

Every reader that trusts a ledger or ends where it does not hold goes this way: restore, standby, explain, what-if and
proofs. An audit, and a client's, reads damaged ledgers too and names what is wrong with them: it follows the chain by
rules of its own (audit/chain_check.py, audit/rules.py), and shares the choice of the fold (`folds.FoldByVersion`).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, Protocol

from ...codecs.blocks import Block, Event, Header, Output, unseal
from ...codecs.errors import DoesNotHoldError
from .chain import ChainHead, demand_version
from .interfaces import Logs


class Restored(NamedTuple):
    """A lane's state after some block of its ledger.

    `offset` is that block's in the ledger, None where the ledger is new.
    """

    state: Any
    tip: ChainHead
    offset: int | None


Blocks = Callable[[int | None], AsyncIterator[tuple[int, bytes]]]
"""A ledger's blocks with their offsets, from an offset (None: the first) to its end."""


class Replayed(Protocol):
    """What a replay asks of a fold (`interfaces.Fold` is one)."""

    @property
    def version(self) -> str: ...
    def new(self, lane: int, lanes: int) -> Any: ...
    def fold(self, state: Any, block: Block) -> list[Output]: ...


class FoldedBlock(NamedTuple):
    """A block of a ledger, and what it was folded to.

    Attributes:
        outputs: none of the block that the start was taken from: that is only compared.
        state: after the block; the next one changes it in place.
        head: of the chain up to the block. Its root of outputs is that of none where they are not verified.
        offset: the block's in the ledger.
    """

    block: Block
    outputs: Sequence[Output]
    state: Any
    head: ChainHead
    offset: int

    @property
    def header(self) -> Header:
        return self.block.header

    @property
    def events(self) -> Sequence[Event]:
        return self.block.events

    @property
    def restored(self) -> Restored:
        """Where a later replay can go on from, as long as nothing else goes on from this state."""
        return Restored(self.state, self.head, self.offset)


def beginning(fold: Replayed, lane: int, lanes: int) -> Restored:
    """A lane before its ledger's first block."""
    return Restored(fold.new(lane, lanes), ChainHead(), None)


def fold_next(
    at: Restored, offset: int, block: Block, fold: Replayed, lane: int, lanes: int, *, verify: bool = True
) -> FoldedBlock:
    """One step of `replay`, for who has the block already; the arguments and errors are the same."""
    header, tip = block.header, at.tip
    # Also of the block that a start was taken from: a newer package may have written both.
    demand_version(header.fold, fold.version, f"ledger of lane {lane}, block {header.height}")
    if at.offset is not None and offset <= at.offset:
        if (offset, block.hash) != (at.offset, tip.hash):
            raise DoesNotHoldError("the state is not of this ledger", expected=tip.hash, got=block.hash)
        return FoldedBlock(block, (), at.state, tip, offset)
    (tip if verify else tip._replace(outputs=header.outputs)).demand_next(block, lane, lanes)
    outputs = fold.fold(at.state, block)
    return FoldedBlock(block, outputs, at.state, tip.after(block, outputs if verify else ()), offset)


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
    """Folds a ledger block by block. It waits for nothing but the next record, and leaves closing them to the caller.

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
    async for offset, data in records:
        folded = fold_next(at, offset, unseal(data, in_place=in_place), fold, lane, lanes, verify=verify)
        at = folded.restored
        if on_block is not None:
            on_block(folded)
        yield folded


async def blocks_of(logs: Logs, lane: int) -> AsyncGenerator[tuple[int, bytes], None]:
    """The blocks of a stored ledger, as `replay` takes them.

    Raises:
        DoesNotHoldError: a record cannot be read.
        UnreachableError: no broker answers.
    """
    async with aclosing(logs.records("ledger", lane)) as records:
        async for record in records:
            yield record.offset, record.value or b""
