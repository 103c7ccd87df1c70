"""What counts as evidence, while it is fresh, and how long it carries an assertion (architecture.md, «Time»,
«Deciding»).

Counted are *distinct fresh substrate-classes* [S §7]: two observations of one class count once, whoever made them.
Freshness is judged at emission [S §3]; validity is the k-th largest of newest ts + W. Negatives need no memory of their
own: one either closes the assertion when it comes, or never will, since corroboration only grows newer.
"""

from __future__ import annotations

from ..codecs.records import Observation
from ..codecs.times import parse_time
from ..codecs.vocabulary import recognise
from .policy import Policy
from .table import Life, Seen

GIT_LOG = "substrate.git.log"
_LEAST_PREFIX = 7  # digits of a commit hash that still name it (observing.md)


def same_observation(declared: str, observed: str, substrate_class: str) -> bool:
    """Whether a declared observation id is the observed one; of a commit, a prefix of 7 digits will do."""
    if declared == observed:
        return True
    if substrate_class != GIT_LOG:
        return False
    shorter, longer = sorted((declared.lower(), observed.lower()), key=len)
    return len(shorter) >= _LEAST_PREFIX and longer.startswith(shorter)


def is_fresh(life: Life, window: int, ts: int) -> bool:
    """`t - W <= ts <= t + horizon`, both ends included."""
    return life.emitted_at - window <= ts <= life.emitted_at + life.horizon


def may_count(policy: Policy, life: Life, observation: Observation) -> bool:
    """Whether anything that this observation says may count for or against this assertion.

    Not below the confidence floor, and not from a substrate that the emitter can write to: that is none [S §3].
    """
    if observation.confidence < policy.admissibility.min_confidence:
        return False
    observer = policy.observers.get(observation.observer)
    return observer is None or life.emitter is None or life.emitter not in observer.writable_by


def class_of(observation: Observation) -> str | None:
    """The bare class that an observation speaks for; None for a terminal or a class of no loaded version."""
    found = recognise(observation.substrate_class)
    return None if found.terminal else found.name


def corroborate(policy: Policy, life: Life, observation: Observation, ts: int, cls: str) -> bool:
    """Takes a corroboration in; True where it counts for the assertion and is news."""
    seen = _seen(life, cls)
    seen.latest = max(seen.latest, ts)
    for declared in life.declared:
        if declared.observation_id is not None and same_observation(
            declared.observation_id, observation.observation_id, declared.substrate_class
        ):
            confirmed = life.confirmed = life.confirmed or {}
            confirmed[declared.observation_id] = max(ts, confirmed.get(declared.observation_id, -1))
    trust = policy.admissibility.trust
    if trust == "declared" or (trust == "both" and not _was_declared(life, observation, cls)):
        return False
    window = life.windows[cls]
    if ts < life.emitted_at - window:
        life.aged = True
        return False
    # After admission any newer corroboration renews, however long after emission; before it, only fresh ones count.
    if life.valid_until < 0 and ts > life.emitted_at + life.horizon:
        return False
    if ts <= seen.ts:
        return False
    if seen.ts < 0:
        life.fresh += 1
    seen.ts = ts
    seen.observation_id = observation.observation_id
    seen.observer = observation.observer
    seen.identity_bound = observation.tier == "identity-bound"
    seen.attestation = observation.attestation
    return True


def count_declarations(life: Life) -> None:
    """Trust mode `declared`: the memo's plain count over the annotations [S §7]; one without `ts` does not count."""
    for declared in life.declared:
        ts = declared.ts
        if ts is None:
            continue
        if not is_fresh(life, life.windows[declared.substrate_class], ts):
            life.aged = life.aged or ts < life.emitted_at
            continue
        seen = _seen(life, declared.substrate_class)
        if ts > seen.ts:
            life.fresh += seen.ts < 0
            seen.ts = ts
            seen.observation_id = declared.observation_id or ""
            seen.observer = life.emitter or "emitter"


def contradicts(life: Life, cls: str, ts: int) -> bool:
    """Whether a contradiction holds: not older than `t - W`, and no observer has corroborated the class since."""
    if ts < life.emitted_at - life.windows[cls]:
        return False
    return all(seen.latest <= ts for seen in life.seen if seen.substrate_class == cls)


def unmasks(life: Life, observation: Observation, cls: str, ts: int) -> bool:
    """Whether an `unknown-observation` holds against an id that the emitter declared [S §11.1].

    Only corroboration of that very id since then stands against it: a true annotation covers for no invented one.
    """
    if ts < life.emitted_at - life.windows[cls]:
        return False
    return any(
        declared.substrate_class == cls
        and declared.observation_id is not None
        and same_observation(declared.observation_id, observation.observation_id, cls)
        and (life.confirmed or {}).get(declared.observation_id, -1) <= ts
        for declared in life.declared
    )


def validity(life: Life) -> int:
    """Until when the evidence carries the assertion: the k-th largest of newest ts + W, Unix ms; -1 below k."""
    if life.fresh < life.k:
        return -1
    ends = sorted((seen.ts + life.windows[seen.substrate_class] for seen in life.seen if seen.ts >= 0), reverse=True)
    return min(ends[life.k - 1], life.longest)


def observed_at(observation: Observation) -> int:
    """An observation's time in Unix ms; the decoder has made sure that it is one."""
    return parse_time(observation.observed_at) or 0


def _seen(life: Life, cls: str) -> Seen:
    for seen in life.seen:
        if seen.substrate_class == cls:
            return seen
    seen = Seen(cls)
    life.seen.append(seen)
    return seen


def _was_declared(life: Life, observation: Observation, cls: str) -> bool:
    """Trust mode `both`: the class was declared, with this observation's id where one was declared."""
    return any(
        declared.substrate_class == cls
        and (
            declared.observation_id is None
            or same_observation(declared.observation_id, observation.observation_id, cls)
        )
        for declared in life.declared
    )
