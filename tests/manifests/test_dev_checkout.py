"""The development overlay's checkout: its containers' own commands, run on a folder that belongs to root, as their uid.

Where the tests do not run as root, the folder is the user's own, and git has less to object to.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import manifests
import pytest

UID = 10_001
ROOT = os.geteuid() == 0
TURNS = 15


class World:
    """A repository to follow, a volume, and what the containers are given."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.observed, self.source = folder, folder / "observed", folder / "source"
        self.bin, self.turns = folder / "bin", folder / "turns"
        for path in (self.observed, self.source, self.bin):
            path.mkdir()
        self.observed.chmod(0o777)  # as a volume's folder: root's, and writable for the pod's group
        # A `sleep` that ends the loop behind the turn that a test wants.
        (self.bin / "sleep").write_text(
            f"#!/bin/sh\nn=$(($(cat {self.turns}) - 1))\necho $n >{self.turns}\n[ $n -ge 0 ]\n"
        )
        (self.bin / "sleep").chmod(0o755)
        self.git("init", "--quiet", "--initial-branch", "trunk")
        self.commit("one")

    def git(self, *arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "safe.directory=*")
        subprocess.run(["git", "-C", str(self.source), *who, *arguments], check=True, capture_output=True)

    def commit(self, text: str, *more: str) -> None:
        (self.source / "a.txt").write_text(text)
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", text, *more)
        if ROOT:  # else git refuses a repository of somebody else's as a source
            for path in (self.source, *self.source.rglob("*")):
                os.chown(path, UID, UID)

    def run(self, container: str, turns: int = 1) -> subprocess.CompletedProcess[str]:
        """Runs the command of a container to its end."""
        self.turns.write_text(f"{turns}\n")
        self.turns.chmod(0o666)
        command = [word.replace("/observed", str(self.observed)) for word in containers()[container]["command"]]
        environment = {
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "REPOSITORY": f"file://{self.source}",
            "BRANCH": "trunk",
            "GIT_CONFIG_NOSYSTEM": "1",
        }
        who: dict[str, Any] = {"user": UID, "group": UID, "extra_groups": []} if ROOT else {}
        return subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True, timeout=60, check=False, **who
        )

    def seen(self) -> str:
        """What observers would read."""
        return (self.observed / "a.txt").read_text()


def containers() -> dict[str, dict[str, Any]]:
    (pod,) = (patch for name, patch in manifests.pods("overlays/dev") if "initContainers" in patch)
    return {one["name"]: one for one in pod["initContainers"]}


@pytest.fixture
def world() -> Iterator[World]:
    folder = Path(tempfile.mkdtemp(prefix="sluice-dev-"))
    folder.chmod(0o755)
    yield World(folder)
    shutil.rmtree(folder)


def test_the_clone_is_brought_up_to_date(world: World) -> None:
    """By the pod's own uid, in a folder of root's; also where the branch was written anew."""
    assert world.run("clone").returncode == 0
    world.commit("two")
    done = world.run("follow")
    assert (done.stdout, done.stderr) == ("", "")
    assert world.seen() == "two"
    world.commit("three", "--amend")
    assert world.run("follow").stderr == ""
    assert world.seen() == "three"


def test_it_says_when_it_fails_and_gives_up_after_ten_times(world: World) -> None:
    """With git's own words; observers keep what was there, and it goes on once the source is back."""
    assert world.run("clone").returncode == 0
    world.source.rename(world.folder / "gone")
    done = world.run("follow", 2)
    told = [line for line in done.stderr.splitlines() if line.startswith("the checkout was not brought up to date")]
    assert [line.partition(", ")[2].partition(" times")[0] for line in told] == ["1", "2"]
    assert "fatal: " in done.stderr
    assert world.seen() == "one"
    done = world.run("follow", TURNS)
    assert done.returncode == 1
    assert done.stderr.count("the checkout was not brought up to date") == 10
    (world.folder / "gone").rename(world.source)
    world.commit("two")
    assert world.run("follow").stderr == ""
    assert world.seen() == "two"


def test_a_clone_that_is_there_is_kept_and_a_broken_one_is_made_anew(world: World) -> None:
    """A pod's containers begin again on the same volume."""
    assert world.run("clone").returncode == 0
    (world.observed / "untracked").touch()
    assert world.run("clone").returncode == 0
    assert (world.observed / "untracked").exists()
    (world.observed / ".git" / "HEAD").write_text("")
    assert world.run("clone").returncode == 0
    assert world.seen() == "one"
    assert not (world.observed / "untracked").exists()


def test_a_repository_that_is_not_there_is_told(world: World) -> None:
    """The pod does not start."""
    shutil.rmtree(world.source)
    done = world.run("clone")
    assert done.returncode != 0
    assert "does not exist" in done.stderr or "not appear to be a git repository" in done.stderr
