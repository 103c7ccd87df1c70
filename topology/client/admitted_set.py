"""The admitted set as one reader knows it: words of the topic and a clock in, changes out.

Pure but for the clock that is handed in. What is past its `valid_until` is not in the set from that instant on; the
*change* that says so waits for a grace, since the lane's own word, or a renewal that is on its way, is the better one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from .changes import (
    CHANGES,
    Admitted,
    AdmittedRecord,
    AnyChange,
    Decayed,
    Renewed,
    read_record,
    valid_until,
)

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
