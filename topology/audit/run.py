"""The whole audit: the checkpoints of all lanes, then lane by lane, in this process or several beside one another."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, contextmanager, nullcontext
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

from ...codecs.errors import KilledError, UsageError
from ...codecs.notes import Verifier
from ...codecs.times import LATEST, format_time
from ..collector import Collector
from ..connect import quiet
from ..settings import Settings
from ..stored import Logs, open_logs
from .divergences import Divergence
from .facts import LaneReport, Progress, Span
from .files import Cut
from .lane import audit_lane
from .report import Report, in_order, judge
from .signed import Claims, Signed, demand_all

Told = Callable[[Progress], None]


class Question(NamedTuple):
    """What is to be audited.

    Attributes:
        settings, folder: the broker, or the export.
        lanes: these only; empty: all.
        span: block times to compare.
        verifiers: whose signatures are believed; empty: none is checked.
        processes: how many lanes at once.
    """

    settings: Settings
    folder: Path | None = None
    lanes: Sequence[int] = ()
    span: Span = Span()
    verifiers: Sequence[Verifier] = ()
    processes: int = 1


async def audit(question: Question, at: str, told: Told = lambda _: None, *, collects: bool = False) -> Report:
    """Audits what is asked about.

    Args:
        question: what.
        at: the time that the report names.
        told: how far each lane is, now and then.
        collects: whether the cyclic collector of this process is ours to run; a caller's program keeps its own.

    Raises:
        KilledError: one of the processes was killed.
        UsageError: the folder is no export, the broker has no ledger, or there is no such lane.
        UnreachableError: no broker answers.
    """
    where = open_logs(question.settings, question.folder, in_place=True)
    async with where as logs, _crew(question, logs.lanes) as crew:
        cut = await logs.cut()
        signed = Signed(logs, cut, question.verifiers)
        await signed.read()
        asked = sorted(set(question.lanes)) or list(range(logs.lanes))
        if not 0 <= asked[0] <= asked[-1] < logs.lanes:
            got = ", ".join(str(lane) for lane in asked if not 0 <= lane < logs.lanes)
            raise UsageError("there is no such lane", path="--lane", expected=f"0 to {logs.lanes - 1}", got=got)
        claims = {lane: signed.claims[lane] for lane in asked}
        if crew is not None:
            reports = await _in_processes(question, cut, claims, told, crew)
        else:
            reports = await _lanes(question, logs, cut, claims, told, collects)
        divergences: list[Divergence] = []
        for report in reports:
            findings = signed.findings[report.lane]
            unread = (one for one in report.divergences if one.kind == "unreadable" and _is_of_ledger(one))
            demand_all(signed.claims[report.lane], findings, report.chain, next(unread, None))
            report.divergences += findings.found
            divergences += report.divergences
        keys = [str(verifier) for verifier in question.verifiers]
        return Report(
            where=logs.where,
            app_id=logs.app_id,
            ledger=logs.ledger,
            at=at,
            keys=keys,
            since=format_time(question.span.since) if question.span.since else None,
            until=format_time(question.span.until) if question.span.until <= LATEST else None,
            verdict=judge(reports, divergences, keys),
            lanes=reports,
            of_lanes=logs.lanes,
            divergences=in_order(divergences),
        )


def _is_of_ledger(one: Divergence) -> bool:
    """Whether the ledger as a whole is meant, not one record of it."""
    return one.place == f"ledger/{one.lane}"


async def _lanes(
    question: Question, logs: Logs, cut: Cut, claims: dict[int, Claims], told: Told, collects: bool
) -> list[LaneReport]:
    reports: list[LaneReport] = []
    for lane, of_lane in claims.items():
        with _collecting(told) if collects else nullcontext(told) as tell:
            reports.append(await audit_lane(logs, cut, lane, of_lane, question.span, tell))
    return reports


@contextmanager
def _collecting(told: Told) -> Iterator[Told]:
    """The cyclic collector in our own hands, between blocks: left to itself it walks every live assertion again."""
    collector = Collector()
    collector.start()

    def after_block(progress: Progress) -> None:
        collector.between_blocks()
        told(progress)

    try:
        yield after_block
    finally:
        collector.stop()


# ---------------------------------------------------------------- several at once

_queue: Any = None
_tasks: Any = None


def _begin(queue: Any, tasks: Any) -> None:
    global _queue, _tasks
    _queue, _tasks = queue, tasks
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to us all: who started us ends us, in one word
    # A fork has what its program does about other signals, up to the pipe that its event loop hears of them by.
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Each process holds the pipe open that it is asked by, so none would hear of a parent that was killed. Started
    # here, in the child: whoever has a thread is not forked.
    threading.Thread(target=_end_with_parent, name="parent", daemon=True).start()
    quiet()


def _end_with_parent() -> None:
    """Waits for the end of the process that started this one, and ends this one."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


class _Task(NamedTuple):
    """A lane to audit."""

    cut: Cut
    lane: int
    claims: Claims
    span: Span


def _work(settings: Settings, folder: Path | None) -> list[LaneReport]:
    """Audits lanes, in a process of its own: whichever is next, until there is none."""

    async def run() -> list[LaneReport]:
        reports: list[LaneReport] = []
        async with open_logs(settings, folder, in_place=True) as logs:
            while (task := _tasks.get()) is not None:  # nothing else goes on here that this could hold up
                with _collecting(_Few(_queue.put)) as tell:
                    reports.append(await audit_lane(logs, task.cut, task.lane, task.claims, task.span, tell))
        return reports

    return asyncio.run(run())


class _Few:
    """Passes on one progress in some: a queue between processes costs 50 us an entry."""

    def __init__(self, put: Callable[[Progress], None]) -> None:
        self._put, self._count = put, 0

    def __call__(self, progress: Progress) -> None:
        self._count += 1
        if self._count % 16 == 0:
            self._put(progress)


class _Crew(NamedTuple):
    """The processes that audit lanes: what each comes to, and the queues of their progress and of their tasks."""

    working: Sequence[Future[list[LaneReport]]]
    queue: Any
    tasks: Any


@asynccontextmanager
async def _crew(question: Question, lanes: int) -> AsyncIterator[_Crew | None]:
    """The processes, where there are to be several: they start up while the cut is taken and the claims are read."""
    count = min(question.processes, len(set(question.lanes) or range(lanes)))
    if count < 2:
        yield None
        return
    # A fork has all modules already; but whoever has threads must not: their locks would stay locked in it for ever.
    forks = sys.platform == "linux" and threading.active_count() == 1
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    queue, tasks, others = context.Queue(), context.Queue(), multiprocessing.active_children()
    tasks.cancel_join_thread()  # nobody may be left to take them
    with ProcessPoolExecutor(count, context, _begin, (queue, tasks)) as pool:
        try:
            yield _Crew([pool.submit(_work, question.settings, question.folder) for _ in range(count)], queue, tasks)
        except BrokenProcessPool:
            raise KilledError(
                "a process of the audit was killed, perhaps for want of memory; nothing is said of what it read",
                path="--processes",
                hint="name fewer",
            ) from None
        except BaseException:
            for child in multiprocessing.active_children():
                if child not in others:
                    child.kill()  # else the pool waits for those that wait for lanes
            raise


async def _in_processes(
    question: Question, cut: Cut, claims: dict[int, Claims], told: Told, crew: _Crew
) -> list[LaneReport]:
    for lane, of_lane in claims.items():
        crew.tasks.put(_Task(cut, lane, of_lane, question.span))
    for _ in crew.working:
        crew.tasks.put(None)
    done = asyncio.gather(*map(asyncio.wrap_future, crew.working))
    try:
        while not done.done():
            await asyncio.wait({done}, timeout=0.2)
            while not crew.queue.empty():
                told(crew.queue.get())
    finally:
        done.cancel()
    reports = {report.lane: report for some in await done for report in some}
    return [reports[lane] for lane in claims]
