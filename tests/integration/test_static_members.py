"""Workers with names on a real Kafka: who comes back in time disturbs nobody, and lanes that stay resume at once."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanes_on_kafka import Workers, assert_exactly_once, ended, load, loading

from sluice.topology.engine.folds import folds
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

FOLDS = len(folds())
MOVES = ("lane taken over", "lane resumed", "lane leaves")


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with four partitions, and workers whose session outlasts a restart on a busy machine."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    with Workers(settings, tmp_path, SLUICE_SESSION_TIMEOUT="60") as workers:
        yield settings, workers


def moves(workers: Workers, worker: subprocess.Popen[bytes]) -> list[int]:
    """How often a worker said that a lane was taken over, resumed, or left."""
    said = workers.said(worker)
    return [said.count(move) for move in MOVES]


async def pair(workers: Workers, *arguments: tuple[str, ...]) -> list[subprocess.Popen[bytes]]:
    """Two workers with two lanes each."""
    first = workers.start(*arguments[0])
    await workers.until_taken_over(first)
    second = workers.start(*arguments[1])
    await workers.until_said(second, "lane taken over", 2 * FOLDS)
    await workers.until_said(first, "lane resumed", 2 * FOLDS)
    return [first, second]


@pytest.mark.long
async def test_a_named_worker_that_comes_back_in_time_disturbs_nobody(lanes: tuple[Settings, Workers]):
    """Within the session time-out it gets its own lanes back, and the other worker's never stand still."""
    settings, workers = lanes
    first, second = await pair(workers, ("--instance", "pod-a"), ("--instance", "pod-b"))
    before = moves(workers, second)
    async with loading(settings) as sent:
        first.terminate()
        assert await ended(first) == 0
        back = workers.start("--instance", "pod-a")
        await workers.until_said(back, "lane taken over", 2 * FOLDS)

    assert moves(workers, second) == before
    assert moves(workers, back) == [2 * FOLDS, 0, 0]
    await assert_exactly_once(settings, sum(sent))


@pytest.mark.long
async def test_lanes_that_stay_resume_within_a_second(lanes: tuple[Settings, Workers]):
    """A third worker joins: what does not move to it keeps its state, and nothing of it is taken over again."""
    settings, workers = lanes
    pair_of_them = await pair(workers, (), ())
    before = [moves(workers, worker) for worker in pair_of_them]
    async with loading(settings) as sent:
        third = workers.start()
        await workers.until_said(third, "lane taken over", FOLDS)

    # Each of the lanes that stay resumes once a rebalance, of which a slow machine may have more.
    async with asyncio.timeout(120):
        while since(workers, pair_of_them, before)[1] < 3 * FOLDS:  # noqa: ASYNC110  (other processes write what it reads)
            await asyncio.sleep(0.2)
    taken, _, left = since(workers, pair_of_them, before)
    assert (taken, left) == (0, FOLDS)
    seconds = seconds_of_resuming(workers, pair_of_them)
    print("lanes stood still for", *seconds)
    assert seconds
    await assert_exactly_once(settings, sum(sent))


def since(workers: Workers, processes: list[subprocess.Popen[bytes]], before: list[list[int]]) -> list[int]:
    """What all of them together said more often than before, by move."""
    now = [moves(workers, process) for process in processes]
    return [sum(after[move] - then[move] for after, then in zip(now, before, strict=True)) for move in range(3)]


def seconds_of_resuming(workers: Workers, processes: list[subprocess.Popen[bytes]]) -> list[float]:
    """How long each lane stood still that stayed over a rebalance, as the logs tell."""
    lines = [line for process in processes for line in workers.said(process).splitlines() if "lane resumed" in line]
    return [json.loads(line)["seconds"] for line in lines]


async def test_of_two_workers_of_one_name_the_older_one_ends(lanes: tuple[Settings, Workers]):
    """It says so in one sentence, with exit status 1, and never takes the name or a lane back."""
    settings, workers = lanes
    older = workers.start("--instance", "pod-a")
    await workers.until_taken_over(older)
    younger = workers.start("--instance", "pod-a")
    assert await ended(older) == 1
    last = workers.said(older).splitlines()[-1]
    assert last.startswith("sluice: instance pod-a-0: another worker has joined the group under this one's name")
    await workers.until_taken_over(younger)

    await assert_exactly_once(settings, await load(settings, 0, 200))
    assert younger.poll() is None
    assert workers.said(younger).count("fenced") == 0
