"""Marks and watermark: what counts as read, and when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.engine.intake import InputMarks, Watermark


class TestOneInput:
    def test_a_position_at_the_end_passes_the_mark(self):
        """The end was 7 for who asked at 1000: what was there at 1000 has been read."""
        marks = InputMarks()

        marks.ended(7, 1000)

        assert marks.read_to(6) is None
        assert marks.read_to(7) == 1000

    def test_one_mark_at_a_time(self):
        """The next end counts once the last one was passed: a backlog must not push its own end away."""
        marks = InputMarks()
        marks.ended(10, 1000)
        marks.ended(20, 2000)

        assert marks.is_waiting(9)
        assert not marks.is_waiting(10)
        assert marks.passed == 1000
        marks.ended(20, 2000)
        assert marks.read_to(19) == 1000
        assert marks.read_to(20) == 2000

    def test_an_answer_to_an_earlier_question_changes_nothing(self):
        """Answers may overtake one another; a mark is never earlier than the one that was passed."""
        marks = InputMarks()
        marks.ended(3, 2000)
        assert marks.read_to(3) == 2000

        marks.ended(2, 1000)

        assert marks.read_to(3) == 2000

    def test_a_record_behind_an_open_transaction_holds_the_mark_back(self):
        """The high watermark is 5, committed records end at 4, and so does the position: what hangs is not absent."""
        marks = InputMarks()
        marks.ended(4, 1000)
        assert marks.read_to(4) == 1000

        marks.ended(5, 2000)

        assert marks.read_to(4) == 1000
        assert marks.is_waiting(4)

    @given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 1000), st.integers(0, 900)), min_size=1), st.data())
    def test_no_mark_is_later_than_what_was_read(self, arrivals, data):
        """Whatever comes, and however late answers are: at the mark, nothing was in the input that was not read."""
        marks, end, now, position = InputMarks(), 0, 0, 0
        history: list[tuple[int, int]] = []  # (time, log end from that time on)
        for records, pause, late in arrivals:
            now += pause
            end += records
            history.append((now, end))
            if not marks.is_waiting(position):
                marks.ended(end, max(0, now - late))
            position = data.draw(st.integers(position, end))
            mark = marks.read_to(position)
            if mark is not None:
                assert max((held for time, held in history if time <= mark), default=0) <= position


class TestLane:
    def test_the_least_input_decides(self):
        """One input that lags holds the watermark of the lane."""
        watermark = Watermark(("emissions", "observations"))
        watermark.ended("emissions", 1, 2000)
        watermark.ended("observations", 0, 1000)

        assert watermark.at({"emissions": 1, "observations": 0}, 9000) == 1000

    def test_an_input_that_nobody_answered_for_holds_it(self):
        """Of an input that nobody has heard of nothing is known."""
        watermark = Watermark(("emissions", "observations"), start=77)
        watermark.ended("emissions", 0, 1000)

        assert watermark.at({"emissions": 0, "observations": 0}, 9000) == 77

    def test_only_inputs_without_a_mark_under_way_are_asked_for(self):
        """The others are still being read up to the last answer."""
        watermark = Watermark(("emissions", "observations"))
        at = {"emissions": 0, "observations": 0}
        assert watermark.asks(at) == ["emissions", "observations"]

        watermark.ended("emissions", 0, 1000)
        watermark.ended("observations", 1, 1000)

        assert watermark.asks(at) == ["emissions"]

    def test_it_is_never_above_the_block_time(self):
        """A clock that went back gives a block time before the mark; the block time bounds."""
        watermark = Watermark(("emissions",))
        watermark.ended("emissions", 0, 2000)

        assert watermark.at({"emissions": 0}, 1500) <= 1500

    def test_marks_of_a_clock_that_was_ahead_say_nothing(self):
        """Asked for under a clock that was ahead: once it is right, they are no proof of what was read since."""
        watermark = Watermark(["emissions"], start=10)
        watermark.ended("emissions", 0, 5000)
        assert watermark.asks({"emissions": 0}) == ["emissions"]

        assert watermark.at({"emissions": 0}, 1300) == 10
        watermark.ended("emissions", 0, 1400)
        assert watermark.at({"emissions": 0}, 1500) == 1400

    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(-500, 1000), st.integers(0, 20)), max_size=100))
    def test_it_never_decreases(self, steps):
        """Neither a clock that jumps, nor a position that is sought back, nor a shorter log makes it go back."""
        watermark, now, last = Watermark(("emissions",), start=10), 1000, 10
        for end, pause, position in steps:
            now += pause
            watermark.ended("emissions", end, now)
            value = watermark.at({"emissions": position}, 10**9)
            assert value >= last
            last = value
