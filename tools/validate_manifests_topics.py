"""Prints `k8s/base/topics.yaml`: every topic of `sluice.topology.kafka.topics` as a Strimzi `KafkaTopic`.

Usage: validate_manifests_topics.py > k8s/base/topics.yaml
"""

from __future__ import annotations

from sluice.topology.kafka.topics import TOPICS, declared
from sluice.topology.settings.settings import Settings

PARTITIONS, REPLICATION = 12, 3
"""For production; the development overlay takes what one broker can hold."""

HEAD = """\
# Made by tools/validate_manifests_topics.py from topology/kafka/topics.py, which says why each setting is as it is.
# The number of partitions never changes within a ledger: choose it before the first record.
"""


def document(name: str) -> str:
    """One topic; those of the lane group, which all have as many partitions, are labelled."""
    topic = declared(Settings(partitions=PARTITIONS, replication=REPLICATION), TOPICS[name])
    group = "" if TOPICS[name].partitions else "    sluice/lane-group: lanes\n"
    config = "".join(f'    {key}: "{value}"\n' for key, value in sorted(topic.topic_configs.items()))
    return (
        f"apiVersion: kafka.strimzi.io/v1\nkind: KafkaTopic\nmetadata:\n  name: {topic.name}\n"
        f"  labels:\n    strimzi.io/cluster: sluice\n{group}"
        f"spec:\n  partitions: {topic.num_partitions}\n  replicas: {topic.replication_factor}\n  config:\n{config}"
    )


if __name__ == "__main__":
    print(HEAD + "---\n".join(document(name) for name in TOPICS), end="")
