"""The files of a commit, read from git's objects (trees.py).

A tree has no modification times: there a file changed when the last commit that touched it was committed.
"""

from __future__ import annotations

from collections.abc import Sequence

from .ask import Budget, CannotLook
from .commits import Commit
from .confine import Root
from .content import Piece
from .denied import Denied
from .file_contents import Contents, Everything, File
from .listings import Listing
from .repository import Repository
from .trees import Place, confined, missing_at, place_of_entry
from .untracked import demand_nothing, demand_open, nearest


class CommitTree:
    """The files of a commit, read from git's objects."""

    def __init__(self, root: Root, denied: Denied, contents: Contents, repository: Repository, commit: Commit) -> None:
        self._root, self._denied, self._contents, self._repository = root, denied, contents, repository
        self.tip = commit

    def at(self, commit: Commit) -> CommitTree:
        """The files of another commit of the same repository."""
        return CommitTree(self._root, self._denied, self._contents, self._repository, commit)

    @property
    def commit(self) -> Commit | None:
        """See `Tree`."""
        return self.tip

    def locate(self, path: str, budget: Budget) -> Place:
        """See `Tree`."""
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

    def file(self, place: Place, budget: Budget) -> File:
        """See `Tree`."""
        known = self._contents.of_git(place.blob)
        if known is not None:
            budget.spend(len(known.data))
            return known
        found = self._repository.objects.read(place.blob, budget)
        if found is None or found.kind != "blob":
            raise CannotLook("a file of this tree is not in the repository")
        made = File(found.data)
        self._contents.keep_of_git(place.blob, made)
        return made

    def part(self, place: Place, lines: tuple[int, int] | None, budget: Budget) -> Piece:
        """See `Tree`."""
        return self.file(place, budget).part(lines)

    def paths(self, budget: Budget) -> list[str]:
        """See `Tree`."""
        return self._repository.listing(self.tip, budget).files

    def everything(self, budget: Budget, paths: Sequence[str] | None = None) -> Everything:
        """See `Tree`."""
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
            file = made.get(name) or self._contents.of_git(name) or self.file(Place(path, "file", name), budget)
            if name in counted:
                counted.discard(name)  # it has been counted where it was read
            else:
                budget.spend(len(file.data))
            files.append((path, file))
        return Everything(files, whole, self._made_at(), paths)

    def newest(self, found: Everything, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: when the commit was made."""
        return found.newest

    def is_own_edit(self, path: str | None, budget: Budget) -> bool:
        """See `Tree`: what a commit has is committed."""
        return False

    def changed(self, path: str, since: int | None, budget: Budget) -> int | None:
        """See `Tree`: when the last commit that touched it was committed, or merged into the branch of the tip."""
        return changed_by(self._repository, path, self.tip.name, budget)

    def went(self, path: str, budget: Budget) -> int | None:
        """See `Tree`: as for what is there."""
        return self.changed(path, None, budget)

    def _made_at(self) -> int | None:
        return None if self.tip.committed is None else -(-self.tip.committed[0] // 1_000_000)


def changed_by(repository: Repository, path: str, tip: str, budget: Budget) -> int | None:
    """When the last commit that touched a path was committed, or merged into the branch of a tip."""
    touches = [repository.touched(path, tip, budget, first_parent=first_parent) for first_parent in (False, True)]
    return max((touch.time for touch in touches if touch is not None), default=None)
