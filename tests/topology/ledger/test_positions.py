"""Positions as a group's offsets, on a broker without transactions: outputs first, then how far the input was read."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import Fetcher
from msgspec.structs import replace

from sluice.codecs.blocks import Output
from sluice.topology.kafka import partition_reader
from sluice.topology.kafka.connect import open_consumer
from sluice.topology.ledger.positions import StatelessLedger
from sluice.topology.settings.settings import Settings

LANE = 2


@pytest.fixture
def settings(broker: str, request: pytest.FixtureRequest) -> Settings:
    """Topics and a group of the test's own."""
    name = re.sub(r"\W", "-", request.node.name)
    return Settings(broker=broker, delivery="at-least-once", topic_prefix=f"{name}.", app_id=name)


@asynccontextmanager
async def opened(settings: Settings, fold: str = "frame", lane: int = LANE) -> AsyncIterator[StatelessLedger]:
    """The open ledger of a lane."""
    ledger = StatelessLedger(settings, fold, lane, "attestations", "grounded")
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.close()


def grounded(offset: int, lane: int = LANE) -> Output:
    """A record on `grounded` that was made from the input's record at this offset."""
    value = {"_meta": {"source": "of another"}, "attestations": [{}], "source": f"attestations/{lane}/{offset}"}
    return Output("grounded", b"0xab", json.dumps(value).encode(), [("content-type", b"application/json")])


async def read(settings: Settings, topic: str, count: int) -> list[Output]:
    """So many records of the lane's partition of an output topic."""
    found: list[Any] = []
    async with open_consumer(settings, isolation_level="read_uncommitted") as consumer, asyncio.timeout(10):
        partition = TopicPartition(settings.topic_prefix + topic, LANE)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        while len(found) < count:
            for batch in (await consumer.getmany(timeout_ms=200)).values():
                found += batch
    return [Output(topic, one.key, one.value, list(one.headers)) for one in found]


async def test_what_the_lane_reads_is_not_fetched_twice(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """The group's member asks for offsets and tells them; aiokafka would fetch for whatever is assigned to it."""
    fetched: list[Any] = []
    proper = Fetcher._proc_fetch_request

    async def counted(self: Any, *arguments: Any) -> Any:
        fetched.append(arguments)
        return await proper(self, *arguments)

    monkeypatch.setattr(Fetcher, "_proc_fetch_request", counted)
    async with opened(settings) as ledger:
        await ledger.write(b"", [grounded(4)], {"attestations": 5})
        await asyncio.sleep(0.3)  # six fetches' time
        assert await ledger.positions() == {"attestations": 5}
    assert not fetched


async def test_a_new_group_has_no_positions(settings: Settings):
    """All of the input is to be read."""
    async with opened(settings) as ledger:
        assert await ledger.positions() == {}


async def test_there_are_no_blocks(settings: Settings):
    """Not after a write either: what stands in the outputs is all that is kept."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(0)], {"attestations": 1})

        assert [one async for one in ledger.blocks()] == []
        assert [one async for one in ledger.blocks(0)] == []


async def test_positions_are_what_was_written_last(settings: Settings):
    """Also where a block had no output, or nothing moved."""
    async with opened(settings) as ledger:
        for written in (7, 9, 9):
            await ledger.write(b"block", [], {"attestations": written})

            assert await ledger.positions() == {"attestations": written}


async def test_the_next_owner_goes_on_from_there(settings: Settings):
    """While the former one is open, and after it has closed."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(4)], {"attestations": 8})

        async with opened(settings) as other:
            assert await other.positions() == {"attestations": 8}
    async with opened(settings) as third:
        assert await third.positions() == {"attestations": 8}
        await third.write(b"block", [], {"attestations": 11})
        assert await third.positions() == {"attestations": 11}


async def test_lanes_and_folds_have_positions_of_their_own(settings: Settings):
    """A lane's are those of its partition; another fold over the same input has another group."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [], {"attestations": 5})

    async with opened(settings, lane=0) as neighbour, opened(settings, fold="other") as other:
        assert await neighbour.positions() == {}
        assert await other.positions() == {}


async def test_outputs_go_to_the_partition_of_the_lane(settings: Settings):
    """Whatever their key, in order, with headers and missing keys kept."""
    letters = [Output("dead-letters", None, b"raw", [("sluice-reason", b"not-json"), ("x", b"")])]
    records = [grounded(0), grounded(2)]
    async with opened(settings) as ledger:
        await ledger.write(b"block", [records[0], *letters, records[1]], {"attestations": 3})

    assert await read(settings, "grounded", 2) == records
    assert await read(settings, "dead-letters", 1) == letters


async def test_outputs_stand_before_the_positions(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """A crash between the two doubles outputs, and never loses one."""

    async def crash(*_: Any) -> None:
        raise OSError("crashed")

    async with opened(settings) as ledger:
        await ledger.write(b"block", [], {"attestations": 1})
        assert ledger._member is not None
        monkeypatch.setattr(ledger._member, "commit", crash)
        with pytest.raises(OSError, match="crashed"):
            await ledger.write(b"block", [grounded(1)], {"attestations": 2})

    assert await read(settings, "grounded", 1) == [grounded(1)]
    async with opened(settings) as after:
        assert await after.positions() == {"attestations": 1}


async def test_positions_do_not_move_without_their_outputs(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """What the broker has not taken is read again."""

    async def refuse(*_: Any) -> Any:
        raise OSError("refused")

    async with opened(settings) as ledger:
        await ledger.write(b"block", [], {"attestations": 1})
        monkeypatch.setattr(ledger._producer, "_send", refuse)
        with pytest.raises(OSError, match="refused"):
            await ledger.write(b"block", [grounded(1)], {"attestations": 2})

        assert await ledger.positions() == {"attestations": 1}


# ---------------------------------------------------------------- when the group is forgotten


def forgotten(settings: Settings) -> Settings:
    """The same lane, of a group that the broker knows nothing of."""
    return replace(settings, app_id=f"{settings.app_id}-forgotten")


async def write(settings: Settings, *outputs: Output) -> None:
    """Writes outputs in one block."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", outputs, {"attestations": 99})


async def test_without_offsets_the_last_output_tells(settings: Settings):
    """The lane goes on behind its original, however many offsets lie between the originals."""
    await write(settings, grounded(2), grounded(3), grounded(7))

    async with opened(forgotten(settings)) as ledger:
        assert await ledger.positions() == {"attestations": 8}


async def test_the_last_of_many_outputs_tells(settings: Settings):
    """More of them than are looked at, of several blocks."""
    count = partition_reader.TAIL * 3
    await write(settings, *(grounded(number) for number in range(count)))
    await write(settings, *(grounded(number) for number in range(count, 2 * count)))

    async with opened(forgotten(settings)) as ledger:
        assert await ledger.positions() == {"attestations": 2 * count}


async def test_outputs_of_other_lanes_and_topics_tell_nothing(settings: Settings):
    """Only the lane's own partition of the topic whose records have a source does."""
    async with opened(settings, lane=0) as neighbour:
        await neighbour.write(b"block", [grounded(40, lane=0)], {"attestations": 41})
    await write(settings, Output("dead-letters", None, b"raw", [("sluice-source", b"attestations/2/30")]))

    async with opened(forgotten(settings)) as ledger:
        assert await ledger.positions() == {}


async def test_offsets_win_over_the_last_output(settings: Settings):
    """They are the truth wherever they are, the first offset of all included."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(5)], {"attestations": 0})

        assert await ledger.positions() == {"attestations": 0}


async def test_what_is_written_afterwards_counts_again(settings: Settings):
    """From the first block on the group is known."""
    await write(settings, grounded(5))

    async with opened(forgotten(settings)) as ledger:
        await ledger.write(b"block", [], {"attestations": 20})
        assert await ledger.positions() == {"attestations": 20}


# ---------------------------------------------------------------- closing


async def test_closing_twice_does_no_harm(settings: Settings):
    """A lane lets go of its ledger on every way out, also before it was opened."""
    ledger = StatelessLedger(settings, "frame", LANE, "attestations", "grounded")
    await ledger.close()
    await ledger.open()
    await ledger.close()
    await ledger.close()


async def test_a_closed_ledger_opens_again(settings: Settings):
    """A lane that failed takes itself over with the same one."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [], {"attestations": 3})
        await ledger.close()
        await ledger.open()

        assert await ledger.positions() == {"attestations": 3}
        await ledger.write(b"block", [grounded(3)], {"attestations": 4})
        assert await ledger.positions() == {"attestations": 4}
