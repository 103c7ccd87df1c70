"""When the garbage collector runs."""

from __future__ import annotations

import gc

import pytest

from sluice.topology.settings import process as module
from sluice.topology.settings.process import Collector, seldom_collected


@pytest.fixture
def collector():
    """A collector that gives Python's back at the end."""
    one = Collector()
    yield one
    one.stop()


def test_it_takes_over_and_gives_back(collector: Collector):
    """Automatic collection is off in between only."""
    collector.start()
    assert not gc.isenabled()

    collector.stop()
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_what_is_there_at_the_start_is_never_walked(collector: Collector):
    """The modules: the first lane to be restored would pay for them."""
    collector.start()

    assert gc.get_freeze_count() > 0


def test_of_several_lanes_that_are_restored_one_is_collected_after(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
):
    """What was restored is not walked again; while lanes move, nobody waits for the collector once for each."""
    now, collected = 100.0, list[float]()
    monkeypatch.setattr(module, "monotonic", lambda: now)
    monkeypatch.setattr(module.gc, "collect", lambda: collected.append(now))
    collector.start()
    for now in (200.0, 201.0, 204.9, 206.0):  # noqa: B007 -- the clock
        collector.settle()

    assert collected == [200.0, 206.0]


def test_between_blocks_it_collects_only_now_and_then(collector: Collector, monkeypatch: pytest.MonkeyPatch):
    """A block costs nothing; garbage of half a minute goes at once."""
    collected: list[None] = []
    collector.start()
    monkeypatch.setattr(module.gc, "collect", lambda: collected.append(None))

    collector.between_blocks()
    assert not collected
    monkeypatch.setattr(module, "monotonic", lambda: 10**9)
    collector.between_blocks()
    assert len(collected) == 1


def test_in_a_process_of_others_it_does_nothing(collector: Collector):
    """Not started, it leaves the collector alone."""
    collector.settle()
    collector.between_blocks()

    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_command_is_collected_seldom_and_gives_everything_back():
    """Also where it fails; it is collected all the same, so that cycles do not fill the memory."""
    before = gc.get_threshold()

    def command() -> None:
        with seldom_collected():
            assert gc.isenabled()
            assert 0 < before[0] < gc.get_threshold()[0]
            assert gc.get_freeze_count() > 0
            raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        command()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
