"""Attestations on a real Kafka: one fate for each, whatever is killed, and lanes of before are taken over in place."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from builders import attestation_value
from commands import run
from lanes_on_kafka import Workers, ended, read

from sluice.codecs.errors import Fault
from sluice.streams.sanitise import AttestationRules, frame_attestation
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics of the test's own, made."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), transaction_timeout=8.0)
    await create_topics(settings)
    return settings


# ---------------------------------------------------------------- workers


class Sent(NamedTuple):
    """A record for `attestations`."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]


def with_look_alikes(number: int, **fields: Any) -> dict[str, Any]:
    """One of three validators' word on a claim, with a look-alike and something invisible in its text."""
    stated = {
        "claim_hash": "0x" + sha256(str(number // 3).encode()).hexdigest(),
        "validator_did": f"did:web:validator-{number % 3}.example",
        "verdict": ("VERIFIED", "DISPUTED", "FALSE")[number % 3],
        "rationale": f"Number {number}: the lоg\u200b bears it out – see ＜b＞there＜/b＞.",
        "evidence": [{"quote": "An entry.", "uri": "https://example.org/log"}, {"quote": "x", "uri": "javascript:x"}],
        "issued_at": 1_779_700_000_000 + number,
    }
    return attestation_value(**stated | fields)


def sent(number: int) -> Sent:
    """Of ten, five are good; the others become dead letters, each for another reason."""
    wrong: dict[str, Any] = {
        0: {"rationale": "a <b>bold</b> claim"},
        1: {"consensus_domain": "unheard-of"},
    }.get(number % 10, {})
    value = with_look_alikes(number, **wrong)
    key, raw = value["claim_hash"].encode(), json.dumps(value, ensure_ascii=False).encode()
    headers = [("x-number", b"%d" % number)]
    match number % 10:
        case 2:
            return Sent(None, raw, headers)
        case 3:
            return Sent(b"another", raw, headers)
        case 4:
            return Sent(key, raw[:-1] + b"\xff", headers)
        case _:
            return Sent(key, raw, headers)


async def load(settings: Settings, numbers: range, seconds: float = 0.0) -> None:
    """Sends these records, by a client that knows nothing of sluice, spread over so long."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), enable_idempotence=True)
    await producer.start()
    try:
        for number in numbers:
            key, value, headers = sent(number)
            await producer.send(settings.topic_prefix + "attestations", value, key=key, headers=headers)
            if seconds and number % 10 == 0:
                await asyncio.sleep(10 * seconds / len(numbers))
    finally:
        await producer.stop()


async def fates(settings: Settings) -> dict[str, list[Any]]:
    """All records of both outputs by what they were made from."""
    found: dict[str, list[Any]] = {}
    for source, record in [one async for one in _fates(settings)]:
        found.setdefault(source, []).append(record)
    return found


async def _fates(settings: Settings) -> AsyncIterator[tuple[str, Any]]:
    for topic in ("grounded", "dead-letters"):
        for lane, records in (await read(settings, topic)).items():
            named = [(_source(topic, record), record) for record in records]
            offsets = [int(source.rpartition("/")[2]) for source, _ in named]
            assert offsets == sorted(offsets), f"the order of {topic} in lane {lane}"
            for source, record in named:
                assert source.split("/")[:2] == ["attestations", str(lane)]
                yield source, record


def _source(topic: str, record: Any) -> str:
    if topic == "grounded":
        return json.loads(record.value)["source"]
    return dict(reversed(record.headers))["sluice-source"].decode()


async def until_fates(settings: Settings, count: int) -> dict[str, list[Any]]:
    """Waits until so many records have a fate."""
    async with asyncio.timeout(150):
        while True:
            found = await fates(settings)
            if len(found) >= count:
                return found
            await asyncio.sleep(0.3)


async def assert_one_fate_each(settings: Settings, count: int) -> dict[str, list[Any]]:
    """Each record has one output, which is what folding it alone gives, byte for byte."""
    found = await until_fates(settings, count)
    inputs = list(_inputs(await read(settings, "attestations")))
    assert [source for source, _ in inputs] == sorted(found, key=_place)
    assert len(inputs) == count
    for source, record in inputs:
        assert len(found[source]) == 1, f"{source} has {len(found[source])} outputs"
        output, headers = found[source][0], dict(found[source][0].headers)
        framed = frame_attestation(record.value, AttestationRules(), source=source)
        if isinstance(framed, Fault):
            assert (headers["sluice-reason"].decode(), headers["sluice-detail"].decode()) == (
                framed.reason,
                framed.detail,
            )
        elif record.key != framed["attestations"][0]["claim_hash"].encode():
            assert headers["sluice-reason"] == b"misrouted"
        else:
            assert output.value == msgspec.json.encode(framed)
            assert (output.key, headers) == (record.key, {"content-type": b"application/json"})
            continue
        assert (output.key, output.value) == (record.key, record.value)
        assert tuple(output.headers[3:]) == tuple(record.headers)
    return found


def _inputs(read: dict[int, list[Any]]) -> Iterator[tuple[str, Any]]:
    for lane, records in sorted(read.items()):
        for record in records:
            yield f"attestations/{lane}/{record.offset}", record


def _place(source: str) -> tuple[int, int]:
    _, lane, offset = source.split("/")
    return int(lane), int(offset)


async def test_every_attestation_has_one_fate_though_the_worker_is_killed(settings: Settings, tmp_path: Path):
    """SIGKILL in the middle, and a restart: none is lost, none comes twice, and each lane keeps its order."""
    plain, through_us = range(1900), range(1900, 2000)
    lines = [json.dumps(with_look_alikes(number)) for number in through_us]
    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        under_load = asyncio.create_task(load(settings, plain, 3))
        await until_fates(settings, 1)
        first.kill()
        second = workers.start()
        done = len(await fates(settings))
        await under_load
        assert 0 < done < len(plain)
        sent = await asyncio.to_thread(run, settings, "produce", text="\n".join(lines))
        assert sent.status == 0, sent.stderr

        found = await assert_one_fate_each(settings, 2000)
        second.terminate()
        assert await ended(second) == 0

    good = [records[0] for records in found.values() if records[0].topic.endswith("grounded")]
    assert len(good) == 950 + 100
    consumed = await asyncio.to_thread(run, settings, "consume", "grounded")
    shown = [json.loads(line) for line in consumed.stdout.splitlines()]
    assert sorted(map(json.dumps, shown)) == sorted(json.dumps(json.loads(record.value)) for record in good)


async def test_an_old_word_does_not_come_back_after_a_restart(settings: Settings, tmp_path: Path):
    """The ledger remembers the newest word of each validator, whoever folds it."""
    now = int(time.time() * 1000)

    async def send(*words: tuple[int, str]) -> None:
        producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
        await producer.start()
        for at, verdict in words:
            value = with_look_alikes(0, issued_at=at, verdict=verdict)
            raw, key = json.dumps(value).encode(), value["claim_hash"].encode()
            await producer.send_and_wait(settings.topic_prefix + "attestations", raw, key=key)
        await producer.stop()

    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await send((now - 60_000, "VERIFIED"), (now - 30_000, "FALSE"))
        await until_fates(settings, 2)
        first.kill()
        second = workers.start()
        await workers.until_taken_over(second)
        await send((now - 60_000, "VERIFIED"), (now - 30_000, "VERIFIED"), (now - 20_000, "FALSE"))
        found = await until_fates(settings, 5)

    records = [records for _, records in sorted(found.items(), key=lambda one: _place(one[0]))]
    reasons = [dict(record.headers).get("sluice-reason", b"").decode() for (record,) in records]
    assert reasons == ["", "", "stale-word", "stale-word", ""]
