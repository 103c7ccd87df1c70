"""One emission by itself: what a block does to it, event by event, without touching the lane's own state.

The fold says what a block comes to, not which of its events did what. But nothing that it decides about one emission
depends on another, so what a lane knows of this one is copied into a state of its own, and the block's events about it
are folded there one at a time, as blocks of the same instant. The copy is thrown away after the block; the lane's own
state is only read. What such steps leave behind differs from the lane's in numbers that decide nothing (revisions,
places in the order), and in `renewed`, which a lane says once a block.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from ...codecs.blocks import Block, Event, Header, Output
from ...streams.adjudication import fold as core
from ...streams.adjudication.emission_state import AssertionState, EmissionState, PendingEvidence, fill, pack
from ...streams.adjudication.outputs import DEAD_LETTERS
from ...streams.adjudication.state import State
from ...streams.policy.policy import Policy
from .discarded import DecisionOutput, conceal, decisions_in, reveal, reveal_all
from .why import copy_of

Weighed = Literal["late", "not-counted", "counted"]


class Step(NamedTuple):
    """What one event did, or what was due: the words, a dead letter's reason and detail, and what was counted."""

    words: list[DecisionOutput]
    dead: tuple[str, str] | None
    counted: Counter[str]


class IsolatedFold:
    """A lane's state with one emission in it; discards are revealed (discarded.py).

    Args:
        state: the lane's.
        emission_id: the one to be looked at.
        shown: what is made of the policies.
    """

    def __init__(
        self,
        state: State,
        emission_id: str,
        shown: Callable[[Policy], Policy] = reveal,
        *,
        known: EmissionState | None = None,
    ) -> None:
        self._emission_id = emission_id
        self.state = isolated = State(state.lane, state.lanes, state.partitioner, state.secrets)
        isolated.policy = None if state.policy is None else shown(state.policy)
        isolated.next_policy = None if state.next_policy is None else shown(state.next_policy)
        isolated.time, isolated.watermark, isolated.ran, isolated.order = (
            state.time,
            state.watermark,
            state.ran,
            state.order,
        )
        isolated.terms, isolated.terms_number = list(state.terms), state.terms_number
        isolated.max_validities, isolated.running = list(state.max_validities), state.running.copy()
        known = state.known(emission_id) if known is None else known
        if known is not None:
            raw = pack(known)
            fill(emission_id, known, state.terms)  # `pack` takes out what this puts in
            isolated.put_back({emission_id: raw})

    @property
    def known(self) -> EmissionState:
        """What is known of the emission; empty where that is nothing."""
        return self.state.known(self._emission_id) or EmissionState()

    @property
    def rules(self) -> Policy:
        """The policy in force; only its dispositions are not the lane's."""
        assert self.state.policy is not None, "a ledger begins with a policy"
        return self.state.policy

    def assertion_state(self, attempt: int, span_key: str) -> AssertionState | None:
        """A copy of a living assertion."""
        known = self.known.attempt(attempt)
        assertion_state = known.assertion(span_key) if known is not None else None
        return None if assertion_state is None else copy_of(assertion_state)

    def copy(self) -> IsolatedFold:
        """The same once more, for trying something out."""
        return IsolatedFold(self.state, self._emission_id)

    def step(self, header: Header, event: Event | None) -> Step:
        """Folds one event, or lets the clocks move to the block's where that is None; `conceal` comes after it."""
        before = Counter(self.state.counters)
        outputs = core.fold(self.state, Block(header, [] if event is None else [event], ""))
        counted = self.state.counters - before
        return Step(list(decisions_in(outputs)), _dead(outputs), counted)

    def conceal(self, policy: Policy, step: Step) -> None:
        """Closes what `policy` discards."""
        conceal(self.state, policy, step.words)

    def weighed(
        self, header: Header, event: Event, waiting: Sequence[PendingEvidence]
    ) -> list[tuple[Weighed, AssertionState | None]]:
        """What an emission's coming makes of the evidence that waited for one of its assertions.

        Found by letting the emission come with ever more of it: what the last one adds to the counters is its fate.

        Args:
            header, event: the emission, which this state has not seen yet.
            waiting: evidence for one assertion, all of it, in the order in which it came.

        Returns:
            For each, in that order, `late`, `not-counted` or `counted`, and for what was not counted the assertion as
            it was before.
        """
        # Corroborations first, as the fold weighs what waited.
        order = sorted(range(len(waiting)), key=lambda place: waiting[place].negative)
        fates: list[tuple[Weighed, AssertionState | None]] = [("counted", None)] * len(waiting)
        one = waiting[0] if waiting else None

        def with_first(number: int) -> tuple[Counter[str], AssertionState | None]:
            chosen = [waiting[place] for place in order[:number]]
            known = EmissionState(self.known.attempts, chosen)
            isolated = IsolatedFold(self.state, self._emission_id, reveal_all, known=known)
            counted = isolated.step(header, event).counted
            assertion_state = isolated.assertion_state(one.attempt, one.span_key) if one is not None else None
            if assertion_state is not None:
                assertion_state.valid_until = -1  # it was weighed before anything was decided
            return counted, assertion_state

        def settle(low: int, high: int, at_low: Counter[str], at_high: Counter[str]) -> None:
            added = at_high - at_low
            fate: Weighed
            for fate in ("late", "not-counted"):
                if (low + 1 == high and added[fate]) or (fate == "late" and added[fate] == high - low):
                    for place in range(low, high):
                        before = with_first(place)[1] if fate == "not-counted" else None
                        fates[order[place]] = (fate, before)
                    return
            if high - low > 1 and (added["late"] or added["not-counted"]):
                middle = (low + high) // 2
                at_middle = with_first(middle)[0]
                settle(low, middle, at_low, at_middle)
                settle(middle, high, at_middle, at_high)

        if one is not None:
            settle(0, len(waiting), with_first(0)[0], with_first(len(waiting))[0])
        return fates


def _dead(outputs: Sequence[Output]) -> tuple[str, str] | None:
    for topic, _, _, headers in outputs:
        if topic == DEAD_LETTERS:
            named = dict(reversed(headers))  # the first of a name is ours
            return named["sluice-reason"].decode(), named["sluice-detail"].decode()
    return None
