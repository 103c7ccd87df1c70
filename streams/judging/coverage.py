"""How much of a sentence its checks say: all of it, some of it, or nothing; the guard, which only lowers that; and
which false checks of a proposal contradict the sentence (docs/checks.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise, product
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeVar

from .checks import OPERATORS, TABLE, Check, Held, Kind, Unknown, canonical, parse_check
from .claim_forms import Claim, claim
from .facts import find_quote, flat
from .mentions import (
    Confirmations,
    Token,
    arguments,
    components,
    is_path,
    is_set_off,
    mentions,
    nouns_of,
    proves,
    ties,
    tokens_of,
)
from .prose_literals import (
    ASSIGNING,
    CUES,
    DENIALS,
    FUNCTION,
    NEGATORS,
    NOUNS,
    OPERATOR_PHRASES,
    PARTING,
    PLACES,
    RELATIONS,
    SYMBOLIC,
    TIMES,
    phrases,
)

T = TypeVar("T")
NEGATIVE: Final = frozenset(("absent", "missing"))
"""Checks that say that something is not there, without a `not`."""
_WEAK: Final = frozenset(("is", "are", "has", "have"))
_ADDING: Final = frozenset(("added", "created", "introduced"))
_MARKS: Final = frozenset((".", ",", ";", ":", "(", ")", "'s"))
PLACED: Final = frozenset(("path", "in", "lines", "commit"))
"""Arguments that say where something is."""
_QUALIFYING: Final = frozenset(("argument", "default", "type"))
"""Arguments that stand behind what they are of."""
_GOES_ON: Final = frozenset((",", "and", "but", "or"))
_SEGMENTS: Final = frozenset((";", ".", "but"))
_TIMES: Final = phrases(TIMES)
_OPERATORS: Final = phrases(OPERATOR_PHRASES)


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
    """A phrase of a relation (tokens, half open), with the checks that it may say, and say the other way round."""

    start: int
    end: int
    active: frozenset[str]
    passive: frozenset[str]


class _Clause(NamedTuple):
    """The tokens around one verb: before it, behind it, and from where on they are its own. Of «there is `a` in `b`»
    `joint` is the word between the two."""

    verb: _Verb
    before: tuple[int, ...]
    behind: tuple[int, ...]
    start: int
    end: int
    joint: int = -1


@lru_cache(maxsize=256)  # each class that looks, and each part of a look, asks of the same sentence
def compare(
    tokens: tuple[Token, ...],
    checks: tuple[Check, ...],
    path: str | None,
    kinds: tuple[tuple[str, frozenset[str]], ...],
) -> Compared:
    """Holds a sentence's tokens against its checks. `path` is the file that checks without a path were held against,
    `kinds` what an index proves of identifiers."""
    return _Comparison(tokens, checks, path, dict(kinds)).compared()


class _Comparison:
    """One sentence and its checks."""

    def __init__(
        self, tokens: tuple[Token, ...], checks: tuple[Check, ...], path: str | None, kinds: Confirmations
    ) -> None:
        tokens = _placed(tokens)
        self._tokens, self._checks, self._path, self._kinds = tokens, checks, path, kinds
        self._mentions, self._keys = mentions(tokens, checks, path), tuple([one.key for one in tokens])
        self._places = dict[str, list[int]]()
        for at, key in enumerate(self._keys):
            self._places.setdefault(key, []).append(at)
        timed = any(check.name in ("last_changed", "modified") for check in checks)
        self._operators = {at: op for span, op in self._phrases(_TIMES if timed else _OPERATORS, set()) for at in span}
        tied = ties(tokens)
        self._left = [at not in tied and not _is_free(token) for at, token in enumerate(tokens)]
        self._bound: set[int] = set()
        self._turned: set[int] = set()
        self._loose = False

    def compared(self) -> Compared:
        for clause in self._clauses():
            self._hold(self._turned_round(clause) if self._keys[clause.verb.start] == "there" else clause)
        present = {number for said in self._mentions for number, _ in said}
        opposed = frozenset(number for number in present if number not in self._bound and self._is_opposed(number))
        return Compared(tuple(self._left), frozenset(present), opposed, self._loose)

    # ------------------------------------------------------------ clauses

    def _phrases(self, known: Iterable[tuple[tuple[str, ...], T]], taken: set[int]) -> Iterator[tuple[range, T]]:
        """Where phrases stand that no argument and nothing before them has taken, each with what it stands for."""
        for words, meaning in known:
            for at in self._places.get(words[0], ()):
                span = range(at, at + len(words))
                if self._keys[at : at + len(words)] == words and taken.isdisjoint(span):
                    taken.update(span)
                    yield span, meaning

    def _verbs(self) -> list[_Verb]:
        """The phrases of the checks' relations, in order; an «is» before another one is a part of it."""
        known = _verbs_of(frozenset(check.name for check in self._checks))
        taken = {at for at, said in enumerate(self._mentions) if said} | self._operators.keys()
        verbs = sorted(_Verb(span.start, span.stop, *says) for span, says in self._phrases(known, taken))
        return [
            verb
            for number, verb in enumerate(verbs)
            if number + 1 == len(verbs)
            or verb.end - verb.start > 1
            or self._keys[verb.start] not in _WEAK
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
            parted = [at for at in range(verb.end, following) if self._keys[at] in PARTING]
            split = parted[-1] if parted else following
            behind = self._said(verb.end, split)
            yield _Clause(verb, before, behind, start, split)
            own, word = self._said(split, following), self._keys[split]
            start = split
            if own or not parted:
                before = own
            elif word in ("which", "that"):
                before = behind
            elif word not in _GOES_ON:
                before = ()

    def _turned_round(self, clause: _Clause) -> _Clause:
        """«There is `a` in `b`»."""
        places = [at for at in range(clause.verb.end, clause.end) if self._keys[at] in PLACES]
        joint = next((at for at in places if not set(clause.behind).isdisjoint(range(clause.verb.end, at))), clause.end)
        if clause.before:
            return clause
        parts = ((at for at in clause.behind if (at < joint) is first) for first in (True, False))
        before, behind = map(tuple, parts)
        return clause._replace(before=before, behind=behind, joint=joint)

    def _hold(self, clause: _Clause) -> None:
        """Takes from what is left what the checks of a clause say, if they say all of it."""
        pairs: set[frozenset[int]] = set()
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
                pairs.add(frozenset((first, second)))
        self._bound |= bound
        free = frozenset[str]().union(*(RELATIONS[self._checks[number].name].beside for number in bound))
        if not bound or not self._fits(clause, bound, pairs, free):
            return
        self._loose |= not all(self._is_located(clause, number) for number in bound)
        main = {*clause.before, *clause.behind}
        said = set(main)
        said.update(used, range(clause.verb.start, clause.verb.end), self._operators)
        for at in (*range(clause.start, clause.end), *clause.before):
            nouns = (self._is_noun(at, near, bound) for near in (at - 1, at + 1) if near in main)
            if at in said or self._keys[at] in free or any(nouns):
                self._left[at] = False

    def _sides(self, clause: _Clause, number: int, name: str) -> Iterator[tuple[int, int]]:
        """The tokens that say the first and the second argument of a check, one on each side of the verb."""
        relation = RELATIONS.get(name)
        if relation is None or name not in clause.verb.active | clause.verb.passive:
            return
        sides = (clause.before, clause.behind)
        if name == "equals" and self._keys[clause.verb.start] in ASSIGNING:  # «`a.toml` has `name = "x"`»
            both = {(number, relation.first), (number, relation.second)}
            yield from ((at, at) for at in clause.behind if both <= self._mentions[at])
            return
        firsts, seconds = sides if name in clause.verb.active else sides[::-1]
        if not relation.second:
            yield from ((at, at) for at in (*firsts, *seconds) if (number, relation.first) in self._mentions[at])
            return
        own = [at for at in firsts if (number, relation.first) in self._mentions[at]]
        yield from product(own, (at for at in seconds if (number, relation.second) in self._mentions[at]))

    def _negators(self, clause: _Clause, second: int) -> list[int] | None:
        """The word that turns the relation to an argument round, if any; None where that cannot be told."""
        own = [at for at in clause.before if clause.start <= at < clause.verb.start]
        keys = self._keys
        span = range(max((*own, clause.start)), max(second, clause.verb.end))
        negators = [at for at in span if keys[at] in NEGATORS and at not in self._operators]
        # «does not call `g` but `h`» says that it calls `h`.
        contrasts = any(keys[at] == "but" and keys[at + 1] != "not" for at in span if at >= clause.verb.end)
        return None if len(negators) > 1 or contrasts else negators

    def _fits(self, clause: _Clause, bound: set[int], pairs: set[frozenset[int]], beside: frozenset[str]) -> bool:
        """Whether all that stands around the verb is said by the checks of the clause, each pair by one of them."""
        main: set[int] = {at for pair in pairs for at in pair}
        taken = {name for one in bound for name in RELATIONS[self._checks[one].name][:2]}
        for at in (*clause.before, *clause.behind):
            said = self._mentions[at]
            placed = self._is_placed(at, clause, beside)
            # What is no argument of a pair, and what says where something is, has to be so for all checks.
            names = {name for _, name in said if all((one, name) in said for one in bound)}
            names -= set() if at in main else taken
            is_owner = at > 1 and self._keys[at - 1] == "of" and not said.isdisjoint(self._mentions[at - 2])
            if placed and not is_owner and names.isdisjoint(PLACED):
                return False
            if not names and (placed or at not in main):
                return False
            side = clause.before if at in clause.before else clause.behind
            first = next((each for each in side if each in main), at)
            if at < first and at not in main and names <= _QUALIFYING:
                return False  # «calls `x` with `g`» is no call of `g` with `x`
        sides = [[at for at in side if at in main] for side in (clause.before, clause.behind)]
        if any(len(pair) > 1 for pair in pairs) and not pairs.issuperset(map(frozenset, product(*sides))):
            return False
        told = {self._operators[at] for at in range(clause.start, clause.end) if at in self._operators}
        wanted = {op for one in bound if (op := self._checks[one].text("op"))}
        return (told or {"="}) == (wanted or {"="})

    def _is_placed(self, at: int, clause: _Clause, beside: frozenset[str]) -> bool:
        """Whether a token stands behind an «in» or «of» that is no part of what the clause says."""
        place = at - 1
        while place >= 0 and (self._keys[place] in ("a", "an", "the", "(") or self._keys[place] in NOUNS):
            place -= 1
        inside = clause.verb.start <= place < clause.verb.end or place == clause.joint
        return place >= 0 and self._keys[place] in PLACES - beside and not inside

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
        noun, token = self._keys[at], self._tokens[near]
        if noun == "file":
            return any(name == "path" for _, name in self._mentions[near]) and is_path(token.text.removeprefix("./"))
        own = (nouns_of(self._checks[one]) for one, name in self._mentions[near] if one in bound and name == "symbol")
        return any(noun in nouns for nouns in own) or proves(noun, token.text, self._kinds)

    # ------------------------------------------------------------ opposition

    def _is_opposed(self, number: int) -> bool:
        """Whether the sentence says the opposite of a check: its relation denied, or a removal of what it says."""
        check = self._checks[number]
        own = {word for words, _ in _verbs_of(frozenset((check.name,))) for word in words}
        keys = set(self._keys)
        if number in self._turned:
            return True
        if _denies(check):
            return DENIALS.isdisjoint(keys) and not keys.isdisjoint(own | _ADDING)
        if check.name in ("deleted", "removed") and own.isdisjoint(keys) and not keys.isdisjoint(_ADDING):
            return True
        ends = [at for at, key in enumerate(self._keys) if key in _SEGMENTS]
        segments = [range(*edges) for edges in pairwise((0, *ends, len(self._keys)))]
        said = {at for at, found in enumerate(self._mentions) if any(one == number for one, _ in found)}
        return any(
            not said.isdisjoint(segment) and not (DENIALS - own).isdisjoint(self._keys[at] for at in segment)
            for segment in segments
        )


def _denies(check: Check) -> bool:
    return check.negated != (check.name in NEGATIVE)


def _placed(tokens: Sequence[Token]) -> tuple[Token, ...]:
    """The tokens, «according to» as the «in» that it means."""
    starts = {at for at, (one, other) in enumerate(pairwise(tokens)) if (one.key, other.key) == ("according", "to")}
    return tuple(token._replace(key="in") if {at, at - 1} & starts else token for at, token in enumerate(tokens))


def _is_free(token: Token) -> bool:
    return token.key in FUNCTION or (token.kind == "mark" and token.text in _MARKS)


@lru_cache(maxsize=256)
def _verbs_of(names: frozenset[str]) -> tuple[tuple[tuple[str, ...], tuple[frozenset[str], frozenset[str]]], ...]:
    """The phrases of some relations, the longest first, each with the checks that it says, and says the other way."""
    found: dict[tuple[str, ...], tuple[set[str], set[str]]] = {}
    for name in names & RELATIONS.keys():
        for side, text in enumerate((RELATIONS[name].active, RELATIONS[name].passive)):
            for phrase in text.split():
                found.setdefault(tuple(phrase.split("_")), (set(), set()))[side].add(name)
    for verb in ASSIGNING if "equals" in names else ():
        found.setdefault((verb,), (set(), set()))[0].add("equals")
    ordered = sorted(found, key=lambda words: (-len(words), words))
    return tuple((words, (frozenset(found[words][0]), frozenset(found[words][1]))) for words in ordered)


Level = Literal["whole", "part", "none"]
Scope = Literal["file", "repository", "channel"]
"""What was looked at where no path is named: one file, all tracked files, or what a channel reports of itself."""
BY_FORM: Final = "form"
MAX_TOKENS: Final = 256
"""Tokens of a sentence that is held against its checks; a longer one is `part`, and all of it is unchecked."""


class Coverage(NamedTuple):
    """What the checks of an assertion say of its sentence.

    Attributes:
        level: the checks say all of it, some of it, or nothing that stands in it.
        unchecked: what they do not say: code points of the sentence as it was given, half open, in order.
        by: what says that it is whole: `form`, or the name of a proposer; empty for another level.
        opposed: places of the checks that say the opposite of the sentence.
    """

    level: Level
    unchecked: tuple[tuple[int, int], ...]
    by: str = ""
    opposed: tuple[int, ...] = ()


class Proposed(NamedTuple):
    """A proposal's proposer, and whether its checks say all of the sentence."""

    by: str
    whole: bool


class Confirmed(NamedTuple):
    """What a look in the checkout adds to the sentence.

    Attributes:
        unique: each symbol that names no path is defined exactly once in the checkout.
        kinds: of an identifier, the kinds that the index proves.
        narrowed: a check holds only under a condition, which the sentence does not say.
    """

    unique: bool = False
    kinds: Mapping[str, frozenset[str]] = MappingProxyType({})
    narrowed: bool = False


NOTHING_CONFIRMED: Final = Confirmed()


def cover(
    sentence: str,
    checks: Sequence[Check | Unknown],
    *,
    path: str | None = None,
    commit: str | None = None,
    scope: Scope = "file",
    proposal: Proposed | None = None,
    confirmed: Confirmed = NOTHING_CONFIRMED,
) -> Coverage:
    """How much of a sentence its checks say, and what of it they do not. Never raises.

    With a check that cannot be read the sentence is never `whole`. `path` is the file that was looked at, which a
    check's own goes before, `commit` the hash of the commit, and `scope` what was looked at where no path is named.
    `proposal` is what a listed proposer signed, `confirmed` what the look adds.
    """
    tokens = tokens_of(sentence)
    everything = _everything(sentence)
    places = [place for place, check in enumerate(checks) if isinstance(check, Check)]
    known = [check for check in checks if isinstance(check, Check)]
    if len(tokens) > MAX_TOKENS:
        return Coverage("part" if known else "none", everything)
    compared = compare(tokens, tuple(known), path, tuple(confirmed.kinds.items()))
    opposed = tuple(places[number] for number in sorted(compared.opposed))
    if opposed or not (compared.present or any(_stands(check, sentence) for check in known)):
        return Coverage("none", everything, "", opposed)
    if len(known) == len(checks):
        claimed = claim(sentence)
        if claimed is not None and _is_of(claimed, known, path, scope, confirmed):
            unproved = [noun.place for noun in claimed.nouns if not proves(noun.noun, noun.name, confirmed.kinds)]
            if claimed.whole and not unproved and not confirmed.narrowed:
                return Coverage("whole", (), BY_FORM)
            return Coverage("part", _spans(tokens, [at in unproved for at in range(len(tokens))]) or everything)
        is_left = any(compared.left) or (compared.loose and not confirmed.unique) or confirmed.narrowed
        if proposal is not None and proposal.whole and not is_left:
            return Coverage("whole", (), proposal.by)
    return Coverage("part", _unchecked(tokens, compared, commit) or everything)


def _is_of(claimed: Claim, checks: Sequence[Check], path: str | None, scope: Scope, confirmed: Confirmed) -> bool:
    """Whether a claim is of these checks and no others, and it is certain of which file they speak."""
    claims = [check for check in map(parse_check, claimed.checks) if isinstance(check, Check)]
    said = {(check.text("path"), _without_path(check)) for check in claims}
    own = {(check.text("path"), _without_path(check)) for check in checks}
    if said == own:
        if any(check.text("pattern") == "subscribers" and check.path is None for check in claims):
            return scope == "channel"
        return claimed.named or confirmed.unique
    held = {(check.text("path") or path or "", _without_path(check)) for check in checks}
    # A check may name more of the path than the sentence, where the symbol is the only one of its name.
    ends = {_end_of(check, other) for check in claims for other in held}
    return said == held or (confirmed.unique and held == ends - {None})


def _end_of(said: Check, check: tuple[str, str]) -> tuple[str, str] | None:
    """A check with its path, where it is what is said but for that path, and no other end of one is named."""
    whole, end = check[0], said.text("path")
    is_end = whole == end or not end or (whole.endswith(f"/{end}") and not said.negated)
    return check if is_end and said.name in SYMBOLIC and _without_path(said) == check[1] else None


def _without_path(check: Check) -> str:
    named = tuple(one for one in check.named if one[0] != "path")
    return canonical(Check(check.name, check.arguments, named, check.negated))


def _unchecked(tokens: Sequence[Token], compared: Compared, commit: str | None) -> tuple[tuple[int, int], ...]:
    """What is left: without a commit's hash that is the one that was looked at."""
    return _spans(
        tokens,
        [
            left and not (commit and len(token.text) >= 7 and commit.startswith(token.text.lower()))
            for token, left in zip(tokens, compared.left, strict=True)
        ],
    )


def _stands(check: Check, sentence: str) -> bool:
    """Whether an argument of a check stands in the sentence as a word, whatever it means there."""
    text = flat(sentence)
    values = [*check.arguments, *(value for _, value in check.named)]
    words = [flat(str(value)) for value in values if isinstance(value, (str, int, Decimal)) and value not in OPERATORS]
    return any(word and find_quote(word, text) for word in words)


def _everything(sentence: str) -> tuple[tuple[int, int], ...]:
    inside = sentence.strip()
    start = sentence.find(inside)
    return ((start, start + len(inside)),) if inside else ()


def _spans(tokens: Sequence[Token], unchecked: Sequence[bool]) -> tuple[tuple[int, int], ...]:
    """The tokens that are unchecked as spans, neighbours as one."""
    spans: list[tuple[int, int]] = []
    for place, (token, is_unchecked) in enumerate(zip(tokens, unchecked, strict=True)):
        if not is_unchecked:
            continue
        if place and unchecked[place - 1]:
            spans[-1] = (spans[-1][0], token.end)
        else:
            spans.append((token.start, token.end))
    return tuple(spans)


_WORD: Final = re.compile(r"\w+")
_OWN: Final = frozenset(("self", "this", "cls", "return", "raise", "throw", "new"))


def excused(
    sentence: str, checks: Sequence[Check | Unknown], helds: Sequence[Held], path: str | None
) -> frozenset[int]:
    """Places of the false checks of a proposal that do not contradict a sentence. `helds` is what the `checks` came to,
    `path` the file that those without a path were held against."""
    pairs = enumerate(zip(checks, helds, strict=True))
    false = [(place, check, held) for place, (check, held) in pairs if held.holds is False and isinstance(check, Check)]
    if not false:
        return frozenset()
    tokens = tokens_of(sentence)
    return frozenset(
        place for place, check, held in false if not _false_where_false(sentence, tokens, check, held, path)
    )


def _false_where_false(sentence: str, tokens: Sequence[Token], check: Check, held: Held, path: str | None) -> bool:
    """Whether a sentence is false where a check is."""
    file = check.path or path
    is_placed = file is not None and file.rpartition("/")[2] in sentence
    if held.lines is None and (check.name in SYMBOLIC or check.name == "defines"):
        # The file does not have the symbol, whatever is said of it.
        return is_placed and components(str(check.arguments[0]).rstrip("!"))[-1] in sentence
    is_negative = check.negated or check.name in NEGATIVE
    keys = {token.key for token in tokens}
    if is_negative and (held.under or DENIALS.isdisjoint(keys)):
        return False  # the sentence may speak of another condition
    if (held.lines is None and not is_placed) or not CUES.get(check.name, keys) & keys:
        return False
    return _says_arguments(tokens, check)


def _says_arguments(tokens: Sequence[Token], check: Check) -> bool:
    """Whether a sentence has every argument of a check but its subject, which may stand before it, and its place."""
    told = {name for said in mentions(tokens, (check,), None) for _, name in said}
    words = {word for token in tokens for word in _WORD.findall(token.text.casefold())}
    for parameter, value in arguments(check, None):
        if parameter.kind is Kind.SYMBOL_KIND:
            if not any(token.key in NOUNS and value in (token.key, *NOUNS[token.key]) for token in tokens):
                return False
        elif parameter.name not in told and parameter.name not in PLACED and not _is_subject(check, parameter.name):
            own = {word for word in _WORD.findall(str(value).casefold()) if word not in _OWN}
            if not own or not own <= words:
                return False
    return True


def _is_subject(check: Check, name: str) -> bool:
    parameters = TABLE[check.name].parameters
    return len(parameters) > 1 and parameters[0].name == name
