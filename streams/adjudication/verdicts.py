"""Carries verdicts out: an assertion's phase and timer, its words on the topics, what is asked of whom.

What the verdict *is* stands in the table (decisions.py); what the records look like, in outputs.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...codecs.identifiers import Span
from ...codecs.records import Basis, Disposition, Reason, Review, Status
from ..policy.policy import Policy, PublishedVerdicts
from . import check_tally, corroboration, follow_up_requests
from .decision_json import asked, closed, is_settled, remembered
from .decisions import Case, Moment, Verdict, citation, decide
from .emission_state import LATE, NO_LOOK, AssertionState, Phase
from .outputs import Writer
from .state import State
from .timers import TIME
from .trace import UNTRACED, Armed, Ended, FoldTrace, Reviewed

if TYPE_CHECKING:
    from .._native import Folder

Closing = Literal["decayed-to-uncertainty", "contradicted", "rejected"]
ClosingReason = Literal["validity-ended", "contradicted", "fabricated-annotation", "review"]
_UNREQUESTED = ("superseded", "review")
"""Reasons after which nobody is asked anything: a newer attempt is there, or a person has spoken."""


Renewed = tuple[str, int, str]
"""An assertion whose validity moved on: emission id, attempt, span key. Not its state, which may be packed."""


class Verdicts:
    """The verdicts of one block.

    Invariant: an assertion is in the phase that its last word says, and waits on that phase's clock.

    Attributes:
        renewed: whose validity moved on in the block.
        changed: the emissions of which `verdicts` may have to tell, with their emitters, in the order of their first
            change.
        unseen: emissions of which an assertion waits on since nobody has looked at it, with their emitters.
    """

    def __init__(self, state: State, policy: Policy, writer: Writer, trace: FoldTrace = UNTRACED) -> None:
        self._state, self._policy, self._writer, self._trace = state, policy, writer, trace
        self._rules = policy.admissibility
        self.renewed: list[Renewed] = []
        self.changed: dict[str, str | None] = {}
        self.unseen: dict[str, str | None] = {}
        self.published_verdicts: PublishedVerdicts = policy.verdicts

    def case(self, assertion_state: AssertionState) -> Case:
        """What the table looks at, for an assertion that is there already."""
        return Case(assertion_state, self._policy, self._state.time)

    def judge(self, moment: Moment, case: Case) -> bool:
        """Decides, and carries the verdict out; False where the assertion goes on waiting."""
        verdict = decide(moment, case)
        if verdict is None:
            return False
        self._state.end_lateness(case.state)
        self._changes(case.state)
        if verdict.status == "admitted":
            self._admit(case)
        else:
            self._refuse(case, verdict)
        return True

    def wait_on(self, assertion_state: AssertionState) -> bool:
        """Lets an annotated assertion that no observer has looked at by its horizon wait for `late_horizon`, and tells
        that on `verdicts`; False where it does not wait, or so many do already."""
        state = self._state
        if (
            not assertion_state.annotated
            or assertion_state.look != NO_LOOK
            or self._rules.trust == "declared"
            or state.unseen >= self._rules.max_unseen
        ):
            return False
        state.unseen += 1
        assertion_state.look = LATE
        bounds = assertion_state.bounds
        until = assertion_state.arrival + bounds.horizon + bounds.late_horizon
        state.pending.wait(assertion_state.emission_id, assertion_state, until)
        self._trace.note_of(Armed, assertion_state, clock=assertion_state.clock, due=until)
        self._changes(assertion_state)
        self.unseen[assertion_state.emission_id] = assertion_state.emitter
        return True

    def pass_on(self, assertion_state: AssertionState) -> None:
        """A refusal to answer is no claim: it is passed on, never adjudicated [S §5]."""
        assertion_state.revision += 1
        self._changes(assertion_state)
        self._emit(assertion_state, "refused", "emitter", text=True)
        self._close(assertion_state, "refused")

    def close_admitted(self, assertion_state: AssertionState, status: Closing, reason: ClosingReason) -> None:
        """The last word on an admitted assertion: on `admitted`, never on `inadmissible`."""
        assertion_state.revision += 1
        self._changes(assertion_state)
        self._writer.admitted(assertion_state, status, assertion_state.based_on, reason, text=False)
        self._close(assertion_state, status, reason)

    def refuse_admitted(self, assertion_state: AssertionState) -> None:
        """A reviewer refuses what is already admitted: that closes it."""
        self._trace.note_of(Reviewed, assertion_state)
        assertion_state.basis = "review"
        self.close_admitted(assertion_state, "rejected", "review")

    def extend(self, assertion_state: AssertionState, until: int) -> None:
        """Moves an admitted assertion's validity on, if it does; `renew` tells it at the end of the block."""
        if until > assertion_state.valid_until:
            assertion_state.valid_until = until
            self._wait(assertion_state, until)
            if not assertion_state.touched:
                assertion_state.touched = True
                self.renewed.append((assertion_state.emission_id, assertion_state.attempt, assertion_state.span_key))

    def renew(self, core: Folder | None) -> None:
        """Writes `renewed`, at most once a block, for every validity that moved on in it."""
        for one in self.renewed:
            assertion_state = None if core is not None and core.renew(one) else self._assertion_state(*one)
            if assertion_state is None:
                continue
            assertion_state.touched = False
            if assertion_state.phase == Phase.ADMITTED:
                assertion_state.revision += 1
                self._changes(assertion_state)
                self._emit(assertion_state, "renewed", assertion_state.based_on, text=True)

    def publish(self, core: Folder | None) -> None:
        """Writes the block's records on `verdicts`: of each emission that changed, as it is now, where it is settled
        or the policy wants to hear of all."""
        if core is not None:
            core.publish(self._publish)
        else:
            for emission_id, emitter in self.changed.items():
                self._publish(emission_id, emitter)
        if self.published_verdicts == "settled":
            for emission_id, emitter in self.unseen.items():
                known = self._state.known(emission_id)
                if known is not None and not is_settled(known):
                    self._writer.verdict(emission_id, emitter, known)

    def _publish(self, emission_id: str, emitter: str | None) -> None:
        known = self._state.known(emission_id)
        if known is not None and (self.published_verdicts == "all" or is_settled(known)):
            self._writer.verdict(emission_id, emitter, known)

    def mark_changed(self, emission_id: str, emitter: str | None) -> None:
        """Something about an emission changed that is no verdict: it came, or evidence counts."""
        if self.published_verdicts == "all":
            self.changed[emission_id] = emitter

    def empty(self, emission_id: str, emitter: str | None) -> None:
        """An emission came that asserts nothing: it is settled."""
        if self.published_verdicts != "none":
            self.changed[emission_id] = emitter

    def reviewed(self, case: Case, review: Review) -> None:
        """A reviewer's word on what is up for review, or pending: it decides."""
        if case.state.phase == Phase.REVIEW:
            self._writer.request_ended(case.state, "reviewed", review, None)
        case.review = review.decision
        self.judge(Moment.REVIEW, case)

    def ask_again(self, assertion_state: AssertionState) -> None:
        """Not enough reviewers have admitted it: its request stays open, and says who has."""
        assertion_state.revision += 1
        self._writer.asked_again(assertion_state, assertion_state.due or 0)

    def supersede(self, assertion_state: AssertionState, attempt: int) -> None:
        """A newer attempt came: what was still pending is superseded, and nobody reviews what is not said any more."""
        if assertion_state.phase == Phase.PENDING:
            case = self.case(assertion_state)
            case.newer = True
            self.judge(Moment.NEWER, case)
        elif assertion_state.phase == Phase.REVIEW:
            self._changes(assertion_state)
            self._end_for(assertion_state, attempt)

    def unreviewed(self, assertion_state: AssertionState) -> None:
        """No reviewer's word came in time: the verdict stands."""
        self._writer.request_ended(assertion_state, "expired", None, None)
        self._state.close(assertion_state, remembered(assertion_state) if self.published_verdicts != "none" else None)

    def _changes(self, assertion_state: AssertionState) -> None:
        if self.published_verdicts != "none":
            self.changed[assertion_state.emission_id] = assertion_state.emitter

    def _close(
        self,
        assertion_state: AssertionState,
        status: Status,
        reason: Reason | None = None,
        disposition: Disposition | None = None,
    ) -> None:
        kept = closed(assertion_state, status, reason, disposition) if self.published_verdicts != "none" else None
        self._state.close(assertion_state, kept)

    def _assertion_state(self, emission_id: str, number: int, span_key: str) -> AssertionState | None:
        attempt = self._state.attempt(emission_id, number)
        return None if attempt is None else attempt.assertion(span_key)

    def _admit(self, case: Case) -> None:
        assertion_state, state = case.state, self._state
        if case.review is not None:
            assertion_state.basis = "review"
            until = state.time + self._rules.max_validity
        else:
            assertion_state.basis = "declaration" if self._rules.trust == "declared" else "corroboration"
            until = corroboration.validity(assertion_state)
            check_tally.settle(assertion_state)
        check_tally.drop_looks(assertion_state)
        follow_up_requests.drop_material(assertion_state)
        assertion_state.phase = Phase.ADMITTED
        assertion_state.admitted_at, assertion_state.valid_until = state.time, until
        self._wait(assertion_state, until)
        assertion_state.revision += 1
        self._emit(assertion_state, "admitted", assertion_state.based_on, text=True)

    def _refuse(self, case: Case, verdict: Verdict) -> None:
        """What is not admitted goes where the policy sends its status and effect [S §7]."""
        assertion_state, state = case.state, self._state
        disposition = self._disposition(assertion_state, verdict)
        request = verdict.reason not in _UNREQUESTED
        if disposition == "discard":
            state.counters["discarded"] += 1
            if self._trace.follows(assertion_state.emission_id):
                self._writer.discarded(assertion_state, verdict, _quote(case, verdict), request)
            self._close(assertion_state, *verdict, disposition)
            return
        assertion_state.revision += 1
        again = self._again(assertion_state) if disposition == "re-emit" else None
        self._writer.inadmissible(
            assertion_state, verdict, disposition, _quote(case, verdict), request, again, case.assertion
        )
        # Where a newer attempt is known, the last word under this key on `admitted` is not this one's to write.
        if disposition == "refuse" and assertion_state.attempt >= state.newest(assertion_state.emission_id):
            self._emit(assertion_state, "refused", "policy", verdict, text=False)
        if disposition == "review" and request:
            if self._policy.reviewers.needed(assertion_state.effect) == 1:
                check_tally.drop_looks(assertion_state)
                follow_up_requests.drop_material(assertion_state)
            assertion_state.phase = Phase.REVIEW
            assertion_state.admitted_at = state.time
            assertion_state.basis = asked(*verdict)
            self._wait(assertion_state, state.time + self._rules.review_window)
        else:
            self._close(assertion_state, *verdict, disposition)

    def _wait(self, assertion_state: AssertionState, until: int) -> None:
        """Makes an assertion wait on time, wherever it waited before."""
        self._state.expiring.wait(assertion_state.emission_id, assertion_state, until)
        self._trace.note_of(Armed, assertion_state, clock=TIME, due=until)

    def _again(self, assertion_state: AssertionState) -> tuple[int, int]:
        """How many attempts are left, and until when the lane knows the one before (Unix ms): as long as it would
        take the same emission for a repetition, and its `emitted_at` for one that is not too old."""
        left = self._rules.max_attempts - assertion_state.attempt - 1
        return left, assertion_state.emitted_at + self._state.least_max_validity(assertion_state.emitted_at)

    def _disposition(self, assertion_state: AssertionState, verdict: Verdict) -> Disposition:
        given = self._policy.disposition[verdict.status]
        chosen = given.external if assertion_state.effect == "external" else given.internal
        if chosen == "re-emit" and assertion_state.attempt + 1 >= self._rules.max_attempts:
            return "review"
        return chosen

    def _emit(
        self,
        assertion_state: AssertionState,
        status: Literal["admitted", "renewed", "refused"],
        basis: Basis,
        verdict: Verdict | None = None,
        *,
        text: bool,
    ) -> None:
        """A word on `admitted`: it ends, without one, the assertions of earlier attempts under the same key."""
        self._writer.admitted(assertion_state, status, basis, verdict.reason if verdict else None, text=text)
        known = self._state.known(assertion_state.emission_id)
        if known is not None and len(known.attempts) > 1:
            for earlier in list(known.attempts):
                other = (
                    earlier.assertion(assertion_state.span_key) if earlier.number < assertion_state.attempt else None
                )
                if other is not None:
                    self._end_for(other, assertion_state.attempt)

    def _end_for(self, assertion_state: AssertionState, attempt: int) -> None:
        """Ends an assertion without a word of its own, since a newer attempt stands in its place."""
        self._trace.note_of(Ended, assertion_state, by_attempt=attempt)
        if assertion_state.phase == Phase.REVIEW:
            self._writer.request_ended(assertion_state, "superseded", None, attempt)
        self._close(assertion_state, "rejected", "superseded")


def _quote(case: Case, verdict: Verdict) -> dict[str, Any] | None:
    """Where the quote stands that violates a citation [C §4]; offsets are in what the assertion's span counts in."""
    if verdict.reason != "citation-violation" or case.assertion is None or case.assertion.cites is None:
        return None
    start, end = citation(case) or (0, 0)
    span = case.assertion.span
    first = span.chars[0] if span is not None and span.chars is not None else 0
    return {"context": case.assertion.cites.context, "span": Span(chars=(first + start, first + end))}
