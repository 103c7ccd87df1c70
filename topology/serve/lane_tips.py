"""How far each lane is: its ledger's newest block, and how many records of its inputs stand in no block yet.

Read from the broker when a page asks, and remembered for some seconds: whoever loads the page again and again reads
nothing more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Final, NamedTuple

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError
from ..kafka.connect import open_consumer, partitions_of
from ..kafka.requests import log_ends
from ..kafka.topics import topic_name
from ..ledger.folds import folds
from ..ledger.interfaces import Fold
from ..ledger.policies import newest_block
from ..settings.settings import Settings

KEPT_SECONDS: Final = 15.0
PATIENCE_SECONDS: Final = 10.0
AT_ONCE: Final = 8
"""So many lanes are read at a time."""
FAULTS: Final = (SluiceError, KafkaError, OSError, ValueError)

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class LaneTip(NamedTuple):
    """How far a lane is.

    Attributes:
        height, time: of its newest block; the time is Unix ms.
        behind: records of its inputs that are committed and stand in no block; None where the broker does not tell.
    """

    height: int
    time: int
    behind: int | None


Tips = Mapping[tuple[str, int], LaneTip]
"""By the ledger's logical name and the lane; a lane without a block is not in it."""


async def read_tips(settings: Settings) -> Tips:
    """Of every lane of every fold its newest block.

    Args:
        settings: the broker.

    Raises:
        UnreachableError: no broker answers.
        DoesNotHoldError: a transaction hangs over the end of a ledger.
        UsageError: a ledger's topic is not there, or may not be read.
    """
    turns = asyncio.Semaphore(AT_ONCE)
    async with open_consumer(settings) as consumer:

        async def of(fold: Fold, lane: int) -> LaneTip | None:
            place = TopicPartition(topic_name(settings, fold.ledger), lane)
            async with turns:
                newest = await newest_block(settings, place)
                if newest is None:
                    return None
                header = newest.header
                inputs = {one.topic: one.next for one in header.sources if one.topic in fold.inputs}
                places = {name: TopicPartition(topic_name(settings, name), lane) for name in inputs}
                ends = await log_ends(consumer, places.values(), committed=settings.delivery == "exactly-once")
            found = [ends[places[name]].offset - at for name, at in inputs.items() if places[name] in ends]
            is_whole = len(found) == len(inputs)
            return LaneTip(header.height, header.time, sum(max(0, one) for one in found) if is_whole else None)

        wanted: list[tuple[Fold, int]] = []
        for fold in folds():
            ledger = topic_name(settings, fold.ledger)
            wanted += [(fold, lane) for lane in await partitions_of(consumer, settings, ledger)]
        found = await asyncio.gather(*(of(fold, lane) for fold, lane in wanted))
    return {(fold.ledger, lane): tip for (fold, lane), tip in zip(wanted, found, strict=True) if tip is not None}


class LaneTips:
    """Reads tips for whoever asks, once for all who ask at about the same time.

    Args:
        settings: the broker.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._known: Tips | None = None
        self._read_at = 0.0
        self._turn = asyncio.Lock()

    async def now(self) -> Tips | None:
        """The tips, `KEPT_SECONDS` old at the most; None where they cannot be read."""
        async with self._turn:
            if monotonic() - self._read_at >= KEPT_SECONDS or not self._read_at:
                self._known = await self._read()
                self._read_at = monotonic()
            return self._known

    async def _read(self) -> Tips | None:
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                return await read_tips(self._settings)
        except FAULTS as error:  # a TimeoutError is an OSError
            log.info("the newest blocks of the lanes cannot be read", error=str(error) or repr(error))
            return None
