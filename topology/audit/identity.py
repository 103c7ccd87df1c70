"""What a record on an output topic says that it is, and how two records differ.

Nothing here is believed: it tells which output a changed or misplaced record is likely to have been.
"""

from __future__ import annotations

from itertools import zip_longest

import msgspec

from ...codecs.blocks import Output
from ...codecs.checkpoints import is_hash
from ..ledger.export_files import Stored
from .bound_marks import mark_of, place_in
from .divergences import short

Identity = tuple[int, int] | bytes
"""What tells an output from all others: its block and place there, or the source of a dead letter."""


class Claimed(msgspec.Struct):
    """What an output says of its own place."""

    height: int
    index: int
    block: str = ""


class Named(msgspec.Struct):
    """What an output says of itself."""

    ledger: Claimed
    policy: str = ""


class Sourced(msgspec.Struct):
    """What a record on `grounded` says of its original."""

    source: str


_named = msgspec.json.Decoder(Named)
_sourced = msgspec.json.Decoder(Sourced)


def named_by(record: Stored | Output) -> tuple[int, str] | None:
    """The height and the hash of the block that an output names; None where it names none."""
    found = claimed_by(record)
    return None if found is None or not is_hash(found.ledger.block) else (found.ledger.height, found.ledger.block)


def claimed_by(record: Stored | Output) -> Named | None:
    """What an output says of itself; None where it says nothing of the kind."""
    mark = mark_of(record)
    if mark is not None:
        place = place_in(mark)
        return None if place is None else Named(Claimed(place[1], place[2]))
    try:
        return _named.decode(record.value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def source_of(record: Stored | Output) -> bytes | None:
    """The input that a dead letter was; None where the record is none."""
    return next((value for name, value in record.headers if name == "sluice-source"), None)


def original_of(record: Stored | Output) -> bytes | None:
    """The input that a dead letter was, or a record on `grounded` was made from; None where the record is neither."""
    source = source_of(record)
    if source is not None:
        return source
    try:
        return _sourced.decode(record.value or b"").source.encode()
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def identity_of(record: Stored | Output) -> Identity | None:
    """What the record says that it is."""
    source = source_of(record)
    if source is not None:
        return source
    found = claimed_by(record)
    return original_of(record) if found is None else (found.ledger.height, found.ledger.index)


def policy_of(record: Stored | Output) -> str:
    """The policy that an output names; empty where it names none."""
    found = claimed_by(record)
    return "" if found is None else found.policy


def digest_of(record: Stored | Output) -> int:
    """Tells records apart within one run: Python's own hash, which never leaves this process."""
    return hash((record.key, record.value, tuple(record.headers)))


def difference(expected: Output, got: Stored) -> tuple[str, str]:
    """Where two records part: what is expected there, and what stands there."""
    if expected.key != got.key:
        return f"key {short(expected.key or b'')}", f"key {short(got.key or b'')}"
    if expected.value != got.value:
        return _first_difference(expected.value, got.value or b"")
    for mine, other in zip_longest(expected.headers, got.headers):
        if mine == other:
            continue
        got_value = None if other is None else other[1]
        if mine is None or other is None or mine[0] != other[0] or got_value is None:
            return _header(mine), _header(other)
        wanted, stands = _first_difference(mine[1], got_value)
        return f"header {short(mine[0])}, {wanted}", f"header {short(mine[0])}, {stands}"
    return "", ""


def _first_difference(mine: bytes, other: bytes) -> tuple[str, str]:
    at = next((place for place, (a, b) in enumerate(zip(mine, other, strict=False)) if a != b), None)
    at = min(len(mine), len(other)) if at is None else at
    start = max(0, at - 12)
    return f"byte {at}: {short(mine[start : at + 24])}", f"byte {at}: {short(other[start : at + 24])}"


def _header(header: tuple[str, bytes | None] | None) -> str:
    if header is None:
        return "no header more"
    name, value = header
    return f"header {short(name)} without a value" if value is None else f"header {short(name)}: {short(value)}"
