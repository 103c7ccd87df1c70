"""Requests to Kafka that aiokafka does not speak, and does not speak well enough: one adapter over its client.

- `ListOffsets` version 5: the end of a log that nobody could take for an older one. A fetch answer's high watermark
  lags after an election; this request is refused (`OFFSET_NOT_AVAILABLE`) until the new leader's has caught up
  (KIP-207). aiokafka speaks versions up to 3, and declares the leader's epoch of version 4 as 64 bits; Kafka has 32.
- `Metadata` version 12: the ids of topics. A topic that was deleted and made again has the name of the old one and
  another id (KIP-516). aiokafka speaks versions up to 5, which know no ids.

What its client offers for that is not documented: tests/topology/kafka/test_requests.py fails where it changes.
"""

from __future__ import annotations

import asyncio
import base64
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from io import BytesIO
from time import monotonic
from typing import Any, NamedTuple

import structlog
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from .aiokafka_inside import (
    Array,
    Boolean,
    CompactArray,
    CompactString,
    Int8,
    Int16,
    Int32,
    Int64,
    Request,
    RequestStruct,
    Response,
    Schema,
    String,
    TaggedFields,
    client_of,
)

LATEST, EARLIEST = -1, -2
"""As a time: the end, and the first offset that is kept."""
NO_EPOCH = -1
ANSWER_SECONDS = 5.0
"""A node that says nothing for so long is asked again later: the others' answers must not wait for it."""
AGAIN_SECONDS = 0.2
_FENCED_LEADER_EPOCH = 74

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class End(NamedTuple):
    """Where a partition ends, and the leader's epoch in which that was said."""

    offset: int
    epoch: int


class ListOffsetsResponse_v5(Response):
    """Kafka's layout of the answer."""

    API_KEY = 2  # type: ignore[assignment]  # aiokafka declares a property, and has constants itself
    API_VERSION = 5  # type: ignore[assignment]
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(
                        ("partition", Int32),
                        ("error_code", Int16),
                        ("timestamp", Int64),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                    ),
                ),
            ),
        ),
    )


class ListOffsetsRequest_v5(RequestStruct):
    """Kafka's layout of the request: the leader's epoch has 32 bits."""

    API_KEY = 2
    API_VERSION = 5
    RESPONSE_TYPE = ListOffsetsResponse_v5
    SCHEMA = Schema(
        ("replica_id", Int32),
        ("isolation_level", Int8),
        (
            "topics",
            Array(
                ("topic", String("utf-8")),
                (
                    "partitions",
                    Array(("partition", Int32), ("current_leader_epoch", Int32), ("timestamp", Int64)),
                ),
            ),
        ),
    )


class ListOffsetsRequest(Request[ListOffsetsRequest_v5]):
    """Where partitions end: with their last stable offset (`committed`), or their high watermark.

    Or where they begin."""

    API_KEY = 2

    def __init__(self, partitions: Mapping[TopicPartition, int], *, committed: bool, at: int = LATEST) -> None:
        """
        Args:
            partitions: with the leader's epoch of each.
            committed: whether the end is the last stable offset.
            at: `LATEST` or `EARLIEST`.
        """
        self.partitions, self.committed, self.at = dict(partitions), committed, at

    def build(self, request_struct_class: type[ListOffsetsRequest_v5]) -> ListOffsetsRequest_v5:
        """The request as it goes out, in the version that the connection has found."""
        topics: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for (topic, partition), epoch in self.partitions.items():
            topics[topic].append((partition, epoch, self.at))
        return request_struct_class(-1, int(self.committed), list(topics.items()))


NIL = bytes(16)
"""As a topic's id: none. Clusters that came from ZooKeeper, and brokers that are none of Apache's, may say so."""


class _Uuid(String):
    """Kafka's `uuid`, 16 bytes; aiokafka has no type for it."""

    def encode(self, value: Any) -> bytes:
        return value

    def decode(self, data: BytesIO) -> Any:
        found = data.read(len(NIL))
        if len(found) != len(NIL):
            raise ValueError("Buffer underrun decoding a uuid")
        return found


_ID = _Uuid()


class MetadataResponse_v12(Response):
    """Kafka's layout of the answer."""

    API_KEY = 3  # type: ignore[assignment]
    API_VERSION = 12  # type: ignore[assignment]
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "brokers",
            CompactArray(
                ("node_id", Int32),
                ("host", CompactString("utf-8")),
                ("port", Int32),
                ("rack", CompactString("utf-8")),
                ("tags", TaggedFields),
            ),
        ),
        ("cluster_id", CompactString("utf-8")),
        ("controller_id", Int32),
        (
            "topics",
            CompactArray(
                ("error_code", Int16),
                ("name", CompactString("utf-8")),
                ("topic_id", _ID),
                ("is_internal", Boolean),
                (
                    "partitions",
                    CompactArray(
                        ("error_code", Int16),
                        ("partition", Int32),
                        ("leader", Int32),
                        ("leader_epoch", Int32),
                        ("replicas", CompactArray(Int32)),
                        ("isr", CompactArray(Int32)),
                        ("offline", CompactArray(Int32)),
                        ("tags", TaggedFields),
                    ),
                ),
                ("authorized_operations", Int32),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class MetadataRequest_v12(RequestStruct):
    """Kafka's layout of the request: topics by name or by id."""

    FLEXIBLE_VERSION = True
    API_KEY = 3
    API_VERSION = 12
    RESPONSE_TYPE = MetadataResponse_v12
    SCHEMA = Schema(
        ("topics", CompactArray(("topic_id", _ID), ("name", CompactString("utf-8")), ("tags", TaggedFields))),
        ("allow_auto_topic_creation", Boolean),
        ("include_topic_authorized_operations", Boolean),
        ("tags", TaggedFields),
    )


class MetadataRequest(Request[MetadataRequest_v12]):
    """What a broker knows of these topics, their ids among it; none is made."""

    API_KEY = 3

    def __init__(self, topics: Iterable[str]) -> None:
        self.topics = sorted(topics)

    def build(self, request_struct_class: type[MetadataRequest_v12]) -> MetadataRequest_v12:
        """The request as it goes out."""
        return request_struct_class([(NIL, topic, {}) for topic in self.topics], False, False, {})


async def log_ends(
    owner: Any,
    partitions: Iterable[TopicPartition],
    *,
    committed: bool = False,
    known: Mapping[TopicPartition, int] | None = None,
    at: int = LATEST,
) -> dict[TopicPartition, End]:
    """Where partitions end, or begin, by their leaders' own word.

    Args:
        owner: a started consumer, producer or admin client.
        partitions: to be asked for, each of its leader.
        committed: whether the last stable offset is asked for instead of the high watermark.
        known: the newest leader's epoch that was heard of, by partition: a leader of an earlier one does not answer.
        at: `LATEST`, or `EARLIEST`: then the first offset that is kept is asked for.

    Returns:
        What was answered. A partition is missing where its leader is not known, is not reached, does not know its own
        high watermark yet, or is not the newest leader any more; ask again later.
    """
    client, known = client_of(owner), known or {}
    partitions = list(partitions)
    # Where an update is under way, aiokafka begins no other, also where topics are new since: it compares their set
    # with itself. An update that begins after they were named asks for them, so the second one does.
    for _ in range(2):
        strange = {one.topic for one in partitions if client.cluster.leader_for_partition(one) in (None, -1)}
        if not strange:
            break
        for topic in strange:
            client.add_topic(topic)
        await asyncio.wait([client.force_metadata_update()], timeout=ANSWER_SECONDS)
    by_node: defaultdict[int, dict[TopicPartition, int]] = defaultdict(dict)
    for partition in partitions:
        leader = client.cluster.leader_for_partition(partition)
        if leader not in (None, -1):
            by_node[leader][partition] = known.get(partition, NO_EPOCH)

    async def ask(node: int, asked: Mapping[TopicPartition, int]) -> Any:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return (await client.send(node, ListOffsetsRequest(asked, committed=committed, at=at))).topics
        except (KafkaError, OSError) as error:  # a TimeoutError is an OSError
            log.debug("a leader does not say where its logs end", node=node, error=repr(error))
            client.force_metadata_update()
            return []

    found: dict[TopicPartition, End] = {}
    for topics in await asyncio.gather(*(ask(node, asked) for node, asked in by_node.items())):
        for topic, rows in topics:
            for number, code, _, offset, epoch in rows:
                partition = TopicPartition(topic, number)
                if code == 0 and offset >= 0:
                    found[partition] = End(offset, epoch)
                elif code == _FENCED_LEADER_EPOCH:  # there is a newer leader than we heard of: its word, then
                    found |= await log_ends(owner, [partition], committed=committed, at=at)
                else:
                    log.debug("a leader does not say where a log ends", topic=topic, partition=number, code=code)
                    client.force_metadata_update()
    return found


async def log_spans(
    owner: Any, partitions: Collection[TopicPartition], seconds: float, *, committed: bool
) -> dict[TopicPartition, tuple[int, int]]:
    """Where partitions begin and end: the first offset that is kept, and the one behind the last.

    Args:
        owner, partitions, committed: as for `log_ends`.
        seconds: leaders that do not answer are asked again for so long.

    Returns:
        What was answered.
    """
    spans: dict[TopicPartition, tuple[int, int]] = {}
    end = monotonic() + seconds
    while left := [one for one in partitions if one not in spans]:
        firsts, ends = await asyncio.gather(
            log_ends(owner, left, at=EARLIEST), log_ends(owner, left, committed=committed)
        )
        spans.update((one, (first.offset, ends[one].offset)) for one, first in firsts.items() if one in ends)
        if monotonic() > end:
            break
        if len(spans) < len(partitions):
            await asyncio.sleep(AGAIN_SECONDS)
    return spans


async def log_end(owner: Any, partition: TopicPartition, *, committed: bool = False) -> End | None:
    """`log_ends` of one partition.

    Args:
        owner: as for `log_ends`.
        partition: of the topic's full name.
        committed: as for `log_ends`.

    Returns:
        The end; None where no leader answers with one.
    """
    return (await log_ends(owner, [partition], committed=committed)).get(partition)


class TopicNow(NamedTuple):
    """A topic as a broker knows it now.

    Attributes:
        partitions: how many it has; 0 where there is no topic of that name.
        id: as Kafka's tools show it (22 characters); empty where the broker tells none.
    """

    partitions: int
    id: str = ""


_NO_TOPIC = 3


async def topics_now(owner: Any, topics: Iterable[str]) -> dict[str, TopicNow]:
    """Topics as one broker knows them now.

    Args:
        owner: a started consumer, producer or admin client.
        topics: full names.

    Returns:
        By full name. A topic is missing where the broker does not say whether there is one, such as one that it does
        not let us see; all are where it does not answer, or is too old for the question.
    """
    client = client_of(owner)
    node = client.get_random_node()
    if node is None:
        return {}
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await client.send(node, MetadataRequest(topics))
    except NotImplementedError:
        log.debug("the broker does not tell the ids of topics", node=node)
        return {}
    except (KafkaError, OSError) as error:  # a TimeoutError is an OSError
        log.debug("a broker does not tell the ids of topics", node=node, error=repr(error))
        return {}
    return {
        name: TopicNow(len(partitions), "" if raw == NIL else id_text(raw)) if code == 0 else TopicNow(0)
        for code, name, raw, _, partitions, *_ in answer.topics
        if code in (0, _NO_TOPIC)
    }


async def topic_ids(owner: Any, topics: Iterable[str]) -> dict[str, str]:
    """The ids of topics as one broker knows them now, by full name: of those that have one.

    Args:
        owner, topics: as for `topics_now`.
    """
    return {name: now.id for name, now in (await topics_now(owner, topics)).items() if now.id}


def id_text(raw: bytes) -> str:
    """A topic's id as Kafka's tools show it: base64 for URLs, without the padding."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
