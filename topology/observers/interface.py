"""The interface of an observer beyond the root, and how one's own takes the place of ours (observing.md).

The vocabulary is closed [S §8]: an observer of one's own observes a known class. It is a callable under the entry
point group `sluice.observers` that takes the `Settings` and returns an `Observer`; the operator names it in the list
(`[own.NAME]`, access.py). Merely being installed makes nothing an observer: who observes is the operator's decision,
since k-distinct is worth what its observers are worth [S §11.3].

    class Tracker:
        def __init__(self, settings: Settings) -> None: ...
        def admit(self, locator: Locator) -> Locator: ...
        def observe(self, ask: Ask) -> Finding: ...
        def close(self) -> None: ...

    [project.entry-points."sluice.observers"]
    acme = "acme_observers:Tracker"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, Protocol, cast, runtime_checkable

from ...codecs.errors import UsageError
from ...codecs.records import Locator
from ..settings import Settings
from .ask import Ask, Budget, CannotLook, Finding, judge

__all__ = ["GROUP", "Ask", "Budget", "CannotLook", "Finding", "Observer", "judge", "own_observers"]

GROUP: Final = "sluice.observers"


@runtime_checkable
class Observer(Protocol):
    """What looks at one class of substrate. Called from several threads at once.

    One that takes longer than `ask.budget` holds up the looks of its own class only; one that raises anything but
    `CannotLook` has its look answered with `unavailable`.
    """

    def admit(self, locator: Locator) -> Locator:
        """The members of a locator that an observation may repeat; asked before anything else, for every annotation.

        Raises:
            CannotLook: the place is not on the operator's list.
        """
        ...

    def observe(self, ask: Ask) -> Finding:
        """Looks, within `ask.budget`.

        Never puts what it saw, or a credential, into the finding: terms of the assertion, an id, a reason.

        Raises:
            CannotLook: the substrate could not be read, or a bound was reached.
        """
        ...

    def close(self) -> None:
        """Ends whatever the looks have left open; no look comes after."""
        ...


def own_observers(
    own: Mapping[str, str], settings: Settings, found: Iterable[EntryPoint] | None = None
) -> dict[str, Observer]:
    """The operator's own observers by class.

    Args:
        own: entry points' names by class (access.py).
        settings: what the observers are made with.
        found: the entry points to choose from; by default those installed.

    Raises:
        UsageError: no such entry point is installed, it is ambiguous, or what it gives is no observer.
    """
    if not own:
        return {}
    points = list(entry_points(group=GROUP) if found is None else found)
    return {name: _made(point, name, settings, points) for name, point in own.items()}


def _made(name: str, substrate_class: str, settings: Settings, points: list[EntryPoint]) -> Observer:
    named = [point for point in points if point.name == name]
    if len(named) != 1:
        installed = ", ".join(sorted({point.name for point in points})) or "none"
        what = "no entry point" if not named else f"{len(named)} entry points"
        raise UsageError(f"{what} of the group {GROUP} is called {name}", hint=f"installed are: {installed}")
    try:
        made = cast(Callable[[Settings], Any], named[0].load())(settings)
    except UsageError:
        raise
    except Exception as error:  # whatever a stranger's module does, the operator gets one sentence
        raise UsageError(f"the observer {name} for {substrate_class} does not load: {type(error).__name__}") from error
    if not isinstance(made, Observer):
        raise UsageError(f"the entry point {name} gives no observer", expected="admit, observe and close")
    return made
