"""What a fake's users share: one lane, the time, and the fake's ways in and out (`ports.Outlet`, `ports.Source`)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

from ...codecs.errors import UsageError
from ...streams.policy.policy import Policy
from ..kafka.input_records import Prepared
from .admitted_set import AdmittedRead
from .fake_lane import FakeLane
from .ports import Delivered, Position, Stored, demand_there


class World:
    """One lane and the time, one user at a time.

    Attributes:
        now: the present, Unix milliseconds.
        lock: held while anything happens.
        groups: the positions that readers committed, by group and topic.
    """

    def __init__(self, policy: Policy, start: int) -> None:
        self.now, self.lane = start, FakeLane(policy, start)
        self.lock = threading.RLock()
        self.groups: dict[tuple[str, str], Position] = {}
        self.sources: set[FakeSource] = set()

    def clock(self) -> int:
        """The present."""
        return self.now

    def put(self, record: Prepared) -> Delivered:
        """A valid record is stored, and decided at once unless the lane is down."""
        with self.lock:
            offset = self.lane.take(record, self.now)
            self.tell()
            return Delivered(record.topic, 0, offset, self.now, record.key, record.value)

    def advance(self, milliseconds: int) -> None:
        """Time passes."""
        with self.lock:
            self.now += milliseconds
            self.lane.pass_to(self.now)
            self.tell()

    def tell(self) -> None:
        """Wakes the readers that wait."""
        for source in self.sources:
            source.wake()


class FakeOutlet:
    """An emitter's way in."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def open(self) -> None:
        """There is nothing to open."""

    async def send(self, record: Prepared) -> asyncio.Future[Stored]:
        at = self._world.put(record)
        stored: asyncio.Future[Stored] = asyncio.get_running_loop().create_future()
        stored.set_result(Stored(at.partition, at.offset, at.timestamp))
        return stored

    async def close(self) -> None:
        """There is nothing to close."""


class FakeSource:
    """A reader's way out: the records of one topic."""

    def __init__(self, world: World, group: str | None, topic: str = "admitted") -> None:
        self._world, self._group, self._topic = world, group, topic
        self._next = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    async def open(self) -> Sequence[int]:
        self._loop, self._next = asyncio.get_running_loop(), 0
        with self._world.lock:
            self._world.sources.add(self)
        return [0]

    def wake(self) -> None:
        """There is news; may be called from any thread."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def fetch(self, seconds: float) -> Sequence[AdmittedRead]:
        found = self._take()
        if not found and seconds > 0:
            self._news.clear()
            found = self._take()  # what came before the line above is news no more
            if not found:
                try:
                    await asyncio.wait_for(self._news.wait(), seconds)
                except TimeoutError:
                    pass
                found = self._take()
        return found

    def _take(self) -> Sequence[AdmittedRead]:
        with self._world.lock:
            found = self._world.lane.after(self._topic, self._next)
            self._next = max(self._next, self._world.lane.end(self._topic))
        return [AdmittedRead(0, record.offset, record.key, record.value) for record in found]

    async def at(self, partition: int) -> int:
        return self._next

    def goal(self) -> FakeGoal:
        with self._world.lock:
            return FakeGoal(self, self._world.lane.end(self._topic))

    async def first_offsets(self) -> Mapping[int, int]:
        return {0: 0}

    async def seek(self, offsets: Mapping[int, int]) -> None:
        with self._world.lock:
            demand_there(offsets, {0: self._world.lane.end(self._topic)}, self._topic)
            self._next = offsets.get(0, self._next)

    async def committed(self) -> Position | None:
        return None if self._group is None else self._world.groups.get((self._group, self._topic))

    async def commit(self, position: Position) -> None:
        if self._group is None:
            raise UsageError("a reader without a group commits nothing", hint="store `position` yourself, or name one")
        self._world.groups[self._group, self._topic] = position

    async def close(self) -> None:
        with self._world.lock:
            self._world.sources.discard(self)
            self._loop = None


class FakeGoal:
    """The end of a topic as of one moment."""

    def __init__(self, source: FakeSource, end: int) -> None:
        self._source, self._end = source, end

    @property
    def ends(self) -> Mapping[int, int]:
        return {0: self._end}

    async def reached(self) -> bool:
        return await self._source.at(0) >= self._end
