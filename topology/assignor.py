"""Which worker runs which lane: whole lanes, evenly, and as few moves as can be (architecture.md, «Fail-over»).

A lane is one partition number of all its inputs, so they go to one worker together (round robin over all partitions
would tear them apart). Every member tells which lanes it has; one that has a lane keeps it, since its state is there,
as long as no member would have to do with two lanes fewer than another. Deterministic: every member's answer would be
the same.
"""

# pyright: reportIncompatibleMethodOverride=false
# aiokafka declares class methods; ours need the lanes of one member.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata

VERSION = 0


def share(lanes: Iterable[int], held: Mapping[str, frozenset[int]]) -> dict[str, list[int]]:
    """Shares lanes out among members.

    Args:
        lanes: the numbers to share.
        held: by member, the lanes that it says it has. Two may claim the same: a zombie, or one that comes back.

    Returns:
        By member, its lanes in order; the counts differ by one at the most.
    """
    members = sorted(held)
    free = set(lanes)
    given: dict[str, list[int]] = {member: [] for member in members}
    least, more = divmod(len(free), len(members))
    # Who has most comes first: those `more` members that may have one lane above the least keep it.
    for member in sorted(members, key=lambda name: (-len(held[name] & free), name)):
        room = least + (1 if more else 0)
        kept = sorted(held[member] & free)[:room]
        if len(kept) > least:
            more -= 1
        given[member] = kept
        free -= set(kept)
    for lane in sorted(free):
        member = min(members, key=lambda name: (len(given[name]), name))
        given[member].append(lane)
    return {member: sorted(numbers) for member, numbers in given.items()}


class LaneAssignor(AbstractPartitionAssignor):
    """The assignor of one member; what it has is asked for anew at every rebalance.

    aiokafka's own assignors are classes that are never instantiated; it takes an object with these methods as well.
    """

    @property
    def name(self) -> str:
        return "sluice-lanes"

    def __init__(self, held: Callable[[], Iterable[int]]) -> None:
        self._held = held

    def assign(self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]) -> dict[str, Any]:
        """The leader's part: an assignment for every member. All members read the same topics."""
        topics = sorted({topic for member in members.values() for topic in member.subscription})
        partitions = {topic: cluster.partitions_for_topic(topic) or set() for topic in topics}
        lanes = set().union(*partitions.values()) if partitions else set()
        shares = share(lanes, {member: _claim(metadata.user_data) for member, metadata in members.items()})
        return {
            member: ConsumerProtocolMemberAssignment(
                VERSION, [(topic, [lane for lane in given if lane in partitions[topic]]) for topic in topics], b""
            )
            for member, given in shares.items()
        }

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What this member tells of itself when it joins."""
        return ConsumerProtocolMemberMetadata(VERSION, sorted(topics), msgspec.json.encode(sorted(self._held())))

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Nothing to remember: the lanes know themselves."""


def _claim(user_data: bytes) -> frozenset[int]:
    try:
        return frozenset(msgspec.json.decode(user_data, type=list[int]))
    except msgspec.MsgspecError:
        return frozenset()
