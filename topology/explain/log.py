"""What a story knows between two blocks: its inputs, its attempts, the tale of each assertion, and what waits for one.

Kept by block_trace.py and timeline.py, which read blocks and outputs; nothing is read or decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...streams.adjudication.emission_state import PendingEvidence
from . import explanation
from .checks import Stated
from .discarded import DecisionOutput
from .explanation_checks import CheckCount


@dataclass(eq=False)
class Timeline:
    """One assertion of one attempt. `moments` are (height, number, event): the order of the telling."""

    attempt: int
    span_key: str
    stated: Stated
    facts: dict[str, Any]
    moments: list[tuple[int, int, explanation.Event]] = field(default_factory=list)
    verdicts: list[explanation.Verdict] = field(default_factory=list)
    is_live: bool = True


@dataclass(eq=False)
class Aside:
    """An observation that waits for its assertion, and the number of the moment at which it came."""

    record: bytes
    input: explanation.Input
    number: int


@dataclass(eq=False)
class ExplainLog:
    """Everything that is known so far.

    Invariant: between blocks, `aside` is, in order, what the lane's state keeps waiting for this emission, and a tale
    `is_live` exactly where its assertion does.

    Attributes:
        current: the latest tale of an attempt's span; an attempt that was forgotten may come again.
        bound: ids of identity-bound observations, which claims must not show either [S §12].
    """

    emission_id: str
    inputs: list[explanation.Input] = field(default_factory=list[explanation.Input])
    attempts: list[explanation.Attempt] = field(default_factory=list[explanation.Attempt])
    timelines: list[Timeline] = field(default_factory=list[Timeline])
    current: dict[tuple[int, str], Timeline] = field(default_factory=dict[tuple[int, str], Timeline])
    aside: list[Aside] = field(default_factory=list[Aside])
    bound: set[str] = field(default_factory=set[str])
    number: int = 0

    def next(self) -> int:
        """The number of the next moment."""
        self.number += 1
        return self.number


class Beat(NamedTuple):
    """Something that the copy brought about: a word or an event of a tale, and how far its checks had come then."""

    timeline: Timeline
    what: DecisionOutput | explanation.Event
    checks: list[CheckCount]


def still(asides: Sequence[Aside], waiting: Sequence[PendingEvidence]) -> tuple[list[Aside], list[Aside]]:
    """Which of some evidence still waits, in order, and which does not. Of equal records the earlier one is gone."""
    left, gone = list[Aside](), list[Aside]()
    at = len(waiting)
    for aside in reversed(asides):
        if at and waiting[at - 1].record == aside.record:
            at -= 1
            left.append(aside)
        else:
            gone.append(aside)
    return left[::-1], gone[::-1]
