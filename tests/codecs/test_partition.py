"""Keys go where Kafka's clients send them: murmur2 as Kafka's and aiokafka's default, crc32 as librdkafka's.

A lane that hashed otherwise than the producers would call every record misrouted.
"""

from __future__ import annotations

import zlib

import confluent_kafka
import pytest
from aiokafka.partitioner import DefaultPartitioner
from aiokafka.partitioner import murmur2 as aiokafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from sluice.codecs.partition import PARTITIONERS, murmur2

KEYS = st.binary(max_size=70) | st.text(max_size=40).map(str.encode)
COUNTS = st.integers(1, 1000)

# Signed 32-bit results of Kafka's own unit test, UtilsTest.testMurmur2.
KAFKA_S_OWN = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
]


@pytest.mark.parametrize(("key", "signed"), KAFKA_S_OWN)
def test_murmur2_gives_what_kafka_s_own_test_expects(key: bytes, signed: int) -> None:
    """The Java client's known values, read as unsigned numbers."""
    assert murmur2(key) == signed % 2**32


@given(KEYS)
def test_murmur2_is_that_of_aiokafka(key: bytes) -> None:
    """Whatever the key, of any length modulo four."""
    assert murmur2(key) == aiokafka_murmur2(key)


@given(KEYS, COUNTS)
def test_the_default_partition_is_that_of_aiokafka_s_default_partitioner(key: bytes, count: int) -> None:
    """Records produced through aiokafka, Faust or the Java client stand where the lane expects them."""
    partitions = list(range(count))

    assert PARTITIONERS["murmur2"](key, count) == DefaultPartitioner()(key, partitions, partitions)


@given(KEYS, COUNTS)
def test_murmur2_is_librdkafka_s_murmur2_random_for_a_key_that_is_there(key: bytes, count: int) -> None:
    """Producers on librdkafka that are set to `murmur2_random` send a key where Kafka's default would."""
    assert PARTITIONERS["murmur2"](key, count) == confluent_kafka.murmur2(key, count)


@given(KEYS, COUNTS)
def test_crc32_is_librdkafka_s_consistent(key: bytes, count: int) -> None:
    """The IEEE CRC-32 of the key, modulo the count, as the library itself computes it."""
    assert PARTITIONERS["crc32"](key, count) == confluent_kafka.consistent(key, count) == zlib.crc32(key) % count


def test_crc32_is_the_usual_polynomial() -> None:
    """The check value of CRC-32/ISO-HDLC, by which librdkafka's table can be told from others."""
    assert PARTITIONERS["crc32"](b"123456789", 2**32) == 0xCBF43926


@given(KEYS, COUNTS)
def test_every_key_has_a_partition(key: bytes, count: int) -> None:
    """A partition is a number from 0 below the count, for both partitioners, and for the empty key."""
    assert all(0 <= choose(key, count) < count for choose in PARTITIONERS.values())


def test_the_two_partitioners_differ() -> None:
    """Following one where producers use the other would lose records: a key on which they disagree."""
    assert PARTITIONERS["murmur2"](b"em-1", 8) != PARTITIONERS["crc32"](b"em-1", 8)
    assert set(PARTITIONERS) == {"murmur2", "crc32"}
