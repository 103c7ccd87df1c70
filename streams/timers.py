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
        filed, ticket: the instant of its one valid entry, and that entry's number; only the queue writes them.
        order: unique in a lane.
    """

    clock: int
    due: int | None
    filed: int | None
    ticket: int
    order: int


T = TypeVar("T", bound=Timed)


class TimerQueue(Generic[T]):
    """The items that wait on one clock; an item fires when the clock is *later* than its `due`.

    Invariant: every item of this clock with a `due` has exactly one valid entry, at that instant or an earlier one.
    """

    __slots__ = ("_heap", "_tickets", "clock")

    def __init__(self, clock: int) -> None:
        self.clock = clock
        self._heap: list[tuple[int, int, int, T]] = []
        self._tickets = 0

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
            self._file(item, due)

    def _file(self, item: T, due: int) -> None:
        self._tickets += 1
        item.filed, item.ticket = due, self._tickets
        heappush(self._heap, (due, item.order, self._tickets, item))

    def head(self, clock: int) -> tuple[int, int] | None:
        """The instant and order of the first item that is due, or None."""
        head = self._settle()
        return None if head is None or head[0] >= clock else head[:2]

    def pop(self) -> T:
        """Takes out the item that `head` has just told of; it waits for nothing any more."""
        item = heappop(self._heap)[3]
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
                _, _, ticket, item = heap[place]
                if item.clock == self.clock and item.ticket == ticket and item.filed is not None:
                    found += item.due is not None and item.due < clock
                todo += (2 * place + 1, 2 * place + 2)
        return found

    def _settle(self) -> tuple[int, int, int, T] | None:
        """Drops or files again what is stale at the head."""
        heap = self._heap
        while heap:
            head = heap[0]
            filed, _, ticket, item = head
            if item.clock == self.clock and item.ticket == ticket and item.filed is not None:
                if item.due == filed:
                    return head
                item.filed = None
                heappop(heap)
                if item.due is not None:
                    self._file(item, item.due)
            else:
                heappop(heap)
        return None
