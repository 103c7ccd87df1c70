"""A worker: the lanes of one process, started and stopped as one thing inside an event loop that runs already.

The command line and the demo use it alike. It checks at its start what would otherwise fail later and less clearly (a
broker that answers, topics that are there with the right partition counts), and it ends with a reason when a lane must
not go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from ..codecs.errors import UnreachableError, UsageError
from ..streams.policy import DEFAULT_POLICY, Policy
from . import logs
from .app import App, create_app
from .collector import Collector
from .connect import open_consumer, partitions_of, unreachable
from .contracts import LaneStatus
from .folds import folds
from .policies import TOPIC as POLICIES
from .settings import Settings
from .topics import TOPICS, topic_name

START_SECONDS = 15.0
"""A broker that is just starting is waited for so long."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Worker:
    """The lanes of one process. `start`, then `wait` or `wait_until_running`, then `stop`; not to be started twice.

    Args:
        settings: as loaded.
        policy: starts a ledger that is new.
        own_process: whether the process exists for this worker, which then owns its garbage collector.
    """

    def __init__(self, settings: Settings, *, policy: Policy = DEFAULT_POLICY, own_process: bool = False) -> None:
        self._settings, self._policy = settings, policy
        self._collector = Collector()
        self._own_process = own_process
        self._app: App | None = None
        self._failed: asyncio.Future[None] | None = None

    @property
    def lanes(self) -> Sequence[LaneStatus]:
        """Each lane that is here, as it stands."""
        return self._app.lanes.status if self._app is not None else ()

    async def start(self) -> None:
        """Joins the group; lanes start as they are assigned.

        Raises:
            UnreachableError: no broker answers in time.
            UsageError: topics are missing, or have other partition counts than the settings say; or checkpoints are
                to be signed with a key that cannot be read.
        """
        with logs.hushed():
            await _check(self._settings)
        if self._own_process:
            self._collector.start()
        self._failed = asyncio.get_running_loop().create_future()
        self._app = create_app(
            self._settings,
            policy=self._policy,
            on_fatal=self._fail,
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

    async def wait_until_running(self, lanes: int | None = None) -> None:
        """Waits until so many lanes of each fold run here; by default all there are.

        Raises:
            Exception: the worker failed meanwhile.
        """
        wanted = (self._settings.partitions if lanes is None else lanes) * len(folds())
        while sum(lane.phase == "running" for lane in self.lanes) < wanted:
            if self._failed is not None and self._failed.done():
                self._failed.result()
            await asyncio.sleep(0.02)

    async def stop(self) -> None:
        """Commits or aborts what is in flight, leaves the group, and lets go of everything."""
        app = self._app
        if app is None:
            return
        await app.stop()
        self._collector.stop()
        if self._failed is not None and not self._failed.done():
            self._failed.cancel()

    def _fail(self, error: BaseException) -> None:
        if self._failed is not None and not self._failed.done():
            self._failed.set_exception(error)


async def _check(settings: Settings) -> None:
    """That a broker answers, and that the topics are there as the settings say."""
    end = asyncio.get_running_loop().time() + START_SECONDS
    told = False
    while True:
        try:
            async with asyncio.timeout_at(end), open_consumer(settings) as consumer:
                running = folds(settings.partitioner)
                wanted = {"ledger", *(topic for fold in running for topic in (*fold.inputs, *fold.outputs))}
                if settings.checkpoint_interval:
                    wanted.add("checkpoints")
                counts = {
                    topic: len(await partitions_of(consumer, settings, topic_name(settings, topic)))
                    for topic in sorted(wanted)
                    if TOPICS[topic].partitions is None
                }
                await partitions_of(consumer, settings, topic_name(settings, POLICIES))
                break
        except (UnreachableError, TimeoutError) as error:
            if asyncio.get_running_loop().time() + 0.5 >= end:
                raise (error if isinstance(error, UnreachableError) else unreachable(settings, error)) from None
            if not told:
                log.info("waiting for the broker", broker=settings.broker, seconds=START_SECONDS)
            told = True
            await asyncio.sleep(0.5)
    wrong = {topic: number for topic, number in counts.items() if number != settings.partitions}
    if wrong:
        raise UsageError(
            "the topics have another number of partitions than the settings say",
            path=settings.broker,
            expected=f"{settings.partitions} each",
            got=", ".join(f"{topic_name(settings, topic)}: {number}" for topic, number in wrong.items()),
            hint="set `partitions` to what the broker has, or make the topics anew under another prefix",
        )
