"""How many transactions a broker has committed, by its own log of them: of every client alike.

The topic `__transaction_state` gets a record for each step of a transaction (KIP-98): its value begins with a version
(two bytes), the producer's id (eight) and epoch (two), a time-out (four), and the step (one byte). A `CompleteCommit`
ends each that was committed.
"""

from __future__ import annotations

from confluent_kafka import Consumer, TopicPartition
from workload import servers

TOPIC = "__transaction_state"
STEP = 2 + 8 + 2 + 4
COMPLETE_COMMIT = 4
SECONDS = 30.0


def is_commit(value: bytes | None) -> bool:
    """Whether a record of the log says that a transaction was committed; one without a value says that an id ended."""
    return value is not None and len(value) > STEP and value[STEP] == COMPLETE_COMMIT


def commits(address: str, begin: float, end: float) -> int:
    """The transactions that the broker completed between two times (Unix seconds); 0 where it has never had any.

    Raises:
        RuntimeError: its log of them cannot be read to the end.
    """
    reader = Consumer(
        {
            "bootstrap.servers": servers(address),
            "group.id": "transactions",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "log_level": 3,
        }
    )
    try:
        found = reader.list_topics(timeout=SECONDS).topics.get(TOPIC)
        if found is None:
            return 0
        places = [TopicPartition(TOPIC, number, int(begin * 1000)) for number in found.partitions]
        reader.assign(reader.offsets_for_times(places, timeout=SECONDS))
        count, ended = 0, set[int]()
        while len(ended) < len(places):
            message = reader.poll(SECONDS)
            if message is None:
                raise RuntimeError("the broker's log of transactions is not read to its end")
            if message.error():
                ended.add(message.partition())  # the end of a partition is told as an error
            elif is_commit(message.value()) and message.timestamp()[1] <= end * 1000:
                count += 1
        return count
    finally:
        reader.close()
