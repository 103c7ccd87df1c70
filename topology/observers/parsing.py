"""What was parsed of source code and documents, kept by the hash of the bytes (docs/checks.md).

Parsing takes ten times as long as reading; the same file is asked about again and again. Bounded in bytes, by the
setting `parse_cache_bytes`; shared by the threads that look. A `Parser` for streams/judging/verify.py.
"""

from __future__ import annotations

from typing import Final

from ...streams.judging.code import parse_code
from ...streams.judging.documents import Document, parse_document
from ...streams.judging.index import FileIndex
from ...streams.judging.results import Source
from .kept_looks import Bounded

MAX_PARSED: Final = 20_000
_NONE: Final = 300
"""Bytes that it takes to keep that a file is of no listed language."""


class Parsed:
    """Parses, and keeps what it parsed.

    Args:
        size: bytes that may be kept.
    """

    def __init__(self, size: int) -> None:
        self._code: Bounded[tuple[FileIndex | None]] = Bounded(MAX_PARSED, size // 2)
        self._documents: Bounded[tuple[Document | None]] = Bounded(MAX_PARSED, size // 2)

    def code(self, source: Source) -> FileIndex | None:
        """The source code of a listed language; None for any other file."""
        key = _key(source)
        known = self._code.get(key) if key else None
        if known is not None:
            return known[0]
        made = parse_code(source)
        if key:
            self._code.put(key, _NONE if made is None else _NONE + made.weight, (made,))
        return made

    def document(self, source: Source) -> Document | None:
        """A document of a listed format; None for any other file."""
        key = _key(source)
        known = self._documents.get(key) if key else None
        if known is not None:
            return known[0]
        made = parse_document(source)
        if key:
            self._documents.put(key, _NONE if made is None else _NONE + made.weight, (made,))
        return made


def _key(source: Source) -> tuple[str, str, bool, int] | None:
    """The bytes, the path, which tells the language, and the text, since a recorder may read other characters in the
    same bytes; None where nobody knows the bytes."""
    return (source.digest, source.path, source.whole, hash(source.text)) if source.digest else None
