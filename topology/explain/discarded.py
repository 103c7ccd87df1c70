"""Verdicts that a policy discards, made visible for `what-if`, which folds a history again.

The fold counts a discarded assertion and writes no record about it, so the outputs have neither its status nor its
reason. An explanation of one emission reads them from the fold's trace; a comparison needs them for all emissions.

So a comparison folds the history under a changed policy (`reveal`): an assertion that the real policy would discard
goes to review instead, and a record on `inadmissible` tells its status and reason. `conceal` then closes these
assertions, so that the next record meets the state that the real policy leaves. Until `conceal` runs, such an assertion
differs from a discarded one in one way: a review would reach it. So the caller folds up to the next review, calls
`conceal`, and continues.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...codecs.records import Disposition
from ...streams.adjudication.emission_state import Phase
from ...streams.adjudication.outputs import INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import PerEffect, Policy
from .read_decisions import DecisionOutput, DecisionSummary


def reveal(policy: Policy) -> Policy:
    """The policy with `review` wherever it says `discard`."""
    return replace(
        policy,
        disposition={
            status: PerEffect(internal=_shown(given.internal), external=_shown(given.external))
            for status, given in policy.disposition.items()
        },
    )


def _shown(disposition: Disposition) -> Disposition:
    return "review" if disposition == "discard" else disposition


def _is_discarded(policy: Policy, topic: str, decision: DecisionSummary) -> bool:
    """Whether a decision that was written under `reveal(policy)` would be a discard under the policy itself."""
    if decision.disposition != "review" or topic == "admitted":
        return False
    given = policy.disposition[decision.status]
    return (given.external if decision.effect == "external" else given.internal) == "discard"


def conceal(state: State, policy: Policy, words: Iterable[DecisionOutput]) -> None:
    """Closes the assertions that `policy` would have discarded; to be called between blocks only.

    Args:
        state: of the fold under `reveal(policy)`; it is changed.
        policy: the real one.
        words: the decisions that were just written under `reveal(policy)`.
    """
    for topic, span_key, decision in words:
        if topic == INADMISSIBLE and _is_discarded(policy, topic, decision):
            attempt = state.attempt(decision.emission_id, decision.attempt)
            assertion_state = attempt.assertion(span_key) if attempt is not None else None
            if assertion_state is not None and assertion_state.phase == Phase.REVIEW:
                state.close(assertion_state)
