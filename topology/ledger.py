"""A lane's ledger on Kafka: reading it to its end, and writing a block with its outputs as one (architecture.md).

Exactly-once: the block and all its outputs are one transaction of a producer whose transactional id is the lane's, so
that opening it fences every earlier owner of the lane. At-least-once, for brokers without transactions: the outputs
first, then the block, so that a crash in between doubles outputs and never loses one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from time import monotonic
from typing import Any, NamedTuple, Protocol

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    IllegalOperation,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    OutOfOrderSequenceNumber,
    ProducerFenced,
)

from ..codecs.blocks import Output
from ..codecs.errors import DoesNotHoldError
from .connect import open_consumer
from .settings import Settings, bootstrap
from .topics import topic_name

BATCH_BYTES = 3_000_000
"""Octets of one batch before compression; topics take 4 MiB, and one record alone may exceed this."""
CLOSE_SECONDS = 2.0
"""A producer may take so long to close: a worker that is told to end has five seconds in all."""
PROGRESS_SECONDS = 5.0
GRACE_SECONDS = 10.0
"""What a broker may take beyond a transaction's time-out to abort it (it looks every ten seconds by default)."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class FencedError(Exception):
    """The lane's producer is not the newest any more: somebody else took the lane over, or the transaction expired."""


class Written(NamedTuple):
    """Where a block went: its ledger offset, and the broker's own time for it (None where it tells none)."""

    offset: int
    appended_at: int | None


class Ledger(Protocol):
    """What a lane asks of its ledger. Calls come from one task, in the order open, (blocks, write)*, close."""

    async def open(self) -> None:
        """Makes this the lane's only writer; whoever was it before is fenced. May take as long as a broker may."""
        ...

    def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        """The committed blocks with their offsets, from `start` (None: the first) to the end as of now.

        Raises:
            DoesNotHoldError: a foreign transaction hides what may be newer blocks, and does not end in its time.
        """
        ...

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        """Commits a block and its outputs together. After any error the ledger must be closed and read anew.

        Raises:
            FencedError: somebody else owns the lane now; nothing was written.
        """
        ...

    async def close(self) -> None:
        """Aborts what is open and lets go of the broker, within `CLOSE_SECONDS`, whatever happens."""
        ...


_FENCED = (ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping, InvalidTxnState, OutOfOrderSequenceNumber)


class KafkaLedger:
    """The ledger of one lane on Kafka: partition `lane` of the ledger and of every output topic."""

    def __init__(self, settings: Settings, lane: int) -> None:
        self._settings, self._lane = settings, lane
        self._exactly_once = settings.delivery == "exactly-once"
        self._topic = topic_name(settings, "ledger")
        self._producer: AIOKafkaProducer | None = None
        self._in_transaction = False

    async def open(self) -> None:
        options: dict[str, Any] = {"enable_idempotence": True}
        if self._exactly_once:
            options = {
                "transactional_id": f"{self._settings.app_id}-lane-{self._lane}",
                "transaction_timeout_ms": int(self._settings.transaction_timeout * 1000),
            }
        producer = AIOKafkaProducer(
            bootstrap_servers=bootstrap(self._settings),
            client_id=f"{self._settings.app_id}-lane-{self._lane}",
            acks="all",
            compression_type="zstd",
            linger_ms=0,
            max_batch_size=BATCH_BYTES,
            max_request_size=2 * BATCH_BYTES,
            **options,
        )
        self._producer = producer
        # The former owner's open transaction is aborted before the broker answers; that takes its time-out at most.
        async with asyncio.timeout(self._settings.transaction_timeout + GRACE_SECONDS):
            await producer.start()

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        partition = TopicPartition(self._topic, self._lane)
        isolation = "read_committed" if self._exactly_once else "read_uncommitted"
        async with open_consumer(self._settings, isolation_level=isolation, fetch_max_wait_ms=50) as consumer:
            consumer.assign([partition])
            if start is None:
                await consumer.seek_to_beginning(partition)
            else:
                consumer.seek(partition, start)
            moved_at = told_at = monotonic()
            while True:
                fetched: dict[Any, list[Any]] = await consumer.getmany(partition, timeout_ms=200)
                for record in fetched.get(partition, ()):
                    yield record.offset, record.value
                # Both from one fetch answer. The position passes markers of transactions too, never the last stable
                # offset: once it is at the high watermark, nothing is hidden behind a transaction that hangs.
                position, end = await consumer.position(partition), consumer.highwater(partition)
                if end is not None and position >= end:
                    return
                now = monotonic()
                if fetched:
                    moved_at = now
                elif now - moved_at > self._settings.transaction_timeout + GRACE_SECONDS:
                    raise DoesNotHoldError(
                        f"a transaction hangs over the ledger of lane {self._lane} and may hide newer blocks",
                        path=f"{self._topic}/{self._lane}",
                        expected=f"blocks up to offset {end}",
                        got=f"up to {position}",
                        hint="kafka-transactions.sh find-hanging names it; abort it, then start the worker again",
                    )
                if now - told_at > PROGRESS_SECONDS and end:
                    told_at = now
                    log.info("reading the ledger", offset=position, end=end, percent=100 * position // end)

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        assert self._producer is not None
        try:
            # A broker that is away must not hold the lane for ever: aiokafka never gives up on a batch by itself.
            async with asyncio.timeout(self._settings.transaction_timeout):
                if self._exactly_once:
                    return await self._write_as_one(self._producer, block, outputs)
                await asyncio.gather(*await self._send(self._producer, outputs))
                written = _written(await (await self._send_block(self._producer, block)))
                return written._replace(appended_at=None)  # the embedded broker tells a time that is none
        except _FENCED as error:
            raise FencedError(repr(error)) from error

    async def _write_as_one(self, producer: AIOKafkaProducer, block: bytes, outputs: Sequence[Output]) -> Written:
        await producer.begin_transaction()
        self._in_transaction = True
        of_block = await self._send_block(producer, block)
        try:
            of_outputs = await self._send(producer, outputs)
        except IllegalOperation:
            await of_block  # where the broker fenced us between two batches, the first one says so
            raise
        # Not left to the commit: aiokafka would commit without a batch that the broker has refused.
        await asyncio.gather(of_block, *of_outputs)
        written = _written(of_block.result())
        await producer.commit_transaction()
        self._in_transaction = False
        return written

    async def _send_block(self, producer: AIOKafkaProducer, block: bytes) -> asyncio.Future[Any]:
        batch = producer.create_batch()
        batch.append(key=None, value=block, timestamp=None)
        return _heard(await producer.send_batch(batch, self._topic, partition=self._lane))

    async def _send(self, producer: AIOKafkaProducer, outputs: Sequence[Output]) -> list[asyncio.Future[Any]]:
        """Hands all outputs over, in order within each topic, as few batches as hold them."""
        batches: dict[str, Any] = {}
        full: list[tuple[str, Any]] = []
        for topic, key, value, headers in outputs:
            batch = batches.get(topic)
            if batch is None:
                batch = batches[topic] = producer.create_batch()
            if batch.append(key=key, value=value, headers=headers, timestamp=None) is None:
                full.append((topic, batch))
                batch = batches[topic] = producer.create_batch()
                batch.append(key=key, value=value, headers=headers, timestamp=None)
        return [
            _heard(await producer.send_batch(batch, topic_name(self._settings, topic), partition=self._lane))
            for topic, batch in (*full, *batches.items())
        ]

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                if self._in_transaction:
                    await producer.abort_transaction()
                await producer.stop()
        except Exception as error:  # noqa: BLE001 -- whatever state it is in, the next owner's open() aborts for it
            log.debug("the producer did not close in order", error=repr(error))
            sender: Any = producer._sender.sender_task
            if sender is not None:
                sender.cancel()
            producer._closed = True
            await producer.client.close()
        finally:
            self._in_transaction = False
            waiter: Any = getattr(producer._txn_manager, "_transaction_waiter", None)
            if waiter is not None and waiter.done() and not waiter.cancelled():
                waiter.exception()  # heard of: asyncio would complain of a fenced transaction that nobody awaited


def _heard(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """Marks a failure as heard of, whoever else waits: of many batches that fail together, one tells."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future


def _written(metadata: Any) -> Written:
    return Written(metadata.offset, metadata.timestamp if metadata.timestamp_type == 1 else None)
