"""What emitters and readers ask of a broker, as little as a fake can give, and the errors that callers get.

Each error is one sentence, with the parts that callers need.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

from ...codecs.errors import DoesNotHoldError, Fault, UnreachableError, UsageError
from ..kafka.input_records import Prepared
from .admitted_set import AdmittedRead

_PATH = re.compile(r"(\$[^\s:]*): (.*)", re.DOTALL)


class InvalidRecordError(DoesNotHoldError):
    """A record is refused before it is sent: the lanes would only make a dead letter of it.

    Attributes:
        topic: the logical name of the topic that it was for.
        reason: as a dead letter would have it (`schema`, `span-out-of-range`, `oversize`, …).
        detail: the whole sentence, which names the path.
        path: JSONPath of what is wrong, such as `$.assertions[0].span`; empty where the whole record is.
    """

    def __init__(self, topic: str, fault: Fault) -> None:
        matched = _PATH.fullmatch(fault.detail)
        path, what = (matched[1], matched[2]) if matched else ("", fault.detail)
        self.topic, self.reason, self.detail = topic, fault.reason, fault.detail
        super().__init__(f"{what} ({fault.reason}, {topic})", path=path)


class BufferFullError(UnreachableError):
    """The buffer stayed full for as long as the caller was willing to wait: the record was not taken."""


class ClosedError(UsageError):
    """It was closed, or has not been opened yet: emitters, readers and auditors are context managers."""

    def __init__(self, what: str) -> None:
        super().__init__(f"the {what} is not open", hint="use it inside of its `with` block")


class RefusedError(UnreachableError):
    """The broker answered, and refuses this record: its rights, its size, or there is no such topic. Others may go."""


Clock = Callable[[], int]
"""The present in Unix milliseconds."""


class StoredAt(NamedTuple):
    """Where the broker stored a record. `timestamp` is Unix milliseconds."""

    partition: int
    offset: int
    timestamp: int


class Delivered(NamedTuple):
    """The broker has stored a record: on all replicas that must have it.

    Attributes:
        topic: by its logical name.
        value: the bytes as they were sent. Sent again, they are a duplicate, which changes nothing.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes
    value: bytes


class Outlet(Protocol):
    """Where an emitter sends to. Used from one event loop."""

    async def open(self) -> None: ...

    async def send(self, record: Prepared) -> asyncio.Future[StoredAt]:
        """Takes a record, waiting for room; the future is done once it is stored.

        Raises:
            UsageError: the broker has no such topic. This record alone is lost, as where the future has RefusedError.
            RefusedError: the broker refuses this record.
        """
        ...

    async def close(self) -> None: ...


class Goal(Protocol):
    """The end of the topic as of one moment."""

    @property
    def ends(self) -> Mapping[int, int]:
        """By partition, as far as they are known."""
        ...

    async def reached(self) -> bool:
        """Whether all that was committed then has been fetched."""
        ...


class Source(Protocol):
    """Where a reader reads from: a topic of outputs from its beginning, read_committed. Used from one event loop."""

    async def open(self) -> Sequence[int]:
        """Begins; returns the partitions."""
        ...

    async def fetch(self, seconds: float) -> Sequence[AdmittedRead]:
        """What has come, in order within each partition; waits so long at the most if nothing has."""
        ...

    async def at(self, partition: int) -> int:
        """The offset of the next word that `fetch` can return, or of what the broker keeps to itself there."""
        ...

    def goal(self) -> Goal: ...

    async def first_offsets(self) -> Mapping[int, int]:
        """The first offset that is kept, by partition."""
        ...

    async def seek(self, offsets: Mapping[int, int]) -> None:
        """Goes on from these offsets, by partition, or from the first one behind them that is kept.

        Raises:
            DoesNotHoldError: a partition ends before its offset: the topic is another one.
        """
        ...

    async def committed(self) -> Position | None:
        """What the group has committed; None without a group, or where it has committed nothing."""
        ...

    async def commit(self, position: Position) -> None: ...

    async def close(self) -> None: ...


def demand_there(offsets: Mapping[int, int], ends: Mapping[int, int], topic: str) -> None:
    """That a topic does not end before these offsets.

    Raises:
        DoesNotHoldError: it does: it is not the one that they are of.
    """
    for partition, offset in offsets.items():
        if ends.get(partition, 0) < offset:
            raise DoesNotHoldError(
                "the topic ends before this position: it was made anew, or is another one",
                path=f"{topic}/{partition}/{offset}",
                hint="begin without a position",
            )


class Position(msgspec.Struct, frozen=True):
    """How far a reader has handed out changes: to be stored with what was made of them, and given back.

    Attributes:
        offsets: by partition, the offset behind the last word that was handed out.
        told_until: the ends of validities before this instant were told by the clock, Unix milliseconds.
    """

    offsets: dict[int, int] = {}
    told_until: int = 0

    def encode(self) -> str:
        """As text of JSON, which `decode` reads."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def decode(cls, text: str | bytes) -> Position:
        """The position that `encode` wrote.

        Raises:
            UsageError: it is none.
        """
        try:
            return msgspec.json.decode(text, type=cls)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise UsageError(
                f"this is no position of a reader: {error}", hint="give back what `encode` wrote"
            ) from None
