"""What a lane has received and not yet put into a block: ranges in, events of the next block out.

A *range* (`Fetched`) is what one fetch brought of one partition: the offsets `[start, next)` and the records in them.
Where the broker gives no record for an offset of the range (a transaction marker, a compacted or aborted record), none
is there. Ranges of one partition follow upon one another. One that does not is from before the last seek (its epoch
tells, and it is dropped), or Faust lost one on the way (the lane seeks back). Where the lost one was the last of its
input, no other one tells: so the reader says how far it has handed the input on, and what is not here a while later is
lost too.

Nothing here awaits or knows a broker, and nothing is decided here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from time import monotonic

from ...codecs import compiled_core
from ...codecs.blocks import MAX_BYTES, MAX_EVENTS, Event, Source
from ..kafka.fetched import HELD_BYTES, Fetched

LOST_SECONDS, MOST_LOST_SECONDS = 5.0, 40.0
"""What was handed on is lost where it is not here so long after; twice as long, up to the second, where something was
taken for lost a little while before: it may only be slow."""
RELAPSE_SECONDS = 60.0
FRAMING, HEADER_FRAMING = 40, 6
"""Bytes of an event beside key, value and headers, and of a header beside name and value, about."""


class Intake:
    """The queue before one lane.

    Invariant: `positions` name the first offset of each input that is neither in a block nor given up as empty; the
    ranges in the queue continue exactly there.
    """

    def __init__(self, inputs: Sequence[str]) -> None:
        self.inputs = tuple(inputs)
        self.positions: dict[str, int] = dict.fromkeys(self.inputs, 0)
        self.epoch = -1
        self.most = MAX_EVENTS
        """So many events make a block full: fewer after the broker has refused one."""
        self.count = 0
        self.byte_count = 0.0
        """Of all that waits, about: a range's bytes are taken as spread evenly over its records."""
        self.since = 0.0
        """`time.monotonic()` when the oldest waiting record came."""
        self._ranges: deque[Fetched] = deque()
        self._done = 0  # records of the first range that are in a block already
        self._ends = dict.fromkeys(self.inputs, 0)
        self._logged = dict(self._ends)
        self._blocked = dict(self.positions)  # positions as of the last block
        self._received = dict(self.positions)
        self._held = dict.fromkeys(self.inputs, 0)
        self._handed = dict(self.positions)
        self._owed = dict[str, float]()  # by input that lacks what was handed on, since when
        self._patience, self._lost_at = LOST_SECONDS, -RELAPSE_SECONDS

    def restart(self, epoch: int, positions: Mapping[str, int], blocked: Mapping[str, int]) -> None:
        """Forgets what waits; only ranges of `epoch`, from these positions on, are taken from now on.

        Args:
            epoch: names the seek to these positions.
            positions: the next offset to read, by input.
            blocked: where the last block ended; less than the position where retention has deleted what lay between.
        """
        self.positions = {name: positions[name] for name in self.inputs}
        self._blocked = {name: blocked[name] for name in self.inputs}
        self._received = dict(self.positions)
        self._held = dict.fromkeys(self.inputs, 0)
        self._handed = dict(self.positions)
        self._owed.clear()
        self._ranges.clear()
        self.epoch, self.count, self.byte_count, self._done = epoch, 0, 0.0, 0

    def on_its_way(self, fetched: Fetched) -> None:
        """A range has left the fetcher: from here on it counts as held."""
        if fetched.epoch == self.epoch:
            self._held[fetched.topic] += _weight(fetched)
            self.handed(fetched.topic, fetched.epoch, fetched.next)

    def handed(self, topic: str, epoch: int, offset: int) -> None:
        """The reader has handed on all of an input that lies before an offset, since the seek of `epoch`."""
        if epoch == self.epoch and offset > self._handed[topic]:
            self._handed[topic] = offset
            if offset > self._received[topic]:
                self._owed.setdefault(topic, monotonic())

    @property
    def lost_in(self) -> float | None:
        """Seconds until what was handed on and is not here counts as lost; None where nothing is missing."""
        return min(self._owed.values()) + self._patience - monotonic() if self._owed else None

    def lost(self) -> dict[str, int]:
        """The inputs of which something was handed on and is lost, with its first offset: the caller has to seek."""
        now = monotonic()
        found = {topic: self._received[topic] for topic, at in self._owed.items() if now - at >= self._patience}
        if found:
            relapsed = now - self._lost_at < RELAPSE_SECONDS
            self._patience = min(2 * self._patience, MOST_LOST_SECONDS) if relapsed else LOST_SECONDS
            self._lost_at = now
        return found

    def is_short(self, topic: str) -> bool:
        """Whether the broker is known to hold something of an input that has not arrived here."""
        return self._ends[topic] > self._received[topic]

    def ended(self, topic: str, end: int, high: int = 0) -> None:
        """A fetch answer said that the input ends at `end`, and its log at `high`: more where a transaction is open."""
        self._ends[topic], self._logged[topic] = end, max(end, high)

    def offer(self, fetched: Fetched) -> bool:
        """Takes a range in.

        Returns:
            False where the range starts beyond what has been received of its input: one before it was lost, and the
            caller has to seek back. A range from before the last seek is dropped without a word.
        """
        if fetched.epoch != self.epoch:
            return True
        received = self._received[fetched.topic]
        if fetched.start > received:
            return False
        if fetched.next <= received:
            self._held[fetched.topic] -= _weight(fetched)
            return True
        if fetched.start < received:
            self._held[fetched.topic] -= _weight(fetched)
            rest = [event for event in fetched.events if event.offset >= received]
            fetched = fetched._replace(start=received, events=rest)
            self._held[fetched.topic] += _weight(fetched)
        self._received[fetched.topic] = fetched.next
        if fetched.topic in self._owed:
            if fetched.next >= self._handed[fetched.topic]:
                del self._owed[fetched.topic]
            else:
                self._owed[fetched.topic] = monotonic()
        if not self.count:
            self.since = monotonic()
        self.count += len(fetched.events)
        self.byte_count += _weight(fetched)
        self._ranges.append(fetched)
        if self.count == len(fetched.events) == 0:
            self._skip_empty()
        return True

    @property
    def full(self) -> bool:
        """Whether what waits fills a block."""
        return self.count >= self.most or self.byte_count >= MAX_BYTES

    @property
    def more_is_there(self) -> bool:
        """Whether the broker is known to hold records that have not arrived here."""
        return any(map(self.is_short, self.inputs))

    def wants(self, topic: str) -> bool:
        """Whether an input may be fetched further."""
        return self.epoch >= 0 and self._held[topic] < HELD_BYTES

    @property
    def held(self) -> int:
        """Bytes that wait here or are on their way."""
        return sum(self._held.values())

    @property
    def lag(self) -> Mapping[str, int]:
        """How many offsets of each input are known to be there, and in no block, also behind an open transaction."""
        return {name: max(0, end - self._blocked[name]) for name, end in self._logged.items()}

    @property
    def blocked(self) -> Mapping[str, int]:
        """Where the last block ended, by input."""
        return self._blocked

    def take(self) -> list[Event]:
        """The events of the next block, in the order in which they came: as many as one block holds.

        At least one where any waits, however large: a single record larger than a block stands alone. Moves the
        positions; `sources` then says how far.
        """
        events, ranges = list[Event](), self._ranges
        byte_count, room = 0, self.most
        while ranges and room:
            fetched = ranges[0]
            at = self._done
            end, size = count_that_fits(fetched.events, at, room, MAX_BYTES - byte_count)
            if end == at < len(fetched.events) and not events:
                end, size = at + 1, MAX_BYTES
            events += fetched.events[at:end]
            byte_count, room = byte_count + size, room - (end - at)
            if fetched.events:
                self.byte_count -= _weight(fetched) * (end - at) / len(fetched.events)
            self.count -= end - at
            if end < len(fetched.events):
                self.positions[fetched.topic] = fetched.events[end].offset
                self._done = end
                break
            self._drop_first()
        self._skip_empty()
        if not self.count:
            self.byte_count = 0.0
        self.since = monotonic()
        return events

    def sources(self) -> list[Source]:
        """How far each input has been read since the last block; the next block begins there."""
        blocked = self._blocked
        sources = [Source(name, blocked[name], self.positions[name]) for name in self.inputs]
        self._blocked = dict(self.positions)
        return sources

    def _drop_first(self) -> None:
        fetched = self._ranges.popleft()
        self._done = 0
        self.positions[fetched.topic] = fetched.next
        self._held[fetched.topic] -= _weight(fetched)

    def _skip_empty(self) -> None:
        while self._ranges and not self._ranges[0].events:
            self._drop_first()


def count_that_fits(events: Sequence[Event], at: int, most: int, room: int) -> tuple[int, int]:
    """How far from `at` on events fit into a block: the first that does not, and the bytes of those before it.

    Args:
        events: in order.
        at: the first.
        most, room: so many, and so many bytes, a block still takes.
    """
    if compiled_core.codecs is not None and isinstance(events, list):
        return compiled_core.codecs.portion(events, at, most, room, FRAMING, HEADER_FRAMING)
    byte_count, last = 0, min(len(events), at + most)
    for place in range(at, last):
        event = events[place]
        size = FRAMING + len(event.key or b"") + len(event.value or b"")
        size += sum(HEADER_FRAMING + len(name) + len(content) for name, content in event.headers)
        if byte_count + size > room:
            return place, byte_count
        byte_count += size
    return last, byte_count


def _weight(fetched: Fetched) -> int:
    """Bytes of memory, about: a record without any takes some too, and millions of them must not pass for nothing."""
    return fetched.byte_count + FRAMING * len(fetched.events)
