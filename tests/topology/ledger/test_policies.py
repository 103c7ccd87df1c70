"""Policies that are applied reach a lane's ledger in the order of the topic, one a block, each once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from aiokafka import AIOKafkaProducer
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from scripted_lane import POLICY, World

from sluice.codecs.blocks import EventKind, Source
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.notes import Signer
from sluice.codecs.signatures import public_key_of
from sluice.streams.policy.keys import Key
from sluice.streams.policy.policy import DEFAULT_POLICY, HEADER, Policy, PolicyKeys, sign
from sluice.topology.engine import policies
from sluice.topology.engine.ledger import KafkaLedger
from sluice.topology.engine.policies import TOPIC, Applied, PolicyFeed
from sluice.topology.kafka import packed_batches
from sluice.topology.kafka.packed_batches import UnreadableError
from sluice.topology.settings.settings import Settings


def feed(*offsets: int) -> PolicyFeed:
    """What stands in the topic, at these offsets."""
    made = PolicyFeed(Settings())
    made.documents = [Applied(offset, 7, b"key", b"policy %d" % offset) for offset in offsets]
    made.read_once.set()
    return made


@given(st.lists(st.integers(0, 50), unique=True).map(sorted), st.integers(0, 60))
def test_a_lane_gets_what_it_does_not_have(offsets: list[int], position: int):
    """From its position on, in order."""
    assert [one.offset for one in feed(*offsets).after(position)] == [one for one in offsets if one >= position]


class Came(NamedTuple):
    """A record of the topic, as a client gives it."""

    offset: int
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()
    timestamp: int = 7
    key: bytes | None = b"key"


def test_what_no_listed_key_signed_counts_for_no_checkpoint():
    """A worker's own trust follows the policies that may follow upon one another; its lanes get all, to refuse them."""
    signer = Signer("ann", bytes([1]) * 32)
    keys = {"ann": [Key(public_key=public_key_of(str(signer.verifier)) or "")]}
    first, after = (Policy(policies=PolicyKeys(sequence=number, keys=keys)) for number in (1, 2))
    given = [(HEADER, sign(after.document, signer, "sluice")), ("other", b"x" * 10), (HEADER, b"second")]
    made = PolicyFeed(Settings(), first=first)

    made._take(Came(0, DEFAULT_POLICY.document))
    made._take(Came(1, after.document, given))
    made._take(Came(2, first.document, [(HEADER, sign(first.document, signer, "sluice"))]))
    made._take(Came(3, None, [(HEADER, b"x" * 1000)]))

    assert list(made.newest_first()) == [after.document]
    assert [one.offset for one in made.documents] == [0, 1, 2, 3]
    assert [list(one.headers) for one in made.documents] == [[], given[:1], made.documents[2].headers, []]


@pytest.fixture
def world() -> World:
    return World()


async def test_each_is_an_event_of_a_block_of_its_own(world: World):
    """In the topic's order, with its place there; the positions stand in the header from then on."""
    world.lane = world.make(policies=feed(3, 5))
    async with world.running():
        await world.until(lambda: len(world.log.blocks) == 3)
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values == [b"a"])

    blocks = world.log.blocks
    events = [event for block in blocks for event in block.events if event.kind == EventKind.POLICY]
    assert [event.value for event in events] == [POLICY, b"policy 3", b"policy 5"]
    assert [(event.source, event.offset, event.timestamp, event.key) for event in events[1:]] == [
        (2, 3, 7, b"key"),
        (2, 5, 7, b"key"),
    ]
    assert [block.header.sources[2:] for block in blocks[:4]] == [
        [],
        [Source(TOPIC, 0, 4)],
        [Source(TOPIC, 4, 6)],
        [Source(TOPIC, 6, 6)],
    ]


async def test_who_takes_over_takes_none_twice(world: World):
    """Its ledger says how far it has come; what was applied meanwhile comes next."""
    world.lane = world.make(policies=feed(0))
    async with world.running():
        await world.until(lambda: len(world.log.blocks) == 2)
    world.lane = world.make(policies=feed(0, 1))
    async with world.running():
        await world.until(lambda: len(world.log.blocks) == 3)

    events = [event for block in world.log.blocks for event in block.events if event.kind == EventKind.POLICY]
    assert [event.value for event in events] == [POLICY, b"policy 0", b"policy 1"]


async def test_an_idle_lane_is_reported(world: World):
    """It does not wait for anything else to happen."""
    following = feed()
    world.lane = world.make(policies=following)
    async with world.running():
        await world.until(lambda: len(world.log.blocks) == 1)
        following.documents.append(Applied(0, 7, None, b"policy 0"))
        world.lane.wake()
        await world.until(lambda: len(world.log.blocks) == 2)

    assert world.log.blocks[1].events[0].value == b"policy 0"


async def test_without_a_feed_the_position_is_kept(world: World):
    """A worker that does not read policies must not make the next one take them twice."""
    world.lane = world.make(policies=feed(0))
    async with world.running():
        await world.until(lambda: len(world.log.blocks) == 2)
    world.lane = world.make()
    async with world.running():
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values == [b"a"])

    assert world.log.blocks[-1].header.sources[2:] == [Source(TOPIC, 1, 1)]


async def send(settings: Settings, topic: str, *values: bytes) -> None:
    """Records to a topic's first partition, a batch each, compressed."""
    servers: Any = settings.broker.removeprefix("kafka://")
    producer = AIOKafkaProducer(bootstrap_servers=servers, compression_type="gzip", max_request_size=10_000_000)
    await producer.start()
    try:
        for value in values:
            await producer.send_and_wait(settings.topic_prefix + topic, value, b"key", 0)
    finally:
        await producer.stop()


async def followed(settings: Settings, count: int) -> PolicyFeed:
    """A feed that has read so many documents."""
    came: asyncio.Queue[None] = asyncio.Queue()
    made = PolicyFeed(settings, lambda: came.put_nowait(None))
    task = asyncio.create_task(made.run())
    try:
        async with asyncio.timeout(60):
            for _ in range(count):
                await came.get()
    finally:
        task.cancel()
    return made


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, broker: str, request: pytest.FixtureRequest) -> Settings:
    """A broker, whose readers take no batch of more than 100 kB, and do not wait before they try again."""
    monkeypatch.setattr(packed_batches, "MOST_UNPACKED", 100_000)
    monkeypatch.setattr(policies, "RETRY_SECONDS", 0.05)
    return Settings(broker=broker, delivery="at-least-once", topic_prefix=re.sub(r"\W", "-", request.node.name) + ".")


async def test_a_batch_of_policies_that_is_a_bomb_is_passed_over(small: Settings):
    """It is never unpacked, the worker lives, and what comes behind it is applied."""
    await send(small, TOPIC, b"first", bytes(200_000), b"second")

    made = await followed(small, 2)

    assert [(one.offset, one.document) for one in made.documents] == [(0, b"first"), (2, b"second")]


async def test_a_worker_that_stops_at_bad_input_passes_no_policy(small: Settings):
    """`on_poison` holds for policies too: what stands behind is not applied before somebody has looked."""
    await send(small, TOPIC, b"first", bytes(200_000), b"second")
    made = PolicyFeed(replace(small, on_poison="stop"))
    for _ in range(3):
        with pytest.raises(UnreadableError) as found:
            await made._follow()
        made._pass_over(found.value)

    assert [one.document for one in made.documents] == [b"first"]


def test_a_batch_of_policies_that_is_damaged_is_fetched_once_more():
    """It may have been damaged on the way; the same one a second time is passed, where its end is known."""
    made = PolicyFeed(Settings())
    damaged = UnreadableError("policies/0: damaged", 7, 9, "checksum", b"")

    made._pass_over(damaged)
    assert made._behind == 0
    made._pass_over(damaged)
    assert made._behind == 9
    lying = UnreadableError("policies/0: damaged", 12, None, "damaged", b"")
    made._pass_over(lying)
    made._pass_over(lying)
    assert made._behind == 9


def test_a_batch_of_policies_that_was_read_is_no_longer_suspect():
    """A checksum that fails once, long after another failure at the same offset, is one failure: nothing is passed."""
    made = PolicyFeed(Settings())
    damaged = UnreadableError("policies/0: damaged", 7, 9, "checksum", b"")

    made._pass_over(damaged)
    made._take(Came(6, b"before it"))
    assert made._suspect == 7
    made._take(Came(7, None))
    made._pass_over(damaged)

    assert made._behind == 0


async def test_a_topic_of_policies_that_was_read_to_its_end_has_no_suspect(small: Settings):
    """Also where the batch turned out to hold nothing that is given to a reader."""
    await send(small, TOPIC, b"first")
    made = PolicyFeed(small)
    made._suspect = 5
    task = asyncio.create_task(made.run())
    try:
        async with asyncio.timeout(60):
            await made.read_once.wait()
    finally:
        task.cancel()

    assert made._suspect == -1


async def test_a_ledger_with_a_bomb_stops_its_lane_alone(small: Settings):
    """With one sentence that names the partition: a ledger is never passed over."""
    await send(small, "ledger", bytes(200_000))

    with pytest.raises(DoesNotHoldError, match="no reader can read") as stopped:
        await anext(aiter(KafkaLedger(small, 0).blocks()))
    assert stopped.value.path == f"{small.topic_prefix}ledger/0"
