"""Reads YAML from the events of PyYAML, which carry marks: no object is made, no alias expanded, no tag obeyed.

A plain scalar has the value that YAML 1.1 and the core schema of YAML 1.2 read alike. A mapping
with a merge key may have keys that stand elsewhere; what stands in the target of an alias has the names that it has
there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache
from typing import Any, Final, Protocol, cast

from .doc_entries import CONSTANTS, MAX_ENTRIES, Kind, Rows, Scalar, Unreadable, number, reading, text

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
    anchor: str
    tag: str | None
    style: str | None
    value: str
    flow_style: bool


def parse_yaml(source: str, rows: Rows) -> None:
    """Reads a stream of YAML documents; each of them is a root.

    Raises:
        Unreadable: it is no YAML, or too large.
    """
    import yaml  # here, since lanes and commands that judge no YAML do without it

    library = cast("Any", yaml)  # it has no types
    loader = getattr(library, "CSafeLoader", None)
    if source.count("%TAG") > MAX_DIRECTIVES or (loader is None and len(source) > MAX_SLOW):
        raise Unreadable("too-large")
    builder = _Builder(source, rows, library.parse(source, Loader=loader or library.SafeLoader))
    try:
        for name, event in builder:
            if name == "DocumentStartEvent":
                builder.anchors.clear()
            elif not name.startswith(("Stream", "Document")):
                builder.add(name, event, -1, "")
    except (library.YAMLError, ValueError):
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


class _Builder:
    """Makes entries of events.

    Attributes:
        anchors: the shapes and values that aliases repeat.
    """

    def __init__(self, source: str, rows: Rows, events: Any) -> None:
        self.source, self.rows, self.events = source, rows, events
        self.anchors: dict[str, tuple[Kind, Scalar | None]] = {}
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", source)]

    def __iter__(self) -> _Builder:
        return self

    def __next__(self) -> tuple[str, _Event]:
        """The next event, with the name of its class."""
        event = next(self.events)
        return type(event).__name__, event

    def _line(self, index: int) -> int:
        return bisect_right(self.breaks, index - 1) + 1

    def add(self, name: str, event: _Event, parent: int, key: str | int | None, first: int = 0) -> int:
        """Adds the node that begins with an event.

        Args:
            name: the event's.
            event: the first one of the node.
            parent: the entry that it stands in.
            key: in that entry; None where no name leads to it.
            first: the line of the key, where that is before the node.

        Returns:
            The last line of the node.
        """
        self.nodes += 1
        if self.nodes > 2 * MAX_ENTRIES:
            raise Unreadable("too-large")
        last = self._line(event.start_mark.index)
        kind, scalar = _KINDS.get(name, "value"), None
        if name == "AliasEvent":
            if event.anchor not in self.anchors:
                raise Unreadable("syntax-error")
            kind, scalar = self.anchors[event.anchor]
        elif name == "ScalarEvent":
            scalar, last = _scalar(event), self._last(event)
        row = None if key is None else self.rows.add(parent, key, kind, first or last, last, scalar)
        if name == "AliasEvent":
            return last
        if event.anchor:
            self.anchors[event.anchor] = kind, scalar or Scalar(doubt="computed")
        if name != "ScalarEvent":
            last = self._inside(event, row, kind, last)
        return last

    def _inside(self, event: _Event, row: int | None, kind: Kind, last: int) -> int:
        """Adds what stands in a mapping or list, up to its end; returns its last line."""
        for count, (name, inner) in enumerate(self):
            if name in ("MappingEndEvent", "SequenceEndEvent"):
                last = self._line(inner.end_mark.index) if event.flow_style else last
                break
            key, first = cast("str | int | None", count), 0
            if kind == "mapping":
                key, first = inner.value if _is_text(name, inner) else None, self._line(inner.start_mark.index)
                last = max(last, self.add(name, inner, -1, None))
                name, inner = next(self)
                if row is not None and key in (None, "<<"):
                    self.rows.entries[row].doubt = "computed"
            last = max(last, self.add(name, inner, -1 if row is None else row, None if row is None else key, first))
        if row is not None:
            self.rows.reach(row, last)
        return last

    def _last(self, event: _Event) -> int:
        """The last line of a scalar; the mark at the end of a block stands behind the blank lines that follow."""
        start, end = event.start_mark.index, event.end_mark.index
        while event.style in ("|", ">") and end > start and self.source[end - 1].isspace():
            end -= 1
        return max(self._line(start), self._line(end))


_KINDS: Final[dict[str, Kind]] = {"MappingStartEvent": "mapping", "SequenceStartEvent": "list"}


def _is_text(name: str, event: _Event) -> bool:
    return name == "ScalarEvent" and event.tag in (None, "!", f"{_TAG}str")


# ---------------------------------------------------------------- scalars

_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*+)(?:\.[0-9]*+(?:[eE][-+][0-9]++)?)?")
"""A decimal number in either version."""
_CORE: Final = re.compile(
    r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?|0o[0-7]++|0x[0-9a-fA-F]++"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""What may be a number in YAML 1.2 (section 10.3.2)."""


def _scalar(event: _Event) -> Scalar:
    content = event.value
    if not _is_text("ScalarEvent", event):
        return Scalar(doubt="computed")
    if event.tag is None and not event.style:
        return _plain(content)
    # A line end at the end of a block is not part of what a sentence says of it.
    return text(content.rstrip("\n") if event.style in ("|", ">") else content)


def _plain(content: str) -> Scalar:
    """A scalar without quotes: what both versions read alike, or a word that is a boolean in one of them."""
    tag = _tag(content)
    if tag == "null" or content.lower() in ("true", "false"):
        return CONSTANTS[content.lower() if tag == "bool" else "null"]._replace(written=content)
    if tag == "bool":
        return reading(content.lower() in ("yes", "on"), content)._replace(written=content)
    if _NUMBER.fullmatch(content):
        return number(content)._replace(written=content)
    if tag in ("int", "float") or _CORE.fullmatch(content):
        return Scalar(written=content, doubt="ambiguous")
    return text(content)._replace(written=content)


@cache
def _resolver() -> tuple[Any, Any]:
    import yaml

    library = cast("Any", yaml)
    return library.resolver.Resolver(), library.ScalarNode


def _tag(content: str) -> str:
    """The tag of a plain scalar in YAML 1.1."""
    resolver, kind = _resolver()
    return resolver.resolve(kind, content, (True, False)).removeprefix(_TAG)
