"""Git: commands, and objects by name."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import copy
from pathlib import Path

import pytest
from looking import Repository, reason

from sluice.topology.observers import git as git_module
from sluice.topology.observers.ask import Budget, ObservationUnavailable
from sluice.topology.observers.git import Git, GitFailed, Objects
from sluice.topology.observers.listings import Denied
from sluice.topology.observers.repository import Repository as Kept


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
    with pytest.raises(ObservationUnavailable, match="took longer"):
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
    with pytest.raises(ObservationUnavailable, match="more than 100000 bytes"):
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


@pytest.fixture
def objects(changelog: Repository) -> Iterator[Objects]:
    """Of a repository with one commit."""
    found = Git.at(str(changelog.path))
    assert found is not None
    with closing(Objects(found)) as made:
        yield made


@pytest.fixture
def fake_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Objects]:
    """Puts a script in git's place."""

    def put(script: str) -> Objects:
        program = tmp_path / "bin" / "git"
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setitem(git_module._ENVIRONMENT, "PATH", f"{program.parent}:{os.environ['PATH']}")
        return Objects(Git(str(tmp_path), str(tmp_path), bare=True))

    return put


def budget(seconds: float = 5, size: int = 1_000_000) -> Budget:
    return Budget(seconds, size)


def unasked(*asked: object) -> str:
    raise AssertionError(asked)


def process_of(objects: Objects) -> int:
    (batch,) = objects._idle
    return batch._process.pid


def test_one_process_answers_again_and_again(objects: Objects, changelog: Repository):
    """By hash and by HEAD; of what is not there it says so."""
    head = changelog.git("rev-parse", "HEAD")
    found = objects.read("HEAD^{commit}", budget())
    assert found is not None
    assert (found.name, found.kind) == (head, "commit")
    first = process_of(objects)
    assert objects.read(head, budget()) == found
    assert objects.read("0" * 40, budget()) is None
    assert objects.read(changelog.git("rev-parse", "HEAD^{tree}"), budget()) is not None
    assert process_of(objects) == first


def test_what_came_after_the_start_is_seen(objects: Objects, changelog: Repository):
    """New commits, and a HEAD that moved, also into packs."""
    objects.read("HEAD^{commit}", budget())
    second = changelog.commit("Second")
    found = objects.read("HEAD^{commit}", budget())
    assert found is not None
    assert found.name == second
    changelog.git("gc", "--quiet")
    third = changelog.commit("Third")
    changelog.git("pack-refs", "--all")
    for name in (second, third):
        assert objects.read(name, budget()) is not None
    latest = objects.read("HEAD^{commit}", budget())
    assert latest is not None
    assert latest.name == third


@pytest.mark.parametrize(
    "revision", ["main", "HEAD~1", "HEAD:x", "x\nHEAD", "refs/heads/main", "abc", "", "HEAD^{blob}"]
)
def test_what_a_stranger_wrote_is_not_asked(objects: Objects, revision: str):
    """Only hashes and HEAD: a defect of ours would be told here."""
    with pytest.raises(AssertionError):
        objects.read(revision, budget())


def test_a_bound_ends_the_process_and_the_next_look_starts_another(objects: Objects, changelog: Repository):
    """Half an answer must not pass for the beginning of the next."""
    changelog.write("big.txt", os.urandom(300_000).hex())
    changelog.commit("Big")
    blob = changelog.git("rev-parse", "HEAD:big.txt")
    with pytest.raises(ObservationUnavailable, match="more than 1000 bytes"):
        objects.read(blob, budget(size=1000))
    assert objects._idle == []
    found = objects.read(blob, budget())
    assert found is not None
    assert len(found.data) == 600_000


def test_a_process_that_ended_while_nobody_asked_is_no_trouble(objects: Objects):
    """Another takes its place, in the same look."""
    objects.read("HEAD^{commit}", budget())
    first = process_of(objects)
    os.killpg(first, signal.SIGKILL)
    time.sleep(0.05)
    assert objects.read("HEAD^{commit}", budget()) is not None
    assert process_of(objects) != first


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exec sleep 60", "took longer"),
        ("exit 1", "git has ended"),
        ("read x; printf '%040d commit 4\\nabcd\\n' 7; exec sleep 60", "is not what its name says"),
        ("read x; printf '%040d commit 99999999\\n' 7; exec sleep 60", "more than 1000000 bytes"),
        ("read x; printf '%040d commit 40\\nabcd' 7; exec sleep 60", "took longer"),
    ],
)
def test_a_git_that_lies_or_hangs_is_bounded(fake_objects: Callable[[str], Objects], script: str, why: str):
    """And never believed."""
    with closing(fake_objects(script)) as objects:
        began = time.monotonic()
        with pytest.raises(ObservationUnavailable, match=why):
            objects.read("HEAD^{commit}", budget(0.5))
        assert time.monotonic() - began < 55  # and not the minute that git sleeps


def test_what_is_no_answer_is_nothing(fake_objects: Callable[[str], Objects]):
    """As for an object that is not there."""
    with closing(fake_objects("read x; echo; read x; echo HEAD missing")) as objects:
        assert objects.read("HEAD^{commit}", budget()) is None
        assert objects.read("HEAD^{commit}", budget()) is None


def test_many_ask_at_once(objects: Objects, changelog: Repository):
    """Each has its own process; some are kept, all end."""
    head = changelog.git("rev-parse", "HEAD")

    def ask(_: int) -> set[str | None]:
        answers = [objects.read(head, budget()) for _ in range(50)]
        return {None if one is None else one.name for one in answers}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(8))) == [{head}] * 8
    assert 1 <= len(objects._idle) <= 4
    pids = [batch._process.pid for batch in objects._idle]
    objects.close()
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.killpg(pid, 0)
    assert objects._idle == []


def test_many_objects_come_in_their_order(objects: Objects, changelog: Repository):
    """From one process; one that is not there ends the look."""
    names = [changelog.git("rev-parse", one) for one in ("HEAD", "HEAD^{tree}", "HEAD:CHANGELOG.md", "HEAD")]
    found = list(objects.many(names, budget()))
    assert [one.name for one in found] == names
    assert [one.kind for one in found] == ["commit", "tree", "blob", "commit"]
    with pytest.raises(ObservationUnavailable, match="not in the repository"):
        list(objects.many(["0" * 40], budget()))
    with pytest.raises(ObservationUnavailable, match="bytes would have to be read"):
        list(objects.many(names, budget(size=100)))


# ---------------------------------------------------------------- repositories


@pytest.fixture
def kept(changelog: Repository) -> Iterator[Kept]:
    """What is kept of a repository."""
    found = Git.at(str(changelog.path))
    assert found is not None
    with closing(Kept(found, Denied())) as made:
        yield made


def test_a_short_hash_is_that_of_the_one_commit_that_begins_so(kept: Kept, changelog: Repository):
    """Not of a branch that is called so; of a tree or file none."""
    head = changelog.git("rev-parse", "HEAD")
    tip = kept.tip(None, budget()).name
    assert kept.reached(head[:7], tip, budget()) == [head]
    other = changelog.commit("Other")
    changelog.git("branch", head[:8], other)
    assert kept.reached(head[:8], other, budget()) == [head]
    tree = changelog.git("rev-parse", "HEAD^{tree}")
    for name in (tree, tree[:10], "0badcafe"):
        assert kept.reached(name, other, budget()) == []
    assert kept.reached(other, tip, budget()) == []


def test_a_tree_that_is_none_is_reported(kept: Kept, changelog: Repository):
    """Whatever a stranger's server packed into it."""
    name = changelog.git("hash-object", "-t", "tree", "--literally", "-w", "--stdin")
    assert len(name) == 40
    (changelog.path / "junk").write_bytes(b"100644 a\0short")
    junk = changelog.git("hash-object", "-t", "tree", "--literally", "-w", "junk")
    commit = kept.tip(None, budget())._replace(tree=junk)
    with pytest.raises(ObservationUnavailable, match="is none"):
        kept.entry(commit, "a", budget())


def test_what_is_learned_of_many_paths_is_what_each_one_is_told(kept: Kept, changelog: Repository):
    """Also of a file that has a commit's name, and of one that came back."""
    parent = kept.tip(None, budget()).name
    changelog.write(parent, "x\n")
    changelog.write("late.txt", "x\n")
    changelog.git("add", ".")
    changelog.commit("Named like its parent", "2026-06-01T00:00:00Z")
    changelog.git("rm", "-q", "late.txt")
    changelog.commit("Gone", "2026-06-02T00:00:00Z")
    changelog.write("late.txt", "y\n")
    changelog.git("add", ".")
    tip = changelog.commit("Back", "2026-06-03T00:00:00Z")
    paths = changelog.git("ls-tree", "-r", "--name-only", tip).split("\n")
    told = {path: kept.touched(path, tip, budget()) for path in paths}
    with closing(Kept(copy(kept.git), Denied(()))) as fresh:
        fresh.learn_touches(tip, budget())
        fresh.git.ask = unasked  # type: ignore[method-assign]
        found = {path: fresh.touched(path, tip, budget()) for path in paths}
    assert found == told
    assert {parent, "late.txt"} <= told.keys()


def test_what_is_learned_behind_merges_is_what_git_says_of_each_path(kept: Kept, changelog: Repository):
    """Of a merge git follows the first parent that has the path as it is: also where a merge took one side's file, made
    one of both, brought a file back, or joined three."""
    git, write, commit = changelog.git, changelog.write, changelog.commit
    main = git("rev-parse", "--abbrev-ref", "HEAD")
    for number, path in enumerate(("ours", "theirs", "both", "gone", "same")):
        write(path, "first\n")
        git("add", ".")
        commit(f"Add {path}", f"2026-06-01T00:00:0{number}Z")
    for name in ("side", "other"):
        git("checkout", "-q", "-b", name, main)
        for path in ("ours", "theirs", "both", "same"):
            write(path, "second\n" if path == "same" else f"{name}\n")
        write(f"only {name}", name)
        git("add", ".")
        commit(f"On {name}", "2026-06-02T00:00:00Z")
    git("checkout", "-q", main)
    write("same", "second\n")
    git("rm", "-q", "gone")
    commit("On main", "2026-06-03T00:00:00Z")
    git("merge", "-q", "--no-commit", "-s", "ours", "side")
    git("checkout", "side", "--", "theirs", "only side")
    git("checkout", f"{main}~1", "--", "gone")
    write("both", "made of both\n")
    git("add", ".")
    commit("Merge side", "2026-06-04T00:00:00Z")
    git("merge", "-q", "-m", "Merge other", "-X", "ours", "other")
    tip = git("rev-parse", "HEAD")
    assert len(git("rev-list", "--merges", tip).split()) == 2
    paths = git("ls-tree", "-r", "--name-only", tip).split("\n")
    told = {path: kept.touched(path, tip, budget()) for path in paths}
    with closing(Kept(copy(kept.git), Denied(()))) as fresh:
        fresh.learn_touches(tip, budget())
        fresh.git.ask = unasked  # type: ignore[method-assign]
        found = {path: fresh.touched(path, tip, budget()) for path in paths}
    assert found == told
    assert {"ours", "theirs", "both", "gone", "same", "only side", "only other"} <= told.keys()
    assert len({one.commit for one in told.values() if one is not None}) > 4


def test_what_lies_behind_the_commits_that_are_learned_is_asked_of_git(
    kept: Kept, changelog: Repository, monkeypatch: pytest.MonkeyPatch
):
    """History may be longer than anybody wants to read."""
    monkeypatch.setattr("sluice.topology.observers.repository.MAX_LEARNED", 1)
    first = kept.tip(None, budget()).name
    changelog.write("late.txt", "x\n")
    changelog.git("add", ".")
    tip = changelog.commit("Second", "2026-06-01T00:00:00Z")
    kept.learn_touches(tip, budget())
    asks, kept.git.ask = kept.git.ask, unasked  # type: ignore[method-assign]
    late = kept.touched("late.txt", tip, budget())
    assert late is not None
    assert late.commit == tip
    with pytest.raises(AssertionError):
        kept.touched("CHANGELOG.md", tip, budget())
    kept.git.ask = asks  # type: ignore[method-assign]
    early = kept.touched("CHANGELOG.md", tip, budget())
    assert early is not None
    assert early.commit == first


def test_the_newest_commit_of_a_path_is_kept_for_each_tip(kept: Kept, changelog: Repository):
    """Of another tip it may be another one."""
    first = kept.tip(None, budget()).name
    touch = kept.touched("CHANGELOG.md", first, budget())
    assert touch is not None
    assert touch.commit == first
    changelog.write("CHANGELOG.md", "x\n")
    second = changelog.commit("Second", "2026-06-01T00:00:00Z")
    newer = kept.touched("CHANGELOG.md", second, budget())
    assert newer is not None
    assert (newer.commit, newer.time) == (second, 1_780_272_000_000)
    assert kept.touched("CHANGELOG.md", first, budget()) == touch
    assert kept.touched("nowhere", second, budget()) is None
