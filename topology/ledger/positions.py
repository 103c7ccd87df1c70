"""Where a framing lane of an earlier package stood, which kept no ledger: the first block of its ledger begins there.

That lane kept its positions as a consumer group's. They are read before the ledger's first block, and never written.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import structlog
from aiokafka import TopicPartition

from ..kafka.connect import open_consumer
from ..kafka.partition_reader import last_record
from ..kafka.topics import topic_name
from ..settings.settings import Settings
from .interfaces import Fold

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class _Placed(msgspec.Struct, gc=False):
    source: str


_placed = msgspec.json.Decoder(_Placed)


async def positions_before(settings: Settings, fold: Fold, lane: int) -> Mapping[str, int]:
    """Where a lane without a ledger has left its input: the next offset to read, by logical topic.

    Kafka forgets the offsets of a group that is silent for `offsets.retention.minutes` (seven days). Then the last
    output tells, which names the place of its original; only dead letters behind it can come twice.

    Args:
        settings: the broker, prefix and delivery.
        fold: with one input, and an output whose records have a `source`: its first. The group has its name.
        lane: the partition number. Its former owner is fenced already.

    Returns:
        Nothing, where nobody has left anything: all of the input is to be read.
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
