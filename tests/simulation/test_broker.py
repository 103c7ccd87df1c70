"""The simulated broker does what Kafka does: to transactions, to their producers, to who reads, and to requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from random import Random

import pytest
from aiokafka.errors import (
    ConcurrentTransactions,
    DuplicateSequenceNumber,
    InvalidProducerEpoch,
    InvalidTxnState,
    KafkaError,
    NodeNotReadyError,
    OutOfOrderSequenceNumber,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from .broker import Broker, handled
from .loop import SimulatedLoop
from .network import CALM, Network, Weather
from .partition import Fate, Partition, Record, Unreadable

EPOCH = 1_800_000_000_000


@pytest.fixture
def simulated() -> Iterator[SimulatedLoop]:
    """A loop of its own, at the beginning of time."""
    loop = SimulatedLoop(Random(1), EPOCH)
    yield loop
    loop.dispose()


@pytest.fixture
def broker(simulated: SimulatedLoop) -> Broker:
    """Two lanes, and a network on which nothing goes wrong."""
    return Broker(simulated, Random(2), Network(simulated, Random(3)), lanes=2)


def records(*values: bytes) -> list[Record]:
    return [Record(0, EPOCH, None, value) for value in values]


def batch(producer: int, epoch: int, number: int, *values: bytes) -> bytes:
    """A transactional batch as aiokafka sends it; `number` is its first record's."""
    builder = DefaultRecordBatchBuilder(
        2, 0, is_transactional=1, producer_id=producer, producer_epoch=epoch, base_sequence=number, batch_size=10_000
    )
    for place, value in enumerate(values):
        builder.append(place, None, key=None, value=value, headers=[])
    return bytes(builder.build())


def seen(partition: Partition) -> list[bytes | None]:
    """What a reader of what is committed sees."""
    return [record.value for record in partition.read(0, 100).records]


class TestPartition:
    def test_aborted_records_are_hidden(self):
        """They take offsets, as their marker does, and nobody gets them."""
        partition = Partition()
        partition.produce(batch(7, 0, 0, b"a", b"b"), EPOCH)
        partition.mark(7, 0, False, EPOCH)
        partition.append(records(b"c"), EPOCH)

        read = partition.read(0, 100)

        assert [(record.offset, record.value) for record in read.records] == [(3, b"c")]
        assert (read.next, read.end, read.stable) == (4, 4, 4)

    def test_what_cannot_be_read_takes_its_offsets(self):
        """As many as the batch has records, and none of these is to be had."""
        partition = Partition()
        partition.append([Unreadable(EPOCH, 3, "checksum", b"raw")], EPOCH)
        partition.append(records(b"after"), EPOCH)

        read = partition.read(0, 100)

        assert [(record.offset, record.next, record.value) for record in read.records] == [
            (0, 3, b"raw"),
            (3, 4, b"after"),
        ]

    def test_an_open_transaction_hides_what_follows(self):
        """Committed or not, until its marker stands."""
        partition = Partition()
        partition.append(records(b"before"), EPOCH)
        partition.produce(batch(7, 0, 0, b"open"), EPOCH + 1)
        partition.append(records(b"after"), EPOCH + 2)
        assert seen(partition) == [b"before"]
        assert (partition.stable, partition.end) == (1, 3)

        partition.mark(7, 0, True, EPOCH + 5)

        assert seen(partition) == [b"before", b"open", b"after"]
        assert [came - EPOCH for _, came in partition.visible()] == [0, 1, 2]

    def test_what_is_cut_is_gone_until_it_is_mended(self, simulated: SimulatedLoop, broker: Broker):
        """Readers pass over it, what comes meanwhile stands behind it, and who wrote it last is fenced."""
        partition = broker.partition("ledger", 0)
        partition.append(records(b"kept"), EPOCH)
        producer, epoch = broker.take_over("lane-0", 4.0)
        broker.add("lane-0", producer, epoch, [("ledger", 0)])
        broker.produce("lane-0", "ledger", 0, batch(producer, epoch, 0, b"cut"))
        broker.end("lane-0", producer, epoch, True)
        simulated.run_until_complete(asyncio.sleep(1))

        broker.cut(("ledger", 0), 1)
        partition.append(records(b"later"), EPOCH)

        assert seen(partition) == [b"kept", b"later"]
        with pytest.raises(InvalidProducerEpoch):
            broker.add("lane-0", producer, epoch, [("ledger", 0)])
        broker.mend()
        assert seen(partition) == [b"kept", b"cut", b"later"]

    def test_a_batch_that_is_sent_twice_stands_once(self):
        """Its second answer is the first one."""
        partition = Partition()
        first = partition.produce(batch(7, 0, 0, b"a"), EPOCH)

        assert partition.produce(batch(7, 0, 0, b"a"), EPOCH) == first
        assert partition.end == 1

    def test_batches_follow_upon_one_another(self):
        """One that skips numbers is refused, and one whose answer is forgotten too."""
        partition = Partition()
        for number in range(7):
            partition.produce(batch(7, 0, number, b"a"), EPOCH)

        with pytest.raises(OutOfOrderSequenceNumber):
            partition.produce(batch(7, 0, 9, b"a"), EPOCH)
        with pytest.raises(DuplicateSequenceNumber):
            partition.produce(batch(7, 0, 0, b"a"), EPOCH)

    def test_retention_takes_what_is_old(self):
        """Whole batches, and nothing that is not stable."""
        partition = Partition()
        partition.append(records(b"a", b"b"), EPOCH)
        partition.append(records(b"c"), EPOCH)
        partition.delete_before(1)
        assert partition.first == 0

        partition.delete_before(3)

        assert partition.first == 3


class TestTransactions:
    def begin(self, broker: Broker, name: str = "lane") -> tuple[int, int]:
        producer, epoch = broker.take_over(name, 4.0)
        broker.add(name, producer, epoch, [("ledger", 0)])
        return producer, epoch

    def test_who_takes_over_ends_what_was_open(self, simulated: SimulatedLoop, broker: Broker):
        """It has to wait for that, and the former owner is refused from then on."""
        producer, epoch = self.begin(broker)
        broker.produce("lane", "ledger", 0, batch(producer, epoch, 0, b"a"))

        with pytest.raises(ConcurrentTransactions):
            broker.take_over("lane", 4.0)
        simulated.run_until_complete(asyncio.sleep(0.1))
        _, newer = broker.take_over("lane", 4.0)

        assert newer > epoch
        assert broker.partition("ledger", 0).batches[0].fate is Fate.ABORTED
        with pytest.raises(InvalidProducerEpoch):
            broker.produce("lane", "ledger", 0, batch(producer, epoch, 1, b"b"))
        with pytest.raises(InvalidProducerEpoch):
            broker.end("lane", producer, epoch, commit=True)

    def test_a_decided_transaction_shows_when_its_markers_stand(self, simulated: SimulatedLoop, broker: Broker):
        """It is answered before, and another one has to wait."""
        producer, epoch = self.begin(broker)
        broker.produce("lane", "ledger", 0, batch(producer, epoch, 0, b"a"))
        broker.end("lane", producer, epoch, commit=True)
        assert seen(broker.partition("ledger", 0)) == []
        with pytest.raises(ConcurrentTransactions):
            broker.add("lane", producer, epoch, [("ledger", 0)])

        simulated.run_until_complete(asyncio.sleep(0.1))

        assert seen(broker.partition("ledger", 0)) == [b"a"]
        broker.end("lane", producer, epoch, commit=True)  # asked again, since its answer may have been lost
        with pytest.raises(InvalidTxnState):
            broker.end("lane", producer, epoch, commit=False)

    def test_a_transaction_that_takes_too_long_is_aborted(self, simulated: SimulatedLoop, broker: Broker):
        """And its producer is fenced."""
        producer, epoch = self.begin(broker)
        broker.produce("lane", "ledger", 0, batch(producer, epoch, 0, b"a"))

        simulated.run_until_complete(asyncio.sleep(6.0))

        assert broker.partition("ledger", 0).batches[0].fate is Fate.ABORTED
        with pytest.raises(InvalidProducerEpoch):
            broker.end("lane", producer, epoch, commit=True)

    def test_a_group_s_offsets_are_part_of_it(self, simulated: SimulatedLoop, broker: Broker):
        """They count from its commit on, and never after an abort."""
        place = ("attestations", 0)
        for offset, commit, why in ((3, True, 3), (9, False, 3)):
            producer, epoch = self.begin(broker)
            broker.add_group("lane", producer, epoch, "frame")
            broker.commit_offsets("lane", producer, epoch, "frame", ("w0", 1), {place: offset})
            broker.end("lane", producer, epoch, commit)
            simulated.run_until_complete(asyncio.sleep(0.1))

            assert broker.committed("frame", place) == why

    def test_only_partitions_of_the_transaction_take_its_batches(self, broker: Broker):
        """Any other refuses them."""
        producer, epoch = self.begin(broker)

        with pytest.raises(InvalidTxnState):
            broker.produce("lane", "admitted", 0, batch(producer, epoch, 0, b"a"))


class TestNetwork:
    def ask(self, simulated: SimulatedLoop, broker: Broker, weather: Weather) -> tuple[list[int], str]:
        """How often a request took effect, and what its sender heard."""
        effects: list[int] = []
        broker.network.weather = weather

        async def ask() -> str:
            try:
                return str(await broker.network.ask(handled(lambda: effects.append(1) or "done")))
            except KafkaError as error:
                return type(error).__name__
            finally:
                broker.network.weather = CALM
                await asyncio.sleep(4.0)

        heard = simulated.run_until_complete(ask())
        return effects, heard

    def test_requests_fail_before_and_after_their_effect(self, simulated: SimulatedLoop, broker: Broker):
        """Its sender cannot tell which."""
        assert self.ask(simulated, broker, CALM) == ([1], "done")
        assert self.ask(simulated, broker, Weather(lost=1.0)) == ([], "KafkaConnectionError")
        assert self.ask(simulated, broker, Weather(unheard=1.0)) == ([1], "KafkaConnectionError")
        assert self.ask(simulated, broker, Weather(late=1.0)) == ([1], "RequestTimedOutError")

    def test_a_broker_that_is_away_hears_nothing(self, simulated: SimulatedLoop, broker: Broker):
        """Until it is back."""
        broker.network.away = True

        with pytest.raises(NodeNotReadyError):
            simulated.run_until_complete(broker.network.ask(handled(lambda: 1)))

        broker.network.away = False
        assert simulated.run_until_complete(broker.network.ask(handled(lambda: 1))) == 1
