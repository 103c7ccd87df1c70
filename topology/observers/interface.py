"""The interface of an observer beyond the root, and how one's own takes the place of ours (observing.md).

The vocabulary is closed [S §8]: an observer of one's own observes a known class. It is a callable under the entry point
group `sluice.observers` that takes the `Settings` and returns an `Observer`; the operator names it in the list
(`[own.NAME]`, operator_list.py). Merely being installed makes nothing an observer: who observes is the operator's
decision, since k-distinct is worth what its observers are worth [S §11.3].

    class Tracker:
        def __init__(self, settings: Settings) -> None: ...
        def admit(self, locator: Locator) -> Locator: ...
        def observe(self, ask: Ask) -> Finding:
            text = ...
            helds = [in_text(check, text) for check in ask.question.checks]
            return answer(ask, helds, "ticket:7", words=words_in(ask, text))
        def close(self) -> None: ...

    [project.entry-points."sluice.observers"]
    acme = "acme_observers:Tracker"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar, cast, runtime_checkable

from ...codecs.errors import UsageError
from ...codecs.records import Locator
from ...streams.judging.checks import TABLE, Check, Unknown
from ...streams.judging.results import Held, Source
from ...streams.judging.terms import Presence, presence
from ...streams.judging.verify import BARE, verify_content
from ..settings.settings import Settings
from .ask import Ask, Budget, CannotLook, Finding
from .place_findings import OTHER, UNKNOWN, answer

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "GROUP",
    "Ask",
    "Budget",
    "CannotLook",
    "Finding",
    "Held",
    "Observer",
    "answer",
    "in_text",
    "own_observers",
    "words_in",
]

GROUP: Final = "sluice.observers"
T = TypeVar("T")


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
        """Looks, within `ask.budget`, decides each of `ask.question.checks`, and returns what `answer` makes of that.

        A finding without `judged` verifies no check: it counts only where the policy does without (docs/checks.md).
        What was seen, or a credential, is never put into it: what the checks came to, an id, a reason.

        Raises:
            CannotLook: the substrate could not be read, or a bound was reached.
        """
        ...

    def close(self) -> None:
        """Ends whatever the looks have left open; no look comes after."""
        ...


def in_text(check: Check | Unknown, text: str) -> Held:
    """What a check on content comes to in a text that an observer has read whole; any other is not for it to decide.

    Args:
        check: one of `ask.question.checks`. One that names a file speaks of that, and not of this text.
        text: of which quotes and counts are decided; what would need a language or a format stays undecided.
    """
    if isinstance(check, Unknown):
        return UNKNOWN
    if not TABLE[check.name].content or check.path is not None:
        return OTHER
    return verify_content(check, Source("", text), BARE)


def words_in(ask: Ask, text: str) -> Presence:
    """Which words of an assertion without checks stand in a text: told, and never counted."""
    return presence(ask.terms.terms, text)


def own_observers(
    own: Mapping[str, str], settings: Settings, found: Iterable[EntryPoint] | None = None
) -> dict[str, Observer]:
    """The operator's own observers by class.

    Args:
        own: entry points' names by class (operator_list.py).
        settings: what the observers are made with.
        found: the entry points to choose from; by default those installed.

    Raises:
        UsageError: no such entry point is installed, it is ambiguous, or what it gives is no observer.
    """
    return {
        name: load_one(GROUP, point, f"the observer {point} for {name}", Observer, settings, found)
        for name, point in own.items()
    }


def load_one(
    group: str, name: str, what: str, kind: type[T], settings: Settings, found: Iterable[EntryPoint] | None = None
) -> T:
    """What the one entry point of a name makes.

    Args:
        group: of entry points.
        name: of the entry point.
        what: is loaded, for errors.
        kind: the protocol that it has to follow.
        settings: what it is made with.
        found: the entry points to choose from; by default those installed.

    Raises:
        UsageError: none of that name is installed, it is ambiguous, or what it gives is something else.
    """
    from importlib.metadata import entry_points

    points = list(entry_points(group=group) if found is None else found)
    named = [point for point in points if point.name == name]
    if len(named) != 1:
        installed = ", ".join(sorted({point.name for point in points})) or "none"
        how_many = "no entry point" if not named else f"{len(named)} entry points"
        raise UsageError(f"{how_many} of the group {group} is called {name}", hint=f"installed are: {installed}")
    try:
        made = cast(Callable[[Settings], Any], named[0].load())(settings)
    except UsageError:
        raise
    except Exception as error:  # whatever a stranger's module does, the operator gets one sentence
        raise UsageError(f"{what} does not load: {type(error).__name__}") from error
    if not isinstance(made, kind):
        wanted = sorted(one for one in vars(kind) if not one.startswith("_"))
        raise UsageError(f"the entry point {name} gives no {kind.__name__.lower()}", expected=", ".join(wanted))
    return made
