"""One lane's audit: its chain followed, its blocks folded again, its outputs compared, its checkpoints held to.

Everything is read once, in streams: the ledger in order, and each output topic as far as the blocks that were folded
reach. The ledger is gone through by `ledger.replay.follow`, with checks that note what does not hold and go on
(ledger_checks.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from functools import cache, partial
from time import monotonic
from typing import Final, NamedTuple

import msgspec

from ...codecs.blocks import Block, Header, Output, by_topic, count_headers
from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import PARTITIONERS, Partitioner
from ...streams.adjudication.outputs import CITATIONS
from ...streams.sightings.binding import OBSERVATIONS
from ..engine.export_files import LATER, Cut, Range, Stored
from ..engine.folds import partitioner_named
from ..engine.interfaces import Logs
from ..engine.replay import Followed, Linked, follow
from ..engine.stored_topics import may_be_taken, taken
from ..kafka.topics import TOPICS
from .checkpoint_check import CheckpointClaims
from .divergences import Divergence, Findings
from .lane_groups import ADJUDICATE, FRAME, GROUPS, Marked, lane_of, mark_of
from .ledger_checks import LedgerChecks
from .output_checks import Comparison, Expected, named_by, original_of, source_of
from .ownership import KnownKey
from .report import AdoptedTopic, AuditProgress, Counts, LaneReport, Span, added


class Task(NamedTuple):
    """A lane to audit.

    Attributes:
        marked: where bound observations stand that name a binding lane; None: they are not looked for.
    """

    cut: Cut  # how far to read
    lane: int  # which
    claims: CheckpointClaims  # what checkpoints say of it
    span: Span  # what to compare
    fold: str = ADJUDICATE.name  # the name of its group
    known: Sequence[KnownKey] = ()  # whose signatures under claims are believed; empty: none is checked
    marked: Marked | None = None


def expect_lane(logs: Logs, lane: int, fold: str = ADJUDICATE.name) -> None:
    """Says that a lane will be audited."""
    for topic in (GROUPS[fold].ledger, *GROUPS[fold].outputs):
        logs.expect(topic, lane)


async def audit_lane(
    logs: Logs, task: Task, callback: Callable[[AuditProgress], None], ending: Callable[[], None] = lambda: None
) -> LaneReport:
    """Audits one lane. `callback` is called at the beginning, and for each block.

    `ending` is called once the ledger has been read, and its last blocks are to be folded.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the ledger's identifiers are hashed with a secret that is not given.
    """
    expect_lane(logs, task.lane, task.fold)
    async with AsyncExitStack() as opened:
        auditing = _Auditing(logs, task, callback, ending)
        await auditing.open(opened)
        return await auditing.run()


class _Cited(msgspec.Struct, gc=False):
    """Whose lane wrote a citation."""

    emission_id: str


_cited = msgspec.json.Decoder(_Cited)
Foreign = Callable[[Stored, bool], bool]
Ages = Callable[[int], bool | None]
"""As `Comparison` takes them."""
SPREAD: Final = (CITATIONS, OBSERVATIONS)
"""Topics over whose partitions a lane's outputs are spread by their own keys, in order in each."""
Spread = dict[int, tuple["_Stream", Comparison]]
"""The streams of such a topic, by partition."""


class _Stream:
    """Records of one partition, some at a time; what cannot be read is told once, and is then the end."""

    def __init__(self, findings: Findings, topic: str, lane: int) -> None:
        self._findings, self._topic, self._lane = findings, topic, lane
        self._batches: AsyncGenerator[list[Stored], None] | None = None
        self.illegible: Divergence | None = None

    async def open(self, opened: AsyncExitStack, logs: Logs, end: int, start: int | None = None) -> None:
        """Begins to read, to before an offset."""
        batches = logs.batches(self._topic, self._lane, start, end)
        self._batches = await opened.enter_async_context(aclosing(batches))

    async def next(self) -> list[Stored] | None:
        """The next records; None at the end."""
        try:
            return await anext(self._batches, None) if self._batches is not None else None
        except DoesNotHoldError as error:
            self.illegible = self._findings.add("unreadable", str(error), place=f"{self._topic}/{self._lane}")
            return None

    async def all(self) -> AsyncGenerator[list[Stored], None]:
        """All records that are left."""
        while (batch := await self.next()) is not None:
            yield batch


class _OutputStream(_Stream):
    """Of an output topic: retention may take what is still to be read of it, and its comparison is told so."""

    def __init__(
        self,
        findings: Findings,
        logs: Logs,
        topic: str,
        lane: int,
        kept: Range,
        end: int,
        foreign: Foreign | None,
        ages: Ages,
    ) -> None:
        super().__init__(findings, topic, lane)
        compacts = "compact" in TOPICS[topic].config["cleanup.policy"]
        self.comparison = Comparison(findings, topic, lane, kept.first, compacts, foreign, ages)
        self._logs, self._due, self._end = logs, kept.first, end

    async def next(self) -> list[Stored] | None:
        batch = await super().next()
        found, last = (batch[0].offset, batch[-1].offset + 1) if batch else (self._end, self._end)
        if count := await taken(self._logs, self._topic, self._lane, self._due, found):
            self.comparison.expire(count, found if batch else None)
        self._due = last
        return batch


class _BoundStream(_Stream):
    """Of `observations`: only what names one binding lane is given on. Retention may take some of it, as of outputs."""

    def __init__(self, findings: Findings, logs: Logs, partition: int, lane: int, kept: Range, ages: Ages) -> None:
        super().__init__(findings, OBSERVATIONS, partition)
        about = (OBSERVATIONS, partition, kept.first)
        self.comparison = Comparison(findings, *about, compacts=False, may_be_taken=ages)
        self._logs, self._of, self._taken = logs, lane, 0

    async def begin(self, opened: AsyncExitStack, marked: Range | None) -> None:
        """Begins to read where the lane's marks begin, to where they end; without any, there is nothing to read."""
        if marked is None:
            self.comparison.end()
            return
        self._due, self._end = marked
        await self.open(opened, self._logs, marked.end, marked.first)

    async def next(self) -> list[Stored] | None:
        batch = await super().next()
        if not batch:
            if self._batches is not None:
                self._taken += await taken(self._logs, OBSERVATIONS, self._lane, self._due, self._end)
                self._due = self._end
            self._tell(None)
            return batch
        self._taken += await taken(self._logs, OBSERVATIONS, self._lane, self._due, batch[0].offset)
        self._due = batch[-1].offset + 1
        own = [record for record in batch if lane_of(record, self._lane, self._logs.lanes) == self._of]
        if own:
            self._tell(own[0].offset)
        return own

    def _tell(self, before: int | None) -> None:
        if self._taken:
            self.comparison.expire(self._taken, before)
            self._taken = 0


class _Checks(LedgerChecks):
    """Of an audit: it can ask the outputs about blocks, and folds none beyond the span."""

    def __init__(
        self, findings: Findings, logs: Logs, task: Task, witnesses: Callable[[], Awaitable[None]],
        ending: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__(findings, logs, task.lane, task.claims.own, GROUPS[task.fold], task.known)
        self._witnesses, self._ending, self._until = witnesses, ending, task.span.until

    def end(self) -> None:
        super().end()
        self._ending()

    async def take(self) -> Linked | None:
        chain = self.chain
        if chain.doubtful and not chain.hungry:
            await self._witnesses()
        return chain.take()

    def is_wanted(self, block: Block, /) -> bool:
        self.folding = block.header.time <= self._until
        return self.folding


class _Auditing:
    """One lane on its way."""

    def __init__(
        self, logs: Logs, task: Task, callback: Callable[[AuditProgress], None], ending: Callable[[], None]
    ) -> None:
        self._logs, self._callback = logs, callback
        self._cut, self._lane, self._claims, self._span, fold, _, self._marked = task
        self._group = GROUPS[fold]
        self.findings = Findings(self._lane, *self._span, fold)
        self._partitioner: Partitioner = "murmur2"
        self._begins: int | None = None  # of a group with one input: the first offset of it that the ledger reads
        self._checks = _Checks(self.findings, logs, task, self._note_witnesses, ending)
        self._chain = self._checks.chain
        self._ledger = _Stream(self.findings, self._group.ledger, self._lane)
        self._topics: dict[str, tuple[_Stream, Comparison]] = {}
        self._spread: dict[str, Spread] = {topic: {} for topic in SPREAD}
        self._report = LaneReport(lane=self._lane, fold=fold)

    async def open(self, opened: AsyncExitStack) -> None:
        """Begins to read the ledger and every output topic."""
        ends, lane = self._cut.ends, self._lane
        await self._ledger.open(opened, self._logs, ends[self._group.ledger][lane])
        topics = [topic for topic in self._group.outputs if topic in ends]
        ranges = await asyncio.gather(*(self._logs.range(topic, lane) for topic in topics))
        for topic, kept in zip(topics, ranges, strict=True):
            end, shared = ends[topic][lane], topic in ("dead-letters", "grounded")
            foreign = partial(self._is_foreign, topic) if shared else None
            ages = self._ages(topic)
            stream = _OutputStream(self.findings, self._logs, topic, lane, kept, end, foreign, ages)
            await stream.open(opened, self._logs, end)
            self._topics[topic] = (stream, stream.comparison)
        if self._group is ADJUDICATE and CITATIONS in ends:
            await self._open_citations(opened, ends[CITATIONS])
        if self._marked is not None:
            await self._open_observations(opened, self._marked)

    async def _open_observations(self, opened: AsyncExitStack, marked: Marked) -> None:
        """Every partition of `observations`, as far as it holds marks of this lane (lane_groups.py)."""
        for partition in range(self._logs.lanes):
            kept = await self._logs.range(OBSERVATIONS, partition)
            ages = self._ages(OBSERVATIONS)
            stream = _BoundStream(self.findings, self._logs, partition, self._lane, kept, ages)
            await stream.begin(opened, marked.get(partition))
            self._spread[OBSERVATIONS][partition] = (stream, stream.comparison)

    async def _open_citations(self, opened: AsyncExitStack, ends: Sequence[int]) -> None:
        """Every partition of `citations`."""
        for partition, end in enumerate(ends):
            kept = await self._logs.range(CITATIONS, partition)
            foreign = partial(self._is_cited_elsewhere, partition)
            about = (CITATIONS, partition, kept, end, foreign, self._ages(CITATIONS))
            stream = _OutputStream(self.findings, self._logs, *about)
            await stream.open(opened, self._logs, end)
            self._spread[CITATIONS][partition] = (stream, stream.comparison)

    def _ages(self, topic: str) -> Ages:
        """Whether retention may have taken a record of a topic, by the time of its block."""
        recorded = self._claims.retentions.get(topic, [])
        return lambda written: may_be_taken(recorded, written, self._logs.as_of())

    def _is_cited_elsewhere(self, partition: int, record: Stored, _: bool) -> bool:
        """Whether a citation is another lane's; one that says nothing of its emission is that of its partition's."""
        try:
            emission = _cited.decode(record.value or b"").emission_id
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return partition != self._lane
        return self._partition_of(emission.encode()) != self._lane

    def _partition_of(self, key: bytes) -> int:
        return PARTITIONERS[self._partitioner](key, self._logs.lanes)

    async def run(self) -> LaneReport:
        """Follows the ledger to its end."""
        self._tell(0)
        blocks = follow(self._ledger.all(), self._checks, self._lane, self._logs.lanes)
        followed: Followed | None = None
        async with aclosing(blocks):
            async for followed in blocks:
                await self._step(followed)
                await asyncio.sleep(0)  # what was taken of an answer is asked for anew, and comes while we fold
        await self._finish(followed)
        return self._report

    def _is_foreign(self, topic: str, record: Stored, begun: bool) -> bool:
        """Whether another group wrote it, or a lane of before, which had no ledger."""
        if topic == "dead-letters" and not self._group.is_its_letter(source_of(record) or b""):
            return True
        if begun or self._group is not FRAME:
            return False
        at = (original_of(record) or b"").rpartition(b"/")[2]
        return self._begins is None or (at.isdigit() and int(at) < self._begins)

    async def _note_witnesses(self) -> None:
        """Which blocks the outputs name that come next: they tell a block that was changed from its neighbours."""
        near = range(self._chain.height + 1, self._chain.height + 3)
        for stream, comparison in self._topics.values():
            if not comparison.has_waiting and (batch := await stream.next()) is not None:
                comparison.feed(batch)
            for record in comparison.waiting:
                if (named := named_by(record)) is not None and named[0] in near:
                    self._chain.witness.setdefault(*named)

    # ------------------------------------------------------------ blocks

    async def _step(self, followed: Followed) -> None:
        (block, offset, height, changed), outputs, _ = followed
        if block is not None:
            self._count(block)
            if height == 0:
                self._partitioner = partitioner_named(block.header.fold)
                self._begins = block.header.sources[0].first if block.header.sources else None
        if block is not None and outputs is not None:
            self._report.folded += 1
            if outputs:
                self._report.timeline.add("outputs", block.header.time, len(outputs))
                self._count_verdicts(outputs)
                await self._compare(outputs, followed.linked, block.header)
        self._hold_checkpoints(height, None if changed else block)
        self._tell(offset)

    def _count(self, block: Block) -> None:
        report, header, inputs = self._report, block.header, self._checks.rules.inputs
        report.blocks += 1
        report.inputs += inputs
        report.first_time = report.first_time or header.time
        report.last_time = header.time
        for seen, name in ((report.folds, header.fold), (report.policies, header.policy)):
            if name not in seen[-1:] and len(seen) < 100:
                seen.append(name)
        for source in header.sources:
            if (id := self._checks.rules.adopted.get(source.topic)) is not None:
                adopted = AdoptedTopic(
                    topic=source.topic, was=source.id, id=id, unread=source.next, height=header.height, time=header.time
                )
                report.adopted.append(adopted)
        report.timeline.add("blocks", header.time)
        report.timeline.add("inputs", header.time, inputs)

    def _count_verdicts(self, outputs: list[Output]) -> None:
        """Counts the statuses of decisions, by the header of ours that names them."""
        counts = self._report.verdicts
        for kind, count in count_headers(outputs, "ce_type").items():
            if status := _decided(kind):
                counts[status] = counts.get(status, 0) + count

    def _tell(self, offset: int) -> None:
        outputs = sum(comparison.counts.equal for _, comparison in self._topics.values())
        end, report = self._cut.ends[self._group.ledger][self._lane], self._report
        self._callback(AuditProgress(self._lane, offset, end, report.inputs, outputs, monotonic(), report.fold))

    async def _compare(self, outputs: list[Output], linked: Linked, header: Header) -> None:
        newer = linked.offset >= self._cut.settled[self._group.ledger][self._lane]
        for topic, some in by_topic(outputs).items():
            if topic in SPREAD:
                await self._compare_spread(topic, outputs, linked, header, newer)
            if topic not in self._topics:
                continue  # exports of earlier packages do not have all of them
            stream, comparison = self._topics[topic]
            at = await _pass_equal(stream, comparison, some)
            if at < len(some):
                places = [place for place, output in enumerate(outputs) if output.topic == topic]
                about = (header.time, newer, self._checks.policy)
                kept = [Expected(Output(*outputs[place]), linked.height, place, *about) for place in places[at:]]
                comparison.expect(kept)  # made anew: what is kept for long holds nobody else's bytes
                await _satisfy(stream, comparison)

    async def _compare_spread(
        self, topic: str, outputs: list[Output], linked: Linked, header: Header, newer: bool
    ) -> None:
        """Compares the outputs on a topic, each in the partition of its own key.

        Bound observations of earlier versions of the fold have no mark: the outputs root alone covers them.
        """
        streams = self._spread[topic]
        if not streams:
            return  # exports of earlier packages have none
        about = (header.time, newer, self._checks.policy)
        expected: dict[int, list[Expected]] = {}
        for place, output in enumerate(outputs):
            if output.topic == topic and output.key is not None and (topic == CITATIONS or mark_of(output) is not None):
                partition = self._partition_of(output.key)
                expected.setdefault(partition, []).append(Expected(Output(*output), linked.height, place, *about))
        for partition, some in expected.items():
            stream, comparison = streams[partition]
            comparison.expect(some)
            await _satisfy(stream, comparison)

    def _hold_checkpoints(self, height: int, block: Block | None) -> None:
        """Holds the tree of the blocks so far against the checkpoints that name one of its size.

        `block` is the last of them, at `height`; None where it is not the one that was written.
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

    async def _finish(self, last: Followed | None) -> None:
        findings, report, checks = self.findings, self._report, self._checks
        whole = checks.folding
        if self._ledger.illegible is not None and findings.broken is None:
            # Outputs of the blocks that nobody can read are there, and no block gives them: that follows.
            self._ledger.illegible.height = self._chain.height + 1
            findings.broken = self._ledger.illegible
        spread = [(topic, one) for topic, streams in self._spread.items() for one in streams.values()]
        found = [*self._topics.items(), *spread]
        for topic, (stream, comparison) in found:
            while (whole or comparison.is_missing_some) and (batch := await stream.next()) is not None:
                comparison.feed(batch)
                comparison.settle(judged=whole)
            comparison.close(judged=whole)
            if topic not in LATER or comparison.counts != Counts():
                report.topics[topic] = added(report.topics.get(topic), comparison.counts)
        if last is not None and whole and checks.fold is not None:
            report.counters = dict(checks.fold.counters(last.state))
        report.chain = self._chain.height + 1
        report.claims, report.unverified_claims = checks.ownership.found, checks.ownership.unverified
        report.checkpoints, report.covered = self._claims.count, self._claims.newest
        report.unverified = sum(count for count, _ in self._claims.signers.values())
        report.passed_over = dict(self._claims.passed_over)
        report.retentions = dict(self._claims.retentions)
        for claim in self._claims.own.values():
            report.timeline.add("checkpoints", claim.time)
        report.divergences = list(findings.found)


@cache  # topics times statuses
def _decided(kind: bytes) -> str:
    """The status that a record's `ce_type` names; empty where the record is no decision."""
    _, topic, status = kind.decode().split(".")
    return status if topic in ("admitted", "inadmissible") else ""


async def _pass_equal(stream: _Stream, comparison: Comparison, some: list[Output]) -> int:
    """Passes over outputs that stand where they should; how many those are. Nearly always all of them."""
    at = 0
    while at < len(some):
        found = comparison.pass_equal(some, at)
        at += found
        if comparison.has_waiting or comparison.ended:
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
