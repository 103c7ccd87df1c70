"""Fetch answers unpacked into events: what aiokafka itself would have given, transactions and markers included."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tracemalloc
import weakref
from pathlib import Path
from struct import pack
from typing import Any

import cramjam
import pytest
from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import READ_COMMITTED, READ_UNCOMMITTED, PartitionRecords
from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.record.legacy_records import LegacyRecordBatchBuilder
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.blocks import Event, EventKind
from sluice.codecs.record_batches import batches
from sluice.streams.adjudication.fold import event_for
from sluice.topology.kafka import packed_batches as unpacking_module
from sluice.topology.kafka.aiokafka_inside import KeptRecords
from sluice.topology.kafka.packed_batches import EventDecoder, RecordDecoder, UnreadableError, unpacking

PARTITION = TopicPartition("emissions", 0)
CONTROL, TRANSACTIONAL = 0x20, 0x10
ABORT, COMMIT = pack(">hh", 0, 0), pack(">hh", 0, 1)


def batch(
    base: int, values: list[bytes], producer: int = -1, *, codec: int = 0, bits: int = 0, key: bytes = b"k"
) -> bytes:
    """A batch as a broker keeps it, at this base offset."""
    builder = DefaultRecordBatchBuilder(2, codec, bool(bits & TRANSACTIONAL), producer, 0, 0, 10**9)
    for place, value in enumerate(values):
        builder.append(place, 5, key, value, [("h", b"1")])
    data = bytearray(builder.build())
    data[:8] = pack(">q", base)
    data[22] |= bits
    data[17:21] = pack(">I", calc_crc32c(bytes(data[21:])))
    return bytes(data)


def marker(base: int, producer: int, kind: bytes) -> bytes:
    return batch(base, [b""], producer, bits=CONTROL | TRANSACTIONAL, key=kind)


def theirs(data: bytes, aborted: Any = (), start: int = 0, isolation: int = READ_COMMITTED, kept: bool = True) -> Any:
    records = KeptRecords(data) if kept else MemoryRecords(data)
    return PartitionRecords(PARTITION, records, list(aborted), start, None, None, True, isolation)


def ours(data: bytes, aborted: Any = (), start: int = 0, isolation: int = READ_COMMITTED) -> Any:
    return unpacking(theirs(data, aborted, start, isolation), EventDecoder(1, event_for))


def drained(one: Any, most: int = 100) -> list[Event]:
    found = list[Event]()
    while not one.done:
        found += one.take(most, 10**9)[0]
    return found


def expected(records: PartitionRecords) -> list[Event]:
    return [event_for(1, one.offset, one.timestamp, one.headers, one.key, one.value) for one in records]


@pytest.mark.parametrize("codec", range(5))
def test_every_compression_is_undone(codec: int) -> None:
    """Kafka's four codecs, and none."""
    data = batch(0, [b"a" * 1000, b"b"], codec=codec) + batch(2, [b"c"])

    assert [one.value for one in drained(ours(data))] == [b"a" * 1000, b"b", b"c"]
    assert drained(ours(data)) == expected(theirs(data))


HISTORY = st.lists(
    st.one_of(
        st.tuples(st.just("records"), st.integers(-1, 2), st.integers(1, 4), st.sampled_from([0, 4])),
        st.tuples(st.just("commit"), st.integers(0, 2)),
        st.tuples(st.just("abort"), st.integers(0, 2)),
    ),
    max_size=12,
)


def written(history: list[Any]) -> tuple[bytes, list[tuple[int, int]], int]:
    """A log's bytes, its aborted transactions as a fetch answer tells them, and its end."""
    data, aborted, end, opened = b"", list[tuple[int, int]](), 0, dict[int, int]()
    for what, producer, *more in history:
        if what == "records":
            count, codec = more
            bits = TRANSACTIONAL if producer >= 0 else 0
            data += batch(end, [b"%d" % place for place in range(count)], producer, codec=codec, bits=bits)
            if producer >= 0:
                opened.setdefault(producer, end)
            end += count
        else:
            data += marker(end, producer, COMMIT if what == "commit" else ABORT)
            first = opened.pop(producer, None)
            if what == "abort" and first is not None:
                aborted.append((producer, first))
            end += 1
    return data, aborted, end


@given(HISTORY, st.integers(0, 8), st.sampled_from([READ_COMMITTED, READ_UNCOMMITTED]), st.integers(1, 5))
def test_what_is_there_for_us_is_what_aiokafka_gives(history: list[Any], start: int, isolation: int, most: int) -> None:
    """Any mixture of transactions, committed, aborted and open, from any place in it, in portions of any size."""
    data, aborted, end = written(history)
    start = min(start, end)
    data = data[next((one.start for one in batches(data) if one.next > start), len(data)) :]  # as a broker answers
    records = theirs(data, aborted, start, isolation, kept=False)
    wanted = expected(records)
    one = ours(data, aborted, start, isolation)

    assert drained(one, most) == wanted
    assert one.next_fetch_offset == records.next_fetch_offset


def test_what_was_fetched_is_let_go_at_once() -> None:
    """Not only when the collector comes by: an answer has megabytes, and a lane's garbage is collected rarely."""
    gc.disable()
    try:
        kept = KeptRecords(batch(0, [b"a"]))
        records, ended = theirs(batch(0, [b"a"])), weakref.ref(kept)
        records._records = kept
        one = unpacking(records, EventDecoder(1, event_for))
        del kept, records
        drained(one)
        del one
        assert ended() is None
    finally:
        gc.enable()


def test_a_damaged_batch_is_refused_behind_what_is_whole() -> None:
    """A checksum that does not hold: what stands before it is given, then one sentence, as often as is asked."""
    data = bytearray(batch(0, [b"a"]) + batch(1, [b"b"]))
    data[-1] ^= 1
    one = ours(bytes(data))

    assert [event.value for event in one.take(100, 10**9)[0]] == [b"a"]
    for _ in range(2):
        with pytest.raises(CorruptRecordException, match="batch at offset 1 is damaged: its checksum"):
            one.take(100, 10**9)
    assert one.next_fetch_offset == 1


def signed(data: bytearray) -> bytes:
    """With the checksum that belongs to it: whoever writes a batch writes that too."""
    data[17:21] = pack(">I", calc_crc32c(bytes(data[21:])))
    return bytes(data)


def test_what_is_no_record_is_taken_by_its_bytes() -> None:
    """A length that lies under a right checksum: the record has its own bytes for a value, and nobody waits for it."""
    data = bytearray(batch(5, [b"abc", b"de", b"f"]))
    data[data.index(b"\x04de")] = 0x7E

    for most in (1, 100):
        events = drained(ours(signed(data) + batch(8, [b"g"]), start=5), most)
        assert [(one.offset, one.key) for one in events] == [(5, b"k"), (6, None), (7, b"k"), (8, b"k")]
        assert events[1].value == b"\0\0\2\2k\x7ede\2\2h\0021"


def test_what_is_stored_is_refused_where_it_is_no_record() -> None:
    """An audit tells of it: nothing stands for what nobody wrote so."""
    data = bytearray(batch(0, [b"abc"]))
    data[61] = 0x7E  # the record's own length
    one = unpacking(theirs(signed(data)), RecordDecoder(lambda *parts: parts))

    with pytest.raises(CorruptRecordException, match="emissions/0: the batch at offset 0 is damaged: a record"):
        one.take(1, 1)


def test_a_reader_passes_batches_without_what_it_wants() -> None:
    """By their last records, so that it is seen to get on."""
    data = batch(0, [b"a", b"b", b"c"]) + batch(3, [b"d"]) + batch(4, [b"e", b"f"])
    one = unpacking(theirs(data), RecordDecoder(lambda *parts: parts, having="mark"))
    all_of_them = unpacking(theirs(data), RecordDecoder(lambda *parts: parts, having="h"))

    assert [offset for offset, *_ in one.take(9, 9_999)[0]] == [2, 3, 5]
    assert [offset for offset, *_ in all_of_them.take(9, 9_999)[0]] == [0, 1, 2, 3, 4, 5]
    assert one.next_fetch_offset == all_of_them.next_fetch_offset == 6


def test_offsets_that_lie_move_nobody() -> None:
    """The position follows the batch's own range: what stands behind it is still fetched."""
    data = bytearray(batch(100, [b"a", b"b"]))
    assert (data[61 + 3], data[61 + 13 + 3]) == (0, 2)
    data[61 + 13 + 3] = 0x7E
    one = ours(signed(data) + batch(102, [b"c"]), start=100)

    assert [event.offset for event in drained(one, 1)] == [100, 101, 102]
    assert one.next_fetch_offset == 103


@pytest.mark.parametrize("codec", [1, 3, 4])
def test_a_batch_that_hides_too_much_is_refused(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is never unpacked beyond the bound, whatever it was packed with; what is within is."""
    monkeypatch.setattr(unpacking_module, "MOST_UNPACKED", 2_000_000)
    data = batch(0, [bytes(1_900_000)], codec=codec)
    assert drained(ours(data))[0].kind == EventKind.OVERSIZE

    with pytest.raises(CorruptRecordException, match="offset 0 is damaged: it unpacks to more than 2000000 octets"):
        ours(batch(0, [bytes(2_000_001)], codec=codec)).take(1, 1)


def test_frames_of_zstd_may_be_several_and_tell_no_size() -> None:
    """Streams write such: whatever the format allows is undone, if not at once."""
    records = batch(0, [b"a" * 1000])[61:]
    stream = cramjam.zstd.Compressor(1)
    stream.compress(records[:500])
    packed = bytes(stream.finish()) + bytes(cramjam.zstd.compress(records[500:]))
    data = bytearray(batch(0, [b"a" * 1000])[:61] + packed)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")
    data[22] |= 4

    assert [one.value for one in drained(ours(signed(data)))] == [b"a" * 1000]


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 7])
def test_what_is_no_compressed_data_is_refused(codec: int) -> None:
    """Also where the number names no codec."""
    data = bytearray(batch(0, [b"abc"]))
    data[22] |= codec

    with pytest.raises(CorruptRecordException, match="offset 0 is damaged"):
        ours(signed(data)).take(1, 1)


@pytest.mark.parametrize("old", [0, 1])
def test_records_of_older_formats_go_aiokafka_s_way(old: int) -> None:
    """An old log may begin with them; where the format changes, an answer ends, and the rest is fetched again."""
    builder = LegacyRecordBatchBuilder(old, 0, 10**6)
    builder.append(0, 5, b"k", b"old")
    data = bytes(builder.build())
    one = ours(data + batch(1, [b"new"]))

    assert [(event.offset, event.source, event.value) for event in drained(one, 1)] == [(0, 1, b"old")]
    assert one.next_fetch_offset == 1

    one = ours(batch(1, [b"new"]) + data, start=1)
    assert [event.value for event in drained(one)] == [b"new"]
    assert one.next_fetch_offset == 2


def put_aside(data: bytes, end: int | None, start: int = 0) -> tuple[list[Any], Any]:
    """What is read where an event stands for what cannot be read: its offset, end, reason and first bytes."""

    def refuse(source: int, unreadable: UnreadableError) -> Any:
        if unreadable.next is None:
            raise unreadable
        told = (unreadable.offset, unreadable.next, unreadable.reason, unreadable.raw[:8])
        return Event(EventKind.QUARANTINE, source, unreadable.offset, 0, [], None, repr(told).encode())

    one = unpacking(theirs(data, start=start), EventDecoder(1, event_for, refuse), end)
    return [event.value for event in drained(one)], one


def broken(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def test_a_batch_that_was_put_aside_is_left_behind_with_its_answer() -> None:
    """What stands before it is read, then the event; what follows is fetched anew.

    The batch may have been the marker of a transaction, and only a new answer says which are aborted from there on.
    """
    data = batch(0, [b"a"]) + broken(batch(1, [b"b", b"c"])) + batch(3, [b"d"])

    values, one = put_aside(data, 4)

    assert values == [b"a", b"(1, 3, 'checksum', b'" + b"\\x00" * 7 + b"\\x01')"]
    assert one.next_fetch_offset == 3


def test_the_next_batch_says_where_a_broken_one_ends() -> None:
    """Its header may lie about that: nothing behind it is lost."""
    liar = bytearray(batch(1, [b"b", b"c"]))
    liar[23:27] = pack(">i", 1_000_000)  # the last offset of it

    values, one = put_aside(bytes(liar) + batch(3, [b"d"]), 2_000_000, start=1)

    assert [value[:20] for value in values] == [b"(1, 3, 'checksum', b"]
    assert one.next_fetch_offset == 3


@pytest.mark.parametrize(("last", "end"), [(1_000_000, 5), (-1, 5), (-5, 5), (1, None)])
def test_what_says_nothing_true_of_its_end_is_not_passed(last: int, end: int | None) -> None:
    """Neither beyond the partition's end, nor backwards, nor where the end is not known; nor is it read for ever."""
    liar = bytearray(broken(batch(1, [b"b", b"c"])))
    liar[23:27] = pack(">i", last)

    with pytest.raises(UnreadableError) as refused:
        put_aside(bytes(liar), end, start=1)

    assert refused.value.next is None


def test_a_broken_batch_behind_a_broken_one_says_nothing() -> None:
    """Its own offset may be a lie: then the first one's word counts, up to the partition's end."""
    second = bytearray(broken(batch(3, [b"d"])))
    second[:8] = pack(">q", 900)

    values, one = put_aside(broken(batch(1, [b"b", b"c"])) + bytes(second), 4, start=1)

    assert one.next_fetch_offset == 3
    assert len(values) == 1


@pytest.mark.parametrize("count", [-1, 3, 1_000_000, 2**31 - 1])
@pytest.mark.parametrize("codec", [0, 4])
def test_a_number_of_records_that_lies_costs_nothing(count: int, codec: int) -> None:
    """Under a right checksum: it is put aside as a whole, and nothing is made of records that cannot be there."""
    liar = bytearray(batch(1, [b"b", b"c"], codec=codec))
    liar[57:61] = pack(">i", count)

    values, one = put_aside(signed(liar) + batch(3, [b"d"]), 4, start=1)

    assert [value[:19] for value in values] == [b"(1, 3, 'damaged', b"]
    assert one.next_fetch_offset == 3


def test_offsets_and_records_that_lie_alike_cost_nothing() -> None:
    """Two billion of each, in a hundred bytes."""
    liar = bytearray(batch(1, [b"b", b"c"]))
    liar[23:27], liar[57:61] = pack(">i", 2**31 - 2), pack(">i", 2**31 - 1)

    values, one = put_aside(signed(liar) + batch(3, [b"d"]), 4, start=1)

    assert len(values) == 1
    assert one.next_fetch_offset == 3


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_bomb_is_put_aside(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it was packed with; snappy too, whose pieces say how large they are."""
    monkeypatch.setattr(unpacking_module, "MOST_UNPACKED", 2_000_000)

    values, one = put_aside(batch(1, [bytes(2_000_001)], codec=codec) + batch(2, [b"d"]), 3, start=1)

    assert [value[:20] for value in values] == [b"(1, 2, 'too-large', "]
    assert one.next_fetch_offset == 2


def packed_as(codec: int, payload: bytes) -> bytes:
    """A batch at offset 1 whose records are packed into these bytes, as it says."""
    plain = batch(1, [b"b"])
    data = bytearray(plain[:61] + payload)
    data[8:12], data[22] = (len(data) - 12).to_bytes(4, "big"), data[22] | codec
    return bytes(signed(data))


LIES = {
    "zstd, two gigabytes": (4, pack("<IBQ", 0xFD2FB528, 0xE0, 2**31) + b"\x01\0\0" * 8),
    "zstd, all that there may be": (4, pack("<IBQ", 0xFD2FB528, 0xE0, 2**27 - 1) + b"\x01\0\0" * 8),
    "zstd, a window of two gigabytes": (4, pack("<IBB", 0xFD2FB528, 0x00, 21 << 3) + b"\x01\0\0" * 8),
    "snappy, two gigabytes": (2, b"\xff\xff\xff\xff\x07" + b"\0a" * 8),
    "snappy in pieces of two gigabytes": (
        2,
        b"\x82SNAPPY\0" + pack(">II", 1, 1) + (pack(">I", 7) + b"\xff\xff\xff\xff\x07\0a") * 8,
    ),
    "lz4, two gigabytes": (3, pack("<IBBQB", 0x184D2204, 0x68, 0x70, 2**31, 0) + b"\0" * 16),
    "gzip, two gigabytes": (1, bytes(cramjam.gzip.compress(b"b"))[:-4] + pack("<I", 2**31)),
}
"""A hundred bytes at the most, each of which says how much is in it."""


@pytest.mark.parametrize("lie", LIES)
def test_a_batch_that_lies_about_its_size_is_put_aside(lie: str) -> None:
    """And what follows is fetched anew."""
    liar = packed_as(*LIES[lie])
    assert len(liar) < 200

    values, one = put_aside(liar + batch(2, [b"d"]), 3, start=1)

    assert [value[:8] for value in values] == [b"(1, 2, '"]
    assert one.next_fetch_offset == 2


PEAKS = """
import json
from pathlib import Path
from test_unpacking import LIES, packed_as, put_aside

def kilobytes(name):
    found = Path("/proc/self/status").read_text().split(name + ":")[1]
    return int(found.split()[0])

peaks = {}
for lie, (codec, payload) in LIES.items():
    before = kilobytes("VmPeak")
    put_aside(packed_as(codec, payload), 2, start=1)
    peaks[lie] = kilobytes("VmPeak") - before
print(json.dumps(peaks))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the peak of a process's memory is read from Linux's /proc")
def test_a_size_that_is_claimed_is_not_made_room_for() -> None:
    """Nobody asks the kernel for the two gigabytes, the codecs' own code included; memory that was asked for and not
    written to counts. In a process of its own, whose peak is not that of other tests."""
    child = subprocess.run(
        [sys.executable, "-c", PEAKS],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        check=True,
    )
    peaks = json.loads(child.stdout)

    assert peaks.keys() == LIES.keys()
    assert {lie: peak for lie, peak in peaks.items() if 1024 * peak > 4 * unpacking_module.MOST_UNPACKED} == {}


@pytest.mark.parametrize("outer", [1, 3, 4])
def test_what_is_packed_twice_is_unpacked_once(outer: int) -> None:
    """A bomb within a bomb: what comes out of the first is no record, so its bytes are taken for one as they are."""
    inner = bytes(cramjam.zstd.compress(bytes(2_000_000)))
    packing: Any = {1: cramjam.gzip, 3: cramjam.lz4, 4: cramjam.zstd}[outer]

    first, second = drained(ours(packed_as(outer, bytes(packing.compress(inner))) + batch(2, [b"d"]), start=1))

    assert (first.value or b"-") in inner
    assert (first.offset, second.offset, second.value) == (1, 2, b"d")


def test_a_record_that_is_a_batch_is_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bomb as a value stays as it came."""
    monkeypatch.setattr(unpacking_module, "MOST_UNPACKED", 100_000)
    bomb = batch(0, [bytes(2_000_000)], codec=4)

    assert [one.value for one in drained(ours(batch(0, [bomb], codec=1)))] == [bomb]


def test_snappy_in_one_piece_is_undone_too() -> None:
    """As librdkafka writes it."""
    plain = batch(0, [b"a" * 1000])
    data = bytearray(plain[:61] + bytes(cramjam.snappy.compress_raw(plain[61:])))
    data[8:12], data[22] = (len(data) - 12).to_bytes(4, "big"), data[22] | 2

    assert [one.value for one in drained(ours(signed(data)))] == [b"a" * 1000]


@pytest.mark.parametrize("tail", [b"\xff\xff\xff\xfc", b"\0\0\0\1", b"\0", b"\x7f\xff\xff\xffabc"])
def test_pieces_of_snappy_whose_lengths_lie_are_refused(tail: bytes) -> None:
    """A negative one, one beyond the end, half a one."""
    plain = batch(0, [b"a" * 1000], codec=2)
    data = bytearray(plain + tail)
    data[8:12] = (len(data) - 12).to_bytes(4, "big")

    with pytest.raises(UnreadableError, match="offset 0 is damaged"):
        ours(signed(data)).take(1, 1)


def test_what_follows_the_marker_of_an_abort_that_cannot_be_read_is_not_lost() -> None:
    """The producer's next transaction is committed: a new answer says so, and this one ends at the marker."""
    aborted, later = batch(0, [b"x"], 5, bits=TRANSACTIONAL), batch(2, [b"y"], 5, bits=TRANSACTIONAL)
    data = aborted + broken(marker(1, 5, ABORT)) + later + marker(3, 5, COMMIT)
    read = list[Any]()

    def refuse(source: int, unreadable: UnreadableError) -> Event:
        read.append(unreadable.offset)
        return Event(EventKind.QUARANTINE, source, unreadable.offset, 0, [], None, b"aside")

    one = unpacking(theirs(data, [(5, 0)]), EventDecoder(1, event_for, refuse), 4)

    assert [event.value for event in drained(one)] == [b"aside"]
    assert (read, one.next_fetch_offset) == ([1], 2)


@pytest.mark.parametrize("old", [0, 1])
def test_a_damaged_record_of_an_older_format_is_told_behind_what_is_whole(old: int) -> None:
    """Nobody can say where it ends."""
    builder = LegacyRecordBatchBuilder(old, 0, 10**6)
    builder.append(0, 5, b"k", b"whole")
    builder.append(1, 5, b"k", b"old")
    one = unpacking(theirs(broken(bytes(builder.build()))), EventDecoder(1, event_for))

    assert [event.value for event in one.take(100, 10**9)[0]] == [b"whole"]
    again = unpacking(theirs(broken(bytes(builder.build())), start=1), EventDecoder(1, event_for))
    with pytest.raises(UnreadableError) as refused:
        again.take(100, 10**9)
    assert (refused.value.offset, refused.value.next) == (1, None)


@pytest.mark.parametrize("codec", [0, 4])
def test_a_small_record_holds_no_other_batch(codec: int) -> None:
    """Behind a large batch in the same answer; without compression too, where the answer is one piece of bytes."""
    tracemalloc.start()
    data = batch(0, [b"x" * 4_000_000]) + batch(1, [b"y" * 100], codec=codec)
    events, _ = ours(data).take(10, 10**9)
    del data
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert [one.kind for one in events] == [EventKind.OVERSIZE, EventKind.RECORD]
    assert events[1].value == b"y" * 100
    assert kept < 100_000


def test_what_is_read_of_a_batch_in_portions_holds_it_only_for_its_share() -> None:
    """The last small record behind many that are gone is made."""
    unpacked = ours(batch(0, [b"x" * 700_000] * 20 + [b"y" * 30]))
    first, _ = unpacked.take(20, 10**9)
    (last,), _ = unpacked.take(20, 10**9)

    assert len(first) == 20
    assert type(last) is Event
