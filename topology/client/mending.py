"""The reader of re-emission requests: what an emitter is asked to mend, as typed requests (docs/mending.md).

It hands out what can still be answered. Requests past their `mend_until`, of an attempt that a later request has left
behind, and of emissions that are not the caller's, are counted and left out. After a restart without a position the
topic is read from its beginning; answering a request twice does no harm, since the first emission of an attempt stands.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Sequence
from types import TracebackType
from typing import Any, Final, Self

import msgspec
import structlog
from msgspec import UNSET

from ...codecs.errors import UnreachableError, UsageError
from ...codecs.records import MissingCheck, Request, SeenInstead
from ...codecs.times import parse_time
from ..settings.clock import now_ms
from ..settings.settings import Settings
from .admitted_set import AdmittedRead
from .errors import ClosedError
from .kafka import KafkaSource, settings_for
from .ports import Clock, Position, Source

TOPIC: Final = "re-emission-requests"
QUIET: Final = 1.0
"""Seconds: a lane writes the requests of one emission within a block or a few, some 100 ms apart."""
MOST_ATTEMPTS: Final = 10_000
"""Of so many emissions the newest attempt that was asked for is remembered."""
_LONGEST_FETCH: Final = 1.0
_COMMIT_SECONDS: Final = 1.0
_RETRY_SECONDS: Final = 10.0

_LINE_ENDS: Final = {end: f"\\u{end:04x}" for end in (0x7F, 0x85, 0x2028, 0x2029)}

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_decode = msgspec.json.Decoder(Request).decode
_encode = msgspec.json.Encoder().encode


class Mending(msgspec.Struct, frozen=True, kw_only=True):
    """One request: an assertion that was not admitted, and that its emitter may say anew or withdraw.

    Attributes:
        key: `emission_id#span-key`, which names the assertion.
        record: the request. What strangers wrote stands in two frames, `untrusted_text` and `mending.untrusted_text`.
        partition, offset: where it stands.
    """

    key: str
    record: Request
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
    def attempts_left(self) -> int | None:
        """How many further attempts the policy lets it make; None of a ledger below fold version 3."""
        left = self.record.attempts_left
        return None if left is UNSET else left

    @property
    def mend_until(self) -> int | None:
        """The last instant at which a new attempt takes the place of this one, Unix milliseconds; None of a ledger
        below fold version 3."""
        until = self.record.mend_until
        return None if until is UNSET else parse_time(until)

    @property
    def missing_checks(self) -> list[MissingCheck]:
        """The checks that too few classes verified, by their places."""
        missing = self.record.missing_checks
        return [] if missing is UNSET else missing

    @property
    def looks(self) -> list[SeenInstead]:
        """Which classes saw what instead, as far as the lane kept it."""
        looks = self.record.looks
        return [] if looks is UNSET else looks

    def framed(self) -> str:
        """Both frames as JSON, to be handed on whole: into a prompt, say. No character in it ends a line."""
        frames: dict[str, Any] = {"_untrusted_text": msgspec.to_builtins(self.record.untrusted_text)}
        if self.record.mending is not UNSET:
            frames["mending"] = {"_untrusted_text": msgspec.to_builtins(self.record.mending.untrusted_text)}
        return _encode(frames).decode().translate(_LINE_ENDS)

    def __repr__(self) -> str:
        return f"<Mending {self.key} attempt {self.attempt} {self.record.status} {self.partition}/{self.offset}>"


class AsyncReEmissionReader:
    """The re-emission requests, in the order of their lanes. Use it as an async context manager, and iterate, or
    `gather` those of one answer. One task uses it.

    Args:
        settings: the broker and prefix.
        bootstrap: a broker's address instead; all else is as the environment and `sluice.toml` have it.
        from_position: where an earlier reader stood: its `position`.
        group: keeps positions on the broker, under this name. What was handed out is committed when the next request is
            asked for (once a second), on `commit`, and on leaving without an error. It shares no work: two readers of
            one group both get every request.
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
        bootstrap: str | None = None,
        from_position: Position | None = None,
        group: str | None = None,
        partitions: Sequence[int] | None = None,
        follow: bool = True,
        wants: Callable[[str], bool] | None = None,
        source: Source | None = None,
        clock: Clock = now_ms,
    ) -> None:
        if from_position is not None and group is not None:
            raise UsageError("takes a position or a group, not both", path="reader")
        self._source = (
            source if source is not None else KafkaSource(settings_for(settings, bootstrap), group, partitions, TOPIC)
        )
        self._clock, self._follow, self._group = clock, follow, group
        self._wants = wants
        self._from = from_position
        self._ready: deque[Mending] = deque()
        self._offsets: dict[int, int] = {}
        self._newest: OrderedDict[str, int] = OrderedDict()
        self._opened = False
        self._committed, self._committed_at = Position(), 0.0
        self.unreadable = self.late = self.superseded = self.unwanted = 0
        """How many records were left out: none that this version knows; past their `mend_until`; of an attempt that a
        later request has left behind; of emissions that `wants` does not want."""

    @property
    def position(self) -> Position:
        """How far requests were handed out; what was made of them should be stored together with it."""
        offsets = dict(self._offsets)
        for one in self._ready:  # fetched, or set aside by `gather`
            offsets[one.partition] = min(offsets[one.partition], one.offset)
        return Position(offsets)

    # ------------------------------------------------------------ requests

    def __aiter__(self) -> AsyncIterator[Mending]:
        return self._all() if self._follow else self._to_end()

    async def _all(self) -> AsyncIterator[Mending]:
        while True:
            found = await self.next()
            assert found is not None
            yield found

    async def _to_end(self) -> AsyncIterator[Mending]:
        self._demand_open()
        goal, ended = self._source.goal(), False
        while True:
            while (found := self._take()) is not None:
                yield found
                await self._commit_if_due()
            if ended:
                return
            ended = await goal.reached()
            self._put(await self._source.fetch(0.0 if ended else 0.1))

    async def next(self, seconds: float | None = None) -> Mending | None:
        """The next request; None where there is none for so many seconds."""
        self._demand_open()
        await self._commit_if_due()
        end = None if seconds is None else time.monotonic() + seconds
        while (found := self._take()) is None:
            left = _LONGEST_FETCH if end is None else min(_LONGEST_FETCH, end - time.monotonic())
            fetched = await self._source.fetch(max(0.0, left))
            self._put(fetched)
            if not fetched and end is not None and time.monotonic() >= end:
                return None
        return found

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

    def _put(self, fetched: Sequence[AdmittedRead]) -> None:
        for read in fetched:
            self._offsets[read.partition] = read.offset + 1
            record = _record(read.value)
            if record is None or read.key is None:
                self.unreadable += 1
            elif self._wants is not None and not self._wants(record.emission_id):
                self.unwanted += 1
            else:
                self._note(record)
                key = read.key.decode("utf-8", "replace")
                self._ready.append(Mending(key=key, record=record, partition=read.partition, offset=read.offset))

    def _note(self, record: Request) -> None:
        newest = self._newest.pop(record.emission_id, 0)
        self._newest[record.emission_id] = max(newest, record.attempt)
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
        """Who asks for the next request has done with those before."""
        if self._group is None or time.monotonic() - self._committed_at < _COMMIT_SECONDS:
            return
        try:
            if self.position != self._committed:
                await self.commit()
        except UnreachableError as error:  # what was handed out comes again
            self._committed_at = time.monotonic() + _RETRY_SECONDS
            log.warning("the position could not be committed", group=self._group, error=str(error))

    # ------------------------------------------------------------ open and close

    async def __aenter__(self) -> Self:
        try:
            partitions = await self._source.open()
            position = self._from if self._from is not None else await self._source.committed()
            if position is not None:
                known = {one: position.offsets[one] for one in partitions if position.offsets.get(one)}
                await self._source.seek(known)
                self._offsets = known
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
            if commit and self._group is not None and self.position != self._committed:
                await self.commit()
        finally:
            self._opened = False
            await self._source.close()


def _record(value: bytes | None) -> Request | None:
    try:
        return _decode(value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
