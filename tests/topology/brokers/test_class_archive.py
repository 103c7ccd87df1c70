"""Kafka's classes, kept for the next starts: made once, by one, and never a reason not to start."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from sluice.codecs.errors import UnreachableError
from sluice.topology.kafka.local_broker import CLASSES_LOCK, class_archive, share_classes

ARCHIVE = "classes.jsa"


def told_and_recorded(folder: Path, content: bytes | Exception = b"classes") -> tuple[list[str], list[str], int]:
    """The options, what was told, and how often it was recorded."""
    told: list[str] = []
    recorded: list[Path] = []

    def record(path: Path) -> None:
        recorded.append(path)
        if isinstance(content, Exception):
            raise content
        path.write_bytes(content)

    options = share_classes(folder / ARCHIVE, record, told.append)
    return options, told, len(recorded)


def test_the_archive_is_made_once_and_then_used(tmp_path: Path):
    """By way of another name, so a half archive is never taken for a whole one."""
    used = [f"-XX:SharedArchiveFile={tmp_path / ARCHIVE}", "-Xshare:auto"]

    assert told_and_recorded(tmp_path) == (used, ["keeping Apache Kafka's classes for quicker starts, once"], 1)
    assert told_and_recorded(tmp_path) == (used, [], 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == [CLASSES_LOCK, ARCHIVE]


@pytest.mark.parametrize("failure", [UnreachableError("Kafka does not come up"), b""])
def test_a_failure_is_no_error_and_is_not_tried_again(tmp_path: Path, failure: bytes | Exception):
    """A Java that knows no archive costs one start more, once."""
    assert told_and_recorded(tmp_path, failure)[::2] == ([], 1)
    assert told_and_recorded(tmp_path)[::2] == ([], 0)


def test_a_recording_that_is_broken_off_is_tried_again(tmp_path: Path):
    """Ctrl-C in the middle of it leaves nothing that looks like an archive."""
    with pytest.raises(KeyboardInterrupt):
        share_classes(tmp_path / ARCHIVE, interrupted, lambda line: None)

    assert told_and_recorded(tmp_path)[2] == 1


def interrupted(path: Path) -> None:
    path.write_bytes(b"half")
    raise KeyboardInterrupt


def test_while_another_process_makes_it_this_one_goes_without(tmp_path: Path):
    """Nobody waits for it."""
    held = os.open(tmp_path / CLASSES_LOCK, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    try:
        assert told_and_recorded(tmp_path) == ([], [], 0)
    finally:
        os.close(held)
    assert told_and_recorded(tmp_path)[2] == 1


def test_where_it_cannot_be_kept_kafka_starts_without(tmp_path: Path):
    """The folder of the jars may be somebody else's, or gone."""
    assert told_and_recorded(tmp_path / "gone") == ([], [], 0)


def test_each_java_has_an_archive_of_its_own(tmp_path: Path):
    """One at another place, and a newer one at the same place: Java would refuse the other one's."""
    first, second = tmp_path / "a", tmp_path / "b"
    first.touch()
    second.touch()
    os.utime(first, (1, 1))
    names = {class_archive(str(java), tmp_path / "libs") for java in (first, second)}
    os.utime(first, (2, 2))
    names.add(class_archive(str(first), tmp_path / "libs"))

    assert len(names) == 3
    assert {name.parent for name in names} == {tmp_path}
