"""What an audit demands of a ledger that may be damaged: the `Checks` with which it goes the way of `replay.follow`.

`chain_check` finds the chain; the rules of one block are here: time, input ranges, policy and outputs root must follow
upon the block before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from ...codecs.blocks import INPUT_KINDS, Block, EventKind, Header, Output, events_of_kind, outputs_root, stretches
from ...codecs.errors import DoesNotHoldError, UsageError
from ...codecs.ledger_statements import LedgerIdentity, adopted_in, identity_in
from ...streams.adjudication.fold import INPUTS
from ..engine.chain import NO_OUTPUTS, another_ledger, ids_of, not_the_same
from ..engine.export_files import Stored
from ..engine.folds import FoldByVersion
from ..engine.interfaces import Fold, Logs
from ..engine.policies import TOPIC as POLICIES
from ..engine.replay import Linked
from .chain_check import ChainCheck, CheckpointedSize
from .divergences import Findings, Kind
from .lane_groups import ADJUDICATE, Group
from .ownership import KnownKey, OwnershipCheck


class Rules:
    """The last block of a lane, as far as the next one depends on it.

    Args:
        findings: told what is wrong.
        lane, lanes: whose ledger it is, of how many.
        ledger, inputs: the logical names of its topic and of those that it reads.

    Attributes:
        root: of the last block's outputs as they were folded again; None where they were not.
        inputs: how many the last block has.
        adopted: the ids that the next block has to name instead of those of the last one, by topic.
        identity: the last one that a block has named; None where none has.
    """

    def __init__(
        self, findings: Findings, lane: int, lanes: int, ledger: str = "ledger", inputs: Sequence[str] = INPUTS
    ) -> None:
        self._findings, self._lane, self._lanes = findings, lane, lanes
        self._ledger, self._inputs = ledger, inputs
        self._height, self._time, self._mark = -1, 0, 0
        self._next: dict[str, int] = {}
        self._ids: Mapping[str, str] = {}
        self.adopted: Mapping[str, str] = {}
        self.identity: LedgerIdentity | None = None
        self.root: str | None = NO_OUTPUTS
        self.inputs = 0

    def judge(self, block: Block, height: int) -> None:
        """Holds a block against the one before it, and then goes on from it."""
        header = block.header
        if height == self._height + 1:
            if self.root is not None and header.outputs != self.root:
                text = "folding the block before it again does not give the outputs that this one names"
                self._add("outputs-root", header, height, text, self.root, header.outputs)
            if header.lanes != self._lanes:
                text = "the block is of another number of lanes"
                self._add("changed-block", header, height, text, f"{self._lanes} lanes", f"{header.lanes} lanes")
            self._judge_times(header, height)
        self._judge_sources(block, height, follows=height == self._height + 1)
        self._judge_identity(block, height)
        self._height, self._time, self._mark, self.root = height, header.time, header.watermark, None
        self._next = {source.topic: source.next for source in header.sources}
        self._ids = ids_of(header)
        try:
            self.adopted = adopted_in(block)
        except DoesNotHoldError:
            self.adopted = {}  # the fold says so

    def _judge_identity(self, block: Block, height: int) -> None:
        """That a block names no other ledger, and no other application but in the place of the one before it."""
        before = self.identity
        try:
            named = identity_in(block)
            is_first = before is None and height > 0  # what stood before it is not there
            known = (before.ledger_id, before.app_id) if before else ("", "")
            expected = None if is_first else another_ledger(block, *known)
        except DoesNotHoldError as error:
            self._add("changed-block", block.header, height, error.what, "one identity", "another event")
            return
        if expected is not None and named is not None:
            text = "the block names another ledger, or takes it over from another application"
            self._add("changed-block", block.header, height, text, expected, f"ledger {named.ledger_id}")
        elif named is not None:
            self.identity = named

    def policy(self, block: Block, height: int, in_force: str) -> str:
        """Returns the policy that a block is decided under; its header must name it.

        `in_force` is that of the state before `block`, at `height`; empty where the block is the first, which brings
        its own.
        """
        header = block.header
        if not in_force:
            documents = [event.value for event in events_of_kind(block.events, EventKind.POLICY)]
            in_force = "sha256:" + sha256(documents[0] or b"").hexdigest() if documents else ""
        if header.policy != in_force:
            text = "the block names another policy than the one in force"
            self._add("policy", header, height, text, in_force or "a policy", header.policy)
        return in_force

    def _judge_times(self, header: Header, height: int) -> None:
        if header.time < self._time:
            text = "the block's time lies before the one before it"
            self._add("time", header, height, text, f"{self._time} or later", str(header.time))
        if header.watermark < self._mark:
            text = "the block's watermark lies before the one before it"
            self._add("time", header, height, text, f"{self._mark} or later", str(header.watermark))

    def _judge_sources(self, block: Block, height: int, *, follows: bool) -> None:
        header = block.header
        at: list[int] = []
        for source in header.sources:
            first = self._next.get(source.topic, source.first) if follows else source.first
            if follows and source.topic in self.adopted:
                first = 0
            if follows and (named := not_the_same(source, self._ids, self.adopted)) is not None:
                text = f"the block names another topic {source.topic} than the one that was read, and nobody adopted it"
                self._add("offsets", header, height, text, named or "no id", source.id or "none")
            at.append(source.first)
            if source.first != first or source.next < first:
                text = f"the offsets of {source.topic} do not follow upon those before"
                self._add("offsets", header, height, text, f"first {first}", f"{source.first} to {source.next}")
        topics = [source.topic for source in header.sources]
        # From the first one on that was applied, a block also says how far the policies have been taken in.
        has_policies = POLICIES in topics or (follows and POLICIES in self._next)
        wanted = [*self._inputs, *([POLICIES] if has_policies else [])]
        if topics != wanted:
            self._add("offsets", header, height, "the block has other inputs", ", ".join(wanted), ", ".join(topics))
        if not self._are_in_order(block, at):
            text = "an event lies outside of its block's offsets, or not in their order"
            self._add("offsets", header, height, text, "offsets that increase", self._first_astray(block, at))

    def _are_in_order(self, block: Block, at: list[int]) -> bool:
        """Whether the block's inputs lie in its sources' ranges, each in its order; counts them on the way."""
        found = stretches(block.events, len(at))
        if found is None:
            self.inputs = sum(event.kind in INPUT_KINDS for event in block.events)
            return False
        self.inputs = sum(stretch.inputs for stretch in found)
        return all(
            not stretch.inputs or (first <= stretch.first and stretch.last < source.next)
            for stretch, first, source in zip(found, at, block.header.sources, strict=True)
        )

    def _first_astray(self, block: Block, at: list[int]) -> str:
        """The first input that is not where it should be, for a sentence."""
        ends = [source.next for source in block.header.sources]
        for event in block.events:
            if event.kind not in INPUT_KINDS:
                continue
            place, offset = event.source, event.offset
            if not 0 <= place < len(at) or not at[place] <= offset < ends[place]:
                return f"source {place}, offset {offset}"
            at[place] = offset + 1
        raise AssertionError("one was astray")

    def _add(self, kind: Kind, header: Header, height: int, sentence: str, expected: str, got: str) -> None:
        broken = self._findings.broken
        if broken is not None and height >= broken.height and self._findings.follow(kind):
            return
        place = f"{self._ledger}/{self._lane}"
        self._findings.add(kind, sentence, height=height, place=place, expected=expected, got=got, time=header.time)


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
        """`findings` are told what is wrong with the ledger of `lane`, in `group`; nothing is read from `logs` here.

        `signed` is, by size, what the lane's own checkpoints say of its first blocks; `known`: whose signatures under
        claims are believed; empty: none is checked.
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

        `linked` is the block's place, `expected` are the versions that its `header` may name.
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
