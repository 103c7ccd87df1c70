"""A lane's state as bytes and back: what a restart begins with instead of folding the whole ledger.

`dump(load(dump(state)))` is `dump(state)`, and a lane that goes on from `load` decides byte for byte as one that never
stopped. The form is MessagePack: a head with clocks, counters and the policies, then every emission that anything is
known of as it lies at rest (emission_state.py), in the order in which it was first heard of. Timers are not written:
each item says what it waits for. Which file this goes to, and whether it is whole, is not this module's business.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import islice
from typing import Final

import msgspec

from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import Partitioner
from ..policy.policy import Policy, policy_of_document
from ..policy.privacy import NO_SECRETS, Secrets
from .emission_state import (
    CLASSES,
    REASONS,
    STATUSES,
    AssertionState,
    Attempt,
    Checking,
    CheckTerms,
    ClassEvidence,
    Closed,
    Covered,
    Declared,
    Elsewhere,
    EmissionState,
    Look,
    Looks,
    Material,
    Miss,
    NotCounted,
    PendingEvidence,
    Place,
    Terms,
    Verified,
    Witness,
)
from .state import State

FORMAT = 4
CHUNK = 4096
"""So many emissions make a chunk: about a megabyte."""


class Head(msgspec.Struct, gc=False, kw_only=True):
    """Everything of a state but its emissions."""

    v: int
    lane: int
    lanes: int
    partitioner: Partitioner
    policy: bytes | None
    next_policy: bytes | None
    time: int
    watermark: int
    ran: int
    order: int
    terms: list[Terms]
    terms_number: int
    counters: dict[str, int]
    max_validities: list[tuple[int, int]]
    running: list[tuple[int, int]]


def layout_of(*parts: type[msgspec.Struct] | str) -> str:
    """A name for how a state lies in its bytes: 16 hexadecimal digits, others for any other structs or fields.

    Bytes do not say what they are: one package would take another's for its own, fields for others, or leave them out.

    Args:
        parts: the structs, each with its fields in order, and whatever else the bytes are read by.
    """
    return sha256(repr([_described(part) for part in parts]).encode()).hexdigest()[:16]


def _described(part: type[msgspec.Struct] | str) -> str:
    if isinstance(part, str):
        return part
    fields = [f"{name}: {part.__annotations__[name]}" for name in part.__struct_fields__]
    return f"{part.__name__} {fields}"


_STRUCTS = (
    Head,
    Terms,
    CheckTerms,
    EmissionState,
    Attempt,
    Closed,
    AssertionState,
    Declared,
    ClassEvidence,
    Witness,
    Checking,
    Verified,
    Covered,
    Place,
    Elsewhere,
    Miss,
    Look,
    Looks,
    NotCounted,
    Material,
    PendingEvidence,
)
LAYOUT: Final = layout_of(repr((FORMAT, CLASSES, STATUSES, REASONS)), *_STRUCTS)
"""Changes with the structs by itself; where bytes only come to mean something else, raise `FORMAT`."""

_encoder = msgspec.msgpack.Encoder(order="sorted")
_head = msgspec.msgpack.Decoder(Head)
_chunk = msgspec.msgpack.Decoder(list[tuple[str, bytes]])


def dump(state: State) -> Iterator[bytes]:
    """The state as it is now, in chunks of about a megabyte, each MessagePack by itself.

    What is at rest are bytes that never change: the chunks may be made later, in another thread, while the lane folds
    on; only the call itself must not be beside a fold.
    """
    head = Head(
        v=FORMAT,
        lane=state.lane,
        lanes=state.lanes,
        partitioner=state.partitioner,
        policy=_document(state.policy),
        next_policy=_document(state.next_policy),
        time=state.time,
        watermark=state.watermark,
        ran=state.ran,
        order=state.order,
        terms=list(state.terms),
        terms_number=state.terms_number,
        counters=dict(state.counters),
        max_validities=list(state.max_validities),
        running=list(state.running),
    )
    return _chunks(head, dict(state.at_rest()))


def _chunks(head: Head, packed: dict[str, bytes]) -> Iterator[bytes]:
    yield _encoder.encode(head)
    emissions = iter(packed.items())
    while chunk := list(islice(emissions, CHUNK)):
        yield _encoder.encode(chunk)


def load(chunks: Iterable[bytes], secrets: Secrets = NO_SECRETS) -> State:
    """The state that `dump` was given, and the secrets of this process, which are in no snapshot.

    Raises:
        DoesNotHoldError: the chunks are not those of a snapshot that this version reads.
    """
    given = iter(chunks)
    try:
        head = _head.decode(next(given, b""))
        if head.v != FORMAT:
            raise DoesNotHoldError("the snapshot has another format", expected=str(FORMAT), got=str(head.v))
        state = State(head.lane, head.lanes, head.partitioner, secrets)
        for document in (head.policy, head.next_policy):
            if document is not None:
                state.announce(policy_of_document(document))
                if document is head.policy:
                    state.enforce()
        state.time, state.watermark, state.ran, state.order = head.time, head.watermark, head.ran, head.order
        state.terms, state.terms_number = head.terms, head.terms_number
        state.counters = Counter(head.counters)
        state.max_validities, state.running = head.max_validities, deque(head.running)
        state.put_back({emission_id: packed for chunk in given for emission_id, packed in _chunk.decode(chunk)})
    except msgspec.MsgspecError as error:
        raise DoesNotHoldError(f"the snapshot does not hold a lane's state: {error}") from error
    return state


def _document(policy: Policy | None) -> bytes | None:
    return None if policy is None else policy.document
