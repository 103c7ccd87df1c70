"""The tracked paths of a checkout, told from its index."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sluice.record.workspaces import Tracked


def git(root: Path, *arguments: str) -> bytes:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    return subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True).stdout


def made(root: Path, *arguments: str) -> Path:
    """A repository with tracked files whose names have many lengths, and an untracked one."""
    root.mkdir()
    git(root, "init", "-q", *arguments)
    for number in range(30):
        path = root / f"dir{number % 3}" / f"{'x' * number}é{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.touch()
    git(root, "add", ".")
    (root / "untracked.py").touch()
    return root


@pytest.mark.parametrize("version", ["2", "3", "4"])
@pytest.mark.parametrize("names", ["sha1", "sha256"])
def test_what_git_lists_is_held(tmp_path: Path, version: str, names: str) -> None:
    """In every version of the index, with names of either length; nothing else is."""
    root = made(tmp_path / "a", f"--object-format={names}")
    (root / "later.py").touch()
    git(root, "add", "-N", "later.py")  # an entry with more flags
    git(root, "update-index", "--index-version", version)
    tracked = Tracked(str(root))
    listed = [os.fsdecode(one) for one in git(root, "ls-files", "-z").split(b"\0") if one]
    assert len(listed) == 31
    assert all(map(tracked.holds, listed))
    assert not any(map(tracked.holds, ("untracked.py", "dir0", "", "\ud800", "dir0/é0.p")))


def test_a_changed_index_is_read_anew(tmp_path: Path) -> None:
    """What is tracked later is held later."""
    root = made(tmp_path / "a")
    tracked = Tracked(str(root))
    assert not tracked.holds("untracked.py")
    git(root, "add", "untracked.py")
    assert tracked.holds("untracked.py")


def test_folders_of_a_checkout_and_second_work_trees_have_their_index(tmp_path: Path) -> None:
    """Paths are those of the folder."""
    root = made(tmp_path / "a")
    git(root, "commit", "-q", "-m", "x")
    git(root, "worktree", "add", "-q", str(tmp_path / "b"))
    assert Tracked(str(root / "dir0")).holds("é0.py")
    assert Tracked(str(tmp_path / "b")).holds("dir0/é0.py")
    assert not Tracked(str(tmp_path / "b")).holds("untracked.py")


@pytest.mark.parametrize("cut", [0, 3, 11, 12, 60, 500])
def test_an_index_that_is_cut_lists_nothing(tmp_path: Path, cut: int) -> None:
    """Neither does one that is no regular file."""
    root = made(tmp_path / "a")
    index = root / ".git" / "index"
    data = index.read_bytes()
    index.write_bytes(data[:cut])
    assert not Tracked(str(root)).holds("dir0/é0.py")
    index.unlink()
    assert not Tracked(str(root)).holds("dir0/é0.py")
    os.mkfifo(index)
    assert not Tracked(str(root)).holds("dir0/é0.py")


def test_a_split_index_lists_nothing(tmp_path: Path) -> None:
    """Most of it stands elsewhere."""
    root = made(tmp_path / "a")
    git(root, "update-index", "--split-index")
    assert not Tracked(str(root)).holds("dir0/é0.py")


def test_without_a_repository_everything_is_held(tmp_path: Path) -> None:
    """Nothing is known to be untracked there."""
    assert Tracked(str(tmp_path)).holds("a.py")
