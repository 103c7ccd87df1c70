"""`sluice what-if`: the past under another policy.

One pass over a lane's ledger moves two states side by side: one under the policies that the ledger has, one under a
new policy in their place: it stands in the first block, and those that came later are left out. Everything else is as
it was: every input at the time at which it came. Where more is due under the new policy than one block fires, empty
blocks at the same time are put in between, as a lane would (`state.MAX_TIMERS`).

Compared is the last decision about each assertion. What a policy discards leaves no record, so both folds run with
every `discard` revealed as a review (`reveal`), whose record on `inadmissible` tells its status and reason. `conceal`
then closes these assertions, so that the next record meets the state that the real policy leaves. Until it does, such
an assertion differs from a discarded one in one way: a review would reach it. So a side folds up to the next review,
conceals, and continues. A word that only says what is *done* about a decision (`refused`, basis `policy`) is none, and
`renewed` counts as `admitted`.

What cannot be known: the acts of people and machines that followed from the old decisions are part of the past as well.
A re-emission that would never have been asked for still comes, and one that would have been asked for does not; so with
reviews. The chain of blocks is checked on the way; whether outputs are what they should be is for `sluice audit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing

import msgspec
from msgspec.structs import replace

from ...codecs.blocks import Block, Event, EventKind, Header, Output
from ...codecs.errors import Fault
from ...codecs.partition import Partitioner
from ...codecs.records import Disposition
from ...streams.adjudication import fold as core
from ...streams.adjudication.emission_state import Phase
from ...streams.adjudication.outputs import DEAD_LETTERS, INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import PerEffect, Policy, PolicyKeys
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ...streams.policy.signed_policies import follow
from ..ledger.folds import partitioner_of
from ..ledger.interfaces import Logs
from ..ledger.replay import blocks_of, replay
from .read_decisions import DecisionOutput, DecisionSummary, decisions_in
from .what_if_compare import Arrival, Comparison, SideOutcome

Progress = Callable[[int, int, int], None]
"""Told after each block: its offset in the ledger, the first offset, and the end."""


class Side:
    """One of the two folds: a lane's state under revealed policies.

    Invariant: between blocks, nothing waits for a reviewer that the real policy would have discarded.

    Args:
        lane, lanes: which lane of how many.
        partitioner: by which keys are spread.
        instead: the policy to put in the place of the ledger's; None leaves them.
        secrets: what the ledger's identifiers are hashed with.
    """

    def __init__(
        self, lane: int, lanes: int, partitioner: Partitioner, instead: Policy | None, secrets: Secrets = NO_SECRETS
    ) -> None:
        self.state = core.new_state(lane, lanes, partitioner, secrets)
        self._instead = instead
        self._policy: Policy | None = None
        self._next: Policy | None = None

    def take(self, block: Block, came: Sequence[Arrival]) -> SideOutcome:
        """Folds a block with these emissions in it; returns what was said, refused, and news."""
        self._policy, self._next = self._next or self._policy, None
        header, outcome = block.header, SideOutcome([], [], {}, set())  # what a header calls the policy, no fold reads
        if self._instead is not None:
            while block.events and core.due(self.state, header.time, header.watermark) > core.MAX_TIMERS:
                outcome.due.extend(self._fold(header, [], outcome))
        # What is due comes first and by itself: what is concealed of it is gone before the first event, as it should.
        if self._policy is not None and block.events:
            outcome.due.extend(self._fold(header, [], outcome))
        for arrival in came:
            if self.state.attempt(arrival.emission_id, arrival.attempt) is None:
                outcome.news.add(arrival.source)
        for events in _portions(block):
            outcome.words.extend(
                self._fold(header, [one for event in events for one in self._shown(event, header)], outcome)
            )
        return outcome

    def _fold(self, header: Header, events: Sequence[Event], outcome: SideOutcome) -> list[DecisionOutput]:
        outputs = core.fold(self.state, Block(header, events, ""))
        words = list(decisions_in(outputs))
        if self._policy is not None:
            conceal(self.state, self._policy, words)
        for output in outputs:
            if output.topic == DEAD_LETTERS:
                named = dict(reversed(output.headers))  # the first of a name is ours
                outcome.dead[named["sluice-source"].decode()] = named["sluice-reason"].decode()
        return words

    def _shown(self, event: Event, header: Header) -> Iterator[Event]:
        """An event as this side takes it: policies revealed, or the one that is put in their place.

        Who signed a policy is judged here: what is revealed is another document than the one that was signed. Adoptions
        decide nothing, and another policy may know other keys: they are left out.
        """
        if event.kind == EventKind.ADOPT:
            return
        if event.kind != EventKind.POLICY:
            yield event
            return
        if self._instead is not None:
            if self._policy is not None or self._next is not None:
                return
            self._next = self._instead
        else:
            found = follow(self._next or self._policy, event.value or b"", event.headers, header.time)
            if isinstance(found, Fault):
                if found.reason == "schema":
                    yield event
                return
            self._next = found
        yield replace(event, value=replace(reveal(self._next), policies=PolicyKeys()).document)


def _portions(block: Block) -> Iterator[Sequence[Event]]:
    """A block's events, cut before each review: only a review could reach what is to be concealed.

    A policy among them comes last: it is in force from the block after, whatever stands behind it.
    """
    events, start = block.events, 0
    policies = [event for event in events if event.kind == EventKind.POLICY]
    if policies and len(policies) < len(events):
        events = [event for event in events if event.kind != EventKind.POLICY] + policies
    topics = [source.topic for source in block.header.sources]
    for place, event in enumerate(events):
        if place > start and event.kind == EventKind.RECORD and topics[event.source] == "reviews":
            yield events[start:place]
            start = place
    yield events[start:]


class _EmissionKey(msgspec.Struct, gc=False):
    """The few fields of an emission that say which it is."""

    emission_id: str
    attempt: int = 0


_decoder = msgspec.json.Decoder(_EmissionKey)


def arrivals(block: Block) -> list[Arrival]:
    """The emissions of a block."""
    found: list[Arrival] = []
    header = block.header
    emissions = [place for place, source in enumerate(header.sources) if source.topic == "emissions"]
    for event in block.events:
        if event.kind != EventKind.RECORD or event.source not in emissions:
            continue
        try:
            emission = _decoder.decode(event.value or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        source = f"emissions/{header.lane}/{event.offset}"
        found.append(Arrival(emission.emission_id, emission.attempt, header.time, source))
    return found


class _BothSides:
    """Both folds as one, for `replay`: its state is the two sides; what they say goes to the comparison."""

    def __init__(self, partitioner: Partitioner, policy: Policy, comparison: Comparison, secrets: Secrets) -> None:
        self.version = core.fold_version(partitioner)
        self._partitioner: Partitioner = partitioner
        self._policy, self._comparison, self._secrets = policy, comparison, secrets

    def new(self, lane: int, lanes: int) -> tuple[Side, Side]:
        partitioner, secrets = self._partitioner, self._secrets
        return Side(lane, lanes, partitioner, None, secrets), Side(lane, lanes, partitioner, self._policy, secrets)

    def fold(self, state: tuple[Side, Side], block: Block) -> list[Output]:
        (old, new), comparison = state, self._comparison
        comparison.policies.add(block.header.policy)
        came = arrivals(block) if comparison.asks_about(block.header.time) else []
        comparison.block(came, (old.take(block, came), new.take(block, came)), (old.state, new.state))
        return []


async def what_if(
    logs: Logs, lane: int, policy: Policy, comparison: Comparison, progress: Progress = lambda *_: None
) -> None:
    """Folds a lane's ledger twice and compares.

    Args:
        logs: the stored topics.
        lane: which one.
        policy: the new one.
        comparison: takes in what both sides say, and says which assertions are asked about.
        progress: how far it has come.

    Raises:
        DoesNotHoldError: the ledger is not a chain of blocks that this version can fold.
        UnreachableError: no broker answers.
        UsageError: the ledger's identifiers are hashed with a secret that is not given.
    """
    fold = _BothSides(await partitioner_of(logs, lane), policy, comparison, logs.secrets)
    first, end = await logs.range("ledger", lane)
    # The outputs' roots are left to `audit`: these folds reveal what the lane's did not.
    blocks = blocks_of(logs, lane)
    replayed = replay(
        blocks, fold, lane=lane, lanes=logs.lanes, verify=False, in_place=False,
        on_block=lambda folded: progress(folded.offset, first, end),
    )  # fmt: skip
    async with aclosing(blocks), aclosing(replayed):
        async for folded in replayed:
            if comparison.is_over(folded.header.time):
                break
    comparison.settle()


# ---------------------------------------------------------------- what a policy discards


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
