"""What retention takes while a topic is read: the consumer goes on at the log's new beginning and says nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

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
