"""When a lane makes a block, how large it is, and what follows a failure.

`ConcurrencyLimiter` limits how many lanes of a worker make a block at a time. `BlockSizer` makes smaller blocks where
the broker refused one or folding took long. `Failures` says how long a lane pauses and when it gives up. `LaneProgress`
tells a lane that gets on from one that stalls: liveness comes from progress, not from being up.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice
from math import inf
from time import monotonic

import structlog
from aiokafka.errors import KafkaError

from ...codecs.blocks import MAX_EVENTS, Event
from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError
from ..kafka.membership import NotAMemberError
from ..kafka.transactions import FencedError, TooLargeError

MIN_LIMIT = 4
"""So many lanes may always be at it."""
INITIAL_LIMIT = 8.0
VEGAS_ALPHA, VEGAS_BETA = 2.0, 4.0
"""With fewer turns that seem to wait for others there may be more of them; with more than the second, fewer."""
LATE_SECONDS = 1.0
"""A turn that takes longer counts no more: its broker may be away, and no other lane waits for that."""
WINDOW_SECONDS = 60.0
"""The shortest turn of this window and of the one before is what a turn takes that waits for nobody."""


class ConcurrencyLimiter:
    """Who is at it, and who waits. Calls come from one event loop.

    `now` is any clock that only goes forward, in seconds. `first` is how many turns there are at a time to begin with.

    Invariant: nobody is both in `_running` and in `_waiting`.
    """

    def __init__(self, first: float = INITIAL_LIMIT) -> None:
        self._running = dict[Hashable, float]()  # since when
        self._waiting = dict[Hashable, Callable[[], object]]()  # in the order in which they asked
        self._limit = first
        self._window, self._shortest, self._before = 0.0, inf, inf

    @property
    def at_a_time(self) -> int:
        """How many turns there are at a time."""
        return int(self._limit)

    @property
    def waiting(self) -> int:
        """How many lanes wait for theirs."""
        return len(self._waiting)

    def ask(self, who: Hashable, wake: Callable[[], object], now: float) -> bool:
        """Returns whether it is the turn of `who` (at `now`); else calls `wake` once it is. Asking again keeps the
        place.
        """
        if who in self._running:
            return True
        if not self._waiting and self._counted(now) < self.at_a_time:
            self._running[who] = now
            return True
        self._waiting.setdefault(who, wake)
        self._admit(now)  # turns that began long ago count no more
        return who in self._running

    def end(self, who: Hashable, now: float, seconds: float | None = None) -> None:
        """Takes the turn of `who`, or its place in the queue, away at `now`.

        `seconds` is how long its transaction took; None where there was none.
        """
        self._waiting.pop(who, None)
        if self._running.pop(who, None) is not None and seconds is not None:
            self._learn(now, seconds)
        self._admit(now)

    def _admit(self, now: float) -> None:
        """Gives turns to those who have waited longest, as far as there are any."""
        room = self.at_a_time - self._counted(now) if self._waiting else 0
        for who, wake in list(islice(self._waiting.items(), max(room, 0))):
            del self._waiting[who]
            self._running[who] = now
            wake()

    def _counted(self, now: float) -> int:
        return sum(now - since < LATE_SECONDS for since in self._running.values())

    def _learn(self, now: float, seconds: float) -> None:
        """Sizes the number of turns by how long one took."""
        if now - self._window >= WINDOW_SECONDS:
            self._window, self._before, self._shortest = now, self._shortest, inf
        self._shortest = min(self._shortest, seconds)
        if seconds <= 0:
            return
        in_line = self._limit * (1 - min(self._shortest, self._before) / seconds)
        if in_line < VEGAS_ALPHA and self._waiting:  # who waits for no turn learns nothing of how many there could be
            self._limit += 1 / self._limit
        elif in_line > VEGAS_BETA:
            self._limit = max(float(MIN_LIMIT), self._limit - 1 / self._limit)


RETRY_SECONDS = (1.0, 2.0, 5.0)
"""Pauses before the lane takes itself over again, by how often it failed without a block in between."""
FENCED_SECONDS = 5.0
"""A fenced lane waits for the group to say that it has moved. Coming back sooner could fence its rightful owner."""
MAX_FAILURES = 3
"""An error that is not the broker's and comes back so often without a block in between is ours: stop loudly."""
FOLD_SECONDS = 0.1
"""So much processor time a block may take to be folded: the next one holds as many events as fit."""
RELAX_SECONDS = 300.0
"""So long after the last refusal blocks may hold twice as many events again."""

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class StoppedError(DoesNotHoldError):
    """A lane stops because its settings say so: it is not tried again before the worker is."""


class Failures:
    """The failures of one lane, since its last block."""

    def __init__(self) -> None:
        self._count = 0

    def pause_after(self, error: Exception, blocks: int) -> float:
        """Returns how many seconds the lane pauses after `error`, having closed so many blocks since it was taken over.

        Raises:
            SluiceError: the lane must not run; the sentence says why.
            Exception: `error`, where it came back `MAX_FAILURES` times without a block in between.
        """
        before, self._count = self._count, 1 if blocks else self._count + 1
        match error:
            case FencedError():
                log.warning("fenced: another worker has taken this lane over", error=str(error))
                return FENCED_SECONDS
            case NotAMemberError():
                log.warning("not claimed: this worker is no member of its group now", error=str(error))
                return FENCED_SECONDS
            case TooLargeError():
                return 0.0  # the next block is a smaller one: nothing is gained by waiting
            case UnreachableError() | KafkaError() | OSError():  # a TimeoutError is an OSError
                pass
            case SluiceError():
                raise error
            case _:
                if before + 1 >= MAX_FAILURES and not blocks:
                    raise error
                log.error("the lane failed", exc_info=error)
        pause = RETRY_SECONDS[min(before, len(RETRY_SECONDS) - 1)]
        log.warning("the lane takes itself over again", error=str(error) or repr(error), seconds=pause)
        return pause


class BlockSizer:
    """How many events a block may hold: fewer for a while once the broker has refused one with its outputs, and as many
    as are folded in `FOLD_SECONDS`.

    Folding holds up the worker's event loop, and with it the probes. What it takes is measured here, outside of the
    fold; which events a block has stands in the ledger, so the clock decides nothing there.
    """

    def __init__(self) -> None:
        self.events = MAX_EVENTS
        self._since = 0.0
        self._foldable = float(MAX_EVENTS)

    @property
    def most(self) -> int:
        """So many events the next block may hold."""
        return min(self.events, max(1, int(self._foldable)))

    def folded(self, events: int, seconds: float) -> None:
        """A block of so many events was folded in so many seconds of processor time."""
        if events and seconds > FOLD_SECONDS:
            self._foldable = min(self._foldable, max(1.0, events * FOLD_SECONDS / seconds))
        elif 2 * seconds < FOLD_SECONDS and 2 * events >= self._foldable:
            self._foldable = min(float(MAX_EVENTS), 2 * self._foldable)

    @property
    def is_careful(self) -> bool:
        """Whether the broker has refused something not long ago: then each block is committed alone."""
        return self.events < MAX_EVENTS

    def passed(self) -> None:
        """A block was committed."""
        if self.events < MAX_EVENTS and monotonic() - self._since > RELAX_SECONDS:
            self.events, self._since = min(MAX_EVENTS, self.events * 2), monotonic()
            log.info("blocks may be larger again", events=self.events)

    def refused(self, error: TooLargeError, places: Sequence[str], height: int, blocks: int = 1) -> None:
        """A block was refused: the next one holds half as many events.

        `places` are where its records came from, as `topic/partition/offset`, `height` is the block's; both are those
        of all `blocks` that were committed as one.

        Raises:
            DoesNotHoldError: there is nothing left to be halved.
        """
        if len(places) <= 1 and error.records <= 1 and blocks == 1:
            source = places[0] if places else f"block {height}, which holds no record"
            log.error("the broker refuses what this record folds to", source=source, topic=error.topic)
            raise DoesNotHoldError(
                f"the broker refuses what one record folds to, for {error.topic}, as too large",
                path=source,
                expected=f"max.message.bytes of {error.topic} above {error.byte_count}",
                hint="`sluice topics check` tells what the topics should take; raise it, then start the worker again",
            ) from error
        self.events, self._since = max(1, len(places) // (2 * blocks)), monotonic()
        log.warning("closing smaller blocks", events=self.events, refused=len(places), error=str(error))


def place_of(event: Event, inputs: Sequence[str], lane: int) -> str:
    """Where an event came from, as `topic/partition/offset`."""
    return f"{inputs[event.source]}/{lane}/{event.offset}"


def loss(gaps: Sequence[Event], inputs: Sequence[str], lane: int, height: int) -> StoppedError:
    """The sentence for inputs that were deleted before they were read; block `height` has recorded that."""
    return StoppedError(
        "retention has deleted inputs that were not read",
        path=", ".join(place_of(gap, inputs, lane) for gap in gaps),
        expected="to be read from there",
        got=", ".join(f"offset {(gap.value or b'').decode()} as the first that is there" for gap in gaps),
        hint=f"block {height} of the ledger has recorded it; start the worker again to go on from there",
    )


QUIET_SECONDS = 2.0
"""Answers come several times a second; so long without one is still no sign of anything."""


class LaneProgress:
    """When one lane last got on. Times are those of a clock that never goes back, in seconds."""

    def __init__(self, inputs: Iterable[str], clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._moved = clock()
        self._answers = dict.fromkeys(inputs, 0)
        self._answered_at = dict.fromkeys(self._answers, self._moved)
        self._came_at = dict.fromkeys(self._answers, self._moved)
        self.lacking: list[str] = []
        """The inputs of which nothing had come for a while when `behind` was asked last, though there was more."""

    def moved(self) -> None:
        """A block was closed, or read again, or a step of taking over is done."""
        self._moved = self._clock()

    def placed(self) -> None:
        """The inputs were sought: answers are awaited from now on."""
        self._answered_at = dict.fromkeys(self._answered_at, self._clock())

    def answered(self, topic: str, time: int) -> None:
        """The newest answer for an input came at `time`; telling the same one again is no news."""
        if self._answers[topic] != time:
            self._answers[topic] = time
            self._answered_at[topic] = self._clock()

    def came(self, topic: str) -> None:
        """Something of an input has arrived: records, or that there are none."""
        self._came_at[topic] = self._clock()

    def behind(self, wanted: Iterable[str], short: Iterable[str] = (), *, to_do: bool) -> float:
        """Returns for how many seconds the lane has not got on; 0.0 where all is well.

        `wanted` are the inputs for which answers are expected, `short` those that end, by the broker's word, beyond
        what has come of them; `to_do` says whether anything waits to be done.
        """
        now, silent = self._clock(), 0.0
        if not to_do:
            self._moved = now
        expected = frozenset(wanted)
        is_short = expected.intersection(short)
        for topic in self._answered_at:
            if topic not in expected:
                self._answered_at[topic] = now
            if topic not in is_short:
                self._came_at[topic] = now
            silent = max(silent, now - self._answered_at[topic], now - self._came_at[topic])
        self.lacking = [topic for topic, at in self._came_at.items() if now - at > QUIET_SECONDS]
        return max(now - self._moved, silent if silent > QUIET_SECONDS else 0.0)
