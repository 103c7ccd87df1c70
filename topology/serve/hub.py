"""Verdicts to many listeners: one task reads what came into the view, and hands it to each stream that wants it.

The view is asked once for all, however many listen. A listener that does not keep up is let go: it comes back with the
id of the last event that it has, and goes on there, at whichever replica.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import msgspec
import structlog

from ...codecs.errors import SluiceError
from ..mcp.readers import Readers
from .verdict_records import Verdicts, event, position_text
from .view import Change, changes_after, last_change, standing_of

LOOK_SECONDS: Final = 0.5
"""So often the view is looked at where nobody says that something came: another process may keep it."""
AT_ONCE: Final = 1000
QUEUE: Final = 2000
"""Events that one listener may be behind."""
QUEUE_BYTES: Final = 4_000_000
"""And bytes of their records: a record may have 1 MB."""
TOGETHER_BYTES: Final = 100_000
"""So much of what waits for a listener goes out at once."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
verdicts_of_record = msgspec.json.Decoder(Verdicts).decode
"""What a stored record says."""


@dataclass(frozen=True)
class Notice:
    """A record on its way to listeners, all of whom are given the same one.

    Attributes:
        change: as it came.
        verdicts: what it says.
        position: the id of the event among all verdicts, with this one heard.
    """

    change: Change
    verdicts: Verdicts
    position: str

    @cached_property
    def event(self) -> bytes:
        """As a stream of all verdicts sends it: made once, however many listen."""
        return event("verdicts", self.change.record, self.position)


class Listener:
    """One stream. `next_notices` gives None once the stream was ended.

    Invariant: `byte_count` is that of the records that wait in the queue.

    Args:
        wants: whether it is to be told of a record.
    """

    def __init__(self, wants: Callable[[Notice], bool]) -> None:
        self.wants = wants
        self.queue: asyncio.Queue[Notice | None] = asyncio.Queue(QUEUE + 1)
        self.byte_count = 0
        self.is_gone = False

    def notify(self, notice: Notice) -> None:
        """Something new; it is let go where it is too far behind."""
        if self.is_gone or not self.wants(notice):
            return
        size = len(notice.change.record)
        if self.queue.qsize() >= QUEUE or (self.byte_count and self.byte_count + size > QUEUE_BYTES):
            self.is_gone = True
            self.queue.put_nowait(None)
            return
        self.byte_count += size
        self.queue.put_nowait(notice)

    async def next_notices(self, seconds: float) -> list[Notice] | None:
        """The next records: those that wait, up to `TOGETHER_BYTES`, so that they go out together.

        Raises:
            TimeoutError: nothing came for so long.
        """
        async with asyncio.timeout(seconds):
            notice = await self.queue.get()
        notices: list[Notice] = []
        byte_count = 0
        while notice is not None:
            notices.append(notice)
            byte_count += len(notice.change.record)
            if self.queue.empty() or byte_count >= TOGETHER_BYTES:
                break
            notice = self.queue.get_nowait()
        self.byte_count -= byte_count
        if notice is None and notices:
            self.queue.put_nowait(None)  # the end comes behind them
        return notices or None


class Hub:
    """Reads the view and tells its listeners. `run` is its only task.

    Invariant: every listener is told of each record of the view with an id above `at` of when it began to listen.

    Attributes:
        at: the id of the last record that was told.
        offsets: of each partition of `verdicts`, the offset behind what was told.
        count: how many listen.
    """

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._news = asyncio.Event()
        self._by_emission: dict[str, set[Listener]] = {}
        self._by_emitter: dict[str, set[Listener]] = {}
        self._of_all: set[Listener] = set()
        self.count = 0
        self.at = -1
        self.offsets: list[int] = []

    def wake(self) -> None:
        """Something came into the view."""
        self._news.set()

    @property
    def position(self) -> str:
        """The id of the last event."""
        return position_text(self.offsets)

    async def run(self) -> None:
        """Tells until cancelled."""
        while True:
            try:
                while await self._publish():
                    pass
            except SluiceError as error:
                log.info("the view cannot be read: trying again", error=str(error))
            try:
                async with asyncio.timeout(LOOK_SECONDS):  # Python 3.11's wait_for can lose a cancellation
                    await self._news.wait()
            except TimeoutError:
                pass
            self._news.clear()

    async def _publish(self) -> bool:
        """Tells what is new; whether there may be more."""
        at = self.at
        if at < 0:
            self.at, standing = await self._readers.ask(lambda db: (last_change(db), standing_of(db)))
            self.offsets = standing.offsets
            return False
        changes, standing, last = await self._readers.ask(
            lambda db: (changes_after(db, at, AT_ONCE), standing_of(db), last_change(db))
        )
        count = len(standing.offsets)
        if count != len(self.offsets):  # the topic was not known before, or has grown: nothing of that was told
            self.offsets = [*self.offsets, *[0] * count][:count]
        if last < at:  # the view was made anew: it is read again from the topics, and what was told is told again
            self.at = 0
            return True
        for change in changes:
            self.at = change.id
            if change.partition < len(self.offsets):
                self.offsets[change.partition] = change.offset + 1
            notice = Notice(change, verdicts_of_record(change.record), self.position)
            for listener in self._concerned(notice):
                listener.notify(notice)
        return len(changes) == AT_ONCE

    def _concerned(self, notice: Notice) -> list[Listener]:
        """Those that may want a record: the others are not asked, however many they are."""
        return [
            *self._of_all,
            *self._by_emission.get(notice.change.emission_id, ()),
            *self._by_emitter.get(notice.verdicts.emitter or "", ()),
        ]

    @asynccontextmanager
    async def listening(
        self, wants: Callable[[Notice], bool], *, emission_id: str = "", emitters: Collection[str] = ()
    ) -> AsyncIterator[Listener]:
        """Listens from now on.

        Args:
            wants: whether the listener is to be told of a record.
            emission_id: it wants no record of another emission; empty: of any.
            emitters: it wants no record of other emitters; empty: of any.
        """
        listener = Listener(wants)
        if emission_id:
            places, names = self._by_emission, [emission_id]
        else:
            places, names = self._by_emitter, list(emitters)
        chosen = [places.setdefault(name, set()) for name in names] or [self._of_all]
        for one in chosen:
            one.add(listener)
        self.count += 1
        try:
            yield listener
        finally:
            self.count -= 1
            for one in chosen:
                one.discard(listener)
            for name in names:
                if not places.get(name, True):
                    del places[name]
