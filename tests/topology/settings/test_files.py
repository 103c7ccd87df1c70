"""`read_file`: files that people name are read within a bound, and what is no file is told in one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import Done, run_each

from sluice.codecs.errors import UsageError
from sluice.topology.settings.files import read_file


def test_a_file_is_read_whole(tmp_path: Path):
    """Up to its bound, that one included."""
    (tmp_path / "a").write_bytes(b"12345")
    assert read_file(tmp_path / "a", 5, "the file") == b"12345"
    with pytest.raises(UsageError, match=r"^the file is too large \(expected at most 4 bytes\)$"):
        read_file(tmp_path / "a", 4, "the file")


def test_a_pipe_is_read():
    """As a shell's `<(…)` makes it."""
    reading, writing = os.pipe()
    os.write(writing, b"x = 1")
    os.close(writing)
    try:
        assert read_file(f"/dev/fd/{reading}", 10, "the file") == b"x = 1"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/dev/zero", "a device is no file"),
        ("/dev/null", "a device is no file"),
        (".", "Is a directory"),
        ("nowhere", "No such file or directory"),
        ("a\0b", "no file has such a name"),
    ],
)
def test_what_is_no_file_is_one_sentence(path: str, why: str):
    """And nothing of it is read."""
    with pytest.raises(UsageError) as caught:
        read_file(path, 10, "the file", "name another")
    assert str(caught.value) == f"cannot read the file: {why}; name another"


ENDLESS = (
    ("vet", "--policy", "/dev/zero", "README.md"),
    ("policy", "check", "/dev/zero"),
    ("fold", "--policy", "/dev/zero"),
    ("worker", "--policy", "/dev/zero"),
    ("demo", "--policy", "/dev/zero"),
    ("demo", "--emissions", "/dev/zero"),
    ("vet", "/dev/zero"),
    ("vet", "/dev/zero", "--format", "markdown"),
    ("vet", "/dev/zero", "--format", "claude-code"),
    ("record", "/dev/zero", "--format", "codex"),
    ("--config", "/dev/zero", "config", "show"),
)


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Done]:
    """What each command said, in an interpreter of their own: one that reads to the end must not take the tests'."""
    return dict(zip(ENDLESS, run_each(ENDLESS, tmp_path_factory.mktemp("endless")), strict=True))


@pytest.mark.parametrize("arguments", ENDLESS, ids=" ".join)
def test_a_device_that_never_ends_is_refused_by_every_command(
    arguments: tuple[str, ...], answers: dict[tuple[str, ...], Done]
):
    """Exit status 2 and one sentence, at once."""
    done = answers[arguments]
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "a device" in done.stderr
