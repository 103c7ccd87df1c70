"""The manifests as data, for the tests beside: read by a YAML parser, no tool of Kubernetes' or Docker's needed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
K8S = ROOT / "k8s"
DEPLOY = ROOT / "deploy"


def documents(*folders: str) -> list[dict[str, Any]]:
    """Every object in the YAML files of these folders below `k8s`, kustomizations and patches included."""
    files = sorted(file for folder in folders for file in (K8S / folder).glob("*.yaml"))
    return [document for file in files for document in yaml.safe_load_all(file.read_text("utf-8"))]


def objects(kind: str, *folders: str) -> dict[str, dict[str, Any]]:
    """The objects of one kind, by name."""
    return {one["metadata"]["name"]: one for one in documents(*folders) if one["kind"] == kind}


def kustomization(folder: str) -> dict[str, Any]:
    """A kustomization below `k8s`."""
    return yaml.safe_load((K8S / folder / "kustomization.yaml").read_text("utf-8"))


def settings_of(folder: str) -> dict[str, str]:
    """The literals of the ConfigMap `sluice-settings` in a kustomization."""
    made = [one for one in kustomization(folder)["configMapGenerator"] if one["name"] == "sluice-settings"]
    return dict(literal.split("=", 1) for one in made for literal in one["literals"])


def compose() -> dict[str, Any]:
    """The Compose file, with its anchors merged."""
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))


def rule_groups() -> list[dict[str, Any]]:
    """The alert rules as Prometheus reads them."""
    return yaml.safe_load((DEPLOY / "prometheus" / "sluice.rules.yml").read_text("utf-8"))["groups"]


def alerts() -> list[dict[str, Any]]:
    """Every alert rule."""
    return [rule for group in rule_groups() for rule in group["rules"]]


def dashboard() -> dict[str, Any]:
    """Grafana's dashboard."""
    return json.loads((DEPLOY / "grafana" / "dashboards" / "sluice.json").read_text("utf-8"))


def pods(*folders: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and pod template's spec of every workload of ours in these folders, patches included."""
    for document in documents(*folders):
        if document["kind"] in ("Deployment", "StatefulSet", "Job"):
            yield document["metadata"]["name"], document["spec"]["template"]["spec"]


def containers(pod: Mapping[str, Any]) -> Sequence[dict[str, Any]]:
    """The containers of a pod, those that come first included."""
    return [*pod.get("initContainers", ()), *pod.get("containers", ())]
