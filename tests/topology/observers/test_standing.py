"""The index and the work tree are what stands; HEAD is history."""

from __future__ import annotations

from typing import Any

import pytest
from looking import Repository, ask, outcome, reason, try_check

from sluice.topology.observers.file_contents import File

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
