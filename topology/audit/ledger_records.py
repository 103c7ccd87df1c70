"""Records of a ledger as an audit looks at them: with the block that each is, and what checkpoints say of a lane."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ...codecs.blocks import Block, unseal
from ...codecs.checkpoints import is_hash
from ...codecs.errors import DoesNotHoldError
from ..ledger.export_files import Stored


class CheckpointedSize(msgspec.Struct, frozen=True, array_like=True):
    """What a checkpoint says of a lane's first `size` blocks. `block` and `time` only where it is the lane's own.

    300 bytes each; at one a minute that is 160 MB a year and lane.
    """

    root: bytes
    place: str
    block: str = ""
    time: int = 0


class Record(NamedTuple):
    """A record of the ledger, and the block that it is; `why` it is none."""

    stored: Stored
    block: Block | None
    why: str = ""


def read(stored: Stored) -> Record:
    """The block of a ledger's record."""
    if stored.value is None:
        return Record(stored, None, "a ledger record has no value")
    try:
        return Record(stored, unseal(stored.value, in_place=True))
    except DoesNotHoldError as error:
        return Record(stored, None, str(error))


def succeeds(record: Record, block: Block | None) -> bool:
    """Whether a record is a block that names this one as the one before it."""
    after = record.block
    return block is not None and after is not None and after.header.prev == block.hash


def prev_of(block: Block) -> str | None:
    """The hash that a block names as that of the one before it; None where what it names is no hash."""
    prev = block.header.prev
    return prev if is_hash(prev) else None


def height_of(record: Record) -> int:
    """The height that a record names; -1 where it is no block."""
    return -1 if record.block is None else record.block.header.height


def short_hash(block_hash: str) -> int:
    """The first 8 bytes of a block's hash: enough to know it again."""
    return int(block_hash[7:23], 16)
