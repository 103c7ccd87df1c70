"""What an audit was asked, how far it is, and what it found of a lane."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from ..ledger.retention import RecordedRetention
from .activity import ActivityCounts
from .divergences import Divergence
from .ownership import Ownership


class Counts(msgspec.Struct):
    """What was found of a topic in one lane.

    Attributes:
        expected: outputs of the blocks that were folded.
        equal: of these, the ones that stand there, byte for byte.
        compacted, expired: absent in order.
        unrecorded: of the expired, the ones for whose time no checkpoint records how long their topic keeps records.
        newer: absent because they came after what was read.
        foreign: records of lanes of other folds, or from before the ledger began.
        unjudged: records behind what was folded or asked for.
    """

    expected: int = 0
    equal: int = 0
    compacted: int = 0
    expired: int = 0
    unrecorded: int = 0
    newer: int = 0
    foreign: int = 0
    unjudged: int = 0


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
        topic: by its logical name.
        was, id: the ids of the topic that was read before, and of the one that is read from the next block on.
        unread: the offset from which on nobody read the old topic.
    """

    height: int
    time: int
    topic: str
    was: str
    id: str
    unread: int


class LaneReport(msgspec.Struct, kw_only=True):
    """What an audit found of one lane.

    Attributes:
        chain: how long the chain is, the blocks that are missing or illegible included.
        blocks, inputs: what stands in it.
        folded: of these blocks, the ones that were folded again.
        first_time, last_time: of the blocks, Unix ms.
        folds, policies: every version and policy hash that headers name, in the order of their coming.
        topics: what was found of each output topic.
        checkpoints: how many there are.
        unverified: of these, the ones that are signed by none of the keys that were named.
        passed_over: how many other records stand among them, and in the place of none; by what they are.
        held: how many of the trees that checkpoints name were compared with the ledger.
        covered: of the newest of the lane's checkpoints, blocks and time; None where there is none.
        counters: the fates of the inputs, where all were folded.
        verdicts: of the blocks that were folded, how many records on `admitted` and `inadmissible` say which status.
        fold: the group of the lane.
        claims: who took the lane over when, in the order of the ledger.
        unverified_claims: of these, the ones that are signed by none of the keys that were named.
        adopted: the inputs that were made anew, in the order of the ledger.
        retentions: by output topic, what checkpoints record of its `retention.ms`, each change.
    """

    lane: int
    chain: int = 0
    blocks: int = 0
    inputs: int = 0
    folded: int = 0
    first_time: int = 0
    last_time: int = 0
    folds: list[str] = []
    policies: list[str] = []
    topics: dict[str, Counts] = {}
    checkpoints: int = 0
    unverified: int = 0
    passed_over: dict[str, int] = {}
    held: int = 0
    covered: tuple[int, int] | None = None
    counters: dict[str, int] = {}
    verdicts: dict[str, int] = {}
    fold: str = "adjudicate"
    claims: list[Ownership] = []
    unverified_claims: int = 0
    adopted: list[AdoptedTopic] = []
    retentions: dict[str, list[RecordedRetention]] = {}
    timeline: ActivityCounts = msgspec.field(default_factory=ActivityCounts)
    divergences: list[Divergence] = []
