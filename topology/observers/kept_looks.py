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

from .ask import CannotLook

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


class Memory(Generic[T]):
    """The newest states by place, for `seconds` each.

    Invariant: at most `MAX_KEPT` states and `MAX_BYTES` bytes; the one that was not asked for longest goes first.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.seconds = seconds
        self._clock = clock
        self._kept: OrderedDict[Hashable, tuple[float, int, Kept[T]]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def now(self) -> float:
        """The time on this memory's clock."""
        return self._clock()

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

    def keep(self, place: Hashable, began: float, size: int, kept: Kept[T]) -> None:
        """Keeps a state, in place of an older one.

        Args:
            place: what it is asked for by.
            began: when it was looked for, on this memory's clock.
            size: bytes that it holds.
            kept: the state.
        """
        with self._lock:
            self._drop(place)
            if size > MAX_BYTES // 4:
                return
            self._kept[place] = began, size, kept
            self._bytes += size
            while len(self._kept) > MAX_KEPT or self._bytes > MAX_BYTES:
                self._drop(next(iter(self._kept)))

    def _drop(self, place: Hashable) -> None:
        found = self._kept.pop(place, None)
        if found is not None:
            self._bytes -= found[1]


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
            before = self._kept.pop(key, None)
            self._bytes -= before[0] if before is not None else 0
            if size > self._size // 2:
                return value
            self._kept[key] = size, value
            self._bytes += size
            while len(self._kept) > self._most or self._bytes > self._size:
                self._bytes -= self._kept.popitem(last=False)[1][0]
        return value

    @property
    def held(self) -> int:
        """Bytes that are kept."""
        return self._bytes


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
