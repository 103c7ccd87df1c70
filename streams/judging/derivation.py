"""Which checks an assertion has: a pure function of what was emitted (docs/checks.md).

Those that it declares; else the one that its sentence gives by a claim form; else, for a sentence of five words or more
that does not deny, that the sentence itself stands somewhere; else none. The lane, its audit and every observer derive
the same ones. Nothing is looked up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from ...codecs.records import MAX_CHECK_LENGTH, CheckForm, Kind
from .checks import Check, canonical, parse_check, written_value
from .claim_forms import claim

FORMS_VERSION: Final = 1
"""The version of the claim forms: the same sentence gives the same check and coverage under the same version. It stands
in the headers of the bind ledger, whose lanes derive."""
LEAST_WORDS: Final = 5
"""Words of a sentence from which on its standing somewhere says anything."""
_FINAL: Final = " .!?…。"
"""What ends a sentence and is no part of what it says."""


class Derived(NamedTuple):
    """The checks of an assertion.

    Attributes:
        checks: as text, in order; their places are what observations count in.
        declared: the assertion declares them itself.
        form: where they come from: `declared`, `claim` (its words), `sentence` (that it stands there), or `none`.
    """

    checks: tuple[str, ...]
    declared: bool
    form: CheckForm


_NONE: Final = Derived((), False, "none")


def checks_of(text: str, kind: Kind, declared: Sequence[str] | None) -> Derived:
    """The checks of an assertion.

    Args:
        text: the assertion's, as it was emitted.
        kind: of the assertion. A refusal states nothing and has none, whatever it declares; a denial has no check that
            its sentence stands somewhere.
        declared: those that it declares; an empty list declares none.

    Returns:
        The checks as text, declared ones as they were given, whether they are well formed or not. Never raises.
    """
    if kind == "refusal":
        return _NONE
    return Derived(tuple(declared), True, "declared") if declared else _derived(text, kind)


@lru_cache(maxsize=4096)
def _derived(text: str, kind: Kind) -> Derived:
    claimed = claim(text, kind)
    if claimed is not None and len(claimed) <= MAX_CHECK_LENGTH:
        return Derived((claimed,), False, "claim")
    sentence = None if kind == "denial" else _sentence(text)
    return _NONE if sentence is None else Derived((sentence,), False, "sentence")


def _sentence(text: str) -> str | None:
    """`contains(the sentence)`, without its final punctuation; None where it is too short, too long or no text."""
    if len(text) > 2 * MAX_CHECK_LENGTH:
        return None
    words = text.split()
    if len(words) < LEAST_WORDS:
        return None
    quote = " ".join(words).rstrip(_FINAL)
    try:
        check = parse_check(f"contains({written_value(quote)})")
    except UnicodeEncodeError:  # half a character
        return None
    written = canonical(check) if isinstance(check, Check) else ""
    return written if 0 < len(written) <= MAX_CHECK_LENGTH else None
