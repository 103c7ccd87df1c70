"""The observer as a service on Kafka: emissions in, observations out, with a queue for each class of substrate."""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, Final, TypeVar

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError, MessageSizeTooLargeError
from aiokafka.structs import OffsetAndMetadata

from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.decode import decode_emission
from ...codecs.errors import Fault, UnreachableError, cut
from ...codecs.records import Emission, Observation
from ...codecs.signatures import Signing
from ..engine.probe_server import Web
from ..kafka.aiokafka_inside import coordinator_of
from ..kafka.connect import open_consumer, open_producer, partitions_of, unreachable, until_answered
from ..kafka.topic_reader import PassingReader, StoredRecord
from ..kafka.topics import topic_name
from ..settings import logs
from ..settings.settings import Settings
from .look import StoppedError, cannot_look, look, observed, written
from .observation_record import LOCATORS, signing_of
from .observer_metrics import ObserverMetrics, Result
from .observer_registry import ObserverRegistry
from .root_set import ROOT_AWAY, why_blind
from .roots import Roots

T = TypeVar("T")

MAX_WAITING: Final = 256
"""Looks of one class that have their turn, waiting or under way."""


class _Queue:
    """The queue of one class.

    Invariant: `waiting` holds when each look that has its turn and has not begun was let in, in that order.
    """

    def __init__(self, name: str, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads, thread_name_prefix=f"sluice-{name.rsplit('.', 1)[-1]}")
        self.room = asyncio.Semaphore(MAX_WAITING)
        self.waiting: dict[object, float] = {}

    def is_behind(self, seconds: float) -> bool:
        """Whether the look that waits longest has waited for more seconds than that."""
        first = next(iter(list(self.waiting.values())), None)
        return first is not None and time.monotonic() - first > seconds


class ClassExecutor:
    """Threads and a queue for each class of substrate, so that no class waits for another's; used on one event loop.

    A class that is behind takes no look of an impatient caller: the look is answered with `unavailable`, and the
    emissions' other classes go on. A burst puts no class behind: looks that go well are many a second.

    Args:
        threads: looks of one class at once.
        seconds: for which a look may wait before its class is behind.
    """

    def __init__(self, threads: int, seconds: float) -> None:
        self._threads, self._seconds = threads, seconds
        self._queues: dict[str, _Queue] = {}

    async def enter(self, name: str, *, patient: bool) -> bool:
        """Waits for a place in the queue of a class; False where the class is behind and the caller impatient.

        After True the caller calls `take` once.
        """
        if name not in self._queues:
            self._queues[name] = _Queue(name, self._threads)
        queue = self._queues[name]
        if not patient and queue.is_behind(self._seconds):
            return False
        while True:
            try:
                async with asyncio.timeout(None if patient else self._seconds / 4):
                    await queue.room.acquire()
                return True
            except TimeoutError:
                if queue.is_behind(self._seconds):
                    return False

    async def take(self, name: str, look: Callable[[], T]) -> T:
        """The result of a look, which runs in a thread of its class when its turn comes."""
        queue, ticket = self._queues[name], object()
        queue.waiting[ticket] = time.monotonic()

        def run() -> T:
            queue.waiting.pop(ticket, None)
            return look()

        try:
            return await asyncio.get_running_loop().run_in_executor(queue.pool, run)
        finally:
            queue.waiting.pop(ticket, None)
            queue.room.release()

    def close(self) -> None:
        """Begins no more looks; those under way are not waited for."""
        for queue in self._queues.values():
            queue.pool.shutdown(wait=False, cancel_futures=True)


LOOKS_AT_ONCE = 8
"""Emissions that are looked at side by side in each class: most of a look is waiting for git, the disk, a server."""
IN_FLIGHT = 64
"""Emissions that were fetched and still want a look below the root or a turn beyond it. With those that have their
turns (`MAX_WAITING` a class), what a crash repeats and what memory holds."""
TRIES = 3
"""So often a record is tried, in one process, and by processes that end at it."""
COMMIT_SECONDS = 1.0
ASKING_SECONDS = 5.0
"""How long the group is asked for, or told, one position."""
STOP_SECONDS = 10.0
"""How long looks under way are waited for at the end; the next observer looks again at what they did not finish."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
_BEGUN = "starts="
"""Before the number of starts, in the metadata of a committed offset."""


class _DoneOffsets:
    """How far one partition is done.

    Invariant: `position` is the offset after the last emission before which all others are done as well.
    """

    def __init__(self) -> None:
        self._open: deque[int] = deque()
        self._done: set[int] = set()
        self.position: int | None = None
        self.committed: int | None = None
        self.alone = 0
        """So many of the next emissions are taken one by one."""

    def begin(self, offset: int) -> None:
        self._open.append(offset)

    def end(self, offset: int) -> None:
        self._done.add(offset)
        while self._open and self._open[0] in self._done:
            first = self._open.popleft()
            self._done.discard(first)
            self.position = first + 1

    @property
    def first_open(self) -> int | None:
        """The offset of the first emission that is not done; None where all that were fetched are."""
        return self._open[0] if self._open else None


class _Room:
    """The room that one emission takes, given back once."""

    def __init__(self, room: asyncio.Semaphore) -> None:
        self._room: asyncio.Semaphore | None = room

    def release(self) -> None:
        if self._room is not None:
            self._room.release()
            self._room = None


def _decoded(place: TopicPartition, record: StoredRecord) -> Emission | None:
    """The emission of a record; None for one that the lane will refuse."""
    value = record.value or b""
    emission = Fault("oversize", "") if len(value) > MAX_INPUT_BYTES else decode_emission(value)
    if not isinstance(emission, Fault) and record.key != emission.emission_id.encode():
        emission = Fault("misrouted", "the key is not the emission id")
    if isinstance(emission, Fault):
        source = f"{place.topic}/{place.partition}/{record.offset}"
        log.warning("emission not looked at", source=source, reason=emission.reason)
        return None
    return emission


def group_of(settings: Settings) -> str:
    """The consumer group of an observer.

    Processes under one name share the emissions among them; observers of different names look at each emission once
    each, as `min_observers` needs it. The group of the default name has no name in it.
    """
    group = f"{settings.app_id}-observe"
    return group if settings.observer == Settings().observer else f"{group}-{settings.observer}"


class ObserverService(ConsumerRebalanceListener):
    """The observers of one process: `start`, then `wait`, then `stop`; or `run`, which is all three.

    Args:
        settings: the broker, the root, the observer's name and the bounds of a look.
        looks_at_once: threads that look, in each class.
        substrates: the operator's list, where it is not the setting's (operator_list.py).
    """

    def __init__(
        self, settings: Settings, *, looks_at_once: int = LOOKS_AT_ONCE, substrates: str | None = None
    ) -> None:
        self._settings, self._substrates = settings, substrates
        self._turns = ClassExecutor(looks_at_once, settings.look_timeout)
        self._progress: dict[TopicPartition, _DoneOffsets] = {}
        self._working: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()
        self._stopping = asyncio.Event()
        self._main: asyncio.Task[None] | None = None
        self._failure: BaseException | None = None
        self._metrics = ObserverMetrics(self._lag, lambda: len(self._working))
        self._read_to: dict[TopicPartition, int] = {}
        self._assigned = False
        self._consumer: AIOKafkaConsumer
        self._reader: PassingReader
        self._producer: AIOKafkaProducer
        self._instruments: ObserverRegistry
        self._roots: Roots
        self._signing: Signing | None

    async def start(self) -> None:
        """Joins the group; emissions are looked at from then on.

        Raises:
            UnreachableError: the root is not there, or no broker answers.
            UsageError: a topic is missing, the operator's list is wrong, the key to sign with is none, or the port of
                the metrics cannot be had.
        """
        self._roots = Roots.of(self._settings.root)
        self._roots.check()
        self._signing = signing_of(self._settings)
        self._instruments = ObserverRegistry(self._settings, self._substrates)
        self._stack.callback(self._instruments.close)
        try:
            await until_answered(self._settings, self._connect)
            await self._serve()
        except BaseException:
            await self._stack.aclose()
            raise
        self._instruments.start()
        self._consumer.subscribe([topic_name(self._settings, "emissions")], listener=self)
        self._main = asyncio.create_task(self._take())
        log.info("observing", root=self._roots.shown(), observer=self._settings.observer, broker=self._settings.broker)

    async def _connect(self) -> None:
        """Opens the clients, and demands that the topics are there."""
        async with AsyncExitStack() as opened:
            self._producer = await opened.enter_async_context(open_producer(self._settings))
            self._consumer = await opened.enter_async_context(
                open_consumer(
                    self._settings,
                    group_id=group_of(self._settings),
                    session_timeout_ms=int(self._settings.session_timeout * 1000),
                    heartbeat_interval_ms=int(self._settings.session_timeout * 1000 / 4),
                )
            )
            self._reader = PassingReader(self._consumer, self._settings.max_unpacked_bytes)
            for topic in ("emissions", "observations"):
                await partitions_of(self._producer, self._settings, topic_name(self._settings, topic))
            self._stack.push_async_callback(opened.pop_all().aclose)

    async def _serve(self) -> None:
        port = self._settings.web_port
        if port is None:
            return
        web = Web(
            self._settings.web_host,
            port,
            metrics=self._metrics.text,
            healthy=self._why_ill,
            ready=self._why_not_ready,
        )
        await web.start()
        self._stack.push_async_callback(web.stop)

    def _why_ill(self) -> str:
        """Empty, or the reason why the service ends."""
        return "" if self._failure is None else str(self._failure) or repr(self._failure)

    async def _why_not_ready(self) -> str:
        """Empty, or what the service waits for: its share of the partitions, which may be none, or something to see."""
        if not self._assigned:
            return "waiting for the group to say which partitions are here"
        return self._why_ill() or await asyncio.to_thread(why_blind, self._roots, self._instruments, self._settings)

    async def wait(self) -> None:
        """Waits until the service is asked to stop, or fails.

        Raises:
            Exception: why it failed.
        """
        assert self._main is not None, "start comes first"
        await asyncio.wait({self._main})
        if self._failure is not None:
            raise self._failure

    def request_stop(self) -> None:
        """Asks the service to end; `wait` then returns. Safe in a signal handler of the loop."""
        self._stopping.set()

    async def stop(self) -> None:
        """Lets the looks under way end, commits what is done, leaves the group. Without effect before `start`."""
        if self._main is None:
            return
        self._stopping.set()
        await asyncio.wait({self._main})
        if self._working and self._failure is None:
            await asyncio.wait(self._working, timeout=STOP_SECONDS)
        for task in self._working:
            task.cancel()
        await asyncio.gather(*self._working, return_exceptions=True)
        await self._commit(self._progress, leaving=True)
        self._turns.close()
        await self._stack.aclose()
        self._main = None

    async def run(self) -> None:
        """Starts, waits, stops. A start that waits for its broker ends as soon as it is asked to.

        Raises:
            Exception: why it failed.
        """
        starting, stopping = asyncio.create_task(self.start()), asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({starting, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if starting.done():
                await starting
                await self.wait()
        finally:
            for task in (starting, stopping):
                task.cancel()
            await asyncio.gather(starting, stopping, return_exceptions=True)
            await self.stop()

    # ---------------------------------------------------------------- taking emissions

    async def _take(self) -> None:
        try:
            room = asyncio.Semaphore(IN_FLIGHT)
            next_commit = asyncio.get_running_loop().time() + COMMIT_SECONDS
            while not self._stopping.is_set():
                # A short wait, for the sake of `_stopping`: fetching goes on behind it.
                batches = await self._reader.take(0.2, IN_FLIGHT)
                taken = [(place, self._progress.setdefault(place, _DoneOffsets())) for place in batches]
                for place, progress in taken:
                    for record in batches[place]:
                        progress.begin(record.offset)
                await self._see_how_far()
                for place, progress in taken:
                    for record in await self._left(place, progress, batches[place]):
                        await room.acquire()
                        if self._stopping.is_set():
                            return
                        self._begin(place, record, progress, _Room(room))
                if asyncio.get_running_loop().time() >= next_commit:
                    await self._commit(self._progress)
                    next_commit = asyncio.get_running_loop().time() + COMMIT_SECONDS
        except (KafkaError, OSError) as error:
            self._fail(unreachable(self._settings, error))

    def _begin(
        self, place: TopicPartition, record: StoredRecord, progress: _DoneOffsets, held: _Room
    ) -> asyncio.Task[None]:
        task = asyncio.create_task(self._handle(place, record, progress, held))
        self._working.add(task)
        task.add_done_callback(partial(self._ended, held))
        return task

    async def _left(
        self, place: TopicPartition, progress: _DoneOffsets, records: Sequence[StoredRecord]
    ) -> Sequence[StoredRecord]:
        """Those that may be taken side by side: nearly always all of them.

        Those before are taken one by one, after processes have ended at one of them; that one is passed over.
        """
        first, marked = records[0].offset, -1
        if progress.committed is None:
            before = await self._starts(place)
            await self._commit_at(place, first, before + 1)
            progress.committed = marked = first
            progress.alone = IN_FLIGHT if before else 0
            if before >= TRIES:
                self._pass_over(place, first, "processes of this observer ended at it")
                progress.end(first)
                self._metrics.done("passed-over")
                records = records[1:]
        alone, rest = records[: progress.alone], records[progress.alone :]
        for record in alone:
            if record.offset != marked:
                await self._commit_at(place, record.offset, 1)
            await asyncio.wait({self._begin(place, record, progress, _Room(asyncio.Semaphore()))})
            if progress.first_open == record.offset:
                return ()  # it is not done, and no position may pass it
        progress.alone -= len(alone)
        return rest

    async def _starts(self, place: TopicPartition) -> int:
        """How many processes began at the committed offset and ended before they committed another one."""
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                known = await coordinator_of(self._consumer).fetch_committed_offsets([place])
        except (KafkaError, OSError) as error:  # a TimeoutError is an OSError
            log.warning("positions not read", error=type(error).__name__)
            return 0
        begun = known[place].metadata.removeprefix(_BEGUN) if place in known else ""
        return int(begun) if begun.isdecimal() and len(begun) < 10 else 0

    async def _commit_at(self, place: TopicPartition, offset: int, starts: int) -> None:
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                await self._consumer.commit({place: OffsetAndMetadata(offset, f"{_BEGUN}{starts}")})
        except (KafkaError, OSError) as error:  # as for `_commit`
            log.warning("positions not committed", error=type(error).__name__)

    def _pass_over(self, place: TopicPartition, offset: int, why: str) -> None:
        log.error("emission passed over", source=f"{place.topic}/{place.partition}/{offset}", tries=TRIES, error=why)

    async def _see_how_far(self) -> None:
        """Notes how far each partition has been fetched, for the lag that is told."""
        read_to: dict[TopicPartition, int] = {}
        for place in self._consumer.assignment():
            try:
                async with asyncio.timeout(0.05):  # a partition that has just come may have no position yet
                    read_to[place] = await self._consumer.position(place)
            except (TimeoutError, KafkaError):
                continue
        self._read_to = read_to

    def _lag(self) -> dict[TopicPartition, int]:
        """For each partition that is here, how many of its records are not done."""
        found: dict[TopicPartition, int] = {}
        for place, read_to in self._read_to.items():
            if place not in self._consumer.assignment() or (end := self._consumer.highwater(place)) is None:
                continue
            progress = self._progress.get(place)
            first = None if progress is None else progress.first_open
            found[place] = max(0, end - (read_to if first is None else first))
        return found

    def _ended(self, held: _Room, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        held.release()
        if not task.cancelled() and task.exception() is not None:
            self._fail(task.exception())

    def _fail(self, error: BaseException | None) -> None:
        self._failure = self._failure or error
        self._stopping.set()

    async def _handle(self, place: TopicPartition, record: StoredRecord, progress: _DoneOffsets, held: _Room) -> None:
        """One emission, until it is done: looked at, left to the lane, or passed over."""
        for tries in range(1, TRIES + 1):
            try:
                result = await self._handled(place, record, held)
                break
            except StoppedError:
                return  # it is not done: the next reader looks at it again
            except UnreachableError:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it must not end the observers
                if tries == TRIES:
                    self._pass_over(place, record.offset, f"{type(error).__name__}: {cut(str(error))}")
        else:
            result = "passed-over"
        progress.end(record.offset)
        self._metrics.done(result)

    async def _handled(self, place: TopicPartition, record: StoredRecord, held: _Room) -> Result:
        """One try: decoded, looked at, its observations stored."""
        emission = await asyncio.to_thread(_decoded, place, record)
        if emission is None:
            return "left-to-the-lane"
        parts: dict[str, asyncio.Task[None]] = {}
        try:
            for name in dict.fromkeys(name for _, _, name in observed(emission)):
                # A class beyond the root that is behind is answered at once: it must not stop the others' intake.
                turn = await self._turns.enter(name, patient=name in LOCATORS)
                parts[name] = asyncio.create_task(self._part(emission, record.value or b"", name, turn))
            await asyncio.gather(*(part for name, part in parts.items() if name in LOCATORS))
            held.release()
            await asyncio.gather(*parts.values())
        finally:
            for part in parts.values():
                part.cancel()
            await asyncio.gather(*parts.values(), return_exceptions=True)
        return "looked-at"

    async def _part(self, emission: Emission, value: bytes, name: str, turn: bool) -> None:
        """One class of an emission: looked at in its turn, or answered without a look, and stored."""
        if turn:
            context = contextvars.copy_context()
            found = await self._turns.take(name, lambda: context.run(self._observe, emission, name))
        else:
            found = cannot_look(emission, self._settings, "too many looks at this class wait", only={name})
        try:
            topic = topic_name(self._settings, "observations")
            key = emission.emission_id.encode()
            values = [_encode(written(seen, self._signing, value)) for seen in found]
            sent: list[Any] = [await self._producer.send(topic, key=key, value=encoded) for encoded in values]
            await asyncio.gather(*sent)
            self._metrics.stored(found)
        except MessageSizeTooLargeError:
            raise  # this record's own fault: no broker would take it
        except (KafkaError, OSError) as error:
            raise unreachable(self._settings, error) from None

    def _observe(self, emission: Emission, name: str) -> list[Observation]:
        """In a thread of the class: what was seen of one class of an emission."""
        with logs.about(emission.emission_id), self._metrics.looking(name):
            found = self._look(emission, name)
            outcomes = Counter(one.outcome for one in found)
            counts = {outcome.replace("-", "_"): n for outcome, n in outcomes.items()}
            log.debug("looked", attempt=emission.attempt, substrate_class=name, **counts)
        return found

    def _look(self, emission: Emission, name: str) -> list[Observation]:
        only = {name}
        try:
            return look(
                emission,
                self._settings,
                self._roots,
                stopped=self._stopping.is_set,
                instruments=self._instruments,
                only=only,
            )
        except StoppedError:
            raise
        except UnreachableError:
            log.error("the root is not there", root=self._roots.shown())
            return cannot_look(emission, self._settings, ROOT_AWAY, only=only)
        except Exception:  # a defect of ours must neither stop the observers nor leave the lane waiting in silence
            log.exception("the look failed")
            return cannot_look(emission, self._settings, "the observer failed", only=only)

    # ---------------------------------------------------------------- positions

    async def _commit(self, progress: dict[TopicPartition, _DoneOffsets], *, leaving: bool = False) -> None:
        """Commits how far each partition is done. What could not be committed is looked at again, no more.

        Where this process is `leaving` in order, its start counts for none that failed.
        """
        due = {place: one for place, one in progress.items() if leaving or one.position not in (None, one.committed)}
        ends = {place: one.committed if one.position is None else one.position for place, one in due.items()}
        offsets = {place: end for place, end in ends.items() if end is not None}
        if not offsets:
            return
        try:
            await self._consumer.commit(offsets)
        except (KafkaError, OSError) as error:
            log.warning("positions not committed", error=type(error).__name__)
            return
        for place, offset in offsets.items():
            due[place].committed = offset

    # aiokafka awaits what its listener returns, and declares None.
    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, revoked: Iterable[TopicPartition]
    ) -> None:
        """Commits what is done; what is under way there will be looked at by the next owner as well."""
        leaving = {place: self._progress.pop(place) for place in list(revoked) if place in self._progress}
        await self._commit(leaving, leaving=True)

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, assigned: Iterable[TopicPartition]
    ) -> None:
        """Reading goes on at the committed positions."""
        self._assigned = True
