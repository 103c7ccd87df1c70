"""Reads JSON (RFC 8259, strictly) into rows with their lines; numbers exactly, and a repeated name as such.

Also a value that some decoder made of JSON already, where there is no text. One pass, no recursion; nothing is guessed:
comments, `NaN` and commas at the end are errors.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final, cast

from .checks import MAX_DIGITS, Value, whole_or_decimal
from .doc_tree import MAX_DEPTH, Content, Doubtful, Key, Shape, Tree, Unreadable

_SPACE: Final = r"[ \t\n\r]*+"
_STRING: Final = r'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?"
_KEY: Final = re.compile(f"{_SPACE}({_STRING}){_SPACE}:")
_VALUE: Final = re.compile(rf"{_SPACE}(?:({_STRING})|({_NUMBER})|(true|false|null)|([\[{{]))")
_NEXT: Final = re.compile(rf"{_SPACE}([,\]}}])")
_END: Final = re.compile(rf"{_SPACE}\Z")
_CONSTANTS: Final[Mapping[str, Value]] = {"true": True, "false": False, "null": None}
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def parse_json(text: str) -> Tree:
    """Reads a JSON text.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: it is no JSON, or too large.
    """
    return _Reader(text).read()


class _Reader:
    """Reads from left to right; `open` holds the containers that are not closed, each with its members so far."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.line, self.counted = 1, 0
        self.tree = Tree()
        self.open: list[list[int]] = []

    def read(self) -> Tree:
        while True:
            row = self._value()
            if self.tree.contents[row] in (Shape.MAPPING, Shape.SEQUENCE) and self._enter(row):
                continue
            if self._closed():
                break
        self._match(_END)
        return self.tree

    def _value(self) -> int:
        """The next value, with the key before it where it has one; its row."""
        if not self.open:
            found = self._match(_VALUE)
            line = self._line(self.at)
            return self.tree.root(_content(found), line, line)
        parent, count = self.open[-1]
        self.open[-1][1] += 1
        key: Key = count
        first = 0
        if self.tree.contents[parent] is Shape.MAPPING:
            found = self._match(_KEY)
            key, first = _text(found[1]), self._line(found.end(1))
        found = self._match(_VALUE)
        last = self._line(self.at)
        return self.tree.add(parent, key, _content(found), first or last, last)

    def _enter(self, row: int) -> bool:
        """Whether a container that begins here has members; then they come next."""
        if len(self.open) >= MAX_DEPTH:
            raise Unreadable("too-large")
        self.open.append([row, 0])
        end = _NEXT.match(self.text, self.at)
        return end is None or end[1] == ","

    def _closed(self) -> bool:
        """Takes what stands behind a value: the ends of containers, and a comma; whether the document is over."""
        while self.open:
            end = self._match(_NEXT)[1]
            if end == ",":
                return False
            row, _ = self.open.pop()
            if end != ("]" if self.tree.contents[row] is Shape.SEQUENCE else "}"):
                raise Unreadable("syntax-error")
            self.tree.lasts[row] = self._line(self.at)
        return True

    def _match(self, expected: re.Pattern[str]) -> re.Match[str]:
        found = expected.match(self.text, self.at)
        if found is None:
            raise Unreadable("syntax-error")
        self.at = found.end()
        return found

    def _line(self, at: int) -> int:
        """The line of a place, which lies behind that of the call before."""
        self.line += self.text.count("\n", self.counted, at)
        self.counted = at
        return self.line


def _content(found: re.Match[str]) -> Content:
    text, number, constant, container = found.groups()
    if text is not None:
        read = _text(text)
        return Shape.HIDDEN if _SURROGATE.search(read) else read
    if number is not None:
        return number_content(number)
    if constant is not None:
        return _CONSTANTS[constant]
    return Shape.SEQUENCE if container == "[" else Shape.MAPPING


def _text(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        return json.loads(token)
    except ValueError:
        raise Unreadable("syntax-error") from None


def number_content(text: str) -> Content:
    """A number as it is written, exactly; doubtful where a check could not write it down."""
    try:
        number = whole_or_decimal(Decimal(text)) if len(text) <= MAX_DIGITS else None
    except InvalidOperation:  # an exponent beyond what decimals have
        number = None
    return Doubtful(text, "incomparable") if number is None else number


# ---------------------------------------------------------------- decoded values


def tree_of_value(value: Any) -> Tree:
    """The rows of a decoded JSON value: dictionaries, lists, texts, numbers, booleans and None; no lines.

    Raises:
        Unreadable: it is too large or too deep, or holds something else.
    """
    tree = Tree()
    tree.literal = True
    open_ = [_members(tree, tree.root(_decoded(value), 0, 0), value)]
    while open_:
        step = next(open_[-1], None)
        if step is None:
            open_.pop()
            continue
        parent, key, member = step
        if len(open_) > MAX_DEPTH:
            raise Unreadable("too-large")
        open_.append(_members(tree, tree.add(parent, key, _decoded(member), 0, 0), member))
    return tree


def _members(tree: Tree, row: int, value: Any) -> Iterator[tuple[int, Key, Any]]:
    content = tree.contents[row]
    if content is Shape.MAPPING:
        return ((row, str(key), member) for key, member in cast("Mapping[Any, Any]", value).items())
    if content is Shape.SEQUENCE:
        return ((row, place, member) for place, member in enumerate(cast("list[Any]", value)))
    return iter(())


def _decoded(value: Any) -> Content:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return Shape.HIDDEN if _SURROGATE.search(value) else value
    if isinstance(value, Mapping):
        return Shape.MAPPING
    if isinstance(value, list | tuple):
        return Shape.SEQUENCE
    if isinstance(value, int):
        return value if abs(value) < 10**MAX_DIGITS else Shape.HIDDEN
    if isinstance(value, float):
        return number_content(repr(value)) if math.isfinite(value) else Doubtful(repr(value), "incomparable")
    if isinstance(value, Decimal):
        number = whole_or_decimal(value)
        return Shape.HIDDEN if number is None else number
    return Shape.HIDDEN
