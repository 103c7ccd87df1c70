"""Stored topics are read within one budget of unpacked bytes, whole and in order, however many read at once."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchError
from aiokafka.errors import TopicAuthorizationFailedError
from fetch_answers import Fetcher, packed

from sluice.topology.kafka import packed_batches, topic_reader
from sluice.topology.kafka.packed_batches import UnreadableError
from sluice.topology.kafka.topic_reader import take_stored

LEDGERS = [TopicPartition("ledger", number) for number in range(16)]
LARGE = packed([500_000] * 30)
"""Fifteen megabytes, of which a hundred kilobytes travel."""


def moved(batch: bytes, offset: int) -> bytes:
    """A batch at another offset, which its checksum does not cover."""
    return offset.to_bytes(8) + batch[8:]


class Idle(Fetcher):
    """One that nothing more comes to; `waits` counts how often somebody has waited for another answer."""

    waits = 0

    def _create_fetch_waiter(self) -> asyncio.Future[Any]:
        self.waits += 1
        return asyncio.get_running_loop().create_future()


def reader(place: TopicPartition, data: bytes) -> Any:
    """A consumer with one fetch answer."""
    return SimpleNamespace(_fetcher=Idle({place: data}))


def held(consumers: list[Any]) -> int:
    """How many bytes lie unpacked in all of them."""
    records = [one._partition_records for each in consumers for one in each._fetcher._records.values()]
    return sum(one.unpacked for one in records if isinstance(one, packed_batches.Unpacking))


async def read_all(consumers: list[Any], most: int) -> tuple[dict[int, list[int]], int]:
    """The offsets that each gave, where all read at once; and the most that ever lay unpacked."""
    found: dict[int, list[int]] = {number: [] for number in range(len(consumers))}
    peak = 0

    async def read(number: int) -> None:
        nonlocal peak
        consumer = consumers[number]
        while consumer._fetcher._records:
            found[number] += [one.offset for one in await take_stored(consumer, LEDGERS[number], 0.0, most)]
            peak = max(peak, held(consumers))
            await asyncio.sleep(0)

    async with asyncio.timeout(60):
        await asyncio.gather(*map(read, range(len(consumers))))
    return found, peak


async def test_lanes_that_restore_at_once_share_a_budget():
    """Sixteen ledgers with a large batch each: two lie unpacked at a time, and each is read to its end."""
    found, peak = await read_all([reader(place, LARGE) for place in LEDGERS], 31_000_000)

    assert all(offsets == list(range(30)) for offsets in found.values())
    assert 15_000_000 < peak <= 31_000_000


async def test_one_batch_may_always_be_unpacked():
    """However small the budget is, or all would wait."""
    found, peak = await read_all([reader(place, LARGE) for place in LEDGERS[:3]], 1)

    assert all(offsets == list(range(30)) for offsets in found.values())
    assert peak < 16_000_000


async def test_a_reader_that_does_not_read_gives_way(monkeypatch: pytest.MonkeyPatch):
    """A standby that nobody lets go on holds no room for ever; it unpacks anew when it reads on."""
    monkeypatch.setattr(topic_reader, "IDLE_SECONDS", 0.1)
    first, second = reader(LEDGERS[0], LARGE), reader(LEDGERS[1], LARGE)
    begun = await take_stored(first, LEDGERS[0], 0.0, 16_000_000)
    assert held([first]) > 15_000_000

    async with asyncio.timeout(60):
        other = await take_stored(second, LEDGERS[1], 0.0, 16_000_000)
    assert held([first]) == 0
    while second._fetcher._records:
        other += await take_stored(second, LEDGERS[1], 0.0, 16_000_000)
    while first._fetcher._records:
        begun += await take_stored(first, LEDGERS[0], 0.0, 16_000_000)

    assert [one.offset for one in begun] == [one.offset for one in other] == list(range(30))


async def test_a_reader_that_was_closed_holds_nothing():
    """A lane that was given up in the middle of its restore."""
    first, second = reader(LEDGERS[0], LARGE), reader(LEDGERS[1], LARGE)
    await take_stored(first, LEDGERS[0], 0.0, 16_000_000)
    first._fetcher._closed = True

    async with asyncio.timeout(60):
        assert await take_stored(second, LEDGERS[1], 0.0, 16_000_000)


async def test_a_bomb_is_refused_unread(monkeypatch: pytest.MonkeyPatch):
    """More than one batch may have: no reader of a stored topic unpacks it, whoever wrote it there."""
    monkeypatch.setattr(packed_batches, "MOST_UNPACKED", 2_000_000)

    with pytest.raises(UnreadableError) as refused:
        await take_stored(reader(LEDGERS[0], packed([3_000_000])), LEDGERS[0], 0.0)
    assert (refused.value.reason, refused.value.offset, refused.value.next) == ("too-large", 0, 1)


async def test_an_error_of_one_reader_is_told_to_that_reader_alone():
    """The access to one topic was taken away while its reader folds: all other readers of the loop read on."""
    first, second = reader(LEDGERS[0], LARGE), reader(LEDGERS[1], LARGE)
    await take_stored(first, LEDGERS[0], 0.0, 16_000_000)
    first._fetcher._records[LEDGERS[0]] = FetchError(error=TopicAuthorizationFailedError("ledger"), backoff=0)

    assert await take_stored(second, LEDGERS[1], 0.0, 16_000_000)
    with pytest.raises(TopicAuthorizationFailedError):
        await take_stored(first, LEDGERS[0], 0.0, 16_000_000)


async def test_a_reader_without_room_waits_for_room_and_for_no_answer():
    """No answer comes while one lies there: a reader that waited for it would sleep through the room it is given."""
    first, second = reader(LEDGERS[0], LARGE), reader(LEDGERS[1], LARGE)
    await take_stored(first, LEDGERS[0], 0.5, 16_000_000)
    waiting = asyncio.create_task(take_stored(second, LEDGERS[1], 0.5, 16_000_000))
    for _ in range(5):
        await asyncio.sleep(topic_reader.ROOM_SECONDS)
    assert not waiting.done()
    while first._fetcher._records:
        await take_stored(first, LEDGERS[0], 0.5, 16_000_000)

    async with asyncio.timeout(60):
        assert await waiting
    assert second._fetcher.waits == 0


async def test_readers_get_room_in_the_order_in_which_they_asked():
    """A reader of one huge batch after the other opens no further one while somebody waits."""
    endless = reader(LEDGERS[0], b"".join(moved(LARGE, place) for place in range(0, 120, 30)))
    others = [reader(place, LARGE) for place in LEDGERS[1:3]]
    order = list[int]()

    async def read(number: int, consumer: Any) -> None:
        while consumer._fetcher._records:
            order.extend(number for _ in await take_stored(consumer, LEDGERS[number], 0.0, 16_000_000))
            await asyncio.sleep(0)

    async with asyncio.timeout(60):
        begun = asyncio.create_task(read(0, endless))
        await asyncio.sleep(0)
        await asyncio.gather(begun, *(read(number, one) for number, one in enumerate(others, 1)))

    turns = [number for place, number in enumerate(order) if place == 0 or order[place - 1] != number]
    assert turns == [0, 1, 2, 0]
    assert [order.count(number) for number in range(3)] == [120, 30, 30]


async def test_a_reader_that_is_cancelled_gives_up_its_turn():
    """A lane that was given up while it waited for room holds nobody up."""
    first, second, third = (reader(place, LARGE) for place in LEDGERS[:3])
    await take_stored(first, LEDGERS[0], 0.0, 16_000_000)
    waiting = asyncio.create_task(take_stored(second, LEDGERS[1], 0.0, 16_000_000))
    await asyncio.sleep(3 * topic_reader.ROOM_SECONDS)
    waiting.cancel()
    first._fetcher._closed = True

    async with asyncio.timeout(60):
        assert await take_stored(third, LEDGERS[2], 0.0, 16_000_000)


async def test_no_records_are_given_where_none_came():
    """And nobody waits for longer than it was told to."""
    consumer = reader(LEDGERS[0], packed([10]))
    assert len(await take_stored(consumer, LEDGERS[0], 0.0)) == 1
    async with asyncio.timeout(60):
        assert await take_stored(consumer, LEDGERS[0], 0.01) == []
