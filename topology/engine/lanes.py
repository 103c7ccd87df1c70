"""The lanes of one worker: which are here, what reaches which, and what becomes of one that fails.

The transport tells which partition numbers are assigned, hands over ranges and fetch answers, and asks what may be
fetched. Each lane runs in a task of its own.

A lane that must not go on is given up, loudly and alone: it stays this worker's, its reason is told wherever its state
is (`LaneStatus.reason`), and it is tried again after a while. A rebalance shortens no wait, so a broken lane costs its
group nothing. What fails for the worker's own reasons (`WORKERS_OWN`) ends the worker, since another one may do better.
Nor does a lane live without getting on: one that stalls is taken over anew, once, and is given up after that, like any
other that failed. A worker ends when none of its lanes makes progress; its supervisor starts it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

import structlog

from ...codecs.errors import DoesNotHoldError, LaterVersionError, UsageError
from ..kafka.polling import Fetched
from .clocks import WrongClockError
from .interfaces import Fold, LaneStatus
from .lane import STOP_SECONDS, Lane
from .lane_control import StoppedError

SETTLE_SECONDS, SOON_SECONDS, AGAIN_SECONDS = 10.0, 0.2, 0.05
"""What can wait for lanes that are taken over waits so long at the most; so long for the group to say which they are;
and looks again so often."""
HELD_BYTES = 64_000_000
"""While so many bytes wait in all lanes together, only lanes that hold nothing are fetched for."""

STALL_SECONDS = 60.0
LOOK_SECONDS = 1.0
"""How often lanes are asked whether they get on."""
RELAPSE = 3.0
"""A lane that stalls again within so many times the stall time was not helped by being taken over."""
FAILED_SECONDS, MOST_FAILED_SECONDS = 30.0, 600.0
"""A lane that failed is tried again after so long: twice as long each time, up to the second."""
WORKERS_OWN: Final = (LaterVersionError, UsageError, WrongClockError, MemoryError)
"""Failures of the worker, not of the lane that meets them: its package, settings, clock or memory."""

_LaneId = tuple[str, int]
"""A lane's name: that of its fold, and the partition number."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _Failed(NamedTuple):
    """A lane that failed, as it stood then: how often in a row, and when it is tried again, by the loop's clock."""

    status: LaneStatus
    times: int
    until: float


class Lanes:
    """The lanes here, by fold and number.

    Invariant: a number's lanes are in `_lanes` or, while they wait to be tried again, in `_failed`, one of each fold,
    exactly while its partitions are assigned to this worker (`_wanted`). What `_failed` has of others is for when they
    come back.
    """

    def __init__(
        self,
        folds: Sequence[Fold],
        make: Callable[[Fold, int], Lane],
        on_fatal: Callable[[BaseException], None],
        *,
        stall_seconds: float = STALL_SECONDS,
    ) -> None:
        """`make` makes a lane of a fold for a partition number; `on_fatal` is told when the worker has to end, and why.

        `stall_seconds`: so long may a lane be behind (lane_control.py) before that is answered.
        """
        self._make, self._on_fatal = make, on_fatal
        self._folds = {fold.name: fold for fold in folds}
        self._reader = {topic: fold.name for fold in folds for topic in fold.inputs}
        self._lanes: dict[_LaneId, Lane] = {}
        self._wanted: frozenset[_LaneId] = frozenset()
        self._failed: dict[_LaneId, _Failed] = {}
        self._tasks: dict[Lane, asyncio.Task[None]] = {}
        self._closing, self.assigned = False, False
        """Whether the group has said, at least once, which lanes are to be here."""
        self._suspended = False
        self._held: dict[_LaneId, int] = {}  # the greatest height that any lane of that name has held here
        self._given_up: frozenset[int] | None = None
        self._stall_seconds, self._stalled = stall_seconds, dict[_LaneId, float]()
        self._watching: asyncio.Task[None] | None = None

    @property
    def is_member(self) -> bool:
        """Whether the group has assigned lanes here, or none, and has answered within a session."""
        return self.assigned and self._given_up is None

    @property
    def numbers(self) -> frozenset[int]:
        """The partition numbers whose lanes are assigned here."""
        return frozenset(number for _, number in self._wanted)

    @property
    def blocks(self) -> dict[int, int]:
        """By partition number, how many blocks the state of its lanes here is of; those that are restored, only."""
        counts: dict[int, list[int]] = {}
        for (_, number), lane in list(self._lanes.items()):  # it is asked from the consumer's thread
            if (count := lane.blocks) is not None:
                counts.setdefault(number, []).append(count)
        return {number: sum(found) for number, found in counts.items() if len(found) == len(self._folds)}

    @property
    def status(self) -> list[LaneStatus]:
        """Each lane as it stands, by fold and number."""
        found = {lane_id: one.status for lane_id, one in self._failed.items() if lane_id in self._wanted}
        found.update((lane_id, lane.status) for lane_id, lane in self._lanes.items())
        return [found[lane_id] for lane_id in sorted(found)]

    async def until_taken_over(self) -> None:
        """Waits, for a while, until no lane is being taken over here.

        Lanes that come with a rebalance are told a little after what is to be followed.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + SETTLE_SECONDS
        await asyncio.sleep(SOON_SECONDS)
        while (  # noqa: ASYNC110 -- each lane has a phase of its own
            loop.time() < end and any(one.phase in ("taking-over", "suspended") for one in self.status)
        ):
            await asyncio.sleep(AGAIN_SECONDS)

    def at_rest(self) -> frozenset[tuple[str, int]]:
        """The inputs, with their partition, of lanes that failed: nothing of them is to be fetched."""
        resting = self._wanted - self._lanes.keys()
        return frozenset((topic, number) for name, number in resting for topic in self._folds[name].inputs)

    def positions(self) -> Mapping[tuple[str, int], int]:
        """The next offset of each input (topic, partition) by the ledgers, for who wants to tell the consumer group."""
        return {
            (topic, number): offset
            for (_, number), lane in self._lanes.items()
            for topic, offset in lane.positions.items()
            if topic in self._reader
        }

    def wake(self) -> None:
        """A policy was applied: every lane takes it in."""
        for lane in self._lanes.values():
            lane.wake()

    # ------------------------------------------------------------ assignment

    async def suspend(self) -> None:
        """A rebalance begins: no lane closes a further block. Waits a little for what is in flight."""
        self._suspended = True
        for lane in self._lanes.values():
            lane.suspend()
        end = asyncio.get_running_loop().time() + STOP_SECONDS
        while any(status.phase == "running" for status in self.status):
            if asyncio.get_running_loop().time() > end:
                return
            await asyncio.sleep(0.01)

    def assign(self, numbers: Iterable[int]) -> None:
        """These lanes are ours now: starts what is new, lets what stays go on, stops the rest. Returns at once."""
        self.assigned, self._suspended, self._given_up = True, False, None
        ids = () if self._closing else ((name, number) for number in numbers for name in self._folds)
        self._wanted = wanted = frozenset(ids)
        for lane_id in sorted(self._lanes.keys() - wanted):
            self._lanes.pop(lane_id).stop()
            log.info("lane leaves", fold=lane_id[0], lane=lane_id[1])
        for lane_id in sorted(wanted):
            if lane_id in self._lanes:
                self._lanes[lane_id].resume()
            else:
                self._try_again(lane_id)

    def give_up(self) -> None:
        """The group's coordinator has been silent for a session: by now the lanes may be somebody else's.

        They stop and write nothing more, and no lane is taken over until the group says that we are a member.
        """
        log.warning("no answer of the group's coordinator for a session: giving the lanes up", lanes=len(self._lanes))
        given_up = self.numbers
        for lane in self._lanes.values():
            lane.suspend()  # not even a last checkpoint
        self.assign(())
        self._given_up = given_up

    def take_back(self) -> None:
        """The coordinator answers again, and we are the member that we were: the lanes stayed ours."""
        if self._given_up is not None:
            log.info("the group's coordinator answers again: taking the lanes back")
            self.assign(self._given_up)

    def _start(self, lane_id: _LaneId) -> None:
        name, number = lane_id
        before = [task for lane, task in self._tasks.items() if lane.lane_id == lane_id]
        lane = self._lanes[lane_id] = self._make(self._folds[name], number)
        if self._suspended:  # until the group has said whose it is, it fences nobody
            lane.suspend()
        self._tasks[lane] = asyncio.create_task(self._run(lane, before), name=f"{name}-{number}")
        if self._watching is None:
            self._watching = asyncio.create_task(self._watch(), name="lanes-watch")

    async def stop(self) -> None:
        """Stops all lanes: what is in flight is committed, or aborted where that takes too long."""
        self._closing = True
        if self._watching is not None:
            self._watching.cancel()
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
            lane.held = max(lane.held, self._held.get(lane.lane_id, -1))
            await lane.run()
        except WORKERS_OWN as error:
            log.error("the worker must not go on", fold=lane.lane_id[0], lane=lane.number, error=_sentence(error))
            self._on_fatal(error)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is this lane's end, and no other's
            self._fail(lane, error)
        finally:
            self._held[lane.lane_id] = max(lane.held, self._held.get(lane.lane_id, -1))
            del self._tasks[lane]
            if self._lanes.get(lane.lane_id) is lane:
                del self._lanes[lane.lane_id]

    def _fail(self, lane: Lane, error: Exception) -> None:
        """Gives a lane up until it is tried again."""
        lane_id, now = lane.lane_id, asyncio.get_running_loop().time()
        before, times = self._failed.get(lane_id), 1
        if before is not None and now - before.until < MOST_FAILED_SECONDS:  # what it did since was not worth much
            times += before.times
        wait = min(FAILED_SECONDS * 2.0 ** (times - 1), MOST_FAILED_SECONDS)
        if isinstance(error, StoppedError):
            wait = inf
        log.error(
            "the lane must not go on; the worker's others do",
            fold=lane_id[0],
            lane=lane_id[1],
            error=_sentence(error),
            times=times,
            tried_again_in=None if wait == inf else wait,
        )
        status = lane.status._replace(phase="failed", held=0, reason=_sentence(error))
        self._failed[lane_id] = _Failed(status, times, now + wait)
        if wait < inf:
            asyncio.get_running_loop().call_at(now + wait, self._try_again, lane_id)

    def _try_again(self, lane_id: _LaneId) -> None:
        """Starts a lane, if it is wanted, is not here, and has waited long enough since it failed last."""
        failed, now = self._failed.get(lane_id), asyncio.get_running_loop().time()
        if lane_id in self._wanted and lane_id not in self._lanes and (failed is None or now >= failed.until):
            self._start(lane_id)

    # ------------------------------------------------------------ progress

    async def _watch(self) -> None:
        """Answers lanes that do not get on."""
        while True:
            await asyncio.sleep(min(LOOK_SECONDS, self._stall_seconds / 4))
            for lane_id, lane in list(self._lanes.items()):
                if (behind := lane.behind) >= self._stall_seconds:
                    self._answer_stall(lane_id, lane, behind)

    def _answer_stall(self, lane_id: _LaneId, lane: Lane, behind: float) -> None:
        now = asyncio.get_running_loop().time()
        phase, seconds = lane.status.phase, round(behind, 1)
        log.error("the lane makes no progress", fold=lane_id[0], lane=lane_id[1], phase=phase, seconds=seconds)
        before, self._stalled[lane_id] = self._stalled.get(lane_id), now
        # Whatever it waits for, it waits no more: the next one begins with a producer and a seek of its own.
        lane.stop()
        self._tasks[lane].cancel()
        if before is None or now - before >= RELAPSE * self._stall_seconds:
            self._start(lane_id)
            return
        del self._lanes[lane_id]
        error = DoesNotHoldError(
            f"the lane makes no progress, although it was taken over anew, and is {phase}",
            path=f"{lane_id[0]}/{lane_id[1]}",
            expected=f"a block or an answer of the broker within {self._stall_seconds:g} s",
            got=f"none for {seconds:g} s",
            hint="it is tried again by itself; if that does not help, look at the broker",
        )
        if not self._lanes:  # nothing gets on here: what stands still may be the worker's own
            self._on_fatal(error)
            return
        self._fail(lane, error)

    # ------------------------------------------------------------ ranges

    def wants(self) -> Callable[[str, int], bool]:
        """The question whether an input's partition may be fetched further: its lane's queue for it has room."""
        held = {lane_id: lane.intake.held for lane_id, lane in self._lanes.items()}
        pressed = sum(held.values()) >= HELD_BYTES

        def may_be_fetched(topic: str, number: int) -> bool:
            lane = self._lane(topic, number)
            return lane is not None and not (pressed and held[lane.lane_id]) and lane.intake.wants(topic)

        return may_be_fetched

    def on_its_way(self, fetched: Fetched) -> None:
        """A range has left the fetcher, and will be offered soon."""
        if lane := self._lane(fetched.topic, fetched.partition):
            lane.intake.on_its_way(fetched)

    def offer(self, fetched: Fetched) -> None:
        """A range for the lane that reads its partition; without one it belongs to somebody else by now."""
        if lane := self._lane(fetched.topic, fetched.partition):
            lane.offer(fetched)

    def answered(self, number: int, topic: str, end: int, time: int, epoch: int, handed: int, high: int = 0) -> None:
        """What a fetch answer told of an input of a lane: `Lane.answered`."""
        if lane := self._lane(topic, number):
            lane.answered(topic, end, time, epoch, handed, high)

    def asks(self) -> list[tuple[str, int]]:
        """The inputs, with their partition, whose ends are to be asked for now: `Lane.asks`."""
        return [(topic, lane.number) for lane in self._lanes.values() for topic in lane.asks()]

    def ended(self, number: int, topic: str, end: int, asked: int) -> None:
        """Where an input of a lane ends by its leader's word, who was asked at `asked`."""
        if lane := self._lane(topic, number):
            lane.ended(topic, end, asked)

    def identified(self, ids: Mapping[str, str], gone: Collection[str] = ()) -> None:
        """Which topics the lanes' are, as a broker says now, and which are gone, by logical topic."""
        for lane in self._lanes.values():
            lane.identified(ids, gone)

    def lost(self, number: int, topic: str) -> None:
        """The broker has no such offset any more as the one at which an input of a lane was to be read."""
        if lane := self._lane(topic, number):
            lane.lost(topic)

    def unread(self, number: int, topic: str, epoch: int, offset: int, error: DoesNotHoldError) -> None:
        """An input of a lane cannot be read from an offset on: `Lane.unread`."""
        if lane := self._lane(topic, number):
            lane.unread(topic, epoch, offset, error)

    def _lane(self, topic: str, number: int) -> Lane | None:
        return self._lanes.get((self._reader[topic], number))


def _sentence(error: BaseException) -> str:
    return str(error) or repr(error)
