"""What an audit found: of each lane, of all lanes with the two verdicts, and the report as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import msgspec

from ...codecs.errors import cut, printable
from ...codecs.times import format_duration, format_time
from ..engine.stored_topics import RecordedRetention
from .divergences import INCOMPLETE, MEANING, Divergence, Kind
from .ownership import LISTED, Ownership, listed

STRETCHES: Final = 200
SHORTEST: Final = 1000
"""No stretch is shorter than a second (ms)."""
Row = Literal["blocks", "inputs", "outputs", "checkpoints"]
ROWS: Final[Sequence[Row]] = ("blocks", "inputs", "outputs", "checkpoints")


class ActivityCounts(msgspec.Struct):
    """Counts by stretches of `width` ms from `start` (Unix ms, a multiple of `width`), a list for each row."""

    start: int = 0
    width: int = SHORTEST
    counts: dict[Row, list[int]] = msgspec.field(default_factory=lambda: {row: [] for row in ROWS})

    @property
    def stretches(self) -> int:
        """How many there are."""
        return max(map(len, self.counts.values()))

    def add(self, row: Row, time: int, count: int = 1) -> None:
        """Counts something at a time (Unix ms); times before the first one count with it."""
        if not self.stretches:
            self.start = time - time % self.width
        while (time - self.start) // self.width >= STRETCHES:
            self._coarsen()
        place, counts = max(0, (time - self.start) // self.width), self.counts[row]
        if place >= len(counts):
            counts.extend([0] * (place + 1 - len(counts)))
        counts[place] += count

    def _coarsen(self) -> None:
        """Makes the stretches twice as long."""
        odd = (self.start // self.width) % 2  # the first one is the second half of a longer
        self.width *= 2
        self.start -= self.start % self.width
        for row, counts in self.counts.items():
            padded = [0] * odd + counts
            padded += [0] * (len(padded) % 2)
            self.counts[row] = [padded[place] + padded[place + 1] for place in range(0, len(padded), 2)]


class Counts(msgspec.Struct):
    """What was found of a topic in one lane.

    Attributes:
        compacted, expired: absent in order.
        unrecorded: of the expired, the ones for whose time no checkpoint records how long their topic keeps records.
    """

    expected: int = 0  # outputs of the blocks that were folded
    equal: int = 0  # of these, the ones that stand there, byte for byte
    compacted: int = 0
    expired: int = 0
    unrecorded: int = 0
    newer: int = 0  # absent because they came after what was read
    foreign: int = 0  # records of lanes of other folds, or from before the ledger began
    unjudged: int = 0  # records behind what was folded or asked for


def added(before: Counts | None, counts: Counts) -> Counts:
    """The counts of two partitions of one topic together."""
    if before is None:
        return counts
    return Counts(*(getattr(before, name) + getattr(counts, name) for name in Counts.__struct_fields__))


class Span(NamedTuple):
    """The block times that are asked about, Unix ms, both included."""

    since: int = 0
    until: int = 1 << 62


class AuditProgress(NamedTuple):
    """How far a lane's audit is: the ledger's offset, and what was read up to there. `end` is the ledger's.

    `at` is `time.monotonic()` when it was so: the machine's, so it is that of all processes of an audit. `fold` names
    the group of the lane.
    """

    lane: int
    offset: int
    end: int
    inputs: int
    outputs: int
    at: float
    fold: str = "adjudicate"


class AdoptedTopic(msgspec.Struct, kw_only=True):
    """That a lane went on with an input that was deleted and made again (docs/howto/recover.md).

    Attributes:
        height, time: of the block that took the adoption in; time in Unix ms.
        was, id: the ids of the topic that was read before, and of the one that is read from the next block on.
    """

    height: int
    time: int
    topic: str  # by its logical name
    was: str
    id: str
    unread: int  # the offset from which on nobody read the old topic


class LaneReport(msgspec.Struct, kw_only=True):
    """What an audit found of one lane.

    Attributes:
        blocks, inputs: what stands in it.
        first_time, last_time: of the blocks, Unix ms.
        folds, policies: every version and policy hash that headers name, in the order of their coming.
        passed_over: how many other records stand among them, and in the place of none; by what they are.
        covered: of the newest of the lane's checkpoints, blocks and time; None where there is none.
        verdicts: of the blocks that were folded, how many records on `admitted` and `inadmissible` say which status.
        retentions: by output topic, what checkpoints record of its `retention.ms`, each change.
    """

    lane: int
    chain: int = 0  # how long the chain is, the blocks that are missing or illegible included
    blocks: int = 0
    inputs: int = 0
    folded: int = 0  # of these blocks, the ones that were folded again
    first_time: int = 0
    last_time: int = 0
    folds: list[str] = []
    policies: list[str] = []
    topics: dict[str, Counts] = {}  # what was found of each output topic
    checkpoints: int = 0  # how many there are
    unverified: int = 0  # of these, the ones that are signed by none of the keys that were named
    passed_over: dict[str, int] = {}
    held: int = 0  # how many of the trees that checkpoints name were compared with the ledger
    covered: tuple[int, int] | None = None
    counters: dict[str, int] = {}  # the fates of the inputs, where all were folded
    verdicts: dict[str, int] = {}
    fold: str = "adjudicate"  # the group of the lane
    claims: list[Ownership] = []  # who took the lane over when, in the order of the ledger
    unverified_claims: int = 0  # of these, the ones that are signed by none of the keys that were named
    adopted: list[AdoptedTopic] = []  # the inputs that were made anew, in the order of the ledger
    retentions: dict[str, list[RecordedRetention]] = {}
    timeline: ActivityCounts = msgspec.field(default_factory=ActivityCounts)
    divergences: list[Divergence] = []


Completeness = Literal["shown", "not-shown", "broken"]


class AuditVerdict(msgspec.Struct, kw_only=True):
    """The two verdicts."""

    integrity: Literal["holds", "broken"]  # whether what is there holds
    completeness: Completeness  # whether nothing is missing
    shown_until: str | None  # the block time up to which completeness is shown, in every lane that has any block
    why: str  # a sentence on completeness


class Report(msgspec.Struct, kw_only=True):
    """One audit.

    Attributes:
        keys: the verifiers whose signatures were believed, and which of them were revoked when; none: no signature was
            checked.
        since, until: the block times that were asked about, as given.
        bind, frame: those that bind sightings, and that frame attestations.
        seconds: how long it took.
        start_seconds: of these, until the first ledger began to be read: clients, the cut, processes.
    """

    v: int = 1
    where: str  # the broker or the export
    app_id: str
    ledger: str
    at: str  # when it was made
    keys: list[str]
    since: str | None
    until: str | None
    verdict: AuditVerdict
    lanes: list[LaneReport]  # those that adjudicate
    divergences: list[Divergence]
    revoked: list[str] = []  # keys of all parties that the policy which was named lists as revoked
    bind: list[LaneReport] = []
    frame: list[LaneReport] = []
    of_lanes: int = 0  # how many lanes of each there are, audited or not
    seconds: float = 0.0
    start_seconds: float = 0.0

    @property
    def all_lanes(self) -> Sequence[LaneReport]:
        """The lanes of all groups; of those that bind and frame only the ones of which anything is there."""
        others = [lane for lane in (*self.bind, *self.frame) if lane.chain or lane.checkpoints or lane.divergences]
        return [*self.lanes, *others]

    @property
    def holds(self) -> bool:
        """Whether nothing diverges."""
        return not self.divergences


_ORDER: Mapping[Kind, int] = {kind: place for place, kind in enumerate(MEANING)}


def in_order(divergences: Sequence[Divergence]) -> list[Divergence]:
    """Root causes first, then what may follow upon them: by kind's own weight, lane, height."""

    def weight(one: Divergence) -> tuple[int, int, int]:
        return _ORDER[one.kind], one.lane, one.height

    return sorted(divergences, key=weight)


def judge(lanes: Sequence[LaneReport], divergences: Sequence[Divergence], keys: Sequence[str]) -> AuditVerdict:
    """Returns the two verdicts on these lanes: integrity and completeness (docs/audit.md).

    `divergences` are all that were found, in the `lanes` and outside them; without `keys`, whose signatures were
    believed, completeness is not shown.
    """
    integrity = "broken" if _breaks_integrity(lanes, divergences) else "holds"
    missing = list(_missing(divergences))
    unread = [one.place for one in divergences if one.kind == "unreadable"]
    unverified = [one for one in lanes if one.unverified]
    of_blocks = [one for one in lanes if one.blocks]
    uncovered = [lane_name(one) for one in of_blocks if one.covered is None]
    if missing:
        kinds = ", ".join(dict.fromkeys(missing))
        gone = "is there no more, or cannot be read" if unread else "is there no more"
        completeness, until, why = "broken", None, f"something that was there {gone}: {kinds}"
    elif unread:
        completeness, until, why = "not-shown", None, f"{cut(', '.join(dict.fromkeys(unread)))} cannot be read"
    elif not keys:
        completeness, until = "not-shown", None
        why = "no key was given, so no signature was checked; name the checkpoints' keys with --key"
    elif unverified:
        completeness, until = "not-shown", None
        some = ", ".join(f"{one.unverified:,} of {one.checkpoints:,} in lane {lane_name(one)}" for one in unverified)
        why = f"checkpoints are signed by none of the keys that were named: {some}"
    elif uncovered or not of_blocks:
        completeness, until = "not-shown", None
        why = f"no checkpoint covers lane {', '.join(uncovered)}" if uncovered else "there is no block at all"
    else:
        completeness = "shown"
        until = format_time(min(one.covered[1] for one in of_blocks if one.covered is not None))
        why = f"by signed checkpoints the end is shown up to {until}; of what came later nothing is known"
    return AuditVerdict(integrity=integrity, completeness=completeness, shown_until=until, why=why)


def _missing(divergences: Sequence[Divergence]) -> Iterator[Kind]:
    """The kinds by which something is gone, or cannot be read although others name it."""
    for one in divergences:
        gone = one.kind in INCOMPLETE or one.kind in ("missing-block", "missing-output", "deleted-early")
        if gone or (one.kind == "unreadable" and INCOMPLETE & one.follows.keys()):
            yield one.kind


def _breaks_integrity(lanes: Sequence[LaneReport], divergences: Sequence[Divergence]) -> bool:
    """Whether what is there does not hold. That a signer's key was not named says nothing against what he signed."""
    for kind, unverified in (
        ("checkpoint-signature", sum(one.unverified for one in lanes)),
        ("claim-signature", sum(one.unverified_claims for one in lanes)),
    ):
        if sum(one.count for one in divergences if one.kind == kind) > unverified:
            return True
    aside = INCOMPLETE - {"checkpoint-chain"} | {"checkpoint-signature", "claim-signature"}
    return any(one.kind not in aside for one in divergences)


def counted(lane: LaneReport, name: str) -> int:
    """A count of a lane, over its output topics."""
    return sum(getattr(counts, name) for counts in lane.topics.values())


def lane_name(lane: LaneReport) -> str:
    """A lane's number, and before it the name of its group where that does not adjudicate."""
    return str(lane.lane) if lane.fold == "adjudicate" else f"{lane.fold} {lane.lane}"


def owners(report: Report) -> Iterator[str]:
    """Who took each lane over when, a line for each claim."""
    for lane in report.all_lanes:
        if len(lane.claims) > LISTED:
            yield f"lane {lane_name(lane)} was claimed {len(lane.claims):,} times; the last {LISTED} are told"
        for at, app_id, worker, generation, package, blocks, signed_by in listed(lane.claims):
            by, of = f", signed by {signed_by}" if signed_by else "", f" of {app_id}" if app_id else ""
            yield printable(
                f"lane {lane_name(lane)} was claimed at {at} by {worker}{of} (generation {generation}, "
                f"package {package}): blocks {blocks}{by}"
            )


def _remade(report: Report) -> Iterator[str]:
    """Which inputs were deleted and made again, a line for each lane that went on with the new one."""
    for lane in report.all_lanes:
        for one in lane.adopted:
            yield printable(
                f"lane {lane_name(lane)} went on with another topic {one.topic} behind block {one.height}: "
                f"{one.id} instead of {one.was}, which nobody read from offset {one.unread} on"
            )


def _lowered(report: Report) -> Iterator[str]:
    """Which output topics keep records for a shorter time than before, a line for each checkpoint that records it."""
    for lane in report.all_lanes:
        for topic, changes in lane.retentions.items():
            for before, after in pairwise(changes):
                if after.longest < before.longest:
                    was = "for ever" if before.kept < 0 else f"for {format_duration(before.kept)}"
                    yield printable(
                        f"lane {lane_name(lane)}: the checkpoint of {format_time(after.time)} records that {topic} "
                        f"keeps records for {format_duration(after.kept)}, {was} before"
                    )


COLUMNS = ("lane", "blocks", "inputs", "outputs", "equal", "compacted", "expired", "checkpoints", "covered")


def row(lane: LaneReport) -> list[str]:
    """A lane's line in the report's table."""
    size = 0 if lane.covered is None else lane.covered[0]
    covered = f"{size:,} of {lane.chain:,} blocks" if size <= lane.chain else f"{size:,} blocks; {lane.chain:,} there"
    covered = covered if size else ""
    numbers = (
        lane.blocks,
        lane.inputs,
        *(counted(lane, name) for name in ("expected", "equal", "compacted", "expired")),
        lane.checkpoints,
    )
    return [lane_name(lane), *(f"{number:,}" for number in numbers), covered]


def notes(report: Report) -> Iterator[str]:
    """What else there is to say, a sentence each."""
    yield from _remade(report)
    if len(report.lanes) < report.of_lanes:
        some = ", ".join(str(lane.lane) for lane in report.lanes)
        yield f"of {report.of_lanes} lanes only these were audited: {some}"
    if report.since or report.until:
        yield (
            f"only divergences in blocks from {report.since or 'the beginning'} to "
            f"{report.until or 'the end'} are told; the chain and the checkpoints were checked as a whole"
        )
    for name, text in (
        ("compacted", "outputs were taken by compaction, and a later record of their key stands"),
        ("expired", "outputs were taken by retention"),
        ("newer", "outputs of the last blocks came after their topic was read"),
        ("foreign", "records are of lanes that have another ledger, or came before the ledger began"),
        ("unjudged", "records stand behind the last block that was folded, and were not judged"),
    ):
        if count := sum(counted(lane, name) for lane in report.all_lanes):
            covered = "; the ledger's outputs roots still cover them" if name in ("compacted", "expired") else ""
            yield f"{count:,} {text}{covered}"
    if count := sum(counted(lane, "unrecorded") for lane in report.all_lanes):
        yield (
            f"of those that retention took {count:,} are from a time for which no checkpoint records how long their "
            "topic keeps records: that they were old enough is not shown"
        )
    yield from _lowered(report)
    if count := sum(lane.counters.get("quarantined", 0) for lane in report.all_lanes):
        yield f"{count:,} offsets of inputs are of batches that could not be read; dead letters name each batch"
    if count := sum(lane.counters.get("refused-policies", 0) for lane in report.lanes):
        times = "1 time" if count == 1 else f"{count:,} times"
        yield f"{times} a lane refused a policy that none of the keys in force had signed, or that was older than it"
    for one in report.revoked:
        yield f"what a revoked key signed before may not be its owner's word: {printable(one)}"
    for lane in report.all_lanes:
        for what, count in lane.passed_over.items():
            records = "1 record" if count == 1 else f"{count:,} records"
            yield f"lane {lane_name(lane)}: {records} among its checkpoints passed over: {printable(what)}"
    if not report.keys and any(lane.checkpoints for lane in report.all_lanes):
        yield "no key was given: the checkpoints' signatures were not checked"


def lines(report: Report) -> Iterator[str]:
    """The report as plain text, line by line."""
    verdict = report.verdict
    yield f"audit of {report.where}, {report.ledger}, at {report.at}"
    yield f"integrity: {verdict.integrity}"
    yield f"completeness: {verdict.completeness}: {verdict.why}"
    for lane in report.all_lanes:
        counts = zip(COLUMNS[1:], row(lane)[1:], strict=True)
        counted = ", ".join(f"{name} {value}" for name, value in counts if value not in ("", "0"))
        yield f"lane {lane_name(lane)}: {counted or 'nothing is there'}"
    yield from owners(report)
    yield from notes(report)
    if report.divergences:
        count = sum(one.count for one in report.divergences)
        yield "1 divergence:" if count == 1 else f"{count:,} divergences:"
    for one in report.divergences:
        yield printable(describe(one))


def describe(one: Divergence) -> str:
    """A divergence in one line."""
    where = "" if one.lane < 0 else f" lane {one.lane}" if one.fold == "adjudicate" else f" lane {one.fold} {one.lane}"
    where += "" if one.height < 0 else f", block {one.height}"
    where += f" ({one.place})" if one.place else ""
    text = f"{one.kind}:{where}: {one.sentence}"
    if one.expected:
        text += f" (expected {one.expected}" + (f", got {one.got})" if one.got else ")")
    if one.count > 1 and not one.sentence.startswith(f"{one.count:,} "):
        text += f"; {one.count:,} in all"
    if one.follows:
        followed = ", ".join(f"{count:,} {kind}" for kind, count in one.follows.items())
        text += f"; follows from it: {followed}"
    return text.replace("\n", " ")
