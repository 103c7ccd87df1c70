"""Checkpoints on a real Kafka: signed, chained and covering, whatever happens to workers; and a ledger that was cut."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from lanes_on_kafka import Workers, assert_exactly_once, ended, ledger, load, loading, read, until_read

from sluice.codecs import merkle
from sluice.codecs.blocks import Block, outputs_root
from sluice.codecs.ledger_statements import identity_in
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Verifier, parse_checkpoint, parse_note, signers_of
from sluice.streams.adjudication import fold as core
from sluice.topology.engine.folds import folds
from sluice.topology.engine.signing import load_signer
from sluice.topology.kafka.connect import open_admin
from sluice.topology.kafka.topics import check_topics, create_topics
from sluice.topology.settings.settings import Settings, bootstrap


@pytest.fixture
async def settings(kafka: str, prefix: str) -> Settings:
    """Topics with two partitions."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."), partitions=2)
    await create_topics(settings)
    return settings


def keys(folder: Path) -> list[Path]:
    """The keys that were made below a folder."""
    return list(folder.rglob("signing.key"))


def verifier(folder: Path) -> Verifier:
    """The public half of the key that the workers of a folder have made."""
    return load_signer(folder / "var" / "keys" / "signing.key").verifier


async def held(settings: Settings, signer: Verifier) -> dict[int, list[Checkpoint]]:
    """Every lane's checkpoints, once each is seen to hold against the ledgers."""
    found = await read(settings, "checkpoints")
    chains = await ledger(settings)
    return {lane: _held(settings, lane, records, chains, signer) for lane, records in found.items()}


def ledger_id_of(first: Block) -> str:
    """The id that a ledger's first block names."""
    identity = identity_in(first)
    assert identity is not None
    return identity.ledger_id


def _held(
    settings: Settings, lane: int, records: Sequence[Any], chains: dict[int, list[Block]], signer: Verifier
) -> list[Checkpoint]:
    chain, state, covered = chains[lane], core.new_state(lane, settings.partitions), outputs_root([])
    for block in chain:  # what the next header names is what this block folds to
        assert block.header.outputs == covered
        covered = outputs_root(core.fold(state, block))
    ledger_id = ledger_id_of(chain[0])
    name, previous, checkpoints = f"{ledger_id}/{settings.topic_prefix}ledger/{lane}", NO_CHECKPOINT, []
    for record in records:
        note = parse_note(record.value)
        signers_of(note, [signer])
        checkpoint = parse_checkpoint(note.text)
        last = chain[checkpoint.head.size - 1]
        assert (record.key.decode(), checkpoint.origin, checkpoint.previous) == (name, name, previous)
        assert (checkpoint.block, checkpoint.time, last.events) == (last.hash, last.header.time, [])
        assert checkpoint.head.size > (checkpoints[-1].head.size if checkpoints else 0)
        for other, tip in enumerate(checkpoint.tips):
            assert tip == _head(chains[other][: tip.size])
        assert checkpoint.tips[lane] == checkpoint.head
        checkpoints.append(checkpoint)
        previous = checkpoint.digest
    return checkpoints


def _head(chain: Sequence[Block]) -> Head:
    return Head(len(chain), merkle.root([merkle.leaf_hash(bytes.fromhex(block.hash[7:])) for block in chain]))


async def until_covered(settings: Settings, signer: Verifier, seconds: float = 150) -> dict[int, list[Checkpoint]]:
    """Waits until each lane's last checkpoint is of its whole ledger."""
    async with asyncio.timeout(seconds):
        while True:
            found, chains = await held(settings, signer), await ledger(settings)
            if all(found[lane] and found[lane][-1].head.size == len(chain) for lane, chain in chains.items()):
                return found
            await asyncio.sleep(0.3)


async def until_each_has(settings: Settings, count: int) -> None:
    """Waits until each lane has so many checkpoints."""
    async with asyncio.timeout(150):
        while min(map(len, (await read(settings, "checkpoints")).values())) < count:  # noqa: ASYNC110 -- it asks Kafka
            await asyncio.sleep(0.3)


@pytest.mark.long
async def test_they_hold_whatever_happens_to_the_workers(settings: Settings, tmp_path: Path):
    """One is killed under load and comes back, another one takes over; every checkpoint chains, grows and covers."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="1", SLUICE_SNAPSHOT_INTERVAL="2") as workers:
        first = workers.start()
        await workers.until_taken_over(first)
        async with loading(settings) as sent:
            await until_each_has(settings, 2)
            first.kill()
            second = workers.start()
            await workers.until_taken_over(second)
            third = workers.start()
            await workers.until_said(third, "lane taken over", len(folds()))  # one lane, of each fold
            await until_each_has(settings, 4)
            second.kill()
            await workers.until_said(third, "lane taken over", 2 * len(folds()))
        await assert_exactly_once(settings, sum(sent))
        found = await until_covered(settings, verifier(tmp_path))

    assert all(len(checkpoints) >= 4 for checkpoints in found.values()), found
    assert any(one.tips[1].size for one in found[0])  # somebody else's, or a neighbour's: known all the same
    assert any(one.tips[0].size for one in found[1])
    assert await check_topics(settings) == []


async def test_others_are_heard_of_over_the_topic(settings: Settings, tmp_path: Path):
    """Two workers, a lane each: each names the other's newest checkpoint. An idle lane then writes nothing more."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="0.5") as workers:
        first, second = workers.start(), workers.start()
        for process in (first, second):
            await workers.until_said(process, "lane taken over", len(folds()))
        await until_each_has(settings, 1)  # of the first block: each lane has one more to name the other's in
        await until_read(settings, await load(settings, 0, 400, 6))
        found = await until_covered(settings, verifier(tmp_path))
        for lane, other in ((0, 1), (1, 0)):
            assert found[lane][-1].tips[other] in [one.head for one in found[other]]
        before = await ledger(settings)
        await asyncio.sleep(1.5)

        assert {lane: len(chain) for lane, chain in (await ledger(settings)).items()} == {
            lane: len(chain) for lane, chain in before.items()
        }


async def test_a_worker_that_ends_in_order_leaves_nothing_uncovered(settings: Settings, tmp_path: Path):
    """However long the interval, and within the seconds that it has."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="3600") as workers:
        process = workers.start()
        await workers.until_taken_over(process)
        sent = await load(settings, 0, 200)
        await until_read(settings, sent)
        await until_each_has(settings, 1)  # what follows waits for an hour
        await until_read(settings, sent + await load(settings, 200, 100))
        process.terminate()
        assert await ended(process) == 0
        found, chains = await held(settings, verifier(tmp_path)), await ledger(settings)

    assert {lane: ones[-1].head.size for lane, ones in found.items()} == {
        lane: len(chain) for lane, chain in chains.items()
    }


async def test_a_ledger_whose_tail_was_cut_stops_its_lane(settings: Settings, tmp_path: Path):
    """The topic was made anew, with all but the last blocks: no link is broken, and no further block is written."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="0.5", SLUICE_SNAPSHOT_INTERVAL="0.5") as workers:
        first = workers.start()
        await until_read(settings, await load(settings, 0, 300, 3))
        await until_covered(settings, verifier(tmp_path))
        first.terminate()
        assert await ended(first) == 0
        blocks = await read(settings, "ledger")
        async with open_admin(settings) as admin:
            await admin.delete_topics([settings.topic_prefix + "ledger"])
            await asyncio.sleep(1)
        await create_topics(settings)
        await copy(settings, {lane: chain[: len(chain) // 2] for lane, chain in blocks.items()})
        second = workers.start()

        await workers.until_said(second, "the ledger is shorter than its own checkpoint: a tail was cut", 2)
        assert second.poll() is None
        assert {lane: len(chain) for lane, chain in (await ledger(settings)).items()} == {
            lane: len(chain) // 2 for lane, chain in blocks.items()
        }


async def copy(settings: Settings, blocks: dict[int, Sequence[Any]]) -> None:
    """Writes blocks to the ledger, as they were."""
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), max_request_size=5_000_000)
    await producer.start()
    try:
        for lane, chain in blocks.items():
            for block in chain:
                await producer.send_and_wait(settings.topic_prefix + "ledger", block.value, partition=lane)
    finally:
        await producer.stop()


async def test_a_key_that_is_named_has_to_be_there(settings: Settings, tmp_path: Path):
    """Exit status 2, one sentence, and no lane begins."""
    with Workers(settings, tmp_path, SLUICE_KEY_FILE=str(tmp_path / "named.key")) as workers:
        process = workers.start()

        assert await ended(process) == 2
        assert "named.key: the private key cannot be read" in workers.said(process).splitlines()[-1]
    assert await ledger(settings) == {0: [], 1: []}


async def test_without_an_interval_there_are_none(settings: Settings, tmp_path: Path):
    """No key is made either."""
    with Workers(settings, tmp_path, SLUICE_CHECKPOINT_INTERVAL="0") as workers:
        process = workers.start()
        await until_read(settings, await load(settings, 0, 100))
        process.terminate()
        assert await ended(process) == 0

    assert await read(settings, "checkpoints") == {0: [], 1: []}
    assert not keys(tmp_path)
