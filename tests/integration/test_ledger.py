"""A lane's ledger on a real Kafka: one transaction a block, one writer a lane."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from lanes_on_kafka import read
from msgspec.structs import replace

from sluice.codecs.blocks import Output
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import KEY as CLAIM
from sluice.topology.engine import ledger as module
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.topic_reader import records_between
from sluice.topology.kafka.topics import create_topics
from sluice.topology.kafka.transactions import FencedError, ForeignWriterError, TooLargeError
from sluice.topology.settings.settings import Settings, bootstrap

ONE = [Output("admitted", b"k", b"v", [("ce_id", b"x")])]


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics of the test's own, made."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), transaction_timeout=20.0)
    await create_topics(settings)
    return settings


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[KafkaLedger]:
    """The open ledger of lane 0."""
    one = KafkaLedger(settings, 0)
    await one.open()
    yield one
    await one.close()


async def blocks(ledger: KafkaLedger) -> list[bytes]:
    """All committed blocks."""
    return [data async for _, data in ledger.blocks()]


async def admitted(settings: Settings) -> list[bytes]:
    """What a reader sees of lane 0's partition of `admitted`."""
    return [one.value for one in (await read(settings, "admitted"))[0]]


async def test_block_and_outputs_are_committed_together(settings: Settings, ledger: KafkaLedger):
    """Both are there once the write is done, and the broker tells its own time for the block."""
    written = await ledger.write(b"block", ONE)

    assert await blocks(ledger) == [b"block"]
    assert await admitted(settings) == [b"v"]
    assert written.appended_at is not None


async def test_the_next_owner_fences_the_last_one(settings: Settings, ledger: KafkaLedger):
    """From the moment that a ledger is opened anew, nobody else writes to it."""
    await ledger.write(b"first", [])
    other = KafkaLedger(settings, 0)
    await other.open()

    with pytest.raises(FencedError):
        await ledger.write(b"zombie", ONE)
    await other.write(b"second", [])

    assert await blocks(other) == [b"first", b"second"]
    assert await admitted(settings) == []
    await other.close()


async def test_what_a_crash_left_open_is_aborted_by_the_next_owner(settings: Settings, ledger: KafkaLedger):
    """A block that was sent and not committed is not there, and hides nothing."""
    producer = ledger._producer._producer
    assert producer is not None
    await producer.begin_transaction()
    await (await ledger._producer._send_blocks(producer, [b"half"]))[0].future
    other = KafkaLedger(settings, 0)
    await other.open()

    assert await blocks(other) == []
    await other.write(b"whole", [])
    assert await blocks(other) == [b"whole"]
    await other.close()


async def test_an_output_that_the_broker_refuses_takes_the_block_with_it(settings: Settings, ledger: KafkaLedger):
    """Nothing is committed without one of its outputs."""
    incompressible = b"".join(n.to_bytes(4, "big") for n in range(0, 2**32, 2**32 // 1_300_000))

    with pytest.raises(TooLargeError):
        await ledger.write(b"block", [*ONE, Output("admitted", b"k", incompressible, [])])
    await ledger.close()
    await ledger.open()

    assert await blocks(ledger) == []
    assert await admitted(settings) == []


async def test_a_foreign_transaction_that_hangs_stops_loudly(
    settings: Settings, ledger: KafkaLedger, monkeypatch: pytest.MonkeyPatch
):
    """It may hide newer blocks: a lane must not run on what it can see."""
    monkeypatch.setattr(module, "GRACE_SECONDS", 0.0)
    stranger = AIOKafkaProducer(
        bootstrap_servers=bootstrap(settings),
        transactional_id=f"stranger-{settings.app_id}",
        transaction_timeout_ms=60_000,
    )
    await stranger.start()
    await stranger.begin_transaction()
    await stranger.send_and_wait(settings.topic_prefix + "ledger", b"hidden", partition=0)

    with pytest.raises(DoesNotHoldError, match="a transaction hangs over the ledger of lane 0"):
        await blocks(KafkaLedger(replace(settings, transaction_timeout=1.0), 0))

    await stranger.abort_transaction()
    assert await blocks(ledger) == []
    await stranger.stop()


@pytest.mark.parametrize("fate", ["committed", "aborted", "open", "outside of a transaction"])
async def test_a_block_behind_a_foreign_one_is_not_committed(settings: Settings, ledger: KafkaLedger, fate: str):
    """A producer under another name fences nobody: the lane sees the hole, stops, and has written nothing beside it."""
    await ledger.write(b"first", ONE)
    name = None if fate.startswith("outside") else f"stranger-{settings.topic_prefix}"
    async with open_producer(settings, transactional_id=name) as stranger:
        if name is not None:
            await stranger.begin_transaction()
        await stranger.send_and_wait(settings.topic_prefix + "ledger", b"foreign", partition=0)
        if fate == "committed":
            await stranger.commit_transaction()
        elif fate == "aborted":
            await stranger.abort_transaction()

        with pytest.raises(ForeignWriterError, match="another producer writes to this ledger"):
            await ledger.write(b"second", ONE)
        await ledger.close()
        if fate == "open":
            await stranger.abort_transaction()

    stood = [b"first", b"foreign"] if fate in ("committed", "outside of a transaction") else [b"first"]
    assert await blocks(KafkaLedger(settings, 0)) == stood
    assert await admitted(settings) == [b"v"]


async def test_what_is_no_foreign_block_stops_nobody(settings: Settings, ledger: KafkaLedger):
    """Neither a claim that a stranger wrote, nor a transaction of the lane's own that failed before it was claimed."""
    await ledger.write(b"first", [])
    async with open_producer(settings) as stranger:
        await stranger.send_and_wait(settings.topic_prefix + "ledger", b"no claim", CLAIM, 0)
    second = await ledger.write(b"second", [])
    producer = ledger._producer._producer
    assert producer is not None
    await producer.begin_transaction()
    half = await (await ledger._producer._send_blocks(producer, [b"half"]))[0].future
    await ledger.close()
    await ledger.open()
    await ledger.write(b"third", [])
    await ledger.write(b"fourth", [])

    assert await blocks(ledger) == [b"first", b"second", b"third", b"fourth"]
    place = TopicPartition(settings.topic_prefix + "ledger", 0)
    found = await records_between(settings, place, second.offset, half.offset + 1)
    assert [one.value for one in found] == [b"second", b"half"], "what is aborted is read as well"
