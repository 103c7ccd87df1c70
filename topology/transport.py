"""The driver `frames://`: Faust's aiokafka driver, handing agents one event per fetched batch of one partition.

Faust's own path costs more per message than the whole fold, and commits offsets apart from outputs (architecture.md,
«Faust, and why a transport of our own»). What this driver owns instead: frames with their exact range of offsets, where
each fetch answer says that an input ends, seeks with an epoch that tells frames from before and after apart, and
back-pressure up to the fetcher. Faust's bookkeeping of acknowledgements, gaps and commits is switched off: positions
are the ledger's, and what the consumer group is told of them is for lag monitors only.

`app.lanes` (lanes.py) is told what comes, and asked what may be fetched.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import ConsumerStoppedError, NoOffsetForPartitionError, OffsetOutOfRangeError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from .assignor import LaneAssignor
from .contracts import Bounds
from .intake import Frame, octets_of

POLL_SECONDS = 0.1
"""How long one poll waits for records. Fetch answers without any are noticed this late, so marks lag by no more."""
PRESSED_SECONDS = 0.02
"""The same while a full lane is left out of the poll, and could be fetched for again at any moment."""
FETCH_WAIT_MS = 250
"""How long the broker holds an empty fetch: twice this is about how far the watermark lags on idle inputs."""
FETCH_BYTES = 4_194_304
"""Of one partition in one answer. Not less than the greatest record that the broker takes."""
COMMIT_SECONDS = 2.0

FAUST_LOG = logging.getLogger("faust.transport.frames")
"""mode would log the comings and goings of services under our name, as if they were lanes'."""
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Poll(NamedTuple):
    """What one poll brought: frames, where the fetched inputs end and when that was told, and lost positions."""

    frames: dict[TP, Frame]
    answers: list[tuple[TP, int, int]]
    lost: list[TP]


class _Placed:
    """Where a lane has sought: the epoch of its frames, the assignment that it holds in, and how far frames came."""

    __slots__ = ("assignment", "epoch", "handed")

    def __init__(self, epoch: int, assignment: object, handed: int) -> None:
        self.epoch, self.assignment, self.handed = epoch, assignment, handed


class FrameConsumerThread(driver.AIOKafkaConsumerThread):
    """The consumer's own thread. What is below runs in it, so positions and records are always of one moment."""

    logger = FAUST_LOG
    app: Any  # App of app.py, which imports this module
    consumer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self._placed: dict[TopicPartition, _Placed] = {}

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:
        conf = self.app.conf
        servers: Any = driver.server_list(transport.url, transport.default_port)
        return AIOKafkaConsumer(
            bootstrap_servers=servers,
            client_id=conf.broker_client_id,
            group_id=conf.id,
            group_instance_id=conf.consumer_group_instance_id,
            partition_assignment_strategy=[LaneAssignor(lambda: self.app.lanes.numbers)],
            enable_auto_commit=False,
            # A position that the broker does not have must be told to the lane, never quietly replaced.
            auto_offset_reset="none",
            isolation_level="read_committed" if self.app.exactly_once else "read_uncommitted",
            check_crcs=conf.broker_check_crcs,
            max_poll_records=conf.broker_max_poll_records,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            request_timeout_ms=int(conf.broker_request_timeout * 1000),
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
        )

    async def _fetch_records(  # the parameters are Faust's
        self,
        consumer: Any,
        active_partitions: Any,
        timeout: float | None = None,  # noqa: ASYNC109
        max_records: int | None = None,
    ) -> Any:
        """What has come of the active partitions, as a `Poll`; waits up to `timeout` for the first records."""
        frames, answers, lost = poll = Poll({}, [], [])
        if not self.consumer.flow_active:
            return poll
        fetcher = consumer._fetcher
        subscriptions = fetcher._subscriptions
        if consumer._closed or fetcher._closed:
            raise ConsumerStoppedError
        records: dict[Any, list[Any]] = {}
        gone: dict[TopicPartition, int] = {}
        with subscriptions.fetch_context():
            try:
                records = await fetcher.fetched_records(active_partitions, timeout=timeout, max_records=max_records)
            except OffsetOutOfRangeError as error:
                gone = error.args[0]
            except NoOffsetForPartitionError:
                pass  # a poll that outlasted a rebalance; no lane has sought in the new assignment yet
        subscription = subscriptions.subscription
        if subscription is None or subscription.assignment is None:
            return poll
        lost.extend(TP(*partition) for partition in gone if self._is_placed(partition, subscription.assignment))
        for partition in active_partitions:
            # In a new assignment aiokafka starts from the group's offsets, which mean nothing: no frame before a seek.
            if not self._is_placed(partition, subscription.assignment):
                continue
            placed = self._placed[partition]
            state = subscription.assignment.state_value(partition)
            if not state.has_valid_position:
                continue
            batch, start, position = records.get(partition, ()), placed.handed, state.position
            if batch or position != start:
                placed.handed = position
                frames[partition] = Frame(
                    partition.topic, partition.partition, placed.epoch, start, position, batch, octets_of(batch)
                )
            end = state.lso if state.lso is not None and state.lso >= 0 else state.highwater
            if end is not None and state.timestamp is not None:
                answers.append((partition, end, state.timestamp))
        return poll

    def _is_placed(self, partition: TopicPartition, assignment: object) -> bool:
        placed = self._placed.get(partition)
        return placed is not None and placed.assignment is assignment

    async def place(self, positions: Mapping[TopicPartition, int], epoch: int) -> None:
        """Seeks: frames from here on carry `epoch`, and the first of each partition starts at its position."""
        consumer = self._ensure_consumer()
        subscription = consumer._subscription.subscription
        for partition, offset in positions.items():
            consumer.seek(partition, offset)
            assert subscription is not None, "a seek needs an assignment"
            self._placed[partition] = _Placed(epoch, subscription.assignment, offset)

    async def bounds(self, partitions: list[TopicPartition]) -> dict[TopicPartition, Bounds]:
        """What the broker holds of these partitions now."""
        consumer = self._ensure_consumer()
        first, end = await asyncio.gather(consumer.beginning_offsets(partitions), consumer.end_offsets(partitions))
        return {
            partition: Bounds(
                len(consumer.partitions_for_topic(partition.topic) or ()), first[partition], end[partition]
            )
            for partition in partitions
        }

    async def tell_group(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Commits offsets for lag monitors. Nobody here ever reads them, so a failure is no more than a missing one."""
        consumer = self._ensure_consumer()
        ours = {partition: offset for partition, offset in offsets.items() if partition in consumer.assignment()}
        task = asyncio.create_task(consumer.commit(ours))
        # Not cancelled where it takes long: aiokafka shields what it sends, and nobody would hear of its failure.
        task.add_done_callback(_tell_failure)
        await asyncio.wait((task,), timeout=COMMIT_SECONDS)


def _tell_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.debug("the group was not told its offsets", error=str(error) or repr(error))


class _NoOffsets(dict[TP, int | None]):
    """Stands in for Faust's record of the last offset of each partition: it would drop what a lane sought back for."""

    def __getitem__(self, tp: TP) -> None:
        return None

    def __setitem__(self, tp: TP, offset: int | None) -> None:
        pass


class FrameConsumer(driver.Consumer):
    """The consumer as Faust and the lanes see it, in the main thread."""

    logger = FAUST_LOG
    app: Any
    _thread: Any  # a FrameConsumerThread

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_offset: Any = _NoOffsets()
        self._ends: dict[TP, int] = {}
        self._told: dict[TopicPartition, int] = {}
        self._next_epoch = count()

    def _new_consumer_thread(self) -> FrameConsumerThread:
        return FrameConsumerThread(self, loop=self.loop, beacon=self.beacon)

    # ------------------------------------------------------------ frames

    async def _getmany(self, active_partitions: Any, timeout: float) -> Any:  # noqa: ASYNC109 -- Faust's
        lanes, logical = self.app.lanes, self.app.logical
        may_be_fetched = lanes.wants()
        fetchable = {tp for tp in active_partitions if may_be_fetched(logical[tp.topic], tp.partition)}
        if not fetchable:  # to aiokafka an empty set means all of them
            await asyncio.sleep(PRESSED_SECONDS)
            return {}
        wait = POLL_SECONDS if len(fetchable) == len(active_partitions) else PRESSED_SECONDS
        poll = await self._thread.getmany(fetchable, min(timeout, wait))
        for tp, end, time in poll.answers:
            self._ends[tp] = end
            lanes.answered(tp.partition, logical[tp.topic], end, time)
        for tp in poll.lost:
            lanes.lost(tp.partition, logical[tp.topic])
        found: dict[TP, list[Frame]] = {}
        for tp, frame in poll.frames.items():
            frame = frame._replace(topic=logical[tp.topic])
            lanes.on_its_way(frame)
            found[tp] = [frame]
        return found

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        generation = self.app.consumer_generation_id
        return ConsumerMessage(
            tp.topic, tp.partition, record.next - 1, 0.0, 0, [], None, record, None, 0, 0, tp, generation_id=generation
        )

    def highwater(self, tp: TP) -> int:
        return self._ends.get(tp, 0)

    # ------------------------------------------------------------ for lanes

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        """Seeks a lane's inputs; frames that follow carry the epoch that is returned."""
        epoch = next(self._next_epoch)
        physical = self.app.physical
        wanted = {TopicPartition(physical[topic], lane): offset for topic, offset in positions.items()}
        await self._thread.call_thread(self._thread.place, wanted, epoch)
        return epoch

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        """What the broker holds of a lane's inputs, by logical topic."""
        partitions = {topic: TopicPartition(self.app.physical[topic], lane) for topic in topics}
        found = await self._thread.call_thread(self._thread.bounds, list(partitions.values()))
        return {topic: found[partition] for topic, partition in partitions.items()}

    # ------------------------------------------------------------ assignment

    async def on_partitions_revoked(self, revoked: set[TP]) -> None:
        await self.app.lanes.suspend()
        await super().on_partitions_revoked(revoked)

    async def on_partitions_assigned(self, assigned: set[TP], generation_id: int = 0) -> None:
        await super().on_partitions_assigned(assigned, generation_id)
        if not self.app.should_stop:
            inputs = set(self.app.physical.values())
            numbers = {tp.partition for tp in assigned}
            self.app.lanes.assign(
                number for number in numbers if all(TP(topic, number) in assigned for topic in inputs)
            )

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Nothing: each lane seeks its inputs to where its ledger ends, once it is restored."""
        return {}

    # ------------------------------------------------------------ what Faust keeps and we do not

    def track_message(self, message: Any) -> None:
        pass

    def ack(self, message: Any) -> bool:
        message.acked = True
        return True

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Tells the group, every few seconds, what the ledgers say."""
        physical = self.app.physical
        offsets = {
            TopicPartition(physical[topic], number): offset
            for (topic, number), offset in self.app.lanes.positions().items()
        }
        news = {partition: offset for partition, offset in offsets.items() if self._told.get(partition) != offset}
        if news:
            self._told.update(news)
            await self._thread.call_thread(self._thread.tell_group, news)
        return True

    def verify_event_path(self, now: float, tp: TP) -> None:
        pass


class Transport(driver.Transport):
    """What the URL scheme `frames` stands for."""

    Consumer = FrameConsumer
