"""`read_file`: files that people name are read within a bound, and what is no file is told in one sentence."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from commands import Done, run_each

from sluice.codecs.errors import UsageError
from sluice.codecs.notes import Signer
from sluice.topology.settings import files
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


def test_a_named_pipe_and_a_socket_are_no_files(tmp_path: Path):
    """A pipe without a writer would keep the command waiting for ever."""
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name, why in (("pipe", "a named pipe is no file"), ("socket", "a socket is no file")):
            with pytest.raises(UsageError, match=f"^cannot read the file: {why}$"):
                read_file(tmp_path / name, 10, "the file")
            (tmp_path / f"{name}-link").symlink_to(name)
            with pytest.raises(UsageError, match=f"^cannot read the file: {why}$"):
                read_file(tmp_path / f"{name}-link", 10, "the file")


def test_what_becomes_a_pipe_between_the_look_and_the_opening_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Opening it does not wait either; nobody writes, so it is empty."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.setattr(files, "demand_plain", lambda _: None)
    assert read_file(tmp_path / "pipe", 10, "the file") == b""


PIPED = (
    ("policy", "check", "pipe"),
    ("policy", "apply", "pipe"),
    ("key", "show", "pipe"),
    ("key", "succeed", "pipe", "--out", "new.key"),
    ("key", "profile", "keys", "--policy", "pipe", "--worker", "w"),
    ("look", "pipe"),
    ("look", "--substrates", "pipe", "emission.jsonl"),
    ("look", "--observer-key", "pipe", "emission.jsonl"),
    ("look", "--check", "exists(a)", "--substrates", "pipe"),
    ("parse", "pipe"),
    ("render", "pipe"),
    ("canonical-hash", "pipe"),
    ("sanitise", "pipe"),
    ("fold", "pipe"),
    ("fold", "--policy", "pipe"),
    ("check", "pipe"),
    ("verify", "pipe", "--key", "KEY"),
    ("vet", "pipe"),
    ("vet", "pipe", "--format", "markdown"),
    ("vet", "--policy", "pipe", "emission.jsonl"),
    ("record", "pipe"),
    ("record", "pipe", "--format", "otlp"),
    ("record", "pipe", "--follow"),
    ("audit", "--policy", "pipe"),
    ("what-if", "--policy", "pipe"),
    ("topics", "check", "--policy", "pipe"),
    ("worker", "--policy", "pipe"),
    ("demo", "--emissions", "pipe"),
    ("demo", "--policy", "pipe"),
    ("mcp", "token", "list", "--tokens", "pipe"),
    ("mcp", "token", "new", "--tokens", "pipe", "--name", "me"),
    ("mcp", "--transport", "http", "--tokens", "pipe"),
    ("serve", "--tokens", "pipe"),
    ("serve", "--session-key", "pipe"),
    ("--config", "pipe", "config", "show"),
)


@pytest.fixture(scope="module")
def piped(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Done]:
    """What each command said of a named pipe that nobody writes into."""
    folder = tmp_path_factory.mktemp("piped")
    os.mkfifo(folder / "pipe")
    (folder / "emission.jsonl").write_text("{}\n")
    key = str(Signer("sluice/test", bytes(32)).verifier)
    commands = [[key if one == "KEY" else one for one in command] for command in PIPED]
    return dict(zip(PIPED, run_each(commands, folder), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("arguments", PIPED, ids=" ".join)
def test_a_named_pipe_is_refused_by_every_command(arguments: tuple[str, ...], piped: dict[tuple[str, ...], Done]):
    """Exit status 2 and one sentence, at once."""
    done = piped[arguments]
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pipe" in done.stderr
    assert "is no file" in done.stderr


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
