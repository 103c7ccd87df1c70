"""Where the paths of a session begin that was recorded elsewhere: in a container, or on another machine.

There the checkout lay in another folder than here, such as `/workspace/shop`. That folder is found by the first call
that printed lines of a file which is tracked here under the same path, and of which at least half stand in it: a file
of that name in another repository has other lines. The folder is looked for only where the session's first folder is
neither below the root nor one of this machine's: what an agent did in another checkout here is about that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from .call_paths import below
from .looks import Line, LookResult

MOST_TRIED: Final = 200
"""Calls by which the folder is looked for."""
MOST_FOLDERS: Final = 12
"""Folders that are tried for one call: those around the one that it was made in."""
MOST_COMPARED: Final = 500
"""Lines of one call that are compared with files here."""

Make = Callable[[str | None], list[LookResult]]
"""From a root to what a call saw, its paths relative to that root."""


class Workspace:
    """The folder that a session's paths begin with.

    Args:
        root: the checkout here, absolute; None where none is at hand.
        read_file: gives the text of tracked files below the root; None where no root is at hand.
    """

    def __init__(self, root: str | None, read_file: Callable[[str], str | None] | None) -> None:
        self._root, self._read = root, read_file
        self._elsewhere: bool | None = None  # unknown until a call says where it was made
        self._folder: str | None = None
        self._tried = 0

    def seen(self, cwd: str | None, make: Make) -> list[LookResult]:
        """What a call saw, by the folder that holds for this session.

        Args:
            cwd: where the call says that it was made, absolute.
            make: called with that folder, or with several until one fits.
        """
        if self._root is None or not self._is_elsewhere(cwd, self._root):
            return make(self._root)
        if self._folder is not None:
            return make(self._folder)
        if cwd is None or self._tried >= MOST_TRIED:
            return make(self._root)
        self._tried += 1
        for folder in _around(cwd):  # the widest first: the longest path that is tracked here is the surest
            found = make(folder)
            if self._fits([line for one in found for line in one.lines if line.path and line.text.strip()]):
                self._folder = folder
                return found
        return make(self._root)

    def folder(self, cwd: str | None) -> str | None:
        """The folder that a session's project lies in; None where that is not known yet.

        Args:
            cwd: where a call says that it was made, absolute.
        """
        return self._folder if self._root is not None and self._is_elsewhere(cwd, self._root) else self._root

    def _fits(self, lines: Sequence[Line]) -> bool:
        """Whether at least half of these lines stand in the files here that they are said to be of."""
        files: dict[str, frozenset[str]] = {}
        there = 0
        for line in lines[:MOST_COMPARED]:
            if line.path not in files:
                text = None if self._read is None else self._read(line.path)
                files[line.path] = frozenset(row.rstrip() for row in (text or "").split("\n"))
            there += line.text.rstrip() in files[line.path]
        return there > 0 and 2 * there >= len(lines[:MOST_COMPARED])

    def _is_elsewhere(self, cwd: str | None, root: str) -> bool:
        if self._elsewhere is None and cwd is not None and cwd.startswith("/"):
            near = below(cwd, root, None) is not None or below(root, cwd, None) is not None
            self._elsewhere = not near and not os.path.isdir(cwd)
        return self._elsewhere is True


def _around(cwd: str) -> Sequence[str]:
    """The folder and those that it is in, the widest first; never the root of all."""
    parts = [part for part in os.path.normpath(cwd).split("/") if part]
    return ["/" + "/".join(parts[:length]) for length in range(1, len(parts) + 1)][-MOST_FOLDERS:]
