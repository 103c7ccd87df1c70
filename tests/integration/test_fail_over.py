"""Exactly once on three brokers: leaders and coordinators that go in the middle of transactions and of take-overs.

One cluster for all of them; what a test ends, it starts again.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from ageing_proxy import AgeingProxy
from aiokafka import AIOKafkaConsumer, TopicPartition
from chaos.cluster import HEAP, TRANSACTIONS, View
from lanes_on_kafka import Workers, assert_exactly_once, claims, loading, until_all_write
from msgspec.structs import replace

from sluice.codecs.ledger_statements import Claim, write_claim
from sluice.topology.engine.installation import producer_of
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.kafka.connect import open_reader
from sluice.topology.kafka.local_broker import RealCluster
from sluice.topology.kafka.membership import Member
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.kafka.transactions import FencedError
from sluice.topology.settings.settings import Settings, bootstrap

pytestmark = pytest.mark.long

LANES = 2
NODES = 3
PATIENCE = 90.0
HELD = 4.0
"""Seconds for which the truth is withheld: longer than anybody waits for an empty answer to be one."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    """Three brokers with a small heap each."""
    with RealCluster(heap=HEAP) as cluster:
        yield cluster


@pytest.fixture
async def settings(cluster: RealCluster, prefix: str) -> Settings:
    """Topics with three replicas each, of which two must have a record."""
    cluster.start()  # what the test before has ended; a node ends with the thread that started it
    settings = Settings(broker=cluster.address, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=LANES)
    await create_topics(settings)
    view = View(settings)
    await until(lambda: _is_whole(view))
    return settings


async def _is_whole(view: View) -> bool:
    found = await view.partitions("ledger", "emissions")
    return len(found) == 2 * LANES and all(len(one.in_sync) == NODES for one in found.values())


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    """Waits until something holds."""
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110
            await asyncio.sleep(0.2)


async def leader_of(view: View, lane: int) -> int:
    return (await view.partition("ledger", lane)).leader


async def coordinator_of(view: View, lane: int) -> int:
    ledger_id = (await view.identities()).ledgers["ledger"]
    return await view.coordinator(f"{producer_of(ledger_id, 'adjudicate')}-{lane}", TRANSACTIONS)


@pytest.mark.parametrize("part", [leader_of, coordinator_of])
async def test_a_part_that_moves_in_the_middle_of_transactions(
    cluster: RealCluster, settings: Settings, tmp_path: Path, part: Callable[[View, int], Awaitable[int]]
):
    """The node that leads a ledger, or that coordinates its transactions, is killed while blocks are on their way."""
    view = View(settings)
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        async with loading(settings) as sent:
            await until_all_write(settings)
            node = await part(view, 0)
            cluster.kill(node)

            async def has_moved() -> bool:
                return await part(view, 0) not in (node, -1)

            await until(has_moved)
            await until_all_write(settings)
        await assert_exactly_once(settings, sum(sent))
        assert worker.poll() is None
        owners = [[one.claim.worker for one in found] for found in (await claims(settings)).values()]
    assert len({name for found in owners for name in found}) == 1


async def test_lanes_are_taken_over_while_their_ledgers_leaders_move(
    cluster: RealCluster, settings: Settings, tmp_path: Path
):
    """Leaders move all the while, and the claims' own leader is killed once the first of them stands.

    Whoever reads to its claim then reads it from another leader than the one that took it.
    """
    view, moved = View(settings), 0
    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await workers.until_taken_over(first)

        async def move() -> None:
            nonlocal moved
            while True:
                for lane in range(LANES):
                    place, now = (
                        TopicPartition(topic_name(settings, "ledger"), lane),
                        await view.partition("ledger", lane),
                    )
                    others = [node for node in now.in_sync if node != now.leader]
                    if others:
                        rest = [node for node in now.replicas if node != others[0]]
                        await view.move_leader(place, [others[0], *rest])
                        moved += 1

        async with loading(settings) as sent:
            await until_all_write(settings)
            moving = asyncio.create_task(move())
            first.kill()
            second = workers.start()
            await workers.until_said(second, "lane taken over")
            moving.cancel()
            await asyncio.wait([moving])
            node = await leader_of(view, 0)
            cluster.kill(node)
            await workers.until_taken_over(second)
        await assert_exactly_once(settings, sum(sent))
        assert second.poll() is None
    assert moved > 0
    assert await leader_of(view, 0) != node
    for found in (await claims(settings)).values():
        owners = [one.claim.worker for one in found]
        assert owners == sorted(owners, key=owners.index)  # each owner once, and never back to the former one
        assert len(set(owners)) == 2


@pytest.mark.parametrize("is_killed", [False, True])
async def test_a_claim_that_was_written_to_the_old_leader(cluster: RealCluster, settings: Settings, is_killed: bool):
    """It is read from the new one, with every block of every former owner before it; the next block follows upon them.

    In order or by a kill, between the claim and the reading; the former owner, which has a block under way, is fenced.
    """
    view, blocks = View(settings), [b"block %d" % number for number in range(4)]
    place = TopicPartition(topic_name(settings, "ledger"), 0)
    consumer = AIOKafkaConsumer(
        topic_name(settings, "emissions"), bootstrap_servers=bootstrap(settings), group_id=settings.app_id
    )
    former, own = KafkaLedger(settings, 0), KafkaLedger(settings, 0)
    claim = Claim(lane=0, worker="w", member="m", generation=1, package="1", claimed_at="2026-11-21T09:00:00Z")
    await consumer.start()
    try:
        await former.open()
        for block in blocks:
            await former.write(block, [])
        member = Member(settings.app_id, consumer._coordinator.member_id, consumer._coordinator.generation)
        await own.open()
        await own.claim(write_claim(claim, "o/ledger/0", None), member)
        before = await view.partition("ledger", 0)
        if is_killed:
            cluster.kill(before.leader)
        else:
            others = [node for node in before.replicas if node != before.leader]
            await view.move_leader(place, [*others, before.leader])

        async def has_moved() -> bool:
            return await leader_of(view, 0) not in (before.leader, -1)

        await until(has_moved)
        found = [data async for _, data in own.blocks()]
        with pytest.raises(FencedError):
            await former.write(b"a second block of the height", [])
        await own.write(b"block 4", [])
        again = [data async for _, data in own.blocks()]
    finally:
        await consumer.stop()
        await own.close()
        await former.close()

    assert found == blocks
    assert again == [*blocks, b"block 4"]


async def test_a_take_over_behind_a_leader_that_was_just_elected(cluster: RealCluster, settings: Settings):
    """The leader moves, and its fetch answers tell the end of before: whoever claims reads what was committed.

    Three wire proxies age the answers, whoever leads. What a lane of before read ends there, and misses blocks.
    """
    view, blocks = View(settings), [b"block %d" % number for number in range(6)]
    place = TopicPartition(topic_name(settings, "ledger"), 0)
    former, own = KafkaLedger(settings, 0), None
    await former.open()
    for block in blocks:
        await former.write(block, [])
    before = await view.partition("ledger", 0)
    order = [*before.replicas[1:], before.replicas[0]] if before.leader == before.replicas[0] else before.replicas
    await view.move_leader(place, order)
    async with AsyncExitStack() as stack:
        ports = [int(address.rsplit(":", 1)[1]) for address in bootstrap(settings).split(",")]
        proxies = [await stack.enter_async_context(AgeingProxy(port)) for port in ports]
        for proxy in proxies:
            proxy.others = {port: other.port for port, other in zip(ports, proxies, strict=True)}
            proxy.aged[place] = 4  # two blocks, and the markers of their transactions
        aged = replace(settings, broker="kafka://" + ",".join(f"127.0.0.1:{proxy.port}" for proxy in proxies))
        consumer = AIOKafkaConsumer(
            topic_name(settings, "emissions"), bootstrap_servers=bootstrap(settings), group_id=settings.app_id
        )
        await consumer.start()
        try:
            missed = [data async for data in _read_as_before(aged, place)]
            member = Member(settings.app_id, consumer._coordinator.member_id, consumer._coordinator.generation)
            claim = Claim(lane=0, worker="w", member="m", generation=1, package="1", claimed_at="2026-11-21T09:00:00Z")
            own = KafkaLedger(aged, 0)
            await own.open()
            await own.claim(write_claim(claim, "o/ledger/0", None), member)
            asyncio.get_running_loop().call_later(HELD, lambda: [proxy.aged.clear() for proxy in proxies])
            found = [data async for _, data in own.blocks()]
        finally:
            await consumer.stop()
            if own is not None:
                await own.close()
            await former.close()

    assert await leader_of(view, 0) != before.leader
    assert sum(proxy.aged_answers for proxy in proxies) > 0
    assert missed == blocks[:2]
    assert found == blocks


async def _read_as_before(settings: Settings, place: TopicPartition) -> AsyncIterator[bytes]:
    """What a lane read that ended where a fetch answer told the end."""
    async with open_reader(settings, place) as consumer:
        while True:
            for record in (await consumer.getmany(place, timeout_ms=200)).get(place, []):
                if record.key is None:
                    yield record.value
            end = consumer.last_stable_offset(place)
            if end is not None and await consumer.position(place) >= end:
                return
