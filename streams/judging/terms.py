"""When a text bears an assertion out: the terms of the assertion, the ways to write a term, and the test whether the
terms are in the text (observing.md, «Terms»).
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple

from ...codecs.unicode_text import nfkc
from .facts import IN_WORD, flat
from .prose_literals import (
    EXTENSIONS,
    MONTHS,
    NUMBER_WORDS,
    STOP_WORDS,
    UNIT_OF,
    UNITS,
    Form,
    blanked,
    code_spans,
    literals,
    parse_date,
    quotes,
)

_WORD_EDGE: Final = re.compile(IN_WORD)
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
    """Whether a term (`kind` and `text`) stands in a `content`: what `expression` finds, without one where the term is
    plain, which is faster."""
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
    before = rf"(?<!{IN_WORD})" if _WORD_EDGE.match(text[:1]) else ""
    after = rf"(?!{IN_WORD})" if _WORD_EDGE.match(text[-1:]) else ""
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


TermKind = Literal["quote", "code", "word"] | Form
GIT_LOG: Final = "substrate.git.log"
_TEXT_LINES: Final = frozenset({"substrate.grep", "substrate.code.read"})


class Term(NamedTuple):
    """One thing that must stand in what is observed."""

    kind: TermKind
    text: str


class Terms(NamedTuple):
    """What an assertion says, and where it says to look.

    Attributes:
        terms: in the order of the text, each once.
        places: the path that the text itself names as the place, where the locator names none and the text one only.
        commits: the commits that the text names as the place (git.log only).
        exists: the text says no more than that its place is there, or is not; then `terms` are the place.
    """

    terms: tuple[Term, ...]
    places: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()
    exists: bool = False


class Presence(NamedTuple):
    """The texts of the terms that are there and of those that are not."""

    found: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def whole(self) -> bool:
        """Every term is there, and there was at least one: nothing is not borne out by anything."""
        return bool(self.found) and not self.missing


class Content:
    """A text that is searched for terms: normalised once, case-folded only where a word asks for it.

    Args:
        text: any.
        is_normal: it is what `flat` returned.
    """

    __slots__ = ("_folded", "text")

    def __init__(self, text: str, *, is_normal: bool = False) -> None:
        self.text = text if is_normal else flat(text)
        self._folded: str | None = None

    def holds(self, term: Term) -> bool:
        """Whether the term stands there at word boundaries, or a name's pieces do (`pieces`)."""
        if term.kind != "word":
            return stands(term.kind, term.text, self.text) or self.holds_otherwise(term)
        if self._folded is None:
            self._folded = self.text.casefold()
        return stands("word", term.text, self._folded)

    def holds_otherwise(self, term: Term) -> bool:
        """Whether the pieces of a name stand there, however the name is written (`pieces`)."""
        parts = pieces(term.kind, term.text)
        return bool(parts) and all(stands("name", part, self.text) for part in parts)


def presence(terms: Iterable[Term], content: Content | str) -> Presence:
    """The test of observing.md: which terms stand in the text, which do not."""
    content = content if isinstance(content, Content) else Content(content)
    found: list[str] = []
    missing: list[str] = []
    for term in terms:
        (found if content.holds(term) else missing).append(term.text)
    return Presence(tuple(found), tuple(missing))


# ---------------------------------------------------------------- the terms of an assertion


def terms_of(text: str, substrate_class: str = "", locator: Mapping[str, Any] | None = None) -> Terms:
    """The terms of an assertion's `text`. Words that only say where to look, by the look's `substrate_class` and
    `locator`, are no terms."""
    text = nfkc(text)
    spans, rest = _set_off(text)
    places = _Places(rest, spans, substrate_class, locator or {})
    marked = [(start, Term(kind, inner)) for kind, inner, start in spans if not places.names(kind, inner)]
    marked += [(one.start, Term(one.form, one.text)) for one in places.literals if not places.names(one.form, one.text)]
    if not marked:
        marked = [(start, Term("word", word)) for word, start in _content_words(places.rest)]
    marked = _held(text, marked)
    exists = not marked and _EXISTENCE.search(rest) is not None
    if exists:
        marked = [(0, term) for term in places.named]
    terms = dict.fromkeys(term for _, term in sorted(marked))
    return Terms(tuple(terms), places.from_text, places.commits, exists)


def _held(text: str, marked: list[tuple[int, Term]]) -> list[tuple[int, Term]]:
    """The terms, but where the text is so dense that not all of them stand in it: then all that stands between white
    space. At most `MAX_HELD` are looked for, since a text of nothing but numbers holds as many as it has characters."""
    whole = Content(text)
    held: dict[Term, bool] = {}
    chunks: list[tuple[int, str]] | None = None
    result: list[tuple[int, Term]] = []
    for start, term in marked:
        if term not in held:
            held[term] = len(held) >= MAX_HELD or whole.holds(term)
        if not held[term]:
            if chunks is None:
                chunks = [(match.start(), match[0]) for match in _CHUNK.finditer(text)]
            term = Term("name", chunks[bisect_right(chunks, start, key=lambda chunk: chunk[0]) - 1][1])
        result.append((start, term))
    return result


MAX_HELD: Final = 200
"""Twice as many terms as anybody takes of one text."""
_CHUNK: Final = re.compile(r"\S+")


_EXISTENCE: Final = re.compile(
    r"\b(?:exist(?:s|ed)?|there (?:is|are|was|were)|(?:is|are|was|were) (?:not )?(?:there|present))\b"
)
"""Who says that a place is there means the place itself: then it is the term."""


def _set_off(text: str) -> tuple[list[tuple[TermKind, str, int]], str]:
    """Code spans and quotes with kind, inner text and place, and the text with all of them blanked out."""
    found: list[tuple[TermKind, str, int]] = []
    whole = text
    finders: tuple[tuple[TermKind, Callable[[str], list[tuple[int, int]]], int], ...] = (
        ("code", code_spans, 0),
        ("quote", quotes, 1),
    )
    for kind, finder, marks in finders:
        spans = finder(text)
        for start, end in spans:
            if text[start:end].strip("\0` \n\t"):  # a quotation of nothing but code is that code
                found.append((kind, " ".join(whole[start:end].split()), start))
        text = blanked(text, ((start - marks, end + marks) for start, end in spans))
    return found, text


_LINES: Final = r"\b[Ll]ines?\s+\d+(?:\s*(?:-|–|to|through|and|,)\s*\d+)*"
_LINE_WORDS: Final = re.compile(_LINES)
_LINE_NUMBERS: Final = re.compile(rf"{_LINES}|(?<=[A-Za-z\0]):\d+(?:-\d+)?(?![\w.:]|-\w)")
_FILE_LINES: Final = re.compile(
    r"(?<![\w/.~-])([\w.~/-]{1,256}\.(?P<ending>[A-Za-z]\w{0,9}))(?::\d+(?:-\d+)?(?::\d+)?|#L\d+(?:-L?\d+)?)(?![\w:]|[-.]\w)"
)
"""`file.go:123`: of the file's endings `EXTENSIONS` decides, so that `localhost.lan:80` is an address."""
_BRANCH: Final = re.compile(r"\b(?:branch|ref)\s+([\w./-]*\w)")


class _Places:
    """What in a text only says where to look, given the class and the locator."""

    def __init__(
        self, text: str, spans: list[tuple[TermKind, str, int]], substrate_class: str, locator: Mapping[str, Any]
    ) -> None:
        self._class, self._spans = substrate_class, spans
        if substrate_class:
            text = _FILE_LINES.sub(_without_line, text)
        if substrate_class in _TEXT_LINES:
            text = _LINE_NUMBERS.sub(_blanks, text)
        elif substrate_class == GIT_LOG:
            text = _BRANCH.sub(_blanks, _LINE_WORDS.sub(_blanks, text))
        self.literals = literals(text)
        self.rest = blanked(text, ((one.start, one.end) for one in self.literals), " ")
        self._path = _text_of(locator, "path")
        self._ref = _text_of(locator, "ref")
        self._commit = _text_of(locator, "commit").lower()
        pattern = _text_of(locator, "pattern")
        paths = [one.text for one in self.literals if one.form == "path"]
        paths += [inner for _, inner, _ in spans if _is_path(inner)]
        paths = [path for path in dict.fromkeys(map(_plain, paths)) if not (pattern and path in pattern)]
        self.from_text = tuple(paths) if len(paths) == 1 and not self._path and substrate_class else ()
        hashes = [one.text.lower() for one in self.literals if one.form == "hash"]
        hashes += [inner.lower() for _, inner, _ in spans if _HEX.fullmatch(inner)]
        hashes = [one for one in dict.fromkeys(hashes) if _HEX.fullmatch(one)]
        in_text = substrate_class == GIT_LOG and not self._commit and len(hashes) == 1
        self.commits = tuple(hashes) if in_text else ()

    @property
    def named(self) -> list[Term]:
        """The places that the text itself names, as terms."""
        found = [Term(one.form, _plain(one.text)) for one in self.literals if self.names(one.form, one.text)]
        return found + [Term("path", _plain(inner)) for kind, inner, _ in self._spans if self.names(kind, inner)]

    def names(self, kind: str, text: str) -> bool:
        """Whether the text of a code span, a quote or a literal is the place that the locator or the sentence names."""
        if text == self._ref:
            return True
        lower = text.lower()
        if self._class == GIT_LOG and _HEX.fullmatch(lower):
            commit = self._commit
            return lower in self.commits or (bool(commit) and (lower.startswith(commit) or commit.startswith(lower)))
        path = _plain(text)
        if self._path and kind in ("path", "code", "quote", "name"):
            return _same_file(path, _plain(self._path))
        return path in self.from_text


def _blanks(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _without_line(match: re.Match[str]) -> str:
    """A path without the line behind it, as long as before."""
    return match[1].ljust(len(match[0])) if match["ending"].lower() in EXTENSIONS else match[0]


_HEX: Final = re.compile(r"[0-9a-fA-F]{7,64}")


def _text_of(locator: Mapping[str, Any], member: str) -> str:
    value = locator.get(member)
    return nfkc(value) if isinstance(value, str) else ""


def _is_path(inner: str) -> bool:
    inner = FILE_LINE.sub("", inner)
    found = literals(inner)
    return len(found) == 1 and found[0].form == "path" and found[0].text == inner


def _plain(path: str) -> str:
    return FILE_LINE.sub("", path).removeprefix("./").rstrip("/")


def _same_file(named: str, looked_at: str) -> bool:
    """Whether what the text names is the file that is looked at: `records.py` for `codecs/records.py`, not reversed.

    An absolute path in the text may name the file below the root; the stem alone names it as well (CHANGELOG).
    """
    if looked_at == named or looked_at.endswith("/" + named) or (named[:1] == "/" and named.endswith("/" + looked_at)):
        return True
    return named == looked_at.rsplit("/", 1)[-1].partition(".")[0]


_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def _content_words(text: str) -> list[tuple[str, int]]:
    """The words that say something, case-folded, with their places; single Latin letters say nothing."""
    found: list[tuple[str, int]] = []
    for match in _WORD.finditer(text):
        word = match[0].casefold()
        plain = word.replace("’", "'")
        if plain in STOP_WORDS or (len(word) == 1 and word.isascii()):
            continue
        found.append((word[:-2] if plain.endswith("'s") else word, match.start()))
    return found


# ---------------------------------------------------------------- a locator's pattern


_CLASSES: Final = re.compile(r"\\[pP]\{[^}]{0,64}\}|\\[A-Za-z]|\[(?:[^\]\\]|\\.)*\]|\{\d*,?\d*\}|\(\?[^)]{0,16}[:>)]")
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)


def shares_a_term(pattern: str, text: str, terms: Terms, regex: bool = False) -> bool:
    """Whether a locator's pattern is about the assertion: else `pattern=the` would prove anything (observing.md).

    It is where one of the assertion's `terms` stands in the pattern, or a literal or a content word of the pattern in
    the assertion's `text`. Of a `regex` only the literal characters count.
    """
    if regex:
        pattern = re.sub(r"[.*+?^$|()]", " ", _ESCAPED.sub(r"\1", _CLASSES.sub(" ", pattern)))
    inner = Content(pattern)
    if any(inner.holds(term) for term in terms.terms):
        return True
    for place in terms.places:
        text = text.replace(place, " ")
    whole = Content(f"{text} {text.replace('_', ' ')}")
    own = [Term(one.form, one.text) for one in literals(inner.text)]
    own += [Term("word", word) for word, _ in _content_words(inner.text.replace("_", " "))]
    return any(whole.holds(term) for term in own)
