"""The input of every benchmark: emissions with two annotations each, and their evidence, onto a Kafka.

Every fifth emission has one observation only, the rest two of distinct classes: 2.8 inputs an emission, and four
emissions of five are admitted. Every second assertion declares a check, which its observations verify: sluice counts by
it and renders it, peers pass these members over. The bytes are a function of the number and the time, so every
contestant of a run gets the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from sluice.topology.kafka.topics import TOPICS

CLASSES = ("substrate.code.read", "substrate.git.log")
TEXT = "CHANGELOG.md has an entry dated 2026-05-25. It was written by the release job."
CHECK = "defines(2026-05-25, section, path=CHANGELOG.md)"
PREFETCHED = 50_000
"""So many records wait in the producer at the most: memory, on a machine that is to be measured."""


def records(number: int, now: str) -> Iterator[tuple[str, bytes, bytes]]:
    """(topic, key, value) of one emission and its evidence; every fifth has one observation only, the rest two."""
    key, span, seen = f"em-{number}", {"chars": [0, 43]}, f"sha256:{number:064x}"
    annotations = [{"substrate_class": name, "observation_id": seen, "ts": now} for name in CLASSES]
    assertion = {"span": span, "provenance": annotations, **({"checks": [CHECK]} if is_checked(number) else {})}
    emission = {
        "emission_id": key,
        "emitted_at": now,
        "emitter": {"system": "release-notes-bot", "model": "some-model-1", "prompt": "summarise-changelog"},
        "text": TEXT,
        "assertions": [assertion],
    }
    yield "emissions", key.encode(), json.dumps(emission).encode()
    for name in CLASSES[: 2 if is_admitted(number) else 1]:
        observation = {
            "observation_id": seen,
            "substrate_class": name,
            "observed_at": now,
            "observer": "observer-2",
            "subject": {"emission_id": key, "span": span},
            "outcome": "corroborates",
            **(verified(number, name, seen) if is_checked(number) else {}),
        }
        yield "observations", key.encode(), json.dumps(observation).encode()


def verified(number: int, name: str, content: str) -> dict[str, Any]:
    """What an observer says of the check beside its outcome: each time of another line and of another commit or other
    bytes, so that no word about it can be had from one before."""
    line, commit = 1 + number % 997, f"{number * 0x9E3779B97F4A7C15 % 2**160:040x}"
    at = {"commit": commit} if name == "substrate.git.log" else {}
    reported = {"check": CHECK, "holds": True, "path": "CHANGELOG.md", "lines": [line, line], **at}
    return {
        "detail": {"checks": [reported]},
        "verified": [0],
        "coverage": "whole",
        "looked_at": {"root": "release-notes", "path": "CHANGELOG.md", **(at or {"content": content})},
    }


def is_checked(number: int) -> bool:
    """Whether an emission's assertion declares a check."""
    return number % 2 == 1


def is_admitted(number: int) -> bool:
    """Whether an emission gets evidence of two classes."""
    return number % 5 != 0


def admitted_ids(emissions: int) -> set[str]:
    """The ids that a contestant must let through, and no others."""
    return {f"em-{number}" for number in range(emissions) if is_admitted(number)}


def inputs_of(emissions: int) -> int:
    """How many records so many emissions and their evidence are."""
    return emissions + 2 * emissions - (emissions + 4) // 5


def servers(address: str) -> str:
    """`host:port` of `kafka://host:port`."""
    return address.removeprefix("kafka://")


def open_admin(address: str) -> AdminClient:
    """An administrator's client; it keeps to itself what it thinks about its own end."""
    return AdminClient({"bootstrap.servers": servers(address), "log_level": 3})


def create(address: str, prefix: str, names: Iterable[str], partitions: int) -> None:
    """Makes topics as sluice declares them (outputs with the broker's time, inputs with the producer's)."""
    admin = open_admin(address)
    wanted = [NewTopic(prefix + name, partitions, 1, config=dict(TOPICS[name].config)) for name in names]
    for made in admin.create_topics(wanted, operation_timeout=30).values():
        made.result()


def delete(address: str, prefix: str) -> None:
    """Removes all topics under a prefix, so that a broker does not carry an earlier run's."""
    admin = open_admin(address)
    names = [name for name in admin.list_topics(timeout=30).topics if name.startswith(prefix)]
    for gone in admin.delete_topics(names, operation_timeout=30).values() if names else ():
        try:
            gone.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise


def producer(address: str, **more: Any) -> Producer:
    """A producer that puts keys where Kafka's own clients do."""
    return Producer({"bootstrap.servers": servers(address), "partitioner": "murmur2_random", "acks": "all"} | more)


def preload(address: str, prefix: str, emissions: int, now: str) -> int:
    """Writes the inputs; returns how many records."""
    sender, sent, failed = producer(address, **{"linger.ms": 20, "batch.size": 500_000}), 0, list[str]()

    def callback(error: KafkaError | None, _message: Any) -> None:
        if error is not None:
            failed.append(str(error))

    for number in range(emissions):
        for topic, key, value in records(number, now):
            sender.produce(prefix + topic, key=key, value=value, on_delivery=callback)
            sent += 1
        while len(sender) > PREFETCHED:
            sender.poll(0.05)
        sender.poll(0)
    if sender.flush(60) or failed:
        raise RuntimeError(f"the broker did not take all inputs: {failed[:1] or 'time-out'}")
    return sent
