"""zstd (RFC 8878) for whole batches, with contexts that are kept: to make one costs as much as a small batch.

A context is one thread's: the consumer's thread unpacks while the lanes' packs.
"""

from __future__ import annotations

from threading import local

from zstandard import ZstdCompressor, ZstdDecompressor, ZstdError, frame_content_size


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
