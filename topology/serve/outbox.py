"""Decisions on their way: each waits a few seconds, in which whoever made it can take it back, and then goes to Kafka.

What waits is in memory: a process that dies takes it along, and the request is as open as it was. A process that is
told to stop sends what waits at once.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, Literal

import structlog

from .bodies import Taken
from .intake import Away, Busy, Conflict, Outcome

UNDO_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 60.0
"""So long a person is told what became of a decision."""

State = Literal["waiting", "sending", "sent", "undone", "failed"]
log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Entry:
    """One decision, or several that were made as one.

    Attributes:
        id: names it for its undoing; not to be guessed.
        reviewer: who made it.
        keys: of the assertions.
        records: the reviews, ready to be sent.
        what: for people: what was decided.
        due: when it goes, by the loop's clock.
    """

    def __init__(self, reviewer: str, keys: list[str], records: list[Taken], what: str, due: float) -> None:
        self.id = secrets.token_urlsafe(12)
        self.reviewer, self.keys, self.records, self.what, self.due = reviewer, keys, records, what, due
        self.state: State = "waiting"
        self.why = ""


class Outbox:
    """What was decided and is not sent.

    Args:
        send: to Kafka; done when it has the records.
        seconds: in which a decision can be taken back.
    """

    def __init__(self, send: Callable[[list[Taken]], Awaitable[Outcome]], seconds: float = UNDO_SECONDS) -> None:
        self._send, self._seconds = send, seconds
        self._entries: dict[str, Entry] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hurry = asyncio.Event()

    def put(self, reviewer: str, keys: list[str], records: list[Taken], what: str) -> Entry:
        """Takes a decision; it goes when its seconds are over."""
        entry = Entry(reviewer, keys, records, what, asyncio.get_running_loop().time() + self._seconds)
        self._entries[entry.id] = entry
        task = asyncio.create_task(self._run(entry))
        self._tasks[entry.id] = task
        task.add_done_callback(lambda _: self._tasks.pop(entry.id, None))
        return entry

    def undo(self, id_: str, reviewer: str) -> bool:
        """Takes a decision back; False where it has gone, or is another one's."""
        entry = self._entries.get(id_)
        if entry is None or entry.reviewer != reviewer or entry.state != "waiting":
            return False
        entry.state = "undone"
        return True

    def of(self, reviewer: str) -> list[Entry]:
        """What a reviewer decided just now, the newest first."""
        return [one for one in reversed(self._entries.values()) if one.reviewer == reviewer]

    def holds(self, reviewer: str) -> set[str]:
        """The assertions that a reviewer has decided and that nobody need show again."""
        return {key for one in self.of(reviewer) if one.state in ("waiting", "sending", "sent") for key in one.keys}

    def seconds_left(self, entry: Entry) -> int:
        """In which it can be taken back."""
        return max(0, round(entry.due - asyncio.get_running_loop().time()))

    async def close(self) -> None:
        """Sends what waits at once."""
        self._hurry.set()
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=5)

    async def _run(self, entry: Entry) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                await self._hurry.wait()
        except TimeoutError:
            pass
        if entry.state == "waiting":
            entry.state = "sending"
            await self._deliver(entry)
        try:
            async with asyncio.timeout(KEPT_SECONDS):
                await self._hurry.wait()
        except TimeoutError:
            pass
        self._entries.pop(entry.id, None)

    async def _deliver(self, entry: Entry) -> None:
        """Until Kafka has it: a person does not post again."""
        while True:
            outcome = await self._send(entry.records)
            if isinstance(outcome, Conflict):
                entry.state, entry.why = "failed", "it was decided otherwise before"
                return
            if not isinstance(outcome, Away | Busy):
                entry.state = "sent"
                return
            entry.why = outcome.why if isinstance(outcome, Away) else "there is no room now"
            log.warning("a review waits for the broker", why=entry.why)
            if self._hurry.is_set():
                return
            await asyncio.sleep(AGAIN_SECONDS)
