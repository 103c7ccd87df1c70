"""Records produced outside of a lane: by `sluice produce` and the demo, and to read the brokers' clocks.

`Sender` sends from blocking code: its producer lives on an event loop of its own, in a thread. `broker_times` asks each
broker to give a record the time at which it was appended, since no request of Kafka's tells a broker's time.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Final, TypeVar

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError, UnreachableError
from ..settings.process import BrokerTime, monotonic_ms
from ..settings.settings import Settings, bootstrap
from .connect import client_options, open_producer, partitions_of
from .input_records import Prepared
from .reconnect import paced
from .topics import topic_name

ASK_SECONDS: Final = 20.0
"""All brokers that can be reached have answered by then; who has not is left out."""
TRANSACTION_MS: Final = 15_000
"""A transaction of a worker that dies while it asks ends by itself after that."""


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def broker_times(settings: Settings, topic: str = "ledger") -> list[BrokerTime]:
    """Asks every broker that leads a partition of a topic for its time.

    Args:
        settings: the broker and its time-outs.
        topic: by its logical name; stamped by the broker.

    Returns:
        One time of each broker that answered; none where the broker has no transactions, or none answers.
    """
    if settings.delivery != "exactly-once":
        return []
    producer = paced(
        AIOKafkaProducer(
            bootstrap_servers=bootstrap(settings),
            client_id="sluice-clock",
            acks="all",
            linger_ms=0,
            transactional_id=f"sluice-clock-{socket.gethostname()}-{os.getpid()}",
            transaction_timeout_ms=TRANSACTION_MS,
            **client_options(settings),
        )
    )
    found: list[BrokerTime] = []
    try:
        async with asyncio.timeout(ASK_SECONDS):
            await producer.start()
            await _collect(producer, topic_name(settings, topic), found)
    except (KafkaError, OSError) as error:  # a TimeoutError is an OSError
        log.warning("not every broker could be asked for its time", found=len(found), error=repr(error))
    finally:
        await producer.stop()
    return found


async def _collect(producer: Any, topic: str, found: list[BrokerTime]) -> None:
    leaders: dict[int, int] = {}
    for partition in sorted(await producer.partitions_for(topic)):
        node = producer.client.cluster.leader_for_partition(TopicPartition(topic, partition))
        if node is not None and node >= 0:
            leaders.setdefault(node, partition)
    await producer.begin_transaction()
    try:
        await asyncio.gather(*(_ask(producer, topic, *one, found) for one in leaders.items()))
    finally:
        await producer.abort_transaction()


async def _ask(producer: Any, topic: str, node: int, partition: int, found: list[BrokerTime]) -> None:
    sent = monotonic_ms()
    try:
        async with asyncio.timeout(ASK_SECONDS / 2):
            written = await producer.send_and_wait(topic, b"", key=b"clock", partition=partition)
    except (KafkaError, TimeoutError):
        return  # it is away, or leads the partition no longer: the others tell
    if written.timestamp_type == 1:
        found.append(BrokerTime(node, written.timestamp, sent, monotonic_ms()))


T = TypeVar("T")

IN_FLIGHT = 2000
"""Records that wait for the broker's answer at the most: enough for full batches, little to lose at Ctrl-C."""
ANSWER_SECONDS = 15.0
"""How long the broker may acknowledge nothing. aiokafka's idempotent producer itself tries for ever: giving up on a
batch would leave a hole in its sequence numbers."""
BATCH_BYTES = 131_072


class Sender:
    """Sends records in order, as a context manager. Leaving it without an error waits until all are acknowledged.

    Invariant: `acknowledged` counts what the broker has stored; after the first failure nothing more is sent.

    Raises:
        UnreachableError: on entering where no broker answers; from `send` or on leaving, where it stopped answering.
        UsageError: from `send`, where the broker has no such topic.
    """

    def __init__(self, settings: Settings) -> None:
        self.acknowledged = 0
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sluice-produce", daemon=True)
        self._window = threading.BoundedSemaphore(IN_FLIGHT)
        self._stack = AsyncExitStack()
        self._producer: Any = None  # an AIOKafkaProducer while it is open
        self._order: asyncio.Lock | None = None
        self._waiting: set[asyncio.Task[Any]] = set()
        self._watch: asyncio.Task[None] | None = None
        self._topics: dict[str, str] = {}
        self._failure: SluiceError | None = None

    def send(self, record: Prepared) -> None:
        """Takes one record; waits only while `IN_FLIGHT` others are not acknowledged."""
        name = self._topics.get(record.topic)
        if name is None:
            assert self._producer is not None, "a Sender is a context manager"
            name = topic_name(self._settings, record.topic)
            self._call(partitions_of(self._producer, self._settings, name))
            self._topics[record.topic] = name
        self._window.acquire()
        if self._failure is not None:
            raise self._failure
        asyncio.run_coroutine_threadsafe(self._send(name, record), self._loop)

    async def _give_up(self) -> None:
        """Fails what waits, once nothing has been acknowledged for too long while something waits."""
        seen, since = -1, 0.0
        while self._failure is None:
            now = self._loop.time()
            if self.acknowledged != seen or not self._waiting:
                seen, since = self.acknowledged, now
            elif now - since > ANSWER_SECONDS:
                self._fail(f"no answer for {ANSWER_SECONDS:g} s")
                for task in self._waiting:
                    task.cancel()
            await asyncio.sleep(0.1)

    async def _send(self, name: str, record: Prepared) -> None:
        task = asyncio.current_task()
        assert self._producer is not None
        assert self._order is not None
        assert task is not None
        self._waiting.add(task)
        try:
            # First come, first served: tasks that wait for room in a batch would wake in any order.
            async with self._order:
                if self._failure is not None:
                    return
                acknowledged = await self._producer.send(name, key=record.key, value=record.value)
            await acknowledged
            self.acknowledged += 1
        except (KafkaError, OSError) as error:
            self._fail(str(error) or type(error).__name__)
        finally:
            self._waiting.discard(task)
            self._window.release()

    def _fail(self, said: str) -> None:
        if self._failure is None:
            self._failure = UnreachableError(
                f"the broker does not take the records: {said[:200]}",
                path=self._settings.broker,
                hint=f"{self.acknowledged} were stored before",
            )

    def _call(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self) -> None:
        self._order = asyncio.Lock()
        self._producer = await self._stack.enter_async_context(
            open_producer(self._settings, max_batch_size=BATCH_BYTES)
        )
        self._watch = asyncio.create_task(self._give_up())

    async def _close(self) -> None:
        await self._stack.aclose()
        unsent = asyncio.all_tasks() - {asyncio.current_task()}
        for task in unsent:
            task.cancel()
        await asyncio.gather(*unsent, return_exceptions=True)

    def __enter__(self) -> Sender:
        self._thread.start()
        try:
            self._call(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for _ in range(IN_FLIGHT):  # whoever has the whole window knows that nothing is on its way
                    self._window.acquire()
            self._call(self._close())
        finally:
            self._end()
        if error is None and self._failure is not None:
            raise self._failure

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
