"""The simulated broker: topics, transactions with their coordinator, and offsets of groups.

Partitions have leaders that change, each with a later epoch: for a while the new one takes no batches, its fetch
answers tell an older end than there is, and it does not say where the log ends (KIP-207). Coordinators of groups and of
transactions move too: for a while nobody answers for them.

After Kafka 4's transactions as aiokafka speaks them: taking a transactional id over raises its epoch and ends the
former owner's transaction; the end of a transaction is answered before its markers stand in the partitions, each of
which comes in its own time; a transaction that takes too long is aborted. Requests arrive through network.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import count
from random import Random
from typing import Any

from aiokafka.errors import (
    ConcurrentTransactions,
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTxnState,
    LeaderNotAvailableError,
    NotCoordinatorForGroupError,
    NotEnoughReplicasError,
    NotLeaderForPartitionError,
    OffsetOutOfRangeError,
)

from sluice.topology.kafka.requests import End, id_text

from .loop import SimulatedLoop
from .network import Answer, Network
from .partition import Partition, Read

Place = tuple[str, int]
"""A topic and a partition number."""
LOOK_SECONDS = 0.5
"""How often the broker looks for transactions that take too long."""


class Transactional:
    """What the coordinator knows of one transactional id."""

    def __init__(self, producer: int) -> None:
        self.producer, self.epoch, self.timeout = producer, -1, 0.0
        self.state = "empty"  # or ongoing, ending, committed, aborted
        self.places: dict[Place, None] = {}
        self.groups: dict[str, dict[Place, int]] = {}
        self.began = 0.0
        self.unmarked = 0


class Broker:
    """One broker, with `lanes` partitions of every topic."""

    def __init__(self, loop: SimulatedLoop, random: Random, network: Network, lanes: int) -> None:
        self._loop, self._random, self.network, self.lanes = loop, random, network, lanes
        self._partitions: dict[Place, Partition] = {}
        self._ids: dict[str, Transactional] = {}
        self._numbers = count(1000)
        self._waiting: dict[int, tuple[Callable[[], bool], Any]] = {}
        self._watching: list[Callable[[], None]] = []
        self._waiters = count()
        self.check_member: Callable[[str, int], None] = lambda member, generation: None
        """Set by the group: raises for one that it has replaced."""
        self.offsets: dict[tuple[str, Place], int] = {}
        """What groups have committed."""
        self.retired: dict[Place, list[tuple[str, Partition]]] = {}
        """Partitions of topics that were deleted and made again, with the ids that these had, the oldest first."""
        self.openings: list[tuple[float, str, float]] = []
        """When which process began to take a lane over, and when it had last heard of its group."""
        self._remade: dict[str, float] = {}
        self.coordinated_from = 0.0
        """From then on somebody answers for groups and transactional ids again."""
        loop.later(LOOK_SECONDS, self._look)

    def partition(self, topic: str, number: int) -> Partition:
        """The partition as the broker has it."""
        found = self._partitions.get((topic, number))
        if found is None:
            found = self._partitions[topic, number] = Partition()
        return found

    def id_of(self, topic: str, late: float = 0.0) -> str:
        """The topic's id, as a node knows it that hears of a new topic so many seconds late."""
        times = len(self.retired.get((topic, 0), ()))
        if times and self._loop.time() - self._remade[topic] < late:
            times -= 1
        return id_text(sha256(f"{topic} {times}".encode()).digest()[:16])

    def make_anew(self, topic: str) -> None:
        """Deletes a topic, and makes it again: it is empty, and another one."""
        id = self.id_of(topic)
        for number in range(self.lanes):
            self.retired.setdefault((topic, number), []).append((id, self.partition(topic, number)))
            del self._partitions[topic, number]
        self._remade[topic] = self._loop.time()
        self.stir()

    @property
    def remade(self) -> frozenset[str]:
        """The topics that were deleted and made again."""
        return frozenset(self._remade)

    @property
    def is_settled(self) -> bool:
        """Whether no transaction is under way."""
        return all(one.state not in ("ongoing", "ending") for one in self._ids.values())

    def under_way(self, *, claims: bool) -> list[Place]:
        """Where records of open transactions stand; `claims`: of those that claim a lane."""
        names = (name for name, one in self._ids.items() if one.state == "ongoing" and (one.groups or not claims))
        return [
            place
            for name in names
            for place in self._ids[name].places
            if self.partition(*place).is_open(self._ids[name].producer)
        ]

    def cut(self, place: Place, offset: int) -> None:
        """Nobody gets to read what a partition has from that offset on, until `mend`.

        Who wrote there last learns that it is fenced.
        """
        partition = self.partition(*place)
        partition.cut = range(offset, partition.end)
        for one in self._ids.values():
            if place in one.places:
                one.epoch += 1

    def mend(self) -> None:
        """All that was cut is there again."""
        for partition in self._partitions.values():
            partition.cut = range(0)

    # ------------------------------------------------------------ transactions

    def take_over(self, name: str, timeout: float) -> tuple[int, int]:
        """InitProducerId: the producer's number and its epoch.

        Raises:
            ConcurrentTransactions: the former owner's transaction has to end first; ask again.
        """
        self.demand_coordinator()
        one = self._ids.get(name)
        if one is None:
            one = self._ids[name] = Transactional(next(self._numbers))
        self._refuse_at_times(ConcurrentTransactions)
        if one.state == "ongoing":
            one.epoch += 1
            self._end(one, commit=False)
        if one.state == "ending":
            raise ConcurrentTransactions
        one.epoch, one.timeout, one.state = one.epoch + 1, timeout, "empty"
        return one.producer, one.epoch

    def add(self, name: str, producer: int, epoch: int, places: Iterable[Place]) -> None:
        """AddPartitionsToTxn: these belong to the transaction from now on."""
        one = self._owned(name, producer, epoch)
        self._refuse_at_times(ConcurrentTransactions)
        self._begin(one)
        one.places.update(dict.fromkeys(places))

    def add_group(self, name: str, producer: int, epoch: int, group: str) -> None:
        """AddOffsetsToTxn: a group's offsets belong to the transaction too."""
        one = self._owned(name, producer, epoch)
        self._refuse_at_times(ConcurrentTransactions)
        self._begin(one)
        one.groups.setdefault(group, {})

    def commit_offsets(
        self,
        name: str,
        producer: int,
        epoch: int,
        group: str,
        member: tuple[str, int],
        offsets: Mapping[Place, int],
    ) -> None:
        """TxnOffsetCommit: what the group's offsets are once the transaction is committed.

        `member` is an id and a generation: the group refuses whom it has replaced.
        """
        self.demand_coordinator()
        self.check_member(*member)
        one = self._owned(name, producer, epoch)
        if one.state != "ongoing" or group not in one.groups:
            raise InvalidTxnState
        one.groups[group].update(offsets)

    def produce(self, name: str, topic: str, number: int, data: bytes) -> tuple[int, int]:
        """A batch for one partition: its offset, and the broker's time for it."""
        self._refuse_at_times(NotEnoughReplicasError)
        place, one, now = (topic, number), self._ids[name], self._loop.now_ms()
        partition = self.partition(topic, number)
        if self._loop.time() < partition.led_from:
            raise NotLeaderForPartitionError
        epoch = int.from_bytes(data[51:53], "big")
        if not partition.is_open(one.producer):  # a transaction's first batch is checked with the coordinator
            if epoch != one.epoch:
                raise InvalidProducerEpoch
            if one.state != "ongoing" or place not in one.places:
                raise InvalidTxnState
        offset = partition.produce(data, now)
        self.stir()
        return offset, now

    def end(self, name: str, producer: int, epoch: int, commit: bool) -> None:
        """EndTxn: answered once it is decided; the markers come later."""
        one = self._owned(name, producer, epoch)
        self._refuse_at_times(ConcurrentTransactions)
        if one.state == ("committed" if commit else "aborted"):
            return
        if one.state != "ongoing":
            raise InvalidTxnState
        self._end(one, commit)

    def demand_coordinator(self) -> None:
        """That somebody answers for groups and transactional ids.

        Raises:
            NotCoordinatorForGroupError: the coordinator has moved, and the new one has not begun.
        """
        if self._loop.time() < self.coordinated_from:
            raise NotCoordinatorForGroupError

    def _owned(self, name: str, producer: int, epoch: int) -> Transactional:
        self.demand_coordinator()
        one = self._ids.get(name)
        if one is None or one.producer != producer:
            raise InvalidProducerIdMapping
        if one.epoch != epoch:
            raise InvalidProducerEpoch
        if one.state == "ending":
            raise ConcurrentTransactions
        return one

    def _begin(self, one: Transactional) -> None:
        if one.state != "ongoing":
            one.state, one.began = "ongoing", self._loop.time()
            one.places, one.groups = {}, {}
            self._tell_watchers()

    def _end(self, one: Transactional, commit: bool) -> None:
        one.state, one.unmarked = "ending", len(one.places) + len(one.groups)
        marks: list[Callable[[], None]] = [
            lambda place=place, epoch=one.epoch: self.partition(*place).mark(
                one.producer, epoch, commit, self._loop.now_ms()
            )
            for place in one.places
        ]
        for group, offsets in one.groups.items():
            reported = {(group, place): offset for place, offset in offsets.items()} if commit else {}
            marks.append(lambda reported=reported: self.offsets.update(reported))
        for mark in marks:
            slow = self.network.happens(self.network.weather.slow)
            self._loop.later(self._random.uniform(0.0005, 1.0 if slow else 0.006), self._mark, one, mark, commit)

    def _mark(self, one: Transactional, mark: Callable[[], None], commit: bool) -> None:
        mark()
        one.unmarked -= 1
        if not one.unmarked:
            one.state = "committed" if commit else "aborted"
        self.stir()

    def _look(self) -> None:
        for one in self._ids.values():
            if one.state == "ongoing" and self._loop.time() - one.began > one.timeout:
                one.epoch += 1
                self._end(one, commit=False)
        self._loop.later(LOOK_SECONDS, self._look)

    def _refuse_at_times(self, error: type[Exception]) -> None:
        if self.network.happens(self.network.weather.refused):
            raise error

    # ------------------------------------------------------------ reading

    def fetch(self, starts: Mapping[Place, int], most: int, wait: float, committed: bool, answer: Answer) -> None:
        """Answers with a `Read` (or an error) for each place: at once where there is something, else after a while."""

        def read() -> dict[Place, Read | OffsetOutOfRangeError]:
            return {place: self._read(place, start, most, committed) for place, start in starts.items()}

        def look() -> bool:
            for place, start in starts.items():
                partition = self.partition(*place)
                if not partition.first <= start <= partition.end or partition.brings(start, committed):
                    answer(read())
                    return True
            return False

        def give_up() -> None:
            del self._waiting[number]
            answer(read())

        if not look():
            number = next(self._waiters)
            self._waiting[number] = look, self._loop.later(wait, give_up)

    def stir(self) -> None:
        """Something has changed: who waits for records looks again."""
        for number, (look, timer) in list(self._waiting.items()):
            if look():
                timer.cancel()
                del self._waiting[number]
        self._tell_watchers()

    def watch(self, look: Callable[[], None]) -> None:
        """Calls that once something has changed."""
        self._watching.append(look)

    def _tell_watchers(self) -> None:
        watching, self._watching = self._watching, []
        for look in watching:
            look()

    def _read(self, place: Place, start: int, most: int, committed: bool) -> Read | OffsetOutOfRangeError:
        partition = self.partition(*place)
        if not partition.first <= start <= partition.end:
            return OffsetOutOfRangeError()
        return partition.read(start, most, committed)

    def bounds(self, places: Sequence[Place]) -> dict[Place, tuple[int, int]]:
        """The first offset and the end of each partition: not the last stable one."""
        self._demand_known(places)
        return {place: (self.partition(*place).first, self.partition(*place).end) for place in places}

    def ends(self, places: Sequence[Place], committed: bool) -> dict[Place, End]:
        """`ListOffsets`: the last stable offset of each partition, or its end, and its leader's epoch.

        Raises:
            LeaderNotAvailableError: a new leader does not know its own high watermark yet (KIP-207).
        """
        self._demand_known(places)
        found = {place: self.partition(*place) for place in places}
        return {place: End(one.stable if committed else one.end, one.epoch) for place, one in found.items()}

    def _demand_known(self, places: Sequence[Place]) -> None:
        if any(self.partition(*place).aged is not None for place in places):
            raise LeaderNotAvailableError

    def committed(self, group: str, place: Place) -> int | None:
        """What a group has committed for a partition."""
        return self.offsets.get((group, place))


def handled(do: Callable[..., Any], *args: Any) -> Callable[[Answer], None]:
    """A request that is answered at once."""
    return lambda answer: answer(do(*args))
