"""Records of stored topics, as they are stored, within one budget of unpacked bytes: policies, ledgers and outputs.

The inputs of all lanes come through one consumer, and share one budget (polling.py). Whatever else is read has
consumers of its own: a restore, a standby, the policies and an audit one for each partition; observers, views and
readers of outputs one for all (passing.py). aiokafka's own way unpacks each batch whole, however large that is, so that
sixteen bad batches at once would take more memory than there is. Here a batch has a bound, and the readers of one event
loop share a budget of so many bytes together, beside a single one.

A reader whose next batch finds no room waits until other readers have read theirs to the end. The reader that has
waited longest is served first: until then no other reader unpacks a further batch. A reader that has not taken records
for a while loses its room to those that wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.errors import DoesNotHoldError
from .aiokafka_inside import fetcher_of, is_fetcher_closed, waiting_in
from .batches.unpacking import MOST_UNPACKED, RecordDecoder, Unpacking
from .polling import drain, unpacking_of

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
