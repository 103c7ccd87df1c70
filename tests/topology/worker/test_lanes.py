"""The lanes of one worker: what fails alone, and when it is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from scripted_lane import World
from structlog.testing import capture_logs

from sluice.codecs.errors import DoesNotHoldError, LaterVersionError, UsageError
from sluice.topology.engine import lanes as module
from sluice.topology.engine.clocks import WrongClockError
from sluice.topology.engine.lane_control import StoppedError
from sluice.topology.engine.lanes import Lanes

BROKEN = DoesNotHoldError("the chain of blocks is broken", path="ledger of lane 1, block 0")


class Group:
    """Two lanes, each in a world of its own; that of lane 1 has a ledger that can be broken."""

    def __init__(self, stall_seconds: float = 60) -> None:
        self.worlds = [World(), World()]
        self.fatal, self.made = list[BaseException](), [0, 0]
        self.error: Exception | None = None
        broken = self.worlds[1].ledger
        open_it = broken.open

        async def open_or_not() -> None:
            await open_it()
            if self.error is not None:
                raise self.error

        broken.open = open_or_not  # type: ignore[method-assign]
        self.lanes = Lanes([self.worlds[0].fold], self._make, self.fatal.append, stall_seconds=stall_seconds)

    def _make(self, fold: Any, number: int) -> Any:
        self.made[number] += 1
        world = self.worlds[number]
        lane = world.make()
        lane.number = number
        lane._lanes = 2
        return lane

    @property
    def phases(self) -> list[str]:
        return [one.phase for one in self.lanes.status]

    async def until(self, *phases: str) -> None:
        await self.worlds[0].until(lambda: self.phases == list(phases))


@pytest.fixture
async def group(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Group]:
    monkeypatch.setattr(module, "FAILED_SECONDS", 0.05)
    found = Group()
    yield found
    await found.lanes.stop()


async def test_a_lane_with_a_broken_ledger_leaves_the_other_running(group: Group):
    """It is told in the log and in its state, with the reason; the worker does not end, and the other lane reads on."""
    group.error = BROKEN
    with capture_logs() as lines:
        group.lanes.assign([0, 1])
        await group.until("running", "failed")
    group.worlds[0].inputs.send("emissions", b"a")
    await group.worlds[0].until(lambda: group.worlds[0].log.values)

    assert group.fatal == []
    assert [one.reason for one in group.lanes.status] == ["", str(BROKEN)]
    told = [line for line in lines if line["event"] == "the lane must not go on; the worker's others do"]
    assert [(line["lane"], line["error"]) for line in told[:1]] == [(1, str(BROKEN))]
    assert group.lanes.numbers == {0, 1}


async def test_only_lanes_that_are_restored_count_their_blocks(group: Group):
    """The group's leader moves a lane that has no state yet at once, and waits for no lane of few blocks."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    assert group.lanes.blocks == {}
    await group.until("running", "failed")
    before = group.lanes.blocks[0]
    group.worlds[0].inputs.send("emissions", b"a")
    await group.worlds[0].until(lambda: group.lanes.blocks[0] > before)

    assert group.lanes.blocks.keys() == {0}


async def test_it_is_tried_again_and_runs_once_it_can(group: Group):
    """Nobody has to start anything again."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.worlds[0].until(lambda: group.made[1] >= 3)

    group.error = None
    await group.until("running", "running")

    assert group.made[0] == 1
    assert group.lanes.status[1].reason == ""


async def test_each_failure_doubles_the_wait(group: Group, monkeypatch: pytest.MonkeyPatch):
    """Up to a bound: a ledger that is long to read must not cost its worker all of its time."""
    monkeypatch.setattr(module, "FAILED_SECONDS", 0.01)
    monkeypatch.setattr(module, "MOST_FAILED_SECONDS", 0.035)
    group.error = BROKEN
    with capture_logs() as lines:
        group.lanes.assign([1])
        await group.worlds[0].until(lambda: group.made[1] >= 5)

    waits = [line["tried_again_in"] for line in lines if "tried_again_in" in line]
    assert waits[:4] == [0.01, 0.02, 0.035, 0.035]


async def test_a_rebalance_shortens_no_wait(group: Group, monkeypatch: pytest.MonkeyPatch):
    """However often the group is rebalanced, and whether the lane stays or leaves and comes back meanwhile."""
    monkeypatch.setattr(module, "FAILED_SECONDS", 300.0)
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.until("running", "failed")
    for numbers in ([0, 1], [0], [0, 1], [0, 1]):
        await group.lanes.suspend()
        group.lanes.assign(numbers)
        await asyncio.sleep(0.01)

    assert group.made == [1, 1]
    assert group.worlds[1].ledger.opened == 1
    assert group.lanes.status[1].phase == "failed"


async def test_a_lane_that_has_left_is_not_tried_again_here(group: Group):
    """It is somebody else's: to open its ledger would fence them."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.until("running", "failed")
    group.lanes.assign([0])
    made = group.made[1]
    await asyncio.sleep(0.2)

    assert group.made[1] == made
    assert group.phases == ["running"]


@pytest.fixture
async def stalling(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Group]:
    """A group whose lanes stall after half a second, of which lane 1 has a commit that does not end."""
    monkeypatch.setattr(module, "FAILED_SECONDS", 300.0)
    monkeypatch.setattr("sluice.topology.engine.lane_control.QUIET_SECONDS", 300.0)  # nobody answers fetches here
    found = Group(stall_seconds=0.5)
    found.lanes.assign([0, 1])
    await found.until("running", "running")
    found.worlds[1].ledger.gate.clear()
    found.worlds[1].inputs.send("emissions", b"a")
    yield found
    for world in found.worlds:
        world.ledger.gate.set()
    await found.lanes.stop()


async def test_a_lane_that_stalls_again_is_given_up_alone(stalling: Group):
    """It is taken over anew once; then it fails like any other, and the worker's other lane reads on."""
    await stalling.until("running", "failed")
    stalling.worlds[0].inputs.send("emissions", b"b")
    await stalling.worlds[0].until(lambda: stalling.worlds[0].log.values)

    assert stalling.fatal == []
    assert stalling.made == [1, 2]
    assert "toy/1: the lane makes no progress, although it was taken over anew" in stalling.lanes.status[1].reason
    assert stalling.worlds[0].log.values == [b"b"]
    assert stalling.worlds[1].log.values == []


async def test_it_is_tried_again_once_it_has_waited(stalling: Group, monkeypatch: pytest.MonkeyPatch):
    """Nobody has to start anything again, and nothing is lost."""
    monkeypatch.setattr(module, "FAILED_SECONDS", 0.05)
    await stalling.worlds[1].until(lambda: stalling.made[1] >= 3)
    stalling.worlds[1].ledger.gate.set()
    await stalling.worlds[1].until(lambda: stalling.worlds[1].log.values)

    assert stalling.fatal == []
    assert stalling.worlds[1].log.values == [b"a"]


async def test_a_worker_none_of_whose_lanes_gets_on_ends(stalling: Group):
    """What stands still may be its own then, and another start may help."""
    stalling.worlds[0].ledger.gate.clear()
    stalling.worlds[0].inputs.send("emissions", b"b")
    await stalling.worlds[0].until(lambda: stalling.fatal)

    assert "the lane makes no progress, although it was taken over anew" in str(stalling.fatal[0])


async def test_a_lane_that_comes_back_never_goes_on_below_what_it_held_here(group: Group):
    """What the worker remembers outlives the lane's task: the lane left, and its ledger was cut meanwhile."""
    world = group.worlds[0]
    group.lanes.assign([0])
    await group.until("running")
    world.inputs.send("emissions", b"a")
    await world.until(lambda: world.log.values)
    group.lanes.assign([])
    await world.until(lambda: not group.lanes._tasks)
    gone = world.log.records.pop()
    group.lanes.assign([0])
    await world.until(lambda: group.lanes.status[0].reason)

    assert "shorter than what this worker held of it" in group.lanes.status[0].reason
    world.log.records.append(gone)
    await group.until("running")


async def test_a_lane_that_comes_back_after_its_wait_is_tried_at_once(group: Group):
    """What was wrong with it may be mended by then."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.until("running", "failed")
    group.lanes.assign([0])
    await asyncio.sleep(0.2)
    group.error = None

    group.lanes.assign([0, 1])

    await group.until("running", "running")


async def test_a_try_during_a_rebalance_waits_for_its_end(group: Group):
    """Until the group has said whose the lane is, it fences nobody."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.until("running", "failed")
    opened = group.worlds[1].ledger.opened
    await group.lanes.suspend()

    await group.until("suspended", "suspended")
    await asyncio.sleep(0.02)

    assert group.worlds[1].ledger.opened == opened


async def test_a_bug_in_one_lanes_task_leaves_the_other_running(group: Group, monkeypatch: pytest.MonkeyPatch):
    """Whatever the exception is."""

    async def run(self: Any) -> None:
        raise ZeroDivisionError("a bug")

    group.lanes.assign([0])
    await group.until("running")
    monkeypatch.setattr("sluice.topology.engine.lane.Lane.run", run)
    group.lanes.assign([0, 1])

    await group.until("running", "failed")

    assert group.lanes.status[1].reason == "a bug"
    assert group.fatal == []


async def test_a_lane_that_its_settings_stop_is_not_tried_again(group: Group):
    """Somebody is to look first."""
    group.error = StoppedError("retention has deleted inputs that were not read")
    group.lanes.assign([0, 1])
    await group.until("running", "failed")
    await asyncio.sleep(0.2)

    assert group.made == [1, 1]


@pytest.mark.parametrize(
    "error",
    [LaterVersionError("later"), UsageError("no secret"), WrongClockError("a day ahead"), MemoryError()],
    ids=lambda error: type(error).__name__,
)
async def test_what_is_the_workers_own_ends_it(group: Group, error: Exception):
    """Another worker may do better: with a newer package, the right settings, a right clock, or more memory."""
    group.error = error
    group.lanes.assign([0, 1])

    async with asyncio.timeout(30):
        await group.worlds[0].until(lambda: group.fatal)

    assert group.fatal == [error]


async def test_nothing_is_fetched_for_a_lane_that_failed(group: Group):
    """Its inputs rest; those of the other are wanted."""
    group.error = BROKEN
    group.lanes.assign([0, 1])
    await group.until("running", "failed")

    assert group.lanes.at_rest() == {("emissions", 1), ("observations", 1)}
    wants = group.lanes.wants()
    assert wants("emissions", 0)
    assert not wants("emissions", 1)

    group.lanes.assign([0])
    assert group.lanes.at_rest() == frozenset()


async def test_what_can_wait_waits_until_lanes_are_taken_over(group: Group, monkeypatch: pytest.MonkeyPatch):
    """Those that stand for a rebalance as well; and not for ever."""
    monkeypatch.setattr(module, "SOON_SECONDS", 0.01)
    world, may_open = group.worlds[0], asyncio.Event()
    opened = world.ledger.open

    async def open_later() -> None:
        await may_open.wait()
        await opened()

    monkeypatch.setattr(world.ledger, "open", open_later)
    group.lanes.assign([0])
    waiting = asyncio.create_task(group.lanes.until_taken_over())
    await asyncio.sleep(0.2)
    assert not waiting.done()
    may_open.set()
    await waiting
    assert group.phases == ["running"]

    await group.lanes.suspend()
    monkeypatch.setattr(module, "SETTLE_SECONDS", 0.1)
    await group.lanes.until_taken_over()
    assert group.phases == ["suspended"]
