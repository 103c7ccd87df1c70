"""substrate.git.log on real histories: which commits are looked at, and the words of assertions without checks.

What git's records and files say of checks is in test_history.py."""

from __future__ import annotations

import hashlib
import itertools
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from looking import TS, Repository, ask, holds, outcome, reason, try_check
from msgspec.structs import replace

from sluice.topology.observers.ask import Budget, ObservationUnavailable
from sluice.topology.observers.file_contents import File
from sluice.topology.observers.git import Git
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.repository import parse_commit
from sluice.topology.settings.settings import Settings

FIVE = "MAX_RETRIES was perhaps set to 5 there."


def head(repository: Repository) -> str:
    return repository.git("rev-parse", "HEAD")


# ---------------------------------------------------------------- searching


@pytest.mark.parametrize(
    "text",
    [
        "The history says “Read leap seconds”.",
        "Something was committed on 2026-05-25.",
        "Something was committed at 2026-05-25T08:00:00Z.",
        "Something was committed at 2026-05-25T10:00:00+02:00.",
        "A commit introduced MAX_RETRIES with the value 5.",
        "Leap seconds are read.",
        "There is a tag for version 1.2.0.",
        "Perhaps CHANGELOG.md has an entry dated 2026-05-25.",
        "`src/times.py` got `parse_time`.",
    ],
)
def test_message_date_changed_lines_and_tags_are_searched(changelog: Repository, text: str):
    """The newest commit that holds every word is the observation; that they are there counts for nothing."""
    changelog.git("tag", "v1.2.0")
    expected = head(changelog)
    changelog.commit("Another, empty one", "2026-06-01T00:00:00Z")
    found = ask(changelog, "git.log", text)
    assert (found.outcome, found.observation_id) == ("terms-present", expected)


def test_terms_have_to_be_in_one_commit(repository: Repository):
    """What two commits say between them, none of them says."""
    repository.commit("Add alpha_one")
    repository.commit("Add beta_two")
    found = ask(repository, "git.log", "alpha_one came with beta_two.")
    assert (found.outcome, found.detail) == (
        "absent",
        {"found": [], "missing": ["alpha_one", "beta_two"], "reason": "terms-missing"},
    )


def test_message_and_changed_lines_count_together(changelog: Repository):
    """A term may stand in the message and another in what was changed."""
    assert outcome(changelog, "git.log", "“Read leap seconds” set MAX_RETRIES.") == "terms-present"


def test_removed_lines_are_changed_lines(changelog: Repository):
    """What a commit took away is part of what it changed."""
    changelog.write("src/times.py", "x = 1\n")
    removed = changelog.commit("Simplify")
    assert ask(changelog, "git.log", "The commit “Simplify” took away MAX_RETRIES.").observation_id == removed


def test_removed_and_added_lines_do_not_stand_together(repository: Repository):
    """No phrase runs from a removed line into an added one, nor from one hunk or file into the next."""
    repository.write("a", "timeout is 30\n" + "x\n" * 20 + "one\n")
    repository.commit("a")
    repository.write("a", "seconds at most\n" + "x\n" * 20 + "two\n")
    repository.commit("b")
    assert outcome(repository, "git.log", "It says “timeout is 30 seconds at most”.") == "absent"
    assert outcome(repository, "git.log", "It says “seconds at most one”.") == "absent"
    assert outcome(repository, "git.log", "It says “seconds at most”.") == "terms-present"


def test_the_path_bounds_the_search(changelog: Repository):
    """With a path only commits that change it count, and of them only what they changed there."""
    assert outcome(changelog, "git.log", FIVE, path="src/times.py") == "terms-present"
    assert outcome(changelog, "git.log", FIVE, path="CHANGELOG.md") == "absent"
    assert outcome(changelog, "git.log", FIVE, path="src/other.py") == "absent"
    for path in ("*.py", ":(glob)**", "src/[a-z]imes.py", "src/{times,other}.py"):
        assert reason(changelog, "git.log", FIVE, path=path) == "the path is a pattern, not a file"


def test_the_path_in_the_text_bounds_the_search(changelog: Repository):
    """A path that only the text names has to be among the changed files, in any folder."""
    assert outcome(changelog, "git.log", "In times.py MAX_RETRIES became 5.") == "terms-present"
    assert outcome(changelog, "git.log", "In CHANGELOG.md MAX_RETRIES became 5.") == "absent"
    assert outcome(changelog, "git.log", "In other.py MAX_RETRIES became 5.") == "absent"


def test_a_rename_changes_no_lines(changelog: Repository):
    """Moving a file is no mention of what stands in it; both names are part of the change."""
    first = head(changelog)
    changelog.git("mv", "src/times.py", "src/clock.py")
    moved = changelog.commit("Move it")
    assert ask(changelog, "git.log", "It set MAX_RETRIES.").observation_id == first
    assert ask(changelog, "git.log", "`src/times.py` became `src/clock.py`.").observation_id == moved
    assert ask(changelog, "git.log", "“Move it” was done.", path="src/times.py").observation_id == moved


def test_a_merge_is_what_differs_from_every_parent(changelog: Repository):
    """What a merge brings in is found in the commits it merged; what it smuggled in, in the merge itself."""
    changelog.git("checkout", "--quiet", "-b", "side")
    changelog.write("side.txt", "from_the_side\n")
    side = changelog.commit("On the side")
    changelog.git("checkout", "--quiet", "main")
    changelog.write("main.txt", "from_main\n")
    changelog.commit("On main")
    changelog.git("merge", "--quiet", "--no-commit", "side")
    changelog.write("main.txt", "smuggled_in\n")
    merge = changelog.commit("Merge")
    assert ask(changelog, "git.log", "It has from_the_side.").observation_id == side
    assert ask(changelog, "git.log", "It has smuggled_in.").observation_id == merge
    # Named, a merge is all that it brought.
    assert outcome(changelog, "git.log", "It has from_the_side.", commit=merge) == "terms-present"
    assert outcome(changelog, "git.log", "It has from_main.", commit=merge) == "terms-present"  # it took that line away


# ---------------------------------------------------------------- refs


def test_only_what_the_ref_reaches_counts(changelog: Repository):
    """HEAD by default; a branch, a remote branch or a tag where the locator names one."""
    changelog.git("checkout", "--quiet", "-b", "feature/x")
    changelog.commit("Add only_here")
    changelog.git("tag", "t1")
    changelog.git("update-ref", "refs/remotes/origin/x", "HEAD")
    changelog.git("checkout", "--quiet", "main")
    assert outcome(changelog, "git.log", "Someone added only_here.") == "absent"
    for ref in ("feature/x", "refs/heads/feature/x", "t1", "refs/tags/t1", "origin/x", "refs/remotes/origin/x"):
        assert outcome(changelog, "git.log", "Someone added only_here.", ref=ref) == "terms-present", ref
    assert outcome(changelog, "git.log", "Someone added only_here.", ref="HEAD") == "absent"


@pytest.mark.parametrize(
    "ref",
    ["--output=x", "-p", "--all", "HEAD~1", "HEAD^", "main..side", "main@{1}", "@{u}", ":/fix", "main:src", "*", "a b",
     "refs/heads/*", "x\ny", "..", "main.lock", "", "nowhere", "heads/", "refs/heads/"],
)  # fmt: skip
def test_what_is_no_name_of_a_branch_or_tag_is_unavailable(changelog: Repository, ref: str):
    """Options, expressions and names of nothing are refused; no file comes of `--output`."""
    found = ask(changelog, "git.log", "“Read leap seconds”", ref=ref)
    assert found.outcome == "unavailable"
    assert not (changelog.path / "x").exists()


def test_commits_that_nobody_took_in_cannot_be_brought_in(changelog: Repository):
    """A hash as the ref, or a ref of another namespace, would reach what no branch and no tag holds."""
    changelog.git("checkout", "--quiet", "--detach")
    stray = changelog.commit("Add stray_thing")
    changelog.git("update-ref", "refs/pull/1/head", stray)
    changelog.git("update-ref", "refs/notes/x", stray)
    changelog.git("checkout", "--quiet", "main")
    for ref in (stray, stray[:10], "refs/pull/1/head", "pull/1/head", "refs/notes/x"):
        assert outcome(changelog, "git.log", "stray_thing is there.", ref=ref) == "unavailable"
    assert outcome(changelog, "git.log", "stray_thing is there.", declared=stray) == "unknown-observation"


def test_an_empty_repository_has_no_history(repository: Repository):
    """HEAD names no commit yet."""
    assert reason(repository, "git.log", "It says `x`.") == "HEAD names no commit"
    assert reason(repository, "git.log", "It says `x`.", declared="a" * 40) == "HEAD names no commit"


def test_a_folder_has_no_history(folder: Repository, changelog: Repository):
    """Without a repository at the root itself there is nothing to search: folders above are not looked at."""
    assert reason(folder, "git.log", "It says `x`.") == "the root is no git repository"
    assert reason(changelog.path / "src", "git.log", "It says `x`.") == "the root is no git repository"


# ---------------------------------------------------------------- a commit that is named


def test_a_declared_commit_is_looked_at_alone(changelog: Repository):
    """Seven digits or more name it; the id is the whole hash; nothing else is searched."""
    first = head(changelog)
    changelog.commit("Add something_else")
    for declared in (first, first[:7], first[:12].upper()):
        found = ask(changelog, "git.log", "“Read leap seconds”", declared=declared)
        assert (found.outcome, found.observation_id) == ("terms-present", first)
        assert outcome(changelog, "git.log", "something_else came.", declared=declared) == "absent"
        assert outcome(changelog, "git.log", "“Read leap seconds”", commit=declared) == "terms-present"
        assert outcome(changelog, "git.log", f"Commit {declared.lower()} says “Read leap seconds”.") == "terms-present"


def test_a_commit_that_is_not_there_is_unknown(changelog: Repository):
    """A well-formed hash that the ref does not reach was made up, declared as the id or in the locator alike."""
    made_up = "0badcafe1234567"
    found = ask(changelog, "git.log", "It says `x`.", declared=made_up)
    assert (found.outcome, found.observation_id) == ("unknown-observation", made_up)
    found = ask(changelog, "git.log", "It says `x`.", commit=made_up)
    assert (found.outcome, found.observation_id) == ("unknown-observation", made_up)
    assert outcome(changelog, "git.log", "It says `x`.", declared=made_up, kind="denial") == "unknown-observation"


@pytest.mark.parametrize("substrate_class", ["git.log", "grep", "code.read"])
def test_where_a_computed_commit_is_gone_what_stands_now_is_looked_at(changelog: Repository, substrate_class: str):
    """An amended commit takes its name along; the emitter's own id has to be true, and a false statement stays so."""
    changelog.write("limit.py", "LIMIT = 7\n")
    named = changelog.commit("Add a limit")
    true, false = ["equals(LIMIT, 7, path=limit.py)"], ["equals(LIMIT, 8, path=limit.py)"]
    id_of = {"declared": named} if substrate_class == "git.log" else {}
    look_at = {**id_of, "path": "limit.py", "commit": named}
    assert ask(changelog, substrate_class, "It is 7.", checks=true, **look_at).outcome == "corroborates"
    changelog.git("commit", "--quiet", "--amend", "--message", "Add the limit")

    stale = ask(changelog, substrate_class, "It is 7.", checks=true, **look_at)
    assert stale.outcome == ("unknown-observation" if id_of else "unavailable")
    anew = ask(changelog, substrate_class, "It is 7.", checks=true, computed=True, **look_at)
    assert anew.outcome == "corroborates"
    assert named not in (anew.observation_id, *(anew.locator or {}).values())
    assert ask(changelog, substrate_class, "It is 8.", checks=false, computed=True, **look_at).outcome != "corroborates"


def test_a_computed_id_that_is_invented_says_no_more_than_none(changelog: Repository):
    """The mark gains an emitter nothing: what is looked at and seen is what it is without an id."""
    for declared in (head(changelog), "0badcafe1234567", "sha256:" + "0" * 64):
        for text, checks in (("It has `parse_time`.", None), ("It is so.", ["defines(nothing_of_the_kind)"])):
            marked = ask(changelog, "git.log", text, checks=checks, declared=declared, computed=True)
            plain = ask(changelog, "git.log", text, checks=checks)
            assert marked == replace(plain, observed_at=marked.observed_at)


def test_a_commit_of_another_branch_is_unknown_here(changelog: Repository):
    """It exists, but not below the named reference."""
    changelog.git("checkout", "--quiet", "-b", "side")
    side = changelog.commit("Add `x`")
    changelog.git("checkout", "--quiet", "main")
    assert outcome(changelog, "git.log", "Add `x`", declared=side) == "unknown-observation"
    assert outcome(changelog, "git.log", "Add `x`", declared=side, ref="side") == "terms-present"


def test_other_objects_are_no_commits(changelog: Repository):
    """The hash of a tree, a file or a tag object is not the hash of a commit."""
    changelog.git("tag", "--annotate", "--message", "x", "v1")
    for name in ("HEAD^{tree}", "HEAD:CHANGELOG.md", "v1"):
        declared = changelog.git("rev-parse", name)
        assert outcome(changelog, "git.log", "It says `x`.", declared=declared) == "unknown-observation"


def test_a_ref_that_looks_like_a_hash_is_no_commit(changelog: Repository):
    """A branch called `abcdef0` does not make the hash abcdef0 true."""
    changelog.git("branch", "abcdef0")
    changelog.git("tag", "abcdef01")
    assert outcome(changelog, "git.log", "“Read leap seconds”", declared="abcdef0") == "unknown-observation"
    assert outcome(changelog, "git.log", "“Read leap seconds”", commit="abcdef01") == "unknown-observation"


def test_an_id_that_is_no_hash_proves_nothing(changelog: Repository):
    """Only a well-formed hash can be unknown; a locator's commit must be one."""
    assert outcome(changelog, "git.log", "“Read leap seconds”", declared="obs-1") == "terms-present"
    assert outcome(changelog, "git.log", "“Read leap seconds”", declared="abc12") == "terms-present"
    for commit in ("main", "abc12", "--all", "HEAD"):
        assert "no hash" in reason(changelog, "git.log", "“Read leap seconds”", commit=commit)


def test_words_have_to_be_in_the_one_commit_that_annotation_and_locator_name(changelog: Repository):
    """Two different commits, both there: in neither are they looked for."""
    first = head(changelog)
    second = changelog.commit("Read leap seconds again")
    assert outcome(changelog, "git.log", "“Read leap seconds”", declared=first, commit=second) == "absent"
    assert outcome(changelog, "git.log", "“Read leap seconds”", declared=first, commit=first[:8]) == "terms-present"


def test_a_named_commit_has_to_change_the_named_file(changelog: Repository):
    """The terms of a commit do not speak for a file that it did not touch."""
    commit = head(changelog)
    assert outcome(changelog, "git.log", "“Read leap seconds”", commit=commit, path="src/times.py") == "terms-present"
    assert outcome(changelog, "git.log", "“Read leap seconds”", commit=commit, path="setup.py") == "absent"


# ---------------------------------------------------------------- denials, bounds


def test_a_denial_is_never_borne_out_by_words_that_are_not_there(changelog: Repository):
    """Nor refuted by those that are."""
    assert outcome(changelog, "git.log", "Nobody ever wrote `password`.", kind="denial") == "absent"
    assert outcome(changelog, "git.log", "Nobody ever wrote MAX_RETRIES.", kind="denial") == "terms-present"
    assert outcome(changelog, "git.log", "Commit 0badcafe1 is not there.", kind="denial") == "absent"


def test_a_shallow_clone_calls_no_commit_unknown(changelog: Repository, tmp_path: Path):
    """Behind its end anything may lie."""
    first = head(changelog)
    changelog.commit("Second")
    target = tmp_path / "shallow"
    changelog.git("clone", "--quiet", "--depth", "1", f"file://{changelog.path}", str(target))
    assert "shallow" in reason(target, "git.log", "“Read leap seconds”", declared=first)
    assert "shallow" in reason(target, "git.log", "“Read leap seconds”", commit=first)
    assert "shallow" in reason(target, "code.read", "x", checks=["exists(a)"], commit=first)
    assert "shallow" in reason(target, "git.log", f"The commit {first[:9]} says `x`.")
    assert outcome(target, "git.log", "“Second” came.") == "terms-present"


def test_the_number_of_commits_is_bounded(repository: Repository):
    """More commits than the bound are no verdict, even where one of them would be."""
    for number in range(4):
        repository.commit(f"Add item_{number}")
    assert reason(repository, "git.log", "There is item_3.", bounds={"look_commits": 3}) == (
        "more than 3 commits would have to be searched, the bound `look_commits`"
    )
    assert outcome(repository, "git.log", "There is item_3.", bounds={"look_commits": 4}) == "terms-present"


def test_the_bytes_of_a_history_are_bounded(repository: Repository):
    """A commit of many megabytes ends the look."""
    repository.write("big.txt", "line of text\n" * 100_000)
    repository.commit("Big")
    assert "bytes" in reason(repository, "git.log", "It has `password`.", bounds={"look_bytes": 100_000})
    assert outcome(repository, "git.log", "It says “Big”.", bounds={"look_bytes": 100_000}) == "terms-present"


def test_a_binary_file_takes_nothing_of_a_search(repository: Repository):
    """Git tells that it changed, and nothing of its content."""
    repository.write("model.bin", b"\0" + os.urandom(300_000))
    repository.commit("Model")
    assert outcome(repository, "git.log", "It has `password`.", bounds={"look_bytes": 10_000}) == "absent"


def test_history_is_read_once_for_several_searches(repository: Repository, monkeypatch: pytest.MonkeyPatch):
    """Each search costs and finds what it would alone, whatever was searched before it and within which bound."""
    repository.write("first.txt", "first_name\n" * 10)
    repository.commit("First")
    repository.write("big.txt", "line of text\n" * 10_000)
    repository.commit("Big")
    repository.write("last.txt", "last_name\n" * 10)
    repository.commit("Last")
    fed: list[bytes] = []
    stream = Git.stream

    def counted(git: Git, budget: Budget, *words: str, feed: Iterable[bytes] = ()) -> Iterator[bytes]:
        names = list(feed)
        fed.extend(names if words[0] == "diff-tree" else ())
        return stream(git, budget, *words, feed=names)

    monkeypatch.setattr(Git, "stream", counted)

    number = itertools.count(1)

    def search(name: str, size: int, instruments: ObserverRegistry | None) -> tuple[str, object]:
        text = f"There is {'so ' * next(number)}{name}."  # of a text that was asked before, an answer may be kept
        seen = ask(repository, "git.log", text, bounds={"look_bytes": size}, instruments=instruments)
        return seen.outcome, (seen.detail or {}).get("reason")

    asked = [(name, size) for size in (2_000, 100_000, 1_000_000) for name in ("last_name", "no_name", "first_name")]
    alone = [search(name, size, None) for name, size in asked]
    assert [found[0] for found in alone] == [
        *("terms-present", "unavailable", "unavailable") * 2,
        *("terms-present", "absent", "terms-present"),
    ]
    for order in (asked, asked[::-1]):
        with closing(ObserverRegistry(Settings())) as instruments:
            assert [search(*one, instruments) for one in order] == [alone[asked.index(one)] for one in order]
            fed.clear()
            assert [search(*one, instruments) for one in asked] == alone
            assert not fed


@pytest.mark.timeout(60)
def test_a_pipe_called_gitattributes_is_not_waited_for(repository: Repository):
    """What changed lines are compared by is not read from the work tree."""
    repository.write("a.txt", "some_name\n")
    repository.commit("x")
    os.mkfifo(repository.path / ".gitattributes")
    assert outcome(repository, "git.log", "There is some_name.") == "terms-present"


def test_the_time_of_a_search_is_bounded_where_an_operator_says_so(changelog: Repository):
    """Git is stopped at the wall; without one no clock ends a look below a root."""
    assert "took longer" in reason(changelog, "git.log", "It has `x`.", bounds={"look_wall": 0.001})
    assert outcome(changelog, "git.log", "It has `x`.", bounds={"look_timeout": 1e-9}) == "absent"


# ---------------------------------------------------------------- what strangers can put into a repository


def raw_commit(
    repository: Repository, message: bytes, headers: bytes = b"", author: bytes = b"a <a@b> 1779696000 +0200"
) -> str:
    """A commit object made by hand, as any server would take it, and HEAD moved to it."""
    tree = repository.git("write-tree")
    parent = repository.git("rev-parse", "HEAD")
    data = b"tree %s\nparent %s\nauthor %s\ncommitter a <a@b> 1779696000 +0200\n%s\n%s" % (
        tree.encode(), parent.encode(), author, headers, message
    )  # fmt: skip
    blob = b"commit %d\0" % len(data) + data
    name = hashlib.sha1(blob).hexdigest()
    path = repository.path / ".git/objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(blob))
    repository.git("update-ref", "HEAD", name)
    return name


def test_an_object_that_lies_about_its_name_is_no_evidence(changelog: Repository):
    """The hash of what is read has to be the name under which it was asked for."""
    commit = changelog.commit("Add honest_thing")
    path = changelog.path / ".git/objects" / commit[:2] / commit[2:]
    data = zlib.decompress(path.read_bytes()).replace(b"honest_thing", b"forged_thing")
    os.chmod(path, 0o600)
    path.write_bytes(zlib.compress(data))
    assert reason(changelog, "git.log", "There is forged_thing.")
    with pytest.raises(ObservationUnavailable, match="is not what its name says"):
        parse_commit(commit, data.partition(b"\0")[2])


def test_replacements_and_grafts_do_not_count(changelog: Repository):
    """What the repository says stands in place of a commit is not the commit."""
    honest = head(changelog)
    tree = changelog.git("rev-parse", "HEAD^{tree}")
    dates = {"GIT_AUTHOR_DATE": "2026-05-25T00:00:00Z", "GIT_COMMITTER_DATE": "2026-05-25T00:00:00Z"}
    forged = changelog.git("commit-tree", tree, "-m", "Add forged_thing", **dates)
    changelog.git("replace", honest, forged)
    (changelog.path / ".git/info").mkdir(exist_ok=True)
    (changelog.path / ".git/info/grafts").write_text(f"{honest} {forged}\n")
    assert outcome(changelog, "git.log", "There is forged_thing.") == "absent"
    assert outcome(changelog, "git.log", "“Read leap seconds”") == "terms-present"


def test_a_message_cannot_pass_for_another_commit(changelog: Repository):
    """Messages with hashes, diffs and NULs in them stay messages of their own commit."""
    other = head(changelog)
    message = (
        b"x\n\n" + b"commit 1\0" + other.encode() + b"\ndiff --git a/y b/y\n+++ b/y\n@@ -0,0 +1 @@\n+forged_line\n"
    )
    name = raw_commit(changelog, message)
    assert ask(changelog, "git.log", "There is forged_line.").observation_id == name
    assert outcome(changelog, "git.log", "There is forged_line.", declared=other) == "absent"
    assert outcome(changelog, "git.log", "y got forged_line.", path="y") == "absent"


def test_content_cannot_pass_for_a_diff_header(repository: Repository):
    """Lines that look like headers once they have their sign are content."""
    repository.write("a.txt", "-- b.txt\n++ c.txt\n@@ -1 +1 @@\ndiff --git d.txt d.txt\n")
    repository.commit("Odd lines")
    repository.write("a.txt", "odd\n")
    repository.commit("Gone")
    assert outcome(repository, "git.log", "It took `-- b.txt` away.", path="a.txt") == "terms-present"
    for path in ("b.txt", "c.txt", "d.txt"):
        assert outcome(repository, "git.log", "It has “Odd lines”.", path=path) == "absent"


def test_a_false_encoding_does_not_hide_a_message(changelog: Repository):
    """A message is read in the encoding it claims where that is one for text, else as any text."""
    raw_commit(changelog, "Füge größe_1 hinzu".encode("latin-1"), b"encoding ISO-8859-1\n")
    assert outcome(changelog, "git.log", "There is größe_1.") == "terms-present"
    for encoding in (b"rot13", b"zip", b"unicode_escape", b"utf-7", b"../../x", b"\xff"):
        name = raw_commit(changelog, "Füge größe_2 hinzu".encode(), b"encoding %s\n" % encoding)
        assert ask(changelog, "git.log", "There is größe_2.").observation_id == name


@pytest.mark.parametrize("author", [b"a <a@b> 99999999999999999 +0000", b"a <a@b> -1 -9999", b"a <a@b> x", b"a", b""])
def test_an_impossible_author_date_is_no_date(changelog: Repository, author: bytes):
    """Such a commit has a message and no date; nothing breaks."""
    name = raw_commit(changelog, b"Add undated_thing", author=author)
    assert ask(changelog, "git.log", "There is undated_thing.").observation_id == name
    assert outcome(changelog, "git.log", "undated_thing is of 2026-05-26.", commit=name) in ("absent", "contradicts")


def test_names_of_every_kind_are_found(repository: Repository):
    """Files with spaces, line feeds, quotes and other scripts in their names are places like any other."""
    names = ("a b", "new\nline", '"quoted"', "tab\there", "Müller", "日本語.md", "back\\slash", "--option", " x")
    for name in names:
        repository.write(name, f"secret_{len(name)}\n")
    repository.commit("x")
    for name in names:
        assert outcome(repository, "git.log", f"It has secret_{len(name)}.", path=name) == "terms-present", name


def test_binary_changes_hold_no_lines(repository: Repository):
    """Noise proves nothing."""
    repository.write("image.png", b"\x89PNG\0 forged_thing \n3\n")
    repository.commit("Image")
    assert outcome(repository, "git.log", "There is forged_thing.") == "absent"


def test_attributes_do_not_hide_changes(repository: Repository):
    """A file that its own repository declares binary is shown all the same."""
    repository.write(".gitattributes", "* -diff\n*.txt diff=custom\n")
    repository.write("a.txt", "hidden_thing\n")
    repository.commit("x")
    assert outcome(repository, "git.log", "There is hidden_thing.") == "terms-present"


def test_the_repositorys_own_configuration_runs_nothing(changelog: Repository, tmp_path: Path):
    """No program that a configuration names is started: filters, diffs, monitors, pagers, hooks, signatures."""
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\n")
    program.chmod(0o755)
    core = ("fsmonitor", "pager", "sshCommand", "editor", "alternateRefsCommand")
    custom = ("diff.custom.textconv", "diff.custom.command", "filter.custom.clean", "filter.custom.process")
    for key in (*(f"core.{name}" for name in core), *custom, "diff.external", "gpg.program", "interactive.diffFilter"):
        changelog.git("config", key, str(program))
    changelog.git("config", "log.showSignature", "true")
    changelog.git("config", "core.hooksPath", str(tmp_path))
    (changelog.path / ".git/info").mkdir(exist_ok=True)
    (changelog.path / ".git/info/attributes").write_text("* diff=custom filter=custom\n")
    if mark.exists():
        mark.unlink()  # `git config` itself may have started a monitor
    for name in ("git.log", "grep", "code.read", "fs.mtime"):
        ask(changelog, name, "CHANGELOG.md has `parse_time` since 2026-05-25.")
        ask(changelog, name, "It has `nothing_like_it`.", kind="denial")
    assert not mark.exists()


def test_a_look_writes_nothing(changelog: Repository):
    """Not a file of the repository, its index and logs included, is touched."""

    def state() -> dict[str, tuple[int, int]]:
        return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in changelog.path.rglob("*")}

    before = state()
    for name in ("git.log", "grep", "code.read", "fs.mtime"):
        ask(changelog, name, "Perhaps CHANGELOG.md has an entry dated 2026-05-25.")
    assert state() == before


def test_an_index_or_objects_in_the_environment_do_not_mislead(
    changelog: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Variables that would point git elsewhere are not passed on."""
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_CONFIG_GLOBAL"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "core.bare")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "nonsense")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert outcome(changelog, "git.log", "“Read leap seconds”") == "terms-present"
    assert outcome(changelog, "grep", FIVE) == "terms-present"


def test_a_damaged_repository_is_unavailable(changelog: Repository):
    """Where git fails there is no verdict."""
    (changelog.path / ".git/HEAD").write_text("nonsense")
    assert "git" in reason(changelog, "git.log", "“Read leap seconds”")
    for path in (changelog.path / ".git/objects").rglob("*"):
        if path.is_file():
            path.unlink()
    assert reason(changelog, "git.log", "“Read leap seconds”")


def test_a_linked_work_tree_has_the_same_history(changelog: Repository, tmp_path: Path):
    """`.git` may be a file that leads to the repository, which is a root as well."""
    changelog.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    both = {"": tmp_path / "linked", "main": changelog.path}
    assert outcome(both, "git.log", "“Read leap seconds”") == "terms-present"
    assert outcome(both, "grep", FIVE) == "terms-present"


# ---------------------------------------------------------------- mirrors


def refresh(mirror: Repository, time: str) -> None:
    """As a fetch at that time would leave it."""
    (mirror.path / "FETCH_HEAD").touch()
    mirror.touch("FETCH_HEAD", time)


def test_a_stale_mirror_proves_no_absence(changelog: Repository):
    """Not refreshed since ts, it calls nothing unknown, verifies nothing that says «not», and refutes nothing; what it
    has, it has, and of a commit everything is what it ever was."""
    mirror = changelog.bare(mirror=True)
    commit = head(changelog)
    refresh(mirror, "2026-11-21T08:59:39")
    stale = "the mirror was not refreshed since the annotation's ts"
    assert reason(mirror, "git.log", "It has `x`.", declared="0badcafe1") == stale
    for check in ("missing(NEWS.md)", "exists(NEWS.md)", "not defines(Nowhere, section)", "equals(MAX_RETRIES, 6)"):
        for ts in (TS, None):
            path = "CHANGELOG.md" if "section" in check else "conf.ini"
            found = ask(mirror, "git.log", "x", checks=[check], path=path, ts=ts)
            assert found.outcome in ("unavailable", "absent"), check
            assert not found.verified, check
    assert reason(mirror, "code.read", "x", checks=["missing(NEWS.md)"]) == stale
    assert reason(mirror, "grep", "x", checks=["absent(password)"]) == stale
    assert holds(mirror, "grep", "absent(password)", commit=commit) is True
    assert holds(mirror, "git.log", "missing(NEWS.md)", commit=commit) is True
    assert holds(mirror, "git.log", f"not changed(NEWS.md, {commit})") is True
    assert try_check(mirror, "git.log", f"commit({commit}, date=2020-01-01)").outcome == "contradicts"
    assert holds(mirror, "git.log", "contains(parse_time)", path="CHANGELOG.md") is True
    assert outcome(mirror, "git.log", "“Read leap seconds”") == "terms-present"


def test_a_fresh_mirror_tells(changelog: Repository):
    """Refreshed after ts, it says what is not there."""
    mirror = changelog.bare(mirror=True)
    refresh(mirror, "2026-11-21T09:30:00")
    assert outcome(mirror, "git.log", "It has `x`.", declared="0badcafe1") == "unknown-observation"
    assert holds(mirror, "git.log", "missing(NEWS.md)") is True
    assert try_check(mirror, "code.read", "exists(NEWS.md)").outcome == "contradicts"


def test_a_bare_repository_of_its_own_is_no_mirror(changelog: Repository):
    """It is what others push to: nothing could be newer."""
    bare = changelog.bare()
    assert outcome(bare, "git.log", "It has `x`.", declared="0badcafe1") == "unknown-observation"
    assert holds(bare, "git.log", "missing(NEWS.md)") is True


def test_history_speaks_of_what_is_committed_whatever_stands_on_disk(changelog: Repository):
    """A true statement about a change that is not committed is neither borne out nor contradicted by history, until it
    is committed."""
    changelog.write("src/times.py", "MAX_RETRIES = 9\n", "2026-11-21T08:59:00")
    said, checks = "`MAX_RETRIES` is 9 in `src/times.py`.", ["equals(MAX_RETRIES, 9)"]
    assert outcome(changelog, "code.read", said, checks=checks, path="src/times.py") == "corroborates"
    assert outcome(changelog, "git.log", said, checks=checks, path="src/times.py") == "absent"
    changelog.commit("Try nine times", "2026-11-21T08:59:10Z")
    assert outcome(changelog, "git.log", said, checks=checks, path="src/times.py") == "corroborates"


LATER = "2026-11-21T09:30:00"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "4d" * 32 + "\nsize 12345\n"


def moved(changelog: Repository) -> None:
    changelog.write("new.py", "NEW = 7\n")
    changelog.git("add", "new.py")
    changelog.git("mv", "src/times.py", "src/clock.py")
    (changelog.path / "CHANGELOG.md").unlink()
    changelog.write("loose.py", "x = 1\n")


@pytest.mark.parametrize("path", ["new.py", "src/clock.py", "src/times.py", "CHANGELOG.md", "loose.py"])
def test_what_is_staged_moved_or_deleted_stands_so(changelog: Repository, path: str):
    """No class contradicts a true statement about a change that is not committed; history says neither."""
    moved(changelog)
    there = (changelog.path / path).exists()
    true = f"exists({path})" if there else f"missing({path})"
    for name in ("code.read", "grep"):
        assert try_check(changelog, name, true).holds is True
    expected = (None, None) if path == "loose.py" else (None, "not-committed")
    held = try_check(changelog, "git.log", true)
    assert (held.holds, held.reason) == expected or held.outcome == "unavailable"


@pytest.mark.parametrize(
    ("content", "is_own", "written"),
    [
        (None, False, None),
        (None, False, LATER),  # checked out anew: it is as it was committed
        ("MAX_RETRIES = 5\r\n\r\ndef parse_time(value):\r\n    return None\r\n", False, LATER),  # core.autocrlf
        ("MAX_RETRIES = 5\nMORE = 6\n", True, LATER),
    ],
)
def test_a_change_that_is_not_committed_is_told(
    changelog: Repository, content: str | None, is_own: bool, written: str | None
):
    """What is as it was committed has not changed since, whatever its modification time."""
    if content is not None:
        changelog.write("src/times.py", content, written)
    elif written is not None:
        changelog.touch("src/times.py", written)
    said, checks = "`MAX_RETRIES` is 5 in `src/times.py`.", ["equals(MAX_RETRIES, 5)"]
    for name in ("code.read", "grep"):
        found = ask(changelog, name, said, checks=checks, path="src/times.py")
        assert (found.outcome, (found.detail or {}).get("reason")) == ("corroborates", "own-edit" if is_own else None)
        wrong = try_check(changelog, name, "equals(MAX_RETRIES, 60)", path="src/times.py")
        assert (wrong.outcome, wrong.reason) == (("absent", "changed-since") if is_own else ("contradicts", "differs"))
        everywhere = try_check(changelog, "grep", "absent(MAX_RETRIES)")
        assert everywhere.outcome == ("absent" if is_own else "contradicts")


def test_a_fresh_clone_is_as_old_as_its_history(changelog: Repository):
    """Every file was written just now, and none has changed since its commit."""
    changelog.git("clone", "--quiet", ".", "../clone")
    clone = Repository(changelog.path.parent / "clone")
    for check in ("equals(MAX_RETRIES, 6)", "absent(parse_time)"):
        assert try_check(clone, "code.read", check, path="src/times.py").outcome == "contradicts"
        assert try_check(clone, "code.read", check, path="src/times.py", ts="2026-05-24T00:00:00Z").outcome == "absent"
    assert try_check(clone, "grep", "absent(parse_time)").outcome == "contradicts"
    assert try_check(clone, "grep", "defines(nowhere)").outcome == "contradicts"
    assert outcome(clone, "code.read", "It has `x`.", path="src/times.py", declared="sha256:" + "0" * 64) == (
        "unknown-observation"
    )


@pytest.mark.parametrize("name", ["code.read", "grep", "git.log"])
def test_a_pointer_is_not_the_content(changelog: Repository, name: str):
    """Of a file that Git LFS keeps elsewhere nothing is known but that it exists."""
    changelog.write("data.json", POINTER, "2026-05-25T12:00:00")
    changelog.commit("LFS")
    for check in ("equals(limit, 5, path=data.json)", "contains(oid, path=data.json)", "defines(x, path=data.json)"):
        assert reason(changelog, name, "x", checks=[check]).startswith("the content is not here")
    assert try_check(changelog, name, "exists(data.json)").holds is True
    assert try_check(changelog, name, "missing(data.json)").holds is False
    everywhere = {"absent(nowhere)": "not-whole", "contains(oid)": "not-found", "not defines(nowhere)": "not-whole"}
    for check, why in everywhere.items() if name == "grep" else ():
        assert try_check(changelog, name, check)[1:3] == (None, why), check


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (POINTER, True),
        (POINTER.replace("\n", "\r\n"), True),
        (POINTER + "more\n", False),
        ("# " + POINTER, False),
        (POINTER.replace("oid sha256", "oid sha1"), False),
        ("", False),
    ],
)
def test_a_file_about_pointers_is_none(data: str, expected: bool):
    """Only what is a pointer from its first byte to its last."""
    assert File(data.encode()).is_pointer is expected


@pytest.mark.parametrize("hooked", [False, True])
def test_a_submodule_hides_what_is_in_it(changelog: Repository, hooked: bool):
    """Nothing is absent from all files while some of them are not enumerated; what stands in the others is found."""
    if hooked:
        commit = changelog.git("rev-parse", "HEAD")
        changelog.git("update-index", "--add", "--cacheinfo", f"160000,{commit},vendor/lib")
    rows: dict[str, Any] = {"absent(nowhere)": None if hooked else True, "contains(MAX_RETRIES)": True}
    for check, expected in rows.items():
        assert try_check(changelog, "grep", check).holds is expected
