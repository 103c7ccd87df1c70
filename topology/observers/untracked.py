"""Which paths of a work tree are closed because git does not track what stands there, or would (docs/observing.md).

That is asked of every tree of a repository that has a work tree, a commit's as well: whatever a check comes to, it must
not tell of what only the disk has.
"""

from __future__ import annotations

from typing import Final

from .ask import Budget, CannotLook
from .confine import Root
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
    tracked file. Of what is there otherwise that it is there may be told, and not what it is.

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
            if above == path or not root.has(above):
                return
            break
    raise CannotLook(UNTRACKED)


def demand_nothing(root: Root, path: str) -> None:
    """Raises:
    CannotLook: something untracked is at a path: its history is as closed as its content.
    """
    if root.has(path):
        raise CannotLook(UNTRACKED)
