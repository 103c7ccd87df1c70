"""How a text says a number stands to a count: at least, at most, more than, less than (docs/observing.md).

One reading for the observer of channels and for citations, so that both take the same sentence for the same claim.
"""

from __future__ import annotations

import re
from typing import Final

_RELATIONS: Final = tuple(
    (relation, re.compile(rf"\b(?:{words})\s*(?:the\s+)?$", re.IGNORECASE))
    for relation, words in (
        ("least", r"at least|(?:no|not) (?:fewer|less) than|a minimum of"),
        ("most", r"at most|(?:no|not) more than|up to|a maximum of"),
        ("more", r"more than|over|above|greater than|exceeds?|exceeding"),
        ("less", r"fewer than|less than|under|below"),
    )
)
_NO_NEGATION: Final = re.compile(r"\b(?:no|not) (?:fewer|less|more) than\b", re.IGNORECASE)


def relation_before(text: str) -> str:
    """The relation that a text ends with, before its number: least, most, more or less; empty where there is none."""
    return next((relation for relation, words in _RELATIONS if words.search(text)), "")


def without_relations(text: str) -> str:
    """The text without its «no fewer than» and the like: what negates there negates no statement."""
    return _NO_NEGATION.sub(" ", text)
