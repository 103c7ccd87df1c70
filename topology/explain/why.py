"""Why an observation did not count for an assertion, in one word.

The fold only says that it did not. The reason is found by asking the fold's own functions
(streams/adjudication/corroboration.py, streams/adjudication/standing.py) the same question with one circumstance after
another taken away: with which of them gone would it have counted? So there is no second set of rules here; where none
makes the difference, the answer is `did-not-count`.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec
from msgspec.structs import replace

from ...codecs.records import Observation
from ...streams.adjudication import corroboration, standing
from ...streams.adjudication.emission_state import AssertionState
from ...streams.policy.policy import BUILT_IN, Policy
from ..terminal.showing_checks import WORDS_ALONE

Why = Literal[
    "class-unknown",
    "absent",
    "terms-present",
    "unavailable",
    "low-confidence",
    "judge-not-accepted",
    "checks-required",
    "writable-by-emitter",
    "contradicts-itself",
    "check-not-bound",
    "verifies-nothing",
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
    "absent": "the observer looked, and found nothing that bears it out",
    "terms-present": WORDS_ALONE,
    "unavailable": "the observer could not look",
    "low-confidence": "its confidence is below the policy's floor",
    "judge-not-accepted": "this policy does not take the word of whoever judged it",
    "checks-required": "it names no check, and this policy counts nothing without one",
    "writable-by-emitter": "the emitter can write to that substrate",
    "contradicts-itself": "it finds a check false and bears the assertion out all the same",
    "check-not-bound": "its checks speak of nothing in the sentence",
    "verifies-nothing": "it verifies no check of the assertion",
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
_decode = msgspec.msgpack.Decoder(AssertionState).decode


def copy_of(state: AssertionState) -> AssertionState:
    """A copy that may be changed without changing this one, nor anything that it holds: its evidence, its checks."""
    return _decode(_encode(state))


def why_not(policy: Policy, state: AssertionState | None, observation: Observation) -> Why:
    """Why an observation that did not count did not.

    Args:
        policy: in force when it was weighed.
        state: the assertion as it was before; None where it is not known.
        observation: which did not count.
    """
    cls = corroboration.class_of(observation)
    if cls is None:
        return "class-unknown"
    if observation.outcome in ("absent", "terms-present", "unavailable"):
        return observation.outcome
    if state is None:
        return "did-not-count"
    if not corroboration.may_count(policy, state, observation):
        return _why_not_at_all(policy, state, observation)
    ts = corroboration.observed_at(observation)
    if observation.outcome == "corroborates":
        return _why_no_corroboration(policy, state, observation, ts, cls)
    unseen = _unseen(state)
    if not corroboration.contradicts(unseen, cls, ts):  # with nothing seen against it, only age speaks against it
        return "too-old"
    if observation.outcome == "contradicts":
        return "outweighed"
    for declared in unseen.declared:
        declared.confirmed = -1
    return "outweighed" if corroboration.unmasks(unseen, observation, cls, ts) else "not-declared"


def _unseen(state: AssertionState) -> AssertionState:
    """A copy of an assertion as it was before any evidence came."""
    unseen = copy_of(state)
    unseen.seen, unseen.witnesses, unseen.fresh, unseen.aged = [], [], 0, False
    if unseen.checking is not None:
        unseen.checking.classes = []
    return unseen


def _why_not_at_all(policy: Policy, state: AssertionState, observation: Observation) -> Why:
    """Why nothing that an observation says may count: the last of the circumstances that have to go, one by one."""
    judging = policy.judging
    certain = replace(observation, confidence=1.0)
    if corroboration.may_count(policy, state, certain):
        return "low-confidence"
    accepting = replace(judging, accept=[*judging.accept, observation.judge or BUILT_IN])
    if corroboration.may_count(replace(policy, judging=accepting), state, certain):
        return "judge-not-accepted"
    lenient = replace(policy, judging=replace(accepting, require_checks=False))
    return "checks-required" if corroboration.may_count(lenient, state, certain) else "writable-by-emitter"


def _why_no_check(state: AssertionState, observation: Observation) -> Why:
    """Why a corroboration that names checks verifies none."""
    consistent = replace(observation, refuted=None)
    if standing.verified(state, consistent):
        return "contradicts-itself"
    return "check-not-bound" if standing.verified(state, replace(consistent, coverage=None)) else "verifies-nothing"


def _why_no_corroboration(policy: Policy, state: AssertionState, observation: Observation, ts: int, cls: str) -> Why:
    if standing.verified(state, observation) == []:
        return _why_no_check(state, observation)
    trust = policy.admissibility.trust
    if trust == "declared":
        return "declarations-only"
    trusting = replace(policy, admissibility=replace(policy.admissibility, trust="observed"))

    def counts(rules: Policy, one: AssertionState) -> bool:
        return corroboration.corroborate(rules, one, observation, ts, cls)

    unseen = _unseen(state)
    if not counts(trusting, unseen):
        # By age: the fold itself notes what it found too old.
        if unseen.aged:
            return "too-old"
        return "did-not-count" if corroboration.is_fresh(unseen, unseen.bounds.windows[cls], ts) else "too-late"
    return "not-newer" if trust == "observed" or not counts(trusting, copy_of(state)) else "not-declared"
