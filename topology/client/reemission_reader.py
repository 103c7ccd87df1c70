"""The reader of re-emission requests: what an emitter is asked to mend, as typed requests (docs/mending.md).

It hands out what can still be answered. Requests past their `mend_until`, of an attempt that a later request has left
behind, and of emissions that are not the caller's, are counted and left out. After a restart without a position the
topic is read from its beginning; answering a request twice does no harm, since the first emission of an attempt stands.
"""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import Any, Final, Unpack

import msgspec

from ...codecs.json_decoding import decoder_of
from ...codecs.records import MissingCheck, ReEmissionRequest, SeenInstead
from ...codecs.times import parse_time
from ..settings.settings import Settings
from .admitted_set import AdmittedRead
from .record_reader import AsyncRecordReader, RecordReading

TOPIC: Final = "re-emission-requests"
QUIET: Final = 1.0
"""Seconds: a lane writes the requests of one emission within a block or a few, some 100 ms apart."""
MOST_ATTEMPTS: Final = 10_000
"""Of so many emissions the newest attempt that was asked for is remembered."""

_LINE_ENDS: Final = {end: f"\\u{end:04x}" for end in (0x7F, 0x85, 0x2028, 0x2029)}

_decode = decoder_of(ReEmissionRequest).decode
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

    topic = TOPIC

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
            record = _decode(read.value or b"")
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
