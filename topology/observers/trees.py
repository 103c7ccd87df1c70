"""The files that an annotation may mean: of a commit's tree, of a work tree, or all of a folder.

A folder that is no repository has no tracked files. Files that git does not track are named, never read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol

from .ask import Budget, Missing, ObservationUnavailable
from .file_contents import Contents, Everything, File, Piece
from .kept_looks import State, is_settled
from .listings import FILE, FOLDER, LINK, Denied, Entry, Listing, by_folder
from .repository import Commit, Repository
from .roots import FolderFiles, Root, changed_at

LINKED: Final = "symbolic links are not followed"
_IN_SUBMODULE: Final = "the path lies in a submodule"
_PATTERN: Final = re.compile(r"[*?]|\[[^\]]+\]|\{[^{}]*,[^{}]*\}")


class TreePath(NamedTuple):
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

    def locate(self, path: str, budget: Budget) -> TreePath:
        """What stands at a path.

        Raises:
            ObservationUnavailable: it is impossible, forbidden, denied, a link, not tracked, or a pattern.
        """
        ...

    def file(self, place: TreePath, budget: Budget) -> File:
        """The file at a place, whole.

        Raises:
            Missing: it went away meanwhile.
        """
        ...

    def part(self, place: TreePath, lines: tuple[int, int] | None, budget: Budget) -> Piece:
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
        ObservationUnavailable: it is impossible, leads out, or holds a name that is never looked at.
    """
    found = "/".join(root.components(path))
    denied.refuse(found)
    return found


def missing_at(path: str) -> TreePath:
    """The place where nothing stands.

    Raises:
        ObservationUnavailable: the path is a pattern: what it means is not one file.
    """
    if _PATTERN.search(path):
        raise ObservationUnavailable("the path is a pattern, not a file")
    return TreePath(path, "missing")


def place_of_entry(entry: Entry, asked: str, denied: Denied) -> TreePath:
    """The place of what a tree or index holds at a path, or on the way to it.

    Raises:
        ObservationUnavailable: it is a link, a submodule or lies in one, or its name is never looked at.
    """
    if entry.kind == LINK:
        raise ObservationUnavailable(LINKED)
    if entry.kind not in (FILE, FOLDER):
        raise ObservationUnavailable("the path names no regular file" if entry.path == asked else _IN_SUBMODULE)
    denied.refuse(entry.path)
    return TreePath(entry.path, "file" if entry.kind == FILE else "folder", entry.name)


UNTRACKED: Final = "the file is not tracked"


def nearest(listing: Listing, path: str) -> Entry | None:
    """What stands at a path of an index, or else the nearest thing above it that is no folder."""
    found = listing.at(path)
    above = path
    while found is None and (above := above.rpartition("/")[0]):
        found = listing.entries.get(above)
    return found


def demand_open(root: Root, repository: Repository, listing: Listing, path: str, budget: Budget) -> None:
    """That one may learn if anything stands at a path that is not tracked.

    Nobody may of a path that git is told to ignore, whether something is there or not; of one below a folder without a
    tracked file. Of what is there otherwise that it is there may be told, and not what it is.

    Args:
        repository: its own.
        path: from the root, which neither the index nor the tree that is looked at has.

    Raises:
        ObservationUnavailable: one may not, or a bound is reached.
    """
    if repository.git.ignores(path, budget):
        raise ObservationUnavailable(UNTRACKED)
    names = path.split("/")
    for end in range(1, len(names) + 1):
        above = "/".join(names[:end])
        if listing.at(above) is None:
            if above == path or not root.has(above):
                return
            break
    raise ObservationUnavailable(UNTRACKED)


def demand_nothing(root: Root, path: str) -> None:
    """Raises:
    ObservationUnavailable: something untracked is at a path: its history is as closed as its content.
    """
    if root.has(path):
        raise ObservationUnavailable(UNTRACKED)


class CommitTree:
    """The files of a commit, read from git's objects; see `Tree`."""

    def __init__(self, root: Root, denied: Denied, contents: Contents, repository: Repository, commit: Commit) -> None:
        self._root, self._denied, self._contents, self._repository = root, denied, contents, repository
        self.tip = commit

    def at(self, commit: Commit) -> CommitTree:
        """The files of another commit of the same repository."""
        return CommitTree(self._root, self._denied, self._contents, self._repository, commit)

    @property
    def commit(self) -> Commit | None:
        return self.tip

    def locate(self, path: str, budget: Budget) -> TreePath:
        found = confined(self._root, self._denied, path)
        entry = self._repository.entry(self.tip, found, budget)
        if entry is None:
            if not self._repository.git.bare:
                listing = self._repository.index(budget)
                if nearest(listing, found) is None:
                    demand_open(self._root, self._repository, listing, found, budget)
                    demand_nothing(self._root, found)
            return missing_at(found)
        return place_of_entry(entry, found, self._denied)

    def file(self, place: TreePath, budget: Budget) -> File:
        known = self._contents.of_git(place.blob)
        if known is not None:
            budget.spend(len(known.data))
            return known
        found = self._repository.objects.read(place.blob, budget)
        if found is None or found.kind != "blob":
            raise ObservationUnavailable("a file of this tree is not in the repository")
        made = File(found.data)
        self._contents.keep_of_git(place.blob, made)
        return made

    def part(self, place: TreePath, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        return self.file(place, budget).part(lines)

    def paths(self, budget: Budget) -> list[str]:
        return self._repository.listing(self.tip, budget).files

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        listing = self._repository.listing(self.tip, budget)
        if paths is not None:
            return self._read(listing, paths, True, budget)
        known = self._contents.everything(self.tip.tree)
        if known is not None:
            budget.spend(known.size)
            return known.at(self._made_at())
        made = self._read(listing, listing.files, listing.whole, budget)
        self._contents.keep_everything(self.tip.tree, made)
        return made

    def _read(self, listing: Listing, paths: Sequence[str], whole: bool, budget: Budget) -> Everything:
        entries = [(path, listing.entries[path].name) for path in paths]
        unknown = [name for _, name in entries if self._contents.of_git(name) is None]
        made: dict[str, File] = {}
        for found in self._repository.objects.many(list(dict.fromkeys(unknown)), budget) if unknown else ():
            made[found.name] = File(found.data)
            self._contents.keep_of_git(found.name, made[found.name])
        files: list[tuple[str, File]] = []
        counted = set(made)
        for path, name in entries:
            file = made.get(name) or self._contents.of_git(name) or self.file(TreePath(path, "file", name), budget)
            if name in counted:
                counted.discard(name)  # it has been counted where it was read
            else:
                budget.spend(len(file.data))
            files.append((path, file))
        return Everything(files, whole, self._made_at(), paths)

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """When the commit was made."""
        return found.newest

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """What a commit has is committed."""
        return False

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """When the last commit that touched it was committed, or merged into the branch of the tip."""
        return changed_by(self._repository, path, self.tip.name, budget)

    def went(self, path: str, budget: Budget) -> int | None:
        """As for what is there."""
        return self.changed(path, None, budget)

    def _made_at(self) -> int | None:
        return None if self.tip.committed is None else -(-self.tip.committed[0] // 1_000_000)


def changed_by(repository: Repository, path: str, tip: str, budget: Budget) -> int | None:
    """When the last commit that touched a path was committed, or merged into the branch of a tip."""
    touches = [repository.touched(path, tip, budget, first_parent=first_parent) for first_parent in (False, True)]
    return max((touch.time for touch in touches if touch is not None), default=None)


NOT_CHECKED_OUT: Final = "the file is not checked out"


class _OnDisk:
    """What a work tree and a folder have in common: their files are read from disk; see `Tree`."""

    commit = None

    def __init__(self, root: Root, denied: Denied, contents: Contents) -> None:
        self._root, self._denied, self._contents = root, denied, contents

    def file(self, place: TreePath, budget: Budget) -> File:
        state, data = self._root.content(place.path, budget, lambda state: self._known(place.path, state))
        if isinstance(data, File):
            return data
        made = File(data, changed_at(state))
        self._contents.keep_on_disk(self._root.path, place.path, state, made)
        return made

    def _known(self, path: str, state: State) -> File | None:
        return self._contents.on_disk(self._root.path, path, state)

    def part(self, place: TreePath, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        return self._root.read(place.path, lines, budget)

    def _read_all(
        self, paths: Sequence[str], groups: Mapping[str, list[str]], whole: bool, budget: Budget
    ) -> Everything:
        """These files, grouped by their folders. What is not there is left out, what cannot be read as well; then not
        all was read. Where none was written since, it is what was read before."""
        states: list[State | bool] = []
        for folder, members in groups.items():
            budget.remaining()
            start = len(folder) + 1 if folder else 0
            states += self._root.states(folder, [path[start:] for path in members] if start else members)
        whole = whole and not states.count(True)
        known = self._contents.everything(self._root.path)
        if known is not None and known.states == states and known.paths == paths and known.listed is whole:
            budget.spend(known.size)
            return known
        found = self._read([path for members in groups.values() for path in members], states, budget)
        whole = whole and len(found) == len(states) - states.count(False)
        newest = max((file.changed or 0 for file in found.values()), default=0) if whole else None
        made = Everything([(path, found[path]) for path in paths if path in found], whole, newest, paths, states)
        if all(is_settled(state) for state in states if not isinstance(state, bool)):
            self._contents.keep_everything(self._root.path, made)
        return made

    def _read(self, paths: Sequence[str], states: Sequence[State | bool], budget: Budget) -> dict[str, File]:
        there = [(path, state) for path, state in zip(paths, states, strict=True) if not isinstance(state, bool)]
        known = self._contents.all_on_disk(self._root.path, there)
        budget.spend(sum(len(file.data) for file in known if file is not None))
        found: dict[str, File] = {}
        for (path, _), kept in zip(there, known, strict=True):
            try:
                found[path] = kept or self.file(TreePath(path, "file"), budget)
            except (Missing, ObservationUnavailable):
                budget.spend(0)  # a bound that is reached ends the look; a file that is closed to us does not
        return found

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """The newest modification time."""
        return found.newest

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """Nothing is committed here."""
        return False

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """The modification time."""
        try:
            found = self._root.stat(path)
        except (Missing, ObservationUnavailable):
            return None
        return -(-found.st_mtime_ns // 1_000_000)


class FolderTree(_OnDisk):
    """A folder that is no repository: all of its regular files count as tracked."""

    def locate(self, path: str, budget: Budget) -> TreePath:
        found = confined(self._root, self._denied, path)
        try:
            return TreePath(found, self._root.kind(found))
        except Missing:
            return missing_at(found)

    def went(self, path: str, budget: Budget) -> int | None:
        """A folder remembers nothing."""
        return None

    def _found(self, budget: Budget) -> FolderFiles:
        found = self._root.paths(budget)
        kept = [path for path in found.paths if not self._denied.holds(path)]
        return FolderFiles(kept, found.whole and len(kept) == len(found.paths))

    def paths(self, budget: Budget) -> list[str]:
        return self._found(budget).paths

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        found = self._found(budget) if paths is None else FolderFiles(list(paths), True)
        return self._read_all(found.paths, by_folder(found.paths), found.whole, budget)


class WorkTree(_OnDisk):
    """The tracked files of a repository, as they stand in its work tree."""

    def __init__(self, root: Root, denied: Denied, contents: Contents, repository: Repository) -> None:
        super().__init__(root, denied, contents)
        self._repository = repository

    def locate(self, path: str, budget: Budget) -> TreePath:
        found = confined(self._root, self._denied, path)
        listing = self._repository.index(budget)
        entry = nearest(listing, found)
        if entry is None:
            demand_open(self._root, self._repository, listing, found, budget)
            return TreePath(found, "untracked") if self._root.has(found) else missing_at(found)
        place = place_of_entry(entry, found, self._denied)
        if place.state == "folder":
            return place
        if entry.path != found and found.startswith(f"{entry.path}/"):
            return missing_at(found)
        try:
            if self._root.kind(place.path) != "file":
                raise ObservationUnavailable("the path names no regular file")
        except Missing:
            if not entry.checked_out:
                raise ObservationUnavailable(NOT_CHECKED_OUT) from None
            return missing_at(place.path)
        return place._replace(blob="")  # what stands on disk may be another content

    def paths(self, budget: Budget) -> list[str]:
        return self._repository.index(budget).files

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        if paths is not None:
            return self._read_all(paths, by_folder(paths), True, budget)
        listing = self._repository.index(budget)
        return self._read_all(listing.files, listing.by_folder, listing.whole, budget)

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """The modification time, or when the last commit that touched it was made, if that is earlier.

        A file that is as it was committed has not changed since, whenever it was checked out.
        """
        written = super().changed(path, since, budget)
        if written is None or (since is not None and written <= since) or self.is_own_edit(path, budget):
            return written
        tip = self._tip(budget)
        assert tip is not None, "what is as it was committed has a commit"
        made = changed_by(self._repository, path, tip.name, budget)
        return written if made is None else min(written, made)

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """As `changed`; of files that are as they were committed the tip's date."""
        if found.newest is None or (since is not None and found.newest <= since):
            return found.newest
        tip = self._tip(budget)
        if tip is None or tip.committed is None:
            return found.newest
        entries = self._repository.listing(tip, budget).entries
        own = [
            file.changed for path, file in found.files if path not in entries or not file.is_blob(entries[path].name)
        ]
        return min(found.newest, max((time or 0 for time in (*own, -(-tip.committed[0] // 1_000_000))), default=0))

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """It stands otherwise in HEAD's tree, or only in one of the two."""
        tip = self._tip(budget)
        if path is None:
            listing = self._repository.index(budget)
            return any(self.is_own_edit(one, budget) for one in listing.files)
        try:
            place = self.locate(path, budget)
            entry = None if tip is None else self._repository.entry(tip, path, budget)
            if entry is None or entry.kind != FILE or place.state != "file":
                return (entry is None) != (place.state == "missing")
            return not self.file(place, budget).is_blob(entry.name)
        except (Missing, ObservationUnavailable):
            budget.spend(0)
            return True

    def _tip(self, budget: Budget) -> Commit | None:
        """HEAD's commit; None in a repository without one."""
        try:
            return self._repository.tip(None, budget)
        except ObservationUnavailable:
            budget.spend(0)
            return None

    def went(self, path: str, budget: Budget) -> int | None:
        """By the history, or by the folder that it was in where no commit tells of it."""
        tip = self._tip(budget)
        if tip is None:
            return None
        if self._repository.entry(tip, path, budget) is None:
            return changed_by(self._repository, path, tip.name, budget)
        return self._root.folder_changed(path)
