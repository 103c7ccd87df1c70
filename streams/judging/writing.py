"""The ways to write one term: the expression that finds it in a text (observing.md, «Terms»).

Every expression is linear in the text that is searched. Texts are NFKC with single spaces (`terms.Content`), and
case-folded for words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from .lexicon import EXTENSIONS, UNIT_OF, UNITS
from .literals import MONTHS, NUMBER_WORDS
from .moments import parse_date

# Scripts that put no space between words: there, a boundary is nothing that could be tested.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_IN_WORD: Final = rf"[^\W{_UNSPACED}]"
_WORD_EDGE: Final = re.compile(_IN_WORD)
_NUMBER: Final = re.compile(
    r"(?P<sign>[$€£¥]|[+\u2212-])?"
    r"(?P<digits>0[xX][0-9A-Fa-f]+|\d[\d,_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    r"(?:[ -]?(?P<unit>\D+))?"
)


_MOST_DIGITS: Final = 100
"""Nobody writes so long a number in two ways; and its expression is several times as long."""
_SPOKEN: Final = {word: str(number) for word, number in NUMBER_WORDS.items() if word != "one"}
"""Words that are found as digits, and the reverse; «one» is hardly ever a number."""
_WORD_OF: Final = {digits: word for word, digits in _SPOKEN.items()}


MOST_REJECTED: Final = 64
"""Places within words at which a plain search gives up: an expression is linear whatever the text is."""


def stands(kind: str, text: str, content: str) -> bool:
    """Whether a term of this kind stands in a text: what `expression` finds, without one where the term is plain.

    Most terms are words and names, and each of them is looked for in few texts: making an expression takes longer than
    searching with it.

    Args:
        kind: of the term.
        text: of the term.
        content: the text that is searched.
    """
    if kind in _WRITERS and (kind != "word" or text in _SPOKEN or "'" in text or "’" in text):
        return _stands_written(kind, text, content)
    found = _stands_bounded(text, content)
    if found is False and _ends_in_mark(kind, text):
        found = _stands_bounded(text[:-1], content)
    return expression(kind, text).search(content) is not None if found is None else found


def _stands_written(kind: str, text: str, content: str) -> bool:
    """Whether an expression finds something, looked for only where the text has what each find begins with."""
    begin = _beginning(kind, text)
    at = content.find(begin) if begin else -1
    if begin and at < 0:
        return False
    wanted = expression(kind, text)
    for _ in range(MOST_REJECTED if begin else 0):
        if at < 0:
            return False
        if wanted.match(content, at) is not None:
            return True
        at = content.find(begin, at + 1)
    return wanted.search(content) is not None


@lru_cache(maxsize=4096)
def _beginning(kind: str, text: str) -> str:
    """The characters with which whatever `expression` finds begins; empty where there are several ways."""
    match = _NUMBER.fullmatch(text) if kind == "number" else None
    if match is None or match["sign"] or match["digits"][:2] in ("0x", "0X"):
        return ""
    whole, dot, _ = match["digits"].replace(",", "").replace("_", "").partition(".")
    if len(match["digits"]) > _MOST_DIGITS or not whole.isdigit() or (not dot and whole in _WORD_OF):
        return ""
    return whole[: len(whole) % 3 or 3]


def _stands_bounded(text: str, content: str) -> bool | None:
    """Whether a text stands in another at boundaries of words, as `_bounded` says it; None where that is not told."""
    before, after = _WORD_EDGE.match(text[:1]), _WORD_EDGE.match(text[-1:])
    at = content.find(text)
    for _ in range(MOST_REJECTED):
        if at < 0:
            return False
        inside = (before and at and _WORD_EDGE.match(content, at - 1)) or (
            after and _WORD_EDGE.match(content, at + len(text))
        )
        if not inside:
            return True
        at = content.find(text, at + 1)
    return None


def _ends_in_mark(kind: str, text: str) -> bool:
    """American typesetting puts the sentence's own mark inside the quotation."""
    return kind == "quote" and text[-1:] in (",", ".") and bool(text[:-1].strip())


@lru_cache(maxsize=4096)
def expression(kind: str, text: str) -> re.Pattern[str]:
    """The expression that finds a term of this kind (`Term.kind`)."""
    writer = _WRITERS.get(kind)
    written = writer(text) if writer else None
    if written is None:
        written = _bounded(text)
        if _ends_in_mark(kind, text):
            written = f"{written}|{_bounded(text[:-1])}"
    return re.compile(written)


_CALL: Final = re.compile(r"([^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*){0,15})\((.*)\)", re.DOTALL)
_DOTTED: Final = re.compile(r"[^\W\d][\w$]*(?:(?:\.|::)[^\W\d][\w$]*){1,15}")
_ARGUMENT: Final = re.compile(r"[\w$]+(?:\.[\w$]+)*")
_MOST_ARGUMENTS: Final = 16
FILE_LINE: Final = re.compile(r"(?::\d+(?:-\d+)?(?::\d+)?|#L\d+(?:-L?\d+)?)\Z", re.ASCII)
"""What says the line behind a path: `file.go:123`, `file.go#L123`."""


@lru_cache(maxsize=4096)
def pieces(kind: str, text: str) -> tuple[str, ...]:
    """What has to stand somewhere in a text for a name to stand there otherwise than it is written; empty for no way.

    Of a call (`f()`, `f(x, 1)`) its name and the words of its arguments; of `pkg.Name` the name, since a package does
    not say its own name where it defines one; of `Type.Field` both; of `file.go:123` the file.
    """
    if kind not in ("code", "name"):
        return ()
    call = _CALL.fullmatch(text)
    if call is not None:
        arguments = _ARGUMENT.findall(call[2])
        return (*_components(call[1]), *arguments) if len(arguments) <= _MOST_ARGUMENTS else ()
    if _DOTTED.fullmatch(text):
        return _components(text)
    path = FILE_LINE.sub("", text)
    return (path,) if path and path != text and path.rpartition(".")[2].lower() in EXTENSIONS else ()


def _components(name: str) -> tuple[str, ...]:
    """The components of a name that its definition has to have near it; a file's name has none."""
    parts = name.replace("::", ".").split(".")
    if len(parts) > 1 and parts[-1].lower() in EXTENSIONS:
        return (name,)
    return (*(part for part in parts[:-1] if part[:1].isupper()), parts[-1])


def _bounded(text: str) -> str:
    before = rf"(?<!{_IN_WORD})" if _WORD_EDGE.match(text[:1]) else ""
    after = rf"(?!{_IN_WORD})" if _WORD_EDGE.match(text[-1:]) else ""
    return f"{before}{re.escape(text)}{after}"


def _word(text: str) -> str:
    """Straight and typographic apostrophes are one; a number's word is found as its digits as well."""
    written = _bounded(text).replace("’", "'").replace("'", "['’]")
    number = _number(_SPOKEN[text]) if text in _SPOKEN else None
    return written if number is None else f"{written}|{number}"


def _hash(text: str) -> str:
    """A shortened hash is found in the whole one."""
    short = text.removesuffix("...")
    return rf"(?<!\w)(?i:{re.escape(short)})[0-9A-Fa-f]*(?!\w)"


def _number(text: str) -> str | None:
    match = _NUMBER.fullmatch(text)
    if match is None or len(match["digits"]) > _MOST_DIGITS:
        return None
    sign, digits, unit = match["sign"] or "", match["digits"], (match["unit"] or "").strip()
    if digits[:2] in ("0x", "0X"):
        return rf"(?<!\w){re.escape(digits)}(?!\w)"
    whole, dot, rest = digits.replace(",", "").replace("_", "").partition(".")
    # 20,000 and 20_000 and 20000 are one number; a separator stands before three digits only.
    written = "".join(
        digit + (r"[,_]?" if left and left % 3 == 0 and whole.isdigit() else "")
        for digit, left in zip(whole, range(len(whole) - 1, -1, -1), strict=True)
    )
    written += re.escape(dot + rest)
    if not sign and not dot and (word := _WORD_OF.get(whole)):
        written = f"(?:{written}|(?i:{word}))"
    if sign in ("-", "\u2212"):
        before = r"(?<![\w)\]])[-\u2212]"
    elif sign and sign != "+":
        before = re.escape(sign) + " ?"
    else:
        before = r"(?<![\w.$€£¥\u2212-])(?<!\d[,:/'])"
    if not unit:
        return rf"{before}{written}(?!\w|[.,:/'_-]\d| ?%)"
    spellings = (
        "|".join(re.escape(spelling) for spelling in UNITS[UNIT_OF[unit]]) if unit in UNIT_OF else re.escape(unit)
    )
    return rf"{before}{written}[ -]?(?:{spellings})(?!\w)"


def _version(text: str) -> str:
    number = text.lstrip("vV")
    return (
        rf"(?<![\w.])(?<!\d-)[vV]?{re.escape(number)}(?!\w|\.\d|[-+.]?(?:alpha|beta|rc|dev|post)\b|[-.]?(?:rc|a|b)\d)"
    )


def _clock(text: str) -> str:
    more = (
        r"(?::\d\d)?(?:\.\d+)?" if re.fullmatch(r"\d{1,2}:\d\d", text) else r"(?:\.\d+)?" if text[-1:].isdigit() else ""
    )
    return rf"(?<![\d:.]){re.escape(text)}{more}(?![\d:])"


def _moment(text: str) -> str | None:
    """A date in any usual way of writing it; with a time of day only the date's way may differ."""
    date = parse_date(text)
    if date is None:
        return None
    year = f"{date.year:04}"
    if date.month is None:
        return rf"(?<![\w.,]){year}(?=[-/.]\d\d(?!\d)|(?!\w|[.,]\d))"
    name = MONTHS[date.month - 1]
    month = f"(?:{name}|{name[:3]}\\b\\.?)" if date.month != 9 else r"(?:September|Sept\b\.?|Sep\b\.?)"
    if date.day is None:
        return rf"(?<![\d-]){year}[-/.]{date.month:02}(?!\d)|\b{month}(?: \d{{1,2}}(?:st|nd|rd|th)?)?,? {year}(?!\d)"
    iso = rf"(?<!\d)(?<!\d[-/.]){year}(?P<sep>[-/.]){date.month:02}(?P=sep){date.day:02}(?![\d]|[-/.]\d)"
    day = rf"0?{date.day}(?:st|nd|rd|th)?"
    prose = rf"(?<!\d){day} (?:of )?{month},? {year}(?!\d)|\b{month} {day},? {year}(?!\d)"
    clock = date.clock.removeprefix("T").strip(" ,").removeprefix("at ")
    if not clock:
        return f"{iso}|{prose}"
    zone = re.search(r"(?:Z|UTC|GMT|\+00:?00)$", clock)
    time = re.escape(clock[: zone.start()].strip() if zone else clock)
    after = r"(?::\d\d)?(?:\.\d+)? ?(?:Z|UTC|GMT|\+00:?00)" if zone else ""
    return rf"(?:{iso}|{prose})(?:T|,? at | ){time}{after}(?!\d)"


_WRITERS: Final[dict[str, Callable[[str], str | None]]] = {
    "word": _word,
    "number": _number,
    "moment": _moment,
    "clock": _clock,
    "version": _version,
    "hash": _hash,
}
"""Kinds that can be written in more than one way."""
