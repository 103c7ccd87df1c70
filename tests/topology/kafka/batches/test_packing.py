"""Batches as lanes send them: whole, in order, smaller where they can be, and with the checksum that Kafka wants."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import calc_crc32c
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs import compiled_core
from sluice.codecs.blocks import Output
from sluice.topology.kafka.packed_batches import Packed, crc32c, packed


def outputs(count: int, value: bytes = b"{}") -> list[Output]:
    return [Output("admitted", b"k%d" % number, value, [("a", b"b")]) for number in range(count)]


def records(batch: Packed) -> list[Any]:
    read = DefaultRecordBatch(batch._build())
    assert read.validate_crc()
    return list(read)


@pytest.mark.parametrize("core", [True, False])
@given(data=st.binary(max_size=100), start=st.integers(0, 100), length=st.integers(0, 100))
def test_the_checksum_is_aiokafkas(core: bool, data: bytes, start: int, length: int) -> None:
    start = min(start, len(data))
    end = min(start + length, len(data))
    with pytest.MonkeyPatch.context() as patch:
        if not core:
            patch.setattr(compiled_core, "codecs", None)
        assert crc32c(data, start, end) == calc_crc32c(data[start:end])
        assert crc32c(data) == calc_crc32c(data)


def test_the_checksum_is_the_published_one() -> None:
    """RFC 3720, B.4: 32 bytes of zeros, of ones, and rising."""
    found = [crc32c(raw) for raw in (bytes(32), b"\xff" * 32, bytes(range(32)))]
    assert found == [0x8A9136AA, 0x62A8AB43, 0x46DD794E]


def test_a_batch_is_compressed_where_that_makes_it_smaller() -> None:
    (batch,) = packed(outputs(100, b"{}" * 50), 10**6, is_transactional=True)
    assert batch.size() < batch.byte_count / 5
    assert [one.key for one in records(batch)] == [b"k%d" % number for number in range(100)]
    assert DefaultRecordBatch(batch._build()).compression_type == 4


def test_a_batch_stays_as_it_is_where_compression_makes_it_larger() -> None:
    (batch,) = packed(outputs(1), 10**6, is_transactional=True)
    assert batch.size() == batch.byte_count
    assert [one.value for one in records(batch)] == [b"{}"]
    assert DefaultRecordBatch(batch._build()).compression_type == 0


def test_more_than_one_batch_holds_is_several_in_order() -> None:
    found = list(packed(outputs(100, bytes(50)), 1000, is_transactional=True))
    assert len(found) > 5
    assert all(batch.byte_count <= 1000 for batch in found)
    assert [one.key for batch in found for one in records(batch)] == [b"k%d" % number for number in range(100)]


def test_the_producer_s_number_stands_in_the_batch() -> None:
    (batch,) = packed(outputs(3), 10**6, is_transactional=True)
    batch._set_producer_state(producer_id=7, producer_epoch=2, base_sequence=40)
    read = DefaultRecordBatch(batch._build())
    assert (read.producer_id, read.producer_epoch, read.base_sequence) == (7, 2, 40)
    assert read.is_transactional
    assert read.next_offset == 3
    assert (batch.record_count(), batch.closed()) == (3, True)


def test_what_is_no_transaction_says_so() -> None:
    (batch,) = packed(outputs(3), 10**6, is_transactional=False)
    assert not DefaultRecordBatch(batch._build()).is_transactional
