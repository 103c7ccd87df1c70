"""Reads an output topic from its beginning, or from a time on, as committed (docs/reference/records.md).

Without a group: nothing is committed, so that reading changes nothing. What is read is told by `showing.py`. A batch
that cannot be read is told and passed over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.errors import UnreachableError, UsageError
from ..settings.settings import Settings
from .connect import open_consumer, partitions_of
from .passing import PassingReader, Told, log_passed
from .topics import topic_name

SILENCE_SECONDS = 20
"""Every fetch is answered within half a second, records or not; a broker that is silent for longer is gone."""


class Record(NamedTuple):
    """A committed record. `timestamp` is the broker's, Unix ms; a header's value may be null, as in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


async def read(
    settings: Settings, topic: str, *, since: int | None = None, follow: bool = False, tell: Told = log_passed
) -> AsyncGenerator[Record, None]:
    """The committed records of a topic (by its logical name), in order within each partition.

    Args:
        settings: the broker and prefix.
        topic: the logical name.
        since: Unix milliseconds; only records that the broker took at that time or later.
        follow: whether to go on with what comes, rather than stop at what is there now.
        tell: is told of each batch that cannot be read.

    Raises:
        UnreachableError: no broker answers, or it stops answering.
        UsageError: there is no such topic, or the broker does not look up times (the embedded one).
    """
    async with open_consumer(settings, fetch_max_wait_ms=500 if follow else 50) as consumer:
        name = topic_name(settings, topic)
        places = [TopicPartition(name, number) for number in await partitions_of(consumer, settings, name)]
        consumer.assign(places)
        await _seek(settings, consumer, places, since)
        async for record in _records(settings, consumer, places, follow, tell):
            yield record


async def _seek(
    settings: Settings, consumer: AIOKafkaConsumer, places: list[TopicPartition], since: int | None
) -> None:
    if since is None:
        await consumer.seek_to_beginning(*places)
        return
    found = await consumer.offsets_for_times(dict.fromkeys(places, since))
    later = [place for place in places if found[place] is None]  # they hold nothing so late
    if later:
        first = await consumer.offsets_for_times(dict.fromkeys(later, 0))
        begins, ends = await consumer.beginning_offsets(later), await consumer.end_offsets(later)
        if any(first[place] is None and begins[place] < ends[place] for place in later):
            raise UsageError("this broker does not look up times", path=settings.broker, hint="leave out --since")
        await consumer.seek_to_end(*later)
    for place, at in found.items():
        if at is not None:
            consumer.seek(place, at.offset)


async def _records(
    settings: Settings, consumer: AIOKafkaConsumer, places: Sequence[TopicPartition], follow: bool, tell: Told
) -> AsyncIterator[Record]:
    ends: dict[TopicPartition, int] = {}
    open_places = set(places)
    answered_at = time.monotonic()
    last_answer, reader = 0, PassingReader(consumer, settings.max_unpacked_bytes, tell)
    while open_places:
        for place, records in (await reader.take(0.1)).items():
            for record in records:
                yield Record(*place, *record)
        answer = max(consumer.last_poll_timestamp(place) or 0 for place in places)
        if answer != last_answer:
            last_answer, answered_at = answer, time.monotonic()
        elif time.monotonic() - answered_at > SILENCE_SECONDS:
            raise UnreachableError(f"the broker has been silent for {SILENCE_SECONDS} s", path=settings.broker)
        if not follow:
            for place in await _finished(consumer, open_places, ends):
                open_places.discard(place)
                consumer.pause(place)


async def _finished(
    consumer: AIOKafkaConsumer, places: set[TopicPartition], ends: dict[TopicPartition, int]
) -> list[TopicPartition]:
    """The partitions that have been read to where they ended when they were first asked.

    The end is the last stable offset, and what must reach it is the position, not a record: the last offsets of a
    partition are transaction markers and aborted records, which nobody ever receives.
    """
    finished: list[TopicPartition] = []
    for place in places:
        stable = consumer.last_stable_offset(place)
        if stable is None:
            continue  # not asked yet
        end = ends.setdefault(place, stable)
        async with asyncio.timeout(SILENCE_SECONDS):
            if await consumer.position(place) >= end:
                finished.append(place)
    return finished
