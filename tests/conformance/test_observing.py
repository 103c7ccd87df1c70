"""The sentences of docs/checks.md and observing.md that speak of observers, each through `sluice look`.

A row of a table or a sentence of the notes is one test, named after it. What the tests see is what any user of the
filter sees: an emission in, observations out. The repository has two commits: 2026-05-20, which adds `src/limits.py`,
and 2026-05-25, tagged v1.2.0, which adds CHANGELOG.md; all files were last written on 2026-05-25 at noon.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sluice.topology.cli import main

CHANGELOG = "# Changes\n\n## 2026-05-25\n- Limits: “no more than 40 files”\n"
LIMITS = "MAX_FILES = 40\n\ndef check_limits(count):\n    return count <= MAX_FILES\n"
ENTRY = "CHANGELOG.md has an entry dated 2026-05-25."
ABOUT = "It is as the checks say."
LOG, GREP, READ, MTIME = (f"substrate.{name}" for name in ("git.log", "grep", "code.read", "fs.mtime"))
BEFORE, TS, AFTER = "2026-05-24T00:00:00Z", "2026-11-21T08:59:40Z", "2026-11-21T09:30:00"
Look = Callable[..., dict[str, Any]]


def sha(text: str) -> str:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def touch(path: Path, time: str) -> None:
    seconds = datetime.fromisoformat(time).replace(tzinfo=UTC).timestamp()
    os.utime(path, (seconds, seconds))


def git(root: Path, *arguments: str, date: str = "2026-05-25T10:00:00Z") -> str:
    who = {f"GIT_{one}_{what}": "a@example.org" for one in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    environment = {"PATH": os.environ["PATH"], "HOME": str(root), "GIT_CONFIG_NOSYSTEM": "1"} | who | dates
    done = subprocess.run(["git", *arguments], cwd=root, env=environment, capture_output=True, check=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The repository."""
    path = tmp_path / "root"
    (path / "src").mkdir(parents=True)
    git(path, "init", "--quiet", "--initial-branch", "main")
    for name, content, date in (("src/limits.py", LIMITS, "20"), ("CHANGELOG.md", CHANGELOG, "25")):
        (path / name).write_text(content)
        touch(path / name, "2026-05-25T12:00:00")
        git(path, "add", "--all")
        git(path, "commit", "--quiet", "--message", f"Add {name} for all", date=f"2026-05-{date}T10:00:00Z")
    git(path, "tag", "v1.2.0")
    return path


@pytest.fixture
def look(root: Path) -> Look:
    """Looks at one annotation of one assertion; the observation comes back."""

    def one(
        substrate_class: str,
        text: str,
        *,
        checks: Sequence[str] | None = None,
        kind: str = "assertion",
        declared: str | None = None,
        ts: str | None = TS,
        at: Path | Mapping[str, Path] = root,
        settings: dict[str, str] | None = None,
        substrates: Path | None = None,
        **locator: Any,
    ) -> dict[str, Any]:
        annotation: dict[str, Any] = {"substrate_class": substrate_class, "locator": locator or None}
        annotation |= {name: value for name, value in (("observation_id", declared), ("ts", ts)) if value is not None}
        assertion = {"assertion": text, "kind": kind, "provenance": annotation}
        assertion |= {} if checks is None else {"checks": list(checks)}
        emission = {"emission_id": "em-1", "emitted_at": "2026-11-21T09:00:00Z", "assertions": [assertion]}
        flags = ["--substrates", str(substrates)] if substrates else []
        named = {"": at} if isinstance(at, Path) else at
        for name, path in named.items():
            flags += ["--root", f"{name}={path}" if name else str(path)]
        result = CliRunner().invoke(
            main, ["look", *flags], input=json.dumps(emission), env=settings, catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        (observation,) = json.loads(result.stdout)["observations"]
        return observation

    return one


def verdict(observation: dict[str, Any]) -> str:
    return observation["outcome"]


def checked(observation: dict[str, Any]) -> dict[str, Any]:
    """What the observation says of its one check."""
    (check,) = observation["detail"]["checks"]
    return check


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


# ---------------------------------------------------------------- why


@pytest.mark.parametrize(
    "text",
    [
        "Release 1.2.3 is backdoored by the maintainers.",
        "The retry limit is above 42.",
        "The retry limit is not 42.",
        "The retry limit is never 42.",
        "Only the retry limit is 42, and nothing else is.",
        "The retry limit was 42 until release 1.2.3 raised it.",
        "If the retry limit is 42, release 1.2.3 is broken.",
    ],
)
@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ])
def test_words_that_stand_there_bear_nothing_out(look: Look, root: Path, text: str, substrate_class: str):
    """In a repository that says `retry limit 42` and `release 1.2.3` all of these were admitted once."""
    (root / "settings.txt").write_text("retry limit 42\nrelease 1.2.3\n")
    touch(root / "settings.txt", "2026-05-25T12:00:00")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "retry limit 42, release 1.2.3")
    for where in ({"path": "settings.txt"}, {}):
        for kind in ("assertion", "denial"):
            found = look(substrate_class, text, kind=kind, **where)
            assert verdict(found) in ("terms-present", "absent", "unavailable"), found
            assert not found.get("verified"), found


# ---------------------------------------------------------------- checks


def test_checks_belong_to_the_assertion_and_are_verified_by_their_places(look: Look):
    """`verified` and `refuted` are indices; `detail.checks` says of each what it came to, in its canonical form."""
    checks = ["contains( 40)", "contains(41)", "absent(MAX_FILES)", "calls(a, b"]
    found = look(READ, "`40`", checks=[one.replace("( ", "(") for one in checks], path="src/limits.py")
    assert (found["verified"], found["refuted"]) == ([0], [2])
    assert [(one["check"], one["holds"], one.get("reason")) for one in found["detail"]["checks"]] == [
        ("contains(40)", True, None),
        ("contains(41)", None, "not-found"),
        ("absent(MAX_FILES)", False, "differs"),
        ("calls(a, b", None, "unknown-check"),
    ]


DECIDED_BY = {
    "contains(40)": {READ, GREP, LOG},
    "absent(nowhere)": {READ, GREP},
    "exists(src/limits.py)": {READ, GREP, LOG},
    "missing(src/limits.py)": {READ, GREP, LOG},
    "defines(MAX_FILES)": {READ, GREP, LOG},
    "equals(MAX_FILES, 40)": {READ, GREP, LOG},
    "compare(MAX_FILES, >, 30)": {READ, GREP, LOG},
    "calls(check_limits, nowhere)": {READ, LOG},
    "uses(check_limits, MAX_FILES)": {READ, LOG},
    "imports(os)": {READ, LOG},
    'returns(check_limits, "count <= MAX_FILES")': {READ, LOG},
    "count(MAX_FILES, =, 2)": {READ, GREP},
    'line(src/limits.py, 1, "MAX_FILES = 40")': {READ, LOG},
    'order("MAX_FILES = 40", "return count")': {READ, LOG},
    "changed(src/limits.py, HEAD)": {LOG},
    'introduced("MAX_FILES = 40", HEAD)': {LOG},
    'removed("MAX_FILES = 40", HEAD)': {LOG},
    "commit(HEAD)": {LOG},
    "last_changed(src/limits.py, =, 2026-05-20)": {LOG},
    "modified(src/limits.py, =, 2026-05-25)": {MTIME},
    "peer(uid=0)": set(),
    "count(subscribers, =, 1)": set(),
}


@pytest.mark.parametrize("check", list(DECIDED_BY))
def test_each_check_is_decided_by_its_classes_alone(look: Look, root: Path, check: str):
    """The column «decided by»: the others leave it undecided."""
    written = check.replace("HEAD", git(root, "rev-parse", "HEAD~1"))
    for substrate_class in (READ, GREP, LOG, MTIME):
        found = checked(look(substrate_class, ABOUT, checks=[written], path="src/limits.py"))
        other = found.get("reason") == "other-substrate"
        assert other is (substrate_class not in DECIDED_BY[check]), found
        if not other:
            assert found["holds"] is not None, found


def test_a_check_speaks_of_the_path_that_it_names_or_of_the_locators(look: Look):
    """Its own goes before it, and where it is not the locator's nothing was seen there."""
    assert checked(look(READ, ABOUT, checks=["contains(Changes)"], path="CHANGELOG.md"))["holds"] is True
    own = ["contains(Changes, path=CHANGELOG.md)"]
    found = checked(look(READ, ABOUT, checks=own))
    assert (found["holds"], found["path"]) == (True, "CHANGELOG.md")
    found = checked(look(READ, ABOUT, checks=own, path="src/limits.py"))
    assert (found["holds"], found["reason"], found["path"]) == (None, "outside-locator", "CHANGELOG.md")


def test_a_check_is_decided_within_the_locators_lines(look: Look):
    """What stands elsewhere in the file was not looked at; a check may have lines of its own."""
    for lines, holds, reason in (([1, 1], None, "outside-locator"), ([4, 4], True, None)):
        found = checked(look(READ, ABOUT, checks=["contains(return)"], path="src/limits.py", lines=lines))
        assert (found["holds"], found.get("reason"), found["lines"]) == (holds, reason, [4, 4])
    assert checked(look(READ, ABOUT, checks=["contains(return, lines=1-1)"], path="src/limits.py"))["holds"] is None


def test_not_holds_where_the_check_is_exactly_false(look: Look):
    """What is undecided stays so."""
    for check, holds in (("not equals(MAX_FILES, 41)", True), ("not equals(MAX_FILES, 40)", False),
                         ("not equals(NOWHERE, 40)", None)):  # fmt: skip
        assert checked(look(READ, ABOUT, checks=[check], path="src/limits.py"))["holds"] is holds


# ---------------------------------------------------------------- what an observer returns


def test_corroborates(look: Look):
    """At least one check holds here, none is refuted, and coverage is not `none`."""
    said = "`src/limits.py` contains `MAX_FILES`."
    for checks, coverage in (["contains(MAX_FILES)"], "whole"), (["contains(MAX_FILES)", "contains(nowhere)"], "part"):
        found = look(READ, said, checks=checks, path="src/limits.py")
        assert (verdict(found), found["coverage"], found["verified"]) == ("corroborates", coverage, [0])
    assert verdict(look(READ, said, checks=["contains(nowhere)"], path="src/limits.py")) == "absent"


def test_contradicts(look: Look, root: Path):
    """A check is refuted: false in a file unchanged since `ts`, or `emitted_at`; or at the commit that is named."""
    said, wrong = "`MAX_FILES` in `src/limits.py` is 41.", ["contains(MAX_FILES)", "equals(MAX_FILES, 41)"]
    assert verdict(look(READ, said, checks=wrong, path="src/limits.py")) == "contradicts"
    (root / "src/limits.py").write_text(LIMITS + "\n")
    touch(root / "src/limits.py", AFTER)
    found = look(READ, said, checks=wrong, path="src/limits.py")
    assert (verdict(found), found["detail"]["reason"]) == ("absent", "changed-since")
    assert verdict(look(READ, said, checks=wrong, path="src/limits.py", commit=head(root))) == "contradicts"
    touch(root / "src/limits.py", "2026-11-21T08:59:50")
    assert verdict(look(READ, said, checks=wrong, path="src/limits.py")) == "absent"
    assert verdict(look(READ, said, checks=wrong, path="src/limits.py", ts=None)) == "contradicts"


@pytest.mark.parametrize(
    ("text", "checks", "reason"),
    [
        ("The tortoise is slower than the hare there.", None, "terms-missing"),
        ("`MAX_FILES`", ["contains(nowhere)"], "check-fails"),
        ("`MAX_FILES`", ["peer(uid=0)"], "check-undecided"),
        ("`MAX_FILES`", ["frobnicate(x)"], "check-undecided"),
        ("The tortoise", ["contains(MAX_FILES)"], "check-not-bound"),
        ("`MAX_FILES`", ["contains(MAX_FILES, path=NEWS.md)"], "path-missing"),
    ],
)
def test_absent_has_its_reasons(look: Look, text: str, checks: list[str] | None, reason: str):
    """One of the closed list."""
    found = look(READ, text, checks=checks, path="src/limits.py")
    assert (verdict(found), found["detail"]["reason"]) == ("absent", reason)


def test_where_a_file_is_not_there_missing_holds_and_exists_is_refuted(look: Look):
    """And so contradicts; all else is undecided."""
    for substrate_class in (READ, GREP, LOG):
        checks = ["missing(NEWS.md)", "exists(NEWS.md)", "contains(x, path=NEWS.md)"]
        found = look(substrate_class, ABOUT, checks=checks)
        assert (verdict(found), found["verified"], found["refuted"]) == ("contradicts", [0], [1])
        assert found["detail"]["checks"][2]["reason"] == "path-missing"


def test_terms_present(look: Look):
    """The assertion has no check, or only the derived one that fails, and the words are there."""
    assert verdict(look(READ, "It says “no more than 40 files”.", path="CHANGELOG.md")) == "terms-present"
    assert verdict(look(READ, "At most 40 files are allowed, it seems.", path="CHANGELOG.md")) == "terms-present"
    assert verdict(look(READ, "At most 40 commits are allowed, it seems.", path="CHANGELOG.md")) == "absent"
    found = look(READ, "On 2026-05-25 and 2026-05-26 nothing happened.", path="CHANGELOG.md")
    assert (found["detail"]["found"], found["detail"]["missing"]) == (["2026-05-25"], ["2026-05-26"])


def test_that_a_sentence_stands_there_is_no_evidence(look: Look, root: Path):
    """No check comes of it, and all of it is unchecked."""
    (root / "src/limits.py").write_text("# Limits are checked before anything else.\n" + LIMITS)
    found = look(READ, "Limits are checked before anything else.", path="src/limits.py")
    assert (verdict(found), found["coverage"], found["unchecked"]) == ("terms-present", "none", [[0, 40]])
    assert not found.get("verified")
    assert "checks" not in found["detail"]


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ])
def test_denials_are_borne_out_by_checks_like_everything_else(look: Look, substrate_class: str):
    """`missing`, `not …`; other checks bear nothing out on one, and words never do."""
    where = {"path": "src/limits.py"}
    denial = "`MAX_FILES` is not 41, and there is no `NEWS.md`."
    for check, locator in (("not equals(MAX_FILES, 41)", where), ("missing(NEWS.md)", {})):
        assert look(substrate_class, denial, kind="denial", checks=[check], **locator)["verified"] == [0]
    for check in ("equals(MAX_FILES, 40)", "contains(MAX_FILES)", "exists(CHANGELOG.md)"):
        found = look(substrate_class, denial, kind="denial", checks=[check], **where)
        assert (verdict(found), found["verified"]) == ("absent", [])
    mere = "Nobody ever allowed any tortoises in there."
    assert verdict(look(substrate_class, mere, kind="denial", **where)) in ("absent", "unavailable")


def test_looked_at_says_where(look: Look, root: Path):
    """The root's name, never its path; the path; the content of the whole file; the commit, where git's objects were
    read."""
    found = look(READ, ABOUT, checks=["contains(40)"], path="src/limits.py", lines=[1, 1])
    assert found["looked_at"] == {"root": "default", "path": "src/limits.py", "content": sha(LIMITS)}
    first = git(root, "rev-parse", "HEAD~1")
    for substrate_class, locator in ((READ, {"commit": first}), (LOG, {})):
        found = look(substrate_class, ABOUT, checks=["contains(40)"], path="src/limits.py", **locator)
        assert found["looked_at"] == {
            "root": "default", "path": "src/limits.py", "content": sha(LIMITS), "commit": first
        }  # fmt: skip
    assert str(root) not in json.dumps(found)


# ---------------------------------------------------------------- scope


def test_repo_ref_and_commit_are_honoured_or_unavailable(look: Look, root: Path):
    """Without `repo` it is the default root, or the only one; else nobody guesses."""
    other = root.with_name("other")
    other.mkdir()
    (other / "a.txt").write_text("elsewhere\n")
    here, both = {"": root, "lib": other}, {"app": root, "lib": other}
    assert (
        checked(look(READ, ABOUT, checks=["contains(elsewhere)"], path="a.txt", at=here, repo="lib"))["holds"] is True
    )
    assert checked(look(READ, ABOUT, checks=["contains(40)"], path="src/limits.py", at=here))["holds"] is True
    found = look(READ, ABOUT, checks=["contains(40)"], path="src/limits.py", at=both)
    assert (verdict(found), found["detail"]["reason"]) == ("unavailable", "which-repository")
    for locator in ({"repo": "nowhere"}, {"ref": "nowhere"}, {"commit": "0badcafe"}, {"commit": "HEAD"}):
        for checks in (["missing(NEWS.md)"], ["exists(NEWS.md)"]):
            assert verdict(look(READ, ABOUT, checks=checks, at=here, **locator)) == "unavailable"


def test_without_ref_or_commit_it_is_the_work_trees_tracked_files(look: Look, root: Path):
    """With one of them, git's objects."""
    (root / "src/limits.py").write_text(LIMITS.replace("40", "50"))
    assert checked(look(READ, ABOUT, checks=["contains(50)"], path="src/limits.py"))["holds"] is True
    for locator in ({"ref": "main"}, {"ref": "v1.2.0"}, {"commit": head(root)}):
        assert checked(look(READ, ABOUT, checks=["contains(40)"], path="src/limits.py", **locator))["holds"] is True


def test_without_any_path_the_scope_is_all_tracked_files_for_grep_alone(look: Look, root: Path):
    """Files that git does not track are not among them."""
    (root / "loose.txt").write_text("LOOSE_END\n")
    assert checked(look(GREP, ABOUT, checks=["contains(MAX_FILES)"]))["path"] == "src/limits.py"
    assert checked(look(GREP, ABOUT, checks=["absent(LOOSE_END)"]))["holds"] is True
    assert checked(look(GREP, ABOUT, checks=["count(40, =, 2)"]))["holds"] is True
    found = look(READ, ABOUT, checks=["contains(MAX_FILES)"])
    assert found["detail"]["reason"] == "neither the locator nor the assertion names one path"
    assert checked(look(LOG, ABOUT, checks=["contains(MAX_FILES)"]))["holds"] is None


@pytest.mark.parametrize("substrate_class", [GREP, READ])
@pytest.mark.parametrize("path", ["loose.txt", ".env", "id_rsa", "conf/secrets.yaml", "src/*.py", "link.md"])
def test_denied_untracked_and_many_files_are_unavailable(look: Look, root: Path, substrate_class: str, path: str):
    """For `missing` and `absent` as well; but that an untracked file exists is told, without its content."""
    (root / "loose.txt").write_text("x\n")
    (root / ".env").write_text("x\n")
    (root / "link.md").symlink_to("CHANGELOG.md")
    for check, is_there in (("exists", True), ("missing", False)):
        found = look(substrate_class, ABOUT, checks=[f'{check}("{path}")'])
        if path == "loose.txt":
            assert checked(found)["holds"] is is_there, found
        else:
            assert verdict(found) == "unavailable"
    for check in ("contains(x", "absent(x", "equals(x, 1"):
        assert verdict(look(substrate_class, ABOUT, checks=[f'{check}, path="{path}")'])) == "unavailable"
        assert verdict(look(substrate_class, ABOUT, checks=[f"{check})"], path=path)) == "unavailable"


def test_roots_that_are_empty_are_unavailable(look: Look, tmp_path: Path):
    """They refute nothing."""
    (tmp_path / "void").mkdir()
    for substrate_class in (LOG, GREP, READ, MTIME):
        for checks in (["exists(a.txt)"], ["missing(a.txt)"], ["absent(x)"]):
            assert verdict(look(substrate_class, ABOUT, checks=checks, at=tmp_path / "void", path="a.txt")) == (
                "unavailable"
            )


# ---------------------------------------------------------------- git.log


def test_git_log_decides_content_as_the_newest_commit_left_it(look: Look, root: Path):
    """Of those that the tip reaches and that touched it; its observation id is that commit, whole."""
    found = look(LOG, ABOUT, checks=["equals(MAX_FILES, 40)"], path="src/limits.py")
    assert (found["observation_id"], checked(found)["holds"]) == (git(root, "rev-parse", "HEAD~1"), True)


@pytest.mark.parametrize(
    ("check", "holds"),
    [
        ("commit(HEAD, date=2026-05-25)", True),
        ("commit(HEAD, date=2026-05-26)", False),
        ('commit(HEAD, subject="Add CHANGELOG.md for all")', True),
        ("commit(0badcafe)", None),
        ("changed(CHANGELOG.md, HEAD)", True),
        ("changed(src/limits.py, HEAD)", False),
        ('introduced("no more than 40 files", HEAD)', True),
        ('removed("no more than 40 files", HEAD)', False),
        ("last_changed(src/limits.py, =, 2026-05-20)", True),
        ("last_changed(src/limits.py, >, 2026-05-20)", False),
    ],
)
def test_git_log_decides_by_gits_records(look: Look, root: Path, check: str, holds: bool | None):
    """Of the commit that the check names, which has to be reached from the tip."""
    assert checked(look(LOG, ABOUT, checks=[check.replace("HEAD", head(root))]))["holds"] is holds


def test_git_log_contradicts_when_the_commit_bears_another_date(look: Look, root: Path):
    """A claim form reads it from the sentence."""
    assert verdict(look(LOG, f"Commit {head(root)[:9]} is dated 2026-05-25.")) == "corroborates"
    assert verdict(look(LOG, f"Commit {head(root)[:9]} is dated 2026-05-26.")) == "contradicts"


def test_git_log_calls_a_well_formed_hash_that_is_not_reachable_unknown(look: Look, root: Path):
    """Whether it is nowhere, or only below another ref; one that is there only has to be there."""
    found = look(LOG, ENTRY, declared="0badcafe12", checks=["exists(CHANGELOG.md)"])
    assert (verdict(found), found["observation_id"]) == ("unknown-observation", "0badcafe12")
    git(root, "checkout", "--quiet", "-b", "side")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")
    side = head(root)
    git(root, "checkout", "--quiet", "main")
    assert verdict(look(LOG, ENTRY, declared=side)) == "unknown-observation"
    assert checked(look(LOG, ABOUT, checks=["exists(CHANGELOG.md)"], declared=head(root)[:7]))["holds"] is True


# ---------------------------------------------------------------- grep


def test_greps_observation_id_is_the_hash_of_the_matched_lines(look: Look):
    """As grep prints them; of all tracked files where no path is named."""
    for where in ({"path": "src/limits.py"}, {}):
        found = look(GREP, "MAX_FILES may be 40 there, it seems.", pattern="MAX_FILES", **where)
        assert found["observation_id"] == sha("MAX_FILES = 40\n    return count <= MAX_FILES\n")


def test_greps_pattern_is_a_fixed_string_or_re2(look: Look):
    """`regex = true` makes it an expression; words and checks are held to the lines that match."""
    text = "MAX_FILES may be 40 there, it seems."
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES.*40")) == "absent"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="^MAX_FILES.*40$", regex=True)) == "terms-present"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="return")) == "absent"
    for pattern, holds, reason in (("return", None, "outside-locator"), ("MAX_FILES", True, None)):
        found = checked(look(GREP, ABOUT, checks=["contains(40)"], path="src/limits.py", pattern=pattern))
        assert (found["holds"], found.get("reason")) == (holds, reason)


def test_equals_in_several_files_with_different_results_is_ambiguous(look: Look, root: Path):
    """True in one file is enough otherwise."""
    for name, value in (("a.ini", 1), ("b.ini", 1), ("c.ini", 2)):
        (root / name).write_text(f"[x]\nsize = {value}\n")
        touch(root / name, "2026-05-25T12:00:00")
        git(root, "add", name)
        if name != "c.ini":
            assert checked(look(GREP, ABOUT, checks=["equals(x.size, 1)"]))["holds"] is True
            assert verdict(look(GREP, ABOUT, checks=["equals(x.size, 2)"])) == "contradicts"
    assert checked(look(GREP, ABOUT, checks=["equals(x.size, 1)"]))["reason"] == "ambiguous"


# ---------------------------------------------------------------- code.read, fs.mtime


def test_code_reads_observation_id_is_the_hash_of_the_bytes_read(look: Look):
    """Of the file, or of the lines that the locator names."""
    assert look(READ, ENTRY, path="CHANGELOG.md")["observation_id"] == sha(CHANGELOG)
    assert look(READ, ENTRY, path="CHANGELOG.md", lines=[3, 3])["observation_id"] == sha("## 2026-05-25\n")


def test_fs_mtimes_observation_id_is_the_time(look: Look, root: Path):
    """`mtime:` and RFC 3339, as fine as the file system tells."""
    text = "CHANGELOG.md was written on 2026-05-25."
    assert look(MTIME, text, path="CHANGELOG.md")["observation_id"] == "mtime:2026-05-25T12:00:00Z"
    os.utime(root / "CHANGELOG.md", ns=(1_779_710_400_000_000_120,) * 2)
    assert look(MTIME, text, path="CHANGELOG.md")["observation_id"] == "mtime:2026-05-25T12:00:00.00000012Z"


@pytest.mark.parametrize(
    ("relation", "expected"),
    [
        ("=, 2026-05-25", True),
        ("=, 2026-05-25T12:00Z", True),
        ("=, 2026-05", True),
        ("<, 2026-05-26", True),
        (">, 2026-05-24", True),
        (">=, 2026-05-25", True),
        ("=, 2026-05-26", False),
        ("=, 2026-05-25T12:01Z", False),
        ("=, 2026-06", False),
        ("<, 2026-05-25", False),
        (">, 2026-05-25", False),
        ("=, yesterday", None),
    ],
)
def test_fs_mtime_decides_modified(look: Look, relation: str, expected: bool | None):
    """At the precision at which the time is named."""
    found = look(MTIME, ABOUT, checks=[f"modified(CHANGELOG.md, {relation})"])
    assert checked(found)["holds"] is expected
    assert (verdict(found) == "contradicts") is (expected is False)


def test_fs_mtime_calls_another_time_than_declared_unknown(look: Look):
    """Where nothing wrote the file since ts."""
    text = "CHANGELOG.md was written in May 2026."
    assert verdict(look(MTIME, text, declared="mtime:2026-05-25T12:00:00Z")) == "terms-present"
    assert verdict(look(MTIME, text, declared="mtime:2026-05-25T11:00:00Z")) == "unknown-observation"
    assert verdict(look(MTIME, text, declared="mtime:2026-05-20T11:00:00Z", ts=BEFORE)) != "unknown-observation"


# ---------------------------------------------------------------- the notes


@pytest.mark.parametrize("substrate_class", [READ, GREP])
def test_content_hashes(look: Look, root: Path, substrate_class: str):
    """A hash that is not what stands there: unknown where the file has not changed since ts, otherwise absent.

    A file that is as it was committed has not changed, whenever it was checked out.
    """
    where = {"path": "CHANGELOG.md"} | ({"pattern": "2026-05-25"} if substrate_class == GREP else {})
    checks = ["contains(Limits)"]
    assert verdict(look(substrate_class, ENTRY, checks=checks, declared=sha("other"), **where)) == "unknown-observation"
    touch(root / "CHANGELOG.md", AFTER)
    assert verdict(look(substrate_class, ENTRY, checks=checks, declared=sha("other"), **where)) == "unknown-observation"
    (root / "CHANGELOG.md").write_text(CHANGELOG + "- 2026-05-25: more\n")
    touch(root / "CHANGELOG.md", AFTER)
    assert verdict(look(substrate_class, ENTRY, checks=checks, declared=sha("other"), **where)) == "absent"


def test_content_hashes_by_the_repositorys_history(look: Look, root: Path):
    """Where there are no modification times, the last commit of the file tells."""
    bare = root.with_name("bare.git")
    git(root, "clone", "--quiet", "--bare", str(root), str(bare))
    git(bare, "remote", "remove", "origin")
    assert verdict(look(READ, ENTRY, at=bare, path="CHANGELOG.md", declared=sha("other"))) == "unknown-observation"
    assert verdict(look(READ, ENTRY, at=bare, path="CHANGELOG.md", declared=sha("other"), ts=BEFORE)) == "absent"


def test_no_locator(look: Look):
    """git.log from HEAD, grep the tracked files, code.read and fs.mtime the one path that the assertion names."""
    for substrate_class in (LOG, GREP, READ):
        found = look(substrate_class, ENTRY)
        assert (verdict(found), checked(found)["path"], checked(found)["by"]) == (
            "corroborates",
            "CHANGELOG.md",
            "form",
        )
    found = look(MTIME, ENTRY)
    assert (verdict(found), checked(found)["reason"]) == ("absent", "other-substrate")
    for substrate_class in (READ, MTIME):
        for text in ("There is an entry dated 2026-05-25.", "CHANGELOG.md and src/limits.py are of 2026-05-25."):
            found = look(substrate_class, text)
            assert verdict(found) == "unavailable"
            assert found["detail"]["reason"] == "neither the locator nor the assertion names one path"


def test_stale_view(look: Look, root: Path):
    """A mirror proves no absence, and refutes nothing, until it was refreshed after ts; at a commit it does."""
    mirror = root.with_name("mirror.git")
    git(root, "clone", "--quiet", "--mirror", str(root), str(mirror))
    (mirror / "FETCH_HEAD").touch()
    for time, unknown, missing, exists in (
        ("2026-11-21T08:00:00", "unavailable", "unavailable", "unavailable"),
        (AFTER, "unknown-observation", "absent", "contradicts"),
    ):
        touch(mirror / "FETCH_HEAD", time)
        assert verdict(look(LOG, ENTRY, at=mirror, declared="0badcafe12")) == unknown
        for substrate_class in (LOG, READ):
            assert verdict(look(substrate_class, ABOUT, at=mirror, checks=["missing(NEWS.md)"])) == missing
            assert verdict(look(substrate_class, ABOUT, at=mirror, checks=["exists(NEWS.md)"])) == exists
            found = look(substrate_class, ABOUT, at=mirror, checks=["missing(NEWS.md)"], commit=head(root))
            assert checked(found)["holds"] is True
        assert checked(look(LOG, ABOUT, at=mirror, checks=["exists(CHANGELOG.md)"]))["holds"] is True


@pytest.mark.parametrize(
    ("substrate_class", "setting", "value"),
    [
        (READ, "SLUICE_LOOK_BYTES", "10"),
        (GREP, "SLUICE_LOOK_BYTES", "10"),
        (LOG, "SLUICE_LOOK_BYTES", "10"),
        (LOG, "SLUICE_LOOK_COMMITS", "1"),
        (GREP, "SLUICE_LOOK_MATCHES", "1"),
        (READ, "SLUICE_LOOK_WALL", "0.0000001"),
        (GREP, "SLUICE_LOOK_WALL", "0.0000001"),
        (LOG, "SLUICE_LOOK_WALL", "0.0000001"),
    ],
)
def test_bounds(look: Look, substrate_class: str, setting: str, value: str):
    """A wall, bytes, commits and matches come from the configuration; reaching one is unavailable, never a verdict."""
    text = "MAX_FILES may be 40 there, it seems."
    where = {} if substrate_class == LOG else {"path": "src/limits.py"}
    assert verdict(look(substrate_class, text, **where)) == "terms-present"
    assert verdict(look(substrate_class, text, settings={setting: value}, **where)) == "unavailable"
    if setting not in ("SLUICE_LOOK_COMMITS", "SLUICE_LOOK_MATCHES"):
        for check in ("absent(nowhere)", "not equals(MAX_FILES, 41)"):
            found = look(substrate_class, ABOUT, checks=[check], settings={setting: value}, path="src/limits.py")
            assert not found.get("verified")


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ, MTIME])
@pytest.mark.parametrize("path", ["../root", "/etc/passwd", "CHANGELOG.md\0", "a/../../x", ".git/HEAD"])
def test_impossible_or_forbidden_places_are_unavailable_before_any_other_test(
    look: Look, substrate_class: str, path: str
):
    """Even where the file is not there, or what is declared was made up."""
    found = look(substrate_class, ENTRY, declared="0badcafe12", path=path, checks=["missing(NEWS.md)"])
    assert (verdict(found), found["observation_id"]) == ("unavailable", "0badcafe12")


@pytest.mark.parametrize("substrate_class", [GREP, READ, MTIME])
def test_never_through_a_symbolic_link(look: Look, root: Path, substrate_class: str):
    """Wherever it leads."""
    (root / "link.md").symlink_to("CHANGELOG.md")
    (root / "out").symlink_to("/")
    assert verdict(look(substrate_class, ENTRY, path="link.md")) == "unavailable"
    assert verdict(look(substrate_class, ENTRY, path="out/etc/passwd")) == "unavailable"


def test_never_a_shell(look: Look, root: Path):
    """What a shell would run or expand is only a name that is not there."""
    for word in ("$(touch ran)", "`touch ran`", "; touch ran", "| touch ran", "*"):
        look(READ, ENTRY, path=word)
        look(GREP, ENTRY, pattern=word, path=word)
        look(LOG, ENTRY, path=word)
        look(LOG, ABOUT, checks=[f"changed({json.dumps(word)}, {head(root)})"])
        assert verdict(look(LOG, ENTRY, ref=word)) == "unavailable"
    assert not list(root.rglob("ran"))


def test_never_a_write(look: Look, root: Path):
    """Nothing below the root, `.git` included, is other than before."""

    def state() -> list[tuple[str, int, int]]:
        return [(str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in sorted(root.rglob("*"))]

    before = state()
    for substrate_class in (LOG, GREP, READ, MTIME):
        look(substrate_class, ENTRY)
        look(substrate_class, ABOUT, checks=["contains(40)", "absent(nowhere)", "exists(src)"], path="src/limits.py")
    assert state() == before


def test_never_credentials_in_an_observation(look: Look):
    """Of a locator only what the class knows is repeated."""
    assert look(READ, ENTRY, path="CHANGELOG.md", token="secret")["locator"] == {"path": "CHANGELOG.md"}


def test_observed_at_is_when_the_look_began(look: Look):
    """Between the start of the command and now, in UTC with a Z."""
    before = datetime.now(UTC).replace(microsecond=0)
    assert before <= datetime.fromisoformat(look(READ, ENTRY)["observed_at"]) <= datetime.now(UTC)


@pytest.mark.parametrize("name", ["mcp.brief", "do.sse-count", "unix.peercred"])
def test_a_class_without_an_observer_is_unavailable(look: Look, name: str):
    """With the reason that no such observer is configured."""
    found = look(f"substrate.{name}", ENTRY, url="https://example.org/events")
    assert (verdict(found), found["observation_id"]) == ("unavailable", f"none:substrate.{name}")
    assert found["detail"]["reason"] == f"no observer for substrate.{name} is configured"


# ---------------------------------------------------------------- beyond the root

BRIEF, COUNT, PEER = (f"substrate.{name}" for name in ("mcp.brief", "do.sse-count", "unix.peercred"))
SERVER = Path(__file__).parents[1] / "topology" / "observers" / "mcp_server.py"


@pytest.fixture
def channel() -> Iterator[str]:
    """The URL of a stream of events that reports 14 subscribers."""
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            connection.recv(65_536)
            connection.sendall(head + b'event: presence\ndata: {"n": 14}\n\n')
            open_.append(connection)

    open_: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/events"
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(5)
    for connection in open_:
        connection.close()


@pytest.fixture
def listed(tmp_path: Path, channel: str) -> Iterator[Path]:
    """An operator's list of a server, that channel, and a socket on which this process listens."""
    path = str(tmp_path / "app.sock")
    command = json.dumps([sys.executable, str(SERVER), "stdio"])
    (tmp_path / "list.toml").write_text(
        f"[mcp.tracker]\ncommand = {command}\n"
        "tools = { brief = { arguments.issue = true }, echo = { arguments.text = true } }\n"
        f'[sse]\nurls = ["{channel}"]\nevent = "presence"\npointer = "/n"\n'
        f'[peercred]\nsockets = ["{path}"]\n'
    )
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        yield tmp_path / "list.toml"


@pytest.mark.slow
def test_mcp_brief(look: Look, listed: Path):
    """The result of a tool call: its hash as the id; checks on its text and values, unless they only repeat what the
    locator says; nothing where the server says that it does not exist."""

    def brief(issue: int, *checks: str, **more: Any) -> dict[str, Any]:
        more |= {"server": "tracker", "tool": "brief", "arguments": {"issue": issue}}
        more["settings"] = {"SLUICE_LOOK_TIMEOUT": "30"}  # the server starts anew for each look
        return look(BRIEF, ABOUT, checks=checks, substrates=listed, declared="sha256:0badcafe12", **more)

    found = brief(7, "equals(closed, 2026-05-25)", "contains(merged)", "count(merged, =, 1)", "equals(issue, 7)")
    assert (found["verified"], found["refuted"]) == ([0, 1, 2], [])
    assert found["observation_id"].startswith("sha256:")
    assert found["observation_id"] != "sha256:0badcafe12"
    assert verdict(brief(7, "equals(status, open)")) == "contradicts"
    missing = brief(99, "equals(status, merged)")
    assert (verdict(missing), missing["detail"]["reason"]) == ("absent", "path-missing")
    assert verdict(brief(97, "equals(status, merged)")) == "unavailable"


def test_sse_count(look: Look, listed: Path, channel: str):
    """The count that the channel reports; another number contradicts, beyond the tolerance."""

    def count(check: str, **more: Any) -> dict[str, Any]:
        return look(COUNT, ABOUT, checks=[check], substrates=listed, declared="sse:3", url=channel, **more)

    assert count("count(subscribers, =, 14)")["observation_id"] == "sse:14"
    assert count("count(subscribers, =, 14)")["verified"] == [0]
    assert verdict(count("count(subscribers, =, 15)")) == "contradicts"
    assert verdict(count("count(subscribers, =, 15)", tolerance=1)) == "absent"
    assert count("not count(subscribers, =, 15)", kind="denial")["verified"] == [0]
    assert checked(count("count(people, =, 14)"))["reason"] == "other-substrate"


def test_a_count_of_subscribers_is_no_count_of_that_word(look: Look, root: Path):
    """Else two classes would verify one check by two different facts."""
    (root / "src/limits.py").write_text("subscribers\n" * 14)
    for substrate_class in (READ, GREP):
        found = checked(look(substrate_class, ABOUT, checks=["count(subscribers, =, 14)"], path="src/limits.py"))
        assert (found["holds"], found["reason"]) == (None, "other-substrate")
    found = checked(look(READ, ABOUT, checks=["count(subscribers, =, 14, path=src/limits.py)"]))
    assert found["holds"] is True


def test_unix_peercred(look: Look, listed: Path):
    """An HMAC of the peer's credentials; another uid, gid, pid or user contradicts; a made-up HMAC is unknown."""
    path = str(listed.with_name("app.sock"))

    def peer(check: str, **more: Any) -> dict[str, Any]:
        return look(PEER, ABOUT, checks=[check], substrates=listed, socket=path, **more)

    right = f"peer(uid={os.geteuid()}, pid={os.getpid()})"
    found = peer(right)
    assert (found["verified"], found["tier"]) == ([0], "identity-bound")
    assert found["detail"]["checks"] == [{"check": right, "holds": True}]
    assert "looked_at" not in found
    for wrong in (f"uid={os.geteuid() + 1}", f"gid={os.getegid() + 1}", f"pid={os.getpid() + 1}"):
        assert verdict(peer(f"peer({wrong})")) == "contradicts"
    made_up = "peercred:" + "0" * 64
    assert verdict(peer("peer(uid=0)", declared=made_up, ts="2999-01-01T00:00:00Z")) == "unknown-observation"


@pytest.mark.parametrize(
    ("name", "locator"),
    [
        ("mcp.brief", {"server": "other", "tool": "brief"}),
        ("mcp.brief", {"server": "tracker", "tool": "delete"}),
        ("do.sse-count", {"url": "http://127.0.0.1:1/events"}),
        ("unix.peercred", {"socket": "/run/other.sock"}),
    ],
)
def test_never_what_the_operator_did_not_list(look: Look, listed: Path, name: str, locator: dict[str, str]):
    """Unavailable before any other test; nothing of the locator is repeated."""
    found = look(f"substrate.{name}", "It is what it is.", substrates=listed, **locator)
    assert verdict(found) == "unavailable"
    assert found["detail"]["reason"].endswith("is not on the operator's list")
    assert "locator" not in found
