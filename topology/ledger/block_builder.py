"""Makes the next block of a lane: its header, its bytes, what it folds to, and the head of the chain behind it.

Every writer of a ledger uses it: the lane, `sluice fold`, the client's fake, and the tests' own lanes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from ...codecs.blocks import INPUT_KINDS, Block, Event, EventKind, Header, Output, Source, seal, source_of
from .chain import ChainHead
from .interfaces import Fold


class NewBlock(NamedTuple):
    """A block that was sealed and folded.

    Attributes:
        data: its bytes for the ledger.
        outputs: what it was folded to.
        head: the chain's head once it stands in the ledger.
    """

    block: Block
    data: bytes
    outputs: list[Output]
    head: ChainHead


class BlockBuilder:
    """A lane while it is written: each block continues the one before it, and moves the state on.

    Invariant: `state` is the fold of the blocks up to `head`, unless `close` has raised.

    Args:
        fold: what decides. It may be replaced between blocks, as a newer package would.
        lane, lanes: which lane of how many.
        policy: the hash that headers name until the fold has a policy of its own.
        state: where to go on from; None: a new state.
        head: of the chain that `state` is the fold of; an empty one for a new ledger.
    """

    __slots__ = ("_lane", "_lanes", "_policy", "fold", "head", "state")

    def __init__(
        self, fold: Fold, lane: int, lanes: int, policy: str, state: Any = None, head: ChainHead | None = None
    ) -> None:
        self.fold, self._lane, self._lanes, self._policy = fold, lane, lanes, policy
        self.state: Any = fold.new(lane, lanes) if state is None else state
        self.head = ChainHead() if head is None else head

    def position(self, topic: str) -> int:
        """The next offset to read of an input; 0 where none was read yet."""
        return self.head.positions.get(topic, 0)

    def header(
        self,
        time: int,
        watermark: int,
        events: Sequence[Event],
        sources: list[Source] | None = None,
        snapshot: str | UnsetType = UNSET,
        claim: str | UnsetType = UNSET,
    ) -> Header:
        """The header of the next block.

        Args:
            time, watermark: Unix ms.
            events: what it will hold.
            sources: how far each input has been read; None: up to the last of these events.
            snapshot: the hash and the height of a snapshot, where one is to be named.
            claim: the hash of the claim under which it is written, where there is one.
        """
        fold, head = self.fold, self.head
        return Header(
            lane=self._lane,
            lanes=self._lanes,
            height=head.height + 1,
            prev=head.hash,
            time=time,
            watermark=watermark,
            policy=fold.policy_hash(self.state) or self._policy,
            fold=fold.named(self.state, head.fold),
            sources=self._sources(events) if sources is None else sources,
            outputs=head.outputs,
            snapshot=snapshot,
            claim=claim,
        )

    def close(self, header: Header, events: Sequence[Event], *, checked: bool = False) -> NewBlock:
        """Seals a block, folds it, and moves on to it.

        Args:
            header: from `header`.
            events: the same that it was made for.
            checked: whether it is checked that a reader will take the block. What `header` made of times that do not
                go back needs no check; sources from elsewhere do.

        Raises:
            DoesNotHoldError: it is checked, and does not continue the chain; nothing is folded then.
        """
        block, data = seal(header, events)
        if checked:
            self.head.demand_next(block, self._lane, self._lanes)
        outputs = self.fold.fold(self.state, block)
        self.head = self.head.after(block, outputs)
        return NewBlock(block, data, outputs, self.head)

    def add(self, time: int, watermark: int, events: Sequence[Event] = ()) -> NewBlock:
        """Closes the next block with these events, and folds it.

        Args:
            time: of the block, Unix ms.
            watermark: of the block, Unix ms.
            events: of the block, in order.
        """
        return self.close(self.header(time, watermark, events), events)

    def start(self, time: int, document: bytes) -> NewBlock:
        """Closes the first block of a ledger: its policy, which is in force from the next block on."""
        return self.add(time, time, [Event(EventKind.POLICY, 0, 0, time, [], None, document)])

    def _sources(self, events: Sequence[Event]) -> list[Source]:
        topics, positions = self.fold.inputs, self.head.positions
        ends = {topics[event.source]: event.offset + 1 for event in events if event.kind in INPUT_KINDS}
        firsts = [(topic, 0 if topic in self.head.adopted else positions.get(topic, 0)) for topic in topics]
        ids = {**self.head.ids, **self.head.adopted}
        return [source_of(topic, first, ends.get(topic, first), ids.get(topic, "")) for topic, first in firsts]
