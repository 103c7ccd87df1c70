"""Attestations on a real Kafka: positions and outputs as one, and one fate for each, whatever is killed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from aiokafka import AIOKafkaProducer, TopicPartition
from lanes_on_kafka import Workers, read

from sluice.codecs.blocks import Output
from sluice.codecs.errors import Fault
from sluice.streams.sanitise import AttestationRules, frame_attestation
from sluice.topology.kafka import partition_reader
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.topics import create_topics
from sluice.topology.kafka.transactions import FencedError
from sluice.topology.ledger.positions import StatelessLedger
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics of the test's own, made."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), transaction_timeout=8.0)
    await create_topics(settings)
    return settings


# ---------------------------------------------------------------- positions


@asynccontextmanager
async def opened(settings: Settings, lane: int = 0) -> AsyncIterator[StatelessLedger]:
    """The open ledger of a framing lane."""
    ledger = StatelessLedger(settings, "frame", lane, "attestations", "grounded")
    await ledger.open()
    try:
        yield ledger
    finally:
        await ledger.close()


def grounded(offset: int) -> Output:
    return Output("grounded", b"0xab", b'{"source":"attestations/0/%d"}' % offset, [])


async def sources(settings: Settings, lane: int = 0) -> list[str]:
    """The sources of what any reader sees on a partition of `grounded`."""
    return [json.loads(one.value)["source"] for one in (await read(settings, "grounded"))[lane]]


async def positions(settings: Settings, lane: int = 0) -> dict[str, int]:
    """Where the next owner of a lane goes on. The present one is fenced by that."""
    async with opened(settings, lane) as next_owner:
        return dict(await next_owner.positions())


@pytest.mark.path
async def test_outputs_and_positions_are_committed_together(settings: Settings):
    """Both are there once the write is done; a new group has none, and any client may ask for the group's lag."""
    async with opened(settings) as ledger:
        assert await ledger.positions() == {}
        await ledger.write(b"block", [grounded(0), grounded(2)], {"attestations": 3})

    assert await positions(settings) == {"attestations": 3}
    assert await sources(settings) == ["attestations/0/0", "attestations/0/2"]
    async with open_admin(settings) as admin:
        reported = await admin.list_consumer_group_offsets(f"{settings.app_id}-frame")
    assert {place: at.offset for place, at in reported.items()} == {
        TopicPartition(settings.topic_prefix + "attestations", 0): 3
    }
    assert (await read(settings, "ledger"))[0] == []


async def test_who_takes_over_at_once_sees_what_was_committed(settings: Settings):
    """The broker answers a commit before the group's offsets show it: opening must wait, or outputs would double."""
    for number in range(12):
        async with opened(settings) as ledger:
            assert await ledger.positions() == ({"attestations": number} if number else {})
            await ledger.write(b"block", [grounded(number)], {"attestations": number + 1})

            assert await positions(settings) == {"attestations": number + 1}


async def test_an_output_that_the_broker_refuses_takes_the_positions_with_it(settings: Settings):
    """Nothing is committed without one of its outputs."""
    incompressible = b"".join(n.to_bytes(4, "big") for n in range(0, 2**32, 2**32 // 1_300_000))
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(0)], {"attestations": 1})

        with pytest.raises(Exception, match=r"(?i)too ?large"):
            await ledger.write(
                b"block", [grounded(1), Output("grounded", b"k", incompressible, [])], {"attestations": 9}
            )

    assert await positions(settings) == {"attestations": 1}
    assert await sources(settings) == ["attestations/0/0"]


@pytest.mark.parametrize("outputs", [[grounded(1)], []], ids=["with outputs", "positions alone"])
async def test_the_next_owner_fences_the_last_one(settings: Settings, outputs: list[Output]):
    """From the moment that a lane is taken over, its former owner writes nothing and moves nothing."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(0)], {"attestations": 1})
        async with opened(settings) as other:
            with pytest.raises(FencedError):
                await ledger.write(b"zombie", outputs, {"attestations": 5})
            assert await other.positions() == {"attestations": 1}

            await other.write(b"block", [grounded(1)], {"attestations": 2})

    assert await positions(settings) == {"attestations": 2}
    assert await sources(settings) == ["attestations/0/0", "attestations/0/1"]


async def test_another_lane_is_not_fenced(settings: Settings):
    """Each has a transactional id of its own."""
    async with opened(settings) as ledger, opened(settings, lane=1) as neighbour:
        await ledger.write(b"block", [grounded(0)], {"attestations": 1})
        await neighbour.write(b"block", [], {"attestations": 7})

    assert await positions(settings) == {"attestations": 1}
    assert await positions(settings, lane=1) == {"attestations": 7}


async def test_what_a_crash_left_open_is_aborted_by_the_next_owner(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Outputs and positions that were sent and not committed are not there."""
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(0)], {"attestations": 1})
        producer = ledger._producer._producer
        assert producer is not None

        async def crash() -> None:
            raise RuntimeError("crashed")

        monkeypatch.setattr(producer, "commit_transaction", crash)
        with pytest.raises(RuntimeError, match="crashed"):
            await ledger.write(b"block", [grounded(1)], {"attestations": 2})

        async with opened(settings) as other:
            assert await other.positions() == {"attestations": 1}
            assert await sources(settings) == ["attestations/0/0"]
            await other.write(b"block", [grounded(1)], {"attestations": 2})

    assert await sources(settings) == ["attestations/0/0", "attestations/0/1"]


async def forget(settings: Settings) -> None:
    """Deletes the lane group's offsets, as the broker does after seven days of silence."""
    from confluent_kafka.admin import AdminClient

    admin = AdminClient({"bootstrap.servers": bootstrap(settings)})
    for done in admin.delete_consumer_groups([f"{settings.app_id}-frame"], request_timeout=10).values():
        await asyncio.to_thread(done.result, 10)


async def test_a_forgotten_group_goes_on_behind_the_last_output(settings: Settings, monkeypatch: pytest.MonkeyPatch):
    """Though markers, records that were aborted and dead letters came after it."""
    monkeypatch.setattr(partition_reader, "TAIL", 1)  # the last offset is a marker: the stretch has to grow
    async with opened(settings) as ledger:
        await ledger.write(b"block", [grounded(3), grounded(11)], {"attestations": 12})
        await ledger.write(b"block", [Output("dead-letters", None, b"raw", [])], {"attestations": 14})
        producer = ledger._producer._producer
        assert producer is not None
        for offset in range(20, 30):
            await producer.begin_transaction()
            await producer.send_and_wait(settings.topic_prefix + "grounded", grounded(offset).value, partition=0)
            await producer.abort_transaction()
    assert await positions(settings) == {"attestations": 14}
    await forget(settings)

    async with opened(settings) as after:
        assert await after.positions() == {"attestations": 12}
        await after.write(b"block", [grounded(12)], {"attestations": 13})
    assert await positions(settings) == {"attestations": 13}


async def test_a_forgotten_group_without_outputs_begins_anew(settings: Settings):
    """Only aborted records stand there: all of the input is to be read."""
    async with opened(settings) as ledger:
        producer = ledger._producer._producer
        assert producer is not None
        await producer.begin_transaction()
        await producer.send_and_wait(settings.topic_prefix + "grounded", grounded(5).value, partition=0)
        await producer.abort_transaction()

    async with asyncio.timeout(150):
        assert await positions(settings) == {}


# ---------------------------------------------------------------- workers


class Sent(NamedTuple):
    """A record for `attestations`."""

    key: bytes | None
    value: bytes
    headers: list[tuple[str, bytes]]


def attestation(number: int, **fields: Any) -> dict[str, Any]:
    """One of three validators' word on a claim, with a look-alike and something invisible in its text."""
    return {
        "claim_hash": "0x" + sha256(str(number // 3).encode()).hexdigest(),
        "validator_did": f"did:web:validator-{number % 3}.example",
        "verdict": ("VERIFIED", "DISPUTED", "FALSE")[number % 3],
        "consensus_domain": "scientific-default",
        "rationale": f"Number {number}: the lоg\u200b bears it out – see ＜b＞there＜/b＞.",
        "evidence": [{"quote": "An entry.", "uri": "https://example.org/log"}, {"quote": "x", "uri": "javascript:x"}],
        "issued_at": 1_779_700_000_000 + number,
        **fields,
    }


def sent(number: int) -> Sent:
    """Of ten, five are good; the others become dead letters, each for another reason."""
    wrong: dict[str, Any] = {
        0: {"rationale": "a <b>bold</b> claim"},
        1: {"consensus_domain": "unheard-of"},
    }.get(number % 10, {})
    value = attestation(number, **wrong)
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


async def sluice(settings: Settings, *arguments: str, text: bytes = b"") -> bytes:
    """What a `sluice` command prints."""
    flags = ["--broker", settings.broker, "--topic-prefix", settings.topic_prefix]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", "from sluice.topology.cli import main; main()", *arguments, *flags),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(text), 150)
    assert process.returncode == 0, err.decode()
    return out


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
    lines = [json.dumps(attestation(number)).encode() for number in through_us]
    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        under_load = asyncio.create_task(load(settings, plain, 3))
        await asyncio.sleep(1.5)
        first.kill()
        second = workers.start()
        done = len(await fates(settings))
        await under_load
        assert 0 < done < len(plain)
        await sluice(settings, "produce", text=b"\n".join(lines))

        found = await assert_one_fate_each(settings, 2000)
        second.terminate()
        assert await asyncio.to_thread(second.wait, 10) == 0

    good = [records[0] for records in found.values() if records[0].topic.endswith("grounded")]
    assert len(good) == 950 + 100
    shown = [json.loads(line) for line in (await sluice(settings, "consume", "grounded")).splitlines()]
    assert sorted(map(json.dumps, shown)) == sorted(json.dumps(json.loads(record.value)) for record in good)


async def test_a_worker_goes_on_after_its_group_was_forgotten(settings: Settings, tmp_path: Path):
    """What came meanwhile is framed, and nothing that was framed before comes again."""
    good = [number for number in range(200) if number % 10 > 4]
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings))
    await producer.start()

    async def send(numbers: list[int]) -> None:
        for number in numbers:
            key, value, headers = sent(number)
            await producer.send_and_wait(settings.topic_prefix + "attestations", value, key=key, headers=headers)

    with Workers(settings, tmp_path) as workers:
        first = workers.start()
        await send(good[:50])
        await until_fates(settings, 50)
        first.terminate()
        assert await asyncio.to_thread(first.wait, 10) == 0
        await forget(settings)
        await send(good[50:])
        second = workers.start()

        await assert_one_fate_each(settings, len(good))
        assert "the group's offsets are gone" in workers.said(second)
    await producer.stop()
