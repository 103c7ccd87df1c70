"""The content of a document as a list of entries (keys, values, targets, headings with their lines), and the readers
of the formats that are ruled by lines: the INI family, `.properties`, `.env` and Makefiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import Error, RawConfigParser
from decimal import Decimal, InvalidOperation
from functools import cached_property
from io import StringIO
from types import SimpleNamespace
from typing import Any, Final, Literal, NamedTuple, cast

import msgspec

from ...codecs.unicode_text import nfkc
from .checks import MAX_DIGITS, HeldReason, Value, whole_or_decimal
from .index import literal_of
from .values import value_of_text

MAX_ENTRIES: Final = 10_000
"""Keys and list items of one document."""
MAX_DEPTH: Final = 128
"""Mappings and lists inside one another."""
_WEIGHT: Final = 400
"""Bytes that an entry takes in memory with its place in the indexes, measured."""

Format = Literal["json", "toml", "yaml", "ini", "conf", "env", "properties", "make", "markdown"]
Kind = Literal["mapping", "list", "value", "target", "variable", "section"]


class Unreadable(Exception):
    """A document that its parser does not take; the reason is what its checks come to."""

    def __init__(self, reason: HeldReason) -> None:
        super().__init__(reason)
        self.reason: HeldReason = reason


class Scalar(NamedTuple):
    """A value as its reader hands it over.

    Attributes:
        readings: what the readers of the format take it for, see `literal_of`.
        written: the text that a check may declare where the readings differ or the value is doubtful.
        doubt: the reason of any other check.
    """

    readings: tuple[str, ...] = ()
    written: str = ""
    doubt: HeldReason | None = None


class Entry(msgspec.Struct, gc=False, array_like=True, omit_defaults=True):
    """A key with its value, an item of a list, a rule or variable of a Makefile, or a heading with its section.

    Attributes:
        key: in NFKC; for an item its place in the list.
        parent: the entry that it stands in; -1 for a root.
        kind: the shape of its value.
        first, last: its lines, from 1, the value included. A table may go on at other places, see `documents.extents`.
        readings, written, doubt: see `Scalar`. A doubtful mapping or list may have more in it.
        under: the texts of the conditions that it stands under.
    """

    key: str | int
    parent: int
    kind: Kind
    first: int = 0
    last: int = 0
    readings: tuple[str, ...] = ()
    written: str = ""
    doubt: HeldReason | None = None
    under: tuple[str, ...] = ()


class Index:
    """The entries of a document by key.

    Attributes:
        by_key: the entries by their key in lower case, in the document's order.
        children: the entries that stand directly in an entry.
        repeated: the entries whose mapping has their key several times.
        roots: the entries of the documents themselves; YAML has several of them in one file.
    """

    def __init__(self, entries: list[Entry]) -> None:
        self.by_key: dict[str, list[int]] = {}
        self.children: dict[int, list[int]] = {}
        self.repeated: set[int] = set()
        self.roots: set[int] = set()
        seen: dict[tuple[int, str], int] = {}
        for row, entry in enumerate(entries):
            if entry.parent < 0:
                self.roots.add(row)
                continue
            self.by_key.setdefault(str(entry.key).lower(), []).append(row)
            self.children.setdefault(entry.parent, []).append(row)
            before = seen.setdefault((entry.parent, str(entry.key)), row)
            if before != row:
                self.repeated.update((before, row))


class Document(msgspec.Struct, frozen=True, dict=True):
    """A parsed document. It is plain data: it can be encoded, sent and kept.

    Attributes:
        format: its format; None for a JSON value that was decoded elsewhere, which has no lines.
        entries: the content, each entry behind the one that it stands in.
        problem: the reason why it could not be read; all of its checks come to it.
        size: bytes of the text.
        complete: every line was understood, and no other text adds to the document.
        closed: no name of an entry is worked out elsewhere.
    """

    format: Format | None
    entries: list[Entry] = []
    problem: HeldReason | None = None
    size: int = 0
    complete: bool = True
    closed: bool = True

    @property
    def weight(self) -> int:
        """About how many bytes it takes, for a cache."""
        return 1_000 if self.problem else 1_000 + self.size + _WEIGHT * len(self.entries)

    @cached_property
    def index(self) -> Index:
        """The entries by key."""
        return Index(self.entries)

    def lineage(self, row: int) -> list[int]:
        """An entry and all that it stands in."""
        lineage: list[int] = []
        while row >= 0:
            lineage.append(row)
            row = self.entries[row].parent
        return lineage

    def path(self, row: int) -> str:
        """The keys that lead to an entry, with dots."""
        return ".".join(str(self.entries[up].key) for up in reversed(self.lineage(row)) if self.entries[up].parent >= 0)


class Rows:
    """The entries of a document while it is read. `complete` and `closed` are the document's."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.depths: list[int] = []
        self.complete = self.closed = True

    def add(
        self, parent: int, key: str | int, kind: Kind, first: int, last: int = 0, scalar: Scalar | None = None
    ) -> int:
        """Adds an entry; returns its place. Raises `Unreadable` where there are more, or deeper ones, than a document
        may have."""
        depth = 0 if parent < 0 else self.depths[parent] + 1
        if len(self.entries) >= MAX_ENTRIES or depth > MAX_DEPTH:
            raise Unreadable("too-large")
        if isinstance(key, str) and not key.isascii():
            key = nfkc(key)
        self.entries.append(Entry(key, parent, kind, first, last or first))
        if scalar is not None:
            self.entries[-1].readings, self.entries[-1].written, self.entries[-1].doubt = scalar
        self.depths.append(depth)
        return len(self.entries) - 1

    def reach(self, row: int, last: int) -> None:
        """Lets an entry end on that line or later."""
        self.entries[row].last = max(self.entries[row].last, last)


_INTERPOLATION: Final = re.compile(r"\$[A-Za-z_({]|\{\{|%\(|<%|%[A-Za-z_]{1,64}%|@[A-Za-z_]{1,64}@")
"""Something else may be put into a text before it is used: `$PORT`, `{{ port }}`, `%(port)s`."""


def text(content: str, *, plain: bool = False) -> Scalar:
    """The value of a text; doubtful where something may be put into it. A `plain` one, of a format without quotes,
    compares as text or as a number."""
    if _INTERPOLATION.search(content):
        return Scalar(written=content, doubt="computed")
    return reading(value_of_text(content) if plain else content)


def reading(*values: Value) -> Scalar:
    """A value with these readings."""
    return Scalar(tuple(literal_of(value) for value in dict.fromkeys(values)))


def number(content: str) -> Scalar:
    """The value of a decimal number.

    It has two readings where binary floating point of 64 bits does not keep it, and none where a check cannot write it.
    """
    try:
        exact = whole_or_decimal(Decimal(content)) if len(content) <= MAX_DIGITS else None
        rounded = None if exact is None else whole_or_decimal(Decimal(repr(float(content))))
    except (InvalidOperation, ValueError, OverflowError):
        exact = rounded = None
    if exact is None or rounded is None:
        return Scalar(written=content, doubt="incomparable")
    return reading(exact, rounded)


CONSTANTS: Final = {"true": reading(True), "false": reading(False), "null": reading(None)}


_BLANKS: Final = re.compile(r"[^\S\n]{64}")
"""configparser takes time by the product of a line's length and its longest run of blanks."""
_WORD: Final = re.compile(r"[\w.@/-]++")
_VARIABLE: Final = re.compile(r"[A-Za-z_][\w.-]*+")
_INI_COMMENT: Final = re.compile(r"(?:^|[ \t])[#;].*", re.DOTALL)
_KEY_BELOW: Final = re.compile(r"[\w.-]++[ \t]*+[=:](?!=)")
_HEADER: Final = re.compile(r"\[\s*(.*\S)\s*\]\s*(?:[#;][^\]]*)?")
_END_OF_HEADER: Final = re.compile(r"\]\s*[#;]")
_NUMBERED: Final = re.compile(r"(?P<header>[0-9]+ .*)", re.DOTALL)


def parse_ini(source: str, rows: Rows, dialect: str) -> None:
    """Reads a file of the INI family (`ini`, `conf` or `properties`) whose lines end with a line feed.

    Raises `Unreadable` where a line is none that the format has, or the file is too large.
    """
    if _BLANKS.search(source):
        raise Unreadable("too-large")
    rows.closed = dialect != "properties" or "\\" not in source  # a key may have escapes, which are not read
    lines = source.split("\n")
    parser = _ini_parser(lines, ("=",) if dialect == "conf" else ("=", ":"))
    root = rows.add(-1, "", "mapping", 1, len(lines))
    begins = {0: (root, root)}
    for header in parser.sections():
        line, _, name = header.partition(" ")
        section = root if line == "0" else rows.add(root, name, "mapping", int(line))
        begins[int(line)] = section, section
        for option, value in cast("list[tuple[str, str | None]]", parser.items(header)):
            at, _, key = option.partition(" ")
            is_word = _WORD.fullmatch(key) is not None
            bare = value is None and (dialect == "conf" or not is_word or section == root)
            if bare or (dialect == "conf" and not is_word):
                raise Unreadable("syntax-error")
            begins[int(at)] = section, rows.add(section, key, "value", int(at), 0, _scalar(value, dialect))
    if dialect == "conf" and all(section == row for section, row in begins.values()):
        raise Unreadable("syntax-error")
    current = begins[0]
    for line, content in enumerate(lines, 1):
        current = begins.get(line, current)
        if content.strip()[:1] not in ("", "#", ";"):
            for row in current:
                rows.reach(row, line)
    if dialect == "ini" and any(entry.key == "DEFAULT" and entry.kind == "mapping" for entry in rows.entries):
        for entry in rows.entries:
            if entry.kind == "mapping":
                entry.doubt = "computed"  # the defaults are keys of each section


def _ini_parser(lines: list[str], delimiters: tuple[str, ...]) -> RawConfigParser:
    """A parser that has read the lines; the names of its sections and keys begin with the number of their line."""
    line = 0

    def counted() -> Iterator[str]:
        nonlocal line
        yield "[top]"  # for the keys before the first header
        for content in lines:
            line += 1
            yield content

    def header(content: str) -> re.Match[str] | None:
        if content[0] != "[":
            return None
        found = _HEADER.fullmatch(content)
        if found is None:
            raise Unreadable("syntax-error")
        if _END_OF_HEADER.search(found[1]):
            raise Unreadable("ambiguous")
        return _NUMBERED.fullmatch(f"{line} {found[1]}")

    parser = RawConfigParser(
        strict=False, allow_no_value=True, default_section="", delimiters=delimiters, interpolation=None
    )
    parser.optionxform = lambda optionstr: f"{line} {optionstr}"
    hooks: Any = parser
    hooks.SECTCRE = SimpleNamespace(match=header)
    try:
        parser.read_file(counted())
    except (Error, AttributeError):  # an attribute of None: a line below a key without a value
        raise Unreadable("syntax-error") from None
    return parser


def _scalar(value: str | None, dialect: str) -> Scalar:
    if value is None:
        return Scalar(doubt="incomparable")  # to some readers it is true, to some it has no value
    first, *more = value.split("\n")
    more = [line for line in more if line]
    whole = "\n".join((first, *more)).strip()
    if dialect == "properties" and "\\" in whole:
        return Scalar(written=whole, doubt="computed")
    if not any(map(_KEY_BELOW.match, more)):
        first = whole  # to no reader the value ends with its first line, and keys follow
    scalars = [
        text(content, plain=True) for content in dict.fromkeys((whole, first, _INI_COMMENT.sub("", whole).strip()))
    ]
    doubtful = next((scalar for scalar in scalars if scalar.doubt is not None), None)
    return doubtful or Scalar(tuple(reading for scalar in scalars for reading in scalar.readings))


def parse_env(source: str, rows: Rows) -> None:
    """Reads a `.env` file. What a shell would put into a value (`$NAME`, an escape) makes it doubtful.

    Raises `Unreadable` where something is no assignment.
    """
    from dotenv.parser import parse_stream  # here, since lanes and commands that judge no such file do without it

    root = rows.add(-1, "", "mapping", 1, source.count("\n") + 1)
    for binding in parse_stream(StringIO(source)):
        if binding.error or (binding.key is not None and not _VARIABLE.fullmatch(binding.key)):
            raise Unreadable("syntax-error")
        if binding.key is None:
            continue
        original = binding.original.string
        start = original.lstrip()
        first = binding.original.line + original.count("\n", 0, len(original) - len(start))
        value, raw = binding.value, start.partition("=")[2].strip()
        scalar = Scalar(doubt="computed")  # a name alone takes its value from outside
        if value is not None:
            doubtful = set("$`\\").intersection(raw) if raw[:1] in ("'", '"') else set("$`\\'\"").intersection(value)
            scalar = Scalar(written=value, doubt="computed") if doubtful else text(value, plain=True)
        rows.add(root, binding.key, "value", first, first + start.rstrip().count("\n"), scalar)


BLANK: Final = " \t\r\f\v"
_BRACKETS: Final = {"(": re.compile(r"[()]"), "{": re.compile(r"[{}]")}
_MAX_CONDITIONS: Final = 16
_MODIFIERS: Final = r"(?:(?:export|override|private|unexport)[ \t]++)*+"
_SETTING: Final = re.compile(rf"{_MODIFIERS}([^\s:#=+?!$\x01]++)[ \t]*+(:{{0,3}}=|[+?!]=)(.*)", re.DOTALL)
_COMPUTED: Final = re.compile(rf"{_MODIFIERS}[^\s:#=]*+[$\x01][^\s:#=]*+[ \t]*+(?::{{0,3}}=|[+?!]=)")
_DEFINE: Final = re.compile(rf"{_MODIFIERS}define[ \t]++([^\s:#=+?!$]++)[ \t]*+(?::{{0,3}}=|[+?!]=)?")
_CONDITION: Final = re.compile(r"(ifdef|ifndef|ifeq|ifneq|else|endif)(?=[ \t(\"']|$)")
_IGNORED: Final = re.compile(r"(?:vpath|export|unexport)(?=[ \t]|$)|\$[({](?:info|warning|error)[ \t]")
_ADDING: Final = re.compile(
    r"(?:-?include|sinclude|-?load|undefine)(?=[ \t]|$)|![ \t]*+\w|\.[ \t]*+(?:if|el|end|for|inc|und)"
)
"""With a mark before them, the directives of other makes."""
_EVAL: Final = re.compile(r"\$[({]eval[ \t]")
_COLON: Final = re.compile(r"(?<!\\):")
_COMMENT: Final = re.compile(r"(?<!\\)#")
_SUFFIX_RULE: Final = re.compile(r"(?:\.[a-z]\w*+){1,2}|\.DEFAULT")


def parse_make(source: str, rows: Rows) -> None:
    """Reads a Makefile. Raises `Unreadable` where it is too large."""
    _MakeReader(source, rows).read()


class _MakeReader:
    """Reads logical lines. `rule` has the targets of the rule that recipe lines belong to, `reached` is its last line,
    and `under` has the conditionals that are open."""

    def __init__(self, source: str, rows: Rows) -> None:
        self.lines, self.rows, self.at = source.split("\n"), rows, 0
        rows.add(-1, "", "mapping", 1, len(self.lines))
        self.rule: list[int] | None = None
        self.reached = 0
        self.under: list[str] = []
        if _EVAL.search(source):
            rows.complete = rows.closed = False

    def read(self) -> None:
        """Reads all lines."""
        while self.at < len(self.lines):
            first = self.at + 1
            raw = self._logical()
            if self.rule is not None and raw.startswith("\t"):
                self.reached = self.at
                continue
            masked = self._masked(raw)
            comment = _COMMENT.search(masked)
            line = raw if comment is None else raw[: comment.start()]
            if line.strip(BLANK):
                offset = len(line) - len(line.lstrip(BLANK))
                self._line(line.strip(BLANK), masked[offset : len(line.rstrip(BLANK))], first)
        self._end_rule()
        if self.under:
            self.rows.complete = False

    def _logical(self) -> str:
        """The next line, with those that a backslash at its end joins to it."""
        pieces: list[str] = []
        while self.at < len(self.lines) - 1 and (
            (len(self.lines[self.at]) - len(self.lines[self.at].rstrip("\\"))) % 2
        ):
            pieces.append(self.lines[self.at][:-1])
            self.at += 1
        pieces.append(self.lines[self.at])
        self.at += 1
        return " ".join(
            (pieces[0].rstrip(BLANK) if len(pieces) > 1 else pieces[0], *(piece.strip(BLANK) for piece in pieces[1:]))
        )

    def _masked(self, line: str) -> str:
        """The line with a mark for each character of a reference, which may hold anything."""
        pieces: list[str] = []
        at = 0
        while (start := line.find("$", at)) >= 0:
            end = _past_reference(line, start)
            pieces += (line[at:start], "\x01" * (end - start))
            at = end
        return "".join((*pieces, line[at:]))

    def _line(self, line: str, masked: str, first: int) -> None:
        """One line that is no recipe's: a setting first, since a variable may be called `else` or `include`."""
        setting, define = _SETTING.fullmatch(masked), _DEFINE.match(masked)
        computed = _COMPUTED.match(masked)
        condition = None if setting or define or computed else _CONDITION.match(masked)
        if condition is not None:
            self._condition(condition[1], line)
            return
        self._end_rule()
        if setting is not None:
            self._set(setting, line[setting.start(3) :], first)
        elif computed is not None:
            self.rows.complete = self.rows.closed = False
        elif define is not None:
            self._body()
            self._add(define[1], "variable", first, Scalar(doubt="computed"))
        elif _ADDING.match(masked):
            self.rows.complete = self.rows.closed = False
        elif not _IGNORED.match(line):
            self._rule(line, masked, first)

    def _end_rule(self) -> None:
        for row in self.rule or ():
            self.rows.reach(row, self.reached)
        self.rule = None

    def _condition(self, keyword: str, line: str) -> None:
        if not keyword.startswith("if"):
            self.rows.complete &= bool(self.under)
            before = self.under.pop() if self.under else ""
            if keyword == "else":
                self.under.append(f"{before} … {line}"[:200])
        else:
            self.under.append(line[:200])
            if len(self.under) > _MAX_CONDITIONS:
                raise Unreadable("too-large")

    def _body(self) -> None:
        """Passes over the lines of a `define`; others may be defined in it."""
        depth = 1
        while self.at < len(self.lines) and depth:
            line = self.lines[self.at].strip(BLANK)
            self.at += 1
            if not self.lines[self.at - 1].startswith("\t"):
                depth += 1 if _DEFINE.match(line) else -(line.split("#")[0].rstrip(BLANK) == "endef")
        self.rows.complete &= depth == 0

    def _set(self, setting: re.Match[str], value: str, first: int, everywhere: bool = True) -> None:
        name, operator, value = setting[1], setting[2], value.strip(BLANK)
        if name == ".RECIPEPREFIX":
            raise Unreadable("computed")
        scalar = reading(value_of_text(value))
        if operator in ("+=", "?=") or not everywhere:
            scalar = Scalar(doubt="assigned-elsewhere")  # the environment, or another setting, is a part of the value
        elif operator == "!=" or "$" in value or "\\" in value:
            scalar = Scalar(written="" if operator == "!=" else value, doubt="computed")
        self._add(name, "variable", first, scalar)

    def _add(self, name: str, kind: Kind, first: int, scalar: Scalar | None = None) -> int:
        row = self.rows.add(0, name, kind, first, self.at, scalar)
        self.rows.entries[row].under = tuple(self.under)
        return row

    def _rule(self, line: str, masked: str, first: int) -> None:
        colon = _COLON.search(masked)
        if colon is None:  # a reference alone, whose text may be a line of any kind, or no line of a Makefile
            self.rows.complete = self.rows.closed = False
            return
        rest = masked[colon.end() :].removeprefix(":").lstrip(BLANK)
        targets = list(dict.fromkeys(masked[: colon.start()].removesuffix("&").split()))
        if any(mark in target for target in targets for mark in "\x01$*?["):
            self.rows.closed = False
        setting = _SETTING.fullmatch(rest.partition(";")[0])
        if setting is not None:  # for these targets
            self._set(setting, line[len(masked) - len(rest) + setting.start(3) :], first, everywhere=False)
            return
        if _COMPUTED.match(rest):
            self.rows.complete = self.rows.closed = False
        self.rule, self.reached = [], self.at
        for target in targets:
            name = target.replace("\\:", ":")
            if not any(mark in target for mark in "\x01$*?["):
                self.rows.closed &= "%" not in name and _SUFFIX_RULE.fullmatch(name) is None
                self.rule.append(self._add(name, "target", first))


def _past_reference(line: str, at: int) -> int:
    """The place behind a reference that begins with the `$` at a place."""
    opening = line[at + 1 : at + 2]
    if opening not in _BRACKETS:
        return min(at + 2, len(line))
    depth = 0
    for bracket in _BRACKETS[opening].finditer(line, at + 1):
        depth += 1 if bracket[0] == opening else -1
        if depth == 0:
            return bracket.end()
    return len(line)
