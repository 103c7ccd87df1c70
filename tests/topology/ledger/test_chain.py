"""What continues a chain of blocks, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import merkle
from sluice.codecs.blocks import Block, Header, Output, Source, seal
from sluice.codecs.errors import DoesNotHoldError, LaterVersionError
from sluice.topology.ledger.chain import ChainHead, demand_version

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


@given(st.integers(0, 99), st.integers(0, 99))
def test_only_a_later_fold_is_refused(ledger: int, own: int):
    """The number that a version begins with decides."""
    if ledger > own:
        with pytest.raises(LaterVersionError, match="later version"):
            demand_version(f"{ledger} vocabulary=1.0", f"{own} vocabulary=1.0")
    else:
        demand_version(f"{ledger} vocabulary=1.0", f"{own} vocabulary=1.0")
