"""Paths as an agent's calls name them, and as locators do: relative to the root, with slashes, and never outside.

Nothing is looked up: whether a file is there, or a link leads away, is the observer's to see. What cannot be told from
the text alone (`~`, no folder known, control characters) is no path.
"""

from __future__ import annotations

import posixpath
import re
from typing import Final

NOWHERE: Final = "//nowhere"
"""The folder of a shell behind a `cd` that nobody can follow: no relative path is known there."""
MAX_PATH: Final = 4_096
"""Characters of a path."""
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffd]")


def below(path: str, root: str | None, cwd: str | None) -> str | None:
    """A path relative to the root; `.` for the root itself, None where it is outside or unclear.

    Args:
        path: as it was given; a relative one is of `cwd`.
        root: the repository's folder, absolute; where it is None `cwd` is taken for it.
        cwd: where the call was made, absolute; where it is None the root is taken for it.
    """
    if not path or len(path) > MAX_PATH or path.startswith("~") or _CONTROL.search(path):
        return None
    base, folder = root or cwd, cwd or root
    if not path.startswith("/"):
        if cwd == NOWHERE:
            return None
        if folder is None:
            return _inside(posixpath.normpath(path))
        path = posixpath.join(folder, path)
    if base is None:
        return None
    path, base = posixpath.normpath(path), posixpath.normpath(base)
    if path == base:
        return "."
    return _inside(path[len(base.rstrip("/")) + 1 :]) if path.startswith(base.rstrip("/") + "/") else None


def _inside(path: str) -> str | None:
    parts = path.split("/")
    return None if path.startswith("/") or ".." in parts or ".git" in parts else path


def folder(path: str, cwd: str | None) -> str | None:
    """Where a shell is after `cd path`; None where nobody can tell."""
    if not path or path.startswith(("~", "-")) or len(path) > MAX_PATH or _CONTROL.search(path):
        return None
    if path.startswith("/"):
        return posixpath.normpath(path)
    return None if cwd is None else posixpath.normpath(posixpath.join(cwd, path))
