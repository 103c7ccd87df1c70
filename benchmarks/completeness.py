"""An independent reader of what a contestant let through: all statements, each once, and no others.

It reads with read_committed, and shares nothing with any contestant but librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition
from workload import named, servers

SECONDS = 120.0
"""Without a message for so long, a partition whose end has not come is taken for broken."""


class Verdict(NamedTuple):
    """How many statements are missing, came more than once, or should not have come at all."""

    missing: int
    doubled: int
    foreign: int

    @property
    def complete(self) -> bool:
        """Whether all came, and nothing else."""
        return not self.missing and not self.foreign


class Span(msgspec.Struct, gc=False):
    """Where a statement stands."""

    chars: tuple[int, int]


class Said(msgspec.Struct, gc=False):
    """What is needed of an output; peers have no status, and mean admitted."""

    emission_id: str
    span: Span
    status: str = "admitted"

    @property
    def name(self) -> str:
        """The statement's."""
        return named(self.emission_id, self.span.chars[0])


def judge(values: Iterable[bytes], expected: set[str]) -> Verdict:
    """Holds outputs against the statements that must be there, by `workload.named`; a `renewed` or `refused` one is no
    admission."""
    decode, seen, doubled = msgspec.json.Decoder(Said).decode, set[str](), 0
    for value in values:
        said = decode(value)
        if said.status != "admitted":
            continue
        name = said.name
        doubled += name in seen
        seen.add(name)
    return Verdict(len(expected - seen), doubled, len(seen - expected))


def committed(address: str, topic: str, partitions: int) -> Iterator[bytes]:
    """All committed values that the topic holds at present, partition by partition as they come.

    Raises:
        RuntimeError: a partition's end is not reached.
    """
    reader = Consumer(
        {
            "bootstrap.servers": servers(address),
            "group.id": "completeness",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in range(partitions)])
    left = set(range(partitions))
    try:
        while left:
            message = reader.poll(SECONDS)
            if message is None:
                raise RuntimeError(f"{topic} does not come to an end")
            error = message.error()
            if error is None:
                if message.key() != b"claim":  # of a ledger: what stands between its blocks
                    yield message.value()
            elif error.code() == KafkaError._PARTITION_EOF:
                left.discard(message.partition())
            elif not error.retriable():
                raise RuntimeError(f"{topic} cannot be read: {error}")
    finally:
        reader.close()
