"""Membership of a consumer group: how long a worker may believe that it is a member, static members, and claims.

A lane is claimed only by a current member of its group (KIP-447): the broker checks generation and member id of each
transaction that commits the group's offsets, from `TxnOffsetCommit` version 3 on.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Any, NamedTuple

from aiokafka import TopicPartition, errors
from aiokafka.errors import for_code

from ...codecs.errors import DoesNotHoldError
from .aiokafka_inside import (
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    OffsetsCommit,
    Request,
    RequestStruct,
    Response,
    Schema,
    TaggedFields,
    heartbeat_of,
    is_leaving,
    rejoin_of,
    replace_heartbeat,
    replace_offsets_commit,
    replace_rejoin,
)

NO_EPOCH = -1
_REFUSED = frozenset({22, 25, 27, 82})
"""ILLEGAL_GENERATION, UNKNOWN_MEMBER_ID, REBALANCE_IN_PROGRESS, FENCED_INSTANCE_ID."""
_GROUP_IS_NOT_THERE = frozenset({15, 16})
_TO_BE_TRIED_AGAIN = frozenset({3, 7, 14})


class Member(NamedTuple):
    """Who a worker is in its group.

    Attributes:
        group: the consumer group's name.
        member: its member id.
        generation: of the group, as of its last assignment.
        instance: the static member's name; None where it has none.
    """

    group: str
    member: str
    generation: int
    instance: str | None = None


class NotAMemberError(Exception):
    """The worker is no member of its group, or the group has replaced it: the lane may be somebody else's."""


class TxnOffsetCommitResponse_v3(Response):
    """Kafka's layout of the answer."""

    API_KEY = 28  # type: ignore[assignment]  # aiokafka declares a property, and has constants itself
    API_VERSION = 3  # type: ignore[assignment]
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                ("partitions", CompactArray(("partition", Int32), ("error_code", Int16), ("tags", TaggedFields))),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class TxnOffsetCommitRequest_v3(RequestStruct):
    """Kafka's layout of the request, which names the member that commits."""

    FLEXIBLE_VERSION = True
    API_KEY = 28
    API_VERSION = 3
    RESPONSE_TYPE = TxnOffsetCommitResponse_v3
    SCHEMA = Schema(
        ("transactional_id", CompactString("utf-8")),
        ("group_id", CompactString("utf-8")),
        ("producer_id", Int64),
        ("producer_epoch", Int16),
        ("generation_id", Int32),
        ("member_id", CompactString("utf-8")),
        ("group_instance_id", CompactString("utf-8")),
        (
            "topics",
            CompactArray(
                ("topic", CompactString("utf-8")),
                (
                    "partitions",
                    CompactArray(
                        ("partition", Int32),
                        ("offset", Int64),
                        ("leader_epoch", Int32),
                        ("metadata", CompactString("utf-8")),
                        ("tags", TaggedFields),
                    ),
                ),
                ("tags", TaggedFields),
            ),
        ),
        ("tags", TaggedFields),
    )


class TxnOffsetCommitRequest(Request[TxnOffsetCommitRequest_v3]):
    """Offsets that a transaction commits for a group, in the name of one of its members.

    Args:
        transactional_id: of the transaction's producer.
        producer: see below.
        member: of the group.
        offsets: by partition, the offset of the next record.
    """

    API_KEY = 28

    def __init__(
        self,
        transactional_id: str,
        producer: tuple[int, int],
        member: Member,
        offsets: Mapping[TopicPartition, int],
    ) -> None:
        """`producer` is its number and epoch."""
        self.transactional_id, self.producer, self.member = transactional_id, producer, member
        self.offsets = dict(offsets)

    def build(self, request_struct_class: type[TxnOffsetCommitRequest_v3]) -> TxnOffsetCommitRequest_v3:
        """The request as it goes out."""
        group, member, generation, instance = self.member
        topics = defaultdict[str, list[tuple[Any, ...]]](list)
        for (topic, number), offset in sorted(self.offsets.items()):
            topics[topic].append((number, offset, NO_EPOCH, "", {}))
        named: Sequence[tuple[Any, ...]] = [(topic, rows, {}) for topic, rows in topics.items()]
        return request_struct_class(
            self.transactional_id, group, *self.producer, generation, member, instance, named, {}
        )


class _Commit(OffsetsCommit):
    """aiokafka's own, which names the member."""

    def __init__(self, sender: Any, offsets: Any, member: Member) -> None:
        super().__init__(sender, offsets, member.group)
        self._member = member

    def create_request(self) -> Any:
        name, number, epoch = self.producer
        return TxnOffsetCommitRequest(name, (number, epoch), self._member, self.offsets)

    def handle_response(self, resp: Any) -> float | None:
        """Seconds until it is tried again; None where it is done, or refused for good."""
        for topic, rows, *_ in resp.topics:
            for number, code, *_ in rows:
                if code == 0:
                    self.stands(TopicPartition(topic, number))
                elif code in _GROUP_IS_NOT_THERE:
                    self.coordinator_is_gone()
                    return self.pause
                elif code in _TO_BE_TRIED_AGAIN:
                    return self.pause
                else:
                    error: Exception = for_code(code)()
                    if code in _REFUSED:
                        error = NotAMemberError(f"the group has replaced this member: {error}")
                    self.fail(error)
                    return None
        return None


def check_member(producer: Any, member: Member) -> None:
    """Has the group's coordinator check, in this producer's transactions that commit offsets, that the member is one.

    Args:
        producer: an `AIOKafkaProducer` that was started, with a transactional id.
        member: whose offsets they are.
    """
    replace_offsets_commit(producer, lambda sender, offsets: _Commit(sender, offsets, member))


class FencedInstanceIdError(errors.BrokerResponseError):
    """Kafka's error 82, which aiokafka would call an unknown one."""

    errno = 82
    message = "FENCED_INSTANCE_ID"
    description = "Another member has joined the group under this member's static name"


def hold_on(coordinator: Any) -> None:
    """Makes aiokafka's coordinator of a static member join with its old id first, whenever that is in doubt.

    From then on aiokafka knows Kafka's error 82 by name in this process, a worker.
    """
    by_code: Any = errors.kafka_errors
    by_code.setdefault(FencedInstanceIdError.errno, FencedInstanceIdError)
    forget, rejoin = coordinator.reset_generation, rejoin_of(coordinator)
    joining = False

    async def do_rejoin_group(subscription: Any) -> bool:
        nonlocal joining
        joining = True
        try:
            return await rejoin(subscription)
        finally:
            joining = False

    def reset_generation() -> None:
        if joining or is_leaving(coordinator):
            forget()  # the answer to a join with the old id: it is nobody's
        else:
            coordinator.request_rejoin()

    replace_rejoin(coordinator, do_rejoin_group)
    coordinator.reset_generation = reset_generation


class Standing:
    """Whether a worker may still take itself for a member of its group. Times are seconds of one monotonic clock.

    Args:
        session: seconds for which the coordinator keeps a silent member.
    """

    def __init__(self, session: float) -> None:
        self._session = session
        self._asked: float | None = None
        self.joining = False
        """Whether a rebalance is under way: lanes stand then, and the coordinator waits for its members."""
        self._is_lost = False

    def answered(self, asked: float) -> None:
        """A heartbeat that went out at `asked` was answered: we were a member then."""
        self._asked = asked if self._asked is None else max(self._asked, asked)

    def is_lost(self, now: float) -> bool:
        """Whether the coordinator may have given our lanes away by `now`.

        Never before the first answer. While the worker joins again, the answer stays what it was before.
        """
        if not self.joining:
            self._is_lost = self._asked is not None and now - self._asked >= self._session
        return self._is_lost


def keep_standing(coordinator: Any, standing: Standing) -> None:
    """Has aiokafka's coordinator report each answered heartbeat, and joins, to `standing`."""
    beat, rejoin = heartbeat_of(coordinator), rejoin_of(coordinator)

    async def do_heartbeat() -> bool:
        asked = monotonic()
        is_member = await beat()
        if is_member:
            standing.answered(asked)
        return is_member

    async def do_rejoin_group(subscription: Any) -> bool:
        standing.joining = True
        has_joined = await rejoin(subscription)
        if has_joined:  # one that failed is tried again: the lanes stand until one does not
            standing.answered(monotonic())
            standing.joining = False
        return has_joined

    replace_heartbeat(coordinator, do_heartbeat)
    replace_rejoin(coordinator, do_rejoin_group)


@contextmanager
def judged(name: str | None) -> Generator[None]:
    """What the group's coordinator has to tell inside is said in our own words where it concerns the name.

    Raises:
        DoesNotHoldError: another worker has joined under this one's name.
        KafkaError: whatever else there is.
    """
    try:
        yield
    except errors.KafkaError as error:
        if FencedInstanceIdError.__name__ not in repr(error):
            raise
        raise DoesNotHoldError(
            "another worker has joined the group under this one's name",
            path=f"instance {name}",
            expected="one worker of that name",
            hint="give each worker a name of its own with --instance or SLUICE_INSTANCE",
        ) from None
