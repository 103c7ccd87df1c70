"""Reads TOML into rows: the values by the standard library's parser, the lines by a scanner of the text's keys.

The scanner knows where a key begins and a value ends, and nothing of what a value means; strings over several lines,
arrays of tables, dotted and quoted keys do not mislead it. It runs first and bounds the depth, so that no document
makes the parser slow. A key that both do not agree on has no lines.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time
from typing import Any, Final, cast

from .checks import MAX_DIGITS
from .doc_json import number_content
from .doc_tree import MAX_DEPTH, MAX_ROWS, Block, Content, Doubtful, Key, Shape, Tree, Unreadable

MAX_PARTS: Final = 32
"""Parts of one dotted key: the parser takes time by the cube of their number."""


def parse_toml(text: str, original: str) -> Tree:
    """Reads a TOML document.

    Args:
        text: without a byte order mark; its lines end with a line feed.
        original: the same with the ends of lines as they stand, some of which are errors.

    Raises:
        Unreadable: it is no TOML, or too large.
    """
    places = _Scanner(text).places()
    try:
        value = tomllib.loads(original, parse_float=_number)
    except ValueError:
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None
    tree = Tree()
    open_ = [_members(tree, tree.root(Shape.MAPPING, 1, text.count("\n") + 1), value, places)]
    while open_:
        step = next(open_[-1], None)
        if step is None:
            open_.pop()
            continue
        parent, key, member, place = step
        first, last = (place.first, place.last) if place is not None else (0, 0)
        row = tree.add(parent, key, _content(member), first, last)
        if place is not None and place.blocks:
            tree.blocks[row] = place.blocks
        open_.append(_members(tree, row, member, place))
    _reach(tree)
    return tree


def _reach(tree: Tree) -> None:
    """What keys name before their last dot goes as far as the keys do; headers have lines of their own."""
    for row in range(len(tree.keys) - 1, 0, -1):
        parent = tree.parents[row]
        if row not in tree.blocks and parent not in tree.blocks and tree.firsts[parent]:
            tree.lasts[parent] = max(tree.lasts[parent], tree.lasts[row])


def _members(tree: Tree, row: int, value: Any, place: _Place | None) -> Iterator[tuple[int, Key, Any, _Place | None]]:
    places = {} if place is None else place.members
    content = tree.contents[row]
    if content is Shape.MAPPING:
        items = cast("Mapping[str, Any]", value).items()
        return ((row, key, member, places.get(key)) for key, member in items)
    if content is Shape.SEQUENCE:
        return ((row, at, member, places.get(at)) for at, member in enumerate(cast("list[Any]", value)))
    return iter(())


def _number(text: str) -> Any:
    """A float as the parser hands it over: exactly, or doubtful for `inf` and `nan`."""
    plain = text.replace("_", "")
    return number_content(plain) if plain.lstrip("+-")[:1].isdigit() else Doubtful(text, "incomparable")


def _content(value: Any) -> Content:
    if isinstance(value, dict):
        return Shape.MAPPING
    if isinstance(value, list):
        return Shape.SEQUENCE
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, int) and not isinstance(value, bool):
        return value if abs(value) < 10**MAX_DIGITS else Shape.HIDDEN
    return value


# ---------------------------------------------------------------- where keys stand


class _Place:
    """Where a key, a table or an item stands, and what stands below it.

    Attributes:
        blocks: the headers that name a table.
        listed: it is an array of tables, whose last member is the one that a header below it goes on with.
    """

    __slots__ = ("blocks", "first", "last", "listed", "members")

    def __init__(self, first: int) -> None:
        self.first = self.last = first
        self.blocks: list[Block] = []
        self.members: dict[Key, _Place] = {}
        self.listed = False


_BLANK: Final = re.compile(r"(?:[ \t\n\r]++|#[^\n]*+)*+")
_SPACE: Final = re.compile(r"[ \t]*+")
_BASIC: Final = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+"'
_LITERAL: Final = r"'[^'\n]*+'"
_PART: Final = re.compile(rf"[ \t]*+(?:([A-Za-z0-9_-]++)|({_BASIC})|({_LITERAL}))[ \t]*+")
_SCALAR: Final = re.compile(
    r'"""(?:[^"\\]++|\\[\s\S]|""?(?!"))*+"{3,5}'
    r"|'''(?:[^']++|''?(?!'))*+'{3,5}"
    rf"|{_BASIC}|{_LITERAL}|[^\s,\[\]{{}}#\"'=]++(?: [0-9][^\s,\[\]{{}}#\"'=]*+)?"
)


class _Scanner:
    """Reads the text once; any text that it does not understand is no TOML.

    Attributes:
        table: the table that keys go into.
        header: its block, as far as it is known: first and last line.
    """

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.line, self.counted, self.count = 1, 0, 0
        self.root = self.table = _Place(1)
        self.header: list[int] | None = None

    def places(self) -> _Place:
        """Where all keys stand.

        Raises:
            Unreadable: a syntax error, more keys or deeper ones than a document may have.
        """
        while True:
            self._take(_BLANK)
            if self.at >= len(self.text):
                break
            if self.text.startswith("[", self.at):
                self._header()
            else:
                self._pair(self.table)
                if self.header is not None:
                    self.header[1] = self._line()
            self._end_of_line()
        self._close(self.text.count("\n") + 1)
        return self.root

    def _header(self) -> None:
        listed = self.text.startswith("[[", self.at)
        line = self._line()
        self._close(line - 1)
        self.at += 2 if listed else 1
        *parents, name = self._key()
        self._expect("]]" if listed else "]")
        table = self.root
        for part in parents:
            table = self._below(table, part, line)
        table = self._item(table, name, line) if listed else self._below(table, name, line)
        self.table, self.header = table, [line, line]

    def _close(self, reach: int) -> None:
        """Before a header, or at the end: the block that ends here."""
        if self.header is not None:
            first, last = self.header
            self.table.blocks.append(Block(first, last, reach))
            self.table.last = max(self.table.last, last)

    def _below(self, table: _Place, part: str, line: int) -> _Place:
        """The table of that name in a table; of an array of tables the last one."""
        place = table.members.get(part)
        if place is None:
            place = table.members[part] = self._place(line)
        return place.members[len(place.members) - 1] if place.listed else place

    def _item(self, table: _Place, name: str, line: int) -> _Place:
        """A new table at the end of an array of tables."""
        places = table.members.get(name)
        if places is None:
            places = table.members[name] = self._place(line)
        elif not places.listed:
            raise Unreadable("syntax-error")
        places.listed = True
        item = places.members[len(places.members)] = self._place(line)
        return item

    def _place(self, line: int) -> _Place:
        self.count += 1
        if self.count > MAX_ROWS:
            raise Unreadable("too-large")
        return _Place(line)

    def _pair(self, table: _Place) -> None:
        """A key and its value, which may hold further ones."""
        open_: list[tuple[_Place, bool]] = []
        place = self._named(table)
        while True:
            if self.text.startswith(("[", "{"), self.at):
                if len(open_) >= MAX_DEPTH:
                    raise Unreadable("too-large")
                open_.append((place, self.text[self.at] == "["))
                self.at += 1
            else:
                self._take(_SCALAR)
                place.last = self._line()
            nested = self._inside(open_)
            if nested is None:
                return
            place = nested

    def _inside(self, open_: list[tuple[_Place, bool]]) -> _Place | None:
        """The next member of the innermost array or inline table; None where all are closed."""
        while open_:
            place, listed = open_[-1]
            self._take(_BLANK)
            if self.text.startswith(",", self.at):
                self.at += 1
                self._take(_BLANK)
            if self.text.startswith("]" if listed else "}", self.at):
                self.at += 1
                place.last = self._line()
                open_.pop()
                continue
            if not listed:
                return self._named(place)
            item = place.members[len(place.members)] = self._place(self._line())
            return item
        return None

    def _named(self, table: _Place) -> _Place:
        """Reads a key and the `=` behind it; where it stands, below a table."""
        line = self._line()
        *parents, name = self._key()
        self._expect("=")
        self._take(_SPACE)
        for part in parents:
            table = self._below(table, part, line)
            table.last = line
        place = self._place(line)
        return table.members.setdefault(name, place)

    def _key(self) -> list[str]:
        parts: list[str] = []
        while True:
            found = self._take(_PART)
            parts.append(_part(found))
            if len(parts) > MAX_PARTS:
                raise Unreadable("too-large")
            if not self.text.startswith(".", self.at):
                return parts
            self.at += 1

    def _end_of_line(self) -> None:
        self._take(_SPACE)
        if self.text[self.at : self.at + 1] not in ("", "\n", "#"):
            raise Unreadable("syntax-error")

    def _expect(self, mark: str) -> None:
        if not self.text.startswith(mark, self.at):
            raise Unreadable("syntax-error")
        self.at += len(mark)

    def _take(self, expected: re.Pattern[str]) -> re.Match[str]:
        found = expected.match(self.text, self.at)
        if found is None:
            raise Unreadable("syntax-error")
        self.at = found.end()
        return found

    def _line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line


def _part(found: re.Match[str]) -> str:
    bare, basic, literal = found.groups()
    if bare is not None:
        return bare
    if literal is not None:
        return literal[1:-1]
    try:
        return basic[1:-1] if "\\" not in basic else json.loads(_long_escape(basic))
    except ValueError:
        raise Unreadable("syntax-error") from None


def _long_escape(text: str) -> str:
    """TOML's `\\U0001F600` in the form that JSON has for it."""
    return _LONG.sub(lambda found: json.dumps(chr(min(int(found[1], 16), 0x10FFFF)))[1:-1], text)


_LONG: Final = re.compile(r"\\U([0-9A-Fa-f]{8})")
