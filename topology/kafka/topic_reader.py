"""Records of topics as they are stored, read within one budget of unpacked bytes, and past what cannot be read.

aiokafka unpacks each batch whole, and a batch of some kilobytes may hide gigabytes; a damaged one ends its reader.
Here a batch is unpacked by `packed_batches.py`, and one that cannot be read is fetched again, then passed over and
logged. `read` is what `sluice consume` reads an output topic with: committed records, without a group.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec.structs import replace

from ...codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from ..settings.settings import Settings
from .aiokafka_inside import coordinator_of, fetcher_of, is_fetcher_closed, subscriptions_of, waiting_in
from .connect import open_consumer, open_reader, partitions_of
from .packed_batches import MOST_UNPACKED, FetchAgainError, RecordDecoder, Suspects, Unpacking, UnreadableError
from .polling import drain, unpacking_of
from .topics import topic_name

TAKEN: Final = 4000
"""So many records are taken at once; polling.py bounds their bytes."""
ROOM_SECONDS: Final = 0.02
"""How long a reader without room waits before it looks again."""
IDLE_SECONDS: Final = 5.0
"""A reader that has not taken records for so long holds no room that another reader needs."""


class StoredRecord(NamedTuple):
    """A record of a stored topic. `timestamp` is the broker's, Unix ms; a header's value may be null, as in Kafka."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


AS_RECORDS: Final = RecordDecoder(StoredRecord)


class _Readers:
    """The readers of one event loop: when each has read last, and which of them lack room."""

    def __init__(self) -> None:
        self._read_at: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        self._without_room: dict[Any, None] = {}  # fetchers, the one that has waited longest first

    def reads(self, fetcher: Any, now: float) -> None:
        self._read_at[fetcher] = now

    def waits(self, fetcher: Any) -> None:
        """A reader lacks room: it takes its turn behind those that have lacked it for longer."""
        self._without_room.setdefault(fetcher)

    def waits_no_more(self, fetcher: Any) -> None:
        self._without_room.pop(fetcher, None)

    def beside(self, fetcher: Any, most: int) -> int:
        """How many bytes all others hold unpacked; all that there are (`most`) while another reader is to be served
        first."""
        if next(iter(self._without_room), fetcher) is not fetcher:
            return most
        others = [other for other in self._read_at if other is not fetcher]
        return sum(one.unpacked for other in others for one in _begun(other))

    def give_way(self, fetcher: Any, now: float) -> None:
        """Has those pack up that have not read for a while."""
        for other, read_at in list(self._read_at.items()):
            if other is not fetcher and now - read_at >= IDLE_SECONDS:
                for one in _begun(other):
                    one.pack_up()


_readers_of: WeakKeyDictionary[asyncio.AbstractEventLoop, _Readers] = WeakKeyDictionary()


def _begun(fetcher: Any) -> Iterator[Unpacking]:
    """What a reader has begun to read."""
    if not is_fetcher_closed(fetcher):
        yield from filter(None, map(unpacking_of, waiting_in(fetcher).values()))


async def take_stored(
    consumer: AIOKafkaConsumer,
    partition: TopicPartition,
    patience: float,
    most_unpacked: int = MOST_UNPACKED,
    decoder: RecordDecoder = AS_RECORDS,
) -> list[Any]:
    """What has come of a partition; waits for the first records, and for room to unpack them.

    Args:
        consumer: reads this partition alone, without a group.
        partition: of the topic's full name.
        patience: seconds to wait for records.
        most_unpacked: bytes that the readers of this event loop may hold unpacked together, beside a single batch.
        decoder: what records become.

    Returns:
        Records in order, at most `TAKEN`; none where nothing came in time.

    Raises:
        UnreadableError: the next batch is damaged, or unpacks to more than one may, and nothing stands for it.
        KafkaError: what the fetcher has to say of the partition.
    """
    found = await take_all(consumer, (partition,), patience, most_unpacked, lambda _: decoder)
    return found.get(partition, [])


async def take_all(
    consumer: AIOKafkaConsumer,
    partitions: Collection[TopicPartition],
    patience: float,
    most_unpacked: int,
    decoder_of: Callable[[TopicPartition], RecordDecoder],
    most: int = TAKEN,
) -> dict[TopicPartition, list[Any]]:
    """The same of several partitions: those that a consumer reads.

    Args:
        consumer, patience, most_unpacked: as for `take_stored`.
        partitions: of the topics' full names.
        decoder_of: what the records of a partition become.
        most: so many records in all.

    Raises:
        UnreadableError, KafkaError: as `take_stored`, of any of them.
    """
    loop, fetcher = asyncio.get_running_loop(), fetcher_of(consumer)
    readers = _readers_of.setdefault(loop, _Readers())
    within = partial(drain, unpacked=most_unpacked, beside=partial(readers.beside, fetcher, most_unpacked))
    try:
        while True:
            readers.reads(fetcher, loop.time())
            drained = await within(fetcher, partitions, patience, most, decoder_of)
            readers.reads(fetcher, loop.time())
            begun = (unpacking_of(waiting_in(fetcher).get(partition)) for partition in partitions)
            if drained or not any(one is not None and one.lacks_room for one in begun):
                return {partition: found.events for partition, found in drained.items()}
            readers.waits(fetcher)
            readers.give_way(fetcher, loop.time())
            await asyncio.sleep(ROOM_SECONDS)
    finally:
        readers.waits_no_more(fetcher)


def unreadable(error: Exception, partition: TopicPartition) -> DoesNotHoldError:
    """The error for a person about stored bytes that no reader can read.

    Args:
        error: what the reader said.
        partition: of the topic's full name.
    """
    return DoesNotHoldError(
        f"a topic holds what no reader can read: {error}", path=f"{partition.topic}/{partition.partition}"
    )


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


SILENCE_SECONDS = 20
"""Every fetch is answered within half a second, records or not; a broker that is silent for longer is gone."""


class Record(NamedTuple):
    """A committed record. `timestamp` is the broker's, Unix ms; a header's value may be null, as in Kafka."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]]


async def read(
    settings: Settings, topic: str, *, since: int | None = None, follow: bool = False, tell: Told = log_passed
) -> AsyncGenerator[Record, None]:
    """The committed records of a topic (by its logical name), in order within each partition.

    Args:
        settings: the broker and prefix.
        topic: the logical name.
        since: Unix milliseconds; only records that the broker took at that time or later.
        follow: whether to go on with what comes, rather than stop at what is there now.
        tell: is told of each batch that cannot be read.

    Raises:
        UnreachableError: no broker answers, or it stops answering.
        UsageError: there is no such topic, or the broker does not look up times (the embedded one).
    """
    async with open_consumer(settings, fetch_max_wait_ms=500 if follow else 50) as consumer:
        name = topic_name(settings, topic)
        places = [TopicPartition(name, number) for number in await partitions_of(consumer, settings, name)]
        consumer.assign(places)
        await _seek(settings, consumer, places, since)
        async for record in _records(settings, consumer, places, follow, tell):
            yield record


async def _seek(settings: Settings, consumer: Any, places: list[TopicPartition], since: int | None) -> None:
    if since is None:
        await consumer.seek_to_beginning(*places)
        return
    found = await consumer.offsets_for_times(dict.fromkeys(places, since))
    later = [place for place in places if found[place] is None]  # they hold nothing so late
    if later:
        first = await consumer.offsets_for_times(dict.fromkeys(later, 0))
        begins, ends = await consumer.beginning_offsets(later), await consumer.end_offsets(later)
        if any(first[place] is None and begins[place] < ends[place] for place in later):
            raise UsageError("this broker does not look up times", path=settings.broker, hint="leave out --since")
        await consumer.seek_to_end(*later)
    for place, at in found.items():
        if at is not None:
            consumer.seek(place, at.offset)


async def _records(
    settings: Settings, consumer: AIOKafkaConsumer, places: Sequence[TopicPartition], follow: bool, tell: Told
) -> AsyncIterator[Record]:
    ends: dict[TopicPartition, int] = {}
    open_places = set(places)
    answered_at = time.monotonic()
    last_answer, reader = 0, PassingReader(consumer, settings.max_unpacked_bytes, tell)
    while open_places:
        for place, records in (await reader.take(0.1)).items():
            for record in records:
                yield Record(*place, *record)
        answer = max(consumer.last_poll_timestamp(place) or 0 for place in places)
        if answer != last_answer:
            last_answer, answered_at = answer, time.monotonic()
        elif time.monotonic() - answered_at > SILENCE_SECONDS:
            raise UnreachableError(f"the broker has been silent for {SILENCE_SECONDS} s", path=settings.broker)
        if not follow:
            for place in await _finished(consumer, open_places, ends):
                open_places.discard(place)
                consumer.pause(place)


async def _finished(
    consumer: AIOKafkaConsumer, places: set[TopicPartition], ends: dict[TopicPartition, int]
) -> list[TopicPartition]:
    """The partitions that have been read to where they ended when they were first asked.

    The end is the last stable offset, and what must reach it is the position, not a record: the last offsets of a
    partition are transaction markers and aborted records, which nobody ever receives.
    """
    finished: list[TopicPartition] = []
    for place in places:
        stable = consumer.last_stable_offset(place)
        if stable is None:
            continue  # not asked yet
        end = ends.setdefault(place, stable)
        async with asyncio.timeout(SILENCE_SECONDS):
            if await consumer.position(place) >= end:
                finished.append(place)
    return finished
