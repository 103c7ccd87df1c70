"""The clauses of a sentence, each held against the forms of every check (docs/checks.md).

Clauses end at a comma, a semicolon, a full stop, a colon, «and», «but» and «which» outside of brackets. A clause that
shares its subject or its object with its neighbour is read as if it had its own. A clause without any path beside one
that names a path may be meant of that path, so its check has to be of that path as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from .checks import TABLE
from .coverage_binding import PLACES, Bound
from .coverage_lexicon import SINGULAR
from .coverage_patterns import Note, readings, with_places
from .coverage_tokens import Token

MAX_CLAUSE: Final = 48
"""Tokens of a clause that is read by forms."""
_MARKS: Final = frozenset((",", ";", ".", ":"))
_WORDS: Final = frozenset(("and", "but", "which"))
_PLACE_WORDS: Final = frozenset(("in", "inside", "within", "on", "at", "as"))
_IN_WORD: Final = Token("word", "in", 0, 0, "in")
_SHORTEST: Final = 2
"""Tokens of the shortest form: «`a.py` exists»."""


class Clause(NamedTuple):
    """One clause.

    Attributes:
        lead: the place of the first mark or word that separates it from the clause before it.
        start, end: its own tokens, as places in the sentence; half open.
        separators: what stands before it.
        past: the mark behind it; empty for none.
    """

    lead: int
    start: int
    end: int
    separators: tuple[str, ...]
    past: str = ""

    @property
    def begins(self) -> bool:
        """It shares nothing with what stands before it."""
        return not self.separators or self.separators[0] in (".", ";", ":")


def clauses_of(tokens: Sequence[Token]) -> list[Clause]:
    """The clauses of a sentence, in order; a separator where none belongs is a token of its clause."""
    found: list[Clause] = []
    lead = start = depth = 0
    separators: tuple[str, ...] = ()
    for place, token in enumerate(tokens):
        depth += (token.key == "(") - (token.key == ")")
        if depth:
            continue
        if token.kind == "mark" and token.key in _MARKS and place > start:
            found.append(Clause(lead, start, place, separators, token.key))
            lead, start, separators = place, place + 1, (token.key,)
        elif token.kind == "word" and token.key in _WORDS and (place > start or _ends_with_mark(separators)):
            if place > start:
                found.append(Clause(lead, start, place, separators))
                lead, separators = place, ()
            start = place + 1
            separators += (token.key,)
    if start < len(tokens):
        found.append(Clause(lead, start, len(tokens), separators))
    elif separators not in ((".",), (";",), ()):
        found.append(Clause(lead, lead, len(tokens), ()))  # something is to follow that does not
    return found


def _ends_with_mark(separators: Sequence[str]) -> bool:
    return bool(separators) and separators[-1] in _MARKS


class Match(NamedTuple):
    """A clause as a check says it.

    Attributes:
        tokens: its own, with the subject, object or place that it shares.
        subject_end: behind the subject, where it begins with one; else -1.
        starts: before each argument.
        bound: the check.
        notes: what was named.
    """

    tokens: Sequence[Token]
    subject_end: int
    starts: tuple[int, ...]
    bound: Bound
    notes: tuple[Note, ...]

    @property
    def is_on_content(self) -> bool:
        """The check speaks of the content of a file."""
        return TABLE[self.bound.check.name].content

    @property
    def names_path(self) -> bool:
        """The clause says in which file."""
        return any(name == "path" for name, _ in self.notes)


def read_clause(tokens: Sequence[Token], bounds: Sequence[Bound]) -> Match | None:
    """The first check, and the first of its forms, that takes a clause as a whole."""
    if len(tokens) > MAX_CLAUSE:
        return None
    return next((match for match in _matches(tokens, 0, bounds) if len(match.tokens) == len(tokens)), None)


def _matches(tokens: Sequence[Token], start: int, bounds: Sequence[Bound]) -> Iterator[Match]:
    """Every way in which a check takes tokens from a place on; `Match.tokens` are those that it takes."""
    keys = {token.key for token in tokens}
    for bound in bounds:
        patterns = [pattern for pattern in bound.patterns if pattern.may_stand_in(keys)]
        begins = with_places(PLACES, bound, tokens, start) if patterns else ()
        for at, before in begins:
            for pattern in patterns:
                for one in readings(pattern, bound, tokens, at):
                    for end, behind in with_places(PLACES, bound, tokens, one.end):
                        notes = before + one.notes + behind
                        if bound.suffices(notes):
                            yield Match(tokens[start:end], one.subject_end, one.starts, bound, notes)


class Clauses:
    """The clauses of one sentence, each matched with a check where one says it.

    Args:
        tokens: of the sentence.
        bounds: the checks.

    Attributes:
        unchecked: for each token whether no check says it.
    """

    def __init__(self, tokens: Sequence[Token], bounds: Sequence[Bound]) -> None:
        self._tokens, self._bounds = tokens, bounds
        self._clauses = clauses_of(tokens)
        self._found: list[Match | None] = [None] * len(self._clauses)
        self._places: set[int] = set()  # clauses that only say where the ones behind them hold
        self._named: set[str] = set()  # paths that are named
        self._read()
        self._keep_to_paths()
        self.unchecked = self._unchecked()

    def _own(self, place: int) -> list[Token]:
        clause = self._clauses[place]
        return list(self._tokens[clause.start : clause.end])

    # ------------------------------------------------------------ reading

    def _read(self) -> None:
        leading: int | None = None
        before: Match | None = None
        waiting: list[int] = []
        elsewhere: set[int] = set()
        for place, clause in enumerate(self._clauses):
            if clause.begins and leading != place - 1:
                leading = None
            if clause.begins:
                before, waiting = None, []
                if self._is_place(place):
                    leading = place
                    continue
            prefix = [] if leading is None else self._place(leading)
            found = self._one(place, prefix, before)
            if found is None and waiting and "and" in clause.separators:
                found = self._several(place, prefix, waiting)
            if leading is not None and found is not None:
                self._places.add(leading)
            elif leading is not None and (found := self._one(place, [], before)) is not None:
                elsewhere.add(leading)  # the place is not that of the check; the clause alone may still be said
            self._found[place] = before = found
            waiting = [] if found is not None else [*waiting, place]
        self._places -= elsewhere

    def _is_place(self, place: int) -> bool:
        """Whether a clause says no more than where the next ones hold: «In `a.py`, …», «`a.py`: …»."""
        clause = self._clauses[place]
        if place + 1 == len(self._clauses) or clause.past not in (",", ":"):
            return False
        return clause.past == ":" or self._tokens[clause.start].key in _PLACE_WORDS

    def _place(self, place: int) -> list[Token]:
        """The tokens of a clause that is a place; «`a.py`: …» as «in `a.py`»."""
        own = self._own(place)
        return own if own[0].key in _PLACE_WORDS else [_IN_WORD, *own]

    def _one(self, place: int, prefix: Sequence[Token], before: Match | None) -> Match | None:
        """A clause as it stands, or with what it shares with the one before it."""
        clause, own = self._clauses[place], self._own(place)
        if "which" in clause.separators:
            return read_clause([before.tokens[-1], *own], self._bounds) if before else None
        found = read_clause([*prefix, *own], self._bounds)
        if found is None and before is not None:
            # From the longest shared part to the shortest: «`f` calls | `h`», «`a.toml` sets | `y` to 2». What stands
            # behind «but» without a verb may be what is left out.
            starts = () if "but" in clause.separators else before.starts
            ends = sorted({before.subject_end, *starts}, reverse=True)
            shared = ([*before.tokens[:end], *own] for end in ends if end > 0)
            found = next((one for one in (read_clause(each, self._bounds) for each in shared) if one is not None), None)
        return found

    def _several(self, place: int, prefix: Sequence[Token], waiting: Sequence[int]) -> Match | None:
        """A clause whose verb has several subjects: those of the clauses that wait for one, and its own."""
        own, says_both = _singular(self._own(place))
        subjects = {one: self._own(one) for one in waiting}
        if len(waiting) == 1 and not says_both and subjects[waiting[0]][0].key == "both":
            subjects[waiting[0]] = subjects[waiting[0]][1:]
        elif len(waiting) > 1 and says_both:
            return None
        found = read_clause([*prefix, *own], self._bounds)
        if found is None or found.subject_end <= 0:
            return None
        for one, subject in subjects.items():
            self._found[one] = read_clause([*prefix, *subject, *found.tokens[found.subject_end :]], self._bounds)
        return found

    def _keep_to_paths(self) -> None:
        """Takes back what may be meant of a path that is named beside it, where its check is of another one."""
        self._named = {
            one.bound.path for one in self._found if one is not None and one.is_on_content and one.names_path
        }
        self._found = [one if one is not None and self._keeps_to_paths(one) else None for one in self._found]

    def _keeps_to_paths(self, match: Match) -> bool:
        settled = match.names_path or not match.is_on_content or not self._named
        return settled or match.bound.path in self._named

    # ------------------------------------------------------------ what is left

    def _unchecked(self) -> list[bool]:
        flags = [False] * len(self._tokens)
        for place, clause in enumerate(self._clauses):
            if self._found[place] is not None or place in self._places:
                continue
            start, end = self._longest_part(self._own(place))
            for at in range(clause.start, clause.end):
                flags[at] = not start <= at - clause.start < end
            if flags[clause.start]:
                for at in range(clause.lead, clause.start):
                    flags[at] = self._tokens[at].kind == "word"
        # A mark between two words that are unchecked is unchecked with them.
        for at in range(1, len(flags) - 1):
            if self._tokens[at].kind == "mark" and flags[at - 1] and any(flags[at + 1 : at + 3]):
                flags[at] = True
        return flags

    def _longest_part(self, tokens: Sequence[Token]) -> tuple[int, int]:
        """The longest run of a clause's tokens that a check takes, half open; empty for none."""
        best = (0, 0)
        if len(tokens) > MAX_CLAUSE:
            return best
        for start in range(len(tokens) - _SHORTEST + 1):
            for match in _matches(tokens, start, self._bounds):
                if len(match.tokens) > best[1] - best[0] and self._keeps_to_paths(match):
                    best = start, start + len(match.tokens)
        return best


def _singular(tokens: Sequence[Token]) -> tuple[list[Token], bool]:
    """The tokens with the first verb of several things as that of one, and whether a «both» before it was left out."""
    for place, token in enumerate(tokens):
        if token.kind == "word" and token.key in SINGULAR:
            before = tokens[:place]
            says_both = bool(before) and before[-1].key == "both"
            one = token._replace(key=SINGULAR[token.key])
            return [*before[: place - says_both], one, *tokens[place + 1 :]], says_both
    return list(tokens), False
