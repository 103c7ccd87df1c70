"""Whether a proof holds: recomputed from its file and a key, with nothing else (RFC 6962, C2SP).

A proof of a record leads from its bytes to a signature, each step recomputed here:

    the record's bytes ─ path ─> the root that a block's statement names (of an output: the next block's statement)
    the statement ─ hash ─> a leaf of the lane's tree ─ path ─> the root of a checkpoint ─ signature ─> a key

A proof of consistency leads from one checkpoint to a later one of the same lane. No clock, no I/O. Nothing stands in a
file that is not checked: what is there for people only, `readable`, is written anew from the bytes and compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET

from ...codecs import merkle
from ...codecs.blocks import Header, read_statement, statement_hash
from ...codecs.checkpoints import Checkpoint, leaf_of, parse_checkpoint
from ...codecs.errors import DoesNotHoldError
from ...codecs.notes import Verifier, parse_note, signers_of, unbase64
from ...codecs.records import LedgerPlace
from ...codecs.times import format_time
from ..terminal.showing import DECIDED, escaped
from .proof_files import ConsistencyProof, Proof, Readable, What, readable_of
from .trust import TrustedKey, demand_counting

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
    """What a proof shows, and who of these has signed it; any one of them is enough.

    Args:
        proof: as its file has it.
        verifiers: who is believed at any time.
        listed: who is believed besides, each in its own time, as a policy lists them.

    Raises:
        DoesNotHoldError: a step does not hold; the sentence says which.
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
