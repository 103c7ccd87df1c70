"""The loop of examples/mending on a real Kafka, beside a worker and observers: attempt 1 is admitted."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import SLUICE, variables_of
from lanes_on_kafka import Workers

from sluice.topology.client import ReEmissionReader
from sluice.topology.kafka.topics import create_topics
from sluice.topology.settings.settings import Settings

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "mending"
SOURCE = 'RETRIES = 3\nTIMEOUT = 30\n\n\ndef connect():\n    """Opens the connection."""\n    return RETRIES\n'


@pytest.fixture
def beside(kafka: str, prefix: str, tmp_path: Path) -> Iterator[tuple[Settings, Path, dict[str, str]]]:
    """A worker under the example's policy, observers of a repository, and the variables by which others find them."""
    settings = Settings(broker=kafka, topic_prefix=prefix, app_id=prefix.rstrip("."))
    asyncio.run(create_topics(settings))
    root = tmp_path / "repository"
    root.mkdir()
    (root / "settings.py").write_text(SOURCE)
    for command in ("init --quiet", "add .", "-c user.name=a -c user.email=a@example.org commit --quiet -m x"):
        subprocess.run(["git", *command.split()], cwd=root, check=True)
    (tmp_path / "policy.toml").write_text((FOLDER / "policy.toml").read_text("utf-8"))
    found, command = variables_of(settings), [*SLUICE, "observe", "--root", str(root)]
    with Workers(settings, tmp_path) as workers:
        worker = workers.start("--policy", "policy.toml")
        asyncio.run(workers.until_taken_over(worker))
        with (
            open(tmp_path / "observers.log", "wb") as log,
            subprocess.Popen(command, env=found, stderr=log) as observers,
        ):
            yield settings, root, found
            observers.terminate()
            observers.wait(30)


def test_the_loop_closes_on_kafka(beside: tuple[Settings, Path, dict[str, str]]):
    """What observers saw otherwise is asked for, said anew, and admitted; the requests can be read again."""
    settings, root, environment = beside
    command = [sys.executable, "run.py", "--broker", settings.broker, "--root", str(root), "--seconds", "40"]

    done = subprocess.run(command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=500)

    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "asked to mend attempt 0:"
    assert any(line.startswith("  Statement c:0-32: contradicted") for line in lines)
    assert "mended" in lines
    admitted = [line for line in lines if line.startswith("admitted ") and " of attempt 1: " in line]
    assert [line.split(": ", 1)[1] for line in admitted] == [
        "['`RETRIES` in `settings.py` equals 3 (line 1).']",
        "['`TIMEOUT` in `settings.py` equals 30 (line 2).']",
    ]
    with ReEmissionReader(settings, group="again", follow=False) as reader:
        found = list(reader)
        assert found
        assert all(one.attempt == 0 and one.attempts_left == 2 for one in found)
        assert all(one.record.missing_checks for one in found)
    with ReEmissionReader(settings, group="again", follow=False) as reader:
        assert list(reader) == []
