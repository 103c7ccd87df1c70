"""Whether an observation speaks of what the lane took in: of that record, and of those checks (docs/security.md).

Observers look at every record on `emissions`, also at those that a lane refuses. A stranger may reuse the id, attempt
and span of another's emission; an honest observer then signs what it saw of the stranger's words. So our observers say
which record they looked at (`subject.digest`) and which checks they decided (`detail.checks[i].check`). Where an
observation says so, it counts for nothing else. An observer that says neither vouches for whatever stands under that
id. Pure.
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec.structs import replace

from ...codecs import digests
from ...codecs.records import MAX_CHECK_LENGTH, Observation, Subject
from ..judging.checks import Check, canonical, parse_check
from . import standing
from .emission_state import AssertionState

DIGEST_BYTES: Final = 16
"""Of the SHA-256 of an emission's bytes: what a lane remembers of its record."""
_DECIDING: Final = {"corroborates": "verified", "contradicts": "refuted"}
"""The member whose checks an outcome rests on."""


def is_of_another(subject: Subject, digest: bytes) -> bool:
    """Whether what was looked at is another record than the one that was taken in.

    Args:
        subject: of the observation.
        digest: the attempt's (`emission_state.Attempt`).
    """
    return subject.digest is not None and not digests.names(subject.digest, digest[:DIGEST_BYTES])


def of_own_checks(state: AssertionState, observation: Observation) -> Observation | None:
    """The observation without what it says of checks that are not the assertion's.

    Args:
        state: the assertion.
        observation: of it.

    Returns:
        The observation as it is, nearly always. None where nothing is left on which its outcome could rest.
    """
    if not standing.has_own(state):
        return _of_told_checks(state, observation)
    said = observation.verified or observation.refuted
    detail: Any = (observation.detail or {}).get("checks")
    if not said or not isinstance(detail, list):
        return observation
    reported, own = cast("list[Any]", detail), standing.texts(state)
    others = [place for place, one in enumerate(reported[: len(own)]) if _is_another(one, own[place])]
    if not others:
        return observation
    verified, refuted = _without(observation.verified, others), _without(observation.refuted, others)
    decided = {"verified": verified, "refuted": refuted}
    field = _DECIDING.get(observation.outcome)
    if field is not None and getattr(observation, field) and not decided[field]:
        return None
    left: list[Any] = [{} if place in others else one for place, one in enumerate(reported)]
    return replace(observation, **decided, detail=_with_checks(observation, left))


def _of_told_checks(state: AssertionState, observation: Observation) -> Observation | None:
    """The observation with what it says of the check that it tells, at the place where that is kept.

    Of an assertion without its own checks an observer tells one, the first. What is no check counts for nothing, nor
    does what finds no room (`standing.place_of_told`).
    """
    detail: Any = (observation.detail or {}).get("checks")
    reported = cast("list[Any]", detail)[0] if isinstance(detail, list) and detail else None
    if reported is None and not observation.verified and not observation.refuted:
        return observation  # it speaks of the assertion as a whole, or of nothing
    given: Any = cast("dict[str, Any]", reported).get("check") if isinstance(reported, dict) else None
    check = parse_check(given) if isinstance(given, str) and len(given) <= MAX_CHECK_LENGTH else None
    place = None
    if isinstance(check, Check):
        verifies = observation.outcome == "corroborates" and 0 in (observation.verified or ())
        place = standing.place_of_told(state, check, canonical(check), verified=verifies)
    field = _DECIDING.get(observation.outcome)
    if place is None:
        if field is not None and getattr(observation, field) is not None:
            return None
        return replace(observation, verified=None, refuted=None, detail=_with_checks(observation, []))
    verified, refuted = _moved(observation.verified, place), _moved(observation.refuted, place)
    if field is not None and getattr(observation, field) and not {"verified": verified, "refuted": refuted}[field]:
        return None
    return replace(
        observation,
        verified=verified,
        refuted=refuted,
        detail=_with_checks(observation, [*([{}] * place), reported]),
    )


def _with_checks(observation: Observation, checks: list[Any]) -> dict[str, Any]:
    return {**(observation.detail or {}), "checks": checks}


def _moved(places: list[int] | None, place: int) -> list[int] | None:
    return None if places is None else [place] if 0 in places else []


def _is_another(reported: Any, own: str) -> bool:
    """Whether what was reported names a check, and another one. What is no check names none: it cannot be decided."""
    text: Any = cast("dict[str, Any]", reported).get("check") if isinstance(reported, dict) else None
    if not isinstance(text, str) or text == own:
        return False
    found, wanted = parse_check(text), parse_check(own)
    if not isinstance(found, Check):
        return False
    return not isinstance(wanted, Check) or canonical(found) != canonical(wanted)


def _without(places: list[int] | None, others: list[int]) -> list[int] | None:
    return None if places is None else [place for place in places if place not in others]
