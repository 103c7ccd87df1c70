"""What counts as evidence, while it is fresh, and how long it carries an assertion.

The fold counts *distinct fresh substrate-classes* [S §7]: two observations of one class count once, also where two
observers made them. Where the policy asks for several observers, distinct observers are counted as well [S §11.3]
(witnesses.py). Freshness is judged at emission [S §3]; validity is the k-th largest of newest ts + W. The module
standing.py counts which checks of an assertion the evidence verifies, and which of them stand. Negative observations
are not stored: each either closes the assertion when it comes or never will, since corroboration only grows newer.
"""

from __future__ import annotations

from ...codecs.records import Observation, Sighting
from ...codecs.times import parse_time
from ...codecs.unicode_text import nfkc
from ...codecs.vocabulary import NEWEST, VERSIONS, recognise
from ..policy.policy import BUILT_IN, Policy
from ..policy.privacy import IDENTITY_BOUND, binds_identity
from . import standing
from .emission_state import ALONE, CLASSES, NUMBER_OF, AssertionState, ClassEvidence, Declared, json_of, short, whole
from .uncounted import Uncounted
from .witnesses import Witness, carried_until, count, note

GIT_LOG = "substrate.git.log"
MCP_BRIEF = "substrate.mcp.brief"
_GIT_LOG = NUMBER_OF[GIT_LOG]
_BARE = VERSIONS[NEWEST]
_LEAST_PREFIX = 7  # digits of a commit hash that still name it (observing.md)


def same_observation(declared: str, observed: str, substrate_class: str) -> bool:
    """Whether a declared observation id is the observed one. Of a commit, a prefix of at least 7 digits is enough.

    Args:
        declared: the id that an annotation declares.
        observed: the id that the observation has.
        substrate_class: the bare class of both; only `substrate.git.log` has ids of commits.
    """
    if declared == observed:
        return True
    if substrate_class != GIT_LOG:
        return False
    shorter, longer = sorted((declared.lower(), observed.lower()), key=len)
    return len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter)


def is_fresh(state: AssertionState, window: int, ts: int) -> bool:
    """Whether evidence is fresh: `t - W <= ts <= t + horizon + late_horizon`, both ends included [S §3].

    Args:
        state: the assertion, emitted at t; it has both horizons.
        window: W of the class, in ms.
        ts: when it was observed, Unix ms.
    """
    return state.emitted_at - window <= ts <= _latest(state)


def _latest(state: AssertionState) -> int:
    return state.emitted_at + state.bounds.horizon + state.bounds.late_horizon


def barred(policy: Policy, state: AssertionState, observation: Observation) -> Uncounted | None:
    """Why nothing that this observation says may count for or against this assertion; None where it may.

    Not from a substrate that the emitter can write to: that is none [S §3]; not from a service whose state the
    emitter's vendor owns, or may own [S §4]; not without a check where the policy wants checks, not by a judge whom it
    does not accept, and not below its confidence floor.

    Args:
        policy: that the block is folded under.
        state: the assertion.
        observation: a corroboration or a contradiction.
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
    """Whether what a service said is owned by somebody other than the emitter's vendor [S §4, substrate.mcp.brief]; of
    an emitter who may be anybody, than every vendor.

    An unknown owner may be the vendor. So where the policy names the emitter's vendor, what a service with an unknown
    owner said does not count either. Where it demands the vendors, no service counts for an emitter without one.
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


def corroborate(policy: Policy, state: AssertionState, observation: Observation, ts: int, cls: str) -> Uncounted | None:
    """Takes a corroboration in.

    Args:
        policy: that the block is folded under.
        state: the assertion; it is changed.
        observation: the corroboration.
        ts: when it was observed, Unix ms.
        cls: its bare class (`class_of`).

    Returns:
        None where it counts for the assertion and is news; else the reason why it does not.
    """
    places = standing.verified(state, observation)
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
    news = standing.note(state, seen, observation, places, ts)
    if bounds.min_observers != ALONE and (least := state.min_observers) > 1:
        bound = binds_identity(observation.tier, cls)
        said = -1 if places is None else standing.own_file(state, observation, places)
        witness = Witness(seen.number, observation.observer, ts, kept, bound, said)
        news = note(state.witnesses, witness, least * standing.count(state)) or news
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


def contradict(state: AssertionState, cls: str, ts: int) -> Uncounted | None:
    """Why a contradiction does not hold: it is older than `t - W`, or an observer has corroborated the class since.

    Args:
        state: the assertion.
        cls: the contradiction's bare class.
        ts: when it was observed, Unix ms.

    Returns:
        `too-old`, `outweighed`, or None where it holds.
    """
    if ts < state.emitted_at - state.bounds.windows[cls]:
        return "too-old"
    return "outweighed" if any(seen.latest > ts for seen in state.seen if seen.substrate_class == cls) else None


def unmask(state: AssertionState, observation: Observation, cls: str, ts: int) -> Uncounted | None:
    """Why an `unknown-observation` does not hold against an id that the emitter declared [S §11.1]; None where it does.

    Only a later corroboration of the same id outweighs it, so a true annotation does not excuse an invented one.

    Args:
        state: the assertion, with the ids that it declares.
        observation: the `unknown-observation`.
        cls: its bare class.
        ts: when it was observed, Unix ms.
    """
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
    if state.fresh < standing.least_k(state):
        return -1
    until = standing.carried(state)
    if until < 0:
        return -1
    bounds = state.bounds
    until = min(until, state.longest)
    if bounds.min_observers != ALONE and (least := state.min_observers) > 1:
        windows = bounds.windows
        for place in standing.weighed(state):
            until = min(until, carried_until(state.witnesses, lambda number: windows[CLASSES[number]], least, place))
    return until


def is_enough(state: AssertionState) -> bool:
    """Whether every check stands, by evidence of as many observers as are needed."""
    return standing.stands(state) and missing_observers(state) == 0


def missing_observers(state: AssertionState) -> int:
    """How many more distinct observers would have to bear it out, of the check that has the fewest."""
    least = state.min_observers
    if least <= 1:
        return 0
    return max(0, least - min(count(state.witnesses, place) for place in standing.weighed(state)))


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
