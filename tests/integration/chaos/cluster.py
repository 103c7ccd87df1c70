"""Three Kafkas with a second door each: what comes through it is advertised a proxy's address, so that can be cut.

And what a fault has to know of them: who leads a partition, who coordinates a group, who is the quorum's controller.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError
from aiokafka.protocol.admin import AlterPartitionReassignmentsRequest
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import Array, Int8, Int16, Int32, Schema, String

from sluice.codecs.errors import UnreachableError
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import Identities, identify
from sluice.topology.kafka.aiokafka_inside import client_of
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.local_broker import Node, RealBroker, RealCluster, free_ports
from sluice.topology.kafka.requests import log_ends
from sluice.topology.kafka.topics import TOPICS, topic_name
from sluice.topology.settings.settings import Settings

from .proxy import Proxy

HEAP: Final = 256
"""MB of heap of each node: three of them and the workers fit into 3 GB."""
ASK_SECONDS: Final = 60.0
"""A cluster of which at most one node is away answers within so long, on a busy machine too."""
TRY_SECONDS: Final = 5.0
"""Then another node is asked: the one that was may be frozen."""
GROUP, TRANSACTIONS = 0, 1
"""Kinds of coordinators, as Kafka numbers them."""
PREFERRED = 0

# The last one of equal keys holds: these follow what `RealBroker` has written.
_SECOND_DOOR = """
listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://{address},PROXIED://127.0.0.1:{proxy}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PROXIED:PLAINTEXT,CONTROLLER:PLAINTEXT
"""

T = TypeVar("T")


class ProxiedBroker(RealBroker):
    """A `RealBroker` that also listens where `proxy` forwards to, and says there that it is to be found at `proxy`."""

    proxy: Proxy

    def _launch(self, java: str, libs: Path, data: Path) -> None:
        assert self._ports is not None
        with open(data / "server.properties", "a", encoding="ascii") as properties:
            properties.write(
                _SECOND_DOOR.format(
                    address=self.address.removeprefix("kafka://"),
                    port=self.proxy.target,
                    controller=self._ports[1],
                    proxy=self.proxy.port,
                )
            )
        super()._launch(java, libs, data)


class ProxiedCluster(RealCluster):
    """A `RealCluster` of `ProxiedBroker`s, one behind each of the proxies.

    Args:
        data: folder to keep the data in.
        proxies: of the nodes 1, 2, ...; each has its target from here.
        tell: what is done with a line of progress.
    """

    def __init__(self, data: str | os.PathLike[str], proxies: Sequence[Proxy], *, tell: Callable[[str], None]) -> None:
        super().__init__(data, count=len(proxies), heap=HEAP, tell=tell)
        self._proxies = proxies
        for proxy, port in zip(proxies, free_ports(len(proxies)), strict=True):
            proxy.target = port

    def _node(self, data: Path, port: int, node: Node) -> RealBroker:
        broker = ProxiedBroker(data, port, heap=self._heap, tell=self._tell, node=node)
        broker.proxy = self._proxies[node.id - 1]
        return broker

    @property
    def proxied(self) -> str:
        """`address`, by way of the proxies."""
        return "kafka://" + ",".join(f"127.0.0.1:{proxy.port}" for proxy in self._proxies)

    def signal(self, number: int, which: signal.Signals) -> None:
        """Sends a signal to a node that runs."""
        if (pid := self.nodes[number].pid) is not None:
            os.kill(pid, which)

    def controller(self) -> int | None:
        """The node whose quorum's files name the newest leader; None before there was one."""
        found: list[tuple[int, int]] = []
        assert self._data is not None, "start comes first"
        for number in self.nodes:
            path = self._data / str(number) / "log" / "__cluster_metadata-0" / "quorum-state"
            try:
                state = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError):  # it is being written
                continue
            found.append((state["leaderEpoch"], state["leaderId"]))
        return next((leader for _, leader in sorted(found, reverse=True) if leader >= 0), None)


class Partition(NamedTuple):
    """Where a partition stands: the node that leads it, those that have it, and those of them that are up to date."""

    leader: int
    replicas: list[int]
    in_sync: list[int]


class View:
    """What a cluster says of itself. Every question is asked again until it is answered, of whoever answers."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    async def partitions(self, *topics: str) -> dict[TopicPartition, Partition]:
        """Each partition of these topics (their own names)."""
        names = [topic_name(self.settings, topic) for topic in topics]

        async def ask(admin: AIOKafkaAdminClient) -> dict[TopicPartition, Partition]:
            return {
                TopicPartition(one["topic"], row["partition"]): Partition(row["leader"], row["replicas"], row["isr"])
                for one in await admin.describe_topics(names)
                for row in one["partitions"]
            }

        return await self._answer(ask)

    async def partition(self, topic: str, number: int) -> Partition:
        """One partition."""
        return (await self.partitions(topic))[TopicPartition(topic_name(self.settings, topic), number)]

    async def identities(self) -> Identities:
        """The workers' group, and the ids of the ledgers."""
        return await identify(self.settings, folds())

    async def coordinator(self, name: str, kind: int) -> int:
        """The node that coordinates a group, or the transactions of a transactional id."""
        return await self._answer(lambda admin: admin.find_coordinator(name, kind))

    async def ends(self, topic: str) -> dict[TopicPartition, int]:
        """Where a topic's partitions end, by their leaders' word; those that have no leader are missing."""
        places = [TopicPartition(topic_name(self.settings, topic), one) for one in range(self.settings.partitions)]

        async def ask(admin: AIOKafkaAdminClient) -> dict[TopicPartition, int]:
            return {place: end.offset for place, end in (await log_ends(admin, places)).items()}

        return await self._answer(ask)

    async def move_leader(self, place: TopicPartition, replicas: list[int]) -> None:
        """Gives a partition its replicas in this order, and elects the first one, which is up to date, its leader."""

        async def ask(admin: AIOKafkaAdminClient) -> None:
            order: Any = [(place.topic, [(place.partition, replicas, {})], {})]
            answer: Any = await client_of(admin).send(
                replicas[0],
                AlterPartitionReassignmentsRequest(10_000, order, {}),  # type: ignore[arg-type]
            )
            _demand(answer.error_code, [row[1] for one in answer.responses for row in one[1]])
            answer = await client_of(admin).send(replicas[0], ElectLeadersRequest({place.topic: [place.partition]}))
            _demand(answer.error_code, [row[1] for one in answer.results for row in one[1]], _NOT_NEEDED)

        await self._answer(ask)

    async def demand_replicas(self, topics: Sequence[str], least: int | None) -> None:
        """Of these topics so many replicas must have a record before it counts; None: as many as the brokers say."""

        async def ask(admin: AIOKafkaAdminClient) -> None:
            more = {} if least is None else {"min.insync.replicas": str(least)}
            resources = [
                ConfigResource(
                    ConfigResourceType.TOPIC,
                    topic_name(self.settings, topic),
                    configs=dict(TOPICS[topic].config) | more,
                )
                for topic in topics
            ]
            for answer in await admin.alter_configs(resources):
                _demand(0, [one[0] for one in answer.resources])  # type: ignore[attr-defined]

        await self._answer(ask)

    async def _answer(self, ask: Callable[[AIOKafkaAdminClient], Awaitable[T]]) -> T:
        end = time.monotonic() + ASK_SECONDS
        while True:
            try:
                async with AsyncExitStack() as stack:
                    admin = await stack.enter_async_context(open_admin(self.settings))
                    async with asyncio.timeout(TRY_SECONDS):
                        return await ask(admin)
            except (KafkaError, OSError, UnreachableError) as error:  # a TimeoutError is an OSError
                if time.monotonic() > end:
                    raise AssertionError(f"the cluster does not answer: {error!r}") from error
            await asyncio.sleep(0.3)


_NOT_NEEDED = 84
"""What an election answers where the preferred replica leads already."""


def _demand(code: int, codes: Sequence[int], fine: int = 0) -> None:
    if code or any(one not in (0, fine) for one in codes):
        raise KafkaError(f"refused with {code or codes}")


class _ElectLeadersResponse_v1(Response):
    API_KEY = 43  # type: ignore[assignment]  # aiokafka declares a property, and has constants itself
    API_VERSION = 1  # type: ignore[assignment]
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        (
            "results",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(("partition", Int32), ("error_code", Int16), ("error_message", String("utf-8"))),
                ),
            ),
        ),
    )


class _ElectLeadersRequest_v1(RequestStruct):
    API_KEY = 43
    API_VERSION = 1
    RESPONSE_TYPE = _ElectLeadersResponse_v1
    SCHEMA = Schema(
        ("election_type", Int8),
        ("topics", Array(("topic", String("utf-8")), ("partitions", Array(Int32)))),
        ("timeout_ms", Int32),
    )


class ElectLeadersRequest(Request[_ElectLeadersRequest_v1]):
    """That the first replica of each of these partitions shall lead it, where it is up to date."""

    API_KEY = 43

    def __init__(self, partitions: Mapping[str, list[int]]) -> None:
        self._partitions = partitions

    def build(self, request_struct_class: type[_ElectLeadersRequest_v1]) -> _ElectLeadersRequest_v1:
        """The request as it goes out."""
        return request_struct_class(PREFERRED, list(self._partitions.items()), 10_000)
