"""`sluice audit` of what workers wrote to a real Kafka: under load, after a SIGKILL, and once it was tampered with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from commands import run
from lanes_on_kafka import Workers, load, loading, read, until_all_write, until_read

from sluice.codecs.notes import Signer
from sluice.topology.engine.stored_topics import open_logs
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with two partitions, and workers that end with the test."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="2") as workers:
        yield settings, workers


async def audit(settings: Settings, *arguments: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report of the command in a process of its own."""
    done = await asyncio.to_thread(run, settings, "audit", "--json", *arguments)
    assert done.stdout, done.stderr
    return done.status, json.loads(done.stdout)


def found(report: dict[str, Any]) -> list[tuple[str, int]]:
    """Kind and lane of each divergence."""
    return [(one["kind"], one["lane"]) for one in report["divergences"]]


async def put(settings: Settings, topic: str, lane: int, key: bytes | None, value: bytes) -> None:
    """Writes a record past all lanes, as whoever may write to the broker can."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), acks="all", max_request_size=4_000_000)
    await producer.start()
    try:
        await producer.send_and_wait(settings.topic_prefix + topic, key=key, value=value, partition=lane)
    finally:
        await producer.stop()


@pytest.mark.parametrize("topic", ["ledger", "admitted", "checkpoints"])
async def test_a_cut_waits_for_what_is_not_decided(lanes: tuple[Settings, Workers], topic: str):
    """A transaction's marks come to its partitions one after another: no block may be read without its outputs."""
    settings, _ = lanes
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), transactional_id=settings.topic_prefix + "lane")
    await producer.start()
    try:
        await producer.begin_transaction()
        await producer.send_and_wait(settings.topic_prefix + topic, b"undecided", key=b"k", partition=1)
        async with open_logs(settings) as logs, asyncio.timeout(150):
            cut = asyncio.create_task(logs.cut())
            done, _ = await asyncio.wait({cut}, timeout=2)
            assert not done
            await producer.commit_transaction()
            assert (await cut).ends[topic][1] >= 1
    finally:
        await producer.stop()


async def test_who_reads_to_the_end_as_of_now_gets_what_came_since(lanes: tuple[Settings, Workers]):
    """An answer that was asked for before says nothing of that end."""
    settings, _ = lanes
    values = [b"%d" % number for number in range(4)]
    for value in values[:2]:
        await put(settings, "admitted", 1, b"k", value)
    async with open_logs(settings) as logs:
        logs.expect("admitted", 1)
        await logs.range("admitted", 1)
        await asyncio.sleep(0.5)  # its first answer has come
        for value in values[2:]:
            await put(settings, "admitted", 1, b"k", value)

        assert [record.value async for record in logs.records("admitted", 1)] == values


@pytest.mark.path
async def test_what_workers_write_holds_at_any_moment(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Under load, behind a SIGKILL, and at rest; an export of it says the same."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    async with loading(settings) as under_load:
        await until_all_write(settings)
        status, report = await audit(settings)
        assert (status, found(report)) == (0, [])
        first.kill()
        workers.start()
        status, report = await audit(settings)
        assert (status, found(report)) == (0, [])
    sent = sum(under_load)
    await until_read(settings, sent)

    status, report = await audit(settings)
    offline, exported = await audit(settings, "--export", str(tmp_path / "export"))
    again, read_again = await audit(settings, "--offline", str(tmp_path / "export"))

    assert (status, found(report)) == (0, [])
    assert sum(lane["inputs"] for lane in report["lanes"]) == sent
    assert (offline, again) == (0, 0)
    key = Signer.parse((tmp_path / "var/keys/signing.key").read_text()).verifier
    status, shown = await audit(settings, "--key", str(key))
    assert (status, shown["verdict"]["completeness"]) == (0, "shown")
    for other in (exported, read_again):
        assert [lane["inputs"] for lane in other["lanes"]] == [lane["inputs"] for lane in report["lanes"]]


async def test_tampering_through_the_broker_is_named(lanes: tuple[Settings, Workers], tmp_path: Path):
    """A foreign record on `admitted`, and blocks behind the last one of a ledger."""
    settings, workers = lanes
    worker = workers.start()
    sent = await load(settings, 0, 300)
    await until_read(settings, sent)
    worker.terminate()
    await asyncio.to_thread(worker.wait, 150)
    assert (await audit(settings))[0] == 0

    model = (await read(settings, "admitted"))[1][0]
    await put(settings, "admitted", 1, b"em-x#c:0-43", model.value.replace(b'"em-', b'"ex-'))
    status, report = await audit(settings)
    assert (status, found(report)) == (1, [("additional-output", 1)])

    copy = (await read(settings, "ledger"))[0][1]
    await put(settings, "ledger", 0, None, copy.value)
    await put(settings, "ledger", 0, None, b"no block at all")
    status, report = await audit(settings, "--export", str(tmp_path / "export"))
    kinds = [("added-block", 0), ("replayed-block", 0), ("additional-output", 1)]
    assert (status, found(report)) == (1, kinds)
    status, report = await audit(settings, "--offline", str(tmp_path / "export"), "--processes", "2")
    assert (status, found(report)) == (1, kinds)


async def test_records_that_an_administrator_deletes_were_not_taken_by_retention(
    lanes: tuple[Settings, Workers], tmp_path: Path
):
    """Also where `retention.ms` and `cleanup.policy` are changed just before; an export of it says the same."""
    settings, workers = lanes
    workers.start()
    sent = await load(settings, 0, 40)
    await until_read(settings, sent)
    verdicts = settings.topic_prefix + "verdicts"
    async with open_admin(settings) as admin:
        lowered = {"retention.ms": "604800000", "cleanup.policy": "delete"}
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, verdicts, lowered)])
        await asyncio.sleep(3)
        sent += await load(settings, 40, 10)
        await until_read(settings, sent)
        await asyncio.sleep(3)
        before = await audit(settings)
        await admin.delete_records({TopicPartition(verdicts, 0): RecordsToDelete(before_offset=-1)})

    status, report = await audit(settings)
    offline, exported = await audit(settings, "--export", str(tmp_path / "export"))

    assert (before[0], found(before[1])) == (0, [])
    assert [one["kept"] for one in report["lanes"][0]["retentions"]["verdicts"]] == [2_592_000_000, 604_800_000]
    for told in (report, exported):
        assert set(found(told)) == {("deleted-early", 0)}
        assert sum(one["count"] for one in told["divergences"]) == before[1]["lanes"][0]["topics"]["verdicts"]["equal"]
        assert told["verdict"]["completeness"] == "broken"
    assert (status, offline) == (1, 1)
