"""Producers of many lanes share few clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from sluice.topology.kafka.aiokafka_inside import real_client_of
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.reconnect import causes_of, paced
from sluice.topology.kafka.shared_clients import MAX_CLIENTS, ClientPool, discard

TOPIC = "t"


@pytest.fixture
def address() -> Iterator[str]:
    """A broker's address, without the scheme."""
    with EmbeddedBroker() as broker:
        yield broker.address.removeprefix("kafka://")


@asynccontextmanager
async def producers(pool: ClientPool, address: str, count: int) -> AsyncIterator[list[AIOKafkaProducer]]:
    """So many started producers of a pool."""
    made: list[AIOKafkaProducer] = []
    try:
        for _ in range(count):
            producer = paced(AIOKafkaProducer(bootstrap_servers=address, acks="all", enable_idempotence=True))
            pool.share(producer)
            made.append(producer)
            await producer.start()
        yield made
    finally:
        for producer in made:
            await producer.stop()


def clients(of: list[AIOKafkaProducer]) -> list[Any]:
    """The distinct clients of producers."""
    return list({id(client): client for client in map(real_client_of, of)}.values())


async def test_many_producers_share_few_clients_and_each_sends(address: str):
    async with producers(ClientPool(), address, 3 * MAX_CLIENTS) as made:
        sent = [await producer.send_and_wait(TOPIC, b"x", partition=0) for producer in made]
        assert len({record.offset for record in sent}) == 3 * MAX_CLIENTS
        assert len(clients(made)) == MAX_CLIENTS
        assert all(len(client._conns) <= 2 for client in clients(made))
        shared = clients(made)
    assert not any(conn.connected() for client in shared for conn in client._conns.values())


async def test_no_more_producers_than_clients_have_one_each(address: str):
    async with producers(ClientPool(), address, MAX_CLIENTS) as made:
        assert len(clients(made)) == MAX_CLIENTS


async def test_a_client_is_closed_with_its_last_producer_only(address: str):
    async with producers(ClientPool(size=1), address, 2) as (first, second):
        await first.stop()
        await first.client.close()  # as a lane does whose producer did not close in order
        assert (await second.send_and_wait(TOPIC, b"x", partition=0)).offset == 0


async def test_a_discarded_client_gets_no_further_producer_and_keeps_those_it_has(address: str):
    pool = ClientPool(size=1)
    async with producers(pool, address, 2) as (first, second):
        discard(first)
        async with producers(pool, address, 1) as [third]:
            assert real_client_of(first) is real_client_of(second) is not real_client_of(third)
            assert [(await one.send_and_wait(TOPIC, b"x", partition=0)).offset for one in (second, third)] == [0, 1]


async def test_a_client_that_found_no_broker_looks_again_for_the_next_producer(address: str):
    pool = ClientPool(size=1)
    producer = paced(AIOKafkaProducer(bootstrap_servers=address))
    pool.share(producer)
    client: Any = real_client_of(producer)
    client._bootstrap_servers = "127.0.0.1:9"
    with pytest.raises(KafkaError):
        await producer.start()
    assert causes_of(producer)["127.0.0.1:9"].words == "refuses connections"
    client._bootstrap_servers = address
    async with producers(pool, address, 1) as [second]:
        assert real_client_of(second) is client
        assert (await second.send_and_wait(TOPIC, b"x", partition=0)).offset == 0
    await producer.stop()
