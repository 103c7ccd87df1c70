"""Two versions of the fold: who goes on with what, who reads what, and who refuses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from exported import BASE, ExportedLane, S, emission_after, explanation_of, observation_after
from msgspec.structs import replace
from scripted_lane import ToyFold, World
from structlog.testing import capture_logs

from sluice.codecs.blocks import Header, seal, unseal
from sluice.codecs.errors import LaterVersionError, UsageError
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication.versions import FOLD_VERSIONS, fold_version, newest, next_number
from sluice.streams.policy.policy import DEFAULT_POLICY, Floor
from sluice.streams.sightings import binding
from sluice.topology.audit.proving import Outputs
from sluice.topology.audit.report import Report
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.audit.what_if import Comparison, what_if
from sluice.topology.client.auditing import replay
from sluice.topology.engine import worker
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.export_files import FolderLogs
from sluice.topology.engine.folds import FOLDS, Adjudicate, Bind, folds
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.replay import Restored
from sluice.topology.engine.restore import Standby, Start, restore
from sluice.topology.engine.worker import Worker, demand_ledgers
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

NEWEST = newest()
NEXT = NEWEST + 1
LATER = f"{NEXT} of somebody else"
FORMS: dict[Any, str] = {Adjudicate: "", Bind: binding.FORMS}


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version, under which everything is said to the outside, and three classes are needed."""
    monkeypatch.setitem(FOLD_VERSIONS, NEXT, FOLD_VERSIONS[NEWEST].replace(str(NEWEST), str(NEXT), 1))
    monkeypatch.setitem(FOLDS, fold_version(number=NEXT), "murmur2")
    monkeypatch.setattr(
        core._Folding, "effect", lambda folding, *_: "external" if folding.version > NEWEST else "internal"
    )


# ---------------------------------------------------------------- lanes


class Toy(ToyFold):
    """A fold whose package knows two versions."""

    version = "2 toy"

    def __init__(self, raised: int = 0) -> None:
        super().__init__()
        self._raised = raised

    def named(self, state: Any, ledger: str = "") -> str:
        return f"{max(next_number(ledger, self._raised), 1)} toy"


async def run(world: World, fold: ToyFold, value: bytes) -> str:
    """A worker with this fold takes the lane over, and closes a block; what that names."""
    world.make(fold=fold)
    async with world.running():
        world.inputs.send("emissions", value)
        await world.until(lambda: value in world.log.values)
    return world.log.blocks[-1].header.fold


async def test_a_lane_goes_on_with_its_ledger_s_version_until_it_is_raised():
    """So a newer package can be rolled out, and back, before anything is decided by its own version."""
    world = World()
    assert await run(world, ToyFold(), b"a") == "1 toy"
    assert await run(world, Toy(), b"b") == "1 toy"
    assert await run(world, ToyFold(), b"c") == "1 toy"
    with capture_logs() as logged:
        assert await run(world, Toy(raised=2), b"d") == "2 toy"
    assert await run(world, Toy(raised=1), b"e") == "2 toy"

    raised = [one for one in logged if one["event"] == "the ledger is raised to a later version of the fold"]
    assert [(one["ledger"], one["next"]) for one in raised] == [("1 toy", "2 toy")]
    world.make(fold=ToyFold())
    with pytest.raises(LaterVersionError, match=r"ledger of lane 0, block \d+: the ledger was written by a later"):
        async with world.running():
            await world.until(lambda: world.lane.status.phase == "stopped")


async def test_a_start_of_a_later_version_is_no_way_around_it():
    """A snapshot or a standby's state behind the last block: nothing follows that could be refused."""
    header = Header(
        lane=0, lanes=2, height=0, prev=ChainHead().hash, time=1, watermark=0, policy="", fold="2 toy", sources=[],
        outputs=ChainHead().outputs,
    )  # fmt: skip
    block, data = seal(header, [])
    begun: list[int] = []

    async def blocks(start: int | None) -> Any:
        begun.append(-1 if start is None else start)
        yield 0, data

    async def begin() -> Restored:
        return Restored(None, ChainHead().after(block, ()), 0)

    with pytest.raises(LaterVersionError):
        await restore(blocks, ToyFold(), 0, 2, lambda: False, [Start("snapshot", begin)])
    assert begun == [0]  # not folded from the beginning only to be refused there


async def test_a_ledger_that_is_refused_is_let_go_of_at_once(tmp_path: Path):
    """A consumer that waits for the garbage collector outlives the lane, and keeps the worker from ending."""
    header = Header(
        lane=0, lanes=2, height=0, prev=ChainHead().hash, time=1, watermark=0, policy="", fold="2 toy", sources=[],
        outputs=ChainHead().outputs,
    )  # fmt: skip
    closed, held = [], []

    async def blocks(start: int | None) -> Any:
        try:
            yield 0, seal(header, [])[1]
        finally:
            closed.append(start)

    def kept(start: int | None) -> Any:
        held.append(blocks(start))  # nothing is collected here
        return held[-1]

    with pytest.raises(LaterVersionError):
        await restore(kept, ToyFold(), 0, 2, lambda: False, [])
    assert closed == [None]


# ---------------------------------------------------------------- folds


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("kind", [Adjudicate, Bind])
def test_the_ledger_s_version_comes_before_the_package_s(kind: Any):
    """And what it is raised to before both."""
    fold, state = kind("crc32"), kind("crc32").new(0, 1)
    now, then = (fold_version("crc32", number=number) + FORMS[kind] for number in (NEWEST, NEXT))

    assert fold.named(state, now) == now
    assert fold.named(state) == fold.version == then
    assert kind("crc32", raised=NEXT).named(state, now) == then
    assert kind("crc32", raised=NEWEST).named(state, then) == then
    assert kind("crc32", raised=NEWEST).named(state) == now


def test_ledgers_are_not_raised_to_what_the_package_does_not_know():
    """One sentence before the group is joined; the setting is meant for the package that comes."""
    with pytest.raises(UsageError, match="fold_version: this package does not fold the version") as usage:
        folds(raised=7)

    assert (usage.value.expected, usage.value.got) == (" or ".join(map(str, sorted(FOLD_VERSIONS))), "7")


# ---------------------------------------------------------------- readers


@pytest.fixture
def mixed(later: None) -> ExportedLane:
    """A ledger that was raised half way: em-1 came under our newest version, em-2 under a later one."""
    lane = ExportedLane(start=BASE, raised=NEWEST)
    for number, name in enumerate(("em-1", "em-2"), 1):
        lane.fold = Adjudicate(raised=NEWEST + number - 1)
        lane.block(BASE + 2 * number * S, [emission_after(emission_id=name)])
        lane.block(
            BASE + (2 * number + 1) * S,
            [observation_after(0, one, emission_id=name) for one in ("code.read", "git.log")],
        )
    lane.block(BASE + 6 * S)
    assert [fold_of(data)[0] for data in lane.blocks] == [str(NEWEST)] * 3 + [str(NEXT)] * 3
    return lane


def fold_of(block: bytes) -> str:
    return unseal(block).header.fold


async def report_of(lane: ExportedLane, folder: Path) -> Report:
    return await audit(AuditRequest(Settings(), lane.export(folder / "audited")), "2026-11-21T09:00:00Z")


async def test_an_audit_recomputes_both_parts_of_a_raised_ledger(mixed: ExportedLane, tmp_path: Path):
    """Every output of either part, and it tells both versions."""
    report = await report_of(mixed, tmp_path)

    (lane,) = report.lanes
    assert (report.divergences, lane.folded) == ([], 6)
    assert lane.folds == [fold_version(number=NEWEST), fold_version(number=NEXT)]


async def test_an_audit_by_an_older_package_ends_where_the_ledger_was_raised(
    mixed: ExportedLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What it knows it recomputes; of the rest it says that it cannot."""
    monkeypatch.delitem(FOLDS, fold_version(number=NEXT))

    report = await report_of(mixed, tmp_path)

    (found,) = report.divergences
    assert (found.kind, found.height, report.lanes[0].folded) == ("fold-version", 3, 3)


async def test_a_version_that_goes_back_is_found(mixed: ExportedLane, tmp_path: Path):
    """No worker lowers a ledger: somebody else has written that."""
    mixed.fold = Adjudicate(raised=NEWEST)
    mixed.block(BASE + 7 * S)

    report = await report_of(mixed, tmp_path)

    (found,) = report.divergences
    assert (found.kind, found.height) == ("fold-version", 6)


async def test_explain_tells_each_part_by_its_own_rules(mixed: ExportedLane, tmp_path: Path):
    """Two classes were enough for em-1, and are not for em-2."""
    (old,) = (await explanation_of(mixed, tmp_path, "em-1")).assertions
    (new,) = (await explanation_of(mixed, tmp_path, "em-2")).assertions

    assert (old.k, old.now.status, new.k, new.now.status) == (2, "admitted", 3, "pending")


async def test_a_replay_goes_through_both_parts(mixed: ExportedLane, tmp_path: Path):
    """What was decided in each, confirmed by the block behind it."""
    blocks = [block async for block in replay(FolderLogs(mixed.export(tmp_path)), 0)]

    told = [[output.topic for output in block.outputs] for block in blocks]
    assert told == [[], [], ["admitted", "verdicts"], [], [], []]


async def test_a_record_of_either_part_is_proved(mixed: ExportedLane, tmp_path: Path):
    """The path of an output is that of the fold that its block names."""
    seeker = Outputs(0, 1, "murmur2", lambda output: output.topic == "admitted", takes_last=True)
    found = [seeker.look(unseal(data)) for data in mixed.blocks]

    assert [hit is not None for hit in found] == [False, False, True, False, False, False]


async def test_what_if_folds_each_part_by_its_own_rules(mixed: ExportedLane, tmp_path: Path):
    """Another policy changes what it says, and nothing else."""
    rules = replace(DEFAULT_POLICY.admissibility, k=Floor(internal=2, external=2))
    comparison = Comparison(None, None)

    await what_if(FolderLogs(mixed.export(tmp_path)), 0, replace(DEFAULT_POLICY, admissibility=rules), comparison)

    changes = {row.emission_id: (row.old.status, row.new.status) for row in comparison.changes}
    assert changes == {"em-2": ("pending", "admitted")}


async def test_what_if_by_an_older_package_refuses(
    mixed: ExportedLane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """In the sentence that a worker says."""
    monkeypatch.delitem(FOLD_VERSIONS, NEXT)

    with pytest.raises(LaterVersionError, match="ledger of lane 0, block 3: the ledger was written by a later version"):
        await what_if(FolderLogs(mixed.export(tmp_path)), 0, DEFAULT_POLICY, Comparison(None, None))


# ---------------------------------------------------------------- on a broker


@pytest.fixture
async def settings(request: pytest.FixtureRequest) -> AsyncIterator[Settings]:
    """An embedded broker whose lane 1 was raised to a version that nobody here knows."""
    with EmbeddedBroker() as broker:
        settings = Settings(broker=broker.address, delivery="at-least-once")
        await create_topics(settings)
        ledger = KafkaLedger(settings, 1)
        await ledger.open()
        tip = ChainHead()
        for fold in (fold_version(), LATER):
            header = Header(
                lane=1, lanes=4, height=tip.height + 1, prev=tip.hash, time=1, watermark=0, policy="", fold=fold,
                sources=[], outputs=tip.outputs,
            )  # fmt: skip
            block, data = seal(header, [])
            await ledger.write(data, [])
            tip = tip.after(block, ())
        await ledger.close()
        yield settings


async def test_an_older_worker_ends_before_it_joins_the_group(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """One sentence, exit status 1, and no app is made: started again and again, it disturbs nobody."""
    monkeypatch.setattr(worker, "create_app", lambda *_, **__: pytest.fail("it would have joined"))

    with pytest.raises(LaterVersionError, match="ledger/1, block 1: the ledger was written by a later") as refused:
        await Worker(settings).start()

    assert refused.value.exit_status == 1
    assert refused.value.hint == "upgrade this worker"


async def test_ledgers_that_nobody_has_raised_are_no_reason_to_end(settings: Settings):
    """New ones neither: that of `bind` holds nothing yet."""
    await demand_ledgers(settings, [Bind()])
    with pytest.raises(LaterVersionError):
        await demand_ledgers(settings, [Bind(), Adjudicate()])


async def test_a_standby_leaves_a_raised_ledger_alone(settings: Settings):
    """It would fold the ledger again and again for nothing."""
    following = Standby(settings, Adjudicate(), 1, lambda: iter(()))

    with capture_logs() as logged:
        running = asyncio.create_task(following.run())
        async with asyncio.timeout(60):
            while not any(one["event"] == "the standby ends" for one in logged):  # noqa: ASYNC110 -- only the log tells
                await asyncio.sleep(0.01)
        assert not running.done()  # whoever runs it would begin it again
        running.cancel()
        await asyncio.wait([running])

    assert following.restored is None
    (ended,) = [one for one in logged if one["event"] == "the standby ends"]
    assert "written by a later version" in ended["error"]
