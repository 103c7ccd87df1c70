"""Where the paths of a session begin that was recorded elsewhere: in a container, or on another machine.

There the checkout lay in another folder than here, such as `/workspace/shop`. That folder is found by the first call
that looked at a file which is tracked here under the same path. It is looked for only where the session's first folder
is neither below the root nor one of this machine's: what an agent did in another checkout of this machine is about
that one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Final

from .looks import LookResult
from .places import below

MOST_TRIED: Final = 200
"""Calls by which the folder is looked for."""
MOST_FOLDERS: Final = 12
"""Folders that are tried for one call: those around the one that it was made in."""

Make = Callable[[str | None], list[LookResult]]
"""From a root to what a call saw, its paths relative to that root."""


class Workspace:
    """The folder that a session's paths begin with.

    Args:
        root: the checkout here, absolute; None where none is at hand.
        has: whether a path, relative to the root, is a file that is at hand.
    """

    def __init__(self, root: str | None, has: Callable[[str], bool]) -> None:
        self._root, self._has = root, has
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
            if any(self._has(path) for one in found for path in one.paths):
                self._folder = folder
                return found
        return make(self._root)

    def _is_elsewhere(self, cwd: str | None, root: str) -> bool:
        if self._elsewhere is None and cwd is not None and cwd.startswith("/"):
            near = below(cwd, root, None) is not None or below(root, cwd, None) is not None
            self._elsewhere = not near and not os.path.isdir(cwd)
        return self._elsewhere is True


def _around(cwd: str) -> Sequence[str]:
    """The folder and those that it is in, the widest first; never the root of all."""
    parts = [part for part in os.path.normpath(cwd).split("/") if part]
    return ["/" + "/".join(parts[:length]) for length in range(1, len(parts) + 1)][-MOST_FOLDERS:]
