"""What stands in a block for a batch of an input that could not be read: where it was, what it looked like, and why.

The event is of the kind `QUARANTINE`. Its offset is the first one that could not be read; its value is the JSON of
`Quarantined`. A fold takes all that it tells from there, so nobody who reads a ledger ever needs the batch again.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Final, Literal

import msgspec

from .blocks import Event, EventKind
from .errors import Fault

FIRST_BYTES: Final = 64
"""So many bytes of the batch as it came are kept: its header, for whoever looks for who wrote it."""

UnreadableReason = Literal["checksum", "damaged", "too-large"]
MEANING: Final[dict[UnreadableReason, str]] = {
    "checksum": "its checksum does not hold",
    "damaged": "its bytes are not what its header says",
    "too-large": "it unpacks to more than a lane takes",
}


class Quarantined(msgspec.Struct, frozen=True, gc=False):
    """A batch that could not be read.

    Attributes:
        next: the offset behind it.
        reason: why.
        length: how many bytes it had as it came.
        sha256: of these, in hexadecimal.
        first: the first of them, in hexadecimal.
    """

    next: int
    reason: UnreadableReason
    length: int
    sha256: str
    first: str


_read = msgspec.json.Decoder(Quarantined)
_encode = msgspec.json.Encoder().encode


def quarantine(source: int, offset: int, next: int, timestamp: int, reason: UnreadableReason, raw: bytes) -> Event:
    """The event that stands for a batch.

    Args:
        source: as events have it.
        offset, next: the first offset that could not be read, and the one behind the batch.
        timestamp: when it was given up, Unix ms.
        reason: why.
        raw: the batch as it came.
    """
    record = Quarantined(next, reason, len(raw), sha256(raw).hexdigest(), raw[:FIRST_BYTES].hex())
    return Event(EventKind.QUARANTINE, source, offset, timestamp, [], None, _encode(record))


def read_quarantine(event: Event) -> Quarantined:
    """What an event of this kind tells.

    Raises:
        msgspec.MsgspecError: it is none that `quarantine` has made.
    """
    return _read.decode(event.value or b"")


def refused(event: Event) -> tuple[int, Fault]:
    """How many offsets an event of this kind passes over, and the fault of its dead letter."""
    record = read_quarantine(event)
    detail = f"the batch from offset {event.offset} to {record.next - 1} cannot be read: {MEANING[record.reason]}"
    return record.next - event.offset, Fault("unreadable-batch", detail)
