"""Frames that say how large they are are undone at once; whatever else comes is left to who goes step by step."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import cramjam
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sluice.topology.kafka import packed_batches

TEXT = b"CHANGELOG.md has an entry dated 2026-05-25. " * 500


def unsized(raw: bytes) -> bytes:
    """A frame as streams write it: without its content's size."""
    compressor = cramjam.zstd.Compressor(1)
    compressor.compress(raw)
    return bytes(compressor.finish())


@given(st.binary(max_size=3000), st.integers(1, 3))
def test_what_is_packed_is_unpacked(raw: bytes, level: int) -> None:
    """By ourselves, and by another implementation's hands."""
    packed = packed_batches.compress(raw, level)

    assert packed_batches.decompress(packed, len(raw)) == raw
    assert bytes(cramjam.zstd.decompress(packed)) == raw


def test_no_more_room_is_made_than_there_may_be() -> None:
    packed = packed_batches.compress(TEXT, 1)

    assert packed_batches.decompress(packed, len(TEXT)) == TEXT
    assert packed_batches.decompress(packed, len(TEXT) - 1) is None


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"no frame", id="no frame"),
        pytest.param(unsized(TEXT), id="no size"),
        pytest.param(packed_batches.compress(TEXT, 1) * 2, id="two frames"),
        pytest.param(packed_batches.compress(TEXT, 1) + b"x", id="something behind it"),
        pytest.param(packed_batches.compress(TEXT, 1)[:-1], id="cut"),
        pytest.param(b"\x28\xb5\x2f\xfd\xe0" + (100_000_000).to_bytes(8, "little"), id="a lie"),
    ],
)
def test_anything_else_is_declined(raw: bytes) -> None:
    assert packed_batches.decompress(raw, 128_000_000) is None


def test_each_thread_has_its_own_contexts() -> None:
    """They are not to be used by two at once, and the interpreter is let go of while they work."""
    texts = [TEXT + b"%d" % number for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        packed = list(pool.map(lambda text: packed_batches.compress(text, 1), texts))
        unpacked = list(pool.map(lambda raw: packed_batches.decompress(raw, 10**6), packed))
    assert unpacked == texts
