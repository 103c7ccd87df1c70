"""Which annotations a statement gets that is vetted: what the agent's calls give, and further kinds of evidence.

An agent reads a file with one tool, and a policy asks for two kinds of evidence. So where a call bears on a statement,
vet looks at the file of that call also with the other kinds that can decide one of its checks (decision 24). They are
only places to look at: what the observers see there decides. A statement that no call bears on gets none.

History decides about the content of a file only where the file stands there as it was committed. Else it would hold the
agent's own changes against what the agent says of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from ...codecs.records import Annotation, Kind
from ...record import proposals
from ...record.call_annotations import MOST_ANNOTATIONS, Annotator, CallText
from ...record.looks import GREP, LOG, READ
from ...streams.judging.checks import TABLE, Check, parse_check
from ...streams.judging.checks import Kind as Written
from ...streams.judging.derivation import checks_of
from ..observers.place_findings import decides
from .at_hand import AtHand

KINDS: Final = (READ, GREP, LOG)
"""Kinds of evidence about a file that a checkout gives."""


class Proposing(Annotator):
    """Proposes annotations from what a sentence names: nobody saw any calls.

    Args:
        at_hand: the checkout.
    """

    def __init__(self, at_hand: AtHand) -> None:
        self._at_hand = at_hand
        super().__init__()

    def note(self, text: str, calls: Sequence[CallText], kind: Kind = "assertion") -> list[Annotation]:
        """See `Annotator`."""
        return without_stale(proposals(text, self._at_hand.listing), _checks(text, kind), self._at_hand.committed)


class Widening(Annotator):
    """What the calls give, and the other kinds of evidence about the same files.

    Args:
        annotator: of the recorder.
        at_hand: the checkout.
    """

    def __init__(self, annotator: Annotator, at_hand: AtHand) -> None:
        super().__init__(annotator.read_data)
        self._at_hand = at_hand

    def note(self, text: str, calls: Sequence[CallText], kind: Kind = "assertion") -> list[Annotation]:
        """See `Annotator`."""
        noted = super().note(text, calls, kind)
        checks = _checks(text, kind)
        if not checks:
            return noted
        kept = _deciding(without_stale(noted, checks, self._at_hand.committed), checks)
        looked = {path: one for one in noted if (path := _path(one)) is not None}
        for path, one in looked.items():
            about = [check for check in checks if (check.path or path) == path]
            for name in KINDS:
                have = {one.substrate_class for one in kept if _path(one) in (path, None)}
                lacking = [
                    check for check in about if sum(decides(kind, check) for kind in have) < self._at_hand.wanted
                ]
                decided = [check for check in lacking if decides(name, check)]
                if not decided or name in have or len(kept) >= MOST_ANNOTATIONS:
                    continue
                if name == LOG and is_stale(decided, path, self._at_hand.committed):
                    continue
                kept.append(Annotation(name, None, one.ts, _locator(name, path, decided)))
        return kept


def _deciding(annotations: list[Annotation], checks: Sequence[Check]) -> list[Annotation]:
    """The annotations without those that would only repeat what another one of their kind decides.

    Checks that name their files are held against these, whatever file the annotation names.
    """
    paths = {check.path for check in checks}
    if None in paths:
        return annotations
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


def _checks(text: str, kind: Kind) -> list[Check]:
    """The checks that observers read in a sentence."""
    derived = checks_of(text, kind, None)
    return [check for written in derived.checks if isinstance(check := parse_check(written), Check)]


def _path(annotation: Annotation) -> str | None:
    path = (annotation.locator or {}).get("path")
    return path if isinstance(path, str) else None


def _locator(name: str, path: str, checks: Sequence[Check]) -> dict[str, object]:
    if name != GREP:
        return {"path": path}
    # Any word of a check will do: the check is held against the whole file, whatever the search prints.
    words = [
        argument
        for check in checks
        for one, argument in zip(TABLE[check.name].parameters, check.arguments, strict=False)
        if isinstance(argument, str) and one.kind in (Written.NAME, Written.TEXT, Written.IDENTIFIER)
    ]
    return {"path": path, "pattern": words[0]} if words else {"path": path}
