"""A batch that unpacks to more than a lane takes, on a real Kafka: put aside, audited, or its lane stops alone."""

from __future__ import annotations

import asyncio
import json
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from commands import SLUICE
from lanes_on_kafka import Workers, ledger, load, read, until_read

from sluice.codecs.blocks import EventKind
from sluice.codecs.quarantine import read_quarantine
from sluice.topology.kafka.batches.unpacking import MOST_UNPACKED
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

MIB = 1 << 20
MANY = MOST_UNPACKED // MIB + 1


@pytest.fixture
def settings(kafka: str, prefix: str) -> Settings:
    """Two partitions, under a prefix of the test's own."""
    return Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)


async def send_bomb(settings: Settings, partition: int) -> int:
    """Sends a batch of 129 MiB of zeros, which the wire and the broker see next to nothing of; returns its offset."""
    producer = AIOKafkaProducer(
        bootstrap_servers=bootstrap(settings),
        compression_type="zstd",
        max_batch_size=2 * MANY * MIB,
        max_request_size=2 * MANY * MIB,
        request_timeout_ms=120_000,
    )
    await producer.start()
    try:
        batch = producer.create_batch()
        for _ in range(MANY):
            assert batch.append(key=b"k", value=bytes(MIB), timestamp=time.time_ns() // 1_000_000) is not None
        sent = await producer.send_batch(batch, settings.topic_prefix + "emissions", partition=partition)
        return (await sent).offset
    finally:
        await producer.stop()


async def test_a_bomb_is_put_aside_and_its_lane_goes_on(settings: Settings, tmp_path: Path):
    """An event of the ledger stands for it, a dead letter names it, what stands behind it is read, an audit holds."""
    await create_topics(settings)
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        sent = await load(settings, 0, 40)
        await until_read(settings, sent)
        offset = await send_bomb(settings, 0)
        await until_read(settings, sent + await load(settings, 40, 40))
        await workers.until_said(worker, "a batch cannot be read: the ledger records it, and the lane goes on")
        assert worker.poll() is None

    events = [event for chain in (await ledger(settings)).values() for block in chain for event in block.events]
    (event,) = (one for one in events if one.kind == EventKind.QUARANTINE)
    told = read_quarantine(event)
    assert (event.offset, told.next, told.reason) == (offset, offset + MANY, "too-large")
    letters = [one for some in (await read(settings, "dead-letters")).values() for one in some]
    headers = [dict(one.headers) for one in letters]
    assert [(one["sluice-reason"], one["sluice-source"]) for one in headers] == [
        (b"unreadable-batch", f"emissions/0/{offset}".encode())
    ]
    audit = await create_subprocess_exec(
        *SLUICE, "audit", "--json", env=workers._environment, cwd=tmp_path, stdout=PIPE
    )
    report = json.loads((await audit.communicate())[0])
    assert report["divergences"] == []
    assert sum(lane["counters"].get("quarantined", 0) for lane in report["lanes"]) == MANY


async def test_where_the_settings_say_so_its_lane_stops_alone(settings: Settings, tmp_path: Path):
    """With a sentence that says what to do; nothing of it is recorded, and the other lanes go on."""
    await create_topics(settings)
    with Workers(settings, tmp_path, SLUICE_ON_POISON="stop") as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        await send_bomb(settings, 0)
        await workers.until_said(worker, 'set on_poison = \\"go-on\\"')
        await load(settings, 0, 40)
        async with asyncio.timeout(150):
            while not sum(len(one.events) for one in (await ledger(settings))[1][1:]):  # noqa: ASYNC110 -- it asks Kafka
                await asyncio.sleep(0.5)
        assert worker.poll() is None

    events = [event for chain in (await ledger(settings)).values() for block in chain for event in block.events]
    assert EventKind.QUARANTINE not in {event.kind for event in events}
