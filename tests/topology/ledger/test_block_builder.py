"""What writes a ledger: blocks that each continue the one before it."""

from __future__ import annotations

from typing import Any

import pytest
from builders import event
from msgspec.structs import replace
from scripted_lane import ToyFold

from sluice.codecs.blocks import EventKind, Source, outputs_root, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.topology.engine.chain import BlockBuilder, ChainHead


@pytest.fixture
def builder() -> BlockBuilder:
    return BlockBuilder(ToyFold(), 1, 4, "sha256:p")


def test_a_ledger_begins_with_its_policy(builder: BlockBuilder):
    """The first header names it, though the fold has none yet; the second one names the fold's."""
    first = builder.start(10, b"document")
    second = builder.add(11, 10)

    assert first.block.header.policy == "sha256:p"
    assert first.block.events[0].kind == EventKind.POLICY
    assert second.block.header.policy == builder.state.policy != "sha256:p"


def test_blocks_are_what_a_reader_takes(builder: BlockBuilder):
    """Height, link, lane, clocks, offsets and outputs: each block continues the chain that its bytes give."""
    head = ChainHead()
    blocks = [builder.start(10, b"document"), builder.add(11, 10, [event(0), event(1)]), builder.add(12, 12)]
    for made in blocks:
        head.demand_next(unseal(made.data), 1, 4)
        head = head.after(made.block, made.outputs)

    assert head == builder.head == blocks[-1].head
    assert (head.height, head.time, head.watermark, head.tree.size) == (2, 12, 12, 3)
    assert blocks[2].block.header.outputs == outputs_root(blocks[1].outputs) != outputs_root(())


@pytest.mark.parametrize("kind", [EventKind.RECORD, EventKind.OVERSIZE])
def test_sources_reach_to_the_last_event(builder: BlockBuilder, kind: EventKind):
    """From where the block before ended, also over a hole; an input without an event stays where it is."""
    builder.add(1, 1, [event(0), event(4, source=1, kind=kind)])
    header = builder.add(2, 2, [event(3), event(6, kind=kind)]).block.header

    topics = builder.fold.inputs
    assert [source for source in header.sources if source.first or source.next] == [
        Source(topics[0], 1, 7),
        Source(topics[1], 5, 5),
    ]
    assert [builder.position(topic) for topic in topics[:2]] == [7, 5]


def test_policies_and_gaps_move_no_source(builder: BlockBuilder):
    """They are no records of an input."""
    policy = event(8, kind=EventKind.POLICY)
    header = builder.header(1, 1, [policy, event(9, b"12", kind=EventKind.GAP)])

    assert {(source.first, source.next) for source in header.sources} == {(0, 0)}


def test_it_goes_on_from_a_state(builder: BlockBuilder):
    """Another builder with the same state and head makes the same next block."""
    builder.start(10, b"document")
    other = BlockBuilder(ToyFold(), 1, 4, "sha256:p", builder.state, builder.head)

    header = other.header(11, 11, [], [Source("emissions", 0, 3)], "snapshot at 0")
    assert header == replace(builder.header(11, 11, []), sources=[Source("emissions", 0, 3)], snapshot="snapshot at 0")


@pytest.mark.parametrize(
    "changes", [{"time": 9}, {"height": 5}, {"lanes": 5}, {"sources": [Source("emissions", 1, 2)]}], ids=str
)
def test_a_checked_block_that_no_reader_takes_is_not_folded(builder: BlockBuilder, changes: dict[str, Any]):
    """Nothing has moved: the state, the head."""
    builder.start(10, b"document")
    head = builder.head

    with pytest.raises(DoesNotHoldError):
        builder.close(replace(builder.header(10, 10, []), **changes), [event(0)], checked=True)

    assert (builder.head, builder.state.seen) == (head, [])
    assert builder.close(replace(builder.header(10, 10, []), **changes), [event(0)]).outputs  # where nobody checks
