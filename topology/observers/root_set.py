"""The roots as they are looked at for the time of one emission, and which of their files an annotation means.

`ref` and `commit` in a locator mean git's objects; without them it is the work tree, of a bare repository HEAD's tree,
and of a folder that is no repository all that stands in it.
"""

from __future__ import annotations

import os
from contextlib import closing
from itertools import filterfalse
from typing import Final, NamedTuple

from ...codecs.errors import UnreachableError
from ..settings.settings import Settings
from .ask import Ask, Budget, ObservationUnavailable
from .enclosure import Enclosure
from .file_contents import Contents
from .listings import Denied
from .observer_registry import ObserverRegistry
from .repository import PREFIX, Commit, Repository
from .roots import Root, Roots
from .trees import CommitTree, FolderTree, Tree, WorkTree

NOTHING_TRACKED: Final = "no file of this repository is tracked"
NOTHING_ON_DISK: Final = "no tracked file is on disk"
EMPTY: Final = "the root is empty"
UNREADABLE: Final = "no file of the root can be read"
NO_HASH: Final = "the locator's commit is no hash of 7 digits or more"


class NotReached(ObservationUnavailable):
    """The locator names a commit that the reference does not reach.

    Attributes:
        prefix: of its hash.
    """

    def __init__(self, prefix: str) -> None:
        super().__init__("the locator's commit is not reachable")
        self.prefix = prefix


class View(NamedTuple):
    """The files that an annotation speaks of.

    Attributes:
        tree: the files.
        reference: the commit that `ref` names, or HEAD; None where no history was asked.
        exact: the locator names the commit whose tree that is, so that no time has passed since.
    """

    tree: Tree
    reference: Commit | None = None
    exact: bool = False


class Site:
    """One root.

    Attributes:
        name: what observations call it.
        root: the folder, held open.
        repository: git's, where it is one.
        denied: the names that are never looked at.
        closed: why nothing here may be looked at; empty where something may.
    """

    def __init__(
        self,
        name: str,
        root: Root,
        repository: Repository | None,
        denied: Denied,
        contents: Contents,
        closed: str = "",
    ) -> None:
        self.name, self.repository, self.denied, self.closed = name, repository, denied, closed
        self.root, self._contents = root, contents
        for folder in repository.git.folders() if repository is not None else ():
            root.forbid(folder)

    def view(self, ask: Ask) -> View:
        """The files that the locator means, where they are looked at as they stand.

        Raises:
            ObservationUnavailable: there is no such commit or reference, or nothing at all, or it is closed.
        """
        if self.closed:
            raise ObservationUnavailable(self.closed)
        if ask.member("ref") is None and ask.member("commit") is None:
            if self.repository is None or not self.repository.git.bare:
                why = self._why_empty(ask.budget)
                if why:
                    raise ObservationUnavailable(why)
            if self.repository is None:
                return View(FolderTree(self.root, self.denied, self._contents))
            if not self.repository.git.bare:
                return View(WorkTree(self.root, self.denied, self._contents, self.repository))
        return self.past(ask)

    def work_tree(self, budget: Budget) -> WorkTree | None:
        """The tracked files as they stand on disk; None where there are none."""
        if self.repository is None or self.repository.git.bare or self._why_empty(budget):
            return None
        return WorkTree(self.root, self.denied, self._contents, self.repository)

    def past(self, ask: Ask) -> View:
        """The tree of the commit that the locator names, or else of what `ref` names, or HEAD.

        Raises:
            ObservationUnavailable: this is no repository, or it has none of that name.
            NotReached: there is no such commit, or the reference does not reach it.
        """
        if self.closed:
            raise ObservationUnavailable(self.closed)
        ref, named = ask.member("ref"), ask.member("commit")
        prefix = (named or "").lower()
        if named is not None and not PREFIX.fullmatch(prefix):
            raise ObservationUnavailable(NO_HASH)
        if self.repository is None:
            raise ObservationUnavailable("the root is no git repository")
        reference = self.repository.tip(ref, ask.budget)
        if named is None:
            return View(self.at(reference), reference)
        reached = self.repository.reached(prefix, reference.name, ask.budget)
        if not reached:
            if self.repository.shallow():
                raise ObservationUnavailable("the repository is shallow: the commit may lie behind its end")
            raise NotReached(prefix)
        if len(reached) > 1:
            raise ObservationUnavailable(f"{len(reached)} commits begin with the locator's hash")
        commit = self.repository.commit(reached[0], ask.budget)
        assert commit is not None, "what is reached is there"
        return View(self.at(commit), reference, True)

    def at(self, commit: Commit) -> CommitTree:
        """The tree of a commit of this repository."""
        assert self.repository is not None, "a commit comes from a repository"
        return CommitTree(self.root, self.denied, self._contents, self.repository, commit)

    def is_older(self, since: int | None, budget: Budget) -> bool:
        """Whether this is a mirror that was not brought up to date after `since`, in Unix milliseconds."""
        return self.repository is not None and self.repository.is_older(since, budget)

    def why_not_ready(self, budget: Budget) -> str:
        """Why nothing can be seen here: nothing is there, tracked or readable; empty where something can."""
        if self.closed:
            return self.closed
        if self.repository is not None and self.repository.git.bare:
            self.repository.tip(None, budget)
            return ""
        why = self._why_empty(budget)
        if why:
            return why
        if self.repository is not None and not self.repository.index(budget).files:
            return ""  # links and submodules only: no file that could be closed to us
        files = self.root.files() if self.repository is None else self.repository.index(budget).files
        return "" if self.root.reads_any(filterfalse(self.denied.holds, files), budget) else UNREADABLE

    def _why_empty(self, budget: Budget) -> str:
        """Why the files on disk say nothing: there are none, as where a volume is not mounted."""
        if self.repository is None:
            return EMPTY if self.root.is_empty() else ""
        index = self.repository.index(budget)
        if not index.entries:
            return NOTHING_TRACKED
        return "" if not index.files or self.root.has_any(index.files, budget) else NOTHING_ON_DISK


ROOT_AWAY: Final = "the root is not there"
ROOT_CLOSED: Final = "the root cannot be read"
"""What observations say of it: never the host's own path."""


class RootSet:
    """The roots, each opened when the first annotation means it; one alone at once."""

    def __init__(self, roots: Roots, instruments: ObserverRegistry) -> None:
        self._roots, self._instruments = roots, instruments
        self._enclosure = Enclosure(roots.named.values())
        self._sites: dict[str, Site] = {}
        if len(roots.named) == 1:
            self._open(next(iter(roots.named)))

    def site(self, ask: Ask) -> Site:
        """The root that the locator means.

        Raises:
            ObservationUnavailable: there is none of that name, or it is not there.
        """
        name = self._roots.pick(ask.member("repo"))
        try:
            return self._sites.get(name) or self._open(name)
        except UnreachableError:
            raise ObservationUnavailable(_why_away(self._roots.named[name])) from None

    def path(self, name: str) -> str:
        """Where a root is on this host."""
        return self._sites[name].root.path

    def _open(self, name: str) -> Site:
        made = _site(name, Root(self._roots.named[name]), self._enclosure, self._instruments)
        self._sites[name] = made
        return made

    def close(self) -> None:
        """Closes what was opened."""
        for site in self._sites.values():
            site.root.close()


def _site(name: str, root: Root, enclosure: Enclosure, instruments: ObserverRegistry) -> Site:
    """A root as it is looked at; a repository that leads out of the roots is closed."""
    repository, closed = None, ""
    try:
        repository = instruments.repository(root, enclosure)
    except ObservationUnavailable as why:
        closed = str(why)
    return Site(name, root, repository, instruments.denied(root), instruments.contents, closed)


def why_blind(roots: Roots, instruments: ObserverRegistry, settings: Settings) -> str:
    """Why nothing can be seen below a root: it is not there, unreadable or empty; an empty text where something can."""
    enclosure = Enclosure(roots.named.values())
    for name, path in roots.named.items():
        budget = Budget(settings.look_wall, settings.look_bytes)
        try:
            with closing(Root(path)) as root:
                why = _site(name, root, enclosure, instruments).why_not_ready(budget)
        except (UnreachableError, ObservationUnavailable, OSError) as error:
            why = _why_away(path) if isinstance(error, UnreachableError) else str(error)
        if why:
            return why if len(roots.named) == 1 else f"{name}: {why}"
    return ""


def _why_away(path: str) -> str:
    """Of a root that cannot be opened: a folder that is there is closed to us."""
    return ROOT_CLOSED if os.path.isdir(path) else ROOT_AWAY
