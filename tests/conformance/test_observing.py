"""The sentences of observing.md, each through `sluice look`.

A row of its table or a sentence of its notes is one test, named after it. What the tests see is what any user of the
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
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from sluice.topology.cli import main

CHANGELOG = "# Changes\n\n## 2026-05-25\n- Limits: “no more than 40 files”\n"
LIMITS = "MAX_FILES = 40\n\ndef check_limits(count):\n    return count <= MAX_FILES\n"
ENTRY = "CHANGELOG.md has an entry dated 2026-05-25."
NO_ENTRY = "CHANGELOG.md has no entry dated {}."
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
        kind: str = "assertion",
        declared: str | None = None,
        ts: str | None = TS,
        at: Path = root,
        settings: dict[str, str] | None = None,
        substrates: Path | None = None,
        **locator: Any,
    ) -> dict[str, Any]:
        annotation: dict[str, Any] = {"substrate_class": substrate_class, "locator": locator or None}
        annotation |= {name: value for name, value in (("observation_id", declared), ("ts", ts)) if value is not None}
        assertion = {"assertion": text, "kind": kind, "provenance": annotation}
        emission = {"emission_id": "em-1", "emitted_at": "2026-11-21T09:00:00Z", "assertions": [assertion]}
        flags = ["--substrates", str(substrates)] if substrates else []
        result = CliRunner().invoke(
            main, ["look", "--root", str(at), *flags], input=json.dumps(emission), env=settings, catch_exceptions=False
        )
        assert result.exit_code == 0, result.output
        (observation,) = json.loads(result.stdout)["observations"]
        return observation

    return one


def verdict(observation: dict[str, Any]) -> str:
    return observation["outcome"]


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD")


# ---------------------------------------------------------------- terms


def test_terms_1_quoted_text_and_code_spans_whole(look: Look):
    """A quote is found as a whole or not at all, whatever of it stands there."""
    assert verdict(look(READ, "It says “no more than 40 files”.", path="CHANGELOG.md")) == "corroborates"
    assert verdict(look(READ, "It says “no more than 40 lines”.", path="CHANGELOG.md")) == "absent"
    assert verdict(look(READ, "It says `return count <= MAX_FILES`.", path="src/limits.py")) == "corroborates"


def test_terms_2_literals(look: Look):
    """Numbers with their unit, dates, versions and identifiers have to be there, the prose around them not."""
    assert verdict(look(READ, "At most 40 files are allowed, it seems.", path="CHANGELOG.md")) == "corroborates"
    assert verdict(look(READ, "At most 40 commits are allowed.", path="CHANGELOG.md")) == "absent"
    assert verdict(look(READ, "The bound is MAX_FILES, see check_limits.", path="src/limits.py")) == "corroborates"


def test_terms_3_content_words_only_where_there_is_nothing_else(look: Look):
    """Without quotes and literals every content word has to be there; stop words need not."""
    assert look(READ, "There are limits for the changes.", path="CHANGELOG.md")["detail"] == {
        "found": ["limits", "changes"],
        "missing": [],
    }
    assert verdict(look(READ, "The limits were changed.", path="CHANGELOG.md")) == "absent"


def test_what_says_where_to_look_is_not_a_term(look: Look, root: Path):
    """The path, the ref and the commit, from the locator or from the text, are not looked for."""
    assert look(READ, ENTRY, path="CHANGELOG.md")["detail"] == {"found": ["2026-05-25"], "missing": []}
    assert look(READ, ENTRY)["detail"] == {"found": ["2026-05-25"], "missing": []}
    text = f"Commit {head(root)[:8]} has a line of 2026-05-25."
    assert look(LOG, text)["detail"] == {"found": ["2026-05-25"], "missing": []}


def test_text_counts_as_present_when_every_term_is_there(look: Look):
    """One missing term is enough for `absent`."""
    found = look(READ, "On 2026-05-25 and 2026-05-26 nothing happened.", path="CHANGELOG.md")
    assert (verdict(found), found["detail"]) == ("absent", {"found": ["2026-05-25"], "missing": ["2026-05-26"]})


def test_nfkc_on_both_sides(look: Look, root: Path):
    """Compatibility forms on either side are the same text."""
    (root / "wide.txt").write_text("ＭＡＸ＿ＬＩＭＩＴ cafe\u0301_1\n")
    assert verdict(look(READ, "It sets MAX_LIMIT and `caf\u00e9_1`.", path="wide.txt")) == "corroborates"
    assert verdict(look(READ, "It sets `ｍａｘ_ｆｉｌｅｓ`.", path="src/limits.py")) == "absent"
    assert verdict(look(READ, "It sets `ＭＡＸ_ＦＩＬＥＳ`.", path="src/limits.py")) == "corroborates"


def test_identifiers_as_they_stand_words_case_folded_at_word_boundaries(look: Look):
    """Another case is another identifier, the same word; a part of a word is neither."""
    assert verdict(look(READ, "It sets max_files.", path="src/limits.py")) == "absent"
    assert verdict(look(READ, "Changes are under limits.", path="CHANGELOG.md")) == "corroborates"
    assert verdict(look(READ, "It sets `MAX_FILE`.", path="src/limits.py")) == "absent"
    assert verdict(look(READ, "The year is 26.", path="CHANGELOG.md")) == "absent"


def test_a_pattern_must_be_found_as_well_and_share_a_term(look: Look):
    """`pattern=the` proves nothing, nor does a pattern that is about something else, or is not there."""
    text = "MAX_FILES is 40."
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES = ")) == "corroborates"
    for pattern in (" ", "= 40 ", "return", "e"):
        assert verdict(look(GREP, text, path="src/limits.py", pattern=pattern)) == "absent"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES = 41")) == "absent"


# ---------------------------------------------------------------- git.log


@pytest.mark.parametrize(
    "text",
    [
        "A commit says “Add CHANGELOG.md for all”.",
        "Something was done on 2026-05-20.",
        "MAX_FILES is 40.",
        "The version 1.2.0 is tagged.",
    ],
)
def test_git_log_looks_at_message_author_date_changed_lines_and_tags(look: Look, text: str):
    """Each of the four alone bears an assertion out."""
    assert verdict(look(LOG, text)) == "corroborates"


def test_git_log_searches_what_the_ref_reaches(look: Look, root: Path):
    """Commits of other branches do not count unless the locator names their branch."""
    git(root, "checkout", "--quiet", "-b", "side")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "Add other_thing")
    git(root, "checkout", "--quiet", "main")
    assert verdict(look(LOG, "Someone added other_thing.")) == "absent"
    assert verdict(look(LOG, "Someone added other_thing.", ref="side")) == "corroborates"


def test_git_log_takes_path_and_commit(look: Look, root: Path):
    """Only commits that change the path, only the commit that is named."""
    assert verdict(look(LOG, "MAX_FILES is 40.", path="src/limits.py")) == "corroborates"
    assert verdict(look(LOG, "MAX_FILES is 40.", path="CHANGELOG.md")) == "absent"
    assert verdict(look(LOG, "MAX_FILES is 40.", commit=head(root))) == "absent"
    assert verdict(look(LOG, "MAX_FILES is 40.", commit=git(root, "rev-parse", "HEAD~1"))) == "corroborates"


def test_git_logs_observation_id_is_a_commit_hash(look: Look, root: Path):
    """Of the commit that bears it out; seven digits or more declare it."""
    assert look(LOG, ENTRY)["observation_id"] == head(root)
    assert look(LOG, ENTRY, declared=head(root)[:7])["observation_id"] == head(root)


def test_git_log_contradicts_when_the_commit_bears_another_date(look: Look, root: Path):
    """Only of a commit that is there, and that is named."""
    assert verdict(look(LOG, "It was made on 2026-05-26.", commit=head(root))) == "contradicts"
    assert verdict(look(LOG, f"Commit {head(root)[:9]} is of 2026-05-26.")) == "contradicts"
    assert verdict(look(LOG, "Something was done on 2026-05-26.")) == "absent"


def test_git_log_calls_a_well_formed_hash_that_is_not_reachable_unknown(look: Look, root: Path):
    """Whether it is nowhere, or only below another ref."""
    found = look(LOG, ENTRY, declared="0badcafe12")
    assert (verdict(found), found["observation_id"]) == ("unknown-observation", "0badcafe12")
    git(root, "checkout", "--quiet", "-b", "side")
    git(root, "commit", "--quiet", "--allow-empty", "--message", "x")
    side = head(root)
    git(root, "checkout", "--quiet", "main")
    assert verdict(look(LOG, ENTRY, declared=side)) == "unknown-observation"


# ---------------------------------------------------------------- grep


def test_grep_looks_at_matching_lines_of_a_named_region(look: Look):
    """The file, its lines, the pattern: what is outside any of them does not count."""
    text = "MAX_FILES is 40."
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES")) == "corroborates"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES", lines=[1, 1])) == "corroborates"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES", lines=[2, 4])) == "absent"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="count <= MAX_FILES")) == "absent"


def test_grep_looks_at_the_tracked_files(look: Look, root: Path):
    """Without a path; files that git does not track are not among them."""
    (root / "loose.txt").write_text("LOOSE_END\n")
    assert verdict(look(GREP, "MAX_FILES is 40.", pattern="MAX_FILES")) == "corroborates"
    assert verdict(look(GREP, "LOOSE_END is there.", pattern="LOOSE_END")) == "absent"


def test_greps_pattern_is_a_fixed_string_or_re2(look: Look):
    """`regex = true` makes it an expression."""
    text = "MAX_FILES is 40."
    assert verdict(look(GREP, text, path="src/limits.py", pattern="MAX_FILES.*40")) == "absent"
    assert verdict(look(GREP, text, path="src/limits.py", pattern="^MAX_FILES.*40$", regex=True)) == "corroborates"


def test_greps_observation_id_is_the_hash_of_the_matched_lines(look: Look):
    """As grep prints them."""
    found = look(GREP, "MAX_FILES is 40.", path="src/limits.py", pattern="MAX_FILES")
    assert found["observation_id"] == sha("MAX_FILES = 40\n    return count <= MAX_FILES\n")


def test_grep_contradicts_when_the_named_file_is_not_there(look: Look):
    """A pattern that is not found is no contradiction."""
    assert verdict(look(GREP, ENTRY, path="NEWS.md", pattern="2026-05-25")) == "contradicts"
    assert verdict(look(GREP, ENTRY, path="src/limits.py", pattern="2026-05-25")) == "absent"


# ---------------------------------------------------------------- code.read


def test_code_read_looks_at_the_bytes_of_a_file_or_of_some_lines(look: Look):
    """Lines are first and last, counted from 1."""
    assert verdict(look(READ, ENTRY, path="CHANGELOG.md")) == "corroborates"
    assert verdict(look(READ, ENTRY, path="CHANGELOG.md", lines=[3, 3])) == "corroborates"
    assert verdict(look(READ, ENTRY, path="CHANGELOG.md", lines=[1, 2])) == "absent"


def test_code_reads_observation_id_is_the_hash_of_the_bytes_read(look: Look):
    """Of the file, or of the lines that were read."""
    assert look(READ, ENTRY, path="CHANGELOG.md")["observation_id"] == sha(CHANGELOG)
    assert look(READ, ENTRY, path="CHANGELOG.md", lines=[3, 3])["observation_id"] == sha("## 2026-05-25\n")


def test_code_read_contradicts_when_the_named_file_is_not_there(look: Look):
    """Nobody can have read it."""
    found = look(READ, ENTRY, path="NEWS.md")
    assert (verdict(found), found["observation_id"]) == ("contradicts", "none:substrate.code.read")


# ---------------------------------------------------------------- fs.mtime


def test_fs_mtimes_observation_id_is_the_time(look: Look, root: Path):
    """`mtime:` and RFC 3339, as fine as the file system tells."""
    text = "CHANGELOG.md was written on 2026-05-25."
    assert look(MTIME, text, path="CHANGELOG.md")["observation_id"] == "mtime:2026-05-25T12:00:00Z"
    os.utime(root / "CHANGELOG.md", ns=(1_779_710_400_000_000_120,) * 2)
    assert look(MTIME, text, path="CHANGELOG.md")["observation_id"] == "mtime:2026-05-25T12:00:00.00000012Z"


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("on 2026-05-25", "corroborates"),
        ("at 2026-05-25T12:00Z", "corroborates"),
        ("in May 2026", "corroborates"),
        ("before 2026-05-26", "corroborates"),
        ("after 2026-05-24", "corroborates"),
        ("since 2026-05-25", "corroborates"),
        ("on 2026-05-26", "contradicts"),
        ("at 2026-05-25T12:01Z", "contradicts"),
        ("in June 2026", "contradicts"),
        ("before 2026-05-25", "contradicts"),
        ("after 2026-05-25", "contradicts"),
        ("since 2026-05-26", "contradicts"),
        ("yesterday", "absent"),
    ],
)
def test_fs_mtime_contradicts_when_another_time_is_named(look: Look, time: str, expected: str):
    """At the precision at which it is named; before, after and since are understood."""
    assert verdict(look(MTIME, f"CHANGELOG.md was modified {time}.")) == expected


def test_fs_mtime_calls_another_time_than_declared_unknown(look: Look):
    """Where nothing wrote the file since ts."""
    text = "CHANGELOG.md was written in May 2026."
    assert verdict(look(MTIME, text, declared="mtime:2026-05-25T12:00:00Z")) == "corroborates"
    assert verdict(look(MTIME, text, declared="mtime:2026-05-25T11:00:00Z")) == "unknown-observation"
    assert verdict(look(MTIME, text, declared="mtime:2026-05-20T11:00:00Z", ts=BEFORE)) != "unknown-observation"


# ---------------------------------------------------------------- the notes


@pytest.mark.parametrize("substrate_class", [READ, GREP])
def test_content_hashes(look: Look, root: Path, substrate_class: str):
    """A hash that is not what stands there: unknown where the file has not changed since ts, otherwise absent."""
    where = {"path": "CHANGELOG.md"} | ({"pattern": "2026-05-25"} if substrate_class == GREP else {})
    assert verdict(look(substrate_class, ENTRY, declared=sha("other"), **where)) == "unknown-observation"
    touch(root / "CHANGELOG.md", AFTER)
    assert verdict(look(substrate_class, ENTRY, declared=sha("other"), **where)) == "absent"


def test_content_hashes_by_the_repositorys_history(look: Look, root: Path):
    """Where there are no modification times, the last commit of the file tells."""
    bare = root.with_name("bare.git")
    git(root, "clone", "--quiet", "--bare", str(root), str(bare))
    git(bare, "remote", "remove", "origin")
    assert verdict(look(READ, ENTRY, at=bare, path="CHANGELOG.md", declared=sha("other"))) == "unknown-observation"
    assert verdict(look(READ, ENTRY, at=bare, path="CHANGELOG.md", declared=sha("other"), ts=BEFORE)) == "absent"


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ])
def test_nothing_found_is_absent_never_contradicts(look: Look, substrate_class: str):
    """Not finding something is not finding its opposite."""
    assert verdict(look(substrate_class, "OTHER_THING is 41.", path="src/limits.py")) == "absent"


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ])
def test_denials_turn_this_round(look: Look, substrate_class: str):
    """Not there in the whole region: borne out; there: contradicted."""
    denial = "src/limits.py does not set {}."
    assert verdict(look(substrate_class, denial.format("MIN_FILES"), kind="denial")) == "corroborates"
    assert verdict(look(substrate_class, denial.format("MAX_FILES"), kind="denial")) == "contradicts"


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ])
def test_a_denial_needs_the_region_uncut(look: Look, root: Path, substrate_class: str):
    """A region of which a part was not looked at bears no denial out."""
    (root / "src/limits.py").write_text(LIMITS + "# " + "x" * 50_000)
    git(root, "commit", "--quiet", "--all", "--message", "Grow")
    found = look(
        substrate_class, "src/limits.py does not set MIN_FILES.", kind="denial", settings={"SLUICE_LOOK_BYTES": "20000"}
    )
    assert verdict(found) == "unavailable"


def test_no_locator(look: Look, root: Path):
    """git.log from HEAD, grep the tracked files, code.read and fs.mtime the one path that the assertion names."""
    for substrate_class in (LOG, GREP, READ, MTIME):
        assert verdict(look(substrate_class, ENTRY)) == "corroborates"
    for substrate_class in (READ, MTIME):
        for text in ("There is an entry dated 2026-05-25.", "CHANGELOG.md and src/limits.py are of 2026-05-25."):
            found = look(substrate_class, text)
            assert verdict(found) == "unavailable"
            assert found["detail"]["reason"] == "neither the locator nor the assertion names one path"


def test_stale_view(look: Look, root: Path):
    """A mirror proves no absence until it was refreshed after ts."""
    mirror = root.with_name("mirror.git")
    git(root, "clone", "--quiet", "--mirror", str(root), str(mirror))
    (mirror / "FETCH_HEAD").touch()
    for time, unknown, borne_out in (
        ("2026-11-21T08:00:00", "unavailable", "unavailable"),
        (AFTER, "unknown-observation", "corroborates"),
    ):
        touch(mirror / "FETCH_HEAD", time)
        assert verdict(look(LOG, ENTRY, at=mirror, declared="0badcafe12")) == unknown
        assert verdict(look(LOG, NO_ENTRY.format("2026-06-01"), at=mirror, kind="denial")) == borne_out
        assert verdict(look(READ, NO_ENTRY.format("2026-06-01"), at=mirror, kind="denial")) == borne_out
        assert verdict(look(LOG, ENTRY, at=mirror)) == "corroborates"


@pytest.mark.parametrize(
    ("substrate_class", "setting", "value"),
    [
        (READ, "SLUICE_LOOK_BYTES", "10"),
        (GREP, "SLUICE_LOOK_BYTES", "10"),
        (LOG, "SLUICE_LOOK_BYTES", "10"),
        (LOG, "SLUICE_LOOK_COMMITS", "1"),
        (GREP, "SLUICE_LOOK_MATCHES", "1"),
        (READ, "SLUICE_LOOK_TIMEOUT", "0.0000001"),
        (GREP, "SLUICE_LOOK_TIMEOUT", "0.0000001"),
        (LOG, "SLUICE_LOOK_TIMEOUT", "0.0000001"),
    ],
)
def test_bounds(look: Look, substrate_class: str, setting: str, value: str):
    """Time, bytes, commits and matches come from the configuration; reaching one is unavailable, never a verdict."""
    text = "MAX_FILES is 40."
    where = {} if substrate_class == LOG else {"path": "src/limits.py"}
    assert verdict(look(substrate_class, text, **where)) == "corroborates"
    assert verdict(look(substrate_class, text, settings={setting: value}, **where)) == "unavailable"


@pytest.mark.parametrize("substrate_class", [LOG, GREP, READ, MTIME])
@pytest.mark.parametrize("path", ["../root", "/etc/passwd", "CHANGELOG.md\0", "a/../../x", ".git/HEAD"])
def test_impossible_or_forbidden_places_are_unavailable_before_any_other_test(
    look: Look, substrate_class: str, path: str
):
    """Even where the file is not there, or what is declared was made up."""
    found = look(substrate_class, ENTRY, declared="0badcafe12", path=path)
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
        assert verdict(look(LOG, ENTRY, ref=word)) == "unavailable"
    assert not list(root.rglob("ran"))


def test_never_a_write(look: Look, root: Path):
    """Nothing below the root, `.git` included, is other than before."""

    def state() -> list[tuple[str, int, int]]:
        return [(str(path), path.lstat().st_mtime_ns, path.lstat().st_size) for path in sorted(root.rglob("*"))]

    before = state()
    for substrate_class in (LOG, GREP, READ, MTIME):
        look(substrate_class, ENTRY)
    assert state() == before


def test_never_credentials_in_an_observation(look: Look):
    """Of a locator only what the class knows is repeated."""
    assert look(READ, ENTRY, path="CHANGELOG.md", token="secret")["locator"] == {"path": "CHANGELOG.md"}


def test_observed_at_is_when_the_look_began(look: Look):
    """Between the start of the command and now, in UTC with a Z."""
    before = datetime.now(UTC).replace(microsecond=0)
    observed = datetime.fromisoformat(look(READ, ENTRY)["observed_at"])
    assert before <= observed <= datetime.now(UTC)


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
        f'[mcp.tracker]\ncommand = {command}\ntools = ["brief", "echo"]\n'
        f'[sse]\nurls = ["{channel}"]\nevent = "presence"\npointer = "/n"\n'
        f'[peercred]\nsockets = ["{path}"]\n'
    )
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        yield tmp_path / "list.toml"


def test_mcp_brief(look: Look, listed: Path):
    """The result of a tool call: its hash as the id; contradicted where the server says that it does not exist."""

    def brief(text: str, issue: int, **more: Any) -> dict[str, Any]:
        more |= {"server": "tracker", "tool": "brief", "arguments": {"issue": issue}}
        more["settings"] = {"SLUICE_LOOK_TIMEOUT": "30"}  # the server starts anew for each look
        return look(BRIEF, text, substrates=listed, declared="sha256:0badcafe12", **more)

    found = brief("Issue 7 was closed on 2026-05-25.", 7)
    assert verdict(found) == "corroborates"
    assert found["observation_id"].startswith("sha256:")
    assert found["observation_id"] != "sha256:0badcafe12"
    assert verdict(brief("Issue 99 is merged.", 99)) == "contradicts"
    assert verdict(brief("Issue 97 is merged.", 97)) == "unavailable"


def test_sse_count(look: Look, listed: Path, channel: str):
    """The count that the channel reports; another number contradicts, beyond the tolerance."""

    def count(text: str, **more: Any) -> dict[str, Any]:
        return look(COUNT, text, substrates=listed, declared="sse:3", url=channel, **more)

    assert count("It has 14 subscribers.")["observation_id"] == "sse:14"
    assert verdict(count("It has 14 subscribers.")) == "corroborates"
    assert verdict(count("It has 15 subscribers.")) == "contradicts"
    assert verdict(count("It has 15 subscribers.", tolerance=1)) == "corroborates"
    assert verdict(count("It does not have 15 subscribers.", kind="denial")) == "corroborates"
    assert verdict(count("It has subscribers.")) == "unavailable"


def test_unix_peercred(look: Look, listed: Path):
    """An HMAC of the peer's credentials; another uid, gid, pid or user contradicts; a made-up HMAC is unknown."""
    path = str(listed.with_name("app.sock"))

    def peer(text: str, **more: Any) -> dict[str, Any]:
        return look(PEER, text, substrates=listed, socket=path, **more)

    found = peer(f"It has uid {os.geteuid()} and pid {os.getpid()}.")
    assert (verdict(found), found["tier"]) == ("corroborates", "identity-bound")
    assert found["detail"] == {"found": ["uid", "pid"], "missing": []}
    for wrong in (
        f"uid {os.geteuid() + 1}",
        f"gid {os.getegid() + 1}",
        f"pid {os.getpid() + 1}",
        "user “nobody-at-all”",
    ):
        assert verdict(peer(f"It has {wrong}.")) == "contradicts"
    made_up = "peercred:" + "0" * 64
    assert verdict(peer("It has uid 0.", declared=made_up, ts="2999-01-01T00:00:00Z")) == "unknown-observation"


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
