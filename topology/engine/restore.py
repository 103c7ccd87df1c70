"""How a lane gets its state: it folds its ledger again, from a snapshot or a standby on where there is one.

A ledger never gets shorter. Where it ends below a height that is known of it (`KnownHeight`), its blocks are not there
*yet*, or were deleted: to go on from below would write a second block of the same height. So the lane waits for them,
and fails with one sentence where they do not come. Its inputs are compared with the ledger's positions. A standby folds
the ledger of a lane that another worker owns, so that taking it over costs no refold.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.blocks import Event, EventKind
from ...codecs.errors import DoesNotHoldError, LaterVersionError, SluiceError
from ...codecs.ledger_statements import is_claim
from ..kafka.connect import open_reader
from ..kafka.polling import Bounds
from ..kafka.topic_reader import take_stored
from ..kafka.topics import topic_name
from ..settings.settings import Settings
from .interfaces import Fold
from .ledger import TOGETHER
from .replay import Blocks, Restored, beginning, replay

PROGRESS_SECONDS = 5.0
AGAIN_SECONDS = 1.0
"""A ledger that is too short is read again after so long."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Start(NamedTuple):
    """Something to go on from instead of the ledger's beginning."""

    name: str  # what it is called
    begin: Callable[[], Awaitable[Restored]]  # how to get it
    height: int = -1  # of the block that it says it was taken after
    counts: bool = True  # whether a ledger that has no such block must be too short, rather than another one


class KnownHeight(NamedTuple):
    """A height that a ledger is known to have had; -1 where none is known."""

    height: int = -1  # of the last block that was held
    by: str = ""  # what knows of it, for the sentence


class Patience(NamedTuple):
    """For how long blocks that were held are waited for, and who is told.

    Attributes:
        seconds: the longest, by the state as far as the ledger goes: `max_stall` of the policy in force there.
    """

    seconds: Callable[[Any], float] = lambda _: 0.0
    waits: Callable[[DoesNotHoldError], None] = lambda _: None  # told why, each time that the ledger is found too short


async def restore(
    blocks: Blocks,
    fold: Fold,
    lane: int,
    lanes: int,
    stopping: Callable[[], bool],  # asked after each block, and while blocks are waited for
    starts: Iterable[Start] = (),
    held: KnownHeight = KnownHeight(),  # noqa: B008 -- it never changes
    patience: Patience = Patience(),  # noqa: B008
) -> Restored | None:
    """Returns a lane's state at its ledger's end, never below a height that was held; None where told to stop before.

    Args:
        starts: tried in this order; one that fails, in itself or on the way from it, only costs time. After the last,
            the ledger is folded from its first block on. One that is whole was held, whether it is of use or not.
        held: the greatest height that is known apart from these.
        patience: for how long a ledger that is too short is waited for.

    Raises:
        DoesNotHoldError: the ledger itself does not hold (`replay.replay`), or stays shorter than it was.
    """
    reading = _Reading(blocks, fold, lane, lanes, stopping, held, patience)
    left = list(starts)
    while left:
        start = left.pop(0)
        if (begun := await _begun(start)) is None:
            continue
        if start.counts:
            reading.hold(begun.tip.height, start.name)
        try:
            found = await reading.to_end(begun, waits=start.counts)
        except LaterVersionError:
            raise  # from the beginning it would only take longer to get there
        except TooShortError:
            raise
        except (DoesNotHoldError, OSError) as error:
            log.warning("not restored from here: it takes longer", start=start.name, reason=str(error))
            continue
        if not stopping():
            log.info("restored", start=start.name, height=begun.tip.height, blocks=found.tip.height - begun.tip.height)
        break
    else:
        found = await reading.to_end(beginning(fold, lane, lanes))
    for start in left:  # a file that another worker wrote later, perhaps
        if start.counts and start.height > found.tip.height and not stopping() and await _begun(start) is not None:
            reading.hold(start.height, start.name)
            found = await reading.to_end(found)
    return None if stopping() else found


async def _begun(start: Start) -> Restored | None:
    """What a start begins with; None where that fails."""
    try:
        return await start.begin()
    except LaterVersionError:
        raise
    except (DoesNotHoldError, OSError) as error:
        log.warning("not restored from here: it takes longer", start=start.name, reason=str(error))
        return None


class TooShortError(DoesNotHoldError):
    """A ledger ends below a height that was held of it."""


class _Reading:
    """One lane's ledger, read to its end, which must not lie below what was held."""

    def __init__(
        self,
        blocks: Blocks,
        fold: Fold,
        lane: int,
        lanes: int,
        stopping: Callable[[], bool],
        held: KnownHeight,
        patience: Patience,
    ) -> None:
        self._blocks, self._fold, self._lane, self._lanes = blocks, fold, lane, lanes
        self._stopping, self._held, self._patience = stopping, held, patience
        self._waits_since: float | None = None

    def hold(self, height: int, by: str) -> None:
        """This height was held."""
        if height > self._held.height:
            self._held = KnownHeight(height, by)

    async def to_end(self, at: Restored, *, waits: bool = True) -> Restored:
        """Folds on to the end, as soon as that is not below what was held, or until `stopping`; else raises
        TooShortError.
        """
        clock = asyncio.get_running_loop().time
        while True:
            start = at
            at, seen = await _to_end(self._blocks, self._fold, self._lane, self._lanes, self._stopping, start)
            # A start whose own block did not come stands above the end, whatever its height says.
            is_there = seen > 0 or start.offset is None
            if self._stopping() or (is_there and at.tip.height >= self._held.height):
                return at
            if not is_there and not waits:
                raise DoesNotHoldError("the ledger has no such block")
            error = self._too_short(str(at.tip.height + 1) if is_there else "fewer")
            now = clock()
            if self._waits_since is None:
                self._waits_since = now
                log.error("the lane waits for blocks that were there", reason=str(error))
            if now - self._waits_since >= self._patience.seconds(at.state):
                raise error
            self._patience.waits(error)
            await asyncio.sleep(AGAIN_SECONDS)

    def _too_short(self, got: str) -> TooShortError:
        return TooShortError(
            f"the ledger is shorter than {self._held.by}: a tail was cut",
            path=f"ledger of lane {self._lane}",
            expected=f"{self._held.height + 1} blocks or more",
            got=got,
            hint="give the ledger back its blocks; where the broker was made anew, delete the snapshots in state_dir",
        )


async def _to_end(
    blocks: Blocks, fold: Fold, lane: int, lanes: int, stopping: Callable[[], bool], start: Restored
) -> tuple[Restored, int]:
    """Folds blocks until they end or `stopping`; returns the state, and how many there were."""
    reported_at, seen, at = monotonic(), 0, start
    # Closed here: a generator that waits for the garbage collector keeps its consumer, and the worker from ending.
    async with (
        aclosing(blocks(start.offset)) as records,
        aclosing(replay(records, fold, lane=lane, lanes=lanes, start=start)) as replayed,
    ):
        async for folded in replayed:
            at = folded.restored
            fold.next_due(at.state)  # what is stale in its timers goes block by block: at the end all lanes would wait
            seen += 1
            if monotonic() - reported_at > PROGRESS_SECONDS:
                reported_at = monotonic()
                log.info("restoring", height=at.tip.height, ledger_offset=folded.offset)
            await asyncio.sleep(0)  # other lanes run meanwhile
            if stopping():
                break
    return at, seen


class RemadeError(DoesNotHoldError):
    """An input is another topic than the one that the ledger was written from, under the same name."""


def demand_same(bounds: Mapping[str, Bounds], ids: Mapping[str, str], lane: int) -> None:
    """Demands that the inputs on the broker (`bounds`) are the topics that the ledger was written from (`ids`, where
    known).

    Raises:
        RemadeError: one is not. An input whose id nobody knows is taken as it is.
    """
    for topic, there in bounds.items():
        if there.id and ids.get(topic, there.id) != there.id:
            raise RemadeError(
                f"{topic} was deleted and made again: it is not the topic that the ledger was written from",
                path=f"ledger of lane {lane}",
                expected=f"topic id {ids[topic]}",
                got=there.id,
                hint=f"`sluice topics adopt {topic}` has the lanes read the new topic from its beginning",
            )


def positions_within(
    bounds: Mapping[str, Bounds], before: Mapping[str, int], inputs: Sequence[str], lane: int, lanes: int, now: int
) -> tuple[dict[str, int], list[Event]]:
    """Returns where to read on, and a GAP event at `now` (Unix ms) for each input of which retention deleted what was
    not read.

    `bounds` is what the broker holds of each input, `before` the next offset to read; of an input that has none, all
    that it holds is to be read. `inputs` are in the order of a block's sources.

    Raises:
        DoesNotHoldError: an input is not the one that the ledger speaks of.
    """
    positions: dict[str, int] = {}
    gaps: list[Event] = []
    for place, topic in enumerate(inputs):
        there = bounds[topic]
        at = before.get(topic, there.first)
        if there.partitions < lanes:  # no lane reads those beyond, and the worker tells of them (telemetry.py)
            raise DoesNotHoldError(
                f"{topic} has another number of partitions than the ledger",
                expected=str(lanes),
                got=str(there.partitions),
                hint="a ledger keeps its partition count for ever; a new count needs a new ledger",
            )
        if at > there.end:
            raise DoesNotHoldError(
                f"{topic}/{lane} ends before the position that the ledger names",
                expected=f"an end at {at} or later",
                got=str(there.end),
                hint="the topic was made anew or truncated; give it back its records, or start a new ledger",
            )
        if at < there.first:
            log.error("retention has deleted records that were not read", topic=topic, first=at, next=there.first)
            gaps.append(Event(EventKind.GAP, place, at, now, [], None, msgspec.json.encode(there.first)))
        positions[topic] = max(at, there.first)
    return positions, gaps


LINGER_SECONDS = 60.0
FETCH_WAIT_MS = 500


class Standby:
    """One lane's ledger, followed, from the best of `starts` on. `run` is its only task, and may be called anew where
    it ended.

    `restored` may be asked for between its steps; `between_blocks` is a moment at which the garbage collector may run.
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
    """The lanes that this worker stands by for: `make` makes each one's standby, and `supervised` runs it until it is
    cancelled.

    A lane may become this worker's own in the very assignment that no longer names it here: so what is not wanted any
    more goes on for `LINGER_SECONDS`, to be taken by then. `may_begin` is awaited before a standby begins: what it has
    to fold can wait for lanes that are taken over here.
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
