"""What happened in a lane when: counts by stretches of time, as coarse as it takes to stay few."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

import msgspec

STRETCHES: Final = 200
SHORTEST: Final = 1000
"""No stretch is shorter than a second (ms)."""
Row = Literal["blocks", "inputs", "outputs", "checkpoints"]
ROWS: Final[Sequence[Row]] = ("blocks", "inputs", "outputs", "checkpoints")


class ActivityCounts(msgspec.Struct):
    """Counts by stretches of `width` ms from `start` (Unix ms, a multiple of `width`), a list for each row."""

    start: int = 0
    width: int = SHORTEST
    counts: dict[Row, list[int]] = msgspec.field(default_factory=lambda: {row: [] for row in ROWS})

    @property
    def stretches(self) -> int:
        """How many there are."""
        return max(map(len, self.counts.values()))

    def add(self, row: Row, time: int, count: int = 1) -> None:
        """Counts something at a time (Unix ms); times before the first one count with it."""
        if not self.stretches:
            self.start = time - time % self.width
        while (time - self.start) // self.width >= STRETCHES:
            self._coarsen()
        place, counts = max(0, (time - self.start) // self.width), self.counts[row]
        if place >= len(counts):
            counts.extend([0] * (place + 1 - len(counts)))
        counts[place] += count

    def _coarsen(self) -> None:
        """Makes the stretches twice as long."""
        odd = (self.start // self.width) % 2  # the first one is the second half of a longer
        self.width *= 2
        self.start -= self.start % self.width
        for row, counts in self.counts.items():
            padded = [0] * odd + counts
            padded += [0] * (len(padded) % 2)
            self.counts[row] = [padded[place] + padded[place + 1] for place in range(0, len(padded), 2)]
