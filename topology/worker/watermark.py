"""How far everything that a lane's inputs held has been read.

The watermark is the least, over a lane's inputs, of the latest time T such that everything that the input held at T
stands in earlier blocks. A *mark* (E, T) says that at T the input held nothing at or beyond E: T is when its leader was
asked for the log's end, and E is what it answered (`ListOffsets`, the high watermark). Once the lane's position, which
counts committed records only, has reached E, the input's mark is T. So records behind an open transaction hold the mark
back; they do not count as absent.

A fetch answer makes no mark: for a while after a new leader was elected its high watermark may be older than the truth
(KIP-207 guards `ListOffsets` only). One mark is under way at a time: the next end is asked for once the last was
passed.

Pure bookkeeping: no clock, no broker. Times are Unix milliseconds of the worker's clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Mark(NamedTuple):
    """At `time` (Unix ms) an input held nothing at or beyond the offset `end`."""

    end: int
    time: int


class InputMarks:
    """The marks of one input.

    Invariant: `pending` lies beyond the position that was asked last, and is later than `passed`.
    """

    __slots__ = ("passed", "pending")

    def __init__(self) -> None:
        self.passed: int | None = None
        """The time of the newest mark that the position has reached; None before the first."""
        self.pending: Mark | None = None
        """The mark that the position has not reached yet."""

    def ended(self, end: int, asked: int) -> None:
        """The leader said that the log ends at `end`; it was asked at `asked`.

        Not taken while another mark is under way, or where the clock went back behind the last one.
        """
        if self.pending is None and (self.passed is None or asked > self.passed):
            self.pending = Mark(end, asked)

    def clock_at(self, time: int) -> None:
        """Forgets marks of later than `time`: the clock has gone back since, so they say nothing about now."""
        if self.passed is not None and self.passed > time:
            self.passed = None
        if self.pending is not None and self.pending.time > time:
            self.pending = None

    def is_waiting(self, position: int) -> bool:
        """Whether a mark is under way when all records before `position` have been read: no other is asked for then."""
        self.read_to(position)
        return self.pending is not None

    def read_to(self, position: int) -> int | None:
        """The input's mark when all records before `position` have been read."""
        if self.pending is not None and self.pending.end <= position:
            self.passed, self.pending = self.pending.time, None
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

    def ended(self, topic: str, end: int, asked: int) -> None:
        """As `InputMarks.ended`, for one input.

        Args:
            topic: the input.
            end: where the leader said that the log ends.
            asked: when the leader was asked, Unix ms.
        """
        self._inputs[topic].ended(end, asked)

    def asks(self, positions: Mapping[str, int]) -> list[str]:
        """The inputs whose end is to be asked for, where all before these positions has been read."""
        return [topic for topic, marks in self._inputs.items() if not marks.is_waiting(positions[topic])]

    def at(self, positions: Mapping[str, int], time: int) -> int:
        """The watermark for a block that starts at these positions, at block time `time`; never above that time.

        It never decreases from block to block. Between two it may: a clock that stepped back since takes with it what
        was only asked for under it.
        """
        least = time
        for topic, marks in self._inputs.items():
            marks.clock_at(time)
            passed = marks.read_to(positions[topic])
            if passed is None:
                return min(self.value, time)
            least = min(least, passed)
        self.value = max(self.value, least)
        return min(self.value, time)
