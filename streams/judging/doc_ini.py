"""Reads the INI family, `.properties` included, and `.env`: keys whose values are texts.

INI is read by configparser, whose hooks for keys and headers tell on which line each stands; `.env` by python-dotenv.
Where other readers differ (a comment behind a value, a line that stands deeper) a value has several readings. Nothing
is put in for `${…}`, `%(…)s`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from configparser import Error, RawConfigParser
from io import StringIO
from types import SimpleNamespace
from typing import Any, Final, cast

from .doc_entries import Rows, Scalar, Unreadable, text

_BLANKS: Final = re.compile(r"[^\S\n]{64}")
"""configparser takes time by the product of a line's length and its longest run of blanks."""
_WORD: Final = re.compile(r"[\w.@/-]++")
_VARIABLE: Final = re.compile(r"[A-Za-z_][\w.-]*+")
_COMMENT: Final = re.compile(r"(?:^|[ \t])[#;].*", re.DOTALL)
_KEY_BELOW: Final = re.compile(r"[\w.-]++[ \t]*+[=:](?!=)")
_HEADER: Final = re.compile(r"\[\s*(.*\S)\s*\]\s*(?:[#;][^\]]*)?")
_END_OF_HEADER: Final = re.compile(r"\]\s*[#;]")
_NUMBERED: Final = re.compile(r"(?P<header>[0-9]+ .*)", re.DOTALL)


def parse_ini(source: str, rows: Rows, dialect: str) -> None:
    """Reads a file of the INI family.

    Args:
        source: its lines end with a line feed.
        rows: takes the entries.
        dialect: `ini`, `conf` or `properties`.

    Raises:
        Unreadable: a line is none that the format has, or the file is too large.
    """
    if _BLANKS.search(source):
        raise Unreadable("too-large")
    rows.closed = dialect != "properties" or "\\" not in source  # a key may have escapes, which are not read
    lines = source.split("\n")
    parser = _read(lines, ("=",) if dialect == "conf" else ("=", ":"))
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


def _read(lines: list[str], delimiters: tuple[str, ...]) -> RawConfigParser:
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
    scalars = [text(content, plain=True) for content in dict.fromkeys((whole, first, _COMMENT.sub("", whole).strip()))]
    doubtful = next((scalar for scalar in scalars if scalar.doubt is not None), None)
    return doubtful or Scalar(tuple(reading for scalar in scalars for reading in scalar.readings))


def parse_env(source: str, rows: Rows) -> None:
    """Reads a `.env` file. What a shell would put into a value (`$NAME`, an escape) makes it doubtful.

    Raises:
        Unreadable: something is no assignment, or the file is too large.
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
