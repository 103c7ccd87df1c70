"""The simulator itself: time, turns, processes and the group do to a worker what they may do to it anywhere."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from sluice.topology.engine.chain import ChainHead

from .group import Group
from .invariants import ViolationError, check_openings, check_requests
from .loop import LivelockError, Process, SimulatedLoop
from .partition import Record
from .shelf import Shelves

EPOCH = 1_800_000_000_000


@pytest.fixture
def simulated() -> Iterator[SimulatedLoop]:
    """A loop of its own, at the beginning of time."""
    loop = SimulatedLoop(Random(1), EPOCH)
    yield loop
    loop.dispose()


class TestLoop:
    def test_time_is_nobody_s(self, simulated: SimulatedLoop):
        """An hour passes at once."""
        simulated.run_until_complete(asyncio.sleep(3600))

        assert simulated.now_ms() == EPOCH + 3_600_000

    def test_turns_are_shuffled_and_nobody_starves(self, simulated: SimulatedLoop):
        """What is ready at one moment runs before what it brings about."""
        order: list[str] = []

        async def say(name: str) -> None:
            for number in range(3):
                order.append(f"{number}{name}")
                await asyncio.sleep(0)

        async def all_of_them() -> None:
            await asyncio.gather(*(say(name) for name in "abcdef"))

        simulated.run_until_complete(all_of_them())

        assert [one[0] for one in order] == ["0"] * 6 + ["1"] * 6 + ["2"] * 6
        assert order[:6] != sorted(order[:6])

    def process(self, simulated: SimulatedLoop) -> tuple[Process, list[str]]:
        """One that says a number a second, and that it has cleaned up."""
        process, done = Process("w0", simulated), list[str]()

        async def work() -> None:
            try:
                for number in range(5):
                    await asyncio.sleep(1.0)
                    done.append(str(number))
            finally:
                done.append("cleaned up")

        process.spawn(work())
        return process, done

    def test_a_killed_process_cleans_nothing_up(self, simulated: SimulatedLoop):
        """It has no turn ever again, at whichever await it was."""
        process, done = self.process(simulated)
        process.trap(4, process.kill)

        simulated.run_until_complete(asyncio.sleep(60))

        assert done == ["0"]

    def test_a_frozen_process_goes_on_as_if_nothing_had_been(self, simulated: SimulatedLoop):
        """Its timers were due long ago when it wakes."""
        process, done = self.process(simulated)
        simulated.later(2.5, process.freeze)
        simulated.later(30.0, process.thaw)

        simulated.run_until_complete(asyncio.sleep(29))
        assert done == ["0", "1"]
        simulated.run_until_complete(asyncio.sleep(1.5))
        assert done == ["0", "1", "2"]

    def test_a_world_that_stands_still_is_reported(self, simulated: SimulatedLoop):
        """As one that goes round in circles is."""

        async def wait() -> None:
            await asyncio.get_running_loop().create_future()

        async def circle() -> None:
            while True:  # noqa: ASYNC110 -- it is not to end
                await asyncio.sleep(0)

        with pytest.raises(LivelockError):
            simulated.run_until_complete(wait())
        with pytest.raises(LivelockError):
            simulated.run_until_complete(circle())


class TestGroup:
    def test_a_silent_member_loses_its_lanes(self, simulated: SimulatedLoop):
        """The others are told to join anew, and it learns so when it asks."""
        group, given = Group(simulated, Random(4), 2), dict[str, Any]()
        for name in ("a", "b"):
            group.join(name, [], False, lambda answer, name=name: given.update({name: answer}))
        group.join("a", [], False, lambda answer: given.update(a=answer))
        generation, lanes, _ = given["a"]
        assert sorted([*lanes, *given["b"][1]]) == [0, 1]

        async def only_a_is_heard() -> None:
            while group.heartbeat("a", generation):  # noqa: ASYNC110 -- a member asks
                await asyncio.sleep(0.5)
            group.join("a", lanes, False, lambda answer: given.update(a=answer))
            await asyncio.sleep(0.5)

        simulated.run_until_complete(only_a_is_heard())

        assert given["a"][1] == [0, 1]
        assert not group.heartbeat("b", generation)

    def test_a_static_member_that_comes_back_disturbs_nobody(self, simulated: SimulatedLoop):
        """It has what it had, in the same generation."""
        group, given = Group(simulated, Random(4), 2), list[Any]()
        group.join("a", [], True, given.append)
        group.join("a", [], True, given.append)

        assert given == [(1, [0, 1], []), (1, [0, 1], [])]


class TestOpenings:
    def test_who_takes_a_lane_over_has_heard_of_its_group(self):
        """Within a session; else two workers would fence one another in turn."""
        check_openings([(7.0, "w0", 4.0)])

        with pytest.raises(ViolationError, match="fencing: w1 has heard nothing"):
            check_openings([(7.0, "w0", 4.0), (7.0, "w1", 3.9)])


class TestShelves:
    def test_a_snapshot_is_there_when_it_is_whole(self, simulated: SimulatedLoop):
        """Not while it is being written, and only in its own folder."""
        shelves = Shelves(Random(8), 1, "1 fold", shared=False)

        async def keep() -> list[list[int]]:
            seen = [[facts.offset for _, facts in shelves.of("a", "adjudicate", 0).found()]]
            await shelves.of("a", "adjudicate", 0).write(ChainHead(height=4), 9, iter([b"one", b"two"]))
            seen.append([facts.offset for _, facts in shelves.of("a", "adjudicate", 0).found()])
            return seen

        assert simulated.run_until_complete(keep()) == [[], [9]]
        assert not list(shelves.of("b", "adjudicate", 0).found())
        ((path, facts),) = shelves.of("a", "adjudicate", 0).found()
        assert list(shelves.read(path, facts)) == [b"one", b"two"]


OPEN, AGAIN, NEWER = ({"attempt": attempt, "revision": revision} for attempt, revision in ((0, 1), (0, 2), (1, 1)))


class TestRequests:
    @pytest.mark.parametrize(
        "values",
        [
            [{**OPEN, "ended_at": "x"}],
            [OPEN, {**OPEN, "ended_at": "x"}, {**OPEN, "ended_at": "x"}],
            [OPEN, NEWER],
            [OPEN, AGAIN, {**OPEN, "ended_at": "x"}],
        ],
        ids=["an end of nothing", "two ends", "two open under one key", "an end of another revision"],
    )
    def test_requests_that_do_not_end_once_are_found(self, values: list[dict[str, Any]]):
        """Each of them is a violation."""
        records = [Record(place, 0, b"em-1#c:0-9", json.dumps(value).encode()) for place, value in enumerate(values)]

        with pytest.raises(ViolationError, match="requests"):
            check_requests(records)
