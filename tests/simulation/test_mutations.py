"""The invariants can fail: each of these mistakes, made on purpose, is found within a few hundred seeds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from itertools import count
from typing import Any

import pytest
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from sluice.codecs.blocks import Block, EventKind, Output
from sluice.codecs.ledger_statements import is_claim
from sluice.streams.adjudication.state import State
from sluice.streams.attestations.framing import NewestWords
from sluice.topology.engine import chain, lane
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.checkpointing import Checkpoints, Draft
from sluice.topology.engine.clocks import Clocks
from sluice.topology.engine.folds import Adjudicate, Bind, FrameAttestations
from sluice.topology.engine.intake import InputMarks, Intake
from sluice.topology.engine.interfaces import Fold
from sluice.topology.engine.lane_control import LaneProgress
from sluice.topology.engine.ledger import KafkaLedger, Ledger
from sluice.topology.engine.restore import restore
from sluice.topology.kafka import transactions
from sluice.topology.kafka.connect import open_reader
from sluice.topology.kafka.membership import Member, Standing, check_member
from sluice.topology.kafka.packed_batches import Suspects
from sluice.topology.kafka.polling import Fetched
from sluice.topology.kafka.transactions import LaneProducer, Written
from sluice.topology.settings.settings import Settings

from .broker import Broker
from .simulated_run import Mutation, ViolationError, run
from .worker import make_ledger

pytestmark = pytest.mark.slow

SEEDS = 300


class OutputsFirst(KafkaLedger):
    """Commits outputs in a transaction of their own, before the block."""

    first = staticmethod(lambda output: output.topic != "checkpoints")

    def __init__(self, settings: Settings, lane: int) -> None:
        super().__init__(settings, lane)
        self._first = LaneProducer(settings, "first", lane)

    async def open(self) -> None:
        await asyncio.gather(super().open(), self._first.open())  # one behind the other, the second could fence late

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        if firsts := [output for output in outputs if self.first(output)]:
            await self._first.commit(None, firsts)
        return await super().write(block, [output for output in outputs if not self.first(output)])

    async def close(self) -> None:
        await self._first.close()
        await super().close()


class CheckpointsFirst(OutputsFirst):
    """Commits checkpoints in a transaction of their own, before their block."""

    first = staticmethod(lambda output: output.topic == "checkpoints")


class Deaf(KafkaLedger):
    """Takes a failed commit for a block that stands."""

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        try:
            return await super().write(block, outputs)
        except (KafkaError, TimeoutError):
            return Written(0, None)


class Hasty(KafkaLedger):
    """Takes the first block that it reads for the last one."""

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        async for found in super().blocks(start):
            yield found
            return


class Believing(KafkaLedger):
    """Takes the end that a fetch answer tells for the ledger's, as lanes did before they were claimed."""

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        place = TopicPartition(self._topic, self._lane)
        async with open_reader(self._settings, place, start) as consumer:
            while True:
                for record in (await consumer.getmany(place, timeout_ms=200)).get(place, []):
                    if not is_claim(record.key):
                        yield record.offset, record.value
                end = consumer.highwater(place)
                if end is not None and await consumer.position(place) >= end:
                    return


class Remembering(Adjudicate):
    """Says nothing twice: it remembers, beside its state, what it has said."""

    def __init__(self) -> None:
        super().__init__()
        self._said: set[bytes] = set()

    def fold(self, state: Any, block: Block) -> list[Output]:
        outputs = [output for output in super().fold(state, block) if output.value not in self._said]
        self._said |= {output.value for output in outputs}
        return outputs


class DumpingLate(Adjudicate):
    """Begins to write a state down when its lane has gone on."""

    def dump(self, state: Any) -> Iterator[bytes]:
        yield from super().dump(state)


class Uncounting(FrameAttestations):
    """Frames nothing of what comes as the second of a block."""

    def fold(self, state: Any, block: Block) -> list[Output]:
        return super().fold(state, block)[:1]


class Forgetting(FrameAttestations):
    """Forgets each validator's newest word at once: whatever comes again is taken again."""

    def fold(self, state: Any, block: Block) -> list[Output]:
        state.words = NewestWords()
        return super().fold(state, block)


class Unknowing(Bind):
    """Forgets a pair at once: whatever comes again is bound again."""

    def fold(self, state: Any, block: Block) -> list[Output]:
        state._known.clear()
        return super().fold(state, block)


def misplaced() -> Mutation:
    """What is for other lanes goes to the partition of the lane that writes it."""
    return Mutation(patches=[(LaneProducer, "_partition", lambda producer, key: producer._lane)])


def adjudicating(kind: Callable[[Settings, int], Ledger]) -> Mutation:
    """Another ledger for adjudication."""

    def make(settings: Settings, fold: Fold, number: int) -> Ledger:
        return kind(settings, number) if fold.ledger == "ledger" else make_ledger(settings, fold, number)

    return Mutation(make_ledger=make)


def unfenced() -> Mutation:
    """Every ledger's transactional id is its own, so nobody fences anybody."""
    numbers = count()
    return adjudicating(lambda settings, lane: KafkaLedger(settings, lane, ledger_id=f"w{next(numbers)}"))


def blindly_unfenced() -> Mutation:
    """As `unfenced`, and nobody looks into holes of the ledger either: two owners write it side by side."""

    async def demand_nothing(producer: LaneProducer, of_blocks: Any) -> None:
        pass

    return unfenced()._replace(patches=[(LaneProducer, "_demand_alone", demand_nothing)])


def with_frames(change: Callable[[Intake, Fetched], Fetched]) -> Mutation:
    """Lanes that see ranges otherwise than they are."""
    offer = Intake.offer
    return Mutation(patches=[(Intake, "offer", lambda intake, fetched: offer(intake, change(intake, fetched)))])


def unchecked() -> Mutation:
    """Claims name no member, so nobody checks whether it is one."""

    def check(producer: Any, member: Member) -> None:
        check_member(producer, member._replace(member="", generation=-1))

    return Mutation(patches=[(transactions, "check_member", check)])


def nameless() -> Mutation:
    """Blocks go on to name the claim of before: the hash of a lane's own one is never taken up."""

    async def claim_with(lane_: lane.Lane, draft: Any) -> None:
        kept = lane_._claim
        await claim_as_ever(lane_, draft)
        lane_._claim = kept

    claim_as_ever = lane.Lane._claim_with
    return Mutation(patches=[(lane.Lane, "_claim_with", claim_with)])


def told_by_fetches() -> Mutation:
    """What a fetch answer tells of an input's end makes a mark, as it did before: after an election it may be older."""

    def answered(lane_: lane.Lane, topic: str, end: int, time: int, *handed: int) -> None:
        lane_._watermark.ended(topic, end, time)
        answered_as_ever(lane_, topic, end, time, *handed)

    answered_as_ever = lane.Lane.answered
    return Mutation(patches=[(lane.Lane, "answered", answered)])


def asked_at_the_answer() -> Mutation:
    """A mark is of when the answer came, instead of when the leader was asked."""
    ended = lane.Lane.ended
    return Mutation(patches=[(lane.Lane, "ended", lambda one, topic, end, asked: ended(one, topic, end, asked + 500))])


def absent_while_open() -> Mutation:
    """What hangs in an open transaction counts as absent: ends are asked for as who reads only committed sees them."""
    ends = Broker.ends
    return Mutation(patches=[(Broker, "ends", lambda broker, places, committed: ends(broker, places, True))])


def stalled_for_ever() -> Mutation:
    """A watermark that stalls is waited for without end, whatever `max_stall` says."""
    return Mutation(patches=[(State, "evidence_mark", lambda state: state.watermark)])


def undoubted() -> Mutation:
    """No worker doubts its clock before a block."""

    async def demand(clocks: Clocks, node: int | None) -> None:
        pass

    return Mutation(patches=[(Clocks, "demand", demand)])


def forgetful() -> Mutation:
    """A lane goes on from where its ledger ends, whatever it has held of it."""

    async def restore_from_there(*args: Any) -> Any:
        blocks, fold, number, lanes, stopping, starts, *_ = args
        return await restore(blocks, fold, number, lanes, stopping, [one._replace(counts=False) for one in starts])

    return Mutation(patches=[(lane, "restore", restore_from_there)])


def careless() -> Mutation:
    """Nobody looks which topic stands behind a name: neither the lane nor whoever follows the chain."""
    return Mutation(
        patches=[(lane, "demand_same", lambda *_: None), (chain, "not_the_same", lambda *_: None)],
    )


def self_assured() -> Mutation:
    """A worker takes itself for a member of its group, however long it has heard nothing of that."""
    return Mutation(patches=[(Standing, "is_lost", lambda standing, now: False)])


def passed_over() -> Mutation:
    """A batch that cannot be read is passed over, and nothing stands for it."""

    def drop(_: Intake, fetched: Fetched) -> Fetched:
        return fetched._replace(events=[one for one in fetched.events if one.kind != EventKind.QUARANTINE])

    return with_frames(drop)


def given_up_at_once() -> Mutation:
    """A batch that comes damaged is not fetched once more."""
    return Mutation(patches=[(Suspects, "may_heal", lambda *_: False)])


def passed_at_once() -> Mutation:
    """An input counts as read to the end that its leader named before it was."""
    read_to = InputMarks.read_to
    return Mutation(patches=[(InputMarks, "read_to", lambda marks, position: read_to(marks, 10**12))])


def unmissed() -> Mutation:
    """A range that was lost is missed only where the next one comes; blocks count as progress of every input."""

    def behind(progress: LaneProgress, wanted: Any, short: Any = (), *, to_do: bool) -> float:
        return behind_as_ever(progress, wanted, to_do=to_do)

    behind_as_ever = LaneProgress.behind
    return Mutation(patches=[(LaneProgress, "behind", behind), (Intake, "handed", lambda *_: None)])


def believed_at_once() -> Mutation:
    """A checkpoint is taken for written before it is committed, and never read again."""
    draft, begin = Checkpoints.draft, Checkpoints.begin

    def mutated(checkpoints: Checkpoints, tip: ChainHead) -> Draft:
        drafted = draft(checkpoints, tip)
        checkpoints._last = drafted.checkpoint
        return drafted

    async def begin_once(checkpoints: Checkpoints) -> None:
        if checkpoints._last is None:
            await begin(checkpoints)

    return Mutation(patches=[(Checkpoints, "draft", mutated), (Checkpoints, "begin", begin_once)])


MUTATIONS: dict[str, tuple[Callable[[], Mutation], str, int]] = {
    "outputs outside the transaction": (lambda: adjudicating(OutputsFirst), "outputs|twice|fencing", 13),
    "a failed commit that is not noticed": (lambda: adjudicating(Deaf), "heights|exactly-once|failure|checkpoints", 9),
    "a ledger that is not read to its end": (lambda: adjudicating(Hasty), "heights|failure", 0),
    "a ledger that is read to where a fetch answer ends": (
        lambda: adjudicating(Believing),
        "heights|failure|claims",
        50,
    ),
    "claims that nobody checks": (unchecked, "claims", 24),
    "blocks that name another claim": (nameless, "claims", 0),
    "a mark that a fetch answer makes": (told_by_fetches, "watermark", 14),
    "a mark of later than it was asked for": (asked_at_the_answer, "watermark", 19),
    "what is in an open transaction counts as absent": (absent_while_open, "watermark", 20),
    "a stall that nothing bounds": (stalled_for_ever, "outputs|fold|progress", 4),
    "a clock that nobody doubts": (undoubted, "clock", 6),
    "a height that was held and is forgotten": (forgetful, "heights|failure", 1),
    "words that are not remembered": (
        lambda: Mutation(make_folds=lambda: (Adjudicate(), Bind(), Forgetting())),
        "outputs|fold|failure",
        28,
    ),
    "no fencing": (unfenced, "claims|checkpoints|failure", 4),
    "no fencing, and holes that nobody looks into": (blindly_unfenced, "heights|claims|checkpoints|failure", 4),
    "a gap that is taken for real at once": (
        lambda: with_frames(lambda _, f: f._replace(start=0)),
        "exactly-once|outputs",
        0,
    ),
    "positions from stale ranges": (
        lambda: with_frames(lambda intake, f: f._replace(start=0, epoch=intake.epoch)),
        "exactly-once|outputs",
        0,
    ),
    "a fold with memory beside its state": (
        lambda: Mutation(make_folds=lambda: (Remembering(), Bind(), FrameAttestations())),
        "outputs|fold|failure",
        0,
    ),
    "a snapshot of a state that has gone on": (
        lambda: Mutation(make_folds=lambda: (DumpingLate(), Bind(), FrameAttestations())),
        "failure|fold",
        17,
    ),
    "attestations that get lost": (
        lambda: Mutation(make_folds=lambda: (Adjudicate(), Bind(), Uncounting())),
        "outputs|fold",
        0,
    ),
    "a pair that is not remembered": (
        lambda: Mutation(make_folds=lambda: (Adjudicate(), Unknowing(), FrameAttestations())),
        "outputs|fold|failure",
        5,
    ),
    "citations that go to the wrong lane": (misplaced, "outputs", 13),
    "a topic that nobody looks at": (careless, "topics|sources|exactly-once|failure|progress", 1),
    "a worker that never doubts that it is a member": (self_assured, "fencing", 1),
    "a batch that is passed over": (passed_over, "exactly-once", 11),
    "a batch that is given up at once": (given_up_at_once, "exactly-once", 11),
    "a watermark that runs ahead": (passed_at_once, "watermark", 19),
    "a lost range that nobody misses": (unmissed, "progress", 11),
    "checkpoints outside the transaction": (lambda: adjudicating(CheckpointsFirst), "checkpoints|failure|fencing", 11),
    "checkpoints that are believed too soon": (believed_at_once, "checkpoints|failure|progress", 16),
}
"""Of each mistake how it is made, which invariants may find it, and a seed that did: it is tried first.

A change of the simulation may move a mistake to another seed; then the search finds it.
"""


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mistake_is_found(name: str) -> None:
    """Some run of the first few hundred does not hold, and says what."""
    make, invariants, found_by = MUTATIONS[name]

    why = next(
        (why for seed in (found_by, *range(SEEDS)) if (why := broken(seed, make()))), f"{SEEDS} seeds do not find it"
    )

    assert why.split(":")[0] in invariants.split("|"), why


def broken(seed: int, mutation: Mutation) -> str | None:
    """Which invariant does not hold in that run."""
    try:
        run(seed, mutation=mutation)
    except ViolationError as error:
        return str(error)
    return None
