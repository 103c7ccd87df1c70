"""Whole record batches of one partition: packed for sending, and unpacked into events or stored records.

What a lane sends as one batch is packed here and sent by aiokafka. A fetch answer is unpacked a batch at a time, within
a budget of bytes: what aiokafka's `PartitionRecords` does record by record. A batch that cannot be read is fetched once
more, then put aside by an event, or its lane stops.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from operator import itemgetter
from struct import Struct
from threading import local
from time import time_ns
from typing import Any, Final, NamedTuple

import cramjam
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException
from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, frame_content_size

from ...codecs import compiled_core
from ...codecs.blocks import MAX_INPUT_BYTES, Event, Output, UnreadableReason, quarantine
from ...codecs.errors import DoesNotHoldError
from ...codecs.record_batches import (
    CHECKED_FROM,
    MAGIC,
    Batch,
    Cursor,
    EventFor,
    Producer,
    StoredFor,
    batch_of,
    batches,
    pack_records,
    read_events,
    read_stored,
    salvage_events,
)
from ..settings.process import now_ms
from .aiokafka_inside import Answer, ClosedBatch, answer_of, calc_crc32c, is_abort_marker, old_records


class _Contexts(local):
    """A thread's own."""

    def __init__(self) -> None:
        self.decompressor = ZstdDecompressor()
        self.compressors: dict[int, ZstdCompressor] = {}


_contexts = _Contexts()


def compress(raw: bytes, level: int) -> bytes:
    """One frame, which tells its content's size."""
    compressor = _contexts.compressors.get(level)
    if compressor is None:
        compressor = _contexts.compressors[level] = ZstdCompressor(level=level)
    return compressor.compress(raw)


def decompress(raw: bytes, most: int) -> bytes | None:
    """The content of one frame that tells its size, `most` bytes at the most; None of anything else.

    Room is made as large as the frame says, and is not touched before there is content: a lie costs nothing.
    """
    try:
        if not 0 <= frame_content_size(raw) <= most:
            return None
        return _contexts.decompressor.decompress(raw, allow_extra_data=False)
    except ZstdError:
        return None


ZSTD: Final = 4
"""Kafka's number for it."""
LEVEL: Final = 1


def crc32c(raw: bytes, start: int = 0, end: int | None = None) -> int:
    """The CRC-32C of `raw` from `start` to `end`: by the processor's own instruction where the compiled core has it."""
    stop = len(raw) if end is None else end
    found = None if compiled_core.codecs is None else compiled_core.codecs.crc32c(raw, start, stop)
    return calc_crc32c(raw[start:stop]) if found is None else found


class Packed(ClosedBatch):
    """A batch that nothing is added to any more."""

    def __init__(self, records: bytes, count: int, *, is_transactional: bool) -> None:
        """
        Args:
            records: as `pack_records` gives them.
            count: how many there are.
            is_transactional: whether they are part of a transaction.
        """
        smaller = compress(records, LEVEL)
        self.byte_count = len(records)
        """Before compression."""
        self._compression = ZSTD if len(smaller) < len(records) else 0
        self._records = smaller if self._compression else records
        self._count, self._time, self._is_transactional = count, time_ns() // 1_000_000, is_transactional
        self._producer = Producer()

    def record_count(self) -> int:
        """How many records there are."""
        return self._count

    def size(self) -> int:
        """In bytes, compressed."""
        return len(self._records)

    def sent_by(self, producer_id: int, epoch: int, sequence: int) -> None:
        """As `ClosedBatch.sent_by`."""
        self._producer = Producer(producer_id, epoch, sequence)

    def built(self) -> bytes:
        """As `ClosedBatch.built`."""
        return batch_of(
            self._records,
            self._count,
            self._time,
            self._producer,
            compression=self._compression,
            is_transactional=self._is_transactional,
            checksum=crc32c,
        )


def packed(outputs: list[Output], most: int, *, is_transactional: bool) -> Iterator[Packed]:
    """Outputs of one partition, in order, as few batches as hold them.

    Args:
        outputs: of one partition.
        most: bytes of a batch before compression; a single output may have more.
        is_transactional: whether they are part of a transaction.
    """
    at = 0
    while at < len(outputs):
        records, end = pack_records(outputs, at, most)
        yield Packed(records, end - at, is_transactional=is_transactional)
        at = end


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
    found = decompress(raw, most)
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

    `refuse` says what stands for a batch that cannot be read (`Refusals`); without it, nothing does.
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

    `refuse` says what stands for a batch that cannot be read (`topic_reader.Passing`); without it, nothing does.
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


class FetchAgainError(Exception):
    """What was fetched of a partition is to be let go of: it is fetched again, or rests."""


class Suspects:
    """The batches that may have been damaged on the way, of one consumer: each is fetched once more."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, int] = {}

    def may_heal(self, partition: TopicPartition, unreadable: UnreadableError) -> bool:
        """Whether a batch is to be fetched once more: one that is too large is so however often it is fetched."""
        offset = unreadable.offset
        if unreadable.reason != "too-large" and self._seen.get(partition) != offset:
            self._seen[partition] = offset
            return True
        self.forget(partition)
        return False

    def forget(self, partition: TopicPartition) -> None:
        """The partition is read anew."""
        self._seen.pop(partition, None)


class Stopped(NamedTuple):
    """A partition that is not read any further: the first offset that cannot be read, and why."""

    offset: int
    error: DoesNotHoldError


class Refusals:
    """The batches that could not be read, of the inputs of one consumer.

    Attributes:
        stopped: partitions whose lanes have to stop, until somebody has told them.

    Args:
        goes_on: whether a lane may pass a batch that cannot be read.
        clock: Unix ms.
    """

    def __init__(self, *, goes_on: bool, clock: Callable[[], int] = now_ms) -> None:
        self.stopped: dict[TopicPartition, Stopped] = {}
        self._goes_on, self._clock = goes_on, clock
        self._suspects = Suspects()

    def refuse(self, partition: TopicPartition, source: int, unreadable: UnreadableError) -> Event:
        """The event that stands for an `unreadable` batch of a `partition`, which is a `source` of its lane.

        Raises:
            FetchAgainError: there is none, or none yet.
        """
        if self._suspects.may_heal(partition, unreadable):
            log.warning("a batch cannot be read: fetching it once more", error=unreadable.args[0])
            raise FetchAgainError
        offset = unreadable.offset
        if self._goes_on and unreadable.next is not None:
            log.error("a batch cannot be read: the ledger records it, and the lane goes on", error=unreadable.args[0])
            return quarantine(source, offset, unreadable.next, self._clock(), unreadable.reason, unreadable.raw)
        self.stopped[partition] = Stopped(offset, _sentence(partition, unreadable, goes_on=self._goes_on))
        raise FetchAgainError

    def forget(self, partition: TopicPartition) -> None:
        """The partition was sought: it is read anew."""
        self._suspects.forget(partition)
        self.stopped.pop(partition, None)


def _sentence(partition: TopicPartition, unreadable: UnreadableError, *, goes_on: bool) -> DoesNotHoldError:
    hint = "delete the records up to behind it; the ledger then names a gap"
    if not goes_on:
        hint = f'set on_poison = "go-on" to have it recorded and passed, or {hint}'
    elif unreadable.next is None:
        hint = f"nobody can tell where it ends: {hint}"
    return DoesNotHoldError(
        f"a batch of an input cannot be read: {unreadable.args[0]}",
        path=f"{partition.topic}/{partition.partition}/{unreadable.offset}",
        hint=hint,
    )
