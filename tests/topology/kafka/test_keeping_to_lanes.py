"""Our producers write where lanes read: to as many partitions as the ledgers have, whatever their topic has."""

from __future__ import annotations

from typing import Any

import pytest

from sluice.codecs.partition import PARTITIONERS
from sluice.topology.kafka import connect
from sluice.topology.kafka.connect import INPUTS, LanePartitioner, keep_to_lanes, partitioner
from sluice.topology.kafka.requests import TopicNow
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.settings.settings import Settings

KEYS = [f"em-{number}".encode() for number in range(200)]


class Producer:
    """A client with a partitioner; a broker answers it in turn."""

    def __init__(self, settings: Settings, *answers: dict[str, int]) -> None:
        self._partitioner = partitioner(settings)
        self.answers = list(answers)

    @property
    def lanes(self) -> int | None:
        return self._partitioner.lanes


@pytest.fixture(autouse=True)
def broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers from the client's list."""

    async def topics_now(client: Any, topics: list[str]) -> dict[str, TopicNow]:
        return {name: TopicNow(count) for name, count in client.answers.pop(0).items() if name in topics}

    monkeypatch.setattr(connect, "topics_now", topics_now)


def test_the_inputs_are_those_that_are_declared():
    """The list that producers keep to names each input once."""
    assert [spec.name for spec in TOPICS.values() if spec.role == "input"] == list(INPUTS)


@pytest.mark.parametrize("name", ["murmur2", "crc32"])
def test_keys_go_where_the_ledger_puts_them(name: Any):
    """Also where the topic has more partitions, or its first ones have no leader now."""
    chooser = partitioner(Settings(partitioner=name))
    chooser.lanes = 4
    for count, available in ((4, [0, 1, 2, 3]), (6, [0, 1, 2, 3, 4, 5]), (6, [4, 5])):
        places = [chooser(key, list(range(count)), available) for key in KEYS]
        assert places == [PARTITIONERS[name](key, 4) for key in KEYS]


@pytest.mark.parametrize(
    ("answers", "lanes"),
    [
        ([{"t.ledger": 4, "t.bind-ledger": 4, "t.emissions": 6}], [4]),
        ([{"t.ledger": 6, "t.bind-ledger": 4, "t.emissions": 6}], [4]),
        ([{"t.emissions": 6, "t.observations": 4}], [4]),
        ([{"t.ledger": 0, "t.emissions": 3}], [3]),
        ([{}, {"t.emissions": 0}, {"t.ledger": 8}, {"t.ledger": 2}], [None, None, 8, 8]),
        ([{"ledger": 4}], [None]),
    ],
    ids=["an input grew", "a ledger grew", "no ledger is shown", "no ledger yet", "it stays", "another's topics"],
)
async def test_the_number_is_the_ledgers(answers: list[dict[str, int]], lanes: list[int | None]):
    """Of the ledgers' counts the least; without any that may be seen, the least of the inputs'."""
    settings = Settings(topic_prefix="t.")
    producer, said = Producer(settings, *answers), list[int | None]()
    for _ in answers:
        await keep_to_lanes(producer, settings)
        said.append(producer.lanes)

    assert said == lanes


async def test_other_clients_stay_as_they_are():
    """A consumer has nothing that chooses partitions, and a stranger's partitioner is not asked."""
    for client in (object(), Producer(Settings())):
        if isinstance(client, Producer):
            client._partitioner = lambda *_: 0  # type: ignore[assignment]
        await keep_to_lanes(client, Settings())


def test_a_topic_with_fewer_partitions_is_used_as_it_is():
    """A producer must not name a partition that is not there."""
    chooser = LanePartitioner(lambda key, every, available: len(every))
    chooser.lanes = 4

    assert chooser(b"k", [0], [0]) == 1
