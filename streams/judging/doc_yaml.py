"""Reads YAML from the events of PyYAML, which carry marks: no object is made, no alias expanded, no tag obeyed.

A plain scalar has the readings of YAML 1.1, by PyYAML's safe constructor, and of the core schema of YAML 1.2. A mapping
with a merge key may have keys that stand elsewhere.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Protocol, cast

from .doc_entries import CONSTANTS, MAX_ENTRIES, Rows, Scalar, Unreadable, number, text

MAX_DIRECTIVES: Final = 64
"""`%TAG` directives: the parser holds each one against all before it."""
MAX_SLOW: Final = 200_000
"""Characters, where only the parser written in Python is there."""
_TAG: Final = "tag:yaml.org,2002:"


class _Mark(Protocol):
    index: int


class _Event(Protocol):
    """The members of PyYAML's events that are read here; no class has all of them."""

    start_mark: _Mark
    end_mark: _Mark
    anchor: str | None
    tag: str | None
    style: str | None
    value: str
    flow_style: bool


def parse_yaml(source: str, rows: Rows) -> None:
    """Reads a stream of YAML documents; each of them is a root.

    Raises:
        Unreadable: it is no YAML, or too large.
    """
    builder = _Builder(source, rows)
    for name, event in _events(source):
        builder.take(name, event)


def _events(source: str) -> Iterator[tuple[str, _Event]]:
    """The events of the text, with the names of their classes."""
    import yaml  # here, since lanes and commands that judge no YAML do without it

    library = cast("Any", yaml)  # it has no types
    loader = getattr(library, "CSafeLoader", None)
    if source.count("%TAG") > MAX_DIRECTIVES or (loader is None and len(source) > MAX_SLOW):
        raise Unreadable("too-large")
    try:
        for event in library.parse(source, Loader=loader or library.SafeLoader):
            yield type(event).__name__, cast("_Event", event)
    except (library.YAMLError, ValueError):
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


class _Open:
    """A collection that has not ended.

    Attributes:
        row: its entry; -1 for one that no name leads to.
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
    """Makes entries of events."""

    def __init__(self, source: str, rows: Rows) -> None:
        self.source, self.rows = source, rows
        self.open: list[_Open] = []
        self.anchors: dict[str, int] = {}
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", source)]

    def take(self, name: str, event: _Event) -> None:
        if name == "DocumentStartEvent":
            self.anchors = {}
        elif name in ("MappingEndEvent", "SequenceEndEvent"):
            self._end(self.open.pop(), self._line(event.end_mark.index))
        elif name in ("ScalarEvent", "AliasEvent", "MappingStartEvent", "SequenceStartEvent"):
            self._node(name, event)

    def _line(self, index: int) -> int:
        return bisect_right(self.breaks, index - 1) + 1

    def _node(self, name: str, event: _Event) -> None:
        self.nodes += 1
        if self.nodes > 2 * MAX_ENTRIES:
            raise Unreadable("too-large")
        first = self._line(event.start_mark.index)
        plain = name == "ScalarEvent" and event.tag in (None, "!", f"{_TAG}str")
        top = self.open[-1] if self.open else None
        if top is not None and top.mapping and not top.named:
            top.name, top.named, top.line = event.value if plain else None, True, first
            if top.name is None and top.row >= 0:
                self.rows.entries[top.row].doubt = "computed"
            row = -1
        else:
            row = self._value(name, event, first, plain)
        if name == "AliasEvent":
            return
        if event.anchor:
            self.anchors[event.anchor] = row
        if name != "ScalarEvent":
            self.open.append(_Open(row, name == "MappingStartEvent", event.flow_style))

    def _value(self, name: str, event: _Event, first: int, plain: bool) -> int:
        """Adds a value or an item; its entry, or -1 where no name leads to it."""
        last = first
        if name == "ScalarEvent":
            end = event.end_mark.index
            if event.style in ("|", ">"):  # its mark stands behind the blank lines that follow
                while end > event.start_mark.index and self.source[end - 1].isspace():
                    end -= 1
            last = max(first, self._line(end))
        parent: int = -1
        key: str | int = ""
        if self.open:
            top = self.open[-1]
            parent, count = top.row, top.count
            top.count += 1
            if top.mapping:
                top.named = False
                first, name_ = top.line, top.name
                if name_ is None:
                    return -1
                key = name_
            else:
                key = count
            if parent < 0:
                return -1
            self.rows.reach(parent, last)
        kind = {"ScalarEvent": "value", "AliasEvent": "alias", "MappingStartEvent": "mapping"}.get(name, "list")
        row = self.rows.add(parent, key, cast("Any", kind), first, last)
        entry = self.rows.entries[row]
        if name == "AliasEvent":
            target = self.anchors.get(event.anchor or "")
            if target is None:
                raise Unreadable("syntax-error")
            if target < 0:
                entry.doubt = "computed"
            else:
                entry.alias = self.rows.entries[target].alias if self.rows.entries[target].alias >= 0 else target
        elif name == "ScalarEvent":
            self.rows.set(row, _scalar(event, plain))
        if key == "<<":
            self.rows.entries[parent].doubt = "computed"
        return row

    def _end(self, ended: _Open, line: int) -> None:
        if ended.row < 0:
            return
        if ended.flow:
            self.rows.reach(ended.row, line)
        if self.open and self.open[-1].row >= 0:
            self.rows.reach(self.open[-1].row, self.rows.entries[ended.row].last)


# ---------------------------------------------------------------- scalars

_CORE: Final = re.compile(
    r"(?P<null>~|null|Null|NULL|)|(?P<boolean>true|True|TRUE|false|False|FALSE)"
    r"|(?P<whole>[-+]?[0-9]++|0o[0-7]++|0x[0-9a-fA-F]++)"
    r"|(?P<float>[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<other>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
"""The tags of YAML 1.2.2, section 10.3.2."""


def _scalar(event: _Event, plain: bool) -> Scalar:
    content = event.value
    if not plain:
        return Scalar(doubt="computed")
    if event.tag is None and not event.style:
        return _plain(content)
    # A line end at the end of a block is not part of what a sentence says of it.
    return text(content.rstrip("\n") if event.style in ("|", ">") else content)


def _plain(content: str) -> Scalar:
    core, older = _core(content), _older(content)
    doubt = core.doubt or older.doubt
    if doubt is not None:
        return Scalar(written=content, doubt=doubt)
    return Scalar(tuple(dict.fromkeys((*core.readings, *older.readings))), content)


def _core(content: str) -> Scalar:
    found = _CORE.fullmatch(content)
    if found is None:
        return text(content)
    match found.lastgroup:
        case "null":
            return CONSTANTS["null"]
        case "boolean":
            return CONSTANTS[content.lower()]
        case "whole":
            base = {"0o": 8, "0x": 16}.get(content[:2])
            return number(content) if base is None or len(content) > 300 else number(str(int(content[2:], base)))
        case "float":
            return number(content)
        case _:
            return Scalar(doubt="incomparable")


@cache
def _library() -> tuple[Any, Any]:
    import yaml

    library = cast("Any", yaml)
    return library.resolver.Resolver(), library.constructor.SafeConstructor()


def _older(content: str) -> Scalar:
    """The reading of YAML 1.1: as PyYAML's safe constructor has it."""
    import yaml

    resolver, constructor = _library()
    tag: str = resolver.resolve(yaml.ScalarNode, content, (True, False)).removeprefix(_TAG)
    if tag not in ("null", "bool", "int", "float"):
        return text(content)
    if len(content) > 300:
        return Scalar(doubt="incomparable")
    try:
        value = constructor.construct_object(yaml.ScalarNode(_TAG + tag, content))
    except (ValueError, yaml.YAMLError, IndexError):
        return Scalar(doubt="incomparable")
    finally:
        constructor.constructed_objects.clear()
    if value is None or isinstance(value, bool):
        return CONSTANTS["null" if value is None else str(value).lower()]
    plain = content.replace("_", "")
    return number(plain if tag == "float" and ":" not in plain and "n" not in plain.lower() else str(value))
