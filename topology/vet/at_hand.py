"""What vetting tells the recorder of the checkout: its tracked paths, which files stand there as they were committed,
and what the observers parsed already."""

from __future__ import annotations

from functools import cached_property
from time import monotonic
from typing import Final

from ...record.workspaces import Checkout
from ...streams.judging.checks import Check
from ...streams.judging.prose_literals import SYMBOLIC
from ...streams.policy.policy import Policy
from ..observers.file_contents import File
from ..observers.nameable_files import committed, defining, homes, tracked
from ..observers.observer_registry import ObserverRegistry
from ..settings.settings import Settings

_SHARE: Final = 0.25
"""Of the time that is left, what the search for the file of one symbol may take."""


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
        until: when all looks have to be done, on the clock of `time.monotonic`, where the user set a time. The search
            for the file of a symbol takes a share of what is left, so that it makes no other statement late.
    """

    def __init__(
        self, folder: str, settings: Settings, instruments: ObserverRegistry, policy: Policy, until: float | None = None
    ) -> None:
        self._until = until
        self.folder, self.wanted = folder, kinds_wanted(policy)
        self._settings, self._instruments = settings, instruments
        self._checkout = Checkout(folder)
        self._committed: dict[str, bool] = {}
        self._homes: dict[str, list[str]] = {}

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

    def home_of(self, check: Check) -> str | None:
        """The one tracked file that defines the symbol of a check, copies and tests aside; for `defines` the first of
        several. None where several do, none does, or the check is on no symbol."""
        if check.name not in SYMBOLIC and check.name != "defines":
            return None
        symbol = str(check.arguments[0])
        if symbol not in self._homes:
            seconds = None if self._until is None else _SHARE * (self._until - monotonic())
            self._homes[symbol] = homes(defining(self.folder, self._settings, self._instruments, symbol, seconds))
        files = self._homes[symbol]
        return files[0] if len(files) == 1 or (files and check.name == "defines") else None

    @cached_property
    def _head(self) -> dict[str, str]:
        """The files of HEAD's tree, each with the name of its object."""
        return committed(self.folder, self._settings, self._instruments)
