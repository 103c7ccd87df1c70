"""The end of a lane's chain of blocks: what the next block must be to continue it, and how a lane makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import UNSET, UnsetType

from ...codecs import merkle
from ...codecs.blocks import (
    GENESIS,
    INPUT_KINDS,
    Block,
    Event,
    EventKind,
    Header,
    Output,
    Source,
    outputs_root,
    seal,
    source_of,
)
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_statements import adopted_in, identity_in
from ...codecs.notes import leaf_of
from ...streams.adjudication.versions import demand_not_later, number_of
from .interfaces import Fold

AUDIT = "`sluice audit` tells where the ledger and its decisions part"
NO_OUTPUTS = outputs_root(())


class ChainHead(NamedTuple):
    """The last block of a lane, as far as the next one depends on it.

    `height` is -1 before the first block; `outputs` is the root of the last block's outputs; `positions` are the next
    offsets to read, by logical topic; `tree` is that of all blocks up to this one, for checkpoints. `ids` are those of
    the topics, where the block names them; `adopted` are the ids that the next block has to name instead. `ledger_id`
    and `app_id` are those of the last event that names them; empty where none does.
    """

    height: int = -1
    hash: str = GENESIS
    time: int = 0
    watermark: int = 0
    outputs: str = NO_OUTPUTS
    fold: str = ""
    positions: Mapping[str, int] = {}
    tree: merkle.Frontier = merkle.Frontier()
    ids: Mapping[str, str] = {}
    adopted: Mapping[str, str] = {}
    ledger_id: str = ""
    app_id: str = ""

    def after(self, block: Block, outputs: Sequence[Output]) -> ChainHead:
        """The tip once this block stands in the ledger and these are its outputs."""
        header = block.header
        positions = {source.topic: source.next for source in header.sources}
        identity = identity_in(block) or self
        return ChainHead(
            header.height,
            block.hash,
            header.time,
            header.watermark,
            outputs_root(outputs),
            header.fold,
            positions,
            self.tree.append(leaf_of(block.hash)),  # 1.5 us a block
            ids_of(header),
            adopted_in(block),
            identity.ledger_id,
            identity.app_id,
        )

    def demand_next(self, block: Block, lane: int, lanes: int) -> None:
        """Demands that this block continues the chain of lane number `lane` of `lanes`.

        Raises:
            DoesNotHoldError: it does not; the sentence says in what.
        """
        header = block.header
        where = f"ledger of lane {lane}, block {header.height}"

        def broken(what: str, expected: str = "", got: str = "") -> DoesNotHoldError:
            return DoesNotHoldError(what, path=where, expected=expected, got=got, hint=AUDIT)

        if (header.lane, header.lanes) != (lane, lanes):
            raise DoesNotHoldError(
                "the block belongs to another lane, or to another number of lanes",
                path=where,
                expected=f"lane {lane} of {lanes}",
                got=f"lane {header.lane} of {header.lanes}",
                hint="a ledger keeps its partition count for ever; a new count needs a new ledger",
            )
        if header.height != self.height + 1:
            raise broken("the chain of blocks is broken", f"height {self.height + 1}")
        if header.prev != self.hash:
            raise broken("the chain of blocks is broken", f"prev {self.hash}", header.prev)
        if header.outputs != self.outputs:
            what = "folding the block before it again does not give the outputs that were written"
            raise broken(what, header.outputs, f"{self.outputs} (folded then by {self.fold!r})")
        if number_of(header.fold) < number_of(self.fold):
            raise broken("the fold's version goes back", self.fold, header.fold)
        if header.time < self.time or header.watermark < self.watermark:
            raise broken("time or watermark goes back")
        if (expected := another_ledger(block, self.ledger_id, self.app_id)) is not None:
            raise broken("the block names another ledger, or takes it over from another application", expected)
        for source in header.sources:
            if (expected := not_the_same(source, self.ids, self.adopted)) is not None:
                what = f"the block names another topic {source.topic} than the ledger goes on with"
                raise broken(what, expected or "no id", source.id or "none")
            first = 0 if source.topic in self.adopted else self.positions.get(source.topic, source.first)
            if source.first != first or source.next < first:
                what = f"the offsets of {source.topic} do not follow upon one another"
                raise broken(what, f"first {first}", f"{source.first} to {source.next}")


def ids_of(header: Header) -> Mapping[str, str]:
    """The ids of the topics of a block's sources, where it names them."""
    return {source.topic: source.id for source in header.sources if source.id}


def another_ledger(block: Block, ledger_id: str, app_id: str) -> str | None:
    """Returns what a block has to name as its ledger and the application before, by those named before it; None where
    it does.

    `ledger_id` and `app_id` are empty where none was named.

    Raises:
        DoesNotHoldError: it names a ledger in another form.
    """
    identity = identity_in(block)
    if identity is None:
        return None
    if not block.header.height:
        return None if identity.was is None else "no application before the first block"
    is_the_same = ledger_id and (identity.ledger_id, identity.was) == (ledger_id, app_id)
    return None if is_the_same else f"ledger {ledger_id or 'without a name'}, written by {app_id!r}"


def not_the_same(source: Source, ids: Mapping[str, str], adopted: Mapping[str, str]) -> str | None:
    """Returns the id that a block has to name for its input `source`; None where it does.

    The first block that names an id may name any. After that only an adoption changes it: `ids` are those of the block
    before, `adopted` what it has adopted, by topic.
    """
    expected = adopted.get(source.topic) or ids.get(source.topic) or source.id
    return None if source.id == expected else expected


def demand_version(ledger: str, own: str, path: str = "") -> None:
    """Demands that the fold that wrote a block (`ledger`) is not a later one than `own`: we could not decide as it
    would.

    `path` is the block, for the sentence.

    Raises:
        LaterVersionError: it is.
    """
    demand_not_later(ledger, number_of(own), own, path)


class NewBlock(NamedTuple):
    """A block that was sealed and folded."""

    block: Block
    data: bytes  # its bytes for the ledger
    outputs: list[Output]  # what it was folded to
    head: ChainHead  # the chain's head once it stands in the ledger


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
        """Closes the next block with these events, at `time` and `watermark` (Unix ms), and folds it."""
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
