"""A lane's ledger on Kafka: reading it to its end, and writing a block with its outputs as one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, Protocol

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CorruptRecordException

from ...codecs.blocks import Output
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_statements import is_claim, read_claim
from ..kafka.connect import log_ends, open_reader
from ..kafka.membership import Member
from ..kafka.partition_reader import HangsError, read_to_end
from ..kafka.shared_clients import ClientPool, Reader
from ..kafka.topic_reader import unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS, FencedError, LaneProducer, Written
from ..settings.settings import Settings
from .installation import producer_of
from .stored_topics import beheaded

TOGETHER: Final = 3
"""So many blocks are committed as one at the most: they fit into one batch of the ledger (kafka/transactions.py)."""


class Ledger(Protocol):
    """What a lane asks of its ledger. Calls come from one task, in the order open, claim, (blocks, write)*, close."""

    begun_by: str  # the application that the first claim names; empty until that was read

    async def open(self) -> None:
        """Makes this the lane's only writer; whoever was it before is fenced. May take as long as a broker may."""
        ...

    async def claim(self, value: bytes, member: Member) -> Written | None:
        """Writes that this worker has taken the lane over: all that anybody ever committed lies before it.

        Returns where it stands; None on a broker without transactions, where there are no claims.

        Raises:
            NotAMemberError: the group has replaced the member; nothing was written.
            FencedError: somebody else owns the lane now; nothing was written.
        """
        ...

    def blocks(self, start: int | None = None) -> AsyncGenerator[tuple[int, bytes], None]:
        """The committed blocks with their offsets, from `start` (None: the first) to the end as of now.

        The end never lies before the claim.

        Raises:
            FencedError: another worker has claimed the lane since this one has.
            DoesNotHoldError: a foreign transaction hides what may be newer blocks, and does not end in its time; or a
                batch of the ledger cannot be read.
        """
        ...

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        """Commits a sealed block and its outputs together. After any error the ledger must be closed and read anew.

        Raises:
            FencedError: somebody else owns the lane now; nothing was written.
            TooLargeError: the broker takes no batch as large as one of these; nothing was written.
        """
        ...

    async def write_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> Sequence[Written]:
        """As `write`, for several blocks, each with its outputs: all of them stand there, or none."""
        ...

    async def close(self) -> None:
        """Aborts what is open and lets go of the broker, within `CLOSE_SECONDS`, whatever happens."""
        ...


class KafkaLedger:
    """The `Ledger` of one lane on Kafka: partition `lane` of the ledger `topic` and of every output topic.

    `fold` is the name of the lane group; an empty `ledger_id` stands for the topic's full name. `clients` are those
    that the worker's lanes share (None: the lane has one of its own), `reader` opens what reads it (None: a consumer
    each time).
    """

    def __init__(
        self,
        settings: Settings,
        lane: int,
        topic: str = "ledger",
        fold: str = "adjudicate",
        ledger_id: str = "",
        clients: ClientPool | None = None,
        reader: Reader | None = None,
    ) -> None:
        self._settings, self._lane = settings, lane
        self._topic = topic_name(settings, topic)
        self._claimed = 0  # behind the claim that was written last
        self._is_new = False  # whether that claim is the ledger's first record, and nothing was read or written since
        name = producer_of(ledger_id or self._topic, fold)
        self._producer = LaneProducer(settings, name, lane, topic, clients)
        self._reader = reader or partial(open_reader, settings)
        self.begun_by = ""

    async def open(self) -> None:
        await self._producer.open()

    async def claim(self, value: bytes, member: Member) -> Written | None:
        written = await self._producer.claim(value, member)
        if written is not None:
            self._claimed, self._is_new = written.offset + 1, not written.offset
            if self._is_new:
                self.begun_by = _application(value)
        return written

    async def blocks(self, start: int | None = None) -> AsyncGenerator[tuple[int, bytes], None]:
        is_new, self._is_new = self._is_new, False
        if is_new and start is None:
            return  # nothing can stand before the first offset, and a reader would cost more than all else here
        partition = TopicPartition(self._topic, self._lane)
        async with self._reader(partition, start or 0) as consumer:  # the beginning, where it is whole
            is_whole = start is not None
            patience, most = self._settings.transaction_timeout + GRACE_SECONDS, self._settings.max_unpacked_bytes
            try:
                async with aclosing(read_to_end(consumer, partition, patience, self._claimed, most)) as records:
                    async for record in records:
                        if not is_whole and record.offset:
                            await self._demand_head(consumer, partition)
                        is_whole = True
                        if not is_claim(record.key):
                            yield record.offset, record.value or b""
                            continue
                        self.begun_by = self.begun_by or _application(record.value)
                        if 0 < self._claimed <= record.offset:
                            raise FencedError("another worker has claimed the lane since")
                if not is_whole:
                    await self._demand_head(consumer, partition)
            except HangsError as hangs:
                raise hangs.sentence(f"the ledger of lane {self._lane}", partition, "blocks") from None
            except CorruptRecordException as error:
                raise unreadable(error, partition) from None

    async def _demand_head(self, consumer: AIOKafkaConsumer, partition: TopicPartition) -> None:
        """That nothing was deleted before the first record: what was aborted takes offsets as well."""
        firsts, _ = await log_ends(consumer, [partition])
        if firsts[partition] > 0:
            raise beheaded(self._topic, self._lane, firsts[partition])

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        self._is_new = False
        written = await self._producer.commit(block, outputs)
        assert written is not None
        return written

    async def write_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> Sequence[Written]:
        self._is_new = False
        return await self._producer.commit_together(blocks)

    async def close(self) -> None:
        await self._producer.close()


def _application(claim: bytes | None) -> str:
    """The application that a claim names; empty for what is no claim."""
    try:
        return read_claim(claim).claim.app_id or ""
    except DoesNotHoldError:
        return ""
