"""The Compose file and the images: fixed, unprivileged, reachable from this machine only."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import manifests
import pytest
import yaml
from composed import Composed

from sluice.streams.policy.toml_reader import load_policy

SERVICES = manifests.compose()["services"]
OURS = sorted(name for name, service in SERVICES.items() if str(service["image"]).startswith("sluice"))
DOCKERFILE = (manifests.ROOT / "Dockerfile").read_text("utf-8")
UNPINNED = {"kafka-ui"}
"""Whose digest is not known here: a fixed tag, which docs/compose.md says how to pin."""


def test_all_the_services_are_there():
    """Kafka, its topics, keys, workers, observers, adapter, service, what one looks with; and who signs by hand."""
    wanted = {
        "kafka",
        "keys",
        "topics",
        "worker-1",
        "worker-2",
        "observer",
        "adapter",
        "serve",
        "kafka-ui",
        "prometheus",
    }
    by_hand = {"emitter", "reviewer-1", "reviewer-2", "validator", "auditor"}
    assert set(SERVICES) == wanted | by_hand | {"grafana"}
    assert {name for name, service in SERVICES.items() if "profiles" in service} == by_hand


def test_each_party_sees_its_own_key_and_no_other(tmp_path: Path):
    """Made by the service `keys` into one volume, of which each mounts a folder of its own, read-only."""
    one = Composed(tmp_path)
    made = one.run("keys")
    assert made.returncode == 0, made.stderr

    keys = {name: one.keys(name) for name in SERVICES if name != "keys"}
    files = sorted(tmp_path.rglob("private.key"))
    assert sorted(file for found in keys.values() for file in found) == files
    assert {name for name, found in keys.items() if found} == {
        "worker-1", "worker-2", "observer", "serve", "emitter", "reviewer-1", "reviewer-2", "validator",
    }  # fmt: skip
    assert all(len(found) <= 1 for found in keys.values())
    for name in keys:
        assert all(mount.read_only for mount in one.mounts(name) if (tmp_path / "keys") in mount.source.parents)
    with_secret = {name for name in keys if any(mount.source.name == "privacy" for mount in one.mounts(name))}
    assert with_secret == {"worker-1", "worker-2", "auditor"}


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
    """By digest where it is known, else with a variable for it, and never by a tag that moves."""
    image = SERVICES[name]["image"]
    if name in UNPINNED:
        variable = "${SLUICE_" + name.upper().replace("-", "_") + "_DIGEST:-}"
        assert image.endswith(variable)
        image = image.removesuffix(variable)
    pinned = re.fullmatch(r"[a-z0-9/-]+:v?\d+\.\d+\.\d+(@sha256:[0-9a-f]{64})?", image)
    assert pinned, image
    assert bool(pinned[1]) == (name not in UNPINNED)


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
        assert one["static_configs"] == [{"targets": [f"{name}:{port}"]}]
        monitor = monitors[one["job_name"]]["spec"]
        label = monitor["selector"]["matchLabels"][monitor["jobLabel"]]
        assert label == one["job_name"]
        assert monitor["podMetricsEndpoints"][0]["path"] == one["metrics_path"]
