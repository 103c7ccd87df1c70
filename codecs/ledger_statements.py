"""Statements in a lane's ledger besides inputs: which ledger it is and which application writes it, that a worker has
taken the lane over (docs/audit.md), and that an input topic was made anew (docs/howto/recover.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from .blocks import Block, Event, EventKind, events_of_kind
from .canonical import fast_canonical
from .errors import DoesNotHoldError
from .notes import MAX_BYTES, Note, Signer, parse_note
from .signatures import Domain, signed
from .times import parse_time

KEY_PREFIX: Final = b"adopt:"
"""How the key of an adoption's record begins; the logical topic follows."""
FORMAT: Final = 1
MAX_ADOPTION_BYTES: Final = 4096
"""No adoption is longer."""
_Id = Annotated[str, Meta(pattern="^[A-Za-z0-9_-]{22}$")]


class Adoption(msgspec.Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True, omit_defaults=True):
    """What an adoption says.

    Attributes:
        v: the format.
        topic: by its logical name.
        was: the id that ledgers name.
        id: the id of the topic that is to be read instead, from its beginning.
        adopted_at: by the operator's clock, RFC 3339. For people: nothing is decided by it.
        signature: of whoever adopts; None where it is not signed.
    """

    v: int
    topic: str
    was: _Id
    id: _Id
    adopted_at: str
    signature: str | None = None


_adoption = msgspec.json.Decoder(Adoption)


def is_adoption(key: bytes | None) -> bool:
    """Whether a record of the topic `policies` with this key is an adoption, and no policy."""
    return key is not None and key.startswith(KEY_PREFIX)


def domain_of(origin: str) -> Domain:
    """What an adoption is signed for, in the deployment of this name."""
    return Domain("policies", "adoption", origin)


def write_adoption(adoption: Adoption, origin: str, signer: Signer | None) -> tuple[bytes, bytes]:
    """The key and the value of an `adoption`'s record, signed for the deployment of this name (`origin`); unsigned
    without a `signer`."""
    said: dict[str, Any] = msgspec.to_builtins(adoption)
    value = said if signer is None else signed(said, signer, domain_of(origin))
    return KEY_PREFIX + adoption.topic.encode(), fast_canonical(value)


def read_adoption(key: bytes | None, value: bytes | None) -> Adoption:
    """The adoption that a record holds. Raises `DoesNotHoldError` where it holds none, or one that its key does not
    name."""
    raw = value or b""
    if len(raw) > MAX_ADOPTION_BYTES:
        raise DoesNotHoldError(
            "an adoption is too long", expected=f"{MAX_ADOPTION_BYTES} bytes at most", got=f"{len(raw)}"
        )
    try:
        adoption = _adoption.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DoesNotHoldError(f"a record with the key of an adoption holds none: {error}") from None
    if adoption.v != FORMAT:
        raise DoesNotHoldError("an adoption has another format", expected=f"version {FORMAT}", got=str(adoption.v))
    if key != KEY_PREFIX + adoption.topic.encode():
        raise DoesNotHoldError("an adoption is of another topic than its key names", got=adoption.topic)
    if adoption.was == adoption.id:
        raise DoesNotHoldError("an adoption names one id twice", got=adoption.id)
    return adoption


def adopted_in(block: Block) -> Mapping[str, str]:
    """What the next block has to name instead of the ids that this one does, by topic.

    An adoption for another id than the block's means nothing here. The fold has checked that it may stand in a ledger
    (streams/policy/policy.py).
    """
    found: dict[str, str] = {}
    for event in events_of_kind(block.events, EventKind.ADOPT):
        adoption = read_adoption(event.key, event.value)
        if any((one.topic, one.id) == (adoption.topic, adoption.was) for one in block.header.sources):
            found[adoption.topic] = adoption.id
    return found


KEY: Final = b"claim"
"""The key of a claim's record. Blocks have none."""


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
_claim = msgspec.json.Decoder(Claim)


def write_claim(claim: Claim, origin: str, signer: Signer | None) -> bytes:
    """A `claim`'s record value for the lane's log of this name (`origin`); unsigned where the worker has no key
    (`signer`)."""
    text = f"{_json.encode(claim).decode()}\n{origin}\n"
    return (text if signer is None else signer.sign(text)).encode()


def claim_hash(value: bytes) -> str:
    """The hash by which block headers name a claim."""
    return "sha256:" + sha256(value).hexdigest()


def read_claim(value: bytes | None) -> SignedClaim:
    """The claim that a record with the key `claim` holds. Raises `DoesNotHoldError` where it holds none, or one of
    another format."""
    raw = value or b""
    if len(raw) > MAX_BYTES:
        raise DoesNotHoldError("a claim is too long", expected=f"{MAX_BYTES} bytes at most", got=f"{len(raw)}")
    note = parse_note(raw) if b"\n\n" in raw else None
    try:
        text = raw.decode() if note is None else note.text
        line, origin, rest = text.split("\n")
        claim = _claim.decode(line)
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


class LedgerIdentity(msgspec.Struct, frozen=True, kw_only=True, gc=False, forbid_unknown_fields=True):
    """What the event says.

    Attributes:
        v: the format.
        ledger_id: of the ledger: transactional ids and the origins of checkpoints are made of it.
        app_id: the application that writes it from now on.
        was: the application that wrote it before; None in the first block.
    """

    v: int = FORMAT
    ledger_id: Annotated[str, Meta(pattern="^[A-Za-z0-9._-]{1,249}$")]
    app_id: str
    was: str | None = None


_read = msgspec.json.Decoder(LedgerIdentity)
_write = msgspec.json.Encoder(order="sorted")


def identity_event(identity: LedgerIdentity, was: str | None, time: int) -> Event:
    """The event of an `identity`, at a `time` in Unix ms; `was` is the application that wrote the ledger before, None
    in the first block."""
    return Event(EventKind.LEDGER, 0, 0, time, [], None, _write.encode(replace(identity, was=was)))


def identity_in(block: Block) -> LedgerIdentity | None:
    """The identity that a block holds, if any. Raises `DoesNotHoldError` for several, or one in another form."""
    events = events_of_kind(block.events, EventKind.LEDGER)
    if not events:
        return None
    try:
        identity = _read.decode(events[0].value or b"")
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise DoesNotHoldError(f"an event of the kind LEDGER names no ledger: {error}") from None
    if len(events) > 1 or identity.v != FORMAT or _write.encode(identity) != events[0].value:
        raise DoesNotHoldError("a block names its ledger twice, or in a form that identities are not written in")
    return identity
