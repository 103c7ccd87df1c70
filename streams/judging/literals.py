"""Literals in prose: numbers, dates, versions, hashes, paths, URLs, addresses, identifiers (observing.md, «Terms»).

The forms are looked for one after the other, and what one has taken the next does not see: `2026-05-25` is a date and
never the number 25. What a literal is good for (is the path a place to look at?) is for `terms.py`. Every expression
is linear: the texts are strangers'.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from .lexicon import ABBREVIATIONS, EXTENSIONS, FILES, PRODUCTS, STOP_WORDS, UNIT_OF

Form = Literal["url", "email", "hash", "moment", "clock", "address", "version", "path", "name", "flag", "number"]


class Found(NamedTuple):
    """A literal and where it stands: code points, half open."""

    form: Form
    text: str
    start: int
    end: int


MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
NUMBER_WORDS: Final = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
    )
}
_MONTH: Final = "(?:" + "|".join(rf"{name}|{name[:3]}\b\.?" for name in MONTHS) + r"|Sept\b\.?)"
_CLOCK: Final = (
    r"\d{1,2}:[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?(?:\s?[ap]m\b|\s?(?:Z|UTC|GMT)\b|\s?[+-][0-2]\d:?[0-5]\d\b)?"
)
_DAY: Final = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE: Final = (
    rf"(?:[12]\d{{3}}-\d\d-\d\d|[12]\d{{3}}/\d\d/\d\d|{_DAY}\s(?:of\s)?{_MONTH},?\s[12]\d{{3}}(?!\d)"
    rf"|{_MONTH}\s{_DAY},?\s[12]\d{{3}}(?!\d)|{_MONTH},?\s[12]\d{{3}}(?!\d)|[12]\d{{3}}-(?:0[1-9]|1[0-2])(?![\w-]))"
)
_UNIT: Final = "|".join(re.escape(unit) for unit in sorted(UNIT_OF, key=lambda unit: (-len(unit), unit)))
_DIGITS: Final = r"(?:0[xX][0-9A-Fa-f]+|\d{1,3}(?:[,_]\d{3}){1,6}(?:\.\d+)?(?![,_]?\d)|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)"


def _whole(token: str) -> str:
    return token


def _url(token: str) -> str:
    """Without the sentence's punctuation, and without a bracket that the URL did not open."""
    while token:
        shorter = token.rstrip(".,;:!?'’”»*_")
        for opening, closing in ("()", "[]", "{}"):
            if shorter.endswith(closing) and shorter.count(closing) > shorter.count(opening):
                shorter = shorter[:-1]
        if shorter == token:
            break
        token = shorter
    return token


def _path(token: str) -> str:
    """The token where it is a path beyond doubt: an ending that files have, or the form of a path."""
    token = token.rstrip(".-+@")
    name = token.rsplit("/", 1)[-1]
    stem, dot, ending = name.rpartition(".")
    lower = name.lower()
    if lower in PRODUCTS:
        return ""
    if lower in FILES:
        return token
    is_file = bool(dot) and ending.lower() in EXTENSIONS and (ending.islower() or ending.isupper())
    if is_file and stem and (len(ending) > 1 or len(stem) > 1):
        return token
    if "/" in token and re.match(r"~?/\w|\.{1,2}/\w", token):
        return token
    return token if re.fullmatch(r"(?:[\w.-]+/)+", token) else ""


def _name(token: str) -> str:
    """The identifier without a call's `()`, or nothing for a word of prose."""
    name = token.removesuffix("()")
    if name.lower() in PRODUCTS:
        return name
    if name.lower() in ABBREVIATIONS or name.casefold() in STOP_WORDS:
        return ""
    letters = sum(map(str.isalpha, name))
    if not letters:
        return name if "_" in name and any(map(str.isdigit, name)) else ""
    parts = name.split(".")
    dotted = len(parts) > 1 and any(len(part) > 1 for part in parts)
    camel = re.search(r"[a-z\d][A-Z]", name) is not None
    capitals = letters > 1 and name.upper() == name and name.lower() != name
    called = name != token
    slashed = "/" in name and (name.count("/") > 1 or re.search(r"[._\d-]", name) is not None)
    mixed = any(map(str.isdigit, name))
    return name if "_" in name or dotted or camel or capitals or called or slashed or mixed else ""


_EXPRESSIONS: Final[tuple[tuple[Form, str, str, Callable[[str], str]], ...]] = (
    ("url", r"://", r"(?<!\w)[A-Za-z][A-Za-z0-9+.-]{0,30}://[^\s<>\"`“”\0]{1,2048}", _url),
    ("email", r"@", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+", _whole),
    ("hash", r":", r"(?<![\w-])(?:sha\d{1,3}|md5|blake\d\w?):[0-9A-Fa-f]{6,128}(?:\.{3})?(?!\w)", _whole),
    ("hash", r"-", r"(?<![\w-])[\dA-Fa-f]{8}(?:-[\dA-Fa-f]{4}){3}-[\dA-Fa-f]{12}(?![\w-])", _whole),
    ("hash", r"\d", r"(?<![\w.-])(?=\d*[a-f])(?=[a-f]*\d)[\da-f]{7,64}(?![\w-])", _whole),
    ("hash", r"ommit ", r"(?<=[Cc]ommit )[\dA-Fa-f]{7,64}(?![\w-])", _whole),
    ("moment", r"\d", rf"(?<![\w.:/-]){_DATE}(?:(?:T|\s|,?\sat\s){_CLOCK})?(?!\w|[.:-]\d)", _whole),
    # A year says when only where the sentence says so: «in 2026» is a date, «2026 rows» is a number.
    (
        "moment",
        r"\d",
        r"(?:(?<=\bin )|(?<=\bsince )|(?<=\bbefore )|(?<=\bafter )|(?<=\buntil )|(?<=\bduring ))"
        rf"[12]\d{{3}}(?!\w|[.,:/_-]\d|\s?%|[ -](?:{_UNIT})(?!\w))",
        _whole,
    ),
    ("clock", r":", rf"(?<![\w.:/-]){_CLOCK}(?!\w|:\d)", _whole),
    ("address", r"\d", r"(?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?:[:/]\d{1,5})?(?!\w|\.\d)", _whole),
    ("address", r":", r"(?<![\w:])(?=[\dA-Fa-f]*:[\dA-Fa-f]*:)[\dA-Fa-f:]{3,39}(?![\w:])", _whole),
    (
        "version",
        r"\d",
        r"(?<![\w.-])(?:[vV]\d+(?:\.\d+)*|\d+(?:\.\d+){2,}|(?:(?<=[Vv]ersion )|(?<=[Rr]elease ))\d+(?:\.\d+)*)"
        r"(?:[-+.]?(?:alpha|beta|rc|dev|post|a|b)[.-]?\d*)?(?!\w|[-.]\w)",
        _whole,
    ),
    ("path", r"", r"(?<![\w/.~@+-])[\w.~/][\w.@+/-]*+(?!\()", _path),
    (
        "address",
        r":",
        r"(?<![\w.:/-])(?:localhost|[A-Za-z][\w-]{0,62}(?:\.[\w-]{1,63}){1,8}):\d{2,5}(?![\w:]|\.\d)",
        _whole,
    ),
    ("flag", r"[-#@$]", r"(?<![\w-])--?[A-Za-z][\w-]*|(?<![\w&])(?:#\w+|[@$][^\W\d]\w*)", _whole),
    ("name", r"", r"(?<![\w.-])[^\W\d]\w*(?:[./-]\w+)*(?:\(\))?", _name),
    ("name", r"\d", r"(?<![\w./-])\d+(?:[/:'-]\d+)+(?![\w/])", _whole),
    (
        "number",
        r"\d",
        r"(?<![\w.])(?<!\w-)(?<!\d[,:/'])(?:[$€£¥]|[+\u2212-](?=[\d.]))?"
        rf"{_DIGITS}(?:\s?%|[ -]?(?:{_UNIT})(?!\w)|(?!\w|[.,:/'_-]\d))",
        _whole,
    ),
    ("name", r"\d", r"(?<![\w.])\d\w*(?:[.-]\w+)*", _name),
)
"""Each form, a mark that every text with that form has, and its expression. The mark is searched first, which is
faster."""
_FORMS: Final[tuple[tuple[Form, re.Pattern[str], re.Pattern[str], Callable[[str], str]], ...]] = tuple(
    (form, re.compile(needed), re.compile(pattern), accept) for form, needed, pattern, accept in _EXPRESSIONS
)


MEMO_LENGTH: Final = 500
"""Characters of a text whose literals are kept: a sentence's words are asked about many times over."""


def literals(text: str) -> list[Found]:
    """Every literal of a text, in the order in which they stand. `text` is NFKC already."""
    return list(_kept(text)) if len(text) <= MEMO_LENGTH else _searched(text)


@lru_cache(maxsize=4096)
def _kept(text: str) -> tuple[Found, ...]:
    return tuple(_searched(text))


def _searched(text: str) -> list[Found]:
    found: list[Found] = []
    for form, needed, pattern, accept in _FORMS:
        if needed.search(text) is None:
            continue
        pieces: list[str] = []
        past = 0
        for match in pattern.finditer(text):
            taken = accept(match[0])
            if not taken:
                continue
            start = match.start()
            end = start + len(taken)
            found.append(Found(form, taken, start, end))
            pieces += (text[past:start], "\0" * len(taken))
            past = end
        if pieces:
            text = "".join((*pieces, text[past:]))
    found.sort(key=lambda one: one.start)
    return found
