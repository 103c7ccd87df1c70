"""A lane's checkpoints: when they come, that each holds against the ledger, and which ledgers a lane refuses."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable, Sequence
from itertools import product
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import AsyncMock, Mock

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaConnectionError
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_lane import Log, World
from search import examples
from structlog.testing import capture_logs

from sluice.codecs import merkle
from sluice.codecs.blocks import Block, EventKind, Output, outputs_root, unseal
from sluice.codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from sluice.codecs.ledger_statements import identity_in
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, parse_checkpoint, parse_note, signers_of
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import CheckpointKeys, Policy
from sluice.topology.engine import checkpointing, lane_control
from sluice.topology.engine import checkpointing as module
from sluice.topology.engine import lane as lane_module
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.checkpointing import (
    Checkpoints,
    Retentions,
    Tips,
    checkpoints_of,
    follow,
    load_key,
    read_checkpoint,
)
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import Claimant
from sluice.topology.engine.lane_control import ConcurrencyLimiter
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.restore import Start
from sluice.topology.engine.trust import Trust
from sluice.topology.engine.worker import Worker
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.kafka.membership import Member
from sluice.topology.kafka.partition_reader import read_to_end
from sluice.topology.kafka.transactions import FencedError, LaneProducer, TooLargeError
from sluice.topology.settings.settings import Settings

NAME = "sluice/ledger/0"
SIGNER = Signer("sluice/test", b"s" * 32)
STRANGER = Signer("sluice/another", b"t" * 32)


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that failed comes back at once."""
    monkeypatch.setattr(lane_control, "RETRY_SECONDS", (0.001, 0.001))
    monkeypatch.setattr(lane_control, "FENCED_SECONDS", 0.005)


def values(log: Log) -> list[bytes]:
    """The values of all records on `checkpoints`, in order."""
    return [output.value for outputs in log.outputs for output in outputs if output.topic == "checkpoints"]


def committed(log: Log) -> list[Checkpoint]:
    """What they say; each is signed."""
    notes = [parse_note(value) for value in values(log)]
    for note in notes:
        signers_of(note, [SIGNER.verifier])
    return [parse_checkpoint(note.text) for note in notes]


def knowing(*signers: Signer, own: Signer, **time: int) -> Trust:
    """A worker's trust under a policy that lists these keys."""
    listed = {one.name: [Key(public_key=base64.b64encode(one.verifier.public_key).decode(), **time)] for one in signers}
    return Trust(own.verifier, Policy(checkpoints=CheckpointKeys(keys=listed)))


def reader(found: Callable[[], Sequence[bytes | None]]) -> Callable[[module.Wanted], Awaitable[object]]:
    """Reads these values as a partition is read, from its end backwards."""

    async def last(wanted: module.Wanted) -> object:
        await asyncio.sleep(0)
        return next((value for value in reversed(found()) if wanted(value)), None)

    return last


def checkpoints(
    log: Log,
    every: float = 0.001,
    *,
    signer: Signer = SIGNER,
    tips: Tips | None = None,
    clock: Any = None,
    trust: Trust | None = None,
    **more: Any,
) -> Checkpoints:
    """The checkpoints of a lane over this log."""
    options = {**more, **({} if clock is None else {"clock": clock})}
    return Checkpoints(signer, NAME, 0, tips or Tips(2), every, reader(lambda: values(log)), trust=trust, **options)


def checkpointed(every: float = 0.001, log: Log | None = None, **options: Any) -> World:
    """A world whose lane writes checkpoints; the options are those of `checkpoints`."""
    world = World(log)
    world.make(checkpoints=checkpoints(world.log, every, **options))
    return world


def demand_all_hold(log: Log) -> None:
    """The committed checkpoints chain and grow, and each is what the ledger was at that moment."""
    blocks, previous, size = log.blocks, NO_CHECKPOINT, 0
    leaves = [merkle.leaf_hash(bytes.fromhex(block.hash[7:])) for block in blocks]
    places = [height for height, outputs in enumerate(log.outputs) for one in outputs if one.topic == "checkpoints"]
    for height, checkpoint in zip(places, committed(log), strict=True):
        assert checkpoint.origin == NAME
        assert checkpoint.previous == previous
        assert checkpoint.head.size > size
        assert checkpoint.head == Head(height + 1, merkle.root(leaves[: height + 1]))
        assert (checkpoint.block, checkpoint.time) == (blocks[height].hash, blocks[height].header.time)
        assert (blocks[height].events, len(log.outputs[height])) == ([], 1), "the block that bears it has no outputs"
        assert checkpoint.tips[0] == checkpoint.head
        covered = [block.header.outputs for block in blocks[1 : height + 1]]
        assert covered == [outputs_root(_folded(outputs)) for outputs in log.outputs[:height]]
        previous, size = checkpoint.digest, checkpoint.head.size


def _folded(outputs: Sequence[Output]) -> list[Output]:
    return [output for output in outputs if output.topic != "checkpoints"]


class TestWhenTheyCome:
    async def test_news_is_covered(self):
        """By an empty block at the time of the one before, and by a checkpoint in its transaction."""
        async with checkpointed().running() as world:
            await world.until(lambda: len(committed(world.log)) == 1)
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(committed(world.log)) == 2)

        assert [len(block.events) for block in world.log.blocks] == [1, 0, 1, 0]
        assert [checkpoint.head.size for checkpoint in committed(world.log)] == [2, 4]
        demand_all_hold(world.log)

    async def test_they_record_how_long_outputs_are_kept(self, monkeypatch: pytest.MonkeyPatch):
        """As the broker says by then: the first one waits for its answer, and one that fails changes nothing."""
        answers: list[dict[str, int] | None] = [{"admitted": 5, "grounded": -1}, None, {"admitted": 7}]

        async def kept_for(*_: object) -> dict[str, int]:
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
            if answer is None:
                raise UnreachableError("no broker answers")
            return answer

        monkeypatch.setattr(checkpointing, "kept_for", kept_for)
        kept = Retentions(Settings(checkpoint_interval=0.001), ("admitted", "grounded", "verdicts"))
        following = asyncio.create_task(kept.follow())
        async with checkpointed(retentions=kept, outputs=("grounded", "verdicts", "admitted")).running() as world:
            await world.until(lambda: committed(world.log))
            await world.until(lambda: kept.of(["admitted"]) == [("admitted", 7)])
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(committed(world.log)) > 1)
        following.cancel()

        first, last = committed(world.log)[0], committed(world.log)[-1]
        assert dict(first.retentions) in ({"grounded": -1, "admitted": 5}, {"grounded": -1, "admitted": 7})
        assert list(last.retentions) == [("grounded", -1), ("admitted", 7)]

    async def test_a_broker_that_does_not_say_it_holds_no_lane_up(self, monkeypatch: pytest.MonkeyPatch):
        """Its checkpoints record none."""
        monkeypatch.setattr(checkpointing, "FIRST_SECONDS", 0.01)
        async with checkpointed(retentions=Retentions(Settings(), ()), outputs=("admitted",)).running() as world:
            await world.until(lambda: committed(world.log))

        assert committed(world.log)[0].retentions == []

    async def test_an_idle_lane_writes_nothing(self):
        """A checkpoint is no news itself."""
        async with checkpointed().running() as world:
            await world.until(lambda: committed(world.log))
            await asyncio.sleep(0.05)
            assert len(world.log.records) == 2

        assert len(world.log.records) == 2
        async with World(world.log, world.inputs, checkpoints=checkpoints(world.log)).running() as again:
            await again.until(lambda: again.lane.status.phase == "running")
            await asyncio.sleep(0.02)

        assert len(world.log.records) == 2

    async def test_under_load_they_come_all_the_same(self):
        """A lane that always has something to do does not put them off."""
        async with checkpointed(0.02).running() as world:
            for number in range(60):
                world.inputs.send("emissions", b"%d" % number)
                await world.until(lambda number=number: len(world.log.values) > number)
                await asyncio.sleep(0.002)
            assert len(committed(world.log)) > 2

        demand_all_hold(world.log)

    def test_first_soon_and_then_in_intervals(self):
        """A second after there is news; the next one an interval later, or a second after news that came later."""
        now = [100.0]
        kept = checkpoints(Log(), 60.0, clock=lambda: now[0])
        tip = ChainHead()
        assert kept.wait() is None
        tip = _next(tip)
        kept.after_block(tip)
        assert kept.wait() == pytest.approx(1.0)
        now[0] += 0.75
        kept.after_block(_next(tip))
        assert kept.wait() == pytest.approx(0.25)
        kept.written(kept.draft(tip))
        assert kept.wait() is None
        now[0] += 5
        kept.after_block(_next(tip))
        assert kept.wait() == pytest.approx(55.0)
        kept.written(kept.draft(_next(tip)))
        now[0] += 3600
        kept.after_block(_next(_next(tip)))
        assert kept.wait() == pytest.approx(1.0)

    def test_one_that_could_not_be_is_tried_again_without_haste(self):
        """A fold that always has something to say must not make a lane close empty blocks only."""
        now = [100.0]
        kept = checkpoints(Log(), 60.0, clock=lambda: now[0])
        kept.after_block(_next(ChainHead()))
        now[0] += 5
        assert kept.wait() == pytest.approx(-4.0)
        kept.postpone()
        assert kept.wait() == pytest.approx(1.0)

    async def test_a_block_with_outputs_bears_none(self):
        """What a block writes no header names yet; the next empty one will do."""
        world = checkpointed()
        fold = world.fold.fold

        def speaks_once(state: Any, block: Block) -> list[Output]:
            outputs = fold(state, block)
            return [Output("admitted", b"late", b"timer", [])] if block.header.height == 1 else outputs

        world.fold.fold = speaks_once  # type: ignore[method-assign]
        async with world.running():
            await world.until(lambda: committed(world.log))

        assert [[one.topic for one in outputs] for outputs in world.log.outputs] == [[], ["admitted"], ["checkpoints"]]
        demand_all_hold(world.log)

    async def test_a_gap_comes_first(self, monkeypatch: pytest.MonkeyPatch):
        """The block that bears a checkpoint holds nothing, so it must not pass over what retention has deleted."""
        monkeypatch.setattr(module, "SOON_SECONDS", 0.0)
        async with World().running() as world:
            await world.until(lambda: world.log.records)
        world.inputs.logs["emissions"] += [b"lost", b"kept"]
        world.inputs.first["emissions"] = 1
        world.make(checkpoints=checkpoints(world.log))
        async with world.running():
            await world.until(lambda: world.log.values and committed(world.log))

        gap = world.log.blocks[1]
        assert [(event.kind, event.offset) for event in gap.events[:1]] == [(EventKind.GAP, 0)]
        demand_all_hold(world.log)

    async def test_without_them_nothing_is_added(self):
        """A lane that has none writes no empty block."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
            await asyncio.sleep(0.02)

        assert [len(block.events) for block in world.log.blocks] == [1, 1]


class TestTheEnd:
    async def test_a_lane_that_ends_in_order_leaves_no_news(self):
        """A last checkpoint, however long the interval."""
        async with checkpointed(3600).running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)

        assert [checkpoint.head.size for checkpoint in committed(world.log)] == [len(world.log.records)]
        demand_all_hold(world.log)

    async def test_it_is_dropped_rather_than_late(self, monkeypatch: pytest.MonkeyPatch):
        """A broker that does not answer keeps no lane from ending."""
        monkeypatch.setattr(lane_module, "LAST_SECONDS", 0.05)
        async with checkpointed(3600).running() as world:
            await world.until(lambda: world.log.records)
            world.ledger.gate.clear()
            world.lane.stop()
            await world.until(lambda: world.lane.status.phase == "stopped")

        assert (len(world.log.records), committed(world.log)) == (1, [])

    @pytest.mark.parametrize("error", [FencedError("somebody else"), TooLargeError("checkpoints", 1, 9)])
    async def test_a_failure_at_the_end_is_no_failure_of_the_lane(self, error: Exception):
        """The next owner begins from the ledger, and covers what is not."""
        async with checkpointed(3600).running() as world:
            await world.until(lambda: world.log.records)
            world.ledger.fail_before.append(error)

        assert committed(world.log) == []

    async def test_a_lane_that_leaves_in_a_rebalance_writes_none(self):
        """It may be somebody else's by now."""
        async with checkpointed(3600).running() as world:
            await world.until(lambda: world.log.records)
            world.lane.suspend()

        assert len(world.log.records) == 1


def _next(tip: ChainHead) -> ChainHead:
    """The tip after one more block."""
    return tip._replace(height=tip.height + 1, tree=tip.tree.append(bytes(32)))


# ---------------------------------------------------------------- crashes

STEPS = st.lists(
    st.sampled_from(["send", "wait", "refused", "unheard", "crash", "restart", "suspend", "move", "timer", "tick"]),
    max_size=25,
)


class History:
    """A world in which workers come and go, whatever they were about."""

    def __init__(self) -> None:
        self.world = World()
        self.task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """A new worker, with nothing in memory."""
        self.world = World(self.world.log, self.world.inputs)
        self.world.make(checkpoints=checkpoints(self.world.log))
        self.task = asyncio.create_task(self.world.lane.run())

    async def crash(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.wait([self.task])

    async def step(self, name: str, number: int) -> None:
        world = self.world
        match name:
            case "send":
                world.inputs.send("emissions", b"%d" % number)
            case "timer":
                world.inputs.send("observations", b"@%d" % (world.now + 2))
            case "tick":
                world.now += 5
                world.lane._wake.set()
            case "refused":
                world.ledger.fail_before.append(KafkaConnectionError())
            case "unheard":
                world.ledger.fail_after.append(KafkaConnectionError())
            case "suspend":
                world.lane.suspend()
                await asyncio.sleep(0.001)
                world.lane.resume()
            case "crash":
                await self.crash()
                self.start()
            case "restart":
                world.lane.stop()
                assert self.task is not None
                await asyncio.wait_for(self.task, 60)
                self.start()
            case "move":  # another worker takes the lane over, and this one goes on for a while
                assert self.task is not None
                asyncio.get_running_loop().call_later(0.004, self.task.cancel)
                self.start()
            case _:
                await asyncio.sleep(0.003)


@settings(max_examples=examples(60), deadline=None)
@given(STEPS, st.lists(st.integers(0, 6), min_size=25, max_size=25))
async def test_whatever_happens_the_checkpoints_hold(steps: list[str], turns: list[int]):
    """They chain, grow, and cover: with crashes, refusals and unheard commits between any two steps of a lane."""
    history = History()
    history.start()
    for number, (name, few) in enumerate(zip(steps, turns, strict=False)):
        for _ in range(few):
            await asyncio.sleep(0)
        await history.step(name, number)
    world = history.world
    world.ledger.fail_before.clear()
    world.ledger.fail_after.clear()
    world.inputs.send("emissions", b"the last")
    await world.until(lambda: b"the last" in world.log.values)
    await world.until(
        lambda: committed(world.log)[-1:] and committed(world.log)[-1].head.size == len(world.log.records)
    )
    world.lane.stop()
    assert history.task is not None
    await asyncio.wait_for(history.task, 60)

    demand_all_hold(world.log)


async def test_a_commit_that_failed_is_no_previous():
    """The next checkpoint names the last one that stands."""
    async with checkpointed().running() as world:
        await world.until(lambda: committed(world.log))
        world.ledger.fail_before += [KafkaConnectionError(), KafkaConnectionError(), KafkaConnectionError()]
        world.inputs.send("emissions", b"a")
        await world.until(lambda: len(committed(world.log)) == 2)

    first, second = committed(world.log)
    assert second.previous == first.digest


# ---------------------------------------------------------------- taking over


async def _run(log: Log, *sent: bytes) -> World:
    async with World(log, checkpoints=checkpoints(log)).running() as world:
        await world.until(lambda: committed(log))
        for value in sent:
            world.inputs.send("emissions", value)
            await world.until(lambda value=value: value in log.values)
    return world


class TestTakingOver:
    async def _refused(self, world: World, **options: Any) -> str:
        world.make(checkpoints=checkpoints(world.log, **options), max_stall=0.0)
        before = list(world.log.records)
        with pytest.raises(DoesNotHoldError) as refused:
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "stopped")
        assert world.log.records == before
        return str(refused.value)

    def _keep(self, log: Log, count: int) -> None:
        """Cuts the ledger's tail off; what stands on `checkpoints` stays."""
        kept = [one for outputs in log.outputs for one in outputs if one.topic == "checkpoints"]
        del log.records[count:]
        log.outputs[count:] = [kept]

    @pytest.mark.parametrize("count", [0, 1, 3])
    async def test_a_ledger_whose_tail_was_cut_is_refused(self, count: int):
        """No broken link tells: only its own checkpoint does. Cut to nothing it is no new ledger either."""
        world = await _run(Log(), b"a", b"b")
        size = len(world.log.records)
        self._keep(world.log, count)

        reported = await self._refused(world)

        assert "ledger of lane 0: the ledger is shorter than its own checkpoint: a tail was cut" in reported
        assert f"(expected {size} blocks or more, got {count})" in reported

    async def test_another_ledger_of_the_same_length_is_refused(self):
        """Folded and chained without a fault, but not the one that the checkpoint is of."""
        world = await _run(Log(), b"a")
        other = await _run(Log(), b"b")
        world.log.records[:] = other.log.records
        world.inputs.logs = other.inputs.logs

        assert "not the one that its own checkpoint is of" in await self._refused(world)

    async def test_a_longer_ledger_has_to_pass_through_the_checkpoint(self):
        """Block by block, where the fold begins below it."""
        world = await _run(Log(), b"a")
        other = await _run(Log(), b"b", b"c", b"d")
        assert len(other.log.records) > len(world.log.records)
        world.log.records[:] = other.log.records
        world.inputs.logs = other.inputs.logs

        reported = await self._refused(world)

        assert f"block {committed(world.log)[-1].head.size - 1}: the ledger is not the one" in reported

    async def test_a_root_that_is_not_the_ledger_s_is_refused(self):
        """The block is the right one, and what the checkpoint says of all before it is not."""
        world = await _run(Log(), b"a")
        last = committed(world.log)[-1]
        head = last.head._replace(root=bytes(32))
        forged = last._replace(head=head, tips=[head, *last.tips[1:]])
        world.log.outputs.append([Output("checkpoints", None, SIGNER.sign(forged.text()).encode(), [])])

        assert "not the one that its own checkpoint is of" in await self._refused(world)

    @pytest.mark.parametrize(
        "value",
        [
            b"",
            b"junk",
            STRANGER.sign("sluice/elsewhere/0\n").encode(),
            SIGNER.sign(
                Checkpoint("other/ledger/0", Head(99), NO_CHECKPOINT, 0, NO_CHECKPOINT, [Head(99)]).text()
            ).encode(),
        ],
        ids=["empty", "junk", "no checkpoint", "another log's"],
    )
    async def test_what_is_none_of_ours_is_reported_and_passed_over(self, value: bytes):
        """The last one of the lane's own counts, and is the next one's previous."""
        world = await _run(Log(), b"a")
        before = committed(world.log)
        world.log.outputs[-1] = [*world.log.outputs[-1], Output("checkpoints", None, value, [])]
        world.make(checkpoints=checkpoints(world.log))
        with capture_logs() as lines:
            async with world.running():
                world.inputs.send("emissions", b"b")
                await world.until(lambda: b"b" in world.log.values)

        reported = [line for line in lines if line["event"].startswith("checkpoints are passed over")]
        assert [line["count"] for line in reported] == [1]
        assert read_checkpoint(values(world.log)[-1], NAME).previous == before[-1].digest

    async def test_a_changed_note_under_our_own_key_is_none_of_ours(self):
        """Its signature does not hold."""
        world = await _run(Log(), b"a")
        last = committed(world.log)[-1]
        forged = values(world.log)[-1].replace(last.block.encode(), NO_CHECKPOINT.encode())
        world.log.outputs[-1] = [*world.log.outputs[-1], Output("checkpoints", None, forged, [])]
        world.make(checkpoints=checkpoints(world.log))
        with capture_logs() as lines:
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "running")

        assert any("a signature does not hold" in line.get("reason", "") for line in lines)

    async def test_the_last_checkpoint_is_read_beside_the_claim(self):
        """A lane that moves stands still meanwhile; the fence was before both."""
        world = await _run(Log(), b"a")
        claiming, reading = asyncio.Event(), asyncio.Event()
        found, claim = reader(lambda: values(world.log)), world.ledger.claim

        async def last(wanted: module.Wanted) -> object:
            reading.set()
            await claiming.wait()
            return await found(wanted)

        async def waits(value: bytes, member: Member) -> Any:
            claiming.set()
            await reading.wait()
            assert world.ledger.opened
            return await claim(value, member)

        world.ledger.claim = waits  # type: ignore[method-assign]
        claimant = Claimant(0, NAME, "w-0", "1.0", None, lambda: Member("app", "m-1", 3))
        world.make(checkpoints=Checkpoints(SIGNER, NAME, 0, Tips(2), 0.001, last), claimant=claimant)
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "running")

        demand_all_hold(world.log)

    async def test_a_checkpoint_waits_for_lanes_that_are_to_be_taken_over(self, monkeypatch: pytest.MonkeyPatch):
        """Hundreds of lanes come at once: what can wait takes nothing from those that do not run yet."""
        monkeypatch.setattr(lane_module, "LATE_SECONDS", 0.02)
        world, turns = World(), ConcurrencyLimiter()
        checkpoints = Checkpoints(SIGNER, NAME, 0, Tips(2), 0.001, reader(lambda: values(world.log)))
        monkeypatch.setattr(module, "SOON_SECONDS", 0.0)
        world.make(checkpoints=checkpoints, take_overs=turns)
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "running")
            for other in range(turns.at_a_time):
                assert turns.ask(other, lambda: None, inf)
            assert not turns.ask("waits", lambda: None, monotonic())
            before = len(values(world.log))
            await asyncio.sleep(0.1)
            assert len(values(world.log)) <= before + 1  # one may have been on its way
            before = len(values(world.log))
            world.inputs.send("emissions", b"a")
            world.inputs.fetch()
            await world.until(lambda: world.lane.positions["emissions"] == 1)
            await asyncio.sleep(0.1)
            assert len(values(world.log)) == before
            turns.end(0, monotonic())
            await world.until(lambda: len(values(world.log)) > before)

        demand_all_hold(world.log)

    async def test_a_standby_is_not_taken_before_the_last_checkpoint_is_read(self):
        """That may fail while a leader moves: the next try then has the standby still, and need not fold the ledger."""
        world, fails = await _run(Log(), b"a"), [KafkaConnectionError("a leader moves")]
        found, asked = reader(lambda: values(world.log)), list[int]()

        async def last(wanted: module.Wanted) -> object:
            if fails:
                raise fails.pop()
            return await found(wanted)

        def starts(moved: object) -> Sequence[Start]:
            asked.append(len(fails))
            return ()

        scheduler = Mock(starts=starts, news=lambda: None)
        world.make(checkpoints=Checkpoints(SIGNER, NAME, 0, Tips(2), 0.001, last), scheduler=scheduler)
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "running")

        assert asked == [0]

    async def test_a_lane_whose_last_checkpoint_cannot_be_read_does_not_run(self):
        """A transaction hangs over it: what it says of the ledger is not known."""
        world = await _run(Log(), b"a")

        async def hangs(wanted: module.Wanted) -> object:
            raise DoesNotHoldError("a transaction hangs over the end of a topic")

        world.make(checkpoints=Checkpoints(SIGNER, NAME, 0, Tips(2), 0.001, hangs))
        before = list(world.log.records)
        with capture_logs() as lines, pytest.raises(DoesNotHoldError, match="a transaction hangs"):
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "stopped")

        assert world.log.records == before
        assert not any("not restored from here" in line["event"] for line in lines)

    async def test_nothing_reads_checkpoints_for_a_lane_that_was_not_claimed(self):
        """The claim was refused while the last checkpoint was being read: the reading ends with the take-over."""
        world, begun, ended = World(), asyncio.Event(), asyncio.Event()
        world.ledger.refused = True

        async def endless(wanted: module.Wanted) -> object:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        member = Member("app", "m-1", 3)
        claimant = Claimant(0, NAME, "w-0", "1.0", None, lambda: member)
        claim = world.ledger.claim

        async def late(value: bytes, member: Member) -> Any:
            await begun.wait()
            return await claim(value, member)

        world.ledger.claim = late  # type: ignore[method-assign]
        world.make(checkpoints=Checkpoints(SIGNER, NAME, 0, Tips(2), 0.001, endless), claimant=claimant)
        async with world.running():
            await world.until(ended.is_set)

        assert world.log.records == []

    async def test_a_cut_tail_shows_by_another_worker_s_key_that_the_policy_lists(self):
        """Workers may have a key each."""
        world = await _run(Log(), b"a", b"b")
        self._keep(world.log, 2)

        assert "a tail was cut" in await self._refused(world, signer=STRANGER, trust=knowing(SIGNER, own=STRANGER))

    async def test_a_stranger_s_note_of_a_longer_ledger_stops_no_lane(self):
        """Whoever can write to the topic could stop every lane; the note is counted, and passed over."""
        world = await _run(Log(), b"a")
        (true,) = committed(world.log)[-1:]
        longer = Head(true.head.size + 5, b"f" * 32)
        forged = Checkpoint(NAME, longer, true.block, true.time, true.digest, (longer, *true.tips[1:]))
        world.log.outputs[-1].append(Output("checkpoints", None, STRANGER.sign(forged.text()).encode(), []))
        with capture_logs() as lines:
            world.make(checkpoints=checkpoints(world.log))
            async with world.running():
                await _until(lambda: any("passed over" in line["event"] for line in lines))

        (warned,) = [line for line in lines if "passed over" in line["event"]]
        assert (warned["count"], warned["log_level"]) == (1, "warning")
        assert "signed by nobody whose key is known" in warned["reason"]


# ---------------------------------------------------------------- tips and keys


class TestTips:
    def test_they_only_grow(self):
        """Whoever tells of an older one is late."""
        tips, newer, older = Tips(3), Head(5, b"n" * 32), Head(4, b"o" * 32)
        for head in (newer, older):
            tips.apply(1, head)
        tips.apply(7, newer)

        assert tips.beside(0, Head(9, b"x" * 32)) == [Head(9, b"x" * 32), newer, Head()]

    async def test_a_checkpoint_names_those_of_other_lanes(self):
        """Those that are known; of a lane that nobody has told of, an empty tree."""
        world, tips = World(), Tips(2)
        world.make(checkpoints=checkpoints(world.log, tips=tips))
        async with world.running():
            await world.until(lambda: committed(world.log))
            tips.apply(1, Head(7, b"r" * 32))
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(committed(world.log)) == 2)

        assert [one.tips[1] for one in committed(world.log)] == [Head(), Head(7, b"r" * 32)]

    async def test_a_new_owner_knows_what_the_last_one_knew(self):
        """Before it has heard of anybody."""
        world, tips = World(), Tips(2)
        tips.apply(1, Head(7, b"r" * 32))
        world.make(checkpoints=checkpoints(world.log, tips=tips))
        async with world.running():
            await world.until(lambda: committed(world.log))
        world.make(checkpoints=checkpoints(world.log))
        async with world.running():
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)

        assert committed(world.log)[-1].tips[1] == Head(7, b"r" * 32)


# ---------------------------------------------------------------- on a broker without transactions


def on(broker: str, name: str, folder: Path, **options: Any) -> Settings:
    """Settings for topics of the test's own."""
    return Settings(
        broker=broker,
        delivery="at-least-once",
        topic_prefix=f"{name}.",
        app_id=name,
        state_dir=str(folder),
        checkpoint_interval=0.1,
        **options,
    )


async def stored(settings: Settings, topic: str, lane: int) -> list[Any]:
    """All records of a partition."""
    partition = TopicPartition(settings.topic_prefix + topic, lane)
    async with open_consumer(settings, isolation_level="read_uncommitted", fetch_max_wait_ms=50) as consumer:
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        return [record async for record in read_to_end(consumer, partition, 5)]


class TestOnABroker:
    @pytest.mark.slow
    async def test_a_worker_s_lanes_write_them(self, broker: str, tmp_path: Path):
        """Each over its ledger, those that bind and frame too, and each names what the others have written last."""
        settings = on(broker, "writes", tmp_path)
        worker = Worker(settings)
        await worker.start()
        try:
            async with asyncio.timeout(60):
                await worker.wait_until_running()
                topics = [(fold.checkpoints, lane) for fold in folds() for lane in range(4)]
                while not all([await stored(settings, *one) for one in topics]):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        finally:
            await worker.stop()

        signer = load_key(settings)
        assert signer is not None
        for fold, lane in product(folds(), range(4)):
            blocks = [unseal(record.value) for record in await stored(settings, fold.ledger, lane)]
            identity, hashes = identity_in(blocks[0]), [block.hash for block in blocks]
            assert identity is not None
            leaves = [merkle.leaf_hash(bytes.fromhex(one[7:])) for one in hashes]
            for record in await stored(settings, fold.checkpoints, lane):
                signers_of(parse_note(record.value), [signer.verifier])
                found = read_checkpoint(record.value, f"{identity.ledger_id}/writes.{fold.ledger}/{lane}")
                assert found.block == hashes[found.head.size - 1]
                assert found.head.root == merkle.root(leaves[: found.head.size])

    async def test_none_stands_before_its_block(self, broker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """What fails in between leaves outputs that come again, and no checkpoint without what it covers."""
        settings = on(broker, "order", tmp_path)
        outputs = [Output("admitted", b"k", b"v", []), Output("checkpoints", b"k", b"note", [])]
        ledger = KafkaLedger(settings, 0)
        await ledger.open()
        with monkeypatch.context() as broken:
            broken.setattr(LaneProducer, "_send_blocks", AsyncMock(side_effect=KafkaConnectionError()))
            with pytest.raises(KafkaConnectionError):
                await ledger.write(b"block", outputs)
        assert [len(await stored(settings, topic, 0)) for topic in ("admitted", "checkpoints")] == [1, 0]
        await ledger.write(b"block", outputs)
        await ledger.close()

        assert [one.value for one in await stored(settings, "checkpoints", 0)] == [b"note"]

    async def test_the_tips_of_other_workers_are_heard(self, broker: str, tmp_path: Path):
        """Those that are there already, from near the end, and those that come; junk is passed over."""
        settings, heads = on(broker, "heard", tmp_path, partitions=2), [Head(size, b"r" * 32) for size in (3, 4)]
        ledger, tips = KafkaLedger(settings, 1), Tips(2)
        await ledger.open()
        await ledger.write(b"block", [_record(settings, heads[0]), Output("checkpoints", None, b"junk", [])])
        await ledger.write(b"block", [_record(settings, Head(9, b"f" * 32), STRANGER)])
        following = asyncio.create_task(follow(settings, tips, Trust(SIGNER.verifier)))
        try:
            await _until(lambda: tips.beside(0, Head())[1] == heads[0])
            await ledger.write(b"block", [_record(settings, heads[1])])
            await _until(lambda: tips.beside(0, Head())[1] == heads[1])
        finally:
            following.cancel()
            await ledger.close()

    async def test_a_broker_that_is_away_is_waited_for(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Nobody fails for want of tips."""
        monkeypatch.setattr(module, "RETRY_SECONDS", 0.01)
        with capture_logs() as lines:
            away = follow(on("kafka://127.0.0.1:1", "away", tmp_path), Tips(4), Trust(SIGNER.verifier))
            following = asyncio.create_task(away)
            await _until(lambda: len(lines) > 1)
            assert not following.done()
            following.cancel()

        assert {line["log_level"] for line in lines} == {"debug"}

    async def test_the_last_of_many_is_found(self, broker: str, tmp_path: Path):
        """However much that is none of ours follows upon it."""
        settings = on(broker, "many", tmp_path, partitions=2)
        ledger, lane = KafkaLedger(settings, 1), checkpoints_of(on(broker, "many", tmp_path), SIGNER, 1, Tips(2))
        await ledger.open()
        await ledger.write(b"block", [_record(settings, Head(size, b"r" * 32)) for size in (1, 2)])
        await ledger.write(b"block", [Output("checkpoints", None, b"junk", [])] * 300)
        await ledger.close()
        with capture_logs() as lines:
            await lane.begin()

        assert [line["count"] for line in lines] == [300]  # each of them once
        assert lane.height == 1


def _record(settings: Settings, head: Head, signer: Signer = SIGNER) -> Output:
    """The record of a checkpoint of lane 1."""
    name = f"{settings.topic_prefix}ledger/{settings.topic_prefix}ledger/1"
    checkpoint = Checkpoint(name, head, NO_CHECKPOINT, 0, NO_CHECKPOINT, [Head(), head])
    return Output("checkpoints", name.encode(), signer.sign(checkpoint.text()).encode(), [])


async def _until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 -- any condition, not one event
            await asyncio.sleep(0.01)


class TestKeys:
    def test_one_is_made_where_none_is_named(self, tmp_path: Path):
        """Once, beside the state folder, and told with its verifier: others need that to check what it signs."""
        of_app = Settings(state_dir=str(tmp_path / "state"), app_id="my +app")
        with capture_logs() as lines:
            signer, again = load_key(of_app), load_key(of_app)

        assert signer is not None
        assert again is not None
        assert signer.name == "sluice/my-app"
        assert signer.encoded() == again.encoded()
        assert [line["verifier"] for line in lines] == [str(signer.verifier)]
        assert not (tmp_path / "state").exists()
        assert (tmp_path / "keys" / "signing.key").stat().st_mode & 0o777 == 0o600

    def test_one_that_is_named_has_to_be_there(self, tmp_path: Path):
        """Nothing is made in its place."""
        path = tmp_path / "named.key"

        with pytest.raises(UsageError, match=r"named\.key: the private key cannot be read"):
            load_key(Settings(key_file=str(path)))
        assert not path.exists()

    def test_a_damaged_one_is_not_replaced(self, tmp_path: Path):
        """Somebody may hold its verifier: what happened to it has to be looked at."""
        (tmp_path / "keys").mkdir()
        (tmp_path / "keys" / "signing.key").write_text("half a k")

        with pytest.raises(UsageError, match=r"signing\.key"):
            load_key(Settings(state_dir=str(tmp_path / "state")))

    def test_a_full_disk_stops_no_lane(self, tmp_path: Path):
        """Where none is named and none can be made, that is told, and there are no checkpoints."""
        (tmp_path / "keys").write_text("a file stands where the folder should")

        with capture_logs() as lines:
            assert load_key(Settings(state_dir=str(tmp_path / "state"))) is None
        assert [line["log_level"] for line in lines] == ["error"]
