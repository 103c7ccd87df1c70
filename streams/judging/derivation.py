"""Which checks an assertion has: a pure function of what was emitted (docs/checks.md).

Those that it declares; else the one that its sentence gives by a claim form; else none. Every observer and the bind
lane derive the same ones. A check is never derived because it holds, nor from the words of a sentence alone. Nothing is
looked up here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...codecs.records import MAX_CHECK_LENGTH, CheckForm, Kind
from .claim_forms import FORMS_VERSION, claim

__all__ = ["FORMS_VERSION", "Derived", "checks_of"]


class Derived(NamedTuple):
    """The checks of an assertion.

    Attributes:
        checks: as text, in order; their places are what observations count in.
        declared: the assertion declares them itself.
        form: where they come from: `declared`, `claim` (its words), or `none`.
    """

    checks: tuple[str, ...]
    declared: bool
    form: CheckForm


_NONE: Final = Derived((), False, "none")


def checks_of(text: str, kind: Kind, declared: Sequence[str] | None) -> Derived:
    """The checks of an assertion.

    Args:
        text: the assertion's, as it was emitted.
        kind: of the assertion. A refusal states nothing and has none, whatever it declares.
        declared: those that it declares; an empty list declares none.

    Returns:
        The checks as text, declared ones as they were given, whether they are well formed or not; of a claim form only
        one, since what its evidence is counted by is one check. Never raises.
    """
    if kind == "refusal":
        return _NONE
    if declared:
        return Derived(tuple(declared), True, "declared")
    claimed = claim(text, kind)
    if claimed is None or len(claimed.checks) != 1 or len(claimed.checks[0]) > MAX_CHECK_LENGTH:
        return _NONE
    return Derived(claimed.checks, False, "claim")
