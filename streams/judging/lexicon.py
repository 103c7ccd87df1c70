"""The word lists of observing.md's terms, from `data/lexicon.toml`: read once, never changed.

Part of what decides, like the vocabulary: another list is another version of the fold.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from typing import Any, Final, NamedTuple


def tables(name: str) -> dict[str, Any]:
    """The tables of a file `data/NAME.toml`."""
    return tomllib.loads(resources.files("sluice.streams").joinpath("data", f"{name}.toml").read_text("utf-8"))


_TABLES: Final = tables("lexicon")


def _words(name: str) -> frozenset[str]:
    return frozenset(_TABLES[name].split())


EXTENSIONS: Final = _words("extensions")
"""Endings that make a dotted name a file: `times.parse_time` is an identifier."""
FILES: Final = _words("files")
"""File names, in lower case, without such an ending."""
PRODUCTS: Final = _words("products")
"""Names, in lower case, that only look like files."""
ABBREVIATIONS: Final = _words("abbreviations")
"""Dotted, in lower case, and no identifiers."""
STOP_WORDS: Final = _words("stop")
"""Words that say nothing by themselves, and nouns that only say where to look; case-folded."""
UNITS: Final[dict[str, tuple[str, ...]]] = {
    **{noun: (noun, f"{noun}s") for noun in sorted(_words("nouns"))},
    **{name: tuple(spellings.split()) for name, spellings in _TABLES["units"].items()},
}
"""Units and countable nouns that belong to the number before them, each with the spellings that mean it."""
UNIT_OF: Final[dict[str, str]] = {spelling: name for name, spellings in UNITS.items() for spelling in spellings}

Phrases = tuple[tuple[tuple[str, ...], str], ...]
"""Phrases as their words, each with what it stands for; the longest first."""


def phrases(table: Mapping[str, str]) -> Phrases:
    """The phrases of a table that has, by what they stand for, all of them in one text."""
    pairs = [(tuple(phrase.split("_")), key) for key, text in table.items() for phrase in text.split()]
    return tuple(sorted(pairs, key=lambda pair: -len(pair[0])))


class Relation(NamedTuple):
    """How a sentence says a check.

    Attributes:
        first, second: the parameters that its words stand between; `second` is empty for a check on one thing.
        active: phrases that say how the first stands to the second.
        passive: phrases that say how the second stands to the first.
        beside: words that may stand in such a clause.
    """

    first: str
    second: str
    active: str
    passive: str
    beside: frozenset[str]


_GUARD: Final[dict[str, Any]] = _TABLES["guard"]
FUNCTION: Final = frozenset(_GUARD["function"].split())
"""Words that change nothing of what a clause says."""
PARTING: Final = frozenset(_GUARD["parting"].split())
"""Words and marks that part two clauses, or two arguments."""
TIES: Final = phrases({"": _GUARD["ties"]})
"""Phrases that tie a sentence to its neighbours."""
ASSIGNING: Final = frozenset(_GUARD["assigning"].split())
"""Verbs that say of a file that an assignment stands there."""
PLACES: Final = frozenset(_GUARD["places"].split())
"""Words behind which stands where something is."""
NEGATORS: Final = frozenset(_GUARD["negators"].split())
"""Words that turn a relation round, as `not` does before a check."""
DENIALS: Final = NEGATORS | frozenset(_GUARD["denials"].split())
"""These, and others that no check says."""
NOUNS: Final[dict[str, frozenset[str]]] = {noun: frozenset(kinds.split()) for noun, kinds in _GUARD["nouns"].items()}
"""Nouns of names, each with the kinds that prove it."""
OPERATORS: Final[dict[str, str]] = _GUARD["operators"]
"""By operator: the phrases for it."""
TIMES: Final[dict[str, str]] = _GUARD["times"]
"""By operator: the phrases for how something stands to a time."""
RELATIONS: Final[dict[str, Relation]] = {
    name: Relation(parameters.split()[0], "".join(parameters.split()[1:]), active, passive, frozenset(beside.split()))
    for name, (parameters, active, passive, beside) in _GUARD["relations"].items()
}
"""By check: how a sentence says it."""
CUES: Final = {name: set(words.split()) for name, words in _GUARD["cues"].items()}
"""By check that many words for what code does come near to: those without which it cannot contradict a sentence."""
SYMBOLIC: Final = frozenset(_GUARD["symbolic"].split())
"""Checks on a symbol: where that is the only one of its name, the end of its file's path says which file."""
