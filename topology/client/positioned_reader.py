"""What every reader of a topic does: fetch, hand out one at a time, keep a position, open and close.

A subclass says what of a fetch is kept (`_put`), what is handed out next (`_take`), and how it goes on from a position
(`_resume`).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Sequence
from types import TracebackType
from typing import Generic, Self, TypedDict, TypeVar

import structlog

from ...codecs.errors import UnreachableError, UsageError
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .admitted_set import AdmittedRead
from .errors import ClosedError
from .kafka import KafkaSource, settings_for
from .ports import Clock, Position, Source

LONGEST_FETCH = 1.0
COMMIT_SECONDS = 1.0
RETRY_SECONDS = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

T = TypeVar("T")


class Reading(TypedDict, total=False):
    """How a topic is read: the arguments of every reader behind the settings."""

    bootstrap: str | None
    from_position: Position | None
    group: str | None
    partitions: Sequence[int] | None
    follow: bool
    source: Source | None
    clock: Clock


class PositionedReader(ABC, Generic[T]):
    """What `AsyncAdmittedReader` and `AsyncRecordReader` have in common; those explain the arguments.

    Attributes:
        topic: which is read, by its logical name.
    """

    topic: str

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        bootstrap: str | None = None,
        from_position: Position | None = None,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        follow: bool = True,
        source: Source | None = None,
        clock: Clock = now_ms,
    ) -> None:
        if from_position is not None and group is not None:
            raise UsageError("takes a position or a group, not both", path="reader")
        if source is None:
            source = KafkaSource(settings_for(settings, bootstrap), group, partitions, self.topic)
        self._source, self._clock, self._follow, self._group = source, clock, follow, group
        self._from = from_position
        self._offsets: dict[int, int] = {}
        self._opened = False
        self._committed, self._committed_at = Position(), 0.0

    @property
    @abstractmethod
    def position(self) -> Position:
        """How far was handed out; what was made of it should be stored together with it."""

    @property
    @abstractmethod
    def unreadable(self) -> int:
        """How many records were none that this version knows."""

    @abstractmethod
    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        """Keeps what was fetched."""

    @abstractmethod
    def _take(self) -> T | None:
        """The next that is handed out of what was fetched."""

    @abstractmethod
    async def _resume(self, position: Position, partitions: Sequence[int]) -> None:
        """Goes on from a position."""

    def _longest_fetch(self) -> float:
        """Seconds that one fetch may wait."""
        return LONGEST_FETCH

    # ------------------------------------------------------------ what is handed out

    def __aiter__(self) -> AsyncIterator[T]:
        return self._all() if self._follow else self._to_end(commits=True)

    async def _all(self) -> AsyncIterator[T]:
        while True:
            found = await self.next()
            assert found is not None
            yield found

    async def _to_end(self, *, commits: bool) -> AsyncIterator[T]:
        self._demand_open()
        goal, ended = self._source.goal(), False
        while True:
            while (found := self._take()) is not None:
                yield found
                if commits:
                    await self._commit_if_due()
            if ended:
                return
            ended = await goal.reached()
            await self._fetch(0.0 if ended else 0.1)

    async def next(self, seconds: float | None = None) -> T | None:
        """The next one; None where there is none for so many seconds."""
        self._demand_open()
        await self._commit_if_due()
        end = None if seconds is None else time.monotonic() + seconds
        while (found := self._take()) is None:
            left = LONGEST_FETCH if end is None else end - time.monotonic()
            fetched = await self._fetch(max(0.0, min(left, self._longest_fetch())))
            if not fetched and end is not None and time.monotonic() >= end:
                return self._take()
        return found

    async def _fetch(self, seconds: float) -> bool:
        """Fetches and keeps; whether there was anything."""
        fetched = await self._source.fetch(seconds)
        self._put(fetched)
        return bool(fetched)

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
        """Who asks for the next one has done with those before."""
        if self._group is None or time.monotonic() - self._committed_at < COMMIT_SECONDS:
            return
        try:
            await self._commit_news()
        except UnreachableError as error:  # what was handed out comes again; decays are told while the broker is away
            self._committed_at = time.monotonic() + RETRY_SECONDS
            log.warning("the position could not be committed", group=self._group, error=str(error))

    async def _commit_news(self) -> None:
        if self._group is not None and self.position != self._committed:
            await self.commit()

    # ------------------------------------------------------------ open and close

    async def __aenter__(self) -> Self:
        try:
            partitions = await self._source.open()
            position = self._from if self._from is not None else await self._source.committed()
            if position is not None:
                await self._resume(position, partitions)
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
            if commit:
                await self._commit_news()
        finally:
            self._opened = False
            await self._source.close()
