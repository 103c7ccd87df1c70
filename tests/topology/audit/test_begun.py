"""Readings begin at once, beside one another, and end in order wherever they are left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.audit.begun import Begun


class Reading:
    """A generator that waits to be allowed its first item, and tells what happens."""

    def __init__(self, items: list[int], fails: bool = False) -> None:
        self.may, self.fails, self.told = asyncio.Event(), fails, list[str]()
        self.begun = Begun(self._items(items))

    async def _items(self, items: list[int]) -> AsyncGenerator[int, None]:
        self.told.append("asked")
        try:
            await self.may.wait()
            if self.fails:
                raise DoesNotHoldError("it cannot be read")
            for item in items:
                yield item
        finally:
            self.told.append("closed")


async def test_all_are_asked_before_the_first_answers():
    """And each gives its items in order, then None, for ever."""
    readings = [Reading([1, 2]), Reading([3]), Reading([])]
    await asyncio.sleep(0)
    assert [one.told for one in readings] == [["asked"]] * 3

    for reading in readings:
        reading.may.set()
    assert [[await one.begun.next() for _ in range(3)] for one in readings] == [
        [1, 2, None],
        [3, None, None],
        [None] * 3,
    ]
    assert [one.told for one in readings] == [["asked", "closed"]] * 3


@pytest.mark.parametrize("taken", [0, 1])
async def test_what_is_left_is_closed(taken: int):
    """Whether its first item was taken, had come, or had not."""
    reading, waiting = Reading([1, 2]), Reading([])
    reading.may.set()
    for _ in range(taken):
        assert await reading.begun.next() == 1
    await asyncio.sleep(0)

    await reading.begun.aclose()
    await waiting.begun.aclose()
    await waiting.begun.aclose()
    assert reading.told == waiting.told == ["asked", "closed"]


async def test_what_fails_is_told_where_it_is_asked_for(recwarn: pytest.WarningsRecorder):
    """And to nobody where it is not: no task is left with an exception that nobody took."""
    heard, unheard = Reading([], fails=True), Reading([], fails=True)
    said = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    for reading in (heard, unheard):
        reading.may.set()
    await asyncio.sleep(0)

    with pytest.raises(DoesNotHoldError):
        await heard.begun.next()
    await heard.begun.aclose()
    await unheard.begun.aclose()
    del heard, unheard
    assert said == []
    assert list(recwarn) == []
