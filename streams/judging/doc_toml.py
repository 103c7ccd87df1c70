"""Reads TOML: values by the standard library's parser, lines by tree-sitter's grammar.

The two are walked side by side. Where they differ in a key, in a shape or in the number of values, the whole document
is ambiguous.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any, Final, cast

from .doc_entries import CONSTANTS, Kind, Rows, Scalar, Unreadable, number, text

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_BYTES: Final = 1_200_000
MAX_MARKS: Final = 40_000
"""Commas, opening brackets, escapes and line ends of a text: each costs up to 10 us, whatever it stands for."""
MAX_PARTS: Final = 32
"""Parts of one dotted key: TOML's parser takes time by the cube of their number."""
_DOTTED: Final = re.compile(r"[\w \t.'\"-]++")
_BARE: Final = re.compile(r"[\w-]++")
_KINDS: Final[dict[str, Kind]] = {"inline_table": "mapping", "array": "list"}
_HEADERS: Final = ("table", "table_array_element")


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


def _dotted(raw: str) -> list[str]:
    """The parts of a key of TOML."""
    parts: list[str] = []
    value: Any = {raw: 0} if _BARE.fullmatch(raw) else tomllib.loads(f"{raw} = 0")
    while value != 0:
        ((part, value),) = value.items()
        parts.append(part)
    return parts


def parse_toml(source: str, rows: Rows, original: str) -> None:
    """Reads a TOML document.

    Args:
        source: its lines end with a line feed.
        rows: takes the entries.
        original: the same with the ends of lines as they stand, some of which are errors.

    Raises:
        Unreadable: it has a syntax error, is too large, or the two readers differ.
    """
    data = source.encode()
    if len(data) > MAX_BYTES or sum(map(data.count, (b",", b"[", b"{", b"\\", b"\n"))) > MAX_MARKS:
        raise Unreadable("too-large")
    if any(run.count(".") > MAX_PARTS for run in _DOTTED.findall(source)):
        raise Unreadable("too-large")
    try:
        value = tomllib.loads(original, parse_float=_Number)
        _Walk(rows, data).document(_tree(data), value)
        count = _size(value)
    except RecursionError:
        raise Unreadable("too-large") from None
    except ValueError:
        raise Unreadable("syntax-error") from None
    except (LookupError, TypeError):
        raise Unreadable("ambiguous") from None
    if count != len(rows.entries):
        raise Unreadable("ambiguous")


def _size(value: Any) -> int:
    """How many values a value holds, itself included."""
    if isinstance(value, dict):
        value = list(cast("dict[str, Any]", value).values())
    return 1 + sum(map(_size, cast("list[Any]", value))) if isinstance(value, list) else 1


def _kind(value: Any) -> Kind:
    return "mapping" if isinstance(value, dict) else "list" if isinstance(value, list) else "value"


def _scalar(value: Any) -> Scalar | None:
    """A value as an entry has it; None for a mapping or a list."""
    if isinstance(value, _Number):
        plain = value.replace("_", "")
        known = plain.lstrip("+-")[:1].isdigit()
        return number(plain) if known else Scalar(written=str(value), doubt="incomparable")
    if isinstance(value, bool):
        return CONSTANTS[str(value).lower()]
    if isinstance(value, dict | list):
        return None
    if isinstance(value, int):
        return number(str(value))
    return text(value if isinstance(value, str) else value.isoformat())


@cache
def _grammar() -> Language:
    import tree_sitter_toml
    from tree_sitter import Language

    return Language(tree_sitter_toml.language())


def _tree(data: bytes) -> Node:
    from tree_sitter import Parser

    root = Parser(_grammar()).parse(data).root_node
    if root.has_error:
        raise Unreadable("syntax-error")
    return root


def _parts(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type != "comment"]


class _Walk:
    """Makes entries of the nodes of a grammar, each beside the value that the parser has there.

    Attributes:
        made: the tables so far, by the entry that they stand in and their key.
        latest: the place of the last item of each array of tables.
    """

    def __init__(self, rows: Rows, data: bytes) -> None:
        self.rows, self.data = rows, data
        self.made: dict[tuple[int, str | int], int] = {}
        self.latest: dict[int, int] = {}

    def document(self, node: Node, value: Any) -> None:
        """Adds all that a text holds."""
        root = self.rows.add(-1, "", "mapping", 1, self.data.count(b"\n") + 1)
        for part in _parts(node):
            self._member(part, root, value)

    def _member(self, node: Node, row: int, members: Any) -> None:
        """Adds a key with its value, or a table with its header."""
        name, *parts = _parts(node)
        keys, line = _dotted(self.data[name.start_byte : name.end_byte].decode()), node.start_point.row + 1
        if node.type in _HEADERS:
            row, members = self._table(row, members, keys, line, node.type == _HEADERS[1])
            table = self.rows.entries[row]
            if table.first != line:
                raise LookupError  # below a table of its own: it stands in pieces
            for part in parts:
                self._member(part, row, members)
                self.rows.reach(row, part.end_point.row + 1)
            if node.type == _HEADERS[1]:
                self.rows.reach(table.parent, table.last)
            return
        last = node.end_point.row + 1
        for at in range(len(keys) - 1):
            row, members = self._table(row, members, keys[at : at + 1], line)
            self.rows.reach(row, last)
        self._value(parts[0], row, keys[-1], members[keys[-1]], line, last)

    def _value(self, node: Node, parent: int, key: str | int, value: Any, first: int, last: int) -> None:
        kind = _KINDS.get(node.type, "value")
        if kind != _kind(value):
            raise LookupError
        row = self.rows.add(parent, key, kind, first, last, _scalar(value))
        if kind == "mapping":
            for part in _parts(node):
                self._member(part, row, value)
        elif kind == "list":
            for at, part in enumerate(_parts(node)):
                self._value(part, row, at, value[at], part.start_point.row + 1, part.end_point.row + 1)

    def _table(self, row: int, members: Any, keys: list[str], line: int, element: bool = False) -> tuple[int, Any]:
        """The table that a header means, or the last one of an array of tables, with the parser's value; made if new.

        Args:
            element: it begins the next item of an array.
        """
        for left, key in zip(range(len(keys) - 1, -1, -1), keys, strict=True):
            row, members = self._made(row, key, members, line)
            if isinstance(members, list):
                if element and not left:
                    self.latest[row] = self.latest.get(row, -1) + 1
                row, members = self._made(row, self.latest[row], members, line)
        return row, members

    def _made(self, row: int, key: str | int, members: Any, line: int) -> tuple[int, Any]:
        value = members[key]
        if (row, key) not in self.made:
            self.made[row, key] = self.rows.add(row, key, _kind(value), line)
        return self.made[row, key], value
