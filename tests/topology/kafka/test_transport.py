"""The driver `lanes://`: what one poll hands over, what it holds back, and how the consumer is set up."""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import faust.transport
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import Fetcher
from aiokafka.errors import NoOffsetForPartitionError, OffsetOutOfRangeError
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from faust.types import TP

from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine import app as app_module
from sluice.topology.engine.app import App, create_app
from sluice.topology.kafka import transport as consumer_module
from sluice.topology.kafka import transport as transport_module
from sluice.topology.kafka.packed_batches import Stopped
from sluice.topology.kafka.polling import HELD_BYTES, Drained, Fetched
from sluice.topology.kafka.transport import (
    Answered,
    LaneConsumer,
    LaneConsumerThread,
    LaneFetcher,
    Poll,
    Transport,
    Unread,
)
from sluice.topology.settings.settings import Settings

EMISSIONS = TopicPartition("emissions", 0)


class Assignment:
    """aiokafka's assignment of one partition, at a position, with what the last fetch answer said."""

    def __init__(self, position: int = 0, *, lso: int | None = 0, at: int | None = 1000) -> None:
        self.state = SimpleNamespace(
            position=position, has_valid_position=True, lso=lso, highwater=99, timestamp=at, awaiting_reset=False
        )

    def state_value(self, partition: TopicPartition) -> Any:
        return self.state


class Consumer:
    """As much of aiokafka's consumer as a poll touches; `brings` is what the fetcher returns, or raises."""

    def __init__(self, assignment: Assignment) -> None:
        self._closed = False
        subscriptions = SimpleNamespace(
            subscription=SimpleNamespace(assignment=assignment), fetch_context=lambda: nullcontext()
        )
        self._subscription = subscriptions
        self._fetcher = SimpleNamespace(_closed=False, _subscriptions=subscriptions, _records={}, hurries_until=0.0)
        self._coordinator = SimpleNamespace(check_errors=lambda: None)
        self.brings: Any = {}
        self.sought: dict[TopicPartition, int] = {}
        self.paused: set[TopicPartition] = set()

    async def drain(self, *_: Any) -> Any:
        if isinstance(self.brings, BaseException):
            raise self.brings
        return {
            partition: Drained(records, sum(len(one.value) for one in records))
            for partition, records in self.brings.items()
        }

    def assignment(self) -> set[TopicPartition]:
        return {EMISSIONS}

    def pause(self, *partitions: TopicPartition) -> None:
        self.paused.update(partitions)

    def resume(self, partition: TopicPartition) -> None:
        self.paused.discard(partition)

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._subscription.subscription.assignment.state.position = self.sought[partition] = offset

    def assign(self, assignment: Assignment) -> None:
        self._subscription.subscription.assignment = assignment


def record(offset: int, value: bytes = b"v") -> Any:
    return SimpleNamespace(offset=offset, value=value)


@pytest.fixture
async def thread() -> LaneConsumerThread:
    """A consumer thread's object over a make-believe consumer, run in this thread."""
    app = create_app(Settings())
    consumer = app.consumer
    thread: Any = LaneConsumerThread(consumer, loop=asyncio.get_running_loop(), beacon=consumer.beacon)
    thread._consumer = Consumer(Assignment())
    thread._drain = thread._consumer.drain
    return thread


async def poll(thread: Any) -> Poll:
    return await thread._fetch_records(thread._consumer, {EMISSIONS}, timeout=0.1, max_records=100)


class TestPoll:
    async def test_a_batch_is_one_frame_with_its_range(self, thread: Any):
        """A range says where it starts, where the next one starts, and how much it holds."""
        await thread.place({EMISSIONS: 10}, 7)
        thread._consumer.brings = {EMISSIONS: [record(10, b"abc"), record(11, b"d")]}
        thread._consumer._subscription.subscription.assignment.state.position = 12

        found = await poll(thread)

        assert found.ranges == {EMISSIONS: Fetched("emissions", 0, 7, 10, 12, [*thread._consumer.brings[EMISSIONS]], 4)}

    async def test_an_input_that_stops_its_lane_rests_and_is_told_once(self, thread: Any):
        """With the epoch of its seek; one that was sought anew since, in another assignment, is nobody's business."""
        error = DoesNotHoldError("a batch of an input cannot be read")
        await thread.place({EMISSIONS: 10}, 7)
        thread._refusals.stopped[EMISSIONS] = Stopped(12, error)

        assert (await poll(thread)).unread == (Unread(TP("emissions", 0), 7, 12, error),)
        assert thread._consumer.paused == {EMISSIONS}
        assert (await poll(thread)).unread == ()

        thread._refusals.stopped[EMISSIONS] = Stopped(12, error)
        thread._consumer.assign(Assignment())
        assert (await poll(thread)).unread == ()

    async def test_after_a_rebalance_nothing_is_fetched_before_its_lane_seeks(
        self, thread: Any, monkeypatch: pytest.MonkeyPatch
    ):
        """And no answer is held for long until all have: the inputs of the first may be idle."""
        consumer, fetcher = thread._consumer, thread._consumer._fetcher
        told = list[list[int]]()
        monkeypatch.setattr(thread.app, "stand_by", told.append)
        thread._assigned([3])

        assert consumer.paused == {EMISSIONS}
        assert LaneFetcher.longest_wait_ms(fetcher, anything_waits=False) == consumer_module.PARTIAL_WAIT_MS

        await thread.place({EMISSIONS: 10}, 7)
        assert consumer.paused == set()
        assert LaneFetcher.longest_wait_ms(fetcher, anything_waits=False) == consumer_module.FETCH_WAIT_MS
        await asyncio.sleep(0)
        assert told == [[3]]

    async def test_an_input_that_nobody_seeks_hurries_nobody_for_ever(
        self, thread: Any, monkeypatch: pytest.MonkeyPatch
    ):
        """That of a lane that has failed, for one."""
        fetcher = thread._consumer._fetcher
        thread._assigned([])
        late = fetcher.hurries_until + 0.001
        monkeypatch.setattr(consumer_module, "monotonic", lambda: late)

        assert LaneFetcher.longest_wait_ms(fetcher, anything_waits=False) == consumer_module.FETCH_WAIT_MS

    async def test_what_rests_is_not_fetched_until_it_is_sought(self, thread: Any):
        """What had come of it goes, since nobody would take it, and a full fetcher asks for the others without a pause.

        A partition that is not here any more is nothing to rest.
        """
        await thread.place({EMISSIONS: 10}, 7)
        consumer = thread._consumer
        consumer._fetcher._records[EMISSIONS] = "what has come"

        thread.rest({TP("emissions", 0), TP("emissions", 9)})
        assert (consumer.paused, consumer._fetcher._records) == ({EMISSIONS}, {})

        await thread.place({EMISSIONS: 10}, 8)
        assert consumer.paused == set()

    async def test_markers_between_batches_are_part_of_a_frame(self, thread: Any):
        """Offsets that a transaction's marker took leave no gap between two ranges."""
        await thread.place({EMISSIONS: 0}, 1)
        state = thread._consumer._subscription.subscription.assignment.state
        thread._consumer.brings, state.position = {EMISSIONS: [record(0)]}, 2
        first = (await poll(thread)).ranges[EMISSIONS]
        thread._consumer.brings, state.position = {EMISSIONS: [record(3)]}, 4
        second = (await poll(thread)).ranges[EMISSIONS]

        assert (first.start, first.next, second.start, second.next) == (0, 2, 2, 4)

    async def test_a_marker_alone_is_a_frame_without_records(self, thread: Any):
        """So that a lane's position can reach the end of an input that ends with a marker."""
        await thread.place({EMISSIONS: 0}, 1)
        thread._consumer._subscription.subscription.assignment.state.position = 1

        fetched = (await poll(thread)).ranges[EMISSIONS]

        assert (fetched.start, fetched.next, list(fetched.events)) == (0, 1, [])

    async def test_nothing_new_is_no_frame(self, thread: Any):
        """An idle poll tells only where the input ends, and since when."""
        await thread.place({EMISSIONS: 5}, 1)
        thread._consumer._subscription.subscription.assignment.state.lso = 5

        found = await poll(thread)

        assert (found.ranges, found.answers) == ({}, [(EMISSIONS, 5, 1000, 1, 5, 99)])

    async def test_a_broker_without_stable_offsets_tells_its_high_watermark(self, thread: Any):
        """The embedded broker knows no last stable offset."""
        await thread.place({EMISSIONS: 5}, 1)
        thread._consumer._subscription.subscription.assignment.state.lso = -1

        assert (await poll(thread)).answers == [(EMISSIONS, 99, 1000, 1, 5, 99)]

    async def test_before_a_seek_nothing_is_handed_over(self, thread: Any):
        """aiokafka starts from the group's offsets; positions are the ledger's."""
        thread._consumer.brings = {EMISSIONS: [record(0)]}

        assert await poll(thread) == Poll({}, [], [])

    async def test_a_new_assignment_needs_a_new_seek(self, thread: Any):
        """After a rebalance aiokafka is at the group's offset again, whatever was sought before."""
        await thread.place({EMISSIONS: 10}, 1)
        thread._consumer.assign(Assignment(position=3))
        thread._consumer.brings = {EMISSIONS: [record(2)]}

        assert await poll(thread) == Poll({}, [], [])

    async def test_a_position_that_is_gone_is_reported(self, thread: Any):
        """Retention may overtake a lane; that is for the lane to judge, and never skipped."""
        await thread.place({EMISSIONS: 10}, 1)
        thread._consumer.brings = OffsetOutOfRangeError({EMISSIONS: 10})

        assert (await poll(thread)).lost == [TP("emissions", 0)]

    @pytest.mark.parametrize(
        "error", [OffsetOutOfRangeError({EMISSIONS: 10}), NoOffsetForPartitionError(EMISSIONS)], ids=["range", "none"]
    )
    async def test_a_poll_may_outlast_a_rebalance(self, thread: Any, error: BaseException):
        """What aiokafka says of the group's offsets in a new assignment is nothing to a lane that has yet to seek."""
        await thread.place({EMISSIONS: 10}, 1)
        thread._consumer.assign(Assignment(position=3))
        thread._consumer.brings = error

        assert await poll(thread) == Poll({}, [], [])


PLACES = [TopicPartition("emissions", number) for number in range(3)]


class Answers:
    """A broker that answers each fetch with so many bytes of one record, and when it was asked."""

    def __init__(self, *sizes: int) -> None:
        self.sizes, self.asked = list(sizes), list[float]()
        self.cluster = SimpleNamespace(leader_for_partition=lambda place: 0)
        self._loop, self._metadata_max_age_ms = None, 1000

    async def send(self, node: int, request: Any) -> Any:
        self.asked.append(asyncio.get_running_loop().time())
        builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
        builder.append(0, 5, None, bytes(self.sizes.pop(0)), [])
        return SimpleNamespace(API_VERSION=4, topics=[("emissions", [(0, 0, 1, 1, None, bytes(builder.build()))])])


@asynccontextmanager
async def fetching(client: Any = None) -> AsyncIterator[Any]:
    """aiokafka's fetcher as ours, idle."""
    subscriptions: Any = SimpleNamespace(
        register_fetch_waiters=lambda waiters: None, subscription=None, wait_for_assignment=asyncio.Event().wait
    )
    fetcher: Any = Fetcher(client or Answers(), subscriptions, fetch_max_wait_ms=250)
    try:
        fetcher.__class__ = LaneFetcher
        yield fetcher
    finally:
        await fetcher.close()


@pytest.mark.parametrize(("held", "asked", "wait"), [((), 3, 250), ((0,), 2, 10), ((0, 1, 2), 0, None)])
async def test_no_answer_is_waited_for_that_leaves_out_busy_inputs(held: tuple[int, ...], asked: int, wait: int | None):
    """aiokafka has one request under way: where it is of the idle inputs alone, nobody fetches the others meanwhile."""
    async with fetching() as fetcher:
        fetcher._records = {PLACES[number]: SimpleNamespace(calculate_backoff=lambda: 0) for number in held}
        state = SimpleNamespace(has_valid_position=True, paused=False, position=7)
        assignment: Any = SimpleNamespace(tps=PLACES, state_value=lambda place: state)
        requests, *_ = fetcher._get_actions_per_node(assignment)
    found = [(request._max_wait_ms, sum(len(some) for _, some in request._topics)) for _node, request in requests]
    assert found == ([(wait, asked)] if asked else [])


@pytest.mark.parametrize(
    ("byte_count", "longest", "pace"),
    [(1000, 60.0, 0.0), (200_000, 60.0, 0.1), (3_000_000, 60.0, 0.2), (3_000_000, 0.15, 0.15)],
)
async def test_under_load_a_request_does_not_follow_at_once(
    byte_count: int, longest: float, pace: float, monkeypatch: pytest.MonkeyPatch
):
    """The more waits to be taken, the later the next one goes out; with little to fetch nobody waits."""
    monkeypatch.setattr(consumer_module, "PACE_SECONDS", 0.1)
    monkeypatch.setattr(consumer_module, "SLOW_PACE_SECONDS", 0.2)
    client = Answers(byte_count, 10)
    async with fetching(client) as fetcher:
        fetcher.longest_pace = longest
        state = SimpleNamespace(has_valid_position=True, position=0)
        assignment: Any = SimpleNamespace(active=True, state_value=lambda place: state)
        request = FetchRequest(10, 1, 10, 0, [("emissions", [(0, 0, 9)])])
        assert await fetcher._proc_fetch_request(assignment, 0, request)
        assert fetcher.pace == pace
        assert await fetcher._proc_fetch_request(assignment, 0, request)
    first, second = client.asked
    assert (second - first >= 0.099) == bool(pace)
    assert second - first >= pace - 0.001


async def test_a_request_that_waits_ends_with_the_fetcher(monkeypatch: pytest.MonkeyPatch):
    """As aiokafka's own do, which are awaited where they are cancelled."""
    client = Answers(200_000)
    monkeypatch.setattr(consumer_module, "PACE_SECONDS", 60.0)
    async with fetching(client) as fetcher:
        fetcher.longest_pace = 60.0
        await asyncio.sleep(0)  # its own task has begun, and waits for an assignment
        state = SimpleNamespace(has_valid_position=True, position=0)
        assignment: Any = SimpleNamespace(active=True, state_value=lambda place: state)
        request = FetchRequest(10, 1, 10, 0, [("emissions", [(0, 0, 9)])])
        await fetcher._proc_fetch_request(assignment, 0, request)
        waiting = asyncio.create_task(fetcher._proc_fetch_request(assignment, 0, request))
        fetcher._pending_tasks.add(waiting)
        await asyncio.sleep(0)
    assert waiting.done()
    assert not waiting.cancelled()
    assert waiting.result() is False


class Lanes:
    """Lanes that are told things."""

    def __init__(self, full: set[str] = frozenset()) -> None:  # type: ignore[assignment]
        self.full, self.reported = full, []
        self.numbers, self.resting = frozenset({0}), frozenset[tuple[str, int]]()

    def asks(self) -> list[tuple[str, int]]:
        return []

    def at_rest(self) -> frozenset[tuple[str, int]]:
        return self.resting

    def wants(self) -> Any:
        return lambda topic, number: number in self.numbers and topic not in self.full

    def __getattr__(self, name: str) -> Any:
        return lambda *reported: self.reported.append((name, *reported))


class TestConsumer:
    @pytest.fixture
    async def app(self) -> App:
        app = create_app(Settings(topic_prefix="p."))
        consumer: Any = app.consumer
        consumer._identified_at = math.inf  # no thread runs here that could ask
        return app

    async def test_a_full_queue_is_not_fetched_for(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """Back-pressure reaches the fetcher: only inputs with room are asked for."""
        app.lanes = Lanes(full={"observations"})  # type: ignore[assignment]
        asked: list[Any] = []

        async def getmany(partitions: Any, seconds: float) -> Poll:
            asked.append((partitions, seconds))
            return Poll({}, [], [])

        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", getmany)
        active = {TP("p.emissions", 0), TP("p.observations", 0), TP("p.emissions", 1)}
        await consumer._getmany(active, 1.0)

        assert [partitions for partitions, _ in asked] == [{TP("p.emissions", 0)}]

    async def test_nothing_is_fetched_where_nothing_is_wanted(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """An empty set would mean all partitions to aiokafka."""
        app.lanes = Lanes(full={"emissions"})  # type: ignore[assignment]
        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", None)
        monkeypatch.setattr(consumer._thread, "call_thread", _nothing)

        assert await consumer._getmany({TP("p.emissions", 0)}, 1.0) == {}

    async def test_a_worker_without_partitions_is_there_at_once_when_it_gets_some(
        self, app: App, monkeypatch: pytest.MonkeyPatch
    ):
        """Until then it tells aiokafka again and again that it lives, which would leave the group otherwise."""
        monkeypatch.setattr(transport_module, "UNASSIGNED_SECONDS", 0.01)
        consumer: Any = app.consumer
        called = list[Any]()

        async def call_thread(function: Any, *arguments: Any) -> None:
            called.append(function)

        monkeypatch.setattr(consumer._thread, "call_thread", call_thread)
        for _ in range(3):
            assert await consumer._wait_next_records(1.0) == ({}, set())
        assert called == [consumer._thread.touch] * 3

        monkeypatch.setattr(transport_module, "UNASSIGNED_SECONDS", 60.0)
        waiting = asyncio.create_task(consumer._wait_next_records(1.0))
        await asyncio.sleep(0.01)
        assert not waiting.done()
        consumer.resume_partitions({TP("p.emissions", 0)})
        async with asyncio.timeout(30):
            assert await waiting == ({}, set())

    async def test_the_inputs_of_a_lane_that_failed_rest(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """They go by their names on the broker; the others are fetched as ever."""
        lanes = Lanes()
        lanes.resting = frozenset({("emissions", 1)})
        app.lanes, told = lanes, list[Any]()  # type: ignore[assignment]

        async def call_thread(function: Any, *arguments: Any) -> None:
            told.append(arguments)

        async def getmany(partitions: Any, seconds: float) -> Poll:
            told.append(partitions)
            return Poll({}, [], [])

        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", getmany)
        monkeypatch.setattr(consumer._thread, "call_thread", call_thread)
        await consumer._getmany({TP("p.emissions", 0), TP("p.emissions", 1)}, 1.0)

        assert told == [({TP("p.emissions", 1)},), {TP("p.emissions", 0)}]

    async def test_questions_that_nobody_answers_hold_up_no_poll(self, app: App):
        """Four questions to a leader that is gone, such as where inputs end: the lanes are read all the same."""
        consumer: Any = app.consumer
        thread = consumer._thread
        asked = threading.Semaphore(0)

        async def ends(_: Any) -> Any:
            asked.release()
            await asyncio.Event().wait()

        async def poll() -> str:
            return "polled"

        running = threading.Thread(target=thread.thread_loop.run_forever)
        running.start()
        try:
            await thread.ask(thread.method_queue.start)
            asking = [asyncio.create_task(thread.ask(ends, lane)) for lane in range(4)]
            for _ in asking:
                assert await asyncio.to_thread(asked.acquire, timeout=60), "each question is put at once"
            assert await asyncio.wait_for(thread.call_thread(poll), 60) == "polled"
            for task in asking:
                task.cancel()
            ended = await asyncio.gather(*asking, return_exceptions=True)
            await thread.ask(thread.method_queue.stop)
        finally:
            thread.thread_loop.call_soon_threadsafe(thread.thread_loop.stop)
            await asyncio.to_thread(running.join)

        assert [type(one) for one in ended] == [asyncio.CancelledError] * 4

    async def test_frames_go_by_logical_names(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """Lanes, and the ledger, know nothing of prefixes."""
        lanes = app.lanes = Lanes()  # type: ignore[assignment]
        partition = TP("p.emissions", 0)

        async def getmany(partitions: Any, seconds: float) -> Poll:
            answers = [Answered(partition, 1, 1000, 4, 1, 3)]
            return Poll({partition: Fetched("p.emissions", 0, 1, 0, 1, [], 0)}, answers, [partition])

        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", getmany)
        ranges = await consumer._getmany({partition}, 1.0)

        assert ranges[partition][0].topic == "emissions"
        assert lanes.reported == [  # type: ignore[attr-defined]
            ("answered", 0, "emissions", 1, 1000, 4, 1, 3),
            ("lost", 0, "emissions"),
            ("on_its_way", ranges[partition][0]),
        ]

    async def test_an_input_that_cannot_be_read_is_its_lanes_business(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """It is told from which offset on, and why; the worker goes on."""
        lanes = app.lanes = Lanes()  # type: ignore[assignment]
        partition, error = TP("p.emissions", 0), DoesNotHoldError("a batch of an input cannot be read")
        ended: list[BaseException] = []
        monkeypatch.setattr(app, "fail", ended.append)

        async def getmany(partitions: Any, seconds: float) -> Poll:
            return Poll({}, [], [], [Unread(partition, 3, 7, error)])

        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", getmany)
        await consumer._getmany({partition}, 1.0)

        assert lanes.reported == [("unread", 0, "emissions", 3, 7, error)]  # type: ignore[attr-defined]
        assert ended == []

    async def test_what_nobody_can_go_on_from_ends_the_worker_with_its_sentence(
        self, app: App, monkeypatch: pytest.MonkeyPatch
    ):
        """A group's refusal: somebody has to look, and no lane gets any further by trying again."""
        error = DoesNotHoldError("a member of this name is there already")
        app.lanes = Lanes()  # type: ignore[assignment]
        reported: list[BaseException] = []
        monkeypatch.setattr(app, "fail", reported.append)

        async def getmany(partitions: Any, seconds: float) -> Poll:
            raise error

        consumer: Any = app.consumer
        monkeypatch.setattr(consumer._thread, "getmany", getmany)

        assert await consumer._getmany({TP("p.emissions", 0)}, 0.01) == {}
        assert reported == [error]

    async def test_a_message_carries_its_frame_undecoded(self, app: App):
        """The agent's event holds the very range."""
        consumer: Any = app.consumer
        fetched = Fetched("emissions", 0, 1, 5, 9, [], 0)

        message = consumer._to_message(TP("p.emissions", 0), fetched)

        assert (message.value, message.offset, message.topic) == (fetched, 8, "p.emissions")

    async def test_no_offset_of_faust_hides_a_frame(self, app: App):
        """Faust drops what lies below an offset that it has seen; a lane that sought back needs just that."""
        consumer: Any = app.consumer
        consumer._read_offset[TP("p.emissions", 0)] = 100

        assert consumer._read_offset[TP("p.emissions", 0)] is None

    @pytest.mark.parametrize(
        ("delivery", "isolation", "crcs"),
        [("exactly-once", "read_committed", True), ("at-least-once", "read_uncommitted", False)],
    )
    async def test_the_consumer_is_set_up_for_the_delivery(self, delivery: Any, isolation: str, crcs: bool):
        """Inputs are read committed in exactly-once, and no position is ever replaced behind our back."""
        app = create_app(Settings(delivery=delivery))
        thread = LaneConsumerThread(app.consumer, loop=asyncio.get_running_loop(), beacon=app.consumer.beacon)

        consumer: Any = thread._create_worker_consumer(app.transport)

        assert (consumer._isolation_level, consumer._check_crcs) == (isolation, crcs)
        assert consumer._auto_offset_reset == "none"
        assert consumer._enable_auto_commit is False

    async def test_lanes_are_assigned_once_all_their_inputs_are(self, app: App, monkeypatch: pytest.MonkeyPatch):
        """A partition number of which an input is missing is no lane."""
        assigned: list[list[int]] = []
        app.lanes = SimpleNamespace(assign=lambda numbers: assigned.append(sorted(numbers)))  # type: ignore[assignment]
        monkeypatch.setattr(app_module.LaneConsumer.__mro__[1], "on_partitions_assigned", _nothing)
        inputs = [TP(name, 0) for name in app.physical.values()]

        await app.consumer.on_partitions_assigned({*inputs, TP("p.emissions", 1)}, 1)

        assert assigned == [[0]]


async def _nothing(*args: Any, **kwargs: Any) -> None:
    pass


def test_the_scheme_frames_names_this_driver():
    """Faust finds the driver by the URL's scheme, through the entry point that the package declares."""
    assert faust.transport.by_url("lanes://127.0.0.1:9092") is Transport


def test_a_queue_holds_more_than_one_block():
    """With less, a lane would idle through every transaction, or have fewer blocks for one than it may take."""
    from sluice.codecs.blocks import MAX_BYTES
    from sluice.topology.engine.ledger import TOGETHER

    assert HELD_BYTES > MAX_BYTES
    assert HELD_BYTES >= (TOGETHER + 1) * MAX_BYTES


async def test_the_app_uses_it():
    """The app's consumer is ours."""
    app = create_app(Settings(broker="kafka://a:1,b:2"))

    assert [str(url) for url in app.conf.broker] == ["lanes://a:1", "lanes://b:2"]
    assert isinstance(app.consumer, LaneConsumer)
