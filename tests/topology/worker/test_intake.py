"""The queue before a lane: ranges in, whole and in order, events out."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_lane import INPUTS, fetched

from sluice.codecs import compiled_core
from sluice.codecs.blocks import MAX_BYTES, MAX_EVENTS, Event, EventKind
from sluice.topology.engine import intake as module
from sluice.topology.engine.intake import Intake
from sluice.topology.kafka.polling import HELD_BYTES, Fetched


def intake(**positions: int) -> Intake:
    """An intake at these positions, in epoch 1."""
    one = Intake(INPUTS)
    at = dict.fromkeys(INPUTS, 0) | positions
    one.restart(1, at, at)
    return one


def offer(to: Intake, one: Fetched) -> bool:
    """A range on its way, and there."""
    to.on_its_way(one)
    return to.offer(one)


class TestFrames:
    def test_events_come_in_the_order_of_frames(self):
        """What came first stands first, across inputs."""
        queue = intake()
        offer(queue, fetched("observations", 0, [b"a"]))
        offer(queue, fetched("emissions", 0, [b"b", b"c"]))

        assert [(event.source, event.value) for event in queue.take()] == [(1, b"a"), (0, b"b"), (0, b"c")]

    def test_a_frame_from_before_the_seek_is_dropped(self):
        """An old epoch's range would be read twice, or out of order."""
        queue = intake()

        assert offer(queue, fetched("emissions", 0, [b"old"], epoch=0))
        assert not queue.take()

    def test_a_frame_beyond_the_position_is_refused(self):
        """Something before it was lost, and only a seek can bring it back."""
        assert not offer(intake(), fetched("emissions", 1, [b"b"]))

    def test_records_below_the_position_are_skipped(self):
        """A range that is delivered again does no harm."""
        queue = intake(emissions=2)

        assert offer(queue, fetched("emissions", 0, [b"a", b"b", b"c"]))
        assert offer(queue, fetched("emissions", 0, [b"a", b"b"]))
        assert [event.value for event in queue.take()] == [b"c"]

    def test_a_frame_without_records_moves_the_position(self):
        """Markers at the end of an input are read as soon as nothing waits before them."""
        queue = intake()
        offer(queue, fetched("emissions", 0, [b"a"]))
        offer(queue, fetched("emissions", 1, [], next=3))

        assert queue.positions["emissions"] == 0
        queue.take()
        assert queue.positions["emissions"] == 3
        offer(queue, fetched("emissions", 3, [], next=4))
        assert queue.positions["emissions"] == 4

    def test_sources_continue_where_the_last_block_ended(self):
        """Offsets that held nothing are covered by the block that follows."""
        queue = intake()
        offer(queue, fetched("emissions", 0, [], next=3))
        offer(queue, fetched("emissions", 3, [b"a"]))
        queue.take()

        assert [(s.topic, s.first, s.next) for s in queue.sources()] == [("emissions", 0, 4), ("observations", 0, 0)]
        assert [(s.topic, s.first, s.next) for s in queue.sources()] == [("emissions", 4, 4), ("observations", 0, 0)]

    @given(
        st.lists(
            st.tuples(st.sampled_from(INPUTS), st.integers(0, 3000), st.integers(0, 2), st.integers(0, 2000)),
            max_size=8,
        )
    )
    def test_nothing_is_lost_or_doubled_however_it_comes(self, batches: list[tuple[str, int, int, int]]):
        """For all ranges, sizes and markers: each record is taken once, in order, in blocks within their bounds."""
        queue, ends, sent, got = intake(), dict.fromkeys(INPUTS, 0), [], []
        for topic, count, markers, size in batches:
            start = ends[topic]
            values = [b"%d" % place + b"x" * size for place in range(start, start + count)]
            ends[topic] = start + count + markers
            assert offer(queue, fetched(topic, start, values, next=ends[topic]))
            sent += [(INPUTS.index(topic), start + place) for place in range(count)]
        while queue.count:
            events = queue.take()
            assert 0 < len(events) <= MAX_EVENTS
            assert sum(len(event.value or b"") for event in events) <= MAX_BYTES or len(events) == 1
            got += [(event.source, event.offset) for event in events]

        assert got == sent
        assert queue.positions == ends
        assert queue.held == 0


@pytest.mark.parametrize("core", [True, False])
def test_empty_headers_fill_a_block_too(core: bool, monkeypatch: pytest.MonkeyPatch):
    """Each costs bytes in the ledger, whatever is in it: else a block of them would have no bound."""
    if not core:
        monkeypatch.setattr(compiled_core, "codecs", None)
    queue = intake()
    events = [Event(EventKind.RECORD, 0, offset, 1, [("", b"")] * 100_000, None, None) for offset in range(4)]
    offer(queue, Fetched("emissions", 0, 1, 0, 4, events, 0))

    assert [len(queue.take()) for _ in range(4)] == [1, 1, 1, 1]


class TestLost:
    @pytest.fixture
    def clock(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
        """Moves the intake's clock."""
        now = 1000.0

        def move(seconds: float) -> None:
            nonlocal now
            now += seconds

        monkeypatch.setattr(module, "monotonic", lambda: now)
        return move

    @pytest.mark.parametrize("told", ["on its way", "handed on"])
    def test_what_was_handed_on_and_never_came_is_lost(self, clock: Callable[[float], None], told: str):
        """Nothing has to follow upon it, and blocks of other inputs do not matter."""
        queue = intake()
        if told == "on its way":
            queue.on_its_way(fetched("emissions", 0, [b"a"]))
        else:
            queue.handed("emissions", 1, 1)
        clock(3.0)
        assert queue.lost_in == 2.0
        assert offer(queue, fetched("observations", 0, [b"b"]))
        queue.take()
        assert queue.lost() == {}
        clock(2.0)

        assert queue.lost() == {"emissions": 0}

    def test_a_seek_begins_anew(self, clock: Callable[[float], None]):
        """What was handed on before it, or is told of an earlier one, is owed no more."""
        queue = intake()
        queue.handed("emissions", 1, 9)
        queue.restart(2, queue.positions, queue.blocked)
        queue.handed("emissions", 1, 9)
        clock(60.0)

        assert queue.lost_in is None
        assert queue.lost() == {}

    def test_what_has_come_is_owed_no_more(self, clock: Callable[[float], None]):
        """As far as it has come: for the rest the wait begins anew, since something gets through."""
        queue = intake()
        queue.handed("emissions", 1, 3)
        clock(4.0)
        assert offer(queue, fetched("emissions", 0, [b"a"]))
        clock(4.0)
        assert queue.lost() == {}
        assert offer(queue, fetched("emissions", 1, [b"b", b"c"]))
        clock(60.0)

        assert queue.lost() == {}

    def test_what_may_only_be_slow_is_waited_for_longer(self, clock: Callable[[float], None]):
        """A seek throws away what is on its way: where all of it takes longer than the wait, none would ever come."""
        queue, waited = intake(), list[float]()
        for epoch in range(2, 8):
            queue.restart(epoch, queue.positions, queue.blocked)
            queue.handed("emissions", epoch, 1)
            waited.append(queue.lost_in or 0.0)
            clock(waited[-1])
            assert queue.lost()

        assert waited == [5.0, 5.0, 10.0, 20.0, 40.0, 40.0]
        clock(120.0)
        queue.restart(9, queue.positions, queue.blocked)
        queue.handed("emissions", 9, 1)
        clock(40.0)
        assert queue.lost()
        queue.restart(10, queue.positions, queue.blocked)
        queue.handed("emissions", 10, 1)
        assert queue.lost_in == 5.0


class TestPressure:
    def test_a_full_input_is_not_wanted_and_the_other_is(self):
        """One input's backlog must not keep the other from being read: the watermark is the least of both."""
        queue = intake()
        queue.on_its_way(fetched("emissions", 0, [b"x" * HELD_BYTES]))

        assert not queue.wants("emissions")
        assert queue.wants("observations")

    def test_it_is_wanted_again_once_it_was_taken(self):
        """What went into a block waits no more."""
        queue = intake()
        offer(queue, fetched("emissions", 0, [b"x" * HELD_BYTES]))
        queue.take()

        assert queue.wants("emissions")

    def test_records_without_bytes_have_a_weight(self):
        """Each takes memory: millions of them must not pass for nothing."""
        queue = intake()
        events = [Event(EventKind.RECORD, 0, offset, 1, [], None, None) for offset in range(HELD_BYTES // 40 + 1)]
        waiting = Fetched("emissions", 0, 1, 0, len(events), events, 0)
        queue.on_its_way(waiting)

        assert not queue.wants("emissions")
        queue.offer(waiting)
        while queue.take():
            pass
        assert queue.held == 0

    def test_what_came_twice_is_held_once(self):
        """A range that begins before what is there weighs what is left of it."""
        queue = intake()
        offer(queue, fetched("emissions", 0, [b"a", b"b"]))
        offer(queue, fetched("emissions", 1, [b"b", b"c"]))
        while queue.take():
            pass

        assert queue.held == 0

    def test_a_seek_forgets_what_was_held(self):
        """Ranges that were lost on the way must not count for ever."""
        queue = intake()
        queue.on_its_way(fetched("emissions", 0, [b"x" * HELD_BYTES]))
        queue.restart(2, queue.positions, queue.blocked)

        assert queue.wants("emissions")

    def test_before_the_first_seek_nothing_is_wanted(self):
        """A lane that is being restored takes nothing in."""
        assert not Intake(INPUTS).wants("emissions")
