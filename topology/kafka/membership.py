"""Membership of a consumer group: how long a worker may believe that it is a member, and static members.

*Standing.* The coordinator gives a member's lanes to other members once it has heard nothing from the member for a
session timeout. So a worker whose heartbeats have not been answered for that long must assume that it has lost its
lanes, and stops them by itself (`Standing`). The time counts from when the last answered heartbeat was sent. The
coordinator received that heartbeat then or later, so the worker stops its lanes before they are given away.

*Names.* A worker with a name is a static member (KIP-345): it keeps its lanes over a restart, and no two workers share
a name. aiokafka sends the name when it joins, and does not leave the group when it ends. So a worker that restarts
under the same name within the session timeout gets its lanes back, and the group is not rebalanced.

But aiokafka sends the name in no heartbeat. Where a second worker has joined under the same name, the first worker is
only told that its member id is unknown. It forgets the id, joins again and takes the name back; then the second worker
does the same, and so on for ever. Therefore a named member keeps its id here and joins with it. The broker then says
either that no member has the id any more (the worker may join anew), or that another worker has the name (this worker
ends).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from aiokafka import errors

from ...codecs.errors import DoesNotHoldError
from .aiokafka_inside import heartbeat_of, is_leaving, rejoin_of, replace_heartbeat, replace_rejoin


class FencedInstanceIdError(errors.BrokerResponseError):
    """Kafka's error 82, which aiokafka would call an unknown one."""

    errno = 82
    message = "FENCED_INSTANCE_ID"
    description = "Another member has joined the group under this member's static name"


_BY_CODE: Any = errors.kafka_errors
_BY_CODE.setdefault(FencedInstanceIdError.errno, FencedInstanceIdError)


def hold_on(coordinator: Any) -> None:
    """Makes aiokafka's coordinator of a static member join with its old id first, whenever that is in doubt."""
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
def judged(name: str | None) -> Iterator[None]:
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
