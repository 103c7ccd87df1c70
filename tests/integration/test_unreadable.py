"""A batch that unpacks to more than a lane takes, on a real Kafka: put aside, audited, or its lane stops alone."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import tempfile
import time
from asyncio.subprocess import PIPE, create_subprocess_exec
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from commands import SLUICE
from lanes_on_kafka import Workers, ended, ledger, load, read, until_read
from msgspec.structs import replace

from sluice.codecs.blocks import EventKind, read_quarantine
from sluice.topology.client import AsyncAdmittedReader
from sluice.topology.http.adapter_view import AdapterView
from sluice.topology.http.kept_view import KeptView
from sluice.topology.http.service_view import ServiceView
from sluice.topology.http.view_follower import Following
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.kafka.packed_batches import MOST_UNPACKED
from sluice.topology.kafka.topics import create_topics
from sluice.topology.observers.service import ObserverService
from sluice.topology.settings.settings import Settings, bootstrap

MIB = 1 << 20
MANY = MOST_UNPACKED // MIB + 1


@pytest.fixture
def settings(kafka: str, prefix: str) -> Settings:
    """Two partitions, under a prefix of the test's own."""
    return Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)


async def send_bomb(settings: Settings, partition: int, topic: str = "emissions") -> int:
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
        sent = await producer.send_batch(batch, settings.topic_prefix + topic, partition=partition)
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


class Bombed(NamedTuple):
    """Topics with a bomb in partition 0 of each: where, and how many emissions were sent before and behind."""

    settings: Settings
    at: dict[str, int]
    emissions: int


POSITIONS = "SELECT topic, partition, next_offset FROM positions"
BOMBED = ("emissions", "admitted", "verdicts", "grounded", "checkpoints")


@pytest.fixture
async def bombed(settings: Settings, tmp_path: Path) -> AsyncIterator[Bombed]:
    """Forty emissions and what became of them, then a bomb in each topic, then forty more.

    Between them the worker is another one: it takes over behind a bomb that stands where its checkpoints are.
    """
    await create_topics(settings)
    variables = {"SLUICE_CHECKPOINT_INTERVAL": "0.5", "SLUICE_STATE_DIR": str(tmp_path / "state")}
    with Workers(settings, tmp_path, **variables) as workers:
        before = workers.start()
        sent = await load(settings, 0, 40)
        await until_read(settings, sent)
        before.terminate()
        assert await ended(before) == 0
        at = {topic: await send_bomb(settings, 0, topic) for topic in BOMBED}
        behind = workers.start()
        await workers.until_taken_over(behind)
        await until_read(settings, sent + await load(settings, 40, 40))
        await workers.until_said(behind, "a batch cannot be read: it is passed over")
        assert behind.poll() is None
        yield Bombed(settings, at, 80)


def peak(command: Sequence[str], settings: Settings) -> tuple[int, str, str, int]:
    """Runs a command: its exit status, what it says on both streams, and how much memory it took at most, bytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            [*SLUICE, *command, "--broker", settings.broker, "--topic-prefix", settings.topic_prefix],
            stdout=out,
            stderr=said,
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        texts = [(file.seek(0), file.read().decode())[1] for file in (out, said)]
    return process.returncode, *texts, usage.ru_maxrss * 1024


async def test_no_reader_is_ended_by_a_bomb(bombed: Bombed, tmp_path: Path):
    """Each tells it, passes it over, and reads what stands before and behind."""
    settings = bombed.settings
    # `sluice consume`: a sentence, what else there is, and an exit status; in no more memory than without a bomb.
    *_, usual = await asyncio.to_thread(peak, ["consume", "inadmissible", "--all"], settings)
    status, lines, said, most = await asyncio.to_thread(peak, ["consume", "admitted", "--all"], settings)
    place = f"{settings.topic_prefix}admitted/0: the batch at offset {bombed.at['admitted']}"
    assert status == 1
    assert f"sluice: {place} is damaged: it unpacks to more than" in said
    assert said.rstrip().endswith("; it is passed over")
    admitted = {json.loads(line)["emission_id"] for line in lines.splitlines()}
    assert admitted == {f"em-{number}" for number in range(bombed.emissions) if number % 5}
    assert most < usual + MANY * MIB

    # A program's reader: counted, and the position lies behind it.
    async with AsyncAdmittedReader(settings, follow=False) as reader:
        words = [word async for word in reader]
        assert {word.record.emission_id for word in words} == admitted
        assert reader.unreadable == 1
        assert reader.position.offsets[0] >= bombed.at["admitted"] + MANY

    # The views of the console and of the adapter.
    for name, kind, table in (("console", ServiceView, "verdicts"), ("adapter", AdapterView, "")):
        following = Following(settings, tmp_path / name, kind)
        task = asyncio.create_task(following.run())
        try:
            await until_followed(tmp_path / name, kind, settings)
            if table:
                with sqlite3.connect(tmp_path / name) as db:
                    (known,) = db.execute(f"SELECT count(DISTINCT emission_id) FROM {table}").fetchone()
                assert known == len(admitted)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    # Observers: every emission is looked at.
    root = tmp_path / "root"
    root.mkdir()
    observing = replace(settings, root=str(root), observer="observer-9", app_id=f"{settings.app_id}-9")
    service = ObserverService(observing)
    await service.start()
    try:
        async with asyncio.timeout(150):
            while len(await observed_by(settings, "observer-9")) < bombed.emissions:  # noqa: ASYNC110 -- it asks Kafka
                await asyncio.sleep(0.5)
    finally:
        await service.stop()

    # An audit says in one sentence what it cannot read.
    done = await asyncio.to_thread(peak, ["audit"], settings)
    assert done[0] != 0
    assert "is damaged: it unpacks to more than" in done[1] + done[2]
    assert "Traceback" not in done[2]
    assert done[3] < usual + MANY * MIB


async def until_followed(path: Path, kind: type[KeptView], settings: Settings) -> None:
    """Waits until a view's positions are where its topics end."""
    ends = {(topic, lane): end for topic in kind.topics for lane, end in (await stable_ends(settings, topic)).items()}
    async with asyncio.timeout(150):
        while True:
            with suppress(sqlite3.Error), sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
                at = {(topic, lane): offset for topic, lane, offset in db.execute(POSITIONS)}
                if all(at.get(place, 0) >= end for place, end in ends.items() if end):
                    return
            await asyncio.sleep(0.2)


async def stable_ends(settings: Settings, topic: str) -> dict[int, int]:
    """Where each partition of a topic ends for who reads what is committed."""
    async with open_consumer(settings) as consumer:
        places = [TopicPartition(settings.topic_prefix + topic, number) for number in range(settings.partitions)]
        consumer.assign(places)
        return {place.partition: end for place, end in (await consumer.end_offsets(places)).items()}


async def observed_by(settings: Settings, observer: str) -> set[str]:
    """The emissions that an observer has spoken of."""
    found = [json.loads(one.value) for some in (await read(settings, "observations")).values() for one in some]
    return {one["subject"]["emission_id"] for one in found if one["observer"] == observer}
