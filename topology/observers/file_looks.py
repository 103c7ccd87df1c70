"""The three classes that look at files: substrate.code.read, substrate.fs.mtime and substrate.code.grep [S §4]."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import re2

from ...codecs.records import LookedAt
from ...streams.judging.checks import Check, Held, Unknown, opposite
from ...streams.judging.coverage import Scope
from ...streams.judging.facts import verify_modified
from ...streams.judging.prose_literals import format_ns, parse_date
from ...streams.judging.terms import Content, Presence, Term, presence, shares_a_term
from ...streams.judging.verify import Parser
from .ask import (
    BOUND,
    OTHER,
    UNKNOWN,
    Ask,
    Finding,
    Missing,
    ObservationUnavailable,
    answer,
    dated,
    decides,
    declared_digest,
    judge_hash,
    seen_id,
    where_from,
)
from .deciding import (
    BINARY,
    NO_FILE,
    NO_PATH,
    NOT_HERE,
    ON_CHANGES,
    Confirming,
    Deciding,
    Located,
    context_of,
    lines_of,
    locate,
    named_path,
    place_of,
)
from .file_contents import APART, File, Piece, text_of
from .root_set import Site, View
from .trees import UNTRACKED, CommitTree, Tree, TreePath


def code_read(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Holds the checks against the file that they, the locator or the text name.

    Raises:
        ObservationUnavailable: no file is named, it must not or could not be read, or a bound is reached.
    """
    tree, lines = view.tree, lines_of(ask.locator)
    where = locate(ask, tree)
    anchor = where.anchor
    if where.several:
        raise ObservationUnavailable(f"{len(where.several)} files are called {ask.terms.places[0]}")
    if anchor is None and not any(isinstance(one, Check) and one.name in ON_CHANGES for one in ask.question.checks):
        raise ObservationUnavailable(NO_PATH)
    deciding = Deciding(ask, site, view, parser, where)
    piece = None if anchor is None else _piece(ask, deciding, tree, anchor, lines)
    seen = None
    if piece is not None and anchor is not None:
        digests = digests_of(piece.data)
        refuted = judge_hash(ask, digests, lambda: deciding.changed(anchor))
        if refuted is not None:
            return refuted
        seen = seen_id(ask, digests)
    deciding.region = Located(named_path(ask, where), lines)
    helds = [deciding.bound(number) for number in range(len(ask.question.checks))]
    commit = None if tree.commit is None else tree.commit.name
    return answer(
        ask,
        helds,
        seen,
        words=_words(ask, where.default, piece),
        missing=anchor is not None and anchor.state == "missing",
        path=None if where.default is None else where.default.path,
        commit=commit,
        where=lambda found: where_from(found, deciding.digests, site.name, commit, anchor and anchor.path),
        region=_region(ask, piece),
        own_edit=deciding.is_own_edit,
        confirming=Confirming(ask, tree, deciding, parser, helds),
    )


def _piece(ask: Ask, deciding: Deciding, tree: Tree, anchor: TreePath, lines: tuple[int, int] | None) -> Piece | None:
    """The region that the locator names; None where nothing is there to be read."""
    if anchor.state == "missing":
        return None
    if anchor.state != "file":
        if deciding.where.default is anchor and ask.question.is_sentence:
            raise ObservationUnavailable(NO_FILE)
        return None
    if not ask.question.checks and lines is not None:
        return tree.part(anchor, lines, ask.budget)
    return deciding.file(anchor).part(lines)


def _words(ask: Ask, place: TreePath | None, piece: Piece | None) -> Presence | None:
    """The words of an assertion without checks that stand in the region."""
    if not ask.question.is_sentence or place is None or piece is None:
        return None
    if ask.terms.exists:
        return presence(ask.terms.terms, Content(place.path))
    text = text_of(piece)
    if text is None or File(piece.data).is_pointer:
        raise ObservationUnavailable(BINARY if text is None else NOT_HERE)
    return presence(ask.terms.terms, Content(text.text))


def _region(ask: Ask, piece: Piece | None) -> str | None:
    text = text_of(piece) if ask.wants_region and piece is not None else None
    return None if text is None else text.text


def digests_of(data: bytes) -> tuple[str, str]:
    """The hashes by which some bytes may be declared: their own, and that without the last line end."""
    return hashlib.sha256(data).hexdigest(), hashlib.sha256(data.removesuffix(b"\n")).hexdigest()


_DECLARED: Final = re.compile(r"mtime:(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?Z")


def fs_mtime(ask: Ask, site: Site, view: View) -> Finding:
    """Holds the modification time against those that the checks name.

    Raises:
        ObservationUnavailable: no file is named, there is none to be seen, or it must not be looked at.
    """
    if isinstance(view.tree, CommitTree):
        raise ObservationUnavailable("git's objects have no modification times")
    looking = _Times(ask, site, view.tree)
    own = {
        number: view.tree.locate(check.path or "", ask.budget)
        for number, check in enumerate(ask.question.checks)
        if isinstance(check, Check) and decides(ask.substrate_class, check)
    }
    place = next(iter(own.values()), None)
    if place is None or ask.member("path") is not None:
        place = place_of(ask, view.tree)
    if place.state in ("folder", "untracked"):
        raise ObservationUnavailable(UNTRACKED if place.state == "untracked" else "the path names no regular file")
    time = looking.time(place)
    written = None if time is None else format_ns(time)
    if written is not None and _declares_another(ask, written):
        if ask.ts is not None and time is not None and -(-time // 1_000_000) <= ask.ts:
            why = "nothing has written the file since the annotation's ts"
            return Finding("unknown-observation", ask.declared, reason=why)
        return Finding("absent", f"mtime:{written}", reason="changed-since")
    helds = [looking.held(number, own.get(number)) for number in range(len(ask.question.checks))]
    words = None
    if ask.question.is_sentence and written is not None:
        # Beside the times themselves, nothing can be seen of a file here.
        times = f"{written} {written.replace('T', ' ').removesuffix('Z')} UTC"
        words = presence(ask.terms.terms, Content(place.path if ask.terms.exists else times))
    return answer(
        ask,
        helds,
        None if written is None else f"mtime:{written}",
        words=words,
        missing=place.state == "missing",
        path=place.path,
        where=lambda _: LookedAt(root=site.name, path=place.path),
    )


class _Times:
    """The modification times of one look."""

    def __init__(self, ask: Ask, site: Site, tree: Tree) -> None:
        self._ask, self._site, self._tree = ask, site, tree
        path = ask.member("path")
        self.region = Located(None if path is None else tree.locate(path, ask.budget).path)

    def time(self, place: TreePath) -> int | None:
        """In nanoseconds since 1970; None where no file stands.

        Raises:
            ObservationUnavailable: no calendar has it.
        """
        if place.state != "file":
            return None
        try:
            time = self._site.root.stat(place.path).st_mtime_ns
            format_ns(time)
        except Missing:
            return None
        except OverflowError:
            raise ObservationUnavailable("the modification time is one that no calendar has") from None
        return time

    def held(self, number: int, place: TreePath | None) -> Held:
        """What one check comes to, `not` included."""
        check = self._ask.question.checks[number]
        if isinstance(check, Unknown):
            return UNKNOWN
        if place is not None and place.state == "untracked":
            raise ObservationUnavailable(UNTRACKED)
        if place is None or place.state == "folder":
            return OTHER
        time = self.time(place)
        if time is None:
            return Held(None, "path-missing", path=place.path)
        held = verify_modified(check, time)._replace(path=place.path)
        held = opposite(held) if check.negated else held
        held = dated(self._ask, held, -(-time // 1_000_000))
        return self.region.bind(check, held, place.path, None)


def _declares_another(ask: Ask, written: str) -> bool:
    """Whether another time is declared, at the precision at which it is declared."""
    match = _DECLARED.fullmatch(ask.declared or "")
    if match is None:
        return (ask.declared or "").startswith("mtime:")
    second, _, fraction = written.removesuffix("Z").partition(".")
    digits = (match[2] or "").rstrip("0")
    return match[1] != second or not fraction.ljust(9, "0").startswith(digits)


MAX_PATTERN: Final = 1000
Match = Callable[[str], bool]
Files = Sequence[tuple[str, File]]
_RUN: Final = re.compile(r"[A-Za-z0-9_]+")
_AS_WRITTEN: Final = frozenset(("code", "quote", "name", "path"))


class Pattern(NamedTuple):
    """What a line has to match.

    Attributes:
        matches: whether one does.
        fixed: a string that stands in every line that does; empty where none is known.
    """

    matches: Match
    fixed: str


def read_pattern(pattern: str, *, regex: bool) -> Pattern:
    """Raises:
    ObservationUnavailable: it is too long, or no expression that RE2 reads.
    """
    if len(pattern) > MAX_PATTERN:
        raise ObservationUnavailable(f"the pattern is longer than {MAX_PATTERN} characters")
    if not regex:

        def is_fixed(line: str) -> bool:
            return pattern in line

        return Pattern(is_fixed, pattern)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 8 << 20
    try:
        compiled: Any = re2.compile(pattern, options)
    except (re2.error, UnicodeError):
        raise ObservationUnavailable("the pattern is no regular expression that RE2 reads") from None

    def is_match(line: str) -> bool:
        return compiled.search(line) is not None

    return Pattern(is_match, "")


class Lines(NamedTuple):
    """The matching lines of one file, and those around them, as bytes and as text, with their numbers."""

    path: str
    raw: list[bytes]
    texts: list[str]
    numbers: list[int]


def search(ask: Ask, files: Files, pattern: Pattern, context: int = 0) -> list[Lines]:
    """The matching lines of these files, with so many around each, in their order.

    Raises:
        ObservationUnavailable: more lines match than the bound allows.
    """
    found: list[Lines] = []
    count = 0
    for path, file in files:
        if not _may_match(file, pattern.fixed):
            continue
        one = matching(ask, path, file.piece, pattern.matches, context)
        if one is not None and one.raw:
            count += len(one.raw)
            _bound(ask, count)
            found.append(one)
    return found


def matching(ask: Ask, path: str, piece: Piece, match: Match, context: int = 0, first: int = 1) -> Lines | None:
    """The matching lines of one piece; None where it is binary: noise holds no lines.

    Args:
        piece: what is searched.
        match: whether a line does.
        context: how many lines before and behind each are taken along.
        first: the number of the piece's first line.
    """
    text = text_of(piece)
    if text is None:
        return None
    rows = list(lines_in(piece, text.text))
    places = [place for place, (_, line) in enumerate(rows) if match(line)]
    _bound(ask, len(places))
    if context:
        around = {near for place in places for near in range(place - context, place + context + 1)}
        places = sorted(around.intersection(range(len(rows))))
    return Lines(
        path, [rows[one][0] for one in places], [rows[one][1] for one in places], [first + one for one in places]
    )


def lines_in(piece: Piece, text: str) -> Iterator[tuple[bytes, str]]:
    """Each line, as the bytes that grep would print and as text."""
    lines = text.split("\n")
    same = piece.encoding is None
    raw = piece.data.split(b"\n") if same else [line.encode() for line in lines]
    if lines and not lines[-1]:
        lines.pop()
    for data, line in zip(raw, lines, strict=False):
        yield data + b"\n", line


def _may_match(file: File, fixed: str) -> bool:
    if not fixed:
        return True
    if file.data.isascii() and file.piece.encoding is None:
        return fixed.encode("utf-8", "replace") in file.data
    text = file.text
    return text is not None and fixed in text.text


def _bound(ask: Ask, count: int) -> None:
    ask.budget.remaining()
    if count > ask.budget.matches:
        raise ObservationUnavailable(f"more than {ask.budget.matches} lines match, {BOUND} `look_matches`")


# ---------------------------------------------------------------- words


def any_word(ask: Ask) -> Match:
    """Whether a line holds any of the words."""

    def match(line: str) -> bool:
        content = Content(line)
        return any(content.holds(term) for term in ask.terms.terms)

    return match


def words_in(ask: Ask, found: Sequence[Lines], *, named: bool) -> Presence:
    """Of the files with matching lines, what the one holds that holds the most of the words.

    Args:
        found: the lines.
        named: the locator names the file; else its own name stands before its lines, as in what grep prints, and a path
            in the text may mean it.
    """
    best = presence(ask.terms.terms, "")
    for one in found:
        texts = one.texts if named or not one.texts else (one.path, *one.texts)
        held = presence(ask.terms.terms, Content(APART.join(texts)))
        best = max(best, held, key=lambda presence: len(presence.found))
    return best


def best_file(ask: Ask, files: Files) -> list[Lines]:
    """The lines with a word in the file whose lines hold the most of them; none where no file has any.

    How many of the words may stand in a file its bytes tell; files that can hold no more than one that was looked at
    are not looked at.
    """
    marks = [_mark(term) for term in ask.terms.terms]
    lower = any(term.kind == "word" for term in ask.terms.terms)
    by_count: dict[int, list[tuple[str, File]]] = {}
    for path, file in files:
        count = _may_hold(file, marks, lower)
        if count:
            by_count.setdefault(count, []).append((path, file))
    best, most = list[Lines](), 0
    for count in sorted(by_count, reverse=True):
        for path, file in by_count[count] if count > most else ():
            ask.budget.remaining()
            one = matching(ask, path, file.piece, any_word(ask))
            held = len(words_in(ask, [one], named=False).found) if one is not None else 0
            if one is not None and held > most:
                best, most = [one], held
            if most == count:
                break
    return best


def _mark(term: Term) -> bytes:
    """What stands in every text that holds a term, in lower case for words; empty where that cannot be told."""
    if term.kind == "moment":
        date = parse_date(term.text)
        return b"" if date is None else f"{date.year:04}".encode()
    runs = _RUN.findall(term.text) if term.kind == "word" or term.kind in _AS_WRITTEN else []
    return max(runs, key=len, default="").encode()


def _may_hold(file: File, marks: Sequence[bytes], lower: bool) -> int:
    """How many of the words may stand in a file."""
    text = file.searchable
    if text is None:
        return 0
    if not file.data.isascii():
        return len(marks)
    text = text.lower() if lower else text
    return sum(mark in text for mark in marks)


def grep(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Searches the region, and holds the checks against the files. Arguments are those of `code_read`.

    Raises:
        ObservationUnavailable: the place or the pattern is impossible, or a bound is reached.
    """
    tree, given, lines, context = view.tree, ask.member("pattern"), lines_of(ask.locator), context_of(ask)
    regex = str(ask.locator.get("regex")).lower() == "true"
    pattern = None if given is None else read_pattern(given, regex=regex)
    if lines is not None and ask.member("path") is None:
        raise ObservationUnavailable("lines of which file? The locator names no path")
    deciding = Deciding(ask, site, view, parser, locate(ask, tree))
    region = _Region(ask, tree, deciding, lines)
    by_words = ask.question.is_sentence
    found = region.search(pattern, context) if pattern is not None or by_words else []
    digests = digests_of(b"".join(line for one in found for line in one.raw))
    shown = None if pattern is None else {one.path: frozenset(one.numbers) for one in found}
    deciding.region = Located(named_path(ask, deciding.where), lines, shown, "" if pattern is None else pattern.fixed)
    if pattern is not None:
        # Without a pattern nobody can tell what the emitter searched for: then a hash refutes nothing.
        refuted = judge_hash(ask, digests, region.changed)
        if refuted is not None:
            return refuted
    helds = [deciding.bound(number) for number in range(len(ask.question.checks))]
    if pattern is None and not by_words:
        digests = digests_of(region.decided(helds))
    words = None
    if by_words:
        shares = given is None or shares_a_term(given, ask.text, ask.terms, regex)
        words = words_in(ask, found if shares else [], named="path" in ask.locator)
    commit = None if tree.commit is None else tree.commit.name
    path, scope = _scope(deciding, helds)
    return answer(
        ask,
        helds,
        seen_id(ask, digests),
        words=words,
        missing=region.is_missing,
        path=path,
        commit=commit,
        scope=scope,
        where=lambda found: where_from(found, deciding.digests, site.name, commit, path),
        region=deciding.named_text(lines) if ask.wants_region else None,
        own_edit=deciding.is_own_edit,
        confirming=Confirming(ask, tree, deciding, parser, helds),
    )


def _scope(deciding: Deciding, helds: Sequence[Held]) -> tuple[str | None, Scope]:
    """The file that checks without a path were held against, where it was one, and else what was searched."""
    where = deciding.where
    if where.default is not None:
        return where.default.path, "file"
    pathless = [held for number, held in enumerate(helds) if number not in where.own]
    paths = {held.path if held.holds else None for held in pathless}
    if len(paths) == 1 and None not in paths:
        return paths.pop(), "file"
    return None, "file" if where.several else "repository"


class _Region:
    """What is searched: the file that is named, with its lines; else those that the checks name, or all."""

    def __init__(self, ask: Ask, tree: Tree, deciding: Deciding, lines: tuple[int, int] | None) -> None:
        self._ask, self._tree, self._deciding, self._lines = ask, tree, deciding, lines
        self._default = deciding.where.default

    @property
    def is_missing(self) -> bool:
        """Nothing stands at the path that is named."""
        return self._default is not None and self._default.state == "missing"

    def search(self, pattern: Pattern | None, context: int) -> list[Lines]:
        """The matching lines, with so many around each; without a pattern those with a word."""
        if self._default is None:
            files = self._files()
            return best_file(self._ask, files) if pattern is None else search(self._ask, files, pattern, context)
        if self._default.state == "folder" and self._ask.question.is_sentence:
            raise ObservationUnavailable(NO_FILE)
        if self._default.state != "file":
            return []
        piece = self._deciding.file(self._default).part(self._lines)
        match = any_word(self._ask) if pattern is None else pattern.matches
        first = 1 if self._lines is None else self._lines[0]
        found = matching(self._ask, self._default.path, piece, match, context if pattern is not None else 0, first)
        if found is None:
            raise ObservationUnavailable(BINARY)
        return [found]

    def _files(self) -> Files:
        """Where no path is given for all: those of the checks, unless a hash of what all files gave was declared."""
        where = self._deciding.where
        own = {place.path: place for place in where.own.values() if place.state == "file"}
        if own and len(where.own) == len(self._ask.question.checks) and declared_digest(self._ask) is None:
            return [(path, self._deciding.file(own[path])) for path in sorted(own)]
        return self._deciding.everything.files

    def changed(self) -> int | None:
        """When the newest of what was searched changed, in Unix milliseconds; None where nobody can tell."""
        if self._default is not None:
            return self._deciding.changed(self._default) if self._default.state == "file" else None
        return self._deciding.newest if self._deciding.has_everything else None

    def decided(self, helds: Sequence[Held]) -> bytes:
        """The lines in which checks were decided, as a search for them would print them."""
        wanted = {(held.path, held.lines) for held in helds if held.holds is not None and held.path and held.lines}
        printed: list[bytes] = []
        for path, lines in sorted(wanted, key=lambda one: (one[0] or "", one[1] or (0, 0))):
            file = self._deciding.known(path or "")
            piece = None if file is None else file.part(lines)
            text = None if piece is None else text_of(piece)
            if piece is not None and text is not None:
                printed += [raw for raw, _ in lines_in(piece, text.text)]
        return b"".join(printed)
