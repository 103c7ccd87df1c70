"""What keeps a second application, and a second installation, from the ledgers of the first."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from lanes_on_kafka import Workers, assert_exactly_once, claims, ended, ledger, load, until_read
from msgspec.structs import replace

from sluice.codecs.ledger_statements import LedgerIdentity, identity_in
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import identify, present_group
from sluice.topology.kafka.connect import open_admin, open_consumer
from sluice.topology.kafka.requests import topic_ids
from sluice.topology.kafka.topics import create_topics, topic_name
from sluice.topology.settings.settings import Settings


@pytest.fixture
async def lanes(kafka: str, prefix: str, tmp_path: Path) -> AsyncIterator[tuple[Settings, Workers]]:
    """Topics with two partitions, and workers of the application `first` that end with the test."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id="first", partitions=2)
    await create_topics(settings)
    with Workers(settings, tmp_path) as workers:
        yield settings, workers


async def named(settings: Settings) -> dict[int, list[LedgerIdentity]]:
    """What the blocks of each lane name as their ledger, in order."""
    chains = await ledger(settings)
    return {lane: [one for block in chain if (one := identity_in(block)) is not None] for lane, chain in chains.items()}


async def test_two_applications_on_the_same_topics(lanes: tuple[Settings, Workers]):
    """The later one ends with one sentence and both names; the first goes on, and every input is in one block."""
    settings, workers = lanes
    first = workers.start()
    await workers.until_taken_over(first)
    sent = await load(settings, 0, 200)
    other = workers.start(SLUICE_APP_ID="second")

    assert await ended(other) == 2
    said = workers.said(other)
    assert "the application 'first' writes this ledger, and this worker's app_id is 'second'" in said
    assert "Traceback" not in said
    sent += await load(settings, 200, 200)
    await until_read(settings, sent)
    assert first.poll() is None
    await assert_exactly_once(settings, sent)
    assert {one.claim.app_id for some in (await claims(settings)).values() for one in some} == {"first"}


async def test_of_two_first_starts_one_is_refused(lanes: tuple[Settings, Workers]):
    """No ledger names anything yet: the group's leader, or the first claim, says whose it is; no lane stands still."""
    settings, workers = lanes
    started = [workers.start(), workers.start(SLUICE_APP_ID="second")]
    async with asyncio.timeout(150):
        while all(one.poll() is None for one in started):  # noqa: ASYNC110 -- processes
            await asyncio.sleep(0.1)
    (refused,) = [one for one in started if one.poll() is not None]
    (stays,) = [one for one in started if one is not refused]

    assert refused.returncode == 2
    assert {"'first'", "'second'"} <= set(re.findall(r"'\w+'", workers.said(refused).splitlines()[-1]))
    await workers.until_taken_over(stays)
    await assert_exactly_once(settings, await load(settings, 0, 200))
    assert len({one.claim.app_id for some in (await claims(settings)).values() for one in some}) == 1


async def test_two_installations_of_one_name(lanes: tuple[Settings, Workers], tmp_path: Path):
    """Another prefix is another group: neither ends the other's workers, and each has its own ledger."""
    settings, workers = lanes
    other = replace(settings, topic_prefix=f"{settings.topic_prefix}staging.")
    await create_topics(other)
    (tmp_path / "staging").mkdir()
    with Workers(other, tmp_path / "staging") as beside:
        processes = [workers.start(), beside.start()]
        for one in (settings, other):
            sent = await load(one, 0, 100)
            await until_read(one, sent)
            await assert_exactly_once(one, sent + await load(one, 100, 100))
        assert [one.poll() for one in processes] == [None, None]


async def test_the_group_and_the_ledgers_are_named_by_the_topic(lanes: tuple[Settings, Workers]):
    """Kafka's id of the ledger topic: in the group's name, in the first block, and where claims are bound."""
    settings, workers = lanes
    await workers.until_taken_over(workers.start())
    async with open_consumer(settings) as consumer:
        name = topic_name(settings, "ledger")
        topic_id = (await topic_ids(consumer, [name]))[name]

    identities = await identify(settings, folds())
    assert identities.group == await present_group(settings) == f"sluice-{settings.topic_prefix}-{topic_id[:8]}"
    assert identities.ledgers["ledger"] == topic_id
    assert await named(settings) == {lane: [LedgerIdentity(ledger_id=topic_id, app_id="first")] for lane in range(2)}
    for lane, some in (await claims(settings)).items():
        assert [one.origin for one in some] == [f"{topic_id}/{name}/{lane}"]


async def test_an_application_that_was_renamed(lanes: tuple[Settings, Workers]):
    """It says so once in each ledger, all inputs are in one block, and the audit finds nothing."""
    settings, workers = lanes
    first = workers.start(SLUICE_CHECKPOINT_INTERVAL="0.5")
    await workers.until_taken_over(first)
    sent = await load(settings, 0, 200)
    await until_read(settings, sent)
    first.terminate()
    assert await ended(first) == 0

    second = workers.start(SLUICE_APP_ID="second", SLUICE_RENAMED_FROM="first", SLUICE_CHECKPOINT_INTERVAL="0.5")
    await workers.until_taken_over(second)
    sent += await load(settings, 200, 200)
    await until_read(settings, sent)
    second.terminate()
    assert await ended(second) == 0
    third = workers.start(SLUICE_APP_ID="second", SLUICE_CHECKPOINT_INTERVAL="0.5")
    await workers.until_taken_over(third)
    third.terminate()
    assert await ended(third) == 0
    former = workers.start()
    await workers.until_said(former, "the application 'second' writes this ledger, and this worker's app_id is 'first'")
    former.kill()
    for some in (await named(settings)).values():
        assert [(one.app_id, one.was) for one in some] == [("first", None), ("second", "first")]
    report = await audit(AuditRequest(replace(settings, app_id="second")), "now")
    assert report.divergences == []
    assert {one.app_id for lane in report.all_lanes for one in lane.claims} == {"first", "second"}


async def test_a_ledger_that_was_made_anew_is_not_begun_beside_the_earlier_one(lanes: tuple[Settings, Workers]):
    """With no snapshot left, the worker ends with one sentence; where the operator names the topic, a ledger begins."""
    settings, workers = lanes
    first = workers.start(SLUICE_CHECKPOINT_INTERVAL="0.5", SLUICE_SNAPSHOT_INTERVAL="0")
    await workers.until_taken_over(first)
    former = (await identify(settings, folds())).ledgers["ledger"]
    sent = await load(settings, 0, 20)
    await until_read(settings, sent)
    first.terminate()
    assert await ended(first) == 0
    name = topic_name(settings, "ledger")
    async with open_admin(settings) as admin:
        await admin.delete_topics([name])
    async with asyncio.timeout(60):
        while name not in await create_topics(settings):  # noqa: ASYNC110 -- it asks Kafka
            await asyncio.sleep(0.5)
    async with open_consumer(settings) as consumer:
        topic_id = (await topic_ids(consumer, [name]))[name]

    refused = workers.start()
    assert await ended(refused) == 2
    said = workers.said(refused)
    assert f"the ledger's topic was made anew and is empty, and the ledger {former} left records on" in said
    assert f"{settings.topic_prefix}verdicts" in said
    assert f"set new_ledger to '{topic_id}'" in said
    assert "Traceback" not in said
    assert (await ledger(settings)) == {0: [], 1: []}

    again = workers.start(SLUICE_NEW_LEDGER=topic_id)
    await workers.until_taken_over(again)
    await until_read(settings, sent)
    assert {one.ledger_id for some in (await named(settings)).values() for one in some} == {topic_id}
