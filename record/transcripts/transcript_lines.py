"""What the readers of transcripts share: lines with their positions, calls and results, text apart from thoughts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Final, Protocol, cast

from ..events import Event, Message, Problem, ToolCall, TurnBegan, TurnEnded
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
    """The lines of a file, with their ends; of a longer one `MAX_LINE` bytes and one more. `begun` was read already."""
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
    """The problem of something (`what`) that a later version of the agent may write."""
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


_MAX_LATE: Final = 10_000  # identifiers of calls of earlier turns that got no result


@dataclass(slots=True)
class _Call:
    name: str
    arguments: dict[str, Any]
    at: datetime | None
    cwd: str | None


@dataclass(slots=True)
class _Result:
    text: str | None
    ok: bool
    at: datetime | None
    line: int
    exit: int | None


class TurnBuilder:
    """The turn that is open: what it holds is all that a reader holds.

    A call that is told again before its result takes the place of the first telling; a call and a result told again
    afterwards are passed over. A result that comes before its call waits for it until the turn ends.
    """

    def __init__(self) -> None:
        self.running = False
        self.active = False
        """Whether the agent has done or said something in this turn."""
        self.turn_id = ""
        self._expected: tuple[str, datetime | None] | None = None
        self._at: datetime | None = None
        self._open: dict[str, _Call] = {}
        self._done: dict[str, int] = {}  # identifiers of calls with a result -> what they were called with
        self._early: dict[str, _Result] = {}
        self._early_size = 0
        self._late: dict[str, None] = {}

    def begin(self, turn_id: str, at: datetime | None) -> Iterator[Event]:
        """A prompt: the open turn ends, the next one begins."""
        yield from self.end()
        self.running, self.turn_id, self._at = True, turn_id, at
        yield TurnBegan(turn_id=turn_id, at=at)

    def expect(self, turn_id: str, at: datetime | None) -> Iterator[Event]:
        """Something that may be a prompt: the open turn ends, the next one begins once the agent does something."""
        yield from self.end()
        self._expected = turn_id, at

    def ensure(self, turn_id: str, at: datetime | None) -> Iterator[Event]:
        """The agent does something: a turn begins where none is open, as in a transcript without its beginning."""
        if not self.running:
            yield from self.begin(*(self._expected or (turn_id, at)))
        self.active = True
        self._see(at)

    def said(self, text: str, at: datetime | None) -> Iterator[Event]:
        """A text of the agent; blank ones are passed over. `ensure` comes first."""
        if text.strip():
            self._see(at)
            yield Message(text=text, at=at)

    def call(
        self, call_id: str, name: str, arguments: dict[str, Any], *, at: datetime | None, cwd: str | None
    ) -> Iterator[Event]:
        """A call. `ensure` comes first."""
        if (known := self._open.get(call_id)) is not None:
            known.name = name or known.name
            known.arguments = arguments or known.arguments
            known.cwd = cwd or known.cwd
        elif self._done.get(call_id) != _fingerprint(name, arguments):
            self._open[call_id] = _Call(name, arguments, at, cwd)
            if (early := self._early.pop(call_id, None)) is not None:
                self._early_size -= len(early.text or "")
                yield from self.result(call_id, early.text, early.ok, at=early.at, line=early.line, exit=early.exit)

    def awaits(self, call_id: str) -> bool:
        """Whether this call has no result yet."""
        return call_id in self._open

    def knows(self, call_id: str) -> bool:
        """Whether this call was told in this turn."""
        return call_id in self._open or call_id in self._done

    def result(
        self,
        call_id: str,
        result: str | None,
        ok: bool,
        *,
        at: datetime | None,
        line: int,
        cwd: str | None = None,
        exit: int | None = None,
    ) -> Iterator[Event]:
        """A result: the call is told with it, at once. `exit` is the status of a command line, where that is told."""
        call = self._open.pop(call_id, None)
        if call is not None:
            self._see(at)
            self._done[call_id] = _fingerprint(call.name, call.arguments)
            yield _tool_call(call_id, call, result, ok, at, cwd, exit)
        elif call_id in self._done or call_id in self._early:
            return
        elif call_id in self._late:
            yield Problem(line=line, sentence=f"The result of the call {call_id[:80]!r} came after its turn had ended.")
        else:
            self._early[call_id] = _Result(result, ok, at, line, exit)
            self._early_size += len(result or "")
            while self._early_size > MAX_LINE and len(self._early) > 1:
                yield self._orphan(next(iter(self._early)))

    def end(self) -> Iterator[Event]:
        """The end of the turn: calls without a result are told, in the order they were made."""
        for call_id, call in self._open.items():
            self._late[call_id] = None
            yield _tool_call(call_id, call, None, False, None, None, None)
        while len(self._late) > _MAX_LATE:
            del self._late[next(iter(self._late))]
        while self._early:
            yield self._orphan(next(iter(self._early)))
        if self.running:
            yield TurnEnded(at=self._at)
        self.running = self.active = False
        self._expected = self._at = None
        self._open.clear()
        self._done.clear()

    def _see(self, at: datetime | None) -> None:
        if at is not None and (self._at is None or at > self._at):
            self._at = at

    def _orphan(self, call_id: str) -> Problem:
        early = self._early.pop(call_id)
        self._early_size -= len(early.text or "")
        return Problem(line=early.line, sentence=f"There is no call {call_id[:80]!r} that this is the result of.")


def _tool_call(
    call_id: str,
    call: _Call,
    result: str | None,
    ok: bool,
    at: datetime | None,
    cwd: str | None,
    exit: int | None,
) -> ToolCall:
    return ToolCall(
        call_id=call_id,
        name=call.name,
        arguments=call.arguments,
        result=result,
        ok=ok,
        at=at or call.at,
        cwd=call.cwd or cwd,
        exit=exit,
    )


def _fingerprint(name: str, arguments: dict[str, Any]) -> int:
    return hash((name, json.dumps(arguments, sort_keys=True)))


_IN_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_TOKEN: Final = re.compile(rb'["\[\]{}]')
_MAX_NAME: Final = 64


def elements(pieces: Iterable[bytes], lists: frozenset[bytes], *, objects: bool) -> Iterator[tuple[int, bytes]]:
    """The objects in a JSON list, each with the number of the line that it begins in.

    The list is the document, or a member of the document's object with one of the names `lists`; all other members are
    passed over unseen. With `objects`, a document without such a list is an element itself, and documents may follow
    one another. Of an element that is longer than `MAX_LINE`, that many bytes and one more are given; where the bytes
    end inside the document, what there is of the last element.
    """
    return _Splitter(lists, objects).split(pieces)


class _Splitter:
    def __init__(self, lists: frozenset[bytes], objects: bool) -> None:
        self._lists, self._objects = lists, objects
        self._line = 1
        self._depth = 0
        self._inside = 0  # depth of the elements of the list that is read; 0 outside of it
        self._string = False
        self._escape = False
        self._name = b""  # of the member of the document's object, or the last text directly in it
        self._taking = False
        self._taken: list[bytes] = []
        self._size = 0
        self._began = 1
        self._seen = False  # an object or a list

    def split(self, pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        start = b""
        for piece in pieces:
            if not self._seen and len(start) < _MAX_NAME:
                start += piece.strip()[:_MAX_NAME]
            yield from self._scan(piece)
        if self._taking:
            yield self._began, b"".join(self._taken)
        elif self._depth or (start and not self._seen):
            yield self._line, start if not self._seen else b"{"  # what is no JSON alike: the document is cut off

    def _scan(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        at = counted = begin = 0
        if self._escape and data:
            self._escape, at = False, 1
        while at < len(data):
            if self._string:
                found = _IN_STRING.match(data, at)
                end = found.end() if found else len(data)
                if self._depth == 1 and len(self._name) < _MAX_NAME:
                    self._name += data[at : min(end, at + _MAX_NAME)]
                if end < len(data) and data[end] == 0x22:
                    self._string = False
                    end += 1
                elif end < len(data):  # this piece ends in the middle of an escape
                    self._escape, end = True, len(data)
                at = end
                continue
            token = _TOKEN.search(data, at)
            if token is None:
                break
            at = token.end()
            byte = data[at - 1]
            if byte == 0x22:
                self._string = True
                if self._depth == 1:
                    self._name = b""
            elif byte in b"{[":
                self._line += data.count(b"\n", counted, at)
                counted = at
                if self._open(byte):
                    begin = at - 1
            elif self._close():
                self._take(data[begin:at])
                yield self._began, b"".join(self._taken)
                self._taking = False
        if self._taking:
            self._take(data[begin:])
        self._line += data.count(b"\n", counted)

    def _open(self, byte: int) -> bool:
        """Whether an element begins here."""
        depth, self._depth, self._seen = self._depth, self._depth + 1, True
        if byte == 0x5B and not self._inside and (depth == 0 or (depth == 1 and self._name in self._lists)):
            self._inside = self._depth
            self._taking = False
            return False
        if (depth == self._inside) if self._inside else (depth == 0 and self._objects):
            self._taking, self._taken, self._size, self._began = True, [], 0, self._line
            return True
        return False

    def _close(self) -> bool:
        """Whether an element ends here."""
        self._depth = max(self._depth - 1, 0)
        if self._inside and self._depth < self._inside:
            self._inside = 0
        return self._taking and self._depth == self._inside

    def _take(self, data: bytes) -> None:
        if self._size <= MAX_LINE:
            self._taken.append(data[: MAX_LINE + 1 - self._size])
            self._size += len(self._taken[-1])
