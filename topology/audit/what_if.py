"""`sluice what-if`: the past under another policy.

The last decision about each assertion under both policies is kept for as long as it may change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from ...codecs.blocks import Block, Event, EventKind, Header, Output
from ...codecs.errors import Fault
from ...codecs.partition import Partitioner
from ...codecs.records import Disposition
from ...codecs.times import format_time
from ...streams.adjudication import fold as core
from ...streams.adjudication.emission_state import Phase
from ...streams.adjudication.outputs import ADMITTED, DEAD_LETTERS, INADMISSIBLE
from ...streams.adjudication.state import State
from ...streams.policy.policy import PerEffect, Policy, PolicyKeys, follow
from ...streams.policy.privacy import NO_SECRETS, Secrets
from ..engine.folds import partitioner_of
from ..engine.interfaces import Logs, no_progress
from ..engine.replay import blocks_of, replay
from .emission_facts import DecisionOutput, DecisionSummary, decisions_in

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
    """What one side made of a block."""

    due: list[DecisionOutput]  # its words about what was due before the first event
    words: list[DecisionOutput]  # those about the events
    dead: dict[str, str]  # the reasons of its dead letters, by source
    news: set[str]  # the sources of emissions of which it did not know that attempt before


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

        `came` are the emissions with it that are asked about, `outcomes` what the old and the new side made of it,
        `states` those after it.
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


Progress = Callable[[int, int, int], None]
"""Told after each block: its offset in the ledger, the first offset, and the end."""


class Side:
    """One of the two folds: a lane's state under revealed policies; `instead` takes the place of the ledger's, unless
    it is None.

    Invariant: between blocks, nothing waits for a reviewer that the real policy would have discarded. `lane`, `lanes`,
    `partitioner` and `secrets` are those of the ledger's fold.
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
    logs: Logs, lane: int, policy: Policy, comparison: Comparison, progress: Progress = no_progress
) -> None:
    """Folds a lane's ledger twice, under its own policies and under `policy`, and compares.

    `comparison` takes in what both sides say, and says which assertions are asked about; `progress` is told how far the
    reading of the `lane` in `logs` has come.

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

    `state` is that of the fold under `reveal(policy)`, which is changed; `words` are the decisions that it has just
    written.
    """
    for topic, span_key, decision in words:
        if topic == INADMISSIBLE and _is_discarded(policy, topic, decision):
            attempt = state.attempt(decision.emission_id, decision.attempt)
            assertion_state = attempt.assertion(span_key) if attempt is not None else None
            if assertion_state is not None and assertion_state.phase == Phase.REVIEW:
                state.close(assertion_state)
