"""The small language in which forms of sentences are written down, and how tokens are read by it (docs/checks.md).

A pattern is a row of parts, separated by spaces:

    calls|invokes      one of these words; several words of one alternative are joined by `_`
    by_default?        the same, optional
    {caller}           an argument, with its article, its noun («the function `f`») and its places («in `a.py`»)
    <path>             one of the parts that are no argument of a check: `Binder.special`

What an argument is decides the binder: for coverage the arguments of one check, for claim forms anything of the right
shape. A pattern is read from a place on, and every way to read it is tried; parts are few and arguments are told by one
look, so the ways are few. Nothing is skipped: a word that no part takes ends the reading.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import lru_cache
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from .coverage_tokens import Token

Note = tuple[str, str]
"""What a reading took: of an argument its parameter and what it says, of a place its kind."""
Step = tuple[int, tuple[Note, ...]]
"""Where a part ends, and what it took."""
MAX_PLACES: Final = 3
"""Places («in `a.py`», «on line 3») one behind the other."""

MACROS: Final = {
    "~is": "is_not|isn't",
    "~does": "does_not|doesn't",
    "~was": "was_not|wasn't|is_not|isn't",
    "~did": "did_not|didn't|does_not|doesn't",
}


Words = Mapping[str, tuple[tuple[str, ...], ...]]
"""Phrases by their first word: of each the words behind it."""


class Part(NamedTuple):
    """One part of a pattern: phrases, or the name of an argument or of a special part."""

    words: Words = MappingProxyType({})
    optional: bool = False
    argument: str = ""
    special: str = ""


class Pattern(NamedTuple):
    """A pattern.

    Attributes:
        parts: in order.
        needs: for each part that is words, and has to be there, their first words.
    """

    parts: tuple[Part, ...]
    needs: tuple[frozenset[str], ...]

    def may_stand_in(self, keys: Set[str]) -> bool:
        """Whether the words are there that have to be; cheap, and asked first."""
        return not any(need.isdisjoint(keys) for need in self.needs)


Places = Mapping[str, tuple[Pattern, ...]]
"""Patterns of places by their first word."""


class Binder(Protocol):
    """Tells what the parts of a pattern stand for. What is read begins at a place of the tokens."""

    def argument(self, parameter: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """The bare argument of a parameter."""
        ...

    def special(self, name: str, tokens: Sequence[Token], at: int) -> Iterator[Step]:
        """A part that is no argument."""
        ...

    def before(self, parameter: str) -> Words:
        """The nouns that may stand before an argument."""
        ...

    def after(self, parameter: str) -> Words:
        """The nouns that may stand behind an argument."""
        ...

    def places(self, parameter: str) -> Places:
        """The places that may stand right behind an argument."""
        ...


class Reading(NamedTuple):
    """One way to read a pattern.

    Attributes:
        end: behind the last token.
        subject_end: behind the first argument where the pattern begins with one, else -1.
        starts: before each argument and special part.
        notes: what was taken, in order.
    """

    end: int
    subject_end: int
    starts: tuple[int, ...]
    notes: tuple[Note, ...]


@lru_cache(maxsize=1024)  # the tables are fixed, and few
def compiled(pattern: str) -> Pattern:
    """A pattern, from the row of the table that it is."""
    parts = tuple(_part(MACROS.get(word, word)) for word in pattern.split())
    return Pattern(parts, tuple(frozenset(part.words) for part in parts if part.words and not part.optional))


def places_of(*patterns: str) -> Places:
    """Patterns of places; each begins with a word."""
    found: dict[str, tuple[Pattern, ...]] = {}
    for pattern in map(compiled, patterns):
        for first in pattern.parts[0].words:
            found[first] = (*found.get(first, ()), pattern)
    return found


def _part(text: str) -> Part:
    if text[0] == "{":
        return Part(argument=text[1:-1])
    if text[0] == "<" and len(text) > 2:
        return Part(special=text[1:-1])
    words = text.removesuffix("?").split("|")
    return Part(phrases(*(word.replace("_", " ") for word in words)), text.endswith("?"))


@lru_cache(maxsize=1024)  # nouns and phrases are fixed, and few
def phrases(*texts: str) -> Words:
    """Phrases, from rows of words."""
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for first, *rest in (text.split() or [""] for text in texts):
        found[first] = (*found.get(first, ()), tuple(rest))
    return found


def word_ends(words: Words, tokens: Sequence[Token], at: int) -> list[int]:
    """Where each phrase ends that stands at a place; the place itself for the empty one."""
    ends = [at] if "" in words else []
    if at < len(tokens):
        for rest in words.get(tokens[at].key or "\0", ()):
            end = at + 1 + len(rest)
            if end <= len(tokens) and all(tokens[at + n].key == word for n, word in enumerate(rest, 1)):
                ends.append(end)
    return ends


def readings(pattern: Pattern, binder: Binder, tokens: Sequence[Token], at: int) -> Iterator[Reading]:
    """Every way to read a pattern from a place on."""
    yield from _read(pattern.parts, 0, binder, tokens, at, Reading(at, -1, (), ()))


def _read(
    parts: Sequence[Part], place: int, binder: Binder, tokens: Sequence[Token], at: int, so_far: Reading
) -> Iterator[Reading]:
    if place == len(parts):
        yield so_far._replace(end=at)
        return
    part = parts[place]
    if part.words:
        for end in word_ends(part.words, tokens, at):
            yield from _read(parts, place + 1, binder, tokens, end, so_far)
        if part.optional:
            yield from _read(parts, place + 1, binder, tokens, at, so_far)
        return
    taken = noun_phrases(part.argument, binder, tokens, at) if part.argument else None
    for end, notes in taken or binder.special(part.special, tokens, at):
        subject_end = end if place == 0 else so_far.subject_end
        said = Reading(end, subject_end, (*so_far.starts, at), so_far.notes + notes)
        yield from _read(parts, place + 1, binder, tokens, end, said)


_THE: Final = phrases("the")
_OWNS: Final = phrases("'s")


def noun_phrases(parameter: str, binder: Binder, tokens: Sequence[Token], at: int) -> Iterator[Step]:
    """An argument with its article, its noun before or behind it, its owner («`Type`'s `f`») and its places."""
    places = binder.places(parameter)
    for start in (*word_ends(_THE, tokens, at), at):
        begins: list[Step] = [(start, ()), *((end, ()) for end in word_ends(binder.before(parameter), tokens, start))]
        if places:
            for owned, notes in binder.special("owner", tokens, start):
                begins += [(end, notes) for end in word_ends(_OWNS, tokens, owned)]
        for begin, notes in begins:
            for end, taken in binder.argument(parameter, tokens, begin):
                has_noun = begin > start and not notes
                behind = [] if has_noun else word_ends(binder.after(parameter), tokens, end)
                for past in (*behind, end):
                    yield from with_places(places, binder, tokens, past, notes + taken)


def with_places(
    places: Places,
    binder: Binder,
    tokens: Sequence[Token],
    at: int,
    notes: tuple[Note, ...] = (),
    most: int = MAX_PLACES,
) -> Iterator[Step]:
    """From none to `most` places, one behind the other; the longest way first."""
    if most and at < len(tokens):
        for pattern in places.get(tokens[at].key, ()):
            for one in readings(pattern, binder, tokens, at):
                yield from with_places(places, binder, tokens, one.end, notes + one.notes, most - 1)
    yield at, notes
