"""What a story knows between two blocks: its inputs, its attempts, the timeline of each assertion, and what waits.

Kept by block_trace.py and timeline.py; nothing is read or decided here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from . import explanation
from .explained_checks import Stated


@dataclass(eq=False)
class Timeline:
    """One assertion of one attempt. `moments` are (height, number, event): the order of the telling."""

    attempt: int
    span_key: str
    stated: Stated
    facts: dict[str, Any]
    moments: list[tuple[int, int, explanation.Event]] = field(default_factory=list)
    verdicts: list[explanation.Verdict] = field(default_factory=list)

    @property
    def events(self) -> list[explanation.Event]:
        """In the order in which they happened."""
        return [event for *_, event in sorted(self.moments, key=lambda moment: moment[:2])]


@dataclass(eq=False)
class Aside:
    """An observation that waits for its assertion, and the number of the moment at which it came."""

    record: bytes
    input: explanation.Input
    number: int


@dataclass(eq=False)
class ExplainLog:
    """Everything that is known so far.

    Attributes:
        current: the latest timeline of an attempt's span; an attempt that was forgotten may come again.
        aside: what the lane keeps waiting for this emission, by the number that the fold gives it (`PutAside.order`).
        bound: ids of identity-bound observations, which claims must not show either [S §12].
    """

    emission_id: str
    inputs: list[explanation.Input] = field(default_factory=list[explanation.Input])
    attempts: list[explanation.Attempt] = field(default_factory=list[explanation.Attempt])
    timelines: list[Timeline] = field(default_factory=list[Timeline])
    current: dict[tuple[int, str], Timeline] = field(default_factory=dict[tuple[int, str], Timeline])
    aside: dict[int, Aside] = field(default_factory=dict[int, Aside])
    bound: set[str] = field(default_factory=set[str])
    number: int = 0

    def next(self) -> int:
        """The number of the next moment."""
        self.number += 1
        return self.number

    def add(self, timeline: Timeline, event: explanation.Event) -> None:
        """The next moment of an assertion."""
        timeline.moments.append((event.height, self.next(), event))
