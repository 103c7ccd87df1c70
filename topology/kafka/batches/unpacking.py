"""One fetch answer of one partition, unpacked into events: what aiokafka's `PartitionRecords` does, a batch at a time.

aiokafka makes an object of each record, which costs more than the whole fold. Here the batches' headers are read, what
belongs to aborted transactions is passed over, and the records come straight as events
(`sluice.codecs.record_batches`). Batches of the formats before 2 go aiokafka's own way.

A batch that cannot be read is an `UnreadableError`. Where a lane reads, the decoder says what stands for it
(unreadable_batches.py), and where somebody reads on past it (passing.py); an audit, and whoever restores, ends there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import takewhile
from operator import itemgetter
from struct import Struct
from typing import Any, Final, NamedTuple

import cramjam
import structlog
from aiokafka.errors import CorruptRecordException

from ....codecs.blocks import MAX_INPUT_BYTES, Event
from ....codecs.quarantine import UnreadableReason
from ....codecs.record_batches import (
    CHECKED_FROM,
    MAGIC,
    Batch,
    Cursor,
    EventFor,
    StoredFor,
    batches,
    read_events,
    read_stored,
    salvage_events,
)
from ..aiokafka_inside import Answer, answer_of, is_abort_marker, old_records
from . import zstd
from .packing import crc32c

MOST_UNPACKED: Final = 134_217_728
"""Bytes of one batch without its compression. A batch of 1 MB may hide 30 GB; an honest one has some ten megabytes."""
LEAST_RECORD_BYTES: Final = 7
"""A record's length, attributes, time, offset, key, value and number of headers have a byte each."""
_FIRST_ROOM, _FACTOR = 65_536, 16
"""Bytes, and bytes for each compressed one, that are tried first."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class TooMuchError(ValueError):
    """A batch unpacks to more than it may. `most` is that, in bytes."""

    def __init__(self, most: int) -> None:
        super().__init__(f"it unpacks to more than {most} octets")
        self.most = most


class NoRoomError(Exception):
    """The next batch is larger than what may be unpacked now. Nothing was read of it."""


class UnreadableError(CorruptRecordException):
    """A batch cannot be read, as its `sentence` says.

    Attributes:
        offset: the first that is wanted of it.
        next: the offset behind it; None where nothing bears out what it says of that itself.
        reason: why.
        raw: the batch as it came.
    """

    def __init__(self, sentence: str, offset: int, next: int | None, reason: UnreadableReason, raw: bytes) -> None:
        super().__init__(sentence)
        self.offset, self.next, self.raw = offset, next, raw
        self.reason: UnreadableReason = reason


def _bounded(decompress_into: Callable[[bytes, bytearray], int]) -> Callable[[bytes, int], bytes]:
    """Decompression by one of cramjam's, into as much room as it takes and no more than there may be."""

    def decompress(raw: bytes, most: int) -> bytes:
        size = min(max(_FIRST_ROOM, _FACTOR * len(raw)), most)
        while True:
            room = bytearray(size)
            try:
                return bytes(memoryview(room)[: decompress_into(raw, room)])
            except cramjam.DecompressionError as error:
                if _TOO_SMALL not in str(error):
                    raise
            if size == most:
                raise TooMuchError(most)
            size = min(8 * size, most)

    return decompress


_unpack_zstd = _bounded(cramjam.zstd.decompress_into)


def _zstd(raw: bytes, most: int) -> bytes:
    """One frame that says how large it is, as most producers write them, at once; whatever else it is, step by step."""
    found = zstd.decompress(raw, most)
    return _unpack_zstd(raw, most) if found is None else found


def _snappy(raw: bytes, most: int) -> bytes:
    """Snappy, in one piece or in the pieces of Java's library; each says how large it is."""
    pieces = [raw]
    if raw.startswith(_XERIAL):
        pieces, at = [], _XERIAL_BYTES
        while at < len(raw):
            (size,) = _SIZE.unpack_from(raw, at)
            at += _SIZE.size
            pieces.append(raw[at : at + size])
            at += size
    if sum(cramjam.snappy.decompress_raw_len(piece) for piece in pieces) > most:
        raise TooMuchError(most)
    return b"".join(bytes(cramjam.snappy.decompress_raw(piece)) for piece in pieces)


_XERIAL, _XERIAL_BYTES, _SIZE = b"\x82SNAPPY\0", 16, Struct(">I")
_TOO_SMALL: Final = "failed to write whole buffer"
_UNPACK: Final[dict[int, Callable[[bytes, int], bytes]]] = {
    1: _bounded(cramjam.gzip.decompress_into),
    2: _snappy,
    3: _bounded(cramjam.lz4.decompress_into),
    4: _zstd,
}
"""By Kafka's number for it."""


class EventDecoder(NamedTuple):
    """How a partition's records become events: as which source of their lane, and by what.

    `refuse` says what stands for a batch that cannot be read (unreadable_batches.py); without it, nothing does.
    """

    source: int
    event_for: EventFor
    refuse: Callable[[int, UnreadableError], Event] | None = None

    def stands_for(self, unreadable: UnreadableError) -> Event:
        """The event that stands for a batch.

        Raises:
            UnreadableError: there is none.
        """
        if self.refuse is None:
            raise unreadable
        return self.refuse(self.source, unreadable)

    def read(self, cursor: Cursor, first: int, most: int, room: int) -> tuple[list[Any], int]:
        """Records of a batch.

        Args:
            cursor: where; it is moved behind the records.
            first: records below this offset are passed.
            most: ends with so many events.
            room: ends once the events have so many bytes.

        Returns:
            The events and their bytes.
        """
        return read_events(cursor, self.source, first, most, room, self.event_for)

    def salvage(self, cursor: Cursor, first: int, most: int, room: int) -> tuple[list[Any], int] | None:
        """As `read`, of a batch in which something is no record (`salvage_events`).

        Returns:
            The events and their bytes; None where the offsets of such a batch cannot be found.
        """
        if not cursor.is_dense:
            return None
        return salvage_events(cursor, self.source, first, most, room, self.event_for)

    def one(self, record: Any) -> Any:
        """One of aiokafka's records."""
        return self.event_for(self.source, record.offset, record.timestamp, record.headers, record.key, record.value)


class RecordDecoder(NamedTuple):
    """How records are read as they are stored, for programs that look at every byte of them; `in_place` where they look
    at each record once; `having` where only those with a header of this name are wanted, and the last of each batch.

    `refuse` says what stands for a batch that cannot be read (passing.py); without it, nothing does.
    """

    stored: StoredFor[Any]
    in_place: bool = False
    having: str | None = None
    refuse: Callable[[UnreadableError], Any] | None = None

    def read(self, cursor: Cursor, first: int, most: int, room: int) -> tuple[list[Any], int]:
        """Records of a batch. As `EventDecoder.read`."""
        return read_stored(cursor, first, most, room, self.stored, in_place=self.in_place, having=self.having)

    def salvage(self, cursor: Cursor, first: int, most: int, room: int) -> None:
        """Nothing: what was stored so is to be told, not to be read. As `EventDecoder.salvage`."""

    def stands_for(self, unreadable: UnreadableError) -> Any:
        """What stands for a batch. As `EventDecoder.stands_for`."""
        if self.refuse is None:
            raise unreadable
        return self.refuse(unreadable)

    def one(self, record: Any) -> Any:
        """One of aiokafka's records."""
        return self.stored(record.offset, record.timestamp, record.key, record.value, list(record.headers))


def unpacking(records: Any, decoder: EventDecoder | RecordDecoder, end: int | None = None) -> Unpacking | Legacy:
    """What stands for aiokafka's `PartitionRecords` from here on.

    An answer that spans two formats is read up to where they change; what follows is fetched again.

    Args:
        records: aiokafka's.
        decoder: what records become.
        end: where the partition ends at the least, as the answer said; None where that is not known.
    """
    answer = answer_of(records)
    raw, place = answer.raw, f"{answer.partition.topic}/{answer.partition.partition}"
    found = list(batches(raw))
    if found and found[0].magic != MAGIC:
        old = list(takewhile(lambda batch: batch.magic != MAGIC, found))
        return Legacy(answer, raw[: old[-1].end], decoder)
    aborted = answer.aborted if answer.committed_only else ()
    found = list(takewhile(lambda batch: batch.magic == MAGIC, found))
    return Unpacking(raw, found, aborted, answer.position, decoder, place, end=end, check_crcs=answer.check_crcs)


class Unpacking:
    """The batches of one answer, in order.

    Attributes:
        next_fetch_offset: behind everything that was taken or passed over; aiokafka reads it under this name.
        done: nothing is left.
    """

    def __init__(
        self,
        raw: bytes,
        found: Sequence[Batch],
        aborted: Sequence[tuple[int, int]],
        position: int,
        decoder: EventDecoder | RecordDecoder,
        place: str,
        *,
        end: int | None,
        check_crcs: bool,
    ) -> None:
        """
        Args:
            raw: of the answer.
            found: its batches.
            aborted: of transactions, the producer's id and the first offset here; none where all is read.
            position: the first offset that is wanted.
            decoder: what records become.
            place: topic and partition, for sentences.
            end: where the partition ends at the least; None where that is not known.
            check_crcs: whether a batch's checksum is looked at.
        """
        self.next_fetch_offset = position
        self._raw, self._batches, self._check_crcs = raw, deque(found), check_crcs
        self._decoder, self._place, self._end = decoder, place, end
        self._aborted = sorted(aborted, key=itemgetter(1), reverse=True)
        self._aborting: set[int] = set()
        self._cursor: Cursor | None = None
        self._room, self._too_little = MOST_UNPACKED, -1
        self.done = False

    @property
    def unpacked(self) -> int:
        """How many bytes of the batch that is being read lie here unpacked."""
        return 0 if self._cursor is None else len(self._cursor.data)

    @property
    def lacks_room(self) -> bool:
        """Whether the next batch was larger than what could be unpacked."""
        return self._too_little >= 0

    def pack_up(self) -> None:
        """Lets go of what is unpacked: it is unpacked anew when it is read on."""
        self._cursor = None

    def take(self, most: int, room: int, unpacks: int = MOST_UNPACKED) -> tuple[list[Any], int]:
        """Events, until there are `most`, or `room` bytes of them, or no more; and their bytes.

        Args:
            most, room: as above.
            unpacks: so many bytes of a batch may be unpacked now.

        Raises:
            NoRoomError: the next batch has more.
            UnreadableError: the next batch is not what its checksum or its lengths say, or is too large, and nothing
                stands for it. What stands before it was given first.
        """
        self._room = unpacks
        events, byte_count = list[Any](), 0
        while len(events) < most and byte_count < room:
            try:
                cursor = self._next_cursor()
                if cursor is None:
                    self.done = True
                    break
                found, more = self._read(cursor, most - len(events), room - byte_count)
            except NoRoomError:
                if not events:
                    raise
                break
            except UnreadableError as unreadable:
                if not events:
                    events.append(self._decoder.stands_for(unreadable))
                    self._leave_behind(unreadable)
                break
            events += found
            byte_count += more
        return events, byte_count

    def _read(self, cursor: Cursor, most: int, room: int) -> tuple[list[Any], int]:
        bounds = (cursor, self.next_fetch_offset, most, room)
        try:
            found, byte_count = self._decoder.read(*bounds)
        except ValueError as error:
            salvaged = self._decoder.salvage(*bounds)
            if salvaged is None:
                raise self._unreadable("damaged", str(error)) from None
            found, byte_count = salvaged
            offset = self._batches[0].base_offset
            log.warning("a batch has what is no record: its bytes are taken for it", offset=offset, error=str(error))
        if cursor.left <= 0:
            self._pass()
        elif found:
            self.next_fetch_offset = found[-1].offset + 1
        return found, byte_count

    def _next_cursor(self) -> Cursor | None:
        """In the next batch that has records for us, all others passed over; None where there is none."""
        while self._cursor is None and self._batches:
            batch = self._batches[0]
            if self._is_passed_over(batch):
                self._pass()
            else:
                self._cursor = self._opened(batch)
        return self._cursor

    def _pass(self) -> None:
        """Leaves the first batch behind."""
        self.next_fetch_offset = max(self.next_fetch_offset, self._batches.popleft().next)
        self._cursor, self._too_little = None, -1

    def _leave_behind(self, unreadable: UnreadableError) -> None:
        """Goes on behind a batch that cannot be read, with another answer.

        It may have been the marker of a transaction: the next answer says which are aborted from there on.
        """
        assert unreadable.next is not None, "something stands for it only where its end is known"
        self.next_fetch_offset, self._cursor, self.done = unreadable.next, None, True
        self._batches.clear()

    def _opened(self, batch: Batch) -> Cursor:
        data = self._raw[batch.records : batch.end]  # a copy: a record that lies in it holds no other batch
        if batch.compression:
            room = min(self._room, MOST_UNPACKED)
            if room <= self._too_little:  # it was tried
                raise NoRoomError
            try:
                data = _UNPACK[batch.compression](data, room)
            except TooMuchError as error:
                if room < MOST_UNPACKED:
                    self._too_little = room
                    raise NoRoomError from None
                raise self._unreadable("too-large", str(error)) from None
            except Exception as error:  # noqa: BLE001 -- each codec has errors of its own
                raise self._unreadable("damaged", str(error)) from None
        base, count = batch.base_offset, batch.record_count
        if not 0 <= count <= min(len(data) // LEAST_RECORD_BYTES, batch.next - base):
            raise self._unreadable("damaged", f"it cannot hold {count} records")
        return Cursor(
            data,
            0,
            len(data),
            count,
            base,
            batch.first_timestamp,
            batch.append_time,
            count,
            batch.next,
            batch.base_offset,
        )

    def _unreadable(self, reason: UnreadableReason, why: str) -> UnreadableError:
        """The error of the first batch."""
        batch = self._batches[0]
        sentence = f"{self._place}: the batch at offset {batch.base_offset} is damaged: {why}"
        return UnreadableError(
            sentence, self.next_fetch_offset, self._behind(batch), reason, self._raw[batch.start : batch.end]
        )

    def _behind(self, batch: Batch) -> int | None:
        """The offset behind a batch that cannot be read; None where nothing bears out what it says itself.

        A header that lies must not take a lane past what stands behind the batch: the next batch says where it begins
        if its own checksum holds; else the partition's end must not be passed.
        """
        if len(self._batches) > 1 and self._is_sound(following := self._batches[1]):
            return following.base_offset if following.base_offset > self.next_fetch_offset else None
        return batch.next if self._end is not None and self.next_fetch_offset < batch.next <= self._end else None

    def _is_sound(self, batch: Batch) -> bool:
        return crc32c(self._raw, batch.start + CHECKED_FROM, batch.end) == batch.crc

    def _is_passed_over(self, batch: Batch) -> bool:
        if self._check_crcs and not self._is_sound(batch):
            raise self._unreadable("checksum", "its checksum does not hold")
        if batch.next <= self.next_fetch_offset and len(self._batches) == 1:
            raise self._unreadable("damaged", f"it ends before offset {self.next_fetch_offset}")
        while self._aborted and self._aborted[-1][1] <= batch.base_offset:
            self._aborting.add(self._aborted.pop()[0])
        if batch.is_control:
            if batch.producer_id in self._aborting and self._is_abort(batch):
                self._aborting.discard(batch.producer_id)
            return True
        return batch.is_transactional and batch.producer_id in self._aborting

    def _is_abort(self, batch: Batch) -> bool:
        try:
            (marker, *_), _ = read_events(self._opened(batch), 0, batch.base_offset, 1, MAX_INPUT_BYTES, _never)
            return is_abort_marker(marker.key or b"")
        except ValueError as error:
            raise self._unreadable("damaged", f"the marker is none: {error}") from None


def _never(*_: Any) -> Event:
    raise ValueError("it is too large")


class Legacy:
    """The same over aiokafka's own records, for batches of the formats 0 and 1."""

    def __init__(self, answer: Answer, raw: bytes, decoder: EventDecoder | RecordDecoder) -> None:
        """
        Args:
            answer: the whole one.
            raw: as much of it as is of these formats.
            decoder: what records become.
        """
        self._records, self._decoder, self.done = old_records(answer, raw), decoder, False

    @property
    def next_fetch_offset(self) -> int:
        """Behind everything that was taken or passed over."""
        return self._records.next_fetch_offset

    def take(self, most: int, room: int, unpacks: int = MOST_UNPACKED) -> tuple[list[Any], int]:
        """As `Unpacking.take`: at the most `most` events, until they have `room` bytes. `unpacks` has no effect here,
        since aiokafka unpacks the whole batch."""
        events, byte_count = list[Any](), 0
        try:
            for record in self._records:
                events.append(self._decoder.one(record))
                byte_count += len(record.key or b"") + len(record.value or b"")
                if len(events) >= most or byte_count >= room:
                    return events, byte_count
        except Exception as error:  # noqa: BLE001 -- each codec has errors of its own
            if not events:
                self._decoder.stands_for(UnreadableError(str(error), self.next_fetch_offset, None, "damaged", b""))
        self.done = True
        return events, byte_count
