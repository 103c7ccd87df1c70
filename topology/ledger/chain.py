"""The end of a lane's chain of blocks, and what the next block must be to continue it.

Pure: blocks and outputs in, a sentence out where the chain is broken. A follower of a ledger (a lane that restores, and
one that writes) keeps a `ChainHead` and moves it on with each block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...codecs import merkle
from ...codecs.adoptions import adopted_in
from ...codecs.blocks import GENESIS, Block, Header, Output, Source, outputs_root
from ...codecs.checkpoints import leaf_of
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_identity import identity_in
from ...streams.adjudication.versions import demand_not_later, number_of

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
        """Demands that this block continues the chain.

        Args:
            block: the next one of the ledger.
            lane: whose ledger it is.
            lanes: how many lanes the ledger has.

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
    """What a block has to name as its ledger and the application before; None where it does, or names none.

    Args:
        block: the next one of the chain.
        ledger_id, app_id: as named before it; empty where none is.

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
    """The id that a block has to name for one of its inputs; None where it does.

    The first block that names an id may name any. After that only an adoption changes it.

    Args:
        source: of the block.
        ids: by topic, of the block before.
        adopted: by topic, what the block before has adopted.
    """
    expected = adopted.get(source.topic) or ids.get(source.topic) or source.id
    return None if source.id == expected else expected


def demand_version(ledger: str, own: str, path: str = "") -> None:
    """That the fold that wrote a block is not a later one than ours: we could not decide as it would.

    Args:
        ledger: as its header names it.
        own: the newest that we fold.
        path: which block it is, for the sentence.

    Raises:
        LaterVersionError: it is.
    """
    demand_not_later(ledger, number_of(own), own, path)
