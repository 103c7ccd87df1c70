"""The whole audit: the checkpoints of all lanes, then lane by lane, in this process or several beside one another."""

from __future__ import annotations

import asyncio
import multiprocessing
import sys
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from ...codecs.errors import KilledError, UsageError
from ...codecs.notes import Verifier
from ...codecs.times import LATEST, format_time
from ...streams.sightings.binding import OBSERVATIONS
from ..engine.interfaces import Logs
from ..engine.stored_topics import open_logs
from ..engine.trust import TrustedKey
from ..kafka.connect import quiet
from ..settings.process import Collector, bind_to_parent
from ..settings.settings import Settings
from .checkpoint_check import Signed, demand_all, expect_checkpoints
from .divergences import Divergence
from .lane_audit import Task, audit_lane, expect_lane
from .lane_groups import BIND, GROUPS, find_marks
from .report import AuditProgress, LaneReport, Report, Span, in_order, judge

OnProgress = Callable[[AuditProgress], None]


class AuditRequest(NamedTuple):
    """What is to be audited.

    Attributes:
        settings, folder: the broker, or the export.
        listed: further keys, each believed in its own time, as a policy lists them. Where there are neither
            verifiers nor listed keys, no signature is checked.
    """

    settings: Settings
    folder: Path | None = None
    lanes: Sequence[int] = ()  # these only; empty: all
    span: Span = Span()  # block times to compare
    verifiers: Sequence[Verifier] = ()  # whose signatures are believed, whenever they were made
    processes: int = 1  # how many lanes at once
    listed: Sequence[TrustedKey] = ()
    revoked: Sequence[str] = ()  # keys that the same policy lists as revoked, of whatever party, for the report to tell

    @property
    def known(self) -> Sequence[TrustedKey]:
        """All keys, each once; one that is named by itself counts at any time."""
        named = {(one.name, one.id): TrustedKey(one, None) for one in self.verifiers}
        return list({**{(one.verifier.name, one.verifier.id): one for one in self.listed}, **named}.values())


async def audit(
    question: AuditRequest, at: str, callback: OnProgress = lambda _: None, *, collects: bool = False
) -> Report:
    """Audits what is asked about in `question`; `at` is the time that the report names, `callback` is told how far each
    lane is.

    `collects`: whether the cyclic collector of this process is ours to run; a caller's program keeps its own.

    Raises:
        KilledError: one of the processes was killed.
        UsageError: the folder is no export, the broker has no ledger, or there is no such lane.
        UnreachableError: no broker answers.
    """
    where = open_logs(question.settings, question.folder, in_place=True)
    async with where as logs, _crew(question, asked := _asked(question, logs)) as crew:
        expect_checkpoints(logs)
        cut = await logs.cut()
        of_groups: dict[str, Signed] = {}
        for group in GROUPS.values():
            if group.is_stored(cut):
                of_groups[group.name] = Signed(logs, cut, question.known, group)
                await of_groups[group.name].read()
        known = [(str(one.verifier), one.key) for one in question.known]
        tasks = [
            Task(cut, lane, signed.claims[lane], question.span, fold, known)
            for fold, signed in of_groups.items()
            for lane in asked
        ]
        last = BIND.name if OBSERVATIONS in cut.ends else ""  # exports of earlier packages have none
        plain = [task for task in tasks if task.fold != last]

        async def marked() -> Sequence[Task]:
            """The binding lanes come last: others need not wait until it is known where their marks stand."""
            binding = [task for task in tasks if task.fold == last]
            if not binding:
                return []
            with _collecting(callback) if collects else nullcontext():  # no lane is folded here meanwhile
                marks = await find_marks(logs, cut, asked)
            return [task._replace(marked=marks[task.lane]) for task in binding]

        if crew is not None:
            reports = await _in_processes(plain, marked(), callback, crew)
        else:
            reports = await _in_turn(logs, iter(plain), callback, collects)
            reports += await _in_turn(logs, iter(await marked()), callback, collects)
        divergences: list[Divergence] = []
        for report in reports:
            group, signed = GROUPS[report.fold], of_groups[report.fold]
            findings, ledger = signed.findings[report.lane], f"{group.ledger}/{report.lane}"
            unread = (one for one in report.divergences if one.kind == "unreadable" and one.place == ledger)
            demand_all(signed.claims[report.lane], findings, report.chain, next(unread, None), group)
            report.divergences += findings.found
            divergences += report.divergences
        keys = [_described(one) for one in question.known]
        return Report(
            where=logs.where,
            app_id=logs.app_id,
            ledger=logs.ledger,
            at=at,
            keys=keys,
            revoked=list(question.revoked),
            since=format_time(question.span.since) if question.span.since else None,
            until=format_time(question.span.until) if question.span.until <= LATEST else None,
            verdict=judge(reports, divergences, keys),
            lanes=[report for report in reports if report.fold == "adjudicate"],
            bind=[report for report in reports if report.fold == "bind"],
            frame=[report for report in reports if report.fold == "frame"],
            of_lanes=logs.lanes,
            divergences=in_order(divergences),
        )


def _described(one: TrustedKey) -> str:
    """A key, and that it was revoked: what it signed before may not be its owner's word (streams/policy/keys.py)."""
    revoked = None if one.key is None else one.key.revoked
    return str(one.verifier) if revoked is None else f"{one.verifier} (revoked at {format_time(revoked)})"


def _asked(question: AuditRequest, logs: Logs) -> list[int]:
    """The lanes that are to be audited, in order."""
    asked = sorted(set(question.lanes)) or list(range(logs.lanes))
    if not 0 <= asked[0] <= asked[-1] < logs.lanes:
        got = ", ".join(str(lane) for lane in asked if not 0 <= lane < logs.lanes)
        raise UsageError("there is no such lane", path="--lane", expected=f"0 to {logs.lanes - 1}", got=got)
    return asked


async def _in_turn(logs: Logs, tasks: Iterator[Task], callback: OnProgress, collects: bool) -> list[LaneReport]:
    """Audits lanes, one after the other: the next one is asked for while the last blocks of one are folded."""
    reports: list[LaneReport] = []
    upcoming = next(tasks, None)

    def expect() -> None:
        nonlocal upcoming
        upcoming = next(tasks, None)
        if upcoming is not None:
            expect_lane(logs, upcoming.lane, upcoming.fold)

    while (task := upcoming) is not None:
        with _collecting(callback) if collects else nullcontext(callback) as tell:
            reports.append(await audit_lane(logs, task, tell, expect))
        if upcoming is task:
            expect()  # its ledger was not read to the end
    return reports


@contextmanager
def _collecting(callback: OnProgress) -> Generator[OnProgress]:
    """The cyclic collector in our own hands, between blocks: left to itself it walks every live assertion again."""
    collector = Collector()
    collector.start()

    def after_block(progress: AuditProgress) -> None:
        collector.between_blocks()
        callback(progress)

    try:
        yield after_block
    finally:
        collector.stop()


# ---------------------------------------------------------------- several at once

_queues: _Queues | None = None


class _Queues(NamedTuple):
    """Between an audit and its processes: of their progress, of the tasks that anyone takes, and each one's first."""

    progress: Any
    tasks: Any
    firsts: Sequence[Any]


def _begin(queues: _Queues) -> None:
    global _queues
    _queues = queues
    bind_to_parent()
    quiet()


def _work(settings: Settings, folder: Path | None, number: int, lane: int) -> list[LaneReport]:
    """Audits lanes, in a process of its own: this one, which is asked for at once, then whichever is next."""
    assert _queues is not None, "_begin comes first"
    progress, tasks, first = _queues.progress, _queues.tasks, _queues.firsts[number]

    async def run() -> list[LaneReport]:
        async with open_logs(settings, folder, in_place=True) as logs:
            expect_lane(logs, lane)
            task = await asyncio.to_thread(first.get)
            return await _in_turn(logs, chain([task], iter(tasks.get, None)), _Few(progress.put), collects=True)

    return asyncio.run(run())


class _Few:
    """Passes on the first progress, and then one in some: a queue between processes costs 50 us an entry."""

    def __init__(self, put: Callable[[AuditProgress], None]) -> None:
        self._put, self._count = put, 0

    def __call__(self, progress: AuditProgress) -> None:
        if self._count % 16 == 0:
            self._put(progress)
        self._count += 1


class _Crew(NamedTuple):
    """The processes that audit lanes: what each comes to, and the queues between."""

    working: Sequence[Future[list[LaneReport]]]
    queues: _Queues


@asynccontextmanager
async def _crew(question: AuditRequest, lanes: Sequence[int]) -> AsyncGenerator[_Crew | None]:
    """The processes, where there are to be several: each starts and asks for a lane while the cut is taken."""
    count = min(question.processes, len(lanes))
    if count < 2:
        yield None
        return
    # A fork has all modules already; but whoever has threads must not: their locks would stay locked in it for ever.
    forks = sys.platform == "linux" and threading.active_count() == 1
    context: Any = multiprocessing.get_context("fork" if forks else "spawn")
    queues = _Queues(context.Queue(), context.Queue(), [context.Queue() for _ in range(count)])
    for queue in (queues.tasks, *queues.firsts):
        queue.cancel_join_thread()  # nobody may be left to take what is in it
    others = multiprocessing.active_children()
    with ProcessPoolExecutor(count, context, _begin, (queues,)) as pool:
        try:
            asked = (question.settings, question.folder)
            yield _Crew([pool.submit(_work, *asked, number, lanes[number]) for number in range(count)], queues)
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
    tasks: Sequence[Task], later: Awaitable[Sequence[Task]], callback: OnProgress, crew: _Crew
) -> list[LaneReport]:
    """Audits lanes, each process one after the other: `tasks` (one or more for each process), then `later`."""
    queues = crew.queues
    for queue, task in zip(queues.firsts, tasks, strict=False):
        queue.put(task)
    for task in tasks[len(queues.firsts) :]:
        queues.tasks.put(task)

    async def give_last() -> Sequence[Task]:
        last = await later
        for task in (*last, *[None] * len(crew.working)):
            queues.tasks.put(task)
        return last

    done = asyncio.gather(*map(asyncio.wrap_future, crew.working))
    giving = asyncio.ensure_future(give_last())
    try:
        while not done.done():
            await asyncio.wait({done}, timeout=0.2)
            while not queues.progress.empty():
                callback(queues.progress.get())
            if giving.done():
                giving.result()  # raises what kept it from giving
        last = await giving
    finally:
        giving.cancel()
        done.cancel()
    reports = {(report.fold, report.lane): report for some in await done for report in some}
    return [reports[task.fold, task.lane] for task in (*tasks, *last)]
