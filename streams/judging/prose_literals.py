"""Literals in prose: the word lists of `data/lexicon.toml`; numbers, dates and the stretch of time that they mean,
versions, hashes, paths, URLs and identifiers (observing.md, «Terms»); and quoted text with code spans [C §4].
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from html import unescape
from importlib import resources
from typing import Any, Final, Literal, NamedTuple

from ...codecs.prose import BLANK_LINE, CodeSpans


def tables(name: str) -> dict[str, Any]:
    """The tables of a file `data/NAME.toml`."""
    return tomllib.loads(resources.files("sluice.streams").joinpath("data", f"{name}.toml").read_text("utf-8"))


_TABLES: Final = tables("lexicon")


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLES[name].split())


EXTENSIONS: Final = _words("extensions")
"""Endings that make a dotted name a file: `times.parse_time` is an identifier."""
FILES: Final = _words("files")
"""File names, in lower case, without such an ending."""
PRODUCTS: Final = _words("products")
"""Names, in lower case, that only look like files."""
ABBREVIATIONS: Final = _words("abbreviations")
"""Dotted, in lower case, and no identifiers."""
STOP_WORDS: Final = _words("stop")
"""Words that say nothing by themselves, and nouns that only say where to look; case-folded."""
UNITS: Final[dict[str, tuple[str, ...]]] = {
    **{noun: (noun, f"{noun}s") for noun in sorted(_words("nouns"))},
    **{name: tuple(spellings.split()) for name, spellings in _TABLES["units"].items()},
}
"""Units and countable nouns that belong to the number before them, each with the spellings that mean it."""
UNIT_OF: Final[dict[str, str]] = {spelling: name for name, spellings in UNITS.items() for spelling in spellings}

Phrases = tuple[tuple[tuple[str, ...], str], ...]
"""Phrases as their words, each with what it stands for; the longest first."""


def phrases(table: Mapping[str, str]) -> Phrases:
    """The phrases of a table that has, by what they stand for, all of them in one text."""
    pairs = [(tuple(phrase.split("_")), key) for key, text in table.items() for phrase in text.split()]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


class Relation(NamedTuple):
    """How a sentence says a check.

    Attributes:
        first, second: the parameters that its words stand between; `second` is empty for a check on one thing.
        active: phrases that say how the first stands to the second.
        passive: phrases that say how the second stands to the first.
        beside: words that may stand in such a clause.
    """

    first: str
    second: str
    active: str
    passive: str
    beside: frozenset[str]


_GUARD: Final[dict[str, Any]] = _TABLES["guard"]
FUNCTION: Final = frozenset(_GUARD["function"].split())
"""Words that change nothing of what a clause says."""
PARTING: Final = frozenset(_GUARD["parting"].split())
"""Words and marks that part two clauses, or two arguments."""
TIES: Final = phrases({"": _GUARD["ties"]})
"""Phrases that tie a sentence to its neighbours."""
ASSIGNING: Final = frozenset(_GUARD["assigning"].split())
"""Verbs that say of a file that an assignment stands there."""
PLACES: Final = frozenset(_GUARD["places"].split())
"""Words behind which stands where something is."""
NEGATORS: Final = frozenset(_GUARD["negators"].split())
"""Words that turn a relation round, as `not` does before a check."""
DENIALS: Final = NEGATORS | frozenset(_GUARD["denials"].split())
"""These, and others that no check says."""
NOUNS: Final[dict[str, frozenset[str]]] = {noun: frozenset(kinds.split()) for noun, kinds in _GUARD["nouns"].items()}
"""Nouns of names, each with the kinds that prove it."""
OPERATOR_PHRASES: Final[dict[str, str]] = _GUARD["operators"]
"""By operator: the phrases for it."""
TIMES: Final[dict[str, str]] = _GUARD["times"]
"""By operator: the phrases for how something stands to a time."""
RELATIONS: Final[dict[str, Relation]] = {
    name: Relation(parameters.split()[0], "".join(parameters.split()[1:]), active, passive, frozenset(beside.split()))
    for name, (parameters, active, passive, beside) in _GUARD["relations"].items()
}
"""By check: how a sentence says it."""
CUES: Final = {name: set(words.split()) for name, words in _GUARD["cues"].items()}
"""By check that many words for what code does come near to: those without which it cannot contradict a sentence."""
SYMBOLIC: Final = frozenset(_GUARD["symbolic"].split())
"""Checks on a symbol: where that is the only one of its name, the end of its file's path says which file."""


Form = Literal["url", "email", "hash", "moment", "clock", "address", "version", "path", "name", "flag", "number"]


class ProseLiteral(NamedTuple):
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


def literals(text: str) -> list[ProseLiteral]:
    """Every literal of a text, in the order in which they stand. `text` is NFKC already."""
    return list(_kept(text)) if len(text) <= MEMO_LENGTH else _searched(text)


@lru_cache(maxsize=4096)
def _kept(text: str) -> tuple[ProseLiteral, ...]:
    return tuple(_searched(text))


def _searched(text: str) -> list[ProseLiteral]:
    found: list[ProseLiteral] = []
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
            found.append(ProseLiteral(form, taken, start, end))
            pieces += (text[past:start], "\0" * len(taken))
            past = end
        if pieces:
            text = "".join((*pieces, text[past:]))
    found.sort(key=lambda one: one.start)
    return found


SECOND: Final = 1_000_000_000
_DAY_LENGTH: Final = 86_400 * SECOND


class Date(NamedTuple):
    """The parts of a date as far as they are named; `clock` is what the text says of the time of day."""

    year: int
    month: int | None
    day: int | None
    clock: str


_ISO = re.compile(r"(\d{4})(?:[-/](\d\d)(?:[-/](\d\d))?)?")
_YEAR = re.compile(r"(?<!\d)\d{4}(?!\d)")
_DAY_OF_MONTH = re.compile(r"(?<!\d)(\d{1,2})(?:st|nd|rd|th)?(?!\d)")
_TIME_OF_DAY = re.compile(
    r"(?:^|[T\s,]|at\s)\s*(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?\s?(?:([ap])m|(Z|UTC|GMT)|([+-])(\d\d):?(\d\d))?$"
)


def parse_date(text: str) -> Date | None:
    """The parts of a literal of the form `moment`; None for a date that no calendar has."""
    iso = _ISO.match(text)
    if iso:
        year, month, day = int(iso[1]), iso[2] and int(iso[2]), iso[3] and int(iso[3])
        rest = text[iso.end() :]
    else:
        named = _YEAR.search(text)
        if named is None:
            return None
        before, rest, year = text[: named.start()], text[named.end() :], int(named[0])
        month = next((n for n, name in enumerate(MONTHS, 1) if name[:3] in before), None)
        number = _DAY_OF_MONTH.search(before)
        day = int(number[1]) if number else None
    try:
        datetime(year, month or 1, day or 1)
    except ValueError:
        return None
    return Date(year, month or None, day or None, rest)


def stretch(text: str) -> tuple[int, int] | None:
    """First nanosecond and the one after the last of what a literal of the form `moment` names."""
    date = parse_date(text)
    if date is None:
        return None
    first = _ns(date.year, date.month or 1, date.day or 1)
    if date.day is None:
        if date.year == datetime.max.year and date.month in (None, 12):
            return None  # what comes after it no calendar of ours has
        after = (date.year + 1, 1) if date.month in (None, 12) else (date.year, date.month + 1)
        return first, _ns(*after, 1)
    if not date.clock.strip():
        return first, first + _DAY_LENGTH
    clock = _TIME_OF_DAY.search(date.clock)
    if clock is None:
        return None
    hour, minute, second = int(clock[1]), int(clock[2]), int(clock[3] or 0)
    if clock[5]:
        hour = hour % 12 + (12 if clock[5] == "p" else 0)
    offset = (int(clock[8]) * 60 + int(clock[9])) * (-1 if clock[7] == "-" else 1) if clock[7] else 0
    if hour > 23 or minute > 59 or second > 60:
        return None
    first += (hour * 3600 + (minute - offset) * 60 + second) * SECOND
    if clock[4]:
        first += int(clock[4].ljust(9, "0"))
    return first, first + (10 ** (9 - len(clock[4])) if clock[4] else SECOND if clock[3] else 60 * SECOND)


def _ns(year: int, month: int, day: int) -> int:
    return (datetime(year, month, day).toordinal() - datetime(1970, 1, 1).toordinal()) * _DAY_LENGTH


_NEGATION: Final = re.compile(
    r"\b(?:not|never|no|none|nothing|nobody|nowhere|unchanged|unmodified|untouched|neither|nor|without)\b|n['’]t\b",
    re.IGNORECASE,
)


def negates(text: str) -> bool:
    """Whether a word of negation stands there."""
    return _NEGATION.search(text) is not None


def format_ns(time: int) -> str:
    """RFC 3339 in UTC, as fine as the time is: up to nine digits of a second, no zeros at their end."""
    seconds, rest = divmod(time, SECOND)
    text = (datetime(1970, 1, 1) + timedelta(seconds=seconds)).isoformat()
    fraction = f"{rest:09}".rstrip("0")
    return f"{text}.{fraction}Z" if fraction else f"{text}Z"


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


LEAST_WORDS: Final = 3
"""So many words of letters make prose of a code span; `git log` is none."""
_QUOTED_LINE: Final = re.compile(r"^[ \t]{0,3}>[ \t>]*+([^\n]*+)$", re.MULTILINE)
_OPEN: Final = re.compile(r"<(q|cite|blockquote)(?:[ \t\n][^<>]*+)?>", re.IGNORECASE)
_CLOSE: Final = re.compile(r"</(q|cite|blockquote)[ \t\n]*+>", re.IGNORECASE)
_STRAIGHT_MARK: Final = re.compile(r'(?<!\w)"|"(?!\w)')
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
    for match in _STRAIGHT_MARK.finditer(text):
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
