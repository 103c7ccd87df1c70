"""When a rebalance is asked for, so that a lane moves to the worker that waits for it (assignor.py). No I/O, no clock.

Both parts of a worker are here. As a *member* it follows the lanes that it awaits, and asks for a rebalance once it is
ready for all of them, or for some after a while. As the group's *leader* it remembers since when each lane is awaited,
and asks for a rebalance when that is too long: the lane then moves as it is.

Rebalances stop every lane for a moment, so their number is bounded. Whoever has asked, and has got none of the lanes,
waits twice as long as before until it asks again. The leader asks once for a lane.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SOME_SECONDS = 15.0
"""A member that is ready for some of the lanes that it awaits waits so long for the others."""
SETTLED_SECONDS = 1.0
"""A lane counts as followed so long after its standby has come close: at the end of a long catch-up the next fetch
answer often tells of more, and a rebalance in that moment would move some of the lanes only."""
AGAIN_SECONDS, MOST_SECONDS = 5.0, 600.0
"""A member that asked in vain asks again after so long: twice as long each time, up to the second."""


class HandOver:
    """What one worker awaits, and what all of its group await, where it leads. Times are seconds of one clock.

    Args:
        within: blocks that a worker may lack of a lane that it is given; 0 where lanes move at once.
        timeout: seconds after which an awaited lane moves to a worker that is not ready.
    """

    def __init__(self, within: int, timeout: float) -> None:
        self.within, self._timeout = within, timeout
        self._awaited: frozenset[int] = frozenset()
        self._since, self._close_since = 0.0, dict[int, float]()
        self._not_before, self._pause = 0.0, AGAIN_SECONDS
        self._all_since: dict[int, float] = {}
        self._leads = self._has_told = False

    # ------------------------------------------------------------ as a member

    @property
    def awaited(self) -> frozenset[int]:
        """The lanes that this worker is to get."""
        return self._awaited

    def assigned(self, awaited: Iterable[int], now: float) -> None:
        """The group was rebalanced: this worker awaits these lanes now."""
        before, self._awaited = self._awaited, frozenset(awaited)
        if not before & self._awaited or len(self._awaited) < len(before):  # it got some, or begins anew
            self._not_before, self._pause = now, AGAIN_SECONDS
        self._since = now
        if not self._leads:
            self._all_since.clear()  # somebody else leads, and remembers
        self._leads = False

    def asks(self, behind: Mapping[int, int], now: float) -> bool:
        """Whether to ask for a rebalance now, as a member. To say so counts as having asked.

        It is called every few tenths of a second: what it is told once does not count as settled.

        Args:
            behind: by lane that this worker follows, how many blocks it lacks.
            now: seconds.
        """
        followed = self._awaited & behind.keys()
        close = {lane for lane in followed if behind[lane] <= self.within}
        once_close = close | (followed & self._close_since.keys())
        self._close_since = {lane: self._close_since.get(lane, now) for lane in once_close}
        ready = {lane for lane in close if now - self._close_since[lane] >= SETTLED_SECONDS}
        if not ready or now < self._not_before or (ready != self._awaited and now - self._since < SOME_SECONDS):
            return False
        self._not_before, self._pause = now + self._pause, min(2 * self._pause, MOST_SECONDS)
        return True

    # ------------------------------------------------------------ as the leader

    def joins(self) -> None:
        """This worker joins its group anew: who leads it is not known until the lanes are shared out."""
        self._leads = False

    def leads(self, awaited: Iterable[int], now: float) -> None:
        """This worker has shared the lanes out, and these are awaited, by whomever."""
        self._all_since = {lane: self._all_since.get(lane, now) for lane in awaited}
        self._leads, self._has_told = True, False

    def overdue(self, now: float) -> frozenset[int]:
        """The lanes that are awaited for too long, as far as this worker has led that long."""
        return frozenset(lane for lane, since in self._all_since.items() if now - since >= self._timeout)

    def ends_waiting(self, now: float) -> bool:
        """Whether to ask for a rebalance now, as the leader. It is said once until the next rebalance."""
        if self._has_told or not self.overdue(now):
            return False
        self._has_told = True
        return True
