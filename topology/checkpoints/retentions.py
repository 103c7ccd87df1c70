"""How long each output topic keeps its records, as the broker says: checkpoints record it, so that audits can tell what
Kafka's retention may have taken from what an administrator deleted (ledger/retention.py)."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import structlog
from aiokafka.errors import KafkaError

from ...codecs.errors import SluiceError
from ..kafka.topics import kept_for
from ..settings.settings import Settings

FIRST_SECONDS: Final = 2.0
"""A lane's first checkpoint waits so long at most for the broker's first answer."""
EVERY_SECONDS: Final = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Retentions:
    """The `retention.ms` of output topics, asked for once a minute at least.

    Args:
        settings: the broker, and the interval of checkpoints.
        topics: their logical names.
    """

    def __init__(self, settings: Settings, topics: Collection[str]) -> None:
        self._settings, self._topics = settings, topics
        self._known: Mapping[str, int] = {}
        self._asked = asyncio.Event()

    async def ready(self) -> None:
        """Waits until the broker was asked once, `FIRST_SECONDS` at most."""
        try:
            async with asyncio.timeout(FIRST_SECONDS):
                await self._asked.wait()
        except TimeoutError:
            return

    def of(self, topics: Collection[str]) -> Sequence[tuple[str, int]]:
        """What the broker said last of these topics (ms; -1: for ever), in their order; none of one it says nothing of.

        Args:
            topics: their logical names.
        """
        return [(topic, self._known[topic]) for topic in topics if topic in self._known]

    async def follow(self) -> None:
        """Asks again and again, until cancelled. While no broker answers, what it said last counts."""
        failed = ""
        while True:
            try:
                self._known, failed = {**self._known, **await kept_for(self._settings, self._topics)}, ""
            except (SluiceError, KafkaError, OSError) as error:
                if (said := str(error) or repr(error)) != failed:
                    log.warning("checkpoints cannot record how long topics keep records", error=said)
                failed = said
            self._asked.set()
            await asyncio.sleep(min(EVERY_SECONDS, self._settings.checkpoint_interval))
