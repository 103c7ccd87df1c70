"""Files of the checkout that an agent works in, read so that a result can be compared with what stands there.

Only tracked regular files below the root, never through a link, since that may lead to an untracked one; never `.git`,
no file of secrets by its name, none larger than `MAX_FILE`. What is read serves the recorder alone: nothing of it
enters an emission but by a quote or a check.
"""

from __future__ import annotations

import os
from pathlib import Path
from stat import S_ISREG
from typing import Final

from .git_index import Tracked
from .unquotable import is_secret_path

MAX_FILE: Final = 2_000_000
"""Bytes of a file."""
MAX_KEPT: Final = 25_000_000
"""Bytes of all files that are kept, and characters of their texts; beyond it they are read anew."""


class Checkout:
    """The files below one folder, each kept until it changes. One thread uses it at a time.

    Args:
        root: the folder, absolute or relative to the process's own.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = os.path.realpath(root)
        self._tracked = Tracked(self.root)
        self._kept: dict[str, tuple[tuple[int, ...], bytes]] = {}
        self._texts: dict[str, tuple[bytes, str]] = {}
        self._size = 0

    def data(self, path: str) -> bytes | None:
        """The bytes of a file; None where none may or can be read.

        Args:
            path: relative to the root, with slashes.
        """
        if "\0" in path or path.startswith("/") or not {"..", ".git"}.isdisjoint(path.split("/")):
            return None
        path = os.path.normpath(path)
        place = os.path.join(self.root, path)
        try:
            kept = self._kept.get(path)
            if kept is not None and kept[0] == _version(os.stat(place)):
                return kept[1]
            if os.path.realpath(place) != place or is_secret_path(path) or not self._tracked.holds(path):
                return None
            status = os.stat(place)
            if not S_ISREG(status.st_mode) or status.st_size > MAX_FILE:
                return None
            with open(place, "rb") as file:
                data = file.read(MAX_FILE + 1)
        except (OSError, ValueError):  # unreadable; a name that no file can have
            return None
        if self._size + len(data) > MAX_KEPT:
            self._kept.clear()
            self._texts.clear()
            self._size = 0
        self._kept[path] = (_version(status), data)
        self._size += len(data)
        return data

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none, or it is no UTF-8."""
        data = self.data(path)
        if data is None:
            return None
        known = self._texts.get(path)
        if known is not None and known[0] is data:
            return known[1]
        if b"\0" in data:
            return None
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return None
        self._texts[path] = data, text
        return text


def _version(status: os.stat_result) -> tuple[int, ...]:
    """What tells one state of a file from another, and one file from another, whatever path leads to it."""
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_dev
