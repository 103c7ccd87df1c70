"""Reads the INI family, `.properties` included, and `.env`: keys whose values are texts.

Values of the INI family come from configparser, of `.env` from python-dotenv. The lines of INI come from a reader of
our own, since no grammar is published: a key that both do not agree on is ambiguous. Where other readers differ (a
comment behind a value, a line that stands deeper) a value has several readings. Nothing is put in for `${…}`, `%(…)s`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from configparser import Error, RawConfigParser
from io import StringIO
from typing import Final

from .doc_entries import Rows, Scalar, Unreadable, text

_BLANKS: Final = re.compile(r"[^\S\n]{64}")
"""configparser takes time by the product of a line's length and its longest run of blanks."""
_TOP: Final = "\x01"
"""configparser's section for the keys before the first header."""
_WORD: Final = re.compile(r"[\w.@/-]++")
_VARIABLE: Final = re.compile(r"[A-Za-z_][\w.-]*+")
_COMMENT: Final = re.compile(r"(?:^|[ \t])[#;].*", re.DOTALL)
_KEY_BELOW: Final = re.compile(r"[\w.-]++[ \t]*+[=:](?!=)")


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
    reader = _Lines(rows, dialect)
    lines = source.split("\n")
    for line, content in enumerate(lines, 1):
        reader.take(content, line)
    reader.close(len(lines))
    if dialect == "conf" and not reader.values:
        raise Unreadable("syntax-error")
    parser = RawConfigParser(
        strict=False, allow_no_value=True, default_section="\x02", delimiters=reader.separators, interpolation=None
    )
    parser.optionxform = lambda optionstr: optionstr
    try:
        parser.read_string(f"[{_TOP}]\n{source}")
        known = {name: dict(parser.items(name)) for name in parser.sections()}
    except (Error, ValueError, AttributeError):  # an attribute of None: a line below a key without a value
        raise Unreadable("ambiguous") from None
    _compare(reader, known)


def _compare(reader: _Lines, known: Mapping[str, Mapping[str, str | None]]) -> None:
    """Makes doubtful what configparser reads in another way."""
    seen: dict[int, set[str]] = {row: set() for row in reader.sections.values()}
    names = {row: name for name, row in reader.sections.items()}
    for row, value in reader.values.items():
        entry = reader.rows.entries[row]
        seen[entry.parent].add(reader.keys[row])
        section = known.get(names[entry.parent], {})
        other = section.get(reader.keys[row], "\x02")
        if value != (None if other is None else [line for line in other.split("\n") if line]):
            reader.rows.set(row, Scalar(doubt="ambiguous"))
    for row, keys in seen.items():
        if keys != set(known.get(names[row], ())):
            reader.rows.entries[row].doubt = "ambiguous"
        elif reader.dialect == "ini" and "DEFAULT" in reader.sections:
            reader.rows.entries[row].doubt = "computed"  # the defaults are keys of each section


class _Lines:
    """The lines of a file.

    Attributes:
        sections: by the text of their headers.
        keys, values: of the entries of keys: the key as it stands there, and its lines that are not empty.
        section: the entry that keys go into.
        header: the section's header line; 0 before the first one.
        reached: the last line with a key of it.
        key: the entry of the last key; -1 where none stands before.
        indent: of the line of that key.
        value: its lines so far; None for a key without a value.
        split: to some readers the value ends with its first line, and keys follow.
    """

    def __init__(self, rows: Rows, dialect: str) -> None:
        self.rows, self.dialect = rows, dialect
        self.separators = ("=",) if dialect == "conf" else ("=", ":")
        self.section = self.root = rows.add(-1, "", "mapping", 1)
        self.sections = {_TOP: self.root}
        self.keys: dict[int, str] = {}
        self.values: dict[int, list[str] | None] = {}
        self.header = self.reached = self.indent = 0
        self.key = -1
        self.value: list[str] | None = None
        self.split = False

    def take(self, content: str, line: int) -> None:
        """Takes the next line."""
        stripped = content.strip()
        if not stripped or stripped[0] in "#;":
            return
        indent = len(content) - len(content.lstrip())
        if self.key >= 0 and self.value is not None and indent > self.indent:
            self.value.append(stripped)
            self.rows.reach(self.key, line)
            self.reached = line
            self.split |= _KEY_BELOW.match(stripped) is not None
            return
        self._finish()
        if stripped[0] == "[":
            self._section(stripped, line)
        else:
            self.indent = indent
            self._pair(stripped, line)

    def _section(self, content: str, line: int) -> None:
        end = content.find("]")
        if not _is_comment(content[end + 1 :]):
            end = content.rfind("]")
        raw = content[1:end]
        name = raw.strip()
        if end < 0 or not name or not _is_comment(content[end + 1 :]):
            raise Unreadable("syntax-error")
        self.close(line - 1)
        if raw not in self.sections:
            self.sections[raw] = self.rows.add(self.root, name, "mapping", line)
        self.section, self.header, self.reached = self.sections[raw], line, line

    def close(self, reach: int) -> None:
        """Before a header, or at the end: the last key and the section end here."""
        self._finish()
        self.rows.reach(self.root, reach)
        if self.header:
            entry = self.rows.entries[self.section]
            entry.blocks = (*entry.blocks, (self.header, self.reached, reach))
            entry.last = self.reached

    def _pair(self, content: str, line: int) -> None:
        ends = [end for end in map(content.find, self.separators) if end >= 0]
        end = min(ends, default=len(content))
        key = content[:end].strip()
        word = _WORD.fullmatch(key) is not None
        if not key or (self.dialect == "conf" and not (word and ends)) or not (ends or (word and self.header)):
            raise Unreadable("syntax-error")
        self.reached = line
        self.key = self.rows.add(self.section, key, "value", line)
        self.keys[self.key] = key
        self.value = [content[end + 1 :].strip()] if ends else None

    def _finish(self) -> None:
        """The last key's value is whole."""
        if self.key >= 0:
            self.values[self.key] = None if self.value is None else [part for part in self.value if part]
            self.rows.set(self.key, self._scalar())
        self.key, self.value, self.split = -1, None, False

    def _scalar(self) -> Scalar:
        if self.value is None:
            return Scalar(doubt="incomparable")  # to some readers it is true, to some it has no value
        whole = "\n".join(self.value).strip()
        if self.dialect == "properties" and "\\" in whole:
            return Scalar(written=whole, doubt="computed")
        first = self.value[0] if self.split else whole
        scalars = [text(content, "plain") for content in dict.fromkeys((whole, first, _COMMENT.sub("", whole).strip()))]
        doubtful = next((scalar for scalar in scalars if scalar.doubt is not None), None)
        return doubtful or Scalar(tuple(reading for scalar in scalars for reading in scalar.readings))


def _is_comment(content: str) -> bool:
    content = content.strip()
    return not content or content[0] in "#;"


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
        row = rows.add(root, binding.key, "value", first, first + start.rstrip().count("\n"))
        value, raw = binding.value, start.partition("=")[2].strip()
        if value is None:
            rows.set(row, Scalar(doubt="computed"))  # a name alone takes its value from outside
            continue
        doubtful = set("$`\\").intersection(raw) if raw[:1] in ("'", '"') else set("$`\\'\"").intersection(value)
        rows.set(row, Scalar(written=value, doubt="computed") if doubtful else text(value, "plain"))
