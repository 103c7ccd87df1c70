"""The roots that an operator names, and reading below them: never `..`, a symbolic link, `.git`, or a thing that is no
regular file.

Every path is walked one component at a time from an open folder, each opened without following links, so no rename
or new link can lead the walk out between a test and its use. Opening never blocks. Which of the files that are there
may be looked at is decided in trees.py.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeVar, Union

from ...codecs.errors import UnreachableError, UsageError
from .ask import Budget, Missing, ObservationUnavailable
from .file_contents import Piece, cut
from .kept_looks import State, state_from

DEFAULT: Final = "default"
"""What a root without a name is called."""
_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
SEPARATOR: Final = "\n"
"""Between several roots in one setting; a folder's name may hold anything else."""


class Roots(NamedTuple):
    """Paths by name.

    Attributes:
        named: at least one; that of `DEFAULT` is the one without a name.
    """

    named: Mapping[str, str]

    @classmethod
    def of(cls, given: RootsLike) -> Roots:
        """The roots that a caller or the setting `root` names: one path, several on a line each, or a mapping.

        Raises:
            UsageError: two have one name, or a name is none.
        """
        if isinstance(given, Roots):
            return given
        if isinstance(given, Mapping):
            named = {name or DEFAULT: os.fspath(path) for name, path in given.items()}
            wrong = next((name for name in named if not _NAME.fullmatch(name)), None)
            if wrong is not None or not named:
                raise UsageError("a root has no name that it can have", expected=_EXPECTED, got=repr(wrong or "none"))
            return cls(named)
        if not isinstance(given, str) or os.path.isdir(given):
            return cls({DEFAULT: os.fspath(given)})
        return cls.parse(given.split(SEPARATOR))

    @classmethod
    def parse(cls, values: Iterable[str]) -> Roots:
        """Roots as the command line gives them: `DIR`, or `NAME=DIR`. What is a folder as it stands has no name.

        Raises:
            UsageError: two have one name, or one names no folder.
        """
        named: dict[str, str] = {}
        for value in values:
            name, path = _split(value)
            if not path:
                raise UsageError(f"the root {name} names no folder", expected="DIR or NAME=DIR")
            if name in named:
                which = "without a name" if name == DEFAULT else f"called {name}"
                raise UsageError(f"two roots are {which}", expected="one DIR, and each NAME once")
            named[name] = path
        if not named:
            raise UsageError("no root is named", expected="DIR or NAME=DIR")
        return cls(named)

    def pick(self, repo: str | None) -> str:
        """The name of the root that a locator means.

        Args:
            repo: its member of that name; None where it has none.

        Raises:
            ObservationUnavailable: there is none of that name, or several and none of them is meant.
        """
        if repo is not None:
            if repo in self.named:
                return repo
            raise ObservationUnavailable("no repository of that name is looked at")
        if DEFAULT in self.named:
            return DEFAULT
        if len(self.named) == 1:
            return next(iter(self.named))
        raise ObservationUnavailable("which-repository")

    def check(self) -> None:
        """Raises:
        UnreachableError: one of them is not there, or is no folder.
        """
        for path in self.named.values():
            try:
                os.close(os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            except (OSError, ValueError) as error:
                why = error.strerror if isinstance(error, OSError) else "no path"
                raise UnreachableError(f"cannot look at {path!r}: {why}", hint=HINT) from None

    def shown(self) -> str:
        """For a person: the paths, with their names where there are several."""
        if list(self.named) == [DEFAULT]:
            return self.named[DEFAULT]
        return ", ".join(path if name == DEFAULT else f"{name}={path}" for name, path in self.named.items())

    def absolute(self) -> str:
        """As one text that `of` reads back, with absolute paths."""
        return SEPARATOR.join(
            str(Path(path).resolve()) if name == DEFAULT else f"{name}={Path(path).resolve()}"
            for name, path in self.named.items()
        )


RootsLike = Union[str, "os.PathLike[str]", Mapping[str, "str | os.PathLike[str]"], Roots]
HINT: Final = "name a folder or a git repository with --root"
_EXPECTED: Final = "1 to 64 of the characters A-Z a-z 0-9 . _ -"


def _split(value: str) -> tuple[str, str]:
    name, equals, path = value.partition("=")
    if not equals or os.path.isdir(value) or not _NAME.fullmatch(name):
        return DEFAULT, value
    return name, path


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_CHUNK = 1 << 16
MAX_PATH = 4096
T = TypeVar("T")


class GitsOwn(ObservationUnavailable):
    """What git keeps for itself."""

    def __init__(self) -> None:
        super().__init__("what git keeps for itself is not looked at")


class FolderFiles(NamedTuple):
    """The files of a folder, in the order of their bytes, and whether none is missing among them."""

    paths: list[str]
    whole: bool


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
            raise UnreachableError(f"cannot look at {str(path)!r}: {error.strerror}", hint=HINT) from None
        self._names = {self.path, os.path.realpath(self.path)}
        self._forbidden: set[tuple[int, int]] = set()

    def close(self) -> None:
        """Closes the folder."""
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
            ObservationUnavailable: the path is impossible, leads out of the root, or into `.git`.
        """
        if "\0" in path:
            raise ObservationUnavailable("a path holds no NUL")
        if path.startswith("/"):
            below = next((path[len(name) + 1 :] for name in sorted(self._names) if path.startswith(name + "/")), None)
            if below is None:
                raise ObservationUnavailable("the path lies outside the root")
            path = below
        names = [name for name in path.split("/") if name not in ("", ".")]
        if ".." in names:
            raise ObservationUnavailable("the path lies outside the root")
        if any(name.lower() == ".git" for name in names):
            raise GitsOwn
        try:
            too_long = len(os.fsencode(path)) > MAX_PATH or any(len(os.fsencode(name)) > 255 for name in names)
        except UnicodeError:
            raise ObservationUnavailable("the path cannot be written on this system") from None
        if too_long or not names:
            raise ObservationUnavailable("the path names no file")
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
                    raise GitsOwn
        return folder

    def stat(self, path: str) -> os.stat_result:
        """The state of a regular file, which need not be readable.

        Raises:
            Missing: nothing stands there.
            ObservationUnavailable: it must not be looked at, or is no regular file.
        """
        found = self._stat(path)
        _demand_regular(found)
        return found

    def _stat(self, path: str) -> os.stat_result:
        names = self.components(path)
        folder = self._walk(names)
        try:
            return os.stat(names[-1], dir_fd=folder, follow_symlinks=False)
        except OSError as error:
            raise _reason(error, names[-1], folder) from None
        finally:
            os.close(folder)

    def folder_changed(self, path: str) -> int | None:
        """When something last came into or went from the folder of a path, or the nearest one above that is there, in
        Unix milliseconds; None where nobody can tell."""
        names = self.components(path)
        while names:
            try:
                folder = self._walk(names)
            except Missing:
                names.pop()
                continue
            except ObservationUnavailable:
                return None
            try:
                return changed_at(state_from(os.fstat(folder)))
            finally:
                os.close(folder)
        return None

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
        except ObservationUnavailable:
            os.close(file)
            raise
        return file

    def kind(self, path: str) -> Literal["file", "folder"]:
        """What stands at a path.

        Raises:
            Missing: nothing does.
            ObservationUnavailable: it must not be looked at, or is neither.
        """
        found = self._stat(path)
        if stat.S_ISDIR(found.st_mode):
            if (found.st_dev, found.st_ino) in self._forbidden:
                raise GitsOwn
            return "folder"
        _demand_regular(found)
        return "file"

    def has(self, path: str) -> bool:
        """Whether anything stands at a path, whatever it is.

        Raises:
            GitsOwn: what git keeps for itself does.
        """
        try:
            self.kind(path)
        except Missing:
            return False
        except GitsOwn:
            raise
        except ObservationUnavailable:
            pass
        return True

    def content(self, path: str, budget: Budget, known: Callable[[State], T | None]) -> tuple[State, bytes | T]:
        """The bytes of a file, and the state in which they were read.

        Args:
            path: of the file.
            budget: of the look.
            known: what is kept of the file in a state, in place of its bytes.

        Raises:
            Missing: nothing stands there.
            ObservationUnavailable: it must not or could not be read, or changed meanwhile.
        """
        file = self.open(path)
        try:
            before = state_from(os.fstat(file))
            kept = known(before)
            if kept is not None:
                budget.spend(before[2])
                return before, kept
            data = b"".join(_chunks(file, budget))
            after = state_from(os.fstat(file))
        except OSError as error:
            raise ObservationUnavailable(f"the file cannot be read: {error.strerror}") from None
        finally:
            os.close(file)
        if (before[0], before[2]) != (after[0], after[2]):
            raise ObservationUnavailable("the file changed while it was read")
        return after, data

    def read(self, path: str, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """As `content`, for a file or some of its lines; no more bytes are read than that takes."""
        file = self.open(path)
        try:
            before = os.fstat(file)
            piece = cut(_chunks(file, budget), lines)
            after = os.fstat(file)
        except OSError as error:
            raise ObservationUnavailable(f"the file cannot be read: {error.strerror}") from None
        finally:
            os.close(file)
        if (before.st_mtime_ns, before.st_size) != (after.st_mtime_ns, after.st_size):
            raise ObservationUnavailable("the file changed while it was read")
        return piece._replace(changed=changed_at(state_from(after)))

    def states(self, folder: str, names: Iterable[str]) -> list[State | bool]:
        """The state of each of these files of a folder: in 1.5 us each, so that a search may ask for all of them.

        Returns:
            True for what is no regular file, or not to be looked at; False for what is not there.
        """
        names = list(names)
        try:
            inner = self._walk([*folder.split("/"), ""] if folder else [""])
        except Missing:
            return [False] * len(names)
        except ObservationUnavailable:
            return [True] * len(names)
        found: list[State | bool] = []
        ask, is_regular = os.stat, stat.S_ISREG
        try:
            for name in names:
                try:
                    one = ask(name, dir_fd=inner, follow_symlinks=False)
                except FileNotFoundError:
                    found.append(False)
                    continue
                except OSError:
                    found.append(True)
                    continue
                state = one.st_mtime_ns, one.st_ctime_ns, one.st_size, one.st_ino, one.st_dev
                found.append(state if is_regular(one.st_mode) else True)
        finally:
            os.close(inner)
        return found

    def paths(self, budget: Budget) -> FolderFiles:
        """Every regular file below the root; links and what git keeps for itself are not entered."""
        found: list[str] = []
        closed: list[str] = []
        for path in self._below(closed):
            budget.spend(len(path))
            found.append(path)
        found.sort(key=os.fsencode)
        return FolderFiles(found, not closed)

    def is_empty(self) -> bool:
        """Whether there is no file in it: what was meant is not there, such as a volume that is not mounted."""
        return next(self._below([]), None) is None

    def files(self) -> Iterator[str]:
        """The regular files, one after the other as they are found; folders that cannot be read are left out."""
        return self._below([])

    def has_any(self, paths: Iterable[str], budget: Budget) -> bool:
        """Whether something stands at any of these paths, readable or not."""
        for path in paths:
            budget.remaining()
            try:
                self.stat(path)
            except Missing:
                continue
            except ObservationUnavailable:
                return True
            return True
        return False

    def reads_any(self, paths: Iterable[str], budget: Budget) -> bool:
        """Whether any of these files can be opened for reading."""
        for path in paths:
            budget.remaining()
            try:
                os.close(self.open(path))
            except (Missing, ObservationUnavailable):
                continue
            return True
        return False

    def _below(self, closed: list[str]) -> Iterator[str]:
        """The regular files; folders that cannot be read are added to `closed`."""
        waiting = [""]
        while waiting:
            folder = waiting.pop()
            try:
                inner = self._walk([*folder.split("/")[:-1], ""] if folder else [""])
            except (Missing, GitsOwn):
                continue
            except ObservationUnavailable:
                closed.append(folder)
                continue
            try:
                with os.scandir(inner) as entries:
                    for entry in entries:
                        if entry.is_file(follow_symlinks=False):
                            yield folder + entry.name
                        elif entry.is_dir(follow_symlinks=False) and entry.name.lower() != ".git":
                            waiting.append(f"{folder}{entry.name}/")
            except OSError:
                closed.append(folder)
            finally:
                os.close(inner)


def changed_at(state: State) -> int:
    """When a file of this state was last written, in Unix milliseconds, rounded up."""
    return -(-state[0] // 1_000_000)


def _chunks(file: int, budget: Budget) -> Iterator[bytes]:
    while chunk := os.read(file, _CHUNK):
        budget.spend(len(chunk))
        yield chunk


def _demand_regular(found: os.stat_result) -> None:
    if stat.S_ISLNK(found.st_mode):
        raise ObservationUnavailable("symbolic links are not followed")
    if not stat.S_ISREG(found.st_mode):
        raise ObservationUnavailable("the path names no regular file")


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
        return (
            ObservationUnavailable("symbolic links are not followed") if stat.S_ISLNK(found.st_mode) else Missing(name)
        )
    return ObservationUnavailable(f"the file cannot be read: {error.strerror}")
