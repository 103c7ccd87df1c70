"""The main job from end to end, in one process and a few seconds: emissions in, a verdict about each assertion out.

A broker (the embedded one, unless a real Kafka is named), the lanes, the observers on a repository, and a producer:
the same code as the commands run, wired together and taken apart again. It ends when everything that was sent has its
word (`board.py`), or its time is up. No verdict is known here before the lanes have written it.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog

from ...codecs.errors import DoesNotHoldError, UsageError
from ...streams.policy.policy import DEFAULT_POLICY, FloorOfCheck, PerEffect, Policy
from ..engine.worker import Worker
from ..kafka.local_broker import PARTITIONS, EmbeddedBroker
from ..kafka.produce import Sender
from ..kafka.topic_reader import read
from ..kafka.topics import create_topics
from ..observers.roots import Roots
from ..observers.service import ObserverService
from ..settings.files import read_file
from ..settings.settings import Settings
from ..settings.showing import escaped
from ..vet.vetting import ALONE
from .demo_view import Board, Sent, counted, prepare_all

DEADLINE_SECONDS = 60.0
"""From the first step on: on an idle machine everything has its word within 10 s."""
SHOWN_SECONDS = 12.0
"""An admission that ends within so long after the records were sent is waited for, and shown as it ends."""
QUIET_SECONDS = 0.5
"""Nothing new for so long, once everything has its word: a third class that renews comes right after the second."""
STOP_SECONDS = 1.2
"""Whoever stops a demo, or has seen its end, does not wait for a group to be left in good order."""
WATCHED = ("admitted", "inadmissible", "review-requests", "dead-letters", "observations")
TICK_SECONDS = 0.1
MAX_EMISSIONS = 64_000_000
"""Bytes of the emissions file."""

DEMO_POLICY = msgspec.structs.replace(
    DEFAULT_POLICY,
    admissibility=msgspec.structs.replace(
        DEFAULT_POLICY.admissibility,
        horizon=4_000,
        late_horizon=4_000,
        min_confidence=0.3,
        window=DEFAULT_POLICY.admissibility.window | {"substrate.git.log": 3_000},
        k_by_check=dict.fromkeys(ALONE, FloorOfCheck(internal=1)),
    ),
    effect={"release-notes-bot": "external"},
    disposition=DEFAULT_POLICY.disposition
    | dict.fromkeys(("unverified-inference", "unannotated"), PerEffect(internal="review", external="review")),
)
"""What examples/policy.toml says, for where that folder is not: in an installed package."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


def examples() -> Path | None:
    """The examples of the checkout that sluice runs from, which they speak of; None where it is installed elsewhere."""
    folder = Path(__file__).resolve().parents[2] / "examples"
    return folder if (folder / "emissions.jsonl").is_file() and (folder.parent / "pyproject.toml").is_file() else None


def settings_for(base: Settings, broker: str | None, root: str, state: str) -> Settings:
    """The settings of a demo: its own names on a broker that others use too, and nothing of it left on disk.

    Args:
        base: what was configured.
        broker: a real Kafka; None for the embedded one.
        root: the roots, as the setting of that name holds them.
        state: a folder for the time of the demo.
    """
    own = f"demo-{secrets.token_hex(3)}-"
    common = {"root": root, "state_dir": f"{state}/state", "app_id": f"{own}sluice"}
    common |= dict.fromkeys(("key_file", "web_port", "policy"))
    if broker is None:
        mock = {"topic_prefix": "", "partitions": PARTITIONS, "replication": 1, "delivery": "at-least-once"}
        return msgspec.structs.replace(base, **common, **mock)
    return msgspec.structs.replace(base, **common, topic_prefix=own, broker=broker, delivery="exactly-once")


async def run(
    settings: Settings,
    embedded: bool,
    policy: Policy,
    lines: Sequence[bytes],
    tell: Callable[[str], None],
    show: Callable[[Board], None],
) -> Board:
    """Runs the demo to its end: everything has its word, or the time is up (then `missing` says about what).

    Args:
        settings: of `settings_for`; `broker` is replaced where `embedded`.
        embedded: whether the broker is one in this process.
        policy: starts the lanes' ledgers.
        lines: of the emissions file.
        tell: takes a line of progress.
        show: is called again and again with the board as it stands.

    Raises:
        UnreachableError: no broker answers.
        SluiceError: the lanes or the observers must not go on.
    """
    end = time.monotonic() + DEADLINE_SECONDS
    starting = asyncio.timeout(DEADLINE_SECONDS)
    try:
        async with starting, AsyncExitStack() as stack:
            if embedded:
                broker = stack.enter_context(EmbeddedBroker())
                settings = msgspec.structs.replace(settings, broker=broker.address)
            await create_topics(settings)
            worker, parts = await stack.enter_async_context(_running(settings, policy))
            where = "the embedded broker, at-least-once" if embedded else f"{settings.broker}, exactly-once"
            looked_at = escaped(Roots.of(settings.root).shown())
            tell(f"{settings.partitions} lanes on {where}; the observers look at {looked_at}")
            sent = prepare_all(lines, time.time_ns() // 1_000_000)
            board = Board(sent)
            parts += [stack.enter_context(_task(_watch(settings, topic, board))) for topic in WATCHED]
            await _send(settings, sent)
            tell(f"{counted(len(sent), 'record')} sent, with {counted(len(board.entries), 'assertion')}")
            starting.reschedule(None)
            await _attend(board, worker, parts, end, show)
            return board
    except TimeoutError:
        if not starting.expired():
            raise
        what = f"the lanes and observers did not start within {DEADLINE_SECONDS:.0f} s"
        raise DoesNotHoldError(what, hint="run again with --debug") from None


@asynccontextmanager
async def _running(settings: Settings, policy: Policy) -> AsyncGenerator[tuple[Worker, list[asyncio.Task[None]]]]:
    """Lanes and observers, from their start to their end; yields the lanes, and what fails when either does."""
    worker, observers = Worker(settings, policy=policy), ObserverService(settings)
    parts: list[asyncio.Task[None]] = []
    try:
        # Side by side: each joins a group, and the embedded broker lets a new group wait for three seconds.
        await _both(worker.start(), observers.start())
        parts = [asyncio.create_task(worker.wait()), asyncio.create_task(observers.wait())]
        await worker.wait_until_running()
        yield worker, [*parts]
    finally:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await asyncio.gather(worker.stop(), observers.stop(), return_exceptions=True)
        except TimeoutError:
            log.info("not everything stopped in time")
        await _cancel(parts)


@contextmanager
def _task(work: Coroutine[Any, Any, None]) -> Generator[asyncio.Task[None]]:
    """A task for as long as the context lasts."""
    task = asyncio.create_task(work)
    try:
        yield task
    finally:
        task.cancel()


async def _both(*starting: Coroutine[Any, Any, None]) -> None:
    """Waits for all; where one fails, or we are cancelled, none is left behind."""
    tasks = [asyncio.create_task(one) for one in starting]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        await _cancel(tasks)
        raise


async def _send(settings: Settings, sent: Sequence[Sent]) -> None:
    """Sends everything, in order, in a daemon thread: a demo that is stopped does not wait for a broker."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def blocking() -> None:
        error: BaseException | None = None
        try:
            with Sender(settings) as sender:
                for one in sent:
                    sender.send(one.record)
        except Exception as raised:  # noqa: BLE001 -- it is raised again, where somebody waits for it
            error = raised
        loop.call_soon_threadsafe(finish, error)

    def finish(error: BaseException | None) -> None:
        if error is not None and not done.cancelled():
            done.set_exception(error)
        elif not done.cancelled():
            done.set_result(None)

    threading.Thread(target=blocking, name="sluice-demo-send", daemon=True).start()
    await done


async def _watch(settings: Settings, topic: str, board: Board) -> None:
    async with aclosing(read(settings, topic, follow=True)) as records:
        async for record in records:
            board.apply(topic, record)


async def _attend(
    board: Board, worker: Worker, parts: Sequence[asyncio.Task[None]], end: float, show: Callable[[Board], None]
) -> None:
    """Waits until everything is settled and quiet, or the time is up."""
    changed, since = -1, time.monotonic()
    shown_until = time.time_ns() // 1_000_000 + int(SHOWN_SECONDS * 1000)
    while (now := time.monotonic()) < end:
        for part in parts:
            if part.done():
                part.result()  # raises why; none of them ends by itself
        if board.changed != changed:
            changed, since = board.changed, now
            show(board)
        elif now - since > QUIET_SECONDS:
            board.discarded(sum(lane.counters.get("discarded", 0) for lane in worker.lanes))
            if board.settled(shown_until):
                return
        await asyncio.sleep(TICK_SECONDS)


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    tasks = list(tasks)
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_SECONDS)


def read_emissions(name: str | None) -> list[bytes]:
    """The lines of an emissions file, by default of the examples.

    Raises:
        UsageError: it cannot be read, or there are no examples here.
    """
    folder = examples()
    if name is None and folder is None:
        what = "there are no example emissions outside a checkout of sluice"
        raise UsageError(what, hint="name some with --emissions FILE")
    path = Path(name) if name is not None else Path(folder or "", "emissions.jsonl")
    return read_file(path, MAX_EMISSIONS, f"the emissions {str(path)!r}").split(b"\n")
