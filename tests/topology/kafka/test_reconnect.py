"""How often a client tries to reach a broker that is gone: counted in attempts, on a clock of the test's own."""

from __future__ import annotations

import asyncio
import gc
import inspect
import re
import weakref
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.protocol.metadata import MetadataResponse_v0

from sluice.topology.kafka import reconnect

TOPOLOGY = Path(__file__).parents[3] / "topology"
MANY = 2000
"""Attempts after which a test gives up: without pauses the clock would stand still for ever."""


def metadata(*nodes: int, leader: int) -> Any:
    """What a broker says of these nodes, and of one partition."""
    brokers = [(node, "127.0.0.1", 9000 + node) for node in nodes]
    return MetadataResponse_v0(brokers, [(0, "emissions", [(5 if leader < 0 else 0, 0, leader, [1], [1])])])


class Away:
    """Brokers, the attempts to reach them, and a clock that moves only while a client pauses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.attempts, self.asked = 1000.0, 0, 0
        self.up: set[int] = set()
        self.leader = -1
        monkeypatch.setattr(reconnect, "monotonic", lambda: self.now)
        monkeypatch.setattr(reconnect, "sleep", self._sleep)
        monkeypatch.setattr("aiokafka.client.create_conn", self._connect)
        monkeypatch.setattr("aiokafka.conn.create_conn", self._connect)

    async def _sleep(self, seconds: float) -> None:
        self.now = max(self.now, self.now + seconds)
        await asyncio.sleep(0)

    async def _connect(self, host: str, port: int, **_: Any) -> Any:
        self.attempts += 1
        await asyncio.sleep(0)
        if port - 9000 not in self.up:
            raise ConnectionRefusedError(111, "Connect call failed")
        return SimpleNamespace(connected=lambda: True, send=self._answer, close=self._close)

    async def _answer(self, request: Any) -> Any:
        self.asked += 1
        return metadata(1, 2, leader=self.leader)

    def _close(self, **_: Any) -> Any:
        closed = asyncio.get_running_loop().create_future()
        closed.set_result(None)
        return closed


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> Away:
    """Nobody answers."""
    return Away(monkeypatch)


@pytest.fixture
async def kafka(away: Away) -> AsyncIterator[Any]:
    """The client of a producer that has known one broker, and its synchroniser."""
    kafka: Any = reconnect.paced(AIOKafkaProducer(bootstrap_servers="127.0.0.1:9001")).client
    kafka.cluster.update_metadata(metadata(1, leader=-1))
    kafka._sync_task = asyncio.create_task(kafka._md_synchronizer())
    yield kafka
    kafka._sync_task.cancel()
    with suppress(asyncio.CancelledError):
        await kafka._sync_task


async def ask_for(kafka: Any, away: Away, seconds: float) -> int:
    """Asks for metadata again and again, without a pause, as aiokafka's sender does; how often."""
    end, asked = away.now + seconds, 0
    while away.now < end and asked < MANY:
        await kafka.force_metadata_update()
        asked += 1
    return asked


async def test_a_broker_that_is_gone_is_tried_once_a_second(kafka: Any, away: Away) -> None:
    """However often metadata are asked for; the first attempts are nearer together."""
    assert await ask_for(kafka, away, 60) < MANY
    assert 55 <= away.attempts <= 65


@pytest.fixture
async def kafka_of_three(away: Away) -> AsyncIterator[Any]:
    """The client of a producer that was given three addresses, and last heard of a cluster with one broker left."""
    servers = [f"127.0.0.1:900{number}" for number in (1, 2, 3)]
    kafka: Any = reconnect.paced(AIOKafkaProducer(bootstrap_servers=servers)).client
    kafka.cluster.update_metadata(metadata(1, leader=-1))
    kafka._sync_task = asyncio.create_task(kafka._md_synchronizer())
    yield kafka
    kafka._sync_task.cancel()
    with suppress(asyncio.CancelledError):
        await kafka._sync_task


async def test_a_client_that_knows_only_brokers_that_are_gone_asks_the_addresses_that_it_was_given(
    kafka_of_three: Any, away: Away
) -> None:
    """Two of three were away when it last heard; they are back, and the third has gone."""
    away.up, away.leader = {2, 3}, 2

    assert await kafka_of_three.force_metadata_update()

    assert {one.nodeId for one in kafka_of_three.cluster.brokers()} == {1, 2}
    assert kafka_of_three.cluster.leader_for_partition(TopicPartition("emissions", 0)) == 2


async def test_given_addresses_are_asked_once_a_second_where_nobody_answers(kafka_of_three: Any, away: Away) -> None:
    """Of each address one attempt a second, beside those to the broker that it knows."""
    assert await ask_for(kafka_of_three, away, 60) < MANY

    assert away.attempts <= 4 * 65


async def test_whoever_asks_meanwhile_shares_the_next_attempt(kafka: Any, away: Away) -> None:
    """Fetches, heartbeats and lookups of one client are one attempt, not one each."""
    await kafka._get_conn(1)
    before = away.attempts

    groups = [ConnectionGroup.DEFAULT, ConnectionGroup.COORDINATION] * 25
    found = await asyncio.gather(*(kafka._get_conn(1, group=group) for group in groups))

    assert found == [None] * 50
    assert away.attempts - before == 1


async def test_a_broker_that_is_back_is_found_within_a_second(kafka: Any, away: Away) -> None:
    """However long it was away; after that nothing is paused any more."""
    await ask_for(kafka, away, 600)
    away.up, began, away.leader = {1}, away.now, 1

    assert await kafka.force_metadata_update()

    assert away.now - began <= reconnect.LONGEST_SECONDS
    began, before = away.now, away.attempts
    kafka._conns.clear()
    assert await kafka._get_conn(1) is not None
    assert (away.now, away.attempts) == (began, before + 1)


async def test_a_dead_broker_does_not_hold_up_the_living(kafka: Any, away: Away) -> None:
    """Where another may answer, what asks a dead one is told so at once, without an attempt."""
    away.up = {2}
    kafka.cluster.update_metadata(metadata(1, 2, leader=2))
    assert await kafka._get_conn(1) is None
    began, before = away.now, away.attempts

    assert await kafka._get_conn(1) is None
    assert await kafka._get_conn(2) is not None

    assert (away.now, away.attempts) == (began, before + 1)


async def test_a_partition_without_a_leader_is_asked_about_ten_times_a_second(kafka: Any, away: Away) -> None:
    """The brokers that live are not asked as fast as they answer."""
    away.up = {1, 2}

    await ask_for(kafka, away, 6)

    assert 55 <= away.asked <= 65


async def test_a_client_that_is_let_go_of_is_gone_at_once() -> None:
    """Without the collector: a worker's never looks at what has become old, and each take-over makes a client."""
    gc.disable()
    try:
        client: Any = reconnect.paced(AIOKafkaProducer(bootstrap_servers="127.0.0.1:1"))
        client._closed, gone = True, weakref.ref(client.client)
        del client
        assert gone() is None
    finally:
        gc.enable()


def test_what_is_hooked_is_there() -> None:
    """Another release of aiokafka may call them otherwise; then nothing would be paced."""
    assert list(inspect.signature(AIOKafkaClient._get_conn).parameters) == ["self", "node_id", "group", "no_hint"]
    assert list(inspect.signature(AIOKafkaClient._metadata_update).parameters) == ["self", "cluster_metadata", "topics"]
    source = inspect.getsource(AIOKafkaClient)
    assert len(re.findall(r"create_conn\(", source)) == 2  # the first of all, which fails for good, and `_get_conn`'s


def test_every_client_is_paced() -> None:
    """One that was not would burn a core for all."""
    made = [
        (file.name, text[: found.start()].rstrip().endswith("paced("))
        for file in sorted(TOPOLOGY.rglob("*.py"))
        for text in [file.read_text("utf-8")]
        for found in re.finditer(r"\bAIOKafka(?:Consumer|Producer)\(|(?<!class )\bAskingAnyNode\(", text)
    ]
    assert len(made) >= 5
    assert [name for name, is_paced in made if not is_paced] == []
