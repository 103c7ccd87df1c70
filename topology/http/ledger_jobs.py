"""What only the ledgers can tell: the story of an emission, a proof of a verdict, and how far each lane is.

For a story or a proof a lane's ledger is read from its beginning. That costs a processor, so one is read at a time in a
thread of its own, for so many seconds at the most; further requests meanwhile are told to come again. How far lanes are
is read when a page asks, and remembered for some seconds.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from time import monotonic
from typing import Any, Final, NamedTuple, TypeVar

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError, UnreachableError
from ..audit.explain import explain
from ..audit.explanation import Explanation
from ..audit.proofs import render
from ..audit.proving import prove
from ..engine.folds import folds
from ..engine.interfaces import Fold
from ..engine.policies import newest_block
from ..engine.stored_topics import open_logs
from ..kafka.connect import open_consumer, partitions_of
from ..kafka.requests import log_ends
from ..kafka.topics import topic_name
from ..settings.process import now_ms
from ..settings.settings import Settings

KEPT_SECONDS: Final = 15.0
TIPS_SECONDS: Final = 10.0
AT_ONCE: Final = 8
"""So many lanes are read at a time."""
FAULTS: Final = (SluiceError, KafkaError, OSError, ValueError)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class LaneTip(NamedTuple):
    """How far a lane is: height and time (Unix ms) of its newest block.

    `behind` counts records of its inputs that are committed and stand in no block; None where the broker does not tell.
    """

    height: int
    time: int
    behind: int | None


Tips = Mapping[tuple[str, int], LaneTip]
"""By the ledger's logical name and the lane; a lane without a block is not in it."""


async def read_tips(settings: Settings) -> Tips:
    """Of every lane of every fold its newest block.

    Raises:
        UnreachableError: no broker answers.
        DoesNotHoldError: a transaction hangs over the end of a ledger.
        UsageError: a ledger's topic is not there, or may not be read.
    """
    turns = asyncio.Semaphore(AT_ONCE)
    async with open_consumer(settings) as consumer:

        async def of(fold: Fold, lane: int) -> LaneTip | None:
            place = TopicPartition(topic_name(settings, fold.ledger), lane)
            async with turns:
                newest = await newest_block(settings, place)
                if newest is None:
                    return None
                header = newest.header
                inputs = {one.topic: one.next for one in header.sources if one.topic in fold.inputs}
                places = {name: TopicPartition(topic_name(settings, name), lane) for name in inputs}
                ends = await log_ends(consumer, places.values(), committed=settings.delivery == "exactly-once")
            found = [ends[places[name]].offset - at for name, at in inputs.items() if places[name] in ends]
            is_whole = len(found) == len(inputs)
            return LaneTip(header.height, header.time, sum(max(0, one) for one in found) if is_whole else None)

        wanted: list[tuple[Fold, int]] = []
        for fold in folds():
            ledger = topic_name(settings, fold.ledger)
            wanted += [(fold, lane) for lane in await partitions_of(consumer, settings, ledger)]
        found = await asyncio.gather(*(of(fold, lane) for fold, lane in wanted))
    return {(fold.ledger, lane): tip for (fold, lane), tip in zip(wanted, found, strict=True) if tip is not None}


class LaneTips:
    """Reads tips once for all clients that ask at about the same time."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: Tips | None = None
        self._read_at = 0.0
        self._turn = asyncio.Lock()

    async def now(self) -> Tips | None:
        """The tips, `KEPT_SECONDS` old at the most; None where they cannot be read."""
        async with self._turn:
            if monotonic() - self._read_at >= KEPT_SECONDS or not self._read_at:
                self._known = await self._read()
                self._read_at = monotonic()
            return self._known

    async def _read(self) -> Tips | None:
        try:
            async with asyncio.timeout(TIPS_SECONDS):
                return await read_tips(self._settings)
        except FAULTS as error:  # a TimeoutError is an OSError
            log.info("the newest blocks of the lanes cannot be read", error=str(error) or repr(error))
            return None


T = TypeVar("T")
PATIENCE_SECONDS: Final = 30.0
Progress = Callable[[int, int, int], None]


class StoppedError(Exception):
    """Nobody waits for it any more."""


class LedgerJobs:
    """Reads ledgers for people, one at a time, each for `patience` seconds at the most."""

    def __init__(self, settings: Settings, patience: float = PATIENCE_SECONDS) -> None:
        self._settings, self._patience = settings, patience
        self._stop = threading.Event()
        self._running: asyncio.Future[Any] | None = None

    async def story(self, emission_id: str, span_key: str | None) -> Explanation:
        """What became of an emission and why, as `sluice explain` tells it; of one of its assertions, or of all (None).

        Raises:
            DoesNotHoldError: the ledger knows nothing of it, or does not hold.
            UnreachableError: another one is being read, it takes too long, or no broker answers.
        """

        async def read(progress: Progress) -> Explanation:
            async with open_logs(self._settings) as logs:
                return await explain(logs, emission_id, span_key, now_ms(), progress)

        return await self._alone(read)

    async def proof(self, name: str) -> bytes:
        """The file that `sluice prove` would write, of an emission, or with # and a span key of an assertion.

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
