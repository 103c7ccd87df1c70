"""Checks on the history of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from looking import Repository, ask, holds, reason, try_check

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


@pytest.fixture
def story(repository: Repository) -> Repository:
    """Three commits: `a.ini` and `b.txt` come, `a.ini` changes, `b.txt` becomes `c.txt`."""
    repository.write("a.ini", "[x]\nlimit = 40\n")
    repository.write("b.txt", "one line\nanother line\n")
    repository.commit("Begin", "2026-05-20T10:00:00Z")
    repository.write("a.ini", "[x]\nlimit = 42\n")
    repository.commit("Raise the limit\n\nTo 42.", "2026-05-21T10:00:00Z")
    repository.git("mv", "b.txt", "c.txt")
    repository.commit("Rename", "2026-05-22T10:00:00Z")
    return repository


def named(repository: Repository, revision: str) -> str:
    return repository.git("rev-parse", revision)


# ---------------------------------------------------------------- content


def test_content_is_decided_as_the_newest_commit_left_it_that_touched_it(story: Repository):
    """That commit, whole, is the observation, and what the observation says it looked at."""
    second = named(story, "HEAD~1")
    found = ask(story, "git.log", "`x.limit` is 42.", checks=["equals(x.limit, 42)"], path="a.ini")
    assert (found.outcome, found.observation_id) == ("corroborates", second)
    (entry,) = (found.detail or {})["checks"]
    assert (entry["holds"], entry["path"], entry["lines"], entry["commit"]) == (True, "a.ini", [2, 2], second)
    assert found.looked_at is not None
    assert (found.looked_at.commit, found.looked_at.path) == (second, "a.ini")
    wrong = try_check(story, "git.log", "equals(x.limit, 40)", path="a.ini")
    assert (wrong.outcome, wrong.where["commit"]) == ("contradicts", second)


def test_what_stands_in_the_work_tree_is_another_matter(story: Repository):
    """Git's records end with the last commit."""
    story.write("a.ini", "[x]\nlimit = 50\n")
    assert holds(story, "git.log", "equals(x.limit, 42)", path="a.ini") is True
    assert holds(story, "code.read", "equals(x.limit, 50)", path="a.ini") is True


def test_the_commit_that_the_locator_names_is_the_tip(story: Repository):
    """For every class that reads files; it has to be reached from HEAD or the reference."""
    first = named(story, "HEAD~2")
    for name in ("git.log", "code.read", "grep"):
        for commit in (first, first[:8], first.upper()):
            found = try_check(story, name, "equals(x.limit, 40)", path="a.ini", commit=commit)
            assert (found.holds, found.where["commit"]) == (True, first)
            assert try_check(story, name, "equals(x.limit, 42)", path="a.ini", commit=commit).outcome == "contradicts"
            assert holds(story, name, "missing(c.txt)", commit=commit) is True
            assert holds(story, name, "exists(b.txt)", commit=commit) is True
        assert "no hash" in reason(story, name, "x", checks=["exists(a.ini)"], commit="HEAD")
    stray = story.git("commit-tree", "HEAD^{tree}", "-m", "stray")
    for name in ("code.read", "grep"):
        assert reason(story, name, "x", checks=["exists(a.ini)"], commit=stray) == (
            "the locator's commit is not reachable"
        )
        assert reason(story, name, "x", checks=["exists(a.ini)"], commit="0badcafe")
    assert ask(story, "git.log", "x", checks=["exists(a.ini)"], commit=stray).outcome == "unknown-observation"


def test_a_reference_is_looked_at_in_its_own_tree(story: Repository):
    """Of a branch, a remote branch, a tag; what is not one is unavailable."""
    story.git("checkout", "--quiet", "-b", "side")
    story.write("a.ini", "[x]\nlimit = 99\n")
    story.commit("On the side", "2026-05-23T10:00:00Z")
    story.git("tag", "--annotate", "--message", "x", "v1")
    story.git("checkout", "--quiet", "main")
    for name in ("git.log", "code.read", "grep"):
        for ref in ("side", "refs/heads/side", "v1"):
            assert holds(story, name, "equals(x.limit, 99)", path="a.ini", ref=ref) is True
        assert reason(story, name, "x", checks=["exists(a.ini)"], ref="nowhere")
        assert reason(story, name, "x", checks=["exists(a.ini)"], ref="HEAD~1")
        stray = named(story, "side")
        assert reason(story, name, "x", checks=["exists(a.ini)"], ref=f"x-g{stray[:10]}")


def test_what_is_false_at_a_reference_is_dated_by_the_commit(story: Repository):
    """One that was committed after ts refutes nothing; nor one that was merged after it."""
    late = "2026-11-21T09:30:00Z"
    story.git("checkout", "--quiet", "-b", "side")
    story.write("a.ini", "[x]\nlimit = 99\n")
    story.commit("Early, on the side", "2026-05-23T10:00:00Z")
    story.git("checkout", "--quiet", "main")
    wrong = "equals(x.limit, 42)"
    for name in ("git.log", "code.read", "grep"):
        assert try_check(story, name, wrong, path="a.ini", ref="side").outcome == "contradicts"
    dates = {"GIT_AUTHOR_DATE": late, "GIT_COMMITTER_DATE": late}
    story.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side", **dates)
    for name in ("git.log", "code.read", "grep"):
        merged = try_check(story, name, wrong, path="a.ini", ref="main")
        assert merged[:3] == ("absent", False, "changed-since"), name
    assert holds(story, "git.log", "equals(x.limit, 99)", path="a.ini") is True


def test_a_declared_commit_has_to_be_there_and_decides_nothing(story: Repository):
    """The checks speak of the tip, whatever the annotation says it saw."""
    first = named(story, "HEAD~2")
    assert holds(story, "git.log", "equals(x.limit, 42)", path="a.ini", declared=first) is True
    made_up = ask(story, "git.log", "x", checks=["equals(x.limit, 42)"], path="a.ini", declared="0badcafe")
    assert (made_up.outcome, made_up.verified) == ("unknown-observation", None)
    newer = named(story, "HEAD")
    assert holds(story, "git.log", "equals(x.limit, 40)", path="a.ini", declared=newer, commit=first) is True


def test_without_a_path_a_check_on_content_is_undecided(story: Repository):
    """A history has no scope of all files, only messages; other checks are decided beside it."""
    head = named(story, "HEAD")
    found = ask(story, "git.log", "x", checks=["defines(limit)", f"commit({head})"])
    assert [one["holds"] for one in (found.detail or {})["checks"]] == [None, True]
    for check in ("absent(limit)", "count(limit, =, 1)"):
        assert try_check(story, "git.log", check, path="a.ini").reason == "other-substrate"


# ---------------------------------------------------------------- records


def test_a_commit_is_what_its_object_says(story: Repository):
    """Author, date and subject; a hash of seven digits or more that the tip reaches."""
    second = named(story, "HEAD~1")
    author, subject = ', author="author@example.org"', ', subject="Raise the limit"'
    for more in ("", ", date=2026-05-21", ", date=2026-05", author, subject, author + subject):
        found = try_check(story, "git.log", f"commit({second[:7]}{more})")
        assert (found.holds, found.where.get("commit")) == (True, second), more
    for more in (", date=2026-05-22", ', author="nobody at all"', ', subject="Lower the roof"'):
        assert try_check(story, "git.log", f"commit({second[:7]}{more})").outcome == "contradicts", more
        assert holds(story, "git.log", f"not commit({second[:7]}{more})") is True, more
    assert holds(story, "git.log", "commit(0badcafe)") is None
    assert holds(story, "git.log", "not commit(0badcafe)") is None
    assert holds(story, "git.log", f"commit({second})", commit=named(story, "HEAD~2")) is None


def test_the_observation_is_the_commit_that_a_check_names(story: Repository):
    """Whatever else is at the tip."""
    second = named(story, "HEAD~1")
    found = ask(story, "git.log", f"Commit {second[:9]} is dated 2026-05-21.")
    assert (found.outcome, found.observation_id, found.coverage) == ("corroborates", second, "whole")


def test_what_a_commit_changed(story: Repository):
    """Both names of a file that it renamed; what it did not touch it did not change."""
    first, second, third = (named(story, one) for one in ("HEAD~2", "HEAD~1", "HEAD"))
    for path, commit in (("a.ini", first), ("b.txt", first), ("a.ini", second), ("b.txt", third), ("c.txt", third)):
        assert holds(story, "git.log", f"changed({path}, {commit})") is True
    for path, commit in (("b.txt", second), ("a.ini", third), ("nowhere.txt", third)):
        assert holds(story, "git.log", f"not changed({path}, {commit})") is True
        assert try_check(story, "git.log", f"changed({path}, {commit})").outcome == "contradicts"


def test_what_a_commit_brought_and_took(story: Repository):
    """It stood nowhere before and stands there after; what it only moved it did neither."""
    first, second, third = (named(story, one) for one in ("HEAD~2", "HEAD~1", "HEAD"))
    assert holds(story, "git.log", f'introduced("limit = 42", {second})') is True
    assert holds(story, "git.log", f'introduced("limit = 42", {second}, path=a.ini)') is True
    assert holds(story, "git.log", f'removed("limit = 40", {second})') is True
    assert holds(story, "git.log", f'introduced("one line", {first})') is True
    assert holds(story, "git.log", f'not introduced("one line", {third})') is True
    assert try_check(story, "git.log", f'introduced("limit = 40", {second})').outcome == "contradicts"
    assert holds(story, "git.log", f'introduced("limit = 42", {second}, path=b.txt)') is None


def test_when_a_file_last_changed(story: Repository):
    """By the commit that touched it last; of a file that none touched nothing is known."""
    assert holds(story, "git.log", "last_changed(a.ini, =, 2026-05-21)") is True
    assert holds(story, "git.log", 'last_changed(a.ini, "<", 2026-05-22)') is True
    assert holds(story, "git.log", "last_changed(a.ini, <, 2026-05-22)") is True
    assert try_check(story, "git.log", "last_changed(a.ini, <, 2026-05-21)").outcome == "contradicts"
    assert holds(story, "git.log", "last_changed(nowhere.txt, <, 2026-05-22)") is None
    assert holds(story, "git.log", "not last_changed(nowhere.txt, <, 2026-05-22)") is None
    story.write("a.ini", "[x]\nlimit = 43\n")
    story.commit("Later", "2026-11-21T09:30:00Z")
    found = try_check(story, "git.log", "last_changed(a.ini, =, 2026-05-21)")
    assert found[:3] == ("absent", False, "changed-since")


def test_a_merge_is_what_it_brought_into_the_branch(story: Repository):
    """As against its first parent."""
    story.git("checkout", "--quiet", "-b", "side", "HEAD~1")
    story.write("side.txt", "from the side\n")
    story.commit("On the side", "2026-05-23T10:00:00Z")
    story.git("checkout", "--quiet", "main")
    story.git("merge", "--quiet", "--no-ff", "-m", "Merge", "side", GIT_COMMITTER_DATE="2026-05-24T10:00:00Z")
    merge = named(story, "HEAD")
    assert holds(story, "git.log", f'introduced("from the side", {merge})') is True
    assert holds(story, "git.log", f"changed(side.txt, {merge})") is True
    assert holds(story, "git.log", f"not changed(c.txt, {merge})") is True


def test_at_the_end_of_a_shallow_history_nothing_is_known_of_changes(story: Repository, tmp_path: Path):
    """The commit there seems to bring everything; what its tree holds it holds."""
    target = tmp_path / "shallow"
    story.git("clone", "--quiet", "--depth", "1", f"file://{story.path}", str(target))
    third = named(story, "HEAD")
    for check in (f"changed(a.ini, {third})", f"not changed(a.ini, {third})", f'introduced("limit = 42", {third})',
                  f'not removed("limit = 40", {third})', "last_changed(a.ini, =, 2026-05-22)",
                  "not last_changed(a.ini, =, 2026-05-21)", f"commit({named(story, 'HEAD~1')})"):  # fmt: skip
        assert holds(target, "git.log", check) is None, check
    assert holds(target, "git.log", f"commit({third}, date=2026-05-22)") is True
    assert holds(target, "git.log", "equals(x.limit, 42)", path="a.ini") is True
    assert holds(target, "git.log", "missing(b.txt)") is True


@pytest.mark.parametrize("name", [".env", "id_rsa", "conf/credentials.json"])
def test_the_history_of_what_is_never_looked_at_is_closed_as_well(repository: Repository, name: str):
    """Neither its lines nor its name; and nothing says that a quote stands nowhere in a commit that changed it."""
    repository.write(name, "PASSWORD=hunter2\n")
    repository.write("a.txt", "harmless\n")
    commit = repository.commit("Add both")
    for check in (f"exists({name})", f"missing({name})", f"changed({name}, {commit})", f"last_changed({name}, <, 2027)",
                  f'introduced("hunter2", {commit}, path={name})', f"contains(hunter2, path={name})"):  # fmt: skip
        assert reason(repository, "git.log", "x", checks=[check]) == "a file of that name is never looked at", check
    assert holds(repository, "git.log", f'introduced("hunter2", {commit})') is None
    assert holds(repository, "git.log", f'not introduced("hunter2", {commit})') is None
    assert holds(repository, "git.log", f'introduced("harmless", {commit})') in (True, None)
    assert ask(repository, "git.log", "The password there is `hunter2` now.").outcome == "absent"
    assert name not in str(ask(repository, "git.log", "x", checks=[f"changed(a.txt, {commit})"]).detail)
