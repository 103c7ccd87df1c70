"""Records and decisions on their way to Kafka: taken while there is room, acknowledged when the broker has them.

One emitter at a time, which is opened again when the broker has been away for too long. What the broker refuses fails
alone. Records of programs and decisions of people have an intake each, so that neither waits for the other. A record
that was posted twice goes out once, as long as it is remembered; after that the lanes know it by its id.

A decision waits a few seconds in the outbox, in memory, in which its reviewer can take it back. A process that is told
to stop sends what waits at once; what the broker does not take within `CLOSE_SECONDS` is kept in a file, which the next
process of this folder sends.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, NamedTuple

import msgspec
import structlog

from ...codecs.errors import SluiceError, UsageError
from ..client import AsyncEmitter, Delivery, RefusedError
from .request_bodies import TakenRecord

ROOM_RECORDS: Final = 20_000
ROOM_BYTES: Final = 32_000_000
ACK_SECONDS: Final = 10.0
"""So long a request waits for Kafka; its records go on."""
RETRY_SECONDS: Final = 2.0
AT_ONCE: Final = 100
"""So many records are handed on before the event loop answers anything else."""
REMEMBERED: Final = 100_000
"""Records by their identity: some 300 bytes each, whatever they hold."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Stored(NamedTuple):
    """Kafka has all of them; `repeated` of them it had before."""

    ids: list[str]
    repeated: int = 0


class Conflict(NamedTuple):
    """An emission of this id and attempt was taken with another content."""

    id: str


class Busy(NamedTuple):
    """There is no room now: whoever asks is to come again after so many seconds."""

    seconds: int = 1


class Away(NamedTuple):
    """The broker does not take records."""

    why: str
    seconds: int = 5


class Denied(NamedTuple):
    """The broker answers, and refuses a record: our rights, its size, or a topic that is not there. The others of the
    request may be stored."""

    why: str
    seconds: int = 30


Outcome = Stored | Conflict | Busy | Away | Denied


class _Given(NamedTuple):
    """The records of a request at the emitter: what is under way of them, and how many it had before."""

    deliveries: set[Delivery]
    repeated: int


class Intake:
    """The way to Kafka. `run` is its only task; `take` may be called by any number of requests.

    Invariant: `held` and `held_bytes` are those of the records that were taken and are neither stored nor given up.

    `room` and `room_bytes` bound what is held; a request waits `seconds` for Kafka.
    """

    def __init__(
        self,
        open_emitter: Callable[[], AsyncEmitter],
        *,
        room: int = ROOM_RECORDS,
        room_bytes: int = ROOM_BYTES,
        seconds: float = ACK_SECONDS,
    ) -> None:
        self._open, self._room, self._room_bytes, self._seconds = open_emitter, room, room_bytes, seconds
        self._emitter: AsyncEmitter | None = None
        self._broken, self._order = asyncio.Event(), asyncio.Lock()
        self._known: OrderedDict[bytes, bytes] = OrderedDict()  # the digest, by identity: nothing of the record
        self._under_way: dict[bytes, Delivery] = {}
        self.held = self.held_bytes = 0
        self.why = "no broker has answered yet"

    @property
    def is_open(self) -> bool:
        """Whether records can be sent."""
        return self._emitter is not None

    async def run(self) -> None:
        """Keeps an emitter open until cancelled."""
        while True:
            self._broken.clear()
            try:
                async with self._open() as emitter:
                    self._emitter, self.why = emitter, ""
                    await self._broken.wait()
            except SluiceError as error:
                self.why = error.what
                log.warning("the intake has no broker: trying again", error=str(error))
            finally:
                self._emitter = None
            await asyncio.sleep(RETRY_SECONDS)

    async def take(self, records: Sequence[TakenRecord]) -> Outcome:
        """Sends records and waits until Kafka has them. All are taken or none."""
        async with self._order:
            given = await self._put(records)
        if not isinstance(given, _Given):
            return given
        if not given.deliveries:
            return Stored([one.id for one in records], given.repeated)
        done, pending = await asyncio.wait(given.deliveries, timeout=self._seconds)
        for delivery in done:
            error = delivery.exception()
            if isinstance(error, RefusedError | UsageError):
                return Denied(error.what)
            if error is not None:
                return Away(error.what if isinstance(error, SluiceError) else str(error))
        if pending:
            return Away(f"the broker has not acknowledged it within {self._seconds:g} s")
        return Stored([one.id for one in records], given.repeated)

    async def _put(self, records: Sequence[TakenRecord]) -> _Given | Conflict | Busy | Away:
        """Hands records to the emitter, but for those that it had before."""
        fresh: dict[bytes, TakenRecord] = {}
        deliveries: set[Delivery] = set()
        for one in records:
            known = self._known.get(one.identity)
            digest = one.digest if known is None else known
            if one.identity in fresh:
                digest = fresh[one.identity].digest
            elif known is None:
                fresh[one.identity] = one
            elif one.identity in self._under_way:
                deliveries.add(self._under_way[one.identity])
            if digest != one.digest:
                return Conflict(one.id)
        emitter = self._emitter
        if emitter is None:
            return Away(self.why)
        size = sum(_size(one) for one in fresh.values())
        if self.held and (self.held + len(fresh) > self._room or self.held_bytes + size > self._room_bytes):
            return Busy()
        self.held += len(fresh)
        self.held_bytes += size
        waiting = list(reversed(fresh.values()))
        try:
            while waiting:
                if len(waiting) % AT_ONCE == 0:
                    await asyncio.sleep(0)  # other requests and probes; no record comes between these, `_order` is held
                delivery = await emitter.put(waiting[-1].prepared)
                deliveries.add(delivery)
                self._remember(waiting.pop(), delivery, emitter)
        except SluiceError as error:
            self._broken.set()
            return Away(error.what)
        finally:
            for one in waiting:
                self._release(one)
        return _Given(deliveries, len(records) - len(fresh))

    def _remember(self, one: TakenRecord, delivery: Delivery, emitter: AsyncEmitter) -> None:
        self._known[one.identity] = one.digest
        self._under_way[one.identity] = delivery

        def ended(delivery: Delivery) -> None:
            self._release(one)
            self._under_way.pop(one.identity, None)
            if delivery.cancelled() or delivery.exception() is not None:
                self._known.pop(one.identity, None)
                if emitter.is_broken:
                    self._broken.set()

        delivery.add_done_callback(ended)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _release(self, one: TakenRecord) -> None:
        self.held -= 1
        self.held_bytes -= _size(one)


def _size(one: TakenRecord) -> int:
    return len(one.prepared.key) + len(one.prepared.value)


UNDO_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 2.0
KEPT_SECONDS: Final = 60.0
"""So long a person is told what became of a decision."""

CLOSE_SECONDS: Final = 20.0
"""So long a process that is told to stop tries to send what waits: less than orchestrators give it."""
CLOSE_AGAIN_SECONDS: Final = 0.5

OutboxState = Literal["waiting", "sending", "sent", "undone", "failed"]


class OutboxEntry:
    """One decision, or several that were made as one.

    `id` names it for its undoing, and is not to be guessed. `due` is when it goes, by the loop's clock.
    """

    def __init__(self, reviewer: str, keys: list[str], records: list[TakenRecord], what: str, due: float) -> None:
        self.id = secrets.token_urlsafe(12)
        self.reviewer, self.keys, self.records, self.what, self.due = reviewer, keys, records, what, due
        self.state: OutboxState = "waiting"
        self.why = ""


class _Kept(msgspec.Struct, frozen=True):
    """A decision in the file."""

    reviewer: str
    keys: list[str]
    records: list[TakenRecord]
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
        send: Callable[[list[TakenRecord]], Awaitable[Outcome]],
        seconds: float = UNDO_SECONDS,
        file: Path | None = None,
    ) -> None:
        self._send, self._seconds, self._file = send, seconds, file
        self._entries: dict[str, OutboxEntry] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hurry = asyncio.Event()

    def put(self, reviewer: str, keys: list[str], records: list[TakenRecord], what: str) -> OutboxEntry:
        """Takes a decision; it goes when its seconds are over."""
        return self._begin(
            OutboxEntry(reviewer, keys, records, what, asyncio.get_running_loop().time() + self._seconds)
        )

    def _begin(self, entry: OutboxEntry) -> OutboxEntry:
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

    def of(self, reviewer: str) -> list[OutboxEntry]:
        """What a reviewer decided just now, the newest first."""
        return [one for one in reversed(self._entries.values()) if one.reviewer == reviewer]

    def holds(self, reviewer: str) -> set[str]:
        """The assertions that a reviewer has decided and that nobody need show again."""
        return {key for one in self.of(reviewer) if one.state in ("waiting", "sending", "sent") for key in one.keys}

    def seconds_left(self, entry: OutboxEntry) -> int:
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
                entry = OutboxEntry(one.reviewer, one.keys, one.records, one.what, 0.0)
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

    def _keep(self, left: list[OutboxEntry]) -> None:
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

    async def _run(self, entry: OutboxEntry) -> None:
        await self._wait(self._seconds)
        if entry.state == "waiting":
            entry.state = "sending"
            await self._deliver(entry)
        await self._wait(KEPT_SECONDS)
        self._entries.pop(entry.id, None)

    async def _wait(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()

    async def _deliver(self, entry: OutboxEntry) -> None:
        """Until Kafka has it: a person does not post again."""
        while True:
            outcome = await self._send(entry.records)
            if isinstance(outcome, Stored):
                entry.state = "sent"
                return
            if isinstance(outcome, Conflict | Denied):
                entry.state = "failed"
                entry.why = outcome.why if isinstance(outcome, Denied) else "it was decided otherwise before"
                return
            entry.why = outcome.why if isinstance(outcome, Away) else "there is no room now"
            log.warning("a review waits for the broker", why=entry.why)
            await asyncio.sleep(CLOSE_AGAIN_SECONDS if self._hurry.is_set() else AGAIN_SECONDS)
