"""A lane's ledger on a broker without transactions: outputs first, then the block."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from typing import Any

import pytest
from aiokafka import TopicPartition
from msgspec.structs import replace

from sluice.codecs.blocks import Output
from sluice.codecs.ledger_statements import Claim, write_claim
from sluice.codecs.partition import PARTITIONERS
from sluice.topology.engine.folds import Adjudicate, Bind
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.kafka.membership import Member
from sluice.topology.kafka.transactions import BATCH_BYTES, Written
from sluice.topology.settings.settings import Settings


@pytest.fixture
def settings(broker: str, request: pytest.FixtureRequest) -> Settings:
    """Topics of the test's own."""
    return Settings(broker=broker, delivery="at-least-once", topic_prefix=re.sub(r"\W", "-", request.node.name) + ".")


@pytest.fixture
async def ledger(settings: Settings) -> AsyncIterator[KafkaLedger]:
    """The open ledger of lane 2."""
    one = KafkaLedger(settings, 2)
    await one.open()
    yield one
    await one.close()


async def blocks(ledger: KafkaLedger, start: int | None = None) -> list[tuple[int, bytes]]:
    """All blocks, with their offsets."""
    return [found async for found in ledger.blocks(start)]


async def read(settings: Settings, topic: str, count: int, number: int = 2) -> list[Output]:
    """So many records of a partition of an output topic; by default of lane 2's."""
    found: list[Any] = []
    async with open_consumer(settings, isolation_level="read_uncommitted") as consumer, asyncio.timeout(60):
        partition = TopicPartition(settings.topic_prefix + topic, number)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        while len(found) < count:
            for batch in (await consumer.getmany(timeout_ms=200)).values():
                found += batch
    return [Output(topic, one.key, one.value, list(one.headers)) for one in found]


async def test_a_new_ledger_is_empty(ledger: KafkaLedger):
    """Reading it ends at once."""
    assert await blocks(ledger) == []


async def test_what_is_written_is_read_back(ledger: KafkaLedger):
    """Blocks come back in order, with the offsets that writing them told."""
    written = [await ledger.write(b"block-%d" % number, []) for number in range(3)]

    assert await blocks(ledger) == [(one.offset, b"block-%d" % number) for number, one in enumerate(written)]
    assert await blocks(ledger, written[1].offset) == [(written[1].offset, b"block-1"), (written[2].offset, b"block-2")]


async def test_outputs_go_to_the_partition_of_the_lane(settings: Settings, ledger: KafkaLedger):
    """Whatever their key: an output's place is its lane's. Headers and missing keys are kept."""
    outputs = [
        Output("admitted", b"a", b"1", [("ce_id", b"x"), ("ce_id", b"y")]),
        Output("dead-letters", None, b"2", []),
        Output("admitted", b"b", b"3", []),
    ]

    await ledger.write(b"block", outputs)

    assert await read(settings, "admitted", 2) == [outputs[0], outputs[2]]
    assert await read(settings, "dead-letters", 1) == [outputs[1]]


async def test_more_than_one_batch_keeps_its_order(settings: Settings, ledger: KafkaLedger):
    """Where one batch is full the next one follows it."""
    outputs = [Output("admitted", b"k", b"%05d" % number + b"x" * 100_000, []) for number in range(70)]
    assert sum(len(output.value) for output in outputs) > 2 * BATCH_BYTES

    await ledger.write(b"block", outputs)

    assert [output.value[:5] for output in await read(settings, "admitted", 70)] == [
        output.value[:5] for output in outputs
    ]


async def test_outputs_stand_before_their_block(
    settings: Settings, ledger: KafkaLedger, monkeypatch: pytest.MonkeyPatch
):
    """A crash between the two doubles outputs, and never loses one."""

    async def crash(*_: Any) -> None:
        raise OSError("crashed")

    monkeypatch.setattr(ledger._producer, "_send_blocks", crash)
    with pytest.raises(OSError, match="crashed"):
        await ledger.write(b"block", [Output("admitted", b"a", b"1", [])])

    assert await blocks(ledger) == []
    assert len(await read(settings, "admitted", 1)) == 1


async def test_closing_twice_does_no_harm(ledger: KafkaLedger):
    """A lane lets go of its ledger on every way out."""
    await ledger.close()
    await ledger.close()


async def test_what_another_lane_reads_goes_where_its_key_belongs(settings: Settings, ledger: KafkaLedger):
    """By the configured partitioner; everything else stands in the lane's own partition."""
    keys = [f"em-{number}".encode() for number in range(12)]
    outputs = [Output(topic, key, key, []) for key in keys for topic in ("citations", "observations", "admitted")]

    await ledger.write(b"block", outputs)

    for topic in ("citations", "observations"):
        for number in range(settings.partitions):
            wanted = [key for key in keys if PARTITIONERS["murmur2"](key, settings.partitions) == number]
            assert wanted
            assert [one.key for one in await read(settings, topic, len(wanted), number)] == wanted
    assert [one.key for one in await read(settings, "admitted", len(keys))] == keys


async def test_every_fold_has_a_ledger_of_its_own(settings: Settings):
    """What one lane writes no other one takes for its past."""
    adjudicate, bind = (KafkaLedger(settings, 2, fold.ledger, fold.name) for fold in (Adjudicate(), Bind()))
    await bind.open()
    try:
        await bind.write(b"of bind", [])

        assert [data for _, data in await blocks(bind)] == [b"of bind"]
        assert await blocks(adjudicate) == []
        assert (await read(settings, "bind-ledger", 1))[0].value == b"of bind"
    finally:
        await bind.close()


def test_no_two_ledgers_have_one_transactional_id(settings: Settings):
    """A lane would fence another one else. Workers of another application have the same ones: they fence each other."""
    renamed = replace(settings, app_id="other")
    names = {
        KafkaLedger(one, 2, fold.ledger, fold.name, "ID")._producer._id
        for fold in (Adjudicate(), Bind())
        for one in (settings, renamed)
    }

    assert names == {"sluice-ID-adjudicate-2", "sluice-ID-bind-2"}
    assert KafkaLedger(settings, 2)._producer._id == f"sluice-{settings.topic_prefix}ledger-adjudicate-2"


@pytest.mark.parametrize(
    ("offset", "start", "writes", "reads"),
    [(0, None, False, False), (0, None, True, True), (0, 0, False, True), (2, None, False, True)],
)
async def test_a_ledger_that_begins_with_the_own_claim_is_not_read(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, offset: int, start: int | None, writes: bool, reads: bool
):
    """Nothing stands before the first offset; whatever was written since is read."""

    class OpenedError(Exception):
        pass

    @asynccontextmanager
    async def reader(place: TopicPartition, at: int | None) -> AsyncIterator[Any]:
        raise OpenedError
        yield

    async def claimed(*_: Any) -> Written:
        return Written(offset, None)

    one = KafkaLedger(settings, 2, reader=reader)
    monkeypatch.setattr(one._producer, "claim", claimed)
    await one.open()
    try:
        claim = Claim(lane=2, worker="w", member="m", generation=1, package="p", claimed_at="2026-01-01T00:00:00Z")
        await one.claim(write_claim(replace(claim, app_id="first"), "origin", None), Member("g", "m", 1, None))
        if writes:
            await one.write(b"block", [])
        with pytest.raises(OpenedError) if reads else nullcontext():
            assert await blocks(one, start) == []
    finally:
        await one.close()

    assert one.begun_by == ("" if offset else "first")
