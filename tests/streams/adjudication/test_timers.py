"""Timers fire in order of time, then of the item's own order, however they were moved about.

The subject is a heap with lazy cancellation; beside it stands an oracle that sorts a list each time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from search import examples

from sluice.streams.adjudication.timers import TIME, WATERMARK, TimerQueue

TIMES = st.integers(0, 12)  # few, so that many are equal


@dataclass(eq=False)
class Item:
    """Something that waits; not comparable with others, as the table's structs are not."""

    order: int
    clock: int = WATERMARK
    due: int | None = None


class Queue(TimerQueue[Item]):
    """A queue over items of a list, each under a name of its own."""

    def __init__(self, clock: int, items: list[Item] | None = None) -> None:
        self.items = [] if items is None else items
        super().__init__(clock, self.found)

    def found(self, name: str, order: int) -> Item | None:
        return next((item for item in self.items if (name, order) == (f"em-{item.order}", item.order)), None)

    def put(self, item: Item, due: int) -> None:
        """Makes an item wait; it is known from then on."""
        if item not in self.items:
            self.items.append(item)
        self.wait(f"em-{item.order}", item, due)


def fire(queue: Queue, now: int) -> Any:
    """The first item that is due, taken out, or None."""
    return None if queue.head(now) is None else queue.pop()[1]


class Moves(RuleBasedStateMachine):
    """Items in the two queues of a lane, moved about at will, and a dictionary that says what each waits for."""

    def __init__(self) -> None:
        super().__init__()
        self.items: list[Item] = []
        self.queues = {clock: Queue(clock, self.items) for clock in (WATERMARK, TIME)}
        self.waits: dict[Item, tuple[int, int]] = {}  # item -> clock, due

    def due_on(self, clock: int) -> list[tuple[int, int, Item]]:
        """The oracle: what waits on a clock, sorted."""
        waiting = [(due, item.order, item) for item, (queue, due) in self.waits.items() if queue == clock]
        return sorted(waiting, key=lambda entry: entry[:2])

    @initialize(orders=st.permutations(range(6)))
    def items_in_no_particular_order(self, orders: list[int]) -> None:
        self.items += [Item(order) for order in orders]

    def file(self, item: Item, clock: int, due: int) -> None:
        self.queues[clock].put(item, due)
        self.waits[item] = clock, due

    @rule(which=st.integers(0, 5), later=st.integers(0, 5))
    def move_on(self, which: int, later: int) -> None:
        """A renewal: what waits already waits longer."""
        item = self.items[which]
        if item in self.waits:
            clock, due = self.waits[item]
            self.file(item, clock, due + later)

    @rule(which=st.integers(0, 5))
    def close(self, which: int) -> None:
        """Closing is setting the field, nothing more."""
        self.items[which].due = None
        self.waits.pop(self.items[which], None)

    @rule(clock=st.sampled_from([WATERMARK, TIME]), now=TIMES)
    def fire_one(self, clock: int, now: int) -> None:
        """What is due first, by time and then by order, is told and taken out."""
        expected = next((entry for entry in self.due_on(clock) if entry[0] < now), None)

        head = self.queues[clock].head(now)

        assert head == (expected and expected[:2])
        if expected is not None:
            name, item = self.queues[clock].pop()
            assert (name, item) == (f"em-{item.order}", expected[2])
            assert item.due is None
            del self.waits[item]

    @rule(clock=st.sampled_from([WATERMARK, TIME]), now=TIMES)
    def fire_all(self, clock: int, now: int) -> None:
        for _ in range(len(self.items) + 1):
            self.fire_one(clock, now)
        assert self.queues[clock].head(now) is None

    @invariant()
    def the_next_due_is_the_earliest(self) -> None:
        for clock, queue in self.queues.items():
            waiting = self.due_on(clock)
            assert queue.next_due() == (waiting[0][0] if waiting else None)

    @invariant()
    def an_item_knows_what_it_waits_for(self) -> None:
        for item in self.items:
            assert (item.due is None) == (item not in self.waits)
            if item in self.waits:
                assert (item.clock, item.due) == self.waits[item]

    def teardown(self) -> None:
        """After everything was fired or closed, the queues hold nothing, stale entries included."""
        for clock, queue in self.queues.items():
            self.fire_all(clock, 1000)
            assert len(queue) == 0


class AnyMoves(Moves):
    """Times move on and back, items change the queue and return."""

    @rule(which=st.integers(0, 5), clock=st.sampled_from([WATERMARK, TIME]), due=TIMES)
    def wait(self, which: int, clock: int, due: int) -> None:
        self.file(self.items[which], clock, due)


class LaneMoves(Moves):
    """What a lane does: an item waits for evidence, then perhaps on time, and its times only move on."""

    @rule(which=st.integers(0, 5), due=TIMES)
    def wait_for_evidence(self, which: int, due: int) -> None:
        if self.items[which].due is None and self.items[which].clock == WATERMARK:
            self.file(self.items[which], WATERMARK, due)

    @rule(which=st.integers(0, 5), due=TIMES)
    def wait_for_the_end(self, which: int, due: int) -> None:
        if self.items[which].clock == WATERMARK:
            self.file(self.items[which], TIME, due)

    @rule(clock=st.sampled_from([WATERMARK, TIME]), now=TIMES, most=st.integers(0, 8))
    def count(self, clock: int, now: int, most: int) -> None:
        """Counting changes nothing and counts each item once."""
        due = sum(entry[0] < now for entry in self.due_on(clock))

        assert self.queues[clock].count_due(now, most) == min(due, most)


TestAnyMoves = AnyMoves.TestCase
TestLaneMoves = LaneMoves.TestCase
TestAnyMoves.settings = TestLaneMoves.settings = settings(
    max_examples=examples(200), stateful_step_count=40, deadline=None
)


def _filled(*dues: int) -> tuple[Queue, list[Item]]:
    queue = Queue(TIME)
    items = [Item(order, TIME) for order in range(len(dues))]
    for item, due in zip(items, dues, strict=True):
        queue.put(item, due)
    return queue, items


def test_an_item_fires_once_the_clock_is_later_than_its_due() -> None:
    """The instant itself is included in the wait: at `due` nothing fires, a millisecond later it does."""
    queue, (item,) = _filled(10)

    assert queue.head(10) is None
    assert queue.head(11) == (10, item.order)
    assert queue.pop()[1] is item
    assert queue.head(11) is None


def test_equal_dues_fire_in_the_items_own_order() -> None:
    """Whoever was filed first does not matter: a restored lane fires as one that never stopped."""
    queue = Queue(TIME)
    items = [Item(order, TIME) for order in (3, 1, 2)]
    for item in items:
        queue.put(item, 5)

    assert [item.order for item in iter(lambda: fire(queue, 6), None)] == [1, 2, 3]


@given(st.lists(TIMES, max_size=12), TIMES)
def test_filing_order_does_not_matter(dues: list[int], now: int) -> None:
    """The same items filed forwards and backwards fire alike."""
    forwards, _ = _filled(*dues)
    backwards = Queue(TIME)
    for order in reversed(range(len(dues))):
        backwards.put(Item(order, TIME), dues[order])

    def fire_all(queue: Queue) -> list[int]:
        return [item.order for item in iter(lambda: fire(queue, now), None)]

    assert fire_all(forwards) == fire_all(backwards)


def test_renewals_do_not_grow_the_queue() -> None:
    """Moving an item on a thousand times costs one entry, as long as nothing settles it."""
    queue, (item,) = _filled(1)
    for due in range(2, 1000):
        queue.put(item, due)

    assert len(queue) == 1
    assert queue.next_due() == 999
    assert len(queue) == 1


def test_an_item_moved_back_and_forth_is_counted_once() -> None:
    """Of an item's entries only one is valid, also where it returns to an instant that it waited for before."""
    queue, (item,) = _filled(7)
    queue.put(item, 5)
    queue.put(item, 7)

    assert queue.next_due() == 7
    assert queue.count_due(8, 10) == 1


def test_an_item_that_changed_queues_fires_in_the_new_one_only() -> None:
    """What was pending and is admitted waits on time, no longer on the watermark."""
    pending = Queue(WATERMARK)
    expiring = Queue(TIME)
    item = Item(1)
    pending.put(item, 3)
    expiring.put(item, 9)

    assert pending.count_due(100, 10) == 0
    assert pending.head(100) is None
    assert len(pending) == 0
    assert fire(expiring, 10) is item


def test_counting_stops_at_the_most_that_is_asked_for() -> None:
    """A count over a long backlog costs what it may cost."""
    queue, _ = _filled(*range(100))

    assert queue.count_due(1000, 7) == 7
    assert queue.count_due(50, 1000) == 50
    assert len(queue) == 100


def test_what_is_gone_is_dropped_from_the_queue() -> None:
    """Whoever forgets an item need not look for its timer."""
    queue, items = _filled(1, 2)
    queue.items.remove(items[0])

    assert queue.next_due() == 2
    assert len(queue) == 1


def test_instants_before_1970_come_first() -> None:
    """Times are Unix milliseconds, and may be negative."""
    queue, _ = _filled(5, -5, 0)

    assert [queue.head(100), queue.pop()[1].order, queue.next_due()] == [(-5, 1), 1, 0]
