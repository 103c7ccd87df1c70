"""What a text quotes, for a reader who holds every quotation against its source [C §4].

It finds more than the quotations of `quotes.py`, which terms are made of. Otherwise a writer could avoid the strict
check of a quotation by putting the words into a Markdown block quote, a `<q>` or `<cite>`, a quotation over several
paragraphs, marks that are written as entities (`&quot;`), or prose between back-ticks. A quotation over several lines
or paragraphs is compared line by line, or paragraph by paragraph, since the marks between them are the writer's. Linear
in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from html import unescape
from typing import Final

from .quotes import BLANK_LINE, PLAIN, code_spans, quotes

LEAST_WORDS: Final = 3
"""So many words of letters make prose of a code span; `git log` is none."""
_QUOTED_LINE: Final = re.compile(r"^[ \t]{0,3}>[ \t>]*+([^\n]*+)$", re.MULTILINE)
_OPEN: Final = re.compile(r"<(q|cite|blockquote)(?:[ \t\n][^<>]*+)?>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"</(q|cite|blockquote)[ \t\n]*+>", re.IGNORECASE)
_STRAIGHT: Final = re.compile(r'(?<!\w)"|"(?!\w)')
_STRAIGHTENED: Final = str.maketrans(PLAIN)
_ENTITY: Final = re.compile(r"&(?:#[xX][0-9a-fA-F]{1,8}|#[0-9]{1,8}|[A-Za-z]{2,24}[0-9]{0,2});")
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*[.,;:!?]?")


def cited_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of everything that the text quotes, in code points, without the marks; in order, none inside
    another."""
    spans = {*quotes(text), *_block_quotes(text), *_tagged(text), *_over_paragraphs(text), *_prose(text)}
    if "&" in text:
        spans |= _between_entities(text)
    return outermost(spans)


def _between_entities(text: str) -> set[tuple[int, int]]:
    """The quotations of a text some of whose marks are character references of HTML."""
    pieces: list[str] = []
    shifts = [(0, 0)]  # from this place of the text that is read on, the original is so much longer
    past = length = 0
    for match in _ENTITY.finditer(text):
        mark = unescape(match[0])
        if mark not in PLAIN:
            continue
        pieces += (text[past : match.start()], mark)
        length += match.start() - past + 1
        past = match.end()
        shifts.append((length, past - length))
    if not past:
        return set()
    read = "".join((*pieces, text[past:]))
    places = [place for place, _ in shifts]

    def original(place: int) -> int:
        return place + shifts[bisect_right(places, place) - 1][1]

    return {(original(start), original(end)) for start, end in {*quotes(read), *_over_paragraphs(read)}}


def outermost(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans in order, without those that lie inside another, which bears them out."""
    found: list[tuple[int, int]] = []
    past = 0
    for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
        if end > past:
            found.append((start, end))
            past = end
    return found


def _block_quotes(text: str) -> Iterator[tuple[int, int]]:
    """The lines of block quotes (CommonMark 5.1), each by itself."""
    for match in _QUOTED_LINE.finditer(text):
        yield from _trimmed(text, *match.span(1))


def _tagged(text: str) -> Iterator[tuple[int, int]]:
    """What stands between `<q>` or `<blockquote>` and the end that comes next, paragraph by paragraph."""
    closers = [(match.group(1).lower(), match.start(), match.end()) for match in _CLOSE.finditer(text)]
    place = {"q": 0, "cite": 0, "blockquote": 0}
    past = 0
    for match in _OPEN.finditer(text):
        if match.start() < past:
            continue
        name, at = match[1].lower(), place[match[1].lower()]
        while at < len(closers) and (closers[at][0] != name or closers[at][1] < match.end()):
            at += 1
        place[name] = at
        if at < len(closers):
            yield from _paragraphs(text, match.end(), closers[at][1])
            past = closers[at][2]


def _over_paragraphs(text: str) -> Iterator[tuple[int, int]]:
    """Quotations that their own paragraph does not close: one that opens in a paragraph, and what stands up to the next
    mark of two strokes that closes, however many paragraphs lie between; each of them by itself."""
    text = text.translate(_STRAIGHTENED)
    if text.count('"') < 2 or not BLANK_LINE.search(text):
        return
    inside = quotes(text)
    taken = {start - 1 for start, _ in inside} | {end for _, end in inside}
    opened = -1
    for match in _STRAIGHT.finditer(text):
        position = match.start()
        if position in taken:
            if opened >= 0 and _begins(text, position):  # a mark for each paragraph
                yield from _paragraphs(text, opened + 1, position)
            opened = -1
            continue
        opens = position + 1 < len(text) and not text[position + 1].isspace()
        closes = position > 0 and not text[position - 1].isspace()
        if opened >= 0 and closes:
            yield from _paragraphs(text, opened + 1, position)
            opened = -1
        elif opened < 0 and opens:
            opened = position


def _begins(text: str, position: int) -> bool:
    """Whether nothing stands before the place in its line."""
    return not text[text.rfind("\n", 0, position) + 1 : position].strip()


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """Code spans that hold words and not code: more than half of what stands there are words of letters."""
    for start, end in code_spans(text):
        pieces = text[start:end].split()
        words = sum(_WORD.fullmatch(piece) is not None for piece in pieces)
        if words >= LEAST_WORDS and 2 * words > len(pieces):
            yield from _paragraphs(text, start, end)


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The paragraphs between two places; a straight mark that opens one again is left out."""
    past = start
    for match in BLANK_LINE.finditer(text, start, end):
        yield from _trimmed(text, past, match.start())
        past = match.end()
    yield from _trimmed(text, past, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and (text[start].isspace() or text[start] == '"'):
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end
