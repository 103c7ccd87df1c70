"""From the checks of an assertion, each decided at one place, to the outcome of the look (the table of outcomes).

The same for every observer and for the binding lane, so that two who see the same state say the same. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from ...codecs.records import Kind, Outcome
from .checks import Check, Unknown, parse_check
from .coverage import Coverage
from .derivation import Derived
from .guard import NEGATIVE
from .results import Held

__all__ = ["NEGATIVE", "AbsentReason", "AssertionChecks", "Judged", "checks_of_assertion", "judged"]

AbsentReason = Literal[
    "terms-missing",  # no check, and its words are not there
    "check-fails",  # not found, and nothing exact against it
    "check-undecided",
    "check-not-bound",  # a check holds, but nothing in the sentence is an argument of it
    "changed-since",  # false now, but the file has changed since the time that the annotation speaks of
    "path-missing",  # the file is not in the tree that was looked at
    "outside-locator",  # what decides a check stands where the annotation does not say that it looked
]


class AssertionChecks(NamedTuple):
    """What an assertion asks of a substrate.

    Attributes:
        kind: states or denies; a refusal asks nothing.
        derived: its checks as text, and where they come from.
        checks: the same, read.
    """

    kind: Kind
    derived: Derived
    checks: tuple[Check | Unknown, ...]

    @property
    def is_sentence(self) -> bool:
        """It has no check: it is held to its words, which never count."""
        return not self.checks


def checks_of_assertion(kind: Kind, derived: Derived) -> AssertionChecks:
    """The question that an assertion with these checks asks."""
    return AssertionChecks(kind, derived, tuple(map(parse_check, derived.checks)))


class Judged(NamedTuple):
    """What came of a look, as an observation tells it.

    Attributes:
        outcome: of the look.
        reason: for `absent` alone.
        verified, refuted: indices into the assertion's checks.
        coverage: how much of the sentence its checks speak of.
        helds: what each check came to, in their order.
    """

    outcome: Outcome
    reason: AbsentReason | None
    verified: tuple[int, ...]
    refuted: tuple[int, ...]
    coverage: Coverage
    helds: tuple[Held, ...]


def judged(
    asked: AssertionChecks,
    helds: Sequence[Held],
    coverage: Coverage,
    words_present: bool,
    excused: Collection[int] = (),
) -> Judged:
    """The outcome of a look.

    Args:
        asked: what was asked.
        helds: what each check came to here, in the order of the question's.
        coverage: how much of the sentence the checks say. One that says the opposite of the sentence neither bears it
            out nor contradicts it.
        words_present: whether every term of the sentence stands in the region that was looked at (the old test).
        excused: places of checks that do not contradict the sentence by being false (`excused`).
    """
    fitted = tuple(_for_kind(asked, check, held) for check, held in zip(asked.checks, helds, strict=True))
    verified = tuple(place for place, held in enumerate(fitted) if held.holds is True)
    refuted = tuple(place for place, held in enumerate(fitted) if held.holds is False)
    against = [place for place in refuted if place not in coverage.opposed and place not in excused]
    outcome, reason = _outcome(asked, fitted, bool(verified), refuted, against, coverage, words_present)
    return Judged(outcome, reason, verified, refuted, coverage, fitted)


def _for_kind(asked: AssertionChecks, check: Check | Unknown, held: Held) -> Held:
    """What a check bears out: on a denial only `absent`, `missing` and what stands behind a `not`."""
    if isinstance(check, Unknown):
        return Held(None, "unknown-check")
    if asked.kind != "denial" or check.negated or check.name in NEGATIVE:
        return held
    # A form of words read from a denial says which words, not whether they are denied: it decides neither way.
    if held.holds is True or (held.holds is False and not asked.derived.declared):
        return held._replace(holds=None, reason="denial")
    return held


def _outcome(
    asked: AssertionChecks,
    helds: Sequence[Held],
    verified: bool,
    refuted: Sequence[int],
    against: Sequence[int],
    coverage: Coverage,
    words_present: bool,
) -> tuple[Outcome, AbsentReason | None]:
    if any(helds[place].reason != "changed-since" for place in against):
        return "contradicts", None
    if against:
        return "absent", "changed-since"
    if refuted:
        return "absent", "check-not-bound"
    if verified:
        return ("corroborates", None) if coverage.level != "none" else ("absent", "check-not-bound")
    for reason in ("outside-locator", "path-missing"):
        if any(held.reason == reason for held in helds):
            return "absent", reason
    if asked.is_sentence:
        return ("terms-present", None) if words_present else ("absent", "terms-missing")
    fails = any(held.reason in ("not-found", "differs") for held in helds)
    return "absent", "check-fails" if fails else "check-undecided"
