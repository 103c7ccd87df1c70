"""The gates that an input has to pass before it may speak: key, time, authority (architecture.md, «Deciding»).

Each returns the `Fault` with which the input becomes a dead letter, or None.
"""

from __future__ import annotations

from ..codecs.blocks import Event
from ..codecs.errors import Fault
from ..codecs.partition import PARTITIONERS, Partitioner
from ..codecs.records import Assertion, Emission, Observation, Retrieval
from ..codecs.times import format_time, parse_time
from . import corroboration, grounding
from .policy import Policy
from .state import State


def misrouted(state: State, event: Event, emission_id: str) -> Fault | None:
    """The key must be the emission id, and hash to this lane's partition, or evidence would never meet its emission."""
    if event.key != emission_id.encode():
        return wrong_key(event.key, "emission id", emission_id, state.partitioner)
    if emission_id in state:
        return None  # the partition of what was taken in has passed its test
    return wrong_partition(emission_id, state.lane, state.lanes, state.partitioner)


def wrong_key(key: bytes | None, what: str, wanted: str, partitioner: Partitioner) -> Fault | None:
    """`misrouted` where a record's key is not what its topic is partitioned by (records.md)."""
    if key is not None and key == wanted.encode():
        return None
    shown = "no key" if key is None else repr(key[:80].decode(errors="replace"))
    by = f"as key, which {partitioner} partitions by"
    return Fault("misrouted", f"expected the {what} {wanted!r} {by}, got {shown}")


def wrong_partition(key: str, lane: int, lanes: int, partitioner: Partitioner) -> Fault | None:
    """`misrouted` where a key's partition is another one than the lane's."""
    partition = PARTITIONERS[partitioner](key.encode(), lanes)
    if partition == lane:
        return None
    return Fault("misrouted", f"{partitioner} puts the key {key!r} into partition {partition} of {lanes}, got {lane}")


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
