"""Taking over from a leader whose fetch answers tell an older end than there is: through a wire proxy, on a real Kafka.

After an election that is so for a while. Whoever takes such an end for the ledger's writes a second block of a height
that is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from ageing_proxy import AgeingProxy
from aiokafka import AIOKafkaConsumer, TopicPartition
from lanes_on_kafka import Workers, assert_exactly_once, ledger, load, read_all, until_read
from msgspec.structs import replace

from sluice.codecs.ledger_statements import Claim, write_claim
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.kafka.connect import open_reader
from sluice.topology.kafka.membership import Member
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings, bootstrap

HELD = 4.0
"""Seconds for which the truth is withheld: longer than anybody waits for an empty answer to be one."""
BLOCKS = [b"block %d" % number for number in range(6)]


@pytest.fixture
async def proxy(kafka: str) -> AsyncIterator[AgeingProxy]:
    async with AgeingProxy(int(kafka.rsplit(":", 1)[1])) as proxy:
        yield proxy


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Of the broker itself, without the proxy."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


def through(proxy: AgeingProxy, settings: Settings) -> Settings:
    """The same broker, as the proxy shows it."""
    return replace(settings, broker=f"kafka://127.0.0.1:{proxy.port}")


Read = Callable[[Settings, KafkaLedger], Awaitable[list[bytes]]]


async def as_now(_: Settings, book: KafkaLedger) -> list[bytes]:
    """What a lane reads that takes over."""
    return [data async for _, data in book.blocks()]


async def as_before(settings: Settings, _: KafkaLedger) -> list[bytes]:
    """What a lane read that ended where a fetch answer told the end."""
    place, found = TopicPartition(topic_name(settings, "ledger"), 0), list[bytes]()
    async with open_reader(settings, place) as consumer:
        while True:
            records = (await consumer.getmany(place, timeout_ms=200)).get(place, [])
            found += [record.value for record in records if record.key is None]
            end = consumer.last_stable_offset(place)
            if end is not None and await consumer.position(place) >= end:
                return found


@pytest.mark.parametrize("ages_lists", [False, True])
@pytest.mark.parametrize(("read", "misses"), [(as_now, False), (as_before, True)])
async def test_a_take_over_reads_to_its_own_claim(
    settings: Settings, proxy: AgeingProxy, read: Read, misses: bool, ages_lists: bool
):
    """Whatever the leader tells of its end: the claim was committed, and all that anybody wrote lies before it."""
    former = KafkaLedger(settings, 0)
    await former.open()
    for block in BLOCKS:
        await former.write(block, [])
    aged = through(proxy, settings)
    consumer = AIOKafkaConsumer(
        topic_name(settings, "emissions"), bootstrap_servers=bootstrap(settings), group_id=settings.app_id
    )
    await consumer.start()
    own = KafkaLedger(aged, 0)
    try:
        proxy.aged[topic_name(settings, "ledger"), 0] = 4  # two blocks, and the markers of their transactions
        proxy.ages_lists = ages_lists
        member = Member(settings.app_id, consumer._coordinator.member_id, consumer._coordinator.generation)
        claim = Claim(lane=0, worker="w", member="m", generation=1, package="1", claimed_at="2026-11-21T09:00:00Z")
        await own.open()
        await own.claim(write_claim(claim, "o/ledger/0", None), member)
        asyncio.get_running_loop().call_later(HELD, proxy.aged.clear)
        found = await read(aged, own)
    finally:
        await consumer.stop()
        await own.close()
        await former.close()

    assert proxy.aged_answers
    assert bool(proxy.aged_lists) == ages_lists
    assert (found != BLOCKS) == misses, "the test cannot fail unless the reading of before misses what was committed"
    if misses:
        assert found == BLOCKS[:2]


@pytest.mark.long
async def test_no_height_is_written_twice(settings: Settings, proxy: AgeingProxy, tmp_path: Path):
    """A worker is killed, another takes its lanes over behind an aged leader: every input stands in one block."""
    with Workers(settings, tmp_path, SLUICE_SNAPSHOT_INTERVAL="0", SLUICE_CHECKPOINT_INTERVAL="0") as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        sent = await load(settings, 0, 300, 3)
        await until_read(settings, sent)
        first.kill()
        kept = {lane: len(chain) for lane, chain in (await ledger(settings)).items()}
        for lane, records in (await read_all(settings, "ledger")).items():
            proxy.aged[topic_name(settings, "ledger"), lane] = records[len(records) // 2].offset
        second = workers.start(SLUICE_BROKER=through(proxy, settings).broker)
        await workers.until_said(second, "lane claimed", 6)
        await asyncio.sleep(HELD)
        claimed = {lane: len(chain) for lane, chain in (await ledger(settings)).items()}
        proxy.aged.clear()
        await workers.until_taken_over(second)
        sent += await load(settings, 300, 100)

        await assert_exactly_once(settings, sent)
    assert proxy.aged_answers
    assert claimed == kept, "nothing was written before the ledger was read to its end"
