"""The files that may be looked at below a root, by their paths: what a plain answer's names are compared with.

Of a work tree the index's, of a bare repository those of HEAD, of a folder that is no repository all that stand in it;
without the names that are never looked at (`denied.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import closing, suppress
from typing import Final

from ..settings.settings import Settings
from .ask import Budget, CannotLook
from .confine import Root
from .disk_trees import FolderTree, WorkTree
from .enclosure import Enclosure
from .git import Git
from .instruments import Instruments
from .listings import FILE
from .repository import Repository
from .roots import Roots

_PARTING: Final = re.compile(r"\.|::|#|->")
_COPY: Final = re.compile(
    r"(?:^|/)(?:dist|build|out|target|vendor|third_party|node_modules)/|\.d\.[cm]?ts$|\.pyi$|\.min\.js$"
)
_TEST: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|testdata|examples?|bench(?:es|marks?)?)/|(?:^|/)test_[^/]*$"
    r"|[._-](?:test|spec)\.\w+$|Tests?\.(?:java|cs)$"
)


def tracked(path: str, settings: Settings, instruments: Instruments) -> frozenset[str]:
    """The paths, relative to the root, with slashes; none where they cannot be listed within one look's bounds.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read of a repository.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(CannotLook, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is None:
            return frozenset(FolderTree(root, instruments.denied(root), instruments.contents).paths(budget))
        if repository.git.bare:
            return frozenset(repository.listing(repository.tip(None, budget), budget).files)
        return frozenset(repository.index(budget).files)
    return frozenset()


def committed(path: str, settings: Settings, instruments: Instruments) -> dict[str, str]:
    """The files of HEAD's tree, each with the name of its object; none where nobody can tell within one look's bounds.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read of a repository.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(CannotLook, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is not None:
            entries = repository.listing(repository.tip(None, budget), budget).entries
            return {name: entry.name for name, entry in entries.items() if entry.kind == FILE}
    return {}


def defining(path: str, settings: Settings, instruments: Instruments, symbol: str) -> list[str]:
    """The files of a work tree that define a symbol; none where they cannot be read within one look's bounds.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is read and parsed.
        symbol: a name, with the names of its owners before it where they are told.

    Raises:
        UnreachableError: the root is not there.
    """
    parts, found = tuple(_PARTING.split(symbol.removesuffix("()"))), list[str]()
    with closing(Root(path)) as root, suppress(CannotLook, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is None or repository.git.bare:
            return found
        tree = WorkTree(root, instruments.denied(root), instruments.contents, repository)
        for name, file in tree.everything(budget).holding(parts[-1]):
            source = file.source(name) if file.may_name(parts[-1]) else None
            index = None if source is None else instruments.parsed.code(source)
            if index is not None and any(one.path[-len(parts) :] == parts for one in index.definitions):
                found.append(name)
    return found


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


def foresee(path: str, settings: Settings, instruments: Instruments) -> None:
    """Finds out beforehand which commits left the files of HEAD as they are: for who is about to ask of many files.

    Args:
        path: the root on this host.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: keep what is found out. Where nothing can be, the observers ask for each file.

    Raises:
        UnreachableError: the root is not there.
    """
    with closing(Root(path)) as root, suppress(CannotLook, OSError):
        repository, budget = _repository(root, settings, instruments)
        if repository is not None:
            repository.learn_touches(repository.tip(None, budget).name, budget)


def _repository(root: Root, settings: Settings, instruments: Instruments) -> tuple[Repository | None, Budget]:
    """The repository at a root, None where there is none, and what one look may take.

    Raises:
        CannotLook: it leads out of the roots.
    """
    enclosure = Enclosure((root.path, *Roots.of(settings.root).named.values()))
    return instruments.repository(root, enclosure), Budget(settings.look_wall, settings.look_bytes)


def main_repository(top: str) -> str | None:
    """The main repository of a linked work tree, where that says that this is one of its own; None of anything else.

    Nobody named it: so the main repository has to know the work tree, and not only the work tree the repository.

    Args:
        top: the top folder of a work tree.
    """
    git = Git.at(top)
    if git is None or git.own == git.common or git.directory == git.own:
        return None
    try:
        with open(os.path.join(git.own, "gitdir"), encoding="utf-8", errors="surrogateescape") as file:
            back = file.readline(4096).rstrip("\n")
    except OSError:
        return None
    back, common = os.path.realpath(os.path.join(git.own, back)), os.path.realpath(git.common)
    is_ours = os.path.realpath(os.path.dirname(git.own)) == os.path.join(common, "worktrees")
    if not is_ours or back != os.path.realpath(git.directory):
        return None
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common
