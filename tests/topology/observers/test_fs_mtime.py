"""substrate.fs.mtime on real files."""

from __future__ import annotations

import pytest
from looking import Repository, ask, outcome, reason

TIME = "2026-05-25T12:34:56.789"
ID = "mtime:2026-05-25T12:34:56.789Z"


@pytest.fixture
def log(folder: Repository) -> Repository:
    """A folder with a log file of 2026-05-25."""
    folder.write("app.log", "x", TIME)
    return folder


def test_the_id_is_the_time_as_fine_as_the_file_system_tells(log: Repository):
    """`mtime:` and RFC 3339, without zeros at the end."""
    found = ask(log, "fs.mtime", "app.log was modified on 2026-05-25.")
    assert (found.outcome, found.observation_id) == ("corroborates", ID)
    assert found.detail == {"found": ["2026-05-25"], "missing": []}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app.log was modified on 2026-05-25.", "corroborates"),
        ("app.log was modified on May 25, 2026 at 12:34.", "corroborates"),
        ("app.log was modified at 2026-05-25T14:34:56+02:00.", "corroborates"),
        ("app.log was modified in May 2026.", "corroborates"),
        ("app.log was modified in 2026.", "corroborates"),
        ("app.log was modified before 2026-05-26.", "corroborates"),
        ("app.log was modified after 2026-05-24.", "corroborates"),
        ("app.log has changed since 2026-05-25.", "corroborates"),
        ("app.log has not changed since 2026-05-26.", "corroborates"),
        ("app.log was modified between 2026-05-20 and 2026-05-30.", "corroborates"),
        ("app.log was modified on 2026-05-26.", "contradicts"),
        ("app.log was modified at 2026-05-25T12:34:57Z.", "contradicts"),
        ("app.log was modified in 1999.", "contradicts"),
        ("app.log was modified before 2026-05-25.", "contradicts"),
        ("app.log was modified after 2026-05-25.", "contradicts"),
        ("app.log has not changed since 2026-05-25.", "contradicts"),
        ("app.log was written by the release job.", "absent"),
        ("app.log was modified two days ago.", "absent"),
        ("app.log was modified on 2026-05-25 by v2.0.1.", "absent"),
    ],
)
def test_the_named_time_decides(log: Repository, text: str, expected: str):
    """It corroborates at the precision at which it is named, contradicts where it is another, and is absent else."""
    assert outcome(log, "fs.mtime", text, path="app.log") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app.log was not modified on 2026-05-25.", "contradicts"),
        ("app.log was not modified on 2026-05-26.", "corroborates"),
        ("app.log has not been modified since 2026-05-26.", "corroborates"),
        ("app.log has not been modified since 2026-05-24.", "contradicts"),
        ("app.log was not modified by the release job.", "absent"),
        ("app.log was not modified by v2.0.1 on 2026-05-25.", "absent"),
        ("app.log was not modified by v2.0.1 on 2026-05-26.", "corroborates"),
    ],
)
def test_a_denial_turns_the_verdict_round(log: Repository, text: str, expected: str):
    """The denial's own «not» is not counted twice."""
    assert outcome(log, "fs.mtime", text, kind="denial") == expected


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
    found = ask(log, "fs.mtime", "app.log was modified in May 2026.", declared=declared, ts=ts)
    assert found.outcome == expected
    assert found.observation_id == (declared if expected == "unknown-observation" else ID)


def test_a_time_before_the_epoch_and_to_the_nanosecond(folder: Repository):
    """Whatever the file system holds is told exactly."""
    import os

    file = folder.write("old.txt", "x")
    os.utime(file, ns=(-1_000_000_001, -1_000_000_001))
    assert ask(folder, "fs.mtime", "old.txt is from 1969.").observation_id == "mtime:1969-12-31T23:59:58.999999999Z"


def test_a_file_that_is_not_there_is_absent(log: Repository):
    """No time was seen, so none contradicts."""
    found = ask(log, "fs.mtime", "other.log was modified in 2026.")
    assert (found.outcome, found.observation_id) == ("absent", "none:substrate.fs.mtime")


def test_no_path_no_look(log: Repository):
    """Neither locator nor text names the one file."""
    assert reason(log, "fs.mtime", "It was modified in 2026.") == "neither the locator nor the assertion names one path"


def test_a_bare_repository_has_no_modification_times(changelog: Repository):
    """A mirror has no files whose time could be seen."""
    assert reason(changelog.bare(), "fs.mtime", "CHANGELOG.md was written in 2026.") == (
        "a bare repository has no modification times"
    )
