"""Makes `k8s/components/monitoring/alerts.yaml` of `deploy/prometheus/sluice.rules.yml` (`make reference`).

Prometheus reads the rules as they are, its operator wants them inside an object of Kubernetes'; neither can include the
other's file. So they are written once, where promtool tests them, and copied with their comments.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RULES = ROOT / "deploy" / "prometheus" / "sluice.rules.yml"
MADE = ROOT / "k8s" / "components" / "monitoring" / "alerts.yaml"
HEAD = """\
# The groups of deploy/prometheus/sluice.rules.yml, where promtool tests them; `make reference` makes them anew.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: sluice
  labels: {app.kubernetes.io/part-of: sluice}
spec:
"""


def made() -> str:
    """The object, as its file has to be."""
    _, groups, rules = RULES.read_text("utf-8").partition("groups:\n")
    return HEAD + "".join(f"  {line}" if line.strip() else line for line in (groups + rules).splitlines(keepends=True))


if __name__ == "__main__":
    MADE.write_text(made(), "utf-8")
