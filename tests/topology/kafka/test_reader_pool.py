"""Consumers that lanes read with, one lane after another."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import NodeNotReadyError

from sluice.codecs.errors import UnreachableError
from sluice.topology.kafka import shared_clients as module
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.partition_reader import read_to_end
from sluice.topology.kafka.shared_clients import ReaderPool
from sluice.topology.settings.settings import Settings

LANES = range(3)


@pytest.fixture
async def settings(broker: str, request: pytest.FixtureRequest) -> Settings:
    """With two topics of the test's own, whose lanes have two records each."""
    prefix = re.sub(r"\W", "-", request.node.name) + "."
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix=prefix)
    async with open_producer(settings) as producer:
        for topic in ("a", "b"):
            for lane in LANES:
                for number in range(2):
                    value = f"{topic}-{lane}-{number}".encode()
                    await producer.send_and_wait(settings.topic_prefix + topic, value, partition=lane)
    return settings


@pytest.fixture
async def pool(settings: Settings, opened: list[Any]) -> AsyncIterator[ReaderPool]:
    pool = ReaderPool(settings)
    yield pool
    await pool.close()
    assert all(one._closed for one in opened)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The consumers that were opened."""
    found: list[Any] = []
    real = module.open_reader

    @asynccontextmanager
    async def recorded(*args: Any) -> AsyncIterator[Any]:
        async with real(*args) as consumer:
            found.append(consumer)
            yield consumer

    monkeypatch.setattr(module, "open_reader", recorded)
    return found


async def read(pool: ReaderPool, settings: Settings, topic: str, lane: int, start: int | None = None) -> list[str]:
    place = TopicPartition(settings.topic_prefix + topic, lane)
    async with pool.reader(place, start) as consumer:
        return [record.value.decode() async for record in read_to_end(consumer, place, 10)]


async def test_one_reader_reads_log_after_log(pool: ReaderPool, settings: Settings, opened: list[Any]):
    """Each from where it is asked to, the same log again as well; nothing of the last one comes."""
    for topic, lane, start, expected in (
        *[("a", lane, None, [f"a-{lane}-0", f"a-{lane}-1"]) for lane in LANES],
        ("a", 0, 1, ["a-0-1"]),
        ("a", 0, None, ["a-0-0", "a-0-1"]),
        ("b", 2, None, ["b-2-0", "b-2-1"]),
        ("a", 1, 0, ["a-1-0", "a-1-1"]),
    ):
        assert await read(pool, settings, topic, lane, start) == expected
    assert len(opened) == 1


@pytest.mark.parametrize(("error", "raised"), [(ValueError(), ValueError), (NodeNotReadyError(), UnreachableError)])
async def test_one_that_failed_reads_nothing_more(
    pool: ReaderPool, settings: Settings, opened: list[Any], error: Exception, raised: type[Exception]
):
    """Nor one whose reading was cut short: what was under way could come later."""
    with pytest.raises(raised):
        async with pool.reader(TopicPartition(settings.topic_prefix + "a", 0)):
            raise error
    assert opened[0]._closed
    assert await read(pool, settings, "a", 1) == ["a-1-0", "a-1-1"]
    assert len(opened) == 2


async def test_many_share_few_and_long_readings_hold_up_none(
    pool: ReaderPool, settings: Settings, opened: list[Any], monkeypatch: pytest.MonkeyPatch
):
    found = await asyncio.gather(*(read(pool, settings, "a", lane) for lane in [*LANES] * 10))
    assert found == [[f"a-{lane}-0", f"a-{lane}-1"] for lane in [*LANES] * 10]
    assert len(opened) <= module.AT_ONCE

    monkeypatch.setattr(module, "LATE_SECONDS", 0.01)
    long = [pool.reader(TopicPartition(settings.topic_prefix + "a", 0)) for _ in range(module.AT_ONCE)]
    for reading in long:
        await reading.__aenter__()
    assert await read(pool, settings, "b", 0) == ["b-0-0", "b-0-1"]
    for reading in long:
        await reading.__aexit__(None, None, None)


async def test_one_without_work_is_closed(
    pool: ReaderPool, settings: Settings, opened: list[Any], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "KEPT_SECONDS", 0.01)
    await read(pool, settings, "a", 0)
    async with asyncio.timeout(60):
        while not opened[0]._closed:  # noqa: ASYNC110 -- aiokafka tells nobody
            await asyncio.sleep(0.01)
    assert await read(pool, settings, "a", 0) == ["a-0-0", "a-0-1"]
