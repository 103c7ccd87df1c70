"""The word lists of observing.md's terms, from `data/lexicon.toml`: read once, never changed.

Part of what decides, like the vocabulary: another list is another version of the fold.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any, Final

_TABLES: Final[dict[str, Any]] = tomllib.loads(
    resources.files("sluice.streams").joinpath("data", "lexicon.toml").read_text("utf-8")
)


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
