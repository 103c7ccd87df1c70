"""Load from clients that know nothing of sluice, and the books that they keep: what was acknowledged, what was aborted.

Every record has its number in a header, which goes wherever the record goes, so that the check need not believe any
offset. The idempotent producer tries for as long as a broker is away; transactions that a broker's death interrupts are
begun anew by another producer.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from contextlib import suppress
from random import Random
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from sluice.topology.settings.settings import Settings, bootstrap

from .workload import Sending, Workload

NUMBER = "load"
"""The header."""
TICK = 0.02
IN_TRANSACTION = 20
MOST_BYTES = 1_060_000


class Load:
    """About `rate` records a second from `run` until `stop`; the books are complete once `run` has returned.

    Attributes:
        acknowledged: number of each record that must be there, with the place that the broker named.
        aborted: numbers that must be nowhere.
        doubtful: numbers of which nobody knows: the answer was lost, and with it the right to ask again.
    """

    def __init__(self, settings: Settings, seed: int, rate: float) -> None:
        self._settings, self._rate = settings, rate
        self._random = Random(f"load {seed}")
        self._workload = Workload(self._random, settings.partitions)
        self._numbers = itertools.count()
        self._hung = itertools.count()
        self._stopping = asyncio.Event()
        self.acknowledged: dict[int, tuple[str, int, int]] = {}
        self.aborted: set[int] = set()
        self.doubtful: set[int] = set()
        self.transactions = {"aborted": 0, "committed": 0, "interrupted": 0}

    def stop(self) -> None:
        """Sends nothing more; `run` waits for the answers that are still to come."""
        self._stopping.set()

    async def run(self) -> None:
        """Sends until `stop`."""
        in_transactions = asyncio.create_task(self._transactions())
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap(self._settings),
            acks="all",
            enable_idempotence=True,
            linger_ms=10,
            max_request_size=MOST_BYTES,
            request_timeout_ms=60_000,
        )
        await producer.start()
        waiting: list[tuple[float, int, Sending]] = []
        order, owed, before = itertools.count(), 0.0, time.monotonic()
        try:
            while not self._stopping.is_set() or waiting:
                now = time.monotonic()
                # Time that was spent waiting for a broker is not made good: this is load, not a flood.
                owed, before = owed + self._rate * min(now - before, 0.2), now
                while owed > 0 and not self._stopping.is_set():
                    for sending in self._workload.step():
                        heapq.heappush(waiting, (now + sending.after, next(order), sending))
                        owed -= 1
                while waiting and (waiting[0][0] <= now or self._stopping.is_set()):
                    await self._send(producer, heapq.heappop(waiting)[2])
                await asyncio.sleep(TICK)
        finally:
            self.stop()  # where it was cancelled, transactions would go on for ever
            await producer.stop()  # waits for what is on its way
            await in_transactions

    async def _send(self, producer: AIOKafkaProducer, sending: Sending) -> None:
        number = next(self._numbers)
        self.doubtful.add(number)
        answer: asyncio.Future[Any] = await _produce(producer, self._settings, sending, number)
        answer.add_done_callback(lambda done: self._answered(number, done))

    def _answered(self, number: int, done: asyncio.Future[Any]) -> None:
        if done.cancelled() or done.exception() is not None:
            return
        metadata = done.result()
        self.doubtful.discard(number)
        self.acknowledged[number] = (
            metadata.topic.removeprefix(self._settings.topic_prefix),
            metadata.partition,
            metadata.offset,
        )

    # ------------------------------------------------------------ transactions

    async def _transactions(self) -> None:
        """One transaction after another, of which most are aborted."""
        for attempt in itertools.count():
            if self._stopping.is_set():
                return
            producer = AIOKafkaProducer(
                bootstrap_servers=bootstrap(self._settings),
                transactional_id=f"{self._settings.app_id}-load-{attempt}",
                transaction_timeout_ms=5_000,
                request_timeout_ms=10_000,
                max_request_size=MOST_BYTES,
            )
            try:
                async with asyncio.timeout(20):
                    await producer.start()
                while not self._stopping.is_set():
                    async with asyncio.timeout(20):
                        await self._transaction(producer, aborted=self._random.random() < 0.8)
                    await asyncio.sleep(0.5)
            except (KafkaError, OSError, TimeoutError):
                self.transactions["interrupted"] += 1
            finally:
                with suppress(Exception):
                    async with asyncio.timeout(5):
                        await producer.stop()
            await asyncio.sleep(0.5)

    async def hang(self, seconds: float) -> None:
        """A transaction on `observations`, which stays open for so long and is aborted then."""
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap(self._settings),
            transactional_id=f"{self._settings.app_id}-load-open-{next(self._hung)}",
            transaction_timeout_ms=60_000,
            request_timeout_ms=10_000,
        )
        try:
            async with asyncio.timeout(seconds + 30):
                await producer.start()
                await producer.begin_transaction()
                for partition in range(self._settings.partitions):
                    number = next(self._numbers)
                    self.aborted.add(number)
                    sending = Sending(0, "observations", b"nobody", b"{}", partition)
                    await (await _produce(producer, self._settings, sending, number))
                await asyncio.sleep(seconds)
                await producer.abort_transaction()
        finally:
            with suppress(Exception):
                async with asyncio.timeout(5):
                    await producer.stop()

    async def _transaction(self, producer: AIOKafkaProducer, *, aborted: bool) -> None:
        await producer.begin_transaction()
        answers: dict[int, Any] = {}
        while len(answers) < IN_TRANSACTION:
            for sending in self._workload.step():
                number = next(self._numbers)
                # What nobody will ask to be committed is aborted, however the transaction ends.
                (self.aborted if aborted else self.doubtful).add(number)
                answers[number] = await _produce(producer, self._settings, sending, number)
        await asyncio.gather(*answers.values())
        if aborted:
            await producer.abort_transaction()
            self.transactions["aborted"] += 1
            return
        await producer.commit_transaction()
        self.transactions["committed"] += 1
        for number, answer in answers.items():
            self._answered(number, answer)


async def _produce(producer: AIOKafkaProducer, settings: Settings, sending: Sending, number: int) -> Any:
    return await producer.send(
        settings.topic_prefix + sending.topic,
        key=sending.key,
        value=sending.value,
        partition=sending.partition,
        headers=[(NUMBER, b"%d" % number)],
    )
