"""Chaos on three real Kafkas: workers under load, faults drawn from a seed, and an independent reader's verdict.

    make chaos ARGS="[--minutes M] [--seed S] [--workers N] [--short] [--report FILE]"

Each fault is a line while it runs. The last line is `faults=N lost=N doubled=N`; the exit status is 0 only where
nothing was lost or doubled, every fault showed what it should have, and `sluice audit` finds nothing either. Otherwise
the brokers' data and the workers' logs stay in var/chaos. The seed chooses the load and the faults with their times;
what the machine makes of them is its own.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import secrets
import shutil
import signal
import sys
import time
import traceback
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

from chaos import schedule as chaos
from chaos.board import Board
from chaos.broker_faults import NODES, BrokerFaults
from chaos.check import Reader, Verdict, compare_with_audit, is_settled, judge
from chaos.cluster import ProxiedCluster, View
from chaos.disk import take_mounts
from chaos.faults import Faults
from chaos.fleet import Fleet
from chaos.load import Load
from chaos.proxy import Proxy
from chaos.report import write_report
from chaos.told import Told
from chaos.worker_faults import WorkerFaults
from chaos.workload import POLICY

from sluice.codecs.times import format_time
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.folds import folds
from sluice.topology.kafka import local_broker
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.process import now_ms
from sluice.topology.settings.settings import Settings

VAR = Path(__file__).parents[3] / "var" / "chaos"
RATE = 150.0
READ_SECONDS = 240.0
"""Once nothing goes wrong any more, all inputs are read within so long; what then is not, is lost."""


class Run:
    """One run in one folder."""

    def __init__(self, arguments: argparse.Namespace, folder: Path, mounts: bool, board: Board) -> None:
        self._arguments, self._folder, self._mounts, self._board = arguments, folder, mounts, board
        self.plan = chaos.schedule(arguments.seed, arguments.minutes, arguments.workers, short=arguments.short)

    async def run(self) -> tuple[Told, Verdict]:
        """From the brokers' start to the verdict."""
        seed, board = self._arguments.seed, self._board
        (self._folder / "policy.toml").write_text(POLICY)
        async with AsyncExitStack() as stack:
            proxies = [await stack.enter_async_context(Proxy()) for _ in range(NODES)]
            cluster = ProxiedCluster(self._folder / "kafka", proxies, tell=board.tell)
            try:
                address = await asyncio.to_thread(cluster.start)
                settings = Settings(broker=address, app_id="chaos", topic_prefix="chaos.")
                await create_topics(settings)
                load, told = Load(settings, seed, self._arguments.rate), Told(len(self.plan), board.tell)
                with Fleet(
                    settings, cluster.proxied, self._folder, self._arguments.workers, self._mounts, board.tell
                ) as fleet:
                    lanes, calm = settings.partitions * len(folds()), asyncio.Lock()
                    of_workers = WorkerFaults(fleet, proxies, lanes, Random(f"damage {seed}"), calm, told)
                    of_brokers = BrokerFaults(cluster, View(settings), fleet, load, calm, told)
                    faults = Faults(fleet, {**of_workers.doing, **of_brokers.doing}, told)
                    return told, await self._under(settings, fleet, faults, told, load)
            finally:
                await asyncio.to_thread(cluster.stop)

    async def _under(self, settings: Settings, fleet: Fleet, faults: Faults, told: Told, load: Load) -> Verdict:
        """Load and faults at once, then calm, then the end, and then the judge."""
        board = self._board
        watching = asyncio.create_task(fleet.watch())
        showing = asyncio.create_task(self._show(fleet, told, load))
        sending = asyncio.create_task(load.run())
        try:
            await self._until_begun(fleet)
            began = time.monotonic()
            await faults.run(self.plan)
            await asyncio.sleep(max(0.0, began + self._arguments.minutes * 60 - time.monotonic()))
            fleet.wanted = self._arguments.workers
            load.stop()
            async with asyncio.timeout(READ_SECONDS):
                await sending
            board.tell(f"no more faults, no more load: {len(load.acknowledged)} records were acknowledged")
            async with Reader(settings) as reader:
                settled = await reader.until(lambda: is_settled(reader.found, len(load.acknowledged)), READ_SECONDS)
                board.tell("all inputs are read" if settled else f"not all inputs are read after {READ_SECONDS:g} s")
                watching.cancel()
                await fleet.end()
                if not await reader.to_end():
                    told.complain("a transaction is still open: what it hides counts as lost")
                board.tell("judging")
                verdict = await asyncio.to_thread(judge, settings, reader.found, load)
            board.tell("auditing")
            report = await audit(AuditRequest(settings), format_time(now_ms()))
            for complaint in compare_with_audit(report, verdict):
                told.complain(complaint)
        finally:
            for task in (watching, showing, sending):
                task.cancel()
            await asyncio.gather(watching, showing, sending, return_exceptions=True)
        verdict.figures["acknowledged"] = len(load.acknowledged)
        verdict.figures["aborted"] = len(load.aborted)
        verdict.figures["in doubt"] = len(load.doubtful)
        verdict.figures["ended by themselves"] = sum(slot.ended_by_itself for slot in fleet.slots)
        return verdict

    async def _until_begun(self, fleet: Fleet) -> None:
        """Faults begin once every lane has been taken over: what never ran cannot be disturbed."""
        wanted = len(folds()) * Settings().partitions
        async with asyncio.timeout(READ_SECONDS):
            while sum(len(slot.lanes) for slot in fleet.running) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.2)

    async def _show(self, fleet: Fleet, told: Told, load: Load) -> None:
        began, length = time.monotonic(), self._arguments.minutes * 60
        while True:
            done = told.done.total()
            self._board.show(
                min(1.0, (time.monotonic() - began) / length),
                lambda done=done: (
                    f"{done}/{len(self.plan)} faults, {len(load.acknowledged)} records, {len(fleet.running)} workers"
                ),
            )
            await asyncio.sleep(0.5)


async def _interruptible(run: Run) -> tuple[Told, Verdict]:
    """SIGTERM ends it as Ctrl-C does: workers and brokers must not outlive it."""
    task = asyncio.ensure_future(run.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    return await task


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Chaos on three real Kafkas.", epilog="example: run.py --minutes 5 --seed 7"
    )
    parser.add_argument(
        "--minutes", type=float, help=f"of load and faults: {chaos.FULL_MINUTES:g}, in short {chaos.SHORT_MINUTES:g}"
    )
    parser.add_argument("--seed", type=int, help="chooses load and faults; by default another one each time")
    parser.add_argument("--workers", type=int, default=3, help="at first (3)")
    parser.add_argument("--rate", type=float, default=RATE, help="records a second (150)")
    parser.add_argument(
        "--short", action="store_true", help="one or two of most kinds, within two minutes and a half in all"
    )
    parser.add_argument("--report", type=Path, help="where to put the JSON report (var/chaos/last.json)")
    arguments = parser.parse_args()
    if arguments.minutes is None:
        arguments.minutes = chaos.SHORT_MINUTES if arguments.short else chaos.FULL_MINUTES
    if arguments.seed is None:
        arguments.seed = secrets.randbelow(1_000_000)
    if arguments.workers < 2:
        parser.error("--workers: expected at least 2, so that somebody else can take over")
    return arguments


def main() -> int:
    """Runs, and tells what came of it."""
    arguments = _arguments()
    if why_not := local_broker.missing():
        print(f"chaos: {why_not}", file=sys.stderr)
        return 3
    # Nodes start often and live shortly: what the second compiler would save it costs them first.
    os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1")
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL + 1)  # of a broker that is away there is much to say
    mounts = take_mounts()
    folder = VAR / f"{time.strftime('%Y%m%d-%H%M%S')}-seed-{arguments.seed}"
    folder.mkdir(parents=True)
    with Board() as board:
        board.tell(
            f"seed {arguments.seed}, {arguments.minutes:g} minutes, {arguments.workers} workers; "
            f"state on {'small disks' if mounts else 'folders that can be obstructed'}; logs in {folder}"
        )
        run, began = Run(arguments, folder, mounts, board), format_time(now_ms())
        try:
            told, verdict = asyncio.run(_interruptible(run))
        except (KeyboardInterrupt, asyncio.CancelledError):
            board.tell(f"interrupted; the brokers' data and the workers' logs are in {folder}")
            return 130
        except Exception:  # noqa: BLE001 -- without a verdict there is no last line, but what is kept must be found
            board.tell(f"{traceback.format_exc()}no verdict; the brokers' data and the workers' logs are in {folder}")
            return 1
        report = write_report(
            arguments.report or VAR / "last.json", vars(arguments), began, board.seconds, told, verdict
        )
        board.tell(", ".join(f"{kind} {count}" for kind, count in sorted(told.done.items())))
        board.tell(", ".join(f"{name} {count}" for name, count in verdict.figures.items()))
        for complaint in verdict.complaints:
            board.tell(f"NOT AS IT SHOULD BE: {complaint}")
        if report.good:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            board.tell(f"the brokers' data and the workers' logs are in {folder}")
    print(report.line, flush=True)
    return 0 if report.good else 1


if __name__ == "__main__":
    sys.exit(main())
