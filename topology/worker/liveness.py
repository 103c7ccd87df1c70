"""Whether a lane gets on: liveness comes from progress, not from being up.

Consumers have been seen to die one by one while everything around them looked well (faust-streaming/faust 175, 532).
So a lane is *behind* from the moment at which there is something to do and nothing gets done, and also when the broker
no longer answers for an input that the lane wants: without answers nobody knows whether there is something to do. And
it is behind while an input is short of the end that the broker told, and nothing of it comes: blocks that are written
meanwhile, of other inputs or because time goes by, are no progress of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from time import monotonic

QUIET_SECONDS = 2.0
"""Answers come several times a second; so long without one is still no sign of anything."""


class LaneProgress:
    """When one lane last got on. Times are those of a clock that never goes back, in seconds."""

    def __init__(self, inputs: Iterable[str], clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._moved = clock()
        self._answers = dict.fromkeys(inputs, 0)
        self._answered_at = dict.fromkeys(self._answers, self._moved)
        self._came_at = dict.fromkeys(self._answers, self._moved)
        self.lacking: list[str] = []
        """The inputs of which nothing had come for a while when `behind` was asked last, though there was more."""

    def moved(self) -> None:
        """A block was closed, or read again, or a step of taking over is done."""
        self._moved = self._clock()

    def placed(self) -> None:
        """The inputs were sought: answers are awaited from now on."""
        self._answered_at = dict.fromkeys(self._answered_at, self._clock())

    def answered(self, topic: str, time: int) -> None:
        """The newest answer for an input came at `time`; telling the same one again is no news."""
        if self._answers[topic] != time:
            self._answers[topic] = time
            self._answered_at[topic] = self._clock()

    def came(self, topic: str) -> None:
        """Something of an input has arrived: records, or that there are none."""
        self._came_at[topic] = self._clock()

    def behind(self, wanted: Iterable[str], short: Iterable[str] = (), *, to_do: bool) -> float:
        """For how many seconds the lane has not got on; 0.0 where all is well.

        Args:
            wanted: inputs for which answers are expected.
            short: inputs that end, by the broker's word, beyond what has come of them.
            to_do: whether anything waits to be done.
        """
        now, silent = self._clock(), 0.0
        if not to_do:
            self._moved = now
        expected = frozenset(wanted)
        is_short = expected.intersection(short)
        for topic in self._answered_at:
            if topic not in expected:
                self._answered_at[topic] = now
            if topic not in is_short:
                self._came_at[topic] = now
            silent = max(silent, now - self._answered_at[topic], now - self._came_at[topic])
        self.lacking = [topic for topic, at in self._came_at.items() if now - at > QUIET_SECONDS]
        return max(now - self._moved, silent if silent > QUIET_SECONDS else 0.0)
