"""What runs in Kubernetes and Compose is what the program has, commands, settings, paths, and runs with few rights."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp
import click
import jsonschema
import manifests
import pytest
import yaml
from ports import free_port

from sluice.streams.policy.policy_toml import load_policy
from sluice.topology.cli import COMMANDS, main
from sluice.topology.engine.probe_server import Web
from sluice.topology.settings.settings import PREFIX, Settings

FOLDERS = ("base", "overlays/dev", "overlays/prod", "components/autoscaling", "components/monitoring")
WHOLE = [*FOLDERS, "components/sightings"]
SETTINGS = {PREFIX + name.upper() for name in Settings.__struct_fields__} | {f"{PREFIX}CONFIG"}


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command line of ours, with where it stands."""
    for name, pod in manifests.pods("base"):
        for container in pod["containers"]:
            yield f"k8s {name}", container["args"]
    for name, service in manifests.compose()["services"].items():
        if str(service["image"]).startswith("sluice"):
            yield f"compose {name}", service["command"]


def variables() -> Iterator[tuple[str, str]]:
    """Every variable that is given to a command of ours, with where it stands."""
    for folder in ("base", "overlays/dev", "overlays/prod"):
        for variable in manifests.settings_of(folder):
            yield folder, variable
        for name, pod in manifests.pods(folder):
            for container in pod.get("containers", ()):
                for one in container.get("env", ()):
                    yield f"{folder} {name}", one["name"]
    component = manifests.kustomization("components/signed-observations")
    for variable in re.findall(r"SLUICE_\w+", component["patches"][0]["patch"]):
        yield "components/signed-observations", variable
    for name, service in manifests.compose()["services"].items():
        if str(service["image"]).startswith("sluice"):
            for variable in service.get("environment", ()):
                yield f"compose {name}", variable


@pytest.mark.parametrize(("where", "line"), list(commands()))
def test_a_command_line_is_one_that_the_program_takes(where: str, line: list[str]):
    """The subcommand exists, and parses its arguments."""
    context = click.Context(main, info_name="sluice", obj={"config_file": None, "debug": False})
    assert line[0] in COMMANDS, where
    command = main.get_command(context, line[0])
    assert command is not None
    below = command.make_context(line[0], line[1:], parent=context)
    # A group without a subcommand has parsed its own options; with one, that one parses the rest.
    if isinstance(command, click.Group) and below._protected_args:
        name, inner, arguments = command.resolve_command(below, [*below._protected_args, *below.args])
        assert inner is not None
        inner.make_context(name, arguments, parent=below)


@pytest.mark.parametrize(("where", "name"), sorted(set(variables())))
def test_a_variable_is_a_setting(where: str, name: str):
    """The program leaves variables that it does not know alone, so a misspelt one would go unnoticed."""
    assert name in SETTINGS, where


def test_values_are_what_their_settings_take(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What the ConfigMaps and the Compose file give loads without an error; there is a file with the secret."""
    secret = tmp_path / "privacy-secret"
    secret.write_text("0123456789abcdef")
    from sluice.topology.settings.settings import load_settings

    for given in (
        manifests.settings_of("base"),
        manifests.settings_of("base") | manifests.settings_of("overlays/prod"),
        {key: str(value) for key, value in manifests.compose()["services"]["worker-1"]["environment"].items()},
    ):
        with monkeypatch.context() as patched:
            for name, value in given.items():
                default = value[2:-1].partition(":-")[2] if value.startswith("${") else value
                patched.setenv(name, str(secret) if name == "SLUICE_PRIVACY_SECRET_FILE" else default)
            assert load_settings(None, {}).session_timeout > 0


def probe_paths() -> set[str]:
    """Every path that somebody asks a worker's web server for."""
    found: set[str] = set()
    for _, pod in manifests.pods("base"):
        for container in pod["containers"]:
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                if "httpGet" in container.get(probe, {}):
                    found.add(container[probe]["httpGet"]["path"])
    monitor = manifests.objects("ServiceMonitor", "components/monitoring")["sluice-worker"]
    found |= {endpoint["path"] for endpoint in monitor["spec"]["endpoints"]}
    prometheus = yaml.safe_load((manifests.DEPLOY / "prometheus" / "prometheus.yml").read_text("utf-8"))
    found |= {job["metrics_path"] for job in prometheus["scrape_configs"]}
    assert "/healthz" in (manifests.ROOT / "Dockerfile").read_text("utf-8")
    return found | {"/healthz"}


async def test_probes_and_scrapes_ask_for_paths_that_are_served():
    """The web server answers each of them."""
    port = free_port()
    web = Web("127.0.0.1", port, metrics=lambda: b"", healthy=lambda: "", ready=lambda: "")
    await web.start()
    try:
        async with aiohttp.ClientSession() as session:
            for path in sorted(probe_paths()):
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    assert answer.status == 200, path
    finally:
        await web.stop()


def test_ports_agree():
    """The port of the settings is the one that the container, the probes, the policy and Prometheus name."""
    policy = manifests.objects("NetworkPolicy", "base")["sluice-worker-web"]["spec"]
    for name in ("sluice-worker", "sluice-observer", "sluice-adapter"):
        (container,) = dict(manifests.pods("base"))[name]["containers"]
        given = {one["name"]: one.get("value") for one in container["env"]}
        assert {"name": "web", "containerPort": int(given["SLUICE_WEB_PORT"])} in container["ports"]
        assert policy["ingress"][0]["ports"][0]["port"] == int(given["SLUICE_WEB_PORT"])
        assert name in policy["podSelector"]["matchExpressions"][0]["values"]
        assert given["SLUICE_WEB_HOST"] == "0.0.0.0"  # the default is this machine alone: no probe would reach it


def test_the_services_port_is_one():
    """Of its command, its pod, its probes, its Service and its policy."""
    (container,) = dict(manifests.pods("base"))["sluice-serve"]["containers"]
    (port,) = [int(one.partition("=")[2]) for one in container["args"] if one.startswith("--port=")]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    assert {container[probe]["httpGet"]["port"] for probe in ("readinessProbe", "livenessProbe")} == {"http"}
    assert manifests.objects("Service", "base")["sluice-serve"]["spec"]["ports"][0]["port"] == port
    policy = manifests.objects("NetworkPolicy", "base")["sluice-serve-http"]["spec"]
    assert policy["ingress"][0]["ports"] == [{"protocol": "TCP", "port": port}]


def test_workers_are_static_members_under_their_pods_names():
    """The name comes from the pod, and the session outlasts its return."""
    pod = dict(manifests.pods("base"))["sluice-worker"]
    (instance,) = [one for one in pod["containers"][0]["env"] if one["name"] == "SLUICE_INSTANCE"]
    assert instance["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.name"
    assert float(manifests.settings_of("base")["SLUICE_SESSION_TIMEOUT"]) > pod["terminationGracePeriodSeconds"]
    services = manifests.compose()["services"]
    names = [services[name]["environment"]["SLUICE_INSTANCE"] for name in ("worker-1", "worker-2")]
    assert len(set(names)) == 2


def restricted(pod: dict[str, Any], container: dict[str, Any]) -> list[str]:
    """What keeps a container from the Pod Security Standard `restricted`, and from a read-only root."""
    own, of_pod = container.get("securityContext", {}), pod.get("securityContext", {})
    demands = {
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
        "capabilities": own.get("capabilities") == {"drop": ["ALL"]},
        "readOnlyRootFilesystem": own.get("readOnlyRootFilesystem") is True,
        "runAsNonRoot": of_pod.get("runAsNonRoot") is True and of_pod.get("runAsUser", 0) > 0,
        "seccompProfile": of_pod.get("seccompProfile") == {"type": "RuntimeDefault"},
        "token": pod.get("automountServiceAccountToken") is False,
        "memory": "memory" in container.get("resources", {}).get("limits", {}),
        "host": not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys(),
        "volumes": all("hostPath" not in volume for volume in pod.get("volumes", ())),
    }
    return [name for name, met in demands.items() if not met]


def test_every_pod_keeps_to_the_restricted_standard():
    """The namespace enforces it, and each container has a read-only root besides."""
    for name, pod in manifests.pods("base"):
        for container in manifests.containers(pod):
            assert restricted(pod, container) == [], name
    labels = manifests.objects("Namespace", "base")["sluice"]["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_additional_containers_of_an_overlay_are_as_restricted():
    """The clone of the development overlay runs in the pod of the base."""
    base = dict(manifests.pods("base"))
    for name, patch in manifests.pods("overlays/dev"):
        for container in patch.get("initContainers", ()):
            found = restricted(base[name], container)
            assert found == ["memory"], (name, container["name"])


def test_every_workload_is_closed_to_the_network_but_for_what_is_named():
    """Each pod has the label that the closing policy selects."""
    closed = manifests.objects("NetworkPolicy", "base")["sluice-closed"]["spec"]
    assert closed["policyTypes"] == ["Ingress", "Egress"]
    assert not {"ingress", "egress"} & closed.keys()
    wanted = closed["podSelector"]["matchLabels"].items()
    for one in manifests.documents("base"):
        if one["kind"] in ("Deployment", "StatefulSet"):
            assert wanted <= one["spec"]["template"]["metadata"]["labels"].items()


def test_no_secret_stands_in_a_manifest():
    """Secrets are mounted as files; none is an object here, and no variable takes one from a Secret."""
    for one in manifests.documents(*WHOLE):
        assert one["kind"] != "Secret"
    for folder in FOLDERS:
        for _, pod in manifests.pods(folder):
            for container in manifests.containers(pod):
                for variable in container.get("env", ()):
                    assert "PASSWORD" not in variable["name"] or variable["name"].endswith("_FILE")
                    assert "secretKeyRef" not in variable.get("valueFrom", {})


def test_the_policy_that_starts_a_ledger_is_one():
    """It loads, without any error."""
    text = (manifests.K8S / "base" / "policy.toml").read_text("utf-8")
    assert load_policy(text, "policy.toml").admissibility.max_validity == 86_400_000


@cache
def validator_of(kind: str, version: str) -> jsonschema.Draft202012Validator:
    """The published schema of a kind, under the name by which kubeconform asks for it."""
    group, _, version = version.rpartition("/")
    middle = f"-{group.partition('.')[0]}" if group else ""
    file = manifests.K8S / "schemas" / f"{kind.lower()}{middle}-{version}.json"
    schema = json.loads(file.read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


KUSTOMIZE = {"Kustomization", "Component"}


@pytest.mark.parametrize(
    ("name", "document"),
    [
        (f"{one['kind']}/{one['metadata']['name']}", one)
        for folder in ("base", "overlays/dev", "overlays/prod", *FOLDERS[3:], "components/sightings")
        for one in manifests.documents(folder)
        # What an overlay says of our own workloads is a patch, and no whole object.
        if one["kind"] not in KUSTOMIZE
        and not (folder.startswith("overlays") and one["kind"] in ("Deployment", "StatefulSet"))
    ],
)
def test_an_object_fits_the_published_schema_of_its_kind(name: str, document: dict[str, Any]):
    """Closed schemas: a field that the kind does not have is found."""
    validator = validator_of(document["kind"], document["apiVersion"])
    validator.validate(document)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({**document, "no-such-field": 1})
