"""The chain of a lane's blocks, followed through whatever stands in its ledger."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from ...codecs.blocks import GENESIS, Block, unseal
from ...codecs.errors import DoesNotHoldError
from ...codecs.merkle import Frontier
from ...codecs.notes import is_hash, leaf_of
from ..engine.export_files import Stored
from ..engine.replay import Linked
from .divergences import Divergence, Findings, Kind


class CheckpointedSize(msgspec.Struct, frozen=True, array_like=True):
    """What a checkpoint says of a lane's first `size` blocks. `block` and `time` only where it is the lane's own.

    300 bytes each; at one a minute that is 160 MB a year and lane.
    """

    root: bytes
    place: str
    block: str = ""
    time: int = 0


class LedgerRecord(NamedTuple):
    """A record of the ledger, and the block that it is; `why` it is none."""

    stored: Stored
    block: Block | None
    why: str = ""


def read(stored: Stored) -> LedgerRecord:
    """The block of a ledger's record."""
    if stored.value is None:
        return LedgerRecord(stored, None, "a ledger record has no value")
    try:
        return LedgerRecord(stored, unseal(stored.value, in_place=True))
    except DoesNotHoldError as error:
        return LedgerRecord(stored, None, str(error))


def succeeds(record: LedgerRecord, block: Block | None) -> bool:
    """Whether a record is a block that names this one as the one before it."""
    after = record.block
    return block is not None and after is not None and after.header.prev == block.hash


def prev_of(block: Block) -> str | None:
    """The hash that a block names as that of the one before it; None where what it names is no hash."""
    prev = block.header.prev
    return prev if is_hash(prev) else None


def height_of(record: LedgerRecord) -> int:
    """The height that a record names; -1 where it is no block."""
    return -1 if record.block is None else record.block.header.height


def short_hash(block_hash: str) -> int:
    """The first 8 bytes of a block's hash: enough to know it again."""
    return int(block_hash[7:23], 16)


AHEAD: Final = 12
"""So many records are looked at where a block does not follow: moves over more than that look like a gap."""
SURE: Final = 3
"""So many records must be known to judge the first of them: itself, its successor, and who vouches for that one."""


class ChainCheck:
    """One lane's ledger, in the order of its chain. `feed`, `end`, and `take` while it gives something.

    Attributes:
        height: of the last block that was taken.
        tree: of the blocks taken, by the hashes that others name; None behind a gap of which nobody tells the hashes.
        root: of the outputs of the last block taken, if the caller knows it; it tells a changed block from a foreign.
        witness: by height, the block hash that something outside the ledger names; filled by the caller.
    """

    def __init__(
        self, findings: Findings, lane: int, signed: Mapping[int, CheckpointedSize], ledger: str = "ledger"
    ) -> None:
        """`signed`: by size, what the checkpoints of the lane say of the first blocks of its `ledger` (the logical
        name).
        """
        self._findings, self._lane, self._signed, self._ledger = findings, lane, signed, ledger
        self._ahead, self._strays = deque[LedgerRecord](), list[LedgerRecord]()
        self._ended = False
        self._hash: str | None = GENESIS  # that the next block must name; None: not known
        self._seen = array("Q")  # of the hashes taken, by height, 8 bytes each: who is there again
        self._offset = -1
        self._missing: dict[str, int] = {}
        self.height, self.tree = -1, Frontier()
        self.root: str | None = None
        self.witness: dict[int, str] = {}

    tree: Frontier | None

    def feed(self, batch: Iterable[Stored]) -> None:
        """More records of the ledger."""
        for stored in batch:
            if stored.offset <= self._offset:
                self._findings.add(
                    "unreadable",
                    "the offsets of the ledger's records do not increase",
                    place=self._place(stored.offset),
                    expected=f"more than {self._offset}",
                    got=stored.offset,
                )
            self._offset = max(self._offset, stored.offset)
            self._ahead.append(read(stored))

    def end(self) -> None:
        """There are no more records."""
        self._ended = True

    @property
    def hungry(self) -> bool:
        """Whether more records are needed before `take` can judge."""
        if self._ended:
            return False
        held = len(self._ahead)
        return held < SURE or (held <= AHEAD and self.doubtful)

    @property
    def doubtful(self) -> bool:
        """Whether the next record does not follow, or is not confirmed by its successor: then `witness` helps."""
        if not self._ahead:
            return False
        head = self._ahead[0]
        return not self._follows(head) or (len(self._ahead) > 1 and not succeeds(self._ahead[1], head.block))

    def take(self) -> Linked | None:
        """The next block of the chain; None where more is needed, or nothing is left."""
        while (self._ahead or self._strays) and not self.hungry:
            if self._ahead and self._follows(self._ahead[0]):
                head = self._ahead.popleft()
                if (rival := self._rival(head)) is not None:
                    self._ahead.remove(rival)
                    self._surplus(head)
                    head = rival
                return self._accept(head)
            if (stray := self._following_stray()) is not None:
                return stray
            if not self._ahead:
                self._strays.sort(key=height_of)
                found = self._broken(self._strays.pop(0))
            elif ahead := next((place for place, one in enumerate(self._ahead) if self._follows(one)), 0):
                for _ in range(ahead):
                    self._set_aside(self._ahead.popleft())
                continue
            else:
                found = self._broken(self._ahead.popleft())
            if found is not None:
                return found
        return None

    # ------------------------------------------------------------ what follows

    def _follows(self, record: LedgerRecord) -> bool:
        block = record.block
        if block is None or block.header.height != self.height + 1 or block.header.lane != self._lane:
            return False
        return self._hash is None or block.header.prev == self._hash

    def _rival(self, record: LedgerRecord) -> LedgerRecord | None:
        """Another record that follows as well, and that others name, where nobody names this one."""
        named = {one.block.header.prev for one in self._ahead if one.block is not None}
        named |= {self._signed_hash(self.height + 1) or "", self.witness.get(self.height + 1, "")}
        if record.block is None or record.block.hash in named:
            return None
        others = (one for one in self._ahead if one.block is not None and one.block.hash in named)
        return next((one for one in others if self._follows(one)), None)

    def _following_stray(self) -> Linked | None:
        for stray in self._strays:
            if self._follows(stray):
                self._strays.remove(stray)
                self._add("reordered-block", stray, "the block stands before the one that it follows")
                return self._accept(stray)
        return None

    def _accept(self, record: LedgerRecord, *, changed: bool = False) -> Linked:
        """Takes a block as the next; whether it is the one that it should be, its successor tells."""
        block = record.block
        assert block is not None
        height, named = self.height + 1, block.hash
        if not changed and (other := self._named_otherwise(block)) is not None:
            changed, named = True, other
            self._add(
                "changed-block",
                record,
                "the block is not the one that others name; it is folded as it stands",
                height=height,
                expected=other,
                got=block.hash,
                breaks=True,
            )
        elif changed:
            named = self._successor_says(height) or block.hash
        if record.stored.key is not None or record.stored.headers:
            self._add("changed-block", record, "a block's record has neither key nor headers, and this one does")
        self._advance(height, named, known=None if changed else block.hash)
        return Linked(block, record.stored.offset, height, changed)

    def _advance(self, height: int, named: str | None, known: str | None) -> None:
        self.height, self._hash, self.root = height, known, None
        self._seen.append(short_hash(named) if named is not None else 0)
        if self.tree is not None:
            self.tree = None if named is None else self.tree.append(leaf_of(named))

    def _successor_says(self, height: int) -> str | None:
        """The hash of the block at this height, as the next block of those ahead names it."""
        for one in self._ahead:
            if one.block is not None and one.block.header.height == height + 1 and (named := prev_of(one.block)):
                return named
        return self._signed_hash(height)

    def _signed_hash(self, height: int) -> str | None:
        """The hash that a checkpoint names as its last block's, if it is of the chain that was followed up to there."""
        claim = self._signed.get(height + 1)
        if claim is None or self.tree is None or self.tree.size != height:
            return None
        return claim.block if self.tree.append(leaf_of(claim.block)).root() == claim.root else None

    def _named_otherwise(self, block: Block) -> str | None:
        """The hash that others name instead of this block's own; None where it is the one."""
        height = block.header.height
        others = [one.block for one in (*self._ahead, *self._strays) if one.block is not None]
        successors = [one for one in others if one.header.height == height + 1]
        if any(one.header.prev == block.hash for one in successors):
            return None
        for outside in (self._signed_hash(height), self.witness.get(height)):
            if outside is not None:
                return None if outside == block.hash else outside
        for successor in successors:
            vouched = any(one.header.prev == successor.hash for one in others)
            signed = self._signed.get(height + 2)
            outside = {self.witness.get(height + 1), signed and signed.block}
            if vouched or successor.hash in outside:
                return prev_of(successor)
        return None

    # ------------------------------------------------------------ what does not

    def _broken(self, head: LedgerRecord) -> Linked | None:
        """Nothing ahead follows: this record was changed, or is foreign, or something before it is gone."""
        height, block = self.height + 1, head.block
        if block is None:
            return self._illegible(head)
        header, last = block.header, not self._ahead
        after = next((one.block for one in self._ahead if one.block is not None), None)
        if self._is_seen(block) or (header.lane != self._lane and header.prev != self._hash):
            self._surplus(head)
            return None
        stands_next = after is not None and after.header.height == height + 1 and after.hash != block.hash
        if header.height == height or header.prev == self._hash or (stands_next and header.height != height):
            if header.height == height and last and self._is_foreign(block):
                self._surplus(head)
                return None
            self._add(
                "changed-block",
                head,
                "the block does not follow upon the one before it, which others name; it is folded as it stands",
                height=height,
                expected=f"height {height}, prev {self._hash}",
                got=f"height {header.height}, prev {header.prev}",
                breaks=True,
            )
            return self._accept(head, changed=True)
        if header.height < height or header.height > head.stored.offset:  # each block takes an offset at least
            self._surplus(head)
            return None
        gone = header.height - height
        gone_by_name = f"block {height} is" if gone == 1 else f"blocks {height} to {header.height - 1} are"
        self._add(
            "missing-block",
            head,
            f"{gone_by_name} missing, which was noticed at block {header.height}; decisions of this lane cannot be "
            "recomputed from there on",
            height=height,
            expected=f"block {height}",
            got=f"block {header.height}",
            breaks=True,
        ).count = gone
        self._skip(gone, prev_of(block))
        self._ahead.appendleft(head)
        return Linked(None, head.stored.offset, height)

    def _skip(self, gone: int, prev: str | None) -> None:
        """Passes heights of which there is no block; of the last one its successor tells the hash, if it names one."""
        if prev is not None:
            self._missing[prev] = self.height + gone
        if gone > 1:
            self.tree = None
        self._seen.extend([0] * (gone - 1))
        self.height += gone - 1
        self._advance(self.height + 1, prev, known=prev)

    def _illegible(self, head: LedgerRecord) -> Linked | None:
        height = self.height + 1
        named = self._successor_says(height)
        known = named is not None or height in self.witness or any(size > height for size in self._signed)
        if not known and not any(one.block is not None and one.block.header.height > height for one in self._ahead):
            self._add("added-block", head, f"a record that is no block: {head.why}", height=height)
            return None
        self._add(
            "changed-block",
            head,
            f"{head.why}; decisions of this lane cannot be recomputed beyond it",
            height=height,
            expected=named or "a block",
            got=f"{len(head.stored.value or b'')} bytes that are none",
            breaks=True,
        )
        self._advance(height, named, known=named)
        return Linked(None, head.stored.offset, height, changed=True)

    def _is_foreign(self, block: Block) -> bool:
        """Whether the last block of all, which does not follow, was never a part of this chain."""
        height = block.header.height
        if height in self.witness or any(size > height for size in self._signed):
            return False
        return self.root is not None and block.header.outputs != self.root

    def _set_aside(self, record: LedgerRecord) -> None:
        block = record.block
        if block is None or block.header.height <= self.height or len(self._strays) >= AHEAD:
            self._surplus(record)
        else:
            self._strays.append(record)

    def _surplus(self, record: LedgerRecord) -> None:
        """A record that is no part of the chain where it stands."""
        block = record.block
        if block is None:
            self._add("added-block", record, f"a record that is no block: {record.why}")
        elif self._missing.pop(block.hash, None) is not None:
            self._add("reordered-block", record, "the block stands behind the one that follows it")
        elif self._is_seen(block):
            self._add("replayed-block", record, "the block stands in the ledger again")
        else:
            sentence = "the block is no part of the chain"
            if block.header.lane != self._lane:
                sentence = f"the block belongs to lane {block.header.lane}"
            self._add("added-block", record, sentence, got=block.hash)

    def _is_seen(self, block: Block) -> bool:
        at = block.header.height
        return 0 <= at < len(self._seen) and self._seen[at] == short_hash(block.hash)

    def _add(
        self,
        kind: Kind,
        record: LedgerRecord,
        sentence: str,
        *,
        height: int | None = None,
        expected: object = "",
        got: object = "",
        breaks: bool = False,
    ) -> Divergence:
        block = record.block
        return self._findings.add(
            kind,
            sentence,
            height=height if height is not None else -1 if block is None else block.header.height,
            place=self._place(record.stored.offset),
            expected=expected,
            got=got,
            time=0 if block is None else block.header.time,
            breaks=breaks,
        )

    def _place(self, offset: int) -> str:
        return f"{self._ledger}/{self._lane}/{offset}"
