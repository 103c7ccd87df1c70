"""Files as they stand on disk: the tracked ones of a work tree, or all of a folder that is no repository (trees.py).

What a work tree tracks is what its index lists; a file that is there and not listed is closed, not missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from .ask import Budget, CannotLook, Missing
from .commit_tree import changed_by
from .commits import Commit
from .confine import Found, Root, changed_at
from .content import Piece
from .denied import Denied
from .file_contents import Contents, Everything, File
from .listings import FILE
from .repository import Repository
from .states import State, is_settled
from .trees import Place, confined, missing_at, place_of_entry
from .untracked import demand_open, nearest

NOT_CHECKED_OUT: Final = "the file is not checked out"


class _OnDisk:
    """What a work tree and a folder have in common: their files are read from disk."""

    commit = None

    def __init__(self, root: Root, denied: Denied, contents: Contents) -> None:
        self._root, self._denied, self._contents = root, denied, contents

    def file(self, place: Place, budget: Budget) -> File:
        """See `Tree`."""
        state, data = self._root.content(place.path, budget, lambda state: self._known(place.path, state))
        if isinstance(data, File):
            return data
        made = File(data, changed_at(state))
        self._contents.keep_on_disk(self._root.path, place.path, state, made)
        return made

    def _known(self, path: str, state: State) -> File | None:
        return self._contents.on_disk(self._root.path, path, state)

    def part(self, place: Place, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """See `Tree`."""
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
                found[path] = kept or self.file(Place(path, "file"), budget)
            except (Missing, CannotLook):
                budget.spend(0)  # a bound that is reached ends the look; a file that is closed to us does not
        return found

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: the newest modification time."""
        return found.newest

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """See `Tree`: nothing is committed here."""
        return False

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: the modification time."""
        try:
            found = self._root.stat(path)
        except (Missing, CannotLook):
            return None
        return -(-found.st_mtime_ns // 1_000_000)


class FolderTree(_OnDisk):
    """A folder that is no repository: all of its regular files count as tracked."""

    def locate(self, path: str, budget: Budget) -> Place:
        """See `Tree`."""
        found = confined(self._root, self._denied, path)
        try:
            return Place(found, self._root.kind(found))
        except Missing:
            return missing_at(found)

    def went(self, path: str, budget: Budget) -> int | None:
        """See `Tree`: a folder remembers nothing."""
        return None

    def _found(self, budget: Budget) -> Found:
        found = self._root.paths(budget)
        kept = [path for path in found.paths if not self._denied.holds(path)]
        return Found(kept, found.whole and len(kept) == len(found.paths))

    def paths(self, budget: Budget) -> list[str]:
        """See `Tree`."""
        return self._found(budget).paths

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        """See `Tree`."""
        found = self._found(budget) if paths is None else Found(list(paths), True)
        return self._read_all(found.paths, _by_folder(found.paths), found.whole, budget)


class WorkTree(_OnDisk):
    """The tracked files of a repository, as they stand in its work tree."""

    def __init__(self, root: Root, denied: Denied, contents: Contents, repository: Repository) -> None:
        super().__init__(root, denied, contents)
        self._repository = repository

    def locate(self, path: str, budget: Budget) -> Place:
        """See `Tree`."""
        found = confined(self._root, self._denied, path)
        listing = self._repository.index(budget)
        entry = nearest(listing, found)
        if entry is None:
            demand_open(self._root, self._repository, listing, found, budget)
            return Place(found, "untracked") if self._root.has(found) else missing_at(found)
        place = place_of_entry(entry, found, self._denied)
        if place.state == "folder":
            return place
        if entry.path != found and found.startswith(f"{entry.path}/"):
            return missing_at(found)
        try:
            if self._root.kind(place.path) != "file":
                raise CannotLook("the path names no regular file")
        except Missing:
            if not entry.checked_out:
                raise CannotLook(NOT_CHECKED_OUT) from None
            return missing_at(place.path)
        return place._replace(blob="")  # what stands on disk may be another content

    def paths(self, budget: Budget) -> list[str]:
        """See `Tree`."""
        return self._repository.index(budget).files

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        """See `Tree`."""
        if paths is not None:
            return self._read_all(paths, _by_folder(paths), True, budget)
        listing = self._repository.index(budget)
        return self._read_all(listing.files, listing.by_folder, listing.whole, budget)

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: the modification time, or when the last commit that touched it was made, if that is earlier.

        A file that is as it was committed has not changed since, whenever it was checked out.
        """
        written = super().changed(path, since, budget)
        if written is None or (since is not None and written <= since) or self.is_own_edit(path, budget):
            return written
        made = changed_by(self._repository, path, self._tip_name(budget), budget)
        return written if made is None else min(written, made)

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: as `changed`; of files that are as they were committed the tip's date."""
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
        """See `Tree`: it stands otherwise in HEAD's tree, or only in one of the two."""
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
        except (Missing, CannotLook):
            budget.spend(0)
            return True

    def _tip(self, budget: Budget) -> Commit | None:
        """HEAD's commit; None in a repository without one."""
        try:
            return self._repository.tip(None, budget)
        except CannotLook:
            budget.spend(0)
            return None

    def _tip_name(self, budget: Budget) -> str:
        tip = self._tip(budget)
        assert tip is not None, "what is as it was committed has a commit"
        return tip.name

    def went(self, path: str, budget: Budget) -> int | None:
        """See `Tree`: by the history, or by the folder that it was in where no commit tells of it."""
        tip = self._tip(budget)
        if tip is None:
            return None
        if self._repository.entry(tip, path, budget) is None:
            return changed_by(self._repository, path, tip.name, budget)
        return self._root.folder_changed(path)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition("/")[0], []).append(path)
    return found
