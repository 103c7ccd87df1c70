"""The emitter: typed records in, validated by the lanes' own decoders, keyed rightly, batched, sent in their order.

Its producer is idempotent. Its buffer is bounded in records and bytes; once it is full, `emit` waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias, TypedDict

import msgspec
from aiokafka.errors import KafkaError

from ...codecs.errors import Fault, SluiceError, UnreachableError, UsageError
from ...codecs.records import Attestation, Emission, Observation, Review, Sighting
from ...codecs.signatures import Signing
from ..engine.signing import signing_of
from ..kafka.input_records import Prepared, prepare
from ..settings.process import now_ms
from ..settings.settings import Settings
from .drafts import Draft
from .kafka_ports import KafkaOutlet, settings_for
from .ports import Clock, ClosedError, Delivered, InvalidRecordError, Outlet, RefusedError, StoredAt

Json: TypeAlias = Mapping[str, Any] | bytes | str
"""A record without its struct: a mapping of JSON-ready values, or JSON text (`bytes` go out as they are)."""
AnyEmission: TypeAlias = Emission | Draft | Json
AnyObservation: TypeAlias = Observation | Json
AnySighting: TypeAlias = Sighting | Json
AnyReview: TypeAlias = Review | Json
AnyAttestation: TypeAlias = Attestation | Json
AnyRecord: TypeAlias = Emission | Draft | Observation | Sighting | Review | Attestation | Json

_encode = msgspec.json.Encoder().encode


def prepared(topic: str, record: AnyRecord, now: int, signing: Signing | None = None) -> Prepared:
    """The record for an input topic.

    Args:
        topic: its logical name.
        record: a struct, a draft, a mapping, or JSON.
        now: Unix milliseconds, for an emission without `emitted_at`.
        signing: who signs a record without a signature; None leaves it unsigned.

    Raises:
        InvalidRecordError: the lanes would refuse it.
    """
    result = prepare(_encoded(topic, record), topic, now, signing)
    if isinstance(result, Fault):
        raise InvalidRecordError(topic, result)
    return result


def _encoded(topic: str, record: AnyRecord) -> bytes:
    if isinstance(record, bytes):
        return record
    try:
        if isinstance(record, str):
            return record.encode()
        return _encode(record.build() if isinstance(record, Draft) else record)
    except (TypeError, ValueError, RecursionError) as error:  # lone surrogates, sets, a mapping with keys of any kind
        raise InvalidRecordError(topic, Fault("not-json", f"the record is no JSON: {error}")) from None


BUFFER_RECORDS = 1000
BUFFER_BYTES = 16_000_000
"""Sixteen of the greatest records; of usual ones the number is what bounds."""
AT_ONCE = 100
"""So many records are handed to the producer before other tasks run."""
DELIVERY_SECONDS = 120.0
"""How long the broker may acknowledge nothing, as Kafka's own `delivery.timeout.ms`. An idempotent producer itself
tries for ever: giving up on a batch would leave a hole in its sequence numbers."""

Delivery: TypeAlias = "asyncio.Future[Delivered]"
Headers: TypeAlias = Sequence[tuple[str, bytes]]
"""Of a Kafka record, in their order."""


class Emitting(TypedDict, total=False):
    """The arguments of `AsyncEmitter` behind the settings."""

    bootstrap: str | None
    buffer: int
    buffer_bytes: int
    delivery_timeout: float
    outlet: Outlet | None
    clock: Clock


class AsyncEmitter:
    """Sends emissions, and what observers, validators and reviewers have to say. Use it as an async context manager.

    Leaving it waits until all that was taken is stored. Its methods may be called by any number of tasks of one event
    loop; records go out in the order in which they were taken.

    Invariant: `held` and `byte_count` are those of the records that were taken and are neither stored nor given up;
    after the first failure nothing more is sent. A record that the broker refuses fails alone: the others go on.

    Args:
        settings: where to, under which prefix, by which partitioner, and which key signs (`producer_key`).
        bootstrap: a broker's address instead; all else is as the environment and `sluice.toml` have it.
        buffer: so many records may wait for the broker at the most.
        buffer_bytes: and so many bytes of them; a single record always fits.
        delivery_timeout: seconds without any acknowledgement, while something waits, after which all is given up.
        outlet: where records go instead of a broker.
        clock: the present in Unix milliseconds.

    Raises:
        UnreachableError: on entering where no broker answers; from any call, and from deliveries, once it was given up.
        RefusedError: from a delivery that the broker refuses, and from the next `flush` or the end.
    """

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        bootstrap: str | None = None,
        buffer: int = BUFFER_RECORDS,
        buffer_bytes: int = BUFFER_BYTES,
        delivery_timeout: float = DELIVERY_SECONDS,
        outlet: Outlet | None = None,
        clock: Clock = now_ms,
    ) -> None:
        chosen = settings_for(settings, bootstrap) if outlet is None or settings is not None else None
        self._outlet = outlet if outlet is not None else KafkaOutlet(chosen or settings_for(settings, bootstrap))
        self._signing = None if chosen is None else signing_of(chosen)
        self._clock, self._most, self._most_bytes = clock, buffer, buffer_bytes
        self._patience = delivery_timeout
        self.held = self.byte_count = self.stored = self.refused = 0
        self._waiting: deque[tuple[Prepared, Delivery]] = deque()
        self._given: set[Delivery] = set()
        self._order, self._moved, self._work = asyncio.Lock(), asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._failure: SluiceError | None = None
        self._refusal: SluiceError | None = None

    @property
    def is_broken(self) -> bool:
        """Whether it was given up: it takes nothing more."""
        return self._failure is not None

    # ------------------------------------------------------------ what there is to say

    async def emit(self, emission: AnyEmission, *, headers: Headers = ()) -> Delivery:
        """Takes an emission of a language model; waits while the buffer is full.

        Args:
            emission: a struct, a `Draft`, a mapping or JSON. Without `emitted_at` it gets the present time.
            headers: of the Kafka record, such as `traceparent`, which outputs pass through.

        Returns:
            A future, done once the broker has stored it. Who needs no word on each record lets it go: `flush` and
            leaving the emitter wait for all of them, and raise where one was not stored.

        Raises:
            InvalidRecordError: the lanes would refuse it; nothing is sent.
        """
        return await self.put(self.prepare("emissions", emission)._replace(headers=tuple(headers)))

    async def observe(self, observation: AnyObservation) -> Delivery:
        """Takes what an observer saw when it looked at a substrate for an assertion; as `emit`."""
        return await self.put(self.prepare("observations", observation))

    async def sight(self, sighting: AnySighting) -> Delivery:
        """Takes what an observer saw who knows of no emission; as `emit`."""
        return await self.put(self.prepare("sightings", sighting))

    async def review(self, review: AnyReview) -> Delivery:
        """Takes a person's decision about an assertion; as `emit`."""
        return await self.put(self.prepare("reviews", review))

    async def attest(self, attestation: AnyAttestation) -> Delivery:
        """Takes a validator's verdict on a claim; as `emit`."""
        return await self.put(self.prepare("attestations", attestation))

    # ------------------------------------------------------------ the buffer

    def prepare(
        self, topic: str, record: AnyEmission | AnyObservation | AnySighting | AnyReview | AnyAttestation
    ) -> Prepared:
        """The record as it would be sent; may be called from any thread.

        Raises:
            InvalidRecordError: the lanes would refuse it.
        """
        return prepared(topic, record, self._clock(), self._signing)

    async def put(self, record: Prepared) -> Delivery:
        """Takes a record that `prepare` made."""
        byte_count = len(record.key) + len(record.value)
        async with self._order:
            self._demand_open()
            while self.held >= self._most or (self.held and self.byte_count + byte_count > self._most_bytes):
                self._moved.clear()
                await self._moved.wait()
                self._demand_open()
            delivery: Delivery = asyncio.get_running_loop().create_future()
            delivery.add_done_callback(_know)
            self.held += 1
            self.byte_count += byte_count
            self._given.add(delivery)
            self._waiting.append((record, delivery))
            self._work.set()
            return delivery

    async def flush(self) -> None:
        """Waits until all that was taken is stored.

        Raises:
            UnreachableError: it was given up.
            RefusedError: the broker refused a record since the last flush; the others are stored.
        """
        await self._until_answered()
        self._tell_failure()

    async def _until_answered(self) -> None:
        while self.held and self._failure is None:
            self._moved.clear()
            await self._moved.wait()

    def _tell_failure(self) -> None:
        refusal, self._refusal = self._refusal, None
        if (error := self._failure or refusal) is not None:
            raise error

    def _demand_open(self) -> None:
        if self._failure is not None:
            raise self._failure
        if not self._tasks:
            raise ClosedError("emitter")

    async def _pump(self) -> None:
        """Hands records to the producer in their order, as fast as it has room."""
        since = 0
        while True:
            while self._waiting:
                since += 1
                if since % AT_ONCE == 0:
                    await asyncio.sleep(0)  # a producer that has room for all of them does not wait
                record, delivery = self._waiting.popleft()
                try:
                    sent = await self._outlet.send(record)
                except (RefusedError, UsageError) as error:
                    self._refused(record, delivery, error)
                    continue
                except SluiceError as error:
                    self._fail(error)
                    return
                except (KafkaError, OSError) as error:
                    self._fail(self._unstored(str(error) or type(error).__name__))
                    return
                sent.add_done_callback(partial(self._answered, record, delivery))
            self._work.clear()
            await self._work.wait()

    def _answered(self, record: Prepared, delivery: Delivery, sent: asyncio.Future[StoredAt]) -> None:
        error = None if sent.cancelled() else sent.exception()
        if isinstance(error, RefusedError):
            self._refused(record, delivery, error)
            return
        if sent.cancelled() or error is not None:
            self._fail(self._unstored(str(error) if error else "it was given up"))
            return
        self._let_go(record, delivery)
        self.stored += 1
        if not delivery.done():  # who waited for it may have stopped waiting
            at = sent.result()
            found = Delivered(record.topic, at.partition, at.offset, at.timestamp, record.key, record.value)
            delivery.set_result(found)

    def _refused(self, record: Prepared, delivery: Delivery, error: SluiceError) -> None:
        """The broker has answered: this record is not stored, and the others are on their way."""
        self._let_go(record, delivery)
        self.refused += 1
        self._refusal = self._refusal or error
        if not delivery.done():
            delivery.set_exception(error)

    def _let_go(self, record: Prepared, delivery: Delivery) -> None:
        self.held -= 1
        self.byte_count -= len(record.key) + len(record.value)
        self._given.discard(delivery)
        self._moved.set()

    async def _watch(self) -> None:
        """Gives up once nothing has been stored for too long while something waits."""
        loop = asyncio.get_running_loop()
        seen, since = -1, loop.time()
        while True:
            answered = self.stored + self.refused
            if answered != seen or not self.held:
                seen, since = answered, loop.time()
            elif loop.time() - since > self._patience:
                self._fail(self._unstored(f"no answer for {self._patience:g} s"))
                return
            await asyncio.sleep(min(0.1, self._patience / 4))

    def _unstored(self, said: str) -> UnreachableError:
        return UnreachableError(
            f"the broker does not take the records: {said[:200]}",
            hint=f"{self.stored} were stored before, {self.held} were not",
        )

    def _fail(self, error: SluiceError) -> None:
        if self._failure is None:
            self._failure = error
        for delivery in self._given:
            if not delivery.done():
                delivery.set_exception(self._failure)
        self._given.clear()
        self._waiting.clear()
        self._moved.set()

    def _task_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(self._unstored(f"{type(error).__name__}: {error}"))

    # ------------------------------------------------------------ open and close

    async def __aenter__(self) -> Self:
        try:
            await self._outlet.open()
        except BaseException:
            await self._outlet.close()
            raise
        self._tasks = [asyncio.create_task(self._pump()), asyncio.create_task(self._watch())]
        for task in self._tasks:
            task.add_done_callback(self._task_ended)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What was taken is sent though the caller failed elsewhere; not when it is being cancelled.
        await self._close(flush=error is None or isinstance(error, Exception))
        if error is None:
            self._tell_failure()

    async def close(self) -> None:
        """Waits until all is stored, then closes; a second call does nothing.

        Raises:
            UnreachableError: something was not stored.
            RefusedError: the broker refused a record since the last flush; the others are stored.
        """
        await self._close(flush=True)
        self._tell_failure()

    async def _close(self, *, flush: bool) -> None:
        try:
            if flush and self._tasks:
                await self._until_answered()
        finally:
            tasks, self._tasks = self._tasks, []
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            if tasks:
                await self._outlet.close()
                if self.held:
                    self._fail(self._unstored("the emitter was closed"))


def _know(delivery: Delivery) -> None:
    """Looks at the error of a delivery that nobody waits for: `flush` raises it, and asyncio need not complain."""
    if not delivery.cancelled():
        delivery.exception()
