"""When a lane's snapshots are taken, and what it begins with when it is taken over (snapshots.py, restore.py).

A snapshot is written in a thread of its own while the lane goes on: what a state has at rest never changes. A worker's
lanes write one at a time: eight threads that write held up every lane for a second. One that fails is told, and tried
again when the next is due. The header of a later block names it, once.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import structlog

from ..ledger.interfaces import Fold
from ..ledger.replay import Restored
from ..settings.clock import now_ms
from .restore import Start
from .snapshots import Facts, SnapshotStore, read_chunks

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


HUNG_SECONDS = 60.0
"""A snapshot that takes longer holds up no other lane's: its disk may hang."""


class SnapshotTurn:
    """Which of a worker's lanes writes a snapshot now: one, and those that hang. Calls come from one event loop.

    `now` is any clock that only goes forward, in seconds.
    """

    def __init__(self) -> None:
        self._writing = dict[object, float]()  # since when
        self._waiting = dict[object, Callable[[], object]]()  # in the order in which they asked

    def ask(self, who: object, wake: Callable[[], object], now: float) -> bool:
        """Whether somebody may write now. Who may not is woken once another one has written, and then asks again.

        Args:
            who: wants to write.
            wake: is called once it may be its turn.
            now: when.
        """
        if all(now - since >= HUNG_SECONDS for since in self._writing.values()):
            self._waiting.pop(who, None)
            self._writing[who] = now
            return True
        self._waiting.setdefault(who, wake)
        return False

    def end(self, who: object) -> None:
        """Its snapshot is written, or failed."""
        self._writing.pop(who, None)
        waiting, self._waiting = self._waiting, {}
        for wake in waiting.values():  # all: the first may have left, and would keep its place for ever
            wake()


class SnapshotScheduler:
    """The snapshots of one lane, while it is here. `starts` on each take-over; `after_block` after each block.

    Args:
        store: where they are.
        fold: makes bytes of a state, and a state of bytes.
        every: seconds between two; None for no new ones.
        standby: the lane's state as a standby has it, taken from it, or None; the best start there is.
        turn: that the worker's lanes share; None where there is no other lane.
        lasting: whether the broker keeps its logs when it ends. Where it does not, a snapshot may be of an earlier one.
    """

    def __init__(
        self,
        store: SnapshotStore,
        fold: Fold,
        every: float | None,
        standby: Callable[[], Restored | None] = lambda: None,
        *,
        turn: SnapshotTurn | None = None,
        lasting: bool = True,
    ) -> None:
        self._store, self._fold, self._every, self._standby = store, fold, every, standby
        self._turn, self._lasting = turn or SnapshotTurn(), lasting
        self._taken_at = -math.inf
        self._writing: asyncio.Task[None] | None = None
        self._news: str | None = None
        self.written_at: int | None = None
        """When the newest snapshot here was written, Unix ms; None where there is none."""
        self.fails = False
        """Whether the last attempt to write one failed."""
        self.waits = False
        """Whether a snapshot was due after the last block, and another lane was writing one."""

    def starts(self, moved: Callable[[], None] = lambda: None) -> Iterator[Start]:
        """What the lane may go on from, best first; `moved` is called while one is loaded, in another thread."""
        warm = self._standby()
        if warm is not None and warm.offset is not None:
            yield Start("standby", lambda: self._ready(warm), warm.tip.height, self._lasting)
        for path, facts in self._store.found():
            load = partial(self._load, path, facts, moved)
            yield Start(f"snapshot {path.name}", load, facts.tip.height, self._lasting)

    async def _ready(self, restored: Restored) -> Restored:
        """A lane that moves has its first snapshot later: several at once would hold up all of them just then."""
        self._taken_at = monotonic()
        return restored

    async def _load(self, path: Path, facts: Facts, moved: Callable[[], None]) -> Restored:
        began = monotonic()

        def chunks() -> Iterator[bytes]:
            for chunk in read_chunks(path, facts):
                moved()
                yield chunk

        def load() -> tuple[Any, int | None]:
            written_at: int | None = None
            with suppress(OSError):  # a file without a time is a snapshot all the same
                written_at = int(path.stat().st_mtime * 1000)
            deque(chunks(), maxlen=0)  # to the end, where it shows whether they are whole: only then are they decoded
            return self._fold.load(chunks()), written_at

        state, self.written_at = await asyncio.to_thread(load)
        self._taken_at = monotonic()
        log.info("snapshot loaded", path=str(path), height=facts.tip.height, seconds=round(monotonic() - began, 3))
        return Restored(state, facts.tip, facts.offset)

    def after_block(self, restored: Restored, wake: Callable[[], object]) -> None:
        """A block is committed: begins a snapshot of its state where one is due and no other lane writes one.

        Args:
            restored: the state. It is at rest: no block is being folded.
            wake: called once the other lane has written its own: the lane then asks again, though it has no new block.
        """
        if self._every is None or self._writing is not None or restored.offset is None:
            return
        now = monotonic()
        if now - self._taken_at < self._every:
            return
        self.waits = not self._turn.ask(self, wake, now)
        if self.waits:
            return
        try:
            chunks = self._fold.dump(restored.state)
        except BaseException:
            self._turn.end(self)
            raise
        self._taken_at = now
        self._writing = asyncio.create_task(self._write(restored, restored.offset, chunks))

    async def _write(self, restored: Restored, offset: int, chunks: Iterator[bytes]) -> None:
        began, tip = monotonic(), restored.tip
        try:
            state = await asyncio.to_thread(self._store.write, tip, offset, chunks)
        except OSError as error:
            self.fails = True
            log.error("no snapshot could be written: a restart will take longer", error=str(error))
        else:
            self.fails, self.written_at = False, now_ms()
            self._news = f"{state}@{tip.height}"
            log.info("snapshot written", height=tip.height, seconds=round(monotonic() - began, 3))
        finally:
            self._writing = None
            self._turn.end(self)

    def news(self) -> str | None:
        """The hash and height of a snapshot that no header has named yet, for the next one."""
        news, self._news = self._news, None
        return news
