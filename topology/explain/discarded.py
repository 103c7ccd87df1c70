"""Verdicts that a policy discards, made visible for `what-if`, which folds a history again.

What is discarded is counted, and nothing is written about it, so outputs tell neither its status nor
its reason. An explanation reads them off the fold's trace of one emission; a comparison is about all of them.

So a history is folded under a policy that differs in one thing only: what it would discard goes to review, which is
told on `inadmissible`. `conceal` then closes what now waits for a reviewer in vain, so that the next record finds the
state that the real policy leaves. Until then such an assertion differs from a discarded one in a single respect, that a
review would reach it: whoever uses this folds up to a review, conceals, and goes on.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from ...codecs.records import Disposition
from ...streams.adjudication.emission_state import Phase
from ...streams.adjudication.outputs import INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import PerEffect, Policy
from .decisions import DecisionOutput, DecisionSummary


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
    """Whether a word that was said under `reveal(policy)` would have been a discard under the policy itself."""
    if decision.disposition != "review" or topic == "admitted":
        return False
    given = policy.disposition[decision.status]
    return (given.external if decision.effect == "external" else given.internal) == "discard"


def conceal(state: State, policy: Policy, words: Iterable[DecisionOutput]) -> None:
    """Closes what `policy` would have discarded, of what was just said under `reveal(policy)`; between blocks only."""
    for topic, span_key, decision in words:
        if topic == INADMISSIBLE and _is_discarded(policy, topic, decision):
            attempt = state.attempt(decision.emission_id, decision.attempt)
            assertion_state = attempt.assertion(span_key) if attempt is not None else None
            if assertion_state is not None and assertion_state.phase == Phase.REVIEW:
                state.close(assertion_state)
