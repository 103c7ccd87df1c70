"""The driver `lanes://`: Faust's aiokafka driver, handing agents one event per fetched batch of one partition.

Faust's own path costs more per message than the whole fold, and commits offsets apart from outputs
(docs/decisions/0015-a-transport-of-our-own.md).
What this driver owns instead: ranges of records with their exact offsets, where inputs end by their leaders' word,
seeks with an epoch that tells ranges from before and after apart, and back-pressure up to the fetcher. Faust's
bookkeeping of acknowledgements, gaps and commits is switched off: positions are the ledger's, and what the consumer
group is told of them is for lag monitors only.

`app.lanes` (lanes.py) is told what comes, and asked what may be fetched.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from itertools import count
from math import inf
from time import monotonic
from typing import Any

import structlog
from aiokafka import TopicPartition
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from ...codecs.errors import DoesNotHoldError
from .claiming import Member
from .consumer import FAUST_LOG, LaneConsumerThread
from .fetched import Bounds, Fetched
from .topics import topic_name

POLL_SECONDS = 0.1
"""How long one poll waits for records. Fetch answers without any are noticed this late."""
ASK_SECONDS = 1.0
"""A leader is asked for one input's end no more often than this."""
LOOK_SECONDS = 2.0
"""A broker is asked so often whether the topics are still those that they were."""
UNASSIGNED_SECONDS = 1.0
"""A worker that has no partitions looks so often whether it is still wanted."""
PRESSED_SECONDS = 0.02
"""The same while a full lane is left out of the poll, and could be fetched for again at any moment."""


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _NoOffsets(dict[TP, int | None]):
    """Stands in for Faust's record of the last offset of each partition: it would drop what a lane sought back for."""

    def __getitem__(self, tp: TP) -> None:
        return None

    def __setitem__(self, tp: TP, offset: int | None) -> None:
        pass


class LaneConsumer(driver.Consumer):
    """The consumer as Faust and the lanes see it, in the main thread."""

    logger = FAUST_LOG
    app: Any
    _thread: Any  # a LaneConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_offset: Any = _NoOffsets()
        self._ends: dict[TP, int] = {}
        self._reported: dict[TopicPartition, int] = {}
        self._next_epoch = count()
        self._asked_at: dict[TP, float] = {}
        self._asking: asyncio.Task[None] | None = None
        self._looking: asyncio.Task[None] | None = None
        self._looked_at = -inf
        self._has_partitions = asyncio.Event()

    def _new_consumer_thread(self) -> LaneConsumerThread:
        return LaneConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # ------------------------------------------------------------ ranges

    def resume_partitions(self, tps: Any) -> None:
        """Faust has taken up an assignment."""
        super().resume_partitions(tps)
        self._has_partitions.set()

    async def _wait_next_records(self, timeout: float) -> Any:  # noqa: ASYNC109 -- Faust's
        """As Faust's, which sleeps for a second where nothing is assigned: a lane that came meanwhile would wait too.

        Nor does it tell aiokafka then that somebody is here, which has a worker without lanes leave the group for good
        after five minutes: one that stands by, or awaits lanes that it still folds.
        """
        if not self.flow_active or self._get_active_partitions():
            return await super()._wait_next_records(timeout)
        self._has_partitions.clear()
        self._look_at_topics()
        await self._thread.call_thread(self._thread.touch)
        with suppress(TimeoutError):
            async with asyncio.timeout(UNASSIGNED_SECONDS):
                await self._has_partitions.wait()
        return {}, set()

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109 -- Faust's
        lanes, logical = self.app.lanes, self.app.logical
        may_be_fetched = lanes.wants()
        fetchable = {tp for tp in active_partitions if may_be_fetched(logical[tp.topic], tp.partition)}
        self._ask_for_ends(active_partitions)
        self._look_at_topics()
        if at_rest := lanes.at_rest():
            resting = {TP(self.app.physical[topic], number) for topic, number in at_rest}
            await self._thread.call_thread(self._thread.rest, resting)
        if not fetchable:  # to aiokafka an empty set means all of them
            await self._thread.call_thread(self._thread.touch)
            await asyncio.sleep(PRESSED_SECONDS)
            return {}
        wait = POLL_SECONDS if len(fetchable) == len(active_partitions) else PRESSED_SECONDS
        try:
            poll = await self._thread.getmany(fetchable, min(timeout, wait))
        except DoesNotHoldError as error:  # what the group has to say
            self.app.fail(error)
            await asyncio.sleep(timeout)
            return {}
        for tp, end, time, epoch, handed, high in poll.answers:
            self._ends[tp] = end
            lanes.answered(tp.partition, logical[tp.topic], end, time, epoch, handed, high)
        for tp in poll.lost:
            lanes.lost(tp.partition, logical[tp.topic])
        for tp, epoch, offset, error in poll.unread:
            lanes.unread(tp.partition, logical[tp.topic], epoch, offset, error)
        found: dict[TP, list[Fetched]] = {}
        for tp, fetched in poll.ranges.items():
            fetched = fetched._replace(topic=logical[tp.topic])
            lanes.on_its_way(fetched)
            found[tp] = [fetched]
        return found

    def _ask_for_ends(self, active: Container[TP]) -> None:
        """Has leaders asked where inputs end that lanes want to know of: not in our way, and one question at a time."""
        if self._asking is not None and not self._asking.done():
            return
        now, physical = monotonic(), self.app.physical
        wanted = [TP(physical[topic], number) for topic, number in self.app.lanes.asks()]
        wanted = [tp for tp in wanted if tp in active and now - self._asked_at.get(tp, -ASK_SECONDS) >= ASK_SECONDS]
        if wanted:
            self._asked_at.update(dict.fromkeys(wanted, now))
            self._asking = asyncio.create_task(self._learn_ends(wanted))

    async def _learn_ends(self, wanted: list[TP]) -> None:
        try:
            found = await self._thread.ask(self._thread.ends, wanted)
        except Exception as error:  # noqa: BLE001 -- asked again in a second
            log.debug("nobody says where inputs end", error=repr(error))
            return
        for tp, (end, asked) in found.items():
            self.app.lanes.ended(tp.partition, self.app.logical[tp.topic], end, asked)

    def _look_at_topics(self) -> None:
        """Has a broker asked, every `LOOK_SECONDS`, which the topics are and where the ledgers begin."""
        if self._looking is not None and not self._looking.done():
            return
        if (now := monotonic()) - self._looked_at >= LOOK_SECONDS:
            self._looked_at = now
            self._looking = asyncio.create_task(self._learn_topics())

    async def _learn_topics(self) -> None:
        app = self.app
        ledgers = {
            TopicPartition(topic_name(app.settings, ledger), number): (ledger, number)
            for ledger in app.ledgers
            for number in app.lanes.numbers
        }
        try:
            found, starts, ends = await self._thread.ask(self._thread.look, set(app.watched), set(ledgers))
        except Exception as error:  # noqa: BLE001 -- asked again soon
            log.debug("could not fetch the state of the topics", error=repr(error))
            return
        topics = {app.watched[name]: now for name, now in found.items()}
        app.watch.saw(topics, {ledgers[partition]: start for partition, start in starts.items()}, ends)
        app.lanes.identified({topic: now.id for topic, now in topics.items() if now.id}, app.watch.gone)

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        generation = self.app.consumer_generation_id
        return ConsumerMessage(
            tp.topic, tp.partition, record.next - 1, 0.0, 0, [], None, record, None, 0, 0, tp, generation_id=generation
        )

    def highwater(self, tp: TP) -> int:
        """The offset behind the last record of a partition as of its last fetch; 0 before the first."""
        return self._ends.get(tp, 0)

    # ------------------------------------------------------------ for lanes

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        """Seeks a lane's inputs; ranges that follow carry the epoch that is returned."""
        epoch = next(self._next_epoch)
        physical = self.app.physical
        wanted = {TopicPartition(physical[topic], lane): offset for topic, offset in positions.items()}
        await self._thread.call_thread(self._thread.place, wanted, epoch)
        return epoch

    def member(self) -> Member:
        """Who this worker is in its group: `FrameConsumerThread.member`."""
        return self._thread.member()

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        """What the broker holds of a lane's inputs, by logical topic."""
        partitions = {topic: TopicPartition(self.app.physical[topic], lane) for topic in topics}
        found = await self.app.log_bounds.of(partitions.values())
        return {topic: found[partition] for topic, partition in partitions.items()}

    # ------------------------------------------------------------ assignment

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        """Suspends the lanes before another worker gets them."""
        await self.app.lanes.suspend()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        """Gives the worker the lanes all of whose inputs it was assigned; what Faust does about them can wait."""
        if not self.app.should_stop:
            inputs = set(self.app.physical.values())
            numbers = {tp.partition for tp in assigned}
            self.app.lanes.assign(
                number for number in numbers if all(TP(topic, number) in assigned for topic in inputs)
            )
        await super().on_partitions_assigned(assigned, generation_id)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Nothing: each lane seeks its inputs to where its ledger ends, once it is restored."""
        return {}

    # ------------------------------------------------------------ what Faust keeps and we do not

    def track_message(self, message: Any) -> None:
        """Nothing: the ledger says what was processed."""

    def ack(self, message: Any) -> bool:
        """Only marks the message: offsets to commit come from the ledgers."""
        message.acked = True
        return True

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Tells the group, every few seconds, what the ledgers say."""
        physical = self.app.physical
        offsets = {
            TopicPartition(physical[topic], number): offset
            for (topic, number), offset in self.app.lanes.positions().items()
        }
        news = {partition: offset for partition, offset in offsets.items() if self._reported.get(partition) != offset}
        if news:
            self._reported.update(news)
            await self._thread.ask(self._thread.tell_group, news)
        return True

    def verify_event_path(self, now: float, tp: TP) -> None:
        """Nothing: liveness.py looks at the lanes' progress instead."""


class Transport(driver.Transport):
    """What the URL scheme `lanes` stands for."""

    Consumer = LaneConsumer
