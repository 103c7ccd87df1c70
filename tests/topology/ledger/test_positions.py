"""Where a framing lane without a ledger stood, on a broker without transactions: its group, or its last output."""

from __future__ import annotations

import json
import re

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec.structs import replace

from sluice.codecs.blocks import Output
from sluice.topology.kafka import partition_reader
from sluice.topology.kafka.transactions import LaneProducer
from sluice.topology.ledger.folds import FrameAttestations
from sluice.topology.ledger.ledger import ledger_of, positions_before
from sluice.topology.settings.settings import Settings, bootstrap

LANE = 2


@pytest.fixture
def settings(broker: str, request: pytest.FixtureRequest) -> Settings:
    """Topics and a group of the test's own."""
    name = re.sub(r"\W", "-", request.node.name)
    return Settings(broker=broker, delivery="at-least-once", topic_prefix=f"{name}.", app_id=name)


def grounded(offset: int, lane: int = LANE) -> Output:
    """A record on `grounded` that was made from the input's record at this offset."""
    value = {"_meta": {"source": "of another"}, "attestations": [{}], "source": f"attestations/{lane}/{offset}"}
    return Output("grounded", b"0xab", json.dumps(value).encode(), [("content-type", b"application/json")])


async def frame_as_before(settings: Settings, *outputs: Output, at: int | None = None, lane: int = LANE) -> None:
    """What a lane without a ledger wrote: outputs, then its position as its group's."""
    producer = LaneProducer(settings, "frame", lane)
    await producer.open()
    await producer.commit(None, outputs)
    await producer.close()
    if at is None:
        return
    place = TopicPartition(f"{settings.topic_prefix}attestations", lane)
    group = AIOKafkaConsumer(
        bootstrap_servers=bootstrap(settings), group_id=f"{settings.app_id}-frame", enable_auto_commit=False
    )
    await group.start()
    group.assign([place])
    await group.commit({place: at})
    await group.stop()


async def before(settings: Settings, lane: int = LANE) -> dict[str, int]:
    return dict(await positions_before(settings, FrameAttestations(), lane))


async def test_where_nobody_was_all_of_the_input_is_to_be_read(settings: Settings):
    assert await before(settings) == {}


@pytest.mark.parametrize("at", [0, 7])
async def test_the_groups_offset_is_the_truth(settings: Settings, at: int):
    """Whatever the last output was, the first offset of all included; and of its own lane alone."""
    await frame_as_before(settings, grounded(5), at=at)

    assert await before(settings) == {"attestations": at}
    assert await before(settings, lane=0) == {}


async def test_without_offsets_the_last_of_many_outputs_tells(settings: Settings):
    """The lane goes on behind its original, however many there are, and however far they lie apart."""
    count = partition_reader.TAIL * 3
    await frame_as_before(settings, *(grounded(number) for number in range(0, 2 * count, 2)), at=1)

    forgotten = replace(settings, app_id=f"{settings.app_id}-forgotten")
    assert await before(forgotten) == {"attestations": 2 * count - 1}


async def test_outputs_of_other_lanes_and_topics_tell_nothing(settings: Settings):
    """Only the lane's own partition of the topic whose records have a source does."""
    await frame_as_before(settings, grounded(40, lane=0), lane=0)
    await frame_as_before(settings, Output("dead-letters", None, b"raw", [("sluice-source", b"attestations/2/30")]))

    assert await before(settings) == {}


async def test_only_the_framing_lanes_ledger_asks(settings: Settings):
    """The other folds always had ledgers."""
    await frame_as_before(settings, at=3)

    assert await ledger_of(settings, FrameAttestations(), LANE).positions() == {"attestations": 3}
    fold = FrameAttestations()
    fold.ledger, fold.name = "bind-ledger", "bind"
    assert await ledger_of(settings, fold, LANE).positions() == {}
