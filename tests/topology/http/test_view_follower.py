"""Where a view that follows the topics begins to read."""

from contextlib import closing
from typing import ClassVar

from aiokafka import TopicPartition

from sluice.topology.http.adapter_view import AdapterView, Batch
from sluice.topology.http.view_follower import _seek


class Tailed(AdapterView):
    """A view of the end of a topic, and of all of another."""

    topics = ("grounded", "admitted")
    tails: ClassVar = {"grounded": 64}


class Consumer:
    """Knows where partitions begin and end, and where it was sent."""

    def __init__(self):
        self.at = {}

    async def beginning_offsets(self, partitions):
        return dict.fromkeys(partitions, 10)

    async def end_offsets(self, partitions):
        return {one: 1000 if one.partition == 0 else 30 for one in partitions}

    def seek(self, partition, offset):
        self.at[partition.topic, partition.partition] = offset


async def test_of_a_topic_that_grows_for_ever_the_end_is_read(tmp_path):
    """A view that is made anew reads the last offsets of it, and goes on from where it was; of others it reads all."""
    places = {TopicPartition(topic, number): (topic, number) for topic in Tailed.topics for number in (0, 1)}
    fresh, again = Consumer(), Consumer()
    with closing(Tailed(tmp_path / "view", "test")) as view:
        await _seek(fresh, view, places)
        view.take({("grounded", 0): Batch([], 990)})
        await _seek(again, view, places)

    assert fresh.at == {("grounded", 0): 936, ("grounded", 1): 10, ("admitted", 0): 10, ("admitted", 1): 10}
    assert again.at["grounded", 0] == 990
