"""Kafka's record batches (format 2): from what a fetch answer brings to a block's events, from outputs to what is sent.

A lane reads and writes each record once, so these are its doors: what is common is done by the compiled core, a batch
at a call, and what is here does the same without it. The layout is Kafka's own documentation's, «Message Format»: a
header of 61 bytes, then records whose numbers are zig-zag varints, packed as one where the batch is compressed.
Checksums, compression and transactions are others' (`sluice.topology.kafka.packed_batches` and `packing`).

Kafka asks nothing of a header but a length: its name may be no UTF-8, its value null. A name is read with U+FFFD for
what is none, a null value as an empty one; a record must not be unreadable for that, since nobody could ever pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple, Protocol, TypeVar

import msgspec
from msgspec.structs import astuple

from . import compiled_core
from .blocks import MAX_HEADERS, MAX_INPUT_BYTES, Event, EventKind, Output
from .compiled_core import ReadAs, ReadBounds, ReadRecords

MAGIC: Final = 2
_FRONT: Final = Struct(">qi")  # base offset, and how many bytes follow
_HEADER: Final = Struct(">qiibIhiqqqhii")
_UNCHECKED: Final = Struct(">ibI")  # the leader's epoch, the format, the checksum of all that follows
_CHECKED: Final = Struct(">hiqqqhii")
_MAGIC_AT: Final = 16
CHECKED_FROM: Final = 21
"""Where in a batch the bytes begin that its checksum is over."""
NO_PRODUCER: Final = -1
_NO_LEADER: Final = -1
_COMPRESSION, _APPEND_TIME, _TRANSACTIONAL, _CONTROL = 0x07, 0x08, 0x10, 0x20

EventFor = Callable[[int, int, int, Sequence[tuple[str, bytes | None]], bytes | None, bytes | None], Event]
"""(source, offset, timestamp, headers, key, value) -> event: RECORD, or OVERSIZE for what is too large to keep."""
Stored = TypeVar("Stored", covariant=True)
_Record = tuple[int, int, list[tuple[str, bytes | None]], bytes | None, bytes | None]
"""Offset, timestamp, headers, key, value."""


class StoredFor(Protocol[Stored]):
    """What makes something of a record as it is stored."""

    def __call__(
        self, offset: int, timestamp: int, key: bytes | None, value: bytes | None, headers: Any, /
    ) -> Stored: ...


class Batch(NamedTuple):
    """A batch's header, and where it lies: `start` and `end` in the data, the records from `records` on.

    `next` is the offset behind the batch, whatever compaction has removed of it; `append_time` the broker's own time,
    where the topic has it so; `compression` Kafka's number for the codec, 0 for none.
    """

    start: int
    records: int
    end: int
    magic: int
    crc: int
    base_offset: int
    next: int
    compression: int
    append_time: int | None
    first_timestamp: int
    producer_id: int
    is_transactional: bool
    is_control: bool
    record_count: int


def batches(data: bytes) -> Iterator[Batch]:
    """The whole batches in `data`, in order; a fetch answer may end within one. Of a batch of another format only
    `start`, `end`, `magic` and `base_offset` mean anything."""
    at, size = 0, len(data)
    while size - at > _MAGIC_AT:
        base, length = _FRONT.unpack_from(data, at)
        end = at + _FRONT.size + length
        if end > size or length < _MAGIC_AT + 1 - _FRONT.size:
            return
        if data[at + _MAGIC_AT] != MAGIC or end - at < _HEADER.size:
            yield Batch(at, at, end, data[at + _MAGIC_AT], 0, base, base, 0, None, 0, NO_PRODUCER, False, False, 0)
        else:
            _, _, _, magic, crc, bits, last, first_time, max_time, producer, _, _, count = _HEADER.unpack_from(data, at)
            yield Batch(
                at,
                at + _HEADER.size,
                end,
                magic,
                crc,
                base,
                base + last + 1,
                bits & _COMPRESSION,
                max_time if bits & _APPEND_TIME else None,
                first_time,
                producer,
                bool(bits & _TRANSACTIONAL),
                bool(bits & _CONTROL),
                count,
            )
        at = end


class Cursor(msgspec.Struct):
    """Records of one batch, unpacked, of which some have been read.

    Attributes:
        data: holds them.
        at, end: where the next one begins, and the last one ends.
        left: how many have not been read.
        base_offset, first_timestamp: what the records' own numbers are added to.
        append_time: the time of all of them, where the broker's own counts.
        count, next: how many there are in the batch, and the offset behind it.
        least: no record left has an offset below this.
    """

    data: bytes
    at: int
    end: int
    left: int
    base_offset: int
    first_timestamp: int
    append_time: int | None
    count: int
    next: int
    least: int

    @property
    def is_dense(self) -> bool:
        """Whether no offset is missing: then a record's place says its offset.

        What the record itself says is its producer's word, which no broker looks at in a batch without compression: it
        must not move a lane to where nothing is. Only compaction makes batches that are not dense.
        """
        return self.count == self.next - self.base_offset


def read_events(
    cursor: Cursor, source: int, first: int, most: int, room: int, event_for: EventFor
) -> tuple[list[Event], int]:
    """Reads records from a `cursor` as events of a `source`, and moves it behind them: the events, and how many bytes
    of keys, values and headers those have that were kept whole.

    Records below the offset `first` are passed, since a batch is fetched whole. It ends with `most` events, or once
    they have `room` bytes. `event_for` makes the event of a record that may be too large to keep, or have too many
    headers. Raises `ValueError` where the records are not what their own lengths say.
    """
    if compiled_core.codecs is not None:
        bounds = ReadBounds(source, first, most, room, MAX_INPUT_BYTES, MAX_HEADERS)
        found = compiled_core.codecs.read_events(astuple(cursor), bounds, ReadAs(Event, event_for, in_place=True))
        return _moved(cursor, ReadRecords(*found))

    def make(record: _Record) -> tuple[Event, int]:
        offset, timestamp, headers, key, value = record
        plain = [(name, content or b"") for name, content in headers]
        size = _byte_count(record)
        if size > MAX_INPUT_BYTES or len(headers) > MAX_HEADERS:
            return event_for(source, offset, timestamp, plain, key, value), 0
        return Event(EventKind.RECORD, source, offset, timestamp, plain, key, value), size

    return _read(cursor, first, most, room, make)


def read_stored(
    cursor: Cursor,
    first: int,
    most: int,
    room: int,
    stored: StoredFor[Stored],
    *,
    in_place: bool = False,
    having: str | None = None,
) -> tuple[list[Stored], int]:
    """The same of records as they are stored: of any size, null header values null, and no name that is no UTF-8.

    `stored` makes what stands for a record; `in_place`: the compiled core may give what is like that instead, and lies
    in the cursor's data. With `having` only records with a header of this name are given, and the last one of the
    batch. `cursor`, `first`, `most` and `room` are those of `read_events`. Raises `ValueError` where the records are
    not what their own lengths say, or a header's name is no UTF-8.
    """
    if compiled_core.codecs is not None:
        bounds = ReadBounds(None, first, most, room, max_bytes=0, max_headers=0)
        become = ReadAs(stored, None, in_place, None if having is None else having.encode())
        found = compiled_core.codecs.read_stored(astuple(cursor), bounds, become)
        return _moved(cursor, ReadRecords(*found))

    def make(record: _Record) -> tuple[Stored, int]:
        offset, timestamp, headers, key, value = record
        return stored(offset, timestamp, key, value, headers), _byte_count(record)

    return _read(cursor, first, most, room, make, exact=True, having=having)


def _moved(cursor: Cursor, read: ReadRecords) -> tuple[list[Any], int]:
    cursor.at, cursor.left, cursor.least = read.at, read.left, read.least
    return read.records, read.byte_count


_Made = TypeVar("_Made")


def _read(
    cursor: Cursor,
    first: int,
    most: int,
    room: int,
    make: Callable[[_Record], tuple[_Made, int]],
    *,
    exact: bool = False,
    having: str | None = None,
) -> tuple[list[_Made], int]:
    found, byte_count, moving = list[_Made](), 0, msgspec.structs.replace(cursor)
    while moving.left > 0 and len(found) < most and byte_count < room:
        record = _next_record(moving, first, exact=exact)
        if record is None:
            continue
        if having is not None and moving.left > 0 and all(name != having for name, _ in record[2]):
            continue
        one, size = make(record)
        found.append(one)
        byte_count += size
    cursor.at, cursor.left, cursor.least = moving.at, moving.left, moving.least
    return found, byte_count


def _next_record(cursor: Cursor, first: int, *, exact: bool = False) -> _Record | None:
    """The next record, None for one below `first`; moves the cursor behind it, and not where it is none."""
    reader = _Reader(cursor.data, cursor.at, cursor.end, exact=exact)
    record = reader.record(cursor, first)
    if not cursor.is_dense:
        cursor.least = reader.offset + 1
    cursor.at, cursor.left = reader.end, cursor.left - 1
    return record


def salvage_events(
    cursor: Cursor, source: int, first: int, most: int, room: int, event_for: EventFor
) -> tuple[list[Event], int]:
    """As `read_events`, of a dense batch in which something is no record: that becomes an event all the same.

    The event's value is the raw bytes, and its key is null, so that the fold refuses it like any other unreadable
    input. Where the end of a record cannot be found, the event's value is the rest of the batch, and the events of the
    records that should follow have no value. A broker checks the records of a compressed batch less closely than sluice
    does, and an input that cannot be passed would stop its lane for ever.
    """
    found, byte_count = list[Event](), 0
    while cursor.left > 0 and len(found) < most and byte_count < room:
        offset = cursor.next - cursor.left
        try:
            record = _next_record(cursor, first)
        except ValueError:
            record = _raw_record(cursor, offset)
        if record is None or offset < first:
            continue
        _, timestamp, headers, key, value = record
        found.append(event_for(source, offset, timestamp, headers, key, value))
        byte_count += _byte_count(record)
    return found, byte_count


def _raw_record(cursor: Cursor, offset: int) -> _Record:
    reader = _Reader(cursor.data, cursor.at, cursor.end)
    try:
        length = reader.length()
        start, end = reader.at, reader.at + length
    except ValueError:
        start, end = cursor.at, cursor.end
    cursor.at, cursor.left = end, cursor.left - 1
    time = cursor.first_timestamp if cursor.append_time is None else cursor.append_time
    return offset, time, [], None, cursor.data[start:end]


def _byte_count(record: _Record) -> int:
    _, _, headers, key, value = record
    size = sum(len(name) + len(content or b"") for name, content in headers)
    return len(key or b"") + len(value or b"") + size


class _Reader:
    """Numbers and bytes of records, each within its bounds."""

    __slots__ = ("at", "data", "end", "exact", "offset")

    def __init__(self, data: bytes, at: int, end: int, *, exact: bool = False) -> None:
        """`exact` reads every header there is, and takes no name that is no UTF-8."""
        self.data, self.at, self.end, self.exact, self.offset = data, at, end, exact, 0

    def length(self) -> int:
        """How many bytes the next record has, of those that are there."""
        length = self.number()
        if not 1 <= length <= self.end - self.at:
            raise ValueError("a record is longer than its batch")
        return length

    def record(self, cursor: Cursor, first: int) -> _Record | None:
        """The next record, None for one below `first`; the reader ends with it."""
        length = self.length()
        self.end = self.at + length
        self.at += 1  # attributes: none are defined
        timestamp = _wrapped(cursor.first_timestamp + self.number())
        offset = _wrapped(cursor.base_offset + self.number())
        if cursor.is_dense:
            offset = cursor.next - cursor.left
        elif not cursor.least <= offset < cursor.next:
            raise ValueError("a record's offset is none of its batch's")
        self.offset = offset
        key, value = self.take_bytes(), self.take_bytes()
        count = self.number()
        if not 0 <= count <= self.end - self.at:
            raise ValueError("a record has more headers than octets")
        if offset < first:
            return None
        wanted = count if self.exact else min(count, MAX_HEADERS + 1)  # so many that they are seen to be too many
        headers = [(self.name(), self.take_bytes()) for _ in range(wanted)]
        if wanted == count and self.at != self.end:
            raise ValueError("a record is not as long as it says")
        return offset, timestamp if cursor.append_time is None else cursor.append_time, headers, key, value

    def number(self) -> int:
        found = shift = 0
        while self.at < self.end and shift < 70:
            byte = self.data[self.at]
            self.at += 1
            found |= (byte & 0x7F) << shift
            if byte < 0x80:
                found &= 0xFFFF_FFFF_FFFF_FFFF
                return (found >> 1) ^ -(found & 1)
            shift += 7
        raise ValueError("a record's number has no end")

    def take_bytes(self) -> bytes | None:
        length = self.number()
        if length < 0:  # Kafka writes -1, and takes any
            return None
        if not 0 <= length <= self.end - self.at:
            raise ValueError("a record's part is longer than the record")
        self.at += length
        return self.data[self.at - length : self.at]

    def name(self) -> str:
        name = self.take_bytes()
        if name is None:
            raise ValueError("a record's header has no name")
        return name.decode("utf-8", "strict" if self.exact else "replace")


def _wrapped(number: int) -> int:
    """As 64 bits with a sign count, like the broker's own."""
    return (number + 2**63) % 2**64 - 2**63


# ---------------------------------------------------------------- written


class Producer(NamedTuple):
    """Who a batch is from, and the number of its first record; all -1 where nobody keeps count."""

    id: int = NO_PRODUCER
    epoch: int = -1
    sequence: int = -1


def pack_records(outputs: list[Output], at: int, most: int) -> tuple[bytes, int]:
    """The records of a batch, packed, of its own time and numbered from 0: `outputs` from `at` on, until they have more
    than `most` bytes, one at least; and the place of the first output that is not among them."""
    found = None if compiled_core.codecs is None else compiled_core.codecs.pack_records(outputs, at, most)
    if found is not None:
        return found
    packed = bytearray()
    for place in range(at, len(outputs)):
        _, key, value, headers = outputs[place]
        parts = [b"\0\0", _varint(place - at), _part(key), _part(value), _varint(len(headers))]
        for name, content in headers:
            parts += (_part(name.encode()), _part(content))
        record = b"".join(parts)
        framed = _varint(len(record)) + record
        if packed and len(packed) + len(framed) > most:
            return bytes(packed), place
        packed += framed
    return bytes(packed), len(outputs)


def batch_of(
    records: bytes,
    count: int,
    time: int,
    producer: Producer,
    *,
    compression: int,
    is_transactional: bool,
    checksum: Callable[[bytes], int],
) -> bytes:
    """A batch as it is sent: its header, then the `records`, packed by `pack_records` and compressed by Kafka's codec
    of this number (`compression`, 0 for none).

    There are `count` of them, each of the `time` in Unix milliseconds, from a `producer`, `is_transactional` or not;
    `checksum` is the CRC-32C of some bytes.
    """
    bits = compression | (_TRANSACTIONAL if is_transactional else 0)
    checked = _CHECKED.pack(bits, count - 1, time, time, *producer, count) + records
    front = _FRONT.pack(0, CHECKED_FROM - _FRONT.size + len(checked))
    return front + _UNCHECKED.pack(_NO_LEADER, MAGIC, checksum(checked)) + checked


def _varint(number: int) -> bytes:
    left, raw = (number << 1) ^ (number >> 63), bytearray()
    while left >= 0x80:
        raw.append(left & 0x7F | 0x80)
        left >>= 7
    raw.append(left)
    return bytes(raw)


def _part(raw: bytes | None) -> bytes:
    return _varint(-1) if raw is None else _varint(len(raw)) + raw
