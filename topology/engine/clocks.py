"""The clocks of one worker: whether its wall clock may name the time of a block (docs/limits.md).

`ClockFence` compares the wall clock with those of the brokers. `Clocks` is what lanes ask before a block, and what the
worker waits for before it joins the group. `Skew` is the difference from the broker's clock by the time that the broker
gives to each block.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from time import monotonic
from typing import Final, NamedTuple

import structlog

from ...codecs.errors import DoesNotHoldError
from ..settings.process import BrokerTime, monotonic_ms, now_ms

LEAST_SKEW: Final = 1_000
"""A smaller `max_skew` says how emitters' clocks are taken; the fence could not tell it from the network's delays."""


class Clock(NamedTuple):
    """What this worker's two clocks say at one moment."""

    wall: int
    monotonic: int


class Judgement(NamedTuple):
    """Whose clocks are wrong, as far as it is known.

    Attributes:
        brokers: those that differ, by how many milliseconds this worker is ahead of each; empty where it is the
            worker's.
    """

    worker: bool  # whether it is this worker's
    brokers: Mapping[int, int]
    ahead: int  # of the broker that this worker differs from least among those that it differs from; 0 for none


class ClockFence:
    """What the brokers of one worker last said of the time; `max_skew` is the policy's, in milliseconds."""

    def __init__(self, max_skew: int) -> None:
        self.max_skew = max(max_skew, LEAST_SKEW)
        self._times: dict[int, BrokerTime] = {}

    def add_times(self, times: Iterable[BrokerTime]) -> None:
        """Brokers have told the time."""
        for one in times:
            self._times[one.node] = one

    def ahead(self, node: int, now: Clock) -> int | None:
        """By how many milliseconds at the least this worker's clock is ahead of a broker's (less than 0: behind).

        The broker gave its time at some moment between request and answer: what the difference could be by either is
        given the benefit of the doubt. None where the broker has told nothing yet.
        """
        answer = self._times.get(node)
        if answer is None:
            return None
        least = now.wall - (answer.appended_at + now.monotonic - answer.sent)
        most = now.wall - (answer.appended_at + now.monotonic - answer.answered)
        return 0 if least < 0 < most else min(least, most, key=abs)

    def doubts(self, node: int, now: Clock) -> bool:
        """Whether a block for this broker must wait until the others were asked."""
        ahead = self.ahead(node, now)
        return ahead is not None and abs(ahead) > self.max_skew

    def evaluate(self, now: Clock) -> Judgement:
        """Which clocks are wrong, by all that the brokers have told."""
        differing = {
            node: ahead for node in self._times if (ahead := self.ahead(node, now)) is not None and self._is_far(ahead)
        }
        least = min(differing.values(), key=abs, default=0)
        if 2 * len(differing) > len(self._times):
            return Judgement(worker=True, brokers={}, ahead=least)
        return Judgement(worker=False, brokers=differing, ahead=least)

    def _is_far(self, ahead: int) -> bool:
        return abs(ahead) > self.max_skew


ASK_SECONDS: Final = 5.0
"""Brokers are asked for their time no more often: one that is wrong is doubted at each of its partitions' blocks."""
TELL_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class WrongClockError(DoesNotHoldError):
    """This worker's clock is the wrong one: another worker may have its lanes, and run them."""


class Clocks:
    """The wall clock of a worker, and what its brokers say of it: `ask` asks each that can be reached; clocks are in
    ms.
    """

    def __init__(
        self,
        fence: ClockFence,
        ask: Callable[[], Awaitable[Iterable[BrokerTime]]],
        *,
        wall: Callable[[], int] = now_ms,
        monotonic: Callable[[], int] = monotonic_ms,
    ) -> None:
        self.fence, self._ask, self._wall = fence, ask, wall
        self.monotonic = monotonic
        self._asked_at: int | None = None
        self._warned_at: int | None = None
        self._asking = asyncio.Lock()

    @property
    def now(self) -> Clock:
        """Both clocks, at one moment."""
        return Clock(self._wall(), self.monotonic())

    def broker_wrote(self, node: int, appended_at: int, sent: int) -> None:
        """A broker has just answered for a record that was sent at the monotonic instant `sent`."""
        self.fence.add_times([BrokerTime(node, appended_at, sent, self.monotonic())])

    async def demand(self, node: int | None) -> None:
        """Demands that the wall clock may name the time of a block; asks the brokers where there is doubt.

        `node` is the broker that takes the block; None where that is not known.

        Raises:
            WrongClockError: this worker's clock is the wrong one.
        """
        now = self.now
        doubts = self.fence.evaluate(now).worker if node is None else self.fence.doubts(node, now)
        if not doubts:
            return
        judged = await self._judged()
        if judged.worker:
            raise self._sentence(judged)

    async def wait(self, pause: float = ASK_SECONDS) -> None:
        """Waits until this worker's clock agrees with most brokers; `pause` (seconds) doubles, up to a minute."""
        while (judged := await self._judged()).worker:
            self._warn(str(self._sentence(judged)))
            await asyncio.sleep(pause)
            pause = min(2 * pause, TELL_SECONDS)

    async def _judged(self) -> Judgement:
        async with self._asking:
            before = self._asked_at
            if before is None or self.monotonic() - before >= ASK_SECONDS * 1000:
                self.fence.add_times(await self._ask())
                self._asked_at = self.monotonic()
        judged = self.fence.evaluate(self.now)
        for node, ahead in judged.brokers.items():
            self._warn(f"the clock of broker {node} is wrong: its partitions go on", ahead_of_it=ahead)
        return judged

    def _warn(self, what: str, **more: int) -> None:
        now = self.monotonic()
        if self._warned_at is None or now - self._warned_at > TELL_SECONDS * 1000:
            self._warned_at = now
            log.error(what, **more)

    def _sentence(self, judged: Judgement) -> WrongClockError:
        most, ahead = self.fence.max_skew / 1000, judged.ahead / 1000
        return WrongClockError(
            "this worker's clock differs from that of most brokers: it writes no block",
            expected=f"a difference of at most {most:g} s (max_skew)",
            got=f"{abs(ahead):g} s {'ahead' if ahead > 0 else 'behind'}",
            hint="set the clock; a worker joins the group again once its clock agrees",
        )


SKEW_MS = 30_000
"""A worker whose clock is so far away from the broker's is not ready: it would decay everything, or nothing."""
SKEW_TELL_SECONDS = 60.0


class Skew:
    """`milliseconds` is by how much this clock was ahead of the broker's at the last block."""

    def __init__(self) -> None:
        self.milliseconds = 0
        self._reported_at = 0.0

    def update(self, now: int, appended_at: int | None) -> None:
        """A block was written: the broker gave it the time `appended_at`, if it tells one, and here it is `now`."""
        if appended_at is None:
            return
        self.milliseconds = now - appended_at
        if abs(self.milliseconds) > SKEW_MS and monotonic() - self._reported_at > SKEW_TELL_SECONDS:
            self._reported_at = monotonic()
            log.error("this worker's clock is far from the broker's: not ready", milliseconds=self.milliseconds)
