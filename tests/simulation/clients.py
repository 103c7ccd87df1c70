"""Kafka clients over the simulated broker.

What writes is aiokafka's own producer, with its transactions, retries and background tasks; only the connection below
it is ours. What reads stands in for aiokafka's consumer, with the calls that the ledgers make.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from types import SimpleNamespace
from typing import Any

import aiokafka.producer.producer
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    NodeNotReadyError,
    RequestTimedOutError,
)

import sluice.topology.engine.restore
import sluice.topology.kafka.connect
import sluice.topology.kafka.partition_reader
import sluice.topology.kafka.topic_reader
import sluice.topology.kafka.transactions
from sluice.topology.kafka.requests import End

from .broker import Broker, Place, handled
from .loop import OWNER

BACKOFF_SECONDS = 0.1
REQUEST_SECONDS = 40.0
_ON_THE_WAY = (NodeNotReadyError, KafkaConnectionError, RequestTimedOutError)


class Producer(AIOKafkaProducer):
    """aiokafka's own, which does not complain when a killed process has left it open."""

    def __del__(self) -> None:
        pass


class Connection:
    """Stands for aiokafka's client below a producer."""

    def __init__(self, broker: Broker) -> None:
        self._broker, self._client_id = broker, "simulated"
        lanes = set(range(broker.lanes))
        self.cluster = SimpleNamespace(
            leader_for_partition=lambda place: 0,
            partitions_for_topic=lambda topic: lanes,
            available_partitions_for_topic=lambda topic: lanes,
        )

    async def bootstrap(self) -> None:
        if process := OWNER.get():
            self._broker.openings.append((asyncio.get_running_loop().time(), process.name, process.heard_at))
        if self._broker.network.away:
            raise KafkaConnectionError("nobody answers")

    async def close(self) -> None:
        pass

    async def ready(self, node: int, group: Any = None) -> bool:
        return not self._broker.network.away

    async def coordinator_lookup(self, kind: int, key: str) -> int:
        if self._broker.network.away:
            raise NodeNotReadyError
        return 0

    def force_metadata_update(self) -> asyncio.Future[bool]:
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(BACKOFF_SECONDS, _done, future)
        return future

    async def _wait_on_metadata(self, topic: str) -> None:
        pass

    async def _maybe_wait_metadata(self) -> None:
        pass

    async def send(self, node: int, request: Any, group: Any = None) -> Any:
        """A request of the transactional producer, and the answer in aiokafka's form."""
        answer: Any = getattr(self, "_" + type(request).__name__.removesuffix("Request"))(request)
        return await answer

    async def _ask(self, do: Any, *args: Any, may_be_late: bool = True) -> tuple[Any, int]:
        try:
            return await self._broker.network.ask(handled(do, *args), may_be_late=may_be_late), 0
        except _ON_THE_WAY:
            raise
        except KafkaError as error:
            return None, error.errno

    async def _InitProducerId(self, request: Any) -> Any:
        timeout = request._transaction_timeout_ms / 1000
        found, code = await self._ask(self._broker.take_over, request._transactional_id, timeout)
        producer, epoch = found or (-1, -1)
        return SimpleNamespace(error_code=code, producer_id=producer, producer_epoch=epoch)

    async def _AddPartitionsToTxn(self, request: Any) -> Any:
        places = sorted((topic, number) for topic, numbers in request._topics for number in numbers)
        _, code = await self._ask(self._broker.add, *_who(request), places)
        errors: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for topic, number in places:
            errors[topic].append((number, code))
        return SimpleNamespace(errors=list(errors.items()))

    async def _AddOffsetsToTxn(self, request: Any) -> Any:
        _, code = await self._ask(self._broker.add_group, *_who(request), request._group_id)
        return SimpleNamespace(error_code=code)

    async def _TxnOffsetCommit(self, request: Any) -> Any:
        if (process := OWNER.get()) and process.is_cut_off:
            raise NodeNotReadyError
        offsets = {tuple(partition): at for partition, at in request.offsets.items()}
        group, member, generation, _ = request.member
        who = (request.transactional_id, *request.producer, group, (member, generation))
        # Never late: aiokafka speaks the protocol in which a late one would count in the next transaction.
        _, code = await self._ask(self._broker.commit_offsets, *who, offsets, may_be_late=False)
        return SimpleNamespace(topics=[(topic, [(number, code, {})], {}) for topic, number in request.offsets])

    async def _EndTxn(self, request: Any) -> Any:
        # Never late, for the same reason: it would end the next transaction.
        commit = bool(request._transaction_result)
        _, code = await self._ask(self._broker.end, *_who(request), commit, may_be_late=False)
        return SimpleNamespace(error_code=code)

    async def _Produce(self, request: Any) -> Any:
        batches = [(topic, number, bytes(data)) for topic, parts in request._topics for number, data in parts]
        name, broker = request._transactional_id, self._broker
        led = [broker.partition(topic, number).epoch for topic, number, _ in batches]

        def produce() -> list[tuple[str, list[Any]]]:
            done: list[tuple[str, list[Any]]] = []
            for topic, number, data in batches:
                code, offset, at = 0, -1, -1
                try:
                    offset, at = broker.produce(name, topic, number, data)
                except KafkaError as error:
                    code = error.errno
                done.append((topic, [(number, code, offset, at, 0)]))
            return done

        topics = await broker.network.ask(handled(produce))
        if led != [broker.partition(topic, number).epoch for topic, number, _ in batches]:
            raise KafkaConnectionError("who took this is no leader any more, and was not heard")
        return SimpleNamespace(API_VERSION=7, topics=topics)


def _who(request: Any) -> tuple[str, int, int]:
    return request._transactional_id, request._producer_id, request._producer_epoch


def _done(future: asyncio.Future[bool]) -> None:
    if not future.done():
        future.set_result(True)


class Consumer:
    """Stands for aiokafka's consumer of one assigned partition, without members of a group."""

    def __init__(self, broker: Broker, **options: Any) -> None:
        self._broker = broker
        self._committed = options.get("isolation_level") == "read_committed"
        self._group: str | None = options.get("group_id")
        self._wait: float = options.get("fetch_max_wait_ms", 500) / 1000  # seconds; aiokafka's own default
        self._place: Place = ("", 0)
        self._position: int | None = None
        self._end: int | None = None
        self._answered: int | None = None
        self._fetching: asyncio.Future[Any] | None = None
        self._paused = False

    async def start(self) -> None:
        await self._broker.network.ask(handled(lambda: None))

    async def stop(self) -> None:
        self._fetching = None

    def assign(self, places: list[TopicPartition]) -> None:
        (place,) = places
        self._place, self._position, self._end = (place.topic, place.partition), None, None

    def pause(self, place: TopicPartition) -> None:
        self._paused = True

    def seek(self, place: TopicPartition, offset: int) -> None:
        self._position, self._fetching = offset, None

    async def seek_to_beginning(self, place: TopicPartition) -> None:
        self.seek(place, (await self._insist(self._broker.bounds, [self._place]))[self._place][0])

    async def getmany(self, *places: TopicPartition, timeout_ms: int) -> dict[TopicPartition, list[Any]]:
        """What comes within that time; a fetch that takes longer goes on, and is there for the next call."""
        assert self._position is not None
        assert not self._paused
        fetching = self._fetching
        if fetching is None:
            fetching = self._fetching = self._fetch(self._position)
        await done_within(fetching, timeout_ms / 1000)
        if not fetching.done() or self._fetching is not fetching:
            return {}
        self._fetching, answer = None, fetching.result()
        if isinstance(answer, KafkaError):
            await asyncio.sleep(BACKOFF_SECONDS)
            return {}
        read = answer[self._place]
        if isinstance(read, KafkaError):
            raise read
        self._position, self._end = read.next, read.end
        process = OWNER.get()
        self._answered = process.now_ms() if process else 0
        return {TopicPartition(*self._place): read.records} if read.records else {}

    def _fetch(self, start: int) -> asyncio.Future[Any]:
        broker = self._broker

        def fetch(answer: Any) -> None:
            broker.fetch({self._place: start}, 100, self._wait, self._committed, answer)

        return broker.network.post(fetch)

    async def position(self, place: TopicPartition) -> int:
        assert self._position is not None
        return self._position

    def highwater(self, place: TopicPartition) -> int | None:
        return self._end

    async def log_end(self, place: TopicPartition, *, committed: bool = False) -> End | None:
        """Where the log ends, in the leader's own words; None where it does not answer."""
        try:
            found = await self._broker.network.ask(handled(self._broker.ends, [self._place], committed))
        except KafkaError:
            return None
        return found[self._place]

    def last_poll_timestamp(self, place: TopicPartition) -> int | None:
        return self._answered

    async def beginning_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        found = await self._insist(self._broker.bounds, [self._place])
        return dict.fromkeys(places, found[self._place][0])

    async def end_offsets(self, places: list[TopicPartition]) -> dict[TopicPartition, int]:
        found = await self._insist(self._broker.bounds, [self._place])
        return dict.fromkeys(places, found[self._place][1])

    async def committed(self, place: TopicPartition) -> int | None:
        return await self._insist(self._broker.committed, self._group, (place.topic, place.partition))

    async def _insist(self, do: Any, *args: Any) -> Any:
        return await insist(self._broker, do, *args)


async def done_within(future: asyncio.Future[Any], seconds: float) -> None:
    """Waits for a future, or so long."""
    if future.done():
        return
    loop = asyncio.get_running_loop()
    waiter = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    future.add_done_callback(wake)
    timer = loop.call_later(seconds, wake)
    try:
        await waiter
    finally:
        timer.cancel()
        future.remove_done_callback(wake)


async def _no_end(*_: Any) -> None:
    """Nobody says where a log ends: what a claim's marker says is for monitors."""


async def insist(broker: Broker, do: Any, *args: Any) -> Any:
    """Asks until there is an answer, as aiokafka's consumer does.

    Raises:
        KafkaTimeoutError: there is none for a long time.
    """
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            while True:
                try:
                    return await broker.network.ask(handled(do, *args))
                except KafkaError:
                    await asyncio.sleep(BACKOFF_SECONDS)
    except TimeoutError:
        raise KafkaTimeoutError from None


async def take_stored(consumer: Consumer, place: TopicPartition, patience: float, *_: Any) -> list[Any]:
    """What has come of a partition that is read on its own."""
    return (await consumer.getmany(place, timeout_ms=int(patience * 1000))).get(place, [])


def substitutes(broker: Broker) -> list[tuple[Any, str, Any]]:
    """What stands for the real clients while a run lasts: (module, name, substitute)."""
    return [
        (aiokafka.producer.producer, "AIOKafkaClient", lambda **_: Connection(broker)),
        (sluice.topology.kafka.transactions, "AIOKafkaProducer", Producer),
        (sluice.topology.kafka.transactions, "log_end", _no_end),
        (
            sluice.topology.kafka.partition_reader,
            "log_end",
            lambda consumer, place, **how: consumer.log_end(place, **how),
        ),
        (sluice.topology.kafka.partition_reader, "take_stored", take_stored),
        (sluice.topology.kafka.topic_reader, "take_stored", take_stored),
        (sluice.topology.engine.restore, "take_stored", take_stored),
        (sluice.topology.kafka.connect, "AIOKafkaConsumer", lambda **options: Consumer(broker, **options)),
    ]
