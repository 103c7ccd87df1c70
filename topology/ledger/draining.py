"""Moves what lies in partitions of the inputs that no lane reads to where lanes read it (`sluice topics drain`).

A ledger keeps its number of partitions for ever, and a topic's only grows. Where an input has more, no lane reads the
others. Their records are written again, with the same key, value, headers and time, to the partition that their key has
among the ledger's. A transaction holds the records and, as the offsets of a consumer group, how far the partition is
drained: so each is moved once, whatever ends this in between. The offsets name the topic's id, and mean nothing for
another topic of the same name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError
from aiokafka.structs import OffsetAndMetadata

from ...codecs.partition import PARTITIONERS
from ..kafka.connect import INPUTS, open_admin, open_consumer, open_producer, partitions_of
from ..kafka.partition_reader import HangsError, fetches_to_end
from ..kafka.requests import topic_ids
from ..kafka.stored_records import StoredRecord, take_stored, unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS
from ..settings.settings import Settings
from .installation import group_of
from .policies import newest_blocks


class Drained(NamedTuple):
    """How many records of a partition, by the topic's logical name, were moved."""

    topic: str
    partition: int
    records: int


async def drain(settings: Settings) -> AsyncIterator[Drained]:
    """Moves what is committed, as of now, in each partition of the inputs that no lane reads.

    Args:
        settings: the broker, the prefix, and how keys are spread.

    Yields:
        Each such partition, once it is drained.

    Raises:
        UnreachableError: no broker answers.
        UsageError: a topic is missing.
        DoesNotHoldError: a transaction hangs over a partition, or a batch there cannot be read.
    """
    lanes = await lane_count(settings)
    async with open_consumer(settings, fetch_max_wait_ms=50) as consumer:
        beyond = await _beyond(consumer, settings, INPUTS, lanes)
        if not beyond:
            return
        name, seconds = _group(settings), settings.transaction_timeout
        options = {"transactional_id": name, "transaction_timeout_ms": int(seconds * 1000)}
        async with open_producer(settings, **options) as producer:
            for partition, (topic, start, id_) in beyond.items():
                moving = _Moving(settings, producer, partition, lanes, id_)
                yield Drained(topic, partition.partition, await moving.run(consumer, start))


async def lane_count(settings: Settings) -> int:
    """How many partitions the ledger has had from its first block on; before that, how many its topic has.

    Raises:
        UnreachableError: no broker answers.
        UsageError: there is no ledger topic.
    """
    lanes = 0
    async with aclosing(newest_blocks(settings, "ledger")) as blocks:
        async for _, block in blocks:
            if block is not None:
                return block.header.lanes
            lanes += 1
    return lanes


async def undrained(consumer: AIOKafkaConsumer, settings: Settings, topics: Iterable[str]) -> Mapping[str, int]:
    """By input, how many offsets lie in partitions that no lane reads, and were not drained.

    Args:
        consumer: asks.
        settings: say how many partitions lanes read.
        topics: logical names; those of other topics than inputs count for nothing.
    """
    left: dict[str, int] = {}
    beyond = await _beyond(consumer, settings, [topic for topic in topics if topic in INPUTS], settings.partitions)
    ends = await consumer.end_offsets(list(beyond)) if beyond else {}
    for partition, (topic, start, _) in beyond.items():
        left[topic] = left.get(topic, 0) + max(0, ends[partition] - start)
    return left


async def _beyond(
    consumer: AIOKafkaConsumer, settings: Settings, topics: Sequence[str], lanes: int
) -> dict[TopicPartition, tuple[str, int, str]]:
    """The partitions of inputs from number `lanes` on: the topic, where to drain it from, and the topic's id."""
    names = {topic_name(settings, topic): topic for topic in topics}
    found = {
        TopicPartition(name, number): topic
        for name, topic in names.items()
        for number in await partitions_of(consumer, settings, name)
        if number >= lanes
    }
    if not found:
        return {}
    ids, done = await topic_ids(consumer, names), await _done(settings)
    first: Mapping[TopicPartition, int] = await consumer.beginning_offsets(list(found))
    beyond: dict[TopicPartition, tuple[str, int, str]] = {}
    for partition, topic in found.items():
        id_, before = ids.get(partition.topic, ""), done.get(partition)
        start = before.offset if before is not None and before.metadata == id_ else 0
        beyond[partition] = topic, max(start, first[partition]), id_
    return beyond


def _group(settings: Settings) -> str:
    """The group that keeps how far partitions were drained, under the prefix of the workers' group; also the
    transactional id.
    """
    return f"{group_of(settings)}drain"


async def _done(settings: Settings) -> Mapping[TopicPartition, OffsetAndMetadata]:
    """How far partitions were drained; nothing where the broker does not let us ask."""
    async with open_admin(settings) as admin:
        try:
            return dict(await admin.list_consumer_group_offsets(_group(settings)))
        except KafkaError:
            return {}


class _Moving:
    """Moves the records of one partition."""

    def __init__(
        self, settings: Settings, producer: AIOKafkaProducer, partition: TopicPartition, lanes: int, id_: str
    ) -> None:
        self._settings, self._producer, self._partition = settings, producer, partition
        self._lanes, self._id = lanes, id_
        self._partition_of = PARTITIONERS[settings.partitioner]

    async def run(self, consumer: AIOKafkaConsumer, start: int) -> int:
        """Moves what lies from an offset on; returns how many records that were."""
        partition, moved = self._partition, 0
        consumer.assign([partition])
        consumer.seek(partition, start)

        async def take(patience: float) -> list[Any]:
            return await take_stored(consumer, partition, patience, self._settings.max_unpacked_bytes)

        patience = self._settings.transaction_timeout + GRACE_SECONDS
        try:
            async with aclosing(fetches_to_end(consumer, partition, patience, take)) as fetches:
                async for records in fetches:
                    await self._move(records, records[-1].offset + 1)
                    moved += len(records)
        except HangsError as hangs:
            raise hangs.sentence("a partition that no lane reads", partition, then="; abort it first") from None
        except CorruptRecordException as error:
            raise unreadable(error, partition) from None
        position = await consumer.position(partition)
        if position > start:
            await self._move([], position)
        return moved

    async def _move(self, records: Sequence[StoredRecord], done: int) -> None:
        """Writes records to where lanes read them and, with them, that all before the offset `done` is drained."""
        producer = self._producer
        async with asyncio.timeout(self._settings.transaction_timeout), producer.transaction():
            sent = [
                await producer.send(
                    self._partition.topic,
                    value=one.value,
                    key=one.key,
                    partition=self._partition_of(one.key or b"", self._lanes),
                    timestamp_ms=one.timestamp,
                    headers=[*one.headers] or None,
                )
                for one in records
            ]
            await asyncio.gather(*sent)
            offsets = {self._partition: OffsetAndMetadata(done, self._id)}
            await producer.send_offsets_to_transaction(offsets, _group(self._settings))
