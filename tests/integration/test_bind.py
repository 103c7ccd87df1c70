"""Sightings on a real Kafka: what is seen without knowing of any emission admits what cites it, once."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from builders import assertion_value, emission_value, observation_value, sighting_value
from lanes_on_kafka import Workers, ended, read, until_read

from sluice.codecs.blocks import EventKind, outputs_root, unseal
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.streams.adjudication import fold as core
from sluice.streams.sightings import binding
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.stored_topics import export, open_logs
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap

READ, LOG = "substrate.code.read", "substrate.git.log"
POLICY = f'[sightings]\nclasses = ["{READ}"]\n'
TEXT = "CHANGELOG.md has an entry dated 2026-05-25."
SPAN = {"chars": [0, len(TEXT)]}
Sent = tuple[str, str, dict[str, Any]]


def now() -> str:
    return format_time(time.time_ns() // 1_000_000)


def citing(number: int, cited: str) -> Sent:
    name, note = f"em-{number}", {"substrate_class": READ, "observation_id": cited}
    assertion = assertion_value(TEXT, note, LOG, checks=["contains(2026-05-25, path=CHANGELOG.md)"])
    return "emissions", name, emission_value(name, TEXT, at=now(), assertions=[assertion])


def borne_out(number: int) -> Sent:
    name = f"em-{number}"
    return "observations", name, observation_value(LOG, emission_id=name, span=SPAN, at=now(), observation_id="5b1c2d3")


def seen_before(name: str, content: str = "## 2026-05-25 CHANGELOG.md") -> Sent:
    return "sightings", name, sighting_value(name, at=now(), content=content, locator={"path": "CHANGELOG.md"})


async def send(settings: Settings, records: Iterator[Sent] | list[Sent]) -> None:
    """Sends records under their keys, as a client with Kafka's own partitioner does."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), acks="all")
    await producer.start()
    try:
        for topic, key, value in records:
            partition = PARTITIONERS["murmur2"](key.encode(), settings.partitions)
            name, raw = settings.topic_prefix + topic, json.dumps(value).encode()
            await producer.send_and_wait(name, raw, key.encode(), partition=partition)
    finally:
        await producer.stop()


async def values(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """The values of a topic."""
    return [msgspec.json.decode(one.value) for some in (await read(settings, topic)).values() for one in some]


async def until_admitted(settings: Settings, wanted: set[str], seconds: float = 150) -> list[dict[str, Any]]:
    """Waits until these emissions are admitted; returns every word on `admitted`."""
    async with asyncio.timeout(seconds):
        while True:
            found = await values(settings, "admitted")
            if wanted <= {one["emission_id"] for one in found}:
                return found
            await asyncio.sleep(0.3)


async def assert_bound_once(settings: Settings, lanes: int) -> None:
    """What stands on `citations` and, of sightings, on `observations` is what the ledgers fold to, each once, and
    every record stands where its key belongs."""
    wanted: Counter[tuple[str, bytes | None, bytes]] = Counter()
    for topic, fold, new in (
        ("ledger", core.fold, core.new_state),
        ("bind-ledger", binding.fold, binding.new_bind_state),
    ):
        for lane, records in (await read(settings, topic)).items():
            state, root, taken = new(lane, lanes), outputs_root([]), set[tuple[int, int]]()
            for block in (unseal(record.value) for record in records):
                assert block.header.outputs == root
                outputs = fold(state, block)  # type: ignore[arg-type]
                root = outputs_root(outputs)
                wanted.update((one.topic, one.key, one.value) for one in outputs)
                places = [(one.source, one.offset) for one in block.events if one.kind == EventKind.RECORD]
                assert not taken.intersection(places)
                taken.update(places)
    written: Counter[tuple[str, bytes | None, bytes]] = Counter()
    for topic in ("citations", "observations", "admitted", "dead-letters"):
        for lane, records in (await read(settings, topic)).items():
            for one in records:
                written[topic, one.key, one.value] += 1
                if topic in ("citations", "observations"):
                    assert PARTITIONERS["murmur2"](one.key, lanes) == lane
    sent = {one for one in written if one[0] == "observations" and b'"observer-1"' in one[2]}
    kept = Counter({one: count for one, count in written.items() if one not in sent})
    assert kept == Counter({one: count for one, count in wanted.items() if one[0] in {name for name, *_ in written}})
    assert set(kept.values()) <= {1}


async def assert_audited(settings: Settings, count: int, folder: Path) -> None:
    """An audit finds so many bound observations on the topic, and nothing that is not as the ledgers have it; so does
    one of an export, which holds none of the observers'."""
    async with open_logs(settings) as logs:
        counts = await export(logs, folder, now())
    assert counts["observations"] == count
    for where in (None, folder):
        report = await audit(AuditRequest(settings, where), now())
        assert report.divergences == []
        assert sum(lane.topics["observations"].equal for lane in report.bind if "observations" in lane.topics) == count


@pytest.fixture
async def started(settings: Settings, tmp_path: Path):
    """Topics, and workers whose policy has sightings of one class."""
    (tmp_path / "policy.toml").write_text(POLICY, encoding="utf-8")
    await create_topics(settings)
    with Workers(settings, tmp_path, SLUICE_POLICY=str(tmp_path / "policy.toml")) as workers:
        yield workers


@pytest.mark.path
async def test_what_is_cited_before_and_after_it_is_seen_is_admitted(
    settings: Settings, started: Workers, tmp_path: Path
):
    """With evidence of another class: two kinds. What was seen otherwise admits nothing."""
    worker = started.start()
    await started.until_taken_over(worker)

    await send(settings, [seen_before("sha256:aa"), seen_before("sha256:cc", "## 2026-05-26")])
    await send(
        settings,
        [
            one
            for n, cited in enumerate(("sha256:aa", "sha256:bb", "sha256:cc"))
            for one in (citing(n, cited), borne_out(n))
        ],
    )
    await asyncio.sleep(0.5)
    await send(settings, [seen_before("sha256:bb")])
    words = await until_admitted(settings, {"em-0", "em-1"})

    assert {one["emission_id"] for one in words} == {"em-0", "em-1"}
    assert all(one["classes"] == [READ, LOG] for one in words)
    outcomes = Counter(
        one["outcome"] for one in await values(settings, "observations") if one["observer"] == "observer-2"
    )
    assert outcomes == {"corroborates": 2, "absent": 1}
    worker.terminate()
    assert await ended(worker) == 0
    await assert_audited(settings, 3, tmp_path / "export")
    await assert_bound_once(settings, settings.partitions)


async def test_a_worker_that_is_killed_loses_and_doubles_no_pair(settings: Settings, started: Workers):
    """Whoever takes its lanes over goes on from the ledgers: every citation meets every sighting once."""
    count = 60
    first = started.start()
    await started.until_taken_over(first)
    await send(settings, [seen_before(f"sha256:{n % 7:02x}") for n in range(0, 7, 2)])
    sending = asyncio.create_task(
        send(settings, [one for n in range(count) for one in (citing(n, f"sha256:{n % 7:02x}"), borne_out(n))])
    )
    await asyncio.sleep(0.4)
    first.kill()
    await sending
    await send(settings, [seen_before(f"sha256:{n:02x}") for n in range(1, 7, 2)])
    second = started.start()

    words = await until_admitted(settings, {f"em-{n}" for n in range(count)})

    assert Counter(one["emission_id"] for one in words if one["status"] == "admitted") == {
        f"em-{n}": 1 for n in range(count)
    }
    bound = [one for one in await values(settings, "observations") if one["observer"] == "observer-2"]
    assert len(bound) == count
    second.terminate()
    assert await ended(second) == 0
    await assert_bound_once(settings, settings.partitions)


async def test_without_the_setting_nothing_is_cited(settings: Settings, tmp_path: Path):
    """Nobody pays for what he does not use."""
    await create_topics(settings)
    with Workers(settings, tmp_path) as workers:
        worker = workers.start()
        await workers.until_taken_over(worker)
        await send(settings, [seen_before("sha256:aa"), citing(0, "sha256:aa"), borne_out(0)])
        await until_read(settings, 2)  # a citation would stand where the emission's block does

        assert await values(settings, "citations") == []
        assert len(await values(settings, "observations")) == 1


async def test_much_that_is_bound_at_once_is_written_all_the_same(settings: Settings, started: Workers):
    """Input topics take less at once than output topics do, and not every text gets smaller."""
    worker = started.start()
    await started.until_taken_over(worker)
    topic, name, value = seen_before("sha256:aa")
    much = value | {"detail": {"seen": random.Random(7).randbytes(200_000).hex()}}

    await send(settings, [citing(n, "sha256:aa") for n in range(24)])
    await send(settings, [(topic, name, much)])
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(150):
        while len(found) < 24:
            found = await values(settings, "observations")

    assert {one["subject"]["emission_id"] for one in found} == {f"em-{n}" for n in range(24)}
    assert "refuses a batch" not in started.said(worker)
    await assert_bound_once(settings, settings.partitions)
