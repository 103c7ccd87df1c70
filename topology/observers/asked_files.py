"""Which files a question speaks of: those that its checks name, that of the annotation's locator, that of the text.

Every path that a look would touch is held against what may be looked at before the first one is read: one that is
closed makes the whole look `unavailable`, whatever the others are (observing.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from ...streams.judging.checks import TABLE, Check
from .ask import Ask, Budget, CannotLook
from .located import ON_TREES
from .place_findings import decides
from .trees import Place, Tree
from .untracked import UNTRACKED

NO_PATH: Final = "neither the locator nor the assertion names one path"


class Where(NamedTuple):
    """The places of one question in one tree.

    Attributes:
        default: what checks without a path of their own are held against, and the words; None where no path is named.
        own: of the checks that name one, by their number.
        several: the files of that name, where the text names none more exactly; empty where it does not.
    """

    default: Place | None
    own: Mapping[int, Place]
    several: tuple[str, ...] = ()

    def of(self, number: int) -> Place | None:
        """The one file that a check is held against; None where it is all of them, or none."""
        return self.own.get(number, self.default)

    @property
    def anchor(self) -> Place | None:
        """The file whose bytes the observation names: that of the locator or text, else of the first check."""
        return self.default or next(iter(self.own.values()), None)


def named_path(ask: Ask, where: Where) -> str | None:
    """The path that the locator names, as it stands there; None where it names none."""
    return None if where.default is None or ask.member("path") is None else where.default.path


def locate(ask: Ask, tree: Tree) -> Where:
    """The places that the checks which this class decides, and the words, speak of.

    Raises:
        CannotLook: one of them must not be looked at.
    """
    path = ask.member("path")
    default = None if path is None else tree.locate(path, ask.budget)
    own: dict[int, Place] = {}
    pathless = ask.question.is_sentence
    for number, check in enumerate(ask.question.checks):
        if not isinstance(check, Check) or not decides(ask.substrate_class, check):
            continue
        if check.path is not None:
            own[number] = place = _own(ask, tree, check, check.path)
            if check.name not in ON_TREES:
                _demand_tracked(place)
        elif TABLE[check.name].content:
            pathless = True
    if default is None and pathless and ask.terms.places:
        place = ask.terms.places[0]
        found = _of_name(tree, place, ask.budget)
        if len(found) > 1:
            return Where(None, own, tuple(found))
        default = tree.locate(found[0] if found else place, ask.budget)
    if pathless and default is not None:
        _demand_tracked(default)
    return Where(default, own)


def _demand_tracked(place: Place) -> None:
    """Raises:
    CannotLook: an untracked file is there: that it is there is all that may be told.
    """
    if place.state == "untracked":
        raise CannotLook(UNTRACKED)


def _own(ask: Ask, tree: Tree, check: Check, path: str) -> Place:
    """The place that a check names. One that was read from the sentence may leave folders out, as people do."""
    place = tree.locate(path, ask.budget)
    if place.state != "missing" or ask.question.derived.declared or not TABLE[check.name].content:
        return place
    found = _of_name(tree, place.path, ask.budget)
    return tree.locate(found[0], ask.budget) if len(found) == 1 else place


def place_of(ask: Ask, tree: Tree) -> Place:
    """The one file that the locator names, or else the text, whether it names the folders or not.

    Raises:
        CannotLook: neither names one file, or it must not be looked at.
    """
    path = ask.member("path")
    if path is not None:
        return tree.locate(path, ask.budget)
    if not ask.terms.places:
        raise CannotLook(NO_PATH)
    return one_of_name(tree, ask.terms.places[0], ask.budget)


def one_of_name(tree: Tree, place: str, budget: Budget) -> Place:
    """The one file of a name in any folder.

    Raises:
        CannotLook: several are called so, or it must not be looked at.
    """
    found = _of_name(tree, place, budget)
    if len(found) > 1:
        raise CannotLook(f"{len(found)} files are called {place}")
    return tree.locate(found[0] if found else place, budget)


def _of_name(tree: Tree, place: str, budget: Budget) -> list[str]:
    """The file of exactly that path, or else every file of that name in any folder."""
    if tree.locate(place, budget).state != "missing":
        return [place]
    return [path for path in tree.paths(budget) if path.endswith(f"/{place}")]
