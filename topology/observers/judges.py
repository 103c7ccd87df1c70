"""Other judges than the built-in checks, each by an entry point that the operator lists (docs/checks.md).

A judge gets the assertion's text, the text that our observer looked at, and the checks; it says which of these hold,
the outcome, and how sure it is. Its word is an observation of its own that names it (`judge`), beside that of the
built-in checks and without their say; whose word counts is the policy's (`[judging] accept`). None is on by default,
and none is asked where nothing could be looked at.

    class Nli:
        def __init__(self, settings: Settings) -> None: ...
        def judge(self, text: str, region: str, checks: list[str]) -> Verdict: ...
        def close(self) -> None: ...    # where there is something to end

    [project.entry-points."sluice.judges"]
    nli = "acme_judges:Nli"
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, get_args, runtime_checkable

import msgspec

from ...streams.judging.coverage import Coverage, cover
from ..settings.late_logs import late_logger
from ..settings.settings import Settings
from .ask import Ask, CannotLook, Finding, Opinion
from .interface import load_one
from .kept_looks import Kept, Memory, Rest
from .operator_list import JudgeEntry

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP: Final = "sluice.judges"
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
        found: the entry points to choose from; by default those installed.

    Raises:
        UsageError: no such entry point is installed, it is ambiguous, or what it gives is no judge.
    """

    def __init__(
        self,
        listed: Mapping[str, JudgeEntry],
        settings: Settings,
        seconds: float,
        found: Iterable[EntryPoint] | None = None,
    ) -> None:
        self._listed = listed
        self._judges: dict[str, Judge] = {
            name: load_one(GROUP, one.entry_point, f"the judge {name}", Judge, settings, found)
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
            opinion = opinion._replace(coverage=_covered(ask, path))
        return Finding(verdict.outcome, seen.seen, at=seen.at, looked_at=seen.looked_at, opinion=opinion)

    def _asked(self, name: str, ask: Ask, region: str, checks: list[str]) -> Verdict:
        question = (name, ask.said, region, tuple(checks))
        kept = self._memory.recall(question)
        if kept is not None:
            return kept.value
        try:
            self._rest.check(name)
        except CannotLook as resting:
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


def _covered(ask: Ask, path: str | None) -> Coverage:
    return cover(ask.said, ask.question.checks, path=path, proposal=ask.proposed)


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
    verified, outcome, score = verdict
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


__all__ = ["GROUP", "Judge", "JudgeFailed", "Judges", "Verdict", "checked", "verdict_of"]
