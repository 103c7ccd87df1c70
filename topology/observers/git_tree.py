"""The files of a repository: those that git tracks in a work tree, or the tree of a bare repository's HEAD.

Both are sources of files (`confine.Files`). A commit's tree has no modification times: there a file changed when the
last commit that touched it was committed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from typing import NamedTuple

from .ask import Budget, CannotLook, Missing
from .confine import Root
from .content import Piece, cut
from .git import Git


class WorkTree:
    """The tracked files as they stand in the work tree; any other file there can be named."""

    def __init__(self, root: Root, git: Git) -> None:
        self._root, self._git = root, git
        self.has, self.read, self.read_all, self.changed = root.has, root.read, root.read_all, root.changed

    def paths(self, budget: Budget) -> list[str]:
        """See `Files`: what the index lists, without links and submodules."""
        found: set[bytes] = set()
        for entry in self._git.run(budget, "ls-files", "--stage", "-z").split(b"\0"):
            head, tab, path = entry.partition(b"\t")
            if tab and head[:6] in (b"100644", b"100755"):
                found.add(path)
        return [os.fsdecode(path) for path in sorted(found)]


class _Entry(NamedTuple):
    mode: bytes
    name: str


class CommitTree:
    """The files of HEAD's tree in a bare repository."""

    def __init__(self, root: Root, git: Git) -> None:
        self._root, self._git = root, git
        self._entries: dict[bytes, _Entry] | None = None

    def _listed(self, budget: Budget) -> dict[bytes, _Entry]:
        if self._entries is None:
            self._entries = {}
            tip = self._git.tip(None, budget)
            for line in self._git.run(budget, "ls-tree", "-r", "-z", "--full-tree", tip).split(b"\0"):
                head, tab, path = line.partition(b"\t")
                if tab:
                    mode, _, name = head.split(b" ")
                    self._entries[path] = _Entry(mode, name.decode("ascii"))
        return self._entries

    def paths(self, budget: Budget) -> list[str]:
        """See `Files`."""
        listed = self._listed(budget)
        return [os.fsdecode(path) for path in sorted(listed) if listed[path].mode in (b"100644", b"100755")]

    def has(self, path: str, budget: Budget) -> bool:
        """See `Files`."""
        return self._plain(path) in self._listed(budget)

    def read(self, path: str, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """See `Files`."""
        wanted = self._plain(path)
        entry = self._listed(budget).get(wanted)
        if entry is None:
            if any(other.startswith(wanted + b"/") for other in self._listed(budget)):
                raise CannotLook("the path names no regular file")
            raise Missing(path)
        if entry.mode == b"120000":
            raise CannotLook("symbolic links are not followed")
        if entry.mode not in (b"100644", b"100755"):
            raise CannotLook("the path names no regular file")
        ((_, data),) = self._blobs([(path, entry.name)], budget)
        return cut([data], lines)

    def read_all(self, paths: list[str], budget: Budget) -> Iterator[tuple[str, Piece | None]]:
        """See `Files`."""
        listed = self._listed(budget)
        for path, data in self._blobs([(path, listed[os.fsencode(path)].name) for path in paths], budget):
            yield path, cut([data], None)

    def _blobs(self, wanted: list[tuple[str, str]], budget: Budget) -> Iterator[tuple[str, bytes]]:
        buffer = b""
        left = iter(wanted)
        for chunk in self._git.stream(budget, "cat-file", "--batch", feed=(f"{name}\n".encode() for _, name in wanted)):
            buffer += chunk
            while True:
                head, newline, rest = buffer.partition(b"\n")
                if not newline:
                    break
                fields = head.split(b" ")
                if len(fields) != 3 or fields[1] != b"blob":
                    raise CannotLook("a file of this tree is not in the repository")
                size = int(fields[2])
                if size > budget.octets:
                    budget.spend(size)
                if len(rest) <= size:
                    break
                path, name = next(left)
                data = rest[:size]
                make = hashlib.sha256 if len(name) == 64 else hashlib.sha1
                if make(b"blob %d\0" % size + data).hexdigest() != name:
                    raise CannotLook(f"the object {name} is not what its name says")
                yield path, data
                buffer = rest[size + 1 :]

    def changed(self, path: str, piece: Piece, budget: Budget) -> int | None:
        """See `Files`: when the last commit that touched the file was committed."""
        where = os.fsdecode(self._plain(path))
        found = self._git.ask(budget, "rev-list", "--max-count=1", "--timestamp", "HEAD", "--", where)
        seconds = (found or "").partition(" ")[0]
        return int(seconds) * 1000 if seconds.isdigit() else None

    def _plain(self, path: str) -> bytes:
        return os.fsencode("/".join(self._root.components(path)))
