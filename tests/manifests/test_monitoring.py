"""Alerts, dashboard, metrics and their explanations name the same things."""

from __future__ import annotations

import re

import make_alerts
import manifests
import pytest
import yaml

from sluice.topology.engine.telemetry import Metrics
from sluice.topology.http.auth_middleware import ServiceMetrics
from sluice.topology.http.mcp_server import AdapterMetrics
from sluice.topology.observers.observer_metrics import ObserverMetrics

DOCS = manifests.ROOT / "docs"
METRIC = re.compile(r"\bsluice_[a-z_]+\b")


def explained() -> set[str]:
    """The metrics that docs/metrics.md has a row for."""
    lines = (DOCS / "metrics.md").read_text("utf-8").splitlines()
    return {match[1] for line in lines if (match := re.match(r"\| `(sluice_[a-z_]+)", line))}


def base(name: str) -> str:
    """A metric's own name, without what a histogram's series add to it."""
    return re.sub(r"_(bucket|count|sum)$", "", name)


def expressions() -> list[str]:
    """Every question that an alert or a panel asks."""
    panels = [target["expr"] for panel in manifests.dashboard()["panels"] for target in panel.get("targets", ())]
    return [rule["expr"] for rule in manifests.alerts()] + panels


def test_every_metric_that_is_asked_for_is_explained():
    """A misspelt one would be an alert that never fires."""
    asked = {base(name) for expression in expressions() for name in METRIC.findall(expression)}
    assert asked <= explained()


def test_every_metric_that_is_reported_is_explained_and_the_other_way_round():
    """The tables of workers, observers, adapter and service are whole, and have nothing of their own."""
    reported = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for registry in (
            Metrics(lambda: ()).registry,
            ObserverMetrics().registry,
            AdapterMetrics().registry,
            ServiceMetrics().registry,
        )
        for family in registry.collect()
    }
    assert reported == explained()


def test_kubernetes_has_the_rules_that_are_tested():
    """The `PrometheusRule` holds what promtool's unit tests are about."""
    rule = manifests.objects("PrometheusRule", "components/monitoring")["sluice"]
    assert rule["spec"]["groups"] == manifests.rule_groups()
    assert make_alerts.MADE.read_text("utf-8") == make_alerts.made()  # by `make reference`


def test_every_alert_is_tested_for_firing():
    """promtool's tests expect each of them at least once, with what it says."""
    tests = yaml.safe_load((manifests.DEPLOY / "prometheus" / "sluice.rules.test.yml").read_text("utf-8"))["tests"]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    fired = {case["alertname"] for case in cases if case.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in manifests.alerts()}


@pytest.mark.parametrize("rule", manifests.alerts(), ids=lambda rule: rule["alert"])
def test_an_alert_says_how_urgent_it_is_and_where_help_is(rule: dict):
    """Its runbook is a heading of docs/kubernetes.md."""
    assert rule["labels"]["severity"] in ("page", "ticket")
    assert rule["annotations"]["summary"]
    file, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor == rule["alert"].lower()
    assert f"### {rule['alert']}\n" in (manifests.ROOT / file).read_text("utf-8")


def test_the_dashboard_has_what_grafana_needs():
    """Panels have numbers of their own, a place within the grid, and ask the source that is chosen above."""
    board = manifests.dashboard()
    numbers = [panel["id"] for panel in board["panels"]]
    assert len(set(numbers)) == len(numbers)
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        if panel["type"] != "row":
            assert panel["datasource"]["uid"] == "${datasource}"
            assert panel["title"]
            assert panel["description"]


def test_the_provisioned_source_is_prometheus():
    """Grafana finds the dashboard where Compose mounts it."""
    folder = manifests.DEPLOY / "grafana" / "provisioning"
    provider = yaml.safe_load((folder / "dashboards" / "sluice.yml").read_text("utf-8"))["providers"][0]
    source = yaml.safe_load((folder / "datasources" / "prometheus.yml").read_text("utf-8"))["datasources"][0]
    mounts = [volume.split(":")[1] for volume in manifests.compose()["services"]["grafana"]["volumes"]]
    assert provider["options"]["path"] in mounts
    assert source["url"] == "http://prometheus:9090"
