"""A worker: the lanes of one process, started and stopped as one thing inside an event loop that runs already.

The command line and the demo use it alike. It checks at its start what would otherwise fail later and less clearly (a
broker that answers, topics that are there with the right partition counts), and it ends with a reason when a lane must
not go on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog

from ...codecs.errors import DoesNotHoldError, UsageError
from ...streams.policy.policy import DEFAULT_POLICY, Policy
from ..kafka.broker_times import broker_times
from ..kafka.connect import open_consumer, partitions_of, until_answered
from ..kafka.security import certificate_ends
from ..kafka.topics import topic_name
from ..ledger.draining import undrained
from ..ledger.folds import folds
from ..ledger.installation import identify
from ..ledger.policies import TOPIC as POLICIES
from ..settings import logs
from ..settings.clock import now_ms
from ..settings.memory import Collector
from ..settings.secrets import secrets_of
from ..settings.settings import Settings
from . import tracing
from .app import App, create_app
from .clock_fence import ClockFence
from .clocks import Clocks
from .interfaces import LaneStatus, Meter
from .metrics import Metrics
from .skew import SKEW_MS
from .upgrading import demand_ledgers
from .watching import group_topics
from .web import Web

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
        self._traces = tracing.provider_of()
        if self._traces is not None:
            meters.append(tracing.Traces(self._traces))
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
            meter=tracing.Meters(meters) if meters else None,
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

    async def wait_until_running(self, lanes: int | None = None) -> None:
        """Waits until so many lanes of each fold run here; by default all there are.

        Raises:
            Exception: the worker failed meanwhile.
            DoesNotHoldError: a lane did.
        """
        wanted = (self._settings.partitions if lanes is None else lanes) * len(folds())
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
            await asyncio.to_thread(self._traces.force_flush, tracing.FLUSH_MS)
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
    """Demands that all lanes can run on the topics as they are, and that nothing lies where no lane reads it.

    Args:
        settings: say how many partitions each topic has to have.
        counts: how many it has, by logical name.
        left: how many records of an input lie in partitions beyond, and were not drained.

    Raises:
        UsageError: they cannot; or something does.
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
        left = await undrained(consumer, settings, grown) if grown else {}
    _demand_counts(settings, counts, left)
    await demand_ledgers(settings, running)
