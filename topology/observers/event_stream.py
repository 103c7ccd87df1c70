"""Server-sent events: bytes in, events out (WHATWG HTML, «Server-sent events», 9.2.5 and 9.2.6). No I/O.

A small parser of our own: the ones at hand keep a line or an event in memory however long it grows, and a channel is a
stranger.
"""

from __future__ import annotations

import codecs
from typing import Final, NamedTuple

MAX_EVENT: Final = 65_536
"""Characters of one line, and of the data of one event: a count and what stands around it are small."""


class TooLong(Exception):
    """A line or an event is longer than `MAX_EVENT`."""


class Event(NamedTuple):
    """One event as it is dispatched."""

    type: str
    data: str


class EventStream:
    """The state of one stream.

    Attributes:
        last_event_id: what a reconnection sends as `Last-Event-ID`; outlives the stream.
        retry: milliseconds before reconnecting, as the stream asked; None where it did not.

    Invariant: line and data kept are never longer than `MAX_EVENT`.
    """

    def __init__(self, last_event_id: str = "") -> None:
        self.last_event_id = last_event_id
        self.retry: int | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._first = True
        self._after_cr = False
        self._line: list[str] = []
        self._length = 0
        self._type, self._id = "", last_event_id
        self._data: list[str] = []
        self._data_length = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete. An event that the end of a stream cuts short is never one.

        Raises:
            TooLong: a line or an event exceeds `MAX_EVENT`; the stream is of no more use.
        """
        text = self._decode(data)
        if not text:
            return []
        if self._first:
            self._first = False
            text = text.removeprefix("\ufeff")
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
            self._after_cr = False
        if not text:
            return []
        self._after_cr = text.endswith("\r")
        found: list[Event] = []
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        for place, piece in enumerate(lines):
            self._length += len(piece)
            if self._length > MAX_EVENT:
                raise TooLong
            self._line.append(piece)
            if place == len(lines) - 1:
                break
            line = "".join(self._line)
            self._line, self._length = [], 0
            event = self._take(line)
            if event is not None:
                found.append(event)
        return found

    def _take(self, line: str) -> Event | None:
        if not line:
            return self._dispatch()
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data_length += len(value) + 1
            if self._data_length > MAX_EVENT:
                raise TooLong
            self._data.append(value)
        elif field == "event":
            self._type = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit() and len(value) < 10:
            self.retry = int(value)
        return None  # a comment has an empty field name; other names mean nothing

    def _dispatch(self) -> Event | None:
        self.last_event_id = self._id
        type_, data = self._type or "message", self._data
        self._type, self._data, self._data_length = "", [], 0
        return Event(type_, "\n".join(data)) if data else None
