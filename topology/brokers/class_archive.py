"""Kafka's classes as Java has them once they are loaded and verified (class data sharing), kept beside the jars.

Java maps such an archive into memory and does not read, parse and verify 6,000 classes again: a start takes half of the
processor. The code that runs is the same. Java itself refuses an archive of another Java or of other jars, and then
starts without it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from ...codecs.errors import SluiceError

LOCK = ".classes.lock"


def class_archive(java: str, libs: Path) -> Path:
    """Where the archive for this Java is: another file, or a newer one at its place, has another name."""
    program = Path(java).resolve()
    name = f"{program} {program.stat().st_mtime_ns}"
    return libs.parent / f"classes-{hashlib.sha256(name.encode()).hexdigest()[:16]}.jsa"


def share_classes(archive: Path, record: Callable[[Path], None], tell: Callable[[str], None]) -> list[str]:
    """Options of Java that use the archive, which is made first where it is not there.

    Without it Kafka runs as well, so no failure is an error. One that cannot be made is not tried again: an empty file
    says so. While another process makes it, this one goes without.

    Args:
        archive: where it is, or is to be.
        record: starts Kafka with `recording_options` of the file that it is given, and ends it in order.
        tell: what is done with a line of progress.
    """
    if not archive.exists():
        _make(archive, record, tell)
    return _options(archive)


def recording_options(archive: Path) -> list[str]:
    """Options of a Java that writes an archive of what it has loaded when it ends in order."""
    return [f"-XX:ArchiveClassesAtExit={archive}"]


def _options(archive: Path) -> list[str]:
    try:
        made = archive.stat().st_size > 0
    except OSError:
        made = False
    return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"] if made else []


def _make(archive: Path, record: Callable[[Path], None], tell: Callable[[str], None]) -> None:
    try:
        lock = os.open(archive.parent / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError:
        return  # a folder that cannot be written holds the jars alone
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if archive.exists():
            return
        tell("keeping Apache Kafka's classes for quicker starts, once")
        _record(archive, record)
    except OSError:
        return  # another process makes it, or the disk is full
    finally:
        os.close(lock)


def _record(archive: Path, record: Callable[[Path], None]) -> None:
    made = archive.with_suffix(f".{os.getpid()}")
    try:
        record(made)
    except SluiceError:
        made.unlink(missing_ok=True)
    if not made.exists():
        made.touch()
    os.replace(made, archive)
