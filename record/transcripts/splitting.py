"""Elements of one long JSON document, one at a time, without holding the document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from .foreign_json import MAX_LINE

_IN_STRING: Final = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_TOKEN: Final = re.compile(rb'["\[\]{}]')
_MAX_NAME: Final = 64


def elements(pieces: Iterable[bytes], lists: frozenset[bytes], *, objects: bool) -> Iterator[tuple[int, bytes]]:
    """The objects in a JSON list, each with the number of the line that it begins in.

    The list is the document, or a member of the document's object with one of the names `lists`; all other members are
    passed over unseen. With `objects`, a document without such a list is an element itself, and documents may follow
    one another. Of an element that is longer than `MAX_LINE`, that many bytes and one more are given; where the bytes
    end inside the document, what there is of the last element.

    Args:
        pieces: the document's bytes, cut anywhere.
        lists: names of the member that is the list.
        objects: whether an object without such a list is an element.
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
