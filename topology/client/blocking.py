"""The same for programs without an event loop: each emitter and reader has a loop in a thread of its own.

An `Emitter` may be used from any number of threads at once. An `AdmittedReader` is iterated by one thread; others may
look at `current` and `position`, and close it: a thread that waits in it then gets a `ClosedError`. So it is with a
`ReEmissionReader` and a `VerdictReader`. Closing is safe from any thread, and twice. Neither survives a fork.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Generic, Self, TypeVar, Unpack

from ..kafka.input_records import Prepared
from ..settings.settings import Settings
from .admitted_reader import AdmittedReading, AsyncAdmittedReader
from .changes import AdmittedRecord, AnyChange
from .emitting import AsyncEmitter, Delivery, Emitting, Headers
from .errors import BufferFullError, ClosedError
from .portal import Held, next_of
from .ports import Delivered, Position
from .positioned_reader import PositionedReader
from .preparing import AnyAttestation, AnyEmission, AnyObservation, AnyReview, AnySighting
from .record_reader import AsyncRecordReader, Placed, RecordReading
from .reemission_reader import QUIET, AsyncReEmissionReader, Mending
from .verdict_reader import AsyncVerdictReader, EmissionVerdicts

R = TypeVar("R")
T = TypeVar("T")
V = TypeVar("V", bound=Placed)


# ---------------------------------------------------------------- emitter


class Emitter(Held):
    """As `AsyncEmitter`, blocking: `emit` waits while the buffer is full, for `timeout` seconds at the most.

    Arguments are those of `AsyncEmitter`: `buffer` in records, `buffer_bytes` in bytes, `delivery_timeout` in
    seconds. What was taken is sent though nobody waits for it; leaving the `with` block, or `close`, waits for
    all of it. A program that ends without either may lose what was not stored yet.
    """

    def __init__(self, settings: Settings | None = None, **emitting: Unpack[Emitting]) -> None:
        self._emitter = AsyncEmitter(settings, **emitting)
        super().__init__("emitter", self._emitter)

    def emit(self, emission: AnyEmission, timeout: float | None = None, *, headers: Headers = ()) -> Future[Delivered]:
        """Takes an emission; the future is done once the broker has stored it.

        Args:
            emission: a struct, a `Draft`, a mapping or JSON.
            timeout: seconds to wait for room in the buffer; None: as long as it takes.
            headers: of the Kafka record, such as `traceparent`, which outputs pass through.

        Raises:
            InvalidRecordError: the lanes would refuse it; nothing is sent.
            BufferFullError: there was no room in time; nothing is sent.
        """
        return self._take(self._emitter.prepare("emissions", emission)._replace(headers=tuple(headers)), timeout)

    def observe(self, observation: AnyObservation, timeout: float | None = None) -> Future[Delivered]:
        """Takes what an observer saw; as `emit`."""
        return self._take(self._emitter.prepare("observations", observation), timeout)

    def sight(self, sighting: AnySighting, timeout: float | None = None) -> Future[Delivered]:
        """Takes what an observer saw without knowing of an emission; as `emit`."""
        return self._take(self._emitter.prepare("sightings", sighting), timeout)

    def review(self, review: AnyReview, timeout: float | None = None) -> Future[Delivered]:
        """Takes a person's decision; as `emit`."""
        return self._take(self._emitter.prepare("reviews", review), timeout)

    def attest(self, attestation: AnyAttestation, timeout: float | None = None) -> Future[Delivered]:
        """Takes a validator's verdict; as `emit`."""
        return self._take(self._emitter.prepare("attestations", attestation), timeout)

    def flush(self) -> None:
        """Waits until all that was taken is stored."""
        self._portal.call(self._emitter.flush())

    def _take(self, record: Prepared, timeout: float | None) -> Future[Delivered]:
        future: Future[Delivered] = Future()
        future.set_running_or_notify_cancel()  # what was taken is sent: it cannot be called back
        self._portal.call(self._put(record, timeout, future))
        return future

    async def _put(self, record: Prepared, seconds: float | None, future: Future[Delivered]) -> None:
        try:
            async with asyncio.timeout(seconds):
                delivery = await self._emitter.put(record)
        except TimeoutError:
            raise BufferFullError(
                f"the buffer has been full for {seconds:g} s with {self._emitter.held} records that are not stored yet",
                hint="wait longer, or send less",
            ) from None
        delivery.add_done_callback(lambda done: _copy(done, future))

    def close(self) -> None:
        """Waits until all is stored, then closes; a second call does nothing.

        Raises:
            UnreachableError: something was not stored.
        """
        self._end(self._emitter.close())


def _copy(done: Delivery, future: Future[Delivered]) -> None:
    if done.cancelled():
        future.set_exception(ClosedError("emitter"))
    elif (error := done.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


# ---------------------------------------------------------------- readers


class _Reader(Held, Generic[T]):
    """A reader in a portal, with the position that its caller has come to."""

    def __init__(self, reader: PositionedReader[T]) -> None:
        super().__init__("reader", reader)
        self._async, self._position = reader, Position()

    @property
    def position(self) -> Position:
        """The position up to which records were handed out to the caller."""
        return self._position

    @property
    def unreadable(self) -> int:
        """How many records this version could not read."""
        return self._async.unreadable

    def commit(self) -> None:
        """Keeps the position on the broker, in the group's name."""
        self._portal.call(self._async.commit())

    def __iter__(self) -> Iterator[T]:
        found = aiter(self._async)
        while (one := self._kept(partial(next_of, found))) is not None:
            yield one

    def next(self, seconds: float | None = None) -> T | None:
        """The next one; None where none comes within `seconds`. Without `seconds` it waits as long as it takes."""
        return self._kept(partial(self._async.next, seconds))

    def _kept(self, work: Callable[[], Awaitable[R]]) -> R:
        found, self._position = self._portal.call(self._with_position(work))
        return found

    async def _with_position(self, work: Callable[[], Awaitable[R]]) -> tuple[R, Position]:
        return await work(), self._async.position

    def __enter__(self) -> Self:
        super().__enter__()
        self._position = self._async.position
        return self

    def close(self) -> None:
        """Commits, in a group, what was handed out, and closes; a second call does nothing."""
        super().close()


class AdmittedReader(_Reader[AnyChange]):
    """As `AsyncAdmittedReader`, blocking. Arguments are those of `AsyncAdmittedReader`."""

    def __init__(self, settings: Settings | None = None, **reading: Unpack[AdmittedReading]) -> None:
        self._reader = AsyncAdmittedReader(settings, **reading)
        super().__init__(self._reader)

    @property
    def current(self) -> Mapping[str, AdmittedRecord]:
        """What is admitted now, as of the changes that were handed out; a live view, for any thread."""
        return self._reader.current

    def catch_up(self) -> list[AnyChange]:
        """The changes up to where committed records end now; after it, `current` is whole."""
        return self._kept(self._reader.catch_up)


class _RecordReader(_Reader[V]):
    """As `AsyncRecordReader`, blocking."""

    def __init__(self, reader: AsyncRecordReader[V]) -> None:
        super().__init__(reader)
        self._records = reader

    @property
    def unwanted(self) -> int:
        """How many records were of emissions that `wants` does not want."""
        return self._records.unwanted


class ReEmissionReader(_RecordReader[Mending]):
    """As `AsyncReEmissionReader`, blocking. Arguments are those of `AsyncReEmissionReader`."""

    def __init__(self, settings: Settings | None = None, **reading: Unpack[RecordReading]) -> None:
        self._reader = AsyncReEmissionReader(settings, **reading)
        super().__init__(self._reader)

    @property
    def late(self) -> int:
        """How many requests were past their `mend_until` before they could be handed out."""
        return self._reader.late

    @property
    def superseded(self) -> int:
        """How many requests were of an attempt that a later request has left behind."""
        return self._reader.superseded

    def gather(self, seconds: float | None = None, quiet: float = QUIET) -> list[Mending]:
        """The requests of one attempt of one emission; see `AsyncReEmissionReader.gather`.

        Args:
            seconds: to wait for the first one; None: as long as it takes.
            quiet: they are all there once so many seconds have brought no more.
        """
        return self._kept(partial(self._reader.gather, seconds, quiet))


class VerdictReader(_RecordReader[EmissionVerdicts]):
    """As `AsyncVerdictReader`, blocking. Arguments are those of `AsyncVerdictReader`."""

    def __init__(self, settings: Settings | None = None, **reading: Unpack[RecordReading]) -> None:
        super().__init__(AsyncVerdictReader(settings, **reading))
