"""Clients that many lanes share, since each connection and each request for metadata costs time at a take-over.

`ClientPool` gives the producers of many lanes few network clients. `ReaderPool` lends consumers to lanes, one lane
after another. `LogBounds` asks for the beginnings and ends of many lanes' logs in one request.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Hashable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from time import monotonic
from typing import Any, Final, Generic, NamedTuple, TypeVar

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaConnectionError, KafkaTimeoutError

from ..settings.settings import Settings
from .aiokafka_inside import SharedClient, client_of, fetcher_of, forget_fetched, real_client_of, replace_client
from .connect import open_reader, reaching, seek
from .polling import Bounds
from .requests import TopicNow, log_spans, topics_now

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


AT_ONCE: Final = 10
"""So many read at a time; each has a socket to each broker."""
LATE_SECONDS: Final = 2.0
"""A reading that takes longer counts no more: it may be a long one, or its broker may be away."""
WAIT_MS: Final = 20
"""How long the broker may hold an empty answer: who reads next by the same connection waits for it."""
KEPT_SECONDS: Final = 5.0
"""A reader without work is closed after so long."""

Reader = Callable[[TopicPartition, int | None], AbstractAsyncContextManager[AIOKafkaConsumer]]
"""A consumer of one partition from an offset (None: its beginning) on, as `connect.open_reader` opens it."""


class _Idle(NamedTuple):
    """A reader without work, and what closes it."""

    consumer: AIOKafkaConsumer
    topic: str
    opened: AsyncExitStack
    ending: asyncio.TimerHandle


class ReaderPool:
    """The readers of one worker. Calls come from one event loop.

    Args:
        settings: the broker and delivery.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._idle: list[_Idle] = []
        self._closing: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def reader(self, place: TopicPartition, start: int | None = None) -> AsyncGenerator[AIOKafkaConsumer]:
        """As `connect.open_reader`.

        Raises:
            UnreachableError: no broker answers.
        """
        await self._turns.acquire()
        late = asyncio.get_running_loop().call_later(LATE_SECONDS, self._turns.release)
        try:
            async with AsyncExitStack() as opened:
                consumer = await self._take(opened, place, start)
                with reaching(self._settings, consumer):
                    yield consumer
                self._keep(opened.pop_all(), consumer, place)
        finally:
            if asyncio.get_running_loop().time() < late.when():
                late.cancel()
                self._turns.release()

    async def close(self) -> None:
        """Closes the readers without work."""
        while self._idle:
            self._end(self._idle[0])
        await asyncio.gather(*self._closing, return_exceptions=True)

    async def _take(self, opened: AsyncExitStack, place: TopicPartition, start: int | None) -> AIOKafkaConsumer:
        """A reader at its place; `opened` closes it."""
        if not self._idle:
            return await opened.enter_async_context(open_reader(self._settings, place, start, WAIT_MS))
        idle = next((one for one in self._idle if one.topic == place.topic), self._idle[0])
        self._idle.remove(idle)
        idle.ending.cancel()
        opened.push_async_callback(idle.opened.aclose)
        with reaching(self._settings, idle.consumer):
            await seek(idle.consumer, place, start)
        return idle.consumer

    def _keep(self, opened: AsyncExitStack, consumer: AIOKafkaConsumer, place: TopicPartition) -> None:
        consumer.pause(place)
        forget_fetched(fetcher_of(consumer), place)
        ending = asyncio.get_running_loop().call_later(KEPT_SECONDS, lambda: self._end(idle))
        idle = _Idle(consumer, place.topic, opened, ending)
        self._idle.append(idle)

    def _end(self, idle: _Idle) -> None:
        self._idle.remove(idle)
        idle.ending.cancel()
        closing: asyncio.Task[Any] = asyncio.create_task(idle.opened.aclose())
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)


PATIENCE_SECONDS: Final = 30.0
AGAIN_SECONDS: Final = 0.1

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LogBounds:
    """Asks for the bounds of logs. Calls come from one event loop.

    Each leader is asked by itself, so that one that is silent holds up the lanes of no other.

    Args:
        clients: by which brokers are asked; a lane that asks has opened its producer before.
        committed: whether a log ends with its last stable offset.
    """

    def __init__(self, clients: ClientPool, *, committed: bool) -> None:
        self._clients, self._committed = clients, committed
        self._of_leader: defaultdict[int | None, _Batches[TopicPartition, tuple[int, int]]]
        self._of_leader = defaultdict(lambda: _Batches(self._ask_for_ends))
        self._of_topics = _Batches(self._ask_for_topics)

    async def of(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """The bounds of some logs as of now; leaders that do not answer are asked again for a while.

        Raises:
            KafkaError: not all leaders answered in `PATIENCE_SECONDS`, or no lane has a client.
        """
        topics, ends = await asyncio.gather(
            self._of_topics.ask({one.topic for one in partitions}), self._ends(partitions)
        )
        cluster: Any = client_of(self._clients.client()).cluster
        found: dict[TopicPartition, Bounds] = {}
        for one in partitions:
            now = topics.get(one.topic)
            count = len(cluster.partitions_for_topic(one.topic) or ()) if now is None else now.partitions
            found[one] = Bounds(count, *ends[one], "" if now is None else now.id)
        return found

    async def _ends(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, tuple[int, int]]:
        """The first offset of each, and the one behind the last."""
        known: dict[TopicPartition, tuple[int, int]] = {}
        gives_up_at = monotonic() + PATIENCE_SECONDS
        while True:
            cluster: Any = client_of(self._clients.client()).cluster
            of_leader: defaultdict[int | None, list[TopicPartition]] = defaultdict(list)
            for one in partitions:
                if one not in known:
                    of_leader[cluster.leader_for_partition(one)].append(one)
            asked = (self._of_leader[leader].ask(some) for leader, some in of_leader.items())
            for answers in await asyncio.gather(*asked):
                known.update(answers)
            left = [one for one in partitions if one not in known]
            if not left:
                return known
            if monotonic() > gives_up_at:
                raise KafkaTimeoutError(f"no leader says where {left[0].topic}/{left[0].partition} ends")
            await asyncio.sleep(AGAIN_SECONDS)

    async def _ask_for_ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, tuple[int, int]]:
        return await log_spans(self._clients.client(), partitions, 0, committed=self._committed)

    async def _ask_for_topics(self, topics: Collection[str]) -> dict[str, TopicNow]:
        owner = self._clients.client()
        # Any node is asked: where the first one is silent, another one.
        return await topics_now(owner, topics) or await topics_now(owner, topics)


class _Batches(Generic[K, V]):
    """Puts questions to a broker, at most one request of its kind under way at a time.

    Args:
        ask: puts a request; its answer may lack some of what was asked for.
    """

    def __init__(self, ask: Callable[[Collection[K]], Awaitable[dict[K, V]]]) -> None:
        self._ask = ask
        self._waiting: list[tuple[Collection[K], asyncio.Future[dict[K, V]]]] = []
        self._asking: asyncio.Task[None] | None = None

    async def ask(self, wanted: Collection[K]) -> dict[K, V]:
        """What a request brings of these that goes out from now on."""
        answer: asyncio.Future[dict[K, V]] = asyncio.get_running_loop().create_future()
        self._waiting.append((wanted, answer))
        if self._asking is None:
            self._asking = asyncio.create_task(self._run())
        return await answer

    async def _run(self) -> None:
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                try:
                    found = await self._ask({one for wanted, _ in waiting for one in wanted})
                except Exception as error:  # noqa: BLE001 -- it is told to all who asked
                    for _, answer in waiting:
                        if not answer.done():
                            answer.set_exception(error)
                    continue
                for wanted, answer in waiting:
                    if not answer.done():
                        answer.set_result({one: found[one] for one in wanted if one in found})
        finally:
            self._asking = None
