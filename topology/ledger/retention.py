"""What retention may have taken: how much of a topic is gone at its beginning, and whether it was old enough to go.

A consumer goes on at a log's new beginning and says nothing. Kafka moves that beginning for records older than
`retention.ms`, and at the request of an administrator (`DeleteRecords`). Checkpoints record each topic's
`retention.ms`, so that an audit tells the two apart. A ledger has no retention, so one that begins later was cut by
an administrator.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from ...codecs.errors import DoesNotHoldError

if TYPE_CHECKING:
    from .interfaces import Logs

MARKER: Final = 1
"""A transaction's marker takes an offset: a jump over one is no reason to ask the broker."""

SKEW: Final = 60_000
"""So far may the clocks of worker, broker and auditor differ (ms) before a record counts as deleted early."""


class RecordedRetention(msgspec.Struct, frozen=True):
    """A topic's `retention.ms`, from the checkpoint on that records it, until another one records another.

    Attributes:
        since: when the lane's checkpoint before that one was made (Unix ms); 0 where there is none.
        time: of the checkpoint that records it.
        kept: ms; negative: for ever.
    """

    since: int
    time: int
    kept: int

    @property
    def longest(self) -> int:
        """The same, so that for ever is the most."""
        return self.kept if self.kept >= 0 else 1 << 62


def may_be_taken(recorded: Sequence[RecordedRetention], written: int, until: int) -> bool | None:
    """Whether retention may have taken a record: at some time it was as old as every retention recorded until then.

    A retention that is lowered holds for what is written after it. So an operator who lowers it, deletes and raises it
    again explains nothing, and one who lowers it for good waits out the former one for what was written before.

    Args:
        recorded: what a lane's checkpoints say of the topic, in their order.
        written: when the record was, by its block, Unix ms.
        until: when the topic was read; later retentions took nothing from it.

    Returns:
        None where no checkpoint records a retention for the time at which it was written.
    """
    longest: int | None = None
    for one in recorded:
        if one.time <= written:
            longest = one.longest
        elif one.since <= written:
            longest = max(longest or 0, one.longest)
        elif longest is None or one.time - written + SKEW >= longest:
            break
        else:
            longest = max(longest, one.longest)
    else:
        return None if longest is None else until - written + SKEW >= longest
    return None if longest is None else True


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
