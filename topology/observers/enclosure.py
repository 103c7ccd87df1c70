"""Whether a git repository keeps to the folders that the operator named (docs/observing.md, «Which repository»).

A repository can lead git to other places: a `.git` that is a file or a link, `commondir`, `objects/info/alternates`,
links below the git directory, files that its configuration includes. Each is followed here before git is, and has to
end below a named root; otherwise nothing of the repository is looked at. Git itself is then given the folders that were
checked, so that it does not read the way a second time.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from typing import Final

from .ask import Budget, ObservationUnavailable
from .git import Git
from .kept_looks import State, is_settled, state_from, state_of

LEADS_OUT: Final = "the repository leads out of the roots that are looked at"
NO_FILE: Final = "the repository has something in place of a file that git would read, and it is no regular file"
IN_QUOTES: Final = "the repository borrows objects from a folder in quotation marks, which is not followed"
_FILES: Final = ("HEAD", "index", "config", "config.worktree", "packed-refs", "shallow")
_FOLDERS: Final = ("refs", "info", "objects", "objects/info", "objects/pack", "reftable")
_HASHED: Final = re.compile(r"[0-9a-f]{2}")
_INCLUDES: Final = re.compile(rb"\[include", re.IGNORECASE)
_SECONDS: Final = 5.0
_MOST: Final = 1 << 20
"""Bytes of a file that git is led by; no such file is as long."""
_DEEPEST: Final = 8
"""Files that include each other, or folders that lead on to the next."""
TOO_LONG: Final = f"a file by which the repository leads git is longer than {_MOST:,} bytes"
TOO_DEEP: Final = f"files or folders of the repository lead on to one another more than {_DEEPEST} times"


class Enclosure:
    """The real paths of the roots that an operator named, and which repositories were found to keep to them."""

    def __init__(self, roots: Iterable[str]) -> None:
        self._roots = tuple(sorted({os.path.realpath(root) for root in roots}))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Enclosure) and self._roots == other._roots

    def __hash__(self) -> int:
        return hash(self._roots)

    def holds(self, path: str) -> bool:
        """Whether a path, with all links followed, is a root or lies below one."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(root.rstrip("/") + "/") for root in self._roots)

    def demand(self, git: Git) -> Kept | None:
        """Makes sure that a repository leads nowhere else.

        Returns:
            By what a later look can tell that it still holds; None where something was written just now.

        Raises:
            ObservationUnavailable: it leads out, or cannot be told.
        """
        before = kept_of(git)
        try:
            if not all(map(self.holds, _ways(git))):
                raise ObservationUnavailable(LEADS_OUT)
        except OSError as error:
            raise ObservationUnavailable(f"the repository cannot be read: {error.strerror}") from None
        settled = all(state is None or is_settled(state) for state in before)
        return before if settled and before == kept_of(git) else None


Kept = tuple[State | None, ...]


def kept_of(git: Git) -> Kept:
    """The states of everything in which a way out could be written; most are the 256 folders of loose objects."""
    objects = os.path.join(git.common, "objects")
    files = [os.path.join(git.root, ".git"), git.own, git.common, objects]
    files += [os.path.join(git.own, name) for name in ("commondir", "config.worktree")]
    files += [os.path.join(git.common, name) for name in ("config", "info", "refs", "objects/info/alternates")]
    files += [os.path.join(objects, name) for name in ("info", "pack")]
    return *map(state_of, files), *_hashed_states(objects)


def _hashed_states(objects: str) -> Iterator[State | None]:
    """Those of the folders of loose objects, by their names; asked of the open folder, without a path for each."""
    try:
        folder = os.open(objects, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return
    try:
        for name in sorted(filter(_HASHED.fullmatch, os.listdir(folder))):
            try:
                yield state_from(os.stat(name, dir_fd=folder))
            except OSError:
                yield None
    finally:
        os.close(folder)


def _ways(git: Git) -> Iterator[str]:
    """Every place that git could be led to."""
    yield git.own
    yield git.common
    for folder in {git.own, git.common}:
        for name in (*_FILES, *_FOLDERS):
            yield os.path.join(folder, name)
        for name in _FILES:
            _demand_file(os.path.join(folder, name))
        yield from _links(os.path.join(folder, "info"))
        for name in ("config", "config.worktree"):
            yield from _included(os.path.join(folder, name), _DEEPEST)
    yield from _stores(os.path.join(git.common, "objects"), _DEEPEST)


def _stores(objects: str, deepest: int) -> Iterator[str]:
    """A folder of objects, the links in it, and the folders that it borrows from."""
    yield objects
    for name in ("info", "pack", *_hashed(objects)):
        folder = os.path.join(objects, name)
        yield folder
        yield from _links(folder)
    for lender in borrowed(objects):
        if not deepest:
            raise ObservationUnavailable(TOO_DEEP)
        yield from _stores(lender, deepest - 1)


def borrowed(objects: str) -> list[str]:
    """The folders that a folder of objects borrows from.

    Raises:
        ObservationUnavailable: one is written in quotation marks, which only a path needs that hides something.
    """
    lines = _read(os.path.join(objects, "info", "alternates")).split(b"\n")
    named = [line for line in lines if line and not line.startswith(b"#")]
    if any(line.startswith(b'"') for line in named):
        raise ObservationUnavailable(IN_QUOTES)
    return [os.path.join(objects, os.fsdecode(line)) for line in named]


def _hashed(objects: str) -> list[str]:
    try:
        return sorted(filter(_HASHED.fullmatch, os.listdir(objects)))
    except OSError:
        return []


def _links(folder: str) -> Iterator[str]:
    """The symbolic links in a folder."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                elif not entry.is_file() and not entry.is_dir():
                    raise ObservationUnavailable(NO_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return


def _demand_file(path: str) -> None:
    """Raises:
    ObservationUnavailable: something else than a regular file stands there.
    """
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if not stat.S_ISREG(found.st_mode):
        raise ObservationUnavailable(NO_FILE)


def _read(path: str) -> bytes:
    """The bytes of a regular file; none where there is no file."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise ObservationUnavailable(NO_FILE)
        with open(file, "rb", closefd=False) as opened:
            data = opened.read(_MOST + 1)
    finally:
        os.close(file)
    if len(data) > _MOST:
        raise ObservationUnavailable(TOO_LONG)
    return data


def _included(config: str, deepest: int) -> Iterator[str]:
    """The files that a file of configuration includes, under whatever condition, and those that they include."""
    if not _INCLUDES.search(_read(config)):
        return
    if not deepest:
        raise ObservationUnavailable(TOO_DEEP)
    for path in Git.includes(config, Budget(_SECONDS, _MOST)):
        if not path or path[0] in "~%":  # somebody's home, or where git is installed
            raise ObservationUnavailable(LEADS_OUT)
        found = os.path.join(os.path.dirname(os.path.realpath(config)), path)
        yield found
        yield from _included(found, deepest - 1)
