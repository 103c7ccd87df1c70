"""Annotations from calls: the checks that a sentence gets because a tool's call saw what the sentence names."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import accumulate
from typing import Final, Generic, NamedTuple, TypeVar

from ..codecs.records import Annotation
from ..codecs.times import format_time
from ..codecs.unicode_text import nfkc
from ..streams.judging.prose_literals import EXTENSIONS
from ..streams.judging.terms import Content, Term, terms_of
from .looks import GREP, LOG, MTIME, READ, Line, Look, LookResult
from .workspaces import may_quote

Of = TypeVar("Of")
Made = TypeVar("Made")


class IdentityCache(Generic[Of, Made]):
    """Keeps what is made of objects that do not change, by their identity. One thread uses it at a time.

    Args:
        make: what is made.
        most: how many are kept.
        size: of an object with what is made of it.
        room: the sizes of all that is kept, together; what is larger by itself is made each time.
    """

    def __init__(
        self, make: Callable[[Of], Made], most: int, size: Callable[[Of], int] = lambda _: 0, room: int = 0
    ) -> None:
        self._make, self._most, self._size, self._room = make, most, size, room
        self._kept: dict[int, tuple[Of, Made]] = {}  # the object is held, so that no other one gets its id
        self._used = 0

    def of(self, one: Of) -> Made:
        """What is made of this very object."""
        known = self._kept.get(id(one))
        if known is not None:
            return known[1]
        size = self._size(one)
        if size > self._room:
            return self._make(one)
        if len(self._kept) >= self._most or self._used + size > self._room:
            self._kept.clear()
            self._used = 0
        made = self._make(one)
        self._kept[id(one)] = one, made
        self._used += size
        return made


class LineIndex:
    """A text whose lines are asked about, however often.

    Args:
        text: its lines end with a line feed.
    """

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] = []

    def word_counts(self, words: Iterable[str]) -> dict[int, int]:
        """How often each line, by its number from 0, has one of these words; lines that have none are left out."""
        text, starts = self.text, self._starts
        found: dict[int, int] = {}
        for word in words:
            at = text.find(word) if word and "\n" not in word else -1
            if at >= 0 and not starts:
                starts = self._starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
            while at >= 0:
                line = bisect_right(starts, at) - 1
                found[line] = found.get(line, 0) + 1
                at = text.find(word, starts[line + 1]) if starts[line + 1] < len(text) else -1
        return found


_PLACE: Final = re.compile(r":\d+(?:-\d+)?$")
_RELATIVE: Final = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)*")


def is_file(name: str, listing: Collection[str]) -> bool:
    return listed(name, listing) is not None or "/" in name or name.rpartition(".")[2].lower() in EXTENSIONS


def listed(name: str, listing: Collection[str]) -> str | None:
    """The tracked file that a name names: itself, or the only one that ends with it."""
    name = _without_place(name)
    if name in listing:
        return name
    if "." not in name and "/" not in name:
        return None
    found = [path for path in _of_same_name(name, listing) if path.endswith("/" + name)]
    return found[0] if len(found) == 1 else None


def unlisted(name: str, listing: Collection[str]) -> str | None:
    """The file below the root that a name names, of which the repository has none, in no folder. Else None."""
    name = _without_place(name)
    if name.rpartition(".")[2].lower() not in EXTENSIONS or not _RELATIVE.fullmatch(name) or ".." in name.split("/"):
        return None
    return None if _of_same_name(name, listing) else name


def _without_place(name: str) -> str:
    """The name without the lines behind it, and without `./` before it."""
    return _PLACE.sub("", name).removeprefix("./")


def _of_same_name(name: str, listing: Collection[str]) -> Sequence[str]:
    """The tracked files, in any folder, whose own name is that of this path."""
    by_name = _by_name(listing if isinstance(listing, frozenset) else frozenset(listing))
    return by_name.get(name.rpartition("/")[2], ())


@lru_cache(maxsize=2)
def _by_name(listing: frozenset[str]) -> dict[str, list[str]]:
    """The paths by the name of their file: a listing may have 100,000, and every word of an answer is looked for."""
    found: dict[str, list[str]] = {}
    for path in listing:
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return found


ReadData = Callable[[str], bytes | None]
_MODIFIED: Final = re.compile(r"^\s*Modify: (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{9}) ([+-])0000$", re.MULTILINE)
_NAMED: Final = re.compile(r"(?<![0-9a-zA-Z])[0-9a-f]{7,40}(?![0-9a-zA-Z])")


def observation_id(seen: LookResult, read_data: ReadData | None, text: str = "") -> str | None:
    """The id of what a call saw, of the commit that `text` names; None where it cannot be known beforehand."""
    look = seen.look
    if look.substrate_class == LOG:
        return _commit(seen, text) if look.reachable else None
    if look.substrate_class == MTIME:
        found = _MODIFIED.findall(seen.extra) if look.alone else []
        return _time(found[0]) if len(found) == 1 else None
    if read_data is None or look.path is None or not {"ref", "commit", "repo"}.isdisjoint(look.locator):
        return None
    data = read_data(look.path)
    if data is None or b"\r" in data:
        return None
    if look.substrate_class == READ:
        return _region(seen, data)
    return _matching(seen, data) if look.substrate_class == GREP else None


def _commit(seen: LookResult, text: str) -> str | None:
    words = _NAMED.findall(text)
    named = next((one.name for one in seen.commits if any(one.name.startswith(word) for word in words)), None)
    return named or (seen.commits[0].name if seen.commits else None)


def _time(match: tuple[str, str, str, str]) -> str:
    day, time, fraction, _ = match
    fraction = fraction.rstrip("0")
    return f"mtime:{day}T{time}{'.' if fraction else ''}{fraction}Z"


def _region(seen: LookResult, data: bytes) -> str | None:
    """`sha256:` of the lines that the locator names, where they are those that came back."""
    rows = data.split(b"\n")
    first, last = seen.look.locator.get("lines") or (1, None)
    if last is None:
        return None
    wanted = rows[first - 1 : last]
    text = b"\n".join(wanted)
    # No row holds a line feed, so as many lines with the same text are the same lines.
    if len(wanted) != len(seen.lines) or text != "\n".join(line.text for line in seen.lines).encode(
        "utf-8", "surrogatepass"
    ):
        return None
    ended = text + (b"\n" if last < len(rows) else b"")
    return f"sha256:{sha256(ended).hexdigest()}"


def _matching(seen: LookResult, data: bytes) -> str | None:
    """`sha256:` of the matching lines of one file, where they are those that came back."""
    pattern, locator = seen.look.locator.get("pattern"), seen.look.locator
    if not isinstance(pattern, str) or locator.get("regex") or "lines" in locator:
        return None
    try:
        rows = [row for row in data.decode().split("\n") if pattern in row]
    except UnicodeDecodeError:
        return None
    if not rows or rows != [line.text for line in seen.lines if line.path == seen.look.path]:
        return None
    return "sha256:" + sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


MOST_ANNOTATIONS: Final = 5
MOST_TERMS: Final = 20
"""Terms of a sentence that are looked for."""
MOST_EXACT: Final = 12
"""Calls whose results are read line by line for one sentence, of those that have its words."""
MOST_MADE: Final = 64
"""Results and files of which it is kept what was made of them to find quotes."""
MOST_MADE_BYTES: Final = 12_000_000
"""Of the files, or characters of the results, together with what was made of them."""
MOST_QUOTE: Final = 200
"""Characters of a quote."""
MOST_COMPARED: Final = 50
"""Lines that are compared with their file for one quote."""
EXACT: Final = 3.0
"""What a term weighs that is no plain word; a word weighs 1."""
NAMED_PLACE: Final = 3.0
"""What a call weighs more when the sentence names its file."""
_WORDS: Final = re.compile(r"[^\W_]+")
_FOLDED: Final = str.maketrans({one: one.lower() if one.isalnum() else " " for one in map(chr, range(128))})
"""Characters of ASCII as words have them; a space for those that words do not have."""
_LITERAL: Final = re.compile(r"[A-Za-z_$][\w$.:-]{1,127}")
_HASH: Final = re.compile(r"[0-9a-f]{7,40}")
_HISTORY: Final = re.compile(
    r"\b(?:commit(?:s|ted)?|changed|changes|added|removed|introduced|authored?|wrote|merged|since|history|dated)\b|"
    r"\b\d{4}-\d\d-\d\d\b|\b[0-9a-f]{7,40}\b",
    re.IGNORECASE,
)


class CallText:
    """A call with the words of its result, made once for all sentences, when the first one asks."""

    __slots__ = ("_content", "_words", "paths", "seen")

    def __init__(self, seen: LookResult) -> None:
        self.seen, self.paths = seen, seen.paths
        self._content: Content | None = None
        self._words: frozenset[str] | None = None

    @property
    def words(self) -> frozenset[str]:
        """Every word of what came back, and of the look."""
        if self._words is None:
            seen = self.seen
            named = (str(value) for value in seen.look.locator.values() if isinstance(value, str))
            texts = (*(line.text for line in seen.lines), *self.paths, seen.extra, *named)
            names = " ".join(f"{one.name} {one.author}" for one in seen.commits)
            shortened = {one.name[:length] for one in seen.commits for length in range(7, 13)}
            text = nfkc("\n".join(texts))
            self._words = frozenset(_words_in(f"{text} {names}")) | shortened
        return self._words

    @property
    def content(self) -> Content:
        """What came back, to be searched for terms."""
        if self._content is None:
            self._content = _content_of(self.seen)
        return self._content


def _words_in(text: str) -> list[str]:
    """The words of a text, case-folded; of ASCII, which most results are, found without an expression."""
    return text.translate(_FOLDED).split() if text.isascii() else _WORDS.findall(text.casefold())


def _content_of(seen: LookResult) -> Content:
    shown = "\n".join(line.text for line in seen.lines)
    commits = " ".join(f"{each.name} {each.author} {str(each.date)[:10]}" for each in seen.commits)
    return Content(f"{shown}\n{seen.extra}\n{commits}")


class Annotator:
    """Gives sentences their annotations. One thread uses it at a time.

    Args:
        read_data: gives the bytes of tracked files below the root, for observation ids and quotes; without it there
            are no quotes.
    """

    def __init__(self, read_data: ReadData | None = None) -> None:
        self.read_data = read_data
        self._index = _Index()
        self._lined = IdentityCache(_folded, MOST_MADE, _size_of_lines, MOST_MADE_BYTES)
        self._ended = IdentityCache(_with_ended_lines, MOST_MADE, _size_of_file, MOST_MADE_BYTES)

    def note(self, text: str, calls: Sequence[CallText], checks: Sequence[str] | None = None) -> list[Annotation]:
        """The annotations that the calls, in their order, give a sentence, best first; none where none has a term."""
        self._index.take(calls)
        return [self._annotation(text, one) for one in _bearing(text, self._index)]

    def _annotation(self, text: str, seen: LookResult) -> Annotation:
        quoted = self._quote(_terms(text), seen)
        locator = {**seen.look.locator, **({} if quoted is None else {"quote": quoted})}
        ts = None if seen.at is None else format_time(seen.at)
        computed = observation_id(seen, self.read_data, text)
        return Annotation(seen.look.substrate_class, computed, ts, locator or None, computed=computed is not None)

    def _quote(self, terms: Sequence[Term], seen: LookResult) -> str | None:
        """The line of a text file that has most of the terms; None where none has any, or none may be quoted.

        The line has to stand in the tracked file that it is said to be of: a result may be of an untracked file, or of
        something else altogether. So nothing is quoted where files are not at hand.
        """
        if self.read_data is None:
            return None
        counts = self._lined.of(seen.lines).word_counts([term.text.casefold() for term in terms])
        best, most, compared = None, 0, 0
        for place in sorted(counts):
            line, count = seen.lines[place], counts[place]
            if count > most and line.path and may_quote(line.path, line.text) and compared < MOST_COMPARED:
                compared += 1
                if self._stands(line, self.read_data):
                    best, most = line.text, count
        return None if best is None else " ".join(best.split())[:MOST_QUOTE]

    def _stands(self, line: Line, read_data: ReadData) -> bool:
        """Whether a line is one of its file's."""
        data = read_data(line.path)
        wanted = line.text.rstrip("\r").encode("utf-8", "replace")
        return data is not None and b"\n" + wanted + b"\n" in self._ended.of(data)


def annotations_of(statement: str, calls: Sequence[LookResult], read_data: ReadData | None = None) -> list[Annotation]:
    """What calls give a single statement, as `Annotator.note`; `read_data` is as for `Annotator`."""
    return Annotator(read_data).note(statement, [CallText(one) for one in calls])


@lru_cache(maxsize=256)
def _terms(text: str) -> Sequence[Term]:
    return terms_of(text).terms[:MOST_TERMS]


class _Sought(NamedTuple):
    """A term of a sentence, with what each call is asked about it.

    Attributes:
        term: itself.
        words: a result that has none of these does not have the term. Empty for numbers and dates, which may be
            written in other ways.
        place: the file that it may name; empty where it names none.
        is_hash: it may be a commit's name.
    """

    term: Term
    words: frozenset[str]
    place: str
    is_hash: bool


@lru_cache(maxsize=256)
def _sought(text: str) -> Sequence[_Sought]:
    return [_as_sought(term) for term in _terms(text)]


def _as_sought(term: Term) -> _Sought:
    kind, text = term
    # Of numbers and dates there are other ways to write them.
    words = _words_of(nfkc(text)) if kind in ("code", "name", "path", "quote") else frozenset[str]()
    place = _without_place(text) if kind in ("path", "code", "name") else ""
    return _Sought(term, words, place, _HASH.fullmatch(text) is not None)


class _Index:
    """Which calls have a word, for however many sentences and turns: each call is gone through once.

    A call keeps its number while others come behind it and the oldest go.
    """

    def __init__(self) -> None:
        self._given: Sequence[CallText] | None = None
        self._calls: Sequence[CallText] = ()
        self._first = self._oldest = self._end = 0
        self._numbers: dict[str, list[int]] = {}

    def take(self, calls: Sequence[CallText]) -> None:
        """The calls that count from now on, in the order in which they were made."""
        if calls is self._given:
            return
        before, now = self._calls, tuple(calls)
        gone = next((place for place, one in enumerate(before) if now and one is now[0]), len(before))
        stay = before[gone:]
        self._first += gone
        self._given, self._calls = calls, now
        if len(stay) > len(now) or any(one is not other for one, other in zip(stay, now, strict=False)):
            self._forget()  # they are not the same calls any more, and neither are their numbers
        elif self._first - self._oldest > len(now):
            self._forget()  # most of what is kept is of calls that are gone
        for number in range(max(self._end, self._first), self._first + len(now)):
            for word in self.call(number).words:
                self._numbers.setdefault(word, []).append(number)
        self._end = self._first + len(now)

    def _forget(self) -> None:
        self._numbers.clear()
        self._oldest = self._end = self._first

    def call(self, number: int) -> CallText:
        """The call of this number."""
        return self._calls[number - self._first]

    def having(self, words: Iterable[str]) -> frozenset[int]:
        """The numbers of the calls that have one of these words."""
        return frozenset[int]().union(*map(self._with, words))

    def _with(self, word: str) -> list[int]:
        numbers = self._numbers.get(word, [])
        return numbers if self._oldest == self._first else numbers[bisect_left(numbers, self._first) :]


def _bearing(text: str, index: _Index) -> list[LookResult]:
    """The calls that bear on a sentence, best first, those of searches narrowed to the file that has most of it.

    A call bears on it when its result has half of the terms that its best rival has, and one that is no plain word.
    """
    terms = _terms(text)
    exact = any(term.kind != "word" for term in terms)
    found = [index.having(_words_of(term.text)) for term in terms]
    # A result without any term that is exact bears nothing out where the sentence has one.
    named = frozenset[int]().union(
        *(numbers for term, numbers in zip(terms, found, strict=True) if term.kind != "word")
    )
    exactly: Counter[int] = Counter()
    plainly: Counter[int] = Counter()
    for term, numbers in zip(terms, found, strict=True):
        (plainly if term.kind == "word" else exactly).update(numbers & named if exact else numbers)
    weights = {number: plainly[number] + EXACT * exactly[number] for number in (exactly if exact else plainly)}
    # Of two alike the later one comes first: it saw the newer state.
    rough = sorted(((weight, number) for number, weight in weights.items()), reverse=True)
    scored: list[tuple[float, int, LookResult]] = []
    best = 0.0
    for weight, number in rough[:MOST_EXACT]:
        if weight + NAMED_PLACE < best / 2:
            break  # and all that come behind it: none of them can have half of the best
        score, seen = _scored(text, terms, index.call(number))
        best = max(best, score)
        if score > 0:
            scored.append((score, number, seen))
    if not scored:
        return []
    scored.sort(key=lambda one: one[:2], reverse=True)
    least = scored[0][0] / 2
    return _chosen([seen for score, _, seen in scored if score >= least])


@lru_cache(maxsize=4096)
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_words_in(text))


def _weight(terms: Collection[Term]) -> float:
    return sum(1.0 if term.kind == "word" else EXACT for term in terms)


def _scored(text: str, terms: Sequence[Term], one: CallText) -> tuple[float, LookResult]:
    """How much of a sentence stands in a result, and the look at it."""
    seen = one.seen
    if seen.look.substrate_class in (GREP, READ) and "path" not in seen.look.locator and seen.lines:
        seen = _narrowed(text, terms, seen)
    if seen.look.form == "paths" and not terms_of(text, READ, seen.look.locator).exists:
        return 0.0, seen  # nobody read the file: that it is there is all that was seen
    content, paths = (one.content, one.paths) if seen is one.seen else (_content_of(seen), seen.paths)
    there: list[Term] = []
    places = 0
    for sought in _sought(text):
        is_place = _names_one(sought.place, paths)
        if is_place or _is_commit(sought, seen) or _holds(sought, one, content):
            there.append(sought.term)
            places += is_place
    # A file that is named, of which nothing else that is said came back, bears nothing out.
    if not there or (places == len(there) < len(terms)):
        return 0.0, seen
    if len(there) < len(terms) and all(term.kind == "word" for term in there):
        return 0.0, seen
    # A place that the sentence names weighs more than words that may stand anywhere.
    return _weight(there) + (NAMED_PLACE if places else 0.0), seen


def _holds(sought: _Sought, one: CallText, content: Content) -> bool:
    """Whether a term stands in a result, or in the part of it that is given; searched only where it may."""
    term, words = sought.term, sought.words
    if words and not words <= one.words:
        if one.words.isdisjoint(words):
            return False
        # All of its words have to be there; but where a script puts no space between words, they may stand in others.
        if content.text.isascii() and not one.seen.commits:
            return content.holds_otherwise(term)
    return content.holds(term)


def _is_commit(sought: _Sought, seen: LookResult) -> bool:
    """Whether a term is the name of a commit that a look showed, or begins it."""
    return sought.is_hash and any(each.name.startswith(sought.term.text) for each in seen.commits)


def _names_one(place: str, paths: Sequence[str]) -> bool:
    """Whether a text names one of these files, with its folders or without."""
    return bool(place) and any(path.endswith(place) and (path == place or path.endswith("/" + place)) for path in paths)


def _narrowed(text: str, terms: Sequence[Term], seen: LookResult) -> LookResult:
    """A search through many files as a search in the one whose lines have most of the sentence."""
    by_path: dict[str, list[Line]] = {}
    for line in seen.lines:
        if line.path:
            by_path.setdefault(line.path, []).append(line)
    if not by_path:
        return seen
    folded = nfkc(text).casefold()

    def order(path: str) -> tuple[bool, int, int]:
        lines = "\n".join(line.text for line in by_path[path][:200]).casefold()
        return path.casefold() in folded, sum(term.text.casefold() in lines for term in terms), -len(path)

    best = max(by_path, key=order)
    look = seen.look._replace(locator={**seen.look.locator, "path": best})
    return seen._replace(look=look, lines=tuple(by_path[best]))


def _chosen(ordered: Sequence[LookResult]) -> list[LookResult]:
    """At most five, no place twice; the best of each class, then the others, in their order."""
    unique: dict[str, LookResult] = {}
    for seen in ordered:
        unique.setdefault(f"{seen.look.substrate_class} {sorted(seen.look.locator.items())!r}", seen)
    ones = list(unique.values())
    classes = [seen.look.substrate_class for seen in ones]
    first_of_class = sorted(range(len(ones)), key=lambda number: classes[number] in classes[:number])
    return [ones[number] for number in sorted(first_of_class[:MOST_ANNOTATIONS])]


def _folded(lines: tuple[Line, ...]) -> LineIndex:
    return LineIndex("\n".join([line.text for line in lines]).casefold())


def _size_of_lines(lines: tuple[Line, ...]) -> int:
    return 2 * sum(len(line.text) + 1 for line in lines)


def _size_of_file(data: bytes) -> int:
    return 2 * len(data)


def _with_ended_lines(data: bytes) -> bytes:
    """A file as one text in which each line stands between two line feeds."""
    return b"\n" + data.replace(b"\r\n", b"\n") + b"\n"


def proposals(statement: str, listing: Collection[str]) -> list[Annotation]:
    """Annotations for a sentence without known calls, by the paths, symbols and literals that it names.

    Args:
        statement: the sentence.
        listing: the tracked paths, relative to the root; a set is searched fastest.
    """
    terms = _terms(statement)
    paths = list(dict.fromkeys(path for term in terms if (path := listed(term.text, listing)) is not None))[:2]
    if not paths:  # a file that is not there, which some check may hold of
        named = (unlisted(term.text, listing) for term in terms if term.kind in ("code", "path"))
        paths = list(dict.fromkeys(path for path in named if path is not None))[:1]
    names = [term.text.removesuffix("()") for term in terms if term.kind != "word" and not is_file(term.text, listing)]
    literals = [name for name in names if _LITERAL.fullmatch(name)] or [
        one.text for one in terms if one.kind == "quote"
    ]
    looks: list[Look] = []
    for path in paths:
        looks.append(Look(READ, {"path": path}))
        if literals:
            looks.append(Look(GREP, {"pattern": max(literals, key=len), "path": path}))
        looks.append(Look(LOG, {"path": path}))
    if not paths:
        looks += [Look(GREP, {"pattern": name}) for name in sorted(dict.fromkeys(literals), key=len, reverse=True)[:2]]
        looks += [Look(LOG, {})] if looks and _HISTORY.search(statement) else []
    looks = looks[:MOST_ANNOTATIONS]
    return [Annotation(look.substrate_class, locator=dict(look.locator) or None) for look in looks]
