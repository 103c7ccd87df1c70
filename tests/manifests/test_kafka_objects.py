"""Strimzi's topics and users say what `topology/kafka/topics.py` says."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import manifests
import pytest

from sluice.topology.engine.folds import folds
from sluice.topology.engine.installation import group_of as lanes_group
from sluice.topology.engine.installation import producer_of
from sluice.topology.http.service_view import ServiceView
from sluice.topology.kafka.topics import TOPICS, declared
from sluice.topology.observers.service import group_of
from sluice.topology.settings.settings import Settings

GROUP = lanes_group(Settings())
"""What the group's name begins with; the ledger topic's id follows."""
WORKER, OBSERVER, AUDITOR = "sluice-worker", "sluice-observer", "sluice-auditor"
TOPIC_OBJECTS = manifests.objects("KafkaTopic", "base")
USERS = manifests.objects("KafkaUser", "overlays/prod", "components/sightings")
OUTPUTS = {name for name, spec in TOPICS.items() if spec.role == "output"}
LEDGERS = {name for name, spec in TOPICS.items() if spec.role == "ledger"}


def rules(user: dict[str, Any]) -> list[dict[str, Any]]:
    return user["spec"]["authorization"]["acls"]


def allowed(operation: str, kind: str = "topic") -> dict[str, set[str]]:
    """Who may do something, by the resource's name."""
    found: dict[str, set[str]] = defaultdict(set)
    for name, user in USERS.items():
        for rule in rules(user):
            if rule["resource"]["type"] == kind and {operation, "All"} & set(rule["operations"]):
                found[rule["resource"]["name"]].add(name)
    return found


def production() -> Settings:
    given = manifests.settings_of("base") | manifests.settings_of("overlays/prod")
    return Settings(partitions=int(given["SLUICE_PARTITIONS"]), replication=int(given["SLUICE_REPLICATION"]))


def test_every_topic_has_its_object_and_no_object_lacks_its_topic():
    """`tools/validate_manifests_topics.py` writes them anew."""
    assert set(TOPIC_OBJECTS) == set(TOPICS)


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_object_says_what_topics_create_would_make(name: str):
    """Partitions, replicas and settings are those of `declared`, under production's settings."""
    wanted = declared(production(), TOPICS[name])
    spec = TOPIC_OBJECTS[name]["spec"]
    assert (spec["partitions"], spec["replicas"]) == (wanted.num_partitions, wanted.replication_factor)
    assert spec["config"] == wanted.topic_configs


def test_the_lane_group_is_labelled():
    """So that an overlay changes the partitions of all of it, and of nothing else."""
    labelled = {name for name, one in TOPIC_OBJECTS.items() if "sluice/lane-group" in one["metadata"]["labels"]}
    assert labelled == {name for name, spec in TOPICS.items() if spec.partitions is None}


def test_the_development_overlay_is_of_one_mind_with_its_settings():
    """What its patches set is what its workers expect."""
    given = manifests.settings_of("overlays/dev")
    patches = "".join(str(patch.get("patch")) for patch in manifests.kustomization("overlays/dev")["patches"])
    assert f"path: /spec/partitions, value: {given['SLUICE_PARTITIONS']}}}" in patches
    assert f"path: /spec/replicas, value: {given['SLUICE_REPLICATION']}}}" in patches


def test_only_observers_write_observations():
    """The rule that everything rests on; the component `sightings` alone lets the workers bind them too."""
    assert allowed("Write")["observations"] == {OBSERVER}
    patch = manifests.kustomization("components/sightings")["patches"][0]
    assert patch["target"]["name"] == WORKER
    assert "name: observations" in patch["patch"]


@pytest.mark.parametrize("topic", sorted(OUTPUTS | LEDGERS | {"citations"}))
def test_only_the_workers_write_what_is_decided(topic: str):
    """Ledgers, checkpoints, outputs, citations."""
    assert allowed("Write")[topic] == {WORKER}


def test_the_worker_may_write_what_its_folds_write_and_nothing_else():
    """No fold is refused, no right is left over."""
    written = {topic for fold in folds() for topic in fold.outputs} | LEDGERS | {"citations"}
    may = {topic for topic, who in allowed("Write").items() if WORKER in who}
    assert may == written - {"observations"}


def test_the_worker_may_read_what_its_folds_read_and_its_own_past():
    """Inputs, policies, ledgers, checkpoints; and `grounded`: its last record may say where a lane stood before."""
    read = {topic for fold in folds() for topic in fold.inputs} | LEDGERS | {"policies", "grounded"}
    may = {topic for topic, who in allowed("Read").items() if WORKER in who}
    assert may == read | {"sightings", "citations"}


@pytest.mark.parametrize(
    ("topic", "writers"),
    [
        ("emissions", {"sluice-emitter"}),
        ("attestations", {"sluice-validator"}),
        ("reviews", {"sluice-reviewer", "sluice-serve"}),  # at the console, in the name of whoever is signed in
        ("review-leases", {"sluice-serve"}),
        ("sightings", {"sluice-sighter"}),
        ("policies", {"sluice-operator"}),
    ],
)
def test_each_input_has_one_role_that_writes_it(topic: str, writers: set[str]):
    """No role answers itself: who emits neither observes nor reviews."""
    assert allowed("Write")[topic] == writers


def test_the_console_reads_what_it_shows_and_writes_what_people_decide():
    """And nothing else; a record that somebody posts there is refused by the brokers."""
    reads = {topic for topic, who in allowed("Read").items() if "sluice-serve" in who}
    writes = {topic for topic, who in allowed("Write").items() if "sluice-serve" in who}
    ledgers = {fold.ledger for fold in folds()}
    asked = {topic for topic, who in allowed("Describe").items() if "sluice-serve" in who}
    assert reads == {*ServiceView.topics, *ledgers, "policies"}
    assert {topic for fold in folds() for topic in fold.inputs} <= reads | asked
    assert writes == {"reviews", "review-leases"}


def test_dead_letters_are_read_by_nobody_but_the_auditor():
    """They are quarantine: the adapter never shows them."""
    assert allowed("Read")["dead-letters"] == set()
    assert allowed("Read")["*"] == {AUDITOR}


def test_every_user_proves_who_it_is_and_nobody_may_do_everything():
    """SCRAM, simple rules, no rights on the cluster, and wildcards for reading only."""
    for name, user in USERS.items():
        assert user["spec"]["authentication"] == {"type": "scram-sha-512"}
        for rule in rules(user):
            assert rule["resource"]["type"] != "cluster"
            assert rule.get("type", "allow") == "allow"
            assert "All" not in rule["operations"]
            if rule["resource"]["name"] == "*":
                assert name == AUDITOR
                assert set(rule["operations"]) == {"Read", "DescribeConfigs"}


def test_rights_name_topics_that_exist():
    """A misspelt topic would be a right that nobody has."""
    for operation in ("Read", "Write", "Describe"):
        assert set(allowed(operation)) <= {*TOPICS, "*"}


def test_groups_and_transactional_ids_are_the_workers_own():
    """The lanes' group, that of framing lanes of before, and every transactional id belong to the worker alone."""
    app = Settings().app_id
    groups = {group for group, who in allowed("Read", "group").items() if WORKER in who}
    assert groups == {GROUP, f"{app}-frame"}
    assert all(allowed("Read", "group")[group] == {WORKER} for group in groups)
    assert allowed("Write", "transactionalId") == {"sluice-": {WORKER}}
    assert producer_of("ID", "adjudicate").startswith("sluice-")


def test_prefixes_of_groups_reach_no_group_of_ours():
    """Another role's prefix must not open the lanes' or the observers' group."""
    app = Settings().app_id
    ours = {f"{GROUP}x", f"{app}-observe", *(f"{app}-{fold.name}" for fold in folds())}
    for name, user in USERS.items():
        for resource in (rule["resource"] for rule in rules(user)):
            if resource["type"] == "group" and resource.get("patternType") == "prefix":
                reached = {group for group in ours if group.startswith(resource["name"])}
                assert reached == ({f"{GROUP}x"} if name in (WORKER, "sluice-scaler") else set())


def test_production_has_no_listener_without_tls_and_a_password():
    """Who a client is rests on its name."""
    kafka = manifests.objects("Kafka", "overlays/prod")["sluice"]["spec"]["kafka"]
    for listener in kafka["listeners"]:
        assert listener["tls"] is True
        assert listener["authentication"]["type"] == "scram-sha-512"
        assert listener["networkPolicyPeers"]
    assert kafka["authorization"] == {"type": "simple"}
    assert "superUsers" not in kafka["authorization"]


def test_production_loses_no_record_with_one_broker():
    """Three replicas, two in sync, no unclean election, transactions included."""
    config = manifests.objects("Kafka", "overlays/prod")["sluice"]["spec"]["kafka"]["config"]
    assert config["transaction.state.log.replication.factor"] == 3
    assert config["transaction.state.log.min.isr"] == config["min.insync.replicas"] == 2
    assert config["unclean.leader.election.enable"] is False
    assert config["auto.create.topics.enable"] is False
    pools = manifests.objects("KafkaNodePool", "overlays/prod")
    assert {name: pool["spec"]["replicas"] for name, pool in pools.items()} == {"broker": 3, "controller": 3}


def test_scaling_stops_at_the_number_of_lanes():
    """More workers than partitions would only wait; the scaler may describe, and read nothing."""
    scaled = manifests.objects("ScaledObject", "components/autoscaling")["sluice-worker"]["spec"]
    assert scaled["maxReplicaCount"] == production().partitions
    assert scaled["minReplicaCount"] >= 2
    for trigger in scaled["triggers"]:
        assert trigger["metadata"]["consumerGroup"].startswith(GROUP)
        assert "sluice-scaler" in allowed("Describe")[trigger["metadata"]["topic"]]
    assert all("sluice-scaler" not in who for who in (allowed("Read") | allowed("Write")).values())


def test_the_second_observer_has_the_rights_of_the_first_and_a_group_of_its_own():
    """Under its own name it has a group of its own (`group_of`): each looks at every emission."""
    component = "components/second-observer"
    (pod,) = [pod for name, pod in manifests.pods(component) if name == "sluice-observer-2"]
    given = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    user = manifests.objects("KafkaUser", component)["sluice-observer-2"]
    assert given["SLUICE_BROKER_USER"] == user["metadata"]["name"]
    own = {"type": "group", "name": group_of(Settings(observer=given["SLUICE_OBSERVER"]))}
    first = [rule for rule in rules(USERS[OBSERVER]) if rule["resource"]["type"] != "group"]
    assert rules(user) == [*first, {"resource": own, "operations": ["Read"]}]
    assert own["name"] not in allowed("Read", "group")
