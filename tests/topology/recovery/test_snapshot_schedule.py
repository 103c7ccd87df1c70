"""A lane and its snapshots: what a restart begins with, and that nothing but time depends on it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from pathlib import Path
from time import monotonic
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec import UNSET
from scripted_lane import ToyFold, World
from structlog.testing import capture_logs

from sluice.codecs import merkle
from sluice.codecs.notes import Signer
from sluice.topology.engine.checkpointing import Checkpoints, Tips, Wanted, read_checkpoint
from sluice.topology.engine.lane import Lane
from sluice.topology.engine.replay import Restored
from sluice.topology.engine.restore import TooShortError
from sluice.topology.engine.snapshots import HUNG_SECONDS, SnapshotScheduler, SnapshotStore, SnapshotTurn


def nobody() -> None:
    """Is woken where no lane waits."""


class Kept:
    """A world whose lanes keep snapshots in a folder, after every block."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.world = folder, World()
        self.standby: Restored | None = None

    def scheduler(self) -> SnapshotScheduler:
        fold = self.world.fold
        return SnapshotScheduler(SnapshotStore(self.folder, 0, 2, fold.form), fold, 0.0, lambda: self.standby)

    def lane(self) -> Lane:
        """A new lane over the same log, inputs and folder, as another process would have it."""
        self._scheduler = self.scheduler()
        return self.world.make(scheduler=self._scheduler)

    async def written(self) -> None:
        """Waits until the last block has its snapshot, and none is being written."""
        await self.world.until(lambda: self._scheduler._writing is None)

    async def send(self, *values: bytes) -> None:
        """Each value in a block of its own, and a snapshot after it."""
        world = self.world
        await self.written()
        for value in values:
            blocks = len(world.log.records)
            world.inputs.send("emissions", value)
            await world.until(lambda: len(world.log.records) > blocks)  # noqa: B023
            await self.written()
            assert len(world.log.records) - 1 in self.heights()

    def restored(self, offset: int) -> Restored:
        """A state at the last lane's tip, which stands at that offset."""
        return Restored(self.world.fold.load([b"([], [], [], 'sha256:p', 0)"]), self.world.lane._tip, offset)

    def heights(self) -> list[int]:
        return sorted(int(path.name.split("-")[0]) for path in self.folder.rglob("*.snapshot"))

    async def run(self, *values: bytes) -> int:
        """Runs a new lane until it has taken these values in; returns how many blocks it folded."""
        self.lane()
        before = self.world.fold.folded
        async with self.world.running():
            await self.world.until(lambda: self.world.lane.status.phase == "running" and self.world.log.records)
            await self.send(*values)
        return self.world.fold.folded - before


@pytest.fixture
async def kept(tmp_path: Path) -> Kept:
    """A lane that has taken three records in, and ended."""
    kept = Kept(tmp_path)
    await kept.run(b"a", b"b", b"c")
    return kept


async def test_a_restart_folds_only_what_came_after_the_snapshot(kept: Kept):
    """The policy's block and three more were folded once; the next lane folds its own block only."""
    assert await kept.run(b"d") == 1
    assert kept.world.log.values == [b"a", b"b", b"c", b"d"]


async def test_a_later_block_names_the_snapshot_once(kept: Kept):
    """By the hash of its bytes, and the height that it was taken at."""
    await kept.run(b"d")
    named = [block.header.snapshot for block in kept.world.log.blocks if block.header.snapshot is not UNSET]

    assert len(set(named)) == len(named) >= 2
    assert all(isinstance(name, str) and name.startswith("sha256:") for name in named)
    assert str(named[0]).endswith("@0")


async def damage(kept: Kept) -> None:
    for path in kept.folder.rglob("*.snapshot"):
        raw = bytearray(path.read_bytes())
        raw[30] ^= 1
        path.write_bytes(raw)


async def cut_short(kept: Kept) -> None:
    for path in kept.folder.rglob("*.snapshot"):
        path.write_bytes(path.read_bytes()[:40])


async def remove(kept: Kept) -> None:
    for path in kept.folder.rglob("*.snapshot"):
        path.unlink()


async def of_another_ledger(kept: Kept) -> None:
    """The topic was made anew under the same name: other blocks at the same offsets."""
    old = kept.world.log
    kept.world = World()
    kept.world.now += 1
    async with kept.world.running():
        await kept.world.until(lambda: kept.world.log.records)
        for number, value in enumerate(old.values):
            kept.world.inputs.send("emissions", value)
            await kept.world.until(lambda: len(kept.world.log.values) == number + 1)  # noqa: B023
    assert len(kept.world.log.records) == len(old.records)


@pytest.mark.parametrize("harm", [damage, cut_short, remove, of_another_ledger])
async def test_without_a_good_snapshot_it_only_takes_longer(kept: Kept, harm: Any):
    """The ledger is folded from its beginning, and says the same."""
    await harm(kept)
    blocks = len(kept.world.log.records)

    assert await kept.run(b"d") == blocks + 1
    assert kept.world.log.values == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("newest_only", [False, True])
async def test_a_lane_never_goes_on_below_a_whole_snapshot(kept: Kept, newest_only: bool):
    """The ledger had that block; where it has not, nothing is written, and the lane ends loudly."""
    if newest_only:  # an older one is of a block that is there: the lane restores from it, and must still not go on
        (path, facts), *_ = kept.scheduler()._store.found()
        os.utime(path, (0, 0))
        assert facts.tip.height == 3
    del kept.world.log.records[3:]
    before = list(kept.world.log.records)
    kept.lane()
    kept.world.lane._max_stall = 0.0

    with pytest.raises(TooShortError) as ended:
        async with kept.world.running():
            await kept.world.until(lambda: kept.world.lane.status.phase == "stopped")

    assert "the ledger is shorter than snapshot 000000000000003-" in str(ended.value)
    assert "expected 4 blocks or more" in str(ended.value)
    assert kept.world.log.records == before


async def test_a_snapshot_of_a_broker_that_keeps_nothing_may_be_of_an_earlier_one(kept: Kept):
    """The embedded broker begins anew whenever it is started: a shorter ledger is another one there."""
    of_before = SnapshotStore(kept.folder, 0, 2, kept.world.fold.form)
    kept.world = World()
    scheduler = SnapshotScheduler(of_before, kept.world.fold, None, lasting=False)
    lane = kept.world.make(scheduler=scheduler)
    with capture_logs() as lines:
        async with kept.world.running() as world:
            await world.until(lambda: lane.status.phase == "running" and world.log.records)

    assert {line["reason"] for line in lines if line["event"].startswith("not restored from here")} == {
        "the ledger has no such block"
    }


async def test_a_lane_never_goes_on_below_what_its_standby_has_seen(kept: Kept):
    """A standby followed the ledger: what it has seen was there."""
    kept.standby = kept.restored(len(kept.world.log.records) - 1)
    await remove(kept)
    gone = kept.world.log.records.pop()
    kept.lane()
    async with kept.world.running():
        await kept.world.until(lambda: kept.world.lane.status.reason)
        kept.world.inputs.send("emissions", b"d")
        assert "the ledger is shorter than standby" in kept.world.lane.status.reason
        kept.world.log.records.append(gone)
        await kept.world.until(lambda: kept.world.log.values[-1] == b"d")

    assert kept.world.log.values == [b"a", b"b", b"c", b"d"]


async def test_a_lane_that_moves_warm_has_its_first_snapshot_later(tmp_path: Path):
    """All that move together would write theirs at once, each of a whole state, while they have to catch up."""
    kept = Kept(tmp_path / "before")
    await kept.run(b"a")
    fold, restored = kept.world.fold, kept.restored(1)
    store = SnapshotStore(tmp_path / "after", 0, 2, fold.form)
    scheduler = SnapshotScheduler(store, fold, 3600.0, lambda: restored)
    warm = await next(scheduler.starts()).begin()
    scheduler.after_block(warm, nobody)
    assert scheduler._writing is None

    scheduler._taken_at -= 3600
    scheduler.after_block(warm, nobody)
    assert scheduler._writing is not None
    await scheduler._writing


async def test_a_worker_s_lanes_write_one_snapshot_at_a_time(kept: Kept, tmp_path: Path):
    """Eight that were due together, and wrote together, held up every lane for a second."""
    restored, fold, turn = kept.restored(3), kept.world.fold, SnapshotTurn()
    stores = [SnapshotStore(tmp_path / str(number), number, 2, fold.form) for number in range(3)]
    lanes = [SnapshotScheduler(store, fold, 3600.0, turn=turn) for store in stores]

    for number, lane in enumerate(lanes):  # each is due, and asks again after each block
        for asked in lanes[number:]:
            asked.after_block(restored, nobody)
        assert [one._writing is not None for one in lanes] == [one is lane for one in lanes]
        await kept.world.until(lambda: not turn._writing)

    assert [len(list(store.found())) for store in stores] == [1, 1, 1]


async def test_a_snapshot_that_fails_gives_the_turn_to_the_next_lane(kept: Kept, tmp_path: Path):
    """A folder that is full or gone must not keep other lanes from theirs."""
    restored, fold, turn = kept.restored(3), kept.world.fold, SnapshotTurn()
    (tmp_path / "file").write_bytes(b"")
    stores = [SnapshotStore(tmp_path / name, 0, 2, fold.form) for name in ("file", "folder")]
    bad, good = (SnapshotScheduler(store, fold, 3600.0, turn=turn) for store in stores)

    assert [(one.fails, one.written_at) for one in (bad, good)] == [(False, None)] * 2
    bad.after_block(restored, nobody)
    await kept.world.until(lambda: not turn._writing)
    good.after_block(restored, nobody)
    await kept.world.until(lambda: not turn._writing)

    assert len(list(stores[1].found())) == 1
    assert (bad.fails, bad.written_at, good.fails) == (True, None, False)
    (path, _), *_ = stores[1].found()
    (start,) = SnapshotScheduler(stores[1], fold, None).starts()  # another worker's: as old as its file
    await start.begin()
    assert good.written_at is not None
    assert abs(good.written_at - path.stat().st_mtime * 1000) < 60_000


async def test_a_snapshot_that_hangs_holds_up_no_other_lane_for_ever(kept: Kept):
    """Nor is its own lane's next one begun beside it."""
    turn, now = SnapshotTurn(), monotonic()
    assert turn.ask("hangs", nobody, now)
    assert not turn.ask("another", nobody, now + HUNG_SECONDS - 1)

    assert turn.ask("another", nobody, now + HUNG_SECONDS)
    assert not turn.ask("third", nobody, now + HUNG_SECONDS)
    turn.end("hangs")
    assert not turn.ask("third", nobody, now + HUNG_SECONDS)
    turn.end("another")
    assert turn.ask("third", nobody, now + HUNG_SECONDS)


async def test_a_lane_that_falls_silent_while_another_writes_has_its_snapshot_all_the_same(kept: Kept, tmp_path: Path):
    """Its last block came while it was not its turn: it is woken, and writes without a further block."""
    world, turn = kept.world, SnapshotTurn()
    assert turn.ask("another", nobody, monotonic())
    store = SnapshotStore(tmp_path / "own", 0, 2, world.fold.form)
    scheduler = SnapshotScheduler(store, world.fold, 0.0, turn=turn)
    world.make(scheduler=scheduler)
    async with world.running():
        world.inputs.send("emissions", b"last")
        await world.until(lambda: world.log.values[-1:] == [b"last"] and scheduler.waits)
        blocks = len(world.log.records)
        assert list(store.found()) == []
        turn.end("another")
        await world.until(lambda: [facts.tip.height for _, facts in store.found()] == [blocks - 1])

    assert len(world.log.records) == blocks


async def test_a_lane_that_left_while_it_waited_keeps_nobody_else_waiting():
    """It is woken for nothing."""
    turn, woken, now = SnapshotTurn(), list[str](), monotonic()
    assert turn.ask("writes", nobody, now)
    for who in ("left", "stays"):
        assert not turn.ask(who, lambda who=who: woken.append(who), now)  # type: ignore[misc]
    turn.end("writes")

    assert woken == ["left", "stays"]
    assert turn.ask("stays", nobody, now)


async def test_a_state_of_which_no_bytes_can_be_made_keeps_nobody_s_turn(kept: Kept, tmp_path: Path):
    """The lane ends with its error; the others write theirs."""
    restored, fold, turn = kept.restored(3), kept.world.fold, SnapshotTurn()
    broken = Mock(dump=Mock(side_effect=MemoryError))
    scheduler = SnapshotScheduler(SnapshotStore(tmp_path, 0, 2, fold.form), broken, 3600.0, turn=turn)

    with pytest.raises(MemoryError):
        scheduler.after_block(restored, nobody)

    assert turn.ask("another", nobody, monotonic())


async def test_the_older_snapshot_helps_where_the_newest_is_damaged(kept: Kept):
    """Two are kept for that."""
    newest = max(kept.folder.rglob("*.snapshot"))
    newest.write_bytes(newest.read_bytes()[:-1])

    assert await kept.run(b"d") == 2


async def test_another_package_s_snapshot_is_used_where_its_form_is_the_same(kept: Kept):
    """A later package knows one more version; the ledger has its own still, and so has the state."""

    class Later(ToyFold):
        version = "2 toy"

        def named(self, state: Any, ledger: str = "") -> str:
            return ledger

    kept.world.fold = Later()

    assert await kept.run(b"d") == 1
    assert kept.world.log.values == [b"a", b"b", b"c", b"d"]
    assert kept.world.log.blocks[-1].header.fold == "1 toy"


async def test_a_package_with_another_form_passes_snapshots_over(kept: Kept):
    """Before the upgrade and after it is undone alike: it folds the ledger, and says why."""

    class Other(ToyFold):
        form = "state=other"

        def load(self, chunks: Iterable[bytes]) -> Any:
            raise AssertionError("bytes of another form were read")

    blocks, kept.world.fold = len(kept.world.log.records), Other()

    with capture_logs() as logged:
        assert await kept.run(b"d") == blocks + 1

    assert kept.world.log.values == [b"a", b"b", b"c", b"d"]
    assert {one["reason"] for one in logged if one["event"] == "a snapshot is not used"} == {"its form is 'state=toy'"}


async def test_a_state_that_does_not_fold_to_the_ledger_s_outputs_is_not_believed(kept: Kept):
    """Its bytes are whole and its block is the ledger's, but what follows from it is not what was written."""
    (path, facts), *_ = SnapshotStore(kept.folder, 0, 2, kept.world.fold.form).found()
    blocks = len(kept.world.log.records)
    store = SnapshotStore(kept.folder, 0, 2, kept.world.fold.form)
    path.unlink()
    store.write(facts.tip._replace(outputs="sha256:" + "0" * 64), facts.offset, [b"([], [], [], '', 0)"])
    world, lane = kept.world, kept.world.make()
    async with world.running():  # somebody without snapshots goes on meanwhile
        await world.until(lambda: lane.status.phase == "running")
        world.inputs.send("emissions", b"d")
        await world.until(lambda: len(world.log.records) > blocks)

    assert await kept.run(b"e") == 1 + blocks + 1 or kept.world.log.values[-1] == b"e"
    assert kept.world.log.values == [b"a", b"b", b"c", b"d", b"e"]


async def test_a_standby_s_state_comes_before_any_snapshot(kept: Kept):
    """It is checked against the ledger's block like any other start."""
    kept.standby = kept.restored(len(kept.world.log.records) - 1)
    await remove(kept)

    assert await kept.run(b"d") == 1
    assert [value for _, _, value in kept.standby.state.seen] == [b"d"]  # it is the lane's own now


async def test_a_lane_that_goes_on_from_a_snapshot_has_the_tree_of_all_blocks(kept: Kept):
    """Its checkpoint covers the blocks that it has not folded as well."""
    world, signer = kept.world, Signer("sluice/test", b"s" * 32)

    async def none(wanted: Wanted) -> None:
        pass

    lane, folded = (
        world.make(scheduler=kept.scheduler(), checkpoints=Checkpoints(signer, "a/l/0", 0, Tips(2), 60, none)),
        0,
    )
    async with world.running():
        await world.until(lambda: lane.status.phase == "running")
        folded = world.fold.folded

    (note,) = [one for outputs in world.log.outputs for one in outputs if one.topic == "checkpoints"]
    head = read_checkpoint(note.value, "a/l/0").head
    leaves = [merkle.leaf_hash(bytes.fromhex(block.hash[7:])) for block in world.log.blocks]
    assert (head.size, head.root) == (5, merkle.root(leaves))
    assert world.fold.folded == folded + 1 == 5  # four by the lane before, and the one that bears the checkpoint


async def test_a_full_disk_costs_a_snapshot_and_nothing_else(kept: Kept, monkeypatch: pytest.MonkeyPatch):
    """The lane goes on; the next one is tried when it is due."""

    def full(*_: Any) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(SnapshotStore, "write", full)
    kept.lane()
    async with kept.world.running() as world:
        await world.until(lambda: world.lane.status.phase == "running")
        for value in (b"d", b"e"):
            world.inputs.send("emissions", value)
            await world.until(lambda: value in world.log.values)  # noqa: B023

    assert kept.heights() == [2, 3]


async def test_a_lane_goes_on_while_its_snapshot_is_written(kept: Kept, monkeypatch: pytest.MonkeyPatch):
    """Writing takes as long as a disk takes; blocks do not wait for it."""
    loop, may_write = asyncio.get_running_loop(), asyncio.Event()

    def slow(*_: Any) -> str:
        asyncio.run_coroutine_threadsafe(may_write.wait(), loop).result(60)
        return "sha256:slow"

    monkeypatch.setattr(SnapshotStore, "write", slow)
    kept.lane()
    async with kept.world.running() as world:
        await world.until(lambda: world.lane.status.phase == "running")
        for value in (b"d", b"e", b"f"):
            world.inputs.send("emissions", value)
            await world.until(lambda: value in world.log.values)  # noqa: B023
        may_write.set()
        world.inputs.send("emissions", b"g")
        await world.until(lambda: b"g" in world.log.values)

    assert kept.world.log.values == [b"a", b"b", b"c", b"d", b"e", b"f", b"g"]
