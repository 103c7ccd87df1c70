"""The checkpoints of all lanes: whether they are signed, follow upon one another, and name what is there.

What checkpoints say of the ledgers is gathered here as `CheckpointClaims`, lane by lane. The module `lane` compares it
with the blocks when it reads them.

Anybody who can write to the topic can add a record that does not count: it is no checkpoint of a known key, or repeats
a checkpoint. The next checkpoint that counts shows what such a record is:

- It names the last checkpoint that counted as the one before it: the record was only put in between. The audit counts
  and reports the record, and passes over it.
- It does not: the record stands in the place of a checkpoint that is gone, and the audit reports a divergence.

Behind the last checkpoint that counts, no later checkpoint can tell the two cases apart. There the audit reports a
divergence for each record that could stand in the place of the newest checkpoint, until the next checkpoint comes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import NamedTuple

import msgspec

from ...codecs.errors import DoesNotHoldError, cut
from ...codecs.notes import NO_CHECKPOINT, Checkpoint, Note, parse_checkpoint, parse_note
from ...codecs.times import format_time
from ..engine.export_files import Cut, Stored
from ..engine.interfaces import Logs
from ..engine.stored_topics import RecordedRetention, log_name_of
from ..engine.trust import TrustedKey, demand_counting
from .chain_check import CheckpointedSize
from .divergences import MOST, Divergence, Findings, Kind
from .lane_groups import ADJUDICATE, Group

TOGETHER = 8
"""For how many lanes the first checkpoints are fetched ahead, while those of another lane are read."""


class CheckpointClaims(msgspec.Struct):
    """What checkpoints say of one lane.

    Attributes:
        unverified: by size, the roots in the lane's own checkpoints that are signed by none of the keys.
        signers: of those, how many there are and where the first stands, by who signed them.
        passed_over: how many records are no checkpoints that count, and stand in the place of none; by what they are.
        retentions: by output topic, each change of its retention that the lane's own checkpoints record.
    """

    own: dict[int, CheckpointedSize] = {}  # by size, the lane's own checkpoints
    named: dict[int, CheckpointedSize] = {}  # by size, what other lanes' checkpoints name as this one's tip
    unverified: dict[int, bytes] = {}
    signers: dict[str, tuple[int, str]] = {}
    passed_over: dict[str, int] = {}
    count: int = 0  # how many records the lane's checkpoints are
    retentions: dict[str, list[RecordedRetention]] = {}

    @property
    def newest(self) -> tuple[int, int] | None:
        """Size and time of the lane's newest own checkpoint."""
        if not self.own:
            return None
        size = max(self.own)
        return size, self.own[size].time

    @property
    def largest(self) -> int:
        """The greatest size that anybody names."""
        return max((*self.own, *self.named), default=0)

    def at(self, size: int) -> Sequence[CheckpointedSize]:
        """What is said of so many blocks."""
        return [claims[size] for claims in (self.own, self.named) if size in claims]


class _Aside(NamedTuple):
    """A record that is no checkpoint that counts.

    Attributes:
        kind, sentence, expected, got: of the divergence that it is, if it stands in the place of a checkpoint.
    """

    place: str  # where it stands
    kind: Kind
    sentence: str
    expected: object = ""
    got: object = ""
    checkpoint: Checkpoint | None = None  # what it says, where it can be read
    stranger: str = ""  # who signed it, where none of the keys did and the rest is in order; else empty


def expect_checkpoints(logs: Logs, first: int = 0, group: Group = ADJUDICATE) -> None:
    """Says that checkpoints will be read: those of some lanes from this one on."""
    for lane in range(first, min(first + TOGETHER, logs.lanes)):
        logs.expect(group.checkpoints, lane)


class Signed:
    """Reads the checkpoints of a group's lanes. `known`: whose signatures are believed; empty: none is checked."""

    def __init__(self, logs: Logs, cut: Cut, known: Sequence[TrustedKey], group: Group = ADJUDICATE) -> None:
        self._logs, self._cut, self._known = logs, cut, known
        self._group, self._topic, self._log_name = group, group.checkpoints, ""
        self.claims = [CheckpointClaims() for _ in range(logs.lanes)]
        self.findings = [Findings(lane, fold=group.name) for lane in range(logs.lanes)]

    async def read(self) -> None:
        """Reads all of them."""
        for lane in range(self._logs.lanes):
            expect_checkpoints(self._logs, lane, self._group)
            first = (await self._logs.range(self._topic, lane)).first
            name = self._group.log_name(self._logs.ledger)
            self._log_name = await log_name_of(self._logs, self._group.ledger, name, lane)
            async with aclosing(self._logs.batches(self._topic, lane, end=self._end(lane))) as batches:
                try:
                    await self._read_lane(lane, batches, first)
                except DoesNotHoldError as error:
                    self.findings[lane].add("unreadable", str(error), place=f"{self._topic}/{lane}")
            self._tell_unverified(lane)

    def _end(self, lane: int) -> int:
        return self._cut.ends.get(self._topic, [0] * self._logs.lanes)[lane]

    async def _read_lane(self, lane: int, batches: AsyncIterator[list[Stored]], first: int) -> None:
        settled = self._cut.settled.get(self._topic, [self._end(lane)] * self._logs.lanes)[lane]
        before: str | None = NO_CHECKPOINT if first == 0 else None
        claims, findings = self.claims[lane], self.findings[lane]
        asides: list[_Aside] = []  # behind the newest one that counts
        seen: set[str] = set()
        size, at, told = 0, -1, 0
        async for batch in batches:
            for record in batch:
                claims.count += 1
                place = f"{self._topic}/{lane}/{record.offset}"
                if record.offset <= at:
                    findings.add("unreadable", "the offsets of the checkpoints do not increase", place=place)
                at = record.offset
                read = self._checkpoint(lane, record, place)
                if isinstance(read, Checkpoint) and read.digest in seen:
                    read = _Aside(place, "checkpoint-chain", "the checkpoint stands there again", checkpoint=read)
                if isinstance(read, _Aside):
                    asides.append(read)
                    continue
                follows = before is None or read.previous == before
                if follows and not (before is None and read.previous in _digests(asides)):
                    self._pass_over(lane, asides)
                    bad = None
                else:
                    bad = self._diverge(lane, asides)
                    follows = follows or read.previous in _digests(asides)
                if not follows and bad is not None:
                    bad.follows["checkpoint-chain"] = bad.follows.get("checkpoint-chain", 0) + 1
                elif not follows or read.head.size < size:
                    findings.add(
                        "checkpoint-chain",
                        "the checkpoint does not follow upon the one before it",
                        height=read.head.size - 1,
                        place=place,
                        expected=f"previous {before}, {size} blocks or more",
                        got=f"previous {read.previous}, {read.head.size} blocks",
                        time=read.time,
                    )
                    if read.head.size < size:
                        continue
                before = read.digest
                seen.add(before)
                size, asides = read.head.size, []
                for topic, kept in read.retentions:
                    changes = claims.retentions.setdefault(topic, [])
                    if not changes or changes[-1].kept != kept:
                        changes.append(RecordedRetention(told, read.time, kept))
                told = read.time
                claims.own.setdefault(size, CheckpointedSize(read.head.root, place, read.block, read.time))
                if record.offset < settled:
                    self._apply(lane, read, place)
        tail = _could_be_newest(asides, before, size)
        self._diverge(lane, tail)
        self._pass_over(lane, [one for one in asides if one not in tail])

    def _checkpoint(self, lane: int, record: Stored, place: str) -> Checkpoint | _Aside:
        log_name, checkpoint = self._log_name, None
        try:
            note = parse_note(record.value or b"")
            checkpoint = parse_checkpoint(note.text)
            stranger = self._stranger(note)
            if self._known and not stranger:
                demand_counting(checkpoint, note, self._known)
        except DoesNotHoldError as error:
            return _Aside(place, "checkpoint-signature", error.what, error.expected, error.got, checkpoint)
        key = (record.key or b"").decode("utf-8", "backslashreplace")
        if checkpoint.origin != log_name or key != log_name or record.headers:
            return _Aside(
                place,
                "checkpoint-chain",
                "the checkpoint is of another log, or its record has another key, or headers",
                log_name,
                f"{checkpoint.origin}, key {key}",
                checkpoint,
            )
        if stranger:
            return _Aside(place, "checkpoint-signature", "", checkpoint=checkpoint, stranger=stranger)
        return checkpoint

    def _pass_over(self, lane: int, asides: Sequence[_Aside]) -> None:
        passed_over = self.claims[lane].passed_over
        for one in asides:
            what = f"signed by {one.stranger}" if one.stranger else one.sentence
            what = what if what in passed_over or len(passed_over) < MOST else "others"
            passed_over[what] = passed_over.get(what, 0) + 1

    def _diverge(self, lane: int, asides: Sequence[_Aside]) -> Divergence | None:
        """Tells of records that stand in the place of a checkpoint; the last one that is no stranger's."""
        bad: Divergence | None = None
        claims = self.claims[lane]
        for one in asides:
            if one.stranger:
                assert one.checkpoint is not None, "a stranger's can be read"
                claims.unverified.setdefault(one.checkpoint.head.size, one.checkpoint.head.root)
                count, at = claims.signers.get(one.stranger, (0, one.place))
                claims.signers[one.stranger] = (count + 1, at)
                continue
            bad = self.findings[lane].add(
                one.kind,
                one.sentence,
                height=-1 if one.checkpoint is None or one.kind != "checkpoint-chain" else one.checkpoint.head.size - 1,
                place=one.place,
                expected=one.expected,
                got=one.got,
                time=0 if one.checkpoint is None or one.kind != "checkpoint-chain" else one.checkpoint.time,
            )
        return bad

    def _stranger(self, note: Note) -> str:
        """Who signed a note, where keys were named and it is none of them; else empty."""
        known = {(one.verifier.name, one.verifier.id) for one in self._known}
        if not known or any((name, key_id) in known for name, key_id, _ in note.signatures):
            return ""
        return cut(" and ".join(f"{name}+{key_id.hex()}" for name, key_id, _ in note.signatures))

    def _tell_unverified(self, lane: int) -> None:
        for signer, (count, place) in self.claims[lane].signers.items():
            of_lane = f"checkpoint of lane {lane} is" if count == 1 else f"checkpoints of lane {lane} are"
            found = self.findings[lane].add(
                "checkpoint-signature",
                f"{count:,} {of_lane} signed by {signer}, which was not named; name it with --key if you trust it",
                place=place,
            )
            found.count += count - 1

    def _apply(self, lane: int, checkpoint: Checkpoint, place: str) -> None:
        for other, tip in enumerate(checkpoint.tips[: self._logs.lanes]):
            if other != lane and tip.size:
                known = self.claims[other].named.setdefault(tip.size, CheckpointedSize(tip.root, place))
                if known.root != tip.root:
                    self.findings[other].add(
                        "checkpoint-root",
                        "two checkpoints name different trees of one size as this lane's",
                        height=tip.size - 1,
                        place=place,
                        expected=known.root.hex(),
                        got=tip.root.hex(),
                        time=checkpoint.time,
                    )
        if len(checkpoint.tips) != self._logs.lanes:
            self.findings[lane].add(
                "checkpoint-chain",
                "the checkpoint names another number of lanes than the ledger has",
                place=place,
                expected=self._logs.lanes,
                got=len(checkpoint.tips),
                time=checkpoint.time,
            )


def _digests(asides: Sequence[_Aside]) -> set[str]:
    return {one.checkpoint.digest for one in asides if one.checkpoint is not None}


def _could_be_newest(asides: Sequence[_Aside], before: str | None, size: int) -> list[_Aside]:
    """Of what stands behind the last checkpoint that counts, what could stand in the place of the next one: what cannot
    be read, what a known key is said to have signed, and a stranger's that follows as it ought to."""
    found: list[_Aside] = []
    for one in asides:
        if one.stranger and one.checkpoint is not None:
            if before not in (None, one.checkpoint.previous) or one.checkpoint.head.size < size:
                continue
            before, size = one.checkpoint.digest, one.checkpoint.head.size
        found.append(one)
    return found


def demand_all(
    claims: CheckpointClaims,  # what is said of the lane
    findings: Findings,  # told what is missing
    blocks: int,  # how many the ledger has, by its chain
    illegible: Divergence | None = None,
    group: Group = ADJUDICATE,  # whose ledger it is
) -> None:
    """Demands that the ledger and the lane's checkpoints reach as far as anybody says.

    Args:
        illegible: the divergence that the ledger could not be read to its end; that it ends early follows from it.
    """
    beyond = {size: claim for size, claim in {**claims.named, **claims.own}.items() if size > blocks}
    if beyond and illegible is not None:
        illegible.follows["cut-tail"] = len(beyond)
    elif beyond:
        size = max(beyond)
        claim = beyond[size]
        sentence = (
            "the ledger is empty, and a checkpoint names its blocks"
            if not blocks
            else "the ledger ends before what a checkpoint says"
        )
        found = findings.add(
            "cut-tail" if blocks else "lane-gone",
            sentence,
            height=blocks,
            place=claim.place,
            expected=f"{size} blocks" + (f" at {format_time(claim.time)}" if claim.time else ""),
            got=f"{blocks} blocks",
            time=claim.time,
        )
        found.count = len(beyond)
    gone = sorted(
        size
        for size, claim in claims.named.items()
        if size <= blocks and size not in claims.own and claims.unverified.get(size) != claim.root
    )
    place = f"{group.checkpoints}/{findings.lane}"
    unread = next((one for one in findings.found if one.kind == "unreadable" and one.place == place), None)
    if gone and unread is not None:
        unread.follows["checkpoint-missing"] = len(gone)
        return
    for size in gone:
        chained = [one for one in findings.found if one.kind == "checkpoint-chain"]
        entry = findings.add(
            "checkpoint-missing",
            "another lane's checkpoint names this one, and it is not there",
            height=size - 1,
            place=claims.named[size].place,
            expected=f"a checkpoint of {size} blocks",
            got="none",
        )
        follows = next((one for one in chained if one.height >= size), None)
        if follows is not None:  # the next checkpoint names the one that is gone as the one before it
            findings.found.remove(follows)
            entry.follows["checkpoint-chain"] = follows.count
