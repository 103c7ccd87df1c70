"""A worker whose clock is wrong writes no block, and one broker's wrong clock stops nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from scripted_lane import World

from sluice.codecs.blocks import Output
from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine import clocks as module
from sluice.topology.engine.clocks import ClockFence, Clocks
from sluice.topology.kafka.transactions import Written
from sluice.topology.settings.process import BrokerTime

T = 1_790_000_000_000
DAY = 86_400_000
SKEW = 30_000


class Cluster:
    """Three brokers, whose clocks and whose worker's can be set. `time` is the true one, and the monotonic one too."""

    def __init__(self) -> None:
        self.time = 0
        self.ahead = dict.fromkeys((0, 1, 2), 0)
        self.worker_ahead = 0
        self.asked = 0
        self.clocks = Clocks(ClockFence(SKEW), self.ask, wall=self.wall, monotonic=lambda: self.time)

    def wall(self) -> int:
        return T + self.time + self.worker_ahead

    def appended(self, node: int) -> int:
        return T + self.time + self.ahead[node]

    async def ask(self) -> Iterable[BrokerTime]:
        self.asked += 1
        return [BrokerTime(node, self.appended(node), self.time, self.time) for node in self.ahead]


class Stamped:
    """A ledger of the make-believe whose broker stamps what it takes."""

    def __init__(self, world: World, cluster: Cluster, node: int) -> None:
        self._inner, self._cluster, self._node = world.ledger, cluster, node

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        written = await self._inner.write(block, outputs)
        return written._replace(appended_at=self._cluster.appended(self._node), node=self._node)


def world_of(cluster: Cluster, node: int = 0) -> World:
    world = World()
    world.make(ledger=Stamped(world, cluster, node), clock=cluster.wall, clocks=cluster.clocks)
    return world


async def test_a_clock_that_is_set_a_day_ahead_names_no_block() -> None:
    """The lane ends with a sentence, and everything that it has written is of the true time."""
    cluster = Cluster()
    world = world_of(cluster)
    lane = asyncio.create_task(world.lane.run())
    world.inputs.send("emissions", b"a")
    await world.until(lambda: world.log.values == [b"a"])
    cluster.time, cluster.worker_ahead = 10_000, DAY
    world.inputs.send("emissions", b"b")

    with pytest.raises(DoesNotHoldError, match=r"differs from that of most brokers.*86400 s ahead"):
        await asyncio.wait_for(lane, 60)

    assert world.log.values == [b"a"]
    assert all(block.header.time <= T + 10_000 for block in world.log.blocks)


async def test_a_lane_writes_nothing_before_it_was_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also the first block of all: the brokers were asked before the worker joined the group."""
    monkeypatch.setattr(module, "ASK_SECONDS", 0.01)
    cluster = Cluster()
    cluster.worker_ahead = DAY
    waiting = asyncio.create_task(cluster.clocks.wait(0.01))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    world = world_of(cluster)
    with pytest.raises(DoesNotHoldError):
        await asyncio.wait_for(world.lane.run(), 60)
    assert world.log.records == []

    cluster.worker_ahead, cluster.time = 0, 1000
    await asyncio.wait_for(waiting, 60)


async def test_one_broker_with_a_wrong_clock_stops_none_of_its_partitions() -> None:
    """It is told, and asked no more often than every few seconds."""
    cluster = Cluster()
    cluster.ahead[2] = -DAY
    await cluster.clocks.wait()
    world = world_of(cluster, 2)
    async with world.running():
        for number in range(5):
            world.inputs.send("emissions", b"%d" % number)
            await world.until(lambda: len(world.log.values) > number)  # noqa: B023

    assert cluster.asked <= 2


async def test_a_machine_that_slept_goes_on() -> None:
    """The wall clock is a day further on and the monotonic one is not: the brokers say that it is right."""
    cluster = Cluster()
    world = world_of(cluster)
    async with world.running():
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values == [b"a"])
        cluster.worker_ahead, cluster.ahead = DAY, dict.fromkeys((0, 1, 2), DAY)
        world.inputs.send("emissions", b"b")
        await world.until(lambda: world.log.values == [b"a", b"b"])

    assert cluster.asked == 1


async def test_brokers_that_tell_no_time_are_not_waited_for() -> None:
    """Those without transactions, which give none."""

    async def nobody() -> list[BrokerTime]:
        return []

    clocks = Clocks(ClockFence(SKEW), nobody)
    await clocks.wait()
    await clocks.demand(None)
