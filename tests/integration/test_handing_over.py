"""Lanes that move on a real Kafka: only to a worker that has followed them, and in any case after the time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

import msgspec
import pytest
from lanes_on_kafka import Workers, assert_exactly_once, load, loading, until_read

from sluice.topology.engine.folds import folds
from sluice.topology.kafka.assignor import AGAIN_SECONDS
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long

LANES = 6
LATE = "lanes move although their new workers are not ready"
A_LIE = """
from sluice.topology.engine.restore import Standbys
Standbys.behind = property(lambda self: dict.fromkeys(self._running, 10**12))
"""
VARIABLES = {"SLUICE_HAND_OVER_BLOCKS": "3", "SLUICE_SNAPSHOT_INTERVAL": "0"}


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with six partitions: three for each of two workers, two for each of three."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=LANES)
    await create_topics(settings)
    return settings


def told(workers: Workers, process: subprocess.Popen[bytes], event: str) -> list[dict[str, object]]:
    """The lines of a worker's log with that event."""
    lines = (msgspec.json.decode(line) for line in workers.said(process).splitlines() if line.startswith("{"))
    return [line for line in lines if line["event"] == event]


def named(name: str) -> dict[str, str]:
    """What makes a worker a static member of that name; nothing, where it has none."""
    return {"SLUICE_INSTANCE": name} if name else {}


async def two_workers_with_a_history(
    workers: Workers, settings: Settings, names: Sequence[str] = ("", "")
) -> tuple[list[subprocess.Popen[bytes]], int]:
    """Two workers, whose ledgers are longer than what a third one could fold at once; what was sent."""
    both = [workers.start(**named(name)) for name in names[:2]]
    for one in both:
        await workers.until_said(one, "lane taken over", LANES // 2 * len(folds()))
    sent = await load(settings, 0, 300, 5)
    await until_read(settings, sent)
    return both, sent


@pytest.mark.parametrize("names", [("", "", ""), ("one", "two", "three")], ids=["dynamic", "static"])
async def test_a_third_worker_gets_lanes_that_it_has_followed(
    settings: Settings, tmp_path: Path, names: tuple[str, str, str]
):
    """Under load, without a snapshot and with `standby` as it is by default: no lane is folded again."""
    with Workers(settings, tmp_path, **VARIABLES) as workers:
        _, sent = await two_workers_with_a_history(workers, settings, names)
        began = monotonic()
        async with loading(settings, 300) as under_load:
            third = workers.start(**named(names[2]))
            await workers.until_said(third, "lane taken over", LANES // 3 * len(folds()))
        await assert_exactly_once(settings, sent + sum(under_load))

        taken_over = [(one["fold"], one["lane"]) for one in told(workers, third, "lane taken over")]
        warm = [(one["fold"], one["lane"]) for one in told(workers, third, "restored") if one["start"] == "standby"]
        assert sorted(warm) == sorted(set(taken_over))
        assert len({lane for _, lane in taken_over}) == LANES // 3
        # Once for both lanes, or once for each. A worker that fell behind again before it was given them, as on a busy
        # machine, asks again after a pause.
        asked = told(workers, third, "ready for lanes: asking for a rebalance")
        assert 1 <= len(asked) <= LANES // 3 + (monotonic() - began) / AGAIN_SECONDS


async def test_a_worker_that_is_never_ready_gets_lanes_after_the_time_limit(settings: Settings, tmp_path: Path):
    """It says for ever that it lacks blocks. Its lanes are then restored like those of a worker that has died."""
    variables = VARIABLES | {"SLUICE_HAND_OVER_TIMEOUT": "5"}
    key = {"SLUICE_KEY_FILE": str(tmp_path / "var" / "keys" / "signing.key")}  # the first worker has made it
    with (
        Workers(settings, tmp_path, **variables) as workers,
        Workers(settings, tmp_path / "third", A_LIE, **key) as others,
    ):
        (tmp_path / "third").mkdir()
        both, sent = await two_workers_with_a_history(workers, settings)
        third = others.start()
        await others.until_said(third, "lane taken over", LANES // 3 * len(folds()))

        said = [line for one in both for line in told(workers, one, LATE)]
        assert len(said) == 1
        assert len(said[0]["lanes"]) == LANES // 3  # type: ignore[arg-type]
        await assert_exactly_once(settings, sent + await load(settings, 300, 60))
