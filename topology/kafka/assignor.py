"""Assigns whole lanes to workers: evenly, with as few moves as possible, and none to a worker that is not ready.

A lane is one partition number of all its inputs, so they go to one worker together. `HandOver` says when a rebalance is
asked for, so that a lane moves to the worker that has prepared for it; it does no I/O and reads no clock.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import Any, NamedTuple, cast

import msgspec
import structlog

from ...codecs.decode import decode_json
from ...codecs.errors import Fault
from .aiokafka_inside import (
    AbstractPartitionAssignor,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

SOME_SECONDS = 15.0
"""A member that is ready for some of the lanes that it awaits waits so long for the others."""
SETTLED_SECONDS = 1.0
"""A lane counts as followed so long after its standby has come close: at the end of a long catch-up the next fetch
answer often tells of more, and a rebalance in that moment would move some of the lanes only."""
AGAIN_SECONDS, MOST_SECONDS = 5.0, 600.0
"""A member that asked in vain asks again after so long: twice as long each time, up to the second."""


class HandOver:
    """What one worker awaits, and what all of its group await, where it leads. Times are seconds of one clock.

    Args:
        within: blocks that a worker may lack of a lane that it is given; 0 where lanes move at once.
        timeout: seconds after which an awaited lane moves to a worker that is not ready.
    """

    def __init__(self, within: int, timeout: float) -> None:
        self.within, self._timeout = within, timeout
        self._awaited: AbstractSet[int] = frozenset()
        self._since, self._close_since = 0.0, dict[int, float]()
        self._not_before, self._pause = 0.0, AGAIN_SECONDS
        self._all_since: dict[int, float] = {}
        self._leads = self._has_told = False

    # ------------------------------------------------------------ as a member

    @property
    def awaited(self) -> AbstractSet[int]:
        """The lanes that this worker is to get."""
        return self._awaited

    def assigned(self, awaited: Iterable[int], now: float) -> None:
        """The group was rebalanced: this worker awaits these lanes now."""
        before, self._awaited = self._awaited, frozenset(awaited)
        if not before & self._awaited or len(self._awaited) < len(before):  # it got some, or begins anew
            self._not_before, self._pause = now, AGAIN_SECONDS
        self._since = now
        if not self._leads:
            self._all_since.clear()  # somebody else leads, and remembers
        self._leads = False

    def asks(self, behind: Mapping[int, int], now: float) -> bool:
        """Whether to ask for a rebalance now, as a member. To say so counts as having asked.

        It is called every few tenths of a second: what it is told once does not count as settled.

        Args:
            behind: by lane that this worker follows, how many blocks it lacks.
            now: seconds.
        """
        followed = self._awaited & behind.keys()
        close = {lane for lane in followed if behind[lane] <= self.within}
        once_close = close | (followed & self._close_since.keys())
        self._close_since = {lane: self._close_since.get(lane, now) for lane in once_close}
        ready = {lane for lane in close if now - self._close_since[lane] >= SETTLED_SECONDS}
        is_some = len(ready) < len(self._awaited)
        if not ready or now < self._not_before or (is_some and now - self._since < SOME_SECONDS):
            return False
        self._not_before, self._pause = now + self._pause, min(2 * self._pause, MOST_SECONDS)
        return True

    # ------------------------------------------------------------ as the leader

    def joins(self) -> None:
        """This worker joins its group anew: who leads it is not known until the lanes are shared out."""
        self._leads = False

    def leads(self, awaited: Iterable[int], now: float) -> None:
        """This worker has shared the lanes out, and these are awaited, by whomever."""
        self._all_since = {lane: self._all_since.get(lane, now) for lane in awaited}
        self._leads, self._has_told = True, False

    def overdue(self, now: float) -> frozenset[int]:
        """The lanes that are awaited for too long, as far as this worker has led that long."""
        return frozenset(lane for lane, since in self._all_since.items() if now - since >= self._timeout)

    def ends_waiting(self, now: float) -> bool:
        """Whether to ask for a rebalance now, as the leader. It is said once until the next rebalance."""
        if self._has_told or not self.overdue(now):
            return False
        self._has_told = True
        return True


# pyright: reportIncompatibleMethodOverride=false
# aiokafka declares class methods; ours need the lanes of one member.


VERSION = 0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class MemberState(msgspec.Struct, frozen=True):
    """What a member has.

    Attributes:
        lanes: those that are assigned to it.
        standby: by lane that it follows, the height up to which it has; -1 before it has anything.
        blocks: by lane that it has the whole state of, the number of blocks that this is of. None from a member of an
            older version, which is taken to have the state of all its lanes.
        behind: by lane that it follows, at most how many blocks it lacks; a lane is missing while that is unknown. None
            where it cannot follow: then nothing is gained by waiting for it.
        app_id, topic_prefix: the settings of these names.
    """

    lanes: frozenset[int] = frozenset()
    standby: dict[int, int] = {}
    blocks: dict[int, int] | None = None
    behind: dict[int, int] | None = None
    app_id: str = ""
    topic_prefix: str = ""

    @property
    def encoded(self) -> bytes:
        """As it travels."""
        found: dict[str, object] = {"lanes": sorted(self.lanes), "standby": dict(sorted(self.standby.items()))}
        for name, counts in (("blocks", self.blocks), ("behind", self.behind)):
            if counts is not None:
                found[name] = dict(sorted(counts.items()))
        found |= {name: text for name in ("app_id", "topic_prefix") if (text := getattr(self, name))}
        return msgspec.json.encode(found)

    def has_state(self, lane: int) -> bool:
        """Whether it runs the lane, restored."""
        return lane in self.lanes and (self.blocks is None or lane in self.blocks)

    def nearness(self, lane: int) -> tuple[int, int]:
        """How near it is to a lane that it does not own, as a key for sorting: nearest first."""
        if self.behind is not None and lane in self.behind:
            return 0, self.behind[lane]
        if lane in self.standby:
            return 1, -self.standby[lane]
        return 2, 0


class ToFollow(msgspec.Struct, frozen=True):
    """What a member is to follow: as `standby`, and as `awaited` those lanes that it gets once it is ready."""

    standby: list[int] = []
    awaited: list[int] = []


_claim = msgspec.json.Decoder(MemberState)
_to_follow = msgspec.json.Decoder(list[int] | ToFollow | str)


def _owners(lanes: Collection[int], claims: Mapping[str, MemberState]) -> dict[int, str]:
    """Who has each lane. Two may say so, a zombie or one that lies: it is one that has its state, the first by name."""
    return {
        lane: min(found, key=lambda name: (not claims[name].has_state(lane), name))
        for lane in lanes
        if (found := [name for name, claim in claims.items() if lane in claim.lanes])
    }


def share(lanes: Iterable[int], claims: Mapping[str, MemberState]) -> dict[str, list[int]]:
    """Says where lanes are to be in the end.

    Args:
        lanes: the numbers to share.
        claims: by member, what it says it has.

    Returns:
        By member, its lanes in order; the counts differ by one at the most.
    """
    numbers = sorted(set(lanes))
    members = sorted(claims)
    owners = _owners(numbers, claims)
    given: dict[str, list[int]] = {member: [] for member in members}
    for lane, owner in owners.items():
        given[owner].append(lane)
    least, more = divmod(len(numbers), len(members))
    receivers = [member for member in members if len(given[member]) <= least]

    def nearest(lane: int) -> tuple[int, int]:
        return min((claims[member].nearness(lane) for member in receivers), default=(2, 0))

    def awaited_least(member: str) -> tuple[int, str]:
        followed = sum(nearest(lane)[0] < 2 for lane in given[member])
        return followed - len(given[member]), member

    # Some members may have one lane above the least: those whose lanes are followed least, so that what was begun ends.
    pool = [lane for lane in numbers if lane not in owners]
    for member in sorted((member for member in members if len(given[member]) > least), key=awaited_least):
        room = least
        if more:
            room, more = least + 1, more - 1
        kept = sorted(given[member], key=lambda lane: (nearest(lane), -lane), reverse=True)[:room]
        pool += set(given[member]) - set(kept)
        given[member] = kept
    for lane in sorted(pool, key=lambda lane: (nearest(lane), lane)):
        roomy = [member for member in members if len(given[member]) < least + (1 if more else 0)]
        member = min(roomy, key=lambda name: (claims[name].nearness(lane), len(given[name]), name))
        if len(given[member]) == least:
            more -= 1
        given[member].append(lane)
    return {member: sorted(kept) for member, kept in given.items()}


class Plan(NamedTuple):
    """Who runs what until the next rebalance.

    Attributes:
        lanes: by member, the lanes that it has; each lane is in one place.
        awaited: by member, the lanes that it is to have, and follows until it is ready.
    """

    lanes: dict[str, list[int]]
    awaited: dict[str, list[int]]


def plan(
    lanes: Iterable[int], claims: Mapping[str, MemberState], within: int, overdue: Collection[int] = frozenset()
) -> Plan:
    """Says where lanes are now: where they are to be, unless that member is not ready and somebody else is.

    Args:
        lanes: the numbers to share.
        claims: by member, what it says it has.
        within: blocks that a member may lack of a lane that it is given; 0: lanes are given without a look at that.
        overdue: lanes that were awaited for too long: they go where they are to be.
    """
    shares = share(lanes, claims)
    goals = {lane: member for member, numbers in shares.items() for lane in numbers}
    owners = _owners(goals, claims)
    found = Plan({member: [] for member in sorted(claims)}, {member: [] for member in sorted(claims)})

    def is_ready(member: str, lane: int) -> bool:
        claim = claims[member]
        return claim.behind is not None and claim.behind.get(lane, within + 1) <= within

    def keepers(lane: int, goal: str) -> list[str]:
        """Who may have the lane instead of `goal`, until that is ready; nobody, if it need not wait."""
        owner, claim = owners.get(lane), claims[goal]
        if not within or owner == goal or lane in overdue or claim.behind is None or is_ready(goal, lane):
            return []
        if owner is not None and claims[owner].has_state(lane):
            is_short = (claims[owner].blocks or {}).get(lane, within + 1) <= within
            return [] if is_short else [owner]
        return [member for member in sorted(claims) if is_ready(member, lane)]

    waiting: list[tuple[int, str, list[str]]] = []
    for lane, goal in sorted(goals.items()):
        if found_keepers := keepers(lane, goal):
            waiting.append((lane, goal, found_keepers))
        else:
            found.lanes[goal].append(lane)
    for lane, goal, able in waiting:
        keeper = min(able, key=lambda name: (len(found.lanes[name]), claims[name].nearness(lane), name))
        found.lanes[keeper].append(lane)
        found.awaited[goal].append(lane)
    return Plan({member: sorted(numbers) for member, numbers in found.lanes.items()}, found.awaited)


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


def refusals(subscriptions: Mapping[str, Collection[str]], claims: Mapping[str, MemberState]) -> dict[str, str]:
    """The members that get nothing, each with the sentence that says why.

    Those stay who read the same topics for the same application as the owners of most lanes, else as most members.

    Args:
        subscriptions: by member, the topics that it reads.
        claims: by member, what it says of itself.
    """
    kinds = {name: (claims[name].app_id, claims[name].topic_prefix, *sorted(subscriptions[name])) for name in claims}
    if len(set(kinds.values())) < 2:
        return {}
    of_kind = {kind: [name for name in claims if kinds[name] == kind] for kind in sorted(set(kinds.values()))}
    held = {kind: len(set[int]().union(*(claims[name].lanes for name in names))) for kind, names in of_kind.items()}
    stays = max(of_kind, key=lambda kind: (held[kind], len(of_kind[kind])))
    return {
        name: f"the group's other members read other topics, or for another application: they have app_id {stays[0]!r} "
        f"and topic_prefix {stays[1]!r}, and this worker has app_id {kind[0]!r} and topic_prefix {kind[1]!r}"
        for name, kind in kinds.items()
        if kind != stays
    }


class LaneAssignor(AbstractPartitionAssignor):
    """The assignor of one member; what it has is asked for anew at every rebalance.

    aiokafka's own assignors are classes that are never instantiated; it takes an object with these methods as well.

    Args:
        claim: what this member has now.
        standbys: how many each lane gets, where this member leads.
        stand_by: told the lanes that this member is to follow; called from the consumer's thread.
        hand_over: keeps what is awaited, by this member and, where it leads, by all.
        clock: seconds, of `hand_over`.
        refused: told the sentence where this member gets nothing; called from the consumer's thread.
    """

    @property
    def name(self) -> str:
        return "sluice-lanes"

    def __init__(
        self,
        claim: Callable[[], MemberState],
        standbys: int = 0,
        stand_by: Callable[[list[int]], None] = lambda lanes: None,
        hand_over: HandOver | None = None,
        clock: Callable[[], float] = monotonic,
        refused: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        self._refused = refused
        self._claim, self._standbys, self._stand_by, self._clock = claim, standbys, stand_by, clock
        self._hand_over = HandOver(0, 0.0) if hand_over is None else hand_over

    def assign(self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]) -> dict[str, Any]:
        """The leader's part: an assignment for every member."""
        claims = {member: _read(metadata.user_data) for member, metadata in members.items()}
        refused = refusals({name: metadata.subscription for name, metadata in members.items()}, claims)
        for name, sentence in refused.items():
            log.error("a member is refused", member=name, reason=sentence)
        members = {name: metadata for name, metadata in members.items() if name not in refused}
        claims = {name: claims[name] for name in members}
        topics = sorted({topic for member in members.values() for topic in member.subscription})
        partitions: dict[str, set[int]] = {topic: cluster.partitions_for_topic(topic) or set() for topic in topics}
        lanes = set[int].intersection(*partitions.values()) if partitions else set[int]()  # one that has all its inputs
        now = self._clock()
        overdue = self._hand_over.overdue(now)
        shares, awaited = plan(lanes, claims, self._hand_over.within, overdue)
        waiting = sorted(lane for numbers in awaited.values() for lane in numbers)
        self._hand_over.leads(waiting, now)
        if waiting:
            log.info("lanes stay where they are until their new workers have followed them", lanes=waiting)
        if overdue:
            log.warning("lanes move although their new workers are not ready", lanes=sorted(overdue))
        standbys = share_standbys(shares, claims, self._standbys)
        nothing = {
            name: ConsumerProtocolMemberAssignment(VERSION, [], msgspec.json.encode(sentence))
            for name, sentence in refused.items()
        }
        return nothing | {
            member: ConsumerProtocolMemberAssignment(
                VERSION,
                [(topic, [lane for lane in given if lane in partitions[topic]]) for topic in topics],
                # Before there was `behind`, a member read a plain list, and followed nothing if it found another thing.
                msgspec.json.encode(
                    standbys[member] if claims[member].behind is None else ToFollow(standbys[member], awaited[member])
                ),
            )
            for member, given in shares.items()
        }

    def metadata(self, topics: Iterable[str]) -> ConsumerProtocolMemberMetadata:
        """What this member tells of itself when it joins, each time."""
        self._hand_over.joins()
        return ConsumerProtocolMemberMetadata(VERSION, sorted(topics), self._claim().encoded)

    def on_assignment(self, assignment: ConsumerProtocolMemberAssignment) -> None:
        """Takes up what this member is to follow."""
        found = decode_json(assignment.user_data or b"[]", _to_follow)
        if isinstance(found, Fault):
            found = ToFollow()
        if isinstance(found, str):
            self._refused(found)
            found = ToFollow()
        if isinstance(found, list):
            found = ToFollow(cast("list[int]", found))
        self._hand_over.assigned(found.awaited, self._clock())
        self._stand_by(sorted({*found.standby, *found.awaited}))


def _read(user_data: bytes) -> MemberState:
    state = decode_json(user_data, _claim)
    return MemberState() if isinstance(state, Fault) else state
