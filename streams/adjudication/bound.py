"""What a bound observation may say: what comes of the signed sighting that it carries, and no more (docs/security.md).

A binding lane pairs a sighting with an assertion that cites it. The observer signed only the sighting. The binding lane
added subject, outcome and checks, and any party that may write to `observations` or `citations` could forge these. So
the fold decides the assertion's checks on the signed content again (judging/matching.py), and takes everything else
that counts from the sighting. The state does not keep the annotation's path: a check that names no file is decided on
the file of the sighting, which is the file that the admitted record then names.

Of an assertion without its own checks the binding lane tells the check that its words give, and of every assertion how
much the checks cover. The fold reads no prose: it makes sure only that the told check holds on the signed content, and
takes the coverage as it was told. That check and coverage are what the forms of the bind ledger's header give is for
the audit of that ledger to show, which recomputes both; and that no other party writes to `observations`, for the
topic's rights. Pure.
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec.structs import replace

from ...codecs.records import MAX_CHECK_LENGTH, Observation, Sighting
from ..judging.coverage import Coverage
from ..judging.derivation import Derived
from ..judging.matching import match
from ..judging.outcomes import Judged, checks_of_assertion
from . import standing
from .emission_state import AssertionState, short

_DECIDING: Final = ("corroborates", "contradicts")


def as_signed(state: AssertionState, bound: Observation, cls: str, sighting: Sighting) -> Observation | None:
    """A bound observation with what its signed sighting bears out.

    Args:
        state: the assertion that it is said to speak of.
        bound: as it came.
        cls: its bare class, which is the sighting's.
        sighting: that it carries.

    Returns:
        None where the assertion does not cite that sighting, or where its outcome is not what the sighting says.
    """
    kept = short(sighting.observation_id)
    if not any(one.substrate_class == cls and one.id >= 0 and state.ids[one.id] == kept for one in state.declared):
        return None
    plain = replace(bound, looked_at=None, judge=None, attestation=sighting.attestation)
    if bound.outcome not in _DECIDING:
        return plain  # counts for nothing
    checks = list(standing.texts(state)) if standing.has_own(state) else _told(bound)
    found = _judged(state, cls, sighting, checks, bound)
    if found.outcome != bound.outcome or bound.verified is None:
        return None
    helds = [
        {"check": check, "holds": one.holds, **({"path": one.path} if one.path else {})}
        for check, one in zip(checks, found.helds, strict=True)
    ]
    return replace(
        plain,
        verified=[place for place in bound.verified if place in found.verified],
        refuted=list(found.refuted),
        detail={"checks": helds},
    )


def _told(bound: Observation) -> list[str]:
    """The check that a bound observation tells; empty where it tells none."""
    detail: Any = (bound.detail or {}).get("checks")
    first = cast("list[Any]", detail)[0] if isinstance(detail, list) and detail else None
    text: Any = cast("dict[str, Any]", first).get("check") if isinstance(first, dict) else None
    return [text] if isinstance(text, str) and len(text) <= MAX_CHECK_LENGTH else []


def _judged(state: AssertionState, cls: str, sighting: Sighting, checks: list[str], bound: Observation) -> Judged:
    given: Any = (sighting.locator or {}).get("path")
    is_own = standing.has_own(state)
    asked = checks_of_assertion(state.kind, Derived(tuple(checks), is_own, "declared" if is_own else "claim"))
    unchecked = tuple((start, end) for start, end in bound.unchecked or ())
    coverage = Coverage(bound.coverage or "part", unchecked)
    return match(cls, asked, coverage, sighting.content, given if isinstance(given, str) else "")
