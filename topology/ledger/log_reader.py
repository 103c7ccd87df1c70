"""Stored topics as an auditor reads them: from a broker, read_committed, or from the files of an export.

A reader sees the same records from both, by logical topic and lane. Workers may go on writing to the broker during an
audit: its `Cut` says where to read each topic to, so that the audit does not report as missing what only came later.
Exports are made from these topics; export_files.py has their format.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException, KafkaError

from ...codecs.errors import UsageError
from ...streams.adjudication.outputs import VERDICTS
from ..kafka.batches.unpacking import RecordDecoder
from ..kafka.connect import LEDGERS, open_consumer, open_reader, partitions_of, reaching, unreachable
from ..kafka.partition_reader import HangsError, fetches_to_end
from ..kafka.stored_records import take_stored, unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS
from ..settings.clock import now_ms
from ..settings.secrets import secrets_of
from ..settings.settings import Settings
from .export_files import (
    AUDITED,
    CHECKPOINTS,
    LATER,
    MANIFEST,
    OUTPUTS,
    Cut,
    FolderLogs,
    Manifest,
    Range,
    Stored,
    file_name,
    read_records,
    write_record,
)
from .interfaces import Logs

TOGETHER: Final = 8
"""So many partitions are waited for at once."""


@cache
def _decoder(having: str | None, *, in_place: bool) -> RecordDecoder:
    return RecordDecoder(Stored, in_place=in_place, having=having)


@asynccontextmanager
async def open_logs(settings: Settings, folder: Path | None = None, *, in_place: bool = False) -> AsyncIterator[Logs]:
    """The topics of a broker, or of an export.

    Args:
        settings: the broker.
        folder: of the export; None: the broker is read.
        in_place: whether a broker's records of output topics may lie in the bytes that came, for who looks at each
            once: they are like `Stored`, a part is made whenever it is asked for, and each holds all those bytes.

    Raises:
        UsageError: the folder is no export, or the broker has no ledger.
        UnreachableError: no broker answers.
    """
    if folder is not None:
        yield FolderLogs(folder, secrets_of(settings))
        return
    async with open_consumer(settings) as consumer:
        ledger = topic_name(settings, "ledger")
        lanes = len(await partitions_of(consumer, settings, ledger))
        async with aclosing(KafkaLogs(settings, consumer, lanes, in_place=in_place)) as logs:
            yield logs


class _Expected(NamedTuple):
    """A reading that has begun before anybody reads: what is kept, and, unless that is nothing, its consumer."""

    kept: Range
    consumer: AIOKafkaConsumer | None
    opened: AsyncExitStack


class KafkaLogs:
    """The topics of a running broker, as `interfaces.Logs`. Each reading has a consumer of its own.

    A consumer needs some 20 ms to open and to get its first answer. An audit reads several topics of each lane, so it
    says beforehand what it will read (`expect`), and the consumers open meanwhile.

    Args:
        settings: the broker.
        consumer: an open one, which is asked for offsets and partition counts; it is not closed here.
        lanes: how many partitions the ledger has.
        in_place: as for `open_logs`.
    """

    def __init__(self, settings: Settings, consumer: AIOKafkaConsumer, lanes: int, *, in_place: bool = False) -> None:
        self._settings, self._consumer, self._in_place = settings, consumer, in_place
        self._counts = {"ledger": lanes}
        self._expected: dict[tuple[str, int], asyncio.Task[_Expected]] = {}
        self.where, self.lanes = settings.broker, lanes
        self.app_id, self.ledger = settings.app_id, topic_name(settings, "ledger")
        self.secrets = secrets_of(settings)

    async def aclose(self) -> None:
        """Closes the consumers of topics that were expected and not read."""
        expected = [*self._expected.values()]
        self._expected.clear()
        for one in expected:
            one.cancel()
        for found in await asyncio.gather(*expected, return_exceptions=True):
            if isinstance(found, _Expected):
                await found.opened.aclose()

    def expect(self, topic: str, lane: int) -> None:
        if (topic, lane) not in self._expected:
            self._expected[topic, lane] = asyncio.create_task(self._begin(topic, lane))

    async def _begin(self, topic: str, lane: int) -> _Expected:
        kept, opened = await self._range(topic, lane), AsyncExitStack()
        if kept.first == kept.end:
            return _Expected(kept, None, opened)
        reader = open_reader(self._settings, self._place(topic, lane))
        return _Expected(kept, await opened.enter_async_context(reader), opened)

    async def range(self, topic: str, lane: int) -> Range:
        expected = self._expected.get((topic, lane))
        return (await asyncio.shield(expected)).kept if expected is not None else await self._range(topic, lane)

    async def _range(self, topic: str, lane: int) -> Range:
        place = self._place(topic, lane)
        if lane >= await self._count(topic):
            return Range(0, 0)
        asked = self._consumer.beginning_offsets([place]), self._consumer.end_offsets([place])
        with reaching(self._settings):
            first, end = await asyncio.gather(*asked)
        return Range(first[place], end[place])

    def as_of(self) -> int:
        return now_ms()

    async def cut(self) -> Cut:
        # Each end is taken once all that stands below the one before it is decided: what was committed there has its
        # other halves, which were written in the same transactions, below the next.
        async with AsyncExitStack() as opened:
            of_all: AIOKafkaConsumer | None = None  # sees the ends of what is not decided, too
            if self._settings.delivery == "exactly-once":
                asking = open_consumer(self._settings, isolation_level="read_uncommitted")
                of_all = await opened.enter_async_context(asking)
                await self._ask_for((*AUDITED, *LATER), of_all)
            blocks = await self._settled_ends(LEDGERS, of_all)
            others = [topic for topic in (*AUDITED, *LATER) if topic not in LEDGERS]
            written = await self._settled_ends(others, of_all)
            named = await self._settled_ends(CHECKPOINTS, of_all)
            return Cut({**blocks, **written}, {**written, **named, **await self._ends(LEDGERS, of_all)})

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        """See `Logs`.

        Raises:
            DoesNotHoldError: a transaction hangs over the partition, or it holds bytes that are no records.
            UnreachableError: no broker answers.
        """
        if lane >= await self._count(topic) or (end is not None and end <= (start or 0)):
            return  # a consumer of nothing would wait for an answer all the same
        settings, place = self._settings, self._place(topic, lane)
        named = start is None and end is not None
        async with self._reading(topic, lane, start, expected=named) as consumer:
            decoder = _decoder(having, in_place=self._in_place and topic in (*OUTPUTS, VERDICTS))

            async def take(patience: float) -> list[Stored]:
                return await take_stored(consumer, place, patience, settings.max_unpacked_bytes, decoder)

            longest = settings.transaction_timeout + GRACE_SECONDS
            try:
                async with aclosing(fetches_to_end(consumer, place, longest, take, end)) as fetches:
                    async for fetched in fetches:
                        yield fetched
            except HangsError as hangs:
                raise hangs.sentence("a topic", place, then="") from None
            except (CorruptRecordException, UnicodeDecodeError) as error:
                raise unreadable(error, place) from None
            except (KafkaError, OSError) as error:
                raise unreachable(settings, error) from None

    @asynccontextmanager
    async def _reading(
        self, topic: str, lane: int, start: int | None, *, expected: bool
    ) -> AsyncIterator[AIOKafkaConsumer]:
        """The consumer that was expected, where it may be, or another one."""
        async with AsyncExitStack() as opened:
            if expected and (begun := self._expected.get((topic, lane))) is not None:
                found = await begun
                del self._expected[topic, lane]
                opened.push_async_exit(found.opened)
                if found.consumer is not None:
                    yield found.consumer
                    return
            reader = open_reader(self._settings, self._place(topic, lane), start)
            yield await opened.enter_async_context(reader)

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        async with aclosing(self.batches(topic, lane, start)) as batches:
            async for batch in batches:
                for record in batch:
                    yield record

    async def _ask_for(self, topics: Sequence[str], other: AIOKafkaConsumer) -> None:
        """Has both clients hear of these topics: one that has not looks for them at its leisure."""
        counts = await asyncio.gather(*(self._count(topic) for topic in topics))
        there = [topic_name(self._settings, topic) for topic, count in zip(topics, counts, strict=True) if count]
        await asyncio.gather(*(partitions_of(other, self._settings, name) for name in there))

    async def _count(self, topic: str) -> int:
        """How many partitions a topic has; 0 where there is none of this name."""
        if topic not in self._counts:
            try:
                name = topic_name(self._settings, topic)
                self._counts[topic] = len(await partitions_of(self._consumer, self._settings, name))
            except UsageError:
                self._counts[topic] = 0
        return self._counts[topic]

    def _place(self, topic: str, lane: int) -> TopicPartition:
        return TopicPartition(topic_name(self._settings, topic), lane)

    async def _ends(self, topics: Sequence[str], consumer: AIOKafkaConsumer | None = None) -> dict[str, list[int]]:
        """The ends of these topics, by lane, as this consumer sees them; else as far as all is decided."""
        there = {
            topic: [self._place(topic, lane) for lane in range(min(self.lanes, await self._count(topic)))]
            for topic in topics
        }
        asked = [place for places in there.values() for place in places]
        with reaching(self._settings):
            found = await (consumer or self._consumer).end_offsets(asked) if asked else {}
        return {
            topic: [found[place] for place in places] + [0] * (self.lanes - len(places))
            for topic, places in there.items()
        }

    async def _settled_ends(self, topics: Sequence[str], of_all: AIOKafkaConsumer | None) -> dict[str, list[int]]:
        """The ends of these topics, once every transaction that began below them has ended.

        The broker tells how far a partition is decided; only one that is not yet is read, since that waits.

        Args:
            topics: by their logical names.
            of_all: sees the ends of what is not decided, too; None where nothing is ever undecided.
        """
        if of_all is None:
            return await self._ends(topics)
        few = asyncio.Semaphore(TOGETHER)

        async def settle(topic: str, lane: int, end: int) -> None:
            async with few, aclosing(self.batches(topic, lane, end - 1, end)) as batches:
                async for _ in batches:
                    pass

        ends, stable = await asyncio.gather(self._ends(topics, of_all), self._ends(topics))
        places = [(topic, lane, end) for topic, of_topic in ends.items() for lane, end in enumerate(of_topic)]
        await asyncio.gather(*(settle(*place) for place in places if stable[place[0]][place[1]] < place[2]))
        return ends


__all__ = [
    "AUDITED",
    "LATER",
    "MANIFEST",
    "OUTPUTS",
    "Cut",
    "FolderLogs",
    "KafkaLogs",
    "Logs",
    "Manifest",
    "Range",
    "Stored",
    "file_name",
    "open_logs",
    "read_records",
    "write_record",
]
