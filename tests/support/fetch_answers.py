"""Fetch answers without a broker: batches that unpack to much, and a fetcher of aiokafka's that holds them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from aiokafka import TopicPartition
from aiokafka.consumer.fetcher import FetchResult, PartitionRecords
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from sluice.topology.kafka.aiokafka_inside import KeptRecords

ZSTD = 4
"""Kafka's number for it."""


def packed(sizes: list[int], headers: int = 0) -> bytes:
    """One zstd batch of records with values of these sizes: the wire sees next to nothing of them."""
    builder = DefaultRecordBatchBuilder(2, ZSTD, False, -1, -1, -1, 10**9)
    for place, size in enumerate(sizes):
        builder.append(place, 1, b"k", b"x" * size, [("h", b"y" * headers)] if headers else [])
    return bytes(builder.build())


class Fetcher:
    """aiokafka's fetcher with one fetch answer of each partition in it, unpacked by aiokafka itself."""

    def __init__(self, answers: dict[TopicPartition, bytes]) -> None:
        self.states = {partition: SimpleNamespace(position=0, paused=False, highwater=10**6) for partition in answers}
        for state in self.states.values():
            state.consumed_to = lambda offset, state=state: setattr(state, "position", offset)
        assignment: Any = SimpleNamespace(active=True, state_value=self.states.__getitem__)
        self._closed = False
        self._wait_consume_future = None
        self._subscriptions = SimpleNamespace(
            reassignment_in_progress=False,
            is_assigned=lambda partition: True,
            subscription=SimpleNamespace(assignment=assignment),
        )
        self._records: dict[TopicPartition, Any] = {
            partition: FetchResult(
                partition,
                assignment=assignment,
                backoff=0,
                partition_records=PartitionRecords(partition, KeptRecords(data), None, 0, None, None, True, 1),
            )
            for partition, data in answers.items()
        }

    def _notify(self, future: Any) -> None: ...
