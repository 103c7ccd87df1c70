"""What changed since a commit or tree: facts from git, the index, the work tree and untracked files."""

from __future__ import annotations

import pytest
from looking import Repository, ask, try_check

BASE = {
    "a.py": "def old():\n    return 1\n",
    "b.py": "def kept():\n    return 2\n",
    "c.txt": "words\n",
}


@pytest.fixture
def work(repository: Repository) -> tuple[Repository, str]:
    """`since` a first commit: one committed change, one that is not; returns that commit's name."""
    for path, text in BASE.items():
        repository.write(path, text)
    base = repository.commit("Base")
    repository.write("d.py", "def new():\n    return 3\n")
    repository.commit("Add d", "2026-06-01T00:00:00Z")
    repository.write("a.py", "def newer():\n    return 1\n")
    return repository, base[:12]


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("added(new)", True),
        ("added(newer)", True),
        ("added(newer, path=a.py)", True),
        ("added(kept)", False),
        ("added(nowhere)", None),
        ("added(d.py)", True),
        ("added(b.py)", False),
        ("deleted(old)", True),
        ("deleted(kept)", False),
        ("deleted(new)", False),
        ("renamed(old, newer)", True),
        ("renamed(kept, newer)", False),
        ("touched([a.py, d.py])", True),
        ("touched([a.py])", False),
        ("touched([a.py, b.py, d.py])", False),
        ("unchanged(b.py)", True),
        ("unchanged(a.py)", False),
        ("not unchanged(a.py)", True),
        ("unchanged(d.py)", False),
    ],
)
@pytest.mark.parametrize("name", ["code.read", "grep"])
def test_the_work_tree_is_held_against_a_commit(work: tuple[Repository, str], name: str, check: str, expected: object):
    """What is committed since and what is not are both changes."""
    repository, base = work
    assert try_check(repository, name, f"{check[:-1]}, since={base})").holds is expected


@pytest.mark.parametrize(
    ("check", "expected"),
    [("added(new)", None), ("added(new, path=d.py)", True), ("unchanged(b.py)", True), ("unchanged(a.py)", None)],
)
def test_history_decides_where_the_path_is_as_committed(work: tuple[Repository, str], check: str, expected: object):
    """HEAD is not what stands where a file has changes that are not committed."""
    repository, base = work
    assert try_check(repository, "git.log", f"{check[:-1]}, since={base})").holds is expected


def test_untracked_files_leave_open_what_was_touched(work: tuple[Repository, str]):
    """They may be changes too; ignored ones are none."""
    repository, base = work
    repository.write("loose.txt", "x\n")
    for check in ("touched([a.py, d.py]", "deleted(old"):
        assert try_check(repository, "code.read", f"{check}, since={base})").holds is None
    repository.write(".git/info/exclude", "loose.txt\n")
    for check in ("touched([a.py, d.py]", "deleted(old"):
        assert try_check(repository, "code.read", f"{check}, since={base})").holds is True


def test_since_has_to_be_an_ancestor(work: tuple[Repository, str]):
    """Of another branch, of nothing, or of no hash at all nothing is decided."""
    repository, _ = work
    other = repository.git("commit-tree", "HEAD^{tree}", "-m", "Elsewhere")
    for since in (other[:12], "0badcafe1", "main"):
        assert try_check(repository, "code.read", f"unchanged(b.py, since={since})").holds is None


def test_a_tree_counts_where_a_recorder_kept_it(work: tuple[Repository, str]):
    """The work tree as it stood at the first call is no commit; a tree that nobody keeps is not believed."""
    repository, _ = work
    tree = repository.git("rev-parse", "HEAD^{tree}")
    assert try_check(repository, "code.read", f"touched([a.py], since={tree})").holds is None
    repository.git("update-ref", "refs/sluice/base/1", tree)
    assert try_check(repository, "code.read", f"touched([a.py], since={tree})").holds is True
    assert try_check(repository, "code.read", f"touched([d.py], since={tree})").holds is False


def test_a_kept_tree_is_another_one_than_that_of_head(work: tuple[Repository, str]):
    """Its own files are compared, not those of the commit that it is looked at from."""
    repository, _ = work
    tree = repository.git("rev-parse", "HEAD^{tree}")
    repository.git("update-ref", "refs/sluice/base/1", tree)
    repository.git("add", "--all")
    repository.git("commit", "-q", "-m", "Later")
    assert try_check(repository, "code.read", f"touched([a.py], since={tree})").holds is True
    assert try_check(repository, "code.read", f"touched([d.py], since={tree})").holds is False


def test_without_since_the_last_change_is_meant(work: tuple[Repository, str]):
    """Of the work tree that is what is not committed; of a commit what it changed."""
    repository, _ = work
    head = repository.git("rev-parse", "HEAD")
    assert try_check(repository, "code.read", "touched([a.py])").holds is True
    assert try_check(repository, "git.log", "touched([d.py])", commit=head).holds is True
    assert try_check(repository, "git.log", "touched([a.py])", commit=head).holds is False


@pytest.mark.parametrize(
    ("check", "expected"),
    [("only_in(kept, [b.py])", True), ("only_in(kept, [a.py])", False), ("only_in(return, [a.py, b.py])", False),
     ("only_in(nowhere, [a.py])", None)],
)  # fmt: skip
def test_only_in_needs_all_tracked_files(work: tuple[Repository, str], check: str, expected: object):
    """Another file with it refutes it; one that was not read leaves it open."""
    repository, _ = work
    assert try_check(repository, "grep", check).holds is expected
    repository.write(".env", "x\n")
    repository.git("add", "--force", ".env")
    assert try_check(repository, "grep", check).holds is (None if expected is True else expected)


def test_the_locator_binds_what_changed(work: tuple[Repository, str]):
    """What is said of all files is not seen in one of them."""
    repository, base = work
    for check, expected in (("unchanged(b.py", True), ("touched([a.py, d.py]", None), ("added(new", None)):
        assert try_check(repository, "code.read", f"{check}, since={base})", path="b.py").holds is expected
    told = ask(repository, "code.read", "x", checks=[f"unchanged(../x, since={base})"])
    assert told.outcome == "unavailable"
