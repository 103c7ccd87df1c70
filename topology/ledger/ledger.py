"""A lane's ledger on Kafka: reading it to its end, and writing a block with its outputs as one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import Final, Protocol

import msgspec
import structlog
from aiokafka import TopicPartition
from aiokafka.errors import CorruptRecordException

from ...codecs.blocks import Output
from ...codecs.errors import DoesNotHoldError
from ...codecs.lane_claims import is_claim, read_claim
from ..kafka.claiming import Member
from ..kafka.client_pool import ClientPool
from ..kafka.connect import open_consumer, open_reader
from ..kafka.partition_reader import HangsError, last_record, read_to_end
from ..kafka.stored_records import unreadable
from ..kafka.topics import topic_name
from ..kafka.transactions import GRACE_SECONDS, FencedError, LaneProducer, Written
from ..settings.settings import Settings
from .installation import producer_of
from .interfaces import Fold
from .retention import beheaded

TOGETHER: Final = 3
"""So many blocks are committed as one at the most: they fit into one batch of the ledger (kafka/transactions.py)."""


class Ledger(Protocol):
    """What a lane asks of its ledger. Calls come from one task, in the order open, claim, (blocks, write)*, close.

    Attributes:
        begun_by: the application that the first claim names; empty until that was read.
    """

    begun_by: str

    async def open(self) -> None:
        """Makes this the lane's only writer; whoever was it before is fenced. May take as long as a broker may."""
        ...

    async def claim(self, value: bytes, member: Member) -> Written | None:
        """Writes that this worker has taken the lane over: all that anybody ever committed lies before it.

        Args:
            value: the claim's record.
            member: in whose name: the group must still have it.

        Returns:
            Where it stands; None on a broker without transactions, where there are no claims.

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

    async def positions(self) -> Mapping[str, int]:
        """Where the first block of a new ledger begins to read: the next offset, by logical topic.

        Of an input that is not named all is to be read that the broker holds.
        """
        ...

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        """Commits a block and its outputs together. After any error the ledger must be closed and read anew.

        Args:
            block: its bytes, as sealed.
            outputs: what it folds to, in order.

        Returns:
            Where the block stands in the ledger, and what the broker said of its clock.

        Raises:
            FencedError: somebody else owns the lane now; nothing was written.
            TooLargeError: the broker takes no batch as large as one of these; nothing was written.
        """
        ...

    async def write_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> Sequence[Written]:
        """Commits several blocks together, each with its outputs: all of them stand there, or none.

        Args:
            blocks: the bytes of each, as sealed, and what it folds to; each continues the one before it.

        Returns:
            Where each stands.

        Raises:
            FencedError, TooLargeError: as for `write`.
        """
        ...

    async def close(self) -> None:
        """Aborts what is open and lets go of the broker, within `CLOSE_SECONDS`, whatever happens."""
        ...


class KafkaLedger:
    """The `Ledger` of one lane on Kafka: partition `lane` of a ledger topic and of every output topic.

    Args:
        settings: the broker, prefix, delivery and time-outs.
        lane: the partition number.
        topic: the logical name of the ledger; each group of lanes has one of its own.
        fold: the name of the lane group.
        ledger_id: of the ledger; empty: its topic's full name.
        before: asked where a lane that kept no ledger has left its inputs; None: there was none such.
        clients: that the worker's lanes share; None: the lane has one of its own.
    """

    def __init__(
        self,
        settings: Settings,
        lane: int,
        topic: str = "ledger",
        fold: str = "adjudicate",
        ledger_id: str = "",
        before: Callable[[], Awaitable[Mapping[str, int]]] | None = None,
        clients: ClientPool | None = None,
    ) -> None:
        self._settings, self._lane, self._before = settings, lane, before
        self._topic = topic_name(settings, topic)
        self._claimed = 0  # behind the claim that was written last
        name = producer_of(ledger_id or self._topic, fold)
        self._producer = LaneProducer(settings, name, lane, topic, clients)
        self.begun_by = ""

    async def open(self) -> None:
        await self._producer.open()

    async def claim(self, value: bytes, member: Member) -> Written | None:
        written = await self._producer.claim(value, member)
        if written is not None:
            self._claimed = written.offset + 1
        return written

    async def blocks(self, start: int | None = None) -> AsyncGenerator[tuple[int, bytes], None]:
        partition = TopicPartition(self._topic, self._lane)
        async with open_reader(self._settings, partition, start) as consumer:
            if start is None and (first := (await consumer.beginning_offsets([partition]))[partition]) > 0:
                raise beheaded(self._topic, self._lane, first)
            patience, most = self._settings.transaction_timeout + GRACE_SECONDS, self._settings.max_unpacked_bytes
            try:
                async with aclosing(read_to_end(consumer, partition, patience, self._claimed, most)) as records:
                    async for record in records:
                        if not is_claim(record.key):
                            yield record.offset, record.value or b""
                            continue
                        self.begun_by = self.begun_by or _application(record.value)
                        if 0 < self._claimed <= record.offset:
                            raise FencedError("another worker has claimed the lane since")
            except HangsError as hangs:
                raise hangs.sentence(f"the ledger of lane {self._lane}", partition, "blocks") from None
            except CorruptRecordException as error:
                raise unreadable(error, partition) from None

    async def positions(self) -> Mapping[str, int]:
        return {} if self._before is None else await self._before()

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        written = await self._producer.commit(block, outputs)
        assert written is not None
        return written

    async def write_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> Sequence[Written]:
        return await self._producer.commit_together(blocks)

    async def close(self) -> None:
        await self._producer.close()


def ledger_of(
    settings: Settings, fold: Fold, lane: int, ledger_id: str = "", clients: ClientPool | None = None
) -> KafkaLedger:
    """The ledger of a lane of this fold.

    Args:
        settings: the broker.
        fold: whose ledger it is.
        lane: the lane's number.
        ledger_id: of the ledger; empty: its topic's full name.
        clients: that the worker's lanes share; None: the lane has one of its own.
    """
    before = partial(positions_before, settings, fold, lane) if fold.ledger == "frame-ledger" else None
    return KafkaLedger(settings, lane, fold.ledger, fold.name, ledger_id, before, clients)


def _application(claim: bytes | None) -> str:
    """The application that a claim names; empty for what is no claim."""
    try:
        return read_claim(claim).claim.app_id or ""
    except DoesNotHoldError:
        return ""


# ---------------------------------------------------------------- where a lane without a ledger stood

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _Placed(msgspec.Struct, gc=False):
    source: str


_placed = msgspec.json.Decoder(_Placed)


async def positions_before(settings: Settings, fold: Fold, lane: int) -> Mapping[str, int]:
    """Where a framing lane of an earlier package, which kept no ledger, has left its input.

    That lane kept its positions as a consumer group's. They are read before the ledger's first block, never written.

    Kafka forgets the offsets of a group that is silent for `offsets.retention.minutes` (seven days). Then the last
    output tells, which names the place of its original; only dead letters behind it can come twice.

    Args:
        settings: the broker, prefix and delivery.
        fold: with one input, and an output whose records have a `source`: its first. The group has its name.
        lane: the partition number. No worker of an earlier package may run any more: its lanes are not fenced.

    Returns:
        The next offset to read, by logical topic. Nothing, where nobody has left anything: all of it is to be read.
    """
    topic = fold.inputs[0]
    place = TopicPartition(topic_name(settings, topic), lane)
    isolation = "read_committed" if settings.delivery == "exactly-once" else "read_uncommitted"
    group = f"{settings.app_id}-{fold.name}"
    # Without a subscription it is no member of the group: it only asks.
    async with open_consumer(settings, isolation_level=isolation, fetch_max_wait_ms=50, group_id=group) as consumer:
        consumer.assign([place])
        consumer.pause(place)
        committed = await consumer.committed(place)
    if committed is not None:
        log.info("the lane had no ledger before: its first block begins where its group stood", offset=committed)
        return {topic: committed}
    last = await last_record(settings, TopicPartition(topic_name(settings, fold.outputs[0]), lane), lambda _: True)
    if last is None:
        return {}
    at = int(_placed.decode(last.value or b"").source.rpartition("/")[2])
    log.warning("the group's offsets are gone: going on behind the last output's original", offset=at)
    return {topic: at + 1}
