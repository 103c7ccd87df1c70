"""What one block must be to follow upon the one before it, links apart: time, input ranges, policy, outputs root.

Each rule has its own name here; `chain.ChainHead.demand_next` demands the same of a lane that runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

from ...codecs.adoptions import adopted_in
from ...codecs.blocks import INPUT_KINDS, Block, EventKind, Header, events_of_kind, stretches
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_identity import LedgerIdentity, identity_in
from ...streams.adjudication.fold import INPUTS
from ..ledger.chain import NO_OUTPUTS, another_ledger, ids_of, not_the_same
from ..ledger.policies import TOPIC as POLICIES
from .divergences import Findings, Kind


class Rules:
    """The last block of a lane, as far as the next one depends on it.

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
        """The policy that a block is decided under; its header must name it.

        Args:
            block, height: as they stand.
            in_force: of the state before it; empty where the block is the first, which brings its own.
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
