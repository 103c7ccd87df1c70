"""Which commit HEAD is: asked of git again only where a file that says so was written since."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from looking import Repository

from sluice.topology.observers import kept_looks
from sluice.topology.observers.ask import Budget, ObservationUnavailable
from sluice.topology.observers.git import Git
from sluice.topology.observers.listings import Denied
from sluice.topology.observers.repository import Repository as Kept

Change = Callable[[Repository], object]


def kept(path: Path) -> Kept:
    git = Git.at(str(path))
    assert git is not None
    return Kept(git, Denied())


@pytest.fixture
def several(changelog: Repository) -> Repository:
    """Two branches, each with a commit of its own."""
    changelog.git("checkout", "--quiet", "-b", "other")
    changelog.write("other.txt", "other\n")
    changelog.commit("Another one")
    changelog.git("checkout", "--quiet", "main")
    return changelog


@pytest.fixture
def known(several: Repository) -> Iterator[Kept]:
    """The repository, once it is old enough to be kept, and asked."""
    with closing(kept(several.path)) as made:
        time.sleep(kept_looks.SETTLED_NS / 1e9 + 0.02)
        made.tip(None, Budget(5, 10_000))
        yield made


def asked(known: Kept, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What git is asked from now on."""
    found: list[str] = []
    read = known.objects.read
    monkeypatch.setattr(known.objects, "read", lambda name, budget: (found.append(name), read(name, budget))[1])
    return found


def test_git_is_not_asked_again(known: Kept, several: Repository, monkeypatch: pytest.MonkeyPatch):
    """While nothing was written; the bytes of the commit count each time."""
    found = asked(known, monkeypatch)
    size = int(several.git("cat-file", "-s", "HEAD"))
    budget = Budget(5, 3 * size)
    for _ in range(3):
        assert known.tip("HEAD", budget).name == several.git("rev-parse", "HEAD")
    with pytest.raises(ObservationUnavailable):
        known.tip(None, budget)
    assert found == []


CHANGES: dict[str, Change] = {
    "a commit": lambda repo: (repo.write("new.txt", "new\n"), repo.commit("New")),
    "another branch": lambda repo: repo.git("checkout", "--quiet", "other"),
    "a detached HEAD": lambda repo: repo.git("checkout", "--quiet", "--detach", "other"),
    "the branch set elsewhere": lambda repo: repo.git("update-ref", "refs/heads/main", "refs/heads/other"),
    "the branch packed, then set": lambda repo: (
        repo.git("pack-refs", "--all"),
        repo.git("update-ref", "refs/heads/main", "refs/heads/other"),
    ),
    "the branch as another name": lambda repo: repo.git("symbolic-ref", "refs/heads/main", "refs/heads/other"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_moves_head_is_seen_at_once(known: Kept, several: Repository, change: Change):
    """However it is moved, in the very next look, and also once it is old."""
    before = known.tip(None, Budget(5, 10_000)).name
    change(several)
    now = several.git("rev-parse", "HEAD")
    assert now != before
    assert known.tip(None, Budget(5, 10_000)).name == now
    time.sleep(kept_looks.SETTLED_NS / 1e9 + 0.02)
    assert [known.tip(None, Budget(5, 10_000)).name for _ in range(2)] == [now, now]
    several.git("checkout", "--quiet", "--detach", before)
    assert known.tip(None, Budget(5, 10_000)).name == before


def test_a_branch_that_is_packed_is_kept_too(several: Repository, monkeypatch: pytest.MonkeyPatch):
    """As of a fresh clone, whose branches may stand in one file."""
    several.git("pack-refs", "--all")
    time.sleep(kept_looks.SETTLED_NS / 1e9 + 0.02)
    with closing(kept(several.path)) as made:
        made.tip(None, Budget(5, 10_000))
        found = asked(made, monkeypatch)
        made.tip(None, Budget(5, 10_000))
        assert found == []
        several.git("update-ref", "refs/heads/main", "refs/heads/other")
        assert made.tip(None, Budget(5, 10_000)).name == several.git("rev-parse", "other")


def test_another_name_of_a_branch_is_asked_for_each_time(several: Repository):
    """The branch that it names moves without a file of HEAD's being written."""
    several.git("symbolic-ref", "refs/heads/main", "refs/heads/other")
    time.sleep(kept_looks.SETTLED_NS / 1e9 + 0.02)
    with closing(kept(several.path)) as made:
        made.tip(None, Budget(5, 10_000))
        several.git("update-ref", "refs/heads/other", "refs/heads/other^")
        assert made.tip(None, Budget(5, 10_000)).name == several.git("rev-parse", "other")


def test_a_linked_work_tree_has_a_head_of_its_own(several: Repository, tmp_path: Path):
    """Its branch lies with the others, in the main repository."""
    linked = tmp_path / "linked"
    several.git("worktree", "add", "--quiet", str(linked), "other")
    time.sleep(kept_looks.SETTLED_NS / 1e9 + 0.02)
    with closing(kept(linked)) as made:
        assert made.tip(None, Budget(5, 10_000)).name == several.git("rev-parse", "other")
        several.git("update-ref", "refs/heads/other", "main")
        assert made.tip(None, Budget(5, 10_000)).name == several.git("rev-parse", "main")


@pytest.mark.parametrize("said", ["ref: refs/heads/../../../pipe\n", "ref: refs/heads/pipe\n"])
def test_a_pipe_in_place_of_a_branch_is_not_waited_for(several: Repository, said: str):
    """Who writes into the repository holds no look up longer than git is waited for."""
    os.mkfifo(several.path / ".git" / "refs" / "heads" / "pipe")
    os.mkfifo(several.path.parent / "pipe")
    (several.path / ".git" / "HEAD").write_text(said)
    began = time.monotonic()
    with closing(kept(several.path)) as made, pytest.raises(ObservationUnavailable):
        made.tip(None, Budget(1, 10_000))
    assert time.monotonic() - began < 60
