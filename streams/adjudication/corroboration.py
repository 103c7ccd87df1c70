"""Evidence: what an observation may speak of, what of it counts, while it is fresh, and how long it carries.

An observation speaks of the record and the checks that it names, and a bound one of what its signed sighting holds, no
more (docs/security.md). The fold counts *distinct fresh substrate-classes* [S §7]: two observations of one class count
once, also where two observers made them. Where the policy asks for several observers, distinct observers are counted
as well [S §11.3]. Once every observer has answered, an assertion need not wait for its horizon (`early_settle`).
"""

from __future__ import annotations

from typing import Any, Final, cast

from msgspec.structs import replace

from ...codecs import identifiers
from ...codecs.records import MAX_CHECK_LENGTH, Observation, Sighting, Subject
from ...codecs.times import parse_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import NEWEST, VERSIONS, recognise
from ..judging.checks import Check, canonical, parse_check
from ..judging.claim_forms import Derived
from ..judging.coverage import Coverage
from ..judging.verify import Judged, checks_of_assertion, match
from ..policy.policy import BUILT_IN, Policy
from ..policy.privacy import IDENTITY_BOUND, binds_identity
from . import check_tally
from .check_tally import NotCountedReason
from .emission_state import (
    ALONE,
    CLASSES,
    NUMBER_OF,
    AssertionState,
    ClassEvidence,
    Declared,
    Witness,
    carried_until,
    count,
    json_of,
    note,
    short,
    whole,
)

DIGEST_BYTES: Final = 16
"""Of the SHA-256 of an emission's bytes: what a lane remembers of its record."""
_CHECKS_OF_OUTCOME: Final = {"corroborates": "verified", "contradicts": "refuted"}
"""The member whose checks an outcome rests on."""


def is_of_another(subject: Subject, digest: bytes) -> bool:
    """Returns whether `subject` names another record than that of the attempt with this digest."""
    return subject.digest is not None and not identifiers.names(subject.digest, digest[:DIGEST_BYTES])


def of_own_checks(state: AssertionState, observation: Observation) -> Observation | None:
    """Returns the observation without what it says of checks that are not the assertion's: nearly always as it is, None
    where nothing is left on which its outcome could rest."""
    if not check_tally.has_own(state):
        return _of_told_checks(state, observation)
    said = observation.verified or observation.refuted
    detail: Any = (observation.detail or {}).get("checks")
    if not said or not isinstance(detail, list):
        return observation
    reported, own = cast("list[Any]", detail), check_tally.texts(state)
    others = [place for place, one in enumerate(reported[: len(own)]) if _is_another(one, own[place])]
    if not others:
        return observation
    verified, refuted = _without_places(observation.verified, others), _without_places(observation.refuted, others)
    decided = {"verified": verified, "refuted": refuted}
    field = _CHECKS_OF_OUTCOME.get(observation.outcome)
    if field is not None and getattr(observation, field) and not decided[field]:
        return None
    left: list[Any] = [{} if place in others else one for place, one in enumerate(reported)]
    return replace(observation, **decided, detail=_with_checks(observation, left))


def _of_told_checks(state: AssertionState, observation: Observation) -> Observation | None:
    """The observation with what it says of the first check that it tells, at the place where that is kept; what is no
    check, or finds no room (`check_tally.place_of_told`), counts for nothing."""
    detail: Any = (observation.detail or {}).get("checks")
    reported = cast("list[Any]", detail)[0] if isinstance(detail, list) and detail else None
    if reported is None and not observation.verified and not observation.refuted:
        return observation  # it speaks of the assertion as a whole, or of nothing
    given: Any = cast("dict[str, Any]", reported).get("check") if isinstance(reported, dict) else None
    check = parse_check(given) if isinstance(given, str) and len(given) <= MAX_CHECK_LENGTH else None
    place = None
    if isinstance(check, Check):
        verifies = observation.outcome == "corroborates" and 0 in (observation.verified or ())
        place = check_tally.place_of_told(state, check, canonical(check), verified=verifies)
    field = _CHECKS_OF_OUTCOME.get(observation.outcome)
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


def _without_places(places: list[int] | None, others: list[int]) -> list[int] | None:
    return None if places is None else [place for place in places if place not in others]


GIT_LOG = "substrate.git.log"
MCP_BRIEF = "substrate.mcp.brief"
_GIT_LOG = NUMBER_OF[GIT_LOG]
_BARE = VERSIONS[NEWEST]
_LEAST_PREFIX = 7  # digits of a commit hash that still name it (observing.md)


def same_observation(declared: str, observed: str, substrate_class: str) -> bool:
    """Returns whether the `declared` id is the `observed` one, both of the bare `substrate_class`. Of a commit, a
    prefix of at least 7 digits is enough."""
    if declared == observed:
        return True
    if substrate_class != GIT_LOG:
        return False
    shorter, longer = sorted((declared.lower(), observed.lower()), key=len)
    return len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter)


def is_fresh(state: AssertionState, window: int, ts: int) -> bool:
    """Returns whether evidence is fresh: `t - W <= ts <= t + horizon + late_horizon`, both ends included [S §3]. The
    `state` was emitted at t and has both horizons; the class has the `window` W; times in Unix ms."""
    return state.emitted_at - window <= ts <= _latest(state)


def _latest(state: AssertionState) -> int:
    return state.emitted_at + state.bounds.horizon + state.bounds.late_horizon


def exclusion_reason(policy: Policy, state: AssertionState, observation: Observation) -> NotCountedReason | None:
    """Returns why nothing that `observation` says may count for or against `state` under `policy`; None where it may.

    Not from a substrate that the emitter can write to: that is none [S §3]; not from a service whose state the
    emitter's vendor owns, or may own [S §4]; not without a check where the policy wants checks, not by a judge whom it
    does not accept, and not below its confidence floor.
    """
    # An emitter that does not sign, while others do, must gain nothing by using another name. So a substrate that some
    # emitter can write to, or that some emitter's vendor owns, is treated as this emitter's.
    is_anybody = not policy.emitters.is_authenticated(state.emitter)
    observer = policy.observers.get(observation.observer) if policy.observers else None
    if observer is not None and observer.writable_by and (is_anybody or state.emitter in observer.writable_by):
        return "writable-by-emitter"
    if policy.emitters.asks_for_vendors and not _is_foreign(policy, state, observation, is_anybody):
        return "owned-by-vendor"
    judging = policy.judging
    field = _CHECKS_FIELD.get(observation.outcome)
    by_checks = field is not None and getattr(observation, field) is not None
    if judging.require_checks and field is not None and not by_checks:
        return "checks-required"
    judge = observation.judge
    if judge is None:
        if by_checks and BUILT_IN not in judging.accept:
            return "judge-not-accepted"
    elif judge not in judging.accept:
        return "judge-not-accepted"
    return "low-confidence" if observation.confidence < policy.admissibility.min_confidence else None


def _is_foreign(policy: Policy, state: AssertionState, observation: Observation, is_anybody: bool) -> bool:
    """Whether what a service said is owned by another party than the emitter's vendor [S §4, substrate.mcp.brief].

    An emitter who may be anybody may have every vendor, and an unknown owner may be the vendor. Where the policy
    demands the vendors, no service counts for an emitter without one.
    """
    if class_of(observation) != MCP_BRIEF:
        return True
    own = None if state.emitter is None else policy.emitters.vendor.get(state.emitter)
    vendors = policy.emitters.vendor.values() if is_anybody else () if own is None else (own,)
    if own is None and policy.emitters.require_vendor:
        return False
    if not vendors:
        return True
    looked = observation.looked_at
    owner = None if looked is None else looked.owner
    return owner is not None and party(owner) not in map(party, vendors)


def party(name: str) -> str:
    """A name as it is compared: letter case, white space and forms of characters do not matter."""
    return " ".join(nfkc(nfkc(name).casefold()).split())


_CHECKS_FIELD = {"corroborates": "verified", "contradicts": "refuted"}
"""Outcomes that a check decides, and the member in which an observation names those checks."""


def class_of(observation: Observation | Sighting) -> str | None:
    """The bare class that an observation speaks for; None for a terminal or a class of no loaded version."""
    name = observation.substrate_class
    if name in _BARE:  # nearly always
        return name
    found = recognise(name)
    return None if found.terminal else found.name


def corroborate(
    policy: Policy, state: AssertionState, observation: Observation, ts: int, cls: str
) -> NotCountedReason | None:
    """Takes a corroboration in, observed at `ts` (Unix ms), of the bare class `cls`; `state` is changed. Returns None
    where the `observation` counts under `policy` and is news, else the reason why it does not."""
    places = check_tally.verified(state, observation)
    if isinstance(places, str):
        return places
    seen, bounds, emitted_at = _seen(state, cls), state.bounds, state.emitted_at
    if ts > seen.latest:
        seen.latest = ts
    kept = short(observation.observation_id)
    _confirm(state, kept, ts)
    trust = policy.admissibility.trust
    if trust == "declared":
        return "declarations-only"
    is_accepted = trust == "observed" or _was_declared(state, kept, cls)
    if ts < emitted_at - bounds.windows[cls]:
        state.aged = state.aged or is_accepted
        return "too-old"
    # After admission any newer corroboration renews, however long after emission; before it, only fresh ones count.
    if state.valid_until < 0 and ts > _latest(state):
        return "too-late"
    if not is_accepted:
        return "not-declared"
    news = check_tally.note(state, seen, observation, places, ts)
    if bounds.min_observers != ALONE and (least := state.min_observers) > 1:
        bound = binds_identity(observation.tier, cls)
        said = -1 if places is None else check_tally.own_file(state, observation, places)
        witness = Witness(seen.number, observation.observer, ts, kept, bound, said)
        news = note(state.witnesses, witness, least * check_tally.count(state)) or news
    if ts <= seen.ts:
        return None if news else "not-newer"
    if seen.ts < 0:
        state.fresh += 1
    seen.ts = ts
    state.keep_id(seen, kept)
    seen.observer = observation.observer
    seen.identity_bound = binds_identity(observation.tier, cls)
    seen.attestation = json_of(observation.attestation)
    return None


def count_declarations(state: AssertionState) -> None:
    """Trust mode `declared`: the memo's plain count over the annotations [S §7]; one without `ts` does not count."""
    for declared in state.declared:
        ts = declared.ts
        if ts is None:
            continue
        if not is_fresh(state, state.bounds.windows[declared.substrate_class], ts):
            state.aged = state.aged or ts < state.emitted_at
            continue
        seen = _seen(state, declared.substrate_class)
        if ts > seen.ts:
            state.fresh += seen.ts < 0
            seen.ts = ts
            seen.id = declared.id
            seen.observer = state.emitter or "emitter"
            seen.identity_bound = declared.substrate_class in IDENTITY_BOUND


def contradict(state: AssertionState, cls: str, ts: int) -> NotCountedReason | None:
    """Returns why a contradiction of class `cls`, observed at `ts` (Unix ms), does not hold against `state`: it is
    older than `t - W` (`too-old`), or an observer has corroborated the class since (`outweighed`). None where it holds.
    """
    if ts < state.emitted_at - state.bounds.windows[cls]:
        return "too-old"
    return "outweighed" if any(seen.latest > ts for seen in state.seen if seen.substrate_class == cls) else None


def unmask(state: AssertionState, observation: Observation, cls: str, ts: int) -> NotCountedReason | None:
    """Returns why an `unknown-observation` of class `cls`, observed at `ts` (Unix ms), does not hold against an id that
    `state` declares [S §11.1]; None where it does. Only a later corroboration of the same id as the `observation`'s
    outweighs it, so a true annotation does not excuse an invented one."""
    if ts < state.emitted_at - state.bounds.windows[cls]:
        return "too-old"
    kept, why = short(observation.observation_id), "not-declared"
    for declared in state.declared:
        if declared.substrate_class == cls and _names(state, declared, kept):
            if declared.confirmed <= ts:
                return None
            why = "outweighed"
    return why


def validity(state: AssertionState) -> int:
    """Until when the evidence carries the assertion: the k-th largest of newest ts + W, Unix ms; -1 below k.

    Of several checks the one that is carried least. Where more than one observer is needed, no longer than so many
    carry each check; -1 where there are fewer.
    """
    if state.fresh < check_tally.least_k(state):
        return -1
    until = check_tally.carried(state)
    if until < 0:
        return -1
    bounds = state.bounds
    until = min(until, state.longest)
    if bounds.min_observers != ALONE and (least := state.min_observers) > 1:
        windows = bounds.windows
        for place in check_tally.weighed(state):
            until = min(until, carried_until(state.witnesses, lambda number: windows[CLASSES[number]], least, place))
    return until


def is_enough(state: AssertionState) -> bool:
    """Whether every check stands, by evidence of as many observers as are needed."""
    return check_tally.stands(state) and missing_observers(state) == 0


def missing_observers(state: AssertionState) -> int:
    """How many more distinct observers would have to bear it out, of the check that has the fewest."""
    least = state.min_observers
    if least <= 1:
        return 0
    return max(0, least - min(count(state.witnesses, place) for place in check_tally.weighed(state)))


def observed_at(observation: Observation) -> int:
    """An observation's time in Unix ms; the decoder has made sure that it is one."""
    return parse_time(observation.observed_at) or 0


def _seen(state: AssertionState, cls: str) -> ClassEvidence:
    number = NUMBER_OF[cls]
    for seen in state.seen:
        if seen.number == number:
            return seen
    seen = ClassEvidence(number)
    state.seen.append(seen)
    return seen


def _confirm(state: AssertionState, kept: bytes, ts: int) -> None:
    """An observer has seen what annotations name: all with that id are confirmed, whichever class each is of."""
    ids, declarations = state.ids, state.declared
    for declared in declarations:
        place = declared.id
        if place < 0 or ts <= declared.confirmed:
            continue
        if ids[place] == kept:
            declared.confirmed = ts
        elif declared.number == _GIT_LOG and _names(state, declared, kept):
            for one in declarations:
                if one.id == place and one.confirmed < ts:
                    one.confirmed = ts


def _was_declared(state: AssertionState, kept: bytes, cls: str) -> bool:
    """Trust mode `both`: the class was declared, with this observation's id where one was declared."""
    return any(
        declared.substrate_class == cls and (declared.id < 0 or _names(state, declared, kept))
        for declared in state.declared
    )


def _names(state: AssertionState, declared: Declared, kept: bytes) -> bool:
    """Whether an annotation declares this observation id (as `short` has it)."""
    if declared.id < 0:
        return False
    named = state.ids[declared.id]
    return named == kept or (
        declared.number == _GIT_LOG and same_observation(whole(named), whole(kept), declared.substrate_class)
    )


_DECIDING: Final = ("corroborates", "contradicts")


def as_signed(state: AssertionState, bound: Observation, cls: str, sighting: Sighting) -> Observation | None:
    """Returns a bound observation with what its signed sighting bears out for the assertion `state`.

    None where the assertion does not cite that `sighting`, or where the outcome of `bound` is not what it says. `cls`
    is the bare class of both. The observer signed only the sighting; the binding lane added subject, outcome and
    checks, and any party that may write to `observations` or `citations` could forge these. So the assertion's checks
    are decided again on the signed content. Of an assertion without its own checks, the told check must hold there;
    that this check and the coverage are what the claim forms give is for the audit of the bind ledger to show
    (docs/security.md).
    """
    kept = short(sighting.observation_id)
    if not any(one.substrate_class == cls and one.id >= 0 and state.ids[one.id] == kept for one in state.declared):
        return None
    plain = replace(bound, looked_at=None, judge=None, attestation=sighting.attestation)
    if bound.outcome not in _DECIDING:
        return plain  # counts for nothing
    checks = list(check_tally.texts(state)) if check_tally.has_own(state) else _bound_checks(bound)
    found = _sighting_bears_out(state, cls, sighting, checks, bound)
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


def _bound_checks(bound: Observation) -> list[str]:
    """The check that a bound observation tells; empty where it tells none."""
    detail: Any = (bound.detail or {}).get("checks")
    first = cast("list[Any]", detail)[0] if isinstance(detail, list) and detail else None
    text: Any = cast("dict[str, Any]", first).get("check") if isinstance(first, dict) else None
    return [text] if isinstance(text, str) and len(text) <= MAX_CHECK_LENGTH else []


def _sighting_bears_out(
    state: AssertionState, cls: str, sighting: Sighting, checks: list[str], bound: Observation
) -> Judged:
    given: Any = (sighting.locator or {}).get("path")
    is_own = check_tally.has_own(state)
    asked = checks_of_assertion(state.kind, Derived(tuple(checks), is_own, "declared" if is_own else "claim"))
    unchecked = tuple((start, end) for start, end in bound.unchecked or ())
    coverage = Coverage(bound.coverage or "part", unchecked)
    return match(cls, asked, coverage, sighting.content, given if isinstance(given, str) else "")


def awaited(policy: Policy, state: AssertionState) -> frozenset[str]:
    """Returns which observers have to answer about an assertion, for which class; empty where its horizon settles it.

    Every listed observer has to, for each declared class that it may speak for. Only the horizon settles an assertion
    that declares no class, or one class twice; one of whose classes the policy binds to sightings, lists no observer
    for, or an observer without a key; and any where other judges are accepted, whose observations come later
    (docs/verdicts.md).
    """
    numbers = [one.number for one in state.declared]
    bound = {NUMBER_OF[name] for name in policy.sightings.classes}
    if len(set(numbers)) < len(numbers) or not bound.isdisjoint(numbers) or policy.judging.accept != [BUILT_IN]:
        return frozenset()
    found: set[str] = set()
    for number in numbers:
        speakers = {
            name: one for name, one in policy.observers.items() if not one.classes or CLASSES[number] in one.classes
        }
        if not speakers or not all(one.all_keys for one in speakers.values()):
            return frozenset()
        found.update(_answer(number, name) for name in speakers)
    return frozenset(found)


def note_answer(policy: Policy, state: AssertionState, observation: Observation, cls: str) -> bool:
    """Notes an answer about a pending assertion in its `state`; True where it was the last one. The `observation`, of
    the bare class `cls`, has passed the gates of this `policy`: its observer signed it, where it has a key."""
    if not may_be_answer(policy, observation):
        return False
    wanted, one = awaited(policy, state), _answer(NUMBER_OF[cls], observation.observer)
    if one not in wanted:
        return False
    if one not in state.answers:
        state.basis = [*state.answers, one]
    return wanted.issubset(state.answers)


def may_be_answer(policy: Policy, observation: Observation) -> bool:
    """Returns whether an observation is an answer that may be waited for, whatever it is about: of an observer that has
    a key in the policy, whose look was answered, and decided by the checks."""
    observer = policy.observers.get(observation.observer)
    signs = observer is not None and bool(observer.all_keys)
    return signs and observation.outcome != "unavailable" and observation.judge is None


def _answer(number: int, observer: str) -> str:
    return f"{number} {observer}"
