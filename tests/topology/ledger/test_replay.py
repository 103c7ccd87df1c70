"""The one way through a ledger: what it hands over, and where it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from builders import event
from exported import BASE, S, emission_after, lane_after, observation_after
from msgspec.structs import replace as changed
from scripted_lane import ToyFold

from sluice.codecs.blocks import Event, Output, seal, unseal
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.topology.engine.chain import BlockBuilder
from sluice.topology.engine.export_files import FolderLogs
from sluice.topology.engine.replay import FoldedBlock, Followed, Linked, Restored, beginning, blocks_of, follow, replay

Ledger = list[tuple[int, bytes]]


class Revealing(ToyFold):
    """Says more than the lane's fold did."""

    def fold(self, state: Any, block: Any) -> list[Output]:
        return [*super().fold(state, block), Output("admitted", None, b"more", [])]


def written(blocks: int = 4) -> tuple[BlockBuilder, Ledger]:
    """A lane with so many blocks of a record each, at offsets with holes."""
    builder = BlockBuilder(ToyFold(), 1, 4, "sha256:p")
    return builder, [(2 * at, builder.add(10 + at, at, [event(at, b"v%d" % at)]).data) for at in range(blocks)]


def altered(ledger: Ledger, place: int, **changes: Any) -> Ledger:
    """The ledger with a header changed there; the blocks behind it still name the old one."""
    offset, data = ledger[place]
    block = unseal(data)
    return [*ledger[:place], (offset, seal(changed(block.header, **changes), block.events)[1]), *ledger[place + 1 :]]


async def stream(ledger: Iterable[tuple[int, bytes]]) -> AsyncIterator[tuple[int, bytes]]:
    for one in ledger:
        yield one


async def replayed(ledger: Ledger, fold: Any = None, *, lane: int = 1, lanes: int = 4, **how: Any) -> list[FoldedBlock]:
    return [one async for one in replay(stream(ledger), fold or ToyFold(), lane=lane, lanes=lanes, **how)]


async def test_each_block_comes_with_what_it_was_folded_to():
    """Header, events, outputs and offset; the last one's state and head are the writer's."""
    builder, ledger = written()

    found = await replayed(ledger)

    assert [one.offset for one in found] == [0, 2, 4, 6]
    assert [one.header for one in found] == [unseal(data).header for _, data in ledger]
    assert [[event.value for event in one.events] for one in found] == [[b"v0"], [b"v1"], [b"v2"], [b"v3"]]
    assert [[output.value for output in one.outputs] for one in found] == [[b"v0"], [b"v1"], [b"v2"], [b"v3"]]
    assert (found[-1].state, found[-1].head) == (builder.state, builder.head)
    assert found[-1].restored == Restored(builder.state, builder.head, 6)


async def test_a_new_ledger_has_no_block():
    """Nothing comes, and nothing is wrong."""
    assert await replayed([]) == []
    assert beginning(ToyFold(), 1, 4).offset is None


async def test_it_goes_on_from_a_start():
    """The block that it was taken from comes first, and is not folded a second time."""
    _, ledger = written()
    start = (await replayed(ledger[:2]))[-1].restored
    fold = ToyFold()

    found = await replayed(ledger[1:], fold, start=start)

    assert [(one.offset, len(one.outputs)) for one in found] == [(2, 0), (4, 1), (6, 1)]
    assert fold.folded == 2
    assert [value for _, _, value in found[-1].state.seen] == [b"v0", b"v1", b"v2", b"v3"]


@pytest.mark.parametrize("place", [0, 1])
async def test_a_start_from_another_ledger_is_refused(place: int):
    """Whether its block stands there with another hash, or before it."""
    _, ledger = written()
    start = (await replayed(ledger[:2]))[-1].restored

    with pytest.raises(DoesNotHoldError, match="the state is not of this ledger"):
        await replayed(altered(ledger, 1, time=11, watermark=0)[place:], start=start)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"prev": "sha256:0"}, "the chain of blocks is broken"),
        ({"height": 3}, "the chain of blocks is broken"),
        ({"lane": 2}, "the block belongs to another lane"),
        ({"lanes": 5}, "the block belongs to another lane"),
        ({"time": 1}, "time or watermark goes back"),
        ({"fold": "0 toy"}, "the fold's version goes back"),
        ({"sources": []}, "the chain of blocks is broken"),  # the next one names what stood there
    ],
    ids=str,
)
@pytest.mark.parametrize("verify", [True, False])
async def test_links_are_checked_in_any_case(changes: dict[str, Any], sentence: str, verify: bool):
    """Whatever is verified of the outputs; what came before was handed over."""
    _, ledger = written()
    seen: list[FoldedBlock] = []

    with pytest.raises(DoesNotHoldError, match=sentence):
        await replayed(altered(ledger, 2, **changes), verify=verify, on_block=seen.append)

    assert [one.offset for one in seen] == ([0, 2, 4] if "sources" in changes else [0, 2])


async def test_outputs_must_have_the_root_that_the_next_block_names():
    """Where they are verified."""
    _, ledger = written()

    with pytest.raises(DoesNotHoldError, match="does not give the outputs that were written"):
        await replayed(ledger, Revealing())

    assert [len(one.outputs) for one in await replayed(ledger, Revealing(), verify=False)] == [2, 2, 2, 2]


@pytest.mark.parametrize("start", [False, True])
async def test_a_later_version_is_refused(start: bool):
    """Also of the block that a start was taken from: a newer package may have written both."""
    fold, own = ToyFold(), ToyFold()
    fold.version = "2 toy"
    data = BlockBuilder(fold, 1, 4, "sha256:p").add(1, 1).data
    at = (await replayed([(0, data)], fold))[-1].restored if start else None

    with pytest.raises(LaterVersionError, match="ledger of lane 1, block 0: the ledger was written by a later version"):
        await replayed([(0, data)], own, start=at)
    assert own.folded == 0


async def test_what_is_no_block_is_refused():
    """Whatever stands there."""
    with pytest.raises(DoesNotHoldError):
        await replayed([(0, b"")])


@pytest.mark.parametrize(("in_place", "kind"), [(True, False), (False, True)])
async def test_events_lie_in_the_record_only_where_they_may(in_place: bool, kind: bool):
    """Who changes them asks for events of their own."""
    if type(unseal(written(1)[1][0][1], in_place=True).events[0]) is Event:
        pytest.skip("no compiled core: events are always their own")
    found = await replayed(written(1)[1], in_place=in_place)

    assert isinstance(found[0].events[0], Event) is kind


async def test_who_listens_is_reported_before_the_block_is_handed_over():
    """Of each block once, folded."""
    _, ledger = written(2)
    reported: list[Any] = []

    async for one in replay(stream(ledger), ToyFold(), lane=1, lanes=4, on_block=reported.append):
        reported.append(one.offset)

    assert reported == [reported[0], 0, reported[2], 2]
    assert [one.offset for one in reported[::2]] == [0, 2]


async def test_it_reads_no_further_than_it_is_asked():
    """A block is folded when it is wanted."""
    _, ledger = written()
    fold = ToyFold()

    async with aclosing(replay(stream(ledger), fold, lane=1, lanes=4)) as found:
        async for one in found:
            if one.offset == 2:
                break

    assert fold.folded == 2


async def test_a_stored_ledger_is_replayed(tmp_path: Path):
    """From an export, by the fold that wrote it: the same outputs, in their blocks."""
    lane = lane_after((0, [emission_after()]), (S, [observation_after(S, "code.read")]))
    logs = FolderLogs(lane.export(tmp_path))

    async with aclosing(blocks_of(logs, 0)) as blocks:
        found = [one async for one in replay(blocks, lane.fold, lane=0, lanes=1)]

    assert [one.offset for one in found] == [0, 2, 4]
    assert [output for one in found for output in one.outputs] == lane.outputs
    assert found[-1].header.time == BASE + S


# ---------------------------------------------------------------- with checks that go on after a fault


class Noting:
    """Goes on whatever it finds: what is no block is a gap, and what cannot be folded is noted."""

    def __init__(self, fold: ToyFold) -> None:
        self.fold, self.reported, self._waiting = fold, list[tuple[int, str]](), list[Linked]()

    def feed(self, batch: Ledger, /) -> None:
        for offset, data in batch:
            try:
                block = unseal(data)
            except DoesNotHoldError:
                block = None
            self._waiting.append(Linked(block, offset, offset // 2))

    def end(self) -> None:
        self.reported.append((-1, "end"))

    async def take(self) -> Linked | None:
        return self._waiting.pop(0) if self._waiting else None

    def judge(self, linked: Linked, state: Any, /) -> ToyFold | None:
        self.reported.append((linked.height, "new" if state is None else f"after {len(state.seen)}"))
        return self.fold

    def folded(self, linked: Linked, outputs: list[Output], /) -> None:
        self.reported.append((linked.height, f"{len(outputs)} outputs"))

    def failed(self, linked: Linked, error: Exception, /) -> None:
        self.reported.append((linked.height, str(error)))


class Failing(ToyFold):
    """Cannot fold one of the blocks."""

    def fold(self, state: Any, block: Any) -> list[Output]:
        if block.header.height == 1:
            raise ValueError("no")
        return super().fold(state, block)


async def followed(ledger: Ledger, checks: Any, size: int = 3) -> list[Followed]:
    async def batches() -> AsyncIterator[Ledger]:
        for at in range(0, len(ledger), size):
            yield ledger[at : at + size]

    return [one async for one in follow(batches(), checks, 1, 4)]


async def test_checks_may_go_on_behind_what_is_no_block():
    """It is handed over as none, with no outputs; the next one is folded from the state before it."""
    _, ledger = written()
    checks = Noting(ToyFold())

    found = await followed([ledger[0], (2, b"rubbish"), *ledger[2:]], checks)

    assert [(one.linked.offset, one.linked.block is None) for one in found] == [
        (0, False), (2, True), (4, False), (6, False)
    ]  # fmt: skip
    assert [one.outputs and len(one.outputs) for one in found] == [1, None, 1, 1]
    assert [value for _, _, value in found[-1].state.seen] == [b"v0", b"v2", b"v3"]


async def test_checks_may_go_on_behind_a_block_that_cannot_be_folded():
    """They are told why, and the block comes without outputs."""
    _, ledger = written(3)
    checks = Noting(Failing())

    found = await followed(ledger, checks)

    assert [one.outputs and len(one.outputs) for one in found] == [1, None, 1]
    assert checks.reported == [
        (0, "new"), (0, "1 outputs"), (1, "after 1"), (1, "no"), (2, "after 1"), (2, "1 outputs"), (-1, "end")
    ]  # fmt: skip


@pytest.mark.parametrize("size", [1, 2, 9])
async def test_batches_of_any_size_give_the_same(size: int):
    """The checks say when they need more; after the end they are asked until nothing is left."""
    _, ledger = written()

    found = await followed(ledger, Noting(ToyFold()), size)

    assert [one.linked.height for one in found] == [0, 1, 2, 3]


async def test_what_a_check_raises_ends_the_reading():
    """Nothing behind it is judged: that is how `replay` demands."""

    class Demanding(Noting):
        def failed(self, linked: Linked, error: Exception, /) -> None:
            raise error

    _, ledger = written()
    checks = Demanding(Failing())

    with pytest.raises(ValueError, match="no"):
        await followed(ledger, checks)

    assert checks.reported == [(0, "new"), (0, "1 outputs"), (1, "after 1")]
