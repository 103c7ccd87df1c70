"""Requests of our own, held against Kafka's published layout and the real package's client."""

from __future__ import annotations

import asyncio
import io
import struct
from types import SimpleNamespace
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.client import AIOKafkaClient
from aiokafka.errors import NodeNotReadyError

from sluice.topology.kafka import requests
from sluice.topology.kafka.aiokafka_inside import client_of
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.requests import (
    EARLIEST,
    End,
    ListOffsetsRequest,
    ListOffsetsResponse_v5,
    MetadataRequest,
    MetadataResponse_v12,
    TopicNow,
    log_end,
    log_ends,
    topic_ids,
    topics_now,
)

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)


def test_the_leader_s_epoch_takes_32_bits():
    """Kafka's layout of version 5, byte by byte; aiokafka would write the epoch as 64 bits."""
    request = ListOffsetsRequest({ONE: 7}, committed=False).prepare({2: (0, 9)})

    assert request.encode() == (
        struct.pack(">ib", -1, 0)  # no replica; read_uncommitted
        + struct.pack(">i", 1)
        + struct.pack(">h", 1)
        + b"t"
        + struct.pack(">iiiq", 1, 0, 7, -1)  # one partition: 0, the leader's epoch, the latest offset
    )


def test_read_committed_asks_for_the_last_stable_offset():
    """The isolation level is the fifth byte."""
    assert ListOffsetsRequest({ONE: -1}, committed=True).prepare({2: (0, 5)}).encode()[4] == 1


def test_a_broker_without_version_5_is_told_apart():
    """No older version is sent: its answer would not say in which epoch it holds."""
    with pytest.raises(NotImplementedError):
        ListOffsetsRequest({ONE: -1}, committed=True).prepare({2: (0, 4)})


class Client:
    """aiokafka's client, as far as a request goes: leaders, and what each answers."""

    def __init__(self, leaders: dict[TopicPartition, int], **answers: Any) -> None:
        self.cluster = SimpleNamespace(leader_for_partition=leaders.get)
        self.answers = {int(name[1:]): list(rows) for name, rows in answers.items()}
        self.asked: list[tuple[int, dict[TopicPartition, int]]] = []
        self.updates = 0
        self.client = self

    def force_metadata_update(self) -> asyncio.Future[bool]:
        self.updates += 1
        done = asyncio.get_running_loop().create_future()
        done.set_result(True)
        return done

    add_topic = lambda self, topic: None  # noqa: E731

    async def send(self, node: int, request: Any) -> Any:
        self.asked.append((node, request.partitions))
        answer = self.answers[node].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return SimpleNamespace(topics=[("t", answer)])


def test_the_first_offset_is_asked_for_as_another_time():
    """The last eight bytes are the time."""
    request = ListOffsetsRequest({ONE: 7}, committed=False, at=EARLIEST).prepare({2: (0, 9)})

    assert request.encode()[-8:] == struct.pack(">q", -2)


async def test_each_leader_is_asked_for_its_own():
    """One request a leader; one that is away costs only its own answers, and new metadata are asked for."""
    client = Client({ONE: 1, TWO: 2}, n1=[[(0, 0, -1, 42, 3)]], n2=[NodeNotReadyError()])

    assert await log_ends(client, [ONE, TWO], known={ONE: 3}) == {ONE: End(42, 3)}
    assert client.asked == [(1, {ONE: 3}), (2, {TWO: -1})]
    assert client.updates == 1


@pytest.mark.parametrize("code", [5, 6, 76, 78], ids=["no leader", "not the leader", "unknown epoch", "not available"])
async def test_a_leader_that_does_not_know_its_end_yet_says_nothing(code: int):
    """OFFSET_NOT_AVAILABLE after an election is an answer: that nobody knows. It is asked again later."""
    client = Client({ONE: 1}, n1=[[(0, code, -1, -1, -1)]])

    assert await log_ends(client, [ONE]) == {}
    assert client.updates == 1


async def test_a_newer_leader_is_believed():
    """FENCED_LEADER_EPOCH: the epoch that we knew is over; its own is asked for."""
    client = Client({ONE: 1}, n1=[[(0, 74, -1, -1, -1)], [(0, 0, -1, 50, 9)]])

    assert await log_ends(client, [ONE], known={ONE: 8}) == {ONE: End(50, 9)}


async def test_a_partition_without_a_known_leader_is_left_out():
    """And metadata are asked for."""
    client = Client({})

    assert await log_ends(client, [ONE]) == {}
    assert client.updates == 2


async def test_all_who_ask_through_one_client_get_the_ends_of_their_topics():
    """Also who names a topic while an update of the metadata is under way that does not ask for it."""
    with EmbeddedBroker() as broker:
        consumer = AIOKafkaConsumer(bootstrap_servers=broker.address.removeprefix("kafka://"))
        await consumer.start()
        try:
            places, asking = [TopicPartition(f"t{number}", 0) for number in range(12)], []
            for place in places:
                asking.append(asyncio.create_task(log_ends(consumer, [place])))
                await asyncio.sleep(0)
            ends = await asyncio.gather(*asking)
        finally:
            await consumer.stop()

    assert [list(found) for found in ends] == [[place] for place in places]


def test_an_answer_is_read_as_kafka_writes_it():
    """Throttle time, topic, partition, error, timestamp, offset, epoch."""
    answer = struct.pack(">ii", 0, 1) + b"\x00\x01t" + struct.pack(">iihqqi", 1, 3, 0, -1, 99, 4)

    assert ListOffsetsResponse_v5.decode(io.BytesIO(answer)).topics == [("t", [(3, 0, -1, 99, 4)])]


# ---------------------------------------------------------------- ids of topics

ID = bytes(range(16))


def metadata(*topics: tuple[int, bytes, bytes]) -> bytes:
    """Kafka's layout of version 12, byte by byte, with these errors, names and ids."""
    broker = struct.pack(">i", 1) + b"\x02h" + struct.pack(">i", 9092) + b"\x00" + b"\x00"
    partition = struct.pack(">hiii", 0, 0, 1, 5) + (b"\x02" + struct.pack(">i", 1)) * 2 + b"\x01" + b"\x00"
    rows = [
        struct.pack(">h", code) + bytes([len(name) + 1]) + name + id + b"\x00" + b"\x02" + partition
        + struct.pack(">i", -1 << 31) + b"\x00"
        for code, name, id in topics
    ]  # fmt: skip
    head = struct.pack(">i", 0) + b"\x02" + broker + b"\x03id" + struct.pack(">i", 1)
    return head + bytes([len(rows) + 1]) + b"".join(rows) + b"\x00"


class Broker:
    """aiokafka's client, as far as a request of a topic's id goes."""

    def __init__(self, answer: bytes | Exception, node: int | None = 1) -> None:
        self.client, self._answer, self._node = self, answer, node

    def get_random_node(self) -> int | None:
        return self._node

    async def send(self, node: int, request: Any) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return MetadataResponse_v12.decode(io.BytesIO(self._answer))


def test_topics_are_asked_for_by_name():
    """Kafka's layout of version 12; no topic is made by asking."""
    request = MetadataRequest(["t"]).prepare({3: (0, 13)})

    assert request.encode() == b"\x02" + bytes(16) + b"\x02t" + b"\x00" + b"\x00\x00" + b"\x00"


async def test_ids_are_told_as_kafka_s_tools_show_them():
    """Base64 for URLs, 22 characters. A topic that is not there, and an id of zeros, are no id."""
    topics = (0, b"a", ID), (0, b"b", bytes(16)), (3, b"c", ID)

    assert await topic_ids(Broker(metadata(*topics)), ["a", "b", "c"]) == {"a": "AAECAwQFBgcICQoLDA0ODw"}


async def test_counts_are_told_and_that_there_is_no_such_topic():
    """Of one that we may not see (29) nothing is said: it need not be gone."""
    topics = (0, b"a", ID), (0, b"b", bytes(16)), (3, b"c", bytes(16)), (29, b"d", bytes(16))

    assert await topics_now(Broker(metadata(*topics)), ["a", "b", "c", "d"]) == {
        "a": TopicNow(1, "AAECAwQFBgcICQoLDA0ODw"),
        "b": TopicNow(1),
        "c": TopicNow(0),
    }


@pytest.mark.parametrize("error", [NodeNotReadyError(), NotImplementedError("v7"), TimeoutError(), OSError()])
async def test_a_broker_that_does_not_say_tells_no_ids(error: Exception):
    """One that is away, and one of before Kafka 3.1."""
    assert await topic_ids(Broker(error), ["a"]) == {}


async def test_without_a_known_broker_there_are_no_ids():
    """Nobody can be asked."""
    assert await topic_ids(Broker(OSError(), node=None), ["a"]) == {}


async def test_ids_by_the_real_package():
    """Through its client; two topics have two ids, and each keeps its own."""
    with EmbeddedBroker() as broker:
        servers: Any = broker.address.removeprefix("kafka://")
        producer = AIOKafkaProducer(bootstrap_servers=servers)
        await producer.start()
        try:
            for topic in ("a", "b"):
                await producer.send_and_wait(topic, b"v")
            first, second = await topic_ids(producer, ["a", "b"]), await topic_ids(producer, ["a", "b"])
        finally:
            await producer.stop()

    assert first == second
    assert len(set(first.values())) == 2
    assert {len(one) for one in first.values()} == {22}


async def test_the_real_package_has_what_the_adapter_reaches_for():
    """A client below each of its three owners, on a broker; the end of a log is told in both isolation levels."""
    with EmbeddedBroker() as broker:
        servers: Any = broker.address.removeprefix("kafka://")
        producer = AIOKafkaProducer(bootstrap_servers=servers)
        consumer = AIOKafkaConsumer(bootstrap_servers=servers)
        admin = AIOKafkaAdminClient(bootstrap_servers=servers)
        for one in (producer, consumer, admin):
            assert isinstance(client_of(one), AIOKafkaClient)
        await admin.close()
        await producer.start()
        await consumer.start()
        try:
            written = [await producer.send_and_wait("t", b"v", partition=1) for _ in range(3)]
            consumer.assign([TWO])
            ends = [await log_end(consumer, TWO, committed=committed) for committed in (False, True)]
        finally:
            await consumer.stop()
            await producer.stop()

    assert [end and end.offset for end in ends] == [written[-1].offset + 1] * 2
    assert requests.NO_EPOCH == -1
