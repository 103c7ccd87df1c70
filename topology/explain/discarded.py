"""Verdicts that a policy discards, made visible for those who fold a history again: `explain` and `what-if`.

What is discarded is counted, and nothing is written about it (ARCHITECTURE.md), so outputs tell neither
its status nor its reason. Here a history is folded under a policy that differs in one thing only: what it would
discard goes to review, which is told on `inadmissible`. `conceal` then closes what now waits for a reviewer in vain,
so that the next record finds the state that the real policy leaves. Until then such an assertion differs from a
discarded one in a single respect, that a review would reach it: whoever uses this folds up to a review, conceals, and
goes on. No second set of rules is kept anywhere; the table of the fold decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType, field
from msgspec.structs import replace

from ...codecs.blocks import Output
from ...codecs.records import Basis, CoverageLevel, Disposition, Effect, LedgerPlace, Reason, Status
from ...streams.adjudication.emission_state import Phase
from ...streams.adjudication.outputs import CITATIONS, DEAD_LETTERS, INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import PerEffect, Policy


class FramedText(msgspec.Struct, frozen=True, gc=False):
    """What stands in the frame of an output about an assertion, as far as a story needs it: sanitised."""

    assertion: str = ""
    rendered: list[str] | UnsetType = UNSET


class Decision(msgspec.Struct, frozen=True, gc=False):
    """What an output says about an assertion, as far as an explanation or a comparison needs it."""

    id: str
    emission_id: str
    attempt: int
    status: Status
    revision: int
    effect: Effect
    k: int
    classes: list[str]
    policy: str
    ledger: LedgerPlace
    basis: Basis | UnsetType = UNSET
    reason: Reason | UnsetType = UNSET
    disposition: Disposition | UnsetType = UNSET
    valid_until: str | UnsetType = UNSET
    missing_floor: int | UnsetType = UNSET
    classes_seen: list[str] | UnsetType = UNSET
    min_observers: int | UnsetType = UNSET
    missing_observers: int | UnsetType = UNSET
    coverage: CoverageLevel | UnsetType = UNSET
    unchecked: list[tuple[int, int]] | UnsetType = UNSET
    frame: FramedText = field(name="_untrusted_text", default=FramedText())


class DecisionOutput(NamedTuple):
    """A word, and where it was said."""

    topic: str
    span_key: str
    word: Decision


_words = msgspec.json.Decoder(Decision)
_NO_WORDS = (DEAD_LETTERS, CITATIONS)


def decisions_in(outputs: Iterable[Output]) -> Iterator[DecisionOutput]:
    """The words among some outputs, in order; dead letters and citations are none."""
    for topic, key, value, _ in outputs:
        if topic not in _NO_WORDS:
            yield DecisionOutput(topic, (key or b"").decode().partition("#")[2], _words.decode(value))


def reveal(policy: Policy) -> Policy:
    """The policy with `review` wherever it says `discard`."""
    return replace(
        policy,
        disposition={
            status: PerEffect(internal=_shown(given.internal), external=_shown(given.external))
            for status, given in policy.disposition.items()
        },
    )


def reveal_all(policy: Policy) -> Policy:
    """The policy with `review` for every disposition: whatever is refused can be looked at. For throw-away folds."""
    return replace(
        policy, disposition=dict.fromkeys(policy.disposition, PerEffect(internal="review", external="review"))
    )


def _shown(disposition: Disposition) -> Disposition:
    return "review" if disposition == "discard" else disposition


def is_discarded(policy: Policy, topic: str, word: Decision) -> bool:
    """Whether a word that was said under `reveal(policy)` would have been a discard under the policy itself."""
    if word.disposition != "review" or topic == "admitted":
        return False
    given = policy.disposition[word.status]
    return (given.external if word.effect == "external" else given.internal) == "discard"


def conceal(state: State, policy: Policy, words: Iterable[DecisionOutput]) -> None:
    """Closes what `policy` would have discarded, of what was just said under `reveal(policy)`; between blocks only."""
    for topic, span_key, word in words:
        if topic == INADMISSIBLE and is_discarded(policy, topic, word):
            attempt = state.attempt(word.emission_id, word.attempt)
            assertion_state = attempt.assertion(span_key) if attempt is not None else None
            if assertion_state is not None and assertion_state.phase == Phase.REVIEW:
                state.close(assertion_state)
