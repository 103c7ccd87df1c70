"""How far everything that a lane's inputs held has been read (ARCHITECTURE.md).

The watermark is the least, over a lane's inputs, of the latest time T such that everything that the input held at T
stands in earlier blocks. Each fetch answer gives the log's end E and the time at which it came; a *mark* (E, T) says
that at T the input held nothing at or beyond E. Once the lane's position has reached E, the input's mark is T.

Pure bookkeeping: no clock, no broker. Times are Unix milliseconds of the worker's clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

MAX_MARKS = 64
"""Marks kept per input. A backlog of hours must not become a queue of hours; fewer marks only move in larger steps."""


class InputMarks:
    """The marks of one input.

    Invariant: ends and times rise along the queue, and every mark in it lies beyond the position that was asked last.
    """

    __slots__ = ("_answered", "_marks", "passed")

    def __init__(self) -> None:
        self.passed: int | None = None
        """The time of the newest mark that the position has reached; None before the first."""
        self._marks: deque[tuple[int, int]] = deque()
        self._answered: int | None = None

    def answered(self, end: int, time: int) -> None:
        """A fetch answer said that the log ends at `end`; it came at `time`. Saying the same twice changes nothing.

        The end is true at some moment between request and answer. The request followed the answer before it, so it is
        that answer's time at which the input certainly held nothing beyond `end`: with the time of this answer, a
        record that came while the answer was on its way would count as read.
        """
        before, self._answered = self._answered, time
        if before is None or time <= before:
            return
        marks = self._marks
        if marks and marks[-1][0] >= end:
            marks[-1] = (marks[-1][0], before)  # nothing has come since: what was the end then is the end still
            return
        if len(marks) == MAX_MARKS:
            self._marks = marks = deque(mark for place, mark in enumerate(marks) if place % 2 == 0)
        marks.append((end, before))

    def read_to(self, position: int) -> int | None:
        """The input's mark when all records before `position` have been read."""
        marks = self._marks
        while marks and marks[0][0] <= position:
            self.passed = marks.popleft()[1]
        return self.passed


class Watermark:
    """The watermark of one lane, over its inputs."""

    def __init__(self, inputs: Iterable[str], start: int = 0) -> None:
        """
        Args:
            inputs: the topics that the lane reads, at least one.
            start: the watermark of the lane's last block; it never decreases below that.
        """
        self._inputs = {name: InputMarks() for name in inputs}
        self.value = start

    def answered(self, topic: str, end: int, time: int) -> None:
        """As `InputMarks.answered`, for the input `topic`."""
        self._inputs[topic].answered(end, time)

    @property
    def read_to(self) -> Mapping[str, int]:
        """The time up to which each input has been read, where that is known."""
        return {topic: marks.passed for topic, marks in self._inputs.items() if marks.passed is not None}

    def at(self, positions: Mapping[str, int], time: int) -> int:
        """The watermark for a block that starts at these positions, at block time `time`; never above that time.

        It never decreases from block to block. Between two it may: a clock that stepped back since takes with it what
        was only asked for under it.
        """
        least = time
        for topic, marks in self._inputs.items():
            passed = marks.read_to(positions[topic])
            if passed is None:
                return min(self.value, time)
            least = min(least, passed)
        self.value = max(self.value, least)
        return min(self.value, time)
