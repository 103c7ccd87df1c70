"""`sluice explain`: the story of one emission, from the ledger alone.

The whole lane is folded, by the code that the lane runs, and every link and root is checked on the way: what is told
is what the ledger holds, or nothing is. Blocks that cannot touch the emission cost what their fold costs. Of the
others the fold keeps a trace (streams/adjudication/trace.py), which says what each event did; block_trace.py tells
from it. Nothing can be left out: a review, a renewal or a newer attempt may come until the very end.

No clock decides anything here. `now` is only used to say whether what was admitted still holds.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing

from msgspec import UNSET

from ...codecs.blocks import Block, Header, Output
from ...codecs.errors import DoesNotHoldError
from ...codecs.partition import PARTITIONERS, Partitioner
from ...codecs.times import format_time
from ...streams.adjudication import fold as core
from ...streams.adjudication.state import State
from ...streams.adjudication.timers import WATERMARK
from ...streams.adjudication.trace import FoldTrace
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ..ledger.folds import Adjudicate, partitioner_of
from ..ledger.interfaces import Logs
from ..ledger.replay import beginning, blocks_of, replay
from .about import About
from .explanation import Explanation
from .timeline import ExplanationBuilder

Progress = Callable[[int, int, int], None]
"""Told after each block: its offset in the ledger, the first offset, and the end."""


class Watching(Adjudicate):
    """The lanes' own fold, which also notes what becomes of one emission. Its outputs are those of the fold.

    Args:
        emission_id: of the emission.
        partitioner: the name of the lanes' partitioner.
        secrets: under which identifiers are hashed.
    """

    def __init__(self, emission_id: str, partitioner: Partitioner, secrets: Secrets = NO_SECRETS) -> None:
        super().__init__(partitioner, secrets)
        self.builder = ExplanationBuilder(emission_id)
        self._emission_id, self._about = emission_id, About(emission_id)
        self._due: tuple[int | None, int | None] = (None, None)  # of the emission, on the watermark and on time

    def fold(self, state: State, block: Block) -> list[Output]:
        """Folds a block; where it may be about the emission, with a trace, which goes to the builder."""
        places = self._about.places(block)
        in_force = state.next_policy or state.policy
        if in_force is None or not (places or self._may_fire(state, block.header)):
            return super().fold(state, block)
        trace = FoldTrace(self._emission_id)
        outputs = core.fold(state, block, trace)
        self.builder.add(state, block, places, trace.entries)
        self._due = _next_due(state, self._emission_id)
        return outputs

    def _may_fire(self, state: State, header: Header) -> bool:
        """Whether something of the emission may be due in this block: it is, or `max_stall` might make it so."""
        waits, expires = self._due
        time = max(state.time, header.time)
        if expires is not None and time > expires:
            return True
        if waits is None:
            return False
        # What has run for `horizon + max_stall` began at least as long ago (`State.evidence_mark`).
        policies = [policy for policy in (state.policy, state.next_policy) if policy is not None]
        stalled = time - min(policy.admissibility.max_stall for policy in policies)
        return max(header.watermark, state.watermark, stalled) > waits


def _next_due(state: State, emission_id: str) -> tuple[int | None, int | None]:
    known = state.known(emission_id)
    items = [] if known is None else [item for item in known.items() if item.due is not None]
    waits = [item.due for item in items if item.clock == WATERMARK and item.due is not None]
    expires = [item.due for item in items if item.clock != WATERMARK and item.due is not None]
    return min(waits, default=None), min(expires, default=None)


async def explain(
    logs: Logs, emission_id: str, span_key: str | None, now: int, progress: Progress = lambda *_: None
) -> Explanation:
    """The story of an emission, or of its assertions with one span.

    Args:
        logs: the stored topics.
        emission_id: whose.
        span_key: canonical, such as `c:0-43`; None for all.
        now: Unix ms, to say whether what was admitted still holds.
        progress: how far it has come.

    Raises:
        DoesNotHoldError: the ledger knows nothing of the emission or the span, or does not hold.
        UnreachableError: no broker answers.
        UsageError: the ledger's identifiers are hashed with a secret that is not given.
    """
    partitioner = await partitioner_of(logs)
    lane = PARTITIONERS[partitioner](emission_id.encode(), logs.lanes)
    fold = Watching(emission_id, partitioner, logs.secrets)
    first, end = await logs.range("ledger", lane)
    at = beginning(fold, lane, logs.lanes)
    async with aclosing(blocks_of(logs, lane)) as blocks:
        async for folded in replay(blocks, fold, lane=lane, lanes=logs.lanes, start=at):
            at = folded.restored
            progress(folded.offset, first, end)
    tip = at.tip
    ledger = {"where": logs.where, "height": tip.height, "block": tip.hash, "time": format_time(tip.time)}
    attempts, assertions = fold.builder.tell(at.state, now)
    explanation = Explanation(
        emission_id=emission_id,
        lane=lane,
        lanes=logs.lanes,
        ledger=ledger,
        attempts=attempts,
        assertions=assertions,
        inputs=fold.builder.inputs,
    )
    if not explanation.inputs:
        raise DoesNotHoldError(
            f"nothing about the emission {emission_id!r} stands in the ledger of lane {lane}",
            path=logs.where,
            hint="check the id; an input under another key is in that key's lane",
        )
    return explanation if span_key is None else _only(explanation, span_key)


def _only(explanation: Explanation, span_key: str) -> Explanation:
    """The part of a story that is about one span. Inputs that name no span are about all of them."""
    assertions = [one for one in explanation.assertions if one.span_key == span_key]
    inputs = [one for one in explanation.inputs if one.span_key in (span_key, UNSET)]
    if not assertions and not any(one.span_key == span_key for one in inputs):
        spans = sorted({one.span_key for one in explanation.assertions})
        raise DoesNotHoldError(
            f"the emission {explanation.emission_id!r} has no assertion with the span {span_key}",
            expected="one of " + ", ".join(spans[:10]) if spans else "",
        )
    explanation.assertions, explanation.inputs = assertions, inputs
    return explanation
