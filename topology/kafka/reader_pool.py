"""Consumers that lanes read their ledgers and checkpoints with, one lane after another.

To open a consumer takes two connections and two requests for metadata. A lane reads two logs as it is taken over: with
hundreds of lanes at once, to open consumers took longer than to read. Here a consumer that has read one log goes on
with another, one of the same topic where there is one. One whose reading failed, or was cut short, is closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition

from ..settings.settings import Settings
from .aiokafka_inside import fetcher_of, forget_fetched
from .connect import open_reader, reaching, seek

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
    async def reader(self, place: TopicPartition, start: int | None = None) -> AsyncIterator[AIOKafkaConsumer]:
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
