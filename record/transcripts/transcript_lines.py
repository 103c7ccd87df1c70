"""What all readers share: lines with a bound, one `Problem` for each that cannot be read, and twenty at most."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, Final, Protocol, cast

from ..events import Event, Problem
from .foreign_json import MAX_LINE, Unreadable, decode, members

MAX_PROBLEMS: Final = 20
_PIECE: Final = 1024 * 1024


class Reader(Protocol):
    """Reads the records of one format."""

    def take(self, line: int, record: dict[str, Any]) -> Iterator[Event]:
        """The events that this record tells."""
        ...

    def end(self) -> Iterator[Event]:
        """The events that the end of the transcript tells."""
        ...


def lines_of(stream: BinaryIO, begun: bytes = b"") -> Iterator[bytes]:
    """The lines of a file, with their ends. Of one that is longer than `MAX_LINE`, that many bytes and one more.

    Args:
        stream: the file.
        begun: the beginning of its first line, if that was read already.
    """
    while line := begun + stream.readline(max(MAX_LINE + 1 - len(begun), 0)):
        begun = b""
        yield line
        piece = line
        while len(line) > MAX_LINE and piece and not piece.endswith(b"\n"):
            piece = stream.readline(_PIECE)


def pieces_of(stream: BinaryIO) -> Iterator[bytes]:
    """The bytes of a file, a megabyte at a time, for the formats that are one JSON document."""
    while piece := stream.read(_PIECE):
        yield piece


def numbered(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, from 1, without the empty ones."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield number, line


def unknown(line: int, what: str, kind: object) -> Problem:
    """The problem of something that a later version of the agent may write.

    Args:
        line: where it stands.
        what: it is, such as a record.
        kind: what it calls itself.
    """
    named = repr(kind)[:80]
    return Problem(line=line, sentence=f"This {what} is of a kind that is not known, {named}; it is passed over.")


def read_records(documents: Iterable[tuple[int, bytes]], reader: Reader, what: str = "line") -> Iterator[Event]:
    """Decode each document (`what` it is: a line, or an element of a list), give it to the reader, count problems.

    The first `MAX_PROBLEMS` problems are given as they come, the number of the others at the end. A document that is
    JSON but no object is a problem too, and so is a transcript in which nothing is known: it is another format, or
    that of a later version.
    """
    problems = last = objects = 0
    nothing = True

    def counted() -> Iterator[tuple[int, bytes]]:
        nonlocal objects
        for document in documents:
            objects += 1
            yield document

    for event in _events(counted(), reader, what):
        if isinstance(event, Problem):
            problems += 1
            last = event.line
            if problems > MAX_PROBLEMS:
                continue
        nothing = False
        yield event
    if nothing and objects:
        which = f"The one {what} here has no" if objects == 1 else f"None of the {objects} {what}s here has a"
        sentence = f"{which} known form: it may be another format, or of a later version."
        yield Problem(line=1, sentence=sentence, nothing_read=True, lines=objects)
    if problems > MAX_PROBLEMS:
        others = problems - MAX_PROBLEMS
        sentence = f"There were {others} more problems; the last one was in this line."
        yield Problem(line=last, sentence=sentence, lines=others)


def _events(documents: Iterable[tuple[int, bytes]], reader: Reader, what: str) -> Iterator[Event]:
    for line, data in documents:
        try:
            record = decode(data)
        except Unreadable as reason:
            yield Problem(line=line, sentence=f"This {what} {reason}; it is passed over.")
            continue
        if type(record) is dict:
            yield from reader.take(line, members(cast("object", record)))
        else:
            yield Problem(line=line, sentence=f"This {what} is no JSON object; it is passed over.")
    yield from reader.end()
