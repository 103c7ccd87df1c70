"""Reading on past what cannot be read: how observers, views, readers of outputs and `sluice consume` take records.

aiokafka's own way unpacks each batch whole, and a batch of some kilobytes may hide gigabytes; one that is damaged
raises in whoever reads, and again after each start. Here a batch has the bounds that it has for lanes, and what lies
unpacked counts in the budget of the event loop (stored_records.py). A batch that cannot be read is told and passed
over: no record ends its reader. Where a lane reads the same topic, its ledger names the batch
(batches/unreadable_batches.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec.structs import replace

from ..settings.settings import Settings
from .aiokafka_inside import coordinator_of, subscriptions_of
from .batches.unpacking import RecordDecoder, UnreadableError
from .batches.unreadable_batches import FetchAgainError, Suspects
from .connect import open_reader
from .stored_records import AS_RECORDS, TAKEN, StoredRecord, take_all, take_stored

FIRST_WORDS: Final = "a batch cannot be read: it is passed over"

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class PassedOver(NamedTuple):
    """A batch that cannot be read: its first offset that was wanted, the one behind it, and why, as a sentence."""

    offset: int
    next: int
    why: str


Told = Callable[[TopicPartition, PassedOver], None]


def log_passed(partition: TopicPartition, passed: PassedOver) -> None:
    """Tells it in the log."""
    log.error(FIRST_WORDS, error=passed.why, behind=passed.next)


class Passing:
    """What becomes of batches that a reader cannot read: fetched once more where that may help, then passed over.

    Args:
        tell: is told of each that is passed over.
    """

    def __init__(self, tell: Told = log_passed) -> None:
        self._tell, self._suspects = tell, Suspects()

    def decoder(self, partition: TopicPartition, decoder: RecordDecoder = AS_RECORDS) -> RecordDecoder:
        """The same decoder, for a partition, with this as what stands for a batch."""
        return decoder._replace(refuse=partial(self._refuse, partition))

    def _refuse(self, partition: TopicPartition, unreadable: UnreadableError) -> PassedOver:
        """
        Raises:
            FetchAgainError: it is fetched once more.
            UnreadableError: nobody can tell where it ends.
        """
        if self._suspects.may_heal(partition, unreadable):
            raise FetchAgainError
        if unreadable.next is None:
            raise unreadable
        passed = PassedOver(unreadable.offset, unreadable.next, unreadable.args[0])
        self._tell(partition, passed)
        return passed


class PassingReader:
    """A started consumer, as a reader that goes on takes from it: in place of aiokafka's `getmany`.

    Args:
        consumer: with an assignment, or a subscription.
        most_unpacked: bytes that the readers of this event loop may hold unpacked together, beside a single batch.
        tell: is told of each batch that is passed over.
    """

    def __init__(self, consumer: AIOKafkaConsumer, most_unpacked: int, tell: Told = log_passed) -> None:
        self._consumer, self._most_unpacked = consumer, most_unpacked
        self._decoder_of = Passing(tell).decoder

    async def take(
        self, seconds: float, most: int = TAKEN, *, passed: bool = False
    ) -> Mapping[TopicPartition, list[Any]]:
        """Records of the partitions that are read now, in order within each; none where nothing comes in time.

        Args:
            seconds: how long the first record is waited for.
            most: so many records.
            passed: whether a `PassedOver` stands where a batch is passed over; else nothing does.

        Raises:
            KafkaError: what the group's coordinator, or a broker, has to say; or nobody can tell where a batch ends.
        """
        consumer = self._consumer
        coordinator_of(consumer).check_errors()
        with subscriptions_of(consumer).fetch_context():
            wanted = consumer.assignment() - consumer.paused()
            found = await take_all(consumer, wanted, seconds, self._most_unpacked, self._decoder_of, most)
        return found if passed else {place: kept for place, some in found.items() if (kept := _records_of(some))}


def _records_of(found: list[Any]) -> list[StoredRecord]:
    return [one for one in found if not isinstance(one, PassedOver)]


async def records_between(settings: Settings, partition: TopicPartition, start: int, end: int) -> list[Any]:
    """The records of a stretch of a partition, committed or not; what cannot be read comes as `PassedOver`.

    Args:
        settings: the broker.
        partition: to be read.
        start: the first offset.
        end: the offset behind the last; a record stands there.

    Raises:
        UnreachableError: no broker answers.
    """
    found: list[Any] = []
    uncommitted = replace(settings, delivery="at-least-once")
    decoder = Passing().decoder(partition)
    async with open_reader(uncommitted, partition, start) as consumer:
        while await consumer.position(partition) < end:
            found += await take_stored(consumer, partition, 0.1, settings.max_unpacked_bytes, decoder)
    return [one for one in found if one.offset < end]
