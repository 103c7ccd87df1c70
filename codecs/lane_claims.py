"""Claims: that a worker has taken a lane over, written into the lane's ledger (docs/audit.md).

A claim is a record of a ledger with the key `claim`, between its blocks. Its value is a signed note (C2SP) of two
lines, the claim as canonical JSON and the origin of the lane's log, so that it counts in no other ledger:

    {"app_id":"sluice","claimed_at":"2026-11-21T09:00:00Z","generation":7,"lane":2,"member":"…","package":"1.0.0",
    "v":1,"worker":"w-0"}
    f3kq…/ledger/2

A claim is no block: the chain of hashes passes over it. The blocks that its worker writes name its hash (`claim`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from .errors import DoesNotHoldError
from .notes import MAX_BYTES, Note, Signer, parse_note
from .times import parse_time

KEY: Final = b"claim"
"""The key of a claim's record. Blocks have none."""
FORMAT: Final = 1


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a claim says.

    Attributes:
        v: the format.
        lane: the partition number.
        worker: its name, for people: the static member's, or that of its host and process.
        member: its member id in the consumer group.
        generation: of the group, in which it was given the lane.
        package: its version.
        claimed_at: by the worker's clock, RFC 3339. For people: nothing is decided by it.
        app_id: the application that the worker is of: the setting of this name; unset in claims before there was it.
    """

    v: int = FORMAT
    lane: Annotated[int, Meta(ge=0)]
    worker: str
    member: str
    generation: Annotated[int, Meta(ge=0)]
    package: str
    claimed_at: str
    app_id: str | UnsetType = UNSET


class SignedClaim(NamedTuple):
    """A claim as it stands in a ledger.

    Attributes:
        claim: what it says.
        origin: of the lane's log that it is for.
        note: with the signatures; None where it has none. Whether they hold is another question.
        hash: `sha256:` over the record's value, as block headers name it.
    """

    claim: Claim
    origin: str
    note: Note | None
    hash: str


_json = msgspec.json.Encoder(order="sorted")
_read = msgspec.json.Decoder(Claim)


def write_claim(claim: Claim, origin: str, signer: Signer | None) -> bytes:
    """A claim's record value.

    Args:
        claim: what it says.
        origin: the name of the lane's log.
        signer: of the worker; None: it has no key, and the claim stands unsigned.
    """
    text = f"{_json.encode(claim).decode()}\n{origin}\n"
    return (text if signer is None else signer.sign(text)).encode()


def claim_hash(value: bytes) -> str:
    """The hash by which block headers name a claim."""
    return "sha256:" + sha256(value).hexdigest()


def read_claim(value: bytes | None) -> SignedClaim:
    """The claim that a record with the key `claim` holds.

    Raises:
        DoesNotHoldError: it holds none, or one of a format that this package does not read.
    """
    raw = value or b""
    if len(raw) > MAX_BYTES:
        raise DoesNotHoldError("a claim is too long", expected=f"{MAX_BYTES} bytes at most", got=f"{len(raw)}")
    note = parse_note(raw) if b"\n\n" in raw else None
    try:
        text = raw.decode() if note is None else note.text
        line, origin, rest = text.split("\n")
        claim = _read.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise DoesNotHoldError(f"a record with the key `claim` holds none: {error}") from None
    if claim.v != FORMAT:
        raise DoesNotHoldError("a claim has another format", expected=f"version {FORMAT}", got=str(claim.v))
    if rest or _json.encode(claim).decode() != line or parse_time(claim.claimed_at) is None:
        raise DoesNotHoldError("a claim is not in the form that claims are written in")
    return SignedClaim(claim, origin, note, claim_hash(raw))


def is_claim(key: bytes | None) -> bool:
    """Whether a ledger's record with this key is a claim, and no block."""
    return key == KEY
