"""The ways to write one term: the expression that finds it in a text (observing.md, «Terms»).

Every expression is linear in the text that is searched. Texts are NFKC with single spaces (`terms.Content`), and
case-folded for words.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from .lexicon import UNIT_OF, UNITS
from .literals import MONTHS
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


@lru_cache(maxsize=4096)
def expression(kind: str, text: str) -> re.Pattern[str]:
    """The expression that finds a term of this kind (`Term.kind`)."""
    writer = {
        "word": _word,
        "number": _number,
        "moment": _moment,
        "clock": _clock,
        "version": _version,
        "hash": _hash,
    }.get(kind)
    written = writer(text) if writer else None
    if written is None:
        written = _bounded(text)
        if kind == "quote" and text[-1:] in (",", ".") and text[:-1].strip():
            # American typesetting puts the sentence's own mark inside the quotation.
            written = f"{written}|{_bounded(text[:-1])}"
    return re.compile(written)


def _bounded(text: str) -> str:
    before = rf"(?<!{_IN_WORD})" if _WORD_EDGE.match(text[:1]) else ""
    after = rf"(?!{_IN_WORD})" if _WORD_EDGE.match(text[-1:]) else ""
    return f"{before}{re.escape(text)}{after}"


def _word(text: str) -> str:
    """Straight and typographic apostrophes are one."""
    return _bounded(text).replace("’", "'").replace("'", "['’]")


def _hash(text: str) -> str:
    """A shortened hash is found in the whole one."""
    short = text.removesuffix("...")
    return rf"(?<!\w)(?i:{re.escape(short)})[0-9A-Fa-f]*(?!\w)"


def _number(text: str) -> str | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
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
