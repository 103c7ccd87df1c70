"""Records on their way to Kafka: taken while there is room, acknowledged only when the broker has them.

One emitter at a time, which is opened again when the broker has been away for too long. What the broker refuses fails
alone. Records of programs and decisions of people have an intake each, so that neither waits for the other. A record
that was posted twice goes out once, as long as it is remembered; after that the lanes know it by its id.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import structlog

from ...codecs.errors import SluiceError, UsageError
from ..client import AsyncEmitter, Delivery, RefusedError
from .bodies import Taken

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

    Args:
        open_emitter: makes an emitter that is not open yet.
        room, room_bytes: bounds of what is held.
        seconds: how long a request waits for Kafka.
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

    async def take(self, records: Sequence[Taken]) -> Outcome:
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

    async def _put(self, records: Sequence[Taken]) -> _Given | Conflict | Busy | Away:
        """Hands records to the emitter, but for those that it had before."""
        fresh: dict[bytes, Taken] = {}
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

    def _remember(self, one: Taken, delivery: Delivery, emitter: AsyncEmitter) -> None:
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

    def _release(self, one: Taken) -> None:
        self.held -= 1
        self.held_bytes -= _size(one)


def _size(one: Taken) -> int:
    return len(one.prepared.key) + len(one.prepared.value)
