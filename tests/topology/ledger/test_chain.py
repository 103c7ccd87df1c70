"""What continues a chain of blocks, and what does not."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import merkle
from sluice.codecs.blocks import Block, Event, EventKind, Header, Output, Source, seal, source_of
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.codecs.ledger_statements import FORMAT, Adoption, LedgerIdentity, identity_event, write_adoption
from sluice.topology.engine.chain import ChainHead, demand_version

OUTPUTS = [Output("admitted", b"k", b"v", [])]


def block(tip: ChainHead, **changes: Any) -> Block:
    """A block that continues `tip`, but for the changes."""
    fields = {
        "lane": 1,
        "lanes": 4,
        "height": tip.height + 1,
        "prev": tip.hash,
        "time": tip.time,
        "watermark": tip.watermark,
        "policy": "",
        "fold": "1 x",
        "sources": [Source("emissions", tip.positions.get("emissions", 5), 9)],
        "outputs": tip.outputs,
    }
    return seal(Header(**(fields | changes)), [])[0]


@pytest.fixture
def tip() -> ChainHead:
    """The tip after one block with an output."""
    return ChainHead().after(block(ChainHead(), time=100, watermark=50), OUTPUTS)


def test_the_next_block_is_taken(tip: ChainHead):
    """Height, link, outputs, clocks and offsets follow."""
    tip.demand_next(block(tip), 1, 4)


@given(st.integers(0, 40))
def test_the_tree_is_that_of_all_blocks(count: int):
    """A leaf for each block, in order: the 32 bytes of its hash."""
    tip, hashes = ChainHead(), list[bytes]()
    for number in range(count):
        following = block(tip, time=tip.time + number)
        tip = tip.after(following, [])
        hashes.append(bytes.fromhex(following.hash[7:]))

    assert tip.tree.size == tip.height + 1 == count
    assert tip.tree.root() == merkle.root([merkle.leaf_hash(one) for one in hashes])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"lane": 2}, "belongs to another lane"),
        ({"lanes": 5}, "another number of lanes"),
        ({"height": 2}, "expected height 1"),
        ({"height": 0}, "expected height 1"),
        ({"prev": "sha256:00"}, "the chain of blocks is broken"),
        ({"outputs": ChainHead().outputs}, "does not give the outputs that were written"),
        ({"time": 99}, "goes back"),
        ({"watermark": 49}, "goes back"),
        ({"fold": "0 x"}, "the fold's version goes back"),
        ({"sources": [Source("emissions", 10, 10)]}, "do not follow upon one another"),
        ({"sources": [Source("emissions", 9, 8)]}, "do not follow upon one another"),
    ],
)
def test_what_does_not_follow_is_reported(tip: ChainHead, changes: dict[str, Any], says: str):
    """Each break has its sentence, with lane and height in it."""
    with pytest.raises(DoesNotHoldError, match=says) as broken:
        tip.demand_next(block(tip, **changes), 1, 4)
    assert "ledger of lane 1, block" in str(broken.value)


def test_an_input_that_is_new_may_start_anywhere(tip: ChainHead):
    """A lane that reads one more topic than before takes it up where that begins."""
    tip.demand_next(block(tip, sources=[Source("emissions", 9, 9), Source("reviews", 7, 8)]), 1, 4)


OLD, NEW = "A" * 22, "B" * 22


def with_id(tip: ChainHead, id: str, first: int | None = None) -> Block:
    """A block that goes on with a topic of this id."""
    first = tip.positions["emissions"] if first is None else first
    return block(tip, sources=[source_of("emissions", first, first + 1, id)])


def adopting(tip: ChainHead, was: str, id: str) -> ChainHead:
    """A tip that has taken an adoption in."""
    said = Adoption(v=FORMAT, topic="emissions", was=was, id=id, adopted_at="2026-11-24T09:00:00Z")
    event = Event(EventKind.ADOPT, 0, 0, 0, [], *write_adoption(said, "sluice", None))
    following = with_id(tip, OLD)
    return tip.after(seal(following.header, [event])[0], [])


def test_the_first_id_that_is_named_holds(tip: ChainHead):
    """Any may come where none was known; from then on it is that one."""
    tip.demand_next(with_id(tip, OLD), 1, 4)
    known = tip.after(with_id(tip, OLD), [])

    known.demand_next(with_id(known, OLD), 1, 4)
    for other in (NEW, ""):
        with pytest.raises(DoesNotHoldError, match="names another topic emissions than the ledger goes on with"):
            known.demand_next(with_id(known, other), 1, 4)


def test_an_adopted_topic_is_read_from_its_beginning(tip: ChainHead):
    """The next block has to name it, and begins at offset 0."""
    known = adopting(tip.after(with_id(tip, OLD), []), OLD, NEW)

    known.demand_next(with_id(known, NEW, 0), 1, 4)
    for astray in (with_id(known, OLD), with_id(known, NEW), with_id(known, "C" * 22, 0)):
        with pytest.raises(DoesNotHoldError):
            known.demand_next(astray, 1, 4)


def test_an_adoption_of_another_id_changes_nothing(tip: ChainHead):
    """One that comes again, after the topic was made anew once more."""
    known = adopting(tip.after(with_id(tip, OLD), []), NEW, "C" * 22)

    known.demand_next(with_id(known, OLD), 1, 4)
    with pytest.raises(DoesNotHoldError):
        known.demand_next(with_id(known, "C" * 22, 0), 1, 4)


def naming(tip: ChainHead, ledger_id: str, app_id: str, was: str | None) -> Block:
    """A block that continues `tip` and names a ledger."""
    plain, identity = block(tip), LedgerIdentity(ledger_id=ledger_id, app_id=app_id)
    return seal(plain.header, [identity_event(identity, was, 7)])[0]


def test_a_ledger_keeps_its_id(tip: ChainHead):
    """The first block names it; later ones only another application, in the place of the one before."""
    first = naming(ChainHead(), "ID", "a", None)
    ChainHead().demand_next(first, 1, 4)
    known = ChainHead().after(first, [])
    assert (known.ledger_id, known.app_id) == ("ID", "a")
    assert known.after(block(known), [])[-2:] == ("ID", "a")

    renamed = naming(known, "ID", "b", "a")
    known.demand_next(renamed, 1, 4)
    assert known.after(renamed, []).app_id == "b"
    for before, ledger_id, was in [
        (ChainHead(), "ID", "a"),
        (known, "ID", None),
        (known, "ID", "b"),
        (known, "ID2", "a"),
        (tip, "", ""),
        (tip, "ID", None),
    ]:
        with pytest.raises(DoesNotHoldError):
            before.demand_next(naming(before, ledger_id, "b", was), 1, 4)


def test_snapshots_of_before_have_no_ids():
    """A snapshot's tip is an array; what an earlier package wrote has two members less."""
    tip = ChainHead(height=3, ids={"emissions": OLD}, adopted={"emissions": NEW})

    assert msgspec.json.decode(msgspec.json.encode(tip), type=ChainHead) == tip
    assert msgspec.json.decode(msgspec.json.encode(list(tip)[:8]), type=ChainHead).ids == {}


@given(st.integers(0, 99), st.integers(0, 99))
def test_only_a_later_fold_is_refused(ledger: int, own: int):
    """The number that a version begins with decides."""
    if ledger > own:
        with pytest.raises(LaterVersionError, match="later version"):
            demand_version(f"{ledger} vocabulary=1.0", f"{own} vocabulary=1.0")
    else:
        demand_version(f"{ledger} vocabulary=1.0", f"{own} vocabulary=1.0")
