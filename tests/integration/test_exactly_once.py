"""Nothing is lost and nothing is doubled, whatever is killed, stopped or restarted under load."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanes_on_kafka import Workers, assert_exactly_once, ended, load, loading, until_all_write, until_read

from sluice.topology.kafka.local_broker import RealBroker
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
    second = workers.start()
    async with loading(settings) as sent:
        await workers.until_said(second, "lane taken over")
        await until_all_write(settings)
        first.kill()
        workers.start()
        await until_all_write(settings)

    await assert_exactly_once(settings, sum(sent))


@pytest.mark.long
async def test_a_frozen_worker_is_fenced_when_it_wakes(lanes: tuple[Settings, Workers]):
    """SIGSTOP past the session time-out, then SIGCONT: the zombie writes nothing, lives, and gets lanes again."""
    settings, workers = lanes
    zombie = workers.start()
    await workers.until_taken_over(zombie)
    async with loading(settings) as sent:
        await until_all_write(settings)
        await workers.replace_frozen(zombie)
        await until_all_write(settings)

    await assert_exactly_once(settings, sum(sent))
    assert zombie.poll() is None


async def test_a_restart_restores_and_goes_on(lanes: tuple[Settings, Workers]):
    """SIGTERM commits what is in flight; the next worker has the same state."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    async with loading(settings) as under_load:
        await until_all_write(settings)
        first.terminate()
        assert await ended(first) == 0
    sent = sum(under_load)
    second = workers.start()
    await until_read(settings, sent)
    second.terminate()
    assert await ended(second) == 0
    workers.start()

    await assert_exactly_once(settings, sent + await load(settings, sent, 500))


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
            await workers.until_said(processes[1], "worker started")  # one that is starting may end without a broker
            async with loading(settings) as sent:
                await until_all_write(settings)
                if way == "killed":
                    await asyncio.to_thread(broker.kill)
                    await asyncio.sleep(2)  # it is away for so long
                await asyncio.to_thread(broker.restart)
                await until_all_write(settings)

            await assert_exactly_once(settings, sum(sent))
            assert [process.poll() for process in processes] == [None, None]
