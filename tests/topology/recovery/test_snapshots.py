"""Snapshots in files: whole or refused, the newest first, nothing in the way of another worker."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.merkle import Frontier
from sluice.topology.engine import snapshots as module
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.snapshots import SnapshotStore, read_chunks

FOLD = "1 toy"
CHUNKS = [b"head", b"", b"x" * 70_000] + [bytes([n]) * 10 for n in range(5)]
CHUNKS = [chunk for chunk in CHUNKS if chunk]


def tip(height: int) -> ChainHead:
    """A tip at this height, with a tree of as many leaves as there are blocks."""
    tree = Frontier(height + 1, tuple(bytes([bit]) * 32 for bit in range((height + 1).bit_count())))
    return ChainHead(
        height=height, hash=f"sha256:{height:064x}", time=height, positions={"emissions": height}, tree=tree
    )


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path, 1, 4, FOLD)


def files(tmp_path: Path) -> list[Path]:
    return sorted(tmp_path.rglob("*.*"))


def test_what_was_written_is_read_back(store: SnapshotStore) -> None:
    """With the block that it was taken after, and that block's place in the ledger."""
    state = store.write(tip(7), 99, CHUNKS)

    ((path, facts),) = store.found()

    assert list(read_chunks(path, facts)) == CHUNKS
    assert (facts.tip, facts.offset, facts.state, facts.fold) == (tip(7), 99, state, FOLD)


def test_the_two_newest_are_kept(store: SnapshotStore, tmp_path: Path) -> None:
    """By when they were written: the newest is tried first, and the older one is there should it be damaged.

    Heights do not tell: those of a ledger that was made anew under the same name begin at the bottom again.
    """
    for height in (5, 100, 999, 20):
        store.write(tip(height), height, CHUNKS)

    assert [facts.tip.height for _, facts in store.found()] == [20, 999]
    assert len(files(tmp_path)) == 2


def test_the_same_state_has_the_same_name(store: SnapshotStore, tmp_path: Path) -> None:
    """Two workers on one volume write the same bytes; neither disturbs the other."""
    assert store.write(tip(7), 99, CHUNKS) == SnapshotStore(tmp_path, 1, 4, FOLD).write(tip(7), 99, CHUNKS)
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize(("ledger_id", "is_used"), [("", True), ("new", False), ("old", True)])
def test_a_snapshot_of_an_earlier_ledger_is_passed_over(tmp_path: Path, ledger_id: str, is_used: bool) -> None:
    """One that names no ledger is looked at."""
    for number, name in enumerate(("old", "")):
        folder = tmp_path / str(number)
        SnapshotStore(folder, 1, 4, FOLD).write(tip(7)._replace(ledger_id=name), 99, CHUNKS)

        found = list(SnapshotStore(folder, 1, 4, FOLD, ledger_id).found())

        assert bool(found) == (is_used or not name)


@pytest.mark.parametrize(
    "other", [("lane", 2, 4, FOLD), ("lanes", 1, 8, FOLD), ("fold", 1, 4, "2 toy")], ids=lambda other: other[0]
)
def test_a_snapshot_of_something_else_is_passed_over(tmp_path: Path, other: tuple[str, int, int, str]) -> None:
    """Also where somebody copied it into the folder of this lane."""
    store = SnapshotStore(tmp_path, 1, 4, FOLD)
    store.write(tip(7), 99, CHUNKS)
    stranger = SnapshotStore(tmp_path, *other[1:])
    for path in files(tmp_path):
        place = tmp_path / f"lane-{other[1]}-of-{other[2]}"
        place.mkdir(exist_ok=True)
        os.replace(path, place / path.name)

    assert list(stranger.found()) == []


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_snapshot_without_the_tree_of_its_blocks_is_passed_over(store: SnapshotStore, size: int) -> None:
    """Checkpoints that were made from it would be of another ledger."""
    store.write(tip(7)._replace(tree=Frontier(size)), 99, CHUNKS)

    assert list(store.found()) == []


def test_a_write_that_fails_leaves_what_was_there(store: SnapshotStore, tmp_path: Path) -> None:
    """A full disk costs the new snapshot only, and no half of it stays."""
    store.write(tip(7), 99, CHUNKS)

    def breaking() -> Iterator[bytes]:
        yield b"head"
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        store.write(tip(8), 100, breaking())

    assert [facts.tip.height for _, facts in store.found()] == [7]
    assert len(files(tmp_path)) == 1


def test_what_a_crash_left_is_removed_once_it_is_old(store: SnapshotStore, tmp_path: Path) -> None:
    """A file that another worker may still be writing is left alone."""
    store.write(tip(7), 99, CHUNKS)
    folder = files(tmp_path)[0].parent
    for name, age in (("young", 0), ("old", 2 * module.STALE_SECONDS)):
        (folder / f"{name}.new").write_bytes(b"half")
        os.utime(folder / f"{name}.new", times=(0, folder.stat().st_mtime - age))

    store.write(tip(8), 100, CHUNKS)

    assert [path.name for path in folder.glob("*.new")] == ["young.new"]


@given(data=st.data())
def test_no_damage_goes_unnoticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A bit that flipped, a tail that is missing, bytes too many: the snapshot is passed over, or refused at its end.

    Unless it is where nothing is read, between the chunks and the facts; then it says what it said.
    """
    folder = tmp_path_factory.mktemp("store")
    store = SnapshotStore(folder, 1, 4, FOLD)
    store.write(tip(7), 99, [b"head", b"chunk" * 20])
    ((path, facts),) = store.found()
    raw = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(raw) - 1))
    match data.draw(st.sampled_from(["flip", "cut", "add"])):
        case "flip":
            raw[place] ^= 1 << data.draw(st.integers(0, 7))
        case "cut":
            del raw[place:]
        case _:
            raw[place:place] = data.draw(st.binary(min_size=1, max_size=9))
    path.write_bytes(raw)

    for damaged, said in store.found():
        try:
            chunks = list(read_chunks(damaged, said))
        except DoesNotHoldError:
            continue
        assert (chunks, said) == ([b"head", b"chunk" * 20], facts)


def test_an_empty_folder_has_none(store: SnapshotStore, tmp_path: Path) -> None:
    """Nor has one that is not there; looking makes nothing."""
    assert list(store.found()) == []
    assert files(tmp_path) == []
