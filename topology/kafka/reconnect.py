"""How often a Kafka client tries to reach a broker that is gone: ever more rarely, and at least once a second.

aiokafka pauses for 100 ms in most of its loops (`retry_backoff_ms`), and not at all in two. Where a partition has no
leader, its sender and its fetcher ask for metadata again as soon as the last answer, or the last failure, is there. A
broker that is shut down in order leaves just that behind: metadata without leaders. Measured on a worker of twelve
lanes: 4,800 attempts to connect a second, and a whole core. The loops with a pause added 220 a second, since every
client has several of them and none knows of the others' failures.

So attempts are paced here, by node and client, whoever asks (Java's `reconnect.backoff.ms` and
`reconnect.backoff.max.ms`); and so is asking again for metadata that had no leader.

A client also finds its cluster again. Metadata name the brokers that are up at that moment, and aiokafka asks nobody
else from then on: one that last heard of a cluster while a single broker was left knows only that one, and once it goes
too, the client waits for it for ever, though the others are back. So where no broker that it knows answers, the
addresses that it was given are asked again (KIP-899 in Java's client).

It stands in the place of two methods of aiokafka's client (`aiokafka_inside.replace_connection_methods`):
tests/topology/kafka/test_reconnect.py fails where a client connects, or asks for metadata, without them.
"""

from __future__ import annotations

from asyncio import Lock, sleep, timeout
from collections.abc import Mapping
from time import monotonic
from typing import Any, Final, TypeVar
from weakref import WeakKeyDictionary, WeakMethod, proxy

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from .aiokafka_inside import (
    ConnectionGroup,
    connection_methods,
    is_connected,
    real_client_of,
    replace_bootstrap,
    replace_connection_methods,
)
from .bootstrapping import Cause, bootstrap

FIRST_SECONDS: Final = 0.1
LONGEST_SECONDS: Final = 1.0
"""A broker that is back is found so late at the most."""
FIND_SECONDS: Final = 5.0
"""The given addresses are asked for so long: one of them may be of a broker that takes connections and says nothing."""

C = TypeVar("C", AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient)


def paced(client: C) -> C:
    """A client that was not started yet, with its attempts paced; the same one, so that it can stand where it is made.

    Every client of ours goes through here: `connect.py`'s, the lanes' producers, the worker's consumer.
    """
    kafka = real_client_of(client)
    if kafka is not None:  # not a test's stand-in, which connects to nobody
        pace = _Pace(kafka)
        replace_connection_methods(kafka, pace.connection, pace.metadata)
        replace_bootstrap(kafka, pace.bootstrap)
        _PACES[kafka] = pace
    return client


def causes_of(client: object) -> Mapping[str, Cause]:
    """Why the addresses of a paced client gave no answer; empty once one did, and for a test's stand-in."""
    kafka = real_client_of(client)
    pace = None if kafka is None else _PACES.get(kafka)
    return {} if pace is None else pace.causes


_PACES: Final[WeakKeyDictionary[Any, _Pace]] = WeakKeyDictionary()


class _Node:
    """A broker that could not be reached: since how many attempts, and when the next one may be."""

    def __init__(self) -> None:
        self.turn = Lock()
        self.failures = 0
        self.next_at = 0.0

    def failed(self) -> None:
        self.next_at = monotonic() + min(FIRST_SECONDS * 2 ** min(self.failures, 10), LONGEST_SECONDS)
        self.failures += 1


class _Pace:
    """Stands before two methods of one aiokafka client.

    Invariant: beyond the first failure, no two attempts to connect to one node are nearer than its pause.
    """

    def __init__(self, kafka: Any) -> None:
        # Weakly: a client that is let go of must go at once, since a worker's collector never looks at old objects.
        self._kafka = proxy(kafka)
        self._connect_of, self._update_of = connection_methods(kafka)
        self._away: dict[Any, _Node] = {}
        self._leaderless_until = self._find_at = 0.0
        self.causes: dict[str, Cause] = {}

    async def bootstrap(self) -> None:
        """Finds the cluster by the given addresses (bootstrapping.py)."""
        await bootstrap(self._kafka, self.causes)

    async def connection(
        self, node_id: Any, *, group: ConnectionGroup = ConnectionGroup.DEFAULT, no_hint: bool = False
    ) -> Any:
        """A connection to a node, or None where there is none to be had; waits for the node's turn."""
        node = self._away.get(node_id)
        if node is None or is_connected(self._kafka, node_id, group):
            found = await self._method(self._connect_of)(node_id, group=group)
            if found is None and node_id not in self._away:  # those that fail together are one
                self._away[node_id] = _Node()
                self._away[node_id].failed()
            return found
        if monotonic() < node.next_at and self._another_may_answer(node_id):
            return None  # metadata come from any of them: a dead one must not hold that up
        failures = node.failures
        async with node.turn:
            if node.failures != failures:
                return None  # it was tried while this one waited for its turn
            if (left := node.next_at - monotonic()) > 0:
                await sleep(left)
            found = await self._method(self._connect_of)(node_id, group=group)
            if found is None:
                node.failed()
            else:
                self._away.pop(node_id, None)
            return found

    async def metadata(self, cluster: Any, topics: Any) -> bool:
        """Asks for metadata; not at once again where the last answer had partitions without a leader."""
        if (left := self._leaderless_until - monotonic()) > 0:
            await sleep(left)
        updated: bool = await self._method(self._update_of)(cluster, topics)
        if not updated and await self._found_again():
            updated = await self._method(self._update_of)(cluster, topics)
        self._leaderless_until = monotonic() + FIRST_SECONDS if updated and _lacks_leaders(cluster) else 0.0
        return updated

    async def _found_again(self) -> bool:
        """Whether an address that the client was given, and that is no known broker's, has named brokers anew."""
        kafka = self._kafka
        known = {(one.host, one.port) for one in kafka.cluster.brokers()}
        if known.issuperset((host, port) for host, port, _ in kafka.hosts) or monotonic() < self._find_at:
            return False
        try:
            async with timeout(FIND_SECONDS):
                await kafka.bootstrap()
        except (KafkaError, OSError):  # a TimeoutError is an OSError
            return False
        finally:
            self._find_at = monotonic() + LONGEST_SECONDS
        return True

    @staticmethod
    def _method(weak: WeakMethod[Any]) -> Any:
        found = weak()
        assert found is not None, "whoever calls has the client"
        return found

    def _another_may_answer(self, node_id: Any) -> bool:
        return any(one.nodeId != node_id and one.nodeId not in self._away for one in self._kafka.cluster.brokers())


def _lacks_leaders(cluster: Any) -> bool:
    return any(
        (cluster.partitions_for_topic(topic) or set()) != (cluster.available_partitions_for_topic(topic) or set())
        for topic in cluster.topics()
    )
