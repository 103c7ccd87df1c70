"""An input that was deleted and made again, on a real Kafka: its lanes say so, and read the new one once adopted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from aiokafka.admin import AIOKafkaAdminClient
from commands import run
from lanes_on_kafka import Workers, ledger, load, until_read

from sluice.codecs.blocks import INPUT_KINDS, EventKind
from sluice.codecs.ledger_statements import adopted_in, read_adoption
from sluice.topology.engine.topic_repair import named_ids
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


async def make_anew(settings: Settings, topic: str) -> None:
    """Deletes a topic, and makes it again."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap(settings))
    await admin.start()
    try:
        await admin.delete_topics([settings.topic_prefix + topic])
    finally:
        await admin.close()
    async with asyncio.timeout(60):
        while settings.topic_prefix + topic not in await create_topics(settings):  # noqa: ASYNC110 -- it asks Kafka
            await asyncio.sleep(0.5)


async def inputs_of(settings: Settings) -> dict[int, int]:
    """How many records of inputs stand in each lane's blocks."""
    chains = await ledger(settings)
    return {
        lane: sum(event.kind in INPUT_KINDS for block in chain for event in block.events)
        for lane, chain in chains.items()
    }


async def test_a_topic_made_anew_is_told_and_adopted(settings: Settings, tmp_path: Path):
    """While a worker runs: no record of the new topic is read from an old offset; after the adoption each is read."""
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        sent = await load(settings, 0, 40)
        await until_read(settings, sent)
        before, named = await inputs_of(settings), await named_ids(settings, "emissions")
        refused = run(settings, "topics", "adopt", "emissions")
        assert "emissions was not made anew" in refused.stderr

        await make_anew(settings, "emissions")
        await workers.until_said(worker, "emissions was deleted and made again")
        sent += await load(settings, 40, 120)
        await asyncio.sleep(3)
        assert await inputs_of(settings) == before

        done = run(settings, "topics", "adopt", "emissions")
        assert done.status == 0, done.stderr
        await until_read(settings, sent)
        assert worker.poll() is None

    (was,) = set(named)
    topic, told, id = done.stdout.split()
    assert (topic, told) == ("emissions", was)
    assert set(await named_ids(settings, "emissions")) == {id}
    for chain in (await ledger(settings)).values():
        adopting = [block for block in chain if adopted_in(block)]
        (event,) = (one for block in adopting for one in block.events if one.kind == EventKind.ADOPT)
        assert read_adoption(event.key, event.value).id == id
    report = json.loads(run(settings, "audit", "--json").stdout)
    assert report["divergences"] == []
    assert sum(lane["inputs"] for lane in report["lanes"]) == sum((await inputs_of(settings)).values())
