"""A transcript that is still being written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from threading import Event as Flag
from typing import BinaryIO, Final

from ..events import Event
from . import openhands
from .foreign_json import MAX_LINE
from .opening import Format, TranscriptError, detect, event_files, read

POLL: Final = 0.5
"""Seconds between two looks at a file."""
_PIECE: Final = 1024 * 1024


def follow(path: Path | str, *, stop: Flag | None = None, poll: float = POLL) -> Iterator[bytes]:
    """The lines of a file, those that are there and then those that are appended, each once it is whole.

    A file that is not there yet is waited for. One that was cut shorter or replaced is read again from its beginning.
    A line of more than `MAX_LINE` bytes is given as its first that many and one more.

    Args:
        path: the file.
        stop: ends it, soon after it is set; the last line is then given even if it is not whole.
        poll: seconds between two looks.
    """
    stop = stop or Flag()
    path = Path(path)
    file: BinaryIO | None = None
    held = bytearray()
    last_look = False
    try:
        while True:
            last_look = stop.is_set()
            if file is not None and _replaced(file, path):
                file.close()
                file = None
                held.clear()
            if file is None:
                try:
                    file = path.open("rb")
                except OSError:
                    file = None
            while file is not None and (piece := file.readline(_PIECE)):
                held += piece[: max(MAX_LINE + 2 - len(held), 0)]
                if piece.endswith(b"\n"):
                    yield bytes(held)
                    held.clear()
            if last_look:
                if held:
                    yield bytes(held)
                return
            stop.wait(poll)
    finally:
        if file is not None:
            file.close()


def _replaced(file: BinaryIO, path: Path) -> bool:
    here = os.fstat(file.fileno())
    try:
        there = path.stat()
    except OSError:
        return False  # gone: what was opened is read on, until another takes its place
    return (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino) or here.st_size < file.tell()


def follow_transcript(
    path: Path | str, format: Format | None = None, *, stop: Flag | None = None, poll: float = POLL
) -> Iterator[Event]:
    """The events of a transcript that is still being written, until `stop` is set.

    Args:
        path: a file of Claude Code or Codex, or the directory of an OpenHands conversation.
        format: what it is; found by `detect` where it is not given.
        stop: ends it; what is open then ends as at the end of a file.
        poll: seconds between two looks.

    Raises:
        TranscriptError: at once, where the format is not known, or is one that is written as one document.
    """
    found = format or detect(path)
    path = Path(path)
    if path.is_dir():
        return openhands.read_documents(_new_files(path, stop or Flag(), poll))
    if found not in ("claude-code", "codex"):
        raise TranscriptError(f"{found} writes a file at once; it cannot be followed", path=str(path))
    return read(found, follow(path, stop=stop, poll=poll))


def _new_files(directory: Path, stop: Flag, poll: float) -> Iterator[bytes]:
    """The event files of a directory, each once; an empty one is being written and is waited for."""
    given: set[Path] = set()
    while True:
        last_look = stop.is_set()
        for path in event_files(directory):
            if path in given:
                continue
            try:
                with path.open("rb") as file:
                    data = file.read(MAX_LINE + 1)
            except OSError:
                break
            if not data.rstrip().endswith(b"}") and not last_look:
                break
            given.add(path)
            yield data
        if last_look:
            return
        stop.wait(poll)
