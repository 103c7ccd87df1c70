"""Why an observation did not count for an assertion, in one word.

The fold only says that it did not. The reason is found by asking the fold's own functions (streams/corroboration.py)
the same question with one circumstance taken away at a time: with which of them gone would it have counted? So there
is no second set of rules here; where none alone makes the difference, the answer is `did-not-count`.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from ..codecs.records import Observation
from ..streams import corroboration
from ..streams.lives import Life
from ..streams.policy import Policy

Why = Literal[
    "class-unknown",
    "absent",
    "unavailable",
    "low-confidence",
    "writable-by-emitter",
    "too-old",
    "too-late",
    "not-newer",
    "not-declared",
    "declarations-only",
    "outweighed",
    "did-not-count",
]
SENTENCES: Final[dict[str, str]] = {
    "class-unknown": "its class is of no loaded vocabulary, or a terminal",
    "absent": "the observer looked, and it was not there",
    "unavailable": "the observer could not look",
    "low-confidence": "its confidence is below the policy's floor",
    "writable-by-emitter": "the emitter can write to that substrate",
    "too-old": "older than the window of its class at emission",
    "too-late": "later than the horizon, and nothing was admitted yet",
    "not-newer": "the same class again, and no newer than what counts already",
    "not-declared": "the emitter declared no such observation",
    "declarations-only": "this policy counts declarations, not observations",
    "outweighed": "an observer has corroborated since",
    "did-not-count": "did not count",
}
assert set(SENTENCES) == set(get_args(Why))

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Life).decode


def copy_of(life: Life) -> Life:
    """A life that may be changed without changing this one."""
    return _decode(_encode(life))


def why_not(policy: Policy, life: Life | None, observation: Observation) -> Why:
    """Why an observation that did not count did not.

    Args:
        policy: in force when it was weighed.
        life: the assertion as it was before; None where it is not known.
        observation: which did not count.
    """
    cls = corroboration.class_of(observation)
    if cls is None:
        return "class-unknown"
    if observation.outcome in ("absent", "unavailable"):
        return "absent" if observation.outcome == "absent" else "unavailable"
    if life is None:
        return "did-not-count"
    if not corroboration.may_count(policy, life, observation):
        certain = replace(observation, confidence=1.0)
        return "low-confidence" if corroboration.may_count(policy, life, certain) else "writable-by-emitter"
    ts = corroboration.observed_at(observation)
    if observation.outcome == "corroborates":
        return _why_no_corroboration(policy, life, observation, ts, cls)
    unseen = copy_of(life)
    unseen.seen, unseen.witnesses = [], []
    if not corroboration.contradicts(unseen, cls, ts):  # with nothing seen against it, only age speaks against it
        return "too-old"
    if observation.outcome == "contradicts":
        return "outweighed"
    for declared in unseen.declared:
        declared.confirmed = -1
    return "outweighed" if corroboration.unmasks(unseen, observation, cls, ts) else "not-declared"


def _why_no_corroboration(policy: Policy, life: Life, observation: Observation, ts: int, cls: str) -> Why:
    trust = policy.admissibility.trust
    if trust == "declared":
        return "declarations-only"
    trusting = replace(policy, admissibility=replace(policy.admissibility, trust="observed"))

    def counts(rules: Policy, one: Life) -> bool:
        return corroboration.corroborate(rules, one, observation, ts, cls)

    unseen = copy_of(life)
    unseen.seen, unseen.witnesses, unseen.fresh, unseen.aged = [], [], 0, False
    if not counts(trusting, unseen):
        # By age: the fold itself notes what it found too old.
        if unseen.aged:
            return "too-old"
        return "did-not-count" if corroboration.is_fresh(unseen, unseen.bounds.windows[cls], ts) else "too-late"
    return "not-newer" if trust == "observed" or not counts(trusting, copy_of(life)) else "not-declared"
