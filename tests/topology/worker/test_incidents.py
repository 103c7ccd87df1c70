"""What has gone wrong for our peers, and what holds here: one test each, named after the incident's thread.

Those that need a broker to go wrong stand in tests/integration/test_incidents.py.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaTimeoutError
from scripted_lane import Log, ToyLedger, World, fetched
from structlog.testing import capture_logs

from sluice.codecs.blocks import MAX_EVENTS, EventKind, Output
from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine import intake, lane_control
from sluice.topology.engine import lanes as lanes_module
from sluice.topology.engine.app import create_app
from sluice.topology.engine.lanes import Lanes
from sluice.topology.kafka import (
    partition_reader,
    transactions,
)
from sluice.topology.kafka import transport as fetching
from sluice.topology.kafka.partition_reader import HangsError, read_to_end
from sluice.topology.kafka.requests import End
from sluice.topology.kafka.transactions import LaneProducer, TooLargeError
from sluice.topology.kafka.transport import LaneConsumerThread
from sluice.topology.settings.settings import Settings

PARTITION = TopicPartition("ledger", 0)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed comes back at once."""
    monkeypatch.setattr(lane_control, "RETRY_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(lane_control, "FENCED_SECONDS", 0.3)
    monkeypatch.setattr(partition_reader, "EMPTY_SECONDS", 0.05)


# ---------------------------------------------------------------- aio-libs/aiokafka 1145


class StuckProducer:
    """aiokafka's producer when its coordinator's broker is gone: nothing fails, and nothing ends."""

    made: list[StuckProducer] = []  # noqa: RUF012 -- emptied by the test

    def __init__(self, **options: Any) -> None:
        self.made.append(self)
        self.client = SimpleNamespace(close=self.closed)
        self._sender = SimpleNamespace(sender_task=None)
        self._txn_manager = None
        self._message_accumulator = SimpleNamespace(_batches={})
        self.is_closed = False

    async def start(self) -> None: ...
    async def begin_transaction(self) -> None: ...

    async def commit_transaction(self) -> None:
        await asyncio.Event().wait()

    abort_transaction = stop = commit_transaction

    async def closed(self) -> None:
        self.is_closed = True


async def test_aiokafka_1145_a_transaction_that_never_ends(monkeypatch: pytest.MonkeyPatch):
    """There: a client whose coordinator's broker was removed sent to it for ever, and hung in its transaction.

    Here: after the transaction's time-out it is given up, the producer is dropped, though it will not stop either, and
    the next one is a new producer, which looks its coordinator up anew.
    """
    StuckProducer.made.clear()
    monkeypatch.setattr(transactions, "AIOKafkaProducer", StuckProducer)
    monkeypatch.setattr(transactions, "CLOSE_SECONDS", 0.1)
    producer = LaneProducer(Settings(transaction_timeout=0.1), "lane", 0)
    async with asyncio.timeout(60):
        await producer.open()
        with pytest.raises(TimeoutError, match=r"within 0\.1 s \(committing the transaction of lane-0\)"):
            await producer.commit(None, [])
        await producer.close()
        await producer.open()

    first, second = StuckProducer.made
    assert first.is_closed
    assert not second.is_closed


@pytest.mark.parametrize(
    ("stuck", "said"),
    [
        ("start", "(fencing earlier owners as lane-0)"),
        ("begin_transaction", "(beginning a block)"),
        ("send_batch", "(handing a batch over for t.ledger)"),
        ("", "(writing: no acknowledgement for t.admitted, t.ledger)"),
    ],
)
async def test_a_time_out_says_what_was_waited_for(monkeypatch: pytest.MonkeyPatch, stuck: str, said: str):
    """The phase, and the topics: that is what an operator has to look at."""

    class Unanswered(StuckProducer):
        async def send_batch(self, *_: Any, **__: Any) -> asyncio.Future[Any]:
            return asyncio.get_running_loop().create_future()

    async def nothing_ends(*_: Any, **__: Any) -> None:
        await asyncio.Event().wait()

    async def commit() -> None:
        await producer.open()
        await producer.commit(b"block", [Output("admitted", b"k", b"v", [])])

    if stuck:
        monkeypatch.setattr(Unanswered, stuck, nothing_ends)
    monkeypatch.setattr(transactions, "AIOKafkaProducer", Unanswered)
    monkeypatch.setattr(transactions, "CLOSE_SECONDS", 0.1)
    monkeypatch.setattr(transactions, "GRACE_SECONDS", 0.0)
    producer = LaneProducer(Settings(transaction_timeout=0.1, topic_prefix="t."), "lane", 0)
    with pytest.raises(TimeoutError) as late:
        await commit()
    await producer.close()

    assert str(late.value) == f"the broker did not answer within 0.1 s {said}"


async def test_aiokafka_1145_the_lane_takes_itself_over_anew():
    """There: as above. Here: the lane reads its ledger again with the new producer, and loses and doubles nothing."""
    async with World().running() as world:
        await world.until(lambda: world.log.records)
        world.ledger.fail_before = [TimeoutError()]
        world.inputs.send("emissions", b"a", b"b")
        await world.until(lambda: len(world.log.values) == 2)

    assert world.ledger.opened == 2
    assert world.log.values == [b"a", b"b"]


# ---------------------------------------------------------------- quixio/quix-streams 1017


class Consumer:
    """A consumer of one partition, whose position rests where the broker has nothing more to give."""

    def __init__(self, records: list[int], position: int, end: int, stable: int) -> None:
        self._records, self._position, self._end, self._stable = records, position, end, stable
        self._answers, self._speaks = 0, True

    def fall_silent(self) -> None:
        """The broker goes away: what it said last stays."""
        self._speaks = False

    async def take(self) -> list[int]:
        self._answers += self._speaks
        await asyncio.sleep(0.01)
        found, self._records = self._records, []
        return found

    async def position(self, partition: TopicPartition) -> int:
        return self._position

    def highwater(self, partition: TopicPartition) -> int:
        return self._end

    async def log_end(self, partition: TopicPartition, *, committed: bool = False) -> End:
        return End(self._stable if committed else self._end, 1)

    def last_poll_timestamp(self, partition: TopicPartition) -> int:
        return self._answers


@pytest.fixture
def leader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the log ends is what the consumer of a test says."""
    monkeypatch.setattr(partition_reader, "log_end", lambda consumer, *args, **how: consumer.log_end(*args, **how))
    monkeypatch.setattr(partition_reader, "take_stored", lambda consumer, *_: consumer.take())


async def _read(consumer: Any, patience: float = 0.5) -> list[int]:
    async with asyncio.timeout(60):
        return [one async for one in read_to_end(consumer, PARTITION, patience)]


@pytest.mark.parametrize(
    ("position", "end"), [(92, 92), (91, 92)], ids=["the marker is there", "the marker was removed"]
)
@pytest.mark.usefixtures("leader")
async def test_quix_1017_a_log_that_ends_with_a_marker(position: int, end: int):
    """There: recovery waited for the offset of a transaction's marker that the broker had removed, for ever.

    Here: a log is read to its end when the broker, asked again and again, has nothing before it, and hides nothing.
    """
    assert await _read(Consumer([89, 90], position, end, end)) == [89, 90]


@pytest.mark.usefixtures("leader")
async def test_quix_1017_what_an_open_transaction_hides_is_not_taken_for_nothing():
    """There: as above. Here: only what is stable can be called empty; an open transaction is waited for, then told."""
    with pytest.raises(HangsError):
        await _read(Consumer([89, 90], 91, 95, 91))


@pytest.mark.usefixtures("leader")
async def test_a_broker_that_is_silent_hides_nothing_behind_a_transaction():
    """Nobody has said that one is open: the reader is told to ask again, and no operator to look for a transaction."""
    consumer = Consumer([89, 90], 91, 95, 91)
    consumer.fall_silent()
    with pytest.raises(KafkaTimeoutError):
        await _read(consumer)


async def test_quix_1017_a_removed_marker_does_not_hold_the_watermark(monkeypatch: pytest.MonkeyPatch):
    """There: as above. Here: of an input, too, the position passes offsets that a look of its own finds empty."""
    monkeypatch.setattr(fetching, "EMPTY_SECONDS", 0.0)
    partition, looks = TopicPartition("emissions", 0), []

    async def nothing_follows(settings: Settings, partition: TopicPartition, offset: int) -> bool:
        looks.append(offset)
        return True

    monkeypatch.setattr(fetching, "nothing_follows", nothing_follows)
    app = create_app(Settings())
    thread: Any = LaneConsumerThread(app.consumer, loop=asyncio.get_running_loop(), beacon=app.consumer.beacon)
    state = SimpleNamespace(position=91, has_valid_position=True, lso=92, highwater=92, timestamp=1)
    assignment = SimpleNamespace(state_value=lambda _: state)
    fetcher = SimpleNamespace(_closed=False, _records={}, _subscriptions=None, hurries_until=0.0)
    thread._consumer = SimpleNamespace(
        _closed=False,
        _fetcher=fetcher,
        _subscription=SimpleNamespace(subscription=SimpleNamespace(assignment=assignment), fetch_context=_context),
        seek=lambda _, offset: setattr(state, "position", offset),
        resume=lambda _: None,
    )
    fetcher._subscriptions = thread._consumer._subscription
    thread._drain = _nothing
    await thread.place({partition: 91}, 1)
    monkeypatch.setattr(fetching, "log_ends", _ends)
    await thread.ends([partition])
    ranges: list[Any] = []
    async with asyncio.timeout(60):
        while not ranges:
            poll = await thread._fetch_records(thread._consumer, {partition}, timeout=0.0, max_records=10)
            ranges += poll.ranges.values()
            await asyncio.sleep(0.005)

    assert set(looks) == {91}
    assert (ranges[0].start, ranges[0].next, list(ranges[0].events)) == (91, 92, [])


async def _ends(_: Any, partitions: list[TopicPartition], **how: Any) -> dict[TopicPartition, End]:
    return dict.fromkeys(partitions, End(92, 1))


class _context:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


async def _nothing(*_: Any) -> dict[Any, Any]:
    return {}


# ---------------------------------------------------------------- quixio/quix-streams 1114


async def _behind_retention(**options: Any) -> World:
    """A lane that has read one record, of an input from which retention has since deleted four more."""
    async with World().running() as world:
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values)
    world.inputs.logs["emissions"] += [b"lost"] * 4 + [b"kept"]
    world.inputs.first["emissions"] = 5
    world.make(**options)
    return world


async def test_quix_1114_a_position_that_retention_deleted():
    """There: the state went by a committed offset that was no longer there, and the app lived without working.

    Here: the gap is told loudly, stands in the ledger with both its ends, and the lane goes on behind it.
    """
    world = await _behind_retention()
    with capture_logs() as lines:
        async with world.running():
            await world.until(lambda: len(world.log.values) == 2)

    gap = world.log.blocks[2].events[0]
    assert (gap.kind, gap.offset, gap.value) == (EventKind.GAP, 1, b"5")
    assert world.log.values == [b"a", b"kept"]
    assert "retention has deleted records that were not read" in [
        line["event"] for line in lines if line["log_level"] == "error"
    ]


async def test_quix_1114_a_lane_that_is_told_to_stops():
    """There: failing fast was asked for. Here: `on_lost_input = "stop"` ends the lane, once the ledger has the gap."""
    world = await _behind_retention(stops_on_loss=True)
    with pytest.raises(DoesNotHoldError, match=r"emissions/0/1: retention has deleted inputs .*block 2 of the ledger"):
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "stopped")

    assert world.log.blocks[2].events[0].kind == EventKind.GAP
    world.make(stops_on_loss=True)
    async with world.running():
        world.inputs.send("emissions", b"later")
        await world.until(lambda: b"later" in world.log.values)


# ---------------------------------------------------------------- quixio/quix-streams 1146


class SlowLedger(ToyLedger):
    """A ledger that is read block by block, as somebody lets it."""

    def __init__(self, log: Log) -> None:
        super().__init__(log)
        self.reads = asyncio.Semaphore(0)
        self.read = 0

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        async for one in super().blocks(start):
            await self.reads.acquire()
            self.read += 1
            yield one


async def _in_the_middle_of_a_restore() -> tuple[World, SlowLedger]:
    async with World().running() as world:
        for value in (b"a", b"b", b"c"):
            world.inputs.send("emissions", value)
            await world.until(lambda value=value: value in world.log.values)
    ledger = SlowLedger(world.log)
    ledger.reads.release()
    world.make(ledger=ledger)
    return world, ledger


async def test_quix_1146_a_rebalance_in_the_middle_of_a_restore():
    """There: a rebalance took partitions away and brought new ones while state was restored, and the worker crashed.

    Here: a lane that stays restores to the end, makes sure that the tip is still its own, and goes on.
    """
    world, ledger = await _in_the_middle_of_a_restore()
    async with world.running():
        await world.until(lambda: ledger.read == 1)
        world.lane.suspend()
        world.lane.resume()
        for _ in range(20):
            ledger.reads.release()
        world.inputs.send("emissions", b"d")
        await world.until(lambda: b"d" in world.log.values)

    assert world.log.values == [b"a", b"b", b"c", b"d"]
    assert ledger.opened == 1


async def test_quix_1146_a_lane_that_leaves_in_the_middle_of_a_restore():
    """There: as above. Here: it ends at the next block, writes nothing, and its next owner has all of it."""
    world, ledger = await _in_the_middle_of_a_restore()
    task = asyncio.create_task(world.lane.run())
    await world.until(lambda: ledger.read == 1)
    world.lane.suspend()
    world.lane.stop()
    ledger.reads.release()
    await asyncio.wait_for(task, 60)
    assert (ledger.read, len(world.log.records)) == (2, 4)

    world.make()
    async with world.running():
        world.inputs.send("emissions", b"d")
        await world.until(lambda: b"d" in world.log.values)
    assert world.log.values == [b"a", b"b", b"c", b"d"]


# ---------------------------------------------------------------- quixio/quix-streams 1131


async def test_quix_1131_two_workers_share_a_volume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """There: workers on one volume fought over the locks of its files, and none got on.

    Here: who owns a lane is decided by its producer alone; of two workers in one folder the older is fenced, and
    neither waits for a file.
    """
    monkeypatch.chdir(tmp_path)
    async with World().running() as older:
        older.inputs.send("emissions", b"a")
        await older.until(lambda: older.log.values)
        async with World(older.log, older.inputs).running() as younger:
            younger.inputs.send("emissions", b"b")
            await younger.until(lambda: len(younger.log.values) == 2)
            older.lane.offer(fetched("emissions", 1, [b"b"], epoch=1))
            await older.until(lambda: older.lane.status.phase == "waiting")
            younger.inputs.send("emissions", b"c")
            await younger.until(lambda: len(younger.log.values) == 3)

    assert older.log.values == [b"a", b"b", b"c"]
    assert os.listdir(tmp_path) == []


# ---------------------------------------------------------------- faust-streaming/faust 193


async def test_faust_193_windows_do_not_die_with_their_worker():
    """There: windows that were open when a worker died, or that ended meanwhile, were lost and never closed.

    Here: what waits for time or for the watermark is part of the fold of the ledger: the next worker fires it, once.
    """
    world = World()
    task = asyncio.create_task(world.lane.run())
    world.inputs.send("emissions", b"@1000500", b"~1000400", b"@9999999")
    await world.until(lambda: len(world.log.values) == 3)
    task.cancel()
    await asyncio.wait([task])
    world.now = 1_001_000
    world.make()
    async with world.running():
        await world.until(lambda: world.lane.status.phase == "running")
        world.read(1_000_900)
        world.read(1_000_950)
        await world.until(lambda: len([o for outputs in world.log.outputs for o in outputs if o.key == b"fired"]) == 2)

    fired = [output.value for outputs in world.log.outputs for output in outputs if output.key == b"fired"]
    assert fired == [b"1000500", b"1000400"]


# ---------------------------------------------------------------- faust-streaming/faust 216 and 221


async def test_faust_216_221_frames_that_were_fetched_before_the_seek():
    """There: after a rebalance prefetched messages came first, far ahead, and what lay between was lost.

    Here: a range names the seek that it follows. One of an earlier seek is dropped without a word, whenever it comes.
    """
    async with World().running() as world:
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values)
        before = world.lane.intake.epoch
        world.lane.suspend()
        await world.until(lambda: world.lane.status.phase == "suspended")
        world.inputs.logs["emissions"] += [b"b", b"c", b"d"]
        world.lane.offer(fetched("emissions", 3, [b"d"], epoch=before))
        world.inputs.lane = None  # nothing is fetched for now
        world.lane.resume()
        await world.until(lambda: world.lane.intake.epoch > before)
        world.lane.offer(fetched("emissions", 3, [b"d"], epoch=before))
        await asyncio.sleep(0.02)
        world.inputs.lane = world.lane
        world.inputs.fetch()
        await world.until(lambda: len(world.log.values) == 4)

    assert world.log.values == [b"a", b"b", b"c", b"d"]
    assert len(world.inputs.placed) == 2  # at first, and after the rebalance: none of them made it seek again


# ---------------------------------------------------------------- faust-streaming/faust 175 and 532


class _Group:
    """Lanes over a world, and what they told their worker."""

    def __init__(self, world: World, stall_seconds: float = 0.3) -> None:
        self.world, self.fatal, self.made = world, list[BaseException](), 0
        self.fold = world.fold
        self.lanes = Lanes([world.fold], self._make, self.fatal.append, stall_seconds=stall_seconds)

    def _make(self, fold: Any, number: int) -> Any:
        self.made += 1
        return self.world.make()


async def test_faust_175_a_lane_that_silently_stands_is_taken_over_anew():
    """There: consumers died one by one, without an error, while records waited.

    Here: records that wait for longer than the stall time with no block closed are told, and answered once.
    """
    group = _Group(World())
    world = group.world
    with capture_logs() as lines:
        group.lanes.assign([0])
        await world.until(lambda: world.log.records)
        stuck, world.ledger = world.ledger, ToyLedger(world.log)
        stuck.gate.clear()  # a commit that never ends
        world.inputs.send("emissions", b"a")
        await world.until(lambda: group.made == 2 and world.log.values)
        assert group.lanes.status[0].behind < 0.3
    await group.lanes.stop()

    assert world.log.values == [b"a"]
    assert group.fatal == []
    assert [line["phase"] for line in lines if line["event"] == "the lane makes no progress"] == ["running"]


async def test_faust_175_a_worker_that_cannot_be_helped_ends():
    """There: as above; the worker looked well until somebody looked. Here: it ends with a sentence and status 1."""
    group = _Group(World())
    group.lanes.assign([0])
    await group.world.until(lambda: group.world.log.records)
    group.world.ledger.gate.clear()
    group.world.inputs.send("emissions", b"a")
    await group.world.until(lambda: group.fatal)
    group.world.ledger.gate.set()
    await group.lanes.stop()

    assert isinstance(group.fatal[0], DoesNotHoldError)
    assert group.fatal[0].exit_status == 1
    assert "toy/0: the lane makes no progress, although it was taken over anew" in str(group.fatal[0])


async def test_faust_532_a_fetch_answer_that_never_comes(monkeypatch: pytest.MonkeyPatch):
    """There: a rebalance failed, the consumer never fetched again, and all that it said was nothing.

    Here: an idle lane is one whose broker keeps saying so; silence counts as no progress.
    """
    monkeypatch.setattr("sluice.topology.engine.lane_control.QUIET_SECONDS", 0.05)
    group = _Group(World())
    world, time = group.world, 0
    group.lanes.assign([0])
    await world.until(lambda: world.log.records)
    for time in range(1, 50):  # twice the stall time, idle and well
        await asyncio.sleep(0.012)
        world.read(time)
        assert world.lane.behind < 0.2
    assert group.made == 1
    repeated = time
    while group.made == 1:  # the same answer again and again is no answer
        await asyncio.sleep(0.012)
        world.read(repeated)
    await group.lanes.stop()

    assert group.fatal == []


async def test_a_worker_that_loses_its_coordinator_gives_its_lanes_up():
    """It writes nothing more and takes nothing over, until the coordinator has answered: then it goes on as it was."""
    group = _Group(World(), stall_seconds=60)
    world = group.world
    group.lanes.assign([0])
    await world.until(lambda: world.log.records)

    assert group.lanes.is_member
    group.lanes.give_up()
    assert not group.lanes.is_member
    world.inputs.send("emissions", b"a")
    await world.until(lambda: not group.lanes._tasks)
    assert (group.lanes.status, world.log.values, world.ledger.opened) == ([], [], 1)

    group.lanes.take_back()
    assert group.lanes.is_member
    await world.until(lambda: world.log.values)
    group.lanes.take_back()  # nothing was given up since
    await group.lanes.stop()
    assert (world.log.values, group.made, world.ledger.opened) == ([b"a"], 2, 2)
    assert group.fatal == []


async def test_lanes_that_were_given_up_and_assigned_anew_are_not_taken_back():
    """The group has said meanwhile whose they are."""
    group = _Group(World(), stall_seconds=60)
    group.lanes.assign([0])
    await group.world.until(lambda: group.world.log.records)
    group.lanes.give_up()
    group.lanes.assign([])

    group.lanes.take_back()

    assert group.lanes.status == []
    await group.lanes.stop()


async def test_a_lane_that_is_given_up_while_it_waits_for_its_group_fences_nobody():
    """The rebalance outlasts the session: the lane is told to stop before it was let in, and opens no ledger."""
    group = _Group(World(), stall_seconds=60)
    await group.lanes.suspend()
    group.lanes._start(("toy", 0))
    await asyncio.sleep(0.05)
    assert group.world.ledger.opened == 0

    group.lanes.give_up()
    await group.world.until(lambda: not group.lanes._tasks)

    assert group.world.ledger.opened == 0


async def test_faust_532_a_lane_whose_rebalance_never_ends():
    """There: as above. Here: a lane that waits for its group makes no progress either."""
    group = _Group(World())
    group.lanes.assign([0])
    await group.world.until(lambda: group.world.log.records)
    group.world.lane.suspend()
    await group.world.until(lambda: group.fatal or group.made == 2)
    await group.lanes.stop()

    assert group.made == 2


async def test_faust_532_what_the_coordinator_refuses_is_heard():
    """There: as above. Here: an error of the group's coordinator is taken up though nobody polls."""
    app = create_app(Settings())
    reported: list[BaseException] = []
    app.on_crashed = reported.append
    app.loop = asyncio.get_running_loop()
    thread: Any = LaneConsumerThread(app.consumer, loop=asyncio.get_running_loop(), beacon=app.consumer.beacon)

    def check_errors() -> None:
        raise OSError("refused")

    await thread._listen(SimpleNamespace(check_errors=check_errors))
    await asyncio.sleep(0)

    assert [str(error) for error in reported] == ["refused"]


# ---------------------------------------------------------------- blocks that the broker refuses


class NarrowLedger(ToyLedger):
    """A ledger whose topic takes only so many records at once, and no single one that is too large."""

    most, largest = 3, 100

    async def write_together(self, blocks: Any) -> Any:
        outputs = [output for _, some in blocks for output in some]
        if any(len(output.value) > self.largest for output in outputs):
            raise TooLargeError("admitted", 1, max(len(output.value) for output in outputs))
        if len(outputs) > self.most:
            raise TooLargeError("admitted", len(outputs), sum(len(output.value) for output in outputs))
        return await super().write_together(blocks)


def _narrow() -> World:
    world = World()
    world.ledger = NarrowLedger(world.log)
    world.make()
    return world


async def test_a_block_that_the_broker_refuses_is_made_smaller():
    """It is halved until it goes through, and nothing is lost or doubled on the way."""
    values = [b"%d" % number for number in range(40)]
    world = _narrow()
    async with world.running():
        world.inputs.send("emissions", *values)
        await world.until(lambda: len(world.log.values) == 40)

    assert world.log.values == values
    assert max(len(block.events) for block in world.log.blocks) <= 3


async def test_blocks_that_the_broker_refuses_together_are_committed_alone():
    """Each may be small enough: then none of them is cut, beyond the caution of the next ones, and none is blamed."""
    values = [b"%d" % number for number in range(3 * MAX_EVENTS)]
    world = _narrow()
    world.ledger.most = MAX_EVENTS  # type: ignore[attr-defined]
    async with world.running():
        world.inputs.send("emissions", *values)
        await world.until(lambda: len(world.log.values) == len(values))

    assert world.log.values == values
    assert set(world.log.together) == {1}
    assert {len(block.events) for block in world.log.blocks[1:]} == {MAX_EVENTS // 2}


async def test_a_record_that_is_refused_among_several_blocks_is_found(monkeypatch: pytest.MonkeyPatch):
    """The blocks that were to be committed with its own are not blamed for it."""
    monkeypatch.setattr(intake, "MAX_BYTES", 300)
    world = _narrow()
    with pytest.raises(DoesNotHoldError, match=r"emissions/0/2: the broker refuses .* for admitted"):  # noqa: PT012
        async with world.running():
            world.inputs.send("emissions", b"a" * 90, b"b" * 90, b"x" * 101, b"d" * 90, b"e" * 90, b"f" * 90)
            await world.until(lambda: world.lane.status.phase == "stopped")

    assert world.log.values == [b"a" * 90, b"b" * 90]


async def test_blocks_grow_again_after_a_while(monkeypatch: pytest.MonkeyPatch):
    """A refusal is not for ever: with nothing refused any more, blocks are as large as before."""
    monkeypatch.setattr(lane_control, "RELAX_SECONDS", 0.0)
    world = _narrow()
    async with world.running():
        world.inputs.send("emissions", *[b"x"] * 40)
        await world.until(lambda: len(world.log.values) == 40)
        world.ledger.most = 10**6  # type: ignore[attr-defined]
        for number in range(41, 60):
            world.inputs.send("emissions", b"y")
            await world.until(lambda number=number: len(world.log.values) == number)
        world.inputs.send("emissions", *[b"z"] * 1000)
        await world.until(lambda: len(world.log.values) == 1059)

    assert len(world.log.blocks[-1].events) == 1000


async def test_a_record_whose_outputs_are_refused_stops_the_lane_by_name():
    """What cannot be halved is told with its source, and ends the lane instead of being tried for ever."""
    world = _narrow()
    with (  # noqa: PT012 -- it is raised as the lane ends
        capture_logs() as lines,
        pytest.raises(DoesNotHoldError, match=r"emissions/0/4: the broker refuses .* for admitted") as stopped,
    ):
        async with world.running():
            world.inputs.send("emissions", b"0", b"1", b"2", b"3", b"x" * 101, b"5")
            await world.until(lambda: world.lane.status.phase == "stopped")

    assert stopped.value.exit_status == 1
    assert world.log.values == [b"0", b"1", b"2", b"3"]
    assert {"source": "emissions/0/4", "topic": "admitted"}.items() <= next(
        line.items() for line in lines if line["event"] == "the broker refuses what this record folds to"
    )


# ---------------------------------------------------------------- the end


async def test_the_end_aborts_what_does_not_end_within_five_seconds(monkeypatch: pytest.MonkeyPatch):
    """A worker that is told to end waits a little for the block in flight, then lets go of it."""
    monkeypatch.setattr(lanes_module, "STOP_SECONDS", 0.2)
    group = _Group(World(), stall_seconds=60)
    group.lanes.assign([0])
    await group.world.until(lambda: group.world.log.records)
    group.world.ledger.gate.clear()
    group.world.inputs.send("emissions", b"a")
    await group.world.until(lambda: not group.world.lane.intake.count)
    async with asyncio.timeout(60):
        await group.lanes.stop()

    assert group.world.ledger._token is None  # closed: what was open is aborted
    assert group.world.log.values == []
    assert lanes_module.STOP_SECONDS < 5
