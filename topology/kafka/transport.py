"""The driver `lanes://`: Faust's aiokafka driver, handing agents one event per fetched batch of one partition.

The consumer lives in a thread of its own. Positions and records are always read there, in one moment; the main thread
is handed ranges with their ends.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Container, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from math import inf
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import ConsumerStoppedError, KafkaError, NoOffsetForPartitionError, OffsetOutOfRangeError
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.tuples import ConsumerMessage

from ...codecs.errors import DoesNotHoldError, UsageError
from ..settings.process import now_ms
from . import membership
from .aiokafka_inside import (
    HookedFetcher,
    certificate_end_of,
    client_of,
    coordinator_of,
    fetcher_of,
    forget_fetched,
    hook_fetcher,
    is_closed,
    subscriptions_of,
    waiting_in,
)
from .assignor import HandOver, LaneAssignor, MemberState
from .connect import client_options, unreachable, until_answered
from .membership import Member, NotAMemberError
from .packed_batches import EventDecoder, Refusals
from .partition_reader import nothing_follows
from .polling import ANSWER_BYTES, NOTHING, Bounds, Drained, Fetched, drain
from .reconnect import paced
from .requests import EARLIEST, TopicNow, log_ends, topics_now
from .topics import topic_name

FETCH_WAIT_MS = 250
"""How long the broker holds an empty fetch."""
PARTIAL_WAIT_MS = 10
"""The same where some inputs are left out of it, since what came of them has not been taken yet."""
HURRY_SECONDS = 3.0
"""The same for so long after a rebalance, until every lane has sought: one that has must not wait for the idle inputs
of those that were before it."""
PACE_SECONDS, SLOW_PACE_SECONDS = 0.04, 0.08
PACED_BYTES, DEEP_BYTES = 65_536, 2_000_000
"""A request begins so long behind the one before at the least, where so many bytes wait here to be taken (as they
travel); never longer behind than a block may stay open."""
EMPTY_SECONDS = 5.0
"""An input's end must be out of reach for so long, with nothing fetched, before somebody looks what is there."""
COMMIT_SECONDS = 2.0
LISTEN_SECONDS = 0.3

T = TypeVar("T")
FAUST_LOG = logging.getLogger("faust.transport.lanes")
"""mode would log the comings and goings of services under our name, as if they were lanes'."""
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Unread(NamedTuple):
    """An input that is not read any further: since which seek, from which offset on, and why."""

    partition: TP
    epoch: int
    offset: int
    error: DoesNotHoldError


class Answered(NamedTuple):
    """Where an input ends, and when that was told, Unix ms; since which seek it is read, and how far ranges came; and
    where its log ends: further where a transaction is open."""

    partition: TP
    end: int
    time: int
    epoch: int
    handed: int
    high: int


class Poll(NamedTuple):
    """What one poll brought: ranges, what is known of the inputs that were fetched, and lost positions.

    `unread` has the inputs whose lanes must stop.
    """

    ranges: dict[TP, Fetched]
    answers: list[Answered]
    lost: list[TP]
    unread: Sequence[Unread] = ()


class Ended(NamedTuple):
    """Where an input ended, and when its leader was asked, Unix ms."""

    end: int
    asked: int


class _Placed:
    """Where a lane has sought: the epoch of its ranges, the assignment that it holds in, and how far ranges came."""

    __slots__ = ("assignment", "end", "epoch", "handed", "looks_at", "probe")

    def __init__(self, epoch: int, assignment: object, handed: int) -> None:
        self.epoch, self.assignment, self.handed = epoch, assignment, handed
        self.end = 0  # by the leader's word
        self.looks_at: float | None = None
        self.probe: asyncio.Task[None] | None = None


class LaneFetcher(HookedFetcher):
    """aiokafka's fetcher, which has one request under way at a time and leaves out what it still holds records of.

    A request without the busy inputs would be held by the broker for as long as the idle ones are silent, and nobody
    could fetch the busy ones meanwhile. So while anything waits here to be taken, an answer is not waited for.

    Under load the next request goes out some time behind the one before. A lane's transaction takes longer than a
    fetch: to ask again at once brings crumbs that wait for it, and costs worker and broker as much as they gain. Where
    several blocks' worth waits here, it goes out later still: lanes are behind, and a transaction that has more of them
    to take costs no more.
    """

    hurries_until = 0.0
    """Until then the broker holds no request for long; by the monotonic clock."""
    longest_pace = 0.0
    """Seconds between the beginnings of two requests, at the most."""
    _asked_at = 0.0
    _waiting = 0

    @property
    def pace(self) -> float:
        """Seconds between the beginnings of the last request and the next."""
        if self._waiting < PACED_BYTES:
            return 0.0
        return min(self.longest_pace, PACE_SECONDS if self._waiting < DEEP_BYTES else SLOW_PACE_SECONDS)

    async def before_request(self) -> None:
        if (wait := self._asked_at + self.pace - monotonic()) > 0:
            await asyncio.sleep(wait)
        self._asked_at = monotonic()

    def after_request(self, waiting: int) -> None:
        self._waiting = waiting

    def longest_wait_ms(self, *, anything_waits: bool) -> int:
        return PARTIAL_WAIT_MS if anything_waits or monotonic() < self.hurries_until else FETCH_WAIT_MS


class _Thread(driver.AIOKafkaConsumerThread.Worker):
    """Ends with its process. Who stops the consumer waits for it; who was cut short in that must end as well."""

    def __init__(self, service: Any, **settings: Any) -> None:
        super().__init__(service, **settings)
        self.daemon = True


class LaneConsumerThread(driver.AIOKafkaConsumerThread):
    """The consumer's own thread. What is below runs in it, so positions and records are always of one moment."""

    Worker = _Thread
    logger = FAUST_LOG
    app: Any  # App of app.py, which imports this module
    consumer: Any

    def __post_init__(self) -> None:
        super().__post_init__()
        self._placed: dict[TopicPartition, _Placed] = {}
        self._drain = drain
        self._refusals = Refusals(goes_on=self.app.settings.on_poison == "go-on")
        self._listening: asyncio.Task[None] | None = None
        self._leader_epochs: dict[TopicPartition, int] = {}
        settings = self.app.settings
        self._hand_over = HandOver(settings.hand_over_blocks, settings.hand_over_timeout)
        session: float = settings.session_timeout
        # The lanes are told a little before the session may end: it is looked at every `LISTEN_SECONDS`.
        self._standing = membership.Standing(session - min(LISTEN_SECONDS, session / 4))

    async def on_start(self) -> None:
        await until_answered(self.app.settings, self._connect)
        consumer: Any = self._ensure_consumer()
        hook_fetcher(consumer, LaneFetcher).longest_pace = self.app.settings.max_block_wait
        coordinator = coordinator_of(consumer)
        if self._name is not None:
            membership.hold_on(coordinator)
        membership.keep_standing(coordinator, self._standing)
        self._listening = asyncio.create_task(self._listen(coordinator))

    async def _connect(self) -> None:
        """Makes the consumer and starts it; one that reaches no broker is closed again."""
        try:
            await super().on_start()
        except KafkaError as error:
            consumer = self._ensure_consumer()
            await consumer.stop()
            raise unreachable(self.app.settings, error, consumer) from None

    async def on_thread_stop(self) -> None:
        if self._listening is not None:
            self._listening.cancel()
        await super().on_thread_stop()

    async def _listen(self, coordinator: Any) -> None:
        """Takes up what the group's coordinator has to tell, and stops the lanes once it has been silent for too long.

        aiokafka's waits with it until it is polled, and Faust does not poll during a rebalance: a member that is
        refused just then would be silent for ever, and look alive.
        """
        was_lost, inputs = False, set(self.app.physical.values())
        while True:
            await asyncio.sleep(LISTEN_SECONDS)
            if (is_lost := self._standing.is_lost(monotonic())) != was_lost:
                was_lost = is_lost
                self.app.loop.call_soon_threadsafe(self.app.lanes.give_up if is_lost else self.app.lanes.take_back)
            try:
                with membership.judged(self._name):
                    coordinator.check_errors()
            except Exception as error:  # noqa: BLE001 -- it is the worker's end, and gets told there
                self.app.loop.call_soon_threadsafe(self.app.fail, error)
                return
            self._look_for(inputs)
            self._ask_for_lanes(coordinator)

    def _ask_for_lanes(self, coordinator: Any) -> None:
        """Asks for a rebalance where lanes that this worker awaits can move to it, or are awaited for too long."""
        if self._standing.joining or self._standing.is_lost(monotonic()):
            return
        if self._hand_over.asks(self.app.behind, monotonic()):
            log.info("ready for lanes: asking for a rebalance", lanes=sorted(self._hand_over.awaited))
        elif not self._hand_over.ends_waiting(monotonic()):
            return
        coordinator.request_rejoin()

    def _look_for(self, inputs: set[str]) -> None:
        """Asks for new metadata while an input is not there: aiokafka itself would see it again after five minutes.

        A topic that is deleted leaves the group's assignment, and all lanes with it, until it is made again.
        """
        client = client_of(self._ensure_consumer())
        if client.cluster.brokers() and not inputs <= client.cluster.topics():
            client.force_metadata_update()

    def member(self) -> Member:
        """Who this worker is in its group, as of its last assignment.

        Raises:
            NotAMemberError: nobody: it has joined none, or must assume that it was replaced.
        """
        coordinator = coordinator_of(self._ensure_consumer())
        member, generation = coordinator.member_id, coordinator.generation
        if self._standing.is_lost(monotonic()) or not member or generation < 0:  # to the broker that is no member
            raise NotAMemberError("the group's coordinator is silent, or has not said who we are")
        return Member(coordinator.group_id, member, generation, self._name)

    async def ask(self, question: Callable[..., Coroutine[Any, Any, T]], *arguments: object) -> T:
        """Puts a question to brokers in this thread, and waits for the answer in the caller's.

        `call_thread` has two places for all calls, the polls among them. A broker that is away lets a question wait for
        tens of seconds, so that two lanes that ask it would keep every other lane from being read.
        """
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question(*arguments), self.thread_loop))

    def _claim(self) -> MemberState:
        lanes = self.app.lanes
        behind = dict(self.app.behind) if self._hand_over.within else None
        settings = self.app.settings
        names = (settings.app_id, settings.topic_prefix)
        return MemberState(lanes.numbers, dict(self.app.heights), lanes.blocks, behind, *names)

    def _assigned(self, to_follow: list[int]) -> None:
        """The group was rebalanced. Nothing is fetched before its lane seeks.

        aiokafka would begin where the group's offsets are. What comes of that belongs to no lane, and while it lies
        here nothing else is asked of its broker. With a position each partition is left alone until then: without one
        aiokafka asks the group's coordinator for it, a request for each partition.
        """
        consumer: Any = self._ensure_consumer()
        for partition in consumer.assignment():
            consumer.pause(partition)
            consumer.seek(partition, 0)
        fetcher_of(consumer).hurries_until = monotonic() + HURRY_SECONDS
        self.app.loop.call_soon_threadsafe(self.app.stand_by, to_follow)

    def _refused(self, sentence: str) -> None:
        """The group's leader gives this worker nothing: it is misconfigured, and ends."""
        error = UsageError(sentence, hint="each installation has its own topic_prefix and topics")
        self.app.loop.call_soon_threadsafe(self.app.fail, error)

    @property
    def _name(self) -> str | None:
        return self.app.conf.consumer_group_instance_id

    def _create_worker_consumer(self, transport: Any) -> AIOKafkaConsumer:
        conf = self.app.conf
        servers: Any = driver.server_list(transport.url, transport.default_port)
        return paced(
            AIOKafkaConsumer(
                bootstrap_servers=servers,
                client_id=conf.broker_client_id,
                group_id=conf.id,
                group_instance_id=conf.consumer_group_instance_id,
                partition_assignment_strategy=[
                    LaneAssignor(
                        self._claim, self.app.settings.standby, self._assigned, self._hand_over, refused=self._refused
                    )
                ],
                enable_auto_commit=False,
                # A position that the broker does not have must be told to the lane, never quietly replaced.
                auto_offset_reset="none",
                isolation_level="read_committed" if self.app.exactly_once else "read_uncommitted",
                check_crcs=conf.broker_check_crcs,
                max_poll_records=conf.broker_max_poll_records,
                fetch_max_bytes=ANSWER_BYTES,
                max_partition_fetch_bytes=self.app.fetch_bytes,
                fetch_max_wait_ms=FETCH_WAIT_MS,
                request_timeout_ms=int(conf.broker_request_timeout * 1000),
                session_timeout_ms=int(conf.broker_session_timeout * 1000),
                rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
                heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
                **client_options(self.app.settings),
            )
        )

    async def _fetch_records(  # the parameters are Faust's
        self,
        consumer: Any,
        active_partitions: Any,
        timeout: float | None = None,  # noqa: ASYNC109
        max_records: int | None = None,
    ) -> Any:
        """What has come of the active partitions, as a `Poll`; waits up to `timeout` for the first records."""
        poll = Poll({}, [], [])
        ranges, answers, lost = poll.ranges, poll.answers, poll.lost
        if not self.consumer.flow_active:
            return poll
        fetcher, subscriptions = fetcher_of(consumer), subscriptions_of(consumer)
        if is_closed(consumer):
            raise ConsumerStoppedError
        records: dict[Any, Drained] = {}
        gone: dict[TopicPartition, int] = {}
        with membership.judged(self._name), subscriptions.fetch_context():
            try:
                wait, most = timeout or 0.0, max_records or 1
                unpacked = self.app.settings.max_unpacked_bytes
                records = await self._drain(fetcher, active_partitions, wait, most, self._decoder_of, unpacked)
            except OffsetOutOfRangeError as error:
                gone = error.args[0]
            except NoOffsetForPartitionError:
                pass  # a poll that outlasted a rebalance; no lane has sought in the new assignment yet
        subscription = subscriptions.subscription
        if subscription is None or subscription.assignment is None:
            return poll
        lost.extend(TP(*partition) for partition in gone if self._is_placed(partition, subscription.assignment))
        for partition in active_partitions:
            # In a new assignment aiokafka starts from the group's offsets, which mean nothing: no range before a seek.
            if not self._is_placed(partition, subscription.assignment):
                continue
            placed = self._placed[partition]
            state = subscription.assignment.state_value(partition)
            if not state.has_valid_position:
                continue
            (batch, byte_count), start, position = records.get(partition, NOTHING), placed.handed, state.position
            if batch or position != start:
                placed.handed, placed.looks_at = position, None
                ranges[partition] = Fetched(
                    partition.topic, partition.partition, placed.epoch, start, position, batch, byte_count
                )
            end = state.lso if state.lso is not None and state.lso >= 0 else state.highwater
            if end is not None and state.timestamp is not None:
                high = end if state.highwater is None else state.highwater
                answers.append(Answered(partition, end, state.timestamp, placed.epoch, placed.handed, high))
            if position < placed.end and partition not in waiting_in(fetcher):
                self._look_at(partition, placed, position, placed.end)
        return poll._replace(unread=self._unread(subscription.assignment))

    def _decoder_of(self, partition: TopicPartition) -> EventDecoder:
        decoder: EventDecoder = self.app.decoder_of(partition)
        return decoder._replace(refuse=partial(self._refusals.refuse, partition))

    def _unread(self, assignment: object) -> tuple[Unread, ...]:
        """The inputs that are not read any further; they rest until they are sought."""
        stopped = dict(self._refusals.stopped)
        self._refusals.stopped.clear()
        found = {partition: one for partition, one in stopped.items() if self._is_placed(partition, assignment)}
        if found:
            self.rest({TP(*partition) for partition in found})
        return tuple(Unread(TP(*partition), self._placed[partition].epoch, *one) for partition, one in found.items())

    async def ends(self, partitions: Collection[TopicPartition]) -> dict[TopicPartition, Ended]:
        """Where partitions end by their leaders' own word; of one whose leader does not say, nothing."""
        asked = now_ms()
        found = await log_ends(self._ensure_consumer(), partitions, known=self._leader_epochs)
        for partition, (end, epoch) in found.items():
            self._leader_epochs[partition] = epoch
            if placed := self._placed.get(partition):
                placed.end = end
        return {partition: Ended(end, asked) for partition, (end, _) in found.items()}

    def touch(self) -> None:
        """Nothing is wanted now: that is no reason to leave the group, as aiokafka would after five idle minutes."""
        with subscriptions_of(self._ensure_consumer()).fetch_context():
            pass

    def rest(self, partitions: Collection[TP]) -> None:
        """Fetches nothing of these any more, until they are sought: what came of them would wait for nobody.

        While anything waits, aiokafka's fetcher asks for the others a hundred times a second.
        """
        consumer: Any = self._ensure_consumer()
        for partition in consumer.assignment():
            if partition in partitions:
                consumer.pause(partition)
                forget_fetched(fetcher_of(consumer), partition)

    def _look_at(self, partition: TopicPartition, placed: _Placed, position: int, end: int) -> None:
        """An input's leader says that it ends beyond our position, and nothing comes: sees that somebody looks.

        A marker that the broker has removed would keep the watermark, and whatever waits on it, for ever.
        """
        now = monotonic()
        if placed.looks_at is None:
            placed.looks_at = now + EMPTY_SECONDS
        elif now >= placed.looks_at and placed.probe is None:
            placed.looks_at = now + EMPTY_SECONDS
            placed.probe = asyncio.create_task(self._pass_over(partition, placed, position, end))

    async def _pass_over(self, partition: TopicPartition, placed: _Placed, position: int, end: int) -> None:
        """Goes on at `end` where an answer about this partition alone says that nothing lies before it."""
        consumer = self._ensure_consumer()
        try:
            if not await nothing_follows(self.app.settings, partition, position):
                return
            subscription = subscriptions_of(consumer).subscription
            if subscription is None or self._placed.get(partition) is not placed:
                return
            if not self._is_placed(partition, subscription.assignment):
                return
            if subscription.assignment.state_value(partition).position == position:
                consumer.seek(partition, end)
        except Exception as error:  # noqa: BLE001 -- it will be tried again
            log.debug("could not look at an input's end", topic=partition.topic, error=repr(error))
        finally:
            placed.probe = None

    def _is_placed(self, partition: TopicPartition, assignment: object) -> bool:
        placed = self._placed.get(partition)
        return placed is not None and placed.assignment is assignment

    async def place(self, positions: Mapping[TopicPartition, int], epoch: int) -> None:
        """Seeks: ranges from here on carry `epoch`, and the first of each partition starts at its position."""
        consumer = self._ensure_consumer()
        subscription = subscriptions_of(consumer).subscription
        for partition, offset in positions.items():
            consumer.seek(partition, offset)
            consumer.resume(partition)
            self._refusals.forget(partition)
            assert subscription is not None, "a seek needs an assignment"
            self._placed[partition] = _Placed(epoch, subscription.assignment, offset)
        fetcher = fetcher_of(consumer)
        if subscription is None or monotonic() >= fetcher.hurries_until:
            return
        if all(self._is_placed(one, subscription.assignment) for one in consumer.assignment()):
            fetcher.hurries_until = 0.0

    async def look(
        self, topics: Collection[str], logs: Collection[TopicPartition]
    ) -> tuple[dict[str, TopicNow], dict[TopicPartition, int], float | None]:
        """Topics as one broker knows them (`requests.topics_now`), the first offsets that logs keep, and when a
        broker's certificate expires, Unix seconds."""
        consumer = self._ensure_consumer()
        found, starts = await asyncio.gather(topics_now(consumer, topics), log_ends(consumer, logs, at=EARLIEST))
        ends = certificate_end_of(client_of(consumer))
        return found, {partition: start.offset for partition, start in starts.items()}, ends

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
        """Nothing: lane_control.py looks at the lanes' progress instead."""


class Transport(driver.Transport):
    """What the URL scheme `lanes` stands for."""

    Consumer = LaneConsumer
