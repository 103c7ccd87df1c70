"""The client's ways to a real broker: an idempotent producer, and a consumer without the rebalances of a group."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import (
    InvalidTopicError,
    KafkaTimeoutError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)

from ...codecs.errors import SluiceError, UnreachableError, UsageError
from ..kafka.aiokafka_inside import partition_for, pass_refused
from ..kafka.connect import (
    METADATA_SECONDS,
    keep_to_lanes,
    open_admin,
    open_consumer,
    open_producer,
    partitions_of,
    reaching,
)
from ..kafka.input_records import Prepared
from ..kafka.partition_reader import EMPTY_ANSWERS, EMPTY_SECONDS
from ..kafka.topic_reader import PassedOver, PassingReader, StoredRecord
from ..kafka.topics import topic_name
from ..settings.process import now_ms
from ..settings.settings import Settings, load_settings
from .admitted_set import AdmittedRead
from .ports import Position, RefusedError, StoredAt, demand_there

BATCH_BYTES = 131_072
FETCH_WAIT_MS = 100
"""So long the broker holds a fetch back that finds nothing: every answer also tells how far committed records go."""
LEAST_SECONDS = 0.001
"""A fetch waits so long at the least: whoever asks again and again lets others have their turn."""
COMMIT_SECONDS = 5.0
REFUSALS = (TopicAuthorizationFailedError, MessageSizeTooLargeError, RecordListTooLargeError, InvalidTopicError)
"""What the broker says of records that it does not take, and will not take a moment later."""
ABSENT_SECONDS = 10.0
"""So long a topic that the broker does not show us is believed to be absent, so that nobody waits for it again."""
SILENCE_SECONDS = 20.0
"""Every fetch is answered within `FETCH_WAIT_MS`; who waits for the end of a topic gives a broker up after so long."""


def settings_for(settings: Settings | None, bootstrap: str | None) -> Settings:
    """The settings that a client was given; a bare address stands for all else as the environment has it.

    Raises:
        UsageError: both were given, or the address is none.
    """
    if settings is not None and bootstrap is not None:
        raise UsageError("takes settings or a bootstrap address, not both", path="client")
    return settings if settings is not None else load_settings(None, {"broker": bootstrap})


class KafkaOutlet:
    """An idempotent producer, keyed and partitioned as the lanes expect (`ports.Outlet`)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._producer: Any = None
        self._topics: dict[str, str] = {}
        self._absent: dict[str, tuple[float, SluiceError]] = {}

    async def open(self) -> None:
        """
        Raises:
            UnreachableError: no broker answers.
        """
        self._producer = await self._stack.enter_async_context(
            open_producer(self._settings, max_batch_size=BATCH_BYTES)
        )

    async def send(self, record: Prepared) -> asyncio.Future[StoredAt]:
        assert self._producer is not None
        name = self._topics.get(record.topic)
        if name is None:
            name = await self._name_of(record.topic)
        partition = self._partition_of(name, record.key)
        while True:
            try:
                sent: asyncio.Future[Any] = await self._producer.send(
                    name,
                    key=record.key,
                    value=record.value,
                    headers=list(record.headers) or None,
                    partition=partition,
                )
            except KafkaTimeoutError:
                continue  # no room in a batch for 40 s: the emitter says when to give up
            except REFUSALS as error:
                raise RefusedError(f"the broker refuses it: {error}", path=name) from None
            return self._told(TopicPartition(name, partition), sent)

    async def _name_of(self, topic: str) -> str:
        """The name of a topic that the broker shows us."""
        name = topic_name(self._settings, topic)
        until, error = self._absent.get(name, (0.0, None))
        if error is not None and asyncio.get_running_loop().time() < until:
            raise error
        assert self._producer is not None
        try:
            await self._until_known(self._producer.client, name)
            await keep_to_lanes(self._producer, self._settings)
        except SluiceError as found:
            self._absent[name] = asyncio.get_running_loop().time() + ABSENT_SECONDS, found
            raise
        self._absent.pop(name, None)
        self._topics[topic] = name
        return name

    def _partition_of(self, name: str, key: bytes) -> int:
        """As the producer itself would choose it: it is asked here, so that the answer can be put to its partition."""
        return partition_for(self._producer, name, key)

    def _told(self, place: TopicPartition, sent: asyncio.Future[Any]) -> asyncio.Future[StoredAt]:
        """The answer. What the broker refused has no place in the partition's sequence: without this the next batch
        would be out of order, and all that is under way be lost with it. Nothing else of the partition is under way: an
        idempotent producer of aiokafka sends one batch of a partition at a time."""
        answer: asyncio.Future[StoredAt] = asyncio.get_running_loop().create_future()

        def done(sent: asyncio.Future[Any]) -> None:
            error = None if sent.cancelled() else sent.exception()
            if isinstance(error, REFUSALS):
                if self._producer is not None:
                    pass_refused(self._producer, place)
                error = RefusedError(f"the broker refuses it: {error}", path=place.topic)
            if answer.done():
                return
            if sent.cancelled():
                answer.cancel()
            elif error is not None:
                answer.set_exception(error)
            else:
                answer.set_result(sent.result())

        sent.add_done_callback(done)
        return answer

    async def _until_known(self, client: Any, name: str) -> None:
        """A broker that says that there is no such topic is believed; one that says nothing is waited for."""
        loop, first = asyncio.get_running_loop(), None
        client.add_topic(name)
        while True:
            if await client.force_metadata_update():
                if client.cluster.partitions_for_topic(name):
                    return
                if name in client.cluster.unauthorized_topics:
                    raise RefusedError("the broker does not allow us this topic", path=name)
                first = loop.time() if first is None else first
                if loop.time() - first > METADATA_SECONDS:
                    hint = "`sluice topics create` makes them"
                    raise UsageError(f"the broker has no topic {name}", path=self._settings.broker, hint=hint)
            await asyncio.sleep(0.1)

    async def close(self) -> None:
        await self._stack.aclose()


class KafkaSource:
    """A consumer of all partitions of a topic of outputs, or of some (`ports.Source`).

    A group is a name under which positions are kept, nothing more: two readers of one group both read everything that
    they were told to read, so that each has its whole set.
    """

    def __init__(
        self, settings: Settings, group: str | None, partitions: Sequence[int] | None, topic: str = "admitted"
    ) -> None:
        self._settings, self._group, self._wanted, self._topic = settings, group, partitions, topic
        self._stack = AsyncExitStack()
        self._places: list[TopicPartition] = []
        self._client: Any = None
        self._reader: PassingReader | None = None

    async def open(self) -> Sequence[int]:
        """
        Raises:
            UnreachableError: no broker answers.
            UsageError: there is no such topic, or partition.
        """
        consumer = await self._stack.enter_async_context(
            open_consumer(self._settings, group_id=self._group, fetch_max_wait_ms=FETCH_WAIT_MS)
        )
        name = topic_name(self._settings, self._topic)
        there = await partitions_of(consumer, self._settings, name)
        chosen = there if self._wanted is None else sorted(set(self._wanted))
        if not chosen or not set(chosen) <= set(there):
            got = ", ".join(map(str, chosen)) or "none"
            raise UsageError("no such partitions", path=name, expected=f"some of 0 to {there[-1]}", got=got)
        self._client, self._places = consumer, [TopicPartition(name, number) for number in chosen]
        self._reader = PassingReader(consumer, self._settings.max_unpacked_bytes)
        consumer.assign(self._places)
        await consumer.seek_to_beginning(*self._places)
        return chosen

    @property
    def consumer(self) -> Any:
        """The `AIOKafkaConsumer`, while open."""
        assert self._client is not None
        return self._client

    @property
    def places(self) -> Sequence[TopicPartition]:
        """What is read."""
        return self._places

    async def fetch(self, seconds: float) -> Sequence[AdmittedRead]:
        assert self._reader is not None, "open comes first"
        with reaching(self._settings):
            fetched = await self._reader.take(max(seconds, LEAST_SECONDS), passed=True)
        return [_read_of(place.partition, one) for place, found in fetched.items() for one in found]

    async def at(self, partition: int) -> int:
        (place,) = (one for one in self._places if one.partition == partition)
        with reaching(self._settings):
            async with asyncio.timeout(SILENCE_SECONDS):
                return await self.consumer.position(place)

    def goal(self) -> KafkaGoal:
        return KafkaGoal(self, self._settings)

    async def first_offsets(self) -> Mapping[int, int]:
        with reaching(self._settings):
            found = await self.consumer.beginning_offsets(list(self._places))
        return {place.partition: offset for place, offset in found.items()}

    async def seek(self, offsets: Mapping[int, int]) -> None:
        wanted = [place for place in self._places if place.partition in offsets]
        with reaching(self._settings):
            ends = await self.consumer.end_offsets(wanted)
            first = await self.first_offsets()
        demand_there(offsets, {place.partition: end for place, end in ends.items()}, self._topic)
        for place in wanted:
            self.consumer.seek(place, max(offsets[place.partition], first[place.partition]))

    async def committed(self) -> Position | None:
        if self._group is None:
            return None
        with reaching(self._settings):
            async with open_admin(self._settings) as admin:
                found: Mapping[Any, Any] = await admin.list_consumer_group_offsets(self._group)
        ours = {place: found[place] for place in self._places if place in found and found[place].offset >= 0}
        if not ours:
            return None
        times = [int(one.metadata) if one.metadata.isdecimal() else 0 for one in ours.values()]
        return Position({place.partition: one.offset for place, one in ours.items()}, min(times))

    async def commit(self, position: Position) -> None:
        if self._group is None:
            raise UsageError("a reader without a group commits nothing", hint="store `position` yourself, or name one")
        metadata = str(position.told_until)
        offsets = {
            one: (position.offsets[one.partition], metadata)
            for one in self._places
            if one.partition in position.offsets
        }
        with reaching(self._settings):
            if offsets:
                async with asyncio.timeout(COMMIT_SECONDS):  # without a coordinator aiokafka would wait for ever
                    await self.consumer.commit(offsets)

    async def close(self) -> None:
        await self._stack.aclose()


def _read_of(partition: int, found: StoredRecord | PassedOver) -> AdmittedRead:
    """A record; for a batch that nobody can read one that this version does not know, at its last offset."""
    if isinstance(found, PassedOver):
        return AdmittedRead(partition, found.next - 1, None, None)
    return AdmittedRead(partition, found.offset, found.key, found.value)


class KafkaGoal:
    """The last stable offsets as of now: those of fetches that begin from now on.

    The first answer that comes may be of a fetch from before; the next one of its partition cannot be. What must reach
    the offsets is the position, not a record: the last ones of a partition may be markers. Offsets that the broker has
    removed since no fetch ever passes; after some answers without a record they count as read.
    """

    def __init__(self, source: KafkaSource, settings: Settings) -> None:
        self._source, self._settings = source, settings
        self._asked, self._answered_at, self._newest = now_ms(), time.monotonic(), 0
        self._ends: dict[int, int] = {}
        self._first: dict[int, int] = {}
        self._still: dict[TopicPartition, tuple[int, int, int, float]] = {}

    @property
    def ends(self) -> Mapping[int, int]:
        return self._ends

    async def reached(self) -> bool:
        """
        Raises:
            UnreachableError: the broker has been silent for too long.
        """
        consumer, now = self._source.consumer, time.monotonic()
        done = True
        for place in self._source.places:
            answered = consumer.last_poll_timestamp(place) or 0
            if answered < self._asked or answered == self._first.setdefault(place.partition, answered):
                done = False
                continue
            stable, high = consumer.last_stable_offset(place), consumer.highwater(place)
            end = stable if stable is not None and stable >= 0 else high
            if end is None:
                done = False
                continue
            end, position = self._ends.setdefault(place.partition, end), await self._source.at(place.partition)
            if position < end and not self._is_still(place, position, answered, now):
                done = False
        newest = max((consumer.last_poll_timestamp(place) or 0 for place in self._source.places), default=0)
        if newest != self._newest:
            self._newest, self._answered_at = newest, now
        if now - self._answered_at > SILENCE_SECONDS:
            raise UnreachableError(f"the broker has been silent for {SILENCE_SECONDS:g} s", path=self._settings.broker)
        return done

    def _is_still(self, place: TopicPartition, position: int, answered: int, now: float) -> bool:
        """Whether the broker has said often enough that nothing stands at this position."""
        at, answers, last, since = self._still.get(place, (-1, 0, 0, now))
        if at != position:
            answers, since = 0, now
        elif last != answered:
            answers += 1
        self._still[place] = (position, answers, answered, since)
        return answers >= EMPTY_ANSWERS and now - since >= EMPTY_SECONDS
