"""Reads JSON and YAML: mappings and lists that stand in one another, from the tokens of JSON and the events of PyYAML.

No object is made, no alias expanded, no tag obeyed. A plain scalar of YAML has the value that YAML 1.1 and the core
schema of YAML 1.2 read alike. A mapping with a merge key may have keys that stand elsewhere; what stands in the target
of an alias has the names that it has there.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import Any, Final, Literal, NamedTuple, cast

from .doc_entries import CONSTANTS, MAX_ENTRIES, Kind, Rows, Scalar, Unreadable, number, reading, text

MAX_DIRECTIVES: Final = 64
"""`%TAG` directives: the parser holds each one against all before it."""
MAX_SLOW: Final = 200_000
"""Characters, where only the parser written in Python is there."""
_TAG: Final = "tag:yaml.org,2002:"
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[][}{]|[^]["}{,:\s]++')
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Event(NamedTuple):
    """What begins or ends in a text.

    Attributes:
        kind: a `document` begins, or a mapping or list; one of those ends; or the thing stands there whole.
        start, end: its place in the text.
        key: the name that it is as a key; None where it is none.
        scalar: the value.
        anchor: the name by which an alias repeats it; of an alias, what it repeats.
        flow: of a mapping or list, its end is marked.
    """

    kind: Kind | Literal["document", "alias", "end"]
    start: int
    end: int
    key: str | None = None
    scalar: Scalar | None = None
    anchor: str | None = None
    flow: bool = True


def parse_json(source: str, rows: Rows) -> None:
    """Reads a JSON text (RFC 8259, strictly).

    Raises:
        Unreadable: it has a syntax error, or is too large.
    """
    try:
        json.loads(source, parse_int=str, parse_float=str, parse_constant=_refuse)
        _Builder(source, rows, _tokens(source)).read()
    except ValueError:
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


def _refuse(name: str) -> Any:
    raise ValueError(name)


_BRACKETS: Final[dict[str, Literal["mapping", "list", "end"]]] = {
    "{": "mapping",
    "[": "list",
    "}": "end",
    "]": "end",
}


def _tokens(source: str) -> Iterator[_Event]:
    """The tokens of a text that the library takes as JSON."""
    for match in _TOKEN.finditer(source):
        token, (start, end) = match[0], match.span()
        if token in _BRACKETS:
            yield _Event(_BRACKETS[token], start, end)
        elif token[0] != '"':
            yield _Event("value", start, end, None, CONSTANTS.get(token) or number(token))
        else:
            content: str = json.loads(token) if "\\" in token else token[1:-1]
            half = _SURROGATE.search(content) is not None
            scalar = Scalar(doubt="computed") if half else text(content)
            yield _Event("value", start, end, None if half else content, scalar)


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
    try:
        _Builder(source, rows, _events(source, library.parse(source, Loader=loader or library.SafeLoader))).read()
    except (library.YAMLError, ValueError):
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


_KINDS: Final[dict[str, Kind | Literal["document", "alias", "end"]]] = {
    "DocumentStartEvent": "document",
    "MappingStartEvent": "mapping",
    "SequenceStartEvent": "list",
    "MappingEndEvent": "end",
    "SequenceEndEvent": "end",
    "AliasEvent": "alias",
}


def _events(source: str, events: Iterator[Any]) -> Iterator[_Event]:
    """The events of PyYAML."""
    for event in events:
        name, start, end = type(event).__name__, event.start_mark.index, event.end_mark.index
        if name in _KINDS:
            flow, anchor = getattr(event, "flow_style", True), getattr(event, "anchor", None)
            yield _Event(_KINDS[name], start, end, None, None, anchor, flow)
        elif name == "ScalarEvent":
            content: str = event.value
            key, scalar = content, Scalar(doubt="computed")
            if event.tag not in (None, "!", f"{_TAG}str"):
                key = None
            elif event.tag is None and not event.style:
                scalar = _plain(content)
            elif event.style in ("|", ">"):
                scalar = text(content.rstrip("\n"))  # the line end is not part of what a sentence says of it
                while end > start and source[end - 1].isspace():  # the mark stands behind the blank lines that follow
                    end -= 1
            else:
                scalar = text(content)
            yield _Event("value", start, end, key, scalar, event.anchor)


class _Builder:
    """Makes entries of events.

    Attributes:
        anchors: the shapes and values that aliases repeat.
    """

    def __init__(self, source: str, rows: Rows, events: Iterator[_Event]) -> None:
        self.rows, self.events = rows, events
        self.anchors: dict[str | None, tuple[Kind, Scalar | None]] = {}
        self.nodes = 0
        self.breaks = [found.start() for found in re.finditer("\n", source)]

    def read(self) -> None:
        """Takes all events."""
        for event in self.events:
            if event.kind == "document":
                self.anchors.clear()
            else:
                self._add(event, -1, "")

    def _line(self, index: int) -> int:
        return bisect_right(self.breaks, index - 1) + 1

    def _add(self, event: _Event, parent: int, key: str | int | None, first: int = 0) -> int:
        """Adds what begins with an event.

        Args:
            event: the first one of it.
            parent: the entry that it stands in.
            key: in that entry; None where no name leads to it.
            first: the line of the key, where that is before.

        Returns:
            The last line of it.
        """
        self.nodes += 1
        if self.nodes > 2 * MAX_ENTRIES:
            raise Unreadable("too-large")
        line, kind, scalar = self._line(event.start), event.kind, event.scalar
        last = max(line, self._line(event.end)) if kind == "value" else line
        if kind == "alias" and event.anchor in self.anchors:
            kind, scalar = self.anchors[event.anchor]
        elif kind in ("alias", "document", "end"):
            raise Unreadable("syntax-error")
        row = -1 if key is None else self.rows.add(parent, key, kind, first or line, last, scalar)
        if event.kind != "alias" and event.anchor is not None:
            self.anchors[event.anchor] = kind, scalar or Scalar(doubt="computed")
        return self._inside(event, row, last) if event.kind in ("mapping", "list") else last

    def _inside(self, begin: _Event, row: int, last: int) -> int:
        """Adds what stands in a mapping or list, up to its end; returns its last line."""
        for count, event in enumerate(self.events):
            if event.kind == "end":
                last = self._line(event.end) if begin.flow else last
                break
            key, first = cast("str | int | None", count), 0
            if begin.kind == "mapping":
                key, first = event.key, self._line(event.start)
                last = max(last, self._add(event, -1, None))
                event = next(self.events)
                if row >= 0 and key in (None, "<<"):
                    self.rows.entries[row].doubt = "computed"
            last = max(last, self._add(event, row, None if row < 0 else key, first))
        if row >= 0:
            self.rows.reach(row, last)
        return last


# ---------------------------------------------------------------- scalars

_NUMBER: Final = re.compile(r"[-+]?(?:0|[1-9][0-9]*+)(?:\.[0-9]*+(?:[eE][-+][0-9]++)?)?")
"""A decimal number in either version."""
_CORE: Final = re.compile(
    r"[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?|0o[0-7]++|0x[0-9a-fA-F]++"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
)
"""What may be a number in YAML 1.2 (section 10.3.2)."""


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
