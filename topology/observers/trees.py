"""Which files of a root may be looked at, and what they hold (docs/checks.md, docs/observing.md): what every tree can
be asked.

The tracked files of a work tree, or all of a folder that is no repository, are in disk_trees.py; those of a commit in
commit_tree.py. A path is confined, then held against what is never looked at, then against what is tracked:
whatever fails is `unavailable` before anything is read, so that nobody learns from an answer what stands in a file that
is closed to him. Only then can a path be missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, Protocol

from .ask import Budget, CannotLook
from .commits import Commit
from .confine import Root
from .content import Piece
from .denied import Denied
from .file_contents import Everything, File
from .listings import FILE, FOLDER, LINK, Entry

LINKED: Final = "symbolic links are not followed"
_IN_SUBMODULE: Final = "the path lies in a submodule"
_PATTERN: Final = re.compile(r"[*?]|\[[^\]]+\]|\{[^{}]*,[^{}]*\}")


class Place(NamedTuple):
    """A path that may be looked at.

    Attributes:
        path: from the root, as it stands there.
        state: what stands there; of what is untracked that it is there, and nothing else.
        blob: the hash of git's object, where it is one.
    """

    path: str
    state: Literal["file", "folder", "missing", "untracked"]
    blob: str = ""


class Tree(Protocol):
    """The files that may be looked at.

    Attributes:
        commit: whose tree it is; None for a work tree and a folder.
    """

    @property
    def commit(self) -> Commit | None: ...

    def locate(self, path: str, budget: Budget) -> Place:
        """What stands at a path.

        Raises:
            CannotLook: it is impossible, forbidden, denied, a link, not tracked, or a pattern that names no one file.
        """
        ...

    def file(self, place: Place, budget: Budget) -> File:
        """The file at a place, whole.

        Raises:
            Missing: it went away meanwhile.
            CannotLook: it could not be read, or a bound is reached.
        """
        ...

    def part(self, place: Place, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """Some lines of it, for which no more is read than they take. Raises as `file` does."""
        ...

    def paths(self, budget: Budget) -> list[str]:
        """Every file that may be looked at, in the order of their bytes."""
        ...

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        """All of them, or those of these paths, whole."""
        ...

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """When what stands at a path last changed, in Unix milliseconds; None where nobody can tell.

        Args:
            path: below the root.
            since: a time from which on it matters; one before may be later than the exact one.
            budget: of the look.
        """
        ...

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """As `changed`, when the newest of all files did."""
        ...

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """Whether what stands at a path, or anywhere, is not what was committed."""
        ...

    def went(self, path: str, budget: Budget) -> int | None:
        """When what stood at a path went away, in Unix milliseconds; None where nothing is known to have."""
        ...


def confined(root: Root, denied: Denied, path: str) -> str:
    """The path from the root to a file, without a look at the disk.

    Raises:
        CannotLook: it is impossible, leads out, or holds a name that is never looked at.
    """
    found = "/".join(root.components(path))
    denied.refuse(found)
    return found


def missing_at(path: str) -> Place:
    """The place where nothing stands.

    Raises:
        CannotLook: the path is a pattern: what it means is not one file.
    """
    if _PATTERN.search(path):
        raise CannotLook("the path is a pattern, not a file")
    return Place(path, "missing")


def place_of_entry(entry: Entry, asked: str, denied: Denied) -> Place:
    """The place of what a tree or index holds at a path, or on the way to it.

    Raises:
        CannotLook: it is a link, a submodule or lies in one, or its name is never looked at.
    """
    if entry.kind == LINK:
        raise CannotLook(LINKED)
    if entry.kind not in (FILE, FOLDER):
        raise CannotLook("the path names no regular file" if entry.path == asked else _IN_SUBMODULE)
    denied.refuse(entry.path)
    return Place(entry.path, "file" if entry.kind == FILE else "folder", entry.name)
