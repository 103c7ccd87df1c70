"""Which false checks of a proposal contradict a sentence: those whose failing denies what the sentence says
(docs/checks.md).

A proposer may write more into a check than the sentence has: a callee that it guesses, a file that stands elsewhere in
the answer, a call where the sentence speaks of an effect. That such a check is false says nothing against the sentence.
A comparison of words: nothing is understood. Pure, and bounded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from .checks import TABLE, Check, Kind, Unknown
from .coverage_tokens import Token, tokens_of
from .guard import NEGATIVE, PLACED
from .lexicon import CUES, DENIALS, NOUNS, SYMBOLIC
from .mentions import arguments, components, mentions
from .results import Held

_WORD: Final = re.compile(r"\w+")
_OWN: Final = frozenset(("self", "this", "cls", "return", "raise", "throw", "new"))


def excused(
    sentence: str, checks: Sequence[Check | Unknown], helds: Sequence[Held], path: str | None
) -> frozenset[int]:
    """Places of the false checks of a proposal that do not contradict a sentence.

    Args:
        sentence: as it was emitted.
        checks: of the proposal.
        helds: what they came to.
        path: the file that checks without a path were held against.
    """
    pairs = enumerate(zip(checks, helds, strict=True))
    false = [(place, check, held) for place, (check, held) in pairs if held.holds is False and isinstance(check, Check)]
    if not false:
        return frozenset()
    tokens = tokens_of(sentence)
    return frozenset(place for place, check, held in false if not _denies(sentence, tokens, check, held, path))


def _denies(sentence: str, tokens: Sequence[Token], check: Check, held: Held, path: str | None) -> bool:
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
