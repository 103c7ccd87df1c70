"""Few Kafka clients for the producers of many lanes.

Each lane has a producer of its own, since its transactional id is what fences the lane (transactions.py). aiokafka
gives every producer a client of its own as well, with two sockets for each broker and a copy of the metadata: a worker
of 128 partitions had 786 sockets, and most of the time until its lanes were ready went into metadata. Here producers
share clients, up to `MAX_CLIENTS` for a worker; where there are no more lanes than that, each still has its own.

A connection answers its requests in order, so a client whose broker is silent holds up every lane that shares it.
A lane that ran into a time-out therefore has its client discarded: lanes that open afterwards get a new one, and the
old one is closed with its last producer.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaConnectionError

from .aiokafka_inside import SharedClient, real_client_of, replace_client

MAX_CLIENTS: Final = 10
"""Two sockets each for every broker; the consumer and the readers of ledgers have others."""


class ClientPool:
    """The clients of one worker's lanes. Calls come from one event loop.

    Args:
        size: the number of clients at the most, not counting those that were discarded and are still in use.
    """

    def __init__(self, size: int = MAX_CLIENTS) -> None:
        self._size = size
        self._clients: list[_Client] = []

    def share(self, producer: AIOKafkaProducer) -> None:
        """Gives a producer that was not started yet a client of the pool; its own one where there is room for it."""
        own = real_client_of(producer)
        if own is None:  # a test's stand-in
            return
        if len(self._clients) < self._size:
            self._clients.append(_Client(own, self))
        replace_client(producer, _Lease(min(self._clients, key=lambda client: client.users)))

    def client(self) -> SharedClient:
        """One that has found its cluster, for a question; it stays open while a lane has it.

        Raises:
            KafkaConnectionError: none has.
        """
        for client in self._clients:
            if client.is_bootstrapped:
                return SharedClient(client.kafka)
        raise KafkaConnectionError("no lane has a client")

    def remove(self, client: _Client) -> None:
        """Gives a client to no further producer."""
        self._clients = [other for other in self._clients if other is not client]


class _Client:
    """A client with the number of its producers."""

    def __init__(self, kafka: Any, pool: ClientPool) -> None:
        self.kafka, self.pool, self.users = kafka, pool, 0
        self._bootstrapping, self.is_bootstrapped = asyncio.Lock(), False

    async def bootstrap(self) -> None:
        async with self._bootstrapping:
            if not self.is_bootstrapped:
                await self.kafka.bootstrap()
                self.is_bootstrapped = True


class _Lease(SharedClient):
    """A client as one producer has it."""

    def __init__(self, of: _Client) -> None:
        super().__init__(of.kafka)
        self._of, self._is_open = of, True
        of.users += 1

    async def bootstrap(self) -> None:
        """Finds the cluster, once for all producers of the client."""
        await self._of.bootstrap()

    async def close(self) -> None:
        """Closes the client with its last producer."""
        if not self._is_open:
            return
        self._is_open = False
        self._of.users -= 1
        if not self._of.users:
            self._of.pool.remove(self._of)
            await self._of.kafka.close()

    def discard(self) -> None:
        """See `discard`."""
        self._of.pool.remove(self._of)


def discard(producer: AIOKafkaProducer) -> None:
    """Has a producer's client go to no further producer; without effect on one that is not shared."""
    lease: object = producer.client
    if isinstance(lease, _Lease):
        lease.discard()
