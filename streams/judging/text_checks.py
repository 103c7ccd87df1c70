"""The checks on text: `contains`, `absent`, `count`, `line` and `order`, for any file in any language (docs/checks.md).

Text is in NFKC on both sides, and for a quote every run of white space is one space, line ends included. A quote's ends
cut no identifier and no number: `1.2` does not stand in `1.2.3`, nor `foo` in `foobar`. What would be true or false
only if the text were whole, unambiguous or free of look-alikes stays undecided. Every step is linear in the text, or
stops at a bound. Nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from ...codecs.unicode_text import STRIPPED, nfkc, settle, unicodedata2
from .checks import Check, Operator
from .results import Held, Source
from .values import compare

NOT_FOUND: Final = Held(None, "not-found")
NOT_WHOLE: Final = Held(None, "not-whole")
AMBIGUOUS: Final = Held(None, "ambiguous")
TOO_LARGE: Final = Held(None, "too-large")


def verify_text(check: Check, source: Source) -> Held:
    """Whether a check on text holds in a file, or in the lines of it that are looked at; its `not` is left aside.

    Args:
        check: one of those above. Its own `path`, `in` and `lines` are in `source` already.
        source: the file. Its `lines` are the whole scope, which counts as read whole where the file was and has them.

    Returns:
        What it comes to, with the lines of the file where it holds or is false.
    """
    return _VERIFIERS[check.name](check, source, _region(source))


class _Region(NamedTuple):
    """The text that is looked at.

    Attributes:
        text: in NFKC, with its line feeds. NFKC joins nothing across a line feed, so lines stay lines.
        first: the number of its first line.
        whole: nothing of it is missing.
        open_end: more may stand behind its last character, which would make its last word another.
    """

    text: str
    first: int
    whole: bool
    open_end: bool


def _region(source: Source) -> _Region:
    if source.lines is None:
        return _Region(nfkc(source.text), 1, source.whole, not source.whole)
    lines = source.text.split("\n")
    first, last = max(source.lines[0], 1), source.lines[1]
    there = source.whole and last <= len(lines)
    return _Region(nfkc("\n".join(lines[first - 1 : last])), first, there, not source.whole and last >= len(lines))


def _contains(check: Check, source: Source, region: _Region) -> Held:
    quote, text = flat(check.text("quote")), flat(region.text)
    found = find_quote(quote, text, open_end=region.open_end)
    if found is None:
        return TOO_LARGE
    return Held(True, lines=_lines_of(region, text, found[0], found[0] + len(quote))) if found else NOT_FOUND


def _absent(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE
    identifier, text = check.text("identifier"), region.text
    found = find_quote(identifier, text)
    if found is None:
        return TOO_LARGE
    if found:
        number = region.first + text.count("\n", 0, found[0])
        return Held(False, "differs", (number, number))
    return AMBIGUOUS if _looks_like(identifier, text) else Held(True, lines=source.lines)


def _looks_like(identifier: str, text: str) -> bool:
    """Whether it stands inside of another word, in look-alikes or with invisible characters, or in escapes."""
    if identifier in text or (not text.isascii() and identifier in settle(text)):
        return True
    return "\\" in text and identifier in _ESCAPED.sub(_unescaped, text)


_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8}))")


def _unescaped(match: re.Match[str]) -> str:
    point = int(next(group for group in match.groups() if group), 16)
    return chr(point) if point <= 0x10FFFF else match[0]


def _count(check: Check, source: Source, region: _Region) -> Held:
    """Occurrences that do not overlap, also inside of longer words; white space counts as it stands there."""
    if not region.whole:
        return NOT_WHOLE
    pattern = flat(check.text("pattern"))
    number = region.text.count(pattern)
    if " " in pattern and flat(region.text).count(pattern) != number:
        return AMBIGUOUS  # some are written with other white space, and a check cannot say which it means
    return decided(compare(operator_of(check), check.value("number"), number), source.lines)


def _line(check: Check, source: Source, region: _Region) -> Held:
    number, quote = check.value("number"), flat(check.text("quote"))
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        return Held(None, "incomparable")
    if source.lines is not None and not source.lines[0] <= number <= source.lines[1]:
        return NOT_FOUND
    lines = source.text.split("\n")
    if not lines[-1]:
        lines.pop()
    if number > len(lines):
        return Held(False, "differs") if source.whole else NOT_WHOLE
    found = find_quote(quote, flat(lines[number - 1]), open_end=not source.whole and number == len(lines))
    if found is None:
        return TOO_LARGE
    if found:
        return Held(True, lines=(number, number))
    return Held(False, "differs", (number, number)) if source.whole else NOT_WHOLE


def _order(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE  # another one may stand in what is missing
    text, ends = flat(region.text), list[tuple[int, int]]()
    for quote in (flat(check.text("a")), flat(check.text("b"))):
        found = find_quote(quote, text, most=2)
        if found is None:
            return TOO_LARGE
        if len(found) != 1:
            return AMBIGUOUS if found else NOT_FOUND
        ends.append((found[0], found[0] + len(quote)))
    if ends[0][1] > ends[1][0]:
        return NOT_FOUND
    return Held(True, lines=_lines_of(region, text, ends[0][0], ends[1][1]))


_VERIFIERS: Final[Mapping[str, Callable[[Check, Source, _Region], Held]]] = {
    "contains": _contains,
    "absent": _absent,
    "count": _count,
    "line": _line,
    "order": _order,
}


def decided(answer: bool | None, lines: tuple[int, int] | None = None) -> Held:
    """What an exact answer comes to; None where two values have no order."""
    if answer is None:
        return Held(None, "incomparable")
    return Held(True, lines=lines) if answer else Held(False, "differs", lines)


def operator_of(check: Check) -> Operator:
    """The operator that stands between the two things that a check compares."""
    return check.text("op")  # type: ignore[return-value]  # the parser takes no other text


# ---------------------------------------------------------------- quotes in text


def flat(text: str) -> str:
    """The text in NFKC with every run of white space as one space, and none around it."""
    return " ".join(nfkc(text).split())


def find_quote(quote: str, text: str, *, most: int = 1, open_end: bool = False) -> list[int] | None:
    """Where a quote stands without cutting an identifier or a number.

    Args:
        quote: as `flat` returns it, like `text`; `text` may hold line ends where the quote has no white space.
        text: what is searched.
        most: how many places are wanted.
        open_end: a quote that ends where the text ends is passed over.

    Returns:
        Its first places in code points, `most` at most; None where too many others would have to be passed over.
    """
    found: list[int] = []
    steps = 0
    at = text.find(quote) if quote else -1
    while at >= 0:
        end = at + len(quote)
        skip = at + 1
        if cuts(text, at):
            run = _run().match(text, at)
            skip = run.end() if run else skip  # nothing else begins inside this word
        elif not cuts(text, end) and not (open_end and end == len(text)):
            found.append(at)
            if len(found) == most:
                break
        steps += len(quote) + _STEP
        if steps > MAX_STEPS:
            return None
        at = text.find(quote, skip)
    return found


MAX_STEPS: Final = 16_000_000
"""Characters that may be compared in places where a quote stands and is passed over: 0.1 to 0.3 s."""
_STEP: Final = 64

# Scripts that put no space between words: there, an end of a word is nothing that could be told.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_WORD: Final = rf"[^\W{_UNSPACED}]"
# Made when they are asked for: it takes as long as many a short command has.


@cache
def _run() -> re.Pattern[str]:
    return re.compile(f"{_WORD}+")


_INSIDE: Final = "|".join(
    (
        rf"(?<={_WORD})(?=-?{_WORD})|(?<={_WORD}-)(?={_WORD})",  # `foobar`, `max-retries`, `2026-05-25`
        r"(?<=\d)(?=[.,:/'⁄]\d)|(?<=\d[.,:/'⁄])(?=\d)",  # `1.2`, `1,000`, `10:30`, `1/2`, `1'000`
        r"(?<![\w)\]][-−])(?<=[-−])(?=\.?\d)",  # a sign, where it is no minus between two things
        r"(?<![\w)\].]\.)(?<=\.)(?=\d)",  # `.5`
        r"(?<=[\d.][eE])(?=[-+]\d)|(?<=[\d.][eE][-+])(?=\d)",  # `1e-5`
        r"(?<=[$€£¥])(?=\d)|(?<=\d)(?=[€£¥]| ?%)",
        r"(?<=\d)(?=[.+~](?:alpha|beta|rc|dev|post|pre)(?![^\W\d]))",  # `1.2.dev3`, `1.2~rc1`
    )
)
"""Two neighbouring characters of one identifier or number; matched at the place between them."""


@cache
def _inside() -> re.Pattern[str]:
    return re.compile(_INSIDE)


@cache
def _invisible() -> re.Pattern[str]:
    return re.compile("[" + "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in STRIPPED) + "]")


def cuts(text: str, place: int) -> bool:
    """Whether the place between two characters lies inside of an identifier or a number, or of one character.

    Word characters are letters, digits and `_` of every script that puts spaces between words; a hyphen between two of
    them binds them, and so does an invisible character.
    """
    if not 0 < place < len(text):
        return False
    if _inside().match(text, place):
        return True
    after = text[place]
    if after.isascii() and text[place - 1].isascii():
        return False
    if _invisible().match(text, place) or _invisible().match(text, place - 1):
        return True
    return unicodedata2.category(after)[0] == "M"


def _lines_of(region: _Region, text: str, start: int, end: int) -> tuple[int, int]:
    """The lines from which a piece of the flat text comes: the words before it are the words before it there."""
    words = text.count(" ", 0, start) + 1
    past = words + text.count(" ", start, end)
    first, seen = 0, 0
    number = region.first
    for number, line in enumerate(region.text.split("\n"), region.first):
        seen += len(line.split())
        first = first or (number if seen >= words else 0)
        if seen >= past:
            break
    return first, number
