"""Git as a process: bounded in time and bytes, ended with everything it started."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from looking import Repository, reason

from sluice.topology.observers import git as git_module
from sluice.topology.observers.ask import Budget, CannotLook
from sluice.topology.observers.git import Git, GitFailed


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Puts a script in git's place."""

    def put(script: str) -> Git:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setitem(git_module._ENVIRONMENT, "PATH", f"{program.parent}:{os.environ['PATH']}")
        return Git(str(tmp_path), str(tmp_path), bare=True)

    return put


def test_feeding_and_reading_do_not_wait_for_each_other(fake):
    """More than any pipe holds goes in and comes out again."""
    feed = [b"%07d\n" % number for number in range(200_000)]
    assert fake("exec cat").run(Budget(20, 10**7), "x", feed=feed) == b"".join(feed)


def test_a_git_that_does_not_read_is_no_trouble(fake):
    """It may end without having read what it is fed."""
    assert fake("echo done").run(Budget(20, 10**7), "x", feed=[b"x" * 1000] * 1000) == b"done\n"


@pytest.mark.parametrize(
    "script", ["sleep 60", "sleep 60 & sleep 60", "sleep 60 &", "exec >&-; sleep 60", "cat; sleep 60"]
)
def test_git_and_its_children_end_with_the_look(fake, tmp_path: Path, script: str):
    """When the time is over, nothing of it goes on."""
    began = time.monotonic()
    with pytest.raises(CannotLook, match="took longer"):
        fake(f"echo $$ > {tmp_path}/pid; {script}").run(Budget(0.5, 1000), "x")
    assert time.monotonic() - began < 55  # and not the minute that the script sleeps
    group = int((tmp_path / "pid").read_text())
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)  # a killed process is there until its parent has taken notice
    raise AssertionError("a process is left")


def test_git_that_says_too_much_is_cut_off(fake):
    """The bound on bytes ends it."""
    with pytest.raises(CannotLook, match="more than 100000 bytes"):
        fake("exec yes").run(Budget(20, 100_000), "x")


def test_a_status_is_reported(fake):
    """A failure is raised with its status; the status 1 of a question is its «no»."""
    with pytest.raises(GitFailed) as failure:
        fake("exit 128").run(Budget(20, 1000), "rev-parse")
    assert failure.value.status == 128
    assert str(failure.value) == "git rev-parse failed with status 128"
    assert fake("exit 1").ask(Budget(20, 1000), "rev-parse") is None
    assert fake("echo yes").ask(Budget(20, 1000), "rev-parse") == "yes"
    with pytest.raises(GitFailed):
        fake("exit 128").ask(Budget(20, 1000), "rev-parse")


def test_a_generator_that_is_dropped_ends_its_git(fake, tmp_path: Path):
    """Whoever has seen enough leaves no process behind."""
    chunks = fake(f"echo $$ > {tmp_path}/pid; exec yes").stream(Budget(20, 10**9), "x")
    next(chunks)
    chunks.close()
    with pytest.raises(ProcessLookupError):
        os.killpg(int((tmp_path / "pid").read_text()), 0)


def test_without_git_there_is_a_reason(changelog: Repository, monkeypatch: pytest.MonkeyPatch):
    """A machine without git can still read files, and says why it sees no history."""
    monkeypatch.setitem(git_module._ENVIRONMENT, "PATH", "/nonexistent")
    assert reason(changelog, "git.log", "It has `x`.").startswith("git cannot be run")
    assert reason(changelog, "grep", "It has `x`.").startswith("git cannot be run")


def test_nothing_of_a_user_reaches_git(fake, monkeypatch: pytest.MonkeyPatch):
    """The environment holds what is listed here, and nothing else that git would act upon."""
    monkeypatch.setenv("GIT_SSH_COMMAND", "false")
    monkeypatch.setenv("LD_PRELOAD", "")
    printed = fake("exec env").run(Budget(20, 100_000), "x").decode()
    names = {line.partition("=")[0] for line in printed.splitlines()}
    assert names - {"PWD", "SHLVL", "_", "OLDPWD"} == set(git_module._ENVIRONMENT)


def test_only_a_repository_of_its_own_counts(changelog: Repository, folder: Repository):
    """A folder below a repository, or one that only has a file called HEAD, is none."""
    folder.write("HEAD", "ref: refs/heads/main\n")
    assert Git.at(str(folder.path)) is None
    assert Git.at(str(changelog.path / "src")) is None
    found = Git.at(str(changelog.path))
    assert found is not None
    assert not found.bare
