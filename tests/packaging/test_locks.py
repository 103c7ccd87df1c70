"""The lock files: what they pin is what pip installs, whatever was released since."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[2]
INSTALLS = re.compile(r"^(\S+)/bin/(?:python -m )?pip install .*--require-hashes -r requirements/(\S+)$", re.MULTILINE)


@pytest.mark.parametrize("target", ["demo", "test", "test-adapters"])
def test_each_environment_gets_its_pip_before_anything_else(target: str):
    """A pip that takes a pinned version for what is asked for with an extra, too: one of before 23.3 takes the newest
    release, whose hash is not in the lock file, so a fresh install fails the day that there is one."""
    planned = subprocess.run(["make", "-n", "-B", target], cwd=ROOT, capture_output=True, text=True, check=True)
    installed: dict[str, list[str]] = {}
    for environment, lock in INSTALLS.findall(planned.stdout):
        installed.setdefault(environment, []).append(lock)
    assert installed
    assert {locks[0] for locks in installed.values()} == {"pip.txt"}
    assert all(len(locks) > 1 for locks in installed.values())


def test_that_pip_is_new_enough():
    """23.3 is the first."""
    (version,) = re.findall(r"^pip==(\S+)", (ROOT / "requirements" / "pip.txt").read_text("utf-8"), re.MULTILINE)
    assert Version(version) >= Version("23.3")
