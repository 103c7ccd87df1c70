"""What one poll takes out of aiokafka's fetcher, bounded in bytes, and what it brings of each partition.

aiokafka counts records; 4,000 of them may be 4 GB, and a compressed batch of 900 kB can hide 100 MB.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Sequence
from typing import Any, NamedTuple

from aiokafka.errors import CorruptRecordException, RecordTooLargeError

from ...codecs.blocks import Event
from .aiokafka_inside import (
    assignment_settled,
    drop_and_refetch,
    drop_records,
    end_told,
    error_of,
    forget_fetched,
    is_assigned,
    is_fetched,
    is_fetcher_closed,
    move_position,
    next_answer,
    partition_of,
    records_in,
    replace_records,
    state_of,
    waiting_in,
)
from .packed_batches import (
    MOST_UNPACKED,
    EventDecoder,
    FetchAgainError,
    Legacy,
    NoRoomError,
    RecordDecoder,
    Unpacking,
    UnreadableError,
    unpacking,
)

HELD_BYTES = 4_000_000
"""An input of a lane is not fetched further while so many bytes of it wait: what a transaction of several blocks takes
(`ledger.TOGETHER`) and one block more, so that it need not go with fewer, and a slow broker never makes the worker
grow."""


class Fetched(NamedTuple):
    """What one fetch brought of one partition: the events of a range of offsets, those of one input of a lane.

    Attributes:
        topic: by its logical name.
        partition: the lane.
        epoch: of the seek that it follows (`Inputs.place`).
        start, next: the first offset that it speaks of, and the one behind the last. Offsets in between may have no
            event: markers of transactions, and what was aborted.
        events: the records, in the order of their offsets.
        byte_count: how many bytes their keys, values and headers have.
    """

    topic: str
    partition: int
    epoch: int
    start: int
    next: int
    events: Sequence[Event]
    byte_count: int


class Bounds(NamedTuple):
    """One input's partition on the broker.

    Attributes:
        partitions: how many the topic has; 0 where it is not there.
        first: the first offset that is kept.
        end: the offset behind the last record.
        id: the topic's, as Kafka's tools show it; empty where the broker tells none.
    """

    partitions: int
    first: int
    end: int
    id: str = ""


POLL_BYTES, TAKEN_BYTES = 16_000_000, 2_000_000
"""Of all partitions in one poll, and of one of them."""
FETCHED_BYTES = 64_000_000
"""May wait in the fetcher, packed as it came, of all partitions together."""
ANSWER_BYTES = 16_000_000
"""Of all partitions in one answer of one broker."""
MOST_BYTES, LEAST_BYTES = 4_194_304, 131_072
"""Of one partition in one answer: as much as the greatest record that the broker takes, where there is room for it.
Where there is not, a batch above that still comes, whole, when its partition is the first one in an answer."""


class Drained(NamedTuple):
    """Events of one partition (or its records, as they are stored), and the bytes of those that were kept whole."""

    events: list[Any]
    byte_count: int


NOTHING = Drained([], 0)


def fetch_bytes(partitions: int) -> int:
    """How much of one partition one answer may hold, so that a full fetcher of all of them stays within its bound."""
    return max(LEAST_BYTES, min(MOST_BYTES, FETCHED_BYTES // max(partitions, 1)))


def take(
    result: Any, most: int, room: int, decoder: EventDecoder | RecordDecoder, unpacks: int = MOST_UNPACKED
) -> Drained:
    """Events of one of aiokafka's fetch results, until there are `most`, or `room` bytes, or no more.

    Args:
        result: the fetch result; its position is moved.
        most, room: so many events and bytes.
        decoder: makes events of records.
        unpacks: bytes that one batch may have, unpacked.

    Raises:
        NoRoomError: the next batch has more than `unpacks` bytes, unpacked.
        CorruptRecordException: the next batch is damaged, and nothing stands for it.
        FetchAgainError: the same, and the result is to be let go of.
    """
    if not result.check_assignment(partition_of(result)) or not result.has_more():
        return NOTHING
    if is_fetched(fetched := records_in(result)):
        replace_records(result, unpacking(fetched, decoder, end_told(result)))
    records: Unpacking | Legacy = records_in(result)
    events, byte_count = records.take(most, room, unpacks)
    move_position(result)
    if records.done:
        drop_records(result)
    return Drained(events, byte_count)


async def drain(
    fetcher: Any,
    wanted: Container[Any],
    patience: float,
    most: int,
    decoder_of: Callable[[Any], EventDecoder | RecordDecoder],
    unpacked: int = MOST_UNPACKED,
    beside: Callable[[], int] = lambda: 0,
) -> dict[Any, Drained]:
    """What has come of the wanted partitions; waits up to `patience` seconds for the first records.

    As aiokafka's `Fetcher.fetched_records`, by bytes. Where a batch has come that finds no room to be unpacked, nothing
    is waited for: a fetch answer gives no room, and none comes of a partition of which records lie here.

    Args:
        fetcher: aiokafka's.
        wanted: the partitions.
        patience: seconds.
        most: so many records.
        decoder_of: what the records of a partition become.
        unpacked: so many bytes of batches may lie unpacked here, of all partitions together, beside a single one.
        beside: how many bytes other fetchers hold of them now.

    Raises:
        KafkaError: what the fetcher has to say of a partition, where nothing else came.
    """
    end = asyncio.get_running_loop().time() + patience
    while True:
        await assignment_settled(fetcher)
        here = _Unpacked(fetcher, unpacked, beside)
        drained = _drain_now(fetcher, wanted, most, decoder_of, here)
        left = end - asyncio.get_running_loop().time()
        if drained or here.lacks_room or left <= 0:
            return drained
        waiter = next_answer(fetcher)
        done, _ = await asyncio.wait([waiter], timeout=left)
        if not done or is_fetcher_closed(fetcher):
            waiter.cancel()
            return {}
        waiter.result()  # what the group's coordinator has to say


def _drain_now(
    fetcher: Any,
    wanted: Container[Any],
    most: int,
    decoder_of: Callable[[Any], EventDecoder | RecordDecoder],
    unpacked: _Unpacked,
) -> dict[Any, Drained]:
    drained: dict[Any, Drained] = {}
    room, waiting = POLL_BYTES, waiting_in(fetcher)

    def release(partition: Any) -> None:
        drop_and_refetch(fetcher, partition)
        unpacked.note(partition)

    for partition in filter(lambda one: _is_cut_short(waiting[one]), _wanted_of(fetcher, wanted)):
        try:
            _refuse_cut_short(fetcher, partition, decoder_of(partition))
        except FetchAgainError:
            release(partition)
    for partition in _wanted_of(fetcher, wanted):
        result = waiting[partition]
        if (error := error_of(result)) is not None:
            if drained:
                break  # told by the next poll: what is out must not be lost
            release(partition)
            raise error
        bounds = (most, min(room, TAKEN_BYTES), decoder_of(partition))
        try:
            try:
                found = take(result, *bounds, unpacked.room(partition))
            except NoRoomError:
                unpacked.make_room(partition, wanted)
                found = take(result, *bounds, unpacked.room(partition))
        except NoRoomError:
            unpacked.lacks_room = True
            continue
        except FetchAgainError:
            release(partition)
            continue
        except CorruptRecordException:
            if drained:
                break  # told by the next poll as well
            raise
        if not result.has_more():
            release(partition)
        unpacked.note(partition)
        if not found.events:
            continue
        drained[partition] = found
        most, room = most - len(found.events), room - found.byte_count
        if most <= 0 or room <= 0:
            break
    return drained


class _Unpacked:
    """The batches that lie unpacked in a fetcher, by partition: so many bytes together, beside a single one.

    One may always be unpacked. What others read is read to its end first; what lies there of partitions that nobody
    reads now would be waited for in vain, and is let go of. `lacks_room` says whether a wanted batch found no room.
    """

    def __init__(self, fetcher: Any, most: int, beside: Callable[[], int]) -> None:
        self._waiting, self._most, self._beside = waiting_in(fetcher), most, beside
        self._records: dict[Any, Unpacking] = {}
        self.lacks_room = False
        for partition in self._waiting:
            self.note(partition)

    def note(self, partition: Any) -> None:
        """A partition was read, or let go of."""
        records = unpacking_of(self._waiting.get(partition))
        if records is not None and records.unpacked:
            self._records[partition] = records
        else:
            self._records.pop(partition, None)

    def room(self, partition: Any) -> int:
        """So many bytes a batch of a partition may have unpacked now."""
        held = self._beside()
        held += sum(records.unpacked for other, records in self._records.items() if other != partition)
        return max(0, self._most - held) if held else MOST_UNPACKED

    def make_room(self, partition: Any, wanted: Container[Any]) -> None:
        """Lets go of all others.

        Raises:
            NoRoomError: one of them is wanted, and read first.
        """
        others = self._records.keys() - {partition}
        if any(other in wanted for other in others):
            raise NoRoomError
        for other in others:
            self._records.pop(other).pack_up()


def unpacking_of(result: Any) -> Unpacking | None:
    """What reads the batches of one of aiokafka's fetch results, where somebody has begun to read them."""
    records = None if result is None or error_of(result) is not None else records_in(result)
    return records if isinstance(records, Unpacking) else None


def _wanted_of(fetcher: Any, wanted: Container[Any]) -> list[Any]:
    """The partitions of which something has come that is wanted, in order; lets go of what is not ours any more."""
    found = list[Any]()
    for partition in list(waiting_in(fetcher)):
        if partition in wanted:
            found.append(partition)
        elif not is_assigned(fetcher, partition):
            forget_fetched(fetcher, partition)
    return found


def _is_cut_short(result: Any) -> bool:
    """Whether an answer held less than one whole batch, by what the batch says of its length."""
    return isinstance(error_of(result), RecordTooLargeError)


def _refuse_cut_short(fetcher: Any, partition: Any, decoder: EventDecoder | RecordDecoder) -> None:
    """Has it refused like any batch that cannot be read; aiokafka passes one offset, and tells.

    Raises:
        FetchAgainError: the result is to be let go of; the position is where it was.
    """
    if decoder.refuse is None:
        return
    state = state_of(fetcher, partition)
    state.consumed_to(state.position - 1)
    sentence = (
        f"{partition.topic}/{partition.partition}: the batch at offset {state.position} is longer than its answer"
    )
    decoder.stands_for(UnreadableError(sentence, state.position, None, "damaged", b""))
