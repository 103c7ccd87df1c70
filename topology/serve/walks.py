"""What only a ledger can tell: the story of an emission, and a proof of a verdict.

For either a lane's ledger is read from its beginning, and for a story folded again. That costs a processor, so one is
read at a time in a thread of its own, for so many seconds at the most; whoever asks meanwhile is told to come again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from ...codecs.errors import UnreachableError
from ..checkpoints.proof_files import render
from ..checkpoints.proving import prove
from ..explain.explain import explain
from ..explain.explanation import Explanation
from ..ledger.log_reader import open_logs
from ..settings.clock import now_ms
from ..settings.settings import Settings

T = TypeVar("T")
PATIENCE_SECONDS: Final = 30.0
Progress = Callable[[int, int, int], None]


class StoppedError(Exception):
    """Nobody waits for it any more."""


class Walks:
    """Reads ledgers for people, one at a time.

    Args:
        settings: the broker.
        patience: seconds for one.
    """

    def __init__(self, settings: Settings, patience: float = PATIENCE_SECONDS) -> None:
        self._settings, self._patience = settings, patience
        self._stop = threading.Event()
        self._running: asyncio.Future[Any] | None = None

    async def story(self, emission_id: str, span_key: str | None) -> Explanation:
        """What became of an emission and why, as `sluice explain` tells it.

        Args:
            emission_id: whose.
            span_key: of one of its assertions; None for all.

        Raises:
            DoesNotHoldError: the ledger knows nothing of it, or does not hold.
            UnreachableError: another one is being read, it takes too long, or no broker answers.
        """

        async def read(progress: Progress) -> Explanation:
            async with open_logs(self._settings) as logs:
                return await explain(logs, emission_id, span_key, now_ms(), progress)

        return await self._alone(read)

    async def proof(self, name: str) -> bytes:
        """The file that `sluice prove` would write.

        Args:
            name: of an emission, or with # and a span key of an assertion.

        Raises:
            DoesNotHoldError: there is no such record, or no checkpoint covers it yet.
            UnreachableError: as of `story`.
        """

        async def read(progress: Progress) -> bytes:
            async with open_logs(self._settings) as logs:
                return render(await prove(logs, name, None, progress))

        return await self._alone(read)

    def close(self) -> None:
        """Ends what is being read at its next block."""
        self._stop.set()

    async def _alone(self, read: Callable[[Progress], Coroutine[Any, Any, T]]) -> T:
        if self._running is not None and not self._running.done():
            raise UnreachableError("the ledger is being read for somebody else")
        stop = self._stop = threading.Event()

        def progress(*_: int) -> None:
            if stop.is_set():
                raise StoppedError

        running = asyncio.ensure_future(asyncio.to_thread(lambda: asyncio.run(read(progress))))
        running.add_done_callback(_forget)
        self._running = running
        try:
            # Not cancelled with whoever asks: the next one waits until this thread has really ended.
            done, _ = await asyncio.wait({running}, timeout=self._patience)
            if not done:
                raise UnreachableError(f"the ledger is longer than can be read here in {self._patience:g} s")
            return running.result()
        finally:
            stop.set()


def _forget(running: asyncio.Future[Any]) -> None:
    """An error of what nobody waits for is nobody's."""
    if not running.cancelled():
        running.exception()
