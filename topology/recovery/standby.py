"""Hot standby: folding the ledger of a lane that another worker owns, so that taking it over costs no refold.

With the setting `standby = 1` every lane has one worker beside its owner that follows its ledger (the group's leader
shares them out, assignor.py). A lane that is to move is followed by its next owner in the same way, until that has come
close enough to its end (`hand_over_blocks`). A standby writes nothing and decides nothing: its state is the ledger's,
and whether it is of the ledger's newest block is checked like any other start (restore.py). It costs the state once
more, and the fold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing
from functools import partial
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.errors import LaterVersionError, SluiceError
from ...codecs.lane_claims import is_claim
from ..kafka.connect import open_reader
from ..kafka.stored_records import take_stored
from ..kafka.topics import topic_name
from ..ledger.interfaces import Fold
from ..ledger.ledger import TOGETHER
from ..ledger.replay import Restored, beginning, replay
from ..settings.settings import Settings
from .restore import Start

LINGER_SECONDS = 60.0
FETCH_WAIT_MS = 500

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Standby:
    """One lane's ledger, followed. `run` is its only task, and may be called anew where it ended; `restored` may be
    asked for between its steps.

    Args:
        settings: the broker and topics.
        fold, lane: what decides, and for which lane.
        starts: what to go on from, best first (snapshot_schedule.py).
        between_blocks: a moment at which the garbage collector may run.
    """

    def __init__(
        self,
        settings: Settings,
        fold: Fold,
        lane: int,
        starts: Callable[[], Iterator[Start]],
        between_blocks: Callable[[], None] = lambda: None,
    ) -> None:
        self._settings, self._fold, self._lane, self._starts = settings, fold, lane, starts
        self._between_blocks = between_blocks
        self._restored: Restored | None = None
        self._behind: int | None = None  # offsets

    @property
    def behind(self) -> int | None:
        """How many blocks of the ledger it lacks at most, by the last fetch answer; None while that is unknown.

        The answer may be older than the ledger is: a lane that moves by it only takes longer to be restored.
        """
        found = self._behind
        if found is None or self._restored is None:
            return None
        # Where blocks are committed in transactions, each of these takes its marker's offset besides.
        return -(-found * TOGETHER // (TOGETHER + 1)) if self._settings.delivery == "exactly-once" else found

    @property
    def restored(self) -> Restored | None:
        """The state as far as the ledger has been followed; None before anything is there."""
        found = self._restored
        return None if found is None or found.offset is None else found

    async def run(self) -> None:
        """Follows the ledger until cancelled. One that only a newer package can follow is told, and left alone.

        Raises:
            Exception: whatever ends it. Until it has been called again, and has come as far, it is not ready.
        """
        structlog.contextvars.bind_contextvars(lane=self._lane, fold=self._fold.name)
        try:
            await self._follow(await self._begin())
        except LaterVersionError as error:
            log.error("the standby ends", error=str(error))
            await asyncio.Event().wait()

    async def _begin(self) -> Restored:
        for name, begin, *_ in self._starts():
            try:
                return await begin()
            except (SluiceError, OSError) as error:
                log.warning("the standby does not begin here", start=name, reason=str(error))
        return beginning(self._fold, self._lane, self._settings.partitions)

    async def _follow(self, start: Restored) -> None:
        fold, lane, lanes = self._fold, self._lane, self._settings.partitions
        partition = TopicPartition(topic_name(self._settings, fold.ledger), lane)
        async with open_reader(self._settings, partition, start.offset, FETCH_WAIT_MS) as consumer:
            self._restored = start
            log.info("standing by", height=start.tip.height)
            records = self._records(consumer, partition)
            async with aclosing(records), aclosing(replay(records, fold, lane=lane, lanes=lanes, start=start)) as found:
                try:
                    async for folded in found:
                        self._restored = folded.restored
                        fold.next_due(folded.state)  # what is stale in its timers goes now, and not when it is taken
                        self._between_blocks()
                        await asyncio.sleep(0)  # the lanes that are ours come first
                finally:  # at once: what was folded halfway must not be taken while the consumer stops
                    self._restored = self._behind = None

    async def _records(
        self, consumer: AIOKafkaConsumer, partition: TopicPartition
    ) -> AsyncGenerator[tuple[int, bytes], None]:
        """The records of a ledger as they come, without end, within the budget of unpacked bytes."""
        unpacked = self._settings.max_unpacked_bytes
        while True:
            for record in await take_stored(consumer, partition, FETCH_WAIT_MS / 1000, unpacked):
                if not is_claim(record.key):
                    yield record.offset, record.value or b""
                self._came_to(record.offset + 1, consumer.highwater(partition))
            self._came_to(await consumer.position(partition), consumer.highwater(partition))

    def _came_to(self, offset: int, end: int | None) -> None:
        """All before an offset is folded, and the ledger ends there, as far as a fetch answer has said."""
        if end is not None:
            self._behind = max(0, end - offset)


class Standbys:
    """The lanes that this worker stands by for.

    A lane may become this worker's own in the very assignment that no longer names it here: so what is not wanted any
    more goes on for `LINGER_SECONDS`, to be taken by then.

    Args:
        make: a new standby of a lane.
        supervised: runs a task of that name again and again, whatever ends it, until it is cancelled.
        may_begin: awaited before a standby begins: what it has to fold can wait for lanes that are taken over here.
    """

    def __init__(
        self,
        make: Callable[[int], Standby],
        supervised: Callable[[str, Callable[[], Awaitable[None]]], Coroutine[Any, Any, None]],
        may_begin: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._make, self._supervised, self._may_begin = make, supervised, may_begin
        self._running: dict[int, tuple[Standby, asyncio.Task[None]]] = {}
        self._wanted: set[int] = set()

    @property
    def heights(self) -> Mapping[int, int]:
        """How far each standby has come, by lane; -1 before it has anything."""
        found = {number: standby.restored for number, (standby, _) in list(self._running.items())}
        return {number: -1 if restored is None else restored.tip.height for number, restored in found.items()}

    @property
    def behind(self) -> Mapping[int, int]:
        """How many blocks each standby lacks at most, by lane; nothing of one that does not know."""
        found = {number: standby.behind for number, (standby, _) in list(self._running.items())}
        return {number: lacks for number, lacks in found.items() if lacks is not None}

    def assign(self, numbers: Iterable[int]) -> None:
        """Stands by for these lanes from now on, and for no others."""
        wanted = set(numbers)
        for number in self._running.keys() - wanted:
            standby, _ = self._running[number]
            asyncio.get_running_loop().call_later(LINGER_SECONDS, self._end_if, number, standby)
        self._wanted = wanted
        for number in sorted(wanted - self._running.keys()):
            standby = self._make(number)
            name = f"standby-{number}"
            run = partial(self._run, standby)
            self._running[number] = standby, asyncio.create_task(self._supervised(name, run), name=name)

    async def _run(self, standby: Standby) -> None:
        if self._may_begin is not None:
            await self._may_begin()
        await standby.run()

    def take(self, number: int) -> Restored | None:
        """A lane's state, for its new owner here; the standby ends, and must not be used beside it."""
        if number not in self._running:
            return None
        restored = self._running[number][0].restored
        self._end(number)
        return restored

    async def stop(self) -> None:
        """Ends all of them, whatever has become of each."""
        tasks = [task for _, task in self._running.values()]
        for number in list(self._running):
            self._end(number)
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end_if(self, number: int, standby: Standby) -> None:
        if number not in self._wanted and number in self._running and self._running[number][0] is standby:
            self._end(number)

    def _end(self, number: int) -> None:
        self._running.pop(number)[1].cancel()
