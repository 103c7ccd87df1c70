"""What every reader of a topic of typed records does: fetch, hand out in order, and keep a position.

Records are handed out as they come, one at a time. A subclass says what a record is (`_value`) and which of those that
were fetched are handed out (`_take`). `AsyncAdmittedReader` is no such reader: it hands out changes of a set, some of
which no record tells.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, Unpack

from ..settings.settings import Settings
from .admitted_set import AdmittedRead
from .ports import Position
from .positioned_reader import PositionedReader, Reading


class Placed(Protocol):
    """Something that stands on a topic."""

    @property
    def partition(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def emission_id(self) -> str: ...


T = TypeVar("T", bound=Placed)


class RecordReading(Reading, total=False):
    """The arguments of `AsyncRecordReader` behind the settings."""

    wants: Callable[[str], bool] | None


class AsyncRecordReader(PositionedReader[T]):
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

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        wants: Callable[[str], bool] | None = None,
        **reading: Unpack[Reading],
    ) -> None:
        super().__init__(settings, **reading)
        self._wants = wants
        self._ready: deque[T] = deque()
        self._unreadable = self.unwanted = 0
        """How many records were left out: none that this version knows; of emissions that `wants` does not want."""

    @property
    def unreadable(self) -> int:
        """How many records were left out, since they are none that this version knows."""
        return self._unreadable

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

    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        for read in fetched:
            self._offsets[read.partition] = read.offset + 1
            value = self._value(read)
            if value is None:
                self._unreadable += 1
            elif self._wants is not None and not self._wants(value.emission_id):
                self.unwanted += 1
            else:
                self._note(value)
                self._ready.append(value)

    async def _resume(self, position: Position, partitions: Sequence[int]) -> None:
        known = {one: position.offsets[one] for one in partitions if position.offsets.get(one)}
        await self._source.seek(known)
        self._offsets = known
