"""Reads YAML into rows from the parser's events: no object is ever made, no alias expanded, no tag obeyed.

Plain scalars are read by the core schema of YAML 1.2; where YAML 1.1 reads them differently (`yes`, `017`, `1:30`), the
value is doubtful. Times and dates are texts. A mapping with a merge key may have keys that stand elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Final, Protocol, cast

from .checks import MAX_DIGITS
from .doc_json import number_content
from .doc_tree import MAX_DEPTH, MAX_ROWS, Content, Doubtful, Key, Shape, Tree, Unreadable

MAX_DIRECTIVES: Final = 64
"""`%TAG` directives: the parser holds each one against all before it."""
MAX_SLOW: Final = 200_000
"""Characters, where only the parser written in Python is there."""
_STR: Final = "tag:yaml.org,2002:str"
_MAP: Final = "tag:yaml.org,2002:map"
_SEQ: Final = "tag:yaml.org,2002:seq"


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    """What an event of PyYAML has; members that one of its classes lacks are never asked of it."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: str | None
    style: str | None
    value: str
    flow_style: bool


def parse_yaml(text: str) -> Tree:
    """Reads a stream of YAML documents; each of them is a root.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: it is no YAML, or too large.
    """
    builder = _Builder(text)
    for name, event in _events(text):
        builder.take(name, event)
    return builder.tree


def _events(text: str) -> Iterator[tuple[str, _Event]]:
    """The events of the text, with the names of their classes."""
    import yaml  # here, since lanes and commands that judge no YAML do without it

    library = cast("Any", yaml)  # it has no types
    loader = getattr(library, "CSafeLoader", None)
    if text.count("%TAG") > MAX_DIRECTIVES or (loader is None and len(text) > MAX_SLOW):
        raise Unreadable("too-large")
    try:
        for event in library.parse(text, Loader=loader or library.SafeLoader):
            yield type(event).__name__, cast("_Event", event)
    except (library.YAMLError, ValueError):
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


class _Open:
    """A collection that has not ended.

    Attributes:
        row: where it is; -1 for one that no name leads to.
        mapping: it is a mapping, else a sequence.
        flow: it is written in brackets.
        name: the key whose value comes next; None for one that no name leads to.
        named: a key has come, and its value has not.
        line: of that key.
        count: items so far.
    """

    __slots__ = ("count", "flow", "line", "mapping", "name", "named", "row")

    def __init__(self, row: int, mapping: bool, flow: bool) -> None:
        self.row, self.mapping, self.flow = row, mapping, flow
        self.name: str | None = None
        self.named = False
        self.line = self.count = 0


class _Builder:
    """Makes rows of events."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = Tree()
        self.open: list[_Open] = []
        self.anchors: dict[str, int] = {}
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", text)]

    def take(self, name: str, event: _Event) -> None:
        if name == "DocumentStartEvent":
            self.anchors = {}
        elif name == "ScalarEvent":
            self._scalar(event)
        elif name == "AliasEvent":
            self._alias(event)
        elif name in ("MappingStartEvent", "SequenceStartEvent"):
            self._start(event, name == "MappingStartEvent")
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self._end(event)

    def _line(self, index: int) -> int:
        """The line of a character; the parser's own count goes by more kinds of line ends than ours."""
        return bisect_right(self.breaks, index - 1) + 1

    def _scalar(self, event: _Event) -> None:
        first = self._line(event.start_mark.index)
        if self._is_key():
            self._anchor(event, -1)
            top = self.open[-1]
            plain = event.tag is None and not event.style
            if plain and event.value == "<<" and top.row >= 0:
                self.tree.merging.add(top.row)
            self._key(event.value if event.tag in (None, "!", _STR) else None, first)
            return
        block = event.style in ("|", ">")
        last = self._trimmed(first, event.end_mark.index) if block else self._line(event.end_mark.index)
        self._anchor(event, self._place(_value(event), first, last))

    def _trimmed(self, first: int, end: int) -> int:
        """The last line of a block scalar that has text; the parser ends it where something else begins."""
        end -= 1
        while end > 0 and self.text[end] in " \n":
            end -= 1
        return max(first, self._line(end))

    def _alias(self, event: _Event) -> None:
        line = self._line(event.start_mark.index)
        if self._is_key():
            self._key(None, line)
            return
        if event.anchor not in self.anchors:
            raise Unreadable("syntax-error")
        target = self.anchors[event.anchor]
        row = self._place(Shape.HIDDEN, line, line)
        if row >= 0 and target >= 0:
            target = self.tree.target(target)
            self.tree.aliases[row] = target
            self.tree.shared.add(target)

    def _start(self, event: _Event, mapping: bool) -> None:
        if len(self.open) >= MAX_DEPTH:
            raise Unreadable("too-large")
        line = self._line(event.start_mark.index)
        row = -1
        if self._is_key():
            self._key(None, line)
        else:
            known = event.tag in (None, "!", _MAP, _SEQ)
            shape = Shape.MAPPING if mapping else Shape.SEQUENCE
            row = self._place(shape if known else Shape.HIDDEN, line, line)
            self.tree.hides |= not known
            row = row if known else -1
        self._anchor(event, row)
        self.open.append(_Open(row, mapping, bool(event.flow_style)))

    def _end(self, event: _Event) -> None:
        ended = self.open.pop()
        if ended.row < 0:
            return
        if ended.flow:
            self._reach(ended.row, self._line(event.end_mark.index))
        if self.open:
            self._reach(self.open[-1].row, self.tree.lasts[ended.row])

    def _reach(self, row: int, last: int) -> None:
        if row >= 0:
            self.tree.lasts[row] = max(self.tree.lasts[row], last)

    def _is_key(self) -> bool:
        """Whether the node that comes is a key of a mapping."""
        return bool(self.open) and self.open[-1].mapping and not self.open[-1].named

    def _key(self, name: str | None, line: int) -> None:
        top = self.open[-1]
        top.name, top.named, top.line = name, True, line
        self.tree.hides |= name is None

    def _anchor(self, event: _Event, row: int) -> None:
        if event.anchor:
            self.anchors[event.anchor] = row

    def _place(self, content: Content, first: int, last: int) -> int:
        """Adds the node that comes, a value or an item; its row, or -1 where no name leads to it."""
        self.nodes += 1
        if self.nodes > MAX_ROWS:
            raise Unreadable("too-large")
        if not self.open:
            return self.tree.root(content, first, last)
        top = self.open[-1]
        key: Key | None = top.name if top.mapping else top.count
        top.named = False
        top.count += 1
        if top.row < 0 or key is None:
            return -1
        first = top.line if top.mapping else first
        self._reach(top.row, last)
        return self.tree.add(top.row, key, content, first, last)


# ---------------------------------------------------------------- scalars

_NULLS: Final = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS: Final = {word: one == "true" for one in ("true", "false") for word in (one, one.title(), one.upper())}
_WORDS_OF_1_1: Final = frozenset(
    word for one in ("y", "n", "yes", "no", "on", "off") for word in (one, one.title(), one.upper())
)
_NUMBER: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9]*+)|0x[0-9a-fA-F]++|[-+]?(?:[0-9]++\.[0-9]*+|\.[0-9]++)(?:[eE][-+][0-9]++)?"
)
"""What both versions read as one number."""
_NUMBER_IN_ONE: Final = re.compile(
    r"[-+]?(?:0[0-9_]++|[0-9][0-9_]*+(?:\.[0-9_]*+)?|\.[0-9_]++)(?:[eE][-+]?[0-9]++)?"
    r"|[-+]?0[box][0-9a-fA-F_]++|[-+]?[0-9][0-9_]*+(?::[0-5]?[0-9])++(?:\.[0-9_]*+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""A number in one version and a text, or another number, in the other; and what is no number that a check has."""


def _value(event: _Event) -> Content:
    text = event.value
    if event.tag not in (None, "!", _STR):
        return Shape.HIDDEN
    if event.tag is None and not event.style:
        return _plain(text)
    # A line end at the end of a block is not part of what is said of it.
    return text.rstrip("\n") if event.style in ("|", ">") else text


def _plain(text: str) -> Content:
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if text in _WORDS_OF_1_1:
        return Doubtful(text, "incomparable")
    if _NUMBER.fullmatch(text):
        if text.startswith("0x"):
            return int(text, 16) if len(text) <= MAX_DIGITS else Doubtful(text, "incomparable")
        return number_content(text)
    return Doubtful(text, "incomparable") if _NUMBER_IN_ONE.fullmatch(text) else text
