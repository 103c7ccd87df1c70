"""What has gone wrong for our peers, where it takes a real Kafka to go wrong (see
tests/topology/worker/test_incidents.py).
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
from pathlib import Path
from typing import Any, cast

import pytest
from aiokafka import TopicPartition
from aiokafka.admin import NewTopic, RecordsToDelete
from aiokafka.errors import NodeNotReadyError
from lanes_on_kafka import Workers, assert_exactly_once, ended, ledger, load, until_read
from msgspec.structs import replace
from scripted_lane import World

from sluice.codecs.blocks import EventKind, Output, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.record_batches import pack_records
from sluice.topology.engine import lane_control
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.kafka.connect import open_admin, open_consumer, open_producer
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.packed_batches import Packed
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


@pytest.fixture
def settings(kafka: str, prefix: str) -> Settings:
    """Two partitions, under a prefix of the test's own."""
    return Settings(
        broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2, transaction_timeout=20.0
    )


async def make(settings: Settings, **max_message_bytes: int) -> None:
    """The topics; those that are named take no batch above so many bytes."""
    async with open_admin(settings) as admin:
        topics = [
            NewTopic(
                settings.topic_prefix + topic, settings.partitions, 1, topic_configs={"max.message.bytes": str(most)}
            )
            for topic, most in max_message_bytes.items()
        ]
        await admin.create_topics(topics)
    await create_topics(settings)


async def test_aiokafka_1145_a_coordinator_that_went_away(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """There: the client sent to a coordinator that was gone, again and again, and its transaction hung for ever.

    Here: the lane gives the transaction up in time, takes itself over with a new producer, and nothing is lost or
    doubled.
    """
    monkeypatch.setattr(lane_control, "RETRY_SECONDS", (0.1,))
    await make(settings)
    world = World()
    chain = KafkaLedger(replace(settings, transaction_timeout=2.0), 0)  # a slow machine may need a few tries
    world.make(ledger=chain)
    async with world.running():
        await world.until(lambda: world.lane.status.height == 0)
        stuck: Any = chain._producer._producer

        async def send(*_: Any, **__: Any) -> Any:
            raise NodeNotReadyError("the broker is gone")

        monkeypatch.setattr(stuck.client, "send", send)
        world.inputs.send("emissions", b"a", b"b")
        async with asyncio.timeout(150):
            while world.lane.status.height < 1:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert chain._producer._producer is not stuck

    reader = KafkaLedger(settings, 0)
    blocks = [unseal(data) async for _, data in reader.blocks()]
    assert [event.value for block in blocks[1:] for event in block.events] == [b"a", b"b"]


async def test_quix_1017_a_ledger_that_ends_with_markers(settings: Settings):
    """There: recovery waited for an offset that held a marker, or nothing any more.

    Here: a ledger that ends with the markers of a commit and of an abort is read to its end at once, and so is one of
    which nothing but its end is left.
    """
    await make(settings)
    chain = KafkaLedger(settings, 0)
    await chain.open()
    await chain.write(b"block", [])
    producer = chain._producer._producer
    assert producer is not None
    await producer.begin_transaction()
    await (await chain._producer._send_blocks(producer, [b"aborted"]))[0].future
    await producer.abort_transaction()
    async with asyncio.timeout(60):  # there it was for ever
        assert [data async for _, data in chain.blocks()] == [b"block"]
        assert [data async for _, data in chain.blocks(1)] == []
        place = TopicPartition(settings.topic_prefix + "ledger", 0)
        async with open_admin(settings) as admin:
            await admin.delete_records({place: RecordsToDelete(before_offset=-1)})
        assert [data async for _, data in chain.blocks(4)] == []
        with pytest.raises(DoesNotHoldError, match="head was deleted"):  # there is no snapshot
            await anext(aiter(chain.blocks()))
    await chain.close()


async def test_quix_1114_a_lane_that_is_told_to_stops(settings: Settings, tmp_path: Path):
    """There: the app lived on without working. Here: with `on_lost_input` the lanes say so in one sentence, and stop.

    The ledger has the gap nevertheless: who starts the worker again has decided to go on.
    """
    await make(settings)
    with Workers(settings, tmp_path, SLUICE_ON_LOST_INPUT="stop") as workers:
        first = workers.start()
        await until_read(settings, await load(settings, 0, 40))
        first.terminate()
        assert await ended(first) == 0
        await load(settings, 40, 40)
        places = [TopicPartition(settings.topic_prefix + "emissions", lane) for lane in range(2)]
        async with open_consumer(settings) as consumer, open_admin(settings) as admin:
            ends = await consumer.end_offsets(places)
            await admin.delete_records({place: RecordsToDelete(before_offset=end) for place, end in ends.items()})
        second = workers.start()

        await workers.until_said(second, "retention has deleted inputs that were not read", 2)
        assert "of the ledger has recorded it" in workers.said(second)
        assert second.poll() is None
    gaps = [
        e for chain in (await ledger(settings)).values() for b in chain for e in b.events if e.kind == EventKind.GAP
    ]
    assert gaps


async def test_blocks_that_the_topics_do_not_take_are_made_smaller(settings: Settings, tmp_path: Path):
    """Topics that take less than ours are declared to: the lanes go on with smaller blocks and batches."""
    await make(settings, ledger=12_000, admitted=6_000)
    with Workers(settings, tmp_path) as workers:
        sent = await load(settings, 0, 300)
        worker = workers.start()

        await assert_exactly_once(settings, sent)
        assert "closing smaller blocks" in workers.said(worker)
        assert worker.poll() is None


async def test_a_record_that_no_topic_takes_stops_its_lane_by_name(settings: Settings, tmp_path: Path):
    """One sentence with the record's source; the worker and its other lanes go on."""
    await make(settings, admitted=300)
    with Workers(settings, tmp_path) as workers:
        await load(settings, 1, 4)
        worker = workers.start()

        await workers.until_said(worker, "the lane must not go on; the worker's others do")
        said = workers.said(worker)
        assert re.search(
            r"(emissions|observations)/\d/\d+: the broker refuses what one record folds to, for admit", said
        )
        assert worker.poll() is None


async def test_a_worker_ends_within_five_seconds_beside_a_frozen_broker(prefix: str, tmp_path: Path):
    """SIGSTOP of the broker under load, then SIGTERM: what cannot be committed is let go of."""
    with RealBroker() as broker:
        settings = Settings(broker=broker.address, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
        await create_topics(settings)
        with Workers(settings, tmp_path) as workers:
            worker = workers.start()
            await workers.until_taken_over(worker)
            under_load = asyncio.create_task(load(settings, 0, 1000, 3))
            await asyncio.sleep(1.5)
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGSTOP)
            try:
                worker.terminate()
                await ended(worker)
            finally:
                os.kill(broker.pid, signal.SIGCONT)
            sent = await under_load
            workers.start()
            await assert_exactly_once(settings, sent)


class Forged(Packed):
    """A batch that is not as this client makes it."""

    def __init__(self, records: bytes, count: int) -> None:
        super().__init__(b"", count, is_transactional=False)
        self._records = records


async def test_no_lane_follows_what_its_broker_did_not_look_at(settings: Settings, tmp_path: Path):
    """An offset that lies, a length of -2: Kafka takes both, and each record has its event at its own offset."""
    await create_topics(settings)
    values = [b"one", b"two", b"three"]
    plain, _ = pack_records([Output("emissions", b"k", value, []) for value in values], 0, 10**6)
    second = b"\x14\0\0\2\2k\6two\0"
    assert second in plain
    lying = plain.replace(second, second[:3] + b"\x7e" + second[4:])
    null = plain.replace(second, b"\x0e\0\0\2\2k\3\0")
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        topic = settings.topic_prefix + "emissions"
        async with open_producer(settings) as producer:
            for records in (lying, null):
                await (await producer.send_batch(cast(Any, Forged(records, 3)), topic, partition=0))
            await producer.send_and_wait(topic, b"last", partition=0)
        blocks = await until_read(settings, 7)
        events = [event for block in blocks[0] for event in block.events if event.kind == EventKind.RECORD]

        assert [event.offset for event in events] == list(range(7))
        assert [event.value for event in events] == [*values, b"one", None, b"three", b"last"]
        assert worker.poll() is None
