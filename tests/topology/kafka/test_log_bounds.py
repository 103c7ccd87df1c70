"""Where logs begin and end, asked for many lanes in one request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Collection, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from sluice.topology.kafka import shared_clients as module
from sluice.topology.kafka.polling import Bounds
from sluice.topology.kafka.reconnect import paced
from sluice.topology.kafka.requests import TopicNow
from sluice.topology.kafka.shared_clients import ClientPool, LogBounds
from sluice.topology.settings.settings import Settings, bootstrap


def place(lane: int, topic: str = "t") -> TopicPartition:
    return TopicPartition(topic, lane)


class Brokers:
    """Leaders by lane (lane modulo 2), of which one may be silent; each says how often it was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[set[int]] = []
        self.topics_asked = 0
        self.silent: set[int] = set()
        self.told: defaultdict[int, int] = defaultdict(int)
        self.answers = asyncio.Event()
        cluster = SimpleNamespace(
            leader_for_partition=lambda one: one.partition % 2, partitions_for_topic=lambda topic: {0, 1}
        )
        self.pool: Any = SimpleNamespace(client=lambda: SimpleNamespace(client=SimpleNamespace(cluster=cluster)))
        monkeypatch.setattr(module, "log_spans", self.spans)
        monkeypatch.setattr(module, "topics_now", self.topics)

    async def spans(
        self, owner: Any, partitions: Collection[TopicPartition], seconds: float, *, committed: bool
    ) -> Mapping[TopicPartition, tuple[int, int]]:
        lanes = {one.partition for one in partitions}
        self.asked.append(lanes)
        answer = {one: (0, self.told[one.partition]) for one in partitions}
        if lanes & self.silent:
            await asyncio.Event().wait()
        await self.answers.wait()
        return {one: span for one, span in answer.items() if span[1] >= 0}

    async def topics(self, owner: Any, topics: Collection[str]) -> Mapping[str, TopicNow]:
        self.topics_asked += 1
        await self.answers.wait()
        return {topic: TopicNow(128, "id") for topic in topics}


async def test_what_comes_while_a_leader_is_asked_goes_into_its_next_request(monkeypatch: pytest.MonkeyPatch):
    """And into no request that went out before: its answer would be older than the question."""
    brokers = Brokers(monkeypatch)
    bounds = LogBounds(brokers.pool, committed=True)
    first = asyncio.create_task(bounds.of([place(0)]))
    await asyncio.sleep(0.01)
    brokers.told[0] = 5
    later = [asyncio.create_task(bounds.of([place(2 * lane)])) for lane in range(50)]
    await asyncio.sleep(0.01)
    brokers.answers.set()

    assert await first == {place(0): Bounds(128, 0, 0, "id")}
    assert (await asyncio.gather(*later))[0] == {place(0): Bounds(128, 0, 5, "id")}
    assert brokers.asked == [{0}, {2 * lane for lane in range(50)}]
    assert brokers.topics_asked == 2


async def test_a_silent_leader_holds_up_no_other_leader_s_lanes(monkeypatch: pytest.MonkeyPatch):
    brokers = Brokers(monkeypatch)
    brokers.silent, bounds = {1}, LogBounds(brokers.pool, committed=True)
    brokers.answers.set()
    waiting = asyncio.create_task(bounds.of([place(1)]))
    await asyncio.sleep(0)
    async with asyncio.timeout(60):
        await bounds.of([place(0), place(2)])
    assert not waiting.done()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_a_leader_that_does_not_say_it_is_asked_again_and_then_given_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "AGAIN_SECONDS", 0.01)
    brokers = Brokers(monkeypatch)
    brokers.answers.set()
    brokers.told[0] = -1  # not known to its leader
    bounds = LogBounds(brokers.pool, committed=True)
    asking = asyncio.create_task(bounds.of([place(0)]))
    await asyncio.sleep(0.05)
    brokers.told[0] = 3
    assert (await asking)[place(0)].end == 3

    brokers.told[0] = -1
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.05)
    with pytest.raises(KafkaTimeoutError, match="no leader says where t/0 ends"):
        await bounds.of([place(0)])


@pytest.fixture
async def pool(broker: str) -> AsyncIterator[ClientPool]:
    """With one producer's client."""
    pool = ClientPool()
    producer = paced(AIOKafkaProducer(bootstrap_servers=bootstrap(Settings(broker=broker)), enable_idempotence=True))
    pool.share(producer)
    with pytest.raises(KafkaConnectionError):
        pool.client()
    await producer.start()
    await producer.send_and_wait("bounds", b"x", partition=1)
    yield pool
    await producer.stop()


async def test_on_a_broker(pool: ClientPool):
    found = await LogBounds(pool, committed=False).of([place(0, "bounds"), place(1, "bounds")])

    assert [one[:3] for one in found.values()] == [(4, 0, 0), (4, 0, 1)]
    assert len({one.id for one in found.values()}) == 1
