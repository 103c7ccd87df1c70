"""A topic that was deleted and made again under its name is refused by its id, until somebody adopts it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest
from msgspec.structs import astuple
from scripted_lane import World

from sluice.codecs.blocks import EventKind
from sluice.codecs.errors import DoesNotHoldError
from sluice.codecs.ledger_statements import FORMAT, Adoption, write_adoption
from sluice.topology.engine import lane as lanes
from sluice.topology.engine.policies import Applied, PolicyFeed
from sluice.topology.kafka.polling import Bounds
from sluice.topology.settings.settings import Settings

OLD, NEW, LAST = "A" * 22, "B" * 22, "C" * 22
OTHER = "observations-topic-id-"


class Feed(PolicyFeed):
    """The topic `policies`, to which a test writes."""

    def __init__(self, world: World) -> None:
        super().__init__(Settings())
        self.read_once.set()
        self._world = world

    def adopt(self, was: str, id: str, topic: str = "emissions") -> None:
        """An adoption comes."""
        adoption = Adoption(v=FORMAT, topic=topic, was=was, id=id, adopted_at="2026-11-24T09:00:00Z")
        key, value = write_adoption(adoption, "sluice", None)
        self.documents.append(Applied(len(self.documents), 7, key, value))
        self._world.lane.wake()


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that waits looks again at once."""
    monkeypatch.setattr(lanes, "AGAIN_SECONDS", 0.01)


@pytest.fixture
def world() -> World:
    """A lane over topics that have ids."""
    world = World()
    world.inputs.ids = {"emissions": OLD, "observations": OTHER}
    return world


async def runs_with(world: World, feed: Feed, values: Sequence[bytes] = (b"a", b"b")) -> None:
    """A first worker takes these in, and ends."""
    world.make(policies=feed)
    async with world.running():
        world.inputs.send("emissions", *values)
        await world.until(lambda: len(world.log.values) == len(values))


def made_anew(world: World, id: str, *values: bytes) -> None:
    """The topic `emissions` is another one now."""
    world.inputs.ids["emissions"] = id
    world.inputs.logs["emissions"] = list(values)


async def made_anew_after_the_first(world: World) -> None:
    """The lane decides one record, and then its topic is deleted and made again with two others."""
    world.inputs.send("emissions", b"a")
    await world.until(lambda: world.log.values == [b"a"])
    made_anew(world, NEW, b"x", b"y")


def emissions(world: World) -> list[tuple[int, int, str]]:
    """What the last blocks say of it: the first offset, the next one, and the id."""
    sources = [block.header.sources[0] for block in world.log.blocks]
    return [(one.first, one.next, one.id) for one in sources]


def kinds(world: World) -> list[int]:
    """Of the events of all blocks."""
    return [event.kind for block in world.log.blocks for event in block.events]


async def test_headers_name_the_ids_of_topics(world: World):
    """Beside the name, as a fourth member; the next block goes on with the same."""
    await runs_with(world, Feed(world))

    assert [astuple(one) for one in world.log.blocks[-1].header.sources] == [
        ("emissions", 0, 2, OLD),
        ("observations", 0, 0, OTHER),
    ]


async def test_a_broker_that_tells_no_ids_is_taken_as_it_is(world: World):
    """A ledger keeps the ids that it knows; where it knows none it gets none."""
    feed = Feed(world)
    await runs_with(world, feed)
    world.inputs.ids = {}
    world.make(policies=feed)
    async with world.running():
        world.inputs.send("emissions", b"c")
        await world.until(lambda: len(world.log.values) == 3)

    assert emissions(world)[-1] == (2, 3, OLD)


async def test_ids_may_come_later(world: World):
    """After the brokers were upgraded: the ledger goes on, and names them from then on."""
    feed = Feed(world)
    ids, world.inputs.ids = world.inputs.ids, {}
    await runs_with(world, feed)
    world.inputs.ids = ids
    world.make(policies=feed)
    async with world.running():
        world.inputs.send("emissions", b"c")
        await world.until(lambda: len(world.log.values) == 3)

    assert emissions(world)[-2:] == [(0, 2, ""), (2, 3, OLD)]


async def test_a_topic_made_anew_is_not_read_from_old_offsets(world: World):
    """It has more records than the lane has read: without its id nobody would notice. The lane tells, and waits."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x", b"y", b"z")
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        status = world.lane.status
        blocks = len(world.log.blocks)
        world.inputs.send("observations", b"o")

    assert status.phase == "waiting"
    assert "emissions was deleted and made again: it is not the topic that the ledger was written" in status.reason
    assert f"expected topic id {OLD}, got {NEW}" in status.reason
    assert "`sluice topics adopt emissions`" in status.reason
    assert (len(world.log.blocks), world.log.values) == (blocks, [b"a", b"b"])


async def test_a_lane_that_waits_is_not_stalled(world: World):
    """To wait for an operator is no lack of progress: nobody starts the worker again for it."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW)
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)

        assert world.lane.behind < 1


async def test_an_adopted_topic_is_read_from_its_beginning(world: World):
    """The lane takes the adoption in, with a gap where the old topic ended for it, and goes on by itself."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x", b"y", b"z")
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: len(world.log.values) == 5)
        await world.until(lambda: world.lane.status.phase == "running")
        assert not world.lane.status.reason

    assert world.log.values == [b"a", b"b", b"x", b"y", b"z"]
    assert emissions(world)[-2:] == [(2, 2, OLD), (0, 3, NEW)]
    gap, adoption = world.log.blocks[-2].events
    assert (gap.kind, gap.source, gap.offset, gap.value) == (EventKind.GAP, 0, 2, b"2")
    assert adoption.kind == EventKind.ADOPT


async def test_a_worker_that_dies_behind_the_adoption_goes_on_with_it(world: World):
    """The ledger says it: the next owner needs nothing else."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x")
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: EventKind.ADOPT in kinds(world))
        world.ledger.gate.clear()  # nothing more is committed
        world.lane.suspend()
        world.ledger.gate.set()
    del world.log.records[[EventKind.ADOPT in [e.kind for e in b.events] for b in world.log.blocks].index(True) + 1 :]
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.log.values == [b"a", b"b", b"x"])

    assert emissions(world)[-1] == (0, 1, NEW)


async def test_a_topic_made_anew_while_the_lane_runs_is_noticed(world: World):
    """What came of it and stands in no block yet is thrown away."""
    feed = Feed(world)
    world.make(policies=feed)
    async with world.running():
        await made_anew_after_the_first(world)
        world.lane.identified({"emissions": NEW, "observations": OTHER})
        world.inputs.fetch()
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: len(world.log.values) == 3)

    assert world.log.values == [b"a", b"x", b"y"]


async def test_what_is_read_before_anybody_looks_stands_under_the_old_id(world: World):
    """docs/limits.md: it is read again after the adoption, and the ledger has it twice, at one offset of two ids."""
    feed = Feed(world)
    world.make(policies=feed)
    async with world.running():
        await made_anew_after_the_first(world)
        world.inputs.fetch()
        await world.until(lambda: world.log.values == [b"a", b"y"])
        world.lane.identified({"emissions": NEW, "observations": OTHER})
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: len(world.log.values) == 4)

    assert world.log.values == [b"a", b"y", b"x", b"y"]
    read = [(one.first, one.next, one.id) for block in world.log.blocks for one in block.header.sources[:1]]
    assert [one for one in read if one[0] != one[1]] == [(0, 1, OLD), (1, 2, OLD), (0, 2, NEW)]
    (gap,) = [event for block in world.log.blocks for event in block.events if event.kind == EventKind.GAP]
    assert (gap.offset, gap.value) == (2, b"2")


async def test_a_broker_that_is_late_costs_only_a_moment(world: World):
    """Two brokers say different things for a while; once they agree, the lane reads on where it was."""
    feed = Feed(world)
    world.make(policies=feed)
    async with world.running():
        world.inputs.send("emissions", b"a")
        await world.until(lambda: world.log.values == [b"a"])
        world.inputs.ids["emissions"] = NEW
        world.lane.identified({"emissions": NEW})
        await world.until(lambda: world.lane.status.reason)
        world.inputs.ids["emissions"] = OLD
        await world.until(lambda: world.lane.status.phase == "running")
        world.inputs.send("emissions", b"b")
        await world.until(lambda: world.log.values == [b"a", b"b"])

    assert EventKind.ADOPT not in kinds(world)


async def test_what_the_brokers_do_not_tell_is_not_adopted(world: World):
    """The topic was not made anew, or once more since: whoever may adopt cannot have a lane begin again, or stop it."""
    feed = Feed(world)
    feed.adopt(OLD, NEW)
    await runs_with(world, feed)

    assert EventKind.ADOPT not in kinds(world)
    assert emissions(world)[-1] == (0, 2, OLD)


async def test_an_adoption_that_comes_again_after_the_next_new_topic_means_nothing(world: World):
    """It names both ids: it lets in the topic that it was made for, and no later one."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x")
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: len(world.log.values) == 3)
    made_anew(world, LAST, b"evil")
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        feed.adopt(OLD, LAST)
        await world.until(lambda: kinds(world).count(EventKind.ADOPT) == 3)
        assert world.lane.status.phase == "waiting"
        feed.adopt(NEW, LAST)
        await world.until(lambda: len(world.log.values) == 4)

    assert emissions(world)[-1] == (0, 1, LAST)


async def test_an_adoption_that_the_fold_refuses_stands_as_no_policy(world: World):
    """Unsigned, or with another key, where the policy lists keys: the lane goes on to wait."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x")
    world.fold.refuses_adoptions = "expected a signature"
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: len(world.log.blocks[-1].events) == 1)
        await world.until(lambda: world.log.blocks[-1].events[0].key == b"adopt:emissions")
        assert world.lane.status.phase == "waiting"

    assert world.log.blocks[-1].events[0].kind == EventKind.POLICY


async def test_two_topics_made_anew_are_adopted_one_by_one(world: World):
    """Each has an adoption of its own, and nothing is read before both are there."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x")
    world.inputs.ids["observations"] = LAST
    world.inputs.logs["observations"] = [b"o"]
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)
        feed.adopt(OLD, NEW)
        await world.until(lambda: EventKind.ADOPT in kinds(world))
        await world.until(lambda: world.lane.status.reason.startswith("ledger of lane 0: observations"))
        feed.adopt(OTHER, LAST, "observations")
        await world.until(lambda: len(world.log.values) == 4)

    assert sorted(world.log.values[2:]) == [b"o", b"x"]


async def test_a_lane_passes_over_what_is_adopted_elsewhere(world: World):
    """Every lane takes every adoption in; of a topic that it does not read it means nothing."""
    feed = Feed(world)
    feed.adopt(OLD, NEW, "attestations")
    await runs_with(world, feed)

    assert kinds(world).count(EventKind.ADOPT) == 1
    assert emissions(world)[-1] == (0, 2, OLD)


async def test_a_node_that_is_late_does_not_make_a_topic_look_cut(world: World):
    """It tells the old id, another one already where the new topic ends: the lane asks again, and tells the truth."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, OLD, b"x")
    bounds, asked = world.inputs.bounds, list[int]()

    async def late(lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        asked.append(lane)
        if len(asked) == 2:
            world.inputs.ids["emissions"] = NEW
        return await bounds(lane, topics)

    world.inputs.bounds = late
    world.make(policies=feed)
    async with world.running():
        await world.until(lambda: world.lane.status.reason)

        assert "was deleted and made again" in world.lane.status.reason


async def test_a_topic_that_was_cut_is_told_all_the_same(world: World):
    """The same topic, which ends before the position: no adoption helps."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, OLD, b"x")
    world.make(policies=feed)

    with pytest.raises(DoesNotHoldError, match="ends before the position that the ledger names"):
        await asyncio.wait_for(world.lane.run(), 60)


class Careless(lanes.Lane):
    """Forgets to look which topic it reads."""

    def _known_ids(self) -> dict[str, str]:
        return {}


async def test_a_lane_that_forgets_to_look_writes_nothing(world: World):
    """The mistake, made on purpose: the block that would name another id is refused before it is written."""
    feed = Feed(world)
    await runs_with(world, feed)
    made_anew(world, NEW, b"x", b"y", b"z")
    world.make(policies=feed)
    world.lane.__class__ = Careless
    with pytest.raises(DoesNotHoldError, match="the block names another topic emissions than the ledger goes on with"):
        await asyncio.wait_for(world.lane.run(), 60)

    assert world.log.values == [b"a", b"b"]
