"""The consumer group of the simulated workers: who is a member, and which lanes are whose.

Eager, as Faust's is: a rebalance takes every lane from every member before it gives any out. A member that is not heard
of in time is out, and learns so when it asks next: until then it is a zombie. A static member that comes back in time
gets what it had, and nobody else is disturbed. Who gets what is partly chance: lanes must bear any assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from aiokafka.errors import IllegalGenerationError, UnknownMemberIdError

from .loop import SimulatedLoop
from .network import Answer

SESSION_SECONDS = 3.0
REBALANCE_SECONDS = 3.0
LOOK_SECONDS = 0.5


class _Member:
    def __init__(self, name: str, now: float) -> None:
        self.name, self.heard_at = name, now
        self.held: frozenset[int] = frozenset()
        self.lanes: list[int] = []
        self.standbys: list[int] = []
        self.answer: Answer | None = None  # waits for its lanes


class Group:
    """The coordinator's view."""

    def __init__(self, loop: SimulatedLoop, random: Random, lanes: int) -> None:
        self._loop, self._random, self._lanes = loop, random, lanes
        self._members: dict[str, _Member] = {}
        self.demand_coordinator: Callable[[], None] = lambda: None
        """Set by the world: raises while nobody coordinates the group."""
        self.generation = 0
        self._joining_until: float | None = None
        loop.later(LOOK_SECONDS, self._look)

    @property
    def is_stable(self) -> bool:
        return self._joining_until is None and bool(self._members)

    def join(self, name: str, held: Sequence[int], is_new: bool, answer: Answer) -> None:
        """Answers with (generation, lanes, standbys) once all members have joined, or had their time for it."""
        self.demand_coordinator()
        now = self._loop.time()
        known = self._members.get(name)
        if is_new and known is not None and self._joining_until is None:
            known.heard_at = now
            answer((self.generation, known.lanes, known.standbys))
            return
        member = known or _Member(name, now)
        self._members[name] = member
        member.heard_at, member.held, member.answer = now, frozenset(held), answer
        self.rebalance()
        self._give_out()

    def heartbeat(self, name: str, generation: int) -> bool:
        """Whether the member may keep its lanes."""
        self.demand_coordinator()
        member = self._members.get(name)
        if member is None:
            return False
        member.heard_at = self._loop.time()
        return generation == self.generation and self._joining_until is None

    def check(self, name: str, generation: int) -> None:
        """That a member may commit offsets in the name of a generation.

        Raises:
            UnknownMemberIdError: the group has no such member.
            IllegalGenerationError: it has been given its lanes anew since.
        """
        if not name and generation < 0:  # as in Kafka: who names nobody is not checked
            return
        if name not in self._members:
            raise UnknownMemberIdError
        if generation != self.generation:
            raise IllegalGenerationError

    def leave(self, name: str) -> None:
        if self._members.pop(name, None) is not None:
            self.rebalance()
            self._give_out()

    def rebalance(self) -> None:
        """Takes all lanes back; every member has to join anew."""
        if self._joining_until is None:
            self._joining_until = self._loop.time() + REBALANCE_SECONDS

    def _look(self) -> None:
        now = self._loop.time()
        if self._joining_until is None:
            for name, member in list(self._members.items()):
                if now - member.heard_at > SESSION_SECONDS:
                    del self._members[name]
                    self.rebalance()
        self._give_out()
        self._loop.later(LOOK_SECONDS, self._look)

    def _give_out(self) -> None:
        late = self._joining_until is not None and self._loop.time() >= self._joining_until
        if self._joining_until is None or (not late and any(one.answer is None for one in self._members.values())):
            return
        self._members = {name: one for name, one in self._members.items() if one.answer is not None}
        self._joining_until = None
        if not self._members:
            return
        self.generation += 1
        shares = self._shares()
        for name, member in self._members.items():
            member.lanes, member.heard_at = shares[name], self._loop.time()
            member.standbys = [
                lane for lane in range(self._lanes) if lane not in shares[name] and self._random.random() < 0.5
            ]
            answer, member.answer = member.answer, None
            assert answer is not None
            answer((self.generation, member.lanes, member.standbys))

    def _shares(self) -> dict[str, list[int]]:
        """Every lane has one owner: mostly one that says it has it, or anybody."""
        shares: dict[str, list[int]] = {name: [] for name in self._members}
        for lane in range(self._lanes):
            holders = [name for name, one in self._members.items() if lane in one.held]
            stays = holders and self._random.random() < 0.7
            shares[self._random.choice(holders if stays else list(shares))].append(lane)
        return shares
