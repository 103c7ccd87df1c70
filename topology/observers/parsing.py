"""What was parsed of source code and documents, kept by the hash of the content (docs/checks.md).

A process with bounds parses (parsing_process.py); what it cannot parse within them is `too-large`, and stays so. What
was parsed is kept in memory, bounded in bytes by the setting `parse_cache_bytes` and shared by the threads that look,
and for short commands on disk (index_cache.py). A `Parser` for streams/judging/verify.py.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast

import msgspec

from ...streams.judging.documents import Document, format_of
from ...streams.judging.index import FileIndex
from ...streams.judging.languages import languages_of
from ...streams.judging.results import Source
from .index_cache import IndexCache
from .kept_looks import Bounded
from .parsing_process import LIMITS, Limits, ParsingProcess, parsing_process

if TYPE_CHECKING:
    from ...streams.judging.documents import Format

T = TypeVar("T", FileIndex, Document)

MAX_PARSED: Final = 20_000
_KEPT: Final = 300
"""Bytes that it takes to keep anything."""


class Parsed:
    """Parses, and keeps what was parsed.

    Args:
        size: bytes that may be kept in memory.
        disk: what is kept on disk.
        limits: what one file may take.
    """

    def __init__(self, size: int, disk: IndexCache | None = None, limits: Limits = LIMITS) -> None:
        self._disk = disk or IndexCache(0)
        self._process, half = parsing_process(limits), size // 2
        self._code = _Keeping("code", FileIndex, _too_large_code, half, self._disk, self._process)
        self._documents = _Keeping("document", Document, _too_large_document, half, self._disk, self._process)

    def start(self) -> None:
        """Starts what parses, which otherwise starts with the first file."""
        self._process.start()

    def code(self, source: Source) -> FileIndex | None:
        """The source code of a listed language; None for any other file."""
        known = languages_of(source.path)
        return self._code.get(source, ",".join(language.name for language in known)) if known else None

    def document(self, source: Source) -> Document | None:
        """A document of a listed format; None for any other file."""
        known = format_of(source.path)
        return self._documents.get(source, known) if known else None

    def close(self) -> None:
        """Ends what is kept on disk. Calling it again does nothing."""
        self._disk.close()


class _Keeping(Generic[T]):
    """What was parsed of one kind.

    Args:
        kind: as the process that parses calls it.
        result: its type.
        too_large: makes what stands for a file of a language that is beyond a limit.
        size: bytes that may be kept in memory.
        disk: what is kept on disk.
        process: what parses.
    """

    def __init__(
        self,
        kind: str,
        result: type[T],
        too_large: Callable[[str], T],
        size: int,
        disk: IndexCache,
        process: ParsingProcess,
    ) -> None:
        self._kind, self._too_large, self._disk, self._process = kind, too_large, disk, process
        self._decode: Callable[[bytes], T | None] = msgspec.msgpack.Decoder(result | None).decode
        self._kept: Bounded[tuple[T | None]] = Bounded(MAX_PARSED, size)
        self._lock = threading.Lock()

    def get(self, source: Source, language: str) -> T | None:
        # The text as well as the bytes: a recorder may read other characters in the same bytes. Without a digest the
        # text itself is the key.
        key = (source.digest or source.text, language, hash(source.text))
        known = self._kept.get(key)
        if known is not None:
            return known[0]
        with self._lock:
            known = self._kept.get(key)  # another thread may have asked for the same
            if known is None:
                known = (self._parse(source, language),)
                weight = 0 if known[0] is None else known[0].weight
                self._kept.put(key, _KEPT + weight + (0 if source.digest else 4 * len(source.text)), known)
        return known[0]

    def _parse(self, source: Source, language: str) -> T | None:
        text = source.text.encode("utf-8", "surrogatepass")
        entry = self._disk.key(self._kind, language, text)
        data = self._disk.get(entry)
        if data is not None:
            try:
                return self._decode(data)
            except msgspec.DecodeError:
                self._disk.remove(entry)
        data = self._process.ask(self._kind, source.path.rpartition("/")[2], text)
        try:
            parsed = None if data is None else self._decode(data)
        except msgspec.DecodeError:
            data = parsed = None
        if data is None:
            return self._too_large(language)
        self._disk.put(entry, data)
        return parsed


def _too_large_code(languages: str) -> FileIndex:
    return FileIndex(languages.partition(",")[0], "too-large")


def _too_large_document(name: str) -> Document:
    return Document(cast("Format", name), problem="too-large")
