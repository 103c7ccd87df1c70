"""The lanes of one worker: which are here, what reaches which, and what becomes of one that fails.

The transport tells which partition numbers are assigned, hands over frames and fetch answers, and asks what may be
fetched. Each lane runs in a task of its own. A lane that must not go on takes the worker down with its reason: it never
dies silently.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping

import structlog

from .contracts import LaneStatus
from .intake import Frame
from .lane import STOP_SECONDS, Lane

HELD_BYTES = 64_000_000
"""While so many octets wait in all lanes together, only lanes that hold nothing are fetched for."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Lanes:
    """The lanes here, by number.

    Invariant: a number is in `_lanes` exactly while its partitions are assigned to this worker.
    """

    def __init__(self, make: Callable[[int], Lane], on_fatal: Callable[[BaseException], None]) -> None:
        """
        Args:
            make: a new lane for a partition number.
            on_fatal: told once when a lane ends with an error; the worker has to end.
        """
        self._make, self._on_fatal = make, on_fatal
        self._lanes: dict[int, Lane] = {}
        self._tasks: dict[Lane, asyncio.Task[None]] = {}
        self._closing = False

    @property
    def numbers(self) -> frozenset[int]:
        """The lanes that are assigned here."""
        return frozenset(self._lanes)

    @property
    def status(self) -> list[LaneStatus]:
        """Each lane as it stands, by number."""
        return [self._lanes[number].status for number in sorted(self._lanes)]

    def positions(self) -> Mapping[int, Mapping[str, int]]:
        """The ledger's positions of each lane's inputs, for who wants to tell the consumer group."""
        return {number: lane.positions for number, lane in self._lanes.items()}

    # ------------------------------------------------------------ assignment

    async def suspend(self) -> None:
        """A rebalance begins: no lane closes a further block. Waits a little for what is in flight."""
        for lane in self._lanes.values():
            lane.suspend()
        end = asyncio.get_running_loop().time() + STOP_SECONDS
        while any(status.phase == "running" for status in self.status):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(0.01)

    def assign(self, numbers: Iterable[int]) -> None:
        """These lanes are ours now: starts what is new, lets what stays go on, stops the rest. Returns at once."""
        wanted = set() if self._closing else set(numbers)
        for number in sorted(self._lanes.keys() - wanted):
            lane = self._lanes.pop(number)
            lane.stop()
            log.info("lane leaves", lane=number)
        for number in sorted(wanted):
            if number in self._lanes:
                self._lanes[number].resume()
            else:
                lane = self._lanes[number] = self._make(number)
                before = [task for other, task in self._tasks.items() if other.number == number]
                self._tasks[lane] = asyncio.create_task(self._run(lane, before), name=f"lane-{number}")

    async def stop(self) -> None:
        """Stops all lanes: what is in flight is committed, or aborted where that takes too long."""
        self._closing = True
        self.assign(())
        tasks = list(self._tasks.values())
        if not tasks:
            return
        _, late = await asyncio.wait(tasks, timeout=STOP_SECONDS)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late, timeout=STOP_SECONDS)

    async def _run(self, lane: Lane, before: list[asyncio.Task[None]]) -> None:
        try:
            if before:  # the same lane left and came back: its block in flight comes first
                await asyncio.wait(before)
            await lane.run()
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is the worker's end and gets told there
            log.error("the lane must not go on", lane=lane.number, error=str(error) or repr(error))
            self._on_fatal(error)
        finally:
            del self._tasks[lane]
            if self._lanes.get(lane.number) is lane:
                del self._lanes[lane.number]

    # ------------------------------------------------------------ frames

    def wants(self) -> dict[int, Callable[[str], bool]]:
        """By lane that may be fetched for, the question whether one of its inputs may: its queue has room."""
        held = {number: lane.intake.held for number, lane in self._lanes.items()}
        if sum(held.values()) < HELD_BYTES:
            return {number: lane.intake.wants for number, lane in self._lanes.items()}
        return {number: lane.intake.wants for number, lane in self._lanes.items() if not held[number]}

    def on_its_way(self, frame: Frame) -> None:
        """A frame has left the fetcher, and will be offered soon."""
        lane = self._lanes.get(frame.partition)
        if lane is not None:
            lane.intake.on_its_way(frame)

    def offer(self, frame: Frame) -> None:
        """A frame for the lane of its partition; without one it belongs to somebody else by now."""
        lane = self._lanes.get(frame.partition)
        if lane is not None:
            lane.offer(frame)

    def answered(self, number: int, topic: str, end: int, time: int) -> None:
        """What a fetch answer told, at `time`, of where an input of a lane ends."""
        lane = self._lanes.get(number)
        if lane is not None:
            lane.answered(topic, end, time)

    def lost(self, number: int, topic: str) -> None:
        """The broker has no such offset any more as the one at which an input of a lane was to be read."""
        lane = self._lanes.get(number)
        if lane is not None:
            lane.lost(topic)
