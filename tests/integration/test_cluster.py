"""`RealCluster` and `sluice broker run --nodes 3`: three brokers, of which any one may go."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from aiokafka import TopicPartition
from commands import SLUICE
from msgspec.structs import replace

from sluice.codecs.errors import UsageError
from sluice.topology.kafka.connect import open_admin, open_consumer, open_producer
from sluice.topology.kafka.local_broker import RealBroker, RealCluster
from sluice.topology.kafka.topics import TOPICS, check_topics, create_topics, topic_name
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def cluster() -> Iterator[RealCluster]:
    """Three brokers that the tests of this module share; a test that ends one starts it again."""
    with RealCluster() as cluster:
        yield cluster


async def produce_and_read(settings: Settings, value: bytes) -> list[bytes]:
    """All values of one input's first partition, once this one is there too."""
    topic = topic_name(settings, "emissions")
    async with open_producer(settings) as producer:
        await producer.send_and_wait(topic, value, partition=0)
    async with open_consumer(settings) as consumer:
        place = TopicPartition(topic, 0)
        consumer.assign([place])
        found: list[bytes] = []
        while value not in found:
            fetched = (await consumer.getmany(place, timeout_ms=1000)).get(place, [])
            found += [record.value or b"" for record in fetched]
        return found


async def test_topics_get_as_many_replicas_as_there_are_brokers(cluster: RealCluster, prefix: str):
    """Three brokers: three replicas, of which two must have a record. Fewer are told by `check`."""
    settings = Settings(broker=cluster.address, topic_prefix=prefix)

    assert len(await create_topics(settings)) == len(TOPICS)

    assert await check_topics(settings) == []
    async with open_admin(settings) as admin:
        (ledger,) = await admin.describe_topics([topic_name(settings, "ledger")])
    assert all(len(partition["replicas"]) == 3 for partition in ledger["partitions"])
    more = await check_topics(replace(settings, replication=4))
    assert sum("has a replication factor of 3 (expected 4)" in sentence for sentence in more) == len(TOPICS)


async def test_a_broker_of_three_may_go_and_come_back(cluster: RealCluster, prefix: str):
    """Without the leader of a partition records are written and read, and topics are made; what was written stays."""
    settings = Settings(broker=cluster.address, topic_prefix=prefix)
    await create_topics(settings)
    assert await produce_and_read(settings, b"all three") == [b"all three"]
    async with open_admin(settings) as admin:
        (topic,) = await admin.describe_topics([topic_name(settings, "emissions")])
    leader = next(partition["leader"] for partition in topic["partitions"] if partition["partition"] == 0)

    cluster.kill(leader)

    assert cluster.running == [one for one in cluster.nodes if one != leader]
    assert cluster.has_quorum
    assert await produce_and_read(settings, b"two") == [b"all three", b"two"]
    cluster.restart(leader)
    assert await produce_and_read(settings, b"three again") == [b"all three", b"two", b"three again"]


def test_data_lasts_and_is_not_mistaken_for_that_of_one_broker(tmp_path: Path):
    """A later cluster finds what an earlier one wrote; one broker alone refuses the folder, and the other way round."""
    many, one = tmp_path / "many", tmp_path / "one"
    with RealCluster(many) as cluster:
        settings = Settings(broker=cluster.address)
        asyncio.run(create_topics(settings))
    with RealCluster(many) as cluster:
        assert asyncio.run(create_topics(replace(settings, broker=cluster.address))) == []
    with pytest.raises(UsageError, match="the folder holds something else than a broker's data"):
        RealBroker(many).start()
    one.mkdir()
    (one / "server.properties").touch()
    with pytest.raises(UsageError, match="the folder holds something else than the data of 3 nodes"):
        RealCluster(one).start()


def test_the_command_goes_on_with_two_of_three_and_ends_with_one(tmp_path: Path):
    """Standard error names each node's process, and which one has ended; with one left the command ends with 3."""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = subprocess.Popen(
        [*SLUICE, "broker", "run", "--nodes", "3"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert command.stdout is not None
        assert command.stderr is not None
        assert command.stdout.readline().count("127.0.0.1:") == 3
        pids = [int(command.stderr.readline().split(" is process ")[1].split()[0]) for _ in range(3)]
        os.kill(pids[0], signal.SIGKILL)
        assert "sluice: node 1 has ended by itself" in command.stderr.readline()
        assert command.poll() is None
        os.kill(pids[2], signal.SIGKILL)
        _, said = command.communicate(timeout=150)
    finally:
        command.kill()
        command.wait()
    assert command.returncode == 3
    assert "1 of 3 run" in said
    assert "too few of its nodes run" in said
    assert list(tmp_path.iterdir()) == []
