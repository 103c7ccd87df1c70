"""The files that may be looked at below a root, by their paths: what a plain answer's names are compared with.

Of a work tree the index's, of a bare repository those of HEAD, of a folder that is no repository all that stand in it;
without the names that are never looked at (`listings.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Final

from ..settings.settings import Settings
from .ask import Budget, ObservationUnavailable
from .enclosure import Enclosure, borrowed
from .git import Git
from .listings import FILE
from .observer_registry import ObserverRegistry
from .repository import Repository
from .roots import Root, Roots
from .trees import FolderTree, WorkTree

_SECONDS: Final = 5.0
_MOST_BYTES: Final = 1 << 20
"""Of a file of configuration."""
_MOST_LENDERS: Final = 8
_PARTING: Final = re.compile(r"\.|::|#|->")
_COPY: Final = re.compile(
    r"(?:^|/)(?:dist|build|out|target|vendor|third_party|node_modules)/|\.d\.[cm]?ts$|\.pyi$|\.min\.js$"
)
_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|testdata|examples?|bench(?:es|marks?)?)/|(?:^|/)test_[^/]*$"
    r"|[._-](?:test|spec)\.\w+$|Tests?\.(?:java|cs)$"
)


def tracked(path: str, settings: Settings, instruments: ObserverRegistry) -> frozenset[str]:
    """The paths, relative to the root, with slashes; none where they cannot be listed within one look's bounds.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read of a repository.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(ObservationUnavailable, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is None:
            return frozenset(FolderTree(root, instruments.denied(root), instruments.contents).paths(budget))
        if repository.git.bare:
            return frozenset(repository.listing(repository.tip(None, budget), budget).files)
        return frozenset(repository.index(budget).files)
    return frozenset()


def committed(path: str, settings: Settings, instruments: ObserverRegistry) -> dict[str, str]:
    """The files of HEAD's tree, each with the name of its object; none where nobody can tell within one look's bounds.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read of a repository.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(ObservationUnavailable, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is not None:
            entries = repository.listing(repository.tip(None, budget), budget).entries
            return {name: entry.name for name, entry in entries.items() if entry.kind == FILE}
    return {}


def defining(
    path: str, settings: Settings, instruments: ObserverRegistry, symbol: str, seconds: float | None = None
) -> list[str]:
    """The files of a work tree that define a symbol; empty where they cannot be found within one look's bounds.

    Git lists the files that hold the name, and only these are read: a large repository has too many to read them all.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read and parsed.
        symbol: a name, with the names of its owners before it where they are told.
        seconds: the search may take so long at most; None: as long as a look.

    Raises:
        UnreachableError: the root is not there.
    """
    parts = tuple(_PARTING.split(symbol.removesuffix("()")))
    with closing(Root(path)) as root, suppress(ObservationUnavailable, OSError):
        repository, budget = _repository(root, settings, instruments, seconds)
        if repository is None or repository.git.bare:
            return []
        listed = set(repository.index(budget).files)
        named = sorted(listed.intersection(repository.git.files_with(parts[-1], budget)))
        tree = WorkTree(root, instruments.denied(root), instruments.contents, repository)
        defining_files: list[str] = []
        for name, file in tree.everything(budget, named).holding(parts[-1]):
            source = file.source(name) if file.may_name(parts[-1]) else None
            index = None if source is None else instruments.parsed.code(source)
            if index is not None and any(defined.path[-len(parts) :] == parts for defined in index.definitions):
                defining_files.append(name)
        return defining_files
    return []


def is_copy(path: str) -> bool:
    """Whether a path is by convention that of a stub, or of what a build or another project made: what it defines is
    defined elsewhere as well."""
    return _COPY.search(path) is not None


def homes(paths: Sequence[str]) -> list[str]:
    """Of the files that define a symbol those that a statement about it means: no copies and no tests, where there are
    others."""
    for is_aside in (is_copy, _TEST.search):
        paths = [path for path in paths if not is_aside(path)] or paths
    return list(paths)


def foresee(path: str, settings: Settings, instruments: ObserverRegistry) -> None:
    """Finds out beforehand which commits left the files of HEAD as they are: for who is about to ask of many files.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is found out. Where nothing can be, the observers ask for each file.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(ObservationUnavailable, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is not None:
            repository.learn_touches(repository.tip(None, budget).name, budget)


def _repository(
    root: Root, settings: Settings, instruments: ObserverRegistry, seconds: float | None = None
) -> tuple[Repository | None, Budget]:
    """The repository at a root, None where there is none, and what one look may take.

    Raises:
        ObservationUnavailable: it leads out of the roots.
    """
    enclosure = Enclosure((root.path, *Roots.of(settings.root).named.values()))
    walls = [wall for wall in (settings.look_wall, seconds) if wall is not None]
    return instruments.repository(root, enclosure), Budget(min(walls, default=None), settings.look_bytes)


def repositories_of(top: str) -> dict[str, str]:
    """The folders outside of a work tree in which its repository keeps its own, by the names of roots: `main`, the main
    repository of a linked work tree or the git directory of a submodule; `borrowed`, `borrowed-2` and so on, those that
    it borrows objects from (`git clone --shared`, `--reference`).

    No user named them, so the main repository has to know the work tree, and not only the work tree the repository.
    What a repository borrows from has to belong to the same user.

    Args:
        top: the top folder of a work tree.
    """
    git = Git.at(top)
    if git is None:
        return {}
    main = _main_repository(git)
    if main is None and git.directory != git.own:
        return {}
    found = {} if main is None else {"main": main}
    for place, folder in enumerate(_lenders(os.path.join(git.common, "objects"), _MOST_LENDERS), 1):
        found["borrowed" if place == 1 else f"borrowed-{place}"] = folder
    return found


def _main_repository(git: Git) -> str | None:
    """The repository that says that this work tree is its own; None where none does, or it is in the work tree."""
    if git.directory == git.own:
        return None
    own, common = os.path.realpath(git.own), os.path.realpath(git.common)
    if own == common:
        with suppress(ObservationUnavailable):
            tree = Git.work_tree_of(os.path.join(own, "config"), Budget(_SECONDS, _MOST_BYTES))
            if tree is not None and os.path.realpath(os.path.join(own, tree)) == os.path.realpath(git.root):
                return own
        return None
    try:
        with open(os.path.join(own, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            back = file.readline(4096).rstrip("\n")
    except OSError:
        return None
    is_ours = os.path.dirname(own) == os.path.join(common, "worktrees")
    if not is_ours or os.path.realpath(os.path.join(own, back)) != os.path.realpath(git.directory):
        return None
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _lenders(objects: str, most: int) -> list[str]:
    """The git directories that a folder of objects borrows from, and those that they borrow from; each once."""
    waiting, found = [objects], list[str]()
    for folder in waiting:  # grows
        with suppress(ObservationUnavailable, OSError):
            owner = os.stat(folder).st_uid
            for one in map(os.path.realpath, borrowed(folder)):
                lender = os.path.dirname(one)
                is_known = lender in found or len(found) >= most
                if not is_known and os.stat(one).st_uid == owner and Git.at(lender) is not None:
                    found.append(lender)
                    waiting.append(one)
    return found
