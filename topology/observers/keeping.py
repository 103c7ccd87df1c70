"""What observers keep between looks: states for a tenth of their class's W, and who failed until when (observing.md).

Both are bounded: strangers choose the locators. Neither holds a verdict on a text: a state is kept, and judged anew.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Final, Generic, NamedTuple, TypeVar

from .ask import CannotLook

T = TypeVar("T")

MAX_KEPT: Final = 4096
MAX_OCTETS: Final = 64_000_000
FIRST_REST: Final = 1.0
LONGEST_REST: Final = 60.0
"""Seconds that a substrate which fails is left alone: doubled with every failure, from the first to the longest."""


class Kept(NamedTuple, Generic[T]):
    """A state, and when it was seen (Unix milliseconds)."""

    at: int
    value: T


class Memory(Generic[T]):
    """The newest states by place, for `seconds` each.

    Invariant: at most `MAX_KEPT` states and `MAX_OCTETS` octets; the one that was not asked for longest goes first.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, int, Kept[T]]] = OrderedDict()
        self._octets = 0
        self._lock = threading.Lock()

    def recall(self, place: Hashable) -> Kept[T] | None:
        """The state, unless it is older than `seconds`."""
        with self._lock:
            found = self._kept.get(place)
            if found is None:
                return None
            if self._clock() - found[0] > self.seconds:
                self._drop(place)
                return None
            self._kept.move_to_end(place)
            return found[2]

    def keep(self, place: Hashable, began: float, octets: int, kept: Kept[T]) -> None:
        """Keeps a state, in place of an older one.

        Args:
            place: what it is asked for by.
            began: when it was looked for, on this memory's clock.
            octets: how much it holds.
            kept: the state.
        """
        with self._lock:
            self._drop(place)
            if octets > MAX_OCTETS // 4:
                return
            self._kept[place] = began, octets, kept
            self._octets += octets
            while len(self._kept) > MAX_KEPT or self._octets > MAX_OCTETS:
                self._drop(next(iter(self._kept)))

    def _drop(self, place: Hashable) -> None:
        found = self._kept.pop(place, None)
        if found is not None:
            self._octets -= found[1]


class Rest:
    """Who failed how often in a row, and until when they are left alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: OrderedDict[Hashable, tuple[int, float, str]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, place: Hashable) -> None:
        """Raises:
        CannotLook: the place failed, and its rest is not over; with why it failed.
        """
        with self._lock:
            failures, until, reason = self._failed.get(place, (0, 0.0, ""))
        if failures and self._clock() < until:
            raise CannotLook(f"left alone after {failures} failure{'s' if failures > 1 else ''}: {reason}")

    def failed(self, place: Hashable, reason: str) -> None:
        """Another failure in a row."""
        with self._lock:
            failures = self._failed.pop(place, (0, 0.0, ""))[0] + 1
            self._failed[place] = failures, self._clock() + rest_after(failures), reason
            while len(self._failed) > MAX_KEPT:
                self._failed.popitem(last=False)

    def worked(self, place: Hashable) -> None:
        """The end of the row."""
        with self._lock:
            self._failed.pop(place, None)


def rest_after(failures: int, first: float = FIRST_REST) -> float:
    """Seconds of rest after so many failures in a row."""
    return min(LONGEST_REST, first * 2.0 ** min(failures - 1, 16))
