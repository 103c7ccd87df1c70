"""What one poll takes out of the fetcher: whole in the end, in order, and never more octets than its bound."""

from __future__ import annotations

import tracemalloc
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchError, FetchResult, PartitionRecords
from aiokafka.errors import OffsetOutOfRangeError
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords

from sluice.codecs.blocks import MAX_INPUT_BYTES, EventKind
from sluice.streams.fold import event_for
from sluice.topology.draining import (
    FETCHED_BYTES,
    LEAST_BYTES,
    MOST_BYTES,
    NOTHING,
    POLL_BYTES,
    drain,
    fetch_bytes,
)
from sluice.topology.intake import HELD_BYTES, Frame, Intake, Shrunk

ZSTD = 4  # Kafka's number for it


def packed(sizes: list[int], headers: int = 0) -> bytes:
    """One zstd batch of records with values of these sizes: the wire sees next to nothing of them."""
    builder = DefaultRecordBatchBuilder(2, ZSTD, False, -1, -1, -1, 10**9)
    for place, size in enumerate(sizes):
        builder.append(place, 1, b"k", b"x" * size, [("h", b"y" * headers)] if headers else [])
    return bytes(builder.build())


class Fetcher:
    """aiokafka's fetcher with one fetch answer of each partition in it, unpacked by aiokafka itself."""

    def __init__(self, answers: dict[TopicPartition, bytes]) -> None:
        self.states = {partition: SimpleNamespace(position=0, paused=False) for partition in answers}
        for state in self.states.values():
            state.consumed_to = lambda offset, state=state: setattr(state, "position", offset)
        assignment: Any = SimpleNamespace(active=True, state_value=self.states.__getitem__)
        self._closed = False
        self._wait_consume_future = None
        self._subscriptions = SimpleNamespace(reassignment_in_progress=False, is_assigned=lambda partition: True)
        self._records: dict[TopicPartition, Any] = {
            partition: FetchResult(
                partition,
                assignment=assignment,
                backoff=0,
                partition_records=PartitionRecords(partition, MemoryRecords(data), None, 0, None, None, True, 1),
            )
            for partition, data in answers.items()
        }

    def _notify(self, future: Any) -> None: ...


def shrink(partition: TopicPartition) -> Any:
    return lambda one: Shrunk(
        one.offset, event_for(0, one.offset, one.timestamp, list(one.headers), one.key, one.value)
    )


async def poll(fetcher: Fetcher, wanted: Any = None, most: int = 4000) -> dict[TopicPartition, Any]:
    return await drain(fetcher, fetcher.states if wanted is None else wanted, 0.0, most, shrink)


PLACES = [TopicPartition("emissions", lane) for lane in range(16)]


async def test_a_compressed_batch_comes_out_in_portions():
    """A hundred megabytes behind a few kilobytes: no poll hands over more than a lane may hold of an input."""
    data = packed([200_000] * 500)
    assert len(data) < 100_000
    fetcher, offsets = Fetcher({PLACES[0]: data}), []
    while fetcher._records:
        found = (await poll(fetcher)).get(PLACES[0], NOTHING)
        assert found.octets <= HELD_BYTES + 200_001
        assert found.octets == sum(len(one.value) + 1 for one in found.records)
        offsets += [one.offset for one in found.records]
        assert fetcher.states[PLACES[0]].position == len(offsets)

    assert offsets == list(range(500))


async def test_one_poll_is_bounded_over_all_partitions():
    """Sixteen of them at once give no more than one poll's octets, and none is left out for good."""
    data = packed([500_000] * 6)
    fetcher, found, polls = Fetcher(dict.fromkeys(PLACES, data)), dict.fromkeys(PLACES, 0), 0
    while fetcher._records:
        drained = await poll(fetcher)
        polls += 1
        assert sum(one.octets for one in drained.values()) <= POLL_BYTES + 500_001
        for partition, one in drained.items():
            found[partition] += len(one.records)

    assert set(found.values()) == {6}
    assert polls >= 16 * 3_000_000 // POLL_BYTES


async def test_what_is_too_large_to_keep_is_shrunk_at_once():
    """Records above the bound of inputs leave the fetcher as hash and length: they wait nowhere with their bytes."""
    fetcher = Fetcher({PLACES[0]: packed([MAX_INPUT_BYTES + 1, 10, 20_000_000])})
    tracemalloc.start()
    drained = await poll(fetcher)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    first, second, third = drained[PLACES[0]].records
    assert isinstance(first, Shrunk)
    assert (first.event.kind, third.event.kind, second.value) == (EventKind.OVERSIZE, EventKind.OVERSIZE, b"x" * 10)
    assert drained[PLACES[0]].octets == 11
    assert kept < 100_000


async def test_headers_count():
    """Octets may hide in headers as well as in values."""
    fetcher = Fetcher({PLACES[0]: packed([10] * 100, headers=100_000)})

    assert len((await poll(fetcher))[PLACES[0]].records) == 20


async def test_a_shrunk_record_is_the_event_that_the_fold_would_have_made():
    """The lane's block has the same event as if the record itself had waited, with its input's place."""
    fetcher = Fetcher({PLACES[0]: packed([MAX_INPUT_BYTES + 1])})
    drained = (await poll(fetcher))[PLACES[0]]
    queue = Intake(("observations", "emissions"), event_for)
    queue.restart(1, dict.fromkeys(queue.inputs, 0), dict.fromkeys(queue.inputs, 0))
    queue.offer(Frame("emissions", 0, 1, 0, 1, drained.records, drained.octets))

    assert queue.take() == [event_for(1, 0, drained.records[0].event.timestamp, [], b"k", b"x" * (MAX_INPUT_BYTES + 1))]


async def test_only_what_is_wanted_is_taken():
    """The rest stays in the fetcher, packed, and is not fetched again meanwhile."""
    fetcher = Fetcher(dict.fromkeys(PLACES[:2], packed([10])))

    assert set(await poll(fetcher, wanted={PLACES[1]})) == {PLACES[1]}
    assert set(fetcher._records) == {PLACES[0]}


async def test_an_error_of_one_partition_loses_nothing_of_another():
    """It is told by the poll after."""
    fetcher = Fetcher({PLACES[0]: packed([10])})
    fetcher._records[PLACES[1]] = FetchError(error=OffsetOutOfRangeError({PLACES[1]: 5}), backoff=0)
    wanted = set(PLACES[:2])

    assert set(await poll(fetcher, wanted)) == {PLACES[0]}
    with pytest.raises(OffsetOutOfRangeError):
        await poll(fetcher, wanted)
    assert fetcher._records == {}


@pytest.mark.parametrize("partitions", [1, 16, 17, 100, 400, 40_000])
def test_a_full_fetcher_has_a_bound(partitions: int):
    """More partitions get less each, down to a floor below which an answer is one batch anyway."""
    each = fetch_bytes(partitions)

    assert LEAST_BYTES <= each <= MOST_BYTES
    assert each * partitions <= FETCHED_BYTES * 1.05 or each == LEAST_BYTES
