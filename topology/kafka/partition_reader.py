"""Reading one partition to its end, or its last record, whatever stands there: records, markers, or nothing any more.

The end of a log is an offset, and not always one that can be reached by reading: a transaction's marker has no record,
an open transaction hides what follows, and a marker that the broker has removed since leaves offsets that no fetch
will ever pass (quixio/quix-streams 1017: a recovery that waited for such an offset for ever).

Where a log ends is asked of its leader (`requests.log_end`), never taken from a fetch answer: after an election that
one's high watermark may be older than the truth, and what stands beyond it would count as absent.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from functools import partial
from time import monotonic
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaTimeoutError

from ...codecs.errors import DoesNotHoldError
from ..settings.settings import Settings
from .connect import open_reader
from .packed_batches import MOST_UNPACKED, RecordDecoder
from .requests import End, log_end
from .topic_reader import AS_RECORDS, PassedOver, Passing, take_stored, unreadable
from .transactions import GRACE_SECONDS

POLL_SECONDS = 0.2
EMPTY_SECONDS = 0.5
EMPTY_ANSWERS = 3
"""So long, and so often, must the broker say that nothing follows before offsets count as removed."""
SILENT_SECONDS = 1.0
"""No more than this counts of the time between two answers: whoever is silent says nothing of an open transaction."""
PROGRESS_SECONDS = 5.0
TAIL = 64
"""So many offsets before a partition's end are looked at for its last record: markers of transactions and aborted
records take offsets too. Where they fill the stretch, a longer one before it comes next."""
LONGEST = 4096
"""No stretch is longer: its records are held in memory."""

_THEN = "; abort it, then start the worker again"

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class HangsError(Exception):
    """A transaction that does not end hides what stands between `position` and `end`."""

    def __init__(self, position: int, end: int) -> None:
        self.position, self.end = position, end
        super().__init__(f"a transaction hangs at {position}, before {end}")

    def sentence(
        self, over: str, partition: TopicPartition, hides: str = "records", then: str = _THEN
    ) -> DoesNotHoldError:
        """The error for a person.

        Args:
            over: what the transaction hangs over, in words.
            partition: where it hangs.
            hides: what it may hide newer ones of, in words.
            then: what to do once the transaction is found.
        """
        return DoesNotHoldError(
            f"a transaction hangs over {over} and may hide newer {hides}",
            path=f"{partition.topic}/{partition.partition}",
            expected=f"{hides} up to offset {self.end}",
            got=f"up to {self.position}",
            hint=f"kafka-transactions.sh find-hanging names it{then}",
        )


async def read_to_end(
    consumer: AIOKafkaConsumer,
    partition: TopicPartition,
    patience: float,
    least: int = 0,
    unpacked: int = MOST_UNPACKED,
    decoder: RecordDecoder = AS_RECORDS,
) -> AsyncGenerator[Any, None]:
    """The records of a partition from where the consumer stands to the end as of now, with how far it is in the log.

    As `fetches_to_end`, within a budget of `unpacked` bytes, and by a decoder, as `take_stored` has them.
    """

    async def take(patience: float) -> list[Any]:
        return await take_stored(consumer, partition, patience, unpacked, decoder)

    fetches_of_it = fetches_to_end(consumer, partition, patience, take, least=least, reports=True)
    async with aclosing(fetches_of_it) as fetches:
        async for records in fetches:
            for record in records:
                yield record


async def fetches_to_end(
    consumer: AIOKafkaConsumer,
    partition: TopicPartition,
    patience: float,
    take: Callable[[float], Awaitable[list[Any]]],
    until: int | None = None,
    *,
    least: int = 0,
    reports: bool = False,
) -> AsyncGenerator[list[Any], None]:
    """The records of a partition from where the consumer stands to an end, a fetch at a time, none of them empty.

    Args:
        consumer: has sought, and has no other partition: only then does an empty answer say that nothing is there.
        partition: to be read.
        patience: seconds that an open transaction is waited for, while the broker answers; and that it may be silent.
        take: gives what has come, waiting so many seconds for the first record.
        until: the end; None is the high watermark as of now, by the leader's word.
        least: what is known to be committed lies before it: where nobody names an end, it lies no earlier than this.
        reports: whether the log says how far it is.

    Raises:
        HangsError: it did not end, though the broker answered.
        KafkaTimeoutError: the broker did not answer for so long.
    """
    moved_at = heard_at = reported_at = monotonic()
    at, answers, answered, waited = -1, 0, None, 0.0
    gap: End | None = None  # that nothing is hidden before the end, where the leader has said so since the last move
    end = max(least, await _end_now(consumer, partition, patience)) if until is None else until
    while True:
        fetched = await take(POLL_SECONDS)
        is_beyond = until is not None and fetched and fetched[-1].offset >= until
        if records := [one for one in fetched if one.offset < until] if is_beyond else fetched:
            yield records
        # The position passes markers of transactions too, never the last stable offset: once it is at the end, nothing
        # is hidden behind a transaction that hangs.
        position = await consumer.position(partition)
        if position >= end:
            return
        now, time = monotonic(), consumer.last_poll_timestamp(partition)
        if fetched or position != at:
            moved_at, at, answers, answered, gap = now, position, 0, time, None
            heard_at, waited = now, 0.0
        elif time != answered:
            answers, answered = answers + 1, time
            heard_at, waited = now, waited + min(now - heard_at, SILENT_SECONDS)
        if (consumer.highwater(partition) or 0) < end:
            answers = 0  # who does not know of the end yet gives nothing from before it either
        if answers >= EMPTY_ANSWERS and now - moved_at >= EMPTY_SECONDS:
            # Empty answers count only between two words of one leader that no transaction is open before the end.
            before, gap, answers = gap, await _stable_to(end, consumer, partition), 0
            if before is not None and gap is not None and before.epoch == gap.epoch:
                if reports:
                    log.info("the broker holds nothing before the end", topic=partition.topic, offset=position, end=end)
                return
        if waited > patience:
            raise HangsError(position, end)
        if now - heard_at > patience:
            raise KafkaTimeoutError(f"the leader of {partition.topic}/{partition.partition} does not answer")
        if reports and now - reported_at > PROGRESS_SECONDS:
            reported_at = now
            log.info("reading", topic=partition.topic, offset=position, end=end, percent=100 * position // end)


async def _end_now(consumer: AIOKafkaConsumer, partition: TopicPartition, patience: float) -> int:
    """The high watermark by its leader's word; asks until one answers.

    Raises:
        KafkaTimeoutError: none does for `patience` seconds.
    """
    gives_up_at = monotonic() + patience
    while (end := await log_end(consumer, partition)) is None:
        if monotonic() > gives_up_at:
            raise KafkaTimeoutError(f"no leader of {partition.topic}/{partition.partition} says where it ends")
        await asyncio.sleep(POLL_SECONDS)
    return end.offset


async def _stable_to(until: int, consumer: AIOKafkaConsumer, partition: TopicPartition) -> End | None:
    """The last stable offset, where the leader says that it lies at `until` or later."""
    stable = await log_end(consumer, partition, committed=True)
    return stable if stable is not None and stable.offset >= until else None


async def last_record(
    settings: Settings,
    partition: TopicPartition,
    wanted: Callable[[Any], bool],
    *,
    goes_on: bool = False,
    reader: Callable[[TopicPartition, int | None], AbstractAsyncContextManager[AIOKafkaConsumer]] | None = None,
    span: tuple[int, int] | None = None,
) -> Any | None:
    """The newest record of a partition as of now that is wanted; None where there is none.

    Args:
        settings: the broker; with exactly-once delivery only committed records are there.
        partition: to be read, from its end backwards.
        wanted: asked about each record, the newest first, until it says yes.
        goes_on: whether a batch that cannot be read is told and passed over.
        reader: opens what reads it, from an offset on; None: a consumer of its own.
        span: where the partition begins and ends, where that is known as of now.

    Raises:
        DoesNotHoldError: a transaction hangs over it and may hide newer records, or its bytes are no records.
        UnreachableError: no broker answers.
    """
    decoder = Passing().decoder(partition) if goes_on else AS_RECORDS
    async with (reader or partial(open_reader, settings))(partition, span and max(span[0], span[1] - TAIL)) as consumer:
        if span is None:
            asked: Any = consumer
            first = (await asked.beginning_offsets([partition]))[partition]
            span = first, (await asked.end_offsets([partition]))[partition]
        first, end = span
        stretch = TAIL
        while end > first:
            start = max(first, end - stretch)
            consumer.seek(partition, start)
            records = await _records_before(end, consumer, partition, settings, decoder)
            for record in reversed(records):
                if wanted(record):
                    return record
            end, stretch = start, min(2 * stretch, LONGEST)
    return None


async def _records_before(
    end: int, consumer: AIOKafkaConsumer, partition: TopicPartition, settings: Settings, decoder: RecordDecoder
) -> list[Any]:
    """The records from where the consumer stands up to an offset."""
    found: list[Any] = []
    patience, unpacked = settings.transaction_timeout + GRACE_SECONDS, settings.max_unpacked_bytes
    try:
        reading = read_to_end(consumer, partition, patience, unpacked=unpacked, decoder=decoder)
        async with aclosing(reading) as records:
            async for record in records:
                if record.offset >= end:
                    break
                if not isinstance(record, PassedOver):
                    found.append(record)
    except HangsError as hangs:
        raise hangs.sentence("the end of a topic", partition) from None
    except CorruptRecordException as error:
        raise unreadable(error, partition) from None
    return found


async def nothing_follows(settings: Settings, partition: TopicPartition, offset: int) -> bool:
    """Whether no record stands at or after an offset, and no transaction is open there, as the leader says.

    A consumer of its own asks: in a fetch of many partitions, the answer may leave out a partition that has records.

    Args:
        settings: the broker.
        partition: of the topic's full name.
        offset: the first that is looked at.

    Raises:
        UnreachableError: no broker answers.
    """
    async with open_reader(settings, partition, offset) as consumer:
        unpacked = settings.max_unpacked_bytes
        try:
            async with aclosing(read_to_end(consumer, partition, EMPTY_SECONDS, unpacked=unpacked)) as records:
                async for _ in records:
                    return False
        except HangsError:
            return False
    return True
