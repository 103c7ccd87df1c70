"""Whoever looks for the last record of a partition stays within the settings' budget of unpacked bytes."""

from __future__ import annotations

from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition

from sluice.topology.kafka import partition_reader
from sluice.topology.kafka.partition_reader import last_record, nothing_follows
from sluice.topology.settings.settings import Settings, bootstrap

PLACE = TopicPartition("unpacked", 0)


async def test_the_budget_of_unpacked_bytes_is_the_settings(broker: str, monkeypatch: pytest.MonkeyPatch):
    """Also where only the newest record is wanted, or whether there is any."""
    settings, budgets = Settings(broker=broker, delivery="at-least-once", max_unpacked_bytes=1_234_567), list[int]()
    take_stored = partition_reader.take_stored

    async def noted(consumer: Any, place: TopicPartition, patience: float, most_unpacked: int, *_: Any) -> list[Any]:
        budgets.append(most_unpacked)
        return await take_stored(consumer, place, patience, most_unpacked)

    monkeypatch.setattr(partition_reader, "take_stored", noted)
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()
    await producer.send_and_wait(PLACE.topic, b"newest", partition=PLACE.partition)
    await producer.stop()

    newest = await last_record(settings, PLACE, lambda _: True)
    assert newest is not None
    assert newest.value == b"newest"
    assert set(budgets) == {1_234_567}
    budgets.clear()
    assert not await nothing_follows(settings, PLACE, 0)
    assert set(budgets) == {1_234_567}
