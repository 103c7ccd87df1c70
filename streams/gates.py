"""The gates that an input has to pass before it may speak: key, time, authority (architecture.md, «Deciding»).

Each returns the `Fault` with which the input becomes a dead letter, or None.
"""

from __future__ import annotations

from ..codecs.blocks import Event
from ..codecs.errors import Fault
from ..codecs.partition import PARTITIONERS
from ..codecs.records import Assertion, Emission, Observation, Retrieval
from ..codecs.times import format_time, parse_time
from . import corroboration, grounding
from .policy import Policy
from .state import State


def misrouted(state: State, event: Event, emission_id: str) -> Fault | None:
    """The key must be the emission id, and hash to this lane's partition, or evidence would never meet its emission."""
    key = event.key
    if key is None or key != emission_id.encode():
        shown = "no key" if key is None else repr(key[:80].decode(errors="replace"))
        by = f"as key, which {state.partitioner} partitions by"
        return Fault("misrouted", f"expected the emission id {emission_id!r} {by}, got {shown}")
    if emission_id in state.attempts or emission_id in state.waiting:  # what was taken in has passed this test
        return None
    partition = PARTITIONERS[state.partitioner](key, state.lanes)
    if partition == state.lane:
        return None
    where = f"partition {partition} of {state.lanes}, got {state.lane}"
    return Fault("misrouted", f"{state.partitioner} puts the key {emission_id!r} into {where}")


def skewed(state: State, path: str, instant: int | None) -> Fault | None:
    """A date from the future would never grow old."""
    if instant is None or state.policy is None:
        return None
    skew = state.policy.admissibility.max_skew
    if instant <= state.time + skew:
        return None
    latest = format_time(state.time + skew)
    return Fault("clock-skew", f"{path}: expected a time up to {latest}, got {format_time(instant)}")


def emission_skewed(state: State, emission: Emission) -> Fault | None:
    """`clock-skew` for the first time in an emission that lies too far ahead."""
    fault = skewed(state, "$.emitted_at", parse_time(emission.emitted_at))
    for place, assertion in enumerate(emission.assertions or ()):
        if fault is not None:
            return fault
        fault = _assertion_skewed(state, f"$.assertions[{place}]", assertion)
    return fault


def _assertion_skewed(state: State, path: str, assertion: Assertion) -> Fault | None:
    for at, annotation in enumerate(assertion.annotations):
        if annotation.ts is not None:
            fault = skewed(state, f"{path}.provenance[{at}].ts", parse_time(annotation.ts))
            if fault is not None:
                return fault
    for step in grounding.steps(assertion.chain) if assertion.chain else ():
        if isinstance(step, Retrieval) and step.timestamp is not None:
            fault = skewed(state, f"{path}.chain", parse_time(step.timestamp))
            if fault is not None:
                return fault
    return None


def too_old(state: State, emitted_at: int) -> Fault | None:
    """Nothing in an emission so old could be admitted, and whether it is a repetition is no longer known."""
    earliest = state.time - state.least_max_validity(emitted_at)
    if emitted_at >= earliest:
        return None
    got = format_time(emitted_at)
    return Fault("too-old", f"$.emitted_at: expected a time from {format_time(earliest)} on, got {got}")


def unauthorised(policy: Policy, observation: Observation) -> Fault | None:
    """An observer with an entry in the policy speaks only for its classes."""
    observer = policy.observers.get(observation.observer)
    if observer is None or not observer.classes or corroboration.class_of(observation) in observer.classes:
        return None
    allowed = f"a class that {observation.observer!r} may speak for ({', '.join(observer.classes)})"
    got = observation.substrate_class[:80]
    return Fault("unauthorised-observer", f"$.substrate_class: expected {allowed}, got {got}")
