"""All that knows a Kafka client: connections, topics, group membership, fetching, transactions, producing and
consuming.
"""

__all__ = [
    "aiokafka_inside",
    "connect",
    "input_records",
    "local_broker",
    "membership",
    "packed_batches",
    "partition_reader",
    "polling",
    "produce",
    "requests",
    "shared_clients",
    "topic_reader",
    "topics",
    "transactions",
    "transport",
]
