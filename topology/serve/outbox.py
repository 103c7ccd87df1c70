"""Decisions on their way: each waits a few seconds, in which whoever made it can take it back, and then goes to Kafka.

What waits is in memory: a process that is killed takes it along, and the request is as open as it was. A process that
is told to stop sends what waits at once; what the broker does not take within `CLOSE_SECONDS` is kept in a file, which
the next process of this folder sends.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Literal

import msgspec
import structlog

from .bodies import Taken
from .record_intake import Away, Conflict, Denied, Outcome, Stored

UNDO_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 60.0
"""So long a person is told what became of a decision."""

CLOSE_SECONDS: Final = 20.0
"""So long a process that is told to stop tries to send what waits: less than orchestrators give it."""
CLOSE_AGAIN_SECONDS: Final = 0.5

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


class _Kept(msgspec.Struct, frozen=True):
    """A decision in the file."""

    reviewer: str
    keys: list[str]
    records: list[Taken]
    what: str


class Outbox:
    """What was decided and is not sent.

    Args:
        send: to Kafka; done when it has the records.
        seconds: in which a decision can be taken back.
        file: how the files begin that keep what could not be sent before the process ended; None: it is lost then.
    """

    def __init__(
        self,
        send: Callable[[list[Taken]], Awaitable[Outcome]],
        seconds: float = UNDO_SECONDS,
        file: Path | None = None,
    ) -> None:
        self._send, self._seconds, self._file = send, seconds, file
        self._entries: dict[str, Entry] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hurry = asyncio.Event()

    def put(self, reviewer: str, keys: list[str], records: list[Taken], what: str) -> Entry:
        """Takes a decision; it goes when its seconds are over."""
        return self._begin(Entry(reviewer, keys, records, what, asyncio.get_running_loop().time() + self._seconds))

    def _begin(self, entry: Entry) -> Entry:
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

    async def restore(self) -> None:
        """Sends what earlier processes kept; each file goes once Kafka has all of it."""
        if self._file is None:
            return
        for file in sorted(self._file.parent.glob(self._file.name + ".*")):
            try:
                kept = msgspec.json.decode(file.read_bytes(), type=list[_Kept])
            except (OSError, msgspec.MsgspecError) as error:
                log.error("decisions that were not sent cannot be read", file=str(file), error=str(error))
                continue
            log.warning("sending decisions that an earlier process could not send", file=str(file), count=len(kept))
            for one in kept:
                entry = Entry(one.reviewer, one.keys, one.records, one.what, 0.0)
                await self._deliver(entry)
                if entry.state == "failed":
                    log.error("a decision of an earlier process was refused", what=one.what, why=entry.why)
            file.unlink(missing_ok=True)

    async def close(self) -> None:
        """Sends what waits at once, as long as there is time; keeps the rest."""
        self._hurry.set()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                while self._tasks:
                    await asyncio.wait(list(self._tasks.values()))
        except TimeoutError:
            pass
        for task in list(self._tasks.values()):
            task.cancel()
        if left := [one for one in self._entries.values() if one.state in ("waiting", "sending")]:
            self._keep(left)

    def _keep(self, left: list[Entry]) -> None:
        """Writes what was not sent, for its owner alone."""
        count = sum(len(one.records) for one in left)
        if self._file is None:
            log.error("decisions were not sent and are lost: their requests stay open", count=count)
            return
        kept = [_Kept(one.reviewer, one.keys, one.records, one.what) for one in left]
        name = f"{self._file.name}.{secrets.token_hex(8)}"
        target, fresh = self._file.with_name(name), self._file.with_name(f".{name}")
        try:
            with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
                file.write(msgspec.json.encode(kept))
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, target)
        except OSError as error:
            log.error("decisions were not sent and are lost: their requests stay open", count=count, error=str(error))
            return
        log.error("the broker does not take decisions: the next process sends them", count=count, file=str(target))

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
            if isinstance(outcome, Denied):
                entry.state, entry.why = "failed", outcome.why
                return
            if isinstance(outcome, Stored):
                entry.state = "sent"
                return
            entry.why = outcome.why if isinstance(outcome, Away) else "there is no room now"
            log.warning("a review waits for the broker", why=entry.why)
            await asyncio.sleep(CLOSE_AGAIN_SECONDS if self._hurry.is_set() else AGAIN_SECONDS)
