"""Which paths of a work tree are closed because git does not track what stands there, or would (docs/observing.md).

That is asked of every tree of a repository that has a work tree, a commit's as well: whatever a check comes to, it must
not tell of what only the disk has.
"""

from __future__ import annotations

from typing import Final

from .ask import Budget, CannotLook, Missing
from .confine import GitsOwn, Root
from .listings import Entry, Listing
from .repository import Repository

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
    tracked file; and of whatever else is there, of any kind.

    Args:
        root: the work tree.
        repository: its own.
        listing: its index.
        path: from the root, which neither the index nor the tree that is looked at has.
        budget: of the look.

    Raises:
        CannotLook: one may not, or a bound is reached.
    """
    if repository.ignores(path, budget):
        raise CannotLook(UNTRACKED)
    names = path.split("/")
    for end in range(1, len(names) + 1):
        above = "/".join(names[:end])
        if listing.at(above) is None:
            try:
                root.kind(above)
            except Missing:
                return
            except GitsOwn:
                raise
            except CannotLook:
                pass
            break
    raise CannotLook(UNTRACKED)
