"""Readers that go on past what cannot be read: it is told, bounded in memory, and ends nobody."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchError
from aiokafka.errors import CorruptRecordException, TopicAuthorizationFailedError
from fetch_answers import Fetcher, packed
from structlog.testing import capture_logs

from sluice.topology.kafka import packed_batches
from sluice.topology.kafka.topic_reader import PassedOver, PassingReader

PLACES = [TopicPartition("emissions", number) for number in range(4)]
BOMB = packed([3_000_000])
"""Too large for a bound of two megabytes; less than a kilobyte travels."""


def at(offset: int, batch: bytes) -> bytes:
    """A batch that begins at another offset, which its checksum does not cover."""
    return offset.to_bytes(8) + batch[8:]


def damaged(batch: bytes) -> bytes:
    """A batch whose last byte is another one."""
    return batch[:-1] + bytes([batch[-1] ^ 1])


class Consumer:
    """As much of aiokafka's consumer as a reader touches; what has come of each partition lies in its fetcher."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = dict(zip(PLACES, answers, strict=False))
        self.fetches()
        self._coordinator = SimpleNamespace(check_errors=lambda: None)
        self._subscription = SimpleNamespace(fetch_context=nullcontext)
        self.resting: set[TopicPartition] = set()

    def fetches(self) -> None:
        """The same has come once more."""
        self._fetcher = Fetcher(self.answers)

    def assignment(self) -> set[TopicPartition]:
        return set(self.answers)

    def paused(self) -> set[TopicPartition]:
        return self.resting


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_batches, "MOST_UNPACKED", 2_000_000)


def reader(consumer: Any, most: int = 2_000_000, **options: Any) -> PassingReader:
    return PassingReader(consumer, most, **options)


async def offsets(consumer: Consumer, **options: Any) -> dict[int, list[int]]:
    """Of all records that come, by partition."""
    found: dict[int, list[int]] = {}
    while consumer._fetcher._records:
        for place, records in (await reader(consumer, **options).take(0.0)).items():
            found.setdefault(place.partition, []).extend(record.offset for record in records)
    return found


async def test_a_bomb_is_passed_over_and_told():
    """What stands behind it, and on other partitions, is read; nothing of it ever lies in memory."""
    consumer = Consumer(BOMB, packed([5, 5]))
    with capture_logs() as lines:
        assert await offsets(consumer) == {1: [0, 1]}

    (line,) = lines
    assert (line["event"], line["log_level"], line["behind"]) == (
        "a batch cannot be read: it is passed over",
        "error",
        1,
    )
    assert "emissions/0: the batch at offset 0 is damaged: it unpacks to more than 2000000" in line["error"]
    assert consumer._fetcher.states[PLACES[0]].position == 1


async def test_what_stands_behind_it_in_its_own_answer_is_fetched_again():
    """Another answer says which transactions are aborted from there on."""
    consumer = Consumer(BOMB + at(1, packed([5])))
    assert await offsets(consumer) == {}

    assert consumer._fetcher.states[PLACES[0]].position == 1


async def test_who_asks_is_given_what_stands_for_it():
    """A reader that keeps positions, or counts, has to know."""
    told = list[Any]()
    consumer = Consumer(BOMB)
    found = await reader(consumer, tell=lambda *one: told.append(one)).take(0.0, passed=True)

    (passed,) = found[PLACES[0]]
    assert passed == PassedOver(0, 1, passed.why)
    assert told == [(PLACES[0], passed)]


async def test_what_is_damaged_is_fetched_once_more_first():
    """It may have been damaged on its way."""
    consumer, told = Consumer(damaged(packed([5]))), list[Any]()
    one = reader(consumer, tell=lambda *passed: told.append(passed))
    assert await one.take(0.0) == {}
    assert told == []
    assert consumer._fetcher.states[PLACES[0]].position == 0

    consumer.fetches()
    assert await one.take(0.0) == {}
    assert [passed.offset for _, passed in told] == [0]
    assert consumer._fetcher.states[PLACES[0]].position == 1


async def test_where_nobody_can_tell_its_end_it_is_not_passed():
    """The position must not be taken past what stands behind it by a header that lies."""
    consumer = Consumer(damaged(packed([5])))
    one = reader(consumer)
    await one.take(0.0)
    consumer.fetches()
    consumer._fetcher.states[PLACES[0]].highwater = None

    with pytest.raises(CorruptRecordException):
        await one.take(0.0)
    assert consumer._fetcher.states[PLACES[0]].position == 0


async def test_partitions_of_one_reader_share_a_budget():
    """Four batches of a megabyte and a half within two: each is read to its end before the next is unpacked."""
    consumer, one = Consumer(*[packed([500_000] * 3)] * 4), None
    one, found, peak = reader(consumer), dict[int, list[int]](), 0
    while consumer._fetcher._records:
        for place, records in (await one.take(0.0, 2)).items():
            found.setdefault(place.partition, []).extend(record.offset for record in records)
        lying = [each._partition_records for each in consumer._fetcher._records.values()]
        peak = max(peak, sum(each.unpacked for each in lying if isinstance(each, packed_batches.Unpacking)))

    assert found == {number: [0, 1, 2] for number in range(4)}
    assert peak <= 2_000_000


async def test_what_rests_is_not_waited_for():
    """A partition that was read to its end may hold what finds no room."""
    consumer = Consumer(packed([500_000] * 3), packed([5]))
    consumer.resting = {PLACES[0]}

    assert {place.partition for place in await reader(consumer, 1).take(0.0)} == {1}


async def test_what_a_broker_has_to_say_is_raised():
    """It is no batch: nobody passes it over."""
    consumer = Consumer(packed([5]))
    consumer._fetcher._records[PLACES[0]] = FetchError(error=TopicAuthorizationFailedError("emissions"), backoff=0)

    with pytest.raises(TopicAuthorizationFailedError):
        await reader(consumer).take(0.0)
