"""The client library on a real Kafka: what is emitted is decided, what is decided is read, over restarts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import RecordsToDelete
from lanes_on_kafka import Workers, ended, read

from sluice.topology.client import (
    Admitted,
    AdmittedReader,
    AnyChange,
    AsyncAdmittedReader,
    AsyncAuditor,
    AsyncEmitter,
    BufferFullError,
    Decayed,
    DoesNotHoldError,
    Draft,
    Emitter,
    FakeSluice,
    Position,
    UsageError,
    annotation,
)
from sluice.topology.engine.stored_topics import export, open_logs
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings, bootstrap

TWO = ("substrate.code.read", "substrate.git.log")
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
POLICY = """
[admissibility]
horizon = "5s"
[admissibility.window]
default = "8s"
"""


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with four partitions, and workers that end with the test; evidence stays fresh for eight seconds."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    await create_topics(settings)
    (tmp_path / "policy.toml").write_text(POLICY)
    with Workers(settings, tmp_path) as workers:
        yield settings, workers


async def emit(emitter: AsyncEmitter, first: int, count: int) -> None:
    """Emissions with what two observers see of each."""
    for number in range(first, first + count):
        name, now = f"em-{number}", time.time_ns() // 1_000_000
        await emitter.emit(Draft(name, system="bot").say(TEXT, annotation(TWO[0], "sha256:e3b0", now)))
        for substrate_class in TWO:
            await emitter.observe(
                {
                    "observation_id": "sha256:e3b0",
                    "substrate_class": substrate_class,
                    "observed_at": now,
                    "observer": "observer-2",
                    "subject": {"emission_id": name, "span": {"chars": [0, len(TEXT)]}},
                    "outcome": "corroborates",
                }
            )


async def until_read(reader: AsyncAdmittedReader, count: int, seconds: float = 150) -> list[AnyChange]:
    """The next so many changes."""
    async with asyncio.timeout(seconds):
        found: list[AnyChange] = []
        async for change in reader:
            found.append(change)
            if len(found) == count:
                return found
    raise AssertionError("a reader that follows has no end")


async def statuses(settings: Settings) -> list[str]:
    """What stands in the topic of the admitted, sorted: partitions have no order among each other."""
    partitions = (await read(settings, "admitted")).values()
    return sorted(json.loads(one.value)["status"] for records in partitions for one in records)


def places(changes: list[AnyChange]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for change in changes:
        assert change.offset is not None
        found.setdefault(change.partition, []).append(change.offset)
    return found


# ---------------------------------------------------------------- with workers


@pytest.mark.path
async def test_what_is_emitted_is_decided_and_read_over_restarts_of_all(lanes: tuple[Settings, Workers]):
    """Reader and worker end and begin again; each word is handed out once, in order, as another consumer sees it."""
    settings, workers = lanes
    worker = workers.start()
    await workers.until_taken_over(worker)
    async with AsyncEmitter(settings) as emitter:
        await emit(emitter, 0, 20)
        async with AsyncAdmittedReader(settings) as reader:
            first = await until_read(reader, 12)
            kept = reader.position
        worker.kill()
        second_worker = workers.start()
        await emit(emitter, 20, 20)
        async with AsyncAdmittedReader(settings, from_position=Position.decode(kept.encode())) as reader:
            held_before = set(reader.current)
            second = await until_read(reader, 28)
            held = set(reader.current)
        assert second_worker.poll() is None
    admitted = [change for change in first + second if isinstance(change, Admitted)]
    assert {change.emission_id for change in admitted} == {f"em-{number}" for number in range(40)}
    assert len(first + second) == 40
    assert held_before <= {change.key for change in first}
    assert held <= {change.key for change in first + second}
    seen = {
        partition: [one.offset for one in records if json.loads(one.value)["status"] == "admitted"]
        for partition, records in (await read(settings, "admitted")).items()
    }
    assert {place: offsets for place, offsets in seen.items() if offsets} == places(first + second)


@pytest.mark.long
async def test_decays_are_reported_once_whoever_tells_them(lanes: tuple[Settings, Workers]):
    """While the worker runs by its word; while it is down by the reader's clock, and not again when it is back."""
    settings, workers = lanes
    worker = workers.start("--policy", "policy.toml")
    await workers.until_taken_over(worker)
    async with AsyncEmitter(settings) as emitter, AsyncAdmittedReader(settings, grace=5) as reader:
        await emit(emitter, 0, 1)
        admitted, decayed = await until_read(reader, 2)
        assert isinstance(admitted, Admitted)
        assert isinstance(decayed, Decayed)
        assert decayed.told_by == "lane"
        await emit(emitter, 1, 1)
        await emitter.flush()
        (admitted,) = await until_read(reader, 1)
        worker.kill()
        (decayed,) = await until_read(reader, 1)
        assert isinstance(decayed, Decayed)
        assert (decayed.told_by, decayed.key) == ("reader", admitted.key)
        assert not reader.current
        await workers.until_taken_over(workers.start())
        await emit(emitter, 2, 1)
        admitted, decayed = await until_read(reader, 2)
        assert isinstance(admitted, Admitted)
        assert isinstance(decayed, Decayed)
        assert admitted.emission_id == decayed.emission_id == "em-2"
    # the lanes tell each decay too, the one of the stopped worker's time behind its restart
    words: list[str] = []
    async with asyncio.timeout(150):
        while len(words) < 6:
            words = await statuses(settings)
    assert words == ["admitted"] * 3 + ["decayed-to-uncertainty"] * 3


async def test_an_auditor_replays_the_broker_and_its_export(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Both give the same blocks, and what they decided is what the topics hold."""
    settings, workers = lanes
    worker = workers.start("--policy", "policy.toml")
    await workers.until_taken_over(worker)
    async with AsyncEmitter(settings) as emitter, AsyncAdmittedReader(settings) as reader:
        await emit(emitter, 0, 12)
        await until_read(reader, 12)
    worker.send_signal(signal.SIGTERM)
    await ended(worker)
    async with AsyncAuditor(settings) as auditor:
        blocks = [block async for block in auditor]
    async with open_logs(settings) as logs:
        await export(logs, tmp_path / "export", "2026-11-21T09:00:00Z")
    async with AsyncAuditor(folder=tmp_path / "export") as auditor:
        assert [block async for block in auditor] == blocks
        assert (await auditor.report()).holds
    assert [block.time for block in blocks] == sorted(block.time for block in blocks)
    stored = {(lane, one.key, one.value) for lane, some in (await read(settings, "admitted")).items() for one in some}
    replayed = {
        (block.lane, one.key, one.value) for block in blocks for one in block.outputs if one.topic == "admitted"
    }
    assert replayed == stored
    assert len(stored) == 12


# ---------------------------------------------------------------- without


def value(key: str, text: str = TEXT, until: str = "2999-01-01T00:00:00Z") -> bytes:
    fake = FakeSluice()
    fake.emit({"emission_id": key, "text": f"{text} [{TWO[0]}]"})
    fake.corroborate(key, *TWO)
    (record,) = fake.records("admitted")
    return json.dumps(record | {"valid_until": until}).encode()


@contextlib.asynccontextmanager
async def lane(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    """A transactional producer, as a lane has one."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), transactional_id=settings.topic_prefix + "lane")
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def write(producer: AIOKafkaProducer, settings: Settings, *keys: str) -> None:
    for key in keys:
        await producer.send(topic_name(settings, "admitted"), value(key), key=key.encode(), partition=1)


async def test_what_was_aborted_is_never_seen(settings: Settings):
    """Nor what is not committed yet; catching up does not wait for it."""
    await create_topics(settings)
    async with lane(settings) as producer, AsyncAdmittedReader(settings) as reader:
        async with producer.transaction():
            await write(producer, settings, "em-1")
        await producer.begin_transaction()
        await write(producer, settings, "aborted")
        await producer.abort_transaction()
        assert [change.key for change in await reader.catch_up()] == ["em-1"]
        await producer.begin_transaction()
        await write(producer, settings, "em-2")
        await producer.flush()
        async with asyncio.timeout(150):
            assert await reader.catch_up() == []
        await producer.commit_transaction()
        assert [change.key for change in await until_read(reader, 1)] == ["em-2"]
        kept = reader.position
    async with AsyncAdmittedReader(settings, from_position=kept) as reader:
        assert list(reader.current) == ["em-1", "em-2"]
        assert await reader.catch_up() == []


async def test_catching_up_misses_nothing_that_was_committed_before(settings: Settings):
    """Not even what was committed while a fetch was on its way."""
    await create_topics(settings)
    async with lane(settings) as producer, AsyncAdmittedReader(settings) as reader:
        for number in range(15):
            async with producer.transaction():
                await write(producer, settings, f"em-{number}")
            assert [change.key for change in await reader.catch_up()] == [f"em-{number}"]


async def test_a_group_keeps_the_position_on_the_broker(settings: Settings):
    """With the mark of what the clock told; the next reader of its name goes on from there."""
    await create_topics(settings)
    group = settings.topic_prefix + "mine"
    async with lane(settings) as producer:
        async with producer.transaction():
            await write(producer, settings, "em-1", "em-2")
        async with AsyncAdmittedReader(settings, group=group) as reader:
            assert len(await until_read(reader, 1)) == 1
        async with AsyncAdmittedReader(settings, group=group) as reader:
            assert list(reader.current) == ["em-1"]
            assert [change.key for change in await reader.catch_up()] == ["em-2"]
            reader._set.told_until = 1234
            await reader.commit()
        async with AsyncAdmittedReader(settings, group=group) as reader:
            assert reader.position == Position({1: 2}, 1234)
            assert await reader.catch_up() == []


async def test_a_position_that_retention_has_overtaken_is_refused(settings: Settings):
    """Ends may have been missed: whoever goes on from there would hold them for ever."""
    await create_topics(settings)
    async with lane(settings) as producer, producer.transaction():
        await write(producer, settings, "em-1", "em-2", "em-3")
    place = TopicPartition(topic_name(settings, "admitted"), 1)
    async with open_admin(settings) as admin:
        await admin.delete_records({place: RecordsToDelete(before_offset=2)})
    with pytest.raises(DoesNotHoldError, match="does not hold what follows this position"):
        async with AsyncAdmittedReader(settings, from_position=Position({1: 1})):
            pass
    async with AsyncAdmittedReader(settings, from_position=Position({1: 2})) as reader:
        assert [change.key for change in await reader.catch_up()] == ["em-3"]
    with pytest.raises(DoesNotHoldError, match="ends before this position"):
        async with AsyncAdmittedReader(settings, from_position=Position({1: 99})):
            pass


async def test_some_partitions_are_a_set_of_their_own(settings: Settings):
    """Of those that are there."""
    await create_topics(settings)
    async with lane(settings) as producer, producer.transaction():
        await write(producer, settings, "em-1")
    async with AsyncAdmittedReader(settings, partitions=[0, 2]) as reader:
        assert await reader.catch_up() == []
    with pytest.raises(UsageError, match="no such partitions"):
        async with AsyncAdmittedReader(settings, partitions=[4]):
            pass


async def test_records_stand_where_the_lanes_look_for_them(settings: Settings):
    """On the partition of Kafka's own partitioner, and where it is set so, of librdkafka's; deliveries tell."""
    import zlib

    from sluice.codecs.partition import murmur2

    await create_topics(settings)
    by_crc = Settings(broker=settings.broker, topic_prefix=settings.topic_prefix, partitioner="crc32")
    for chosen, choose in (
        (settings, lambda key: (murmur2(key) & 0x7FFFFFFF) % 4),
        (by_crc, lambda key: zlib.crc32(key) % 4),
    ):
        async with AsyncEmitter(chosen) as emitter:
            for number in range(20):
                delivered = await (await emitter.emit({"emission_id": f"em-{number}", "text": "It is so."}))
                assert delivered.partition == choose(delivered.key)


async def test_an_emitter_without_topics_says_what_makes_them(settings: Settings):
    """In the delivery, and on closing."""
    emitter = AsyncEmitter(settings)
    await emitter.__aenter__()
    with pytest.raises(UsageError, match="`sluice topics create` makes them"):
        await (await emitter.emit({"emission_id": "em-1", "text": "It is so."}))
    with pytest.raises(UsageError):
        await emitter.close()


# ---------------------------------------------------------------- a broker of one's own


@pytest.fixture
def own() -> Iterator[tuple[RealBroker, Settings]]:
    """A broker that may be frozen."""
    with RealBroker() as broker:
        settings = Settings(broker=broker.address, partitions=1)
        asyncio.run(create_topics(settings))
        yield broker, settings


def test_a_frozen_broker_slows_its_callers_down_and_costs_no_record(own: tuple[RealBroker, Settings]):
    """The buffer fills and no more is taken; thawed, all that was taken is stored, once, in order."""
    broker, settings = own
    taken: list[Any] = []
    with Emitter(settings, buffer=50) as emitter:
        taken.append(emitter.emit({"emission_id": "em-0", "text": "It is so."}))
        taken[0].result(150)
        assert broker.pid is not None
        os.kill(broker.pid, signal.SIGSTOP)
        try:
            for number in range(1, 50):
                record = {"emission_id": "em-0", "attempt": number, "text": "It is so. " * 100}
                taken.append(emitter.emit(record, timeout=1))
            review = {"emission_id": "em-0", "span": {"chars": [0, 9]}, "decision": "admit"}
            taken.append(emitter.review(review, timeout=1))  # on a topic that was not asked for yet
            with pytest.raises(BufferFullError, match="with 50 records that are not stored yet"):
                emitter.emit({"emission_id": "em-0", "attempt": 50, "text": "It is so."}, timeout=1)
            assert not any(one.done() for one in taken[1:])
        finally:
            os.kill(broker.pid, signal.SIGCONT)
        taken.append(emitter.emit({"emission_id": "em-0", "attempt": 50, "text": "It is so."}, timeout=150))
    delivered = [one.result(0) for one in taken]
    assert [one.offset for one in delivered if one.topic == "emissions"] == list(range(51))
    assert [one.offset for one in delivered if one.topic == "reviews"] == [0]
    stored = asyncio.run(read(settings, "emissions"))[0]
    assert [json.loads(one.value).get("attempt", 0) for one in stored] == list(range(51))


@pytest.mark.long
def test_a_reader_outlives_its_broker(own: tuple[RealBroker, Settings]):
    """It tells decays by its clock while the broker is gone, and goes on when it is back."""
    broker, settings = own

    async def say(key: str, seconds: float) -> None:
        until = time.time() + seconds
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(until)) + "Z"
        async with lane(settings) as producer, producer.transaction():
            await producer.send("admitted", value(key, until=stamp), key=key.encode(), partition=0)

    with AdmittedReader(settings, grace=0.5) as reader:
        asyncio.run(say("em-1", 20))
        assert isinstance(reader.next(20), Admitted)
        broker.kill()
        change = reader.next(150)
        assert isinstance(change, Decayed)
        assert change.told_by == "reader"
        broker.restart()
        asyncio.run(say("em-2", 600))
        change = reader.next(150)
        assert isinstance(change, Admitted)
        assert change.key == "em-2"
