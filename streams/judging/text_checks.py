"""The checks on text: `contains`, `absent`, `count`, `line` and `order`, for any file in any language (docs/checks.md).

Text is in NFKC on both sides, and for a quote every run of white space is one space, line ends included. A quote's ends
cut no identifier and no number, but for an end with `…`: `1.2` does not stand in `1.2.3`, nor `foo` in `foobar`, and
`foo…` does. What would be true or false only if the text were whole, unambiguous or free of look-alikes stays
undecided. Every step is linear in the text, or stops at a bound. Nothing is read here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple

from ...codecs.unicode_text import STRIPPED, nfkc, settle, unicodedata2
from .checks import OPEN, Check, Operator
from .results import Held, Source
from .values import compare

_NAME: Final = re.compile(r"(?<![\w\\])(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)(?!\w)", re.ASCII)
"""What no text parts, hyphenates or escapes: a quote with such a name is nowhere where the name is nowhere."""
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
    quote, text = quote_of(check), flat(region.text)
    places = find_quote(quote, text, open_end=region.open_end)
    if places:
        return Held(True, lines=_span(region, text, places[0], quote))
    if region.whole and check.path is not None and check.text("in") == "" and source.lines is None:
        folded = text.casefold()
        if any(name.casefold() not in folded for name in _NAME.findall(quote)):
            return Held(False, "differs")
    return TOO_LARGE if places is None else NOT_FOUND


def _absent(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE
    identifier, text = check.text("identifier"), region.text
    places = find_quote(identifier, text)
    if places is None:
        return TOO_LARGE
    if places:
        number = region.first + text.count("\n", 0, places[0])
        return Held(False, "differs", (number, number), found=_shown(text.split("\n")[number - region.first]))
    return AMBIGUOUS if looks_like(identifier, text) else Held(True, lines=source.lines)


def looks_like(identifier: str, text: str) -> bool:
    """Whether it stands inside of another word or in other letter case, in look-alikes, with invisible characters, or
    in escapes."""
    identifier = identifier.casefold()
    if identifier in text.casefold() or (not text.isascii() and identifier in settle(text).casefold()):
        return True
    return "\\" in text and identifier in _ESCAPED.sub(_unescaped, text).casefold()


def _shown(line: str) -> str:
    """A line as `Held.found` tells it."""
    return line.strip()[:_LONGEST_FOUND]


_LONGEST_FOUND: Final = 200
_ESCAPED: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|x([0-9A-Fa-f]{2})|U([0-9A-Fa-f]{8}))")


def _unescaped(match: re.Match[str]) -> str:
    point = int(next(group for group in match.groups() if group), 16)
    return chr(point) if point <= 0x10FFFF else match[0]


def _count(check: Check, source: Source, region: _Region) -> Held:
    """Occurrences that do not overlap, also inside of longer words; white space counts as it stands there."""
    if not region.whole:
        return NOT_WHOLE
    pattern = quote_of(check, "pattern")
    if OPEN in pattern:
        return AMBIGUOUS  # it counts inside of words anyway, so the sign may be one of the text
    number = region.text.count(pattern)
    if " " in pattern and flat(region.text).count(pattern) != number:
        return AMBIGUOUS  # some are written with other white space, and a check cannot say which it means
    return decided(compare(operator_of(check), check.value("number"), number), source.lines)


def _line(check: Check, source: Source, region: _Region) -> Held:
    number, quote = check.value("number"), quote_of(check)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        return Held(None, "incomparable")
    if source.lines is not None and not source.lines[0] <= number <= source.lines[1]:
        return NOT_FOUND
    lines = source.text.split("\n")
    if not lines[-1]:
        lines.pop()
    line = flat(lines[number - 1]) if number <= len(lines) else ""
    places = find_quote(quote, line, open_end=not source.whole and number == len(lines))
    if places is None:
        return TOO_LARGE
    if places:
        return Held(True, lines=(number, number))
    if not source.whole:
        return NOT_WHOLE
    shown = _shown(lines[number - 1]) if number <= len(lines) else None
    elsewhere = _elsewhere(quote, source, number)
    if elsewhere is not None:
        return elsewhere._replace(found=shown)
    return Held(False, "differs", None if shown is None else (number, number), found=shown)


def _elsewhere(quote: str, source: Source, number: int) -> Held | None:
    """What comes of a quote that its line does not have: undecided where the file has it, in any white space or letter
    case; None where it stands nowhere."""
    whole = _Region(nfkc(source.text), 1, True, False)
    text = flat(whole.text)
    places = find_quote(quote, text, most=_MOST_PLACES)
    if places is None:
        return TOO_LARGE
    if places:
        spans = [_span(whole, text, at, quote) for at in places]
        return Held(None, "moved", min(spans, key=lambda lines: abs(lines[0] - number)))
    squeezed = inner(quote).replace(" ", "").casefold()
    return AMBIGUOUS if squeezed in settle(text).replace(" ", "").casefold() else None


_MOST_PLACES: Final = 8
"""Places of a quote of which the nearest is told."""


def _order(check: Check, source: Source, region: _Region) -> Held:
    if not region.whole:
        return NOT_WHOLE  # another one may stand in what is missing
    text, spans = flat(region.text), list[tuple[int, int]]()
    for quote in (quote_of(check, "a"), quote_of(check, "b")):
        places = find_quote(quote, text, most=2)
        if places is None:
            return TOO_LARGE
        if len(places) != 1:
            return AMBIGUOUS if places else NOT_FOUND
        spans.append((places[0], places[0] + len(inner(quote))))
    (start, end), (other, past) = spans
    if end <= other:
        return Held(True, lines=_lines_of(region, text, start, past))
    return Held(False, "differs", _lines_of(region, text, other, end)) if past <= start else NOT_FOUND


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


def quote_of(check: Check, parameter: str = "quote") -> str:
    """A quote of a check as `flat` returns a text, with the `…` at its ends."""
    quote = check.text(parameter)
    if OPEN not in (quote[:1], quote[-1:]):
        return flat(quote)
    return OPEN * (quote[0] == OPEN) + flat(inner(quote)) + OPEN * (quote[-1] == OPEN)


def inner(quote: str) -> str:
    """A quote without the `…` at its ends: what stands in the text."""
    return quote.strip(OPEN)


def find_quote(quote: str, text: str, *, most: int = 1, open_end: bool = False) -> list[int] | None:
    """Where a quote stands without cutting an identifier or a number, but for an end that has `…`.

    Args:
        quote: as `quote_of` returns it, and `text` as `flat` does; `text` may hold line ends where the quote has no
            white space.
        text: what is searched.
        most: how many places are wanted.
        open_end: a quote that ends where the text ends is passed over.

    Returns:
        Its first places in code points, `most` at most; None where too many others would have to be passed over.
    """
    found: list[int] = []
    steps = 0
    open_start, open_end_too = quote[:1] == OPEN, quote[-1:] == OPEN
    quote = inner(quote)
    at = text.find(quote) if quote else -1
    while at >= 0:
        end = at + len(quote)
        skip = at + 1
        if not open_start and cuts(text, at):
            run = _run().match(text, at)
            skip = run.end() if run else skip  # nothing else begins inside this word
        elif open_end_too or (not cuts(text, end) and not (open_end and end == len(text))):
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


def _span(region: _Region, text: str, at: int, quote: str) -> tuple[int, int]:
    return _lines_of(region, text, at, at + len(inner(quote)))


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
