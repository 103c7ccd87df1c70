"""Coming back on a real Kafka: from a snapshot, and from a standby; neither changes what is decided."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lanes_on_kafka import Workers, assert_exactly_once, load, loading, until_all_write, until_read

from sluice.topology.engine.folds import folds
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

LEDGERS = [fold.ledger for fold in folds()]


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


def snapshots(folder: Path, ledger: str = "*ledger") -> list[Path]:
    """What the lanes have written down; those of every ledger, or of one."""
    return list(folder.rglob(f"{ledger}/lane-*-of-2/*.snapshot"))


async def test_a_killed_worker_comes_back_from_its_snapshot(settings: Settings, tmp_path: Path):
    """Each lane goes on from the newest one, and folds only the blocks that came after it."""
    with Workers(settings, tmp_path, SLUICE_SNAPSHOT_INTERVAL="0.5") as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        sent = await load(settings, 0, 1500, 4)
        await until_read(settings, sent)
        async with asyncio.timeout(150):  # two of each lane
            while any(len(snapshots(tmp_path, f"*.{ledger}")) != 4 for ledger in LEDGERS):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        first.kill()
        second = workers.start()
        await workers.until_taken_over(second)

        assert workers.said(second).count('"start": "snapshot ') == 2 * len(LEDGERS)
        sent += await load(settings, 1500, 300)
        await assert_exactly_once(settings, sent)


async def test_a_damaged_snapshot_costs_time_only(settings: Settings, tmp_path: Path):
    """It is told in one line a file, and the ledger is folded from its beginning."""
    with Workers(settings, tmp_path, SLUICE_SNAPSHOT_INTERVAL="0.5") as workers:
        first = workers.start()
        sent = await load(settings, 0, 500, 2)
        await until_read(settings, sent)
        first.kill()
        damaged = snapshots(tmp_path)
        assert len(damaged) >= 2
        for path in damaged:
            raw = bytearray(path.read_bytes())
            raw[len(raw) // 2] ^= 255
            path.write_bytes(raw)
        second = workers.start()
        await workers.until_taken_over(second)

        said = workers.said(second)
        reported = said.count("not restored from here: it takes longer") + said.count("a snapshot is not used")
        assert (reported, said.count('"event": "restored"')) == (len(damaged), 0)
        await assert_exactly_once(settings, sent + await load(settings, 500, 100))


@pytest.mark.long
async def test_a_standby_takes_over_without_a_refold(settings: Settings, tmp_path: Path):
    """The owner is killed under load; the other worker has followed its ledgers, and needs no snapshot."""
    with Workers(settings, tmp_path, SLUICE_STANDBY="1", SLUICE_SNAPSHOT_INTERVAL="0") as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        second = workers.start()
        await workers.until_said(second, "standing by")
        await workers.until_said(first, "standing by")
        async with loading(settings) as sent:
            await until_all_write(settings)
            first.kill()
            await workers.until_said(second, '"start": "standby"')
            await until_all_write(settings)

        await assert_exactly_once(settings, sum(sent))
        assert not snapshots(tmp_path)
