"""What a worker asks before it joins its group: whether its package folds what the ledgers hold.

How packages are upgraded is in docs/howto/upgrade.md. A worker of an older package would be given lanes only to refuse
them, and, started again and again, would take them from workers that can run them: under a static name it would even
keep them for ever. One that has looked first ends with the same sentence, and the group never hears of it. What is seen
here is only ever a reason to end: each lane still checks every block of its ledger (restore.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from ...codecs.blocks import unseal
from ...codecs.lane_claims import is_claim
from ..kafka.connect import open_consumer
from ..kafka.passing import PassingReader
from ..kafka.topics import topic_name
from ..ledger.chain import demand_version
from ..ledger.interfaces import Fold
from ..settings.settings import Settings

TAIL = 8
"""So many offsets before a ledger's end are read: a block takes two, since each has its transaction's marker."""
PATIENCE = 5.0
"""What has not answered by then is left to the lanes."""


async def demand_ledgers(settings: Settings, folds: Sequence[Fold]) -> None:
    """That no ledger's newest block was folded by a later version than ours.

    Args:
        settings: the broker and topics.
        folds: that this worker's lanes would run.

    Raises:
        LaterVersionError: one was; the sentence says which.
        DoesNotHoldError: one is no block of a format that we read.
        UnreachableError: no broker answers.
    """
    lanes = range(settings.partitions)
    folded_by = {TopicPartition(topic_name(settings, fold.ledger), lane): fold for fold in folds for lane in lanes}
    exactly_once = settings.delivery == "exactly-once"
    options = {"isolation_level": "read_committed" if exactly_once else "read_uncommitted", "fetch_max_wait_ms": 50}
    async with open_consumer(settings, **options) as consumer:
        newest: dict[TopicPartition, Any] = {}
        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE):
                await _read_tails(consumer, list(folded_by), newest, settings.max_unpacked_bytes)
    for place, record in newest.items():
        header = unseal(record.value or b"").header
        demand_version(header.fold, folded_by[place].version, f"{place.topic}/{place.partition}, block {header.height}")


async def _read_tails(
    consumer: AIOKafkaConsumer, places: list[TopicPartition], newest: dict[TopicPartition, Any], most_unpacked: int
) -> None:
    """Puts the last record of each partition into `newest`, as far as what is committed goes.

    A batch that cannot be read is its lane's business.
    """
    consumer.assign(places)
    firsts, ends = await consumer.beginning_offsets(places), await consumer.end_offsets(places)
    for place in places:
        consumer.seek(place, max(firsts[place], ends[place] - TAIL))
    left = [place for place in places if firsts[place] < ends[place]]
    reader = PassingReader(consumer, most_unpacked)
    while left:
        for place, records in (await reader.take(0.1)).items():
            if blocks := [one for one in records if not is_claim(one.key)]:
                newest[place] = blocks[-1]
        left = [place for place in left if await consumer.position(place) < _readable(consumer, place, ends[place])]


def _readable(consumer: AIOKafkaConsumer, place: TopicPartition, end: int) -> int:
    """How far a partition can be read: a killed worker's open transaction hides what follows until it expires."""
    stable = consumer.last_stable_offset(place)
    return end if stable is None or stable < 0 else min(end, stable)
