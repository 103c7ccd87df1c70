"""A worker: the lanes of one process, started and stopped together; and worker processes, one or several.

At its start a worker checks what would otherwise fail later and less clearly: a broker answers, the topics exist with
the right partition counts, and this package folds what the ledgers hold. The command line and the demo use it alike.
It ends with a reason when a lane must not go on.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType
from typing import Any

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec.structs import replace

from ...codecs.blocks import unseal
from ...codecs.errors import DoesNotHoldError, SluiceError, UsageError, printable
from ...codecs.ledger_statements import is_claim
from ...streams.adjudication.versions import newest
from ...streams.policy.policy import DEFAULT_POLICY, Policy, policy_of_document
from ..kafka.connect import certificate_ends, log_ends, open_consumer, partitions_of, until_answered
from ..kafka.produce import broker_times
from ..kafka.topic_reader import PassingReader
from ..kafka.topics import topic_name
from ..settings import logs
from ..settings.process import Collector, now_ms, version
from ..settings.settings import Settings, secrets_of
from . import telemetry
from .app import App, create_app
from .chain import demand_version
from .clocks import SKEW_MS, ClockFence, Clocks
from .folds import folds
from .installation import identify
from .interfaces import Fold, LaneStatus, Meter
from .policies import TOPIC as POLICIES
from .probe_server import Web
from .telemetry import Metrics, group_topics
from .topic_repair import undrained

TAIL = 8
"""So many offsets before a ledger's end are read: a block takes two, since each has its transaction's marker."""
PATIENCE = 5.0
"""What has not answered by then is left to the lanes."""


async def demand_ledgers(settings: Settings, folds: Sequence[Fold]) -> None:
    """Demands that no ledger's newest block was folded by a later version than ours.

    Raises:
        LaterVersionError: one was; the sentence says which.
        DoesNotHoldError: one is no block of a format that we read.
        UnreachableError: no broker answers.
    """
    lanes = range(settings.partitions)
    folded_by = {TopicPartition(topic_name(settings, fold.ledger), lane): fold for fold in folds for lane in lanes}
    exactly_once = settings.delivery == "exactly-once"
    options = {"isolation_level": "read_committed" if exactly_once else "read_uncommitted", "fetch_max_wait_ms": 50}
    async with open_consumer(settings, **options) as consumer:
        newest: dict[TopicPartition, Any] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await _read_tails(consumer, list(folded_by), newest, settings.max_unpacked_bytes)
    for place, record in newest.items():
        header = unseal(record.value or b"").header
        demand_version(header.fold, folded_by[place].version, f"{place.topic}/{place.partition}, block {header.height}")


async def _read_tails(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], newest: dict[TopicPartition, Any], most_unpacked: int
) -> None:
    """Puts the last committed record of each partition into `newest`; a batch that cannot be read is its lane's
    business.
    """
    consumer.assign(places)
    firsts, ends = await log_ends(consumer, places)
    for place in places:
        consumer.seek(place, max(firsts[place], ends[place] - TAIL))
    left = [place for place in places if firsts[place] < ends[place]]
    reader = PassingReader(consumer, most_unpacked)
    while left:
        for place, records in (await reader.take(0.1)).items():
            if blocks := [one for one in records if not is_claim(one.key)]:
                newest[place] = blocks[-1]
        left = [place for place in left if await consumer.position(place) < _readable(consumer, place, ends[place])]


def _readable(consumer: AIOKafkaConsumer, place: TopicPartition, end: int) -> int:
    """How far a partition can be read: a killed worker's open transaction hides what follows until it expires."""
    stable = consumer.last_stable_offset(place)
    return end if stable is None or stable < 0 else min(end, stable)


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Worker:
    """The lanes of one process. `start`, then `wait` or `wait_until_running`, then `stop`; not to be started twice.

    Args:
        settings: as loaded.
        policy: starts a ledger that is new.
        own_process: whether the process exists for this worker, which then owns its garbage collector.
        clock: the wall clock, Unix ms. Where it differs from that of most brokers by more than the `max_skew` of
            `policy`, the worker does not join the group before it agrees.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        policy: Policy = DEFAULT_POLICY,
        own_process: bool = False,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self._settings, self._policy, self._clock = settings, policy, clock
        fence = ClockFence(policy.admissibility.max_skew)
        self._clocks = Clocks(fence, partial(broker_times, settings), wall=clock)
        self._sets_clock = False
        self._collector = Collector()
        self._own_process = own_process
        self._app: App | None = None
        self._web: Web | None = None
        self._traces: Any = None
        self._failed: asyncio.Future[None] | None = None

    @property
    def lanes(self) -> Sequence[LaneStatus]:
        """Each lane that is here, as it stands."""
        return self._app.lanes.status if self._app is not None else ()

    async def start(self) -> None:
        """Joins the group; lanes start as they are assigned.

        Raises:
            UnreachableError: no broker answers in time.
            UsageError: topics are missing, or have other partition counts than the settings say; another application
                writes the ledgers; checkpoints are to be signed with a key that cannot be read; or ledgers are to be
                raised to a version that is not ours.
            LaterVersionError: a ledger is of a later version's making.
        """
        with logs.hushed():
            await until_answered(self._settings, partial(_check, self._settings))
            identities = await until_answered(self._settings, partial(identify, self._settings, folds()))
        if self._own_process:
            self._collector.start()
        self._failed = asyncio.get_running_loop().create_future()
        meters: list[Meter] = []
        self._traces = telemetry.provider_of()
        if self._traces is not None:
            meters.append(telemetry.Traces(self._traces))
        if self._settings.web_port is not None:
            metrics = Metrics(
                lambda: self.lanes,
                is_member=lambda: self._app is not None and self._app.lanes.is_member,
                wanted=self._settings.partitions * len(folds()),
                topics=lambda: None if self._app is None else self._app.watch,
                certificates=partial(certificate_ends, self._settings),
            )
            meters.append(metrics)
            self._web = Web(
                self._settings.web_host,
                self._settings.web_port,
                metrics=metrics.text,
                healthy=self._why_ill,
                ready=self._why_not_ready,
            )
            await self._web.start()
        self._sets_clock = True
        await self._clocks.wait()
        self._sets_clock = False
        self._app = create_app(
            self._settings,
            policy=self._policy,
            identities=identities,
            on_fatal=self._fail,
            meter=telemetry.Meters(meters) if meters else None,
            clock=self._clock,
            clocks=self._clocks,
            between_blocks=self._collector.between_blocks,
            after_restore=self._collector.settle,
        )
        await self._app.start()

    async def wait(self) -> None:
        """Waits until the worker fails.

        Raises:
            Exception: why it did.
        """
        assert self._failed is not None, "start comes first"
        await asyncio.shield(self._failed)

    async def wait_until_running(self) -> None:
        """Waits until all lanes of each fold run here.

        Raises:
            Exception: the worker failed meanwhile.
            DoesNotHoldError: a lane did.
        """
        wanted = self._settings.partitions * len(folds())
        while sum(lane.phase == "running" for lane in self.lanes) < wanted:
            if self._failed is not None and self._failed.done():
                self._failed.result()
            for lane in self.lanes:
                if lane.phase == "failed":
                    raise DoesNotHoldError(lane.reason)
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Commits or aborts what is in flight, leaves the group, and lets go of everything."""
        app = self._app
        if app is not None:
            await app.stop()
        if self._web is not None:
            await self._web.stop()
        if self._traces is not None:
            await asyncio.to_thread(self._traces.force_flush, telemetry.FLUSH_MS)
        if app is None:
            return
        self._collector.stop()
        if self._failed is not None and not self._failed.done():
            self._failed.cancel()

    def _why_ill(self) -> str:
        """Empty, or the reason why the worker ends."""
        failed = self._failed
        error = failed.exception() if failed is not None and failed.done() and not failed.cancelled() else None
        return "" if error is None else str(error) or repr(error)

    def _why_not_ready(self) -> str:
        """Empty, or what the worker waits for: its share of lanes, their state, or a clock that is right.

        Lanes that have failed come first, a line each.
        """
        if self._sets_clock:
            return "waiting until this clock agrees with the brokers'"
        if self._app is None or not self._app.lanes.assigned:
            return "waiting for the group to say which lanes are here"
        if not self._app.lanes.is_member:
            return "the group's coordinator has not answered for a session, so the lanes were given up"
        failed = [f"{one.fold} lane {one.lane} has failed: {one.reason}" for one in self.lanes if one.phase == "failed"]
        if failed or (failed := self._app.watch.problems):
            return "\n".join(failed)
        for lane in self.lanes:
            if lane.phase != "running":
                return f"{lane.fold} lane {lane.lane} is {lane.phase}{': ' if lane.reason else ''}{lane.reason}"
            if abs(lane.skew) > SKEW_MS:
                return f"this clock is {lane.skew / 1000:g} s ahead of the broker's"
        return self._why_ill()

    def _fail(self, error: BaseException) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)


def _demand_counts(settings: Settings, counts: Mapping[str, int], left: Mapping[str, int]) -> None:
    """Demands that each topic has the partitions of `settings`, and that no records are `left` in others; by logical
    name.
    """
    numbers = {topic: count for topic, count in counts.items() if count != settings.partitions}
    if len(set(counts.values())) == 1 and numbers:
        hint = f"set `partitions` to {next(iter(numbers.values()))}, or choose another `topic_prefix`"
    elif any(count < settings.partitions for count in numbers.values()):
        hint = "`sluice topics check` names them; delete those and have `sluice topics create` make them anew"
    elif any(left.values()):
        hint = "`sluice topics drain` moves what lies in the partitions beyond to where lanes read it; then start again"
    else:
        return
    beyond = [f"{topic_name(settings, topic)}: {count} records beyond" for topic, count in left.items() if count]
    raise UsageError(
        "the topics have another number of partitions than the settings say",
        path=settings.broker,
        expected=f"{settings.partitions} each",
        got=", ".join([*(f"{topic_name(settings, topic)}: {number}" for topic, number in numbers.items()), *beyond]),
        hint=hint,
    )


async def _check(settings: Settings) -> None:
    """That a broker answers, that the topics are there as the settings say, and that we fold what the ledgers hold."""
    running = folds(settings.partitioner, secrets_of(settings), settings.fold_version or 0)
    async with open_consumer(settings) as consumer:
        counts = {
            topic: len(await partitions_of(consumer, settings, topic_name(settings, topic)))
            for topic in group_topics(running, settings)
        }
        await partitions_of(consumer, settings, topic_name(settings, POLICIES))
        grown = [topic for topic, count in counts.items() if count > settings.partitions]
        left = await undrained(consumer, settings, grown) if grown else dict[str, int]()
    _demand_counts(settings, counts, left)
    await demand_ledgers(settings, running)


STOP_SECONDS = 5.0
"""A worker that is told to end has ended after so long: what was in flight is then aborted by its next owner."""


def named(settings: Settings, process: int) -> Settings:
    """The settings of one process: static members are named by pod and process, and stay so if more are added.

    The first one's web server has the port of the settings, the others have those behind it.
    """
    if settings.web_port is not None:
        settings = replace(settings, web_port=settings.web_port + process)
    if settings.instance is None:
        return settings
    return replace(settings, instance=f"{settings.instance}-{process}")


def run_worker(settings: Settings, policy: Policy, process: int = 0) -> None:
    """Runs one worker in this process until SIGTERM or SIGINT.

    `policy` starts a ledger that is new; `process` is the number of this worker on the machine, for `settings` of its
    own.

    Raises:
        SluiceError: it could not start, or a lane must not go on.
        Exception: whatever else made it fail.
    """
    logs.configure(settings.log_level)
    asyncio.run(_serve(named(settings, process), policy))


async def _serve(settings: Settings, policy: Policy) -> None:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    parent = multiprocessing.parent_process()
    if parent is not None:  # one of several: nobody could stop an orphan
        loop.add_reader(parent.sentinel, stop.set)
    worker = Worker(settings, policy=policy, own_process=True)
    until_stopped = asyncio.create_task(stop.wait())
    running = asyncio.create_task(_run(worker))
    try:
        await asyncio.wait((running, until_stopped), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            await running  # with the reason why it failed
    finally:
        log.info("worker ends")
        _end_for_sure(running.exception() if running.done() and not running.cancelled() else None)
        for task in (until_stopped, running):
            task.cancel()
        try:
            async with asyncio.timeout(STOP_SECONDS - 0.5):
                await worker.stop()
        except Exception as error:  # noqa: BLE001 -- the reason why it ends must not be hidden by how it ends
            log.warning("the worker did not end in order", error=str(error) or repr(error))


async def _run(worker: Worker) -> None:
    await worker.start()
    log.info("worker started", package=version(), fold_version=newest())
    await worker.wait()


def _end_for_sure(why: BaseException | None) -> None:
    """Ends the process after `STOP_SECONDS`, with `why` it failed, even where a thread waits for a silent broker."""

    def end() -> None:
        if isinstance(why, SluiceError):
            os._exit(_said(why))
        sys.stderr.flush()
        signal.raise_signal(signal.SIGKILL)

    timer = threading.Timer(STOP_SECONDS, end)
    timer.daemon = True
    timer.start()


def _said(why: SluiceError) -> int:
    """Prints in one sentence what a worker ends with; returns the exit status for it."""
    print(f"sluice: {printable(str(why))}", file=sys.stderr, flush=True)
    return why.exit_status


# ---------------------------------------------------------------- several


def run_workers(settings: Settings, policy: Policy, count: int) -> int:
    """Runs `count` worker processes until SIGTERM or SIGINT, which is passed on to each of them.

    `settings` are those of each, `policy` is what a new ledger begins with. Returns the greatest exit status of any of
    them; 0 where all ended as they were told.
    """
    logs.configure(settings.log_level)
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_child, args=(settings, policy.document, place), name=f"worker-{place}")
        for place in range(count)
    ]
    stopping = False

    def tell(number: int, frame: FrameType | None) -> None:
        nonlocal stopping
        stopping = True
        for process in processes:
            with contextlib.suppress(ProcessLookupError, ValueError, AttributeError):
                process.terminate()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, tell)
    for process in processes:
        process.start()
    left = {process.sentinel: process for process in processes}
    while left:
        for sentinel in wait(list(left)):
            process = left.pop(sentinel)  # type: ignore[arg-type]
            process.join()
            if not stopping:
                log.error("a worker process ended", name=process.name, exit_status=process.exitcode, left=len(left))
    return max(_status(process) for process in processes)


def _status(process: SpawnProcess) -> int:
    code = process.exitcode or 0
    return 128 - code if code < 0 else code  # ended by a signal: as shells say it


def _child(settings: Settings, policy: bytes, process: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all: the parent tells us
    try:
        run_worker(settings, policy_of_document(policy), process)
    except SluiceError as error:
        sys.exit(_said(error))
