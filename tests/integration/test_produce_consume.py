"""Producing and consuming on a real Kafka: transactions, times, following, and brokers that die."""

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from click.testing import CliRunner, Result
from commands import SLUICE

from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.cli import main
from sluice.topology.kafka.input_records import Prepared
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.produce import Sender
from sluice.topology.kafka.topic_reader import read
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings, bootstrap

FUTURE = "2999-01-01T00:00:00Z"


@pytest.fixture
def topics(settings: Settings) -> Settings:
    """The settings, with all topics made."""
    asyncio.run(create_topics(settings))
    return settings


def run(settings: Settings, *arguments: str, text: bytes = b"") -> Result:
    flags = ["--broker", settings.broker, "--topic-prefix", settings.topic_prefix]
    return CliRunner().invoke(main, [*arguments, *flags], input=text)


@asynccontextmanager
async def lane(settings: Settings) -> AsyncIterator[AIOKafkaProducer]:
    """A transactional producer, as a lane has one."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), transactional_id=settings.topic_prefix + "lane")
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def write(producer: AIOKafkaProducer, settings: Settings, *words: str) -> None:
    for word in words:
        value = json.dumps({"status": "admitted", "word": word, "valid_until": FUTURE}).encode()
        await producer.send(topic_name(settings, "admitted"), value, key=b"k", partition=1)


async def words(settings: Settings, since: int | None = None) -> list[str]:
    return [json.loads(record.value or b"")["word"] async for record in read(settings, "admitted", since=since)]


async def test_what_was_committed_is_read_and_what_was_aborted_is_not(settings: Settings):
    """The read ends although the last offsets are markers and aborted records, which nobody receives."""
    await create_topics(settings)
    async with lane(settings) as producer:
        async with producer.transaction():
            await write(producer, settings, "one", "two")
        await producer.begin_transaction()
        await write(producer, settings, "aborted")
        await producer.abort_transaction()

    async with asyncio.timeout(150):
        assert await words(settings) == ["one", "two"]


async def test_what_is_not_committed_yet_is_not_waited_for(settings: Settings):
    """An open transaction hides itself and what comes after it; the read ends before it."""
    await create_topics(settings)
    async with lane(settings) as producer:
        async with producer.transaction():
            await write(producer, settings, "before")
        await producer.begin_transaction()
        await write(producer, settings, "open")
        await producer.flush()

        async with asyncio.timeout(150):
            assert await words(settings) == ["before"]

        await producer.commit_transaction()
    async with asyncio.timeout(150):  # a broker answers a commit before it has written the markers
        while (found := await words(settings)) == ["before"]:  # noqa: ASYNC110
            await asyncio.sleep(0.1)
    assert found == ["before", "open"]


async def test_since_is_by_the_brokers_clock(settings: Settings):
    """From that time on; of a time after the last record there is nothing."""
    await create_topics(settings)
    async with lane(settings) as producer:
        async with producer.transaction():
            await write(producer, settings, "early")
        await asyncio.sleep(0.05)
        between = time.time_ns() // 1_000_000
        async with producer.transaction():
            await write(producer, settings, "late")

    async with asyncio.timeout(150):
        assert await words(settings, since=between) == ["late"]
        assert await words(settings, since=0) == ["early", "late"]
        assert await words(settings, since=between + 3_600_000) == []


async def test_a_topic_that_is_not_there_is_reported(settings: Settings):
    """Within seconds, with the command that makes it."""
    with pytest.raises(UsageError, match=r"the broker has no topic .*admitted; `sluice topics create` makes them"):
        await words(settings)


def test_lines_come_out_as_they_went_in(topics: Settings):
    """A dead letter's topic stands in for a lane: what is produced is there, under its key, on its partition."""
    lines = [json.dumps({"emission_id": f"em-{n}", "emitted_at": 1, "text": "Yes."}).encode() for n in range(500)]

    sent = run(topics, "produce", text=b"\n".join([*lines, b"nonsense"]))

    async def back() -> dict[bytes | None, bytes | None]:
        return {record.key: record.value async for record in read(topics, "emissions")}

    assert sent.exit_code == 1
    assert sent.stderr == "sluice: sent 500 emissions; 1 refused\n"
    assert asyncio.run(back()) == {f"em-{n}".encode(): line for n, line in enumerate(lines)}


def test_an_input_of_the_greatest_size_is_taken(topics: Settings):
    """1,000,000 bytes are no `oversize` yet, so the topic must take them."""
    start = b'{"emission_id":"em-1","emitted_at":1,"text":"'
    line = start + b"x" * (1_000_000 - len(start) - 2) + b'"}'

    assert run(topics, "produce", text=line).exit_code == 0
    assert json.loads(run(topics, "produce", text=line.replace(b'"}', b'x"}')).stdout)["error"]["reason"] == "oversize"


def follow(settings: Settings, *arguments: str) -> subprocess.Popen[str]:
    flags = ["--follow", "--broker", settings.broker, "--topic-prefix", settings.topic_prefix]
    return subprocess.Popen(
        [*SLUICE, "consume", *arguments, *flags],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )


@pytest.fixture
def following(topics: Settings) -> Iterator[subprocess.Popen[str]]:
    """A reader that follows `admitted`."""
    reader = follow(topics)
    yield reader
    reader.kill()
    reader.communicate()


def test_following_goes_on_until_ctrl_c(topics: Settings, following: subprocess.Popen[str]):
    """What comes later is shown as it comes; Ctrl-C is how it ends, and no failure."""

    async def say(word: str) -> None:
        async with lane(topics) as producer, producer.transaction():
            await write(producer, topics, word)

    got: list[Any] = []
    for word in ("one", "two"):
        asyncio.run(say(word))
        assert following.stdout is not None
        got.append(json.loads(following.stdout.readline())["word"])
    following.send_signal(signal.SIGINT)

    assert got == ["one", "two"]
    assert following.wait(150) == 0
    assert following.stderr is not None
    assert following.stderr.read() == ""


def test_a_broker_that_dies_is_reported_by_who_sends_and_by_who_reads(monkeypatch: pytest.MonkeyPatch):
    """Neither waits for ever, and the sender says how much was stored."""
    monkeypatch.setattr("sluice.topology.kafka.connect.STOP_SECONDS", 1.0)
    monkeypatch.setattr("sluice.topology.kafka.produce.ANSWER_SECONDS", 2.0)
    monkeypatch.setattr("sluice.topology.kafka.topic_reader.SILENCE_SECONDS", 2)
    record = Prepared("emissions", b"em-1", b"{}")
    with RealBroker() as broker:
        settings = Settings(broker=broker.address)
        asyncio.run(create_topics(settings))

        def send_on() -> None:
            with Sender(settings) as sender:
                sender.send(record)
                while not sender.acknowledged:
                    time.sleep(0.01)
                broker.kill()
                sender.send(record)

        async def read_on() -> None:
            async for _ in read(settings, "emissions", follow=True):
                broker.kill()

        with pytest.raises(
            UnreachableError, match=r"does not take the records: no answer for 2 s; 1 were stored before"
        ):
            send_on()
        broker.restart()
        with pytest.raises(UnreachableError, match="the broker has been silent for 2 s"):
            asyncio.run(read_on())
