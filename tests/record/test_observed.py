"""What is recorded, held against a repository by the real observers: ids are theirs, nothing passes for made up."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from sluice.codecs.decode import decode_emission
from sluice.codecs.records import Emission, Observation
from sluice.record import MemorySink, Recorder
from sluice.topology.observers.look import look
from sluice.topology.settings.settings import Settings

SOURCE = "LIMIT = 42\n\n\ndef run(job):\n    stop(job)\n    return 3\n\n\n# the LIMIT is low\n"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_AUTHOR_DATE": "2026-05-25T10:00:00Z",
    "GIT_COMMITTER_NAME": "Ada A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_COMMITTER_DATE": "2026-05-25T10:00:00Z",
    "LC_ALL": "C",
    "TZ": "UTC",
}


@pytest.fixture
def shell(tmp_path: Path) -> Callable[[str], str]:
    """Runs a command line in a new repository; the recorder never does."""

    def run(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            env={**ENVIRONMENT, "HOME": str(tmp_path)},
        )
        return done.stdout

    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(SOURCE)
    (tmp_path / "README.md").write_text("# Title\n\nThe LIMIT is told in src/a.py.\n")
    run("git init -q -b main && git add -A && git commit -q -m 'Set the limit'")
    return run


def seen(root: Path, commands: list[str], text: str, shell: Callable[[str], str]) -> tuple[Emission, list[Observation]]:
    sink = MemorySink()
    with Recorder("agent", sink, root=root).turn("c") as turn:
        for command in commands:
            turn.tool(name="Bash", arguments={"command": command}, result=shell(command))
        turn.text(text)
    emission = decode_emission(sink.records[0].value)
    assert isinstance(emission, Emission)
    return emission, look(emission, Settings(root=str(root), observer="observer-1"), root)


@pytest.mark.parametrize(
    "command",
    [
        "cat src/a.py",
        "cat -n src/a.py",
        "nl -ba src/a.py | sed -n '1,4p'",
        "sed -n '1,3p' src/a.py",
        "head -n 2 src/a.py",
        "head -n 4 src/a.py | tail -n +1",
        "grep -n LIMIT src/a.py",
        "grep -rn LIMIT . --include='a.py'",
        "grep -rn LIMIT src",
        "git grep -n LIMIT",
        "git log -- src/a.py",
        "git log --oneline",
        "git show HEAD:src/a.py",
        "git blame src/a.py",
        "cd src && cat a.py",
        "echo one; cat src/a.py",
    ],
)
def test_what_was_looked_at_bears_the_sentence_out(command: str, tmp_path: Path, shell: Callable[[str], str]) -> None:
    """The observer finds the declared observation, and the checks hold."""
    commands = [command] if "git log" not in command else [command, "cat src/a.py"]
    emission, observations = seen(tmp_path, commands, "In src/a.py, `LIMIT` has the value 42.", shell)
    assert observations
    assert {one.outcome for one in observations} == {"corroborates"}, observations
    declared = [each.observation_id for one in emission.assertions or () for each in one.annotations]
    for mine, theirs in zip(declared, observations, strict=True):
        assert mine is None or mine == theirs.observation_id or theirs.observation_id.startswith(mine)


@pytest.mark.parametrize(
    "command", ["cat src/a.py", "sed -n '1,3p' src/a.py", "grep -n LIMIT src/a.py", "git grep LIMIT -- src"]
)
def test_ids_are_those_of_the_observers(command: str, tmp_path: Path, shell: Callable[[str], str]) -> None:
    """Of whole files, of lines, and of searches in one file."""
    emission, (observation,) = seen(tmp_path, [command], "In src/a.py, `LIMIT` has the value 42.", shell)
    (annotation,) = (emission.assertions or ())[0].annotations
    assert annotation.observation_id == observation.observation_id


def test_a_commit_is_declared_and_found(tmp_path: Path, shell: Callable[[str], str]) -> None:
    """With its day, which the observer reads in the sentence."""
    name = shell("git rev-parse HEAD").strip()
    text = f"Commit `{name[:9]}` is dated 2026-05-25."
    emission, observations = seen(tmp_path, ["git log"], text, shell)
    (assertion,) = emission.assertions or ()
    assert assertion.annotations[0].observation_id == name
    assert observations[0].outcome == "corroborates", observations


def test_a_time_of_a_file_is_declared_and_found(tmp_path: Path, shell: Callable[[str], str]) -> None:
    """To the nanosecond, as stat tells it."""
    os.utime(tmp_path / "src" / "a.py", ns=(1_700_000_000_123_456_700, 1_700_000_000_123_456_700))
    text = "The file `src/a.py` was last modified on 2023-11-14."
    emission, (observation, *_) = seen(tmp_path, ["stat src/a.py"], text, shell)
    (annotation,) = (emission.assertions or ())[0].annotations
    assert annotation.observation_id == observation.observation_id == "mtime:2023-11-14T22:13:20.1234567Z"


@pytest.mark.parametrize("command", ["cat src/a.py", "grep -n LIMIT src/a.py", "sed -n '1,2p' src/a.py"])
def test_a_file_that_was_changed_since_is_not_called_made_up(
    command: str, tmp_path: Path, shell: Callable[[str], str]
) -> None:
    """What the agent saw is no longer there when the turn ends: then no id is declared."""
    sink = MemorySink()
    with Recorder("agent", sink, root=tmp_path).turn("c") as turn:
        turn.tool(name="Bash", arguments={"command": command}, result=shell(command))
        (tmp_path / "src" / "a.py").write_text("LIMIT = 43\n")
        turn.text("In src/a.py, `LIMIT` has the value 42.")
    emission = decode_emission(sink.records[0].value)
    assert isinstance(emission, Emission)
    (annotation,) = (emission.assertions or ())[0].annotations
    assert annotation.observation_id is None
    assert all(one.outcome != "unknown-observation" for one in look(emission, Settings(root=str(tmp_path)), tmp_path))
