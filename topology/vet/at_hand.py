"""What vetting tells the recorder of the checkout: its tracked paths, which files stand there as they were committed,
and what the observers parsed already."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import Final

from ...record.checkouts import Checkout
from ...streams.policy.policy import Policy
from ..observers.instruments import Instruments
from ..observers.nameable_files import committed, tracked
from ..settings.settings import Settings

_SHA1: Final = 40
"""Digits of an object's name in a repository that uses SHA-1; in any other it is SHA-256."""


def kinds_wanted(policy: Policy) -> int:
    """How many kinds of evidence about a check are enough, where all read one checkout.

    Args:
        policy: decides. Where it counts kinds once that read the same bytes, one more is wanted.
    """
    return policy.admissibility.k.internal + policy.judging.same_bytes


class AtHand:
    """One checkout while answers about it are vetted. One thread uses it at a time.

    What was found out is kept: a file that changes meanwhile is looked at as it was when it was first asked for.

    Args:
        folder: the checkout.
        settings: the bounds of a look; its roots are the folders that the repository may lead to.
        instruments: what the observers look with; they close it.
        policy: decides how many kinds of evidence are worth a look.
    """

    def __init__(self, folder: str, settings: Settings, instruments: Instruments, policy: Policy) -> None:
        self.folder, self.wanted = folder, kinds_wanted(policy)
        self._settings, self._instruments = settings, instruments
        self._checkout = Checkout(folder)
        self._committed: dict[str, bool] = {}

    @cached_property
    def listing(self) -> frozenset[str]:
        """The paths that may be looked at, relative to the folder."""
        return tracked(self.folder, self._settings, self._instruments)

    def committed(self, path: str) -> bool:
        """Whether a file stands in the work tree as HEAD has it, so that history may speak of what stands there.

        Args:
            path: relative to the folder.
        """
        known = self._committed.get(path)
        if known is None:
            name = self._head.get(path)
            data = None if name is None else self._checkout.data(path)
            known = data is not None and name == _blob(data, len(name or ""))
            self._committed[path] = known
        return known

    @cached_property
    def _head(self) -> dict[str, str]:
        """The files of HEAD's tree, each with the name of its object."""
        return committed(self.folder, self._settings, self._instruments)


def _blob(data: bytes, digits: int) -> str:
    """The name that git gives a file of these bytes, where it stores them as they are."""
    made = hashlib.sha1(usedforsecurity=False) if digits == _SHA1 else hashlib.sha256()
    made.update(b"blob %d\0" % len(data))
    made.update(data)
    return made.hexdigest()
