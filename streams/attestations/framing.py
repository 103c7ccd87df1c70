"""Attestations, typed, sanitised and framed: `fold(state, block) -> outputs` of the lane `attestations` -> `grounded`.

An output depends on its attestation, the policy in force and the validator's newest word on the same claim
(framing_state.py); it names the place of its original, which stays for audit [V §4.6]. The policy comes as an event,
like in any lane. Every attestation has one fate: a record on `grounded`, or a dead letter that says why.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES, Block, Event, EventKind, Output
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.quarantine import refused
from ...codecs.times import format_time
from ..adjudication import validation
from ..adjudication.outputs import dead_letter, source_of, traceparent_of
from ..policy import adoption_rule
from ..sanitise import frame_attestation
from .framing_state import State
from .validators import issue_of, unauthorised_validator

INPUTS = ("attestations",)
GROUNDED = "grounded"

_encode = msgspec.json.Encoder().encode


def fold(state: State, block: Block) -> list[Output]:
    """Each attestation's record or dead letter, in order.

    Raises:
        DoesNotHoldError: an event of a kind that this version does not know.
    """
    state.begin_block()
    return [output for event in block.events if (output := _apply(state, block, event)) is not None]


def _apply(state: State, block: Block, event: Event) -> Output | None:
    kind = event.kind
    if kind == EventKind.RECORD:
        framed = _framed(state, block, event)
        if not isinstance(framed, Fault):
            state.counters["grounded"] += 1
            return _grounded(event, framed)
        fault = framed
    elif kind == EventKind.OVERSIZE:
        fault = Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
    elif kind == EventKind.POLICY:
        if not state.take_policy(event.value or b"", event.headers, block.header.time):
            state.counters["no-policy"] += 1  # the adjudicating lane tells of it in a dead letter
        return None
    elif kind == EventKind.GAP:
        state.counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
        return None
    elif kind == EventKind.QUARANTINE:
        offsets, fault = refused(event)
        state.counters["quarantined"] += offsets
    elif kind == EventKind.ADOPT:
        adoption_rule.demand(event, state.policy, block.header.time)
        return None
    elif kind == EventKind.LEDGER:
        return None  # the chain says which one may stand there
    else:
        raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))
    state.counters["dead-letters"] += 1
    return dead_letter(block, event, fault)


def _framed(state: State, block: Block, event: Event) -> dict[str, Any] | Fault:
    """The attestation, framed, if it is its validator's newest word; else why not."""
    value = event.value or b""
    framed = frame_attestation(value, state.rules, source=source_of(block, event))
    if isinstance(framed, Fault):
        return framed
    fault = (
        _misrouted(state, event, framed)
        or unauthorised_validator(state.validators, value, block.header.time)
        or _stale(state, value, framed)
    )
    return framed if fault is None else fault


def _misrouted(state: State, event: Event, framed: dict[str, Any]) -> Fault | None:
    """The key is the claim hash; its lane is that of the lower-case digits, so that one claim has one memory however a
    word writes it."""
    claim: str = framed["attestations"][0]["claim_hash"]
    lower = claim.lower()
    wanted = claim if event.key == claim.encode() else lower
    return validation.wrong_key(event.key, "claim hash", wanted, state.partitioner) or validation.wrong_partition(
        lower, state.lane, state.lanes, state.partitioner
    )


def _stale(state: State, value: bytes, framed: dict[str, Any]) -> Fault | None:
    """Why a word is not the validator's newest on its claim; if it is, it is from now on, under its DID's one spelling:
    one validator, one vote. The order of a word that does not say when it was issued is that in which it came."""
    entry = framed["attestations"][0]
    did, issued = issue_of(value)
    entry["validator_did"] = did
    if issued is None:
        return None
    newest = state.words.newest(entry["claim_hash"], did)
    if newest is not None and issued <= newest:
        expected = f"a time after {format_time(newest)}, that of this validator's newest word on the claim"
        return Fault("stale-word", f"$.issued_at: expected {expected}, got {format_time(issued)}")
    state.words.take(entry["claim_hash"], did, issued, state.validators.most_words(did))
    return None


def _grounded(event: Event, framed: dict[str, Any]) -> Output:
    headers = [("content-type", b"application/json")]
    if (traceparent := traceparent_of(event)) is not None:
        headers.append(("traceparent", traceparent))
    return Output(GROUNDED, event.key, _encode(framed), headers)


__all__ = ["GROUNDED", "INPUTS", "State", "fold"]
