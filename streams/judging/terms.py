"""When a text bears an assertion out: the terms of the assertion, and the test whether they are there (observing.md).

No model judges, and nothing the emitter chooses decides alone: the test is the same for every observer and for the
bind lane, and depends on the two texts only. Terms are quoted text and code spans, whole; literals (`literals.py`);
and only where there are none of these the content words. What says where to look (a path, a ref, lines) is none.

A text holds a term where the same characters stand at word boundaries, NFKC on both sides and any run of white space
as one space. Words are case-folded; quotes and identifiers are not. Numbers count with their unit and sign, and not
as a part of something else: 25 is not found in 2026-05-25, nor 3 in 3.14. Dates and versions are found in the other
usual ways of writing the same one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from ...codecs.unicode_text import nfkc
from .lexicon import EXTENSIONS, STOP_WORDS
from .literals import Form, literals
from .quotes import blanked, code_spans, quotes
from .writing import FILE_LINE, pieces, stands

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


def normalised(text: str) -> str:
    """A text in NFKC, with one space for each run of white space."""
    return " ".join(nfkc(text).split())


class Content:
    """A text that is searched for terms: normalised once, case-folded only where a word asks for it.

    Args:
        text: any.
        is_normal: it is what `normalised` returned.
    """

    __slots__ = ("_folded", "text")

    def __init__(self, text: str, *, is_normal: bool = False) -> None:
        self.text = text if is_normal else normalised(text)
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
    """The terms of an assertion's text. Words that only say where to look are no terms.

    Args:
        text: the assertion's.
        substrate_class: of the look; it shows which words are only places.
        locator: of the look; its values are only places.
    """
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
    """The terms as they stand, but for one that the text itself does not hold: in a text so dense that no literal can
    be told in it, all that stands between white space.

    Each different term is looked for once, and at most `MAX_HELD` of them: a text of nothing but numbers holds as many
    as it has characters, and to look for each takes time that grows with the square of its length.
    """
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

    It is, when a term of the assertion stands in the pattern, or a literal or a content word of the pattern in the
    assertion's text (its place left out). Of a regular expression only the literal characters count.

    Args:
        pattern: the locator's.
        text: the assertion's.
        terms: of the assertion (`terms_of`).
        regex: whether the pattern is a regular expression.
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
