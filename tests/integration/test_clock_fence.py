"""A worker whose clock is a day ahead, on a real Kafka: no block's time runs ahead of the broker's."""

from __future__ import annotations

import asyncio

import pytest
from lanes_on_kafka import ledger, load, until_read

from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine import clocks
from sluice.topology.engine.clocks import Judgement
from sluice.topology.engine.worker import Worker
from sluice.topology.kafka.produce import broker_times
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings

DAY = 86_400_000
SKEW = 30_000


async def test_a_worker_whose_clock_is_a_day_ahead_writes_no_block(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits outside the group, joins once its clock is right, and ends when that is set wrong again."""
    monkeypatch.setattr(clocks, "ASK_SECONDS", 0.5)
    monkeypatch.setattr(clocks.Clocks.wait, "__defaults__", (0.5,))
    judge, judged = clocks.Clocks._judged, list[Judgement]()

    async def judge_and_tell(clock: clocks.Clocks) -> Judgement:
        judged.append(await judge(clock))
        return judged[-1]

    monkeypatch.setattr(clocks.Clocks, "_judged", judge_and_tell)
    await create_topics(settings)
    ahead = DAY
    worker = Worker(settings, clock=lambda: now_ms() + ahead)
    starting = asyncio.create_task(worker.start())
    sent = await load(settings, 0, 20)
    async with asyncio.timeout(150):
        while len(judged) < 3:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert not starting.done()
    assert worker._why_not_ready() == "waiting until this clock agrees with the brokers'"
    assert not any((await ledger(settings)).values())

    ahead = 0
    await asyncio.wait_for(starting, 150)
    await until_read(settings, sent)
    ahead = DAY
    await load(settings, 20, 20)
    with pytest.raises(DoesNotHoldError, match="this worker's clock differs from that of most brokers"):
        await asyncio.wait_for(worker.wait(), 150)
    await worker.stop()

    times = [block.header.time for chain in (await ledger(settings)).values() for block in chain]
    assert times
    assert max(times) <= now_ms() + SKEW


async def test_what_asks_a_broker_for_its_time_leaves_nothing_to_be_read(settings: Settings) -> None:
    """One time of each broker, and no record that a reader of committed ones sees."""
    await create_topics(settings)

    told = await broker_times(settings)

    assert [abs(one.appended_at - now_ms()) < SKEW for one in told] == [True]
    assert not any((await ledger(settings)).values())
