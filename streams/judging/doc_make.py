"""Reads a Makefile as GNU make does, line by line, and expands nothing: its targets and variables with their lines.

What a recipe does, what a `define` holds and what an `include` brings is not looked at. A reader of our own, since the
published grammar for tree-sitter has errors in 19 of the 95 Makefiles of an ordinary machine, and reads `A?=1` as the
name `A?` without telling.
"""

from __future__ import annotations

import re
from typing import Final, Literal

import msgspec

from ...codecs.unicode_text import nfkc
from .doc_make_lines import BLANK, goes_on, place_outside, setting_of, uncommented, words
from .doc_tree import MAX_ROWS, Unreadable
from .results import HeldReason

_WEIGHT: Final = 400
"""Bytes that a definition takes, measured."""


class Definition(msgspec.Struct, frozen=True, gc=False):
    """One rule of a target, or one setting of a variable.

    Attributes:
        kind: which of the two.
        first, last: lines, from 1; those of a rule include its recipe.
        value: of a variable, as it is written.
        doubt: why the value is not simply the variable's.
        owner: the target that a variable is set for; empty for all.
    """

    kind: Literal["target", "variable"]
    first: int
    last: int
    value: str = ""
    doubt: HeldReason | None = None
    owner: str = ""


class Makefile(msgspec.Struct, frozen=True):
    """What a Makefile defines.

    Attributes:
        definitions: by name, in the file's order.
        patterns: targets with a `%`.
        computed: kinds of which there are some whose name is not written down.
        evaluated: words of the lines in which `eval` makes text a part of the Makefile.
        complete: every line was understood.
    """

    definitions: dict[str, list[Definition]]
    patterns: tuple[str, ...]
    computed: frozenset[str]
    evaluated: frozenset[str]
    complete: bool

    def weight(self, text: str) -> int:
        """About how many bytes it takes, beside its text."""
        return _WEIGHT * (len(self.evaluated) + sum(map(len, self.definitions.values()))) + len(text)


def parse_make(text: str) -> Makefile:
    """Reads a Makefile.

    Args:
        text: without a byte order mark; its lines end with a line feed.

    Raises:
        Unreadable: it is too large.
    """
    return _Reader(text).read()


_CONDITION: Final = re.compile(
    r"(?:(ifdef|ifndef|ifeq|ifneq|else|endif)"
    r"|[.!](if|ifdef|ifndef|ifmake|ifnmake|for|else|elif|elseif|elifdef|elifndef|endif|endfor))(?=[ \t(\"'!]|$)"
)
"""Of GNU make; with the mark before it, of others, whose conditions make a setting no less doubtful."""
_DIRECTIVE: Final = re.compile(r"(-?include|sinclude|vpath|export|unexport|-?load|undefine)(?=[ \t]|$)")
_MODIFIER: Final = re.compile(r"(?:export|override|private)[ \t]++")
_DEFINE: Final = re.compile(r"define[ \t]++")
_WORD: Final = re.compile(r"[\w./%-]++")
_SUFFIXES: Final = re.compile(r"\.[a-z]\w*+(\.[a-z]\w*+)")
"""A rule of the old kind: `.c.o` is `%.o: %.c`."""
_SILENT: Final = re.compile(r"\$[({](?:info|warning|error)[ \t]")


class _Reader:
    """Reads logical lines.

    Attributes:
        rule: the targets of the rule that recipe lines belong to; None where a line that begins with a tab is no part
            of a recipe.
        reached: the last line of that rule.
        depth: conditionals that are open.
        prefix: what a line of a recipe begins with.
    """

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self.at = 0
        self.definitions: dict[str, list[Definition]] = {}
        self.count = self.depth = self.reached = 0
        self.rule: list[str] | None = None
        self.prefix = "\t"
        self.patterns: list[str] = []
        self.computed: set[str] = set()
        self.evaluated: set[str] = set()
        self.complete = True

    def read(self) -> Makefile:
        while self.at < len(self.lines):
            first = self.at + 1
            pieces = self._logical()
            line = pieces[0] if len(pieces) == 1 else " ".join(piece.strip(BLANK) for piece in pieces)
            if "$(eval" in line or "${eval" in line:
                self.evaluated.update(_WORD.findall(line))
                self.computed.update(("target", "variable"))
            if self.rule is not None and pieces[0].startswith(self.prefix):
                self.reached = self.at
                continue
            line = uncommented(line).strip(BLANK)
            if line:
                self._line(line, first)
        self._end_rule()
        return Makefile(
            self.definitions,
            tuple(dict.fromkeys(self.patterns)),
            frozenset(self.computed),
            frozenset(self.evaluated),
            self.complete and self.depth == 0,
        )

    def _logical(self) -> list[str]:
        """The next line, with those that a backslash at its end joins to it; `at` is the last one's number then."""
        pieces: list[str] = []
        while self.at < len(self.lines) - 1 and goes_on(self.lines[self.at]):
            pieces.append(self.lines[self.at][:-1])
            self.at += 1
        pieces.append(self.lines[self.at])
        self.at += 1
        return pieces

    def _line(self, line: str, first: int) -> None:
        """One line that is no recipe's: a setting first, since a variable may be called `else` or `include`."""
        if self._variable(line, first):
            return
        condition = _CONDITION.match(line)
        if condition is not None:
            self._condition(condition[1] or condition[2])
            return
        self._end_rule()
        directive = _DIRECTIVE.match(line)
        if directive is None:
            self._rule(line, first)
        elif directive[1] == "undefine":
            self.evaluated.update(_WORD.findall(line, directive.end()))

    def _condition(self, keyword: str) -> None:
        if keyword.startswith("end"):
            self.complete &= self.depth > 0
            self.depth = max(self.depth - 1, 0)
        elif not keyword.startswith("el"):
            self.depth += 1

    # ------------------------------------------------------------ variables

    def _variable(self, line: str, first: int) -> bool:
        """Whether a line sets a variable, perhaps in several lines; then it is entered."""
        while (setting := setting_of(line)) is None:
            modifier = _MODIFIER.match(line)
            if modifier is None:
                break
            line = line[modifier.end() :]
        if setting is not None:
            self._set(setting, first, "")
            return True
        define = _DEFINE.match(line)
        if define is None:
            return False
        name = line[define.end() :]
        operator = setting_of(name)
        name, mark = (name, "=") if operator is None else operator[:2]
        self._set((name, mark, self._body()), first, "")
        return True

    def _body(self) -> str:
        """The lines of a `define`; others may be defined in it."""
        start, depth = self.at, 1
        while self.at < len(self.lines):
            word = self.lines[self.at].strip(BLANK)
            self.at += 1
            if self.lines[self.at - 1].startswith(self.prefix):
                continue
            if _DEFINE.match(word):
                depth += 1
            elif word.split("#")[0].rstrip(BLANK) == "endef":
                depth -= 1
                if depth == 0:
                    return "\n".join(self.lines[start : self.at - 1])
        self.complete = False
        return "\n".join(self.lines[start:])

    def _set(self, setting: tuple[str, str, str], first: int, owner: str) -> None:
        self._end_rule()
        name, operator, value = setting
        if "$" in name:
            self.computed.add("variable")
            return
        if name == ".RECIPEPREFIX":
            self.prefix = value[:1] or "\t"
        doubt: HeldReason | None = None
        if operator == "+=" or self.depth:
            doubt = "ambiguous"
        elif operator == "!=" or "$" in value:
            doubt = "computed"
        self._enter(name, Definition("variable", first, self.at, value, doubt, owner))

    def _enter(self, name: str, definition: Definition) -> None:
        self.count += 1
        if self.count > MAX_ROWS:
            raise Unreadable("too-large")
        self.definitions.setdefault(name if name.isascii() else nfkc(name), []).append(definition)

    # ------------------------------------------------------------ rules

    def _rule(self, line: str, first: int) -> None:
        colon = place_outside(line, ":")
        if colon < 0:
            if not line.startswith("$"):
                self.complete = False
            elif not _SILENT.match(line):
                self.computed.update(("target", "variable"))
            return
        targets = list(dict.fromkeys(words(line[:colon].removesuffix("&"))))
        rest = line[colon + 1 :].removeprefix(":").lstrip(BLANK)
        recipe = place_outside(rest, ";")
        head = rest if recipe < 0 else rest[:recipe]
        while (setting := setting_of(head)) is None and (modifier := _MODIFIER.match(head)) is not None:
            head = head[modifier.end() :]
        if setting is not None:
            value = setting[2] + (rest[recipe:] if recipe >= 0 else "")
            for target in targets:
                self._set((setting[0], setting[1], value), first, target)
            return
        self.rule, self.reached = [], self.at
        for target in targets:
            self._target(target, first)

    def _target(self, name: str, first: int) -> None:
        if any(mark in name for mark in "$*?["):
            self.computed.add("target")
            return
        name = name.replace("\\:", ":")
        suffixes = _SUFFIXES.fullmatch(name)
        if "%" in name:
            self.patterns.append(name)
        elif suffixes is not None:
            self.patterns.append(f"%{suffixes[1]}")
        elif name == ".DEFAULT":
            self.computed.add("target")
        self._enter(name, Definition("target", first, self.at))
        assert self.rule is not None, "a target stands in a rule"
        self.rule.append(name if name.isascii() else nfkc(name))

    def _end_rule(self) -> None:
        """The lines of the rule's recipe are its own."""
        for name in dict.fromkeys(self.rule or ()):
            known = self.definitions[name]
            known[-1] = msgspec.structs.replace(known[-1], last=self.reached)
        self.rule = None
