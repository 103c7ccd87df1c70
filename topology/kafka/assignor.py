"""Which worker runs which lane: whole lanes, evenly, and as few moves as can be.

A lane is one partition number of all its inputs, so they go to one worker together (round robin over all partitions
would tear them apart). Every member tells which lanes it has, and which it stands by for and how far that has come. One
that has a lane keeps it, since its state is there, as long as no member would have to do with two lanes fewer than
another; a lane that is free goes to its standby where that has room. Standbys are shared out beside the lanes and
travel as the assignment's user data. Deterministic: every member's answer would be the same.
"""

# pyright: reportIncompatibleMethodOverride=false
# aiokafka declares class methods; ours need the lanes of one member.

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from .aiokafka_inside import (
    AbstractPartitionAssignor,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

VERSION = 0


class MemberState(msgspec.Struct, frozen=True):
    """What a member has: its lanes, and by lane how high the ledger is that it has followed as standby."""

    lanes: frozenset[int] = frozenset()
    standby: dict[int, int] = {}

    @property
    def encoded(self) -> bytes:
        """As it travels."""
        return msgspec.json.encode({"lanes": sorted(self.lanes), "standby": dict(sorted(self.standby.items()))})


_claim = msgspec.json.Decoder(MemberState)
_lanes = msgspec.json.Decoder(list[int])


def share(lanes: Iterable[int], claims: Mapping[str, MemberState]) -> dict[str, list[int]]:
    """Shares lanes out among members.

    Args:
        lanes: the numbers to share.
        claims: by member, what it says it has. Two may claim the same: a zombie, or one that comes back.

    Returns:
        By member, its lanes in order; the counts differ by one at the most.
    """
    members = sorted(claims)
    free = set(lanes)
    given: dict[str, list[int]] = {member: [] for member in members}
    least, more = divmod(len(free), len(members))
    # Who has most comes first: those `more` members that may have one lane above the least keep it.
    for member in sorted(members, key=lambda name: (-len(claims[name].lanes & free), name)):
        room = least + (1 if more else 0)
        kept = sorted(claims[member].lanes & free)[:room]
        if len(kept) > least:
            more -= 1
        given[member] = kept
        free -= set(kept)
    for lane in sorted(free):
        roomy = [member for member in members if len(given[member]) < least + (1 if more else 0)]
        # The standby that has come furthest, then whoever has least.
        member = min(roomy, key=lambda name: (-claims[name].standby.get(lane, -1), len(given[name]), name))
        if len(given[member]) == least:
            more -= 1
        given[member].append(lane)
    return {member: sorted(numbers) for member, numbers in given.items()}


def share_standbys(
    shares: Mapping[str, list[int]], claims: Mapping[str, MemberState], count: int
) -> dict[str, list[int]]:
    """Gives every lane up to `count` standbys beside its owner, evenly; who stands by already goes on where it can."""
    members = sorted(shares)
    given: dict[str, list[int]] = {member: [] for member in members}
    lanes = sorted((lane, owner) for owner, numbers in shares.items() for lane in numbers)
    fair = -(-len(lanes) * count // len(members))
    for lane, owner in lanes:
        others = [member for member in members if member != owner]
        others.sort(
            key=lambda name: (len(given[name]) >= fair, lane not in claims[name].standby, len(given[name]), name)
        )
        for member in others[:count]:
            given[member].append(lane)
    return given


class LaneAssignor(AbstractPartitionAssignor):
    """The assignor of one member; what it has is asked for anew at every rebalance.

    aiokafka's own assignors are classes that are never instantiated; it takes an object with these methods as well.

    Args:
        claim: what this member has now.
        standbys: how many each lane gets, where this member leads.
        stand_by: told the lanes that this member is to stand by for; called from the consumer's thread.
    """

    @property
    def name(self) -> str:
        return "sluice-lanes"

    def __init__(
        self,
        claim: Callable[[], MemberState],
        standbys: int = 0,
        stand_by: Callable[[list[int]], None] = lambda lanes: None,
    ) -> None:
        self._claim, self._standbys, self._stand_by = claim, standbys, stand_by

    def assign(self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]) -> dict[str, Any]:
        """The leader's part: an assignment for every member. All members read the same topics."""
        topics = sorted({topic for member in members.values() for topic in member.subscription})
        partitions = {topic: cluster.partitions_for_topic(topic) or set() for topic in topics}
        lanes = set().union(*partitions.values()) if partitions else set()
        claims = {member: _read(metadata.user_data) for member, metadata in members.items()}
        shares = share(lanes, claims)
        standbys = share_standbys(shares, claims, self._standbys)
        return {
            member: ConsumerProtocolMemberAssignment(
                VERSION,
                [(topic, [lane for lane in given if lane in partitions[topic]]) for topic in topics],
                msgspec.json.encode(standbys[member]),
            )
            for member, given in shares.items()
        }

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What this member tells of itself when it joins."""
        return ConsumerProtocolMemberMetadata(VERSION, sorted(topics), self._claim().encoded)

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Takes up what this member is to stand by for."""
        try:
            lanes = _lanes.decode(assignment.user_data or b"[]")
        except msgspec.MsgspecError:
            lanes = []
        self._stand_by(lanes)


def _read(user_data: bytes) -> MemberState:
    try:
        return _claim.decode(user_data)
    except msgspec.MsgspecError:
        return MemberState()
