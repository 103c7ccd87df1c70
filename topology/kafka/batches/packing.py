"""What a lane sends as one batch of one partition: packed here, sent by aiokafka.

aiokafka's own builder takes a call a record, and compresses at level 3, which costs as much as half of the fold. Level
1 takes two thirds of that, and a ledger of sentences and random hashes gets 6 % larger by it. To aiokafka's accumulator
and sender a `Packed` is a builder that is closed (`aiokafka_inside.ClosedBatch`).
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time_ns
from typing import Final

from ....codecs import compiled_core
from ....codecs.blocks import Output
from ....codecs.record_batches import Producer, batch_of, pack_records
from ..aiokafka_inside import ClosedBatch, calc_crc32c
from . import zstd

ZSTD: Final = 4
"""Kafka's number for it."""
LEVEL: Final = 1


def crc32c(raw: bytes, start: int = 0, end: int | None = None) -> int:
    """The CRC-32C of a part of some bytes: by the processor's own instruction where the compiled core has it."""
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
        smaller = zstd.compress(records, LEVEL)
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
        self._producer = Producer(producer_id, epoch, sequence)

    def built(self) -> bytes:
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
