"""The roots that an operator names, as looks need them: opened when the first annotation means one, closed after.

A root that is not there is told by a word of ours; the host's own path gets into no observation.
"""

from __future__ import annotations

import os
from contextlib import closing
from typing import Final

from ...codecs.errors import UnreachableError
from ..settings.settings import Settings
from .ask import Ask, Budget, CannotLook
from .confine import Root
from .enclosure import Enclosure
from .instruments import Instruments
from .looked_root import Site
from .roots import Roots

ROOT_AWAY: Final = "the root is not there"
ROOT_CLOSED: Final = "the root cannot be read"
"""What observations say of it: never the host's own path."""


class Ground:
    """The roots, each opened when the first annotation means it; one alone at once."""

    def __init__(self, roots: Roots, instruments: Instruments) -> None:
        self._roots, self._instruments = roots, instruments
        self._enclosure = Enclosure(roots.named.values())
        self._sites: dict[str, Site] = {}
        if len(roots.named) == 1:
            self._open(next(iter(roots.named)))

    def site(self, ask: Ask) -> Site:
        """The root that the locator means.

        Raises:
            CannotLook: there is none of that name, or it is not there.
        """
        name = self._roots.pick(ask.member("repo"))
        try:
            return self._sites.get(name) or self._open(name)
        except UnreachableError:
            raise CannotLook(_why_away(self._roots.named[name])) from None

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


def _site(name: str, root: Root, enclosure: Enclosure, instruments: Instruments) -> Site:
    """A root as it is looked at; a repository that leads out of the roots is closed."""
    repository, closed = None, ""
    try:
        repository = instruments.repository(root, enclosure)
    except CannotLook as why:
        closed = str(why)
    return Site(name, root, repository, instruments.denied(root), instruments.contents, closed)


def why_blind(roots: Roots, instruments: Instruments, settings: Settings) -> str:
    """Why nothing can be seen below a root: it is not there, unreadable or empty; an empty text where something can."""
    enclosure = Enclosure(roots.named.values())
    for name, path in roots.named.items():
        budget = Budget(settings.look_wall, settings.look_bytes)
        try:
            with closing(Root(path)) as root:
                why = _site(name, root, enclosure, instruments).why_not_ready(budget)
        except (UnreachableError, CannotLook, OSError) as error:
            why = _why_away(path) if isinstance(error, UnreachableError) else str(error)
        if why:
            return why if len(roots.named) == 1 else f"{name}: {why}"
    return ""


def _why_away(path: str) -> str:
    """Of a root that cannot be opened: a folder that is there is closed to us."""
    return ROOT_CLOSED if os.path.isdir(path) else ROOT_AWAY
