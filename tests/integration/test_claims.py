"""Claims on a real Kafka: written by members only, before anything is read, and listed by an audit."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer
from lanes_on_kafka import (
    Workers,
    assert_exactly_once,
    claims,
    ledger,
    load,
    loading,
    read_all,
    until_all_write,
    until_read,
)
from msgspec.structs import replace

from sluice.codecs.ledger_statements import KEY, Claim, is_claim, write_claim
from sluice.codecs.notes import signers_of
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.checkpointing import key_path
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.signing import load_signer
from sluice.topology.kafka.connect import open_producer
from sluice.topology.kafka.membership import Member, NotAMemberError
from sluice.topology.kafka.topics import create_topics
from sluice.topology.kafka.transactions import FencedError
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


async def test_each_owner_claims_and_an_audit_tells_when(settings: Settings, tmp_path: Path):
    """Two workers, one after the other: their blocks name their claims, signed with the key of checkpoints."""
    with Workers(settings, tmp_path) as workers:
        first = workers.start("--instance", "w-0")
        await workers.until_taken_over(first)
        sent = await load(settings, 0, 200)
        await until_read(settings, sent)
        first.kill()
        second = workers.start("--instance", "w-1")
        await workers.until_taken_over(second)
        sent += await load(settings, 200, 200)
        await assert_exactly_once(settings, sent)
        found, chains = await claims(settings), await ledger(settings)
        verifier = load_signer(tmp_path / key_path(settings)).verifier
        report = await audit(AuditRequest(settings, verifiers=(verifier,)), "2026-11-21T09:00:00Z")

    for lane, chain in chains.items():
        assert [one.claim.worker for one in found[lane]] == ["w-0-0", "w-1-0"]
        assert {block.header.claim for block in chain} == {one.hash for one in found[lane]}
        for one in found[lane]:
            assert one.note is not None
            signers_of(one.note, [verifier])
            assert one.claim.generation >= 1
    assert report.divergences == []
    owners = {lane.lane: [(one.worker, one.last) for one in lane.claims] for lane in report.lanes}
    assert {lane: [name for name, _ in some] for lane, some in owners.items()} == {
        0: ["w-0-0", "w-1-0"],
        1: ["w-0-0", "w-1-0"],
    }
    assert all(some[-1][1] == report.lanes[lane].chain - 1 for lane, some in owners.items())


async def test_only_a_current_member_can_claim(settings: Settings):
    """The group's coordinator knows member and generation: an older generation or a stranger writes nothing."""
    consumer = AIOKafkaConsumer(
        settings.topic_prefix + "emissions",
        bootstrap_servers=bootstrap(settings),
        group_id=settings.app_id,
        enable_auto_commit=False,
    )
    await consumer.start()
    claim = Claim(lane=0, worker="w", member="m", generation=1, package="1", claimed_at="2026-11-21T09:00:00Z")
    value = write_claim(claim, "o/l/0", None)
    try:
        coordinator = consumer._coordinator
        member = Member(settings.app_id, coordinator.member_id, coordinator.generation)
        for wrong in (
            member._replace(generation=member.generation + 1),
            member._replace(generation=member.generation - 1),
            member._replace(member="somebody"),
        ):
            book = KafkaLedger(settings, 0)
            await book.open()
            with pytest.raises(NotAMemberError):
                await book.claim(value, wrong)
            await book.close()
        assert (await claims(settings))[0] == []
        book = KafkaLedger(settings, 0)
        await book.open()
        written = await book.claim(value, member)
        assert [one async for one in book.blocks()] == []
        other = KafkaLedger(settings, 0)
        await other.open()
        await other.claim(write_claim(replace(claim, worker="other"), "o/l/0", None), member)
        assert [one async for one in other.blocks()] == []
        with pytest.raises(FencedError):
            [one async for one in book.blocks()]
        await other.close()
        await book.close()
    finally:
        await consumer.stop()

    assert written is not None
    assert [one.claim for one in (await claims(settings))[0]] == [claim, replace(claim, worker="other")]


async def test_claims_that_nobody_may_write_take_a_lane_from_nobody(settings: Settings, tmp_path: Path):
    """Whoever can write to a ledger puts claims there: bytes that are none, the lane's own once more, a later one.

    Each costs the owner a take-over at the most. It keeps the lane, every input stands in one block, and the audit
    tells of what is not signed as it stands.
    """
    with Workers(settings, tmp_path) as workers:
        worker = workers.start("--instance", "w-0")
        await workers.until_taken_over(worker)
        sent = await load(settings, 0, 100)
        await until_read(settings, sent)
        own = (await read_all(settings, "ledger"))[0]
        (kept,) = [one.value for one in own if is_claim(one.key)]
        later = Claim(lane=0, worker="x", member="x", generation=10**6, package="1", claimed_at="2026-11-21T09:00:00Z")
        async with open_producer(settings) as producer:
            for forged in (b"no claim", kept, write_claim(later, "o/l/0", None)):
                await producer.send_and_wait(settings.topic_prefix + "ledger", forged, KEY, 0)
                sent += await load(settings, sent, 60)
                await until_read(settings, sent)
        assert worker.poll() is None
        worker.kill()
        second = workers.start("--instance", "w-0")
        await workers.until_taken_over(second)
        sent += await load(settings, sent, 60)
        await until_read(settings, sent)
        assert second.poll() is None
        heights = {lane: [block.header.height for block in chain] for lane, chain in (await ledger(settings)).items()}
        verifier = load_signer(tmp_path / key_path(settings)).verifier
        report = await audit(AuditRequest(settings, verifiers=(verifier,)), "2026-11-21T09:00:00Z")

    assert all(some == list(range(len(some))) for some in heights.values())
    told = {one.kind for one in report.divergences}
    assert told, "an audit sees that somebody wrote claims"


FENCED = "fenced: another worker has taken this lane over"
LEDGERS = ("ledger", "bind-ledger", "frame-ledger")


async def owners(settings: Settings) -> int:
    """How often any lane was claimed."""
    found = [await claims(settings, topic) for topic in LEDGERS]
    return sum(len(some) for of_topic in found for some in of_topic.values())


@pytest.mark.long
async def test_a_change_of_owner_fences_at_most_once(settings: Settings, tmp_path: Path):
    """A worker that freezes past its session wakes up: it is fenced once for each lane, and fences nobody in turn."""
    with Workers(settings, tmp_path) as workers:
        zombie = workers.start()
        await workers.until_taken_over(zombie)
        first = await owners(settings)
        async with loading(settings) as sent:
            await until_all_write(settings)
            other = await workers.replace_frozen(zombie)
            await until_all_write(settings)
        await assert_exactly_once(settings, sum(sent))
        settled, before = await owners(settings), 0
        async with asyncio.timeout(150):  # two workers that fence each other in turn never end
            while settled != before:
                await asyncio.sleep(8)  # more than a session
                settled, before = await owners(settings), settled
        fenced = [workers.said(one).count(FENCED) for one in (zombie, other)]

    lanes = settings.partitions * len(LEDGERS)
    assert first == lanes
    assert settled - first >= lanes, "the other worker took every lane over"
    assert sum(fenced) <= settled - first, "at most one fencing for each change of owner"
