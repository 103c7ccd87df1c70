"""What is kept between looks, and who is left alone; whose turn it is."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from sluice.topology.observers.ask import ObservationUnavailable
from sluice.topology.observers.kept_looks import MAX_BYTES, MAX_KEPT, Kept, Memory, Rest, rest_after
from sluice.topology.observers.service import MAX_WAITING, ClassExecutor


class Clock:
    """A clock that a test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_state_is_kept_for_so_long():
    """From when it was looked for; a newer one takes its place."""
    clock = Clock()
    memory = Memory[str](10, clock)
    memory.keep("a", 95.0, 1, Kept(1, "x"))
    assert memory.recall("a") == (1, "x")
    clock.now = 105.1
    assert memory.recall("a") is None
    memory.keep("a", clock.now, 1, Kept(2, "y"))
    assert memory.recall("a") == (2, "y")


def test_memory_is_bounded():
    """By number and by bytes; what was asked for last stays longest."""
    memory = Memory[int](10, Clock())
    for number in range(MAX_KEPT + 10):
        memory.keep(number, 100.0, 1, Kept(0, number))
        memory.recall(0)
    assert memory.recall(0) is not None
    assert memory.recall(1) is None
    for number in range(10):
        memory.keep(number, 100.0, MAX_BYTES // 4, Kept(0, number))
    assert [number for number in range(10) if memory.recall(number)] == [6, 7, 8, 9]
    memory.keep("large", 100.0, MAX_BYTES, Kept(0, 0))
    assert memory.recall("large") is None


def test_who_fails_is_left_alone_longer_each_time():
    """Doubled up to a minute; one success ends it."""
    clock = Clock()
    rest = Rest(clock)
    assert [rest_after(n) for n in (1, 2, 3, 7, 100)] == [1, 2, 4, 60, 60]
    rest.failed("a", "why")
    with pytest.raises(ObservationUnavailable, match="after 1 failure: why"):
        rest.check("a")
    rest.check("b")
    clock.now += 1
    rest.check("a")
    rest.failed("a", "why")
    clock.now += 1.5
    with pytest.raises(ObservationUnavailable, match="after 2 failures"):
        rest.check("a")
    rest.worked("a")
    rest.check("a")


async def test_a_class_that_is_behind_lets_nobody_in_who_is_impatient():
    """Others are not held up, and it lets them in again once it has caught up."""
    turns, release = ClassExecutor(1, 0.1), threading.Event()
    assert await turns.enter("slow", patient=False)
    stuck = asyncio.create_task(turns.take("slow", lambda: release.wait(10)))
    assert await turns.enter("slow", patient=False)
    queued = asyncio.create_task(turns.take("slow", lambda: 2))
    await asyncio.sleep(0.2)
    assert not await turns.enter("slow", patient=False)
    assert await turns.enter("quick", patient=False)
    assert await turns.take("quick", lambda: 1) == 1
    release.set()
    assert await queued == 2
    assert await stuck
    assert await turns.enter("slow", patient=False)
    assert await turns.take("slow", lambda: 3) == 3
    turns.close()


async def test_a_burst_makes_nobody_behind():
    """More looks than may wait are let in as others end, while looks go well."""
    turns = ClassExecutor(2, 10)

    async def one() -> bool:
        if not await turns.enter("quick", patient=False):
            return False
        await turns.take("quick", lambda: time.sleep(0.0001))
        return True

    assert all(await asyncio.gather(*(one() for _ in range(2 * MAX_WAITING))))
    turns.close()
