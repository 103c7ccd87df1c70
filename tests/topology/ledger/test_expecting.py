"""A partition that will be read is asked for beforehand: what is read is the same, and nothing stays open."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sluice.codecs.errors import UnreachableError
from sluice.topology.engine import stored_topics
from sluice.topology.engine.interfaces import Logs
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.stored_topics import open_logs
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.settings.settings import Settings

LANE = 2


@pytest.fixture
async def settings(broker: str, request: pytest.FixtureRequest) -> Settings:
    """Of topics of the test's own, with three blocks in the lane's ledger."""
    prefix = re.sub(r"\W", "-", request.node.name) + "."
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix=prefix)
    await write(settings, 0, 3)
    return settings


async def write(settings: Settings, first: int, end: int, lane: int = LANE) -> None:
    """Adds blocks to a ledger."""
    ledger = KafkaLedger(settings, lane)
    await ledger.open()
    for number in range(first, end):
        await ledger.write(b"block-%d" % number, [])
    await ledger.close()


async def values(logs: Logs, start: int | None = None, end: int | None = None, lane: int = LANE) -> list[bytes | None]:
    """Of the ledger's records."""
    return [record.value async for batch in logs.batches("ledger", lane, start, end) for record in batch]


@pytest.fixture
def consumers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Those that are open."""
    open_ones: list[Any] = []

    @asynccontextmanager
    async def opened(*args: Any, **options: Any) -> AsyncIterator[Any]:
        async with open_consumer(*args, **options) as consumer:
            open_ones.append(consumer)
            try:
                yield consumer
            finally:
                open_ones.remove(consumer)

    for module in (stored_topics, connect):
        monkeypatch.setattr(module, "open_consumer", opened)
    return open_ones


@pytest.mark.parametrize("end", [0, 2, 3])
async def test_what_is_expected_is_read_as_if_it_were_not(settings: Settings, consumers: list[Any], end: int):
    """To the same end; the consumer that reads it is open before anybody reads, and it is the only one."""
    async with open_logs(settings) as logs:
        expected = await values(logs, end=end)
        logs.expect("ledger", LANE)
        logs.expect("ledger", LANE)
        assert await logs.range("ledger", LANE) == (0, 3)
        assert len(consumers) == 2  # beside the one that asks about topics
        found = list[bytes | None]()
        async for batch in logs.batches("ledger", LANE, end=end):
            assert len(consumers) == 2
            found += [record.value for record in batch]
        assert found == expected
        assert len(consumers) == (2 if end == 0 else 1)
    assert consumers == []
    assert len(expected) == end


async def test_only_who_reads_from_the_beginning_gets_what_was_expected(settings: Settings):
    """Another reading is one of its own; a second one from the beginning as well."""
    async with open_logs(settings) as logs:
        logs.expect("ledger", LANE)

        assert await values(logs, start=1, end=3) == [b"block-1", b"block-2"]
        assert [await values(logs, end=3) for _ in range(2)] == [[b"block-0", b"block-1", b"block-2"]] * 2


async def test_what_was_empty_when_it_was_expected_is_read_all_the_same(settings: Settings, consumers: list[Any]):
    """No consumer waits for nothing."""
    async with open_logs(settings) as logs:
        logs.expect("ledger", 1)
        assert await logs.range("ledger", 1) == (0, 0)
        assert len(consumers) == 1

        await write(settings, 0, 2, lane=1)
        assert await values(logs, end=2, lane=1) == [b"block-0", b"block-1"]
        assert await logs.range("ledger", 1) == (0, 2)


@pytest.mark.parametrize("waits", [True, False])
async def test_what_nobody_reads_is_closed(settings: Settings, consumers: list[Any], waits: bool):
    """Whether its consumer is there already or just being opened."""
    async with open_logs(settings) as logs:
        logs.expect("ledger", LANE)
        if waits:
            await logs.range("ledger", LANE)
        else:
            await asyncio.sleep(0)
    assert consumers == []
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_broker_that_is_gone_is_reported_where_it_is_read(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """And nowhere else: no task is left with an exception that nobody took."""
    said: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))

    @asynccontextmanager
    async def gone(*_: Any, **__: Any) -> AsyncIterator[Any]:
        raise UnreachableError("no Kafka broker answers")
        yield

    async with open_logs(settings) as logs:
        monkeypatch.setattr(connect, "open_consumer", gone)
        logs.expect("ledger", LANE)
        with pytest.raises(UnreachableError, match="no Kafka broker answers"):
            await values(logs, end=3)
        logs.expect("ledger", LANE)
        await asyncio.sleep(0.2)
    assert said == []
