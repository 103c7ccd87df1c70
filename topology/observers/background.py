"""The event loop on which connections live: one thread beside the looks, which are ordinary blocking calls.

Started with the first use. A look hands it a coroutine and waits as long as its budget lets it; what outlives a look
(a session, a subscription) is a task there, ended by `close`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any, Final, TypeVar

from ..settings.process import end_what_is_left
from .ask import Budget, ObservationUnavailable

T = TypeVar("T")

STOP_SECONDS: Final = 5.0
"""How long the end of all connections may take: longer than a server's process gets to end (mcp_session.py)."""


class TooSlow(ObservationUnavailable):
    """A substrate did not answer within the look's time."""


class Background:
    """One event loop in a thread of its own."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def run(self, make: Callable[[], Coroutine[Any, Any, T]], budget: Budget) -> T:
        """The result of a coroutine, from any other thread.

        Raises:
            TooSlow: the budget's time is over.
        """
        seconds = budget.remaining()
        future = asyncio.run_coroutine_threadsafe(_within(make, seconds), self._started())
        try:
            return future.result(seconds + 1.0)
        except TimeoutError:
            future.cancel()
            raise TooSlow("the substrate did not answer in time") from None
        except CancelledError:
            raise ObservationUnavailable("the observer is ending") from None

    def start(self, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Lets a coroutine run on its own."""
        asyncio.run_coroutine_threadsafe(make(), self._started())

    def finish(self, make: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Lets a coroutine that ends something run, for as long as an end may take."""
        try:
            asyncio.run_coroutine_threadsafe(make(), self._started()).result(STOP_SECONDS)
        except (TimeoutError, CancelledError, ObservationUnavailable):
            pass  # `close` cancels what is left

    def close(self) -> None:
        """Cancels what still runs there and waits for its end. Calling it again does nothing."""
        with self._lock:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        try:
            asyncio.run_coroutine_threadsafe(end_what_is_left(STOP_SECONDS), loop).result(STOP_SECONDS + 1.0)
        except TimeoutError:
            pass  # a task that swallows its cancellation dies with the thread, which is a daemon
        loop.call_soon_threadsafe(loop.stop)
        thread.join(STOP_SECONDS)
        if not thread.is_alive():
            loop.close()

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise ObservationUnavailable("the observer is ending")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="sluice-reach", daemon=True)
                self._thread.start()
            return self._loop


async def _within(make: Callable[[], Coroutine[Any, Any, T]], seconds: float) -> T:
    async with asyncio.timeout(seconds):
        return await make()
