"""The page on security brings signed policies into force from an empty folder, on the embedded broker."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sluice.topology.kafka.local_broker import EmbeddedBroker

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
BLOCK = re.compile(r"<!-- run by: tests/docs/test_signed_policies.py -->\n```sh\n(.*?)```", re.DOTALL)
pytestmark = pytest.mark.slow


class Shell:
    """A POSIX shell in an empty folder, with the broker in its environment."""

    def __init__(self, folder: Path, broker: str) -> None:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self.folder = folder
        self._variables = os.environ | {"PATH": path, "SLUICE_BROKER": broker, "SLUICE_DELIVERY": "at-least-once"}

    def run(self, script: str) -> tuple[int, str]:
        """The exit status, and everything that was said."""
        done = subprocess.run(
            ["sh", "-ec", script],
            cwd=self.folder,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=180,
        )
        return done.returncode, done.stdout

    @contextmanager
    def running(self, script: str) -> Iterator[None]:
        """A script whose last command goes on until the block ends."""
        *before, last = script.strip().splitlines()
        log = self.folder / "worker.log"
        with log.open("wb") as file:
            command = ["sh", "-ec", "\n".join([*before, f"exec {last}"])]
            process = subprocess.Popen(command, cwd=self.folder, env=self._variables, stdout=file, stderr=file)
        try:
            end = time.monotonic() + 150
            while self.run("sluice policy show")[0]:
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < end, log.read_text()
                time.sleep(0.5)
            yield
        finally:
            process.terminate()
            process.wait(60)


def test_signed_policies_are_set_up_as_the_page_says(tmp_path: Path):
    """The command makes all that is needed; a change that an operator signed comes into force, and no other one does:
    neither an unsigned one, nor one that another key signed, nor an old one."""
    begin, change = BLOCK.findall(PAGE.read_text("utf-8"))
    with EmbeddedBroker() as broker:
        shell = Shell(tmp_path, broker.address)
        with shell.running(begin):
            first = shell.run("sluice policy show")[1]
            unsigned = shell.run(
                change.replace("--key keys/operator-operator-1.key --wait 30", "").replace("11m", "12m")
            )
            foreign = shell.run(change.replace("operator-operator-1", "observer-observer-1").replace("11m", "12m"))
            status, said = shell.run(change)
            assert status == 0, said
            newer = shell.run("sluice policy show")[1]
            old = shell.run("sluice policy apply keys/policy.toml --key keys/operator-operator-2.key")
            after = shell.run("sluice policy show")[1]

    assert 'horizon = "10m"' in first
    assert unsigned[0] != 0, unsigned
    assert foreign[0] != 0, foreign
    assert "in force in every lane" in said
    assert 'horizon = "11m"' in newer
    assert "operator-1" in newer
    assert old[0] != 0, old
    assert 'horizon = "11m"' in after
