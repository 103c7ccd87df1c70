"""What a lane without a ledger has instead: its positions, committed for a consumer group with its outputs as one.

A fold that keeps nothing (`streams.framing`) needs no blocks to go on from, only the place. That is a consumer group of
its own without members, whose offsets are part of the lane's transaction. Kafka forgets the offsets of a group that is
silent for `offsets.retention.minutes` (seven days); the lane renews them long before, and after a longer standstill the
last output tells: it names the place of its original. Only dead letters behind it can then come twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress

import msgspec
import structlog
from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.blocks import Output
from ..kafka.connect import open_consumer
from ..kafka.partition_reader import last_record
from ..kafka.topics import topic_name
from ..kafka.transactions import CLOSE_SECONDS, GroupOffsets, LaneProducer, Written
from ..settings.settings import Settings

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _Placed(msgspec.Struct, gc=False):
    source: str


_placed = msgspec.json.Decoder(_Placed)


class StatelessLedger:
    """Stands where a ledger stands (`ledger.Ledger`), for a lane whose fold keeps nothing.

    Args:
        settings: the broker, prefix, delivery and time-outs.
        fold: the fold's name; the consumer group and the transactional id have it.
        lane: the partition number.
        topic: the logical name of the one input.
        output: the logical name of the topic whose records have a `source`.
    """

    def __init__(self, settings: Settings, fold: str, lane: int, topic: str, output: str) -> None:
        self._settings, self._lane, self._input = settings, lane, topic
        self._group = f"{settings.app_id}-{fold}"
        self._place = TopicPartition(topic_name(settings, topic), lane)
        self._output = TopicPartition(topic_name(settings, output), lane)
        self._exactly_once = settings.delivery == "exactly-once"
        self._producer = LaneProducer(settings, fold, lane)
        self._open = AsyncExitStack()
        self._member: AIOKafkaConsumer | None = None

    async def open(self) -> None:
        await self._producer.open()
        # Without a subscription it is no member of the group: it asks for offsets, and without transactions tells them.
        isolation = "read_committed" if self._exactly_once else "read_uncommitted"
        options = {"isolation_level": isolation, "fetch_max_wait_ms": 50, "group_id": self._group}
        member = open_consumer(self._settings, **options)
        self._member = await self._open.enter_async_context(member)
        self._member.assign([self._place])
        self._member.pause(self._place)  # it would fetch twenty times a second what the lane's own consumer reads

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        """None, ever."""
        for block in ():
            yield block

    async def positions(self) -> Mapping[str, int]:
        """What the group has committed; else behind the last output's original; else nothing: all is to be read."""
        assert self._member is not None, "open comes first"
        committed = await self._member.committed(self._place)
        if committed is not None:
            return {self._input: committed}
        last = await self._last_source()
        if last is None:
            return {}
        log.warning("the group's offsets are gone: going on behind the last output's original", offset=last)
        return {self._input: last + 1}

    async def _last_source(self) -> int | None:
        """The offset of the input that the newest record of the output was made from."""
        last = await last_record(self._settings, self._output, lambda record: True)
        return None if last is None else int(_placed.decode(last.value or b"").source.rpartition("/")[2])

    async def write(self, block: bytes, outputs: Sequence[Output], positions: Mapping[str, int]) -> Written:
        """Commits the outputs with the positions; the block itself is kept nowhere."""
        offsets = {self._place: positions[self._input]}
        await self._producer.commit(None, outputs, GroupOffsets(self._group, offsets))
        if not self._exactly_once:  # behind the outputs: a crash in between doubles them
            assert self._member is not None, "open comes first"
            await self._member.commit(offsets)
        return Written(0, None)

    async def close(self) -> None:
        await self._producer.close()
        self._member = None
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS):
                await self._open.aclose()
