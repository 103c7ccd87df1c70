"""Where aiokafka keeps what it does not show: the one door to its private names for all other rooms.

What lanes fetch, claim and commit with goes deeper than functions like these can: it replaces parts of aiokafka's
fetcher, sender and coordinator. Those modules are named in tests/topology/kafka/test_aiokafka_inside.py, and no other
may use a private name of aiokafka. The same test holds each name to the real package, so that a new version of it fails
there and nowhere else; `pyproject.toml` names the versions that were looked at.
"""

from __future__ import annotations

from typing import Any

from aiokafka import AIOKafkaProducer


def client_of(owner: Any) -> Any:
    """The `AIOKafkaClient` below a consumer, producer or admin client of aiokafka.

    Args:
        owner: one of the three.
    """
    return getattr(owner, "client", None) or owner._client


def fetcher_of(consumer: Any) -> Any:
    """What fetches for a started consumer: its `Fetcher`.

    Args:
        consumer: an `AIOKafkaConsumer`.
    """
    return consumer._fetcher


def coordinator_of(consumer: Any) -> Any:
    """Who speaks for a started consumer with its group: its `GroupCoordinator`.

    Args:
        consumer: an `AIOKafkaConsumer` with a group.
    """
    return consumer._coordinator


def subscriptions_of(consumer: Any) -> Any:
    """What a consumer reads: its `SubscriptionState`.

    Args:
        consumer: an `AIOKafkaConsumer`.
    """
    return consumer._subscription


def sender_of(producer: AIOKafkaProducer) -> Any:
    """What sends a producer's batches and speaks with its transactions' coordinator: its `Sender`."""
    return producer._sender


def partition_for(producer: Any, topic: str, key: bytes) -> int:
    """The partition that a producer would choose for a key.

    Args:
        producer: a started `AIOKafkaProducer`, which knows the topic.
        topic: by its full name.
        key: of the record.
    """
    found: int = producer._partition(topic, None, key, None, key, None)
    return found


def abandon(producer: AIOKafkaProducer) -> None:
    """Ends the task of a producer that does not stop in order, and has it count as closed. Its client stays open."""
    sender: Any = sender_of(producer).sender_task
    if sender is not None:
        sender.cancel()
    producer._closed = True


def hear(producer: AIOKafkaProducer) -> None:
    """Marks the failure of a transaction that nobody awaited as heard of: asyncio would complain of it."""
    waiter: Any = getattr(producer._txn_manager, "_transaction_waiter", None)
    if waiter is not None and waiter.done() and not waiter.cancelled():
        waiter.exception()
