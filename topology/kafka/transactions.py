"""A lane's producer: all that a lane writes in one transaction becomes visible together, or never.

Exactly-once: one transaction of a producer whose transactional id is the lane's, so that opening it fences every
earlier owner of the lane. At-least-once, for brokers without transactions: the outputs first, then what says that they
are written, so that a crash in between doubles outputs and never loses one.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any, NamedTuple, cast

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IllegalOperation,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    MessageSizeTooLargeError,
    OutOfOrderSequenceNumber,
    ProducerFenced,
    RecordListTooLargeError,
)

from ...codecs.blocks import Output, by_topic
from ...codecs.errors import DoesNotHoldError
from ...codecs.ledger_statements import KEY as CLAIM
from ...codecs.ledger_statements import is_claim
from ...codecs.partition import PARTITIONERS
from ..settings.settings import Settings, bootstrap
from .aiokafka_inside import abandon, consume_exceptions
from .connect import client_options
from .membership import Member, check_member
from .packed_batches import Packed, packed
from .reconnect import paced
from .requests import log_end
from .shared_clients import ClientPool, discard
from .topic_reader import PassedOver, records_between
from .topics import TOPICS, topic_name

BATCH_BYTES = 3_000_000
"""Bytes of one batch before compression; topics take 4 MiB, and one record alone may exceed this."""
INPUT_BATCH_BYTES = 800_000
"""The same for topics that are inputs of other lanes: they take 1 MB, and not every text gets smaller."""
SHRINK = 8
"""By how much batches get smaller when the broker refuses one: 3 MB, 375 kB, 47 kB and so on, down to one record."""
RELAX_SECONDS = 300.0
"""So long after the last refusal batches grow again by the same factor."""
CLOSE_SECONDS = 1.5
"""A producer may take so long to close: a worker that is told to end has five seconds in all."""
BEHIND = frozenset({"checkpoints", "bind-checkpoints", "frame-checkpoints"})
"""Where things are not written as one, these come behind their block: one may be missing, none stands without it."""
GRACE_SECONDS = 10.0
"""What a broker may take beyond a transaction's time-out to abort it (it looks every ten seconds by default)."""

_SPREAD = frozenset(name for name, spec in TOPICS.items() if spec.role == "input")
"""Topics whose records go where their key belongs: each is read by whichever lane has it."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FencedError(Exception):
    """The lane's producer is not the newest any more: somebody else took the lane over, or the transaction expired."""


class ForeignWriterError(DoesNotHoldError):
    """Another producer has written to the ledger: the lane must not run beside it."""


class TooLargeError(Exception):
    """The broker refuses a batch as too large that is within sluice's own bounds.

    Attributes:
        topic: by its logical name.
        records: how many there were in the batch.
        byte_count: how many bytes they took uncompressed.
    """

    def __init__(self, topic: str, records: int, byte_count: int) -> None:
        self.topic, self.records, self.byte_count = topic, records, byte_count
        super().__init__(f"the broker refuses a batch of {records} for {topic} as too large ({byte_count} bytes)")


class Written(NamedTuple):
    """Where a block went.

    Attributes:
        offset: of its record in the ledger.
        appended_at: the broker's own time for it, Unix ms; None where it tells none.
        node: that broker's number; None where it is not known.
    """

    offset: int
    appended_at: int | None
    node: int | None = None


class _Sent(NamedTuple):
    """A batch on its way."""

    topic: str
    records: int
    byte_count: int
    future: asyncio.Future[Any]


_REFUSED = (MessageSizeTooLargeError, RecordListTooLargeError)
_FENCED = (ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping, InvalidTxnState, OutOfOrderSequenceNumber)


class LaneProducer:
    """What one lane writes with. Calls come from one task, in the order open, claim, commit*, close.

    Args:
        settings: the broker, delivery and time-outs.
        name: the transactional id, before the lane's number; no two ledgers have one.
        lane: the partition of the ledger and of every output topic.
        ledger: the logical name of the topic that blocks go to.
        clients: those that the worker's lanes share; None: the producer has one of its own.

    What goes to an input is read by whichever lane has its key: it goes to that key's partition.
    """

    def __init__(
        self, settings: Settings, name: str, lane: int, ledger: str = "ledger", clients: ClientPool | None = None
    ) -> None:
        self._settings, self._lane, self._ledger, self._clients = settings, lane, ledger, clients
        self._partition_of = PARTITIONERS[settings.partitioner]
        self._id = f"{name}-{lane}"
        self._exactly_once = settings.delivery == "exactly-once"
        self._producer: AIOKafkaProducer | None = None
        self._in_transaction = False
        self._next: int | None = None  # where the next block goes, if no other producer writes
        self._batch_bytes, self._refused_at = BATCH_BYTES, 0.0
        self._phase = ""  # what the broker is waited for, in words
        self._sent: Sequence[_Sent] = ()

    @asynccontextmanager
    async def _within(self, seconds: float, phase: str) -> AsyncGenerator[None]:
        """Bounds what is done with the broker.

        Raises:
            TimeoutError: it took longer; the sentence says what was waited for, and for which topics.
        """
        self._phase, self._sent = phase, ()
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            if self._producer is not None:
                discard(self._producer)
            left = [one.topic for one in self._sent if not one.future.done() or one.future.cancelled()]
            waiting = sorted({topic_name(self._settings, topic) for topic in left})
            what = f"{self._phase}{': no acknowledgement for ' if waiting else ''}{', '.join(waiting)}"
            raise TimeoutError(f"the broker did not answer within {seconds:g} s ({what})") from None

    async def open(self) -> None:
        """Fences every earlier owner of the lane, and ends what it left open. May take as long as a broker may."""
        options: dict[str, Any] = {"enable_idempotence": True}
        if self._exactly_once:
            options = {
                "transactional_id": self._id,
                "transaction_timeout_ms": int(self._settings.transaction_timeout * 1000),
            }
        producer = paced(
            AIOKafkaProducer(
                bootstrap_servers=bootstrap(self._settings),
                client_id=self._id,
                acks="all",
                linger_ms=0,
                **options,
                **client_options(self._settings),
            )
        )
        if self._clients is not None:
            self._clients.share(producer)
        self._producer = producer
        # The former owner's open transaction is aborted before the broker answers; that takes its time-out at most.
        async with self._within(
            self._settings.transaction_timeout + GRACE_SECONDS, f"fencing earlier owners as {self._id}"
        ):
            await producer.start()

    async def claim(self, value: bytes, member: Member) -> Written | None:
        """Writes a claim to the ledger, in the name of a member that the group's coordinator checks.

        Comes after `open`: whoever owned the lane before is fenced, so all that it ever committed stands before it.

        Args:
            value: the record's (codecs/ledger_statements.py).
            member: who this worker is in its group.

        Returns:
            Where it went; None at-least-once: nobody can be fenced there.

        Raises:
            NotAMemberError: the group has replaced the member; nothing was written.
            FencedError: somebody else owns the lane now; nothing was written.
        """
        assert self._producer is not None, "open comes first"
        if not self._exactly_once:
            return None
        try:
            async with self._within(self._settings.transaction_timeout, f"claiming {self._ledger}/{self._lane}"):
                return await self._claim(self._producer, value, member)
        except _FENCED as error:
            raise FencedError(repr(error)) from error

    async def _claim(self, producer: AIOKafkaProducer, value: bytes, member: Member) -> Written:
        partition = TopicPartition(topic_name(self._settings, self._ledger), self._lane)
        end = await log_end(producer, partition)
        check_member(producer, member)
        await producer.begin_transaction()
        self._in_transaction = True
        # The marker comes first: where it is refused, nothing stands in the ledger. What it says is for lag monitors.
        await producer.send_offsets_to_transaction({partition: 0 if end is None else end.offset}, member.group)
        batch, *_ = self._packed([Output(self._ledger, CLAIM, value, [])], BATCH_BYTES)
        sent = await self._hand_over(producer, (self._ledger, self._lane), batch)
        await self._settle([sent])
        return (await self._end_transaction(producer, [sent]))[0]

    async def commit(self, block: bytes | None, outputs: Sequence[Output]) -> Written | None:
        """Writes the outputs, and with them the block to the ledger, as one.

        Returns:
            Where the block went, if there is one.

        Raises:
            FencedError: somebody else owns the lane now; nothing was written.
            ForeignWriterError: another producer writes beside the lane; nothing was written.
            TooLargeError: the broker refuses a batch; nothing was written, and the next ones will be smaller.
        """
        written = await self._commit([] if block is None else [block], outputs)
        return written[0] if written else None

    async def commit_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> list[Written]:
        """Writes several blocks, each with its outputs, in their order and as one; at-least-once one after the other.

        Returns:
            Where each block went.

        Raises:
            FencedError, TooLargeError: as for `commit`; at-least-once the first of them may be written.
        """
        if self._exactly_once:
            return await self._commit([block for block, _ in blocks], [one for _, some in blocks for one in some])
        return [written for block, outputs in blocks for written in await self._commit([block], outputs)]

    async def _commit(self, blocks: Sequence[bytes], outputs: Sequence[Output]) -> list[Written]:
        assert self._producer is not None, "open comes first"
        if self._batch_bytes < BATCH_BYTES and monotonic() - self._refused_at > RELAX_SECONDS:
            self._batch_bytes, self._refused_at = min(BATCH_BYTES, self._batch_bytes * SHRINK), monotonic()
        try:
            # A broker that is away must not hold the lane for ever: aiokafka never gives up on a batch by itself.
            async with self._within(self._settings.transaction_timeout, "beginning a block"):
                if self._exactly_once:
                    return await self._commit_as_one(self._producer, blocks, outputs)
                before = [one for one in outputs if one.topic not in BEHIND]
                await self._settle(await self._send(self._producer, before))
                if not blocks:
                    return []
                sent = await self._send_blocks(self._producer, blocks)
                await self._settle(sent)
                await self._settle(await self._send(self._producer, [one for one in outputs if one.topic in BEHIND]))
                # The embedded broker tells a time that is none.
                return [written._replace(appended_at=None) for written in self._written(sent)]
        except _FENCED as error:
            raise FencedError(repr(error)) from error

    async def _commit_as_one(
        self, producer: AIOKafkaProducer, blocks: Sequence[bytes], outputs: Sequence[Output]
    ) -> list[Written]:
        await producer.begin_transaction()
        self._in_transaction = True
        of_blocks = await self._send_blocks(producer, blocks)
        try:
            of_outputs = await self._send(producer, outputs)
        except IllegalOperation:
            for sent in of_blocks:
                await sent.future  # where the broker fenced us between two batches, the first one says so
            raise
        # Not left to the commit: aiokafka would commit without a batch that the broker has refused.
        await self._settle([*of_blocks, *of_outputs])
        await self._demand_alone(of_blocks)
        return await self._end_transaction(producer, of_blocks)

    async def _end_transaction(self, producer: AIOKafkaProducer, sent: Sequence[_Sent]) -> list[Written]:
        self._phase = f"committing the transaction of {self._id}"
        await producer.commit_transaction()
        self._in_transaction = False
        written = self._written(sent)
        if written:
            self._next = written[-1].offset + 2  # the transaction's marker stands between
        return written

    async def _demand_alone(self, of_blocks: Sequence[_Sent]) -> None:
        """Demands that no other producer has written a block since our last record: then our offsets leave no hole.

        A transaction of our own that failed leaves none: the lane is then claimed anew, and the claim lies behind it.
        Markers may stand there twice, after a coordinator was replaced. A claim without blocks takes the lane from no
        worker.

        Raises:
            ForeignWriterError: another producer has; nothing of ours is committed.
        """
        written = self._written(of_blocks)
        if self._next is None or not written or written[0].offset <= self._next:
            return
        place = TopicPartition(topic_name(self._settings, self._ledger), self._lane)
        for record in await records_between(self._settings, place, self._next, written[0].offset):
            if not isinstance(record, PassedOver) and is_claim(record.key):
                log.warning("another producer has written a claim to the ledger", offset=record.offset)
                continue
            log.error("another producer writes to the ledger", offset=record.offset)
            raise ForeignWriterError(
                "another producer writes to this ledger: the lane stops before it writes beside it",
                path=f"{place.topic}/{place.partition}",
                expected=f"no record from offset {self._next} to {written[0].offset}",
                got=f"one at {record.offset}",
                hint="stop the other writer; `sluice audit` tells what it wrote",
            )

    async def _settle(self, sent: Sequence[_Sent]) -> None:
        """Waits for these batches, and says which of them was too large."""
        self._phase, self._sent = "writing", sent
        try:
            await asyncio.gather(*(one.future for one in sent))
        except _REFUSED as error:
            self._batch_bytes, self._refused_at = max(1, self._batch_bytes // SHRINK), monotonic()
            done = [one for one in sent if one.future.done() and not one.future.cancelled()]
            refused = next(one for one in done if one.future.exception() is error)
            raise TooLargeError(*refused[:3]) from error

    async def _send_blocks(self, producer: AIOKafkaProducer, blocks: Sequence[bytes]) -> list[_Sent]:
        place, records = (self._ledger, self._lane), [Output(self._ledger, None, block, []) for block in blocks]
        return [await self._hand_over(producer, place, batch) for batch in self._packed(records, self._batch_bytes)]

    def _partition(self, key: bytes | None) -> int:
        """Of a topic of `_SPREAD`."""
        return self._lane if key is None else self._partition_of(key, self._settings.partitions)

    def _packed(self, outputs: list[Output], most: int) -> Iterator[Packed]:
        return packed(outputs, most, is_transactional=self._exactly_once)

    async def _hand_over(self, producer: Any, place: tuple[str, int], batch: Any) -> _Sent:
        topic, partition = place
        self._phase = f"handing a batch over for {topic_name(self._settings, topic)}"
        future = await producer.send_batch(batch, topic_name(self._settings, topic), partition=partition)
        return _Sent(topic, batch.record_count(), batch.byte_count, _retrieved(future))

    async def _send(self, producer: AIOKafkaProducer, outputs: Sequence[Output]) -> list[_Sent]:
        """Hands all outputs over, in order within each partition, as few batches as hold them."""
        places = defaultdict[tuple[str, int], list[Output]](list)
        for topic, some in by_topic(outputs).items():
            if topic not in _SPREAD:
                places[topic, self._lane] = some
                continue
            for output in some:
                places[topic, self._partition(output.key)].append(output)
        least = min(self._batch_bytes, INPUT_BATCH_BYTES)
        return [
            await self._hand_over(producer, place, batch)
            for place, some in places.items()
            for batch in self._packed(some, least if place[0] in _SPREAD else self._batch_bytes)
        ]

    def _written(self, sent: Sequence[_Sent]) -> list[Written]:
        """Where each record of batches that were taken went."""
        found, producer = list[Written](), cast(Any, self._producer)
        for one in sent:
            metadata = one.future.result()
            appended_at = metadata.timestamp if metadata.timestamp_type == 1 else None
            node = producer.client.cluster.leader_for_partition(metadata.topic_partition)
            found += [Written(metadata.offset + place, appended_at, node) for place in range(one.records)]
        return found

    async def close(self) -> None:
        """Aborts what is open and lets go of the broker, within `CLOSE_SECONDS`, whatever happens."""
        producer, self._producer, self._next = self._producer, None, None
        if producer is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._in_transaction:
                    await producer.abort_transaction()
                await producer.stop()
        except Exception as error:  # noqa: BLE001 -- whatever state it is in, the next owner's open() aborts for it
            log.debug("the producer did not close in order", error=repr(error))
            discard(producer)
            abandon(producer)
            await producer.client.close()
        finally:
            self._in_transaction = False
            consume_exceptions(producer)


def _retrieved(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Reads a failure as soon as it is there: of many batches that fail together, the first is raised."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
