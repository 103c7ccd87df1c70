"""What a worker sees every two seconds of the topics below its lanes, and what is wrong there (docs/faults.md).

The lanes themselves see only the partitions that they read. So a broker is asked which topics there are, how many
partitions each has, and where the ledgers of the lanes here begin. What is wrong is told in the log when it begins and
when it ends, and as long as it lasts by `/readyz` and the metrics. Nothing here asks a broker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import structlog

from ..kafka.requests import TopicNow
from ..kafka.topics import TOPICS
from ..ledger.interfaces import Fold
from ..ledger.retention import beheaded
from ..settings.settings import Settings

GONE_LOOKS = 2
"""So many answers in a row must say that a topic is not there: a broker that has just started may not know it yet."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def group_topics(folds: Sequence[Fold], settings: Settings) -> list[str]:
    """The logical names of all topics of the lane group, which have one number of partitions, in order.

    Args:
        folds: that run.
        settings: say whether there are checkpoints.
    """
    found = {topic for fold in folds for topic in (*fold.inputs, *fold.outputs, fold.ledger)}
    if settings.checkpoint_interval:
        found |= {fold.checkpoints for fold in folds}
    return sorted(topic for topic in found if TOPICS[topic].partitions is None)


class Watch:
    """The topics of the lane group as brokers told them last.

    Args:
        partitions: how many each of them has to have.

    Attributes:
        counts: the partitions of each topic that was seen, by logical name; 0 of one that is gone.
        starts: the first offset that each ledger here keeps, by the ledger's logical name and the partition.
        certificate_end: when a broker's certificate expires, Unix seconds; None where none was seen.
        problems: a sentence for each thing that is wrong; empty where nothing is.
    """

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.counts: dict[str, int] = {}
        self.starts: Mapping[tuple[str, int], int] = {}
        self.certificate_end: float | None = None
        self.problems: tuple[str, ...] = ()
        self._missed: dict[str, int] = {}

    def saw(
        self,
        topics: Mapping[str, TopicNow],
        starts: Mapping[tuple[str, int], int],
        certificate_end: float | None = None,
    ) -> None:
        """A broker answered.

        Args:
            topics: what it said, by logical name; of a topic that it said nothing of, what was known stays.
            starts: where the ledgers of the lanes here begin, by the ledger's logical name and the partition.
            certificate_end: when its certificate expires, Unix seconds; None where it showed none.
        """
        self.certificate_end = certificate_end
        for topic, now in topics.items():
            self._missed[topic] = 0 if now.partitions else self._missed.get(topic, 0) + 1
            if now.partitions or self._missed[topic] >= GONE_LOOKS:
                self.counts[topic] = now.partitions
        self.starts = dict(starts)
        self._tell()

    @property
    def gone(self) -> frozenset[str]:
        """The topics that are not there any more, by logical name."""
        return frozenset(topic for topic, count in self.counts.items() if not count)

    def _tell(self) -> None:
        told = [
            sentence_of(topic, count, self.partitions)
            for topic, count in sorted(self.counts.items())
            if count != self.partitions
        ]
        told += [str(beheaded(ledger, lane, at)) for (ledger, lane), at in sorted(self.starts.items()) if at > 0]
        before, self.problems = self.problems, tuple(told)
        for problem in self.problems:
            if problem not in before:
                log.error("a topic is not as the lanes need it", problem=problem)
        for problem in before:
            if problem not in self.problems:
                log.info("a topic is again as the lanes need it", was=problem)


def sentence_of(topic: str, count: int, partitions: int) -> str:
    """What is wrong with a topic that has another number of partitions, and what to do.

    Args:
        topic: by its logical name.
        count: how many partitions it has; 0 where it is gone.
        partitions: how many the ledger has.
    """
    if not count:
        return f"the broker has no topic {topic} any more; `sluice topics create` makes it anew"
    wrong = f"{topic} has {count} partitions (expected {partitions})"
    if count > partitions and TOPICS[topic].role == "input":
        return f"{wrong}: what lies in the others is not read; `sluice topics drain` moves it to where lanes read it"
    return f"{wrong}: the number never changes within a ledger"
