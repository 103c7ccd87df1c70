"""`sluice worker` on a real Kafka: how it starts, shares, goes on, and ends."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from lanes_on_kafka import (
    Workers,
    assert_exactly_once,
    ended,
    ledger,
    load,
    loading,
    read,
    records,
    until_all_write,
    until_read,
)
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families

from sluice.codecs.blocks import EventKind
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import identify
from sluice.topology.engine.worker import Worker
from sluice.topology.kafka.connect import open_admin, open_consumer
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

POLICY = """
[admissibility]
horizon = "1s"
late_horizon = "1s"
[disposition]
unverified-inference = "review"
below-floor = "review"
"""


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with four partitions, and workers that end with the test."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    with Workers(settings, tmp_path) as workers:
        yield settings, workers


async def test_without_topics_it_says_how_to_make_them(kafka: str, prefix: str, tmp_path: Path):
    """Exit status 2, one sentence, no traceback."""
    with Workers(Settings(broker=kafka, topic_prefix=prefix, app_id=prefix), tmp_path) as workers:
        worker = workers.start()

        assert await ended(worker) == 2
        said = workers.said(worker).splitlines()
        assert said[-1].startswith("sluice: ")
        assert "`sluice topics create` makes them" in said[-1]
        assert "Traceback" not in workers.said(worker)


async def test_a_policy_file_starts_the_ledger_and_no_other_changes_it(lanes: tuple[Settings, Workers], tmp_path: Path):
    """What is in force stands in the ledger; a worker with another file says so and obeys."""
    settings, workers = lanes
    (tmp_path / "policy.toml").write_text(POLICY)
    first = workers.start("--policy", "policy.toml")
    await workers.until_taken_over(first)
    first.terminate()
    assert await ended(first) == 0
    second = workers.start()
    await workers.until_taken_over(second)
    await until_read(settings, await load(settings, 0, 20))

    policies = {block.header.policy for chain in (await ledger(settings)).values() for block in chain}
    assert len(policies) == 1
    assert "the ledger's policy is in force" in workers.said(second)


async def test_an_assertion_is_closed_though_nothing_else_comes(lanes: tuple[Settings, Workers], tmp_path: Path):
    """On idle inputs the watermark moves with the fetch answers, and the pending time ends on it."""
    settings, workers = lanes
    (tmp_path / "policy.toml").write_text(POLICY)
    worker = workers.start("--policy", "policy.toml")
    await workers.until_taken_over(worker)
    topic, key, value = next(records(7))
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()
    await producer.send_and_wait(settings.topic_prefix + topic, key=key, value=value)
    async with asyncio.timeout(150):
        found: list[Any] = []
        while not found:
            await asyncio.sleep(0.1)
            found = [one for lane in (await read(settings, "inadmissible")).values() for one in lane]

    assert json.loads(found[0].value)["reason"] == "not-looked-at"
    await producer.stop()


async def test_it_tells_what_it_counts_and_whether_it_is_ready(kafka: str, prefix: str, tmp_path: Path):
    """Not ready while lanes are taken over; then what was read and written is what the topics hold."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    port = free_port()
    with Workers(settings, tmp_path, SLUICE_WEB_PORT=str(port)) as workers:
        worker = workers.start()
        answers: list[tuple[int, str]] = []
        async with aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client, asyncio.timeout(150):
            while not answers or answers[-1][0] != 200:
                with contextlib.suppress(aiohttp.ClientConnectionError):
                    async with client.get("/readyz") as answer:
                        answers.append((answer.status, await answer.text()))
                await asyncio.sleep(0.02)
            await workers.until_taken_over(worker)
            sent = await load(settings, 0, 50)
            await until_read(settings, sent)
            async with client.get("/healthz") as answer:
                assert (answer.status, await answer.text()) == (200, "ok\n")
            async with client.get("/metrics") as answer:
                families = {one.name: one for one in text_string_to_metric_families(await answer.text())}
    assert answers[0][0] == 503

    def total(name: str, **labels: str) -> float:
        found = [one for one in families[name].samples if one.name.endswith("_total")]
        return sum(one.value for one in found if labels.items() <= one.labels.items())

    assert total("sluice_inputs", topic="emissions") == 50
    assert total("sluice_inputs", topic="observations") == 90  # every fifth has but one
    assert total("sluice_outputs", topic="admitted", status="admitted") == 40
    assert sum(one.value for one in families["sluice_live_assertions"].samples) == 50
    assert {one.value for one in families["sluice_running"].samples} == {1}


async def test_sigterm_ends_it_within_five_seconds_under_load(lanes: tuple[Settings, Workers]):
    """What is in flight is committed or aborted, and the next owner need not wait for a time-out."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    async with loading(settings) as sent:
        await until_all_write(settings)
        first.send_signal(signal.SIGTERM)
        assert await ended(first) == 0
        second = workers.start()
        await workers.until_taken_over(second)

    await assert_exactly_once(settings, sum(sent))


@pytest.mark.long
async def test_several_processes_share_the_lanes(lanes: tuple[Settings, Workers]):
    """With one of two killed, the other has all lanes, and the exit status tells in the end."""
    settings, workers = lanes
    parent = workers.start("--processes", "2")
    await workers.until_taken_over(parent)
    serving = serving_children(parent.pid)
    assert len(serving) == 2
    async with loading(settings) as sent:
        await until_all_write(settings)
        os.kill(serving[0], signal.SIGKILL)
        await until_all_write(settings)

    await assert_exactly_once(settings, sum(sent))
    parent.terminate()
    assert await ended(parent) == 128 + signal.SIGKILL


async def test_children_do_not_outlive_their_parent(lanes: tuple[Settings, Workers]):
    """SIGKILL of the supervising process ends the workers as well: nobody could stop them otherwise."""
    _, workers = lanes
    parent = workers.start("--processes", "2")
    await workers.until_said(parent, "worker started", 2)
    children = serving_children(parent.pid)
    parent.kill()
    async with asyncio.timeout(150):
        while any(serves(pid) for pid in children):  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def test_the_group_is_told_how_far_the_ledgers_are(lanes: tuple[Settings, Workers]):
    """For lag monitors: the committed offsets follow the ledger's positions."""
    settings, workers = lanes
    worker = workers.start()
    await workers.until_taken_over(worker)
    chains = await until_read(settings, await load(settings, 0, 200))
    wanted = {
        TopicPartition(settings.topic_prefix + source.topic, lane): source.next
        for lane, chain in chains.items()
        for source in chain[-1].header.sources
    }
    group = (await identify(settings, folds())).group
    async with open_admin(settings) as admin, asyncio.timeout(150):
        while True:
            reported = await admin.list_consumer_group_offsets(group)
            if wanted == {partition: reported[partition].offset for partition in wanted if partition in reported}:
                break
            await asyncio.sleep(0.5)


async def test_what_retention_deleted_is_recorded(lanes: tuple[Settings, Workers]):
    """A worker that was away too long says in the ledger, and in its log, what it never read."""
    settings, workers = lanes
    first = workers.start()
    await until_read(settings, await load(settings, 0, 50))
    first.terminate()
    await ended(first)
    await load(settings, 50, 50)
    partitions = [TopicPartition(settings.topic_prefix + "emissions", lane) for lane in range(settings.partitions)]
    async with open_consumer(settings) as consumer, open_admin(settings) as admin:
        ends = await consumer.end_offsets(partitions)
        await admin.delete_records({one: RecordsToDelete(before_offset=end) for one, end in ends.items()})
    second = workers.start()
    await workers.until_taken_over(second)
    await workers.until_said(second, "retention has deleted records that were not read")
    async with asyncio.timeout(150):
        gaps: dict[int, tuple[int, int]] = {}
        while not gaps:
            await asyncio.sleep(0.2)
            gaps = await _gaps(settings)

    for lane, (first_lost, next_there) in gaps.items():
        assert first_lost < next_there == ends[partitions[lane]]


async def _gaps(settings: Settings) -> dict[int, tuple[int, int]]:
    return {
        lane: (event.offset, int(event.value or b""))
        for lane, chain in (await ledger(settings)).items()
        for block in chain
        for event in block.events
        if event.kind == EventKind.GAP
    }


async def test_a_topic_that_was_made_anew_stops_its_lanes(lanes: tuple[Settings, Workers]):
    """Positions of another log: one sentence, and no block is written; the other lanes run."""
    settings, workers = lanes
    first = workers.start()
    await until_read(settings, await load(settings, 0, 100))
    first.terminate()
    await ended(first)
    async with open_admin(settings) as admin:
        await admin.delete_topics([settings.topic_prefix + "emissions"])
        await asyncio.sleep(1)
    await create_topics(settings)
    second = workers.start()

    await workers.until_said(second, "emissions was deleted and made again", settings.partitions)
    await workers.until_said(second, "lane taken over", settings.partitions * (len(folds()) - 1))
    assert second.poll() is None


async def test_it_runs_inside_a_loop_that_runs_already(kafka: str, prefix: str):
    """The demo has its lanes in its own process: started, watched, and stopped."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    worker = Worker(settings)
    await worker.start()
    try:
        async with asyncio.timeout(150):
            await worker.wait_until_running()
        await until_read(settings, await load(settings, 0, 100))
        assert [(lane.fold, lane.lane) for lane in worker.lanes] == [
            ("adjudicate", 0),
            ("adjudicate", 1),
            ("bind", 0),
            ("bind", 1),
            ("frame", 0),
            ("frame", 1),
        ]
    finally:
        await worker.stop()
    assert worker.lanes == []


def serving_children(pid: int) -> list[int]:
    """The worker processes that a supervising process has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in children if serves(int(child))]


def serves(pid: int) -> bool:
    """Whether a process is one of several workers, and alive."""
    try:
        return b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False
