"""An event loop in a thread of its own, for callers that have none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from .errors import ClosedError

T = TypeVar("T")


class Portal:
    """An event loop in a thread: `call` runs a coroutine there and waits for it."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Starts the thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=f"sluice-{self._name}", daemon=True)
                self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns, run in the loop.

        Raises:
            ClosedError: the portal is closed, or was closed meanwhile.
        """
        with self._lock:
            if self._loop is None or threading.current_thread() is self._thread:
                work.close()
                raise ClosedError(self._name)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except (CancelledError, asyncio.CancelledError):
            raise ClosedError(self._name) from None
        except BaseException:
            future.cancel()  # KeyboardInterrupt: nobody waits for it any more
            raise

    def close(self) -> None:
        """Ends what still runs there, and the thread; without effect on one that is closed."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        with suppress(CancelledError):
            asyncio.run_coroutine_threadsafe(_end_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join()
            loop.close()


class Held:
    """Something with an `async with` of its own, held open in a portal by an ordinary `with`."""

    def __init__(self, name: str, held: AbstractAsyncContextManager[Any]) -> None:
        self._portal, self._held = Portal(name), held

    def __enter__(self) -> Self:
        self._portal.open()
        try:
            self._portal.call(self._enter())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self._leave(kind, error))

    def close(self) -> None:
        """Closes; a second call does nothing."""
        self.__exit__(None, None, None)

    def _end(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs what ends it, and closes the portal; without effect where it was closed inside of the block."""
        try:
            self._portal.call(work)
        except ClosedError:
            pass
        finally:
            self._portal.close()

    async def _enter(self) -> None:
        await self._held.__aenter__()

    async def _leave(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        await self._held.__aexit__(kind, error, None)


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


async def next_of(items: AsyncIterator[T]) -> T | None:
    """The next one; None at the end."""
    return await anext(items, None)
