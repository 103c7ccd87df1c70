"""What becomes of a batch of an input that cannot be read: fetched once more, put aside by an event, or a lane stops.

What is too large is so however often it is fetched. What is damaged may have been damaged on the way, so it is fetched
once more. Then an event stands for it in the lane's ledger (`sluice.codecs.quarantine`) and the lane goes on behind it;
or, where the settings say so, or nobody can tell where the batch ends, the lane of that partition stops with a
sentence. Nothing here ends a worker.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import structlog
from aiokafka import TopicPartition

from ....codecs.blocks import Event
from ....codecs.errors import DoesNotHoldError
from ....codecs.quarantine import quarantine
from ...settings.clock import now_ms
from .unpacking import UnreadableError

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FetchAgainError(Exception):
    """What was fetched of a partition is to be let go of: it is fetched again, or rests."""


class Suspects:
    """The batches that may have been damaged on the way, of one consumer: each is fetched once more."""

    def __init__(self) -> None:
        self._seen: dict[TopicPartition, int] = {}

    def may_heal(self, partition: TopicPartition, unreadable: UnreadableError) -> bool:
        """Whether a batch is to be fetched once more: one that is too large is so however often it is fetched."""
        offset = unreadable.offset
        if unreadable.reason != "too-large" and self._seen.get(partition) != offset:
            self._seen[partition] = offset
            return True
        self.forget(partition)
        return False

    def forget(self, partition: TopicPartition) -> None:
        """The partition is read anew."""
        self._seen.pop(partition, None)


class Stopped(NamedTuple):
    """A partition that is not read any further: the first offset that cannot be read, and why."""

    offset: int
    error: DoesNotHoldError


class Refusals:
    """The batches that could not be read, of the inputs of one consumer.

    Attributes:
        stopped: partitions whose lanes have to stop, until somebody has told them.

    Args:
        goes_on: whether a lane may pass a batch that cannot be read.
        clock: Unix ms.
    """

    def __init__(self, *, goes_on: bool, clock: Callable[[], int] = now_ms) -> None:
        self.stopped: dict[TopicPartition, Stopped] = {}
        self._goes_on, self._clock = goes_on, clock
        self._suspects = Suspects()

    def refuse(self, partition: TopicPartition, source: int, unreadable: UnreadableError) -> Event:
        """The event that stands for a batch, for the source of its lane.

        Raises:
            FetchAgainError: there is none, or none yet.
        """
        if self._suspects.may_heal(partition, unreadable):
            log.warning("a batch cannot be read: fetching it once more", error=unreadable.args[0])
            raise FetchAgainError
        offset = unreadable.offset
        if self._goes_on and unreadable.next is not None:
            log.error("a batch cannot be read: the ledger records it, and the lane goes on", error=unreadable.args[0])
            return quarantine(source, offset, unreadable.next, self._clock(), unreadable.reason, unreadable.raw)
        self.stopped[partition] = Stopped(offset, _sentence(partition, unreadable, goes_on=self._goes_on))
        raise FetchAgainError

    def forget(self, partition: TopicPartition) -> None:
        """The partition was sought: it is read anew."""
        self._suspects.forget(partition)
        self.stopped.pop(partition, None)


def _sentence(partition: TopicPartition, unreadable: UnreadableError, *, goes_on: bool) -> DoesNotHoldError:
    hint = "delete the records up to behind it; the ledger then names a gap"
    if not goes_on:
        hint = f'set on_poison = "go-on" to have it recorded and passed, or {hint}'
    elif unreadable.next is None:
        hint = f"nobody can tell where it ends: {hint}"
    return DoesNotHoldError(
        f"a batch of an input cannot be read: {unreadable.args[0]}",
        path=f"{partition.topic}/{partition.partition}/{unreadable.offset}",
        hint=hint,
    )
