"""The tracked paths of a checkout, read from git's index; git itself is never run.

The format is that of git's documentation, «index-format»: versions 2 to 4. What is untracked may hold what nobody is to
see, so an index that cannot be read, or one that is split, lists nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import Final

MAX_INDEX: Final = 200_000_000
"""Bytes of an index."""
_FIXED: Final = 40
"""Bytes of an entry before the object's name: times, mode, owner, size."""


def checkout_around(folder: Path) -> Path | None:
    """The git checkout that a folder is in, the folder itself included; None where it is in none."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), None)


class Tracked:
    """The tracked files below a folder, read anew when the index changes. One thread uses it at a time.

    Args:
        root: the folder, without links in it.
    """

    def __init__(self, root: str) -> None:
        here = Path(root)
        top = checkout_around(here)
        self._index = None if top is None else _index_of(top / ".git")
        self._prefix = "" if top is None or top == here else here.relative_to(top).as_posix() + "/"
        self._version: tuple[int, int, int] | None = None
        self._paths: frozenset[str] = frozenset()

    def holds(self, path: str) -> bool:
        """Whether a file is tracked; every file is where there is no repository.

        Args:
            path: relative to the root, with slashes.
        """
        if self._index is None:
            return True
        try:
            status = os.stat(self._index)
            version = (status.st_mtime_ns, status.st_size, status.st_ino)
            if version != self._version:
                self._paths = _paths_of(_read(self._index, status))
                self._version = version
        except (OSError, ValueError, IndexError):
            self._paths, self._version = frozenset(), None
        return self._prefix + path in self._paths


def _index_of(place: Path) -> str:
    """Where the index is: in the folder, or in the one that a file names, as in a second work tree."""
    try:
        if place.is_file():
            with place.open("rb") as file:
                named = os.fsdecode(file.read(4_096)).removeprefix("gitdir:").strip()
            place = place.parent / named
    except OSError:
        pass
    return os.path.join(place, "index")


def _read(path: str, status: os.stat_result) -> bytes:
    if not S_ISREG(status.st_mode) or status.st_size > MAX_INDEX:
        raise ValueError("no index")
    with open(path, "rb") as file:
        return file.read(MAX_INDEX)


def _paths_of(data: bytes) -> frozenset[str]:
    """The paths of an index.

    Raises:
        ValueError: it is none, or none that is read here.
        IndexError: it is cut.
    """
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("no index")
    for width in (20, 32):  # of an object's name: SHA-1, SHA-256
        try:
            return _entries(data, version, count, width)
        except (ValueError, IndexError):
            if width == 32:
                raise
    raise ValueError("no index")


def _entries(data: bytes, version: int, count: int, width: int) -> frozenset[str]:
    found: list[str] = []
    at, before = 12, b""
    for _ in range(count):
        begin = at
        flags = int.from_bytes(data[at + _FIXED + width : at + _FIXED + width + 2], "big")
        at += _FIXED + width + 2 + (2 if flags & 0x4000 else 0)
        kept = b""
        if version == 4:
            strip, at = _number(data, at)
            kept = before[: len(before) - strip]
        end = data.index(b"\0", at)
        before = kept + data[at:end]
        if flags & 0xFFF not in (len(before), 0xFFF) or (len(before) >= 0xFFF) != (flags & 0xFFF == 0xFFF):
            raise ValueError("no entry")
        found.append(os.fsdecode(before))
        at = end + 1 if version == 4 else begin + (end - begin + 8) // 8 * 8
    if data[at : at + 4] == b"link":
        raise ValueError("the index is split")
    return frozenset(found)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 0x7F
    while data[at] & 0x80:
        at += 1
        value = ((value + 1) << 7) | (data[at] & 0x7F)
    return value, at + 1
