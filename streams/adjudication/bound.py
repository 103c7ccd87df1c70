"""What a bound observation may say: what comes of the signed sighting that it carries, and no more (docs/security.md).

A binding lane pairs a sighting with an assertion that cites it. The observer signed only the sighting. The binding lane
added subject, outcome and checks, and any party that may write to `observations` or `citations` could forge these. So
the fold decides the assertion's own checks on the signed content again (judging/matching.py), and takes everything else
that counts from the sighting. The state does not keep the annotation's path: a check that names no file is decided on
the file of the sighting, which is the file that the admitted record then names. Pure.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from ...codecs.records import CheckForm, Citation, CoverageLevel, Observation, Sighting
from ...codecs.spans import Span
from ..judging.coverage import cover
from ..judging.derivation import checks_of
from ..judging.matching import match
from ..judging.outcomes import Judged
from . import standing
from .emission_state import COVERAGE, AssertionState, short

_CHANNEL: Final = "substrate.do.sse-count"
_GREP: Final = "substrate.grep"
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
    found = _judged(state, cls, sighting)
    if found.outcome != bound.outcome or bound.verified is None:
        return None
    told = COVERAGE.index(bound.coverage) if bound.coverage is not None else 0
    is_less = told < COVERAGE.index(found.coverage.level)
    return replace(
        plain,
        verified=[place for place in bound.verified if place in found.verified],
        refuted=list(found.refuted),
        coverage=bound.coverage if is_less else found.coverage.level,
        unchecked=bound.unchecked if is_less else list(found.coverage.unchecked),
        detail={"checks": [{"holds": one.holds, **({"path": one.path} if one.path else {})} for one in found.helds]},
    )


def _judged(state: AssertionState, cls: str, sighting: Sighting) -> Judged:
    declared = state.checking.texts if state.checking is not None else None
    derived = checks_of(state.text, state.kind, declared)
    given: Any = (sighting.locator or {}).get("path")
    path = given if isinstance(given, str) and given else None
    scope = "channel" if cls == _CHANNEL else "repository" if cls == _GREP and path is None else "file"
    covered = cover(state.text, standing.checks(state), path=path, scope=scope)
    level: CoverageLevel = covered.level
    form: CheckForm = derived.form
    citation = Citation(
        observation_id=sighting.observation_id,
        substrate_class=cls,
        emission_id=state.emission_id,
        span=Span(path=""),
        kind=state.kind,
        terms=[],
        cited_at=0,
        checks=list(derived.checks),
        coverage=level,
        unchecked=list(covered.unchecked),
        form=form,
    )
    return match(cls, citation, sighting.content, path or "").judged
