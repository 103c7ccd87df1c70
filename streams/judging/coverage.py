"""How much of a sentence its checks speak of: wholly, in part, or not at all (docs/checks.md).

A sentence is read clause by clause. A clause is covered where one check and one form of words (`coverage_forms.py`)
take every word of it: the check's arguments in the form's order, the file that was looked at, nothing else. It has to
say no more than the check. What no form takes is not covered: the lists are closed, and a word that nobody thought of
counts as one that changes the meaning. Of a clause that goes on behind such a form, or begins before it, the form stays
covered and the rest is unchecked; what is left then is still true by itself.

Two clauses may share their subject or their object («`f` calls `g` and `h`», «`a.py` and `b.py` import `os`»): each is
read as if it had its own, and needs its own check. Pure, and bounded: a sentence beyond the bounds is at most `part`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from .checks import Check, Unknown, canonical, parse_check
from .coverage_binding import Bound
from .coverage_check import Scope
from .coverage_clauses import Clauses
from .coverage_presence import Presence
from .coverage_tokens import Token, tokens_of

_HASH: Final = re.compile(r"[0-9a-fA-F]{4}")
"""What a sentence has that names a commit; any other sentence says the same whichever commit was looked at."""
Level = Literal["whole", "part", "none"]
MAX_TOKENS: Final = 256
"""Tokens of a sentence that is read by forms; a longer one is not covered anywhere."""


class Coverage(NamedTuple):
    """What the checks of an assertion say of its sentence.

    Attributes:
        level: the checks say all of it, some of it, or nothing that stands in it.
        unchecked: what they do not say: code points of the sentence as it was given, half open, in order.
        by: by what the level is `whole`: `form`, or a proposer's name; empty where that is not told.
    """

    level: Level
    unchecked: tuple[tuple[int, int], ...]
    by: str = ""


class Proposed(NamedTuple):
    """Who proposed the checks of an assertion, and whether they are said to say all of it."""

    by: str
    whole: bool


def cover(
    sentence: str,
    checks: Sequence[Check | Unknown],
    *,
    path: str | None = None,
    commit: str | None = None,
    scope: Scope = "file",
    derived_sentence: bool = False,
    proposal: Proposed | None = None,
) -> Coverage:
    """How much of a sentence its checks speak of.

    Args:
        sentence: as it was emitted.
        checks: of the assertion. One that nobody can read covers nothing, and the sentence is not `whole` beside it.
        path: the file that was looked at; a check's own path goes before it. None where several were, or none.
        commit: the hash of the commit that was looked at.
        scope: what was looked at where no path is named: `repository` for all tracked files, `channel` for what a
            channel reports of itself. With `file` a check that speaks of all of its scope needs a path.
        derived_sentence: the only check is the derived one that the sentence itself stands somewhere.
        proposal: of the checks; nothing is covered by it alone.

    Returns:
        The level, with what is unchecked. Never raises.
    """
    if derived_sentence:
        return Coverage("part", _everything(sentence))
    # By what they are written as: in Python 1 and True are one value.
    known = dict.fromkeys(canonical(check) for check in checks if isinstance(check, Check))
    readable = all(isinstance(check, Check) for check in checks)
    commit = commit if _HASH.search(sentence) or not sentence.isascii() else None
    return _covered(sentence, tuple(known), readable, path, commit, scope)


@lru_cache(maxsize=1024)  # several kinds of evidence are asked about one sentence and one file
def _covered(
    sentence: str, written: tuple[str, ...], readable: bool, path: str | None, commit: str | None, scope: Scope
) -> Coverage:
    """As `cover`, of checks by what they are written as; `readable` says that these are all."""
    everything = _everything(sentence)
    tokens = tokens_of(sentence)
    known = [check for check in map(parse_check, written) if isinstance(check, Check)]
    present = Presence(sentence, tokens)
    bounds = [Bound(check, path, commit, scope) for check in known if present.of(check)]
    if not bounds:
        return Coverage("none", everything)
    if len(tokens) > MAX_TOKENS:
        return Coverage("part", everything)
    unchecked = _spans(tokens, Clauses(tokens, bounds).unchecked)
    whole = bool(tokens) and readable and not unchecked
    return Coverage("whole" if whole else "part", unchecked)


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
