"""How much of a sentence its checks say: all of it, some of it, or nothing (docs/checks.md).

All of it, where the sentence is a claim form of these very checks (`claim_forms.py`), or where a proposal says so and
the guard (`guard.py`) finds nothing left. Checks that say the opposite of the sentence say nothing of it. Pure, and
bounded: a sentence beyond the bounds is at most `part`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from .checks import OPERATORS, Check, Unknown, canonical, parse_check
from .claim_forms import Claim, claim
from .coverage_tokens import Token, tokens_of
from .guard import Compared, compare
from .lexicon import SYMBOLIC
from .mentions import proves
from .text_checks import find_quote, flat

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
    """What a proposal says of its checks.

    Attributes:
        by: the proposer's name.
        whole: they say all of the sentence.
    """

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
    """How much of a sentence its checks say.

    Args:
        sentence: as it was emitted.
        checks: of the assertion. With one that cannot be read the sentence is never `whole`.
        path: the file that was looked at; a check's own path goes before it. None where several were, or none.
        commit: the hash of the commit that was looked at.
        scope: what was looked at where no path is named.
        proposal: what the assertion's proposal says, where a listed proposer signed it.
        confirmed: what the look adds.

    Returns:
        The level, with what is unchecked. Never raises.
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
