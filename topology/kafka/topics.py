"""Every topic: its logical name, what its settings must be, and why (docs/reference/topics.md).

`create_topics` makes what is missing and changes nothing that is there; `check_topics` says what is otherwise than
declared, in sentences. Nothing here decides or reads records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from ...codecs.blocks import MAX_INPUT_BYTES
from ...codecs.errors import UnreachableError, UsageError
from ...codecs.times import format_duration, parse_duration
from ..settings.settings import Settings, bootstrap
from .connect import open_admin

__all__ = ["TOPICS", "TopicSpec", "bootstrap", "check_topics", "create_topics", "topic_name"]

Role = Literal["input", "output", "ledger", "control"]

DAY = 86_400_000
INPUT_RETENTION = 7 * DAY
"""The ledger holds every input that was read, so this is how long a lane may stand still and lose nothing."""
OUTPUT_RETENTION = 30 * DAY
"""Longer than any `max_validity` that makes sense (24 h by default); `check_topics` compares with the policy's."""
FOR_EVER = -1
INPUT_BYTES = MAX_INPUT_BYTES + 65_536
"""The greatest value that is no `oversize`, with its key, headers and the frame of a batch."""
MAX_REPLICAS = 3
"""Any one broker may then go without a loss; more replicas cost disk and network."""
LARGE_BYTES = 4_194_304
"""A block may hold a single record of 1 MB, and an output repeats an emission's text with a frame around it."""


class TopicSpec(NamedTuple):
    """What one topic is declared to be.

    `partitions` is None for a topic of the lane group: they all have as many as the settings say.
    """

    name: str
    role: Role
    config: Mapping[str, str]
    partitions: int | None = None


def _spec(
    name: str, role: Role, *, cleanup: str, retention: int, large: bool, log_time: bool, partitions: int | None = None
) -> TopicSpec:
    config = {
        "cleanup.policy": cleanup,
        "retention.ms": str(retention),
        "retention.bytes": "-1",  # a broker's default may be smaller, and would cut what time is to keep
        "max.message.bytes": str(LARGE_BYTES if large else INPUT_BYTES),
        "unclean.leader.election.enable": "false",
        "compression.type": "producer",  # blocks come as zstd, and stay as their writer made them
    }
    if log_time:
        # Kafka deletes by record timestamp: a record written with an old event time is gone at the next check.
        config["message.timestamp.type"] = "LogAppendTime"
    return TopicSpec(name, role, config, partitions)


def _input(name: str, retention: int = INPUT_RETENTION) -> TopicSpec:
    # Never compacted: observations of one emission share its key, and compaction would lose classes.
    return _spec(name, "input", cleanup="delete", retention=retention, large=False, log_time=False)


def _output(name: str, cleanup: str = "compact,delete", retention: int = OUTPUT_RETENTION) -> TopicSpec:
    return _spec(name, "output", cleanup=cleanup, retention=retention, large=True, log_time=True)


def _leases(name: str) -> TopicSpec:
    # Of each key the last word stays. Not before an hour has passed: who was first is told by the words before it, and
    # a lease lasts ten minutes at the most. Its end is counted from the broker's time.
    spec = _spec(name, "control", cleanup="compact,delete", retention=DAY, large=False, log_time=True)
    return spec._replace(config={**spec.config, "min.compaction.lag.ms": "3600000"})


TOPICS: Mapping[str, TopicSpec] = {
    spec.name: spec
    for spec in (
        _input("emissions"),
        _input("observations"),
        _input("sightings"),
        _input("citations"),
        _input("reviews"),
        _input("attestations", FOR_EVER),  # the originals stay for audit [V §4.6]
        # Never deleted: an audit folds with the policies that were in force. Each lane reads all of them.
        _spec("policies", "control", cleanup="delete", retention=FOR_EVER, large=False, log_time=False, partitions=1),
        _output("admitted"),
        _output("inadmissible"),
        _output("review-requests"),
        _output("re-emission-requests"),
        _output("verdicts"),  # of each emission the last record says all of it
        _output("grounded", "delete", FOR_EVER),  # validators of one claim must not overwrite each other
        _leases("review-leases"),
        _output("dead-letters", "delete"),  # the key is the input's own, or none
        _spec("ledger", "ledger", cleanup="delete", retention=FOR_EVER, large=True, log_time=True),
        _spec("bind-ledger", "ledger", cleanup="delete", retention=FOR_EVER, large=True, log_time=True),
        _spec("frame-ledger", "ledger", cleanup="delete", retention=FOR_EVER, large=True, log_time=True),
        _spec("checkpoints", "ledger", cleanup="delete", retention=FOR_EVER, large=False, log_time=True),
        # One a ledger: a lane that is taken over waits for nobody else's open transaction.
        _spec("bind-checkpoints", "ledger", cleanup="delete", retention=FOR_EVER, large=False, log_time=True),
        _spec("frame-checkpoints", "ledger", cleanup="delete", retention=FOR_EVER, large=False, log_time=True),
    )
}
"""Every topic by its logical name."""


def topic_name(settings: Settings, logical: str) -> str:
    """The name that a topic has on the broker.

    Raises:
        KeyError: no topic has this logical name.
    """
    return settings.topic_prefix + TOPICS[logical].name


def declared(settings: Settings, spec: TopicSpec, brokers: int = 1) -> NewTopic:
    """A topic as it is declared under these settings: its full name, partitions, replication and configuration.

    Args:
        settings: the prefix, partitions, replication and retentions.
        spec: the topic.
        brokers: how many there are: as many replicas, `MAX_REPLICAS` at the most, where the settings name no number.

    Raises:
        UsageError: the settings name a retention that no topic can have.
    """
    replicas = settings.replication or min(MAX_REPLICAS, max(1, brokers))
    # Two of three replicas must have a record before it counts; with fewer than three, that would stop the topic
    # whenever one is away.
    in_sync = 2 if replicas >= 3 else 1
    kept = retentions(settings).get(spec.name)
    return NewTopic(
        name=settings.topic_prefix + spec.name,
        num_partitions=spec.partitions or settings.partitions,
        replication_factor=replicas,
        topic_configs={
            **spec.config,
            **({} if kept is None else {"retention.ms": str(kept)}),
            "min.insync.replicas": str(in_sync),
        },
    )


def retentions(settings: Settings) -> dict[str, int]:
    """How long, in ms, each topic keeps records for which the settings say so, by its logical name.

    Only inputs and outputs: an audit needs the ledgers, their checkpoints and the policies from the first record on.

    Raises:
        UsageError: the setting is wrong; the sentence says where.
    """
    found: dict[str, int] = {}
    for entry in (settings.retention or "").split(","):
        name, _, duration = (part.strip() for part in entry.partition("="))
        if not name and not duration:
            continue
        spec, milliseconds = TOPICS.get(name), parse_duration(duration)
        if spec is None or spec.role not in ("input", "output"):
            choices = ", ".join(one.name for one in TOPICS.values() if one.role in ("input", "output"))
            raise UsageError("no such retention can be set", path="retention", expected=choices, got=name[:80])
        if not milliseconds:
            got = f"{name}={duration[:80]}"
            raise UsageError("a retention is wrong", path="retention", expected="a duration such as 12h or 7d", got=got)
        found[name] = milliseconds
    return found


# ---------------------------------------------------------------- creating

_UNKNOWN, _EXISTS = 3, 36  # Kafka's error codes


async def create_topics(settings: Settings) -> list[str]:
    """Makes the topics that are missing and returns their names; one that exists is left as it is.

    On the embedded broker, which has no admin API and makes topics as they are named, it names them.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the broker refuses a topic, with its reason (too few brokers for the replication, no permission).
    """
    async with open_admin(settings) as admin:
        cluster = await admin.describe_cluster()
        wanted = [declared(settings, spec, len(cluster["brokers"])) for spec in TOPICS.values()]
        if not _has_admin_api(cluster):
            await admin.describe_topics([topic.name for topic in wanted])
            return []
        there = await _describe(admin)
        missing = [topic for topic in wanted if topic.name not in there]
        if not missing:
            return []
        answer: Any = await admin.create_topics(missing, timeout_ms=10_000)
        made = [_made(settings, entry) for entry in answer.topic_errors]
        await _await_leaders(settings, admin, [topic.name for topic in missing])
    return [name for name in made if name]


async def keep_topics(settings: Settings) -> list[str]:
    """Gives topics that are there the retention that the settings name, and returns the names of those changed.

    Every other setting of theirs stays.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the setting is wrong, or the broker refuses it, with its reason.
    """
    wanted = {topic_name(settings, logical): str(kept) for logical, kept in retentions(settings).items()}
    if not wanted:
        return []
    async with open_admin(settings) as admin:
        if not _has_admin_api(await admin.describe_cluster()):
            return []
        there = await _describe(admin)
        own = await _configs(settings, admin, [name for name in wanted if name in there], own=True)
        changed = {name: config for name, config in own.items() if config.get("retention.ms") != wanted[name]}
        resources = [
            ConfigResource(ConfigResourceType.TOPIC, name, {**config, "retention.ms": wanted[name]})
            for name, config in changed.items()
        ]
        answers: list[Any] = list(await admin.alter_configs(resources)) if resources else []
    for answer in answers:
        for code, message, _, name in answer.resources:
            if code:
                said = message or f"Kafka's error {code}"
                raise UsageError(f"the broker refuses the retention of {name}: {said}", path=settings.broker)
    return list(changed)


async def kept_for(settings: Settings, topics: Iterable[str]) -> dict[str, int]:
    """How long, in ms, topics keep records (`retention.ms`; -1: for ever), by logical name, without those not there.

    Empty on the embedded broker, which keeps everything while it runs.

    Args:
        settings: the broker, and the topics' prefix.
        topics: their logical names.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the broker does not let us read the settings.
    """
    names = {topic_name(settings, topic): topic for topic in topics}
    async with open_admin(settings) as admin:
        if not _has_admin_api(await admin.describe_cluster()):
            return {}
        configs = await _configs(settings, admin, names)
    return {names[name]: int(config["retention.ms"]) for name, config in configs.items() if "retention.ms" in config}


def _has_admin_api(cluster: Mapping[str, Any]) -> bool:
    # Known by its name, not by a lack: a Kafka between two controllers must not be taken for one without topics.
    return not str(cluster.get("cluster_id")).startswith("mockCluster")


def _made(settings: Settings, entry: tuple[Any, ...]) -> str:
    name, code, *message = entry
    if code == _EXISTS:
        return ""  # somebody else was first
    if code:
        said = message[0] if message and message[0] else f"Kafka's error {code}"
        raise UsageError(f"the broker refuses the topic {name}: {said}", path=settings.broker)
    return name


async def _await_leaders(settings: Settings, admin: AIOKafkaAdminClient, names: list[str]) -> None:
    """Until each partition has a leader: who writes at once must not be told that there is no such topic."""
    for _ in range(100):
        there = await _describe(admin)
        if all(name in there and all(part["leader"] >= 0 for part in there[name]["partitions"]) for name in names):
            return
        await asyncio.sleep(0.1)
    raise UnreachableError("the new topics have no leader after 10 s", path=settings.broker)


async def _describe(admin: AIOKafkaAdminClient) -> dict[str, dict[str, Any]]:
    # All topics, not ours by name: a broker with auto.create.topics.enable would make what is only asked about.
    return {topic["topic"]: topic for topic in await admin.describe_topics(None) if topic["error_code"] == 0}


# ---------------------------------------------------------------- checking

_AT_LEAST = frozenset({"retention.ms", "retention.bytes", "max.message.bytes", "min.insync.replicas"})
"""Settings of which more does no harm; for the retentions -1 is the most."""


async def check_topics(settings: Settings, policy_max_validity_ms: int | None = None) -> list[str]:
    """What is otherwise than declared, a sentence each; empty where all is as it should be.

    Args:
        settings: the broker, prefix, partitions and replication to compare with.
        policy_max_validity_ms: the policy's `max_validity` in ms; outputs must be kept for longer.

    Raises:
        UnreachableError: no broker answers.
        UsageError: the broker has no admin API (the embedded one), or does not let us read the settings.
    """
    async with open_admin(settings) as admin:
        cluster = await admin.describe_cluster()
        if not _has_admin_api(cluster):
            raise UsageError("the embedded broker does not tell the settings of its topics", path=settings.broker)
        there = await _describe(admin)
        names = [topic_name(settings, logical) for logical in TOPICS]
        configs = await _configs(settings, admin, [name for name in names if name in there])
    found: list[str] = []
    for spec in TOPICS.values():
        wanted = declared(settings, spec, len(cluster["brokers"]))
        if wanted.name not in configs:
            found.append(f"topic {wanted.name} is missing; `sluice topics create` makes it")
        else:
            found += differences(
                spec, wanted, there[wanted.name]["partitions"], configs[wanted.name], policy_max_validity_ms
            )
    return found


_OF_THE_TOPIC = 1  # Kafka's `ConfigSource.DYNAMIC_TOPIC_CONFIG`


async def _configs(
    settings: Settings, admin: AIOKafkaAdminClient, names: Iterable[str], *, own: bool = False
) -> dict[str, dict[str, str]]:
    """The settings of topics by name: all, or with `own` only those that were given to the topic itself."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    found: dict[str, dict[str, str]] = {}
    answers: list[Any] = list(await admin.describe_configs(resources)) if resources else []
    for answer in answers:
        for code, message, _, name, entries in answer.resources:
            if code == _UNKNOWN:
                continue  # deleted since we asked which there are
            if code:
                raise UsageError(f"the broker does not tell the settings of {name}: {message}", path=settings.broker)
            found[name] = {entry[0]: entry[1] for entry in entries if not own or entry[3] == _OF_THE_TOPIC}
    return found


def differences(
    spec: TopicSpec,
    wanted: Any,
    partitions: Sequence[Mapping[str, Any]],
    config: Mapping[str, str],
    policy_max_validity_ms: int | None,
) -> Iterator[str]:
    """What one topic that exists has otherwise than declared, a sentence each.

    Args:
        spec: the topic's declaration.
        wanted: the same under the settings in force, a `NewTopic`.
        partitions: of Kafka's metadata, each with its `replicas`.
        config: all settings of the topic, by name.
        policy_max_validity_ms: in ms, as in `check_topics`.
    """
    name = wanted.name
    if len(partitions) != wanted.num_partitions:
        fixed = "; the number never changes within a ledger" if spec.role == "ledger" else ""
        yield f"topic {name} has a partition count of {len(partitions)} (expected {wanted.num_partitions}){fixed}"
    replicas = min((len(partition["replicas"]) for partition in partitions), default=0)
    if replicas < wanted.replication_factor:
        yield f"topic {name} has a replication factor of {replicas} (expected {wanted.replication_factor})"
    for key, expected in wanted.topic_configs.items():
        got = config.get(key, "")
        is_exact = key == "retention.ms" and expected != spec.config[key]  # the operator's word (`retentions`)
        if got != expected and (is_exact or not _fits(key, expected, got)):
            least = "at least " if key in _AT_LEAST and expected != "-1" and not is_exact else ""
            yield f"topic {name} has {key}={got} (expected {least}{expected})"
    retention = int(config.get("retention.ms", FOR_EVER))
    if (
        spec.role == "output"
        and spec.name != "dead-letters"
        and policy_max_validity_ms is not None
        and 0 <= retention <= policy_max_validity_ms
    ):
        yield (
            f"topic {name} keeps records for {format_duration(retention)}, but what is admitted may be valid for "
            f"{format_duration(policy_max_validity_ms)}; raise retention.ms"
        )


def _fits(key: str, expected: str, got: str) -> bool:
    if key == "cleanup.policy":
        return set(got.split(",")) == set(expected.split(","))
    if key in _AT_LEAST:
        return got == "-1" or (expected != "-1" and got.isdecimal() and int(got) >= int(expected))
    return got == expected
