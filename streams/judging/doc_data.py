"""Reads JSON and TOML: structure and lines by tree-sitter's grammars, values by the standard library's parsers.

Each key of the grammar is looked up in the parsed value. Where the two differ in a key, in the number of its
occurrences or in a value, the whole document is ambiguous.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from datetime import date, datetime, time
from functools import cache
from importlib import import_module, resources
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from .doc_entries import CONSTANTS, MAX_DEPTH, MAX_ENTRIES, Kind, Rows, Scalar, Unreadable, number, text

if TYPE_CHECKING:
    from tree_sitter import Language, Node, Query

MAX_BYTES: Final = 1_200_000
MAX_MARKS: Final = 40_000
"""Commas, opening brackets, escapes and line ends of a text: each costs up to 10 us, whatever it stands for."""
MAX_PARTS: Final = 32
"""Parts of one dotted key: TOML's parser takes time by the cube of their number."""
_DOTTED: Final = re.compile(r"[\w \t.'\"-]++")
_MAX_LEVELS: Final = 4 * MAX_DEPTH
"""Nodes inside one another that are looked at: a query takes time by the square of their number."""
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Pairs(list[tuple[str, Any]]):
    """The members of a JSON object, repeated ones included."""


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _json(source: str) -> Any:
    return json.loads(source, object_pairs_hook=_Pairs, parse_int=_Number, parse_float=_Number, parse_constant=_refuse)


def _toml(source: str) -> Any:
    return tomllib.loads(source, parse_float=_Number)


def _toml_value(raw: str) -> Any:
    return _toml(f"x = {raw}")["x"]


def parse_data(format_: Literal["json", "toml"], source: str, rows: Rows, original: str) -> None:
    """Reads a JSON text (RFC 8259, strictly) or a TOML document.

    Args:
        format_: which of the two.
        source: its lines end with a line feed.
        rows: takes the entries.
        original: the same with the ends of lines as they stand, some of which are errors in TOML.

    Raises:
        Unreadable: it has a syntax error, is too large, or the two readers differ.
    """
    if format_ == "toml" and any(run.count(".") > MAX_PARTS for run in _DOTTED.findall(source)):
        raise Unreadable("too-large")
    nodes = _nodes(format_, source.encode())
    try:
        value = _json(source) if format_ == "json" else _toml(original)
    except ValueError:
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None
    _Builder(rows, value, source.encode(), _json if format_ == "json" else _toml_value).take(nodes)
    if _size(value) != len(rows.entries):
        raise Unreadable("ambiguous")


def _size(value: Any) -> int:
    """How many values a value holds, itself included."""
    count, open_ = 0, [value]
    while open_:
        member = open_.pop()
        count += 1
        if isinstance(member, _Pairs):
            open_ += [inner for _, inner in member]
        elif isinstance(member, dict | list):
            open_ += cast("dict[str, Any]", member).values() if isinstance(member, dict) else cast("list[Any]", member)
    return count


def _scalar(value: Any) -> Scalar:
    if isinstance(value, _Number):
        plain = value.replace("_", "")
        known = plain.lstrip("+-")[:1].isdigit()
        return number(plain) if known else Scalar(written=str(value), doubt="incomparable")
    if isinstance(value, str):
        return Scalar(doubt="computed") if _SURROGATE.search(value) else text(value)
    if value is None or isinstance(value, bool):
        return CONSTANTS[json.dumps(value)]
    return text(value.isoformat()) if isinstance(value, datetime | date | time) else number(str(value))


@cache
def _grammar(name: str) -> tuple[Language, Query]:
    from tree_sitter import Language, Query

    grammar: object = import_module(f"tree_sitter_{name}").language()
    language = Language(grammar)
    queries = resources.files("sluice.streams.judging").joinpath("queries")
    return language, Query(language, queries.joinpath(f"{name}.scm").read_text("utf-8"))


_HEADERS: Final = ("table", "element")
_ORDER: Final = {name: at for at, name in enumerate((*_HEADERS, "pair", "item", "part", "mapping", "list", "scalar"))}


def _nodes(format_: str, data: bytes) -> list[tuple[str, Node]]:
    """The nodes that the grammar's query names, in the text's order, outer ones first."""
    from tree_sitter import Parser, QueryCursor

    if len(data) > MAX_BYTES or sum(map(data.count, (b",", b"[", b"{", b"\\", b"\n"))) > MAX_MARKS:
        raise Unreadable("too-large")
    language, query = _grammar(format_)
    tree = Parser(language).parse(data)
    if tree.root_node.has_error:
        raise Unreadable("syntax-error")
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_MAX_LEVELS)
    captures = cursor.captures(tree.root_node)
    if sum(len(captures.get(name, ())) for name in ("pair", "item")) >= MAX_ENTRIES:
        raise Unreadable("too-large")
    nodes = [(name, node) for name, named in captures.items() for node in named]
    nodes.sort(key=lambda named: (named[1].start_byte, -named[1].end_byte, _ORDER[named[0]]))
    return nodes


class _Open:
    """An entry of the grammar whose end has not come; `row` is -1 until its key is whole."""

    __slots__ = ("count", "end", "first", "known", "last", "name", "parts", "row")

    def __init__(self, name: str, node: Node | None, row: int = -1) -> None:
        self.name, self.row, self.count, self.known = name, row, 0, False
        self.end = node.end_byte if node else 1 << 62
        self.first = node.start_point.row + 1 if node else 1
        self.last = self.first if node is None or name in _HEADERS else node.end_point.row + 1
        self.parts: list[str] = []


class _Builder:
    """Makes entries of the grammar's nodes and the parsed value; `values` has the value of each entry."""

    def __init__(self, rows: Rows, value: Any, data: bytes, decode: Callable[[str], Any]) -> None:
        self.rows, self.data, self.decode = rows, data, decode
        self.values = [value]
        rows.add(-1, "", _kind(value), 1, data.count(b"\n") + 1)
        if rows.entries[0].kind == "value":
            rows.set(0, _scalar(value))
        self.children: dict[tuple[int, str | int], int] = {}
        self.counts: dict[int, int] = {}
        self.open = [_Open("root", None, 0)]
        self.tables: list[_Open] = []

    def take(self, nodes: list[tuple[str, Node]]) -> None:
        """Takes all nodes of a text."""
        for name, node in nodes:
            while self.open[-1].end <= node.start_byte:
                self._close()
            top = self.open[-1]
            raw = self.data[node.start_byte : node.end_byte].decode() if name in ("part", "scalar") else ""
            if name == "part":
                top.parts.append(raw)
            elif name in ("mapping", "list", "scalar"):
                if not top.known:
                    self._resolve()
                    top.known = True
                    value = self.values[top.row]
                    if _kind(value) != (name if raw == "" else "value") or (raw and self.decode(raw) != value):
                        raise Unreadable("ambiguous")
            else:
                self._resolve()
                new = _Open(name, node)
                if name == "item":
                    new.row = self._child(top.row, top.count, new)
                    top.count += 1
                elif name in _HEADERS:
                    self.tables.append(new)
                    new.known = True
                self.open.append(new)
        while len(self.open) > 1:
            self._close()
        for table, following in zip(self.tables, (*self.tables[1:], None), strict=False):
            entry = self.rows.entries[table.row]
            reach = self.rows.entries[0].last if following is None else following.first - 1
            entry.blocks = (*entry.blocks, (table.first, table.last, reach))
            for row in (table.row, entry.parent) if table.name == "element" else (table.row,):
                self.rows.reach(row, table.last)

    def _close(self) -> None:
        self._resolve()
        closed = self.open.pop()
        if self.tables and closed.name == "pair":
            self.tables[-1].last = max(self.tables[-1].last, closed.last)

    def _resolve(self) -> None:
        """Finds the entry of the innermost open node, whose key is whole now."""
        top = self.open[-1]
        if top.row >= 0:
            return
        row = 0 if top.name in _HEADERS else self.open[-2].row
        *outer, last = [self._key(part) for part in top.parts]
        for part in outer:
            row = self._through(self._child(row, part, top), top)
        row = self._child(row, last, top, new=top.name == "pair")
        if top.name == "element":
            self.counts[row] = self.counts.get(row, -1) + 1
        top.row = self._through(row, top) if top.name in _HEADERS else row

    def _key(self, raw: str) -> str:
        if raw[0] == '"' and "\\" in raw:
            return self.decode(raw)
        return raw[1:-1] if raw[0] in "\"'" else raw

    def _through(self, row: int, top: _Open) -> int:
        """A table on the way; of an array of tables its last one."""
        return self._child(row, self.counts[row], top) if row in self.counts else row

    def _child(self, row: int, key: str | int, top: _Open, new: bool = False) -> int:
        """The entry of a key, made where there is none; a pair always makes one."""
        child = self.children.get((row, key))
        if child is None or new:
            members = self.values[row]
            try:
                if isinstance(members, _Pairs):
                    known, value = members[self.open[-2].count]
                    self.open[-2].count += 1
                    if known != key:
                        raise KeyError
                else:
                    value = members[key]
            except (LookupError, TypeError):
                raise Unreadable("ambiguous") from None
            if isinstance(key, str) and _SURROGATE.search(key):
                raise Unreadable("syntax-error")
            kind = _kind(value)
            child = self.children[row, key] = self.rows.add(row, key, kind, top.first)
            self.values.append(value)
            if kind == "value":
                self.rows.set(child, _scalar(value))
        if top.name not in _HEADERS:
            self.rows.reach(child, top.last)
        return child


def _kind(value: Any) -> Kind:
    return "mapping" if isinstance(value, _Pairs | dict) else "list" if isinstance(value, list) else "value"
