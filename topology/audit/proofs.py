"""Proof files: written, read, and verified with a key and nothing else (RFC 6962, C2SP).

A file is JSON with all that a third party needs and nothing that is not checked.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType, field

from ...codecs import merkle
from ...codecs.blocks import (
    INPUT_KINDS,
    Event,
    EventKind,
    Header,
    Output,
    event_of,
    output_of,
    read_statement,
    statement_hash,
)
from ...codecs.errors import DoesNotHoldError
from ...codecs.notes import Checkpoint, Verifier, leaf_of, parse_checkpoint, parse_note, signers_of, unbase64
from ...codecs.records import LedgerPlace
from ...codecs.times import format_time
from ..engine.trust import TrustedKey, demand_counting
from ..settings.showing import DECIDED, escaped

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


class BlockPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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
    log: BlockPlace
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
    """Returns a record's leaf for a proof file: `data` are its bytes, `header` is its block's, `what` an input or an
    output.

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
    """Returns a record in a form that people can read. Arguments and errors are those of `make_leaf`."""
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


MAX_STEPS: Final = 64
_HEX = re.compile("[0-9a-f]{64}")


class RecordShown(NamedTuple):
    """What a proof shows of a record, once it holds."""

    what: What
    readable: Readable
    header: Header
    checkpoint: Checkpoint

    @property
    def subject(self) -> str:
        """What is shown, in one sentence without a full stop, safe to print."""
        key, header, status = self.readable.key, self.header, _status(self.what, self.readable)
        if status is not None:
            record = f"the verdict {status}, on the topic {self.readable.topic},"
        elif self.what == "output":
            record = f"the output {self.readable.topic}"
        else:
            record = f"the input {self.readable.topic}/{self.readable.partition}/{self.readable.offset}"
        return escaped(
            f"{record} with the key {'(none)' if key is None else key} stands in block "
            f"{header.height} of lane {header.lane}, closed at {format_time(header.time)}, in the history of "
            f"{self.checkpoint.origin}"
        )

    @property
    def limit(self) -> str:
        """What a proof of a verdict does not show: that it is the last one about its assertion."""
        if _status(self.what, self.readable) is None:
            return ""
        return f"this is as of block {self.header.height}, and later verdicts may exist"

    def as_json(self) -> dict[str, Any]:
        """What is shown, for `--json` (docs/reference/commands.md)."""
        header = self.header
        return {
            "what": self.what,
            "record": self.readable,
            "lane": header.lane,
            "height": header.height,
            "time": format_time(header.time),
            "policy": header.policy,
            "fold": header.fold,
            "checkpoint": _checkpoint_json(self.checkpoint),
        }


class ConsistencyShown(NamedTuple):
    """What a proof of consistency shows, once it holds."""

    old: Checkpoint
    new: Checkpoint

    @property
    def subject(self) -> str:
        """What is shown, in one sentence without a full stop, safe to print."""
        return escaped(
            f"the first {self.old.head.size} of {self.new.head.size} blocks of {self.new.origin} are those of the "
            f"earlier checkpoint, of {format_time(self.old.time)} and {format_time(self.new.time)}"
        )

    @property
    def limit(self) -> str:
        """Nothing: what a proof of consistency shows has no limit."""
        return ""

    def as_json(self) -> dict[str, Any]:
        """What is shown, for `--json`."""
        old, new = _checkpoint_json(self.old), _checkpoint_json(self.new)
        return {"what": "consistency", "lane": self.new.lane, "old": old, "new": new}


class _Decided(msgspec.Struct):
    """How a decision says that it decided."""

    status: str


def _status(what: What, readable: Readable) -> str | None:
    """The status of a decision; None of every other record."""
    if what != "output" or readable.topic not in DECIDED:
        return None
    try:
        return msgspec.json.decode(readable.value or "", type=_Decided).status
    except (msgspec.MsgspecError, RecursionError):
        return None  # of a later version's making, perhaps


def _checkpoint_json(checkpoint: Checkpoint) -> dict[str, Any]:
    size, root = checkpoint.head
    return {"origin": checkpoint.origin, "size": size, "root": root.hex(), "time": format_time(checkpoint.time)}


# ---------------------------------------------------------------- checking


def verify(
    proof: Proof | ConsistencyProof, verifiers: Iterable[Verifier], listed: Iterable[TrustedKey] = ()
) -> tuple[RecordShown | ConsistencyShown, Sequence[Verifier]]:
    """Returns what a proof shows, and who of these has signed it; any one of them is enough.

    `verifiers` are believed at any time, `listed` each in its own time, as a policy lists them.

    Raises:
        DoesNotHoldError: a step of the `proof` does not hold; the sentence says which.
    """
    named = [TrustedKey(one, None) for one in verifiers]
    known = list({(one.verifier.name, one.verifier.id): one for one in (*listed, *named)}.values())
    shown = recompute(proof)
    if isinstance(proof, Proof):
        return shown, _signers(proof.checkpoint, known)
    signed = _signers(proof.new, known)
    return shown, [*signed, *(one for one in _signers(proof.old, known) if one not in signed)]


def _signers(checkpoint: str, known: Sequence[TrustedKey]) -> list[Verifier]:
    """Who of these signed a checkpoint, at a time at which their keys count."""
    note = parse_note(checkpoint)
    parsed = parse_checkpoint(note.text)
    demand_counting(parsed, note, known)
    signed = signers_of(note, [one.verifier for one in known])
    return [one.verifier for one in known if one.verifier in signed and one.counts_at(parsed.time)]


def recompute(proof: Proof | ConsistencyProof) -> RecordShown | ConsistencyShown:
    """What a proof shows if its checkpoints are believed: all of it but the signatures.

    Raises:
        DoesNotHoldError: as `verify`.
    """
    return _record(proof) if isinstance(proof, Proof) else _consistency(proof)


def _record(proof: Proof) -> RecordShown:
    header, root = read_statement(proof.block.encode())
    block, last = statement_hash(proof.block.encode()), header
    if proof.what == "output":
        last, root = _next(proof, header, block)
    elif proof.next is not UNSET:
        raise DoesNotHoldError("a proof of an input names a next block, which shows nothing of it")
    readable = _leaf(proof, header, root)
    if proof.what == "output":
        _demand_own_place(proof, readable, header, block)
    return RecordShown(proof.what, readable, header, _log(proof, last))


def _next(proof: Proof, header: Header, block: str) -> tuple[Header, bytes]:
    """The header of the block after, and the root of the outputs that it names."""
    if proof.next is UNSET:
        raise DoesNotHoldError("a proof of an output lacks the block after its own, which names the root of outputs")
    after, _ = read_statement(proof.next.encode())
    if (after.prev, after.height, after.lane) != (block, header.height + 1, header.lane):
        raise DoesNotHoldError("the two blocks of the proof do not follow upon one another", expected=f"prev {block}")
    return after, _hash(after.outputs.removeprefix("sha256:"))


def _leaf(proof: Proof, header: Header, root: bytes) -> Readable:
    """The record's readable form, once its bytes are shown to be in the block."""
    data = unbase64(proof.record.leaf)
    if data is None:
        raise DoesNotHoldError("the record is not in base64")
    if len(proof.path) > MAX_STEPS:
        raise DoesNotHoldError("the path within the block is longer than any block's")
    steps = [(side == "left", _hash(sibling)) for side, sibling in proof.path]
    if merkle.climb(merkle.leaf_hash(data), steps) != root:
        raise DoesNotHoldError("the record is not in the block: its path leads to another root", expected=root.hex())
    readable = readable_of(proof.what, data, header)
    if readable != proof.record.readable:
        raise DoesNotHoldError("what the proof shows of the record to read is not what its bytes say")
    return readable


class _Placed(msgspec.Struct):
    """What a decision says of itself."""

    ledger: LedgerPlace


def _demand_own_place(proof: Proof, readable: Readable, header: Header, block: str) -> None:
    """That a decision which names its block stands in that one; dead letters hold what strangers wrote."""
    if readable.topic not in DECIDED:
        return
    try:
        place = msgspec.json.decode(readable.value or "", type=_Placed).ledger
    except (msgspec.MsgspecError, RecursionError):
        return  # of a later version's making, perhaps: it says nothing that could be compared
    if (place.partition, place.height, place.block) != (header.lane, header.height, block):
        raise DoesNotHoldError("the record names another block than the one that it stands in", expected=block)


def _log(proof: Proof, header: Header) -> Checkpoint:
    """The checkpoint, once the block of this header, the later one of the proof, is shown to be in its tree."""
    checkpoint = parse_checkpoint(parse_note(proof.checkpoint).text)
    block = statement_hash((proof.block if proof.next is UNSET else proof.next).encode())
    if (header.lane, header.lanes) != (checkpoint.lane, len(checkpoint.tips)):
        raise DoesNotHoldError(
            "the checkpoint is of another lane, or of another number of lanes",
            expected=f"lane {header.lane} of {header.lanes}",
            got=f"lane {checkpoint.lane} of {len(checkpoint.tips)}",
        )
    if proof.log.index != header.height or proof.log.size != checkpoint.head.size:
        raise DoesNotHoldError(
            "the place in the log is not that of the block and the checkpoint",
            expected=f"{header.height} of {checkpoint.head.size}",
            got=f"{proof.log.index} of {proof.log.size}",
        )
    path = [_hash(one) for one in proof.log.path]
    merkle.demand_inclusion(leaf_of(block), proof.log.index, proof.log.size, path, checkpoint.head.root)
    if header.height == checkpoint.head.size - 1 and checkpoint.block != block:
        raise DoesNotHoldError("the checkpoint names another last block than its tree has", expected=block)
    return checkpoint


def _consistency(proof: ConsistencyProof) -> ConsistencyShown:
    old, new = (parse_checkpoint(parse_note(note).text) for note in (proof.old, proof.new))
    if old.origin != new.origin:
        raise DoesNotHoldError("the checkpoints are of two logs", expected=old.origin, got=new.origin)
    merkle.demand_consistency(*old.head, *new.head, [_hash(one) for one in proof.path])
    if old.time > new.time:
        raise DoesNotHoldError("the later checkpoint is of an earlier time", expected=format_time(old.time))
    return ConsistencyShown(old, new)


def _hash(text: str) -> bytes:
    """Lower case only: one text for one hash."""
    if not _HEX.fullmatch(text):
        raise DoesNotHoldError("the proof holds something that is no hash", expected="64 hex digits", got=text[:80])
    return bytes.fromhex(text)
