"""Binds the forms of sentences to one check: what is its path, its symbol, its operator, its place (docs/checks.md).

Also says what a clause has to name before it says no more than the check: of a check that denies, or that speaks of the
whole of its scope, that scope. A `Bound` judges one clause at a time and keeps nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from .checks import TABLE, Check
from .coverage_arguments import components, is_commit, is_path, module_of, says_symbol
from .coverage_check import IN, CheckArguments, Scope, is_snippet
from .coverage_forms import FORMS, LOOKED_UP, OWNER_FORMS, PLACE_FORMS
from .coverage_lexicon import (
    C_ENDINGS,
    CLASS_ENDINGS,
    COMPARES,
    CONTAINERS,
    KINDS,
    NAMED,
    NUMBERS,
    PEER,
    PLAIN,
    REPOSITORY,
    TEXT_NOUNS,
    TIMES,
    WHEN,
)
from .coverage_patterns import (
    Note,
    Places,
    Step,
    compiled,
    phrases,
    places_of,
    readings,
    with_places,
    word_ends,
)
from .coverage_tokens import Token

_PATH: Final[tuple[Note, ...]] = (("path", ""),)
_LINES: Final[tuple[Note, ...]] = (("lines", ""),)
_KIND: Final[tuple[Note, ...]] = (("kind", ""),)
_NOWHERE: Final[Places] = {}
_THE: Final = phrases("the")
_PLAIN: Final = phrases(*PLAIN)
_ARTICLES: Final = phrases("a", "an", "the")
_ANCHORED: Final = frozenset(LOOKED_UP) - {"defines"}
"""Checks whose first argument has to be there, so that their denial speaks of that and not of a whole file."""
_SCOPED: Final = ("introduced", "removed")
"""What is new to one file, or gone from it, need not be so of all."""


class Bound(CheckArguments):
    """One check as what the forms of a clause are bound to; a `coverage_patterns.Binder`.

    Args:
        check: well formed.
        path: the file that was looked at, where the check names none.
        commit: the hash of the commit that was looked at, where one was.
        scope: what was looked at where no path is named.
    """

    def __init__(self, check: Check, path: str | None = None, commit: str | None = None, scope: Scope = "file") -> None:
        super().__init__(check, path, commit, scope)
        self.patterns = tuple(map(compiled, self._forms()))
        self._needed = self._what_is_needed()

    def _forms(self) -> tuple[str, ...]:
        """The patterns that say this check."""
        name = self.check.name
        if name in ("equals", "compare"):
            name = "value"
        if name == "count" and self.scope == "channel":
            name = "subscribers" if self.check.value("pattern") == "subscribers" else ""
        if name not in FORMS:
            return ()
        forms = FORMS[name]
        if self.operator:  # it has the `not` in it already
            only_equal = FORMS.get(f"{name} =")
            return forms.positive + (only_equal.positive if only_equal and self.operator == "=" else ())
        said = forms.negative if self.check.negated else forms.positive
        if name == "imports" and self.path.endswith(C_ENDINGS):
            including = FORMS["imports by including"]
            said += including.negative if self.check.negated else including.positive
        return said

    def suffices(self, notes: Sequence[Note]) -> bool:
        """Whether a clause that named these says no more than the check."""
        said = {name for name, _ in notes}
        # «`X` is not `deprecated`» is true of any `X` with another value, and «The server is “secure”» of any file that
        # has such a key somewhere: both may mean something else.
        is_kind = "word" in said and ((self.denies and "plain" in said) or ("spoken" in said and "path" not in said))
        return self._needed <= said and not is_kind

    def _what_is_needed(self) -> frozenset[str]:
        check = self.check
        needed: set[str] = set()
        if self.exact and TABLE[check.name].content:
            needed |= {name for name in ("in", "lines") if check.text(name)}
            if check.name not in _ANCHORED and self.scope != "channel":
                # Without a path nobody knows of which file it holds, so no clause says no more than that.
                needed.add("path" if self.path or self.scope == "file" else "repository")
            if check.name == "defines" and check.text("kind"):
                needed.add("kind")
        elif not TABLE[check.name].content and (check.negated or check.name in _SCOPED):
            needed |= {name for name, _ in check.named}
        return frozenset(needed)

    def places(self, parameter: str) -> Places:
        """See `Binder`."""
        return _OWNED if LOOKED_UP.get(self.check.name) == parameter else _NOWHERE

    # ------------------------------------------------------------ special parts

    def special(self, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """See `Binder`."""
        if name in _COMPOSED:
            for pattern in _COMPOSED[name]:
                yield from ((one.end, one.notes) for one in readings(compiled(pattern), self, tokens, at))
        elif at < len(tokens):
            yield from self._parts[name](tokens, at)

    @cached_property
    def _parts(self) -> Mapping[str, Callable[[Sequence[Token], int], Iterator[Step]]]:
        return {
            "path": self._path,
            "in": self._in,
            "line": self._line,
            "commit": self._commit,
            "repository": self._repository,
            "peer": self._peer,
            "compares": self._compares,
            "when": self._when,
            "number": self._number,
            "times": self._times,
            "snippet": self._snippet,
            "assignment": self._assignment,
            "places": lambda tokens, at: with_places(PLACES, self, tokens, at),
            "kind": self._kind,
            "kinded": self._kinded,
            "definition": self._definition,
        }

    def _path(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """The file that is looked at; with a line behind it, that line as well."""
        if not self.path:
            return
        nouns = self.before("path")
        for start in (*word_ends(_THE, tokens, at), at):
            for begin in (*word_ends(nouns, tokens, start), start):
                if begin == len(tokens):
                    continue
                for end in (*word_ends(nouns, tokens, begin + 1), begin + 1):
                    yield from ((end, notes) for notes in self._path_token(tokens[begin]))
                    around = {tokens[begin - 1].key if begin > start else "", tokens[end - 1].key}
                    if "module" in around and self._is_module(tokens[begin]):
                        yield end, _PATH
        yield from ((end, _PATH) for end in word_ends(phrases("the file", "this file"), tokens, at))

    def _is_module(self, token: Token) -> bool:
        """Whether a token is the last part of the name of a Python module, which alone could be anything."""
        return token.kind == "code" and module_of(self.path)[-1:] == (token.text,)

    def _path_token(self, token: Token) -> Iterator[tuple[Note, ...]]:
        if is_path(token, self.path):
            yield _PATH
        path, colon, lines = token.text.partition(":")
        at_lines = bool(colon) and token.kind in ("code", "word") and self._are_lines(lines)
        if at_lines and is_path(token._replace(text=path), self.path):
            yield (*_PATH, *_LINES)

    def _are_lines(self, text: str) -> bool:
        """Whether a text is the lines that the check looks at, or the one that it speaks of."""
        said = _LINES_SAID.fullmatch(text)
        if said is None:
            return False
        given = self.check.lines
        number = self.check.value("number") if self.check.name == "line" else None
        if isinstance(number, int):
            given = number, number
        return (int(said[1]), int(said[2] or said[1])) == given

    def _line(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        if self.check.name == "line":  # `a.py:41`
            yield from ((at + 1, (*notes, ("number", ""))) for notes in self._path_token(tokens[at]) if len(notes) > 1)
        elif tokens[at].kind == "word" and self._are_lines(tokens[at].text):
            yield at + 1, _LINES

    def _in(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """What the check looks into, or what the symbol that it looks up belongs to."""
        inside = self.check.text("in")
        symbol = components(self.check.text(LOOKED_UP.get(self.check.name, "")))[:-1]
        ending = self.path.lower().rsplit("/", 1)[-1].rsplit(".", 1)[-1]
        nouns = phrases(*CONTAINERS.get(ending, CONTAINERS[""]))
        for start in (*word_ends(_THE, tokens, at), at):
            for begin in (*word_ends(nouns, tokens, start), start):
                if begin == len(tokens):
                    continue
                found: tuple[Note, ...] | None = None
                if inside and self._is_container(tokens[begin], components(inside)):
                    found = IN
                elif symbol and self._is_container(tokens[begin], (*components(inside), *symbol) if inside else symbol):
                    found = IN if inside else (("owner", ""),)
                if found is not None:
                    yield begin + 1, found
                    if begin == start:
                        yield from ((end, found) for end in word_ends(nouns, tokens, begin + 1))

    def _is_container(self, token: Token, whole: Sequence[str]) -> bool:
        if token.kind == "code" and token.text == self.check.text("in"):
            return True
        return says_symbol(token, whole, len(whole) if self.exact else 1)

    def _commit(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for start in (*word_ends(phrases("commit"), tokens, at), at):
            if start < len(tokens) and self.commit and is_commit(tokens[start], self.commit):
                yield start + 1, (("commit", ""),)

    def _repository(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """Everything that is tracked: of a check on one file only where that file says enough."""
        if self.exact and self.path and self.check.name != "missing":
            return
        for start in word_ends(phrases("the", "this"), tokens, at):
            yield from ((end, (("repository", ""),)) for end in word_ends(phrases(*REPOSITORY), tokens, start))

    def _compares(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        plain = word_ends(_PLAIN, tokens, at)
        for end in word_ends(phrases(*COMPARES.get(self.operator, ())), tokens, at):
            yield end, (("plain", ""),) if end in plain else ()

    def _number(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for start in word_ends(phrases(*NUMBERS.get(self.operator, ())), tokens, at):
            yield from self.argument("number", tokens, start)

    def _times(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for start in word_ends(phrases(*NUMBERS.get(self.operator, ())), tokens, at):
            if start < len(tokens) and TIMES.get(tokens[start].key) == self.check.value("number"):
                yield start + 1, ()
        for start, notes in self._number(tokens, at):
            yield from ((end, notes) for end in word_ends(phrases("times", "time"), tokens, start))

    def _when(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        yield from ((end, ()) for end in word_ends(phrases(*WHEN.get(self.operator, ())), tokens, at))

    def _peer(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for start in (*word_ends(_THE, tokens, at), at):
            yield from ((end, ()) for end in word_ends(phrases(*PEER), tokens, start))

    def _snippet(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """A quote that is more than a name, or that is said to be text."""
        for start in (*word_ends(_THE, tokens, at), at):
            for begin in word_ends(phrases(*TEXT_NOUNS), tokens, start):
                yield from self.argument("quote", tokens, begin)
            if start < len(tokens) and tokens[start].kind == "code" and is_snippet(self.check.text("quote")):
                yield from self.argument("quote", tokens, start)

    def _assignment(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """A code span that gives the name its value: `timeout = 30`, `timeout: 30`."""
        token = tokens[at]
        match = _ASSIGNMENT.fullmatch(token.text) if token.kind == "code" else None
        if match is None:
            return
        parts = [token._replace(text=match[1]), token._replace(text=match[2])]
        for end, notes in self.argument("name", parts, 0):
            yield from ((at + 1, notes + taken) for _, taken in self.argument("value", parts, end))

    def _kind_nouns(self) -> tuple[str, ...]:
        kind = self.check.text("kind")
        if not kind:
            return tuple(noun for nouns in KINDS.values() for noun in nouns) if self.denies else ()
        return KINDS[kind] + (("class",) if kind == "type" and self.path.endswith(CLASS_ENDINGS) else ())

    def _kind(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for start in word_ends(_ARTICLES, tokens, at):
            yield from ((end, _KIND) for end in word_ends(phrases(*self._kind_nouns()), tokens, start))

    def _kinded(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """A definition with its kind: «a function `f`», «an `f` function», «a section called “x”»."""
        nouns = self._kind_nouns()
        is_entry = self.check.text("kind") == "section" and not self.denies
        before = phrases(*nouns, *(("entry for", "entry dated", "entry") if is_entry else ()))
        behind = phrases(*nouns, *(("entry",) if is_entry else ()))
        for start in (*word_ends(_ARTICLES, tokens, at), at):
            for begin in word_ends(before, tokens, start):
                for named in (*word_ends(phrases(*NAMED), tokens, begin), begin):
                    yield from ((end, _KIND + notes) for end, notes in self._defined(tokens, named))
            for end, notes in self._defined(tokens, start):
                yield from ((past, _KIND + notes) for past in word_ends(behind, tokens, end))

    def _definition(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """A definition, with its kind or without."""
        yield from self._kinded(tokens, at)
        for start in (*word_ends(_THE, tokens, at), at):
            yield from self._defined(tokens, start)

    def _defined(self, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        for end, notes in self.argument("symbol", tokens, at):
            yield from with_places(_OWNED, self, tokens, end, notes)


_LINES_SAID: Final = re.compile(r"([1-9]\d{0,8})(?:-([1-9]\d{0,8}))?", re.ASCII)
_ASSIGNMENT: Final = re.compile(r"([\w.$/-]{1,256}) ?[:=] ?(\S.*)")
PLACES: Final = places_of(*PLACE_FORMS)
"""Where it is so, at the beginning and the end of a clause."""
_OWNED: Final = places_of(*PLACE_FORMS, *OWNER_FORMS)
_COMPOSED: Final[Mapping[str, tuple[str, ...]]] = {
    "place": ("<path>", "<in>", "<in> in|of <path>", "<in> ( <path> )", "<repository>"),
    "owner": ("<path>", "<in>"),
}
