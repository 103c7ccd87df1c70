"""The last decision about each assertion under two policies, kept for as long as it may change.

What lives in either state is bounded by what is live (streams/adjudication/table.py), and so is what is kept here: once
an assertion lives on neither side, it is counted, and only if it was decided otherwise is it remembered.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from ...codecs.times import format_time
from ...streams.adjudication.outputs import ADMITTED, INADMISSIBLE
from ...streams.adjudication.state import State
from .read_decisions import DecisionOutput

PENDING: Final = "pending"
"""Shown in the place of a status: at the ledger's end there was no decision yet."""
REFUSED: Final = "dead-letter"
"""Shown in the place of a status: the emission was not taken in."""
SWEEP_AT: Final = 20_000
"""So many assertions are kept before it is looked which of them live no more: some 10 MB."""
END_EVERY: Final = 1000
"""So many blocks lie between two looks whether anything that was asked about still lives."""


class Decided(msgspec.Struct, frozen=True, gc=False):
    """A decision on one side."""

    status: str
    reason: str | None = None
    k: int = 0
    classes: tuple[str, ...] = ()


_PENDING = Decided(PENDING)


class Row(msgspec.Struct, gc=False):
    """One assertion under both policies."""

    emission_id: str
    attempt: int
    span_key: str
    arrived_at: str
    old: Decided
    new: Decided

    def side(self, place: int) -> Decided:
        """The decision under the old policy (0) or the new one (1)."""
        return self.new if place else self.old

    def decide(self, place: int, decided: Decided) -> None:
        """A later decision takes the place of the one before."""
        if place:
            self.new = decided
        else:
            self.old = decided

    @property
    def changed(self) -> bool:
        """Whether it was decided otherwise: another status, or for another reason."""
        return (self.old.status, self.old.reason) != (self.new.status, self.new.reason)


class Arrival(NamedTuple):
    """An emission as it comes; `at` is its block's time in Unix ms, `source` its `topic/partition/offset`."""

    emission_id: str
    attempt: int
    at: int
    source: str


class SideOutcome(NamedTuple):
    """What one side made of a block.

    Attributes:
        due: its words about what was due before the first event.
        words: those about the events.
        dead: the reasons of its dead letters, by source.
        news: the sources of emissions of which it did not know that attempt before.
    """

    due: list[DecisionOutput]
    words: list[DecisionOutput]
    dead: dict[str, str]
    news: set[str]


Key = tuple[str, int, str]
Spans = tuple[dict[tuple[str, int], list[str]], ...]
"""On either side, the spans of emissions that came."""
States = tuple[State, State]


class Comparison:
    """Takes in, block by block, what both sides say of the assertions that came between two times.

    Attributes:
        changes: those that were decided otherwise, in the order in which they were found.
        counts: how many assertions had which status under the old and under the new policy.
        policies: hashes of the ledger's own.

    Args:
        since, until: Unix ms, both included; None for no bound. They choose by when the emission came.
    """

    def __init__(self, since: int | None = None, until: int | None = None) -> None:
        self._since, self._until = since, until
        self._rows: dict[Key, Row] = {}
        self._sweep_at, self._behind = SWEEP_AT, 0
        self.changes: list[Row] = []
        self.counts: Counter[tuple[str, str]] = Counter()
        self.policies: set[str] = set()

    def asks_about(self, time: int) -> bool:
        """Whether an emission that comes at this time is asked about."""
        return (self._since is None or time >= self._since) and (self._until is None or time <= self._until)

    def is_over(self, time: int) -> bool:
        """Whether nothing that is asked about can come or change any more; seldom true at once."""
        if self._until is None or time <= self._until:
            return False
        self._behind += 1
        return not self._rows

    def block(self, came: Sequence[Arrival], outcomes: tuple[SideOutcome, SideOutcome], states: States) -> None:
        """Takes a block in, after both folds have.

        Args:
            came: the emissions that came with it, as far as they are asked about.
            outcomes: what the old and the new side made of it.
            states: after the block.
        """
        for place in (0, 1):
            self._apply(place, outcomes[place].due)
        if came:
            spans = _spans(came, outcomes, states)
            taken: set[tuple[str, int, int]] = set()
            for arrival in came:
                self._arrive(arrival, outcomes, spans, taken)
        for place in (0, 1):
            self._apply(place, outcomes[place].words)
        if len(self._rows) > self._sweep_at or self._behind % END_EVERY == 1:
            self._sweep(states)

    def _apply(self, place: int, words: Sequence[DecisionOutput]) -> None:
        for topic, span_key, decision in words:
            if topic not in (ADMITTED, INADMISSIBLE) or decision.basis == "policy":
                continue
            row = self._rows.get((decision.emission_id, decision.attempt, span_key))
            if row is not None:
                status = "admitted" if decision.status == "renewed" else decision.status
                reason = None if decision.reason is UNSET else decision.reason
                row.decide(place, Decided(status, reason, decision.k, tuple(decision.classes)))

    def _arrive(
        self,
        arrival: Arrival,
        outcomes: tuple[SideOutcome, SideOutcome],
        spans: Spans,
        already: set[tuple[str, int, int]],
    ) -> None:
        """A row for each assertion of an emission that a side has taken in; `already` are those of the same block."""
        emission_id, number, at, source = arrival
        news = [
            source in side.news and (emission_id, number, place) not in already for place, side in enumerate(outcomes)
        ]
        refused = [side.dead.get(source) for side in outcomes]
        taken = [news[place] and refused[place] is None for place in (0, 1)]
        already |= {(emission_id, number, place) for place in (0, 1) if taken[place]}
        found = [span for place in (0, 1) if taken[place] for span in spans[place].get((emission_id, number), ())]
        for span_key in dict.fromkeys(found):
            key = (emission_id, number, span_key)
            row = before = self._rows.get(key)
            if row is None or any(taken[place] and row.side(place).status != REFUSED for place in (0, 1)):
                # New, or forgotten and come again; where only one side has forgotten it, the other's goes on.
                sides = [_PENDING if row is None or taken[place] else row.side(place) for place in (0, 1)]
                if row is not None:
                    self._finish(row)
                row = self._rows[key] = Row(*key, format_time(at), *sides)
            for place, reason in enumerate(refused):
                if taken[place]:
                    row.decide(place, _PENDING)
                elif reason is not None and row.side(place).status != REFUSED and (news[place] or before is None):
                    row.decide(place, Decided(REFUSED, reason))

    def _sweep(self, states: States) -> None:
        """Lets go of what lives on neither side."""
        for key in list(self._rows):
            if not any(_is_live(state, key) for state in states):
                self._finish(self._rows.pop(key))
        self._sweep_at = max(SWEEP_AT, 2 * len(self._rows))

    def _finish(self, row: Row) -> None:
        self.counts[row.old.status, row.new.status] += 1
        if row.changed:
            self.changes.append(row)

    def settle(self) -> None:
        """The end of a lane: everything is as it is."""
        for row in self._rows.values():
            self._finish(row)
        self._rows.clear()
        self._sweep_at, self._behind = SWEEP_AT, 0


def _spans(came: Sequence[Arrival], outcomes: tuple[SideOutcome, SideOutcome], states: States) -> Spans:
    """The assertions of emissions that have just come: those that live, and those that had their last word at once."""
    found: Spans = ({}, {})
    for side, state, spans in zip(outcomes, states, found, strict=True):
        for emission_id, number, *_ in came:
            attempt = state.attempt(emission_id, number)
            spans[emission_id, number] = (
                [] if attempt is None else [assertion_state.span_key for assertion_state in attempt.assertions]
            )
        for _, span_key, decision in side.words:
            if (decision.emission_id, decision.attempt) in spans:
                spans[decision.emission_id, decision.attempt].append(span_key)
    return found


def _is_live(state: State, key: Key) -> bool:
    attempt = state.attempt(key[0], key[1])
    is_live = attempt is not None and attempt.assertion(key[2]) is not None
    state.settle()  # or looking at them all would leave them all unpacked
    return is_live
