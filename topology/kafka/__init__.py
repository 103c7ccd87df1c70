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
    "log_bounds",
    "partition_reader",
    "passing",
    "polling",
    "produce",
    "reader_pool",
    "requests",
    "security",
    "stored_records",
    "topics",
    "transactions",
    "transport",
]
