"""A ledger's identity: which ledger it is, and which application writes it (docs/audit.md).

A lane's first block holds it as an event of the kind `LEDGER`. The value is canonical JSON:

    {"app_id":"sluice","ledger_id":"f3kq…","v":1}

The id never changes, wherever the ledger is copied to. An application under another name that takes the ledger over
writes the event again, with the name before it as `was`.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from .blocks import Block, Event, EventKind, events_of_kind
from .errors import DoesNotHoldError

FORMAT: Final = 1


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
    """The event of an identity.

    Args:
        identity: what it says; its own `was` is not looked at.
        was: the application that wrote the ledger before; None in the first block.
        time: of the event, Unix ms.
    """
    return Event(EventKind.LEDGER, 0, 0, time, [], None, _write.encode(replace(identity, was=was)))


def identity_in(block: Block) -> LedgerIdentity | None:
    """The identity that a block holds; None where it holds none.

    Raises:
        DoesNotHoldError: it holds several, or one in another form.
    """
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
