"""The lane: from ranges over blocks and a fold to a ledger, whatever fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from math import inf
from time import monotonic
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka.errors import KafkaConnectionError
from hypothesis import given, settings
from hypothesis import strategies as st
from scripted_lane import INPUTS, POLICY, Log, ToyFold, World, fetched
from search import examples
from structlog.testing import capture_logs

from sluice.codecs.blocks import MAX_EVENTS, EventKind, Header, outputs_root, quarantine, seal
from sluice.codecs.errors import DoesNotHoldError, SluiceError
from sluice.codecs.ledger_statements import LedgerIdentity, claim_hash, identity_in, read_claim
from sluice.streams.adjudication.state import MAX_TIMERS
from sluice.streams.policy.policy import Admissibility, Policy
from sluice.topology.engine import intake as intake_module
from sluice.topology.engine import lane, lane_control
from sluice.topology.engine import restore as restoring
from sluice.topology.engine.installation import Claimant
from sluice.topology.engine.interfaces import Committed
from sluice.topology.engine.lane_control import ConcurrencyLimiter
from sluice.topology.engine.restore import TooShortError
from sluice.topology.kafka.membership import Member, NotAMemberError
from sluice.topology.kafka.polling import Fetched


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that failed comes back at once."""
    monkeypatch.setattr(lane_control, "RETRY_SECONDS", (0.01, 0.01))
    monkeypatch.setattr(lane_control, "FENCED_SECONDS", 0.05)


class TestBlocks:
    async def test_a_new_ledger_begins_with_the_policy(self):
        """Block 0 holds no record, one policy event, and names that policy's hash."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)

        first = world.log.blocks[0]
        assert [(event.kind, event.value) for event in first.events] == [(EventKind.POLICY, POLICY)]
        assert first.header.policy == "sha256:" + sha256(POLICY).hexdigest()
        assert (first.header.lane, first.header.lanes, first.header.height) == (0, 2, 0)

    async def test_records_become_a_block_and_its_outputs(self):
        """A block holds what came, as it came, and is committed with what the fold makes of it."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a", b"b")
            await world.until(lambda: len(world.log.records) == 2)

        block = world.log.blocks[1]
        assert [(event.source, event.offset, event.value) for event in block.events] == [(0, 0, b"a"), (0, 1, b"b")]
        assert [source[1:] for source in map(_plain, block.header.sources)] == [(0, 2), (0, 0)]
        assert [output.value for output in world.log.outputs[1]] == [b"a", b"b"]

    async def test_blocks_are_chained(self):
        """Each header names the block before it, its outputs, and the offsets that follow upon the last ones."""
        async with World().running() as world:
            for number in range(5):
                world.inputs.send("observations", b"%d" % number)
                await world.until(lambda number=number: len(world.log.values) == number + 1)

        blocks = world.log.blocks
        for before, block, outputs in zip(blocks, blocks[1:], world.log.outputs, strict=False):
            assert block.header.prev == before.hash
            assert block.header.height == before.header.height + 1
            assert block.header.outputs == outputs_root(outputs)
            assert [source.first for source in block.header.sources] == [s.next for s in before.header.sources]

    async def test_an_idle_lane_adds_no_latency(self):
        """A record that comes alone is not made to wait for company."""
        async with World(max_block_wait=600.0).running() as world:
            await world.until(lambda: world.log.records)
            began = asyncio.get_running_loop().time()
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)

            assert asyncio.get_running_loop().time() - began < 600.0

    async def test_a_block_waits_for_what_the_broker_is_known_to_hold(self):
        """Behind a backlog a block stays open for the next fetch, at most for max_block_wait."""
        async with World(max_block_wait=0.2).running() as world:
            await world.until(lambda: world.log.records)
            world.lane.answered("emissions", 100, 1, 1, 0)
            world.inputs.send("emissions", b"a")
            await asyncio.sleep(0.05)
            world.inputs.send("emissions", b"b")
            await world.until(lambda: len(world.log.values) == 2)

        assert [len(block.events) for block in world.log.blocks] == [1, 2]

    async def test_what_an_open_transaction_hides_lags_and_is_not_waited_for(self):
        """It counts as not read, by offsets and by time; a block is not kept open for what cannot come."""
        async with World(max_block_wait=600.0).running() as world:
            await world.until(lambda: world.log.records)
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values == [b"a"])
            for time, high in ((5, 1), (7, 40), (9, 40)):
                world.lane.answered("emissions", 1, time, 1, 1, high)
            status = world.lane.status
            world.inputs.send("emissions", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])

        assert (status.lag["emissions"], status.read_to["emissions"]) == (39, 5)

    async def test_what_is_due_is_told_also_while_the_lane_is_away(self):
        """The oldest of its timers, of the clock or of the watermark, until a block has handled it."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            assert world.lane.status.due is None
            world.inputs.send("emissions", b"@1500000", b"~1200000")
            await world.until(lambda: len(world.log.values) == 2)
            assert world.lane.status.due == 1_200_000

        assert (world.lane.status.phase, world.lane.status.due) == ("stopped", 1_200_000)

    async def test_records_pile_up_while_a_transaction_is_in_flight(self):
        """What comes meanwhile makes one next block, not many."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.ledger.gate.clear()
            for number in range(20):
                world.inputs.send("emissions", b"%d" % number)
                await asyncio.sleep(0.001)
            world.ledger.gate.set()
            await world.until(lambda: len(world.log.values) == 20)

        assert len(world.log.records) == 3

    async def test_a_block_holds_at_most_4000_records(self):
        """More go into the next ones, in order."""
        values = [b"%d" % number for number in range(9001)]
        async with World().running() as world:
            world.inputs.send("emissions", *values)
            await world.until(lambda: len(world.log.values) == 9001)

        assert [len(block.events) for block in world.log.blocks] == [1, MAX_EVENTS, MAX_EVENTS, 1001]
        assert world.log.values == values

    async def test_a_block_holds_what_is_folded_in_a_tenth_of_a_second(self):
        """What folds slowly comes in smaller blocks; the same records, in order."""
        values = [b"%d" % number for number in range(100)]
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.lane._block_sizer.folded(4000, 40.0)
            world.inputs.send("emissions", *values)
            await world.until(lambda: len(world.log.values) == 100)

        assert [len(block.events) for block in world.log.blocks][:2] == [1, 10]
        assert world.log.values == values

    async def test_a_record_larger_than_a_block_stands_alone(self):
        """900 kB close a block; a single record beyond that has one of its own."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a", b"x" * 950_000, b"b", b"c" * 500_000, b"d" * 500_000)
            await world.until(lambda: len(world.log.values) == 5)

        assert [len(block.events) for block in world.log.blocks[1:]] == [1, 1, 2, 1]

    async def test_blocks_that_wait_are_committed_together(self):
        """At most three, of one time; what fills no block is taken once those before it are committed."""
        values = [b"%d" % number for number in range(4 * MAX_EVENTS + 5)]
        async with World().running() as world:
            world.inputs.send("emissions", *values)
            await world.until(lambda: len(world.log.values) == len(values))

        assert world.log.together == [1, 3, 1, 1]
        assert [len(block.events) for block in world.log.blocks] == [1, *[MAX_EVENTS] * 4, 5]
        assert world.log.values == values
        assert [block.header.height for block in world.log.blocks] == list(range(6))

    @pytest.mark.parametrize("moment", ["fail_before", "fail_after"])
    async def test_of_blocks_that_were_committed_together_all_stand_or_none(self, moment: str):
        """Whatever the broker did before it went away, the lane goes on behind it: nothing is lost or doubled."""
        values = [b"%d" % number for number in range(3 * MAX_EVENTS)]
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            getattr(world.ledger, moment).append(OSError("away"))
            world.inputs.send("emissions", *values)
            await world.until(lambda: len(world.log.values) == len(values) and world.lane.status.phase == "running")

        assert world.log.values == values
        assert world.log.together == [1, 3]

    async def test_each_of_several_blocks_is_counted(self):
        """Not only the last one."""
        told = list[Committed]()
        meter: Any = SimpleNamespace(committed=lambda fold, lane, block: told.append(block), restored=lambda *_: None)
        async with World(meter=meter).running() as world:
            world.inputs.send("emissions", *[b"x"] * (2 * MAX_EVENTS))
            await world.until(lambda: len(world.log.records) == 3)

        assert world.log.together == [1, 2]
        assert [(one.height, len(one.events), len(one.outputs)) for one in told] == [
            (0, 1, 0),
            *[(height, MAX_EVENTS, len(world.log.outputs[height])) for height in (1, 2)],
        ]

    async def test_time_never_decreases(self):
        """A clock that is put back makes time stand, not go back."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.now -= 5000
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)

        assert [block.header.time for block in world.log.blocks] == [1_000_000, 1_000_000]


class TestTimers:
    async def test_a_timer_closes_an_empty_block_on_an_idle_input(self):
        """What is due by the clock fires without any record coming."""
        async with World().running() as world:
            world.inputs.send("emissions", b"@1000050")
            await world.until(lambda: world.log.values)
            world.now = 1_000_050
            await world.until(lambda: len(world.log.records) == 3)

        assert not world.log.blocks[2].events
        assert [output.key for output in world.log.outputs[2]] == [b"fired"]

    async def test_the_watermark_closes_an_empty_block(self, monkeypatch: pytest.MonkeyPatch):
        """What waits for evidence fires once the inputs are known to be read: because the mark moved, and not at the
        lane's next occasion to look, which never comes here."""
        monkeypatch.setattr(lane, "IDLE_SECONDS", 3600.0)
        async with World().running() as world:
            world.inputs.send("emissions", b"~1000050")
            await world.until(lambda: world.log.values)
            world.now = 1_001_000
            world.read(1_000_040)
            world.read(1_000_045)
            await asyncio.sleep(0.02)
            assert len(world.log.records) == 2
            world.read(1_000_060)
            world.read(1_000_070)
            await world.until(lambda: len(world.log.records) == 3)

        assert world.log.blocks[2].header.watermark == 1_000_060

    async def test_the_mark_is_that_of_the_positions_where_the_block_starts(self):
        """A block's own records are not in earlier blocks: its mark does not count them as read."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.now = 2_000_000
            world.ledger.gate.clear()
            world.inputs.send("emissions", b"a")
            await world.until(lambda: not world.lane.intake.count)
            world.inputs.send("emissions", b"b")
            world.read(1_500_000)
            world.read(1_600_000)
            world.ledger.gate.set()
            await world.until(lambda: len(world.log.values) == 2)
            world.inputs.send("observations", b"c")
            await world.until(lambda: len(world.log.values) == 3)

        assert [block.header.watermark for block in world.log.blocks] == [0, 0, 0, 1_500_000]

    async def test_more_timers_than_one_block_fires_are_settled_before_records_are_taken(self):
        """Empty blocks at the same time come first, at most three in a transaction: none grows without bound."""
        count = 4 * MAX_TIMERS + 1
        async with World().running() as world:
            world.inputs.send("emissions", *[b"@1000050"] * count)
            await world.until(lambda: len(world.log.values) == count)
            height = world.log.blocks[-1].header.height
            world.now = 1_000_060
            world.inputs.send("emissions", b"late")
            await world.until(lambda: len(world.log.values) == count + 1)

        closed = world.log.blocks[height + 1 :]
        assert [len(block.events) for block in closed] == [0, 0, 0, 0, 1]
        assert {block.header.time for block in closed} == {1_000_060}
        assert [len(outputs) for outputs in world.log.outputs[height + 1 :]] == [*[MAX_TIMERS] * 4, 2]
        assert world.log.together[-3:] == [3, 1, 1]


class TestRecovery:
    @given(cut=st.integers(0, 12), sizes=st.lists(st.integers(1, 5), min_size=1, max_size=6))
    @settings(max_examples=examples(25), deadline=None)
    def test_restored_is_uninterrupted(self, cut: int, sizes: list[int]):
        """For every cut: a lane that was restored there ends in the state of one that never stopped."""

        async def run() -> None:
            world, sent = World(), 0
            async with world.running():
                for size in sizes:
                    world.inputs.send("emissions", *[b"%d" % (sent + place) for place in range(size)])
                    sent += size
                    await world.until(lambda sent=sent: len(world.log.values) == sent)
                whole = world.lane._state.seen
            rest = World(Log())
            rest.log.records, rest.log.outputs = world.log.records[:cut], world.log.outputs[:cut]
            rest.inputs.logs = world.inputs.logs
            async with rest.running():
                await rest.until(lambda: len(rest.log.values) == sent and rest.lane.status.phase == "running")
                assert rest.lane._state.seen == whole

        asyncio.run(run())

    async def test_a_failure_before_the_commit_loses_nothing_and_doubles_nothing(self):
        """What was not committed is folded again from the ledger's own positions."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.ledger.fail_before = [KafkaConnectionError("gone"), TimeoutError()]
            world.inputs.send("emissions", b"a", b"b", b"c")
            await world.until(lambda: len(world.log.values) == 3)

        assert world.log.values == [b"a", b"b", b"c"]
        assert world.ledger.opened == 3

    async def test_a_commit_in_doubt_is_read_back(self):
        """The commit was done and the answer lost: the ledger says so, and nothing is written twice."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.ledger.fail_after = [KafkaConnectionError("gone")]
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.ledger.opened == 2)
            world.inputs.send("emissions", b"b")
            await world.until(lambda: len(world.log.values) == 2)

        assert world.log.values == [b"a", b"b"]

    async def test_a_fenced_lane_writes_nothing_and_does_not_fail(self):
        """Somebody else has the lane: it waits, and only reads the ledger anew after a while."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.log.owner = object()
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.lane.status.phase == "waiting")
            assert world.log.values == []
            await world.until(lambda: world.log.values == [b"a"])

        assert world.ledger.opened == 2

    async def test_a_bug_in_the_fold_ends_the_lane_with_its_error(self):
        """An error that comes back without a block in between is not retried for ever."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
        world.fold.broken = True
        world.make()
        with pytest.raises(ZeroDivisionError):  # noqa: PT012 -- it is raised as the lane ends
            async with world.running():
                world.inputs.send("emissions", b"a")
                await world.until(lambda: world.lane.status.phase == "stopped")

        assert world.log.values == []

    async def test_the_policy_of_the_ledger_wins(self):
        """A worker with another file goes on under the policy that the ledger holds, and says so."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
        world.make(policy=b"{}")
        with capture_logs() as lines:
            async with world.running():
                world.inputs.send("emissions", b"a")
                await world.until(lambda: world.log.values)

        assert world.log.blocks[1].header.policy == "sha256:" + sha256(POLICY).hexdigest()
        assert (
            "the ledger's policy is in force" in next(line for line in lines if line["log_level"] == "warning")["event"]
        )


class TestLoudStops:
    async def _stopped(self, world: World) -> str:
        with pytest.raises(DoesNotHoldError) as stopped:
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "stopped")
        return str(stopped.value)

    async def _two_blocks(self) -> World:
        async with World().running() as world:
            world.inputs.send("emissions", b"a", b"b")
            await world.until(lambda: len(world.log.values) == 2)
        return world

    async def test_a_missing_block(self):
        """A chain with a hole is no ledger."""
        world = await self._two_blocks()
        del world.log.records[0]
        world.make()

        assert "the chain of blocks is broken (expected height 0)" in await self._stopped(world)

    async def test_a_changed_block(self):
        """A block that was replaced by another one breaks the link of the next."""
        world = await self._two_blocks()
        async with world.running():
            pass
        world.make()
        async with world.running():
            world.inputs.send("emissions", b"c")
            await world.until(lambda: len(world.log.values) == 3)
        block = world.log.blocks[1]
        _, world.log.records[1] = seal(block.header, [*block.events[:1]])
        world.make()

        assert "prev" in await self._stopped(world)

    async def test_outputs_that_do_not_come_again(self):
        """A fold that decides otherwise than the one that wrote must not go on."""
        world = await self._two_blocks()
        world.make()
        async with world.running():
            world.inputs.send("emissions", b"c")
            await world.until(lambda: len(world.log.values) == 3)

        class Other(ToyFold):
            def fold(self, state, block):
                return [output._replace(key=b"other") for output in super().fold(state, block)]

        world.make(fold=Other())

        assert "does not give the outputs that were written" in await self._stopped(world)

    async def test_a_ledger_of_a_later_version(self):
        """We cannot decide as a later version would."""
        world = World()
        header = Header(
            lane=0, lanes=2, height=0, prev="", time=1, watermark=0, policy="", fold="2 toy", sources=[], outputs=""
        )
        world.log.records.append(seal(header, [])[1])

        assert "written by a later version" in await self._stopped(world)

    async def test_a_position_past_the_end_of_an_input(self):
        """A topic that was made anew must not be taken for the one that the ledger speaks of."""
        world = await self._two_blocks()
        world.inputs.logs["emissions"].clear()
        world.make()

        assert "emissions/0 ends before the position that the ledger names" in await self._stopped(world)

    async def test_fewer_partitions(self):
        """An input has none for some lane."""
        world = await self._two_blocks()
        world.inputs.partitions = 1
        world.make()

        assert "another number of partitions" in await self._stopped(world)

    async def test_a_topic_that_it_writes_to_is_gone(self):
        """The lane says which, and not that something timed out; also where it waits for the broker just then."""
        for during in ("idle", "block"):
            world = await self._two_blocks()
            world.make()
            task = asyncio.create_task(world.lane.run())
            await world.until(lambda world=world: world.lane.status.phase == "running")
            if during == "block":
                world.ledger.fail_before = [TimeoutError("the broker did not answer within 20 s")]
                world.lane._gone = ["admitted"]
                world.inputs.send("emissions", b"c")
            else:
                world.lane.identified({}, {"admitted", "reviews"})
            with pytest.raises(DoesNotHoldError, match=r"the broker has no topic admitted any more.*topics create"):
                await asyncio.wait_for(task, 60)

    async def test_more_partitions_are_no_reason_to_stop(self):
        """Its own is there; the worker tells of those that no lane reads."""
        world = await self._two_blocks()
        world.inputs.partitions = 3
        world.make()
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "running")


class TestInputs:
    async def test_what_retention_has_deleted_is_a_recorded_gap(self):
        """The next block says what was not read, and the offsets still follow upon one another."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(world.log.values) == 1)
        world.inputs.logs["emissions"] += [b"lost"] * 4 + [b"kept"]
        world.inputs.first["emissions"] = 5
        world.make()
        async with world.running():
            await world.until(lambda: len(world.log.values) == 2)

        gap = world.log.blocks[2]
        assert [(e.kind, e.source, e.offset, e.value) for e in gap.events[:1]] == [(EventKind.GAP, 0, 1, b"5")]
        assert _plain(gap.header.sources[0])[1] == 1
        assert world.log.values == [b"a", b"kept"]

    async def test_an_input_that_cannot_be_read_ends_the_lane_behind_what_can(self):
        """What lies before stands in blocks; a word that belongs to an earlier seek is none."""
        world = World()
        error = DoesNotHoldError("a batch of an input cannot be read")
        task = asyncio.create_task(world.lane.run())
        await world.until(lambda: world.lane.status.phase == "running")
        epoch = world.lane.intake.epoch
        world.lane.unread("observations", epoch - 1, 0, DoesNotHoldError("of an earlier seek"))
        world.lane.unread("emissions", epoch, 2, error)
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values == [b"a"])
        world.inputs.send("emissions", b"b")

        with pytest.raises(DoesNotHoldError) as ended:
            await asyncio.wait_for(task, 60)

        assert ended.value is error
        assert world.log.values == [b"a", b"b"]

    async def test_a_batch_that_was_put_aside_stands_in_a_block(self):
        """Its event is one of the input's; the next block goes on behind it."""
        async with World().running() as world:
            await world.until(lambda: world.lane.status.phase == "running")
            aside = quarantine(0, 0, 5, 1, "checksum", b"raw")
            epoch = world.lane.intake.epoch
            world.lane.offer(Fetched("emissions", 0, epoch, 0, 5, [aside], 100))
            world.lane.offer(fetched("emissions", 5, [b"a"], epoch=epoch))
            await world.until(lambda: world.log.values == [b"a"])

        events = [event for block in world.log.blocks[1:] for event in block.events]
        assert events[0] == aside
        assert _plain(world.log.blocks[-1].header.sources[0])[2] == 6

    async def test_a_gap_is_recorded_before_too_many_timers_are_settled(self):
        """Any block passes over what was lost, so the first one says so; records wait until the timers are settled."""
        async with World().running() as world:
            world.inputs.send("emissions", *(b"@%d" % (world.now + 10) for _ in range(MAX_TIMERS + 1)))
            await world.until(lambda: len(world.log.values) == MAX_TIMERS + 1)
        height, world.now = len(world.log.records), world.now + 20
        world.inputs.logs["observations"] += [b"lost", b"kept"]
        world.inputs.first["observations"] = 1
        world.make()
        async with world.running():
            await world.until(lambda: world.log.values[-1] == b"kept")

        settled = world.log.blocks[height]
        assert [(event.kind, event.offset) for event in settled.events] == [(EventKind.GAP, 0)]
        assert [one.key for one in world.log.outputs[height]] == [b"fired"] * MAX_TIMERS

    async def test_a_new_ledger_begins_where_its_inputs_begin(self):
        """What retention took before there was a ledger is no loss of this ledger."""
        world = World()
        world.inputs.logs["emissions"] = [b"old"] * 3 + [b"new"]
        world.inputs.first["emissions"] = 3
        async with world.running():
            await world.until(lambda: world.log.values)

        assert world.log.values == [b"new"]
        assert _plain(world.log.blocks[0].header.sources[0]) == ("emissions", 3, 3)

    async def test_a_lost_frame_is_sought_again(self):
        """A range that starts beyond the lane's position makes it seek back, and nothing is missed."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(world.log.values) == 1)
            world.inputs.logs["emissions"] += [b"b", b"c"]
            world.lane.offer(fetched("emissions", 2, [b"c"], epoch=1))
            await world.until(lambda: len(world.log.values) == 3)

        assert world.inputs.placed[-1]["emissions"] == 1
        assert world.log.values == [b"a", b"b", b"c"]

    @pytest.mark.parametrize("hears", [True, False])
    async def test_the_last_frame_of_an_input_is_missed_while_others_go_on(
        self, hears: bool, monkeypatch: pytest.MonkeyPatch
    ):
        """Nothing follows upon it, and each block would look like progress: the lane is told how far it was read."""
        monkeypatch.setattr(intake_module, "LOST_SECONDS", 0.2)
        async with World().running() as world:
            await world.until(lambda: world.lane.status.phase == "running")
            world.inputs.logs["observations"] += [b"lost"]
            world.inputs.handed["observations"] = 1
            if hears:
                world.lane.intake.on_its_way(fetched("observations", 0, [b"lost"], epoch=1))
            sent = 0
            while b"lost" not in world.log.values:
                sent += 1
                assert sent < 3000, "it is missed by nobody"
                world.inputs.send("emissions", b"%d" % sent)
                await world.until(lambda sent=sent: b"%d" % sent in world.log.values)
                world.read(world.now)
                await asyncio.sleep(0.01)

        assert world.inputs.placed[-1]["observations"] == 0
        assert sorted(world.log.values, key=len)[-1] == b"lost"
        assert len(set(world.log.values)) == len(world.log.values)

    async def test_a_position_that_the_broker_lost_is_a_gap(self):
        """Retention that overtakes a running lane is recorded as well."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: len(world.log.values) == 1)
            world.inputs.logs["emissions"] += [b"lost", b"kept"]
            world.inputs.first["emissions"] = 2
            world.lane.lost("emissions")
            await world.until(lambda: len(world.log.values) == 2)

        assert world.log.blocks[2].events[0].kind == EventKind.GAP
        assert world.log.values == [b"a", b"kept"]


class TestRebalance:
    async def test_a_rebalance_while_it_seeks_loses_no_position(self):
        """What the ledger says holds on resuming, also where the seek was under way when the rebalance began."""
        async with World().running() as world:
            await world.until(lambda: world.lane.status.phase == "running")
            world.inputs.send("emissions", b"a", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])
        other, place = world.make(), world.inputs.place

        async def interrupted(lane: int, positions: Mapping[str, int]) -> int:
            epoch = await place(lane, positions)
            if len(world.inputs.placed) == 2:
                other.suspend()
                asyncio.get_running_loop().call_later(0.05, other.resume)
            return epoch

        world.inputs.place = interrupted  # type: ignore[method-assign]
        async with world.running():
            await world.until(lambda: len(world.inputs.placed) == 3)
            world.inputs.send("emissions", b"c")
            await world.until(lambda: world.log.values == [b"a", b"b", b"c"])

        assert [dict(one)["emissions"] for one in world.inputs.placed] == [0, 2, 2]

    async def test_what_no_reader_would_take_is_never_written(self):
        """Positions that go back, whoever is to blame, stop the lane before the block is there."""
        world = World()

        with pytest.raises(DoesNotHoldError, match="do not follow upon one another"):
            await self._go_back(world)

        assert world.log.values == [b"a", b"b"]

    async def _go_back(self, world: World) -> None:
        zero = dict.fromkeys(INPUTS, 0)
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "running")
            world.inputs.send("emissions", b"a", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])
            world.lane.intake.restart(1, zero, zero)
            world.lane.offer(fetched("emissions", 0, [b"a"]))
            await world.until(lambda: world.lane.status.phase == "stopped")

    async def test_a_suspended_lane_closes_no_block(self):
        """Until the group says who owns the lane, nothing is written."""
        async with World().running() as world:
            await world.until(lambda: world.log.records)
            world.lane.suspend()
            await world.until(lambda: world.lane.status.phase == "suspended")
            world.inputs.send("emissions", b"a")
            await asyncio.sleep(0.02)
            assert world.log.values == []
            world.lane.resume()
            await world.until(lambda: world.log.values)

    async def test_a_lane_that_stays_keeps_its_state(self):
        """With its own block still at the tip, nothing is folded again."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
            folded = world.fold.folded
            world.lane.suspend()
            await world.until(lambda: world.lane.status.phase == "suspended")
            world.lane.resume()
            world.inputs.send("emissions", b"b")
            await world.until(lambda: len(world.log.values) == 2)

            assert world.fold.folded == folded + 1
            assert world.ledger.opened == 1

    async def test_a_lane_that_was_elsewhere_meanwhile_is_restored(self):
        """A block of somebody else at the tip makes the kept state worthless."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
            mine = world.lane
            mine.suspend()
            await world.until(lambda: mine.status.phase == "suspended")
            async with World(world.log, world.inputs).running():
                world.inputs.send("emissions", b"b")
                await world.until(lambda: len(world.log.values) == 2)
            world.lane = world.inputs.lane = mine
            with capture_logs() as lines:
                mine.resume()
                await world.until(lambda: world.ledger.opened == 2)
            assert "somebody else has written to the ledger meanwhile: restoring" in [line["event"] for line in lines]
            world.inputs.send("emissions", b"c")
            await world.until(lambda: len(world.log.values) == 3)

        assert world.log.values == [b"a", b"b", b"c"]

    async def test_a_lane_whose_last_block_is_gone_waits_for_it(self):
        """A ledger that was cut where our tip stood: nothing may be written above a block that is not there."""
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
            world.lane.suspend()
            await world.until(lambda: world.lane.status.phase == "suspended")
            gone = world.log.records.pop()
            world.lane.resume()
            await world.until(lambda: world.lane.status.reason)
            assert world.lane.status.phase == "taking-over"
            assert "(expected 2 blocks or more, got 1)" in world.lane.status.reason
            assert world.log.values == []
            world.log.records.append(gone)
            world.inputs.send("emissions", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])
            assert world.lane.status.reason == ""

        assert world.ledger.opened == 2


def identity(app_id: str = "sluice", was: str | None = None, ledger_id: str = "ID") -> LedgerIdentity:
    """What a worker of this application takes the ledger for."""
    return LedgerIdentity(ledger_id=ledger_id, app_id=app_id, was=was)


class TestIdentity:
    """The first block names the ledger and its application; no other application writes it, unless renamed."""

    async def _begun(self) -> World:
        async with World(identity=identity()).running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values == [b"a"])
        return world

    async def test_the_first_block_names_the_ledger(self):
        """Beside its policy; no later block does."""
        world = await self._begun()
        async with World(world.log, world.inputs).running():
            pass

        assert [identity_in(block) for block in world.log.blocks] == [identity(), *[None] * (len(world.log.blocks) - 1)]
        assert [event.kind for event in world.log.blocks[0].events] == [EventKind.POLICY, EventKind.LEDGER]

    @pytest.mark.parametrize(
        ("ours", "sentence"),
        [
            (identity("other"), "the application 'sluice' writes this ledger, and this worker's app_id is 'other'"),
            (identity("other", was="third"), "'sluice' writes this ledger, and this worker's app_id is 'other'"),
            (identity(ledger_id="ID2"), "the ledger is another one than when this worker was started"),
        ],
    )
    async def test_another_one_is_refused(self, ours: LedgerIdentity, sentence: str):
        """With both names, and nothing is written."""
        world = await self._begun()
        stood = len(world.log.records)
        world.make(identity=ours)

        with pytest.raises(SluiceError, match=sentence):
            await asyncio.wait_for(world.lane.run(), 60)
        assert len(world.log.records) == stood

    async def test_a_ledger_that_another_one_claimed_first_is_refused(self):
        """Of two first starts the later one sees the claim of the earlier one, and no block."""
        world = World()
        world.ledger.begun_by = "sluice"
        world.make(identity=identity("other"))

        with pytest.raises(SluiceError, match="'sluice' writes this ledger, and this worker's app_id is 'other'"):
            await asyncio.wait_for(world.lane.run(), 60)
        assert not world.log.records

    async def test_a_new_name_is_recorded_once(self):
        """An application that was renamed says so in the ledger; the name before it is refused from then on."""
        world = await self._begun()
        for _ in range(2):
            world.make(identity=identity("other", was="sluice"))
            async with world.running():
                world.inputs.send("emissions", b"b")
                await world.until(lambda: world.log.values[-1] == b"b" and world.lane.status.phase == "running")

        named = [one for block in world.log.blocks if (one := identity_in(block)) is not None]
        assert named == [identity(), identity("other", was="sluice")]
        world.make(identity=identity())
        with pytest.raises(SluiceError, match="'other' writes this ledger, and this worker's app_id is 'sluice'"):
            await asyncio.wait_for(world.lane.run(), 60)


async def suspended_behind_a_block(world: World) -> None:
    """Waits until a running lane has written a block of `a`, and sits out a rebalance."""
    world.inputs.send("emissions", b"a")
    await world.until(lambda: world.log.values)
    world.lane.suspend()
    await world.until(lambda: world.lane.status.phase == "suspended")


class TestClaims:
    """A lane says that it is its owner before it reads what others wrote; its blocks name that claim."""

    def _claimant(self, **options: object) -> Claimant:
        member = options.get("member", lambda: Member("sluice", "m-1", 7))
        return Claimant(0, "sluice/ledger/0", "w-0", "1.0", None, member, lambda: 1_000_000)  # type: ignore[arg-type]

    async def test_it_claims_and_then_reads(self):
        """Each take-over has a claim of its own; blocks name the newest."""
        async with World(claimant=self._claimant()).running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
            world.ledger.fail_before.append(KafkaConnectionError("gone"))
            world.inputs.send("emissions", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])

        (_, first), (at, second) = world.ledger.claims
        named = [block.header.claim for block in world.log.blocks]
        assert named == [claim_hash(first)] * at + [claim_hash(second)] * (len(named) - at)
        assert read_claim(first).claim.member == "m-1"
        assert read_claim(first).claim.claimed_at == "1970-01-01T00:16:40Z"

    async def test_who_is_no_member_does_not_even_fence(self):
        """A worker whose coordinator is silent must leave the lane's owner in peace."""

        def nobody() -> Member:
            raise NotAMemberError("silent")

        async with World(claimant=self._claimant(member=nobody)).running() as world:
            await world.until(lambda: world.lane.status.phase == "waiting")

        assert (world.ledger.opened, world.log.records) == (0, [])

    async def test_a_member_that_was_replaced_writes_nothing(self):
        """It waits like one that was fenced, and claims again once the group has given it the lane."""
        world = World(claimant=self._claimant())
        world.ledger.refused = True
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "waiting")
            assert world.log.records == []
            world.ledger.refused = False
            world.lane.suspend()
            world.lane.resume()
            await world.until(lambda: world.lane.status.phase == "running")

    async def test_a_lane_that_was_claimed_elsewhere_meanwhile_is_claimed_anew_at_once(self):
        """It would be fenced with its next block, although the group has given it the lane again."""
        async with World(claimant=self._claimant()).running() as world:
            await suspended_behind_a_block(world)
            world.ledger.foreign_claims = 1
            world.lane.resume()
            await world.until(lambda: len(world.ledger.claims) == 2)
            world.inputs.send("emissions", b"b")
            await world.until(lambda: world.log.values == [b"a", b"b"])

        assert world.ledger.opened == 2

    async def test_a_lane_that_stays_over_one_rebalance_reads_nothing_again(self):
        """Nobody else can have had it: it goes on where it was."""
        world, generation = World(), 7
        world.make(claimant=self._claimant(member=lambda: Member("sluice", "m-1", generation)))
        async with world.running():
            for value in b"a", b"b", b"c":
                world.inputs.send("emissions", value)
                await world.until(lambda: value in world.log.values)  # noqa: B023
                world.lane.suspend()
                await world.until(lambda: world.lane.status.phase == "suspended")
                generation += 1
                world.ledger.foreign_claims = 1  # would be told to who reads
                bounds, world.inputs.bounds = world.inputs.bounds, None  # type: ignore[method-assign]
                world.lane.resume()
                await world.until(lambda: world.lane.status.phase == "running")
                world.inputs.bounds = bounds  # type: ignore[method-assign]
            world.inputs.send("emissions", b"d")
            await world.until(lambda: world.log.values == [b"a", b"b", b"c", b"d"])

        assert (len(world.ledger.claims), world.ledger.foreign_claims) == (1, 1)

    @pytest.mark.parametrize(
        "later",
        [Member("sluice", "m-1", 7), Member("sluice", "m-1", 9), Member("sluice", "m-2", 8), None],
        ids=["the same", "one more between", "another member", "none"],
    )
    async def test_a_lane_that_somebody_else_may_have_had_reads_its_ledger(self, later: Member | None):
        """Two rebalances may have given it away and back, and so may one for a worker that was replaced."""
        now: list[Member | None] = [Member("sluice", "m-1", 7)]

        def member() -> Member:
            if now[0] is None:
                raise NotAMemberError("silent")
            return now[0]

        async with World(claimant=self._claimant(member=member)).running() as world:
            await suspended_behind_a_block(world)
            world.ledger.foreign_claims = 1
            now[0] = later
            world.lane.resume()
            await world.until(lambda: not world.ledger.foreign_claims)
            now[0] = Member("sluice", "m-1", 10)
            await world.until(lambda: world.lane.status.phase in ("running", "waiting"))

    async def test_a_lane_that_stays_claims_nothing_anew(self):
        """Its producer was not fenced: it still is the owner."""
        async with World(claimant=self._claimant()).running() as world:
            await suspended_behind_a_block(world)
            world.lane.resume()
            world.inputs.send("emissions", b"b")
            await world.until(lambda: len(world.log.values) == 2)

        assert len(world.ledger.claims) == 1


class TestNeverBelow:
    """What a lane has held is there, whatever the ledger says: it waits, and ends loudly where that does not come."""

    async def _held(self, values: int) -> World:
        """A lane that has held a block for each of these values, and whose ledger has lost the last two."""
        async with World().running() as world:
            for number in range(values):
                world.inputs.send("emissions", b"%d" % number)
                await world.until(lambda: len(world.log.values) == number + 1)  # noqa: B023
        del world.log.records[-2:]
        return world

    async def test_a_lane_does_not_go_on_from_below_what_it_held(self):
        """Two heights would be there twice. After `max_stall` it ends, and one sentence says why."""
        world = await self._held(3)
        held, before = world.lane.held, list(world.log.records)
        world.make(max_stall=0.01)
        world.lane.held = held

        with capture_logs() as lines, pytest.raises(TooShortError) as ended:
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "stopped")

        assert world.log.records == before
        assert "the ledger is shorter than what this worker held of it: a tail was cut" in str(ended.value)
        assert "(expected 4 blocks or more, got 2)" in str(ended.value)
        assert [line["log_level"] for line in lines if line["event"].startswith("the lane waits for blocks")] == [
            "error"
        ]

    async def test_it_waits_for_as_long_as_the_policy_in_force_says(self):
        """Not the worker's file: that one may be another's."""

        class Impatient(ToyFold):
            def policy_in_force(self, state):
                return Policy(admissibility=Admissibility(max_stall=1)) if state.policy else None

        world = await self._held(3)
        held = world.lane.held
        world.make(max_stall=3600.0, fold=Impatient())
        world.lane.held = held

        with pytest.raises(TooShortError):
            async with world.running():
                await world.until(lambda: world.lane.status.phase == "stopped")

    async def test_what_came_back_is_gone_on_from(self, monkeypatch: pytest.MonkeyPatch):
        """Each look reads only what came since the last one; to wait is to get on."""
        monkeypatch.setattr(restoring, "AGAIN_SECONDS", 0.02)
        async with World().running() as world:
            world.inputs.send("emissions", b"a")
            await world.until(lambda: world.log.values)
        held, gone = world.lane.held, world.log.records.pop()
        world.make()
        world.lane.held = held
        async with world.running():
            await world.until(lambda: world.lane.status.reason)
            folded = world.fold.folded
            await asyncio.sleep(0.1)
            assert world.lane.behind < 0.1
            world.log.records.append(gone)
            await world.until(lambda: world.lane.status.phase == "running")
            assert world.fold.folded == folded + 1

    async def test_it_stops_while_it_waits(self):
        """A worker that is told to end does not wait for a ledger."""
        world = await self._held(3)
        held = world.lane.held
        world.make()
        world.lane.held = held
        async with world.running():
            await world.until(lambda: world.lane.status.reason)

        assert len(world.log.records) == 2


def _plain(source: object) -> tuple[str, int, int]:
    return (source.topic, source.first, source.next)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- turns at being taken over


def taken(since: float = inf) -> ConcurrencyLimiter:
    """Turns of which other lanes have all, since then."""
    turns = ConcurrencyLimiter()
    for other in range(turns.at_a_time):
        assert turns.ask(other, lambda: None, since)
    return turns


async def test_a_lane_waits_until_few_others_are_taken_over():
    """All that come at once would be ready at the very end. Until its turn the lane fences nobody."""
    world, turns = World(), taken()
    world.make(take_overs=turns)
    async with world.running():
        await world.until(lambda: turns.waiting == 1)
        assert (world.ledger.opened, world.lane.status.phase) == (0, "taking-over")
        turns.end(0, monotonic())
        await world.until(lambda: world.lane.status.phase == "running")

    assert turns.ask("another", lambda: None, monotonic()), "the lane's turn has ended"


async def test_an_input_that_is_never_read_to_its_end_lags_from_the_take_over_on():
    """A transaction may have been open there before the first answer: a series that is missing raises no alarm."""
    async with World().running() as world:
        await world.until(lambda: world.lane.status.phase == "running")
        await world.until(lambda: set(world.lane.status.read_to) == set(INPUTS))
        world.lane.answered("emissions", 0, world.now + 9_000, 1, 0, 2)
        assert world.lane.status.read_to["emissions"] == world.now


async def test_a_take_over_that_takes_long_holds_up_no_other(monkeypatch: pytest.MonkeyPatch):
    """A lane that is restored from the beginning takes minutes; its turn counts for a second."""
    monkeypatch.setattr(lane_control, "LATE_SECONDS", 0.05)
    monkeypatch.setattr(lane, "LATE_SECONDS", 0.05)
    async with World(take_overs=taken(monotonic())).running() as world:
        await world.until(lambda: world.lane.status.phase == "running")


async def test_a_lane_that_is_stopped_while_it_waits_gives_its_place_up():
    """It became somebody else's meanwhile: to open its ledger would fence them."""
    world, turns = World(), taken()
    world.make(take_overs=turns)
    async with world.running():
        await world.until(lambda: turns.waiting == 1)

    assert (world.ledger.opened, turns.waiting) == (0, 0)


async def test_a_lane_whose_turn_comes_during_a_rebalance_fences_nobody():
    """The group has not said yet whose it is."""
    world, turns = World(), taken()
    world.make(take_overs=turns)
    async with world.running():
        await world.until(lambda: turns.waiting == 1)
        world.lane.suspend()
        turns.end(0, monotonic())
        await world.until(lambda: world.lane.status.phase == "suspended")
        assert world.ledger.opened == 0
        world.lane.resume()
        await world.until(lambda: world.lane.status.phase == "running")


async def test_a_lane_that_waits_for_its_turn_does_not_stall(monkeypatch: pytest.MonkeyPatch):
    """Four hundred that come at once wait for more than a minute: to begin anew would send them to the end."""
    monkeypatch.setattr(lane, "LATE_SECONDS", 0.01)
    world, moved = World(), list[None]()
    world.make(take_overs=taken())
    monkeypatch.setattr(world.lane._progress, "moved", lambda: moved.append(None))
    async with world.running():
        await world.until(lambda: len(moved) >= 3)
        assert world.ledger.opened == 0


async def test_a_take_over_that_fails_says_nothing_of_how_many_there_may_be():
    """It took no time: beside it every other would seem to wait."""
    world, learned = World(), list[float | None]()
    turns = ConcurrencyLimiter()
    end = turns.end
    turns.end = lambda who, now, seconds=None: (learned.append(seconds), end(who, now, seconds))[1]  # type: ignore[method-assign]
    world.ledger.foreign_claims = 1
    world.make(take_overs=turns)
    async with world.running():
        await world.until(lambda: world.lane.status.phase == "running")

    assert learned[0] is None
    assert learned[1] is not None
