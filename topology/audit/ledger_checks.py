"""What an audit demands of a ledger that may be damaged: the `Checks` with which it goes the way of `ledger.replay`.

What does not hold is noted in `Findings`, and the chain is followed as far as there is one. Behind a block that is
gone, illegible or of another version nothing can be folded; the links are still followed to the end. The client's
auditor ends at the first thing that is noted (client/lane_replay.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...codecs.blocks import Block, Header, Output, outputs_root
from ...codecs.errors import UsageError
from ..ledger.export_files import Stored
from ..ledger.folds import FoldByVersion
from ..ledger.interfaces import Fold, Logs
from ..ledger.replay import Linked
from .chain_check import ChainCheck
from .divergences import Findings
from .groups import ADJUDICATE, Group
from .ledger_records import CheckpointedSize
from .ownership import KnownKey, OwnershipCheck
from .rules import Rules


class LedgerChecks:
    """The checks of one lane's ledger (`ledger.replay.Checks`); its records come in batches.

    Attributes:
        chain: which block comes next.
        rules: what else a block must be; `rules.inputs` is of the last block.
        ownership: the claims between the blocks.
        fold: the one in use; None before the first block.
        folding: whether the next block is to be folded: not behind a fault that leaves no state to go on from.
        policy: under which the last folded block was decided.
    """

    def __init__(
        self,
        findings: Findings,
        logs: Logs,
        lane: int,
        signed: Mapping[int, CheckpointedSize] | None = None,
        group: Group = ADJUDICATE,
        known: Sequence[KnownKey] = (),
    ) -> None:
        """
        Args:
            findings: told what is wrong.
            logs: whose ledger it is; nothing is read here.
            lane: which of its lanes.
            signed: by size, what the lane's own checkpoints say of its first blocks.
            group: of which the lane is.
            known: whose signatures under claims are believed; empty: none is checked.
        """
        self.findings = findings
        self.chain = ChainCheck(findings, lane, signed or {}, group.ledger)
        self.rules = Rules(findings, lane, logs.lanes, group.ledger, group.inputs)
        self.ownership = OwnershipCheck(findings, lane, group.ledger, group.log_name(logs.ledger), known)
        self.folding, self.policy = True, ""
        self._lane, self._ledger, self._by_version = lane, group.ledger, FoldByVersion(logs.secrets, group.make)

    @property
    def fold(self) -> Fold | None:
        """What folds the ledger; None before its first block."""
        return self._by_version.fold

    def feed(self, batch: Sequence[Stored], /) -> None:
        self.chain.feed(self.ownership.pass_over(batch))

    def end(self) -> None:
        self.chain.end()

    async def take(self) -> Linked | None:
        return self.chain.take()

    def judge(self, linked: Linked, state: Any, /) -> Fold | None:
        block = linked.block
        if block is None:
            self.folding = False
            return None
        self.rules.judge(block, linked.height)
        if not linked.changed:
            if not block.header.height and self.rules.identity is not None:
                self.ownership.identified(self.rules.identity.ledger_id)
            self.ownership.judge(block.header, linked.offset)
        if not (self.folding and self.is_wanted(block)):
            return None
        fold = self._by_version.take(block.header)
        if fold is None:
            self.folding = False
            self.is_foreign(linked, block.header, self._by_version.expected())
            return None
        in_force = "" if state is None else fold.policy_hash(state)
        self.policy = self.rules.policy(block, linked.height, in_force)
        return fold

    def folded(self, _: Linked, outputs: Sequence[Output], /) -> None:
        self.rules.root = self.chain.root = outputs_root(outputs)

    def failed(self, linked: Linked, error: Exception, /) -> None:
        if isinstance(error, UsageError):
            raise error  # the secret is missing that its identifiers are hashed with: no divergence
        self.folding = False
        self.findings.add(
            "changed-block",
            f"the block cannot be folded ({type(error).__name__}: {error}); decisions of this lane cannot be "
            "recomputed beyond it",
            height=linked.height,
            time=0 if linked.block is None else linked.block.header.time,
            breaks=True,
        )

    def is_wanted(self, block: Block, /) -> bool:
        """Whether a block is to be folded still; asked after its rules."""
        return True

    def is_foreign(self, linked: Linked, header: Header, expected: Sequence[str]) -> None:
        """Notes a block that this package does not fold, or whose fold version may not follow that of the block before.

        Args:
            linked: the block's place.
            header: the block's.
            expected: the versions that may be there.
        """
        self.findings.add(
            "fold-version",
            "the block was decided by another version of the fold; decisions cannot be recomputed from here on",
            height=linked.height,
            place=f"{self._ledger}/{self._lane}/{linked.offset}",
            expected=" or ".join(expected),
            got=header.fold,
            time=header.time,
            breaks=True,
        )
