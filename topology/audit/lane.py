"""One lane's audit: its chain followed, its blocks folded again, its outputs compared, its checkpoints held to.

Everything is read once, in streams: the ledger in order, and each output topic as far as the blocks that were folded
reach. Behind a block that is gone or illegible nothing can be folded; its links are still followed to the end. That is
why it does not go the way of `ledger.replay`, which ends where a ledger does not hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing
from operator import attrgetter
from time import monotonic
from typing import Any, NamedTuple

from ...codecs.blocks import Block, Header, Output, outputs_root
from ...codecs.errors import DoesNotHoldError, UsageError
from ..kafka.topics import TOPICS
from ..ledger.export_files import Cut, Range, Stored
from ..ledger.folds import Adjudicate, FoldByVersion
from ..ledger.interfaces import Logs
from ..ledger.log_reader import OUTPUTS
from ..ledger.retention import taken
from .chain_check import ChainCheck, Linked
from .checkpoint_check import Claims
from .divergences import Divergence, Findings
from .identity import named_by
from .models import AuditProgress, LaneReport, Span
from .outputs import Comparison, Expected
from .rules import Rules


class Task(NamedTuple):
    """A lane to audit.

    Attributes:
        cut: how far to read.
        lane: which.
        claims: what checkpoints say of it.
        span: what to compare.
    """

    cut: Cut
    lane: int
    claims: Claims
    span: Span


def expect_lane(logs: Logs, lane: int) -> None:
    """Says that a lane will be audited."""
    for topic in ("ledger", *OUTPUTS):
        logs.expect(topic, lane)


async def audit_lane(
    logs: Logs, task: Task, callback: Callable[[AuditProgress], None], ending: Callable[[], None] = lambda: None
) -> LaneReport:
    """Audits one lane.

    Args:
        logs: what to read.
        task: the lane, how far, and what to hold it against.
        callback: at the beginning, and of each block.
        ending: called once the ledger has been read, and its last blocks are to be folded.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the ledger's identifiers are hashed with a secret that is not given.
    """
    expect_lane(logs, task.lane)
    async with AsyncExitStack() as opened:
        auditing = _Auditing(logs, task, callback, ending)
        await auditing.open(opened)
        return await auditing.run()


_topic_of = attrgetter("topic")


class _Stream:
    """Records of one partition, some at a time; what cannot be read is told once, and is then the end."""

    def __init__(self, findings: Findings, topic: str, lane: int) -> None:
        self._findings, self._topic, self._lane = findings, topic, lane
        self._batches: AsyncGenerator[list[Stored], None] | None = None
        self.illegible: Divergence | None = None

    async def open(self, opened: AsyncExitStack, logs: Logs, end: int) -> None:
        batches = logs.batches(self._topic, self._lane, end=end)
        self._batches = await opened.enter_async_context(aclosing(batches))

    async def next(self) -> list[Stored] | None:
        """The next records; None at the end."""
        try:
            return await anext(self._batches, None) if self._batches is not None else None
        except DoesNotHoldError as error:
            self.illegible = self._findings.add("unreadable", str(error), place=f"{self._topic}/{self._lane}")
            return None


class _OutputStream(_Stream):
    """Of an output topic: retention may take what is still to be read of it, and its comparison is told so."""

    def __init__(self, findings: Findings, logs: Logs, topic: str, lane: int, kept: Range, end: int) -> None:
        super().__init__(findings, topic, lane)
        compacts = "compact" in TOPICS[topic].config["cleanup.policy"]
        self.comparison = Comparison(findings, topic, lane, kept.first, compacts)
        self._logs, self._due, self._end = logs, kept.first, end

    async def next(self) -> list[Stored] | None:
        batch = await super().next()
        found, last = (batch[0].offset, batch[-1].offset + 1) if batch else (self._end, self._end)
        if count := await taken(self._logs, self._topic, self._lane, self._due, found):
            self.comparison.expire(count, found if batch else None)
        self._due = last
        return batch


class _Auditing:
    """One lane on its way. `state` is the fold of the chain up to its height while `folding`."""

    def __init__(
        self, logs: Logs, task: Task, callback: Callable[[AuditProgress], None], ending: Callable[[], None]
    ) -> None:
        self._logs, self._callback, self._ending = logs, callback, ending
        _, lane, claims, span = task
        self._cut, self._lane, self._claims, self._span = task
        self.findings = Findings(lane, *span)
        self._chain = ChainCheck(self.findings, lane, claims.own)
        self._rules = Rules(self.findings, lane, logs.lanes)
        self._ledger = _Stream(self.findings, "ledger", lane)
        self._topics: dict[str, tuple[_Stream, Comparison]] = {}
        self._by_version = FoldByVersion(logs.secrets)
        self._state: Any = None
        self._folding = True
        self._cut_short = False  # `until` was passed: what is left of the topics is not judged
        self._report = LaneReport(lane=lane)

    async def open(self, opened: AsyncExitStack) -> None:
        """Begins to read the ledger and every output topic."""
        ends, lane = self._cut.ends, self._lane
        await self._ledger.open(opened, self._logs, ends["ledger"][lane])
        ranges = await asyncio.gather(*(self._logs.range(topic, lane) for topic in OUTPUTS))
        for topic, kept in zip(OUTPUTS, ranges, strict=True):
            end = ends[topic][lane]
            stream = _OutputStream(self.findings, self._logs, topic, lane, kept, end)
            await stream.open(opened, self._logs, end)
            self._topics[topic] = (stream, stream.comparison)

    async def run(self) -> LaneReport:
        """Follows the ledger to its end."""
        chain, ended = self._chain, False
        self._tell(0)
        while True:
            while not ended and chain.hungry:
                batch = await self._ledger.next()
                if batch is None:
                    ended = True
                    chain.end()
                    self._ending()
                else:
                    chain.feed(batch)
            if chain.doubtful:
                await self._note_witnesses()
            linked = chain.take()
            if linked is not None:
                await self._step(linked)
                await asyncio.sleep(0)  # what was taken of an answer is asked for anew, and comes while we fold
            elif ended:
                break
        await self._finish()
        return self._report

    async def _note_witnesses(self) -> None:
        """Which blocks the outputs name that come next: they tell a block that was changed from its neighbours."""
        near = range(self._chain.height + 1, self._chain.height + 3)
        for stream, comparison in self._topics.values():
            if not comparison.waiting and (batch := await stream.next()) is not None:
                comparison.feed(batch)
            for record in comparison.waiting:
                if (named := named_by(record)) is not None and named[0] in near:
                    self._chain.witness.setdefault(*named)

    # ------------------------------------------------------------ blocks

    async def _step(self, linked: Linked) -> None:
        block, report = linked.block, self._report
        if block is None:
            self._stop_folding()
        else:
            header = block.header
            self._rules.judge(block, linked.height)
            inputs = self._rules.inputs
            report.blocks += 1
            report.inputs += inputs
            report.first_time = report.first_time or header.time
            report.last_time = header.time
            for seen, name in ((report.folds, header.fold), (report.policies, header.policy)):
                if name not in seen[-1:] and len(seen) < 100:
                    seen.append(name)
            report.timeline.add("blocks", header.time)
            report.timeline.add("inputs", header.time, inputs)
            if header.time > self._span.until and self._folding:
                self._cut_short = True
                self._stop_folding()
            if self._folding:
                await self._fold_block(block, linked)
        self._hold_checkpoints(linked.height, None if linked.changed else block)
        self._tell(linked.offset)

    def _tell(self, offset: int) -> None:
        outputs = sum(comparison.counts.equal for _, comparison in self._topics.values())
        end = self._cut.ends["ledger"][self._lane]
        self._callback(AuditProgress(self._lane, offset, end, self._report.inputs, outputs, monotonic()))

    def _stop_folding(self) -> None:
        self._folding, self._state = False, None

    async def _fold_block(self, block: Block, linked: Linked) -> None:
        header = block.header
        fold = self._fold_of(header, linked)
        if fold is None:
            self._stop_folding()
            return
        if self._state is None:
            self._state = fold.new(self._lane, self._logs.lanes)
        policy = self._rules.policy(block, linked.height, fold.policy_hash(self._state))
        try:
            outputs = fold.fold(self._state, block)
        except UsageError:
            raise  # the secret is missing that its identifiers are hashed with: for the auditor, and no divergence
        except Exception as error:  # noqa: BLE001 -- whatever stands in a block must not end its audit
            self.findings.add(
                "changed-block",
                f"the block cannot be folded ({type(error).__name__}: {error}); decisions of this lane cannot be "
                "recomputed beyond it",
                height=linked.height,
                time=header.time,
                breaks=True,
            )
            self._stop_folding()
            return
        root = outputs_root(outputs)
        self._rules.root = self._chain.root = root
        self._report.folded += 1
        if outputs:
            self._report.timeline.add("outputs", header.time, len(outputs))
            await self._compare(outputs, linked, header, policy)

    def _fold_of(self, header: Header, linked: Linked) -> Adjudicate | None:
        """The fold that a header names; None where it is not ours, or none that may follow upon the one before."""
        fold = self._by_version.take(header)
        if fold is not None:
            return fold
        self.findings.add(
            "fold-version",
            "the block was decided by another version of the fold; decisions cannot be recomputed from here on",
            height=linked.height,
            place=f"ledger/{self._lane}/{linked.offset}",
            expected=" or ".join(self._by_version.expected()),
            got=header.fold,
            time=header.time,
            breaks=True,
        )
        return None

    async def _compare(self, outputs: list[Output], linked: Linked, header: Header, policy: str) -> None:
        newer = linked.offset >= self._cut.settled["ledger"][self._lane]
        topics = dict.fromkeys(map(_topic_of, outputs))
        for topic in topics:
            if topic not in self._topics:
                continue  # citations: spread over partitions by their own keys; the outputs root covers them
            stream, comparison = self._topics[topic]
            some = outputs if len(topics) == 1 else [output for output in outputs if output.topic == topic]
            at = await _pass_equal(stream, comparison, some)
            if at < len(some):
                places = [place for place, output in enumerate(outputs) if output.topic == topic]
                about = (header.time, newer, policy)
                comparison.expect([Expected(outputs[place], linked.height, place, *about) for place in places[at:]])
                await _satisfy(stream, comparison)

    def _hold_checkpoints(self, height: int, block: Block | None) -> None:
        """Holds the tree of the blocks so far against the checkpoints that name one of its size.

        Args:
            height: of the last of them.
            block: that one; None where it is not the one that was written.
        """
        tree = self._chain.tree
        claims = self._claims.at(height + 1)
        if tree is None or not claims:
            return  # nobody can tell what the leaves of missing blocks were
        self._report.held += 1
        for claim in claims:
            time = block.header.time if block is not None else claim.time
            if claim.root == tree.root() and (not claim.time or claim.time == time):
                continue
            self.findings.add(
                "checkpoint-root",
                "the ledger is not the one that this checkpoint was made of",
                height=height,
                place=claim.place,
                expected=f"root {claim.root.hex()}",
                got=f"root {tree.root().hex()}",
                time=time,
            )

    # ------------------------------------------------------------ the end

    async def _finish(self) -> None:
        findings, report = self.findings, self._report
        whole = self._folding and not self._cut_short
        if self._ledger.illegible is not None and findings.broken is None:
            # Outputs of the blocks that nobody can read are there, and no block gives them: that follows.
            self._ledger.illegible.height = self._chain.height + 1
            findings.broken = self._ledger.illegible
        for topic, (stream, comparison) in self._topics.items():
            while (whole or comparison.is_missing_some) and (batch := await stream.next()) is not None:
                comparison.feed(batch)
                comparison.settle(judged=whole)
            comparison.close(judged=whole)
            report.topics[topic] = comparison.counts
        if self._state is not None and self._by_version.fold is not None:
            report.counters = dict(self._by_version.fold.counters(self._state))
        report.chain = self._chain.height + 1
        report.checkpoints, report.covered = self._claims.count, self._claims.newest
        report.unverified = sum(count for count, _ in self._claims.signers.values())
        for claim in self._claims.own.values():
            report.timeline.add("checkpoints", claim.time)
        report.divergences = list(findings.found)


async def _pass_equal(stream: _Stream, comparison: Comparison, some: list[Output]) -> int:
    """Passes over outputs that stand where they should; how many those are. Nearly always all of them."""
    at = 0
    while at < len(some):
        found = comparison.pass_equal(some, at)
        at += found
        if comparison.waiting or comparison.ended:
            break  # something else stands there
        batch = await stream.next()
        if batch is None:
            comparison.end()
            break
        comparison.feed(batch)
    return at


async def _satisfy(stream: _Stream, comparison: Comparison) -> None:
    while comparison.hungry:
        batch = await stream.next()
        if batch is None:
            comparison.end()
        else:
            comparison.feed(batch)
