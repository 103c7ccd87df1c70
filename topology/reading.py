"""Reading one partition to its end, whatever stands there: records, markers of transactions, or nothing any more.

The end of a log is an offset, and not always one that can be reached by reading: a transaction's marker has no record,
an open transaction hides what follows, and a marker that the broker has removed since leaves offsets that no fetch
will ever pass (quixio/quix-streams 1017: a recovery that waited for such an offset for ever).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from time import monotonic
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from .connect import open_consumer
from .settings import Settings

EMPTY_SECONDS = 0.5
EMPTY_ANSWERS = 3
"""So long, and so often, must the broker say that nothing follows before offsets count as removed."""
PROGRESS_SECONDS = 5.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class HangsError(Exception):
    """A transaction that does not end hides what stands between `position` and `end`."""

    def __init__(self, position: int, end: int) -> None:
        self.position, self.end = position, end
        super().__init__(f"a transaction hangs at {position}, before {end}")


async def read_to_end(consumer: AIOKafkaConsumer, partition: TopicPartition, patience: float) -> AsyncIterator[Any]:
    """The records of a partition from where the consumer stands to the end as of now.

    Args:
        consumer: has sought, and has no other partition: only then does an empty answer say that nothing is there.
        partition: to be read.
        patience: seconds that an open transaction is waited for.

    Raises:
        HangsError: it did not end.
    """
    moved_at = told_at = monotonic()
    at, answers, answered = -1, 0, None
    while True:
        fetched: dict[Any, list[Any]] = await consumer.getmany(partition, timeout_ms=200)
        for record in fetched.get(partition, ()):
            yield record
        # All from one fetch answer. The position passes markers of transactions too, never the last stable offset:
        # once it is at the high watermark, nothing is hidden behind a transaction that hangs.
        position, end = await consumer.position(partition), consumer.highwater(partition)
        if end is not None and position >= end:
            return
        now, time = monotonic(), consumer.last_poll_timestamp(partition)
        if fetched or position != at:
            moved_at, at, answers, answered = now, position, 0, time
        elif time != answered:
            answers, answered = answers + 1, time
        stable = consumer.last_stable_offset(partition)
        is_stable = stable is None or stable < 0 or (end is not None and stable >= end)
        if end is not None and is_stable and answers >= EMPTY_ANSWERS and now - moved_at >= EMPTY_SECONDS:
            log.info("the broker holds nothing before the end", topic=partition.topic, offset=position, end=end)
            return
        if now - moved_at > patience and end is not None:
            raise HangsError(position, end)
        if now - told_at > PROGRESS_SECONDS and end:
            told_at = now
            log.info("reading", topic=partition.topic, offset=position, end=end, percent=100 * position // end)


async def nothing_follows(settings: Settings, partition: TopicPartition, offset: int) -> bool:
    """Whether no record stands at or after an offset, however far the broker says that the log goes.

    Asked with a consumer of its own: of many partitions in one fetch, one may be answered with nothing although it
    holds something.

    Raises:
        UnreachableError: no broker answers.
    """
    isolation = "read_committed" if settings.delivery == "exactly-once" else "read_uncommitted"
    async with open_consumer(settings, isolation_level=isolation, fetch_max_wait_ms=50) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, offset)
        try:
            async for _ in read_to_end(consumer, partition, EMPTY_SECONDS):
                return False
        except HangsError:
            return False
    return True
