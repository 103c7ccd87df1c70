"""Topics as they are declared, and what is said of those that are otherwise."""

import pytest
from click.testing import CliRunner

from sluice.codecs.blocks import MAX_INPUT_BYTES
from sluice.codecs.errors import UnreachableError, UsageError
from sluice.topology.cli import main
from sluice.topology.http.review_rules import MAX_LEASE_SECONDS
from sluice.topology.kafka.local_broker import EmbeddedBroker
from sluice.topology.kafka.topics import TOPICS, check_topics, create_topics, declared, differences, topic_name
from sluice.topology.settings.settings import Settings

INPUTS = {"emissions", "observations", "sightings", "citations", "reviews", "attestations"}
COMPACTED = {"admitted", "inadmissible", "review-requests", "re-emission-requests", "verdicts"}
LEASES = "review-leases"
LEDGERS = {"ledger", "bind-ledger", "frame-ledger"}
CHECKPOINTS = {"checkpoints", "bind-checkpoints", "frame-checkpoints"}
FOR_EVER = {"attestations", "policies", "grounded"} | LEDGERS | CHECKPOINTS
DAY = 86_400_000


def test_every_topic_of_the_design_is_declared_under_its_name():
    """The key is the logical name."""
    assert set(TOPICS) == INPUTS | COMPACTED | FOR_EVER | {"dead-letters", LEASES}
    assert all(spec.name == name for name, spec in TOPICS.items())


def test_only_the_outputs_with_one_last_word_a_key_are_compacted():
    """Compaction of inputs would lose classes, of `grounded` it would let validators overwrite one another."""
    policies = {name: spec.config["cleanup.policy"] for name, spec in TOPICS.items()}

    assert {name for name, policy in policies.items() if policy == "compact,delete"} == COMPACTED | {LEASES}
    assert {policy for name, policy in policies.items() if name not in COMPACTED | {LEASES}} == {"delete"}


def test_what_audit_needs_is_kept_for_ever():
    """Neither time nor size deletes the ledger, the policies, the attestations and what stands on them."""
    kept = {name for name, spec in TOPICS.items() if spec.config["retention.ms"] == "-1"}

    assert kept == FOR_EVER
    assert {spec.config["retention.bytes"] for spec in TOPICS.values()} == {"-1"}


def test_outputs_outlive_the_longest_validity_by_default():
    """The default `max_validity` is a day."""
    for name in COMPACTED:
        assert int(TOPICS[name].config["retention.ms"]) > DAY


def test_no_word_on_a_lease_is_compacted_while_the_lease_may_last():
    """The words before the last one tell who was first."""
    assert int(TOPICS[LEASES].config["min.compaction.lag.ms"]) > 2 * 1000 * MAX_LEASE_SECONDS


def test_the_brokers_clock_stamps_what_lanes_write():
    """A record that carries an old event time would be deleted by it."""
    stamped = {name for name, spec in TOPICS.items() if spec.config.get("message.timestamp.type") == "LogAppendTime"}

    assert stamped == COMPACTED | LEDGERS | CHECKPOINTS | {"grounded", "dead-letters", LEASES}


def test_inputs_take_a_megabyte_and_what_the_lane_writes_takes_four():
    """The greatest allowed value fits an input with its key and headers."""
    sizes = {name: int(spec.config["max.message.bytes"]) for name, spec in TOPICS.items()}

    assert all(MAX_INPUT_BYTES < sizes[name] < 1.1 * MAX_INPUT_BYTES for name in INPUTS)
    assert all(sizes[name] == 4 << 20 for name in COMPACTED | LEDGERS | {"grounded", "dead-letters"})


@pytest.mark.parametrize(("replication", "in_sync"), [(1, "1"), (2, "1"), (3, "2"), (5, "2")])
def test_two_replicas_must_have_a_record_where_there_are_three(replication: int, in_sync: str):
    """And a replica that lags never becomes leader."""
    for spec in TOPICS.values():
        topic = declared(Settings(replication=replication), spec)
        assert topic.topic_configs["min.insync.replicas"] == in_sync
        assert topic.topic_configs["unclean.leader.election.enable"] == "false"
        assert topic.replication_factor == replication


def test_the_lane_group_has_one_partition_count_and_policies_have_one_partition():
    """Policies go to every lane, so their order must be one order."""
    counts = {name: declared(Settings(partitions=7), spec).num_partitions for name, spec in TOPICS.items()}

    assert counts.pop("policies") == 1
    assert set(counts.values()) == {7}


def test_the_prefix_stands_before_every_name():
    """`topic_name` says how a topic is called on the broker."""
    assert topic_name(Settings(topic_prefix="x."), "dead-letters") == "x.dead-letters"
    with pytest.raises(KeyError):
        topic_name(Settings(), "unheard-of")


# ---------------------------------------------------------------- retention


def test_the_operator_may_say_how_long_inputs_and_outputs_keep_records():
    """What is rejected stands on `attestations` and `dead-letters` no longer than the operator wants."""
    settings = Settings(retention="attestations=7d, dead-letters=12h")

    kept = {name: declared(settings, spec).topic_configs["retention.ms"] for name, spec in TOPICS.items()}
    assert (kept["attestations"], kept["dead-letters"]) == (str(7 * DAY), str(DAY // 2))
    assert {name for name, value in kept.items() if value != TOPICS[name].config["retention.ms"]} == {
        "attestations",
        "dead-letters",
    }


@pytest.mark.parametrize(
    ("retention", "said"),
    [
        ("ledger=1d", "got ledger"),
        ("frame-ledger=1d", "got frame-ledger"),
        ("policies=1d", "got policies"),
        ("checkpoints=1d", "got checkpoints"),
        ("unheard-of=1d", "got unheard-of"),
        ("=1d", "no such retention can be set"),
        ("dead-letters", "a duration such as 12h or 7d, got dead-letters="),
        ("dead-letters=0s", "a duration such as 12h or 7d, got dead-letters=0s"),
        ("dead-letters=soon", "a duration such as 12h or 7d, got dead-letters=soon"),
    ],
)
def test_what_an_audit_needs_cannot_be_cut(retention: str, said: str):
    """Ledgers, checkpoints and policies are kept for ever; and a retention is a duration."""
    result = CliRunner().invoke(main, ["topics", "create", "--retention", retention])

    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_a_topic_that_keeps_longer_than_the_operator_said_is_reported():
    """Where nothing was said more does no harm; a retention that was asked for holds exactly."""
    settings = Settings(retention="dead-letters=1d")
    spec = TOPICS["dead-letters"]
    wanted = declared(settings, spec)
    there = [{"partition": number, "replicas": [0]} for number in range(4)]

    assert list(differences(spec, wanted, there, wanted.topic_configs, 30 * DAY)) == []
    for other in ("-1", str(2 * DAY), "1000"):
        config = wanted.topic_configs | {"retention.ms": other}
        assert list(differences(spec, wanted, there, config, None)) == [
            f"topic dead-letters has retention.ms={other} (expected {DAY})"
        ]


# ---------------------------------------------------------------- differences


def compare(
    name: str, *, partitions: int = 4, replicas: int = 1, validity: int | None = None, **other: str
) -> list[str]:
    """What is said of a topic that is as declared, but for what is given."""
    wanted = declared(Settings(), TOPICS[name])
    config = wanted.topic_configs | {key.replace("_", "."): value for key, value in other.items()}
    there = [{"partition": number, "replicas": list(range(replicas))} for number in range(partitions)]
    return list(differences(TOPICS[name], wanted, there, config, validity))


def test_a_topic_as_declared_has_no_differences():
    """Nor has one that gives more than is asked: longer retention, larger records, more replicas."""
    assert compare("emissions") == []
    more = {"retention_ms": "-1", "max_message_bytes": "9999999", "min_insync_replicas": "2"}
    assert compare("emissions", replicas=3, **more) == []
    assert compare("admitted", cleanup_policy="delete,compact") == []


def test_each_difference_is_a_sentence_with_what_is_and_what_should_be():
    """Topic, setting, value, and the expected one."""
    assert compare("emissions", partitions=3) == ["topic emissions has a partition count of 3 (expected 4)"]
    assert compare("emissions", replicas=0) == ["topic emissions has a replication factor of 0 (expected 1)"]
    assert compare("emissions", cleanup_policy="compact") == [
        "topic emissions has cleanup.policy=compact (expected delete)"
    ]
    assert compare("ledger", retention_ms="1000") == ["topic ledger has retention.ms=1000 (expected -1)"]
    assert compare("admitted", max_message_bytes="1000") == [
        "topic admitted has max.message.bytes=1000 (expected at least 4194304)"
    ]
    assert compare("ledger", message_timestamp_type="CreateTime") == [
        "topic ledger has message.timestamp.type=CreateTime (expected LogAppendTime)"
    ]


def test_another_partition_count_of_the_ledger_is_reported_with_the_reason():
    """It never changes within a ledger."""
    assert compare("ledger", partitions=6) == [
        "topic ledger has a partition count of 6 (expected 4); the number never changes within a ledger"
    ]


def test_outputs_must_be_kept_for_longer_than_a_policy_lets_assertions_be_valid():
    """Equal is too short: a reader would miss what is still valid."""
    month = 30 * DAY

    assert compare("admitted", validity=month - 1) == []
    assert compare("admitted", validity=month) == [
        "topic admitted keeps records for 30d, but what is admitted may be valid for 30d; raise retention.ms"
    ]
    assert compare("emissions", validity=month) == []
    assert compare("grounded", validity=month) == []


# ---------------------------------------------------------------- brokers that are away, or no Kafka


@pytest.mark.parametrize("command", ["create", "check"])
def test_a_broker_that_is_away_is_one_sentence_and_exit_status_3(command: str):
    """It does not wait for ever."""
    result = CliRunner().invoke(main, ["topics", command, "--broker", "kafka://127.0.0.1:1"])

    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == (
        "sluice: kafka://127.0.0.1:1: no Kafka broker answers: 127.0.0.1:1 refuses connections; "
        "check --broker; `sluice broker run` starts a broker\n"
    )


async def test_something_that_listens_and_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch):
    """aiokafka alone would wait for 40 s."""
    import asyncio

    monkeypatch.setattr("sluice.topology.kafka.connect.CONNECT_SECONDS", 0.3)
    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(lambda reader, writer: held.append(writer), "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(UnreachableError, match="no Kafka broker answers"):
            await check_topics(Settings(broker=f"kafka://127.0.0.1:{port}"))
    finally:
        for writer in held:
            writer.close()
        server.close()


async def test_the_embedded_broker_makes_topics_by_being_asked_for_them():
    """It has no admin API: `create_topics` works there, and checking says that it cannot be done."""
    with EmbeddedBroker() as broker:
        settings = Settings(broker=broker.address)

        assert await create_topics(settings) == []
        with pytest.raises(UsageError, match="the embedded broker does not tell the settings of its topics"):
            await check_topics(settings)


def test_a_policy_that_cannot_be_read_is_reported():
    """Wrong usage, with the file's name."""
    result = CliRunner().invoke(main, ["topics", "check", "--policy", "nowhere.toml"])

    assert result.exit_code == 2
    assert "sluice: cannot read the policy 'nowhere.toml': No such file or directory" in result.stderr
