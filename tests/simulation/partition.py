"""One partition of a topic on the simulated broker: a log of batches, some in transactions, some of them markers.

As in Kafka, a marker takes an offset; a transaction's batches count once its marker stands behind them, and the first
open transaction holds back all that comes after it (the last stable offset). A producer's batches are numbered, so one
that was sent twice stands once; a producer of an earlier epoch is refused.
"""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from aiokafka.errors import DuplicateSequenceNumber, InvalidProducerEpoch, OutOfOrderSequenceNumber
from aiokafka.record.memory_records import MemoryRecords

from sluice.codecs.blocks import UnreadableReason


class Record:
    """One record, as readers get it."""

    __slots__ = ("headers", "key", "offset", "timestamp", "value")

    def __init__(
        self,
        offset: int,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes]] = (),
    ) -> None:
        self.offset, self.timestamp, self.key, self.value, self.headers = offset, timestamp, key, value, headers

    @property
    def byte_count(self) -> int:
        return len(self.key or b"") + len(self.value or b"")

    @property
    def next(self) -> int:
        """The offset behind it."""
        return self.offset + 1


class Unreadable(Record):
    """Stands for a batch that cannot be read; `value` is its bytes as they came, `offset` its first."""

    __slots__ = ("count", "reason")

    def __init__(self, timestamp: int, count: int, reason: UnreadableReason, raw: bytes) -> None:
        super().__init__(0, timestamp, None, raw)
        self.count, self.reason = count, reason

    @property
    def next(self) -> int:
        return self.offset + self.count


class Fate(Enum):
    """Whether a batch counts for who reads only what is committed."""

    COMMITTED = "it does"
    OPEN = "not known yet"
    ABORTED = "it does not"
    MARKER = "it is no record"


class Batch:
    """Records that came at once: at the true time `came` (Unix ms); from `at` on they could be read."""

    __slots__ = ("at", "base", "came", "count", "data", "fate", "kept")

    def __init__(self, base: int, count: int, fate: Fate, at: int, kept: list[Record] | None, data: bytes) -> None:
        self.base, self.count, self.fate, self.at, self.kept, self.data = base, count, fate, at, kept, data
        self.came = at

    @property
    def records(self) -> list[Record]:
        if self.kept is None:
            self.kept = [
                Record(self.base + place, self.at, one.key, one.value, one.headers)
                for place, one in enumerate(MemoryRecords(self.data).next_batch())  # type: ignore[arg-type]
            ]
        return self.kept


class Read(NamedTuple):
    """What a fetch brings: records, the next offset to read, the log's end, and its last stable offset."""

    records: list[Record]
    next: int
    end: int
    stable: int


class _Sender:
    """What a partition knows of one producer."""

    def __init__(self, epoch: int) -> None:
        self.epoch, self.next = epoch, 0
        self.stored: list[tuple[int, int]] = []  # (first number, offset) of the last batches
        self.open: list[Batch] = []


_HEADER = struct.Struct(">qiibIhiqqqhii")  # of a batch, version 2; the numbers are at the end


class Partition:
    """A log.

    Invariant: offsets of batches rise without gaps from `first` to `end`.
    """

    def __init__(self) -> None:
        self.first = self.end = self.epoch = 0
        self.led_from = 0.0
        """Simulated time from which on its newest leader takes batches."""
        self.aged: int | None = None
        """Where a new leader's fetch answers end for a while, although more is committed; None: at the end."""
        self.cut = range(0)
        """Offsets that nobody gets to read just now, although they are there."""
        self.batches: list[Batch] = []
        self._bases: list[int] = []
        self._senders: dict[int, _Sender] = {}
        self._open: dict[int, _Sender] = {}  # those of them that have a transaction under way

    @property
    def stable(self) -> int:
        """The last stable offset: before the first record whose fate is not known."""
        if not self._open:
            return self.end
        return min(one.open[0].base for one in self._open.values())

    def is_open(self, producer: int) -> bool:
        """Whether the producer has a transaction here that is under way."""
        return producer in self._open

    # ------------------------------------------------------------ appending

    def append(self, records: Sequence[Record], at: int, fate: Fate = Fate.COMMITTED) -> Batch:
        """Takes records in as they are; their offsets are set here. What cannot be read is a batch of its own."""
        for place, record in enumerate(records):
            record.offset = self.end + place
        return self._put(Batch(self.end, sum(one.next - one.offset for one in records), fate, at, list(records), b""))

    def produce(self, data: bytes, at: int) -> int:
        """Takes in a batch as a transactional producer sent it, and returns its offset.

        Raises:
            KafkaError: the producer is not the newest, or its batches do not follow upon one another.
        """
        *_, producer, epoch, number, count = _HEADER.unpack_from(data)
        sender = self._senders.setdefault(producer, _Sender(epoch))
        if epoch < sender.epoch:
            raise InvalidProducerEpoch
        if epoch > sender.epoch:
            sender.epoch, sender.next, sender.stored = epoch, 0, []
        if number < sender.next:
            for first, offset in sender.stored:
                if first == number:
                    return offset
            raise DuplicateSequenceNumber
        if number > sender.next:
            raise OutOfOrderSequenceNumber
        batch = self._put(Batch(self.end, count, Fate.OPEN, at, None, data))
        sender.next += count
        sender.stored = [*sender.stored[-4:], (number, batch.base)]
        sender.open.append(batch)
        self._open[producer] = sender
        return batch.base

    def mark(self, producer: int, epoch: int, commit: bool, at: int) -> None:
        """Ends the producer's transaction here; earlier epochs are refused from now on."""
        sender = self._senders.setdefault(producer, _Sender(epoch))
        if epoch > sender.epoch:
            sender.epoch, sender.next, sender.stored = epoch, 0, []
        hidden_from = self.stable
        for batch in sender.open:
            batch.fate = Fate.COMMITTED if commit else Fate.ABORTED
        sender.open = []
        self._open.pop(producer, None)
        self._put(Batch(self.end, 1, Fate.MARKER, at, [], b""))
        stable = self.stable
        for batch in self.batches[bisect_left(self._bases, hidden_from) :]:
            if batch.base < stable:
                batch.at = at

    def hold(self, producer: int, batch: Batch) -> None:
        """Counts a batch that `append` took in as that producer's open transaction, until `mark` ends it."""
        self._open[producer] = sender = self._senders.setdefault(producer, _Sender(0))
        sender.open.append(batch)

    def _put(self, batch: Batch) -> Batch:
        self.batches.append(batch)
        self._bases.append(batch.base)
        self.end = batch.base + batch.count
        return batch

    def delete_before(self, offset: int) -> None:
        """What retention does: whole batches go."""
        for batch in self.batches:
            if batch.base + batch.count <= min(offset, self.stable):
                self.first = batch.base + batch.count

    # ------------------------------------------------------------ reading

    def brings(self, start: int, committed: bool = True) -> bool:
        """Whether `read` from there on brings anything, if only markers."""
        if self.aged is None:  # the first unstable offset is where a batch begins
            return start < (self.stable if committed else self.end)
        return self.read(start, 1, committed).next > start

    def read(self, start: int, most: int, committed: bool = True) -> Read:
        """Whole batches from the one that holds `start`, until so many records are there; nothing unstable."""
        if self.aged is None and not self.brings(start, committed):
            return Read([], start, self.end, self.stable if committed else self.end)
        aged = self.end if self.aged is None else self.aged
        stable, end = min(self.stable if committed else self.end, aged), min(self.end, aged)
        found: list[Record] = []
        position = start
        for place in range(max(0, bisect_right(self._bases, start) - 1), len(self.batches)):
            batch = self.batches[place]
            if batch.base >= stable or len(found) >= most:
                break
            if batch.base + batch.count <= start:
                continue
            if batch.base in self.cut:
                pass
            elif batch.fate is Fate.COMMITTED or (not committed and batch.fate is not Fate.MARKER):
                found += batch.records if batch.base >= start else [r for r in batch.records if r.offset >= start]
            position = batch.base + batch.count
        return Read(found, position, end, stable)

    def visible(self) -> list[tuple[Record, int]]:
        """All committed records that ever were here, with the time at which each came.

        What came in a transaction was held from then on, although nobody could read it before the transaction's end.
        """
        stable = self.stable
        return [
            (record, batch.came)
            for batch in self.batches
            if batch.fate is Fate.COMMITTED and batch.base < stable
            for record in batch.records
        ]
