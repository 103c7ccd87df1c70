"""substrate.fs.mtime on real files."""

from __future__ import annotations

import pytest
from looking import Repository, ask, holds, outcome, reason, try_check

TIME = "2026-05-25T12:34:56.789"
ID = "mtime:2026-05-25T12:34:56.789Z"


@pytest.fixture
def log(folder: Repository) -> Repository:
    """A folder with a log file of 2026-05-25."""
    folder.write("app.log", "x", TIME)
    return folder


def test_the_id_is_the_time_as_fine_as_the_file_system_tells(log: Repository):
    """`mtime:` and RFC 3339, without zeros at the end."""
    found = ask(
        log, "fs.mtime", "`app.log` was last modified on 2026-05-25.", checks=["modified(app.log, =, 2026-05-25)"]
    )
    assert (found.outcome, found.observation_id) == ("corroborates", ID)
    assert found.detail == {
        "checks": [{"check": "modified(app.log, =, 2026-05-25)", "holds": True, "path": "app.log"}],
    }
    assert found.looked_at is not None
    assert (found.looked_at.root, found.looked_at.path, found.looked_at.content) == ("default", "app.log", None)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("modified(app.log, =, 2026-05-25)", True),
        ('modified(app.log, =, "May 25, 2026 at 12:34")', True),
        ("modified(app.log, =, 2026-05-25T14:34:56+02:00)", True),
        ("modified(app.log, =, 2026-05)", True),
        ("modified(app.log, =, 2026)", True),
        ("modified(app.log, <, 2026-05-26)", True),
        ("modified(app.log, >, 2026-05-24)", True),
        ("modified(app.log, >=, 2026-05-25)", True),
        ("not modified(app.log, =, 2026-05-26)", True),
        ("modified(app.log, =, 2026-05-26)", False),
        ("modified(app.log, =, 2026-05-25T12:34:57Z)", False),
        ("modified(app.log, =, 1999)", False),
        ("modified(app.log, <, 2026-05-25)", False),
        ("modified(app.log, >, 2026-05-25)", False),
        ("not modified(app.log, =, 2026-05-25)", False),
        ("modified(app.log, =, yesterday)", None),
        ("exists(app.log)", None),
        ("contains(x, path=app.log)", None),
    ],
)
def test_the_named_time_decides(log: Repository, check: str, expected: bool | None):
    """At the precision at which it is named; what another class decides is left to it."""
    found = try_check(log, "fs.mtime", check, path="app.log")
    assert (found.holds, found.outcome) == (expected, "contradicts" if expected is False else "absent")


def test_a_file_that_was_written_since_refutes_nothing(log: Repository):
    """Then it may have been as the check says."""
    log.touch("app.log", "2026-11-21T08:59:50")
    wrong = "modified(app.log, =, 2026-05-25)"
    assert try_check(log, "fs.mtime", wrong)[:3] == ("absent", False, "changed-since")
    assert try_check(log, "fs.mtime", wrong, ts=None).outcome == "contradicts"  # before the emission


def test_words_are_held_against_the_time_and_count_for_nothing(log: Repository):
    """A time that is named in passing is there, or it is not."""
    text = "Somebody wrote that log file on {} they say."
    assert outcome(log, "fs.mtime", text.format("2026-05-25"), path="app.log") == "terms-present"
    assert outcome(log, "fs.mtime", text.format("2026-05-26"), path="app.log") == "absent"
    assert outcome(log, "fs.mtime", text.format("2026-05-26"), path="app.log", kind="denial") == "absent"


@pytest.mark.parametrize(
    ("declared", "ts", "expected"),
    [
        (ID, "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:56Z", "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:56.789000000Z", "2026-11-21T08:59:40Z", "corroborates"),
        ("mtime:2026-05-25T12:34:55Z", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:2026-05-25T12:34:56.788Z", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:yesterday", "2026-11-21T08:59:40Z", "unknown-observation"),
        ("mtime:2026-05-20T00:00:00Z", "2026-05-21T00:00:00Z", "absent"),
        ("mtime:2026-05-20T00:00:00Z", None, "absent"),
        ("inode:4711", "2026-11-21T08:59:40Z", "corroborates"),
    ],
)
def test_a_declared_time_is_checked(log: Repository, declared: str, ts: str | None, expected: str):
    """Another time than declared is unknown where nothing wrote the file since ts, and absent where something did."""
    found = ask(log, "fs.mtime", "`app.log` was last modified in May 2026.", declared=declared, ts=ts,
                checks=["modified(app.log, =, 2026-05)"])  # fmt: skip
    assert found.outcome == expected
    assert found.observation_id == (declared if expected == "unknown-observation" else ID)


def test_a_time_before_the_epoch_and_to_the_nanosecond(folder: Repository):
    """Whatever the file system holds is told exactly."""
    import os

    file = folder.write("old.txt", "x")
    os.utime(file, ns=(-1_000_000_001, -1_000_000_001))
    assert holds(folder, "fs.mtime", "modified(old.txt, =, 1969)") is True
    assert (
        ask(folder, "fs.mtime", "The file old.txt is from 1969.").observation_id
        == "mtime:1969-12-31T23:59:58.999999999Z"
    )


def test_a_file_that_is_not_there_is_absent(log: Repository):
    """No time was seen, so none contradicts."""
    for check in ("modified(other.log, =, 2026)", "not modified(other.log, =, 2026)"):
        found = ask(log, "fs.mtime", "x", checks=[check])
        assert (found.outcome, found.observation_id) == ("absent", "none:substrate.fs.mtime")
        assert (found.detail or {})["reason"] == "path-missing"


def test_no_path_no_look(log: Repository):
    """Neither check, locator nor text names the one file."""
    assert reason(log, "fs.mtime", "It was modified in 2026.") == "neither the locator nor the assertion names one path"


def test_a_folder_has_no_time_of_its_own(folder: Repository):
    """Only files are looked at."""
    folder.write("dir/file", "x")
    assert reason(folder, "fs.mtime", "x", checks=["modified(dir, <, 2030)"]) == "the path names no regular file"


def test_a_bare_repository_has_no_times(changelog: Repository):
    """Git keeps none."""
    assert "no modification times" in reason(
        changelog.bare(), "fs.mtime", "x", checks=["modified(CHANGELOG.md, <, 2030)"]
    )
