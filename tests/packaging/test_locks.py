"""The lock files: what they pin is what pip installs, whatever was released since."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
INSTALL = re.compile(
    r"(\.venv)/bin/(?:python -m pip|uv pip) (?:--python (\S+)/bin/python )?install .*-r requirements/(\S+)"
)


@pytest.mark.parametrize("target", ["demo", "test", "test-adapters"])
def test_each_environment_is_filled_by_a_pip_that_came_before_anything_else(target: str):
    """A pip that takes a pinned version for what is asked for with an extra, too: one of before 23.3 takes the newest
    release, whose hash is not in the lock file, so a fresh install fails the day that there is one."""
    commands = planned(target)
    installs = [found.groups() for command in commands if (found := INSTALL.search(command))]
    assert installs[0] == (".venv", None, "pip.txt")
    assert {lock for _, _, lock in installs} >= {"pip.txt", "uv.txt", "run.txt"}
    assert all("--require-hashes" in command for command in commands if "-r requirements/" in command)


@pytest.mark.parametrize("target", ["demo", "test", "test-adapters"])
def test_where_uv_fails_pip_installs_the_same(target: str):
    """uv has no wheel for every platform, and reads none of pip's configuration."""
    by_uv = [command for command in planned(target) if "/bin/uv " in command]
    assert by_uv
    for command in by_uv:
        first, second = command.split(" || ")
        assert first.split(" --require-hashes ")[1] == second.split(" --require-hashes ")[1]


def planned(target: str) -> list[str]:
    """The commands that make a target from a clean clone."""
    listed = subprocess.run(["make", "-n", "-B", target], cwd=ROOT, capture_output=True, text=True, check=True)
    return listed.stdout.replace("\\\n", "").splitlines()


def test_uv_is_the_one_that_resolves():
    """`make lock` and the set-up have one uv, whose hashes are the same in both lock files."""
    own = (ROOT / "requirements" / "uv.txt").read_text("utf-8").split("    # via")[0]
    assert own.startswith("uv==")
    assert own in (ROOT / "requirements" / "dev.txt").read_text("utf-8")


def test_that_pip_is_new_enough():
    """23.3 is the first."""
    (version,) = re.findall(r"^pip==(\S+)", (ROOT / "requirements" / "pip.txt").read_text("utf-8"), re.MULTILINE)
    assert Version(version) >= Version("23.3")
