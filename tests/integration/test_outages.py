"""What an outage looks like on a real Kafka: topics that grow, are cut or gone, another producer's transaction."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from commands import run
from lanes_on_kafka import Workers, ended, load, records, until_read
from ports import free_port

from sluice.topology.client import AsyncEmitter
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


@asynccontextmanager
async def asking(settings: Settings) -> AsyncIterator[AIOKafkaAdminClient]:
    """An admin client of a stranger's."""
    async with open_admin(settings) as admin:
        yield admin


def page(port: int, path: str) -> str:
    """What a worker serves; of `/readyz` also why it is not ready."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.read().decode()


async def until(true: Callable[[], object], seconds: float = 90) -> None:
    """Waits until something is so."""
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(true):  # noqa: ASYNC110 -- it asks a worker
            await asyncio.sleep(0.2)


def metric(port: int, name: str, **labels: str) -> float | None:
    """The greatest sample of a metric with these labels."""
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = [line for line in page(port, "/metrics").splitlines() if line.startswith((name + "{", name + " "))]
    return max((float(line.split()[-1]) for line in lines if all(one in line for one in wanted)), default=None)


async def test_partitions_that_grew_are_told_kept_from_and_drained(settings: Settings, tmp_path: Path):
    """The worker says so within seconds; our emitter keeps to the ledger's number; drained, all is decided, once."""
    port = free_port()
    with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port)) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        await until(lambda: page(port, "/readyz") == "ok\n")
        async with asking(settings) as admin:
            await admin.create_partitions({settings.topic_prefix + "emissions": NewPartitions(3)})
        await workers.until_said(worker, "emissions has 3 partitions (expected 2)")
        assert "`sluice topics drain`" in page(port, "/readyz")
        assert metric(port, "sluice_topic_partitions", topic="emissions") == 3

        async with AsyncEmitter(settings) as emitter:
            places = [await (await emitter.emit({"emission_id": f"own-{n}", "text": "It is."})) for n in range(12)]
        assert {place.partition for place in places} == {0, 1}

        async with producing(settings) as producer:  # a stranger's, which uses all three
            for n in range(12):
                for topic, key, value in records(n):
                    partition = 2 if topic == "emissions" else None
                    await producer.send_and_wait(settings.topic_prefix + topic, value, key, partition)
        worker.terminate()
        await ended(worker)
        refused = workers.start()
        assert await ended(refused) == 2
        assert "`sluice topics drain` moves" in workers.said(refused)

        first, second = run(settings, "topics", "drain"), run(settings, "topics", "drain")
        assert (first.status, first.stdout) == (0, "emissions 2 12\n"), first.stderr
        assert (second.status, second.stdout) == (0, "emissions 2 0\n"), second.stderr
        again = workers.start()
        await workers.until_taken_over(again)
        await until_read(settings, 12 + sum(len(list(records(n))) for n in range(12)))
        assert run(settings, "consume", "dead-letters").stdout == ""
        assert page(port, "/readyz").startswith("emissions has 3 partitions")


@asynccontextmanager
async def producing(settings: Settings, **options: object) -> AsyncIterator[AIOKafkaProducer]:
    """A producer of a stranger's."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), **options)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def test_a_ledger_without_its_head_is_told(settings: Settings, tmp_path: Path):
    """While the worker runs, and at a restart that has no snapshot: in one sentence that says what happened."""
    port, head = free_port(), TopicPartition(settings.topic_prefix + "ledger", 1)
    with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port), SLUICE_SNAPSHOT_INTERVAL="0") as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        sent = await load(settings, 0, 20)
        await until_read(settings, sent)
        async with asking(settings) as admin:
            await admin.delete_records({head: RecordsToDelete(before_offset=2)})
        await workers.until_said(worker, "the ledger's head was deleted")
        assert page(port, "/readyz").startswith("ledger/1: the ledger's head was deleted")
        assert "(expected offset 0 as the first, got 2)" in page(port, "/readyz")
        assert metric(port, "sluice_log_start_offset", topic="ledger", lane="1") == 2
        assert metric(port, "sluice_log_start_offset", topic="ledger", lane="0") == 0
        worker.terminate()
        await ended(worker)
        again = workers.start()
        await until(lambda: "adjudicate lane 1 has failed: " in ready_or_away(port))
        assert "lane 1 has failed: " + head.topic + "/1: the ledger's head was deleted" in page(port, "/readyz")
        assert again.poll() is None


def ready_or_away(port: int) -> str:
    """`/readyz`, empty while nothing listens."""
    try:
        return page(port, "/readyz")
    except OSError:
        return ""


async def test_an_open_transaction_of_another_producer_is_lag_and_overdue(settings: Settings, tmp_path: Path):
    """What it hides counts as not read, by offsets and by time; the statements that wait behind it grow overdue, and
    are decided once it is over."""
    port, policy = free_port(), tmp_path / "policy.toml"
    policy.write_text('[admissibility]\nhorizon = "3s"\n')
    waiting = {f"em-{number}" for number in (0, 5)}  # `records`: of each fifth one class of evidence is missing
    with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port), SLUICE_POLICY=str(policy)) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        async with producing(settings, transactional_id=f"{settings.app_id}-other") as producer:
            await producer.begin_transaction()
            for lane in (0, 1):
                await producer.send_and_wait(settings.topic_prefix + "observations", b"x", b"k", lane)
            sent = time.monotonic()
            await load(settings, 0, 10)
            await until(lambda: (metric(port, "sluice_lag_records", lane="0", topic="observations") or 0) >= 2)
            await until(lambda: (metric(port, "sluice_lag_seconds", lane="0", topic="observations") or 0) > 5)
            await until(lambda: (metric(port, "sluice_overdue_seconds", fold="adjudicate") or 0) > 5)
            assert time.monotonic() - sent > 5
            assert not told(settings) & waiting
            await producer.abort_transaction()
        await until(lambda: metric(port, "sluice_lag_records", lane="0", topic="observations") == 0)
        await until(lambda: told(settings) >= waiting)
        await until(lambda: (metric(port, "sluice_overdue_seconds", fold="adjudicate") or 0) < 5)


def told(settings: Settings) -> set[str]:
    """The emissions of which no assertion is pending."""
    lines = run(settings, "consume", "verdicts", "--json").stdout.splitlines()
    return {one["emission_id"] for one in map(json.loads, lines) if one["settled"]}


async def test_a_deleted_output_is_named(settings: Settings, tmp_path: Path):
    """The lanes that write to it fail with its name, and run again once it is there."""
    port = free_port()
    with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port)) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        async with asking(settings) as admin:
            await admin.delete_topics([settings.topic_prefix + "admitted"])
        await until(lambda: "adjudicate lane 0 has failed: " in page(port, "/readyz"))
        assert "the broker has no topic admitted any more" in page(port, "/readyz")
        assert metric(port, "sluice_topic_partitions", topic="admitted") == 0
        await create_topics(settings)
        await until(lambda: page(port, "/readyz") == "ok\n")
        await until_read(settings, await load(settings, 0, 5))
