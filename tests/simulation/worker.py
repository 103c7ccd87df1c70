"""One simulated worker: the real `Lanes` with real lanes, folds and ledgers, between a fetcher and a group member.

Fetcher and member play transport.py's part: they call `suspend`, `assign`, `wants`, `on_its_way`, `offer`, `answered`
and `lost` as the driver does, and ranges may get lost, doubled, late or stale on the way, as Faust is known to do it.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import count
from random import Random
from typing import Any

from aiokafka import TopicPartition
from aiokafka.errors import IllegalStateError, KafkaConnectionError, KafkaError

from sluice.codecs.blocks import Event, UnreadableReason
from sluice.codecs.notes import Signer
from sluice.streams.adjudication.fold import event_for
from sluice.topology.engine.app import supervised
from sluice.topology.engine.checkpointing import Checkpoints, Tips, checkpoints_of, origin_of
from sluice.topology.engine.clocks import ClockFence, Clocks
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import Claimant, Identities, group_of
from sluice.topology.engine.interfaces import Fold
from sluice.topology.engine.lane import Lane
from sluice.topology.engine.lanes import Lanes
from sluice.topology.engine.ledger import KafkaLedger, Ledger
from sluice.topology.engine.policies import PolicyFeed
from sluice.topology.engine.replay import Restored
from sluice.topology.engine.restore import Standby, Standbys
from sluice.topology.engine.snapshots import SnapshotScheduler
from sluice.topology.kafka.membership import Member, NotAMemberError, Standing
from sluice.topology.kafka.packed_batches import FetchAgainError, Refusals, UnreadableError
from sluice.topology.kafka.polling import Bounds, Fetched
from sluice.topology.settings.process import BrokerTime
from sluice.topology.settings.settings import Settings

from .broker import Broker, Place, handled
from .clients import insist
from .group import SESSION_SECONDS, Group
from .loop import Process, SimulatedLoop
from .network import Answer
from .partition import Read, Record, Unreadable
from .shelf import Shelves

POLL_SECONDS = 0.25
IDLE_SECONDS, LOOKS = 0.05, 20
HEARTBEAT_SECONDS = 1.0
LISTEN_SECONDS = 0.3
STALL_SECONDS = 20.0
ASK_SECONDS = 1.0
ID_SECONDS = 2.0
MOST_LATE = 1.5
SOURCES = {topic: place for fold in folds() for place, topic in enumerate(fold.inputs)}
MakeLedger = Callable[[Settings, Fold, int], Ledger]


def make_ledger(settings: Settings, fold: Fold, number: int) -> Ledger:
    """The ledgers that a worker really has."""
    return KafkaLedger(settings, number, fold.ledger, fold.name)


class _Placed:
    """Where a lane has sought, in which assignment."""

    def __init__(self, epoch: int, assignment: object, position: int) -> None:
        self.epoch, self.assignment, self.position = epoch, assignment, position


class _Refused(Record):
    """A batch that could not be read, and the event that stands for it."""

    __slots__ = ("_next", "event")

    def __init__(self, refused: Record, event: Event) -> None:
        super().__init__(refused.offset, refused.timestamp, None, refused.value)
        self._next, self.event = refused.next, event

    @property
    def next(self) -> int:
        return self._next


class Fetcher:
    """What fetches for one worker's lanes (`interfaces.Inputs`)."""

    def __init__(
        self, process: Process, loop: SimulatedLoop, broker: Broker, random: Random, *, damages: float = 0.0
    ) -> None:
        """`damages` is the chance that a batch is damaged on its way here."""
        self._process, self._loop, self._broker, self._random = process, loop, broker, random
        self._network = broker.network
        self._refusals, self._damages = Refusals(goes_on=True, clock=process.now_ms), damages
        self._damaged: set[tuple[str, int, int]] = set()  # once each: it is fetched again, and whole then
        self.lanes: Lanes = None  # type: ignore[assignment]  # set by the worker, which makes both
        self.assignment: object | None = None
        self.assigned: frozenset[int] = frozenset()
        self._placed: dict[Place, _Placed] = {}
        self._epochs = count()
        self._sought, self._looks = asyncio.Event(), 0  # how often it is still looked whether a lane wants anything
        self._outbox: deque[Fetched] = deque()
        self._sent: list[Fetched] = []  # the last ones, for stale repetitions
        # No two workers need hear of a new topic at the same time: each asks a node of its own.
        self._late = Random(process.name).uniform(0.0, MOST_LATE)

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        places = [(topic, lane) for topic in topics]
        found = await insist(self._broker, self._broker.bounds, places)
        return {topic: Bounds(self._broker.lanes, *found[topic, lane], self._id_of(topic)) for topic in topics}

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        epoch = next(self._epochs)
        await asyncio.sleep(self._network.delay() / 8)  # the consumer has a thread of its own
        if lane not in self.assigned:
            raise IllegalStateError(f"partition {lane} is not assigned")
        for topic, offset in positions.items():
            self._placed[topic, lane] = _Placed(epoch, self.assignment, offset)
            self._refusals.forget(TopicPartition(topic, lane))
        self._look_again()
        await asyncio.sleep(self._network.delay() / 8)  # ranges may be there before the lane knows their epoch
        self._look_again()
        return epoch

    def _look_again(self) -> None:
        """A lane has sought: it will want something soon."""
        self._looks = LOOKS
        self._sought.set()

    async def run(self) -> None:
        """Fetches for all lanes, over and over."""
        while True:
            may_be_fetched = self.lanes.wants()
            placed = {
                place: one
                for place, one in self._placed.items()
                if one.assignment is self.assignment and may_be_fetched(*place)
            }
            if not placed:
                await self._idle()
                continue
            try:
                answers = await self._fetch({place: one.position for place, one in placed.items()})
            except KafkaError:
                await asyncio.sleep(0.1)
                continue
            self._apply({place: answers[place] for place, one in placed.items() if self._placed[place] is one})

    async def _idle(self) -> None:
        """A lane that wants nothing will not before it has sought; then it may take some turns until it does."""
        if self._looks:
            self._looks -= 1
            await asyncio.sleep(IDLE_SECONDS)
        else:
            self._sought.clear()
            await self._sought.wait()

    async def ask_for_ends(self) -> None:
        """Asks where inputs end that lanes want to know of, about once a second."""
        while True:
            await asyncio.sleep(self._random.uniform(0.2, ASK_SECONDS))
            places, asked = self.lanes.asks(), self._process.now_ms()
            if not places:
                continue
            try:
                found = await self._network.ask(handled(self._broker.ends, places, False))
            except KafkaError:
                continue
            for (topic, number), end in found.items():
                self.lanes.ended(number, topic, end.offset, asked)

    async def ask_for_ids(self) -> None:
        """Asks which topics the inputs are, about every two seconds."""
        while True:
            await asyncio.sleep(ID_SECONDS)
            if not self._network.away:
                self.lanes.identified({topic: self._id_of(topic) for topic in SOURCES})

    def _id_of(self, topic: str) -> str:
        return self._broker.id_of(topic, self._late)

    async def _fetch(self, starts: dict[Place, int]) -> dict[Place, Any]:
        most = self._random.choice((1, 3, 20, 500))

        def fetch(answer: Any) -> None:
            self._broker.fetch(starts, most, POLL_SECONDS, True, answer)

        return await self._network.ask(fetch, may_be_late=False)

    def _apply(self, answers: dict[Place, Any]) -> None:
        now = self._process.now_ms()
        ranges: list[Fetched] = []
        for (topic, number), read in answers.items():
            placed = self._placed[topic, number]
            if placed.assignment is not self.assignment:
                continue
            if not isinstance(read, Read):
                self.lanes.lost(number, topic)
                continue
            ranges += self._cut(topic, number, placed, self._judged(topic, number, read))
            self.lanes.answered(number, topic, read.stable, now, placed.epoch, placed.position)
        for fetched in ranges:
            heard = self._network.last_lost.pop((fetched.topic, fetched.partition), None) if fetched.events else None
            if heard is not False:
                self.lanes.on_its_way(fetched)
            if heard is None:
                self._send(fetched)
            else:
                self._network.tell(f"the last range of {fetched.topic}/{fetched.partition} is lost, at {fetched.start}")

    def _judged(self, topic: str, number: int, read: Read) -> Read:
        """What an answer brought up to a batch that cannot be read; or an event that stands for that (polling.py)."""
        for place, record in enumerate(read.records):
            reason = record.reason if isinstance(record, Unreadable) else self._damage(topic, number, record)
            if reason is None:
                continue
            wrong = UnreadableError("it cannot", record.offset, record.next, reason, record.value or b"")
            try:
                event = self._refusals.refuse(TopicPartition(topic, number), SOURCES[topic], wrong)
            except FetchAgainError:
                return read._replace(records=read.records[:place], next=record.offset)
            read.records[place] = _Refused(record, event)
        return read

    def _damage(self, topic: str, number: int, record: Record) -> UnreadableReason | None:
        where = topic, number, record.offset
        if where in self._damaged or not self._network.happens(self._damages):
            return None
        self._damaged.add(where)
        return "checksum"

    def _cut(self, topic: str, number: int, placed: _Placed, read: Read) -> list[Fetched]:
        """One to three ranges of what one answer brought."""
        records, start, ranges = read.records, placed.position, list[Fetched]()
        while len(records) > 1 and len(ranges) < 2 and self._random.random() < 0.3:
            size = self._random.randrange(1, len(records))
            ranges.append(_fetched(topic, number, placed.epoch, start, records[size - 1].next, records[:size]))
            start, records = ranges[-1].next, records[size:]
        placed.position = read.next
        if records or read.next != start:
            ranges.append(_fetched(topic, number, placed.epoch, start, read.next, records))
        return ranges

    def _send(self, fetched: Fetched) -> None:
        """Lets the range reach its lane, or not, or twice, or after others."""
        weather, happens, random = self._network.weather, self._network.happens, self._random
        self._sent = [*self._sent[-20:], fetched]
        if happens(weather.frame_lost):
            return
        if happens(weather.frame_late):
            self._loop.call_later(random.uniform(0.0, 0.5), self.lanes.offer, fetched)
        else:
            self._outbox.append(fetched)
            self._loop.call_soon(self._deliver)
        if happens(weather.frame_twice):
            self._loop.call_later(random.uniform(0.0, 0.3), self.lanes.offer, fetched)
        if happens(weather.frame_stale):
            self._loop.call_later(random.uniform(0.0, 0.3), self.lanes.offer, random.choice(self._sent))

    def _deliver(self) -> None:
        """Hands the next range over: in order, whichever turn this is."""
        self.lanes.offer(self._outbox.popleft())


def _fetched(topic: str, number: int, epoch: int, start: int, end: int, records: Sequence[Record]) -> Fetched:
    events = [
        r.event
        if isinstance(r, _Refused)
        else event_for(SOURCES[topic], r.offset, r.timestamp, r.headers, r.key, r.value)
        for r in records
    ]
    return Fetched(topic, number, epoch, start, end, events, sum(record.byte_count for record in records))


class _Lanes(Lanes):
    """Lanes of which none may fail: nothing in a simulation is a reason to."""

    def _fail(self, lane: Lane, error: Exception) -> None:
        self._on_fatal(error)
        super()._fail(lane, error)


class Worker:
    """A process with lanes. `name` is that of its place (a static member); a restarted worker is another object."""

    def __init__(
        self,
        process: Process,
        loop: SimulatedLoop,
        broker: Broker,
        group: Group,
        random: Random,
        *,
        settings: Settings,
        folds: Sequence[Fold],
        policy: bytes,
        feed: PolicyFeed,
        make_ledger: MakeLedger,
        shelves: Shelves,
        snapshots_every: float | None,
        signer: Signer | None,
        on_fatal: Callable[[BaseException], None],
        is_static: bool,
        fence: ClockFence | None,
        damages: float,
    ) -> None:
        self.process, self._group, self._network, self._random = process, group, broker.network, random
        self._loop = loop
        self.name = process.name if is_static else f"{process.name}-{loop.time()}"
        self._is_static, self._has_standbys = is_static, snapshots_every is not None
        self.generation = -1
        self.fetcher = Fetcher(process, loop, broker, random, damages=damages)
        tips = {fold.name: Tips(settings.partitions) for fold in folds}
        identities = Identities(group_of(settings))

        def scheduler(
            fold: Fold, number: int, standby: Callable[[], Restored | None] = lambda: None
        ) -> SnapshotScheduler | None:
            if snapshots_every is None:
                return None
            return SnapshotScheduler(shelves.of(process.name, fold.name, number), fold, snapshots_every, standby)

        def checkpoints(fold: Fold, number: int) -> Checkpoints | None:
            if signer is None:
                return None
            return checkpoints_of(settings, signer, number, tips[fold.name], None, fold.ledger, fold.checkpoints)

        self._standing = Standing(SESSION_SECONDS - LISTEN_SECONDS)

        def member() -> Member:
            if self._standing.is_lost(loop.time()):
                raise NotAMemberError("the group's coordinator is silent")
            return Member(identities.group, self.name, self.generation)

        self._clocks = clocks = None
        if fence is not None:
            self._clocks = clocks = Clocks(fence, self._broker_times, wall=process.now_ms, monotonic=self._monotonic)

        def claimant(fold: Fold, number: int) -> Claimant:
            name = origin_of(settings, number, fold.ledger)
            return Claimant(number, name, self.name, "0", signer, member, process.now_ms, settings.app_id)

        def make_standby(fold: Fold, number: int) -> Standby:
            kept = scheduler(fold, number)
            return Standby(settings, fold, number, kept.starts if kept is not None else lambda: iter(()))

        def make(fold: Fold, number: int) -> Lane:
            return Lane(
                number,
                settings.partitions,
                fold=fold,
                ledger=make_ledger(settings, fold, number),
                inputs=self.fetcher,
                policy=policy,
                identity=identities.of(settings, fold.ledger),
                max_block_wait=settings.max_block_wait,
                clock=process.now_ms,
                scheduler=scheduler(fold, number, lambda: self.standbys[fold.name].take(number)),
                checkpoints=checkpoints(fold, number),
                claimant=claimant(fold, number),
                policies=feed,
                clocks=clocks,
            )

        self.lanes = self.fetcher.lanes = _Lanes(folds, make, on_fatal, stall_seconds=STALL_SECONDS)
        self.standbys = {fold.name: Standbys(partial(make_standby, fold), supervised) for fold in folds}
        process.spawn(self.fetcher.run())
        process.spawn(self.fetcher.ask_for_ends())
        process.spawn(self.fetcher.ask_for_ids())
        process.spawn(self._listen())
        self._member = process.spawn(self._belong())

    async def _belong(self) -> None:
        """A member's life: joins, gets lanes, says that it is there, until it has to join again."""
        is_new = self._is_static
        if self._clocks is not None:
            await self._clocks.wait()
        while True:
            try:
                generation, numbers, standbys = await self._join(is_new)
            except KafkaError:
                await asyncio.sleep(0.2)
                continue
            is_new, self.generation = False, generation
            await asyncio.sleep(self._network.delay())
            self.fetcher.assignment, self.fetcher.assigned = object(), frozenset(numbers)
            self.lanes.assign(numbers)
            self._standing.answered(self._loop.time())
            self._standing.joining = False
            self.process.heard_at = self._loop.time()
            if self._has_standbys:
                for of_fold in self.standbys.values():
                    of_fold.assign(standbys)
            while await self._may_stay(generation):  # noqa: ASYNC110 -- the group is asked, not waited for
                await asyncio.sleep(HEARTBEAT_SECONDS)
            self._standing.joining = True
            await self.lanes.suspend()

    async def _broker_times(self) -> list[BrokerTime]:
        """What the one broker says of the time, where it answers (broker_times.py)."""
        sent = self._monotonic()
        try:
            appended_at = await self._network.ask(handled(self._loop.now_ms))
        except KafkaError:
            return []
        return [BrokerTime(0, appended_at, sent, self._monotonic())]

    def _monotonic(self) -> int:
        """Milliseconds that nobody can set."""
        return int(self._loop.time() * 1000)

    async def _listen(self) -> None:
        """Stops the lanes once the group's coordinator has been silent for a session, as consumer.py does."""
        was_lost = False
        while True:
            until = self.process.heard_at + SESSION_SECONDS - LISTEN_SECONDS - self._loop.time()  # not lost before
            await asyncio.sleep(max(LISTEN_SECONDS, until))
            if (is_lost := self._standing.is_lost(self._loop.time())) != was_lost:
                was_lost = is_lost
                (self.lanes.give_up if is_lost else self.lanes.take_back)()

    async def _ask_group(self, handle: Callable[[Answer], None]) -> Any:
        if self.process.is_cut_off:
            await asyncio.sleep(self._network.delay())
            raise KafkaConnectionError("the group's coordinator does not answer this worker")
        return await self._network.ask(handle, may_be_late=False)

    async def _join(self, is_new: bool) -> tuple[int, list[int], list[int]]:
        held = sorted(self.lanes.numbers)

        def join(answer: Any) -> None:
            self._group.join(self.name, held, is_new, answer)

        return await self._ask_group(join)

    async def _may_stay(self, generation: int) -> bool:
        asked = self._loop.time()
        try:
            stays = await self._ask_group(handled(self._group.heartbeat, self.name, generation))
        except KafkaError:
            return True
        if stays:
            self._standing.answered(asked)
            self.process.heard_at = asked
        return stays

    async def stop(self) -> None:
        """Ends in order: what is in flight is committed, and the group knows."""
        await self.lanes.stop()
        for of_fold in self.standbys.values():
            await of_fold.stop()
        self._member.cancel()
        try:
            await self._ask_group(handled(self._group.leave, self.name))
        except KafkaError:
            pass
