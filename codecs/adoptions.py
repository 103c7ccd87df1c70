"""Adoptions: that an input topic was made anew, and that lanes are to read the new one (docs/howto/recover.md).

An adoption is a record on the topic `policies`, with the key `adopt:` and the topic. Its value is JSON, and signed like
any record (signatures.py): it names both ids, so that it says nothing about any later topic of that name. Lanes take
it into their ledgers as an event of the kind `ADOPT`; the block after that one names the new id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from .blocks import Block, EventKind, events_of_kind
from .canonical import fast_canonical
from .errors import DoesNotHoldError
from .notes import Signer
from .signatures import Domain, signed

KEY_PREFIX: Final = b"adopt:"
"""How the key of an adoption's record begins; the logical topic follows."""
FORMAT: Final = 1
MAX_BYTES: Final = 4096
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


_read = msgspec.json.Decoder(Adoption)


def is_adoption(key: bytes | None) -> bool:
    """Whether a record of the topic `policies` with this key is an adoption, and no policy."""
    return key is not None and key.startswith(KEY_PREFIX)


def domain_of(origin: str) -> Domain:
    """What an adoption is signed for, in the deployment of this name."""
    return Domain("policies", "adoption", origin)


def write_adoption(adoption: Adoption, origin: str, signer: Signer | None) -> tuple[bytes, bytes]:
    """The key and the value of an adoption's record.

    Args:
        adoption: what it says, without a signature.
        origin: the deployment's name: elsewhere the signature does not hold.
        signer: of whoever adopts; None: it stands unsigned.
    """
    said: dict[str, Any] = msgspec.to_builtins(adoption)
    value = said if signer is None else signed(said, signer, domain_of(origin))
    return KEY_PREFIX + adoption.topic.encode(), fast_canonical(value)


def read_adoption(key: bytes | None, value: bytes | None) -> Adoption:
    """The adoption that a record holds.

    Raises:
        DoesNotHoldError: it holds none, or one that its key does not name.
    """
    raw = value or b""
    if len(raw) > MAX_BYTES:
        raise DoesNotHoldError("an adoption is too long", expected=f"{MAX_BYTES} bytes at most", got=f"{len(raw)}")
    try:
        adoption = _read.decode(raw)
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

    An adoption that was made for another id than the block's means nothing here: so one that comes again never does.
    Whether it may stand in a ledger the fold has checked (streams/policy/adoption_rule.py).
    """
    found: dict[str, str] = {}
    for event in events_of_kind(block.events, EventKind.ADOPT):
        adoption = read_adoption(event.key, event.value)
        if any((one.topic, one.id) == (adoption.topic, adoption.was) for one in block.header.sources):
            found[adoption.topic] = adoption.id
    return found
