"""From the bytes of a file to the piece that is looked at, and to its text.

Lines end with a line feed and count from 1, as for git and grep; a piece keeps its line ends. UTF-8 and, with a byte
order mark, UTF-16 and UTF-32 are read for sure; other bytes are read as Windows-1252, which is sure for ASCII only;
with a NUL they are no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

APART = "\n\0\n"
"""Between pieces that do not stand together: white space becomes one space, a NUL stays, so no term spans it."""
_MARKS = (
    # The longer mark first: UTF-32's little-endian one begins with UTF-16's.
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)


class Piece(NamedTuple):
    """A file, or some of its lines.

    Attributes:
        data: the bytes, line ends included.
        encoding: what the file's byte order mark says; None without one.
        changed: when the file last changed, in Unix milliseconds; None where that is not known yet.
    """

    data: bytes
    encoding: str | None
    changed: int | None = None


class Text(NamedTuple):
    """Text of a piece; `sure` is False where the encoding had to be guessed."""

    text: str
    sure: bool


def cut(chunks: Iterable[bytes], lines: tuple[int, int] | None) -> Piece:
    """The piece of a file that is given chunk by chunk; no more chunks are taken than it needs."""
    source = iter(chunks)
    head = b""
    for chunk in source:
        head += chunk
        if len(head) >= 4:
            break
    encoding = next((name for mark, name in _MARKS if head.startswith(mark)), None)
    if lines is None:
        return Piece(head + b"".join(source), encoding)
    if encoding is not None and encoding != "utf-8":
        return _cut_wide(head + b"".join(source), encoding, lines)
    return Piece(_cut_lines(head, source, lines), encoding)


def _cut_lines(head: bytes, source: Iterator[bytes], lines: tuple[int, int]) -> bytes:
    first, last = lines
    kept: list[bytes] = []
    line = 1  # the line that the next byte belongs to
    chunk: bytes | None = head
    while chunk:
        start = 0
        if line < first:
            skipped = chunk.count(b"\n")
            if line + skipped < first:
                line, chunk = line + skipped, next(source, None)
                continue
            while line < first:
                start = chunk.index(b"\n", start) + 1
                line += 1
        position = start
        while line <= last:
            found = chunk.find(b"\n", position)
            if found < 0:
                break
            position = found + 1
            line += 1
        if line > last:
            kept.append(chunk[start:position])
            return b"".join(kept)
        kept.append(chunk[start:])
        chunk = next(source, None)
    return b"".join(kept)


def _cut_wide(data: bytes, encoding: str, lines: tuple[int, int]) -> Piece:
    """Lines of UTF-16 and UTF-32: a byte 0A alone is no line end there."""
    try:
        every = data.decode(encoding).split("\n")
    except UnicodeDecodeError:
        return Piece(data, encoding)
    ended = [line + "\n" for line in every[:-1]] + ([every[-1]] if every[-1] else [])
    wanted = ended[lines[0] - 1 : lines[1]]
    return Piece("".join(wanted).encode(encoding), encoding)


def text_of(piece: Piece) -> Text | None:
    """The text of a piece; None where it is none."""
    data = piece.data
    if piece.encoding is not None:
        try:
            return Text(data.decode(piece.encoding).removeprefix("\ufeff"), True)
        except UnicodeDecodeError:
            pass
    if b"\0" in data:
        return None
    try:
        return Text(data.decode(), True)
    except UnicodeDecodeError:
        return Text(data.decode("cp1252", "replace"), False)
