"""Proof files as they are written and read: JSON, with all that a third party needs and nothing that is not checked.

`@type` says which of two a file is: that a record stands in a lane's history (`Proof`), or that one checkpoint's
history is the beginning of another's (`ConsistencyProof`). What the parts must be to each other is in proofs.py.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
from msgspec import UNSET, UnsetType, field

from ...codecs.blocks import INPUT_KINDS, Event, EventKind, Header, Output, event_of, output_of
from ...codecs.errors import DoesNotHoldError
from ..terminal.showing import escaped

VERSION: Final = "1.0"
MAX_FILE: Final = 64 << 20
"""Bytes of a proof's file: the greatest record, in base64 and once more in readable form, takes half of that."""

What = Literal["input", "output"]


class Readable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record for people. An input has `kind`, `partition`, `offset` and `timestamp` besides."""

    topic: str
    key: str | None
    value: str | None
    headers: list[tuple[str, str]]
    kind: str | UnsetType = UNSET
    partition: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    timestamp: int | UnsetType = UNSET


class Leaf(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record: the MessagePack of its event or output in base64, which is what counts, and the same for people."""

    leaf: str
    readable: Readable


Step = tuple[Literal["left", "right"], str]
"""On which side a sibling stands, and its hash (64 hex digits). Sides, not an index and a count: how many records a
block has is nowhere said, and another count with the same path would show the same."""


class Place(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A block in the lane's tree: its place, the tree's size, and the path from its sibling up, in hex digits."""

    index: int
    size: int
    path: list[str]


class Proof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """That a record stands in a lane's history.

    `block` is the statement of the block that it is in, `next` that of the block after it, which names the root of an
    output; `log` is the place of the later of the two.
    """

    type: Literal["sluice:Proof"] = field(name="@type")
    version: str = field(name="@version")
    what: What
    record: Leaf
    path: list[Step]
    block: str
    next: str | UnsetType = UNSET
    log: Place
    checkpoint: str


class ConsistencyProof(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """That the history of one checkpoint is the beginning of that of a later one. Both are signed notes."""

    type: Literal["sluice:ConsistencyProof"] = field(name="@type")
    version: str = field(name="@version")
    old: str
    new: str
    path: list[str]


# ---------------------------------------------------------------- writing


def make_leaf(what: What, data: bytes, header: Header) -> Leaf:
    """A record's leaf for a proof file.

    Args:
        what: the record is: an input or an output.
        data: the leaf's bytes.
        header: of the record's block.

    Raises:
        DoesNotHoldError: they are not the bytes of such a record.
    """
    return Leaf(base64.b64encode(data).decode(), readable_of(what, data, header))


def make_path(path: Sequence[bytes], is_left: Sequence[bool]) -> list[Step]:
    """The path within a block."""
    return [("left" if left else "right", one.hex()) for left, one in zip(is_left, path, strict=True)]


def render(proof: Proof | ConsistencyProof) -> bytes:
    """The file of a proof: JSON for machines and people, without a character that a terminal would obey."""
    return msgspec.json.format(escaped(msgspec.json.encode(proof).decode()).encode()) + b"\n"


def readable_of(what: What, data: bytes, header: Header) -> Readable:
    """A record in a form that people can read.

    Args:
        what: the record is: an input or an output.
        data: the leaf's bytes.
        header: of the record's block.

    Raises:
        DoesNotHoldError: they are not the bytes of such a record.
    """
    if what == "output":
        output = output_of(data)
        return Readable(output.topic, _text(output.key), _text(output.value), _headers(output))
    event = event_of(data)
    if event.kind not in INPUT_KINDS or not 0 <= event.source < len(header.sources):
        raise DoesNotHoldError("the record is not an input of its block", got=f"kind {event.kind}")
    return Readable(
        header.sources[event.source].topic,
        _text(event.key),
        _text(event.value),
        _headers(event),
        EventKind(event.kind).name.lower(),
        header.lane,
        event.offset,
        event.timestamp,
    )


def _headers(record: Event | Output) -> list[tuple[str, str]]:
    return [(name, _text(value) or "") for name, value in record.headers]


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", "backslashreplace")


# ---------------------------------------------------------------- reading


class _Kind(msgspec.Struct):
    """What a file says that it is."""

    type: Literal["sluice:Proof", "sluice:ConsistencyProof"] = field(name="@type")
    version: str = field(name="@version")


def parse_proof(data: bytes) -> Proof | ConsistencyProof:
    """The proof of a file, with nothing recomputed yet.

    Raises:
        DoesNotHoldError: it is none, or of another format.
    """
    try:
        kind = msgspec.json.decode(data, type=_Kind)
        if kind.version != VERSION:
            raise DoesNotHoldError("the proof has another format", expected=f"version {VERSION}", got=kind.version)
        proof = msgspec.json.decode(data, type=Proof if kind.type == "sluice:Proof" else ConsistencyProof)
        json.loads(data, object_pairs_hook=_once)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotHoldError(f"this is no proof: {error}") from None
    return proof


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """A name that stands twice would be read one way here and another way there."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("a member stands twice in one object")
    return members
