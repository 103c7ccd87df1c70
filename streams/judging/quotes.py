"""Quoted text and code spans: where one begins and ends.

Two readers: a strictly cited assertion's quotes must stand in its context, character for character [C §4], and what a
text quotes is a term that an observer looks for (observing.md). Both want the outermost quotation: what is quoted
inside it stands inside it. Linear in the text, whatever stands in it; nothing here says what a quote means.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from ...codecs.author_words import BLANK_LINE, CodeSpans


def _pairs(text: str) -> dict[str, str]:
    return {pair[0]: pair[1:] for pair in text.split()}


# An opening mark, and what may close it: German closes „ with “, Polish and Dutch with ”; ” opens in Swedish and
# Finnish, » in German and Danish books.
_OF_TWO_STROKES: Final = _pairs('“” „“” ‟” «» »« 「」 『』 ｢｣ ﹁﹂ ﹃﹄ 《》 〝〞〟 ❝❞ ”” ‶″ ″″ ＂＂ ""')
_OF_ONE_STROKE: Final = _pairs("‹› ›‹ 〈〉 ❮❯ ‚‘’ ‘’ ‛’ ❛❜ ‵′ ′′ ＇＇ ''")
CLOSERS: Final[dict[str, str]] = _OF_TWO_STROKES | _OF_ONE_STROKE
"""Opening marks and what may close each. Where nothing does, another mark of as many strokes does (`“…"`)."""
PLAIN: Final[dict[str, str]] = {
    mark: plain
    for plain, pairs in (("'", _OF_ONE_STROKE), ('"', _OF_TWO_STROKES))
    for mark in "".join([*pairs, *pairs.values()])
}
"""All quotation marks, each with the straight one of as many strokes."""

_STRAIGHT: Final = frozenset("\"＂″'＇′")
"""Marks that open and close: their quotation ends with its paragraph at the latest."""
_APOSTROPHES: Final = frozenset("'＇′")
"""Of these the marks that are apostrophes as well: no white space inside at either end, and at least two characters."""
_AT_WORD_START: Final = frozenset("‘‚‛‵”»›‶") | _STRAIGHT
"""Marks that are also apostrophes, inch marks or closing marks: they open only where no word goes on."""
_AT_WORD_END: Final = frozenset("’‘") | _APOSTROPHES
"""An apostrophe inside a word closes nothing."""
_MARK: Final = re.compile("[" + "".join(sorted(PLAIN)) + "]")
_FENCE: Final = re.compile(r"`+")


def quotes(text: str) -> list[tuple[int, int]]:
    """Start and end of what stands between quotation marks, in code points, half open, in order, outermost only.

    The pairs are `CLOSERS`; ‘ opens only at the start of a word and ’ closes only at its end. A mark that nothing
    closes opens nothing; a straight quotation, and one between marks that are no pair, ends with its paragraph at the
    latest; an empty one is left out.
    """
    marks = [(match.start(), match[0]) for match in _MARK.finditer(text)]
    if not marks:
        return []
    paragraphs = [match.start() for match in BLANK_LINE.finditer(text)] + [len(text)]
    ends = _closing_marks(text, marks, paragraphs)
    spans: list[tuple[int, int]] = []
    past = 0
    for place, (start, mark) in enumerate(marks):
        end = ends[place]
        if start < past or end < 0:
            continue
        past = end + 1
        if text[start + 1 : end].strip() and (end > start + 2 or mark not in _APOSTROPHES):
            spans.append((start + 1, end))
    return spans


def _closing_marks(text: str, marks: list[tuple[int, str]], paragraphs: list[int]) -> list[int]:
    """For each mark the position of the one that closes it, or -1: one walk from the end, nested pairs skipped."""
    ends = [-1] * len(marks)
    # Of each mark, the places of those to the right that no pair has taken yet; the last entry is the nearest.
    waiting: dict[str, list[int]] = {}
    # Of each number of strokes, the places of those that neither open nor stand inside a pair.
    loose: dict[str, list[int]] = {'"': [], "'": []}
    paragraph = len(paragraphs) - 1
    for place in range(len(marks) - 1, -1, -1):
        position, mark = marks[place]
        while paragraph and paragraphs[paragraph - 1] >= position:
            paragraph -= 1
        free = loose[PLAIN[mark]]
        if mark in CLOSERS and _may_open(text, position, mark):
            nearest = [(waiting[closer][-1], closer) for closer in CLOSERS[mark] if waiting.get(closer)]
            closing, closer = min(nearest, default=(-1, ""))
            if closing < 0 or (mark in _STRAIGHT and marks[closing][0] > paragraphs[paragraph]):
                closing, closer = (free[-1], mark) if free and marks[free[-1]][0] <= paragraphs[paragraph] else (-1, "")
            if closing >= 0:
                ends[place] = marks[closing][0]
                if closer != mark:
                    waiting[closer].pop()  # a nested pair uses its closing mark up; “a “b” c” ends at the last
                while free and free[-1] <= closing:
                    free.pop()
        if _may_close(text, position, mark):
            waiting.setdefault(mark, []).append(place)
            if ends[place] < 0:
                free.append(place)
    return ends


def _may_open(text: str, position: int, mark: str) -> bool:
    if mark in _APOSTROPHES and not text[position + 1 : position + 2].strip():
        return False
    return mark not in _AT_WORD_START or position == 0 or not _in_word(text[position - 1])


def _may_close(text: str, position: int, mark: str) -> bool:
    if mark in _APOSTROPHES and (position == 0 or text[position - 1].isspace()):
        return False
    return mark not in _AT_WORD_END or position + 1 == len(text) or not _in_word(text[position + 1])


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def blanked(text: str, spans: Iterable[tuple[int, int]], blank: str = "\0") -> str:
    """The text with a blank in place of each character of some spans, which are in order."""
    pieces: list[str] = []
    past = 0
    for start, end in spans:
        pieces += (text[past:start], blank * (end - start))
        past = end
    return "".join((*pieces, text[past:]))


def code_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of what stands between backticks, half open, in order: a run of n closes with a run of n.

    As CommonMark reads them, fenced blocks included; one space on either side belongs to the marks where both are
    there and something else stands between them.
    """
    spans, past = CodeSpans(text), 0
    found: list[tuple[int, int]] = []
    for run in _FENCE.finditer(text):
        if run.start() < past:
            continue
        past = spans.end(run.start(), len(run[0]), len(text))
        inner = run.end(), past - len(run[0])
        content = text[slice(*inner)]
        if content.strip():
            padded = len(content) > 2 and content[0] == content[-1] == " "
            found.append((inner[0] + 1, inner[1] - 1) if padded else inner)
    return found
