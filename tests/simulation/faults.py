"""What happens to a world while it is not calm: each method is one blow, at the moment at which it is called."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from sluice.codecs.ledger_statements import is_claim
from sluice.topology.engine.folds import folds
from sluice.topology.engine.interfaces import Fold
from sluice.topology.kafka.connect import LEDGERS

from .loop import Process, State
from .partition import Partition
from .worker import Worker
from .workload import INPUTS

if TYPE_CHECKING:
    from .simulated_run import World


HOUR = 3_600_000
"""In milliseconds."""


class Faults:
    """The blows that a plan may name (`plan.KINDS`)."""

    def __init__(self, world: World, random: Random) -> None:
        self._world, self._random = world, random

    def _some(self) -> Worker | None:
        there = [one for one in self._world.workers.values() if one.process.state is State.RUNNING]
        return self._random.choice(there) if there and not self._world.is_calm else None

    def crash(self) -> None:
        """Some worker's process dies: now, or at one of its next awaits."""
        if worker := self._some():
            worker.process.trap(self._random.randrange(1, 200), self._death(worker))

    def freeze(self) -> None:
        """Some worker gets no turn for a while, and then wakes as if nothing had been."""
        if worker := self._some():
            worker.process.trap(self._random.randrange(1, 100), self._standstill(worker))

    def strike(self) -> None:
        """A worker dies or freezes in the midst of a transaction."""
        if worker := self._some():
            strike = self._random.choice((self._death, self._standstill))(worker)
            self._await_transaction(worker, strike, self._world.loop.time() + 4.0)

    def _await_transaction(self, worker: Worker, strike: Callable[[], None], until: float) -> None:
        if self._world.is_calm or worker.process.state is not State.RUNNING or self._world.loop.time() > until:
            return
        if self._world.broker.is_settled:
            self._world.broker.watch(partial(self._await_transaction, worker, strike, until))
        else:
            worker.process.trap(self._random.randrange(1, 25), strike)

    def _death(self, worker: Worker) -> Callable[[], None]:
        wait = self._random.uniform(0.05, 6.0)

        def die() -> None:
            self._world.tell(f"{worker.process.name} dies")
            worker.process.kill()
            self._world.loop.later(wait, self._world.start, worker.process.name)

        return die

    def _standstill(self, worker: Worker) -> Callable[[], None]:
        wait = self._random.choice((0.5, 4.0, 9.0))

        def stand_still() -> None:
            self._world.tell(f"{worker.process.name} freezes for {wait} s")
            worker.process.freeze()
            self._world.loop.later(wait, worker.process.thaw)

        return stand_still

    def rebalance(self) -> None:
        if not self._world.is_calm:
            self._world.tell("the group rebalances")
            self._world.group.rebalance()

    def stop(self) -> None:
        """Some worker is told to end, does, and comes back."""
        if worker := self._some():
            self._world.tell(f"{worker.process.name} is told to end")
            worker.process.spawn(worker.stop())

            def die() -> None:
                worker.process.kill()
                self._world.start(worker.process.name)

            self._world.loop.later(self._random.uniform(3.5, 8.0), die)

    def clock(self) -> None:
        """Some worker's clock is set."""
        if worker := self._some():
            step = self._random.choice((-4000, -500, 500, 4000, 20_000))
            self._world.tell(f"the clock of {worker.process.name} steps by {step} ms")
            worker.process.offset += step

    def set_astray(self) -> None:
        """The clock of some worker's machine goes far astray, until somebody sets it right."""
        worker, wrong_by = self._some(), self._world.wrong_by
        if worker is None or worker.process.name in wrong_by:
            return
        name, step = worker.process.name, self._random.choice((-24 * HOUR, -HOUR, HOUR, HOUR, 24 * HOUR))
        self._world.tell(f"the clock of {name} goes astray by {step} ms")
        wrong_by[name] = step
        worker.process.offset += step
        self._world.loop.later(self._random.choice((0.5, 3.0, 12.0)), self._set_right, name)

    def _set_right(self, name: str) -> None:
        self._world.workers[name].process.offset -= self._world.wrong_by.pop(name)
        self._world.tell(f"the clock of {name} is right again")

    def cut(self) -> None:
        """The last blocks of a ledger are gone for a while; its lane, which has held them, has to take over anew."""
        fold, number = self._random.choice(folds()), self._random.randrange(self._world.plan.lanes)
        self._await_lane(fold, number, 2000)

    def _await_lane(self, fold: Fold, number: int, tries: int) -> None:
        """Until that lane runs, has written a few blocks, and has none in flight."""
        if self._world.is_calm or not tries:
            return
        again = partial(self._world.loop.later, 0.01, self._await_lane, fold, number, tries - 1)
        partition = self._world.broker.partition(fold.ledger, number)
        if partition.cut or not self._world.broker.is_settled:
            again()
            return
        heights = [
            one.height
            for worker in self._world.workers.values()
            if worker.process.state is State.RUNNING
            for one in worker.lanes.status
            if (one.fold, one.lane, one.phase) == (fold.name, number, "running")
        ]
        ledger = [record.offset for record, _ in partition.visible() if not is_claim(record.key)]
        if heights != [len(ledger) - 1] or len(ledger) < 3:
            again()
            return
        lacks = self._random.randrange(1, min(4, len(ledger) - 1))
        self._world.tell(f"the last {lacks} of {len(ledger)} blocks of {fold.ledger}/{number} are gone")
        self._world.broker.cut((fold.ledger, number), ledger[-lacks])
        self._world.loop.later(self._random.choice((6.0, 9.0, 14.0)), self._mend)

    def _mend(self) -> None:
        self._world.tell("all blocks are there again")
        self._world.broker.mend()

    def away(self) -> None:
        """The broker does not answer for a while."""
        if not self._world.is_calm:
            self._world.network.away = True
            self._world.tell("the broker is away")
            self._world.loop.later(self._random.choice((0.3, 2.0, 6.0)), self._be_back)

    def _be_back(self) -> None:
        self._world.network.away = False
        self._world.tell("the broker is back")

    def elect(self) -> None:
        """A partition gets another leader: for a while its fetch answers tell an older end than there is."""
        topic, number = (
            self._random.choice((*LEDGERS, *LEDGERS, *INPUTS)),
            self._random.randrange(self._world.plan.lanes),
        )
        self._elect(topic, number)

    def _elect(self, topic: str, number: int) -> None:
        partition = self._world.broker.partition(topic, number)
        if self._world.is_calm or partition.aged is not None:
            return
        partition.aged = self._random.randint(max(partition.first, partition.end - 12), partition.end)
        self._world.tell(f"{topic}/{number} has a new leader, which tells {partition.aged} of {partition.end}")
        wait = self._random.choice((0.3, 1.5, 4.0))
        partition.epoch += 1
        partition.led_from = self._world.loop.time() + wait / 3  # it leads before it knows its own end
        self._world.loop.later(wait, self._know, partition)

    def _know(self, partition: Partition) -> None:
        partition.aged = None
        self._world.broker.stir()

    def depose(self) -> None:
        """Who leads a ledger, or coordinates, is killed in the midst of a commit, or of a take-over."""
        claims, leads = self._random.random() < 0.5, self._random.random() < 0.8
        self._await_batch(claims, leads, self._world.loop.time() + 8.0)

    def _await_batch(self, claims: bool, leads: bool, until: float) -> None:
        if self._world.is_calm or self._world.loop.time() > until:
            return
        places = [place for place in self._world.broker.under_way(claims=claims) if place[0] in LEDGERS]
        if not places:
            self._world.broker.watch(partial(self._await_batch, claims, leads, until))
            return
        self._world.tell(f"in the midst of a {'take-over' if claims else 'commit'}:")
        if leads:
            self._elect(*self._random.choice(places))
        else:
            self.move_coordinators()

    def roll(self) -> None:
        """All brokers are restarted, one after the other: each leads some partitions, and coordinates."""
        for step in range(3):
            self._world.loop.later(2.5 * step, self._restart_broker)

    def _restart_broker(self) -> None:
        if self._world.is_calm:
            return
        self._world.tell("a broker is restarted")
        for topic in (*LEDGERS, *INPUTS):
            for number in range(self._world.plan.lanes):
                if self._random.random() < 0.4:
                    self._elect(topic, number)
        self.move_coordinators()

    def lose_coordinator(self) -> None:
        """Some worker hears nothing of its group's coordinator for a while, and of everybody else as ever."""
        worker = self._some()
        if worker is None or worker.process.is_cut_off:
            return
        process = worker.process
        self._world.tell(f"{process.name} hears nothing of its group any more")
        process.is_cut_off = True
        self._world.loop.later(self._random.choice((2.0, 6.0, 14.0)), self._hear_again, process)

    def _hear_again(self, process: Process) -> None:
        if process.is_cut_off:
            process.is_cut_off = False
            self._world.tell(f"{process.name} hears of its group again")

    def move_coordinators(self) -> None:
        """Somebody else coordinates groups and transactions from now on, and begins after a while."""
        if not self._world.is_calm:
            self._world.broker.coordinated_from = self._world.loop.time() + self._random.choice((0.2, 1.0, 3.5))
            self._world.tell("the coordinators move")

    def make_anew(self, topic: str) -> None:
        """Somebody deletes an input, and makes it again."""
        self._world.broker.make_anew(topic)
        self._world.tell(f"{topic} is made anew")

    def retention(self) -> None:
        """Retention deletes what is old of an input, read or not."""
        topic, number = self._random.choice(INPUTS), self._random.randrange(self._world.plan.lanes)
        partition = self._world.broker.partition(topic, number)
        if not self._world.is_calm:
            partition.delete_before(self._random.randint(partition.first, partition.end))
            self._world.tell(f"{topic}/{number} begins at {partition.first}")
