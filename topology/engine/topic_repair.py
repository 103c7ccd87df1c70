"""What an operator does about input topics: `sluice topics drain` and `sluice topics adopt`.

Draining moves what lies in partitions that no lane reads to where lanes read it. An adoption says that lanes go on with
an input topic that was deleted and made again (codecs/ledger_statements.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError
from aiokafka.structs import OffsetAndMetadata

from ...codecs.blocks import Event, EventKind
from ...codecs.errors import UsageError
from ...codecs.ledger_statements import FORMAT, Adoption, adopted_in, write_adoption
from ...codecs.notes import Signer
from ...codecs.partition import PARTITIONERS
from ...codecs.times import format_time
from ...streams.policy.policy import adoption_refusal
from ..kafka.connect import INPUTS, log_ends, open_admin, open_consumer, open_producer, partitions_of
from ..kafka.partition_reader import HangsError, fetches_to_end
from ..kafka.requests import topic_ids
from ..kafka.topic_reader import StoredRecord, take_stored, unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS
from ..settings.process import now_ms
from ..settings.settings import Settings
from .chain import ids_of
from .folds import folds
from .installation import group_of
from .policies import document_of, in_force, newest_blocks, write


class Drained(NamedTuple):
    """How many records of a partition, by the topic's logical name, were moved."""

    topic: str
    partition: int
    records: int


async def drain(settings: Settings) -> AsyncIterator[Drained]:
    """Moves what is committed, as of now, in each partition of the inputs that no lane reads; yields each once drained.

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
    """Returns, by input, how many offsets lie in partitions that no lane reads and were not drained; `consumer` asks,
    `settings` and `topics` say of what.
    """
    left: dict[str, int] = {}
    beyond = await _beyond(consumer, settings, [topic for topic in topics if topic in INPUTS], settings.partitions)
    _, ends = await log_ends(consumer, list(beyond))
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
    first, _ = await log_ends(consumer, list(found))
    beyond: dict[TopicPartition, tuple[str, int, str]] = {}
    for partition, topic in found.items():
        id_, before = ids.get(partition.topic, ""), done.get(partition)
        start = before.offset if before is not None and before.metadata == id_ else 0
        beyond[partition] = topic, max(start, first[partition]), id_
    return beyond


def _group(settings: Settings) -> str:
    """The group that keeps how far partitions were drained, by the workers' group; also the transactional id."""
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
            sent: list[asyncio.Future[Any]] = [
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


async def adopt(settings: Settings, topic: str, signer: Signer | None) -> Sequence[Adoption]:
    """Writes to the topic `policies` that lanes are to read the topic of this name that is there now.

    Returns one adoption for each other id that a ledger names. `settings.origin` is what the signature of `signer` is
    bound to; None where the policy asks for none.

    Raises:
        UnreachableError: no broker answers.
        UsageError: it is no input of a lane, it was not made anew, the broker tells no ids, or the policy in force
            wants another signature.
    """
    present, named = await _present_id(settings, topic), await named_ids(settings, topic)
    adoptions = [
        Adoption(v=FORMAT, topic=topic, was=was, id=present, adopted_at=format_time(now_ms()))
        for was in sorted(set(named) - {"", present})
    ]
    if not adoptions:
        raise UsageError(
            f"{topic} was not made anew: the ledgers go on with the topic that is there",
            expected=f"a ledger that names another id than {present}",
            got=f"{len(named)} lanes that name it, or no topic yet",
        )
    records = [write_adoption(one, settings.origin, signer) for one in adoptions]
    await _demand_counting(settings, records[0])
    await write(settings, records)
    return adoptions


async def named_ids(settings: Settings, topic: str) -> Sequence[str]:
    """Returns the id that each lane's ledger goes on with for an input, by lane; empty where it names none yet.

    Raises:
        UnreachableError: no broker answers.
        UsageError: it is no input of a lane.
    """
    inputs = {one: fold.ledger for fold in folds() for one in fold.inputs}
    if topic not in inputs:
        raise UsageError(f"{topic!r} is no input of a lane", expected=", ".join(sorted(inputs)))
    return [
        "" if block is None else adopted_in(block).get(topic) or ids_of(block.header).get(topic, "")
        async for _, block in newest_blocks(settings, inputs[topic])
    ]


async def _present_id(settings: Settings, topic: str) -> str:
    name = topic_name(settings, topic)
    async with open_consumer(settings) as consumer:
        found = (await topic_ids(consumer, [name])).get(name)
    if found is None:
        raise UsageError(f"the broker tells no id of {name}", expected="a topic that is there, on Kafka 3.1 or later")
    return found


async def _demand_counting(settings: Settings, record: tuple[bytes, bytes]) -> None:
    """That the policy in force takes an adoption; where lanes do not decide alike, the first lane's."""
    hashes = [one.hash for one in await in_force(settings) if one.hash]
    policy = await document_of(settings, hashes[0]) if hashes else None
    if policy is None:
        return
    event = Event(EventKind.ADOPT, 0, 0, 0, [], *record)
    if why := adoption_refusal(event, policy, now_ms()):
        raise UsageError(
            f"no lane would take this adoption: {why}", hint="sign it with such a key: `--key FILE` (`sluice key new`)"
        )
