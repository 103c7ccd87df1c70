"""The languages that checks by syntax speak of, and how a file's language is known (docs/checks.md).

A table. A grammar's package is loaded when the first file of its language is parsed; one that is not installed is no
error here, but the reason `no-grammar` of every check on such a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

from .language import Language, load_grammar
from .language_c import CPP, C
from .language_go import GO
from .language_java import JAVA
from .language_python import PYTHON
from .language_ruby import RUBY
from .language_rust import RUST
from .language_script import SCRIPTS
from .language_sharp import SHARP
from .language_shell import SHELL

if TYPE_CHECKING:
    from tree_sitter import Language as Parsed


@cache
def languages() -> Mapping[str, Language]:
    """Every listed language, by its name. Each module `language_*.py` has the rows of its own."""
    return {row.name: row for row in (C, CPP, GO, JAVA, PYTHON, RUBY, RUST, *SCRIPTS, SHARP, SHELL)}


def language_of(name: str) -> Language:
    """A listed language by its name."""
    return languages()[name]


@cache
def _by_ending() -> tuple[Mapping[str, Language], Mapping[str, Language]]:
    rows = languages().values()
    return {end: row for row in rows for end in row.endings}, {name: row for row in rows for name in row.names}


_MORE: Final[Mapping[str, str]] = {".h": "cpp"}
"""Endings of two languages: the second where the first does not parse without errors."""


def languages_of(path: str) -> tuple[Language, ...]:
    """The languages that a file may be in, the likeliest first; none where its name tells none of the listed ones."""
    by_ending, by_name = _by_ending()
    name = path.rsplit("/", 1)[-1]
    known = by_name.get(name)
    if known is not None:
        return (known,)
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem:
        return ()
    language = by_ending.get(f".{ending}") or by_ending.get(f".{ending.lower()}")
    if language is None:
        return ()
    other = _MORE.get(f".{ending}")
    return (language,) if other is None else (language, language_of(other))


def grammar_of(name: str) -> Parsed | None:
    """A listed language's grammar; None where it is not installed."""
    language = language_of(name)
    return load_grammar(language.package, language.entry)
