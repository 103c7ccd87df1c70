"""Reads JSON, YAML, TOML and Markdown as entries of a document: what stands in what, with lines."""

from __future__ import annotations

import json
import re
import tomllib
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, cast

from ...codecs.unicode_text import nfkc
from .document_lines import CONSTANTS, MAX_ENTRIES, Kind, Rows, Scalar, Unreadable, number, reading, text

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from tree_sitter import Language, Node

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
    """Reads a JSON text (RFC 8259, strictly). Raises `Unreadable` for a syntax error, or a text that is too large."""
    try:
        json.loads(source, parse_int=str, parse_float=str, parse_constant=_refuse)
        _Builder(source, rows, _tokens(source)).read()
    except ValueError:
        raise Unreadable("syntax-error") from None
    except RecursionError:
        raise Unreadable("too-large") from None


def _refuse(name: str) -> Any:
    raise ValueError(name)


_BRACKETS: Final[dict[str, Literal["mapping", "list", "end"]]] = {"{": "mapping", "[": "list", "}": "end", "]": "end"}


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
    """Reads YAML; each document is a root. Raises `Unreadable` for what is no YAML, or too large."""
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


_EVENT_KINDS: Final[dict[str, Kind | Literal["document", "alias", "end"]]] = {
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
        if name in _EVENT_KINDS:
            flow, anchor = getattr(event, "flow_style", True), getattr(event, "anchor", None)
            yield _Event(_EVENT_KINDS[name], start, end, None, None, anchor, flow)
        elif name == "ScalarEvent":
            content: str = event.value
            key, scalar = content, Scalar(doubt="computed")
            if event.tag not in (None, "!", f"{_TAG}str"):
                key = None
            elif event.tag is None and not event.style:
                scalar = _plain_scalar(content)
            elif event.style in ("|", ">"):
                scalar = text(content.rstrip("\n"))  # the line end is not part of what a sentence says of it
                while end > start and source[end - 1].isspace():  # the mark stands behind the blank lines that follow
                    end -= 1
            else:
                scalar = text(content)
            yield _Event("value", start, end, key, scalar, event.anchor)


class _Builder:
    """Makes entries of events; `anchors` has the shapes and values that aliases repeat."""

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
        """Adds what begins with an event; returns its last line. Without a `key` no name leads to it; `first` is the
        key's line."""
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


def _plain_scalar(content: str) -> Scalar:
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


MAX_TOML_BYTES: Final = 1_200_000
MAX_MARKS: Final = 40_000
"""Commas, opening brackets, escapes and line ends of a text: each costs up to 10 us, whatever it stands for."""
MAX_PARTS: Final = 32
"""Parts of one dotted key: TOML's parser takes time by the cube of their number."""
_DOTTED: Final = re.compile(r"[\w \t.'\"-]++")
_BARE: Final = re.compile(r"[\w-]++")
_NODE_KINDS: Final[dict[str, Kind]] = {"inline_table": "mapping", "array": "list"}
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
    """Reads a TOML document whose lines end with a line feed; `original` has them as they stand, some of which are
    errors.

    Raises `Unreadable` for a syntax error, a text that is too large, or one that the two readers take differently.
    """
    data = source.encode()
    if len(data) > MAX_TOML_BYTES or sum(map(data.count, (b",", b"[", b"{", b"\\", b"\n"))) > MAX_MARKS:
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

    `made` has the tables so far, by the entry that they stand in and their key, `latest` the place of the last item of
    each array of tables.
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
        kind = _NODE_KINDS.get(node.type, "value")
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
        """The table of a header, or the last one of an array of tables, with the parser's value; made if new."""
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


MAX_TEXT: Final = 1_000_000
"""Characters."""
MAX_LINES: Final = 20_000
"""The parser takes up to 0.2 ms for a line."""
MAX_HEADINGS: Final = 10_000
MAX_HEADING: Final = 4_000
"""Characters of one heading."""
MAX_MARKUP: Final = 60_000
"""Characters of all headings that have markup in them: hostile markup takes 30 us for each."""
_NESTING: Final = 16
"""Quotes and lists inside one another; where there are more, the parser leaves text out."""


def parse_markdown(source: str, rows: Rows) -> None:
    """Reads a Markdown document. Raises `Unreadable` where it is too large, or nests too deeply."""
    if len(source) > MAX_TEXT or source.count("\n") > MAX_LINES:
        raise Unreadable("too-large")
    environment: dict[str, object] = {}
    tokens = _markdown_parser().parse(_without_front_matter(source), environment)
    headings: list[tuple[str, int, int]] = []
    for at, token in enumerate(tokens):
        if token.level >= _NESTING - 1 and token.nesting > 0:
            raise Unreadable("too-large")
        if token.level == 0 and token.type == "heading_open" and token.map is not None:
            headings.append((tokens[at + 1].content, int(token.tag[1:]), token.map[0] + 1))
    contents = [content for content, _, _ in headings]
    marked = sum(len(content) for content in contents if _MARKUP.search(content))
    if len(headings) > MAX_HEADINGS or max(map(len, contents), default=0) > MAX_HEADING or marked > MAX_MARKUP:
        raise Unreadable("too-large")
    end = source.count("\n") + (not source.endswith("\n"))
    open_ = [(0, rows.add(-1, "", "mapping", 1, end))]
    for content, level, line in headings:
        while open_[-1][0] >= level:
            rows.entries[open_.pop()[1]].last = line - 1
        open_.append((level, rows.add(open_[-1][1], _without_markup(content, environment), "section", line, end)))


@cache
def _markdown_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # here, since lanes and commands that judge no Markdown do without it

    parser = MarkdownIt("commonmark", {"maxNesting": _NESTING}).enable("table")
    return parser.disable(["inline", "text_join"])  # headings alone are read further


_MARKUP: Final = re.compile(r"[`*_\[\]<>&\\!\n]")


def _without_front_matter(source: str) -> str:
    """The text with blank lines for the data before it, whose last line would make a heading of them."""
    fence = source.partition("\n")[0].rstrip()
    if fence not in ("---", "+++"):
        return source
    lines = source.split("\n")
    ends = ("---", "...") if fence == "---" else ("+++",)
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ends), 0)
    if end == 0 or (fence == "---" and not _is_mapping("\n".join(lines[1:end]))):
        return source
    return "\n" * (end + 1) + "\n".join(lines[end + 1 :])


def _is_mapping(source: str) -> bool:
    rows = Rows()
    try:
        parse_yaml(source, rows)
    except Unreadable:
        return False
    return [entry.kind for entry in rows.entries if entry.parent < 0] == ["mapping"]


def _without_markup(content: str, environment: dict[str, object]) -> str:
    """A heading's text without markup."""
    if _MARKUP.search(content):
        parser = _markdown_parser()
        tokens: list[Token] = []
        parser.inline.parse(content, parser, environment, tokens)
        content = _text(tokens)
    return " ".join(nfkc(content).split())


def _text(tokens: list[Token]) -> str:
    pieces: list[str] = []
    for token in tokens:
        if token.type == "image":
            pieces.append(_text(token.children or []))
        elif token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type != "html_inline":
            pieces.append(token.content)
    return "".join(pieces)


# ---------------------------------------------------------------- names

_MARKS: Final = re.compile(r"^#{1,6} |[`]|\*\*")
_ATTRIBUTES: Final = re.compile(r" ?\{[:#.][^{}]*\}$")
_NUMBERING: Final = re.compile(r"^(?:[0-9]{1,3}[.)])++[0-9]{0,3} ")
_EDGES: Final = re.compile(r"^[^\w\x20-\x7e]+ ?| ?[^\w\x20-\x7e]+$")
_BETWEEN: Final = re.compile(r" [-\u2013\u2014|] |: | \(|\) |\)$")
_VERSION: Final = re.compile(r"[vV](?=[0-9])")


def headings_named(name: str, headings: list[str]) -> list[int]:
    """The places of the headings that a name means: those with that text, or else those with it as a component."""
    name = " ".join(_MARKS.sub("", nfkc(name)).split())
    bare = _undecorated(name)
    exact = [at for at, heading in enumerate(headings) if heading == name]
    return exact or [at for at, heading in enumerate(headings) if _is_component(bare, heading)]


def _is_component(bare: str, heading: str) -> bool:
    """Whether a name stands first or last in a heading, or is all of it, apart from decoration."""
    heading = _ATTRIBUTES.sub("", heading)
    parts = [part for part in _BETWEEN.split(heading) if part.strip()]
    candidates = (heading, *parts[:1], *parts[-1:])
    return any(bare in (_undecorated(part), _undecorated(_NUMBERING.sub("", part))) for part in candidates)


def _undecorated(content: str) -> str:
    """A text without brackets and pictures around it, and without the `v` of a version."""
    content = _EDGES.sub("", content.strip()).strip()
    if content.startswith("[") and content.endswith("]"):
        content = content[1:-1].strip()
    return content[1:] if _VERSION.match(content) else content
