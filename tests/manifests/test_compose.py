"""The Compose file and the images: fixed, unprivileged, reachable from this machine only."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import manifests
import pytest
import yaml
from composed import Composed
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from sluice.streams.policy.policy_toml import load_policy

SERVICES = manifests.compose()["services"]
OURS = sorted(name for name, service in SERVICES.items() if str(service["image"]).startswith("sluice"))
DOCKERFILE = (manifests.ROOT / "Dockerfile").read_text("utf-8")


def test_all_the_services_are_there():
    """Kafka's nodes, topics, keys, workers, observers, adapter, service, what one looks with; and who signs by hand."""
    wanted = {
        "kafka-1",
        "kafka-2",
        "kafka-3",
        "keys",
        "topics",
        "worker-1",
        "worker-2",
        "observer",
        "observer-2",
        "adapter",
        "serve",
        "prometheus",
    }
    by_hand = {"emitter", "reviewer-1", "reviewer-2", "validator", "auditor"}
    assert set(SERVICES) == wanted | by_hand | {"grafana"}
    assert {name for name, service in SERVICES.items() if "profiles" in service} == by_hand


NODES = sorted(name for name in SERVICES if name.startswith("kafka"))


def test_the_brokers_are_one_cluster_of_three_of_which_any_may_go():
    """One quorum and one id; each has a number, a volume, a port and a name of its own, and advertises them."""
    settings = [SERVICES[name]["environment"] for name in NODES]

    assert [one["KAFKA_NODE_ID"] for one in settings] == [1, 2, 3]
    (voters,) = {one["KAFKA_CONTROLLER_QUORUM_VOTERS"] for one in settings}
    assert voters.split(",") == [f"{number}@{name}:9093" for number, name in enumerate(NODES, 1)]
    assert len({one["CLUSTER_ID"] for one in settings}) == 1
    for name, one in zip(NODES, settings, strict=True):
        inside, outside = (text.partition("://")[2] for text in one["KAFKA_ADVERTISED_LISTENERS"].split(","))
        assert inside == f"{name}:9092"
        assert SERVICES[name]["ports"] == [f"{outside}:19092"], "what it advertises to this machine is open there"
        assert SERVICES[name]["volumes"] == [f"{name}:/var/lib/kafka/data"]
    assert len({SERVICES[name]["ports"][0] for name in NODES}) == len(NODES)
    assert len({one["KAFKA_LOG_DIRS"] for one in settings}) == 1


def test_of_three_replicas_two_must_have_a_record():
    """Of every topic, Kafka's own too: what was acknowledged outlives any one node, and one alone acknowledges nothing.

    What makes these topics is `sluice topics create`, which takes as many replicas as there are brokers.
    """
    for name in NODES:
        one = SERVICES[name]["environment"]
        assert one["KAFKA_DEFAULT_REPLICATION_FACTOR"] == 3
        assert one["KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR"] == 3
        assert one["KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR"] == 3
        assert (one["KAFKA_MIN_INSYNC_REPLICAS"], one["KAFKA_TRANSACTION_STATE_LOG_MIN_ISR"]) == (2, 2)
    assert "SLUICE_REPLICATION" not in SERVICES["topics"]["environment"]


def test_everybody_knows_all_three_brokers_and_waits_for_them():
    """A client that was given one address would not find a cluster in which that node has gone."""
    for name in OURS:
        if broker := SERVICES[name].get("environment", {}).get("SLUICE_BROKER"):
            assert broker == "kafka://" + ",".join(f"{node}:9092" for node in NODES), name
    assert set(SERVICES["topics"]["depends_on"]) == set(NODES)


def test_the_memory_of_the_brokers_is_bounded_and_said():
    """Three Java machines: each has a limit above its heap, and docs/compose.md says what all of it needs."""
    for name in NODES:
        assert re.fullmatch(r"\$\{SLUICE_KAFKA_MEMORY:-\d+g\}", SERVICES[name]["mem_limit"])
        assert "-Xmx${SLUICE_KAFKA_HEAP:-" in SERVICES[name]["environment"]["KAFKA_HEAP_OPTS"]
    page = (manifests.ROOT / "docs" / "compose.md").read_text("utf-8")
    assert "SLUICE_KAFKA_MEMORY" in page
    assert "SLUICE_KAFKA_HEAP" in page
    assert "4 GB" in page


def test_each_party_sees_its_own_key_and_no_other(tmp_path: Path):
    """Made by the service `keys` into one volume, of which each mounts a folder of its own, read-only."""
    one = Composed(tmp_path)
    made = one.run("keys")
    assert made.returncode == 0, made.stderr

    keys = {name: one.keys(name) for name in SERVICES if name != "keys"}
    files = sorted(tmp_path.rglob("private.key"))
    assert sorted(file for found in keys.values() for file in found) == files
    assert {name for name, found in keys.items() if found} == {
        "worker-1", "worker-2", "observer", "observer-2", "serve", "emitter", "reviewer-1", "reviewer-2", "validator",
    }  # fmt: skip
    assert all(len(found) <= 1 for found in keys.values())
    for name in keys:
        assert all(mount.read_only for mount in one.mounts(name) if (tmp_path / "keys") in mount.source.parents)
    with_secret = {name for name in keys if any(mount.source.name == "privacy" for mount in one.mounts(name))}
    assert with_secret == {"worker-1", "worker-2", "serve", "auditor"}


def test_the_policy_is_the_strict_one_with_the_keys(tmp_path: Path):
    """No party alone has anything admitted; a second start makes nothing anew."""
    one = Composed(tmp_path)
    one.run("keys")
    policy = load_policy((tmp_path / "keys" / "policy" / "policy.toml").read_text("utf-8"))
    strict = load_policy((manifests.ROOT / "policies" / "strict.toml").read_text("utf-8"))

    assert policy.exposures() == []
    assert (policy.admissibility, policy.judging, policy.disposition) == (
        strict.admissibility,
        strict.judging,
        strict.disposition,
    )
    assert (policy.effect_default, policy.effect) == ("external", {"docs-bot": "internal"})
    assert len(policy.attestations.validators) == 1
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    assert "made" not in one.run("keys").stdout
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_keys_are_made_without_a_network():
    """Whoever makes them tells nobody."""
    assert SERVICES["keys"]["network_mode"] == "none"


@pytest.mark.parametrize("name", sorted(set(SERVICES) - set(OURS)))
def test_an_image_of_others_is_fixed(name: str):
    """By digest: a tag alone can be moved."""
    image = SERVICES[name]["image"]
    assert re.fullmatch(r"[a-z0-9/-]+:v?\d+\.\d+\.\d+@sha256:[0-9a-f]{64}", image), image


def test_the_dockerfile_starts_from_a_digest():
    """One base for all stages."""
    bases = re.findall(r"^FROM (\S+)(?: AS (\S+))?", DOCKERFILE, re.MULTILINE)
    stages = {stage for _, stage in bases}
    assert [base for base, _ in bases if base not in stages] == [
        base for base, _ in bases if re.fullmatch(r"python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base)
    ]


def test_every_package_is_in_the_image():
    """A folder of pyproject.toml that is not copied ends the build."""
    folders = tomllib.loads((manifests.ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-dir"]
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    assert {folder.partition("/")[0] for folder in folders.values()} <= copied


SOURCES = """Types: deb
# http://archive.test/snapshot/debian/20251117T000000Z
URIs: http://moving.test/debian
Suites: bookworm bookworm-updates

Types: deb
# http://archive.test/snapshot/debian-security/20251117T000000Z
URIs: http://moving.test/debian-security
Suites: bookworm-security
"""


def test_debians_packages_are_those_of_the_base_images_own_snapshot(tmp_path: Path):
    """Every stage that installs some takes them from there; a base image that names none fails the build."""
    (step,) = re.findall(r"^RUN (sed .+?)(?<!\\)\n", DOCKERFILE, re.MULTILINE | re.DOTALL)
    sources, conf = tmp_path / "debian.sources", tmp_path / "snapshot"
    step = step.replace("/etc/apt/sources.list.d/debian.sources", str(sources))
    step = step.replace("/etc/apt/apt.conf.d/snapshot", str(conf))

    sources.write_text(SOURCES)
    subprocess.run(["sh", "-c", step], check=True)
    assert re.findall("^URIs: (.+)", sources.read_text(), re.MULTILINE) == [
        "http://archive.test/snapshot/debian/20251117T000000Z",
        "http://archive.test/snapshot/debian-security/20251117T000000Z",
    ]
    assert "Check-Valid-Until" in conf.read_text()
    sources.write_text(SOURCES.replace("# http", "# once"))
    assert subprocess.run(["sh", "-c", step], check=False).returncode != 0
    for stage in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]:
        if "apt-get install" in stage:
            assert stage.startswith("debian AS") or "--from=debian /etc/apt/sources.list.d/debian.sources" in stage


def test_the_bill_of_materials_names_every_locked_package_with_its_hashes(tmp_path: Path):
    """`make sbom` writes CycloneDX: what the lock file holds, and nothing else."""
    out = tmp_path / "sbom.json"
    planned = subprocess.run(["make", "-n", "sbom", f"SBOM={out}"], cwd=manifests.ROOT, capture_output=True, text=True)
    command = next(line for line in planned.stdout.splitlines() if "cyclonedx_py" in line)
    subprocess.run(["sh", "-c", command], cwd=manifests.ROOT, check=True, capture_output=True)

    found = json.loads(out.read_text("utf-8"))
    lock = (manifests.ROOT / "requirements" / "run.txt").read_text("utf-8")
    locked = re.findall(r"^([a-z0-9.-]+)==([^ ]+)", lock, re.MULTILINE)
    hashes = [one["content"] for part in found["components"] for link in part["externalReferences"]
              for one in link.get("hashes", ())]  # fmt: skip
    assert (found["bomFormat"], found["specVersion"]) == ("CycloneDX", "1.6")
    assert found["metadata"]["component"]["name"] == "sluice-verdicts"
    assert sorted((one["name"], one["version"]) for one in found["components"]) == sorted(locked)
    assert sorted(hashes) == sorted(re.findall("sha256:([0-9a-f]{64})", lock))


STATUS = """Package: libc6
Status: install ok installed
Architecture: amd64
Multi-Arch: same
Source: glibc (2.36-9)
Version: 2.36-9+deb12u13
Description: GNU C Library
 over: several lines

Package: gone
Status: deinstall ok config-files
Architecture: all
Version: 1:2

Package: git
Status: install ok installed
Architecture: amd64
Version: 1:2.39.5-0+deb12u2
"""


def abridged(made: dict[str, Any]) -> dict[str, Any]:
    """A bill with one file of each package: the validator takes 30 ms of the processor for the address of each."""
    parts = [
        one | {"externalReferences": one["externalReferences"][:1]} if "externalReferences" in one else one
        for one in made["components"]
    ]
    return made | {"components": parts}


def test_each_image_lists_what_is_in_it(tmp_path: Path):
    """Debian's packages, Python and the Python packages with their hashes: as each stage calls it, valid CycloneDX."""
    status, release = tmp_path / "status", tmp_path / "os-release"
    status.write_text(STATUS)
    release.write_text('ID=debian\nVERSION_ID="12"\n')
    calls = re.findall(r"/opt/sluice/bin/python (-I \S+image_sbom\.py .+)", DOCKERFILE)
    assert len(calls) == 2
    assert len(set(calls)) == 1
    words = calls[0].replace("/opt/sluice/share/sbom/image_sbom.py", "tools/image_sbom.py")
    words = words.replace("/opt/sluice/share/sbom/run.txt", "requirements/run.txt")
    words = words.replace("/usr/share/sluice/sbom.cdx.json", str(tmp_path / "out" / "sbom.json"))
    command = [sys.executable, *words.split(), "--status", str(status), "--release", str(release)]
    for _ in range(2):
        subprocess.run(command, cwd=manifests.ROOT, check=True)
        text = (tmp_path / "out" / "sbom.json").read_text("utf-8")
    made = json.loads(text)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(abridged(made))) is None

    found = {one["purl"]: one for one in made["components"]}
    assert [purl for purl in found if purl.startswith("pkg:deb/")] == [
        "pkg:deb/debian/git@1%3A2.39.5-0+deb12u2?arch=amd64&distro=debian-12",
        "pkg:deb/debian/libc6@2.36-9+deb12u13?arch=amd64&distro=debian-12",
    ]
    source = found["pkg:deb/debian/libc6@2.36-9+deb12u13?arch=amd64&distro=debian-12"]["properties"]
    assert source == [{"name": "debian:source", "value": "glibc"}]
    lock = (manifests.ROOT / "requirements" / "run.txt").read_text("utf-8")
    name, version = re.findall(r"^(msgspec)==([^ ]+)", lock, re.MULTILINE)[0]
    hashes = found[f"pkg:pypi/{name}@{version}"]["externalReferences"]
    assert all(one["hashes"][0]["content"] in lock for one in hashes)
    assert len(hashes) > 10
    # The last call of an image's stage comes behind its last installation.
    for stage in re.split(r"^FROM ", DOCKERFILE, flags=re.MULTILINE)[1:]:
        if stage.startswith("runtime") and "apt-get install" in stage:
            assert stage.rindex("apt-get install") < stage.rindex("image_sbom.py")


def test_the_image_runs_as_nobody_in_particular():
    """The last user of every stage that can be run is a number other than root's."""
    for stage in ("runtime", "observer"):
        text = DOCKERFILE.split(f" AS {stage}\n")[1].split("\nFROM ")[0]
        assert re.findall(r"^USER (\S+)", text, re.MULTILINE)[-1] == "10001:10001"


def test_the_build_context_holds_what_is_copied_and_nothing_else():
    """`.dockerignore` lets in exactly what the Dockerfile copies."""
    lines = (manifests.ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert "*" in lines
    let_in = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {
        source for line in re.findall(r"^COPY (?!--from)(.+)", DOCKERFILE, re.MULTILINE) for source in line.split()[:-1]
    }
    assert let_in == copied
    assert all((manifests.ROOT / source).exists() for source in copied)


@pytest.mark.parametrize("name", OURS)
def test_ours_run_without_privileges(name: str):
    """Read-only root, no capabilities, nothing to be gained."""
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert "user" not in service


def test_ports_are_open_on_this_machine_only():
    """Kafka, its page and Grafana ask for no password here."""
    for service in SERVICES.values():
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:")


def test_the_observed_folder_and_the_configuration_cannot_be_written():
    """Whatever comes from the host comes read-only."""
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            if isinstance(volume, str) and volume.startswith((".", "${")):
                assert volume.endswith(":ro"), volume


def test_what_is_mounted_is_there():
    """Each path of this repository that a service mounts exists."""
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            if not isinstance(volume, str):
                continue
            default = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", volume).split(":")[0]
            if default.startswith("."):
                assert (manifests.ROOT / default).exists(), volume


def test_prometheus_asks_workers_observer_adapter_and_service():
    """Its targets are the services' names and port; the jobs are called as in Kubernetes, which the alerts rely on."""
    prometheus = yaml.safe_load((manifests.DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    job, *others = prometheus["scrape_configs"]
    workers = sorted(name for name in SERVICES if name.startswith("worker"))
    port = SERVICES["worker-1"]["environment"]["SLUICE_WEB_PORT"]
    assert job["static_configs"] == [{"targets": [f"{name}:{port}" for name in workers]}]
    assert job["job_name"] == "sluice-worker"  # as the ServiceMonitor's service is called
    assert [one["job_name"] for one in others] == ["sluice-observer", "sluice-adapter", "sluice-serve"]
    monitors = manifests.objects("PodMonitor", "components/monitoring")
    for name, one in zip(("observer", "adapter", "serve"), others, strict=True):
        port = SERVICES[name]["environment"].get("SLUICE_WEB_PORT", 8720)
        of_kind = sorted(one for one in SERVICES if one == name or re.fullmatch(rf"{name}-\d", one))
        assert one["static_configs"] == [{"targets": [f"{target}:{port}" for target in of_kind]}]
        monitor = monitors[one["job_name"]]["spec"]
        label = monitor["selector"]["matchLabels"][monitor["jobLabel"]]
        assert label == one["job_name"]
        assert monitor["podMetricsEndpoints"][0]["path"] == one["metrics_path"]
