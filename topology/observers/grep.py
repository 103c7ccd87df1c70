"""substrate.grep: a search through a file, or through all tracked files [S §4].

Checks speak of the whole file, or of all tracked files where no path is named; which of them a search decides is in
place_findings.py. The observation id is `sha256:` of the matching lines as `grep -h` prints them: each with a line
feed, files in the order of their bytes. Lines match that hold the locator's pattern, as it stands or, with `regex =
true`, as RE2 reads it (linear time: the pattern is a stranger's); without a pattern those in which a check was decided,
or that hold a word of an assertion without checks. Such words have to be in the matching lines of one file."""

from __future__ import annotations

from collections.abc import Sequence

from ...streams.judging.coverage import Scope
from ...streams.judging.results import Held
from ...streams.judging.terms import shares_a_term
from ...streams.judging.verify import Parser
from .ask import Ask, CannotLook, Finding, declared_digest, judge_hash, seen_id
from .asked_files import locate, named_path
from .changed_since import Changes
from .code_read import digests_of
from .confirming import Confirming
from .content import text_of
from .deciding import BINARY, NO_FILE, Deciding
from .located import Located, context_of, lines_of
from .looked_root import Site, View
from .place_findings import answer, where_from
from .searching import (
    Files,
    Lines,
    Pattern,
    any_word,
    best_file,
    lines_in,
    matching,
    search,
    words_in,
)
from .trees import Tree


def grep(ask: Ask, site: Site, view: View, parser: Parser) -> Finding:
    """Searches the region, and holds the checks against the files. Arguments are those of `code_read`.

    Raises:
        CannotLook: the place or the pattern is impossible, or a bound is reached.
    """
    tree, given, lines, context = view.tree, ask.member("pattern"), lines_of(ask.locator), context_of(ask)
    regex = _is_true(ask.locator.get("regex"))
    pattern = None if given is None else Pattern.of(given, regex=regex)
    if lines is not None and ask.member("path") is None:
        raise CannotLook("lines of which file? The locator names no path")
    deciding = Deciding(ask, tree, locate(ask, tree), parser, exact=view.exact)
    deciding.changes = Changes(ask, site, view, parser)
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
        region=region.text() if ask.wants_region else None,
        own_edit=deciding.is_own_edit,
        confirming=Confirming(ask, tree, deciding, parser, helds),
    )


def _is_true(value: object) -> bool:
    return value is True or (isinstance(value, str) and value.lower() == "true")


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
            raise CannotLook(NO_FILE)
        if self._default.state != "file":
            return []
        piece = self._deciding.file(self._default).part(self._lines)
        match = any_word(self._ask) if pattern is None else pattern.matches
        first = 1 if self._lines is None else self._lines[0]
        found = matching(self._ask, self._default.path, piece, match, context if pattern is not None else 0, first)
        if found is None:
            raise CannotLook(BINARY)
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

    def text(self) -> str | None:
        """The text of the one file that is named."""
        if self._default is None or self._default.state != "file":
            return None
        text = text_of(self._deciding.file(self._default).part(self._lines))
        return None if text is None else text.text
