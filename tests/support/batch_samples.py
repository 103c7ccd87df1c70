"""Kafka's record batches to be drawn, as a producer makes them or byte by byte."""

from __future__ import annotations

from typing import Any

from aiokafka.record.default_records import DefaultRecordBatchBuilder
from hypothesis import strategies as st

from sluice.codecs.record_batches import Cursor, batches

T = 1_790_000_000_000
BLOBS = st.none() | st.binary(max_size=200)
RECORDS = st.lists(
    st.tuples(st.integers(0, 2**41), BLOBS, BLOBS, st.lists(st.tuples(st.text(max_size=20), BLOBS), max_size=5)),
    min_size=1,
    max_size=12,
)


def packed(records: list[Any]) -> bytes:
    """A batch without compression, as a producer makes it: base offset 0."""
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, 10**9)
    for offset, (timestamp, key, value, headers) in enumerate(records):
        builder.append(offset, timestamp, key, value, headers)
    return bytes(builder.build())


def cursor_of(data: bytes, base: int = 0) -> Cursor:
    """In a batch that something follows upon."""
    batch = next(batches(data))
    count, first = batch.record_count, batch.first_timestamp
    return Cursor(
        data + b"\xff" * 9, batch.records, batch.end, count, base, first, batch.append_time, count, base + count, base
    )


def raw_cursor(data: bytes, count: int = 1, base: int = 0, end: int | None = None) -> Cursor:
    """In bytes that are no more than records; dense where no end is given."""
    return Cursor(data, 0, len(data), count, base, T, None, count, base + count if end is None else end, base)


def record(*parts: bytes) -> bytes:
    """A record of parts as they stand, behind its length and attributes."""
    inside = b"\0" + b"".join(parts)
    return zigzag(len(inside)) + inside


def zigzag(number: int) -> bytes:
    left, found = (number << 1) ^ (number >> 63), bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    return bytes([*found, left])


def text(raw: bytes) -> bytes:
    return zigzag(len(raw)) + raw


NULL, NOUGHT = zigzag(-1), zigzag(0)
