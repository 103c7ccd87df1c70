"""Whether this worker's wall clock may name the time of a block (docs/limits.md).

A block's time ends validities for good, so a worker whose clock is a day ahead would end them all with one block. A
broker gives each record the time at which it was appended. From that, and from the monotonic clock since, the worker
predicts what the broker's clock says now. Where the wall clock differs from that by more than `max_skew`, no block is
written until the others have said which clock is wrong: where the worker differs from most of the brokers whose times
it has, it is the worker's; where it differs from fewer, it is theirs, and their partitions go on.

Pure bookkeeping: no clock, no broker. Times are milliseconds, of the wall clock since 1970.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from ..settings.clock import BrokerTime

LEAST_SKEW: Final = 1_000
"""A smaller `max_skew` says how emitters' clocks are taken; the fence could not tell it from the network's delays."""


class Clock(NamedTuple):
    """What this worker's two clocks say at one moment."""

    wall: int
    monotonic: int


class Judgement(NamedTuple):
    """Whose clocks are wrong, as far as it is known.

    Attributes:
        worker: whether it is this worker's.
        brokers: those that differ, by how many milliseconds this worker is ahead of each; empty where it is the
            worker's.
        ahead: of the broker that this worker differs from least among those that it differs from; 0 for none.
    """

    worker: bool
    brokers: Mapping[int, int]
    ahead: int


class ClockFence:
    """What the brokers of one worker last said of the time.

    Args:
        max_skew: of the policy, milliseconds.
    """

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

    def judge(self, now: Clock) -> Judgement:
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
