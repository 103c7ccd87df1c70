"""What one poll takes out of the fetcher: whole in the end, in order, and never more bytes than its bound."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import msgspec
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchError
from aiokafka.errors import CorruptRecordException, OffsetOutOfRangeError, RecordTooLargeError
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from fetch_answers import ZSTD, Fetcher, packed

from sluice.codecs.blocks import (
    GENESIS,
    MAX_INPUT_BYTES,
    Block,
    Event,
    EventKind,
    Header,
    Source,
    outputs_root,
    read_quarantine,
)
from sluice.codecs.times import format_time
from sluice.streams.adjudication import fold, fold_layout
from sluice.streams.adjudication.fold import event_for
from sluice.streams.policy.policy import Policy
from sluice.topology.engine.intake import Intake
from sluice.topology.kafka import packed_batches
from sluice.topology.kafka.packed_batches import EventDecoder, Refusals
from sluice.topology.kafka.polling import (
    FETCHED_BYTES,
    LEAST_BYTES,
    MOST_BYTES,
    NOTHING,
    POLL_BYTES,
    TAKEN_BYTES,
    Fetched,
    drain,
    fetch_bytes,
)

T = 1_790_000_000_000
TRACE = b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SEEN = ("substrate.code.read", "substrate.git.log")
EMISSION = {
    "emission_id": "em-1",
    "emitted_at": format_time(T),
    "emitter": {"system": "bot"},
    "text": "it is so",
    "assertions": [
        {
            "span": {"chars": [0, 8]},
            "provenance": [
                {"substrate_class": name, "observation_id": "sha256:" + "0" * 64, "ts": format_time(T)} for name in SEEN
            ],
        }
    ],
}
OBSERVATION = {
    "observation_id": "sha256:" + "0" * 64,
    "observed_at": format_time(T),
    "observer": "observer-1",
    "subject": {"emission_id": "em-1", "span": {"chars": [0, 8]}},
    "outcome": "corroborates",
}


def batch(values: list[Any], headers: Any = ()) -> bytes:
    """One batch of records about `em-1`."""
    builder = DefaultRecordBatchBuilder(2, ZSTD, False, -1, -1, -1, 10**9)
    for place, value in enumerate(values):
        builder.append(place, T, b"em-1", msgspec.json.encode(value), list(headers))
    return bytes(builder.build())


def header() -> Header:
    """Of a block of one lane."""
    sources = [Source(topic, 0, 0) for topic in fold.INPUTS]
    return Header(
        lane=0,
        lanes=1,
        height=0,
        prev=GENESIS,
        time=T,
        watermark=T,
        policy="",
        fold=fold.fold_version(),
        sources=sources,
        outputs=outputs_root([]),
    )


def decoder_of(partition: TopicPartition) -> EventDecoder:
    return EventDecoder(["emissions", "observations"].index(partition.topic), event_for)


async def poll(fetcher: Fetcher, wanted: Any = None, most: int = 4000) -> dict[TopicPartition, Any]:
    return await drain(fetcher, fetcher.states if wanted is None else wanted, 0.0, most, decoder_of)


PLACES = [TopicPartition("emissions", lane) for lane in range(16)]


async def test_a_compressed_batch_comes_out_in_portions():
    """A hundred megabytes behind a few kilobytes: no poll hands over more than a lane may hold of an input."""
    data = packed([200_000] * 500)
    assert len(data) < 100_000
    fetcher, offsets = Fetcher({PLACES[0]: data}), []
    while fetcher._records:
        found = (await poll(fetcher)).get(PLACES[0], NOTHING)
        assert found.byte_count <= TAKEN_BYTES + 200_001
        assert found.byte_count == sum(len(one.value) + 1 for one in found.events)
        offsets += [one.offset for one in found.events]
        assert fetcher.states[PLACES[0]].position == len(offsets)

    assert offsets == list(range(500))


async def test_one_poll_is_bounded_over_all_partitions():
    """Sixteen of them at once give no more than one poll's bytes, and none is left out for good."""
    data = packed([500_000] * 6)
    fetcher, found, polls = Fetcher(dict.fromkeys(PLACES, data)), dict.fromkeys(PLACES, 0), 0
    while fetcher._records:
        drained = await poll(fetcher)
        polls += 1
        assert sum(one.byte_count for one in drained.values()) <= POLL_BYTES + 500_001
        for partition, one in drained.items():
            found[partition] += len(one.events)

    assert set(found.values()) == {6}
    assert polls >= 16 * 3_000_000 // POLL_BYTES


async def test_what_is_too_large_to_keep_is_shrunk_at_once():
    """Records above the bound of inputs leave the fetcher as hash and length: they wait nowhere with their bytes."""
    fetcher = Fetcher({PLACES[0]: packed([MAX_INPUT_BYTES + 1, 10, 20_000_000])})
    tracemalloc.start()
    drained = await poll(fetcher)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    first, second, third = drained[PLACES[0]].events
    assert (first.kind, third.kind, second.value) == (EventKind.OVERSIZE, EventKind.OVERSIZE, b"x" * 10)
    assert drained[PLACES[0]].byte_count == 11
    assert kept < 100_000


async def test_headers_count():
    """Bytes may hide in headers as well as in values."""
    fetcher = Fetcher({PLACES[0]: packed([10] * 100, headers=100_000)})

    assert len((await poll(fetcher))[PLACES[0]].events) == 20


async def test_an_event_has_its_input_s_place():
    """Whatever becomes of the record."""
    partition = TopicPartition("observations", 3)
    events = (await poll(Fetcher({partition: packed([MAX_INPUT_BYTES + 1, 1])})))[partition].events

    assert events == [
        event_for(1, 0, events[0].timestamp, [], b"k", b"x" * (MAX_INPUT_BYTES + 1)),
        Event(EventKind.RECORD, 1, 1, events[1].timestamp, [], b"k", b"x"),
    ]


async def test_a_damaged_batch_loses_nothing_of_another():
    """What is out is handed over; the next poll tells of the damage, and so does each one after."""
    damaged = bytearray(packed([10, 10]))
    damaged[-1] ^= 1
    fetcher = Fetcher({PLACES[0]: packed([10]), PLACES[1]: packed([10]) + bytes(damaged)})

    assert set(await poll(fetcher)) == {PLACES[0], PLACES[1]}
    for _ in range(2):
        with pytest.raises(CorruptRecordException, match="offset 0"):
            await poll(fetcher)
    assert fetcher.states[PLACES[1]].position == 1


def refusing(refusals: Refusals) -> Any:
    return lambda one: decoder_of(one)._replace(refuse=partial(refusals.refuse, one))


async def test_a_damaged_batch_is_fetched_once_more_and_put_aside():
    """Others are read meanwhile; then an event stands for it, and its lane goes on behind it."""
    damaged = bytearray(packed([10, 10]))
    damaged[-1] ^= 1
    refusals = Refusals(goes_on=True, clock=lambda: T)
    answers = {PLACES[0]: bytes(damaged), PLACES[1]: packed([10])}
    fetcher = Fetcher(answers)

    first = await drain(fetcher, set(PLACES), 0.0, 4000, refusing(refusals))
    assert (set(first), fetcher._records) == ({PLACES[1]}, {})
    assert fetcher.states[PLACES[0]].position == 0

    (event,) = (await drain(Fetcher(answers), {PLACES[0]}, 0.0, 4000, refusing(refusals)))[PLACES[0]].events
    assert (event.kind, event.offset, read_quarantine(event).reason) == (EventKind.QUARANTINE, 0, "checksum")
    assert read_quarantine(event).next == 2


async def test_a_batch_that_reads_on_the_second_fetch_is_read():
    """It was damaged on the way; nothing stands for it but its records."""
    whole, refusals = packed([10, 10]), Refusals(goes_on=True)
    await drain(Fetcher({PLACES[0]: whole[:-1] + b"\0"}), set(PLACES), 0.0, 4000, refusing(refusals))

    read = await drain(Fetcher({PLACES[0]: whole}), set(PLACES), 0.0, 4000, refusing(refusals))

    assert [one.kind for one in read[PLACES[0]].events] == [EventKind.RECORD] * 2


async def test_bombs_in_every_partition_at_once_are_each_put_aside(monkeypatch: pytest.MonkeyPatch):
    """One poll; none of them is held unpacked."""
    monkeypatch.setattr(packed_batches, "MOST_UNPACKED", 2_000_000)
    data = packed([3_000_000])
    refusals = Refusals(goes_on=True)
    tracemalloc.start()
    read = await drain(Fetcher(dict.fromkeys(PLACES, data)), set(PLACES), 0.0, 4000, refusing(refusals))
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [(one.kind, one.offset) for place in PLACES for one in read[place].events] == [
        (EventKind.QUARANTINE, 0)
    ] * 16
    assert kept < 1_000_000
    assert peak < 3 * 2_000_000


def held(fetcher: Fetcher) -> int:
    """How many bytes lie unpacked in it."""
    records = [one._partition_records for one in fetcher._records.values()]
    return sum(one.unpacked for one in records if isinstance(one, packed_batches.Unpacking))


async def test_large_batches_of_all_lanes_stay_within_their_budget():
    """Sixteen of fifteen megabytes at once: no more than two lie there unpacked, and all are read to their end."""
    data, found = packed([500_000] * 30), dict.fromkeys(PLACES, 0)
    fetcher, most = Fetcher(dict.fromkeys(PLACES, data)), 0
    while fetcher._records:
        drained = await drain(fetcher, set(PLACES), 0.0, 4000, decoder_of, 31_000_000)
        assert drained, "nobody waits for nothing"
        most = max(most, held(fetcher))
        for partition, one in drained.items():
            found[partition] += len(one.events)

    assert set(found.values()) == {30}
    assert 15_000_000 < most <= 31_000_000


async def test_one_batch_may_always_be_unpacked():
    """However small the budget is, or there would be nothing to wait for."""
    data, found = packed([500_000] * 30), 0
    fetcher = Fetcher(dict.fromkeys(PLACES[:3], data))
    while fetcher._records:
        drained = await drain(fetcher, set(PLACES), 0.0, 4000, decoder_of, 1)
        found += sum(len(one.events) for one in drained.values())

    assert found == 90


async def test_what_nobody_reads_gives_way():
    """A lane that stands, or is full, holds no room that another one needs; what it had not read, it reads later."""
    data = packed([500_000] * 30)
    fetcher = Fetcher(dict.fromkeys(PLACES[:2], data))
    first = await drain(fetcher, {PLACES[0]}, 0.0, 4000, decoder_of, 16_000_000)
    assert held(fetcher) > 15_000_000

    second = list[Any]()
    while PLACES[1] in fetcher._records:
        second += (await drain(fetcher, {PLACES[1]}, 0.0, 4000, decoder_of, 16_000_000))[PLACES[1]].events
        assert held(fetcher) < 16_000_000
    rest = list[Any]()
    while fetcher._records:
        rest += (await drain(fetcher, {PLACES[0]}, 0.0, 4000, decoder_of, 16_000_000))[PLACES[0]].events

    assert len(second) == 30
    assert [one.offset for one in [*first[PLACES[0]].events, *rest]] == list(range(30))


async def test_who_waits_for_room_is_not_unpacked_again_and_again(monkeypatch: pytest.MonkeyPatch):
    """A batch that was too large for what was left is not tried before there is more."""
    tried = list[int]()
    unpack = packed_batches._UNPACK[ZSTD]
    monkeypatch.setitem(packed_batches._UNPACK, ZSTD, lambda raw, most: tried.append(most) or unpack(raw, most))
    fetcher = Fetcher(dict.fromkeys(PLACES[:2], packed([500_000] * 30)))
    for _ in range(4):
        await drain(fetcher, set(PLACES), 0.0, 4000, decoder_of, 16_000_000)

    assert len(tried) == 2


async def test_a_batch_longer_than_its_answer_stops_its_lane_and_passes_nothing():
    """aiokafka passes one offset, whatever stood there; here the position stays, and the lane is told."""
    refusals = Refusals(goes_on=True)
    for _ in range(2):
        fetcher = Fetcher({PLACES[0]: packed([10]), PLACES[1]: packed([10])})
        fetcher._records[PLACES[0]] = FetchError(error=RecordTooLargeError("longer"), backoff=0)
        fetcher.states[PLACES[0]].position = 1
        read = await drain(fetcher, set(PLACES), 0.0, 1, refusing(refusals))
        assert (set(read), fetcher.states[PLACES[0]].position) == ({PLACES[1]}, 0)

    assert refusals.stopped[PLACES[0]].offset == 0
    assert "nobody can tell where it ends" in str(refusals.stopped[PLACES[0]].error)


@pytest.mark.skipif(fold_layout.core is None, reason="an install without the compiled core")
async def test_what_was_fetched_is_what_the_core_was_made_for(monkeypatch: pytest.MonkeyPatch):
    """From the wire to the verdict: a common emission and its evidence never reach the fold in Python.

    aiokafka gives a record's headers as a tuple, the ledger's reader as a list; the core once declined all emissions
    of a live lane for that, and only a profile told.
    """
    monkeypatch.setattr(fold._Folding, "take_in", lambda *_: pytest.fail("this is the core's"))
    answers = {
        TopicPartition("emissions", 0): batch([EMISSION], [("traceparent", TRACE)]),
        TopicPartition("observations", 0): batch([{**OBSERVATION, "substrate_class": name} for name in SEEN]),
    }
    queue = Intake(fold.INPUTS)
    queue.restart(1, dict.fromkeys(queue.inputs, 0), dict.fromkeys(queue.inputs, 0))
    for (topic, _), drained in (await poll(Fetcher(answers))).items():
        queue.offer(Fetched(topic, 0, 1, 0, len(drained.events), drained.events, drained.byte_count))
    lane, outputs = fold.new_state(0, 1), []
    for events in [Event(EventKind.POLICY, 0, 0, T, [], None, Policy().document)], queue.take():
        outputs = fold.fold(lane, Block(header(), events, GENESIS))

    assert [one.topic for one in outputs] == ["admitted", "verdicts"]
    assert ("traceparent", TRACE) in outputs[0].headers


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
