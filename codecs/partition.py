"""Which partition a key belongs to: Kafka's murmur2, librdkafka's crc32.

Lanes check that a record stands in the partition that its key names. All topics of a lane group must use one
partitioner, or an emission and its evidence would never meet.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Literal

from . import compiled_core

Partitioner = Literal["murmur2", "crc32"]
_M = 0x5BD1E995
_MASK = 0xFFFFFFFF


def murmur2(key: bytes) -> int:
    """The 32-bit MurmurHash2 with Kafka's seed, as an unsigned number."""
    length = len(key)
    h = 0x9747B28C ^ length
    for k in struct.unpack_from(f"<{length >> 2}I", key):
        k = k * _M & _MASK
        h = (h * _M & _MASK) ^ ((k ^ k >> 24) * _M & _MASK)
    rest = length & 3
    if rest:
        h = (h ^ int.from_bytes(key[-rest:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


if compiled_core.codecs is not None:
    murmur2 = compiled_core.codecs.murmur2


def _kafka(key: bytes, partitions: int) -> int:
    return (murmur2(key) & 0x7FFFFFFF) % partitions


def _librdkafka(key: bytes, partitions: int) -> int:
    return zlib.crc32(key) % partitions


PARTITIONERS: dict[Partitioner, Callable[[bytes, int], int]] = {"murmur2": _kafka, "crc32": _librdkafka}
"""(key, partition count) -> partition, as Kafka's default and librdkafka's `consistent` choose it."""
