"""The shape of what `sluice explain --json` says of checks (explanation.py, of which these are parts)."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType


class Part(msgspec.Struct, kw_only=True):
    """Base of the parts: what does not apply is left out."""


class Place(Part, kw_only=True):
    """Where a check was seen to hold, or to be false: lines from 1."""

    path: str | UnsetType = UNSET
    lines: tuple[int, int] | UnsetType = UNSET
    commit: str | UnsetType = UNSET


class Held(Part, kw_only=True):
    """What one check came to where an observer looked.

    Attributes:
        index: of the check, among the assertion's.
        holds: whether it holds; false: exactly false there; null: undecided.
        reason: why it does not hold, as far as the observer says so in a word that is known (docs/checks.md).
        check: the check as the observer writes it, where the assertion is not known.
    """

    index: int
    holds: bool | None
    reason: str | UnsetType = UNSET
    check: str | UnsetType = UNSET
    place: Place | UnsetType = UNSET


class CheckCount(Part, kw_only=True):
    """How far one check had come.

    Attributes:
        counted: how many independent classes carried it, of `k`.
        classes: those that verified it by name. They may be more, where the policy counts some of them as one, and
            fewer, where it counts observers that name no check.
    """

    counted: int
    k: int
    classes: list[str]


class Check(Part, kw_only=True):
    """One check of an assertion.

    Attributes:
        check: its canonical form.
        unknown: why it is not a check that this version knows; then the others admit nothing.
        count: how far it has come, while the assertion lives.
    """

    check: str
    unknown: str | UnsetType = UNSET
    count: CheckCount | UnsetType = UNSET
