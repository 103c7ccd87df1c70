"""Worker processes: one in the foreground, or several beside one another, each with lanes of its own.

Python folds on one core a process, so `--processes` is how one machine's cores are used. A process that ends leaves its
lanes to the others; that it ended is told in the exit status once all have. Restarting is left to the supervisor
(Kubernetes, systemd).
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from types import FrameType

import structlog
from msgspec.structs import replace

from ...codecs.errors import SluiceError, printable
from ...streams.adjudication.versions import newest
from ...streams.policy.policy import Policy, policy_of_document
from ..settings import logs
from ..settings.extras import version
from ..settings.settings import Settings
from .worker import Worker

STOP_SECONDS = 5.0
"""A worker that is told to end has ended after so long: what was in flight is then aborted by its next owner."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


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

    Args:
        settings: as loaded.
        policy: starts a ledger that is new.
        process: which of the machine's workers this is.

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
    """Ends the process after `STOP_SECONDS`, even where a thread waits for a broker that does not answer.

    Args:
        why: what the worker failed with: said, and in the exit status, as where it ends in order. None: it was told to.
    """

    def end() -> None:
        if isinstance(why, SluiceError):
            os._exit(_said(why))
        sys.stderr.flush()
        signal.raise_signal(signal.SIGKILL)

    timer = threading.Timer(STOP_SECONDS, end)
    timer.daemon = True
    timer.start()


def _said(why: SluiceError) -> int:
    """Says in one sentence what a worker ends with; returns the exit status for it."""
    print(f"sluice: {printable(str(why))}", file=sys.stderr, flush=True)
    return why.exit_status


# ---------------------------------------------------------------- several


def run_workers(settings: Settings, policy: Policy, count: int) -> int:
    """Runs several worker processes until SIGTERM or SIGINT, which is passed on to each of them.

    Args:
        settings: of each worker.
        policy: that a new ledger begins with.
        count: how many processes to run.

    Returns:
        The greatest exit status of any of them; 0 where all ended as they were told.
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
    left = dict(_by_sentinel(processes))
    while left:
        for sentinel in wait(list(left)):
            process = left.pop(sentinel)  # type: ignore[arg-type]
            process.join()
            if not stopping:
                log.error("a worker process ended", name=process.name, exit_status=process.exitcode, left=len(left))
    return max(_status(process) for process in processes)


def _by_sentinel(processes: list[SpawnProcess]) -> list[tuple[int, SpawnProcess]]:
    return [(process.sentinel, process) for process in processes]


def _status(process: SpawnProcess) -> int:
    code = process.exitcode or 0
    return 128 - code if code < 0 else code  # ended by a signal: as shells say it


def _child(settings: Settings, policy: bytes, process: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends Ctrl-C to all: the parent tells us
    try:
        run_worker(settings, policy_of_document(policy), process)
    except SluiceError as error:
        sys.exit(_said(error))
