"""Whose turn it is: each class of substrate has threads and a queue of its own, so that none waits for another's.

A class is *behind* when the look that waits longest has waited for more than a look may take. One that is behind and
impatient lets nobody in: its looks are answered with `unavailable`, and the emissions' other classes go on. A burst
makes nobody behind: looks that go well are many a second, and a full queue is then waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Final, TypeVar

T = TypeVar("T")

MAX_WAITING: Final = 256
"""Looks of one class that have their turn, waiting or under way."""


class _Queue:
    """The turns of one class.

    Invariant: `_waiting` holds when each look that has its turn and has not begun was let in, in that order.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix=f"sluice-{name.rsplit('.', 1)[-1]}")
        self.room = asyncio.Semaphore(MAX_WAITING)
        self._waiting: dict[object, float] = {}

    def let_in(self, look: object) -> None:
        self._waiting[look] = time.monotonic()

    def begun(self, look: object) -> None:
        self._waiting.pop(look, None)

    def behind(self, seconds: float) -> bool:
        first = next(iter(list(self._waiting.values())), None)
        return first is not None and time.monotonic() - first > seconds


class Turns:
    """The queues of all classes; used on one event loop.

    Args:
        threads: looks of one class at once.
        seconds: for which a look may wait before its class is behind.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self._seconds = seconds
        self._queues: defaultdict[str, _Queue] = _Queues(threads)

    async def enter(self, name: str, *, patient: bool) -> bool:
        """Waits for a place in the queue of a class; False where the class is behind and the caller impatient.

        Who gets True calls `take` once.
        """
        queue = self._queues[name]
        if not patient and queue.behind(self._seconds):
            return False
        while True:
            try:
                async with asyncio.timeout(None if patient else self._seconds / 4):
                    await queue.room.acquire()
                return True
            except TimeoutError:
                if queue.behind(self._seconds):
                    return False

    async def take(self, name: str, look: Callable[[], T]) -> T:
        """The result of a look, which runs in a thread of its class when its turn comes."""
        queue, ticket = self._queues[name], object()
        queue.let_in(ticket)

        def run() -> T:
            queue.begun(ticket)
            return look()

        try:
            return await asyncio.get_running_loop().run_in_executor(queue.pool, run)
        finally:
            queue.begun(ticket)
            queue.room.release()

    def close(self) -> None:
        """Lets no look begin; those under way are not waited for."""
        for queue in self._queues.values():
            queue.pool.shutdown(wait=False, cancel_futures=True)


class _Queues(defaultdict[str, _Queue]):
    def __init__(self, threads: int) -> None:
        super().__init__()
        self._make = partial(_Queue, threads=threads)

    def __missing__(self, name: str) -> _Queue:
        made = self[name] = self._make(name)
        return made
