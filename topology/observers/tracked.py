"""The files that may be looked at below a root, by their paths: what a plain answer's names are compared with.

Of a work tree the index's, of a bare repository those of HEAD, of a folder that is no repository all that stand in it;
without the names that are never looked at (`denied.py`).
"""

from __future__ import annotations

from contextlib import closing

from ..settings.settings import Settings
from .ask import Budget, CannotLook
from .confine import Root
from .disk_trees import FolderTree
from .instruments import Instruments


def tracked(path: str, settings: Settings, instruments: Instruments) -> frozenset[str]:
    """The paths, relative to the root, with slashes; none where they cannot be listed within one look's time.

    Args:
        path: the root on this host.
        settings: the bounds of a look.
        instruments: keep what is read of a repository.

    Raises:
        UnreachableError: the root is not there.
    """
    budget = Budget(settings.look_timeout, settings.look_bytes)
    with closing(Root(path)) as root:
        repository = instruments.repository(root)
        try:
            if repository is None:
                return frozenset(FolderTree(root, instruments.denied, instruments.contents).paths(budget))
            if repository.git.bare:
                return frozenset(repository.listing(repository.tip(None, budget), budget).files)
            return frozenset(repository.index(budget).files)
        except (CannotLook, OSError):
            return frozenset()
