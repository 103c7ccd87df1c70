"""Marks and watermark: what counts as read, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.worker.watermark import MAX_MARKS, InputMarks, Watermark


class TestOneInput:
    def test_nothing_is_known_before_two_answers(self):
        """One answer alone says nothing of any time: the request that it answers may have gone out long before."""
        marks = InputMarks()

        marks.answered(5, 1000)

        assert marks.read_to(5) is None

    def test_an_empty_input_moves_with_the_answers(self):
        """An input that is read to its end has the mark of the answer before the last one."""
        marks = InputMarks()
        for time in (1000, 1100, 1200):
            marks.answered(7, time)

        assert marks.read_to(7) == 1100

    def test_a_position_before_the_end_holds_the_mark_back(self):
        """What has not been read does not count as read, however often the broker answers."""
        marks = InputMarks()
        marks.answered(0, 1000)
        marks.answered(10, 1100)
        marks.answered(10, 1200)
        marks.answered(20, 1300)

        assert marks.read_to(9) is None
        assert marks.read_to(10) == 1100
        assert marks.read_to(19) == 1100
        assert marks.read_to(20) == 1200

    def test_the_same_answer_reported_again_changes_nothing(self):
        """Who polls more often than the broker answers learns nothing new."""
        marks = InputMarks()
        for _ in range(3):
            marks.answered(0, 1000)

        assert marks.read_to(0) is None

    def test_a_record_that_came_between_two_answers_is_not_read(self):
        """The end was 3 at 1100; a record of 1101 lies beyond it, and the mark stays before it."""
        marks = InputMarks()
        marks.answered(3, 1000)
        marks.answered(3, 1100)
        marks.answered(4, 1200)

        assert marks.read_to(3) == 1000
        assert marks.read_to(4) == 1100

    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 1000)), min_size=1, max_size=400), st.integers(0, 9))
    def test_no_mark_is_later_than_what_was_read(self, arrivals, behind):
        """Whatever comes and whatever is read: at the mark, nothing was in the input that has not been read."""
        marks, end, now, position = InputMarks(), 0, 0, 0
        history: list[tuple[int, int]] = []  # (time, log end from that time on)
        for place, (records, pause) in enumerate(arrivals):
            now += pause
            end += records
            history.append((now, end))
            marks.answered(end, now)
            position = max(position, end - behind * (place % 7))  # what was read stays read
            mark = marks.read_to(position)
            if mark is not None:
                assert max((held for time, held in history if time <= mark), default=0) <= position

    @given(st.integers(MAX_MARKS, 5 * MAX_MARKS))
    def test_a_long_backlog_keeps_few_marks_and_still_arrives(self, answers):
        """Marks are thinned out, never lost at either end: once all is read, the mark is that of the last answer."""
        marks = InputMarks()
        for number in range(answers):
            marks.answered(number + 1, 1000 * (number + 1))

        assert len(marks._marks) <= MAX_MARKS
        assert marks.read_to(answers) == 1000 * (answers - 1)


class TestLane:
    def test_the_least_input_decides(self):
        """One input that lags holds the watermark of the lane."""
        watermark = Watermark(("emissions", "observations"))
        for time in (1000, 2000, 3000):
            watermark.answered("emissions", 1, time)
        for time in (1000, 1500):
            watermark.answered("observations", 0, time)

        assert watermark.at({"emissions": 1, "observations": 0}, 9000) == 1000

    def test_an_input_that_was_never_answered_holds_it(self):
        """Of an input that nobody has heard of nothing is known."""
        watermark = Watermark(("emissions", "observations"), start=77)
        for time in (1000, 2000):
            watermark.answered("emissions", 0, time)

        assert watermark.at({"emissions": 0, "observations": 0}, 9000) == 77

    def test_it_is_never_above_the_block_time(self):
        """A clock that went back gives a block time before the mark; the block time bounds."""
        watermark = Watermark(("emissions",))
        for time in (1000, 2000, 3000):
            watermark.answered("emissions", 0, time)

        assert watermark.at({"emissions": 0}, 1500) == 1500

    def test_a_clock_that_steps_back_takes_it_along(self):
        """Asked for under a clock that was ahead, and no block closed under it: the next one is of its own time."""
        watermark = Watermark(["emissions"])
        for time in (5000, 5100, 5200):
            watermark.answered("emissions", 0, time)
        assert watermark.at({"emissions": 0}, 5300) == 5100

        assert watermark.at({"emissions": 0}, 4000) == 4000

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(-500, 1000), st.integers(0, 20)), max_size=100))
    def test_it_never_decreases(self, steps):
        """Neither a clock that jumps, nor a position that is sought back, nor a shorter log makes it go back."""
        watermark, now, last = Watermark(("emissions",), start=10), 1000, 10
        for end, pause, position in steps:
            now += pause
            watermark.answered("emissions", end, now)
            value = watermark.at({"emissions": position}, 10**9)
            assert value >= last
            last = value
