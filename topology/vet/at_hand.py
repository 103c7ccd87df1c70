"""What vetting tells the recorder of the checkout: its tracked paths, which files stand there as they were committed,
and what the observers parsed already."""

from __future__ import annotations

from functools import cached_property

from ...record.checkouts import Checkout
from ...streams.policy.policy import Policy
from ..observers.file_contents import File
from ..observers.instruments import Instruments
from ..observers.nameable_files import committed, defining, tracked
from ..settings.settings import Settings


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
        self._homes: dict[str, str | None] = {}

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
            known = data is not None and name is not None and File(data).is_blob(name)
            self._committed[path] = known
        return known

    def home(self, symbol: str) -> str | None:
        """The one tracked file that defines a symbol; None where several do, or none does.

        Args:
            symbol: a name, with the names of its owners before it where they are told.
        """
        if symbol not in self._homes:
            found = defining(self.folder, self._settings, self._instruments, symbol)
            self._homes[symbol] = found[0] if len(found) == 1 else None
        return self._homes[symbol]

    @cached_property
    def _head(self) -> dict[str, str]:
        """The files of HEAD's tree, each with the name of its object."""
        return committed(self.folder, self._settings, self._instruments)
