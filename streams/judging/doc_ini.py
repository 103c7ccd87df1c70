"""Reads the INI family with sections into rows: keys whose values are texts. One pass over the lines.

There is no one format: what most readers agree on is read, a line that is no section, key or comment makes the file
none of these, and where readers differ (a comment behind a value, a line that stands deeper) the value or the name is
doubtful. Nothing is put in for `${…}` or `%(…)s`.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .doc_tree import Block, Content, Doubtful, Either, Shape, Tree, Unreadable
from .values import value_of_text


class Dialect(NamedTuple):
    """What tells one of the formats from the others.

    Attributes:
        separators: what stands between a key and its value.
        indents: a line that stands deeper than its key goes on with the value.
        strict: a key is one word with a value, and without a key the file is none of these.
        git: comments stand behind values, values may be in quotes, and a section may have a second name in quotes.
    """

    separators: str = "=:"
    indents: bool = True
    strict: bool = False
    git: bool = False


INI: Final = Dialect()
CONF: Final = Dialect("=", strict=True)
EDITORCONFIG: Final = Dialect(indents=False)
GIT: Final = Dialect("=", indents=False, git=True)

_SUBSECTION: Final = re.compile(r'\s*([^\s"]++)\s++"((?:[^"\\]|\\.)*+)"\s*')
_WORD: Final = re.compile(r"[\w.@/-]++")
_COMMENT: Final = re.compile(r"(?:^|[ \t])[#;]")
_KEY_BELOW: Final = re.compile(r"[\w.-]++[ \t]*+[=:](?!=)")
_GIT_VALUE: Final = re.compile(r'((?:[^"\\#;]|"[^"\\]*+")*+)(?:[#;].*)?', re.DOTALL)


def parse_ini(text: str, dialect: Dialect) -> Tree:
    """Reads a file of the INI family.

    Args:
        text: without a byte order mark; its lines end with a line feed.
        dialect: which format it is.

    Raises:
        Unreadable: a line is none that the format has, or the file is too large.
    """
    return _Reader(text, dialect).read()


class _Reader:
    """Reads line by line.

    Attributes:
        section: the row that keys go into.
        header: the section's header line; 0 before the first one.
        reached: the last line with a key of it.
        key: the row of the last key; -1 where none stands before.
        indent: of the line of that key.
        value: its value, line by line.
        split: to some readers the value ends with its first line, and keys follow.
    """

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.dialect = dialect
        self.text = text
        self.tree = Tree()
        self.section = self.root = self.tree.root(Shape.MAPPING, 1, text.count("\n") + 1)
        self.sections: dict[str, int] = {}
        self.header = self.reached = self.indent = 0
        self.key = -1
        self.value: list[str] = []
        self.split = False

    def read(self) -> Tree:
        number = 0
        for number, line in enumerate(self.text.split("\n"), 1):
            self._line(line, number)
        self._close(number)
        if self.dialect.strict and not self.tree.by_key:
            raise Unreadable("syntax-error")
        if "DEFAULT" in self.sections and self.dialect is INI:
            self.tree.merging.update(self.sections.values())  # a key that a section lacks may be among the defaults
        self.tree.fold_keys()
        return self.tree

    def _line(self, line: str, number: int) -> None:
        stripped = line.strip()
        if not stripped or stripped[0] in "#;":
            return
        indent = len(line) - len(line.lstrip())
        if self.key >= 0 and self.dialect.indents and indent > self.indent:
            self._further(stripped, number)
        elif stripped[0] == "[":
            self._section(stripped, number)
        else:
            self._finish()
            self.indent = indent
            self._pair(stripped, number)

    def _further(self, stripped: str, number: int) -> None:
        """A line that goes on with a value; to some readers it is a key of its own."""
        self.value.append(stripped)
        self.tree.lasts[self.key] = self.reached = number
        if _KEY_BELOW.match(stripped):
            self.split = self.tree.hides = True

    def _section(self, line: str, number: int) -> None:
        end = line.find("]")
        if not _blank_or_comment(line[end + 1 :]):
            end = line.rfind("]")
        name = line[1:end].strip()
        if end < 0 or not name or not _blank_or_comment(line[end + 1 :]):
            raise Unreadable("syntax-error")
        self._close(number - 1)
        found = _SUBSECTION.fullmatch(name) if self.dialect.git else None
        if found is not None:
            name = f"{found[1]}.{found[2]}"
        row = self.sections.get(name)
        if row is None:
            row = self.sections[name] = self.tree.add(self.root, name, Shape.MAPPING, number, number)
        self.section, self.header, self.reached = row, number, number

    def _close(self, reach: int) -> None:
        """Before a header, or at the end: the last key and the section end here."""
        self._finish()
        if self.header:
            self.tree.blocks.setdefault(self.section, []).append(Block(self.header, self.reached, reach))
            self.tree.lasts[self.section] = self.reached

    def _pair(self, line: str, number: int) -> None:
        places = [place for place in map(line.find, self.dialect.separators) if place >= 0]
        end = min(places, default=len(line))
        key = line[:end].strip()
        word = _WORD.fullmatch(key) is not None
        if not key or (self.dialect.strict and not (word and places)):
            raise Unreadable("syntax-error")
        self.reached = number
        if places:
            self.key = self.tree.add(self.section, key, Shape.HIDDEN, number, number)
            self.value = [line[end + 1 :].strip()]
        elif word and self.header:
            # To some readers it is true, to some it has no value.
            self.tree.add(self.section, key, Doubtful("", "incomparable"), number, number)
        else:
            raise Unreadable("syntax-error")

    def _finish(self) -> None:
        """The last key's value is whole."""
        if self.key >= 0:
            text = "\n".join(self.value).strip()
            content = _git_value(text) if self.dialect.git else _value(text)
            self.tree.contents[self.key] = Either((text, self.value[0])) if self.split else content
        self.key, self.value, self.split = -1, [], False


def _blank_or_comment(text: str) -> bool:
    text = text.strip()
    return not text or text[0] in "#;"


def _value(text: str) -> Content:
    comment = _COMMENT.search(text)
    return Either((text, text[: comment.start()].strip())) if comment else value_of_text(text)


def _git_value(text: str) -> Content:
    found = _GIT_VALUE.fullmatch(text)
    if found is None:
        return Doubtful(text, "computed")
    return value_of_text(found[1].strip().replace('"', ""))
