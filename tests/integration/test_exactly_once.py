"""Nothing is lost and nothing is doubled, whatever is killed, stopped or restarted under load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanes_on_kafka import Workers, assert_exactly_once, ended, load, until_read

from sluice.topology.brokers import RealBroker
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with four partitions, and workers that end with the test."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    with Workers(settings, tmp_path) as workers:
        yield settings, workers


@pytest.mark.path
async def test_two_workers_write_what_their_ledgers_fold_to(lanes: tuple[Settings, Workers]):
    """Outputs are byte for byte, and in order, what folding the same blocks gives."""
    settings, workers = lanes
    workers.start(), workers.start()
    sent = await load(settings, 0, 3000, 4)

    await assert_exactly_once(settings, sent)


@pytest.mark.long
async def test_a_killed_worker_loses_and_doubles_nothing(lanes: tuple[Settings, Workers]):
    """SIGKILL under load: the lanes move, and continue where the ledger ends."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    workers.start()
    under_load = asyncio.create_task(load(settings, 0, 6000, 14))
    await asyncio.sleep(5)
    first.kill()
    await asyncio.sleep(1)
    workers.start()

    await assert_exactly_once(settings, await under_load)


@pytest.mark.long
async def test_a_frozen_worker_is_fenced_when_it_wakes(lanes: tuple[Settings, Workers]):
    """SIGSTOP past the session time-out, then SIGCONT: the zombie writes nothing, lives, and gets lanes again."""
    settings, workers = lanes
    zombie = workers.start()
    await workers.until_taken_over(zombie)
    under_load = asyncio.create_task(load(settings, 0, 6000, 16))
    await asyncio.sleep(2)
    await workers.replace_frozen(zombie)

    await assert_exactly_once(settings, await under_load)
    assert zombie.poll() is None


async def test_a_restart_restores_and_goes_on(lanes: tuple[Settings, Workers]):
    """SIGTERM commits what is in flight; the next worker has the same state."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    under_load = asyncio.create_task(load(settings, 0, 2000, 4))
    await asyncio.sleep(2)
    first.terminate()
    assert await ended(first) == 0
    sent = await under_load
    second = workers.start()
    await until_read(settings, sent)
    second.terminate()
    assert await ended(second) == 0
    workers.start()

    await assert_exactly_once(settings, sent + await load(settings, 2000, 500))


@pytest.mark.long
@pytest.mark.parametrize("way", ["killed", "restarted in order"])
async def test_a_broker_that_goes_away_stops_nothing_for_good(prefix: str, tmp_path: Path, way: str):
    """Under load: once the broker is back, the same workers go on, and nothing is lost or doubled.

    One that ends in order hands its coordinators over to nobody.
    """
    with RealBroker() as broker:
        settings = Settings(broker=broker.address, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
        await create_topics(settings)
        with Workers(settings, tmp_path) as workers:
            processes = [workers.start(), workers.start()]
            await workers.until_said(processes[0], "lane taken over")
            under_load = asyncio.create_task(load(settings, 0, 4000, 16))
            await asyncio.sleep(4)
            if way == "killed":
                await asyncio.to_thread(broker.kill)
                await asyncio.sleep(2)
            await asyncio.to_thread(broker.restart)

            await assert_exactly_once(settings, await under_load)
            assert [process.poll() for process in processes] == [None, None]
