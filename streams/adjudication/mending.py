"""What a request for another attempt says: what was missing, who saw what instead, how often and until when it may be
tried again (docs/mending.md).

An emitter can mend an answer only if it knows what was wrong with it. Observations that bear nothing out decide nothing
and are kept nowhere else; so while an assertion is pending, and the policy may ask for it again, its lane keeps one
look of each class: bounded in number and length, and dropped with the verdict. Looks decide nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast, get_args

from msgspec.structs import replace

from ...codecs.records import Effect, Observation, Outcome
from ...codecs.times import format_time
from ..judging.checks import Check, canonical
from ..judging.outcomes import AbsentReason
from ..judging.results import HeldReason
from ..policy.policy import Policy
from ..policy.privacy import binds_identity
from ..sanitise import WARNING, Trace, Treatment, clean_tree
from . import standing
from .check_places import place_in
from .checked_json import check_name, inert, place_members
from .decision_json import to_json
from .emission_state import CLASSES, NUMBER_OF, AssertionState, Look, Looks, Miss, Place

OUTCOMES: Final[tuple[Outcome, ...]] = (
    "absent",
    "terms-present",
    "unavailable",
    "contradicts",
    "unknown-observation",
    "corroborates",
)
"""The outcomes of looks, by the number that stands for them in the state. The last: some checks hold, others do not."""
MOST_TERMS: Final = 5
"""So many missing words of a look are kept."""
LONGEST_TERM: Final = 80
"""Characters of each."""
MOST_PLACES: Final = 5
"""Of so many checks of a look it is kept where they did not hold."""
LONGEST_PATH: Final = 200
"""Characters; a longer path is left out."""
CAP: Final = 500
"""Bytes that any string keeps in a request; a longer one is cut, and `_meta.truncated` says so."""
_ABSENT: Final[frozenset[str]] = frozenset(get_args(AbsentReason))
_HELD: Final[frozenset[str]] = frozenset(get_args(HeldReason))
FRAME_TYPE: Final = "veritas:UntrustedValidatorText"


# ---------------------------------------------------------------- looks are kept


def effects_with_looks(policy: Policy) -> frozenset[Effect]:
    """The effects of which the policy sends back what evidence falls short of.

    Not for `decayed-to-uncertainty` alone, as in the reference policy: there evidence was too old, so looks say little.
    """
    effects: tuple[Effect, ...] = ("internal", "external")
    sent_back = [one for status, one in policy.disposition.items() if status != "decayed-to-uncertainty"]
    return frozenset(effect for effect in effects if any(getattr(one, effect) == "re-emit" for one in sent_back))


def note(assertion_state: AssertionState, observation: Observation, cls: str, ts: int) -> None:
    """Keeps what a class saw instead of evidence; without effect where it saw all that was asked.

    Args:
        state: the assertion, pending.
        observation: of it; one that may count.
        cls: its bare class.
        ts: when it was made, Unix ms.
    """
    bound = binds_identity(observation.tier, cls)
    misses = _misses(assertion_state, observation, bound=bound)
    if observation.outcome == "corroborates" and not misses:
        return
    standing.note_look(
        assertion_state,
        Look(
            NUMBER_OF[cls],
            OUTCOMES.index(observation.outcome),
            ts,
            observation.observer,
            reason_of(observation),
            [] if bound else _terms((observation.detail or {}).get("missing")),
            misses,
        ),
    )


def reason_of(observation: Observation) -> str:
    """Why an observation is `absent`, a word of the closed list of judging/outcomes.py; empty where it gives none."""
    reason: Any = (observation.detail or {}).get("reason")
    return reason if isinstance(reason, str) and reason in _ABSENT else ""


def _terms(given: Any) -> list[str]:
    some = cast("list[Any]", given) if isinstance(given, list) else []
    return [one[:LONGEST_TERM] for one in some[: 4 * MOST_TERMS] if isinstance(one, str) and one.strip()][:MOST_TERMS]


def _misses(assertion_state: AssertionState, observation: Observation, *, bound: bool) -> list[Miss]:
    """The checks that an observation says do not hold, with the places of the first of them."""
    detail: Any = (observation.detail or {}).get("checks")
    some = cast("list[Any]", detail) if isinstance(detail, list) else []
    partly, verified = observation.outcome == "corroborates", frozenset(observation.verified or ())
    refuted = frozenset(observation.refuted or ())
    if (partly and observation.verified is None) or not (some or refuted or partly):
        return []
    misses: list[Miss] = []
    for check in range(len(standing.texts(assertion_state))):
        one: Any = some[check] if check < len(some) else None
        given = cast("dict[str, Any]", one) if isinstance(one, dict) else None
        fails = given is not None and given.get("holds") is not True
        if not (check not in verified if partly else check in refuted or fails):
            continue
        reason: Any = None if given is None else given.get("reason")
        place = Place() if bound or len(misses) >= MOST_PLACES else place_in(observation, check)
        misses.append(
            Miss(
                check,
                check in refuted,
                reason if isinstance(reason, str) and reason in _HELD else "",
                place if len(place.path) <= LONGEST_PATH else Place(),
            )
        )
    return misses


# ---------------------------------------------------------------- what is asked


def members(assertion_state: AssertionState, left: int, until: int, treatment: Treatment, *, commits: bool) -> str:
    """What a request says beside its record, as JSON members with a comma before each.

    Outside the frame stand enumerated values, numbers, identifiers and times. What strangers wrote stands in a frame of
    its own, sanitised, and the `_meta` beside it says what that changed.

    Args:
        state: the assertion, with its last verdict.
        left: how many further attempts the policy lets its emitter make.
        until: up to when its lane knows this attempt, Unix ms.
        treatment: what becomes of confusable characters.
        commits: whether commits may leave: they are observation ids [S §12].
    """
    looks = list(looks_of(assertion_state))
    missing: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    for (number, k), check in zip(standing.each_k(assertion_state), standing.checks(assertion_state), strict=False):
        known = isinstance(check, Check)
        carried = standing.carriers(assertion_state, number)
        if known and len(carried) >= k:
            continue
        missed = [(look, miss) for look in looks for miss in look.misses if miss.check == number]
        missing.append(
            {
                "number": number,
                "name": check_name(check) if known else "unknown",
                "k": k,
                "classes": [CLASSES[one] for one in carried],
                "seen": [_seen(look, miss) for look, miss in missed],
            }
        )
        places = [{"substrate_class": CLASSES[look.number]} | where(miss.place, commits) for look, miss in missed]
        asked.append(
            {
                "number": number,
                "check": inert(canonical(check)) if known else check.text,
                "seen": [one for one in places if len(one) > 1],
            }
        )
    trace = Trace()
    frame = {
        "@type": FRAME_TYPE,
        "warning": WARNING,
        "missing_terms": clean_tree(missing_terms(looks), "missing_terms", CAP, treatment, trace),
        "asked": clean_tree(asked, "asked", CAP, treatment, trace),
    }
    return (
        f',"attempts_left":{left},"mend_until":"{format_time(until)}","missing_checks":{to_json(missing)},'
        f'"looks":{to_json([look_members(look) for look in looks])},"mending":{{"_untrusted_text":{to_json(frame)},'
        f'"_meta":{to_json(trace.meta())}}}'
    )


def missing_terms(looks: Iterable[Look]) -> list[str]:
    """The words that none of these looks found, each once."""
    return list(dict.fromkeys(term for look in looks for term in look.terms))


def looks_of(assertion_state: AssertionState) -> Iterable[Look]:
    """The looks of those classes that have not corroborated the whole since, by their names."""
    words = assertion_state.checking.words if assertion_state.checking is not None else False
    if not isinstance(words, Looks):
        return ()
    latest = {seen.number: seen.latest for seen in assertion_state.seen}
    still = [look for look in words.looks if latest.get(look.number, -1) <= look.ts]
    return sorted(still, key=lambda look: look.number)  # `CLASSES` are sorted


def look_members(look: Look) -> dict[str, Any]:
    """What a request says of a look outside the frame."""
    said: dict[str, Any] = {
        "substrate_class": CLASSES[look.number],
        "outcome": OUTCOMES[look.outcome],
        "observed_at": format_time(look.ts),
        "observer": look.observer,
    }
    return said | ({"reason": look.reason} if look.reason else {})


def _seen(look: Look, miss: Miss) -> dict[str, Any]:
    said: dict[str, Any] = {"substrate_class": CLASSES[look.number], "refuted": miss.refuted}
    return said | ({"reason": miss.reason} if miss.reason else {})


def where(place: Place, commits: bool) -> dict[str, Any]:
    """The members that say where a check did not hold; `commits`: whether it may name the commit."""
    return place_members(place if commits else replace(place, commit=""))
