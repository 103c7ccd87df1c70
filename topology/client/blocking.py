"""The client for programs without an event loop: each emitter and reader has a loop in a thread of its own.

An `Emitter` may be used from any number of threads at once. A reader is iterated by one thread; others may close it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, Unpack

from ..kafka.input_records import Prepared
from ..settings.settings import Settings
from .admitted_set import AdmittedRecord, AnyChange
from .client_readers import (
    QUIET,
    AdmittedReading,
    AsyncAdmittedReader,
    AsyncRecordReader,
    AsyncReEmissionReader,
    AsyncVerdictReader,
    EmissionVerdicts,
    Mending,
    Placed,
    PositionedReader,
    RecordReading,
)
from .emitting import (
    AnyAttestation,
    AnyEmission,
    AnyObservation,
    AnyReview,
    AnySighting,
    AsyncEmitter,
    Delivery,
    Emitting,
    Headers,
)
from .ports import BufferFullError, ClosedError, Delivered, Position

T = TypeVar("T")


class Portal:
    """An event loop in a thread: `call` runs a coroutine there and waits for it."""

    def __init__(self, name: str) -> None:
        self._name, self._lock = name, threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def open(self) -> None:
        """Starts the thread."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name=f"sluice-{self._name}", daemon=True)
                self._thread.start()

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine returns, run in the loop.

        Raises:
            ClosedError: the portal is closed, or was closed meanwhile.
        """
        with self._lock:
            if self._loop is None or threading.current_thread() is self._thread:
                work.close()
                raise ClosedError(self._name)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except (CancelledError, asyncio.CancelledError):
            raise ClosedError(self._name) from None
        except BaseException:
            future.cancel()  # KeyboardInterrupt: nobody waits for it any more
            raise

    def close(self) -> None:
        """Ends what still runs there, and the thread; without effect on one that is closed."""
        with self._lock:
            loop, thread, self._loop, self._thread = self._loop, self._thread, None, None
        if loop is None or thread is None:
            return
        with suppress(CancelledError):
            asyncio.run_coroutine_threadsafe(_end_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join()
            loop.close()


class Held:
    """Something with an `async with` of its own, held open in a portal by an ordinary `with`."""

    def __init__(self, name: str, held: AbstractAsyncContextManager[Any]) -> None:
        self._portal, self._held = Portal(name), held

    def __enter__(self) -> Self:
        self._portal.open()
        try:
            self._portal.call(self._enter())
        except BaseException:
            self._portal.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self._leave(kind, error))

    def close(self) -> None:
        """Closes; a second call does nothing."""
        self.__exit__(None, None, None)

    def _end(self, work: Coroutine[Any, Any, Any]) -> None:
        """Runs what ends it, and closes the portal; without effect where it was closed inside of the block."""
        try:
            self._portal.call(work)
        except ClosedError:
            pass
        finally:
            self._portal.close()

    async def _enter(self) -> None:
        await self._held.__aenter__()

    async def _leave(self, kind: type[BaseException] | None, error: BaseException | None) -> None:
        await self._held.__aexit__(kind, error, None)


async def _end_all() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()


async def next_of(items: AsyncIterator[T]) -> T | None:
    """The next one; None at the end."""
    return await anext(items, None)


R = TypeVar("R")
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
