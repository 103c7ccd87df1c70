"""What observers keep between looks (observing.md): states for a tenth of their class's W, values that never change,
failed substrates and when to try them again, and the state of a file, which tells whether it was written since.

All of it is bounded, since emitters choose the locators. No verdict on a text is kept: a state is kept, and judged
anew.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from .ask import ObservationUnavailable

State = tuple[int, int, int, int, int]
"""Modification and change time in nanoseconds, size, number, device."""
SETTLED_NS: Final = 100_000_000
"""Longer than any file system's tick."""


def state_from(found: os.stat_result) -> State:
    """The state that a file system tells."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def state_of(path: str) -> State | None:
    """The state of what stands at a path; None where nothing does."""
    try:
        return state_from(os.stat(path))
    except OSError:
        return None


def is_settled(state: State) -> bool:
    """Whether another write after this state was read would have told other times."""
    return max(state[0], state[1]) + SETTLED_NS < time.time_ns()


T = TypeVar("T")

MAX_KEPT: Final = 4096
MAX_BYTES: Final = 64_000_000
FIRST_REST: Final = 1.0
LONGEST_REST: Final = 60.0
"""Seconds that a substrate which fails is left alone: doubled with every failure, from the first to the longest."""


class Kept(NamedTuple, Generic[T]):
    """A state, and when it was seen (Unix milliseconds)."""

    at: int
    value: T


class Bounded(Generic[T]):
    """Values that stay true as long as their key does (of a content by its hash), shared by threads.

    Invariant: at most `most` values and `size` bytes; the one that was not asked for longest goes first.
    """

    def __init__(self, most: int, size: int) -> None:
        self._most, self._size = most, size
        self._kept: OrderedDict[Hashable, tuple[int, T]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> T | None:
        """The value, if it is still kept."""
        with self._lock:
            found = self._kept.get(key)
            if found is None:
                return None
            self._kept.move_to_end(key)
            return found[1]

    def get_many(self, keys: Sequence[Hashable]) -> list[T | None]:
        """As `get`, for many keys in 0.3 us each."""
        kept = self._kept
        values: list[T | None] = []
        with self._lock:
            for key in keys:
                found = kept.get(key)
                if found is not None:
                    kept.move_to_end(key)
                values.append(None if found is None else found[1])
        return values

    def put(self, key: Hashable, size: int, value: T) -> T:
        """Keeps a value that takes so many bytes, unless it would fill most of the room alone; returns it."""
        with self._lock:
            self._bytes -= self._kept.pop(key, (0,))[0]
            if size > self._size // 2:
                return value
            self._kept[key] = size, value
            self._bytes += size
            while len(self._kept) > self._most or self._bytes > self._size:
                self._bytes -= self._kept.popitem(last=False)[1][0]
        return value

    def drop(self, key: Hashable) -> None:
        """Keeps a value no longer."""
        with self._lock:
            self._bytes -= self._kept.pop(key, (0,))[0]


class Memory(Generic[T]):
    """The newest states by key, for `seconds` each: at most `MAX_KEPT` of them, and `MAX_BYTES` bytes."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self.now = seconds, clock
        self._states: Bounded[tuple[float, Kept[T]]] = Bounded(MAX_KEPT, MAX_BYTES)

    def recall(self, key: Hashable) -> Kept[T] | None:
        """The state, unless it is older than `seconds`."""
        known = self._states.get(key)
        return None if known is None or self.now() - known[0] > self._seconds else known[1]

    def keep(self, key: Hashable, began: float, size: int, kept: Kept[T]) -> None:
        """Keeps a state of so many bytes, in place of an older one; its look began then, on this memory's clock."""
        self._states.put(key, size, (began, kept))


class Rest:
    """The places that failed: how often in a row, and until when they are left alone."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failed: Bounded[tuple[int, float, str]] = Bounded(MAX_KEPT, MAX_KEPT)

    def check(self, place: Hashable) -> None:
        """Raises:
        ObservationUnavailable: the place failed, and its rest is not over; with why it failed.
        """
        failures, until, reason = self._failed.get(place) or (0, 0.0, "")
        if failures and self._clock() < until:
            raise ObservationUnavailable(f"left alone after {failures} failure{'s' if failures > 1 else ''}: {reason}")

    def failed(self, place: Hashable, reason: str) -> None:
        """Counts another failure in a row."""
        failures = (self._failed.get(place) or (0,))[0] + 1
        self._failed.put(place, 1, (failures, self._clock() + rest_after(failures), reason))

    def worked(self, place: Hashable) -> None:
        """Ends the row of failures."""
        self._failed.drop(place)


def rest_after(failures: int, first: float = FIRST_REST) -> float:
    """Seconds of rest after so many failures in a row."""
    return min(LONGEST_REST, first * 2.0 ** min(failures - 1, 16))
