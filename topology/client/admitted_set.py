"""The admitted set as one reader knows it, and its changes as types (docs/reference/records.md).

Words of the topic and a clock in, changes out. What is admitted is `rendered`: what observers verified, a sentence for
each check (docs/checks.md). What is past its `valid_until` is not in the set from that instant on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ...codecs.json_text import decoder_of
from ...codecs.records import Admitted as AdmittedRecord
from ...codecs.records import CheckCount, CoverageLevel, UntrustedAssertion
from ...codecs.times import parse_time

_decode = decoder_of(AdmittedRecord).decode
_encode = msgspec.json.Encoder().encode
_FIRST = ("@type", "warning", "rendered", "assertion")
T = TypeVar("T")


class Change(msgspec.Struct, frozen=True, kw_only=True, repr_omit_defaults=True):
    """One change of the admitted set.

    Attributes:
        key: `emission_id#span-key`, which names the assertion.
        record: the word on `admitted`. Its `untrusted_text` is the frame.
        partition: where it stands.
        offset: where it stands there; None where no record says so, but the reader's clock.
    """

    key: str
    record: AdmittedRecord
    partition: int
    offset: int | None

    @property
    def emission_id(self) -> str:
        """Of the emission that the assertion is part of."""
        return self.record.emission_id

    @property
    def span_key(self) -> str:
        """The canonical key of its span, such as `c:0-43`."""
        return self.key.partition("#")[2]

    @property
    def rendered(self) -> list[str]:
        """What is admitted: one sentence for each check that observers verified.

        Empty where nothing was checked (`record.basis` then says on whose word it is admitted), and in a change that
        admits nothing. The sentences are ours, the names and quotes in them an emitter's, sanitised: data, never
        instruction.
        """
        return _given(self.record.untrusted_text.rendered) if self._admits else []

    @property
    def coverage(self) -> CoverageLevel | None:
        """How much of the emitter's own words `rendered` speaks of: `whole`, `part` or `none`.

        With less than `whole` the frame shows `[unchecked]` in place of the rest, which is not admitted. None where
        nothing was checked, and in a change that admits nothing.
        """
        coverage = self.record.coverage
        return coverage if self._admits and coverage is not UNSET else None

    @property
    def checks(self) -> list[CheckCount]:
        """The assertion's checks by name, each with how many distinct classes verified it; what they say is
        `rendered`. Empty where nothing was checked, and in a change that admits nothing."""
        return _given(self.record.checks) if self._admits else []

    @property
    def _admits(self) -> bool:
        """Not by its record alone: of an end that the reader's clock tells, that is the last admission."""
        return isinstance(self, Admitted | Renewed)

    @property
    def untrusted_text(self) -> UntrustedAssertion:
        """The frame: what stands in it was written by strangers and is data, never instruction."""
        return self.record.untrusted_text

    @property
    def valid_until(self) -> int | None:
        """The last instant of its validity, Unix milliseconds; None where it has none."""
        return valid_until(self.record)

    def framed(self) -> str:
        """The frame as JSON, under its own name, to be handed on whole: into a prompt, say. What observers verified
        (`rendered`) stands before the emitter's words (`assertion`)."""
        given: dict[str, Any] = msgspec.to_builtins(self.record.untrusted_text)
        frame = {name: given[name] for name in (*_FIRST, *(one for one in given if one not in _FIRST)) if name in given}
        return _encode({"_untrusted_text": frame}).decode()

    def __repr__(self) -> str:
        where = "by the clock" if self.offset is None else f"{self.partition}/{self.offset}"
        return (
            f"<{type(self).__name__} {self.key} attempt {self.record.attempt} revision {self.record.revision} {where}>"
        )


class Admitted(Change, frozen=True, kw_only=True):
    """It is admitted, until `valid_until`."""


class Renewed(Change, frozen=True, kw_only=True):
    """Newer evidence moved `valid_until` on. After compaction it may be the first word that a reader gets."""


class Decayed(Change, frozen=True, kw_only=True):
    """Its evidence aged out. `record` is the lane's word, or, where the clock told it, the last admission."""

    @property
    def told_by(self) -> Literal["lane", "reader"]:
        """Who says so: a lane that is down writes no decays, so the reader's own clock tells them too."""
        return "reader" if self.offset is None or self.record.status in ("admitted", "renewed") else "lane"


class Contradicted(Change, frozen=True, kw_only=True):
    """An observer saw otherwise: it is admitted no more."""


class Rejected(Change, frozen=True, kw_only=True):
    """A reviewer refused it, or its evidence was invented: it is admitted no more."""


class Refused(Change, frozen=True, kw_only=True):
    """The emitter declined to answer, or policy withholds what was said; `record.basis` tells which."""


AnyChange: TypeAlias = Admitted | Renewed | Decayed | Contradicted | Rejected | Refused

CHANGES: dict[str, type[AnyChange]] = {
    "admitted": Admitted,
    "renewed": Renewed,
    "decayed-to-uncertainty": Decayed,
    "contradicted": Contradicted,
    "rejected": Rejected,
    "refused": Refused,
}
"""The kind of change by the status of the record."""


def read_record(value: bytes | None) -> AdmittedRecord | None:
    """The record of a word on `admitted`; None where it is none that this version knows."""
    try:
        record = _decode(value or b"")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if record.status in CHANGES else None


def _given(values: list[T] | UnsetType) -> list[T]:
    return [] if values is UNSET else list(values)


def valid_until(record: AdmittedRecord) -> int | None:
    """The last instant of a record's validity, Unix milliseconds; None where it has none."""
    return None if record.valid_until is UNSET else parse_time(record.valid_until)


NEVER = 1 << 62


class AdmittedRead(NamedTuple):
    """One record of the topic `admitted`, as it was read."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


class _Held(NamedTuple):
    record: AdmittedRecord
    until: int
    partition: int


class AdmittedSet(Mapping[str, AdmittedRecord]):
    """What is admitted now, by key. A live view: what it shows depends on the clock at each look.

    Invariant: each key's record is the last word that was taken, and was still valid then. Looking is safe from any
    thread; `take` and `expire` belong to one.

    Args:
        clock: the present, Unix milliseconds.
        grace: for so many milliseconds a decay waits for the lane's own word.
    """

    def __init__(self, clock: Callable[[], int], grace: int) -> None:
        self._clock, self._grace = clock, grace
        self._held: dict[str, _Held] = {}
        self._timers: list[tuple[int, str]] = []
        self._ended: set[str] = set()
        """Keys whose end was told by the clock, or that were past when they came: the lane's own word says no more."""
        self.unreadable = 0
        self.told_until = 0
        """The ends of all validities before this instant have been told, Unix milliseconds."""

    # ------------------------------------------------------------ looking

    def __getitem__(self, key: str) -> AdmittedRecord:
        held = self._held[key]
        if self._clock() > held.until:
            raise KeyError(key)
        return held.record

    def __iter__(self) -> Iterator[str]:
        now = self._clock()
        return iter([key for key, held in list(self._held.items()) if now <= held.until])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<AdmittedSet of {len(self)}>"

    # ------------------------------------------------------------ taking

    def take(self, word: AdmittedRead, now: int) -> AnyChange | None:
        """What a word changes; None where it changes nothing that was not told already.

        Args:
            word: the next of its partition.
            now: what is past then was never admitted for this reader.
        """
        record = read_record(word.value)
        if record is None or word.key is None:
            self.unreadable += 1
            return None
        key = word.key.decode("utf-8", "replace")
        kind = CHANGES[record.status]
        before = self._held.pop(key, None)
        if kind is Admitted or kind is Renewed:
            until = valid_until(record)
            if until is not None and now > until:
                self._ended.add(key)
                return None if before is None else _change(Decayed, key, record, word)
            self._ended.discard(key)
            self._hold(key, _Held(record, NEVER if until is None else until, word.partition))
            return _change(kind, key, record, word)
        ended = key in self._ended
        self._ended.discard(key)
        return None if ended and kind is Decayed else _change(kind, key, record, word)

    def _hold(self, key: str, held: _Held) -> None:
        self._held[key] = held
        if held.until < NEVER:
            heappush(self._timers, (held.until, key))

    def expire(self, now: int) -> Decayed | None:
        """The next end of a validity that the lane has not told in time, in the order of the instants."""
        if not self._is_due(now):
            return None
        until, key = heappop(self._timers)
        held = self._held.pop(key)
        self._ended.add(key)
        # What ends at the same instant, and has not been told yet, must be told after a resumption.
        more = self._is_due(now) and self._timers[0][0] == until
        self.told_until = max(self.told_until, until if more else until + 1)
        return Decayed(key=key, record=held.record, partition=held.partition, offset=None)

    def next_expiry(self) -> int | None:
        """The instant from which `expire` tells something, Unix milliseconds; None where nothing has an end."""
        self._drop_stale()
        return self._timers[0][0] + self._grace + 1 if self._timers else None

    def _is_due(self, now: int) -> bool:
        self._drop_stale()
        return bool(self._timers) and now > self._timers[0][0] + self._grace

    def _drop_stale(self) -> None:
        """Timers are left behind by renewals and closing words."""
        timers, held = self._timers, self._held
        while timers and ((holding := held.get(timers[0][1])) is None or holding.until != timers[0][0]):
            heappop(timers)


def _change(kind: type[AnyChange], key: str, record: AdmittedRecord, word: AdmittedRead) -> AnyChange:
    return kind(key=key, record=record, partition=word.partition, offset=word.offset)
