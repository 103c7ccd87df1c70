"""Reads a Makefile by the line rules of GNU make and expands nothing: its targets and variables with their lines.

The published grammar is not used: it has errors in a fifth of the Makefiles of an ordinary machine. A line that no rule
here recognises, an `include` and an `eval` leave every value of the file undecided, since they may set any variable.
"""

from __future__ import annotations

import re
from typing import Final

from .doc_entries import Kind, Rows, Scalar, Unreadable, reading
from .values import value_of_text

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
    """Reads a Makefile.

    Raises:
        Unreadable: it is too large.
    """
    _Reader(source, rows).read()


class _Reader:
    """Reads logical lines.

    Attributes:
        at: the number of the last line that was read.
        rule: the targets of the rule that recipe lines belong to; None where a line that begins with a tab is no part
            of a recipe.
        reached: the last line of that rule.
        under: the conditionals that are open.
    """

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
