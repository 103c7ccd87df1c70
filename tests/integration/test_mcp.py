"""The adapter on a real Kafka: from an attestation and an emission to what a client is told, whatever is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from adapter_view import attested, decided
from aiokafka import AIOKafkaProducer
from builders import assertion_value, attestation_value, emission_value, encoded, observation_value, span_of
from commands import SLUICE
from lanes_on_kafka import CLASSES, Workers
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters
from ports import free_port

from sluice.codecs.times import format_time
from sluice.topology.http import view_follower
from sluice.topology.http.adapter_view import AdapterView, about_view
from sluice.topology.http.view_follower import Following
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

HOUR = 3_600_000


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics of the test's own, made."""
    settings = Settings(
        broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2, transaction_timeout=8.0
    )
    await create_topics(settings)
    return settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The view's file."""
    return tmp_path / "view.sqlite"


@asynccontextmanager
async def producer(settings: Settings, **options: Any) -> AsyncIterator[AIOKafkaProducer]:
    client = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), **options)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def kept(settings: Settings, path: Path) -> AsyncIterator[None]:
    """The view is followed into."""
    task = asyncio.create_task(Following(settings, path).run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def count(path: Path, table: str = "attestations") -> int:
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    except sqlite3.Error:
        return -1


async def until(wanted: Any, seconds: float = 150) -> None:
    """Waits until something is true."""
    async with asyncio.timeout(seconds):
        while not wanted():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def is_ready(path: Path) -> bool:
    """Whether the view has all that stood in the topics a second ago."""
    return int(about_view(path).get("caught_up_at", "0")) > time.time() * 1000 - 1500


def contents(path: Path) -> list[Any]:
    """All that a view holds, in an order of its own: partitions are read side by side."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return [
            sorted(db.execute("SELECT claim_hash, validator_did, canonical_hash, standing, shown FROM attestations")),
            sorted(db.execute("SELECT key, canonical_hash, status, valid_until, shown FROM assertions")),
            sorted(db.execute("SELECT * FROM positions")),
        ]


def inode(path: Path) -> int | None:
    """Which file stands there; None where there is none."""
    return path.stat().st_ino if path.exists() else None


def damage(path: Path) -> None:
    """Overwrites all of the file but its header."""
    raw = path.read_bytes()
    path.write_bytes(raw[:100] + b"x" * max(10_000, len(raw) - 100))


def grounded(number: int) -> bytes:
    """Of 20 claims and 5 validators: each speaks again and again."""
    return attested(f"Entry {number} is there.", about=f"c{number % 20}", by=f"v{number % 5}")


# ---------------------------------------------------------------- from end to end


def stdio(settings: Settings, path: Path) -> StdioServerParameters:
    """`sluice mcp` as a client starts it."""
    return StdioServerParameters(
        command=SLUICE[0],
        args=[*SLUICE[1:], "mcp", "--view", str(path), "--broker", settings.broker, "--log-level", "warning"],
        env={**os.environ, "SLUICE_TOPIC_PREFIX": settings.topic_prefix, "SLUICE_APP_ID": settings.app_id},
    )


async def asked(client: Client, tool: str, wanted: Any, **arguments: Any) -> dict[str, Any]:
    """Asks until the answer is as wanted."""
    result = None
    try:
        async with asyncio.timeout(150):
            while True:
                result = await client.call_tool(tool, arguments)
                if not result.is_error and wanted(result.structured_content):
                    return result.structured_content
                await asyncio.sleep(0.2)
    except TimeoutError:
        raise AssertionError(f"not as wanted: {result}") from None


TEXT = "CHANGELOG.md has an entry dated 2026-05-25."


def seen_now(outcome: str, substrate_class: str) -> bytes:
    at, seen = format_time(time.time_ns() // 1_000_000), "sha256:" + "0" * 64
    about = {"span": span_of(TEXT), "at": at, "observer": "observer-2"}
    return encoded(observation_value(substrate_class, outcome, observation_id=seen, **about))


@pytest.mark.path
async def test_from_the_topics_to_the_client(settings: Settings, path: Path, tmp_path: Path):
    """An attestation is found, an admitted assertion is admitted with its story, and, contradicted, is gone."""
    attestation = attestation_value(rationale="The chаnge\u200blog bears it out.")
    at = format_time(time.time_ns() // 1_000_000)
    emission = emission_value(text=TEXT, at=at, assertions=[assertion_value(TEXT)])
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        async with producer(settings) as client, Client(stdio(settings, path)) as adapter:
            await workers.until_taken_over(worker)
            prefix = settings.topic_prefix
            key = attestation["claim_hash"].encode()
            await client.send_and_wait(prefix + "attestations", json.dumps(attestation).encode(), key=key)
            await client.send_and_wait(prefix + "emissions", json.dumps(emission).encode(), key=b"em-1")
            for name in CLASSES:
                await client.send_and_wait(prefix + "observations", seen_now("corroborates", name), key=b"em-1")

            found = await asked(adapter, "ground", lambda one: one["attestations"], query="changelogs")
            assert found["attestations"][0]["_untrusted_text"]["rationale"] == "The changelog bears it out."
            assert found["_meta"]["stripped_positions"][0]["field"] == "attestations[0].rationale"
            admitted = await asked(adapter, "check_assertion", lambda one: one["admitted"], text=TEXT)
            assert admitted["matches"][0]["classes"] == list(CLASSES)
            assert admitted["valid_until"] == admitted["matches"][0]["valid_until"]
            explanation = await asked(adapter, "explain", lambda one: one["assertions"], emission_id="em-1", span=None)
            assert explanation["assertions"][0]["now"]["status"] == "admitted"
            assert explanation["assertions"][0]["_untrusted_text"]["text"] == TEXT
            assert "text" not in explanation["assertions"][0]
            assert settings.broker.removeprefix("kafka://") not in json.dumps(explanation)
            policy = json.loads((await adapter.read_resource("sluice://policy")).contents[0].text)
            assert policy["consensus_domains"] == ["scientific-default"]
            unknown = await adapter.call_tool("explain", {"emission_id": "em-2"})
            assert unknown.is_error

            await client.send_and_wait(prefix + "observations", seen_now("contradicts", CLASSES[0]), key=b"em-1")
            gone = await asked(adapter, "check_assertion", lambda one: not one["admitted"], text=TEXT)
            assert (gone["matches"], gone["near_matches"]) == ([], [])


# ---------------------------------------------------------------- exactly once, and made anew


@pytest.mark.long
async def test_a_follower_that_is_killed_stores_each_record_once(settings: Settings, path: Path, tmp_path: Path):
    """SIGKILL again and again, under load: the view is the one that is read at once from the beginning."""
    view = ["mcp", "--transport", "http", "--view", str(path), "--broker", settings.broker]
    environment = {**os.environ, "SLUICE_TOPIC_PREFIX": settings.topic_prefix, "SLUICE_LOG_LEVEL": "error"}

    async def load() -> None:
        async with producer(settings) as client:
            for number in range(3000):
                await client.send(settings.topic_prefix + "grounded", grounded(number), key=b"%d" % (number % 20))
                text, key = f"Text {number % 50}.", b"em-%d#c:0-8" % (number % 50)
                status = ("admitted", "renewed", "contradicted")[number % 3]
                word = decided(text, status=status, emission=f"em-{number % 50}", until=4_000_000_000_000)
                await client.send(settings.topic_prefix + "admitted", word, key=key)
                if number % 50 == 0:
                    await asyncio.sleep(0.1)

    port = free_port()
    loading = asyncio.create_task(load())
    kills = 0
    while kills < 2 or not loading.done():
        process = await asyncio.create_subprocess_exec(*SLUICE, *view, "--port", str(port), env=environment)
        before = count(path)
        with_news = asyncio.create_task(until(lambda before=before: count(path) > before, 20))
        await asyncio.wait({with_news, loading}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0.15 * kills % 0.4)
        with_news.cancel()
        process.send_signal(signal.SIGKILL)
        await process.wait()
        kills += 1
    await loading
    async with kept(settings, path):
        await until(lambda: count(path) >= 3000)  # that it was ready may be the word of the one that was killed
        await until(lambda: is_ready(path))
    async with kept(settings, tmp_path / "fresh.sqlite"):
        await until(lambda: is_ready(tmp_path / "fresh.sqlite"))

    assert count(path) == 3000
    assert contents(path) == contents(tmp_path / "fresh.sqlite")


@pytest.mark.parametrize("how", ["taken away", "damaged at rest"])
async def test_a_view_that_is_lost_is_read_again(settings: Settings, path: Path, how: str):
    """While it runs, or before it starts."""
    async with producer(settings) as client:
        for number in range(40):
            await client.send_and_wait(settings.topic_prefix + "grounded", grounded(number), key=b"%d" % (number % 20))
    async with kept(settings, path):
        await until(lambda: count(path) == 40)
        before = contents(path)
        if how == "taken away":
            os.unlink(path)
            await until(lambda: count(path) == 40)
    if how != "taken away":
        damaged = inode(path)
        damage(path)
        async with kept(settings, path):  # what lies in the log beside the file may still be read until it is made anew
            await until(lambda: inode(path) not in (None, damaged) and count(path) == 40)

    assert contents(path) == before


async def test_what_is_not_committed_is_not_there(settings: Settings, path: Path):
    """Aborted records never come in, open ones only once they are committed; the view is up to date all the same."""
    async with kept(settings, path), producer(settings, transactional_id=f"{settings.app_id}-t") as client:
        topic = settings.topic_prefix + "grounded"
        async with client.transaction():
            await client.send_and_wait(topic, grounded(0), key=b"0")
        await client.begin_transaction()
        await client.send_and_wait(topic, grounded(1), key=b"1")
        await client.abort_transaction()
        await until(lambda: count(path) == 1)
        await client.begin_transaction()
        await client.send_and_wait(topic, grounded(2), key=b"2")
        await asyncio.sleep(1)
        assert count(path) == 1
        await client.commit_transaction()
        await until(lambda: count(path) == 2)
        await until(lambda: is_ready(path))
        about = about_view(path)
        assert (about["behind.grounded"], about["behind.admitted"]) == ("0", "0")


async def test_another_process_takes_the_view_over(settings: Settings, path: Path):
    """One writes, the other waits, and goes on where the first one ended."""
    async with producer(settings) as client:
        first = asyncio.create_task(Following(settings, path).run())
        await until(lambda: is_ready(path))
        async with kept(settings, path):
            await client.send_and_wait(settings.topic_prefix + "grounded", grounded(0), key=b"0")
            await until(lambda: count(path) == 1)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            await client.send_and_wait(settings.topic_prefix + "grounded", grounded(1), key=b"1")
            await until(lambda: count(path) == 2)


async def test_a_view_of_topics_that_were_made_anew_is_made_anew(settings: Settings, path: Path):
    """What it was read from does not exist any more."""
    async with producer(settings) as client:
        await client.send_and_wait(settings.topic_prefix + "grounded", grounded(0), key=b"0")
    view = AdapterView(path, f"{settings.broker} {settings.topic_prefix}")
    from sluice.topology.http.adapter_view import Batch

    view.take({("grounded", 0): Batch([], 1000), ("grounded", 1): Batch([], 1000)})
    view.close()

    async with kept(settings, path):
        await until(lambda: count(path) == 1)


async def test_what_retention_has_deleted_is_forgotten(settings: Settings, path: Path):
    """Words that were not read may have ended what the view still shows."""
    from aiokafka import TopicPartition
    from aiokafka.admin.records_to_delete import RecordsToDelete

    from sluice.topology.kafka.connect import open_admin

    topic = settings.topic_prefix + "admitted"
    word = decided("It rains.", until=4_000_000_000_000)
    async with producer(settings) as client:
        await client.send_and_wait(topic, word, key=b"em-1#c:0-9", partition=0)
        async with kept(settings, path):
            await until(lambda: count(path, "assertions") == 1)
        other = decided("It snows.", emission="em-2", until=4_000_000_000_000)
        for _ in range(3):
            await client.send_and_wait(topic, other, key=b"em-2#c:0-9", partition=0)
    async with open_admin(settings) as admin:
        await admin.delete_records({TopicPartition(topic, 0): RecordsToDelete(before_offset=3)})
    deleted_at = time.time() * 1000  # the view was ready a moment ago, with what it had then
    async with kept(settings, path):
        await until(lambda: int(about_view(path).get("caught_up_at", "0")) > deleted_at)

    assert [key for key, *_ in contents(path)[1]] == [b"em-2#c:0-9"]


async def test_without_a_broker_the_adapter_says_so_and_goes_on(path: Path):
    """A client is answered that nothing can be answered yet."""
    settings = Settings(broker="kafka://127.0.0.1:1", topic_prefix="t.")
    async with Client(stdio(settings, path)) as adapter:
        result = await adapter.call_tool("check_assertion", {"text": "x"})

    assert result.is_error
    assert result.meta["sluice/ready"] is False


async def test_the_policy_in_force_reaches_the_view(settings: Settings, path: Path, tmp_path: Path, monkeypatch):
    """With its registry of consensus domains."""
    monkeypatch.setattr(view_follower, "POLICY_SECONDS", 1.0)
    policy = tmp_path / "policy.toml"
    policy.write_text('[attestations]\nconsensus_domains = ["legal", "medical"]\n')
    with Workers(settings, tmp_path) as workers:
        worker = workers.start("--policy", str(policy))
        await workers.until_taken_over(worker)
        async with kept(settings, path):
            await until(lambda: '"legal","medical"' in about_view(path).get("policy", ""))
