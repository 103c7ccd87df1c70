"""All that sluice uses of aiokafka beyond its documentation: the one module that knows where aiokafka keeps it.

Lanes fetch, claim and commit by replaced parts of aiokafka's fetcher, sender and coordinator, each in an object of our
own: importing this module changes nothing for other users of aiokafka. No other module may import what aiokafka does
not document, or use a private name of it. tests/topology/kafka/test_aiokafka_inside.py holds both, and each name here
to the real package: a new version of it fails there first. `pyproject.toml` names the versions that were looked at.

A function's first argument is aiokafka's object, named for its class: a `client` is an `AIOKafkaClient`, a `consumer`
an `AIOKafkaConsumer`, a `coordinator` a `GroupCoordinator`, a `fetcher` a `Fetcher`, a `result` a `FetchResult`, a
`producer` an `AIOKafkaProducer`. Nothing here is called for a record; what lanes fetch with is called for a batch or
an answer.
"""

from __future__ import annotations

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable, Mapping
from types import FunctionType
from typing import Any, NamedTuple, cast
from weakref import WeakMethod

from aiokafka import TopicPartition
from aiokafka import conn as aiokafka_conn
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient, ConnectionGroup
from aiokafka.consumer import fetcher as aiokafka_fetcher
from aiokafka.consumer.fetcher import READ_COMMITTED, Fetcher, FetchError, PartitionRecords
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata
from aiokafka.errors import GroupAuthorizationFailedError
from aiokafka.producer.sender import CoordinationType, TxnOffsetCommitHandler
from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.metadata import MetadataRequest
from aiokafka.protocol.types import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Schema,
    String,
    TaggedFields,
)
from aiokafka.record.control_record import ABORT_MARKER, ControlRecord
from aiokafka.record.memory_records import MemoryRecords
from aiokafka.record.util import calc_crc32c

__all__ = [  # beside what is defined here
    "AbstractPartitionAssignor",
    "Array",
    "Boolean",
    "CompactArray",
    "CompactString",
    "ConnectionGroup",
    "ConsumerProtocolMemberAssignment",
    "ConsumerProtocolMemberMetadata",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Request",
    "RequestStruct",
    "Response",
    "Schema",
    "String",
    "TaggedFields",
    "calc_crc32c",
]


# Clients.


def client_of(owner: Any) -> Any:
    """The `AIOKafkaClient` below a consumer, producer or admin client of aiokafka."""
    return getattr(owner, "client", None) or owner._client


def real_client_of(owner: Any) -> Any | None:
    """As `client_of`, and below a `SharedClient`; None where a test's stand-in has no `AIOKafkaClient`."""
    client = getattr(owner, "client", None) or getattr(owner, "_client", None)
    client = client.client if isinstance(client, SharedClient) else client
    return client if isinstance(client, AIOKafkaClient) else None


class SharedClient:
    """Stands for an `AIOKafkaClient` that a producer shares: all that it does not have itself is the client's."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def replace_client(producer: Any, client: SharedClient) -> None:
    """Has a producer that was not started yet send by a client that others have as well."""
    producer.client = producer._sender.client = client
    producer._metadata = producer._message_accumulator._cluster = client.cluster


def connection_methods(client: Any) -> tuple[WeakMethod[Any], WeakMethod[Any]]:
    """How a client gets a connection to a node and asks for metadata; weakly, so that neither keeps it alive."""
    return WeakMethod(client._get_conn), WeakMethod(client._metadata_update)


def replace_connection_methods(
    client: Any, connection: Callable[..., Awaitable[Any]], metadata: Callable[..., Awaitable[bool]]
) -> None:
    """Has a client get its connections and its metadata by these functions.

    Args:
        connection: of a node's id, `group` and `no_hint`; gives the connection, or None.
        metadata: of the cluster and the topics; says whether there was an answer.
    """
    client._get_conn, client._metadata_update = connection, metadata


async def connect_to(client: Any, host: str, port: int) -> Any:
    """A new connection to a `host` and `port`, by a client's options."""
    return await cast(Any, aiokafka_conn).create_conn(
        host,
        port,
        client_id=client._client_id,
        request_timeout_ms=client._request_timeout_ms,
        ssl_context=client._ssl_context,
        security_protocol=client._security_protocol,
        max_idle_ms=client._connections_max_idle_ms,
        sasl_mechanism=client._sasl_mechanism,
        sasl_plain_username=client._sasl_plain_username,
        sasl_plain_password=client._sasl_plain_password,
    )


async def metadata_by(connection: Any) -> Any:
    """The cluster's brokers, as the broker of this connection names them."""
    return await connection.send(MetadataRequest([]))


def keep_bootstrapped(client: Any, connection: Any, metadata: Any) -> None:
    """Gives a client its first metadata, and closes the connection that they came by once brokers are known."""
    client.cluster.update_metadata(metadata)
    if client.cluster.brokers():
        connection.close()
    else:  # a cluster without topics may name no brokers yet
        client._conns["bootstrap", ConnectionGroup.DEFAULT] = connection
    if client._sync_task is None:
        client._sync_task = asyncio.create_task(client._md_synchronizer())


def replace_bootstrap(client: Any, bootstrap: Callable[[], Awaitable[None]]) -> None:
    """Has a client find its cluster by this function, which gives it its first metadata or raises a `KafkaError`."""
    client.bootstrap = bootstrap


def is_connected(client: Any, node: Any, group: ConnectionGroup) -> bool:
    """Whether a client has an open connection of this `group` to the node of this id."""
    there = client._conns.get((node, group))
    return there is not None and there.connected()


def certificate_end_of(client: Any) -> float | None:
    """When the first of the certificates of a client's brokers expires, Unix seconds; None where there is none."""
    writers = [connection._writer for connection in client._conns.values() if connection._writer is not None]
    shown: list[Any] = [writer.get_extra_info("peercert") for writer in writers]
    ends = (ssl.cert_time_to_seconds(certificate["notAfter"]) for certificate in shown if certificate)
    return min(ends, default=None)


class AskingAnyNode(AIOKafkaAdminClient):
    """Asks another node where the one that metadata name has just gone; aiokafka's own admin client fails there."""

    async def _send_request(self, request: Any, node_id: Any = None) -> Any:
        if node_id is None:
            client: Any = self._client
            nodes: list[Any] = [broker.nodeId for broker in client.cluster.brokers()]
            for node in random.sample(nodes, len(nodes)):
                if await client.ready(node):
                    node_id = node
                    break
        return await super()._send_request(request, node_id)


# Membership of a group.


def coordinator_of(consumer: Any) -> Any:
    """The `GroupCoordinator` of a started consumer with a group."""
    return consumer._coordinator


def rejoin_of(coordinator: Any) -> Callable[[Any], Awaitable[bool]]:
    """How a coordinator joins its group: of the subscription; says whether it has joined."""
    return coordinator._do_rejoin_group


def replace_rejoin(coordinator: Any, rejoin: Callable[[Any], Awaitable[bool]]) -> None:
    """Has a coordinator join its group by this function, as `rejoin_of`."""
    coordinator._do_rejoin_group = rejoin


def heartbeat_of(coordinator: Any) -> Callable[[], Awaitable[bool]]:
    """How a coordinator sends a heartbeat; says whether the group still has the member."""
    return coordinator._do_heartbeat


def replace_heartbeat(coordinator: Any, beat: Callable[[], Awaitable[bool]]) -> None:
    """Has a coordinator send its heartbeats by this function, as `heartbeat_of`."""
    coordinator._do_heartbeat = beat


def is_leaving(coordinator: Any) -> bool:
    """Whether a coordinator has begun to close."""
    return coordinator._closing.done()


# Fetching: a consumer, its fetcher, and what was fetched of a partition.


def fetcher_of(consumer: Any) -> Any:
    """The `Fetcher` of a started consumer."""
    return consumer._fetcher


def subscriptions_of(consumer: Any) -> Any:
    """What a consumer reads: its `SubscriptionState`."""
    return consumer._subscription


def is_closed(consumer: Any) -> bool:
    """Whether a consumer was stopped, or its fetcher."""
    return consumer._closed or is_fetcher_closed(fetcher_of(consumer))


def is_fetcher_closed(fetcher: Any) -> bool:
    """Whether a fetcher was closed."""
    return fetcher._closed


async def assignment_settled(fetcher: Any) -> None:
    """Waits while a fetcher's partitions are being assigned anew."""
    if fetcher._subscriptions.reassignment_in_progress:
        await fetcher._subscriptions.wait_for_assignment()


def is_assigned(fetcher: Any, partition: TopicPartition) -> bool:
    """Whether a partition is among those that are read."""
    return fetcher._subscriptions.is_assigned(partition)


def state_of(fetcher: Any, partition: TopicPartition) -> Any:
    """Position and ends of a partition that is read: its `TopicPartitionState`."""
    return fetcher._subscriptions.subscription.assignment.state_value(partition)


def next_answer(fetcher: Any) -> asyncio.Future[Any]:
    """Done with the next fetch answer, or with the error that the group's coordinator has to tell."""
    return fetcher._create_fetch_waiter()


def waiting_in(fetcher: Any) -> Mapping[TopicPartition, Any]:
    """By partition, what was fetched and not taken yet: a `FetchResult` or `FetchError`. Of this moment and later."""
    return fetcher._records


def drop_and_refetch(fetcher: Any, partition: TopicPartition) -> None:
    """Drops what waits of a partition, and has it fetched again from its position."""
    del fetcher._records[partition]
    fetcher._notify(fetcher._wait_consume_future)


def forget_fetched(fetcher: Any, partition: TopicPartition) -> None:
    """Drops what waits of a partition, if anything does, without asking for more."""
    fetcher._records.pop(partition, None)


def error_of(result: Any) -> Exception | None:
    """What is wrong, where a partition's answer is a `FetchError`; None where it has records."""
    failed: Any = result if isinstance(result, FetchError) else None
    return None if failed is None else failed._error


def partition_of(result: Any) -> TopicPartition:
    """The partition that a `FetchResult` is of."""
    return result._topic_partition


def end_told(result: Any) -> int | None:
    """The high watermark that the answer told of its partition; None where it told none."""
    return result._assignment.state_value(result._topic_partition).highwater


def records_in(result: Any) -> Any:
    """What a `FetchResult` gives its records from: a `PartitionRecords`, or what was put in its place."""
    return result._partition_records


def is_fetched(records: Any) -> bool:
    """Whether these are records as aiokafka fetched them, of which nothing was taken yet."""
    return isinstance(records, PartitionRecords)


def replace_records(result: Any, records: Any) -> None:
    """Has a `FetchResult` give its records from something else, which has `next_fetch_offset`."""
    result._partition_records = records


def drop_records(result: Any) -> None:
    """Nothing is left in a `FetchResult`."""
    result._partition_records = None


def move_position(result: Any) -> None:
    """Moves the consumer's position to the `next_fetch_offset` of the records in a `FetchResult`."""
    result._update_position()


_Records: Any = MemoryRecords


class KeptRecords(_Records):
    """aiokafka's records with the bytes that they are read from: aiokafka keeps those where Python cannot read them."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.raw = data


class Answer(NamedTuple):
    """What one fetch answer has of one partition.

    Attributes:
        partition: which.
        raw: the bytes of its batches.
        aborted: of the transactions that were aborted: the producer's id, and the first offset here.
        position: the first offset that is wanted.
        check_crcs: whether checksums are to be looked at.
        committed_only: whether records of aborted transactions are passed over.
    """

    partition: TopicPartition
    raw: bytes
    aborted: list[tuple[int, int]]
    position: int
    check_crcs: bool
    committed_only: bool


def answer_of(records: Any) -> Answer:
    """What the `PartitionRecords` of a `KeepingFetcher` were made from. aiokafka does not read them any more."""
    records._records_iterator = None  # it refers back to them: neither would go without a collection
    return Answer(
        records._tp,
        records._records.raw,
        records._aborted_transactions,
        records.next_fetch_offset,
        records._check_crcs,
        records._isolation_level == READ_COMMITTED,
    )


def old_records(answer: Answer, raw: bytes) -> Any:
    """aiokafka's own reader of those bytes of an answer whose batches have format 0 or 1, without transactions."""
    partition, _, _, position, check_crcs, committed_only = answer
    return PartitionRecords(partition, MemoryRecords(raw), None, position, None, None, check_crcs, int(committed_only))


def is_abort_marker(key: bytes) -> bool:
    """Whether a control record with this key says that a transaction was aborted.

    Raises:
        ValueError: it is the key of no control record.
    """
    return ControlRecord.parse(key) == ABORT_MARKER


_fetch: Any = vars(Fetcher)["_proc_fetch_request"]


class KeepingFetcher(Fetcher):
    """aiokafka's fetcher, whose records keep their bytes (`KeptRecords`).

    aiokafka names the class of its records in the globals of a module; this runs its method with others.
    """

    _proc_fetch_request = FunctionType(
        _fetch.__code__, {**vars(aiokafka_fetcher), "MemoryRecords": KeptRecords}, argdefs=_fetch.__defaults__
    )


class HookedFetcher(KeepingFetcher):
    """aiokafka's fetcher, for a subclass that says when a request goes out, and how long the broker may hold it."""

    async def before_request(self) -> None:
        """Waits until the next request may go out. It may be cancelled: then the request is not sent."""

    def after_request(self, waiting: int) -> None:
        """Called after each answer, with the bytes that have come, as they travel, and that no caller takes yet."""

    def longest_wait_ms(self, *, anything_waits: bool) -> int:
        """Milliseconds for which the broker may hold an answer with no record.

        Where anything waits here to be taken, the request leaves out the partitions of what waits.
        """
        raise NotImplementedError

    async def _proc_fetch_request(self, assignment: Any, node_id: int, request: Any) -> bool:
        try:
            await self.before_request()
        except asyncio.CancelledError:
            return False  # as aiokafka's own does: its caller awaits it, and goes on
        has_news: bool = await super()._proc_fetch_request(assignment, node_id, request)
        self.after_request(sum(map(_packed_size, cast(Any, self)._records.values())))
        return has_news

    @property
    def _fetch_max_wait_ms(self) -> int:
        return self.longest_wait_ms(anything_waits=bool(cast(Any, self)._records))

    @_fetch_max_wait_ms.setter
    def _fetch_max_wait_ms(self, wait: int) -> None:
        """What aiokafka was made with does not count."""


def hook_fetcher(consumer: Any, kind: type[Fetcher] = KeepingFetcher) -> Any:
    """Turns the fetcher of a started consumer, which reads nothing yet, into one of this kind, and returns it."""
    fetcher = fetcher_of(consumer)
    fetcher.__class__ = kind
    return fetcher


def _packed_size(result: Any) -> int:
    """Bytes, as they travelled, of an answer that no caller has begun to take."""
    records: Any = getattr(result, "_partition_records", None)
    return len(records._records.raw) if is_fetched(records) else 0


# Producing.


def sender_of(producer: Any) -> Any:
    """The `Sender` of a producer: it sends batches and speaks with the coordinator of its transactions."""
    return producer._sender


def partition_for(producer: Any, topic: str, key: bytes) -> int:
    """The partition that a started producer, which knows the topic by its full name, would choose for a key."""
    return producer._partition(topic, None, key, None, key, None)


def partitioner_of(client: object) -> object | None:
    """What chooses partitions for a producer; None for a client without one."""
    return getattr(client, "_partitioner", None)


def abandon(producer: Any) -> None:
    """Ends the task of a producer that does not stop in order, and has it count as closed. Its client stays open."""
    sender: Any = sender_of(producer).sender_task
    if sender is not None:
        sender.cancel()
    producer._closed = True


def consume_exceptions(producer: Any) -> None:
    """Reads the failures of a producer that no task awaited: asyncio would complain of each.

    That is the transaction's own, and those of batches that were never sent, which aiokafka sets twice: the caller that
    handed a batch over has its own future of it.
    """
    waiters = [batch._drain_waiter for some in producer._message_accumulator._batches.values() for batch in some]
    waiters.append(getattr(producer._txn_manager, "_transaction_waiter", None))
    for waiter in waiters:
        if waiter is not None and waiter.done() and not waiter.cancelled():
            waiter.exception()


def pass_refused(producer: Any, partition: TopicPartition) -> None:
    """Takes what the broker refused out of the sequence of its partition: the producer's next record takes its place.

    Nothing else of the partition may be under way.
    """
    manager = producer._txn_manager
    if manager is not None:
        manager._sequence_numbers[partition] -= 1


class ClosedBatch:
    """A batch for `AIOKafkaProducer.send_batch` that nothing is added to any more.

    To aiokafka's accumulator and sender it is a builder that is closed
    (`aiokafka.producer.message_accumulator.BatchBuilder`). A subclass has `record_count` and `size` as well.
    """

    def closed(self) -> bool:
        """Always True."""
        return True

    def close(self) -> None:
        """Does nothing: it is closed."""

    def sent_by(self, producer_id: int, epoch: int, sequence: int) -> None:
        """Called before `built`: `producer_id`, `epoch` and the first record's `sequence` number are the producer's."""
        raise NotImplementedError

    def built(self) -> bytes:
        """The batch as it travels."""
        raise NotImplementedError

    def _set_producer_state(self, producer_id: int, producer_epoch: int, base_sequence: int) -> None:
        self.sent_by(producer_id, producer_epoch, base_sequence)

    def _build(self) -> bytes:
        return self.built()


class OffsetsCommit(TxnOffsetCommitHandler):
    """One commit of a group's offsets in a transaction: a subclass makes the request and reads the answer.

    It has `create_request`, and `handle_response`, which gives the seconds until the next attempt, or None at the end.
    `sender` is of a producer with a transactional id; `offsets` has aiokafka's `OffsetAndMetadata` by partition.
    """

    _sender: Any
    _offsets: Any
    _default_backoff: float
    group = ConnectionGroup.COORDINATION

    def __init__(self, sender: Any, offsets: Any, group: str) -> None:
        super().__init__(sender, offsets, group)

    @property
    def offsets(self) -> dict[TopicPartition, int]:
        """The offset of each partition that is committed."""
        return {partition: committed.offset for partition, committed in self._offsets.items()}

    @property
    def producer(self) -> tuple[str, int, int]:
        """The transactional id, and the producer's number and epoch."""
        transaction = self._sender._txn_manager
        return transaction.transactional_id, transaction.producer_id, transaction.producer_epoch

    @property
    def pause(self) -> float:
        """Seconds before it is tried again."""
        return self._default_backoff

    def stands(self, partition: TopicPartition) -> None:
        """The coordinator has taken a partition's offset."""
        self._sender._txn_manager.offset_committed(partition, self._offsets[partition].offset, self._group_id)

    def fail(self, error: Exception) -> None:
        """The transaction cannot be committed any more."""
        self._sender._txn_manager.error_transaction(error)

    def coordinator_is_gone(self) -> None:
        """The group's coordinator is another one: it is looked for again."""
        self._sender._coordinator_dead(CoordinationType.GROUP)


def replace_offsets_commit(producer: Any, make: Callable[[Any, Any], OffsetsCommit]) -> None:
    """Has a started producer commit the offsets of its transactions by what `make` gives for sender and offsets."""
    sender = sender_of(producer)

    async def commit_offsets(offsets: Any, group: str) -> None:
        if not offsets:
            return
        try:
            node = await sender._find_coordinator(CoordinationType.GROUP, group)
        except GroupAuthorizationFailedError as error:
            sender._txn_manager.error_transaction(error)
            return
        await make(sender, offsets).do(node)

    sender._do_txn_offset_commit = commit_offsets
