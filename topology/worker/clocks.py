"""The clocks of one worker: what its lanes ask before a block, and what it waits for before it joins the group.

`clock_fence.py` decides; here the brokers are asked where there is doubt, and people are told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import structlog

from ...codecs.errors import DoesNotHoldError
from ..settings.clock import BrokerTime, monotonic_ms, now_ms
from .clock_fence import Clock, ClockFence, Judgement

ASK_SECONDS: Final = 5.0
"""Brokers are asked for their time no more often: one that is wrong is doubted at each of its partitions' blocks."""
TELL_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class WrongClockError(DoesNotHoldError):
    """This worker's clock is the wrong one: another worker may have its lanes, and run them."""


class Clocks:
    """The wall clock of a worker, and what its brokers say of it.

    Args:
        fence: what the brokers have said.
        ask: asks every broker that can be reached.
        wall, monotonic: the two clocks, milliseconds.
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
        """That the wall clock may name the time of a block; asks the brokers where there is doubt.

        Args:
            node: the broker that takes the block; None where that is not known.

        Raises:
            WrongClockError: this worker's clock is the wrong one.
        """
        now = self.now
        doubts = self.fence.judge(now).worker if node is None else self.fence.doubts(node, now)
        if not doubts:
            return
        judged = await self._judged()
        if judged.worker:
            raise self._sentence(judged)

    async def wait(self, pause: float = ASK_SECONDS) -> None:
        """Waits until this worker's clock agrees with most brokers.

        Args:
            pause: seconds until they are asked again; it doubles, up to a minute.
        """
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
        judged = self.fence.judge(self.now)
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
