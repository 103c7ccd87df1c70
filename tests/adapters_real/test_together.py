"""The small client and the frameworks of agents live in one environment: the one of this test is resolved so."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("anthropic", "langchain", "litellm", "openai", "openai-agents")


def needed() -> list[Requirement]:
    """What `pip install sluice-verdicts` brings."""
    found = [Requirement(one) for one in requires("sluice-verdicts") or ()]
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]


def test_nothing_here_asks_for_another_version() -> None:
    """`pip check`: of sluice, of each framework, and of all that they need."""
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("one", needed(), ids=lambda one: one.name)
def test_the_small_client_takes_what_the_frameworks_pinned(one: Requirement) -> None:
    """The lock file has a version of each that its bounds allow, and that version is installed."""
    locked = dict(
        line.split(" ")[0].split("==")
        for line in (ROOT / "requirements" / "adapters.txt").read_text("utf-8").splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    )
    name = canonicalize_name(one.name)
    assert locked[name] == version(name)
    assert one.specifier.contains(locked[name])


def test_one_program_imports_them_all() -> None:
    """The frameworks, the recorder with each adapter, and the client."""
    adapters = ("anthropic_citations", "langchain", "litellm", "openai_agents", "openai_structured", "otel")
    names = ["agents", "anthropic", "langchain", "litellm", "openai", "litellm.proxy.proxy_server"]
    names += ["sluice.record", "sluice.topology.client", *(f"sluice.record.adapters.{one}" for one in adapters)]
    program = "".join(f"import {one}\n" for one in names) + "print('together')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1:] == ["together"], done.stderr
    assert [version(one) for one in FRAMEWORKS]
