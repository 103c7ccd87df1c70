"""Readers of output topics: of the admitted set's changes, of re-emission requests, and of verdicts.

Each fetches, hands out one record at a time, keeps a position, opens and closes. It reads its topic from the beginning,
or from a position, read_committed, without a group.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Final, Generic, Protocol, Self, TypedDict, TypeVar, Unpack

import msgspec
import structlog
from msgspec import UNSET

from ...codecs.errors import DoesNotHoldError, UnreachableError, UsageError
from ...codecs.json_text import decoder_of
from ...codecs.records import AssertionVerdict, MissingCheck, ReEmissionRequest, SeenInstead, Verdicts
from ...codecs.times import parse_time
from ..settings.process import now_ms
from ..settings.settings import Settings
from .admitted_set import AdmittedRead, AdmittedRecord, AdmittedSet, AnyChange
from .kafka_ports import KafkaSource, settings_for
from .ports import Clock, ClosedError, Position, Source, demand_there

LONGEST_FETCH = 1.0
COMMIT_SECONDS = 1.0
RETRY_SECONDS = 10.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)

T = TypeVar("T")


class Reading(TypedDict, total=False):
    """How a topic is read: the arguments of every reader behind the settings."""

    bootstrap: str | None
    from_position: Position | None
    group: str | None
    partitions: Sequence[int] | None
    follow: bool
    source: Source | None
    clock: Clock


class PositionedReader(ABC, Generic[T]):
    """What `AsyncAdmittedReader` and `AsyncRecordReader` have in common; those explain the arguments.

    Attributes:
        topic: which is read, by its logical name.
    """

    topic: str

    def __init__(
        self,
        settings: Settings | None = None,
        *,
        bootstrap: str | None = None,
        from_position: Position | None = None,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        follow: bool = True,
        source: Source | None = None,
        clock: Clock = now_ms,
    ) -> None:
        if from_position is not None and group is not None:
            raise UsageError("takes a position or a group, not both", path="reader")
        if source is None:
            source = KafkaSource(settings_for(settings, bootstrap), group, partitions, self.topic)
        self._source, self._clock, self._follow, self._group = source, clock, follow, group
        self._from = from_position
        self._offsets: dict[int, int] = {}
        self._opened = False
        self._committed, self._committed_at = Position(), 0.0

    @property
    @abstractmethod
    def position(self) -> Position:
        """How far was handed out; what was made of it should be stored together with it."""

    @property
    @abstractmethod
    def unreadable(self) -> int:
        """How many records were none that this version knows."""

    @abstractmethod
    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        """Keeps what was fetched."""

    @abstractmethod
    def _take(self) -> T | None:
        """The next that is handed out of what was fetched."""

    @abstractmethod
    async def _resume(self, position: Position, partitions: Sequence[int]) -> None:
        """Goes on from a position."""

    def _longest_fetch(self) -> float:
        """Seconds that one fetch may wait."""
        return LONGEST_FETCH

    # ------------------------------------------------------------ what is handed out

    def __aiter__(self) -> AsyncIterator[T]:
        return self._all() if self._follow else self._to_end(commits=True)

    async def _all(self) -> AsyncIterator[T]:
        while True:
            found = await self.next()
            assert found is not None
            yield found

    async def _to_end(self, *, commits: bool) -> AsyncIterator[T]:
        self._demand_open()
        goal, ended = self._source.goal(), False
        while True:
            while (found := self._take()) is not None:
                yield found
                if commits:
                    await self._commit_if_due()
            if ended:
                return
            ended = await goal.reached()
            await self._fetch(0.0 if ended else 0.1)

    async def next(self, seconds: float | None = None) -> T | None:
        """The next one; None where there is none for so many seconds."""
        self._demand_open()
        await self._commit_if_due()
        end = None if seconds is None else time.monotonic() + seconds
        while (found := self._take()) is None:
            left = LONGEST_FETCH if end is None else end - time.monotonic()
            fetched = await self._fetch(max(0.0, min(left, self._longest_fetch())))
            if not fetched and end is not None and time.monotonic() >= end:
                return self._take()
        return found

    async def _fetch(self, seconds: float) -> bool:
        """Fetches and keeps; whether there was anything."""
        fetched = await self._source.fetch(seconds)
        self._put(fetched)
        return bool(fetched)

    # ------------------------------------------------------------ positions

    async def commit(self) -> None:
        """Keeps the position on the broker, in the group's name.

        Raises:
            UsageError: the reader has no group.
        """
        self._demand_open()
        position = self.position
        await self._source.commit(position)
        self._committed, self._committed_at = position, time.monotonic()

    async def _commit_if_due(self) -> None:
        """Who asks for the next one has done with those before."""
        if self._group is None or time.monotonic() - self._committed_at < COMMIT_SECONDS:
            return
        try:
            await self._commit_news()
        except UnreachableError as error:  # what was handed out comes again; decays are told while the broker is away
            self._committed_at = time.monotonic() + RETRY_SECONDS
            log.warning("the position could not be committed", group=self._group, error=str(error))

    async def _commit_news(self) -> None:
        if self._group is not None and self.position != self._committed:
            await self.commit()

    # ------------------------------------------------------------ open and close

    async def __aenter__(self) -> Self:
        try:
            partitions = await self._source.open()
            position = self._from if self._from is not None else await self._source.committed()
            if position is not None:
                await self._resume(position, partitions)
        except BaseException:
            await self._source.close()
            raise
        self._opened, self._committed = True, self.position
        self._committed_at = time.monotonic()
        return self

    def _demand_open(self) -> None:
        if not self._opened:
            raise ClosedError("reader")

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close(commit=error is None)

    async def close(self) -> None:
        """Commits, in a group, what was handed out, and closes; a second call does nothing."""
        await self._close(commit=True)

    async def _close(self, *, commit: bool) -> None:
        if not self._opened:
            return
        try:
            if commit:
                await self._commit_news()
        finally:
            self._opened = False
            await self._source.close()


class Placed(Protocol):
    """Something that stands on a topic."""

    @property
    def partition(self) -> int: ...

    @property
    def offset(self) -> int: ...

    @property
    def emission_id(self) -> str: ...


RecordT = TypeVar("RecordT", bound=Placed)


class RecordReading(Reading, total=False):
    """The arguments of `AsyncRecordReader` behind the settings."""

    wants: Callable[[str], bool] | None


class AsyncRecordReader(PositionedReader[RecordT]):
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
        self._ready: deque[RecordT] = deque()
        self._unreadable = self.unwanted = 0
        """How many records were left out: none that this version knows; of emissions that `wants` does not want."""

    @property
    def unreadable(self) -> int:
        """How many records were left out, since they are none that this version knows."""
        return self._unreadable

    @abstractmethod
    def _value(self, read: AdmittedRead) -> RecordT | None:
        """What a record says; None where it is none that this version knows."""

    def _note(self, value: RecordT) -> None:
        """Called for each record that is wanted, as it is fetched."""

    def _take(self) -> RecordT | None:
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


GRACE = 2.0
"""Seconds that a decay waits for the lane's word: a lane writes it within a block, so within some 100 ms."""


class AdmittedReading(Reading, total=False):
    """The arguments of `AsyncAdmittedReader` behind the settings."""

    grace: float


class AsyncAdmittedReader(PositionedReader[AnyChange]):
    """The changes of the admitted set. Use it as an async context manager, and iterate.

    Changes are `Admitted`, `Renewed`, `Decayed`, `Contradicted`, `Rejected` and `Refused`; those of one assertion come
    in order. What was past its `valid_until` before it could be handed out is never told as admitted. An end may be
    told of something that was never told as admitted (compaction may have taken that word), and, after a resumption,
    twice; it is never left out. One task iterates; anyone may look at `current`.

    Args:
        settings: the broker and prefix.
        bootstrap: a broker's address instead; all else is as the environment and `sluice.toml` have it.
        from_position: where an earlier reader stood: its `position`.
        group: keeps positions on the broker, under this name. What was handed out is committed when the next change is
            asked for (once a second), on `commit`, and on leaving without an error. Kafka forgets a group that has been
            silent for a week (`offsets.retention.minutes`): for longer, store `position` with your own data.
        partitions: only these; all where none are named.
        follow: False: iterating ends where committed records ended when it began; it can be begun again.
        grace: seconds that the *change* of a decay waits for the lane's own word; `current` never waits.
        source: where it reads instead of a broker.
        clock: the present in Unix milliseconds.

    Raises:
        UnreachableError: no broker answers on entering; or it falls silent while `catch_up` waits for the end.
        DoesNotHoldError: on entering, where the topic does not hold what follows the position any more.
    """

    topic = "admitted"

    def __init__(self, settings: Settings | None = None, *, grace: float = GRACE, **reading: Unpack[Reading]) -> None:
        super().__init__(settings, **reading)
        self._set = AdmittedSet(self._clock, int(grace * 1000))
        self._queue: deque[AdmittedRead] = deque()
        self._fetched_at = 0

    # ------------------------------------------------------------ the set

    @property
    def current(self) -> Mapping[str, AdmittedRecord]:
        """What is admitted now, by `emission_id#span-key`, as of the changes that were handed out.

        A live view that tests `valid_until` at each look. It is whole once `catch_up` has returned.
        """
        return self._set

    @property
    def position(self) -> Position:
        """How far changes were handed out; what was made of them should be stored together with it."""
        return Position(dict(self._offsets), self._set.told_until)

    @property
    def unreadable(self) -> int:
        """How many words were no records that this version knows; they changed nothing."""
        return self._set.unreadable

    # ------------------------------------------------------------ the changes

    async def catch_up(self) -> list[AnyChange]:
        """The changes up to where committed records end now; after it, `current` is whole."""
        await self._commit_if_due()
        return [change async for change in self._to_end(commits=False)]

    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        self._queue.extend(fetched)

    def _take(self) -> AnyChange | None:
        """The next change of what was fetched, or that the clock tells."""
        queue, now = self._queue, self._clock()
        while queue:
            word = queue.popleft()
            self._offsets[word.partition] = word.offset + 1
            if (change := self._set.take(word, now)) is not None:
                return change
        # Only what had ended before the last fetch began: else the lane's own word may be there, and not looked at.
        return self._set.expire(self._fetched_at)

    async def _fetch(self, seconds: float) -> bool:
        now = self._clock()
        found = await super()._fetch(seconds)
        self._fetched_at = now
        return found

    def _longest_fetch(self) -> float:
        at = self._set.next_expiry()
        return LONGEST_FETCH if at is None else min(LONGEST_FETCH, max(0.01, (at - self._clock()) / 1000))

    async def _resume(self, position: Position, partitions: Sequence[int]) -> None:
        """Takes in what stands before the position, so that the set is as it was there."""
        left = {one: position.offsets[one] for one in partitions if position.offsets.get(one)}
        first = await self._source.first_offsets()
        for partition, offset in left.items():
            if offset < first[partition]:
                raise DoesNotHoldError(
                    "the topic does not hold what follows this position any more",
                    path=f"admitted/{partition}/{offset}",
                    hint="begin without a position, `catch_up`, and replace what you hold by `current`",
                )
        self._offsets, self._set.told_until = dict(left), position.told_until
        goal = self._source.goal()
        while left:
            ended = await goal.reached()
            fetched = await self._source.fetch(0.1)
            for word in fetched:
                if word.offset < position.offsets.get(word.partition, 0):
                    self._set.take(word, position.told_until)
                else:
                    self._queue.append(word)
            for partition, offset in list(left.items()):
                if await self._source.at(partition) >= offset:
                    del left[partition]
            if ended and not fetched:
                demand_there(left, goal.ends, "admitted")
                break  # the broker has removed what stood there


REQUESTS_TOPIC: Final = "re-emission-requests"
QUIET: Final = 1.0
"""Seconds: a lane writes the requests of one emission within a block or a few, some 100 ms apart."""
MOST_ATTEMPTS: Final = 10_000
"""Of so many emissions the newest attempt that was asked for is remembered."""

_LINE_ENDS: Final = {end: f"\\u{end:04x}" for end in (0x7F, 0x85, 0x2028, 0x2029)}

_decode_request = decoder_of(ReEmissionRequest).decode
_encode = msgspec.json.Encoder().encode


class Mending(msgspec.Struct, frozen=True, kw_only=True):
    """One request: an assertion that was not admitted, and that its emitter may say anew or withdraw.

    Attributes:
        key: `emission_id#span-key`, which names the assertion.
        record: the request. What strangers wrote stands in two frames, `untrusted_text` and `mending.untrusted_text`.
        partition, offset: where it stands.
    """

    key: str
    record: ReEmissionRequest
    partition: int
    offset: int

    @property
    def emission_id(self) -> str:
        """Of the emission that the assertion is part of; the next attempt keeps it."""
        return self.record.emission_id

    @property
    def attempt(self) -> int:
        """Of which attempt it is; the next one has this number and one more."""
        return self.record.attempt

    @property
    def span_key(self) -> str:
        """The canonical key of its span, such as `c:0-43`."""
        return self.key.partition("#")[2]

    @property
    def attempts_left(self) -> int:
        """How many further attempts the policy lets it make."""
        return self.record.attempts_left

    @property
    def mend_until(self) -> int | None:
        """The last instant at which a new attempt takes the place of this one, Unix milliseconds."""
        return parse_time(self.record.mend_until)

    @property
    def missing_checks(self) -> list[MissingCheck]:
        """The checks that too few classes verified, by their places."""
        return self.record.missing_checks

    @property
    def looks(self) -> list[SeenInstead]:
        """Which classes saw what instead, as far as the lane kept it."""
        return self.record.looks

    def framed(self) -> str:
        """Both frames as JSON, to be handed on whole: into a prompt, say. No character in it ends a line."""
        frames: dict[str, Any] = {
            "_untrusted_text": msgspec.to_builtins(self.record.untrusted_text),
            "mending": {"_untrusted_text": msgspec.to_builtins(self.record.mending.untrusted_text)},
        }
        return _encode(frames).decode().translate(_LINE_ENDS)

    def __repr__(self) -> str:
        return f"<Mending {self.key} attempt {self.attempt} {self.record.status} {self.partition}/{self.offset}>"


class AsyncReEmissionReader(AsyncRecordReader[Mending]):
    """The re-emission requests, in the order of their lanes. Use it as an async context manager, and iterate, or
    `gather` those of one answer. One task uses it.

    Arguments and errors are those of `AsyncRecordReader`.

    Attributes:
        late: how many requests were left out since they were past their `mend_until`.
        superseded: how many, since a later request of their emission is of a newer attempt.
    """

    topic = REQUESTS_TOPIC

    def __init__(self, settings: Settings | None = None, **reading: Unpack[RecordReading]) -> None:
        super().__init__(settings, **reading)
        self._newest: OrderedDict[str, int] = OrderedDict()
        self.late = self.superseded = 0

    async def gather(self, seconds: float | None = None, quiet: float = QUIET) -> list[Mending]:
        """The requests of one attempt of one emission: the next one, and all of the same attempt that follow it within
        `quiet` seconds of each other. A new attempt takes the place of the whole answer, so it should mend all of them.

        Args:
            seconds: to wait for the first; None: as long as it takes.
            quiet: seconds.

        Returns:
            At least one, in the order of their coming; none where there was none for so many seconds.
        """
        first = await self.next(seconds)
        if first is None:
            return []
        found, others = [first], deque[Mending]()
        end = time.monotonic() + quiet
        try:
            while True:
                while (one := self._take()) is not None:
                    if (one.emission_id, one.attempt) == (first.emission_id, first.attempt):
                        found.append(one)
                        end = time.monotonic() + quiet
                    else:
                        others.append(one)
                left = end - time.monotonic()
                if left <= 0:
                    return [one for one in found if not self._is_behind(one)]
                self._put(await self._source.fetch(left))
        finally:
            self._ready.extendleft(reversed(others))

    def _value(self, read: AdmittedRead) -> Mending | None:
        if read.key is None:
            return None
        try:
            record = _decode_request(read.value or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        key = read.key.decode("utf-8", "replace")
        return Mending(key=key, record=record, partition=read.partition, offset=read.offset)

    def _note(self, value: Mending) -> None:
        newest = self._newest.pop(value.emission_id, 0)
        self._newest[value.emission_id] = max(newest, value.attempt)
        while len(self._newest) > MOST_ATTEMPTS:
            self._newest.popitem(last=False)

    def _is_behind(self, one: Mending) -> bool:
        return one.attempt < self._newest.get(one.emission_id, 0)

    def _take(self) -> Mending | None:
        """The next request of what was fetched that can still be answered."""
        while self._ready:
            one = self._ready.popleft()
            until = one.mend_until
            if self._is_behind(one):
                self.superseded += 1
            elif until is not None and until < self._clock():
                self.late += 1
            else:
                return one
        return None


VERDICTS_TOPIC = "verdicts"
_decode_verdicts = msgspec.json.Decoder(Verdicts).decode


class EmissionVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one emission, as of one block.

    Attributes:
        record: as it stands on the topic.
        partition, offset: where it stands.
    """

    record: Verdicts
    partition: int
    offset: int

    @property
    def emission_id(self) -> str:
        """Of which emission."""
        return self.record.emission_id

    @property
    def attempt(self) -> int:
        """Its newest attempt."""
        return self.record.attempt

    @property
    def emitter(self) -> str | None:
        """Who made it; None where it does not say."""
        return None if self.record.emitter is UNSET else self.record.emitter

    @property
    def settled(self) -> bool:
        """Whether none of its assertions is pending."""
        return self.record.settled

    @property
    def decided_at(self) -> int:
        """The time of the block, Unix milliseconds."""
        return parse_time(self.record.decided_at) or 0

    @property
    def assertions(self) -> list[AssertionVerdict]:
        """Every assertion of every attempt that the lane knows, in no order."""
        return self.record.assertions

    def assertion(self, span_key: str, attempt: int | None = None) -> AssertionVerdict | None:
        """The assertion of this span, of the newest attempt unless another one is named; None where there is none."""
        number = self.attempt if attempt is None else attempt
        return next((one for one in self.assertions if (one.span_key, one.attempt) == (span_key, number)), None)

    def __repr__(self) -> str:
        settled = "settled" if self.settled else "pending"
        return f"<EmissionVerdicts {self.emission_id} attempt {self.attempt} {settled} {self.partition}/{self.offset}>"


class AsyncVerdictReader(AsyncRecordReader[EmissionVerdicts]):
    """What became of emissions, in the order of their lanes. Use it as an async context manager, and iterate. One task
    uses it.

    Arguments and errors are those of `AsyncRecordReader`.
    """

    topic = VERDICTS_TOPIC

    def _value(self, read: AdmittedRead) -> EmissionVerdicts | None:
        try:
            record = _decode_verdicts(read.value or b"")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if read.key != record.emission_id.encode():
            return None
        return EmissionVerdicts(record=record, partition=read.partition, offset=read.offset)
