"""All that knows a Kafka client: connections, topics, group membership, fetching, transactions, producing and
consuming.
"""

__all__ = [
    "aiokafka_inside",
    "batches",
    "broker_times",
    "claiming",
    "client_pool",
    "connect",
    "consume",
    "fetched",
    "input_records",
    "partition_reader",
    "passing",
    "polling",
    "produce",
    "requests",
    "security",
    "stored_records",
    "topics",
    "transactions",
    "transport",
]
