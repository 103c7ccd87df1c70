"""The lines of files that match, as grep prints them, and the words of an assertion in them (observing.md).

A search through all files looks at each of them only as far as it has to: where the bytes rule out that a line matches,
no line is made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import re2

from ...streams.judging.moments import parse_date
from ...streams.judging.terms import Content, Presence, Term, presence
from .ask import BOUND, Ask, CannotLook
from .content import APART, Piece, text_of
from .file_contents import File

MAX_PATTERN: Final = 1000
Match = Callable[[str], bool]
Files = Sequence[tuple[str, File]]
_RUN: Final = re.compile(r"[A-Za-z0-9_]+")
_AS_WRITTEN: Final = frozenset(("code", "quote", "name", "path"))


class Pattern(NamedTuple):
    """What a line has to match.

    Attributes:
        matches: whether one does.
        fixed: a string that stands in every line that does; empty where none is known.
    """

    matches: Match
    fixed: str

    @classmethod
    def of(cls, pattern: str, *, regex: bool) -> Pattern:
        """Raises:
        CannotLook: it is too long, or no expression that RE2 reads.
        """
        if len(pattern) > MAX_PATTERN:
            raise CannotLook(f"the pattern is longer than {MAX_PATTERN} characters")
        if not regex:
            return cls(lambda line: pattern in line, pattern)
        options = re2.Options()
        options.log_errors = False
        options.max_mem = 8 << 20
        try:
            compiled = re2.compile(pattern, options)
        except (re2.error, UnicodeError):
            raise CannotLook("the pattern is no regular expression that RE2 reads") from None
        return cls(lambda line: compiled.search(line) is not None, "")


class Lines(NamedTuple):
    """The matching lines of one file, and those around them, as bytes and as text, with their numbers."""

    path: str
    raw: list[bytes]
    texts: list[str]
    numbers: list[int]


def search(ask: Ask, files: Files, pattern: Pattern, context: int = 0) -> list[Lines]:
    """The matching lines of these files, with so many around each, in their order.

    Raises:
        CannotLook: more lines match than the bound allows.
    """
    found: list[Lines] = []
    count = 0
    for path, file in files:
        if not _may_match(file, pattern.fixed):
            continue
        one = matching(ask, path, file.piece, pattern.matches, context)
        if one is not None and one.raw:
            count += len(one.raw)
            _bound(ask, count)
            found.append(one)
    return found


def matching(ask: Ask, path: str, piece: Piece, match: Match, context: int = 0, first: int = 1) -> Lines | None:
    """The matching lines of one piece; None where it is binary: noise holds no lines.

    Args:
        ask: the question.
        path: of the file.
        piece: what is searched.
        match: whether a line does.
        context: how many lines before and behind each are taken along.
        first: the number of the piece's first line.
    """
    text = text_of(piece)
    if text is None:
        return None
    rows = list(lines_in(piece, text.text))
    places = [place for place, (_, line) in enumerate(rows) if match(line)]
    _bound(ask, len(places))
    if context:
        around = {near for place in places for near in range(place - context, place + context + 1)}
        places = sorted(around.intersection(range(len(rows))))
    return Lines(
        path, [rows[one][0] for one in places], [rows[one][1] for one in places], [first + one for one in places]
    )


def lines_in(piece: Piece, text: str) -> Iterator[tuple[bytes, str]]:
    """Each line, as the bytes that grep would print and as text."""
    lines = text.split("\n")
    same = piece.encoding is None
    raw = piece.data.split(b"\n") if same else [line.encode() for line in lines]
    if lines and not lines[-1]:
        lines.pop()
    for data, line in zip(raw, lines, strict=False):
        yield data + b"\n", line


def _may_match(file: File, fixed: str) -> bool:
    if not fixed:
        return True
    if file.data.isascii() and file.piece.encoding is None:
        return fixed.encode("utf-8", "replace") in file.data
    text = file.text
    return text is not None and fixed in text.text


def _bound(ask: Ask, count: int) -> None:
    ask.budget.remaining()
    if count > ask.budget.matches:
        raise CannotLook(f"more than {ask.budget.matches} lines match, {BOUND} `look_matches`")


# ---------------------------------------------------------------- words


def any_word(ask: Ask) -> Match:
    """Whether a line holds any of the words."""

    def match(line: str) -> bool:
        content = Content(line)
        return any(content.holds(term) for term in ask.terms.terms)

    return match


def words_in(ask: Ask, found: Sequence[Lines], *, named: bool) -> Presence:
    """Of the files with matching lines, what the one holds that holds the most of the words.

    Args:
        ask: the question.
        found: the lines.
        named: the locator names the file; else its own name stands before its lines, as in what grep prints, and a path
            in the text may mean it.
    """
    best = presence(ask.terms.terms, "")
    for one in found:
        texts = one.texts if named or not one.texts else (one.path, *one.texts)
        held = presence(ask.terms.terms, Content(APART.join(texts)))
        best = max(best, held, key=lambda presence: len(presence.found))
    return best


def best_file(ask: Ask, files: Files) -> list[Lines]:
    """The lines with a word in the file whose lines hold the most of them; none where no file has any.

    How many of the words may stand in a file its bytes tell; files that can hold no more than one that was looked at
    are not looked at.
    """
    marks = [_mark(term) for term in ask.terms.terms]
    lower = any(term.kind == "word" for term in ask.terms.terms)
    by_count: dict[int, list[tuple[str, File]]] = {}
    for path, file in files:
        count = _may_hold(file, marks, lower)
        if count:
            by_count.setdefault(count, []).append((path, file))
    best, most = list[Lines](), 0
    for count in sorted(by_count, reverse=True):
        for path, file in by_count[count] if count > most else ():
            ask.budget.remaining()
            one = matching(ask, path, file.piece, any_word(ask))
            held = len(words_in(ask, [one], named=False).found) if one is not None else 0
            if one is not None and held > most:
                best, most = [one], held
            if most == count:
                break
    return best


def _mark(term: Term) -> bytes:
    """What stands in every text that holds a term, in lower case for words; empty where that cannot be told."""
    if term.kind == "moment":
        date = parse_date(term.text)
        return b"" if date is None else f"{date.year:04}".encode()
    runs = _RUN.findall(term.text) if term.kind == "word" or term.kind in _AS_WRITTEN else []
    return max(runs, key=len, default="").encode()


def _may_hold(file: File, marks: Sequence[bytes], lower: bool) -> int:
    """How many of the words may stand in a file."""
    text = file.searchable
    if text is None:
        return 0
    if not file.data.isascii():
        return len(marks)
    text = text.lower() if lower else text
    return sum(mark in text for mark in marks)
