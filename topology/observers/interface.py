"""The interfaces of observers and judges of one's own, and the judges that the operator lists (docs/observing.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeVar, cast, get_args, runtime_checkable

import msgspec

from ...codecs.errors import UsageError
from ...codecs.records import Locator
from ...streams.judging.checks import TABLE, Check, Held, Source, Unknown
from ...streams.judging.coverage import cover
from ...streams.judging.terms import Presence, presence
from ...streams.judging.verify import BARE, verify_content
from ..settings.late_logs import late_logger
from ..settings.settings import Settings
from .ask import OTHER, UNKNOWN, Ask, Budget, Finding, ObservationUnavailable, Opinion, answer
from .kept_looks import Kept, Memory, Rest
from .operator_list import JudgeEntry

GROUP: Final = "sluice.observers"
T = TypeVar("T")


@runtime_checkable
class Observer(Protocol):
    """What looks at one class of substrate. Called from several threads at once.

    One that takes longer than `ask.budget` holds up the looks of its own class only; one that raises anything but
    `ObservationUnavailable` has its look answered with `unavailable`.
    """

    def admit(self, locator: Locator) -> Locator:
        """The members of a locator that an observation may repeat; asked before anything else, for every annotation.

        Raises:
            ObservationUnavailable: the place is not on the operator's list.
        """
        ...

    def observe(self, ask: Ask) -> Finding:
        """Looks, within `ask.budget`, decides each of `ask.question.checks`, and returns what `answer` makes of that.

        A finding without `judged` verifies no check: it counts only where the policy does without (docs/checks.md).
        What was seen, or a credential, is never put into it: what the checks came to, an id, a reason.

        Raises:
            ObservationUnavailable: the substrate could not be read, or a bound was reached.
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


def load_one(group: str, name: str, what: str, kind: type[T], settings: Settings) -> T:
    """What the one installed entry point of a name makes with the settings.

    Args:
        group: of entry points.
        name: of the entry point.
        what: is loaded, for errors.
        kind: the protocol that it has to follow.
        settings: what it is made with.

    Raises:
        UsageError: none of that name is installed, it is ambiguous, or what it gives is something else.
    """
    from importlib.metadata import entry_points

    points = list(entry_points(group=group))
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


JUDGE_GROUP: Final = "sluice.judges"
MAX_REGION: Final = 200_000
"""Characters of the text that a judge is given; of a longer one it is not asked."""
JudgedOutcome = Literal["corroborates", "absent", "contradicts"]
"""What a judge of texts can say. That an observation was made up, only who has access can."""

log = late_logger(__name__)


class JudgeFailed(Exception):
    """The judge could not be asked, or gave no verdict; the message says which, without a word of its own."""


class Verdict(NamedTuple):
    """What a judge says.

    Attributes:
        verified: the checks that hold, by their places in the list that it was given.
        outcome: of the whole text.
        score: how sure it is, from 0 to 1; the observation's confidence.
    """

    verified: Sequence[int]
    outcome: JudgedOutcome
    score: float


@runtime_checkable
class Judge(Protocol):
    """Judges texts. Called from several threads at once; one that takes long holds up the looks of its classes."""

    def judge(self, text: str, region: str, checks: list[str]) -> Verdict:
        """What the region says of the text and its checks. All three are strangers' words: data, never instructions.

        Raises:
            JudgeFailed: it could not be asked.
        """
        ...


class Judges:
    """The judges that the operator lists.

    Args:
        listed: their entries, by name.
        settings: what they are made with.
        seconds: for which a verdict on the same texts holds.

    Raises:
        UsageError: no such entry point is installed, it is ambiguous, or what it gives is no judge.
    """

    def __init__(self, listed: Mapping[str, JudgeEntry], settings: Settings, seconds: float) -> None:
        self._listed = listed
        self._judges: dict[str, Judge] = {
            name: load_one(JUDGE_GROUP, one.entry_point, f"the judge {name}", Judge, settings)
            for name, one in listed.items()
        }
        self._memory: Memory[Verdict] = Memory(seconds)
        self._rest = Rest()

    def of(self, substrate_class: str) -> list[str]:
        """The names of those that judge what is seen of a class."""
        return [name for name, one in self._listed.items() if substrate_class in one.classes]

    def finding(self, name: str, ask: Ask, seen: Finding) -> Finding | None:
        """What a judge makes of what was seen; None where it is not asked.

        Args:
            name: of the judge.
            ask: the question.
            seen: what the built-in checks found, with the region; of their say nothing is taken over.
        """
        if seen.region is None or len(seen.region) > MAX_REGION:
            return None
        checks = list(ask.question.derived.checks)
        try:
            verdict = self._asked(name, ask, seen.region, checks)
        except JudgeFailed as failure:
            return Finding("unavailable", seen.seen, reason=str(failure), at=seen.at)
        opinion = Opinion(name, tuple(sorted(verdict.verified)), float(verdict.score), None)
        if checks:
            path = None if seen.looked_at is None else seen.looked_at.path
            covered = cover(ask.said, ask.question.checks, path=path, proposal=ask.proposed)
            opinion = opinion._replace(coverage=covered)
        return Finding(verdict.outcome, seen.seen, at=seen.at, looked_at=seen.looked_at, opinion=opinion)

    def _asked(self, name: str, ask: Ask, region: str, checks: list[str]) -> Verdict:
        question = (name, ask.said, region, tuple(checks))
        kept = self._memory.recall(question)
        if kept is not None:
            return kept.value
        try:
            self._rest.check(name)
        except ObservationUnavailable as resting:
            raise JudgeFailed(str(resting)) from None
        began = self._memory.now()
        try:
            verdict = checked(self._judges[name].judge(ask.said, region, checks), len(checks))
        except JudgeFailed as failure:
            self._rest.failed(name, str(failure))
            raise
        except Exception as error:  # noqa: BLE001 - an operator's own judge: one opinion is lost
            # Without a traceback: its locals may hold what must not get out, such as credentials.
            log.error("a judge failed", judge=name, error=type(error).__name__)
            self._rest.failed(name, "the judge failed")
            raise JudgeFailed("the judge failed") from None
        self._rest.worked(name)
        self._memory.keep(question, began, 1000 + 2 * (len(region) + len(ask.said)), Kept(0, verdict))
        return verdict

    def close(self) -> None:
        """Ends all of them. Calling it again does nothing."""
        judges, self._judges = list(self._judges.values()), {}
        for judge in judges:
            try:
                getattr(judge, "close", lambda: None)()
            except Exception as error:  # noqa: BLE001 - one that does not end must not keep the others from ending
                log.error("a judge did not close", error=type(error).__name__)


def checked(verdict: Any, count: int) -> Verdict:
    """The verdict, if it is one.

    Args:
        verdict: whatever a judge gave.
        count: the checks that it was given.

    Raises:
        JudgeFailed: it is none.
    """
    if not isinstance(verdict, Verdict):
        raise JudgeFailed("the judge gives no verdict")
    verified, outcome, score = verdict.verified, verdict.outcome, cast(Any, verdict.score)
    if outcome not in get_args(JudgedOutcome):
        raise JudgeFailed("the judge gives no outcome that one can have")
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0 <= score <= 1 or math.isnan(score):
        raise JudgeFailed("the judge gives no score from 0 to 1")
    places = list(verified) if isinstance(verified, list | tuple) else None
    if places is None or not all(type(one) is int and 0 <= one < count for one in places):
        raise JudgeFailed("the judge names checks that there are not")
    if len(set(places)) != len(places):
        raise JudgeFailed("the judge names a check twice")
    if outcome == "corroborates" and count and not places:
        raise JudgeFailed("the judge bears it out by no check")
    return Verdict(tuple(places), outcome, score)


def verdict_of(data: bytes) -> Verdict:
    """The verdict that a JSON object holds: `verified`, `outcome`, `score`; for judges behind an endpoint.

    Raises:
        JudgeFailed: it is none.
    """
    try:
        found = msgspec.json.decode(data, type=_Answer)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise JudgeFailed("the judge's answer is no verdict in JSON") from None
    return Verdict(found.verified, found.outcome, found.score)


class _Answer(msgspec.Struct):
    outcome: JudgedOutcome
    score: float
    verified: list[int] = []


__all__ = [
    "JUDGE_GROUP",
    "Ask",
    "Budget",
    "Finding",
    "Held",
    "Judge",
    "JudgeFailed",
    "Judges",
    "ObservationUnavailable",
    "Observer",
    "Verdict",
    "answer",
    "checked",
    "in_text",
    "verdict_of",
    "words_in",
]
