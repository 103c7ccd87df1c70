"""All that knows a Kafka client: connections, topics, group membership, fetching, transactions, producing and
consuming.
"""

__all__ = [
    "batches",
    "connect",
    "consume",
    "frames",
    "input_records",
    "partition_reader",
    "polling",
    "produce",
    "topics",
    "transactions",
    "transport",
]
