"""Timers in order of time, with lazy cancellation: what expires, and when.

A timer belongs to an item that knows itself on which clock it waits and when it is due (`item.due`, None once it waits
for nothing). Moving an item's time on, or closing it, only sets that field: the queue notices when the old entry comes
up, and files it again or drops it. So renewals cost nothing, and nothing is searched for on cancellation.

Order is by time, then by the item's own `order`, which never depends on when an entry was filed: a lane that was
restored fires in the order of one that never stopped. A queue holds no items, only where to find them: a key of 14
bytes and a name, since a lane has as many entries as live assertions.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Final, Generic, Protocol, TypeVar

WATERMARK: Final = 0
"""The clock of what waits for evidence."""
TIME: Final = 1
"""The clock of what expires."""
_DUE, _ORDER = 8, 6  # bytes of each; instants before 1970 are negative
_ZERO: Final = 1 << 62


class Timed(Protocol):
    """What waits.

    Attributes:
        clock: the queue that the item waits in.
        due: the instant whose passing fires it, in Unix ms; None where it waits for nothing.
        order: unique in a lane.
    """

    clock: int
    due: int | None
    order: int


T = TypeVar("T", bound=Timed)


class TimerQueue(Generic[T]):
    """What waits on one clock; an item fires when the clock is *later* than its `due`.

    Invariant: every item of this clock with a `due` has an entry at that instant or an earlier one. An item may have
    several; whichever comes up at its `due` fires it, and the others then find nothing that waits.

    Args:
        clock: which one.
        find: the item of this order under a name, or None where it is gone.
        look: its `clock` and `due`, where they can be told without the item itself.
    """

    __slots__ = ("_find", "_heap", "_look", "clock")

    def __init__(
        self,
        clock: int,
        find: Callable[[str, int], T | None],
        look: Callable[[str, int], tuple[int, int | None] | None] | None = None,
    ) -> None:
        self.clock = clock
        self._find = find
        self._look = look or self._found
        self._heap: list[bytes] = []

    def __len__(self) -> int:
        """The entries, stale ones included: what the queue costs, not what is due."""
        return len(self._heap)

    def keys(self) -> list[bytes]:
        """The heap itself, for the compiled core (native.py)."""
        return self._heap

    def wait(self, name: str, item: T, due: int) -> None:
        """Makes `item`, found under `name`, wait in this queue until the clock is later than `due` (Unix ms), also
        where it waited in another one before."""
        was = item.due if item.clock == self.clock else None
        item.clock, item.due = self.clock, due
        if was is None or due < was:
            self.file(name, item.order, due)

    def file(self, name: str, order: int, due: int) -> None:
        """Makes an entry for an item that waits already, found under `name` and `order`, due at `due` (Unix ms); `wait`
        does so by itself."""
        heappush(self._heap, (due + _ZERO).to_bytes(_DUE) + order.to_bytes(_ORDER) + name.encode())

    def head(self, clock: int) -> tuple[int, int] | None:
        """The instant and order of the first item that is due, or None."""
        heap = self._heap
        if not heap or heap[0] >= (clock + _ZERO).to_bytes(_DUE):
            return None  # no item is due before its entry: nothing has to be found
        head = self._settle()
        return None if head is None or head[0] >= clock else head

    def first(self, clock: int) -> str | None:
        """The name in the first entry, if that is before this instant; the entry may be stale."""
        heap = self._heap
        return _read(heap[0])[2] if heap and heap[0] < (clock + _ZERO).to_bytes(_DUE) else None

    def pop(self) -> tuple[str, T]:
        """Takes out the item that `head` has just told of, with its name; it waits for nothing any more."""
        _, order, name = _read(heappop(self._heap))
        item = self._find(name, order)
        assert item is not None, "head comes first"
        item.due = None
        return name, item

    def next_due(self) -> int | None:
        """The earliest instant that something waits for."""
        head = self._settle()
        return None if head is None else head[0]

    def count_due(self, clock: int, most: int) -> int:
        """How many items are due, counted up to `most`; walks only the part of the heap that is."""
        heap, found, todo, end = self._heap, set[bytes](), [0], (clock + _ZERO).to_bytes(_DUE)
        while todo and len(found) < most:
            place = todo.pop()
            if place < len(heap) and heap[place] < end:
                key = heap[place]
                due, order, name = _read(key)
                waits = self._due(name, order)
                if waits is not None and due <= waits < clock:
                    found.add(key[_DUE:])
                todo += (2 * place + 1, 2 * place + 2)
        return len(found)

    def _settle(self) -> tuple[int, int] | None:
        """Drops or files again what is stale at the head."""
        heap = self._heap
        while heap:
            due, order, name = _read(heap[0])
            waits = self._due(name, order)
            if waits == due:
                return due, order
            heappop(heap)
            if waits is not None and waits > due:  # else an earlier entry has it
                self.file(name, order, waits)
        return None

    def _due(self, name: str, order: int) -> int | None:
        """The instant that an item waits for in this queue; None where it does not."""
        found = self._look(name, order)
        return None if found is None or found[0] != self.clock else found[1]

    def _found(self, name: str, order: int) -> tuple[int, int | None] | None:
        item = self._find(name, order)
        return None if item is None else (item.clock, item.due)


def _read(key: bytes) -> tuple[int, int, str]:
    due = int.from_bytes(key[:_DUE]) - _ZERO
    return due, int.from_bytes(key[_DUE : _DUE + _ORDER]), key[_DUE + _ORDER :].decode()
