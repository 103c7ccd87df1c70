"""Reading below a root and nowhere else: never `..`, a symbolic link, `.git`, or a thing that is no regular file.

Every path is walked one component at a time from an open folder, each opened without following links, so no rename
or new link can lead the walk out between a test and its use. Opening never blocks. `Root` is one of the two sources of
files; the other is a git tree (`git_tree.py`).
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from typing import Protocol

from ...codecs.errors import UnreachableError
from .ask import Budget, CannotLook, Missing
from .content import Piece, cut

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 16
MAX_PATH = 4096


class Files(Protocol):
    """Where files are read from: a folder, or the tree of a commit."""

    def read(self, path: str, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """The bytes of a file or of some of its lines.

        Raises:
            Missing: nothing stands there.
            CannotLook: it must not or could not be read.
        """
        ...

    def has(self, path: str, budget: Budget) -> bool:
        """Whether a regular file stands there; raises as `read` does where it must not be looked at."""
        ...

    def paths(self, budget: Budget) -> list[str]:
        """Every regular file of the set that grep looks at by itself, in the order of their bytes."""
        ...

    def read_all(self, paths: list[str], budget: Budget) -> Iterator[tuple[str, Piece | None]]:
        """These files whole, in order; None for one that must not or could not be read."""
        ...

    def changed(self, path: str, piece: Piece, budget: Budget) -> int | None:
        """When a file last changed, in Unix milliseconds; None where nobody can tell."""
        ...


class Root:
    """A folder held open; everything is read relative to it.

    Attributes:
        path: its absolute path, as the operator named it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Opens the folder.

        Raises:
            UnreachableError: it is not there, or is no folder.
        """
        self.path = os.path.abspath(path)
        try:
            self.fd = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise UnreachableError(
                f"cannot look at {str(path)!r}: {error.strerror}", hint="name a folder or a git repository with --root"
            ) from None
        self._names = {self.path, os.path.realpath(self.path)}
        self._forbidden: set[tuple[int, int]] = set()

    def close(self) -> None:
        os.close(self.fd)

    def forbid(self, path: str) -> None:
        """Keeps a folder from being entered whatever it is called: a git directory that is not named `.git`."""
        try:
            found = os.stat(path)
        except OSError:
            return
        self._forbidden.add((found.st_dev, found.st_ino))

    def components(self, path: str) -> list[str]:
        """The names from the root to a file.

        Raises:
            CannotLook: the path is impossible, leads out of the root, or into `.git`.
        """
        if "\0" in path:
            raise CannotLook("a path holds no NUL")
        if path.startswith("/"):
            below = next((path[len(name) + 1 :] for name in sorted(self._names) if path.startswith(name + "/")), None)
            if below is None:
                raise CannotLook("the path lies outside the root")
            path = below
        names = [name for name in path.split("/") if name not in ("", ".")]
        if ".." in names:
            raise CannotLook("the path lies outside the root")
        if any(name.lower() == ".git" for name in names):
            raise CannotLook("what git keeps for itself is not looked at")
        try:
            too_long = len(os.fsencode(path)) > MAX_PATH or any(len(os.fsencode(name)) > 255 for name in names)
        except UnicodeError:
            raise CannotLook("the path cannot be written on this system") from None
        if too_long or not names:
            raise CannotLook("the path names no file")
        return names

    def _walk(self, names: list[str]) -> int:
        """An open descriptor of the folder that holds the last of `names`."""
        folder = os.dup(self.fd)
        for name in names[:-1]:
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except OSError as error:
                reason = _reason(error, name, folder)
                os.close(folder)
                raise reason from None
            os.close(folder)
            folder = inner
            if self._forbidden:
                found = os.fstat(folder)
                if (found.st_dev, found.st_ino) in self._forbidden:
                    os.close(folder)
                    raise CannotLook("what git keeps for itself is not looked at")
        return folder

    def stat(self, path: str) -> os.stat_result:
        """The state of a regular file, which need not be readable.

        Raises:
            Missing: nothing stands there.
            CannotLook: it must not be looked at, or is no regular file.
        """
        names = self.components(path)
        folder = self._walk(names)
        try:
            found = os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise _reason(error, names[-1], folder) from None
        finally:
            os.close(folder)
        _demand_regular(found)
        return found

    def has(self, path: str, budget: Budget) -> bool:
        """See `Files`."""
        try:
            self.stat(path)
        except Missing:
            return False
        return True

    def open(self, path: str) -> int:
        """A descriptor of a regular file, for reading; the caller closes it. Raises as `stat` does."""
        names = self.components(path)
        folder = self._walk(names)
        try:
            # Looked at before it is opened: to open a device can already do something.
            _demand_regular(os.stat(names[-1], dir_fd=folder, follow_symlinks=False))
            file = os.open(names[-1], _FILE, dir_fd=folder)
        except OSError as error:
            raise _reason(error, names[-1], folder) from None
        finally:
            os.close(folder)
        try:
            _demand_regular(os.fstat(file))
        except CannotLook:
            os.close(file)
            raise
        return file

    def read(self, path: str, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """See `Files`. A file that changes while it is read is not judged."""
        file = self.open(path)
        try:
            before = os.fstat(file)
            piece = cut(_chunks(file, budget), lines)
            after = os.fstat(file)
        except OSError as error:
            raise CannotLook(f"the file cannot be read: {error.strerror}") from None
        finally:
            os.close(file)
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            raise CannotLook("the file changed while it was read")
        return piece._replace(changed=-(-after.st_mtime_ns // 1_000_000))

    def read_all(self, paths: list[str], budget: Budget) -> Iterator[tuple[str, Piece | None]]:
        """See `Files`. A tracked file that is away holds nothing."""
        for path in paths:
            try:
                yield path, self.read(path, None, budget)
            except Missing:
                continue
            except CannotLook:
                budget.spend(0)  # a bound that is reached ends the look; a file that is closed to us does not
                yield path, None

    def changed(self, path: str, piece: Piece, budget: Budget) -> int | None:
        """See `Files`: the modification time."""
        return piece.changed

    def paths(self, budget: Budget) -> list[str]:
        """See `Files`: every regular file below the root, for a folder that is no repository."""
        found: list[str] = []
        try:
            for folder, folders, files, at in os.fwalk(".", dir_fd=self.fd, follow_symlinks=False):
                folders[:] = sorted(name for name in folders if name.lower() != ".git")
                for name in files:
                    path = name if folder == "." else f"{folder[2:]}/{name}"
                    budget.spend(len(path))
                    if stat.S_ISREG(os.stat(name, dir_fd=at, follow_symlinks=False).st_mode):
                        found.append(path)
        except OSError as error:
            raise CannotLook(f"the folder cannot be listed: {error.strerror}") from None
        found.sort(key=os.fsencode)
        return found


def _chunks(file: int, budget: Budget) -> Iterator[bytes]:
    while chunk := os.read(file, _CHUNK):
        budget.spend(len(chunk))
        yield chunk


def _demand_regular(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise CannotLook("symbolic links are not followed")
    if not stat.S_ISREG(found.st_mode):
        raise CannotLook("the path names no regular file")


def _reason(error: OSError, name: str, folder: int) -> Exception:
    """What a failed step of the walk means: nothing there, or not to be looked at."""
    if error.errno == errno.ENOENT:
        return Missing(name)
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        # With O_DIRECTORY, Linux says ENOTDIR of a link as well.
        try:
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return Missing(name)
        return CannotLook("symbolic links are not followed") if stat.S_ISLNK(found.st_mode) else Missing(name)
    return CannotLook(f"the file cannot be read: {error.strerror}")
