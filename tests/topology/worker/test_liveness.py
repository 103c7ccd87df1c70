"""Progress: when a lane is behind, and when it only has nothing to do."""

from __future__ import annotations

from sluice.topology.engine.lane_control import QUIET_SECONDS, LaneProgress


class Clock:
    """Seconds, as the test wants them."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def progress() -> tuple[LaneProgress, Clock]:
    clock = Clock()
    return LaneProgress(("emissions", "observations"), clock), clock


def test_idle_is_not_behind():
    """With answers coming and nothing to do, an hour is nothing."""
    one, clock = progress()
    for second in range(3600):
        clock.now += 1
        one.answered("emissions", second)
        one.answered("observations", second)

        assert one.behind(("emissions", "observations"), to_do=False) == 0.0


def test_what_waits_counts_from_the_last_progress():
    """Not from when it came: a lane that was idle until now is not behind at once."""
    one, clock = progress()
    clock.now += 50
    assert one.behind((), to_do=False) == 0.0
    clock.now += 7
    assert one.behind((), to_do=True) == 7.0
    one.moved()
    assert one.behind((), to_do=True) == 0.0


def test_silence_of_one_wanted_input_is_enough():
    """The watermark is the least of all inputs: one that is not answered for holds the lane."""
    one, clock = progress()
    clock.now += 30
    one.answered("emissions", 1)

    assert one.behind(("emissions", "observations"), to_do=False) == 30.0
    assert one.behind(("emissions",), to_do=False) == 0.0


def test_the_same_answer_reported_again_is_none():
    """Each poll tells the newest answer, whether or not one has come."""
    one, clock = progress()
    one.answered("emissions", 5)
    clock.now += 30
    one.answered("emissions", 5)

    assert one.behind(("emissions",), to_do=False) == 30.0


def test_an_input_that_is_short_of_its_end_is_behind_whatever_else_gets_on():
    """Blocks of the other input are no progress of this one; once something of it comes, all is well."""
    one, clock = progress()
    wanted, short = ("emissions", "observations"), ("observations",)
    for second in range(1, 31):
        clock.now += 1
        one.moved()
        one.answered("emissions", second)
        one.answered("observations", second)
        one.came("emissions")
        behind = one.behind(wanted, short, to_do=True)

    assert behind == 30.0
    assert one.lacking == ["observations"]
    one.came("observations")
    assert one.behind(wanted, short, to_do=True) == 0.0
    assert one.lacking == []


def test_an_input_at_its_end_lacks_nothing():
    """However long nothing comes: once the broker has more, that is waited for from then on."""
    one, clock = progress()
    clock.now += 3600
    one.answered("emissions", 1)
    one.answered("observations", 1)

    assert one.behind(("emissions", "observations"), (), to_do=False) == 0.0
    clock.now += 7
    one.moved()
    one.answered("emissions", 2)
    one.answered("observations", 2)
    assert one.behind(("emissions", "observations"), ("emissions",), to_do=True) == 7.0


def test_an_input_that_is_not_wanted_may_be_short():
    """The lane is full of it: nothing more is asked for."""
    one, clock = progress()
    clock.now += 30
    one.moved()

    assert one.behind((), ("emissions",), to_do=True) == 0.0


def test_an_input_that_is_not_wanted_may_be_silent():
    """Its answers are not looked at while the lane is full; it is waited for anew afterwards."""
    one, clock = progress()
    clock.now += 30
    assert one.behind((), to_do=False) == 0.0
    clock.now += 1
    assert one.behind(("emissions",), to_do=False) == 0.0


def test_a_seek_starts_the_wait_anew():
    """No answer can have come for a position that was not asked for."""
    one, clock = progress()
    clock.now += 30
    one.placed()

    assert one.behind(("emissions",), to_do=False) == 0.0


def test_a_moment_without_an_answer_is_nothing():
    """They come several times a second, and not by the clock."""
    one, clock = progress()
    clock.now += QUIET_SECONDS

    assert one.behind(("emissions",), to_do=False) == 0.0
