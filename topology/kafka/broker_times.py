"""What the brokers' clocks say: each is asked to give a record the time at which it was appended.

No request of Kafka's tells a broker's time. So a record goes to a partition that each broker leads of a topic that is
stamped by the broker, in a transaction that is then aborted: who reads what was committed never sees it.
"""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Any, Final

import structlog
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from ..settings.clock import BrokerTime, monotonic_ms
from ..settings.settings import Settings, bootstrap
from .reconnect import paced
from .security import client_options
from .topics import topic_name

ASK_SECONDS: Final = 20.0
"""All brokers that can be reached have answered by then; who has not is left out."""
TRANSACTION_MS: Final = 15_000
"""A transaction of a worker that dies while it asks ends by itself after that."""


log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


async def broker_times(settings: Settings, topic: str = "ledger") -> list[BrokerTime]:
    """Asks every broker that leads a partition of a topic for its time.

    Args:
        settings: the broker and its time-outs.
        topic: by its logical name; stamped by the broker.

    Returns:
        One time of each broker that answered; none where the broker has no transactions, or none answers.
    """
    if settings.delivery != "exactly-once":
        return []
    producer = paced(
        AIOKafkaProducer(
            bootstrap_servers=bootstrap(settings),
            client_id="sluice-clock",
            acks="all",
            linger_ms=0,
            transactional_id=f"sluice-clock-{socket.gethostname()}-{os.getpid()}",
            transaction_timeout_ms=TRANSACTION_MS,
            **client_options(settings),
        )
    )
    found: list[BrokerTime] = []
    try:
        async with asyncio.timeout(ASK_SECONDS):
            await producer.start()
            await _collect(producer, topic_name(settings, topic), found)
    except (KafkaError, OSError) as error:  # a TimeoutError is an OSError
        log.warning("not every broker could be asked for its time", found=len(found), error=repr(error))
    finally:
        await producer.stop()
    return found


async def _collect(producer: Any, topic: str, found: list[BrokerTime]) -> None:
    leaders: dict[int, int] = {}
    for partition in sorted(await producer.partitions_for(topic)):
        node = producer.client.cluster.leader_for_partition(TopicPartition(topic, partition))
        if node is not None and node >= 0:
            leaders.setdefault(node, partition)
    await producer.begin_transaction()
    try:
        await asyncio.gather(*(_ask(producer, topic, *one, found) for one in leaders.items()))
    finally:
        await producer.abort_transaction()


async def _ask(producer: Any, topic: str, node: int, partition: int, found: list[BrokerTime]) -> None:
    sent = monotonic_ms()
    try:
        async with asyncio.timeout(ASK_SECONDS / 2):
            written = await producer.send_and_wait(topic, b"", key=b"clock", partition=partition)
    except (KafkaError, TimeoutError):
        return  # it is away, or leads the partition no longer: the others tell
    if written.timestamp_type == 1:
        found.append(BrokerTime(node, written.timestamp, sent, monotonic_ms()))
