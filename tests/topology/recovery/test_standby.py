"""Standbys on the embedded broker: a ledger followed by somebody who does not own it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from structlog.testing import capture_logs

from sluice.codecs.blocks import Event, EventKind, Header, Output, seal
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.engine import app as supervising
from sluice.topology.engine import restore as module
from sluice.topology.engine.app import create_app, supervised
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.folds import Adjudicate, Bind
from sluice.topology.engine.interfaces import Fold
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.replay import Restored
from sluice.topology.engine.restore import Standby, Standbys, Start
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

T = 1_790_000_000_000


class Owner:
    """Who owns lane 1, and writes empty blocks to its ledger."""

    def __init__(self, settings: Settings, fold: Fold | None = None) -> None:
        self.fold, self.settings = fold or Adjudicate(), settings
        self.ledger, self.tip = KafkaLedger(settings, 1, self.fold.ledger, self.fold.name), ChainHead()
        self.state: Any = self.fold.new(1, settings.partitions)

    async def close(self, outputs: str | None = None) -> None:
        """One more block; the first one holds the policy."""
        tip, height = self.tip, self.tip.height + 1
        events = [] if height else [Event(EventKind.POLICY, 0, 0, T, [], None, DEFAULT_POLICY.document)]
        header = Header(
            lane=1, lanes=self.settings.partitions, height=height, prev=tip.hash, time=T + height, watermark=T,
            policy="", fold=self.fold.version, sources=[], outputs=outputs or tip.outputs,
        )  # fmt: skip
        block, data = seal(header, events)
        made: list[Output] = self.fold.fold(self.state, block)
        await self.ledger.write(data, made)
        self.tip = tip.after(block, made)


@pytest.fixture
async def owner(broker: str, request: pytest.FixtureRequest) -> AsyncIterator[Owner]:
    """An owner with two blocks in its ledger, under names of the test's own."""
    name = f"{request.node.name[:40].replace('[', '-').replace(']', '')}."
    settings = Settings(broker=broker, delivery="at-least-once", topic_prefix=name)
    await create_topics(settings)
    owner = Owner(settings)
    await owner.ledger.open()
    await owner.close()
    await owner.close()
    yield owner
    await owner.ledger.close()


async def until(true: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def standbys(owner: Owner, starts: Callable[[], Iterator[Start]] = lambda: iter(())) -> Standbys:
    return Standbys(lambda number: Standby(owner.settings, owner.fold, number, starts), supervised)


async def test_it_follows_the_ledger_block_by_block(owner: Owner) -> None:
    """From the first block on, and on and on."""
    following = standbys(owner)
    following.assign([1])
    assert following.heights == {1: -1}
    await until(lambda: following.heights[1] == 1)
    await owner.close()
    await until(lambda: following.heights[1] == 2)

    restored = following.take(1)

    assert restored is not None
    assert (restored.tip, restored.state.time) == (owner.tip, T + 2)
    assert following.heights == {}
    await following.stop()


async def test_what_is_stale_in_its_timers_goes_with_each_block(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lane's new owner asks when something is due; 200,000 stale entries took 0.4 s then, and all lanes waited."""
    asked, collected = list[int](), list[None]()
    next_due = owner.fold.next_due

    def counting(state: Any) -> tuple[int | None, int | None]:
        asked.append(state.time)
        return next_due(state)

    monkeypatch.setattr(owner.fold, "next_due", counting)
    following = Standbys(
        lambda number: Standby(owner.settings, owner.fold, number, lambda: iter(()), lambda: collected.append(None)),
        supervised,
    )
    following.assign([1])
    await until(lambda: following.heights[1] == 1)
    await owner.close()
    await until(lambda: following.heights[1] == 2)

    assert asked == [T, T + 1, T + 2]
    assert len(collected) == 3
    await following.stop()


async def test_it_knows_how_far_behind_it_is(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known before the ledger's first answer; what has come and is not folded counts."""
    waiting, lacked = asyncio.Event(), list[int]()
    replayed = module.replay

    async def slow(records: AsyncIterator[tuple[int, bytes]], *given: Any, **named: Any) -> AsyncIterator[Any]:
        async for folded in replayed(records, *given, **named):
            await waiting.wait()
            lacked.append(following.behind.get(1, -1))
            yield folded

    monkeypatch.setattr(module, "replay", slow)
    following = standbys(owner)
    assert following.behind == {}
    following.assign([1])
    assert following.behind == {}
    await owner.close()
    await asyncio.sleep(0.3)
    waiting.set()
    await until(lambda: following.behind == {1: 0})
    await owner.close()
    await until(lambda: following.heights[1] == 3 and following.behind == {1: 0})

    assert lacked[:1] == [-1]
    assert lacked[-1] <= 1
    await following.stop()
    assert following.behind == {}


async def test_it_begins_with_what_there_is(owner: Owner) -> None:
    """A snapshot saves a standby the same time as an owner."""
    state = owner.fold.load(list(owner.fold.dump(owner.state)))
    begun: list[str] = []

    async def begin() -> Restored:
        begun.append("snapshot")
        return Restored(state, owner.tip, 1)

    following = standbys(owner, lambda: iter([Start("snapshot", begin)]))
    following.assign([1])
    await until(lambda: following.heights[1] == 1)
    await owner.close()
    await until(lambda: following.heights[1] == 2)

    assert begun == ["snapshot"]
    await following.stop()


async def test_a_start_that_fails_costs_time_only(owner: Owner) -> None:
    """It begins at the ledger's beginning instead."""

    async def begin() -> Restored:
        raise DoesNotHoldError("damaged")

    following = standbys(owner, lambda: iter([Start("snapshot", begin)]))
    following.assign([1])
    await until(lambda: following.heights[1] == 1)
    await following.stop()


async def test_a_ledger_that_does_not_hold_leaves_no_state(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who takes the lane over then finds out by itself, and says it."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 60.0)
    following = standbys(owner)
    following.assign([1])
    await until(lambda: following.heights[1] == 1)
    await owner.close(outputs="sha256:" + "1" * 64)
    await until(lambda: following.heights[1] == -1)

    assert following.take(1) is None
    await following.stop()


@pytest.mark.parametrize("error", [AttributeError("no such thing"), asyncio.CancelledError()], ids=["a", "c"])
async def test_after_a_failure_it_is_unready(
    owner: Owner, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """Whatever the failure is, also a cancel that somebody else gave: a lane would move to a standby without state."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 0.5)
    took, failures, found = module.take_stored, list[BaseException](), list[object]()

    async def failing(*given: Any) -> Any:
        if failures:
            raise failures.pop()
        return await took(*given)

    async def pause(seconds: float) -> None:
        if seconds == supervising.FIRST_SECONDS:
            found.append((following.heights, following.behind))
        await sleep(seconds)

    sleep = asyncio.sleep
    monkeypatch.setattr(module, "take_stored", failing)
    following = standbys(owner)
    following.assign([1])
    await until(lambda: following.heights == {1: 1} and following.behind == {1: 0})
    monkeypatch.setattr(module.asyncio, "sleep", pause)
    with capture_logs() as told:
        failures.append(error)
        await until(lambda: found)
    await until(lambda: following.heights == {1: 1} and following.behind == {1: 0})

    assert found == [({1: -1}, {})]
    assert [one["error"] for one in told if one.get("task") == "standby-1"] == [str(error) or repr(error)]
    await following.stop()


async def test_a_ledger_of_a_later_version_is_told_once(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """To begin again does not help: only a newer package follows it."""
    monkeypatch.setattr(supervising, "FIRST_SECONDS", 0.01)
    begun = list[int]()

    async def later(self: Standby, start: Restored) -> None:
        begun.append(1)
        raise LaterVersionError("the ledger is of a later version")

    monkeypatch.setattr(Standby, "_follow", later)
    following = standbys(owner)
    with capture_logs() as told:
        following.assign([1])
        await until(lambda: told)
        await asyncio.sleep(0.1)

    assert (begun, [one["event"] for one in told], following.heights) == ([1], ["the standby ends"], {1: -1})
    await following.stop()


async def test_a_standby_that_has_failed_holds_up_nothing_that_stops() -> None:
    """What comes behind it in the worker's stop is done too."""

    class Broken:
        async def run(self) -> None:
            raise AttributeError("no such thing")

    broken: Any = Broken()
    following = Standbys(lambda number: broken, supervised)
    following.assign([1, 2])
    await asyncio.sleep(0)

    await following.stop()


async def test_what_is_no_longer_wanted_lingers_to_be_taken(owner: Owner, monkeypatch: pytest.MonkeyPatch) -> None:
    """The assignment that makes a lane this worker's own is the one that no longer names it as standby."""
    monkeypatch.setattr(module, "LINGER_SECONDS", 0.5)
    following = standbys(owner)
    following.assign([1])
    await until(lambda: following.heights[1] == 1)
    following.assign([])

    assert following.take(1) is not None
    following.assign([1])
    following.assign([])
    await until(lambda: following.heights == {})
    assert following.take(1) is None
    await following.stop()


async def test_nothing_is_there_for_a_lane_that_was_never_followed(owner: Owner) -> None:
    """Taking it is asking, not demanding."""
    assert standbys(owner).take(0) is None


async def test_it_follows_the_ledger_of_its_own_fold(owner: Owner) -> None:
    """Every fold's lanes have a ledger and standbys of their own."""
    other = Owner(owner.settings, Bind())
    await other.ledger.open()
    try:
        await other.close()
        following, beside = standbys(other), standbys(owner)
        following.assign([1])
        beside.assign([1])
        await until(lambda: (following.heights[1], beside.heights[1]) == (0, 1))

        restored = following.take(1)

        assert restored is not None
        assert restored.tip == other.tip
        assert restored.state.rules.policy_hash == DEFAULT_POLICY.hash
        await following.stop()
        await beside.stop()
    finally:
        await other.ledger.close()


def test_a_worker_stands_by_for_every_fold() -> None:
    """The leader is told how far the adjudicating one has come, which has most to fold."""
    app = create_app(Settings())

    assert list(app.standbys) == ["adjudicate", "bind", "frame"]
    assert app.heights == {}
    assert app.behind == {}


def test_a_worker_is_as_far_behind_as_the_fold_that_lacks_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says nothing of a lane of which one fold is not known."""
    app = create_app(Settings())
    lacks = iter([{0: 3, 1: 0}, {0: 7}, {0: 1, 1: 0}])
    monkeypatch.setattr(Standbys, "behind", property(lambda self: next(lacks)))

    assert app.behind == {0: 7}


async def test_a_standby_begins_once_it_may(owner: Owner) -> None:
    """What it has to fold waits for lanes that are being taken over."""
    may_begin = asyncio.Event()
    following = Standbys(
        lambda number: Standby(owner.settings, owner.fold, number, lambda: iter(())), supervised, may_begin.wait
    )
    try:
        following.assign([1])
        await asyncio.sleep(0.3)
        assert following.heights == {1: -1}
        assert following.behind == {}
        may_begin.set()
        await until(lambda: following.heights == {1: 1})
    finally:
        await following.stop()
