"""Topics on a real Kafka: made once, and compared with what is declared."""

import asyncio

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from click.testing import CliRunner
from msgspec.structs import replace

from sluice.codecs.errors import UsageError
from sluice.topology.cli import main
from sluice.topology.kafka.topics import TOPICS, check_topics, create_topics, keep_topics, topic_name
from sluice.topology.settings.settings import Settings, bootstrap


async def test_topics_are_made_once_and_are_then_as_declared(settings: Settings):
    """The second time there is nothing to make, and checking finds nothing."""
    assert await create_topics(settings) == [topic_name(settings, name) for name in TOPICS]
    assert await create_topics(settings) == []
    assert await check_topics(settings) == []


async def test_what_is_otherwise_is_reported(settings: Settings):
    """A missing topic, another setting, another partition count and too few replicas."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap(settings))
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic_name(settings, "sightings"), 2, 1)])
        await create_topics(settings)
        name = topic_name(settings, "ledger")
        await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, {"retention.ms": "1000"})])
        await admin.delete_topics([topic_name(settings, "reviews")])
    finally:
        await admin.close()

    missing = f"topic {topic_name(settings, 'reviews')} is missing; `sluice topics create` makes it"
    found: list[str] = []
    async with asyncio.timeout(150):  # a broker learns of a change a moment after its controller
        while missing not in found:
            found = await check_topics(settings, policy_max_validity_ms=40 * 86_400_000)

    assert f"topic {name} has retention.ms=1000 (expected -1)" in found
    assert f"topic {topic_name(settings, 'sightings')} has a partition count of 2 (expected 4)" in found
    assert any("admitted keeps records for 30d, but" in sentence for sentence in found)
    fewer = await check_topics(replace(settings, replication=2))
    assert sum("has a replication factor of 1 (expected 2)" in sentence for sentence in fewer) == len(TOPICS) - 1


async def test_a_retention_is_shortened_and_nothing_else(settings: Settings):
    """Of topics that are new, and of those that are there; what else was set of them stays."""
    shorter = replace(settings, retention="attestations=7d,dead-letters=1d")
    assert await keep_topics(shorter) == []  # there is none yet
    await create_topics(settings)
    name = topic_name(settings, "dead-letters")
    changed = sorted([name, topic_name(settings, "attestations")])
    assert sorted(await keep_topics(shorter)) == changed
    async with asyncio.timeout(60):  # a broker learns of a change a moment after its controller
        while await check_topics(shorter):
            pass
    assert await keep_topics(shorter) == []
    found = await check_topics(settings)
    assert f"topic {name} has retention.ms=86400000 (expected at least 2592000000)" in found
    assert len(found) == 2


async def test_what_the_broker_refuses_is_reported_with_its_reason(settings: Settings):
    """One broker cannot hold three replicas: that is for the user to mend."""
    with pytest.raises(UsageError, match=r"the broker refuses the topic .*: .*replicat"):
        await create_topics(replace(settings, replication=3))


def test_the_commands_print_names_and_differences(kafka: str, prefix: str):
    """`check` exits with 1 where anything differs, `create` with 0 in any case."""
    flags = ["--broker", kafka, "--topic-prefix", prefix]

    before = CliRunner().invoke(main, ["topics", "check", *flags])
    made = CliRunner().invoke(main, ["topics", "create", *flags])
    after = CliRunner().invoke(main, ["topics", "check", *flags])

    assert (before.exit_code, len(before.stdout.splitlines())) == (1, len(TOPICS))
    assert (made.exit_code, made.stdout.split()) == (0, [prefix + name for name in TOPICS])
    assert (after.exit_code, after.stdout) == (0, "")
