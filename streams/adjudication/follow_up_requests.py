"""What the requests of a lane say: for another attempt (docs/mending.md), and for a review (docs/howto/review.md).

An emitter can mend an answer only if it knows what was missing, who saw what instead, how often and until when it may
try again. A reviewer sees what was claimed, what was asked and seen, what did not count and why, and the text around
the assertion. Of an emission a lane remembers only its assertions, so this material is kept beside each of them while
a request may still need it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast, get_args

import msgspec
from msgspec.structs import replace

from ...codecs.records import EFFECTS, Assertion, Effect, Emission, Observation
from ...codecs.times import format_time
from ...codecs.vocabulary import TERMINALS
from ..judging.checks import Check, HeldReason, canonical
from ..judging.verify import AbsentReason
from ..policy.policy import Policy
from ..policy.privacy import IDENTITY_BOUND, binds_identity
from ..sanitise import WARNING, Trace, Treatment, clean_tree
from . import check_tally
from .check_tally import NotCountedReason, place_in
from .corroboration import class_of
from .decision_json import check_name, inert, place_members, to_json
from .emission_state import (
    CLASSES,
    NUMBER_OF,
    OUTCOMES,
    AssertionState,
    Declared,
    Look,
    Looks,
    Material,
    Miss,
    NotCounted,
    Place,
)

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
    """Returns the effects of which the policy sends back what evidence falls short of.

    Not for `decayed-to-uncertainty` alone, as in the reference policy: there evidence was too old, so looks say little.
    """
    effects: tuple[Effect, ...] = ("internal", "external")
    sent_back = [one for status, one in policy.disposition.items() if status != "decayed-to-uncertainty"]
    return frozenset(effect for effect in effects if any(getattr(one, effect) == "re-emit" for one in sent_back))


def keep_look(assertion_state: AssertionState, observation: Observation, cls: str, ts: int) -> None:
    """Keeps what a class saw instead of evidence at `ts` (Unix ms); without effect where it saw all that was asked."""
    bound = binds_identity(observation.tier, cls)
    misses = _misses(assertion_state, observation, bound=bound)
    if observation.outcome == "corroborates" and not misses:
        return
    check_tally.note_look(
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
    """Why an observation is `absent`, a word of the closed list of judging/verify.py; empty where it gives none."""
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
    for check in range(len(check_tally.texts(assertion_state))):
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


def re_emission_members(
    assertion_state: AssertionState, left: int, until: int, treatment: Treatment, *, commits: bool
) -> str:
    """Returns what a request says beside its record, as JSON members with a comma before each.

    Outside the frame stand enumerated values, numbers, identifiers and times. Untrusted text stands in a frame of its
    own, sanitised, and the `_meta` beside it says what that changed. `left` attempts remain; the lane knows this one
    until `until` (Unix ms). `commits` says whether commits may be named: they are observation ids [S §12].
    """
    looks = list(looks_of(assertion_state))
    missing: list[dict[str, Any]] = []
    asked: list[dict[str, Any]] = []
    for (number, k), check in zip(
        check_tally.each_k(assertion_state), check_tally.checks(assertion_state), strict=False
    ):
        known = isinstance(check, Check)
        carried = check_tally.carriers(assertion_state, number)
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


AROUND: Final = 200
"""Characters of the emission's text that are kept on either side of an assertion."""
MOST_ANNOTATIONS: Final = 20
"""Of so many annotations a request tells."""
LONGEST_LOCATOR: Final = 400
"""Bytes; a longer locator is left out."""
MOST_NOT_COUNTED: Final = 10
"""So many observations that did not count are kept: of each class and observer the newest."""
MOST_OF_STRANGERS: Final = 5
"""So many of them are of observers that the policy does not list, so that these hide none that it does."""
_SAID_ALREADY: Final[frozenset[NotCountedReason]] = frozenset({"not-newer", "repeated"})
"""What a newer observation of its class, which counts, says as well."""
_NO_CLASS: Final = "unknown"
_NAMED: Final = frozenset({*CLASSES, *TERMINALS})


# ---------------------------------------------------------------- kept


def effects_reviewed(policy: Policy) -> frozenset[Effect]:
    """The effects of which the policy may put an assertion up for review; the last attempt of what is sent back goes to
    a reviewer as well."""
    given = policy.disposition.values()
    return frozenset(one for one in EFFECTS if any(getattr(by, one) in ("review", "re-emit") for by in given))


def material(emission: Emission, assertion: Assertion, locators: Sequence[bytes]) -> Material:
    """Returns what a reviewer may need of an emission beside the assertion. `locators` are those of the annotations
    that may count, as they came, empty bytes for none."""
    text, chars = emission.text or "", None if assertion.span is None else assertion.span.chars
    before, after = (
        ("", "") if chars is None else (text[max(0, chars[0] - AROUND) : chars[0]], text[chars[1] :][:AROUND])
    )
    kept = [one if len(one) <= LONGEST_LOCATOR else b"" for one in locators[:MOST_ANNOTATIONS]]
    return Material(before, after, kept if any(kept) else [])


class _Located(msgspec.Struct, gc=False):
    locator: msgspec.Raw = msgspec.Raw(b"")


class _Claimed(msgspec.Struct, gc=False):
    provenance: _Located | list[_Located] | None = None


class _Said(msgspec.Struct, gc=False):
    assertions: list[_Claimed] | None = None


_said = msgspec.json.Decoder(_Said)


def locators_of(emission: Emission, value: bytes | None) -> list[list[bytes]]:
    """Returns the locators of each assertion's annotations as they came in `value`, the emission's record; empty where
    there is none. What the record says in-line has no form of its own, and is written anew."""
    given = emission.assertions or ()
    claimed = _said.decode(value or b"{}").assertions if any(_is_located(one) for one in given) else None
    if claimed is None or len(claimed) != len(given):
        return [[_written(one.locator) for one in claim.annotations] for claim in given]
    found: list[list[bytes]] = []
    for one in claimed:
        located = one.provenance if isinstance(one.provenance, list) else [one.provenance] if one.provenance else []
        found.append([b"" if (raw := bytes(place.locator)) == b"null" else raw for place in located])
    return found


def _is_located(assertion: Assertion) -> bool:
    return any(one.locator is not None for one in assertion.annotations)


def _written(locator: dict[str, Any] | None) -> bytes:
    return b"" if locator is None else msgspec.json.encode(locator)


def keep_not_counted(
    policy: Policy, state: AssertionState, observation: Observation, ts: int, why: NotCountedReason
) -> None:
    """Keeps that an observation made at `ts` (Unix ms) did not count for a pending assertion, and why."""
    kept, cls = state.material, class_of(observation)
    if kept is None or cls is None or why in _SAID_ALREADY:
        return
    outcome = OUTCOMES.index(observation.outcome)
    reason = reason_of(observation)
    one = NotCounted(NUMBER_OF[cls], outcome, ts, observation.observer, why, reason)
    for place, other in enumerate(kept.not_counted):
        if (other.number, other.observer) == (one.number, one.observer):
            if ts >= other.ts:
                kept.not_counted[place] = one
            return
    is_listed = one.observer in policy.observers
    alike = sum((other.observer in policy.observers) == is_listed for other in kept.not_counted)
    if alike < (MOST_NOT_COUNTED - MOST_OF_STRANGERS if is_listed else MOST_OF_STRANGERS):
        kept.not_counted.append(one)


def drop_material(state: AssertionState) -> None:
    """Nobody will be asked about it any more: what a reviewer would have needed goes."""
    if state.material is not None:
        state.reviewers = list(state.admitted_by)


# ---------------------------------------------------------------- told


def checks_json(state: AssertionState) -> str:
    """The member `checks` of a request, with a comma behind it: which classes verified and which refuted each."""
    looks = list(looks_of(state))
    said: list[dict[str, Any]] = []
    for (number, k), check in zip(check_tally.each_k(state), check_tally.checks(state), strict=False):
        verified = check_tally.verifiers(state, number)
        refuted = sorted(
            {look.number for look in looks for miss in look.misses if miss.check == number and miss.refuted}
        )
        said.append(
            {
                "name": check_name(check) if isinstance(check, Check) else "unknown",
                "classes": len(verified),
                "number": number,
                "k": k,
                "verified": [CLASSES[one] for one in verified],
                "refuted": [CLASSES[one] for one in refuted],
            }
        )
    return f'"checks":{to_json(said)},'


def review_members(
    state: AssertionState,
    assertion: Assertion | None,
    deadline: int,
    shown_id: Any,
    treatment: Treatment,
    *,
    commits: bool,
) -> str:
    """Returns what a request for a review says beside its record, as JSON members with a comma before each; without
    `checks`, which stands where the record has it. `deadline` in Unix ms; `shown_id` gives an observation id as far as
    privacy lets it out; the rest is as in `re_emission_members`."""
    kept = state.material or Material("", "", [])
    looks = list(looks_of(state))
    annotations, claimed, left_out = _annotations(state, assertion, kept, shown_id, commits)
    not_counted = [_not_counted(one) for one in sorted(kept.not_counted, key=lambda one: (one.number, one.observer))]
    asked: list[dict[str, Any]] = []
    for number, check in enumerate(check_tally.checks(state)):
        missed = [(look, miss) for look in looks for miss in look.misses if miss.check == number]
        places = [{"substrate_class": CLASSES[look.number]} | where(miss.place, commits) for look, miss in missed]
        text = inert(canonical(check)) if isinstance(check, Check) else check.text
        asked.append({"number": number, "check": text, "seen": [one for one in places if len(one) > 1]})
    trace = Trace()

    def cleaned(value: Any, field: str, cap: int = CAP) -> Any:
        return clean_tree(value, field, cap, treatment, trace) if value else value

    frame = {
        "@type": FRAME_TYPE,
        "warning": WARNING,
        "before": cleaned(kept.before, "before", 4 * AROUND),
        "after": cleaned(kept.after, "after", 4 * AROUND),
        "asked": cleaned(asked, "asked"),
        "claimed": cleaned(claimed, "claimed"),
        "missing_terms": cleaned(missing_terms(looks), "missing_terms"),
    }
    more = f',"annotations_left_out":{left_out}' if left_out else ""
    return (
        f',"deadline":"{format_time(deadline)}","annotations":{to_json(annotations)}{more},'
        f'"looks":{to_json([look_members(look) for look in looks])},"not_counted":{to_json(not_counted)},'
        f'"reviewing":{{"_untrusted_text":{to_json(frame)},"_meta":{to_json(trace.meta())}}}'
    )


def _annotations(
    state: AssertionState, assertion: Assertion | None, kept: Material, shown_id: Any, commits: bool
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """The annotations outside the frame, what of them stands inside, and how many are left out."""
    said: list[dict[str, Any]] = []
    claimed: list[dict[str, Any]] = []
    if assertion is not None and len(state.declared) < len(assertion.annotations):
        # Of what never counts, a terminal or a class of no vocabulary, only the emission tells: the verdict is on it.
        for number, one in enumerate(assertion.annotations[:MOST_ANNOTATIONS]):
            name = one.substrate_class if one.substrate_class in _NAMED else _NO_CLASS
            said.append({"number": number, "substrate_class": name})
            framed: dict[str, Any] = {} if name != _NO_CLASS else {"substrate_class": one.substrate_class}
            if one.locator is not None and len(_written(one.locator)) <= LONGEST_LOCATOR and name not in IDENTITY_BOUND:
                framed["locator"] = _let_out(one.locator, commits)
            if framed:
                claimed.append({"number": number, **framed})
        return said, claimed, max(0, len(assertion.annotations) - MOST_ANNOTATIONS)
    for number, one in enumerate(state.declared[:MOST_ANNOTATIONS]):
        cls, entry = one.substrate_class, dict[str, Any]()
        entry |= {"number": number, "substrate_class": cls}
        observation_id = state.id_of(one)
        if observation_id is not None and (shown := shown_id(observation_id, _may_bind_identity(state, one))):
            entry["observation_id"] = shown
        if one.ts is not None:
            entry["ts"] = format_time(one.ts)
        said.append(entry)
        if number < len(kept.locators) and kept.locators[number] and cls not in IDENTITY_BOUND:
            claimed.append({"number": number, "locator": _let_out(msgspec.json.decode(kept.locators[number]), commits)})
    return said, claimed, max(0, len(state.declared) - MOST_ANNOTATIONS)


def _may_bind_identity(state: AssertionState, declared: Declared) -> bool:
    """Whether a declared observation id is to be let out as one that is bound to an identity: where its class is, and
    where no observation has said that it is not. An emitter that declares an id does not say of which tier it is."""
    return declared.substrate_class in IDENTITY_BOUND or not any(
        seen.ts >= 0 and seen.id == declared.id and not seen.identity_bound for seen in state.seen
    )


def _let_out(locator: dict[str, Any], commits: bool) -> dict[str, Any]:
    """A locator without its commit where observation ids may not leave in clear."""
    return locator if commits else {name: value for name, value in locator.items() if name not in ("commit", "ref")}


def _not_counted(one: NotCounted) -> dict[str, Any]:
    said: dict[str, Any] = {
        "substrate_class": CLASSES[one.number],
        "outcome": OUTCOMES[one.outcome],
        "observed_at": format_time(one.ts),
        "observer": one.observer,
        "why": one.why,
    }
    return said | ({"reason": one.reason} if one.reason else {})
