"""Attestations, typed, sanitised and framed: `fold(state, block) -> outputs` of the lane `attestations` -> `grounded`.

Nothing is kept from one record to the next, so this lane needs no ledger (ARCHITECTURE.md): an output depends on its
attestation and the policy alone, and names the place of its original, which stays for audit [V §4.6]. The policy comes
as an event, like in any lane. Every attestation has one fate: a record on `grounded`, or a dead letter that says why.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from ...codecs.blocks import MAX_INPUT_BYTES, Block, Event, EventKind, Output
from ...codecs.dids import normalised
from ...codecs.errors import DoesNotHoldError, Fault
from ...codecs.partition import Partitioner
from ..adjudication import validation
from ..adjudication.outputs import attestation_rules, dead_letter, source_of, traceparent_of
from ..policy.policy import HOUR, policy_of_document
from ..sanitise import AttestationRules, frame_attestation
from .validators import Validators, unauthorised_validator

INPUTS = ("attestations",)
GROUNDED = "grounded"
RENEWAL = 6 * HOUR
"""An idle lane closes an empty block so often. Its positions are a consumer group's, and Kafka forgets those of a group
that is silent for seven days (`offsets.retention.minutes`)."""

_encode = msgspec.json.Encoder().encode


class State:
    """What a framing lane has: where it is, the policy, and counters. No attestation leaves anything here."""

    def __init__(self, lane: int, lanes: int, partitioner: Partitioner) -> None:
        self.lane, self.lanes = lane, lanes
        self.partitioner: Partitioner = partitioner
        self.rules = self.next_rules = AttestationRules()
        self.validators = self.next_validators = Validators()
        self.policy_hash = ""
        self.renew_at = 0
        self.counters: Counter[str] = Counter()


def fold(state: State, block: Block) -> list[Output]:
    """Each attestation's record or dead letter, in order.

    Raises:
        DoesNotHoldError: an event of a kind that this version does not know.
    """
    state.renew_at = block.header.time + RENEWAL
    state.rules, state.validators = state.next_rules, state.next_validators
    return [output for event in block.events if (output := _apply(state, block, event)) is not None]


def _apply(state: State, block: Block, event: Event) -> Output | None:
    kind = event.kind
    if kind == EventKind.RECORD:
        framed = frame_attestation(event.value or b"", state.rules, source=source_of(block, event))
        fault = (
            framed
            if isinstance(framed, Fault)
            else _misrouted(state, event, framed)
            or unauthorised_validator(state.validators, event.value or b"", block.header.time)
        )
        if not isinstance(framed, Fault) and fault is None:
            _name_once(framed)
            state.counters["grounded"] += 1
            return _grounded(event, framed)
    elif kind == EventKind.OVERSIZE:
        fault = Fault("oversize", f"the record has more than {MAX_INPUT_BYTES} octets")
    elif kind == EventKind.POLICY:
        if not _announce(state, event):
            state.counters["no-policy"] += 1  # the adjudicating lane tells of it in a dead letter
        return None
    elif kind == EventKind.GAP:
        state.counters["lost"] += msgspec.json.decode(event.value or b"0", type=int) - event.offset
        return None
    else:
        raise DoesNotHoldError("the block has an event of a kind that this version does not know", got=str(kind))
    assert fault is not None
    state.counters["dead-letters"] += 1
    return dead_letter(block, event, fault)


def _misrouted(state: State, event: Event, framed: dict[str, Any]) -> Fault | None:
    claim: str = framed["attestations"][0]["claim_hash"]
    return validation.wrong_key(event.key, "claim hash", claim, state.partitioner) or validation.wrong_partition(
        claim, state.lane, state.lanes, state.partitioner
    )


def _grounded(event: Event, framed: dict[str, Any]) -> Output:
    headers = [("content-type", b"application/json")]
    if (traceparent := traceparent_of(event)) is not None:
        headers.append(("traceparent", traceparent))
    return Output(GROUNDED, event.key, _encode(framed), headers)


def _name_once(framed: dict[str, Any]) -> None:
    """Names the validator in the one spelling of its DID: one validator, one vote."""
    entry = framed["attestations"][0]
    entry["validator_did"] = normalised(entry["validator_did"])


def _announce(state: State, event: Event) -> bool:
    try:
        policy = policy_of_document(event.value or b"")
    except msgspec.MsgspecError:
        return False
    # In force from the next block on.
    state.next_rules, state.next_validators = attestation_rules(policy), Validators.of(policy)
    state.policy_hash = policy.hash
    return True
