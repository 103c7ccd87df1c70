"""What a lane has received and not yet put into a block, and how far its inputs have been read.

A *range* (`Fetched`) is what one fetch brought of one partition: the offsets `[start, next)` and the records in them.
Ranges of one partition follow upon one another. One that does not is from before the last seek (its epoch tells, and it
is dropped), or Faust lost one on the way (the lane seeks back).

A *mark* (E, T) says that at T, when its leader was asked for the log's end, the input held nothing at or beyond E
(`ListOffsets`, the high watermark). Once the lane's position has reached E, the input's mark is T; the watermark is the
least mark of all inputs. So records behind an open transaction hold it back. A fetch answer makes no mark: after an
election its high watermark may be older than the truth (KIP-207 guards `ListOffsets` only). Nothing here awaits, reads
the wall clock or decides.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from ...codecs import compiled_core
from ...codecs.blocks import MAX_BYTES, MAX_EVENTS, Event, Source
from ..kafka.polling import HELD_BYTES, Fetched


class Mark(NamedTuple):
    """At `time` (Unix ms) an input held nothing at or beyond the offset `end`."""

    end: int
    time: int


class InputMarks:
    """The marks of one input.

    Invariant: `pending` lies beyond the position that was asked last, and is later than `passed`.
    """

    __slots__ = ("passed", "pending")

    def __init__(self) -> None:
        self.passed: int | None = None
        """The time of the newest mark that the position has reached; None before the first."""
        self.pending: Mark | None = None
        """The mark that the position has not reached yet."""

    def ended(self, end: int, asked: int) -> None:
        """The leader said that the log ends at `end`; it was asked at `asked`.

        Not taken while another mark is under way, or where the clock went back behind the last one.
        """
        if self.pending is None and (self.passed is None or asked > self.passed):
            self.pending = Mark(end, asked)

    def clock_at(self, time: int) -> None:
        """Forgets marks of later than `time`: the clock has gone back since, so they say nothing about now."""
        if self.passed is not None and self.passed > time:
            self.passed = None
        if self.pending is not None and self.pending.time > time:
            self.pending = None

    def is_waiting(self, position: int) -> bool:
        """Whether a mark is under way when all records before `position` have been read: no other is asked for then."""
        self.read_to(position)
        return self.pending is not None

    def read_to(self, position: int) -> int | None:
        """The input's mark when all records before `position` have been read."""
        if self.pending is not None and self.pending.end <= position:
            self.passed, self.pending = self.pending.time, None
        return self.passed


class Watermark:
    """The watermark of one lane, over its inputs, at least one; it never decreases below `start`, that of the last
    block.
    """

    def __init__(self, inputs: Iterable[str], start: int = 0) -> None:
        self._inputs = {name: InputMarks() for name in inputs}
        self.value = start

    def ended(self, topic: str, end: int, asked: int) -> None:
        """As `InputMarks.ended`, for the input `topic`: `end` and `asked` (Unix ms) are its arguments."""
        self._inputs[topic].ended(end, asked)

    def asks(self, positions: Mapping[str, int]) -> list[str]:
        """The inputs whose end is to be asked for, where all before these positions has been read."""
        return [topic for topic, marks in self._inputs.items() if not marks.is_waiting(positions[topic])]

    def at(self, positions: Mapping[str, int], time: int) -> int:
        """The watermark for a block that starts at these positions, at block time `time`; never above that time.

        It never decreases from block to block. Between two it may: a clock that stepped back since takes with it what
        was only asked for under it.
        """
        least = time
        for topic, marks in self._inputs.items():
            marks.clock_at(time)
            passed = marks.read_to(positions[topic])
            if passed is None:
                return min(self.value, time)
            least = min(least, passed)
        self.value = max(self.value, least)
        return min(self.value, time)


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
        """Forgets what waits; only ranges of `epoch`, which names the seek to these `positions`, are taken from now on.

        `blocked` is where the last block ended: less than the position where retention has deleted what lay between.
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
        """The reader has handed on all of an input (`topic`) that lies before an offset, since the seek of `epoch`."""
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
        """A fetch answer said that `topic` ends at `end`, and its log at `high`: more where a transaction is open."""
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
    """Returns the place of the first of `events`, from `at` on, that does not fit into a block, and the bytes before
    it.

    `most` events and `room` bytes still fit.
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
