"""Kafka's record batches, read and written as aiokafka does: whole, in portions, damaged, with names that are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from struct import pack
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from aiokafka.record.util import calc_crc32c
from batch_samples import BLOBS, NOUGHT, NULL, RECORDS, T, cursor_of, packed, raw_cursor, record, text, zigzag
from hypothesis import given, settings
from hypothesis import strategies as st
from search import examples

from sluice.codecs import compiled_core, record_batches
from sluice.codecs.blocks import MAX_HEADERS, MAX_INPUT_BYTES, Event, EventKind, Output
from sluice.codecs.record_batches import (
    Cursor,
    Producer,
    batch_of,
    batches,
    pack_records,
    read_events,
    read_stored,
    salvage_events,
)
from sluice.streams.adjudication.fold import event_for

CORES = [pytest.param(True, id="core"), pytest.param(False, id="python")]


@contextmanager
def only_python() -> Iterator[None]:
    found, compiled_core.codecs = compiled_core.codecs, None
    try:
        yield
    finally:
        compiled_core.codecs = found


@pytest.fixture(params=CORES, scope="module")
def core(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test here holds for both."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.param:
            patch.setattr(compiled_core, "codecs", None)
        yield


def read(data: bytes, count: int = 1, end: int | None = None, **more: Any) -> list[Event]:
    return read_events(
        raw_cursor(data, count, end=end), 0, **{"first": 0, "most": 100, "room": 10**9} | more, event_for=event_for
    )[0]


@given(RECORDS, st.integers(0, 2**40))
def test_records_are_what_aiokafka_reads(core: None, records: list[Any], base: int) -> None:
    """Any keys, values, times and headers; a header without a value has an empty one."""
    data = packed(records)
    expected = [
        event_for(3, base + one.offset, one.timestamp, one.headers, one.key, one.value)
        for one in DefaultRecordBatch(data)
    ]
    cursor = cursor_of(data, base)
    events, byte_count = read_events(cursor, 3, 0, 10**6, 10**9, event_for)

    assert events == expected
    assert byte_count == sum(
        len(one.key or b"") + len(one.value or b"") + sum(len(name) + len(content) for name, content in one.headers)
        for one in expected
    )
    assert (cursor.left, cursor.at) == (0, cursor.end)


@given(RECORDS, st.integers(1, 4), st.integers(1, 300), st.integers(0, 12))
def test_portions_make_the_whole(core: None, records: list[Any], most: int, room: int, first: int) -> None:
    """However few are taken at once, and from wherever in the batch: each record once, in order."""
    cursor, found = cursor_of(packed(records)), list[Event]()
    while cursor.left:
        events, byte_count = read_events(cursor, 0, first, most, room, event_for)
        assert len(events) <= most
        assert len(events) < 2 or byte_count - len(events[-1].value or b"") <= room + 400
        found += events

    assert [one.offset for one in found] == list(range(first, len(records)))
    assert found == read_events(cursor_of(packed(records)), 0, first, 10**6, 10**9, event_for)[0]


@settings(max_examples=examples(400))
@given(RECORDS, st.data())
def test_damage_is_reported_alike(core: None, records: list[Any], data: st.DataObject) -> None:
    """Bytes changed, lost or added anywhere: the compiled core reads, or refuses, what Python does."""
    cursor = cursor_of(packed(records))
    start = data.draw(st.integers(0, len(cursor.data)))
    end = data.draw(st.integers(start, min(len(cursor.data), start + 4)))
    damaged = cursor.data[:start] + data.draw(st.binary(max_size=12)) + cursor.data[end:]
    count, first = data.draw(st.integers(-1, 14)), data.draw(st.integers(0, 5))
    end = data.draw(st.none() | st.integers(0, 20))

    def fares() -> Any:
        try:
            return read(damaged, count, end, first=first)
        except ValueError as error:
            return str(error)

    with only_python():
        expected = fares()
    assert fares() == expected


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"", "no end"),
        (b"\x80" * 11, "no end"),
        (zigzag(5), "longer than its batch"),
        (NOUGHT, "longer than its batch"),
        (record(NOUGHT, NOUGHT, zigzag(9)), "longer than the record"),
        (record(NOUGHT, NOUGHT, NULL, NULL, zigzag(-1)), "more headers than octets"),
        (record(NOUGHT, NOUGHT, NULL, NULL, zigzag(99)), "more headers than octets"),
        (record(NOUGHT, NOUGHT, NULL, NULL, zigzag(1), NULL, NULL), "has no name"),
        (record(NOUGHT, NOUGHT, NULL, NULL, NOUGHT, b"more"), "not as long as it says"),
    ],
)
def test_what_is_no_record_is_refused(core: None, raw: bytes, sentence: str) -> None:
    """With one sentence; nothing is read beyond its own length."""
    with pytest.raises(ValueError, match=sentence):
        read(raw)


def test_a_name_that_is_no_text_is_read_all_the_same(core: None) -> None:
    """Kafka takes any bytes as a header's name, and null as its value; a record that nobody can read blocks all."""
    headers = zigzag(2) + text(b"\xff\xfea") + text(b"1") + text(b"null") + NULL

    (event,) = read(record(NOUGHT, NOUGHT, text(b"k"), NULL, headers))

    assert event == Event(EventKind.RECORD, 0, 0, T, [("\ufffd\ufffda", b"1"), ("null", b"")], b"k", None)


def test_times_wrap_like_the_broker_s(core: None) -> None:
    """Sixty-four bits with a sign, so that an event can always be written down."""
    data = record(zigzag(5), NOUGHT, NULL, NULL, NOUGHT)
    events, _ = read_events(Cursor(data, 0, len(data), 1, 1, 2**63 - 1, None, 1, 2, 1), 0, 0, 9, 9, event_for)

    assert (events[0].offset, events[0].timestamp) == (1, -(2**63) + 4)


@pytest.mark.parametrize("delta", [2**31 - 1, 2**63 - 1, -5, 0])
def test_a_record_s_place_says_its_offset(core: None, delta: int) -> None:
    """A broker does not look at the offsets in a batch without compression: a lie moves nobody anywhere."""
    plain = [record(NOUGHT, zigzag(place), NULL, text(b"%d" % place), NOUGHT) for place in range(3)]
    plain[1] = record(NOUGHT, zigzag(delta), NULL, text(b"1"), NOUGHT)

    found = read_events(raw_cursor(b"".join(plain), 3, 100), 0, 100, 9, 99, event_for)[0]

    assert [(one.offset, one.value) for one in found] == [(100, b"0"), (101, b"1"), (102, b"2")]


@pytest.mark.parametrize(
    ("deltas", "holds"), [((1, 4, 6), True), ((1, 1, 6), False), ((4, 1, 6), False), ((1, 7), False)]
)
def test_where_compaction_left_gaps_a_record_says_its_own_offset(
    core: None, deltas: tuple[int, ...], holds: bool
) -> None:
    """They only grow, and stay within the batch; in portions as well."""
    data = b"".join(record(NOUGHT, zigzag(delta), NULL, text(b"x"), NOUGHT) for delta in deltas)
    cursor, found = raw_cursor(data, len(deltas), 10, end=17), list[int]()

    def read_all() -> None:
        while cursor.left:
            found.extend(one.offset for one in read_events(cursor, 0, 10, 1, 99, event_for)[0])

    if holds:
        read_all()
        assert found == [10 + delta for delta in deltas]
    else:
        with pytest.raises(ValueError, match="offset is none of its batch's"):
            read_all()


def test_any_length_below_zero_is_null(core: None) -> None:
    """As Kafka's own readers take it, though they write -1."""
    header = zigzag(1) + text(b"h") + zigzag(-7)
    (event,) = read(record(NOUGHT, NOUGHT, zigzag(-2), zigzag(-300), header))

    assert (event.key, event.value, event.headers) == (None, None, [("h", b"")])


@pytest.mark.parametrize(("count", "kind"), [(MAX_HEADERS, EventKind.RECORD), (MAX_HEADERS + 1, EventKind.OVERSIZE)])
def test_too_many_headers_are_too_large(core: None, count: int, kind: EventKind) -> None:
    """They may be empty, and take memory all the same."""
    data = record(NOUGHT, NOUGHT, NULL, text(b"v"), zigzag(count) + (NOUGHT + NULL) * count)
    (event,) = read(data)

    assert event.kind == kind
    assert len(event.headers) == (count if kind == EventKind.RECORD else 0)


@settings(max_examples=examples(300))
@given(RECORDS, st.data())
def test_every_offset_of_a_dense_batch_becomes_an_event(core: None, records: list[Any], data: st.DataObject) -> None:
    """Whatever its bytes are: what is a record is one, what is none has its bytes for a value."""
    cursor = cursor_of(packed(records), 7)
    start = data.draw(st.integers(cursor.at, cursor.end))
    end = data.draw(st.integers(start, min(cursor.end, start + 4)))
    byte_count = cursor.data[cursor.at : start] + data.draw(st.binary(max_size=12)) + cursor.data[end : cursor.end]

    def salvaged(most: int) -> list[Event]:
        moving, found = raw_cursor(byte_count, len(records), 7), list[Event]()
        while moving.left:
            found += salvage_events(moving, 0, 7, most, 10**9, event_for)[0]
        return found

    found = salvaged(10**6)
    assert [one.offset for one in found] == list(range(7, 7 + len(records)))
    assert salvaged(1) == found
    try:
        plain = read_events(raw_cursor(byte_count, len(records), 7), 0, 7, 10**6, 10**9, event_for)[0]
    except ValueError:
        assert any(one.key is None and (one.value or b"") in byte_count for one in found)
    else:
        assert found == plain


def test_what_is_no_record_has_its_bytes_for_a_value(core: None) -> None:
    """And what comes behind it is read, as far as its end can be told."""
    good, bad = record(NOUGHT, NOUGHT, NULL, text(b"v"), NOUGHT), record(NOUGHT, NOUGHT, zigzag(99), b"rest")
    events, byte_count = salvage_events(raw_cursor(good + bad + good + b"\x7e", 5), 0, 0, 9, 99, event_for)

    assert [one.value for one in events] == [b"v", bad[1:], b"v", b"\x7e", b""]
    assert byte_count == len(bad) - 1 + 3


def test_what_is_too_large_to_keep_is_asked_for(core: None) -> None:
    """By the callable that knows what becomes of it; its bytes do not count."""
    data = packed([(T, b"k", b"x" * MAX_INPUT_BYTES, []), (T, b"k", b"y", [])])
    events, byte_count = read_events(cursor_of(data), 0, 0, 9, 10**9, event_for)

    assert [one.kind for one in events] == [EventKind.OVERSIZE, EventKind.RECORD]
    assert byte_count == 2


def test_the_broker_s_time_counts_where_the_topic_says_so(core: None) -> None:
    """Log-append time stands in the batch, for all of its records."""
    data = bytearray(packed([(T, b"k", b"x", []), (T + 7, b"k", b"y", [])]))
    data[22] |= 0x08
    data[35:43] = pack(">q", T + 99)

    events, _ = read_events(cursor_of(bytes(data)), 0, 0, 9, 99, event_for)

    assert [one.timestamp for one in events] == [T + 99, T + 99]


def test_an_answer_may_end_within_a_batch(core: None) -> None:
    """Only what is whole is read; the rest is fetched again."""
    one, two = packed([(T, b"k", b"x", [])]), packed([(T, b"k", b"y", []), (T, b"k", b"z", [])])
    for cut in range(len(two)):
        assert [batch.record_count for batch in batches(one + two[:cut])] == [1]
    assert [(batch.start, batch.end, batch.next) for batch in batches(one + two)] == [
        (0, len(one), 1),
        (len(one), len(one) + len(two), 2),
    ]


def test_batches_of_older_formats_are_reported(core: None) -> None:
    """By their number; what it means to read them is not said here."""
    old = bytearray(packed([(T, b"k", b"x", [])]))
    old[16] = 1

    assert [batch.magic for batch in batches(bytes(old) + packed([(T, b"k", b"y", [])]))] == [1, record_batches.MAGIC]


@given(st.binary(max_size=200))
def test_headers_of_anything_end(core: None, data: bytes) -> None:
    """Any bytes are batches that follow one upon the other, or none."""
    ends = [(batch.start, batch.end) for batch in batches(data)]

    assert all(start < end <= len(data) for start, end in ends)
    assert [start for start, _ in ends[1:]] == [end for _, end in ends[:-1]]


@given(RECORDS, st.integers(0, 2**40), st.integers(1, 20))
def test_records_are_read_as_they_are_stored(core: None, records: list[Any], base: int, most: int) -> None:
    """What aiokafka gives, null header values too, in portions; also what is too large for an event."""
    data, found = packed([*records, (T, None, bytes(MAX_INPUT_BYTES + 1), [])]), list[Any]()
    cursor = cursor_of(data, base)
    while cursor.left:
        some, byte_count = read_stored(cursor, base, most, 10**9, lambda *parts: parts)
        assert byte_count == sum(
            len(key or b"") + len(value or b"") + sum(len(name) + len(content or b"") for name, content in headers)
            for _, _, key, value, headers in some
        )
        found += some
    assert found == [
        (base + one.offset, one.timestamp, one.key, one.value, list(one.headers)) for one in DefaultRecordBatch(data)
    ]


MARKED = st.lists(st.sampled_from([("mark", b"1"), ("mark", None), ("marks", b""), ("mar", b"k")]), max_size=3)


@given(st.lists(MARKED, min_size=1, max_size=9), st.integers(1, 4), st.integers(0, 9))
def test_of_records_without_a_header_only_the_last_is_read(
    core: None, headers: list[Any], most: int, first: int
) -> None:
    """In portions, from any offset on; the last one of a batch says how far the reading is."""
    data, found = packed([(T, b"k", b"v", one) for one in headers]), list[Any]()
    cursor = cursor_of(data, 0)
    while cursor.left:
        found += read_stored(cursor, first, most, 10**9, lambda *parts: parts, having="mark")[0]

    last = len(headers) - 1
    wanted = [place for place, one in enumerate(headers) if place == last or any(name == "mark" for name, _ in one)]
    assert [(one[0], one[4]) for one in found] == [(place, headers[place]) for place in wanted if place >= first]


@pytest.mark.parametrize("having", [None, "mark"])
@pytest.mark.parametrize(
    "damaged",
    [
        record(NOUGHT, NOUGHT, NULL, NULL, zigzag(1), text(b"\xff"), NULL),
        record(NOUGHT, NOUGHT, NULL, NULL, zigzag(1), NULL, NULL),
        record(NOUGHT, NOUGHT, NULL, NULL, zigzag(1), text(b"a"), NULL, NOUGHT),
        record(NOUGHT, NOUGHT, NULL, NULL, NOUGHT, NOUGHT),
    ],
)
def test_a_damaged_record_is_noticed_where_others_are_wanted(core: None, damaged: bytes, having: str | None) -> None:
    """No mark can hide in what is passed over: every header is read."""
    cursor = raw_cursor(damaged + record(NOUGHT, NOUGHT, NULL, NULL, NOUGHT), 2)
    with pytest.raises(ValueError, match=r"utf-8|no name|not as long"):
        read_stored(cursor, 0, 9, 9, lambda *parts: parts, having=having)


FEW = st.sampled_from([("a", b""), ("a", None), ("a", b"x"), ("ax", b""), ("b", b"x"), ("é", b"y" * 200)])


@given(st.lists(st.lists(FEW, max_size=12), min_size=1, max_size=8))
def test_headers_that_come_again_are_each_record_s_own(core: None, headers: list[Any]) -> None:
    """In the same place, in another, one fewer, more than are kept: as events and as they are stored."""
    data = packed([(T, b"k", b"v", list(one)) for one in headers])

    events, byte_count = read_events(cursor_of(data, 0), 0, 0, 99, 10**9, event_for)
    stored, same = read_stored(cursor_of(data, 0), 0, 99, 10**9, lambda *parts: parts)

    assert [one.headers for one in events] == [[(name, content or b"") for name, content in one] for one in headers]
    assert [one[4] for one in stored] == headers
    assert (
        byte_count == same == sum(2 + sum(len(name) + len(content or b"") for name, content in one) for one in headers)
    )
    lists = [one.headers for one in events]
    assert len({id(one) for one in lists}) == len(headers), "a list may be changed"


def test_a_name_that_is_no_text_is_no_stored_record(core: None) -> None:
    """Who looks at every byte must not be shown others."""
    data = record(NOUGHT, NOUGHT, NULL, NULL, zigzag(1), text(b"\xff"), NULL)
    with pytest.raises(ValueError, match="utf-8"):
        read_stored(raw_cursor(data), 0, 9, 9, lambda *parts: parts)


# ---------------------------------------------------------------- written

OUTPUTS = st.lists(
    st.builds(
        Output,
        st.just("admitted"),
        BLOBS,
        st.binary(max_size=300),
        st.lists(st.tuples(st.text(max_size=20), st.binary(max_size=200)), max_size=5),
    ),
    min_size=1,
    max_size=90,
)


@given(OUTPUTS, st.integers(0, 2**62), st.integers(0, 2**14), st.integers(0, 2**31 - 1), st.booleans())
def test_a_batch_is_the_one_that_aiokafka_makes(
    core: None, outputs: list[Output], identity: int, epoch: int, sequence: int, transactional: bool
) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, transactional, identity, epoch, sequence, 10**9)
    for offset, (_, key, value, headers) in enumerate(outputs):
        builder.append(offset, T, key, value, headers)
    records, end = pack_records(outputs, 0, 10**9)

    assert end == len(outputs)
    assert bytes(builder.build()) == batch_of(
        records,
        len(outputs),
        T,
        Producer(identity, epoch, sequence),
        compression=0,
        is_transactional=transactional,
        checksum=calc_crc32c,
    )


@given(OUTPUTS, st.integers(0, 1000))
def test_batches_hold_as_much_as_they_may_and_one_at_least(core: None, outputs: list[Output], most: int) -> None:
    at, found = 0, list[Event]()
    while at < len(outputs):
        records, end = pack_records(outputs, at, most)
        assert end > at
        assert len(records) <= most or end == at + 1
        if end < len(outputs):
            assert len(pack_records(outputs[at : end + 1], 0, 10**9)[0]) > most
        found += read(records, end - at)
        at = end
    assert [(one.key, one.value, one.headers) for one in found] == [tuple(one[1:]) for one in outputs]


def test_bytes_of_another_type_are_written_too(core: None) -> None:
    """Whatever the compiled core does not know, Python writes."""
    (one,) = read(pack_records([Output("admitted", None, bytearray(b"{}"), [("a", b"b")])], 0, 100)[0])  # type: ignore[arg-type]
    assert (one.key, one.value, one.headers) == (None, b"{}", [("a", b"b")])
