"""Prose in Markdown: which parts of a text are its author's own, where its fenced blocks stand, and where sentences
begin and end (Unicode UAX #29 with CLDR's English suppressions; docs/reference/records.md).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
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
        """The end, before position `most`, of the code span that a run of back-ticks of this `length` opens at `start`
        (never less than before); the end of the run where none closes it."""
        same = self._later[length]
        while same and same[-1] <= start:
            same.pop()
        return same[-1] + length if same and same[-1] < most else start + length


OURS: Final = frozenset({"Dr.", "St.", "cf.", "e.g.", "i.e."})
"""What CLDR 46.1 lacks: it has Mr. but not Dr., and E.g. but not e.g. Only what hardly ever ends a sentence."""
SUPPRESSED: Final[frozenset[str]] = OURS | frozenset(
    json.loads((files(__package__ or "") / "data" / "suppressions.json").read_text("utf-8"))["suppressions"]
)
"""Abbreviations after whose full stop no sentence ends, as they are written (CLDR lists both vs. and VS.)."""
_LONGEST: Final = max(map(len, SUPPRESSED))

_LETTERS: Final = {
    "CR": "p",  # a line end is a space
    "LF": "p",
    "Sep": "p",
    "Sp": "p",
    "Extend": "x",
    "Format": "x",
    "Lower": "l",
    "Upper": "u",
    "OLetter": "e",
    "Numeric": "n",
    "ATerm": "a",
    "STerm": "t",
    "SContinue": "c",
    "Close": "k",
    "Other": "o",
}


_OF_ASCII: Final = (
    "ooooooooopppppooooooooooooooooooptkooookkkooccaonnnnnnnnnnccoooto"
    "uuuuuuuuuuuuuuuuuuuuuuuuuukokooollllllllllllllllllllllllllkokoo"
)
"""The letters of the first 128 code points, so that uniseg need not be loaded for what most texts are."""


@cache
def _class_of() -> Callable[[str], str]:
    from uniseg.sentencebreak import sentence_break  # pyright: ignore[reportMissingTypeStubs]

    return lambda character: sentence_break(character).value


class _Kinds(dict[int, str]):
    """For `str.translate`: code point to the letter of its Sentence_Break class, looked up once."""

    def __missing__(self, point: int) -> str:
        letter = _LETTERS[_class_of()(chr(point))]
        if len(self) < 65_536:  # bounded: strangers choose the characters
            self[point] = letter
        return letter


_KINDS: Final = _Kinds(enumerate(_OF_ASCII))

# Python 3.11's possessive repeats (*+) never give back: with them each expression below is linear.
_LINE_END = r"(?>\r\n|[\n\r\x85\u2028\u2029])"
_BLANK_LINE: Final = re.compile(rf"{_LINE_END}[^\S\n\r\x85\u2028\u2029]*+{_LINE_END}")
_STOP: Final = re.compile(r"([at])([kx]*+)(p[px]*+)?")  # SATerm Close* Sp*, each with its Extend and Format (SB5)
_THEN_LOWER: Final = re.compile(r"[^euatl]*+l")  # SB8: ( not (OLetter | Upper | Lower | SATerm) )* Lower


def sentences(text: str, ends: Iterable[int] = (), most: int = 1 << 62) -> list[tuple[int, int]]:
    """The sentences of a text in order, as half-open code point offsets, without the white space around them; every
    other character is in one. Time and memory are linear.

    `ends` are ascending positions of groups: where what stands before one ends like a sentence, the sentence does end
    there. After `most`, and the rest of the text before the next of these, no more are looked for.
    """
    kinds = text.translate(_KINDS)
    cuts = [match.start() for match in _BLANK_LINE.finditer(text)]
    before = 0
    for end in ends:
        if _terminated(kinds, before, end):
            cuts.append(end)
        before = end
    found: list[tuple[int, int]] = []
    start = 0
    for cut in (*sorted(cuts), len(text)):
        for stop in _stops(text, kinds, start, cut):
            sentence = text[start:stop]
            inner = sentence.strip()
            if inner:
                begin = start + len(sentence) - len(sentence.lstrip())
                found.append((begin, begin + len(inner)))
            start = stop
            if len(found) >= most:
                return found
    return found


def _terminated(kinds: str, floor: int, end: int) -> bool:
    """Whether what stands before `end` is SATerm Close*; what lies before `floor` was asked about already."""
    while end > floor and kinds[end - 1] in "kx":
        end -= 1
    return end > floor and kinds[end - 1] in "at"


def _stops(text: str, kinds: str, floor: int, ceiling: int) -> Iterator[int]:
    """Where the sentences between two cuts stop, the white space after them included; `ceiling` is the last."""
    start = floor
    for match in _STOP.finditer(kinds, floor, ceiling):
        stop = match.end()
        if stop < ceiling and not _goes_on(text, kinds, match, start, ceiling):
            yield stop
            start = stop
    yield ceiling


def _goes_on(text: str, kinds: str, match: re.Match[str], start: int, ceiling: int) -> bool:
    """SB6 to SB8a and the suppressions: whether the sentence that began at `start` goes on; SB11 if not.

    Nothing before `start` is looked at: so a sentence reads alike whether rules or a group ended the one before it.
    """
    after = kinds[match.end()]
    if after in "cat":  # SB8a
        return True
    if match[1] == "t":
        return False
    if "k" not in match[2]:
        if match[3] is None and after == "n":  # SB6
            return True
        if match[3] is None and after == "u" and _letter_before(kinds, start, match.start()):  # SB7
            return True
        if _suppressed(text, kinds, start, match.start()):
            return True
    return _THEN_LOWER.match(kinds, match.end(), ceiling) is not None  # SB8


def _letter_before(kinds: str, start: int, dot: int) -> bool:
    while dot > start and kinds[dot - 1] == "x":
        dot -= 1
    return dot > start and kinds[dot - 1] in "ul"


def _suppressed(text: str, kinds: str, start: int, dot: int) -> bool:
    """Whether the whole word before a full stop, the dots in it included, is one of `SUPPRESSED`."""
    word = dot
    while word > start and dot - word < _LONGEST and kinds[word - 1] in "ulenxa":
        word -= 1
    return text[word : dot + 1] in SUPPRESSED
