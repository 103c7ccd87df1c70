"""Sends records from blocking code: the producer lives on an event loop of its own, in a thread.

So a caller that reads lines from a pipe can wait for the next line, Ctrl-C works while it waits, and the lines before
it are sent meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, TypeVar

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError, UnreachableError
from ..settings.settings import Settings
from .connect import open_producer, partitions_of
from .input_records import Prepared
from .topics import topic_name

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
        self._producer: AIOKafkaProducer | None = None
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
