"""Which annotations a statement gets that is vetted: what the agent's calls give, and further kinds of evidence.

An agent reads a file with one tool, and a policy asks for two kinds of evidence. So where a call bears on a statement,
vet looks at the file of that call also with the other kinds that can decide one of its checks (decision 24). They are
only places to look at: what the observers see there decides. Of a statement that no call bears on, what it names is
looked up all the same, where it has a check.

History decides about the content of a file only where the file stands there as it was committed. Else it would hold the
agent's own changes against what the agent says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from ...codecs.records import Annotation
from ...record import proposals
from ...record.call_annotations import MOST_ANNOTATIONS, Annotator, CallText
from ...record.looks import GREP, LOG, READ
from ...streams.judging.checks import TABLE, Check, parse_check
from ...streams.judging.claim_forms import checks_of
from ..observers.ask import decides
from .at_hand import AtHand

KINDS: Final = (READ, GREP, LOG)
"""Kinds of evidence about a file that a checkout gives."""
MOST_LOOKS: Final = 2 * MOST_ANNOTATIONS
"""Annotations of one statement: those of its calls, and further looks."""
NARROWING: Final = frozenset(("lines", "offset", "limit", "pattern", "ref", "commit"))
"""Members of a locator that name a part of a file, or another state of it."""


class Proposing(Annotator):
    """Proposes annotations from what a sentence names: nobody saw any calls.

    Args:
        at_hand: the checkout.
    """

    def __init__(self, at_hand: AtHand) -> None:
        self._at_hand = at_hand
        super().__init__()

    def note(self, text: str, calls: Sequence[CallText], checks: Sequence[str] | None = None) -> list[Annotation]:
        """See `Annotator`."""
        return _noted(text, [], checks, self._at_hand)


class Widening(Annotator):
    """What the calls give, and the other kinds of evidence about the same files.

    Args:
        annotator: of the recorder.
        at_hand: the checkout.
    """

    def __init__(self, annotator: Annotator, at_hand: AtHand) -> None:
        super().__init__(annotator.read_data)
        self._at_hand = at_hand

    def note(self, text: str, calls: Sequence[CallText], checks: Sequence[str] | None = None) -> list[Annotation]:
        """See `Annotator`."""
        noted = super().note(text, calls, checks)
        return _noted(text, noted, checks, self._at_hand) if noted or _checks(text, checks) else noted


def _noted(text: str, of_calls: list[Annotation], declared: Sequence[str] | None, at_hand: AtHand) -> list[Annotation]:
    """The annotations of a statement: of the calls or else proposed, and those by which its checks can be decided. The
    files of its author's checks are looked at, whatever the statement itself names."""
    checks = _checks(text, declared)
    noted = of_calls or proposed(text, checks, at_hand)
    return widened(noted, checks, at_hand) if checks and (of_calls or declared) else noted


def proposed(text: str, checks: Sequence[Check], at_hand: AtHand) -> list[Annotation]:
    """The annotations of a statement that no call bears on, by what it names.

    Args:
        text: the statement.
        checks: of it.
        at_hand: the checkout.
    """
    kept = without_stale(proposals(text, at_hand.listing), checks, at_hand.committed)
    if not checks:
        return kept
    noted = [everywhere(annotation) for annotation in kept]
    if any(_path(annotation) for annotation in noted) or any(check.path for check in checks):
        return noted
    homes = [home for check in checks if (home := at_hand.home_of(check)) is not None]
    return widened([Annotation(READ, None, None, {"path": home}) for home in homes], checks, at_hand) or noted


def widened(noted: Sequence[Annotation], checks: Sequence[Check], at_hand: AtHand) -> list[Annotation]:
    """Annotations of a statement, and the other kinds of evidence about the files of its checks.

    Args:
        noted: what calls give it, or what is proposed.
        checks: of the statement, at least one.
        at_hand: the checkout.
    """
    kept = _deciding(without_stale(noted, checks, at_hand.committed), checks)
    looked = {path: one.ts for one in noted if (path := _path(one)) is not None}
    for path in dict.fromkeys((*looked, *(check.path for check in checks if check.path is not None))):
        about = [check for check in checks if (check.path or path) == path]
        for name in KINDS:
            # What saw some lines of a file decides nothing about the others: the whole file is looked at as well.
            have = {one.substrate_class for one in kept if _path(one) in (path, None) and _is_whole(one)}
            lacking = [check for check in about if sum(decides(kind, check) for kind in have) < at_hand.wanted]
            decided = [check for check in lacking if decides(name, check)]
            if not decided or name in have or len(kept) >= MOST_LOOKS:
                continue
            if name == LOG and is_stale(decided, path, at_hand.committed):
                continue
            kept.append(Annotation(name, None, looked.get(path), {"path": path}))
    return kept


def _deciding(annotations: Sequence[Annotation], checks: Sequence[Check]) -> list[Annotation]:
    """The annotations without those that would only repeat what another one of their kind decides.

    Checks that name their files are held against these, whatever file the annotation names.
    """
    paths = {check.path for check in checks}
    if None in paths:
        return list(annotations)
    exact = [one for one in annotations if _path(one) in paths]
    have = {one.substrate_class for one in exact}
    return [one for one in annotations if _path(one) in paths or one.substrate_class not in have]


def without_stale(
    noted: Sequence[Annotation], checks: Sequence[Check], committed: Callable[[str], bool]
) -> list[Annotation]:
    """The annotations without those of history that would compare a file's content with an older one."""
    return [one for one in noted if one.substrate_class != LOG or not is_stale(checks, _path(one), committed)]


def is_stale(checks: Iterable[Check], path: str | None, committed: Callable[[str], bool]) -> bool:
    """Whether one of these checks speaks of the content of a file that is not as it was committed.

    Args:
        checks: of the sentence.
        path: of the annotation, for checks that name none.
        committed: whether a file stands there as HEAD has it.
    """
    return any(
        TABLE[check.name].content and (place := check.path or path) is not None and not committed(place)
        for check in checks
    )


def _checks(text: str, declared: Sequence[str] | None) -> list[Check]:
    """The checks of a sentence: its author's, else those that observers read in it."""
    derived = checks_of(text, "assertion", declared)
    return [check for written in derived.checks if isinstance(check := parse_check(written), Check)]


def _path(annotation: Annotation) -> str | None:
    path = (annotation.locator or {}).get("path")
    return path if isinstance(path, str) else None


def _is_whole(annotation: Annotation) -> bool:
    """Whether an annotation says that all of a file was looked at, or of all files."""
    return NARROWING.isdisjoint(annotation.locator or {})


def everywhere(annotation: Annotation) -> Annotation:
    """A search that was not made, as a look at all that it would go through."""
    locator = annotation.locator or {}
    if annotation.substrate_class != GREP or "pattern" not in locator:
        return annotation
    return replace(annotation, locator={key: value for key, value in locator.items() if key != "pattern"} or None)
