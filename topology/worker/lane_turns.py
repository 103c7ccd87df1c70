"""How many lanes of a worker make a block at a time.

Each lane commits its blocks in transactions of its own (decision 32). Where many lanes have records, and worker or
broker are busy, to begin all of them at once makes each take as long as all of them: every lane waits with a small
block in its hands while more comes. So lanes take turns, in the order in which they asked, and a lane takes its block's
records only when its turn has come.

How many turns there are at a time follows from how long they take, as TCP Vegas sizes its window: while one takes about
as long as the shortest did lately, there is room for more; where they take longer, they wait for one another already.
So a broker that is far away, and would serve all of them, gets more at a time than one that is busy.

Nothing here awaits or has a clock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import islice
from math import inf

LEAST = 4
"""So many lanes may always be at it."""
FIRST = 8.0
FEW, MANY = 2.0, 4.0
"""With fewer turns that seem to wait for others there may be more of them; with more than the second, fewer."""
LATE_SECONDS = 1.0
"""A turn that takes longer counts no more: its broker may be away, and no other lane waits for that."""
WINDOW_SECONDS = 60.0
"""The shortest turn of this window and of the one before is what a turn takes that waits for nobody."""


class Turns:
    """Who is at it, and who waits. Calls come from one event loop.

    `now` is any clock that only goes forward, in seconds. `first` is how many turns there are at a time to begin with.

    Invariant: nobody is both in `_running` and in `_waiting`.
    """

    def __init__(self, first: float = FIRST) -> None:
        self._running = dict[Hashable, float]()  # since when
        self._waiting = dict[Hashable, Callable[[], object]]()  # in the order in which they asked
        self._limit = first
        self._window, self._shortest, self._before = 0.0, inf, inf

    @property
    def at_a_time(self) -> int:
        """How many turns there are at a time."""
        return int(self._limit)

    @property
    def waiting(self) -> int:
        """How many lanes wait for theirs."""
        return len(self._waiting)

    def ask(self, who: Hashable, wake: Callable[[], object], now: float) -> bool:
        """Whether it is somebody's turn. Who has to wait is woken when it may be, and then asks again.

        Args:
            who: asks; who asks again keeps its place.
            wake: is called once it is its turn.
            now: when.
        """
        if who in self._running:
            return True
        if not self._waiting and self._counted(now) < self.at_a_time:
            self._running[who] = now
            return True
        self._waiting.setdefault(who, wake)
        self._admit(now)  # turns that began long ago count no more
        return who in self._running

    def end(self, who: Hashable, now: float, seconds: float | None = None) -> None:
        """Somebody does not need its turn any more, or not even its place.

        Args:
            who: may have neither.
            now: when.
            seconds: how long its transaction took; None where there was none.
        """
        self._waiting.pop(who, None)
        if self._running.pop(who, None) is not None and seconds is not None:
            self._learn(now, seconds)
        self._admit(now)

    def _admit(self, now: float) -> None:
        """Gives turns to those who have waited longest, as far as there are any."""
        room = self.at_a_time - self._counted(now) if self._waiting else 0
        for who, wake in list(islice(self._waiting.items(), max(room, 0))):
            del self._waiting[who]
            self._running[who] = now
            wake()

    def _counted(self, now: float) -> int:
        return sum(now - since < LATE_SECONDS for since in self._running.values())

    def _learn(self, now: float, seconds: float) -> None:
        """Sizes the number of turns by how long one took."""
        if now - self._window >= WINDOW_SECONDS:
            self._window, self._before, self._shortest = now, self._shortest, inf
        self._shortest = min(self._shortest, seconds)
        if seconds <= 0:
            return
        in_line = self._limit * (1 - min(self._shortest, self._before) / seconds)
        if in_line < FEW and self._waiting:  # who waits for no turn learns nothing of how many there could be
            self._limit += 1 / self._limit
        elif in_line > MANY:
            self._limit = max(float(LEAST), self._limit - 1 / self._limit)
