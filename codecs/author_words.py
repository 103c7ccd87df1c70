"""Which parts of a Markdown text are its author's own prose, and where its fenced blocks stand.

Quotations, code blocks and code spans show what others wrote, or an example; an annotation in one is not the author's
(docs/annotating.md). Block structure as CommonMark has it, told line by line: fences, indented code, quotations with
their lazy lines, and the indentation of list items. The heads of GitHub's alerts (`> [!NOTE]`) make a quotation the
author's own. Where a case is in doubt, the line counts as quoted. Linear in the text.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

BLANK_LINE: Final = re.compile(r"\n[^\S\n]*\n")
LINE: Final = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
"""A line with its end, and what stands before that; an empty one behind the last end."""
_HEAD: Final = re.compile(r"[ \t]*+(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]++|$)){0,20}+")
"""Indentation and the marks of list items, of which no more are read."""
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]++|$)")
_FENCE: Final = re.compile(r"(`{3,}+(?=[^`]*$)|~{3,}+)(.*)")
_ALERT: Final = re.compile(r"\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]", re.IGNORECASE)
_ALONE: Final = re.compile(r"#{1,6}(?:[ \t]|$)|(?:\*[ \t]*){3,}$|(?:-[ \t]*){3,}$|(?:_[ \t]*){3,}$")
"""A heading or a thematic break: no paragraph goes on behind it."""
_CODE: Final = 4
"""Columns by which a line is code that stands farther in than the block around it."""
_RUN: Final = re.compile(r"`+")


class Fence(NamedTuple):
    """A fenced block: `[start, end)` with its fences, `[first, last)` what stands between them.

    Attributes:
        info: what stands behind the opening fence.
        closed: a fence closes it; else it goes on to the end of the text or of its list item.
    """

    start: int
    end: int
    first: int
    last: int
    info: str
    closed: bool


class Layout(NamedTuple):
    """What of a text is not its author's prose.

    Attributes:
        foreign: code blocks and quotations, half open, in order, apart from one another.
        fences: the fenced blocks that stand in no other one and in no quotation.
    """

    foreign: list[tuple[int, int]]
    fences: list[Fence]


class _Open(NamedTuple):
    """A fence that is open."""

    start: int
    first: int
    mark: str
    info: str
    inside: int


def layout(text: str) -> Layout:
    """The quotations and code blocks of a text."""
    return _Lines().read(text)


class _Lines:
    """The lines read so far.

    Invariants: `_items` are the columns at which the content of the open list items begins, `_inside` the innermost;
    `_lazy` tells that the line before was a quotation's paragraph, which a line without a mark goes on.
    """

    def __init__(self) -> None:
        self._foreign: list[tuple[int, int]] = []
        self._fences: list[Fence] = []
        self._fence: _Open | None = None
        self._items: list[int] = []
        self._blank = True
        self._empty = self._code = self._quoted = self._lazy = self._alert = self._quoted_code = False

    def read(self, text: str) -> Layout:
        """All lines of a text."""
        at = 0
        while at < len(text):
            match = LINE.match(text, at)
            assert match is not None
            self._line(match[1], at, match.end())
            at = match.end()
        if self._fence is not None:
            self._close(len(text), len(text), closed=False)
        return Layout(self._foreign, self._fences)

    @property
    def _inside(self) -> int:
        return self._items[-1] if self._items else 0

    def _leave(self, indentation: int) -> None:
        """Leaves the list items whose content begins farther in."""
        while self._items and self._items[-1] > indentation:
            self._items.pop()

    def _line(self, line: str, start: int, end: int) -> None:
        is_blank = not line.strip()
        if self._fence is not None:
            bare = line.strip()
            if is_blank or _column(line) >= self._fence.inside:
                closes = bare.startswith(self._fence.mark) and not bare.strip(self._fence.mark[0])
                if closes and _column(line) < self._fence.inside + _CODE:
                    self._close(start, end, closed=True)
                return
            self._close(start, start, closed=False)  # its list item is at its end
        if is_blank:
            self._blank, self._quoted, self._lazy, self._quoted_code = True, False, False, False
            if self._empty:
                self._items.pop()
            self._empty = False
            return
        self._empty = False
        head = _HEAD.match(line)
        assert head is not None
        indentation, rest = _column(line), line[head.end() :]
        alone = _ALONE.match(line.strip()) or _ALONE.match(rest)
        if self._blank:
            self._leave(indentation)
        deep = indentation >= self._inside + _CODE
        if deep and (self._blank or self._code):
            self._code, self._blank = True, False
            self._quoted = self._lazy = self._quoted_code = False
            self._take(start, end)
            return
        self._code = False
        marks = line[: head.end()] if not deep and not _ALONE.match(line.strip()) else ""
        if not rest and not self._blank and not self._lazy and indentation >= self._inside:
            marks, alone = "", True  # it underlines a heading
        fence = None if deep else _FENCE.match(rest)
        if marks.strip():
            self._leave(indentation)
            self._items += [len(line[: mark.end()].expandtabs(_CODE)) for mark in _ITEM.finditer(marks)]
            self._items[-1] += not rest
            self._quoted = self._lazy = self._quoted_code = False
            self._empty = not rest  # an item that is empty ends with a blank line
        elif fence is not None or rest.startswith(">") or alone:
            self._leave(indentation)
        if rest.startswith(">") and not deep:
            self._quotation(rest, start, end)
        elif fence is not None:
            self._fence = _Open(start, end, fence[1], fence[2].strip(), self._inside)
            self._quoted = self._lazy = self._quoted_code = False
        elif self._lazy and not marks.strip() and not alone:
            if not self._alert:
                self._take(start, end)
        else:
            self._quoted = self._lazy = self._quoted_code = False
        self._blank = bool(alone) or not rest or (self._quoted and not self._lazy)

    def _quotation(self, rest: str, start: int, end: int) -> None:
        content = rest.lstrip("> \t")
        if not self._quoted:
            self._alert = _ALERT.match(content) is not None
        fenced = _FENCE.match(content) is not None
        self._quoted_code = self._quoted_code != fenced
        self._quoted, self._lazy = True, bool(content) and not self._quoted_code and not fenced
        if not self._alert:
            self._take(start, end)

    def _close(self, last: int, end: int, *, closed: bool) -> None:
        assert self._fence is not None
        first = min(self._fence.first, last)
        self._fences.append(Fence(self._fence.start, end, first, last, self._fence.info, closed))
        self._take(self._fence.start, end)
        self._fence, self._blank = None, True

    def _take(self, start: int, end: int) -> None:
        if self._foreign and self._foreign[-1][1] == start:
            self._foreign[-1] = (self._foreign[-1][0], end)
        else:
            self._foreign.append((start, end))


def _column(line: str) -> int:
    """The column at which the words of a line begin, or its list mark; a tab goes on to the next fourth one."""
    white = line[: len(line) - len(line.lstrip(" \t"))]
    return len(white.expandtabs(_CODE))


class CodeSpans:
    """The code spans of a text, asked for from left to right.

    Args:
        text: Markdown.
    """

    def __init__(self, text: str) -> None:
        self._later: dict[int, list[int]] = {}
        for match in reversed(list(_RUN.finditer(text))):
            self._later.setdefault(len(match[0]), []).append(match.start())

    def end(self, start: int, length: int, most: int) -> int:
        """Where the code span ends that a run of back-ticks opens; the end of the run where none closes it.

        Args:
            start: of the run; never less than before.
            length: of the run.
            most: a code span has to end before this position.
        """
        same = self._later[length]
        while same and same[-1] <= start:
            same.pop()
        return same[-1] + length if same and same[-1] < most else start + length
