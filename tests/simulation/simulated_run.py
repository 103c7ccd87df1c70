"""One run: a seed, a world, its faults, and what must be true of its logs when it has come to rest.

The seed chooses everything: how many workers and lanes there are, what producers send, what goes wrong and when. Then
the faults stop, the world runs until all inputs are read, and the invariants are checked on the logs alone.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from msgspec.structs import replace

from sluice.codecs.ledger_statements import FORMAT, Adoption, adopted_in, write_adoption
from sluice.codecs.notes import origin
from sluice.streams.policy.policy import Policy
from sluice.topology.engine.chain import ids_of
from sluice.topology.engine.clocks import ClockFence, WrongClockError
from sluice.topology.engine.folds import Adjudicate, Bind, FrameAttestations, folds
from sluice.topology.engine.interfaces import Fold
from sluice.topology.engine.policies import Applied, PolicyFeed
from sluice.topology.settings.settings import Settings

from . import invariants
from .broker import Broker
from .clients import substitutes
from .economy import cheaply, signer
from .faults import Faults
from .group import Group
from .invariants import ViolationError
from .loop import OWNER, LivelockError, Process, SimulatedLoop, State, inhabited
from .network import CALM, Network
from .partition import Fate, Record, Unreadable
from .plan import (
    SIBLINGS,
    astray_of,
    cuts_of,
    elections_of,
    hangs_of,
    kills_of,
    last_lost_of,
    moves_of,
    plan_of,
    poisons_of,
    remakes_of,
    silences_of,
)
from .shelf import Shelves
from .worker import MakeLedger, Worker, make_ledger
from .workload import INPUTS, Sending, Workload, policy_of

Tell = Callable[[str], None]
EPOCH = 1_800_000_000_000
SIGNERS = [signer(f"sluice/{name}", bytes([place]) * 32) for place, name in enumerate("ab")]
REST_SECONDS = 240.0
"""Once nothing goes wrong any more, all inputs are read within that time, or the world is stuck."""
GO_ON_SECONDS = 1.5
ADOPT_SECONDS = 2.5
QUIET_SECONDS = 12.0
"""Nobody sends to a topic that was just made anew: who was frozen may not have looked yet (docs/limits.md)."""
DAMAGES = 0.03
"""The chance that a batch is damaged on its way, in worlds in which there are such that cannot be read at all."""
MAX_SKEW, SLOW = 300_000, 10_000
"""How far a worker's clock may be off where there is a fence, and how much of that the slowest commit may hide, ms."""
_WORSE = "not restored from here"
_WRONG = (
    "not of this ledger",
    "folding the block",
    "chain of blocks",
    "no such block",
    "go back",
    "another lane",
    "checkpoint",
)
"""A lane that passes a snapshot or a standby over heals by itself. That those were wrong is a failure all the same."""


class Mutation(NamedTuple):
    """Parts of the product to be replaced: how a test proves that the invariants can fail."""

    make_ledger: MakeLedger = make_ledger
    make_folds: Callable[[], Sequence[Fold]] = lambda: (Adjudicate(), Bind(), FrameAttestations())
    patches: Sequence[tuple[Any, str, Any]] = ()  # (module or class, name, what stands there meanwhile)


class World:
    """Everything of one run."""

    def __init__(self, seed: int, *, tell: Tell | None = None, mutation: Mutation | None = None) -> None:
        self._random = random = Random(seed)
        self.loop = SimulatedLoop(random, EPOCH, self.tell)
        self._tell = tell
        self.plan = plan = plan_of(random)
        self._elections, self._remakes = elections_of(seed, plan), remakes_of(seed, plan)
        self._moves, self._astray, self._cuts = moves_of(seed, plan), astray_of(seed, plan), cuts_of(seed, plan)
        self._hangs, self._last_lost = hangs_of(seed, plan), last_lost_of(seed, plan)
        self._poisons = poisons_of(seed, plan)
        self._silences, self._kills = silences_of(seed, plan), kills_of(seed, plan)
        self.wrong_by: dict[str, int] = {}
        """By machine, how far its clock is astray, ms."""
        self._mutation = mutation or Mutation()
        self.network = Network(self.loop, random, self.tell)
        self.network.weather = plan.weather
        self.broker = Broker(self.loop, random, self.network, plan.lanes)
        self.group = Group(self.loop, random, plan.lanes)
        self.broker.check_member = self.group.check
        self.group.demand_coordinator = self.broker.demand_coordinator
        # They differ in what adjudication does.
        self._policy, self._other = (self._patient(policy_of(random)).document for _ in range(2))
        self._shelves = Shelves(random, plan.lanes, Adjudicate().version, shared=plan.shared_folder)
        self._signers = SIGNERS
        self.settings = Settings(
            partitions=plan.lanes,
            transaction_timeout=4.0,
            session_timeout=3.0,
            checkpoint_interval=plan.checkpoints_every or 0.0,
        )
        self._feed = PolicyFeed(self.settings)
        self.workers: dict[str, Worker] = {}
        self._failures: list[str] = []
        self.is_calm = self._is_ending = self._is_over = False

    def _patient(self, policy: Policy) -> Policy:
        """A policy under which lanes wait longer than any cut lasts."""
        if not self._cuts:
            return policy
        return replace(policy, admissibility=replace(policy.admissibility, max_stall=60_000))

    def run(self) -> None:
        """Runs the world to its end.

        Raises:
            ViolationError: an invariant does not hold.
        """
        self.tell(f"{self.plan}")
        stands_for = [*substitutes(self.broker), *self._shelves.substitutes(), *self._mutation.patches]
        with inhabited(self.loop, self.tell, stands_for):
            try:
                self.loop.run_until_complete(self._live())
            except LivelockError as error:
                raise ViolationError(f"progress: {error}") from error
            finally:
                self._is_over = True
                self.loop.dispose()
        if self._failures:
            raise ViolationError(f"failure: {self._failures[0]}")
        invariants.check(
            self.broker,
            origins={
                fold.ledger: [origin(fold.ledger, fold.ledger, lane) for lane in range(self.plan.lanes)]
                for fold in folds()
            },
            verifiers=[signer.verifier for signer in self._signers],
            true_clocks=self.plan.true_clocks and not self._astray,
            max_ahead=MAX_SKEW + SLOW if self._astray else None,
        )

    def tell(self, text: str) -> None:
        """A line of the trace; what a lane did not expect is a failure of the run."""
        if self._is_over:
            return
        if (
            text.startswith("exception: ")
            or ("waits for blocks" in text and not self._cuts)
            or (_WORSE in text and any(reason in text for reason in _WRONG))
        ):
            self._failures.append(text)
        if self._tell is not None:
            process = OWNER.get()
            self._tell(f"{self.loop.time():9.4f} {process.name if process else '-':4} {text}")

    # ------------------------------------------------------------ the course of a run

    async def _live(self) -> None:
        plan, random, faults = self.plan, self._random, Faults(self, self._random)
        for number in range(plan.workers):
            self.loop.later(random.choice((0.0, random.uniform(0, 3))), self.start, f"w{number}")
        sendings = [*Workload(random, EPOCH, plan.lanes, plan.seconds, plan.emissions).sendings]
        sendings += [*self._hangs, *(self._poisons or ())]
        for sending in sendings:
            self.loop.later(sending.seconds, self._send, sending)
        faulty = (self._elections, self._moves, self._astray, self._cuts, self._silences, self._kills)
        for at, kind in [*plan.faults, *(one for some in faulty for one in some)]:
            self.loop.later(at, getattr(faults, kind))
        for at, topic in self._remakes:
            self.loop.later(at, faults.make_anew, topic)
        self._feed.read_once.set()
        operator = asyncio.create_task(self._adopt())
        await asyncio.sleep(plan.seconds + 4)
        self._become_calm()
        last = max(one.seconds + (one.ends[0] if one.ends else 0.0) for one in sendings)
        last = max([last, *(self._opens(topic) + 3.0 for topic in self.broker.remade)])
        await asyncio.sleep(max(0.0, last + 0.1 - self.loop.time()))
        self._send_last()
        others = asyncio.create_task(self._go_on())
        await self._come_to_rest()
        operator.cancel()
        others.cancel()
        await asyncio.sleep(random.choice((0.0, 0.0, 12.0)))
        await self._end()

    def _become_calm(self) -> None:
        self.tell("nothing goes wrong any more")
        self.is_calm, self.network.weather, self.network.away = True, CALM, False
        for number in range(self.plan.workers):
            worker = self.workers.get(f"w{number}")
            if worker is None or worker.process.state is State.DEAD:
                self.start(f"w{number}")
            else:
                worker.process.is_cut_off = False
                worker.process.disarm()
                worker.process.thaw()

    def _send_last(self) -> None:
        """A lane notices a lost range by the next one, or else because it does not come."""
        if self._random.random() < 0.7:
            for topic in INPUTS:
                for number in range(self.plan.lanes):
                    self._send(Sending(0, topic, number, [(None, b"the last", [])], None))
        if (topic := self._last_lost) is not None:
            self.network.last_lost = {(topic, number): number % 2 == 0 for number in range(self.plan.lanes)}
            for number in range(self.plan.lanes):
                self._send(Sending(0, topic, number, [(None, b"the very last", [])], None))

    async def _go_on(self) -> None:
        """Where the last range of an input got lost, its lane still has another one to read, and writes blocks."""
        while self._last_lost is not None:
            await asyncio.sleep(GO_ON_SECONDS)
            for number in range(self.plan.lanes):
                self._send(Sending(0, SIBLINGS[self._last_lost], number, [(None, b"and on", [])], None))

    async def _come_to_rest(self) -> None:
        """Waits until every input is read, and no transaction is under way."""
        end = self.loop.time() + REST_SECONDS
        # Lanes write what others read: only what is read and settled at one moment is the end of it.
        while (unread := self._unread(self._ends())) or not self.broker.is_settled:
            if self._failures:
                return
            if self.loop.time() > end:
                raise ViolationError(f"progress: {REST_SECONDS} s of calm, and unread is {unread}")
            await asyncio.sleep(0.3)

    async def _adopt(self) -> None:
        """An operator has lanes go on with topics that were made anew, and says so again where a lane did not."""
        while True:
            await asyncio.sleep(ADOPT_SECONDS)
            for topic, was in sorted({(topic, id) for topic, _, id in self._unadopted()}):
                adoption = Adoption(v=FORMAT, topic=topic, was=was, id=self.broker.id_of(topic), adopted_at="now")
                key, value = write_adoption(adoption, self.settings.origin, None)
                self._feed.documents.append(Applied(len(self._feed.documents), self.loop.now_ms(), key, value))

    def _unadopted(self) -> list[tuple[str, int, str]]:
        """The topics that were made anew, the lanes whose ledgers go on with an older one, and its id."""
        found: list[tuple[str, int, str]] = []
        for fold in folds():
            for topic in self.broker.remade.intersection(fold.inputs):
                for number in range(self.plan.lanes):
                    chain = invariants.blocks_of(self.broker.partition(fold.ledger, number))
                    id = adopted_in(chain[-1]).get(topic) or ids_of(chain[-1].header).get(topic) if chain else None
                    if id is not None and id != self.broker.id_of(topic):
                        found.append((topic, number, id))
        return found

    def _opens(self, topic: str) -> float:
        """From when on producers send to a topic that was made anew: by then every worker has looked."""
        return max(at for at, remade in self._remakes if remade == topic) + QUIET_SECONDS

    def _ends(self) -> dict[tuple[str, int], int]:
        """Where each input has to be read to; out of reach while a transaction is open on it."""
        ends: dict[tuple[str, int], int] = {}
        for topic in INPUTS:
            for number in range(self.plan.lanes):
                partition = self.broker.partition(topic, number)
                last = max((record.offset for record, _ in partition.visible()), default=-1)
                ends[topic, number] = last + 1 if partition.stable == partition.end else 1 << 60
        return ends

    def _unread(self, wanted: dict[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        if unadopted := self._unadopted():
            return {(topic, number): -1 for topic, number, _ in unadopted}
        reported = dict.fromkeys(wanted, -1)
        for worker in self.workers.values():
            for place, offset in worker.lanes.positions().items():
                reported[place] = max(reported.get(place, -1), offset)
        return {place: reported[place] for place, offset in wanted.items() if reported[place] < offset}

    async def _end(self) -> None:
        """In order, or as by a power cut."""
        in_order = self._random.random() < 0.5
        self._is_ending = True
        self.tell("the workers end" if in_order else "the workers are killed")
        for worker in self.workers.values():
            if in_order:
                worker.process.spawn(worker.stop())
            else:
                worker.process.kill()
        await asyncio.sleep(7.0)  # what was open is aborted by then, or has timed out
        for worker in self.workers.values():
            worker.process.kill()

    # ------------------------------------------------------------ what happens

    def start(self, name: str) -> None:
        """A worker, unless one of that name is there."""
        worker = self.workers.get(name)
        if self._is_ending or (worker is not None and worker.process.state is not State.DEAD):
            return
        random, plan = self._random, self.plan
        offset = 0 if plan.true_clocks else random.choice((0, 40, -900, 3000, -5000))
        process = Process(name, self.loop, offset + self.wrong_by.get(name, 0))
        self.broker.mend()  # a new process has held nothing
        self.tell(f"{name} starts")

        def fatal(error: BaseException) -> None:
            if isinstance(error, WrongClockError):
                self.tell(f"a worker ends: {error}")
                process.kill()
                self.loop.later(1.0, self.start, name)
            else:
                self.tell(f"exception: a lane gave up: {error!r}")

        self.workers[name] = Worker(
            process,
            self.loop,
            self.broker,
            self.group,
            random,
            settings=self.settings,
            folds=self._mutation.make_folds(),
            policy=random.choice((self._policy, self._policy, self._other)),
            feed=self._feed,
            make_ledger=self._mutation.make_ledger,
            shelves=self._shelves,
            snapshots_every=plan.snapshots_every,
            signer=None if plan.checkpoints_every is None else random.choice(self._signers),
            on_fatal=fatal,
            is_static=plan.static,
            fence=ClockFence(MAX_SKEW) if self._astray else None,
            damages=0.0 if self._poisons is None else DAMAGES,
        )

    def _send(self, sending: Sending) -> None:
        if sending.topic in self.broker.remade and self.loop.time() < (opens := self._opens(sending.topic)):
            self.loop.later(opens - self.loop.time() + 0.001, self._send, sending)
            return
        partition = self.broker.partition(sending.topic, sending.number)
        now = self.loop.now_ms()
        if sending.unreadable is None:
            records = [Record(0, now, key, value, headers) for key, value, headers in sending.records]
        else:
            records = [Unreadable(now, len(sending.records), sending.unreadable, sending.records[0][1])]
        batch = partition.append(records, now, Fate.OPEN if sending.ends else Fate.COMMITTED)
        if sending.ends:
            wait, commit = sending.ends
            producer = -batch.base - 1
            partition.hold(producer, batch)

            def end() -> None:
                partition.mark(producer, 0, commit, self.loop.now_ms())
                self.broker.stir()

            self.loop.later(wait, end)
        self.broker.stir()


def run(seed: int, *, tell: Tell | None = None, mutation: Mutation | None = None) -> World:
    """One run, with the cyclic collector off: what it collects, and when, would not be the seed's.

    Args:
        seed: chooses everything.
        tell: takes the trace, line by line.
        mutation: replaces parts of the product.

    Raises:
        ViolationError: an invariant does not hold.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        with cheaply():
            world = World(seed, tell=tell, mutation=mutation)
            world.run()
    finally:
        if enabled:
            gc.enable()
    return world
