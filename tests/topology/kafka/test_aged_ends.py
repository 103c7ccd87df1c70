"""A fetch answer's high watermark may be older than the truth: nothing is decided by it.

Through a wire proxy that ages it, as it is for a while after a new leader was elected.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import ageing_proxy
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from lanes_on_kafka import records

from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.engine.worker import Worker
from sluice.topology.kafka.connect import open_reader
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.partition_reader import nothing_follows, read_to_end
from sluice.topology.settings.settings import Settings

PLACE = TopicPartition("t", 0)
HELD = 2.5
"""Seconds for which the truth is withheld: longer than `EMPTY_SECONDS` of whoever reads, and than the horizon."""


@pytest.fixture
async def proxy() -> AsyncIterator[ageing_proxy.AgeingProxy]:
    with EmbeddedBroker() as broker:
        async with ageing_proxy.AgeingProxy(int(broker.address.rsplit(":", 1)[1])) as proxy:
            yield proxy


def settings(proxy: ageing_proxy.AgeingProxy, **options: Any) -> Settings:
    return Settings(broker=f"kafka://127.0.0.1:{proxy.port}", delivery="at-least-once", **options)


async def write(proxy: ageing_proxy.AgeingProxy, *sent: tuple[str, bytes | None, bytes, int | None]) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=f"127.0.0.1:{proxy.port}", acks="all")
    await producer.start()
    try:
        for topic, key, value, partition in sent:
            await producer.send_and_wait(topic, value, key=key, partition=partition)
    finally:
        await producer.stop()


async def test_a_log_is_read_to_the_end_that_its_leader_names(proxy: ageing_proxy.AgeingProxy):
    """A take-over that ended at the aged end would write a second block of a height that is there."""
    await write(proxy, *(("t", None, bytes([number]), 0) for number in range(10)))
    proxy.aged["t", 0] = 4
    asyncio.get_running_loop().call_later(HELD, proxy.aged.clear)

    async with open_reader(settings(proxy), PLACE) as consumer:
        read = [record.value async for record in read_to_end(consumer, PLACE, 30)]

    assert proxy.aged_answers
    assert read == [bytes([number]) for number in range(10)]


async def test_a_gap_is_one_only_by_the_leader_s_word(proxy: ageing_proxy.AgeingProxy):
    """Fetches that bring nothing before an aged end do not show that nothing is there."""
    await write(proxy, *(("t", None, bytes([number]), 0) for number in range(10)))
    proxy.aged["t", 0] = 4
    asyncio.get_running_loop().call_later(HELD, proxy.aged.clear)

    assert not await nothing_follows(settings(proxy), PLACE, 4)
    proxy.aged.clear()
    assert await nothing_follows(settings(proxy), PLACE, 10)


POLICY = """
[admissibility]
horizon = "1s"
trust = "observed"
"""


@pytest.mark.slow
async def test_evidence_beyond_an_aged_end_is_waited_for(proxy: ageing_proxy.AgeingProxy, tmp_path: Any):
    """Evidence that came in time, and that the fetched leader does not show yet: the watermark does not pass it."""
    ours = settings(proxy, state_dir=str(tmp_path), checkpoint_interval=0)
    worker = Worker(ours, policy=load_policy(POLICY, "test"))
    await worker.start()
    try:
        async with asyncio.timeout(120):
            await worker.wait_until_running()
            for lane in range(4):
                proxy.aged["observations", lane] = 0
            await write(proxy, *((topic, key, value, None) for topic, key, value in records(1)))
            await asyncio.sleep(HELD)
            assert worker._app.lanes.status
            held = [one.counters.get("lives", 0) for one in worker._app.lanes.status if one.fold == "adjudicate"]
            proxy.aged.clear()
            while not (found := await stored(ours)):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
    finally:
        await worker.stop()

    assert sum(held) == 1, "it waited"
    assert [(topic, one.get("status")) for topic, one in found] == [("admitted", "admitted")]


async def stored(ours: Settings) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for topic in ("admitted", "inadmissible"):
        for lane in range(4):
            place = TopicPartition(topic, lane)
            async with open_reader(ours, place) as consumer:
                found += [(topic, json.loads(one.value)) async for one in read_to_end(consumer, place, 5)]
    return found
