"""One way through a ledger: each block is checked, linked to the one before, and folded (architecture.md, «Audit»)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any, NamedTuple

from ...codecs.blocks import unseal
from ...codecs.errors import DoesNotHoldError
from .chain import ChainHead, demand_version
from .interfaces import Fold


class Restored(NamedTuple):
    """A lane's state after some block of its ledger.

    `offset` is that block's in the ledger, None where the ledger is new.
    """

    state: Any
    tip: ChainHead
    offset: int | None


Blocks = Callable[[int | None], AsyncIterator[tuple[int, bytes]]]
"""A ledger's blocks with their offsets, from an offset (None: the first) to its end."""


class Follower:
    """A lane's state, moved along its ledger block by block; every link is checked on the way.

    Invariant: `restored.state` is the fold of the ledger up to `restored.tip`, unless `take` has raised.
    """

    def __init__(self, fold: Fold, lane: int, lanes: int, start: Restored | None = None) -> None:
        self._fold, self._lane, self._lanes = fold, lane, lanes
        self.restored = start or Restored(fold.new(lane, lanes), ChainHead(), None)

    def take(self, offset: int, data: bytes) -> None:
        """Folds the next block; the one that the state already has is only compared.

        Raises:
            DoesNotHoldError: the chain is broken, belongs to another lane, does not fold to the outputs that it names,
                was written by a later version, or is not the one that the state was taken from.
        """
        state, tip, at = self.restored
        block = unseal(data, in_place=True)
        header = block.header
        # Also of the block that a start was taken from: a newer package may have written both.
        demand_version(header.fold, self._fold.version, f"ledger of lane {self._lane}, block {header.height}")
        if at is not None and offset <= at:
            if (offset, block.hash) != (at, tip.hash):
                raise DoesNotHoldError("the state is not of this ledger", expected=tip.hash, got=block.hash)
            return
        tip.demand_next(block, self._lane, self._lanes)
        self.restored = Restored(state, tip.after(block, self._fold.fold(state, block)), offset)
