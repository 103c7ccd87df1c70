"""Carries verdicts out: an assertion's phase and timer, its words on the topics, what is asked of whom.

What the verdict *is* stands in the table (decisions.py); what the records look like, in outputs.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...codecs.records import Basis, Disposition
from ...codecs.spans import Span
from ..policy.policy import Policy
from . import corroboration, standing
from .decisions import Case, Moment, Verdict, citation, decide
from .emission_state import AssertionState, Phase
from .outputs import Writer
from .state import State

if TYPE_CHECKING:
    from .._native import Folder

Closing = Literal["decayed-to-uncertainty", "contradicted", "rejected"]
ClosingReason = Literal["validity-ended", "contradicted", "fabricated-annotation", "review"]
_UNREQUESTED = ("superseded", "review")
"""Reasons after which nobody is asked anything: a newer attempt is there, or a person has spoken."""


Renewed = tuple[str, int, str]
"""An assertion whose validity moved on: emission id, attempt, span key. Not the life itself, which may be packed."""


class Verdicts:
    """The verdicts of one block.

    Invariant: a life is in the phase that its last word says, and waits on that phase's clock.
    """

    def __init__(self, state: State, policy: Policy, writer: Writer) -> None:
        self._state, self._policy, self._writer = state, policy, writer
        self._rules = policy.admissibility
        self.renewed: list[Renewed] = []

    def case(self, life: AssertionState) -> Case:
        """What the table looks at, for an assertion that is there already."""
        return Case(life, self._policy, self._state.time)

    def judge(self, moment: Moment, case: Case) -> bool:
        """Decides, and carries the verdict out; False where the assertion goes on waiting."""
        verdict = decide(moment, case)
        if verdict is None:
            return False
        if verdict.status == "admitted":
            self._admit(case)
        else:
            self._refuse(case, verdict)
        return True

    def pass_on(self, life: AssertionState) -> None:
        """A refusal to answer is no claim: it is passed on, never adjudicated [S §5]."""
        life.revision += 1
        self._emit(life, "refused", "emitter", text=True)
        self._state.close(life)

    def close_admitted(self, life: AssertionState, status: Closing, reason: ClosingReason) -> None:
        """The last word on an admitted assertion: on `admitted`, never on `inadmissible`."""
        life.revision += 1
        self._writer.admitted(life, status, life.basis, reason, text=False)
        self._state.close(life)

    def review_admitted(self, life: AssertionState, decision: Literal["admit", "refuse"]) -> None:
        """A reviewer on what is already admitted: a refusal closes it, another admission can make it last longer."""
        until = self._state.time + self._rules.max_validity
        if decision == "refuse":
            life.basis = "review"
            self.close_admitted(life, "rejected", "review")
        elif until > life.valid_until:
            life.basis = "review"
            self.extend(life, until)
        else:
            self._state.counters["not-counted"] += 1

    def extend(self, life: AssertionState, until: int) -> None:
        """Moves an admitted assertion's validity on, if it does; `renew` tells it at the end of the block."""
        if until > life.valid_until:
            life.valid_until = until
            self._state.expiring.wait(life.emission_id, life, until)
            if not life.touched:
                life.touched = True
                self.renewed.append((life.emission_id, life.attempt, life.span_key))

    def renew(self, core: Folder | None) -> None:
        """Writes `renewed`, at most once a block, for every validity that moved on in it."""
        for one in self.renewed:
            life = None if core is not None and core.renew(one) else self._life(*one)
            if life is None:
                continue
            life.touched = False
            if life.phase == Phase.ADMITTED:
                life.revision += 1
                self._emit(life, "renewed", life.basis, text=True)

    def _life(self, emission_id: str, number: int, span_key: str) -> AssertionState | None:
        attempt = self._state.attempt(emission_id, number)
        return None if attempt is None else attempt.life(span_key)

    def _admit(self, case: Case) -> None:
        life, state = case.life, self._state
        if case.review is not None:
            life.basis = "review"
            until = state.time + self._rules.max_validity
        else:
            life.basis = "declaration" if self._rules.trust == "declared" else "corroboration"
            until = corroboration.validity(life)
            standing.settle(life)
        life.phase = Phase.ADMITTED
        life.admitted_at, life.valid_until = state.time, until
        state.expiring.wait(life.emission_id, life, until)
        life.revision += 1
        self._emit(life, "admitted", life.basis, text=True)

    def _refuse(self, case: Case, verdict: Verdict) -> None:
        """What is not admitted goes where the policy sends its status and effect [S §7]."""
        life, state = case.life, self._state
        disposition = self._disposition(life, verdict)
        if disposition == "discard":
            state.counters["discarded"] += 1
            state.close(life)
            return
        life.revision += 1
        request = verdict.reason not in _UNREQUESTED
        self._writer.inadmissible(life, verdict, disposition, _quote(case, verdict), request)
        # Where a newer attempt is known, the last word under this key on `admitted` is not this one's to write.
        if disposition == "refuse" and life.attempt >= state.newest(life.emission_id):
            self._emit(life, "refused", "policy", verdict, text=False)
        if disposition == "review" and request:
            life.phase = Phase.REVIEW
            state.expiring.wait(life.emission_id, life, state.time + self._rules.review_window)
        else:
            state.close(life)

    def _disposition(self, life: AssertionState, verdict: Verdict) -> Disposition:
        given = self._policy.disposition[verdict.status]
        chosen = given.external if life.effect == "external" else given.internal
        if chosen == "re-emit" and life.attempt + 1 >= self._rules.max_attempts:
            return "review"
        return chosen

    def _emit(
        self,
        life: AssertionState,
        status: Literal["admitted", "renewed", "refused"],
        basis: Basis,
        verdict: Verdict | None = None,
        *,
        text: bool,
    ) -> None:
        """A word on `admitted`: it ends, without one, the lives of earlier attempts under the same key."""
        self._writer.admitted(life, status, basis, verdict.reason if verdict else None, text=text)
        known = self._state.known(life.emission_id)
        if known is not None and len(known.attempts) > 1:
            for earlier in list(known.attempts):
                other = earlier.life(life.span_key) if earlier.number < life.attempt else None
                if other is not None:
                    self._state.close(other)


def _quote(case: Case, verdict: Verdict) -> dict[str, Any] | None:
    """Where the quote stands that violates a citation [C §4]; offsets are in what the assertion's span counts in."""
    if verdict.reason != "citation-violation" or case.assertion is None or case.assertion.cites is None:
        return None
    start, end = citation(case) or (0, 0)
    span = case.assertion.span
    first = span.chars[0] if span is not None and span.chars is not None else 0
    return {"context": case.assertion.cites.context, "span": Span(chars=(first + start, first + end))}
