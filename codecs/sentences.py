"""Where sentences begin and end: Unicode UAX #29 with CLDR's English suppressions (docs/reference/records.md).

A single line end is a space here, because models wrap their lines; only a blank line separates. So of the rules
SB1-SB998 there remain those below, and they need no more than one pass: a sentence can end only after a terminator,
and everything that decides whether it does stands between that terminator and the next one. The text is first mapped
to one letter a code point, its Sentence_Break class; the regular expressions run over those letters.

uniseg gives the property (Unicode 16.0.0) but not the boundaries: it takes 35 us a character, and time that grows with
the square of a run of spaces; this takes 0.05 to 0.08 us. The tests use it as the oracle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from importlib.resources import files
from typing import Final

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
    """The sentences of a text in order, without the white space around them; every other character is in one.

    Args:
        text: any text; time and memory are linear in its length.
        ends: ascending positions of groups: where what stands before one ends like a sentence, the sentence does end
            there, whatever follows it.
        most: after so many, and the rest of the text before the next cut, no more are looked for.

    Returns:
        Half-open code point offsets.
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
