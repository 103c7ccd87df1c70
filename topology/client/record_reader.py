"""What every reader of a topic of typed records does: fetch, hand out in order, and keep a position.

Records are handed out as they come, one at a time. A subclass says what a record is (`_value`) and which of those that
were fetched are handed out (`_take`). `AsyncAdmittedReader` is no such reader: it hands out changes of a set, some of
which no record tells.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Final, Generic, Protocol, Self, TypedDict, TypeVar, Unpack

import structlog

from ...codecs.errors import UnreachableError, UsageError
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .admitted_set import AdmittedRead
from .errors import ClosedError
from .kafka import KafkaSource, settings_for
from .ports import Clock, Position, Source

_LONGEST_FETCH: Final = 1.0
_COMMIT_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Placed(Protocol):
    """Something that stands on a topic."""

    @property
    def partition(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def emission_id(self) -> str: ...


T = TypeVar("T", bound=Placed)


class Reading(TypedDict, total=False):
    """How a topic is read: the arguments of `AsyncRecordReader` behind the settings, with their defaults."""

    bootstrap: str | None
    from_position: Position | None
    group: str | None
    partitions: Sequence[int] | None
    follow: bool
    wants: Callable[[str], bool] | None
    source: Source | None
    clock: Clock


class AsyncRecordReader(ABC, Generic[T]):
    """The records of one topic, in the order of their lanes. Use it as an async context manager, and iterate. One task
    uses it.

    Args:
        settings: the broker and prefix.
        bootstrap: a broker's address instead; all else is as the environment and `sluice.toml` have it.
        from_position: where an earlier reader stood: its `position`.
        group: keeps positions on the broker, under this name. What was handed out is committed when the next record is
            asked for (once a second), on `commit`, and on leaving without an error. It shares no work: two readers of
            one group both get every record.
        partitions: only these; all where none are named.
        follow: False: iterating ends where committed records ended when it began.
        wants: whether an emission id is the caller's; all are where it is left out.
        source: where it reads instead of a broker.
        clock: the present in Unix milliseconds.

    Raises:
        UnreachableError: no broker answers on entering.
        DoesNotHoldError: on entering, where the topic ends before the position.
    """

    topic: str
    """Which is read, by its logical name."""

    def __init__(self, settings: Settings | None = None, **reading: Unpack[Reading]) -> None:
        self._from, self._group = reading.get("from_position"), reading.get("group")
        if self._from is not None and self._group is not None:
            raise UsageError("takes a position or a group, not both", path="reader")
        source, partitions = reading.get("source"), reading.get("partitions")
        if source is None:
            source = KafkaSource(settings_for(settings, reading.get("bootstrap")), self._group, partitions, self.topic)
        self._source, self._clock = source, reading.get("clock", now_ms)
        self._follow, self._wants = reading.get("follow", True), reading.get("wants")
        self._ready: deque[T] = deque()
        self._offsets: dict[int, int] = {}
        self._opened = False
        self._committed, self._committed_at = Position(), 0.0
        self.unreadable = self.unwanted = 0
        """How many records were left out: none that this version knows; of emissions that `wants` does not want."""

    @abstractmethod
    def _value(self, read: AdmittedRead) -> T | None:
        """What a record says; None where it is none that this version knows."""

    def _note(self, value: T) -> None:
        """Called for each record that is wanted, as it is fetched."""

    def _take(self) -> T | None:
        """The next of what was fetched that is handed out."""
        return self._ready.popleft() if self._ready else None

    @property
    def position(self) -> Position:
        """How far records were handed out; what was made of them should be stored together with it."""
        offsets = dict(self._offsets)
        for one in self._ready:  # fetched, or set aside
            offsets[one.partition] = min(offsets[one.partition], one.offset)
        return Position(offsets)

    # ------------------------------------------------------------ records

    def __aiter__(self) -> AsyncIterator[T]:
        return self._all() if self._follow else self._to_end()

    async def _all(self) -> AsyncIterator[T]:
        while True:
            found = await self.next()
            assert found is not None
            yield found

    async def _to_end(self) -> AsyncIterator[T]:
        self._demand_open()
        goal, ended = self._source.goal(), False
        while True:
            while (found := self._take()) is not None:
                yield found
                await self._commit_if_due()
            if ended:
                return
            ended = await goal.reached()
            self._put(await self._source.fetch(0.0 if ended else 0.1))

    async def next(self, seconds: float | None = None) -> T | None:
        """The next record; None where there is none for so many seconds."""
        self._demand_open()
        await self._commit_if_due()
        end = None if seconds is None else time.monotonic() + seconds
        while (found := self._take()) is None:
            left = _LONGEST_FETCH if end is None else min(_LONGEST_FETCH, end - time.monotonic())
            fetched = await self._source.fetch(max(0.0, left))
            self._put(fetched)
            if not fetched and end is not None and time.monotonic() >= end:
                return None
        return found

    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        for read in fetched:
            self._offsets[read.partition] = read.offset + 1
            value = self._value(read)
            if value is None:
                self.unreadable += 1
            elif self._wants is not None and not self._wants(value.emission_id):
                self.unwanted += 1
            else:
                self._note(value)
                self._ready.append(value)

    # ------------------------------------------------------------ positions

    async def commit(self) -> None:
        """Keeps the position on the broker, in the group's name.

        Raises:
            UsageError: the reader has no group.
        """
        self._demand_open()
        position = self.position
        await self._source.commit(position)
        self._committed, self._committed_at = position, time.monotonic()

    async def _commit_if_due(self) -> None:
        """Who asks for the next request has done with those before."""
        if self._group is None or time.monotonic() - self._committed_at < _COMMIT_SECONDS:
            return
        try:
            if self.position != self._committed:
                await self.commit()
        except UnreachableError as error:  # what was handed out comes again
            self._committed_at = time.monotonic() + _RETRY_SECONDS
            log.warning("the position could not be committed", group=self._group, error=str(error))

    # ------------------------------------------------------------ open and close

    async def __aenter__(self) -> Self:
        try:
            partitions = await self._source.open()
            position = self._from if self._from is not None else await self._source.committed()
            if position is not None:
                known = {one: position.offsets[one] for one in partitions if position.offsets.get(one)}
                await self._source.seek(known)
                self._offsets = known
        except BaseException:
            await self._source.close()
            raise
        self._opened, self._committed = True, self.position
        self._committed_at = time.monotonic()
        return self

    def _demand_open(self) -> None:
        if not self._opened:
            raise ClosedError("reader")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close(commit=error is None)

    async def close(self) -> None:
        """Commits, in a group, what was handed out, and closes; a second call does nothing."""
        await self._close(commit=True)

    async def _close(self, *, commit: bool) -> None:
        if not self._opened:
            return
        try:
            if commit and self._group is not None and self.position != self._committed:
                await self.commit()
        finally:
            self._opened = False
            await self._source.close()
