"""What a sentence says beside its checks: the guard of coverage, which only lowers it (docs/checks.md).

Every identifier, path, number, unit and quote of a sentence has to be an argument of a check, and every other word one
of a closed list: a function word, or a word of the relation of a check of that clause, with that check's polarity. A
clause stands around one verb. What stands before the verb and what stands behind it have to be arguments of checks of
that relation, each pair of them of one check, in the order of its arguments; where something is has to be so for all of
them. What is not recognised is left. A word list and a comparison of slots: nothing is understood. Pure, and bounded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple

from .checks import TABLE, Check, Kind, Parameter, Value
from .coverage_tokens import Token
from .lexicon import DENIALS, FUNCTION, NEGATORS, NOUNS, OPERATORS, PARTING, PLACES, RELATIONS, TIMES, phrases
from .slots import (
    components,
    is_named,
    is_path,
    is_set_off,
    number_in,
    read,
    says_name,
    says_path,
    says_time,
    says_value,
)

Confirmations = Mapping[str, frozenset[str]]
Mention = tuple[int, str]
"""A check by its place, and one of its parameters."""
NEGATIVE: Final = frozenset(("absent", "missing"))
"""Checks that say that something is not there, without a `not`."""
SYMBOLIC: Final = frozenset(
    "calls uses reaches extends raises returns result parameter field defines equals compare members".split()
)
"""Checks on a symbol: where that is the only one of its name, the end of its file's path says which file."""
_WEAK: Final = frozenset(("is", "are", "has", "have"))
_ADDING: Final = frozenset(("added", "created", "introduced"))
_MARKS: Final = frozenset((".", ",", ";", ":", "(", ")", "'s"))
_PLACED: Final = frozenset(("path", "in", "lines", "commit"))
_GOES_ON: Final = frozenset((",", "and", "but", "or"))
_SEGMENTS: Final = frozenset((";", ".", "but"))


class Compared(NamedTuple):
    """What came of the comparison.

    Attributes:
        left: of each token, whether no check says it.
        present: checks of which an argument stands in the sentence.
        opposed: checks whose relation or polarity is the opposite of the sentence's own.
        loose: a symbol stands there of which no file is named.
    """

    left: tuple[bool, ...]
    present: frozenset[int]
    opposed: frozenset[int]
    loose: bool


class _Verb(NamedTuple):
    """A phrase of a relation.

    Attributes:
        start, end: tokens, half open.
        active, passive: the checks that it may say.
    """

    start: int
    end: int
    active: frozenset[str]
    passive: frozenset[str]


class _Clause(NamedTuple):
    """The tokens around one verb: before it, behind it, and from where on they are its own."""

    verb: _Verb
    before: tuple[int, ...]
    behind: tuple[int, ...]
    start: int
    end: int


def proves(noun: str, name: str, kinds: Confirmations) -> bool:
    """Whether an index proves that a name is what a noun says."""
    bare = name.strip('"').removesuffix("()")
    known = kinds.get(bare) or kinds.get(components(bare)[-1]) or frozenset[str]()
    return not NOUNS.get(noun, frozenset()).isdisjoint(known)


def nouns_of(check: Check) -> frozenset[str]:
    """The nouns that a definition of a kind proves; in some files every type is a class."""
    kind = check.text("kind") if check.name == "defines" else ""
    is_class = kind == "type" and check.text("path").endswith((".py", ".rb"))
    return frozenset((kind, "class" if is_class else kind)) if kind else frozenset()


def compare(tokens: Sequence[Token], checks: Sequence[Check], path: str | None, kinds: Confirmations) -> Compared:
    """Holds a sentence against its checks.

    Args:
        tokens: of the sentence.
        checks: of the assertion.
        path: the file that checks without a path were held against.
        kinds: what an index proves of identifiers.
    """
    return _Comparison(tokens, checks, path, kinds).compared()


class _Comparison:
    """One sentence and its checks."""

    def __init__(
        self, tokens: Sequence[Token], checks: Sequence[Check], path: str | None, kinds: Confirmations
    ) -> None:
        self._tokens, self._checks, self._path, self._kinds = tokens, checks, path, kinds
        self._mentions: list[set[Mention]] = [set() for _ in tokens]
        for number, check in enumerate(checks):
            for parameter, value in _arguments(check, path):
                self._mention(number, parameter, value)
        timed = any(check.name in ("last_changed", "modified") for check in checks)
        self._operators = dict(self._phrases(phrases(TIMES if timed else OPERATORS)))
        self._left = [not _is_free(token) for token in tokens]
        self._bound: set[int] = set()
        self._turned: set[int] = set()
        self._loose = False

    def compared(self) -> Compared:
        for clause in self._clauses():
            self._hold(clause)
        present = {number for said in self._mentions for number, _ in said}
        opposed = frozenset(number for number in present if number not in self._bound and self._is_opposed(number))
        return Compared(tuple(self._left), frozenset(present), opposed, self._loose)

    # ------------------------------------------------------------ arguments

    def _mention(self, number: int, parameter: Parameter, value: Value) -> None:
        is_list = isinstance(value, tuple) and parameter.name != "value"
        items = value if is_list and isinstance(value, tuple) else (value,)
        where = [
            [at for start in range(len(self._tokens)) for at in self._says(start, number, parameter, item)]
            for item in items
        ]
        if all(where):  # a list is said whole
            for at in (at for found in where for at in found):
                self._mentions[at].add((number, parameter.name))

    def _says(self, at: int, number: int, parameter: Parameter, value: Value) -> Iterable[int]:
        """The tokens from a place on that say an argument."""
        token, kind, check = self._tokens[at], parameter.kind, self._checks[number]
        if token.kind in ("mark", "odd"):
            return ()
        if kind is Kind.VALUE or not isinstance(value, str):
            return range(at, at + says_value(self._tokens, at, value))
        if kind is Kind.PATH:
            is_all = token.text.removeprefix("./") == value
            return (
                (at,) if says_path(token, value) and (is_all or (check.name in SYMBOLIC and not check.negated)) else ()
            )
        if kind is Kind.TEXT:
            is_said = is_set_off(token) or is_named(token) or (parameter.name == "quote" and read("constant", token))
            words = value.split()
            if parameter.name == "author" and [one.text for one in self._tokens[at : at + len(words)]] == words:
                return range(at, at + len(words))
            return (at,) if token.text == value and is_said else ()
        if kind is Kind.TIME or kind is Kind.LINES:
            is_said = says_time(token, value) if kind is Kind.TIME else str(number_in(token)) == value
        elif parameter.name in ("hash", "commit"):
            is_said = len(token.text) >= 7 and value.lower().startswith(token.text.lower())
        else:
            return self._says_name(at, value)
        return (at,) if is_said else ()

    def _says_name(self, at: int, value: str) -> Iterable[int]:
        """A name; one that stands with its owner («`send` of `Session`», «`Session`'s `send`») takes both tokens."""
        said, whole = says_name(self._tokens[at], value), components(value)
        if said in (0, len(whole)):
            return (at,) if said else ()
        for between, owner in (("of", at + 2), ("'s", at - 2)):
            if 0 <= owner < len(self._tokens) and self._tokens[(at + owner) // 2].key == between:
                other = self._tokens[owner]
                if is_named(other) and components(other.text) == whole[: len(whole) - said]:
                    return (at, owner)
        return ()

    def _phrases(self, known: Iterable[tuple[tuple[str, ...], str]]) -> Iterator[tuple[int, str]]:
        """The places of phrases, each with what it stands for."""
        taken: set[int] = set()
        for words, meaning in known:
            for at in range(len(self._tokens) - len(words) + 1):
                span = range(at, at + len(words))
                if taken.isdisjoint(span) and all(self._tokens[one].key == words[one - at] for one in span):
                    taken.update(span)
                    yield from ((one, meaning) for one in span)

    # ------------------------------------------------------------ clauses

    def _verbs(self) -> list[_Verb]:
        """The phrases of the checks' relations, in order; an «is» before another one is a part of it."""
        known = _verbs_of(frozenset(check.name for check in self._checks))
        verbs: list[_Verb] = []
        taken: set[int] = set(self._operators)
        for words, active, passive in known:
            for at in range(len(self._tokens) - len(words) + 1):
                span = range(at, at + len(words))
                free = taken.isdisjoint(span) and not any(self._mentions[one] for one in span)
                if free and all(self._tokens[one].key == words[one - at] for one in span):
                    taken.update(span)
                    verbs.append(_Verb(at, at + len(words), active, passive))
        verbs.sort()
        return [
            verb
            for number, verb in enumerate(verbs)
            if number + 1 == len(verbs)
            or verb.end - verb.start > 1
            or self._tokens[verb.start].key not in _WEAK
            or self._said(verb.end, verbs[number + 1].start)
        ]

    def _said(self, start: int, end: int) -> tuple[int, ...]:
        """The tokens of a stretch that are arguments, or names and values that no check says."""
        return tuple(at for at in range(start, end) if self._mentions[at] or is_set_off(self._tokens[at]))

    def _clauses(self) -> Iterator[_Clause]:
        verbs = self._verbs()
        before, start = self._said(0, verbs[0].start) if verbs else (), 0
        for number, verb in enumerate(verbs):
            if number + 1 == len(verbs):
                yield _Clause(verb, before, self._said(verb.end, len(self._tokens)), start, len(self._tokens))
                return
            following = verbs[number + 1].start
            parted = [at for at in range(verb.end, following) if self._tokens[at].key in PARTING]
            split = parted[-1] if parted else following
            behind = self._said(verb.end, split)
            yield _Clause(verb, before, behind, start, split)
            own, word = self._said(split, following), self._tokens[split].key
            start = split
            if own or not parted:
                before = own
            elif word in ("which", "that"):
                before = behind
            elif word not in _GOES_ON:
                before = ()

    def _hold(self, clause: _Clause) -> None:
        """Takes from what is left what the checks of a clause say, if they say all of it."""
        pairs: set[tuple[int, int]] = set()
        bound: set[int] = set()
        used: set[int] = set()
        for number, check in enumerate(self._checks):
            for first, second in self._sides(clause, number, check.name):
                negators = self._negators(clause, second)
                if negators is None:
                    continue
                if bool(negators) != _denies(check):
                    self._turned.add(number)
                    continue
                bound.add(number)
                used.update(negators)
                pairs.add((min(first, second), max(first, second)))
        self._bound |= bound
        if not bound or not self._fits(clause, bound, pairs):
            return
        for number in bound:
            self._loose |= not self._is_located(clause, number)
        free = frozenset[str]().union(*(RELATIONS[self._checks[number].name].beside for number in bound))
        said = {*clause.before, *clause.behind}
        for at in (*range(clause.start, clause.end), *clause.before):
            inside = clause.verb.start <= at < clause.verb.end
            word = self._tokens[at].key
            if at in said or at in used or at in self._operators or inside or (word in free and word):
                self._left[at] = False
            elif any(self._is_noun(at, near, bound) for near in (at - 1, at + 1) if near in said):
                self._left[at] = False

    def _sides(self, clause: _Clause, number: int, name: str) -> Iterator[tuple[int, int]]:
        """The tokens that say the first and the second argument of a check, one on each side of the verb."""
        relation = RELATIONS.get(name)
        if relation is None or name not in clause.verb.active | clause.verb.passive:
            return
        sides = (clause.before, clause.behind)
        firsts, seconds = sides if name in clause.verb.active else sides[::-1]
        if not relation.second:
            yield from ((at, at) for at in (*firsts, *seconds) if (number, relation.first) in self._mentions[at])
            return
        for first, second in product(firsts, seconds):
            if (number, relation.first) in self._mentions[first] and (number, relation.second) in self._mentions[
                second
            ]:
                yield first, second

    def _negators(self, clause: _Clause, second: int) -> list[int] | None:
        """The word that turns the relation to an argument round, if any; None where that cannot be told."""
        own = [at for at in clause.before if clause.start <= at < clause.verb.start]
        keys = [token.key for token in self._tokens]
        span = range(max((*own, clause.start)), max(second, clause.verb.end))
        negators = [at for at in span if keys[at] in NEGATORS and at not in self._operators]
        # «does not call `g` but `h`» says that it calls `h`.
        contrasts = any(keys[at] == "but" and keys[at + 1] != "not" for at in span if at >= clause.verb.end)
        return None if len(negators) > 1 or contrasts else negators

    def _fits(self, clause: _Clause, bound: set[int], pairs: set[tuple[int, int]]) -> bool:
        """Whether all that stands around the verb is said by the checks of the clause, each pair by one of them."""
        main: set[int] = {at for pair in pairs for at in pair}
        for at in (*clause.before, *clause.behind):
            parameters = self._mentions[at]
            place = self._place_before(at, clause)
            beside = frozenset[str]().union(*(RELATIONS[self._checks[one].name].beside for one in bound))
            placed = place is not None and place not in beside
            if at in main and not placed:
                continue
            names = {name for _, name in parameters if all((one, name) in parameters for one in bound)}
            if not names or (placed and names.isdisjoint(_PLACED) and not self._is_owner(at)):
                return False
        sides = [[at for at in side if at in main] for side in (clause.before, clause.behind)]
        is_single = all(first == second for first, second in pairs)
        if not is_single and any((min(pair), max(pair)) not in pairs for pair in product(*sides)):
            return False
        said = {self._operators[at] for at in range(clause.start, clause.end) if at in self._operators} or {"="}
        wanted = {check.text("op") for one in bound if (check := self._checks[one]).value("op") is not None}
        return said == (wanted or {"="})

    def _place_before(self, at: int, clause: _Clause) -> str | None:
        """The «in» or «of» that a token stands behind; None where there is none, or the verb has it."""
        place = at - 1
        while place >= 0 and (self._tokens[place].key in ("a", "an", "the", "(") or self._tokens[place].key in NOUNS):
            place -= 1
        inside = clause.verb.start <= place < clause.verb.end
        return self._tokens[place].key if place >= 0 and self._tokens[place].key in PLACES and not inside else None

    def _is_owner(self, at: int) -> bool:
        return (
            at >= 2 and self._tokens[at - 1].key == "of" and not self._mentions[at].isdisjoint(self._mentions[at - 2])
        )

    def _is_located(self, clause: _Clause, number: int) -> bool:
        """Whether the sentence names the file of a check on content, all of its path."""
        check = self._checks[number]
        if not TABLE[check.name].content or check.name == "only_in":
            return True
        path = check.path or self._path
        return path is not None and any(
            (number, "path") in self._mentions[at] and self._tokens[at].text.removeprefix("./") == path
            for at in (*clause.before, *clause.behind)
        )

    def _is_noun(self, at: int, near: int, bound: set[int]) -> bool:
        """Whether a noun beside an argument is proved of it: by an index, or by the check itself."""
        noun, token = self._tokens[at].key, self._tokens[near]
        if noun == "file":
            return any(name == "path" for _, name in self._mentions[near]) and is_path(token.text.removeprefix("./"))
        own = (nouns_of(self._checks[one]) for one, name in self._mentions[near] if one in bound and name == "symbol")
        return any(noun in nouns for nouns in own) or proves(noun, token.text, self._kinds)

    # ------------------------------------------------------------ opposition

    def _is_opposed(self, number: int) -> bool:
        """Whether the sentence says the opposite of a check: its relation denied, or a removal of what it says."""
        check = self._checks[number]
        own = {word for words, _, _ in _verbs_of(frozenset((check.name,))) for word in words}
        keys = {token.key for token in self._tokens}
        if number in self._turned:
            return True
        if _denies(check):
            return DENIALS.isdisjoint(keys) and not keys.isdisjoint(own | _ADDING)
        if check.name in ("deleted", "removed") and own.isdisjoint(keys) and not keys.isdisjoint(_ADDING):
            return True
        said = {at for at, mentions in enumerate(self._mentions) if any(one == number for one, _ in mentions)}
        start = 0
        for at in range(len(self._tokens) + 1):
            if at == len(self._tokens) or self._tokens[at].key in _SEGMENTS:
                segment = range(start, at)
                if not said.isdisjoint(segment) and any(self._tokens[one].key in DENIALS - own for one in segment):
                    return True
                start = at
        return False


def _arguments(check: Check, path: str | None) -> Iterator[tuple[Parameter, Value]]:
    """The arguments of a check that a sentence may say; the file that it was held against where it names none."""
    signature = TABLE[check.name]
    named = {parameter.name: parameter for parameter in signature.named}
    given = [
        *zip(signature.parameters, check.arguments, strict=False),
        *((named[name], one) for name, one in check.named),
    ]
    yield from (one for one in given if one[0].kind not in (Kind.OPERATOR, Kind.SYMBOL_KIND))
    if signature.content and check.path is None and path is not None:
        yield Parameter("path", Kind.PATH), path


def _denies(check: Check) -> bool:
    return check.negated != (check.name in NEGATIVE)


def _is_free(token: Token) -> bool:
    return token.key in FUNCTION or (token.kind == "mark" and token.text in _MARKS)


@lru_cache(maxsize=256)
def _verbs_of(names: frozenset[str]) -> tuple[tuple[tuple[str, ...], frozenset[str], frozenset[str]], ...]:
    """The phrases of some relations, the longest first, each with the checks that it says, and says the other way."""
    found: dict[tuple[str, ...], tuple[set[str], set[str]]] = {}
    for name in names & RELATIONS.keys():
        for side, text in enumerate((RELATIONS[name].active, RELATIONS[name].passive)):
            for phrase in text.split():
                found.setdefault(tuple(phrase.split("_")), (set(), set()))[side].add(name)
    ordered = sorted(found, key=lambda words: (-len(words), words))
    return tuple((words, frozenset(found[words][0]), frozenset(found[words][1])) for words in ordered)
