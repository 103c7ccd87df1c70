"""Timers in order of time, with lazy cancellation: what expires, and when.

A timer belongs to an item that knows itself on which clock it waits and when it is due (`item.due`, None once it waits
for nothing). Moving an item's time on, or closing it, only sets that field: the queue notices when the old entry comes
up, and files it again or drops it. So renewals cost nothing, and nothing is searched for on cancellation.

Order is by time, then by the item's own `order`, which never depends on when an entry was filed: a lane that was
restored fires in the order of one that never stopped.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, Generic, Protocol, TypeVar

WATERMARK: Final = 0
"""The clock of what waits for evidence (architecture.md, «Time»)."""
TIME: Final = 1
"""The clock of what expires."""


class Timed(Protocol):
    """What a timer queue holds.

    Attributes:
        clock: the queue that the item waits in.
        due: the instant whose passing fires it, in Unix ms; None where it waits for nothing.
        filed: the instant of its one valid entry; only the queue writes it.
        order: unique in a lane.
    """

    clock: int
    due: int | None
    filed: int | None
    order: int


T = TypeVar("T", bound=Timed)


class TimerQueue(Generic[T]):
    """The items that wait on one clock; an item fires when the clock is *later* than its `due`.

    Invariant: every item of this clock with a `due` has exactly one valid entry, at that instant or an earlier one.
    """

    __slots__ = ("_heap", "clock")

    def __init__(self, clock: int) -> None:
        self.clock = clock
        self._heap: list[tuple[int, int, T]] = []

    def __len__(self) -> int:
        """The entries, stale ones included: what the queue costs, not what is due."""
        return len(self._heap)

    def wait(self, item: T, due: int) -> None:
        """Makes the item wait in this queue until `due` has passed, wherever it waited before."""
        if item.clock != self.clock:
            item.clock = self.clock
            item.filed = None
        item.due = due
        if item.filed is None or due < item.filed:
            item.filed = due
            heappush(self._heap, (due, item.order, item))

    def head(self, clock: int) -> tuple[int, int] | None:
        """The instant and order of the first item that is due, or None."""
        head = self._settle()
        return None if head is None or head[0] >= clock else head[:2]

    def pop(self) -> T:
        """Takes out the item that `head` has just told of; it waits for nothing any more."""
        item = heappop(self._heap)[2]
        item.due = item.filed = None
        return item

    def next_due(self) -> int | None:
        """The earliest instant that something waits for."""
        head = self._settle()
        return None if head is None else head[0]

    def count_due(self, clock: int, most: int) -> int:
        """How many items are due, counted up to `most`; walks only the part of the heap that is."""
        heap, found, todo = self._heap, 0, [0]
        while todo and found < most:
            place = todo.pop()
            if place < len(heap) and heap[place][0] < clock:
                filed, _, item = heap[place]
                due = item.due if item.clock == self.clock and item.filed == filed else None
                found += due is not None and due < clock
                todo += (2 * place + 1, 2 * place + 2)
        return found

    def _settle(self) -> tuple[int, int, T] | None:
        """Drops or files again what is stale at the head."""
        heap = self._heap
        while heap:
            head = heap[0]
            filed, order, item = head
            if item.clock == self.clock and item.filed == filed:
                if item.due == filed:
                    return head
                item.filed = item.due
                if item.due is not None:
                    heappop(heap)
                    heappush(heap, (item.due, order, item))
                    continue
            heappop(heap)
        return None
