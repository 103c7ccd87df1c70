"""What retention takes while a topic is read: the consumer goes on at the log's new beginning and says nothing. A
ledger has none, so one that begins later was cut by somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...codecs.errors import DoesNotHoldError

if TYPE_CHECKING:
    from .interfaces import Logs

MARKER: Final = 1
"""A transaction's marker takes an offset: a jump over one is no reason to ask the broker."""


async def taken(logs: Logs, topic: str, lane: int, due: int, found: int) -> int:
    """How many offsets from the one that was due on retention has taken.

    Args:
        logs: asked where the partition begins now, if more than a marker is gone.
        topic, lane: the partition.
        due: the offset behind the last that was read.
        found: the next one that was read, or the end.
    """
    if found - due <= MARKER:
        return 0
    return max(0, min((await logs.range(topic, lane)).first, found) - due)


def beheaded(ledger: str, lane: int, start: int) -> DoesNotHoldError:
    """The error for a ledger of which the beginning was deleted.

    Args:
        ledger: the topic's name.
        lane: the partition.
        start: the first offset that is left.
    """
    return DoesNotHoldError(
        "the ledger's head was deleted: without a snapshot its lane cannot be restored, and no audit can fold it",
        path=f"{ledger}/{lane}",
        expected="offset 0 as the first",
        got=str(start),
        hint="find who deletes its records, and keep the snapshots in state_dir; else begin under another topic_prefix",
    )
