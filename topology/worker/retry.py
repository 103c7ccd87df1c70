"""What a lane does about its failures: how long it pauses, when it gives up, and when it makes smaller blocks.

Nothing here awaits or writes. A failure either becomes a pause, after which the lane takes itself over again, or it is
raised: then somebody has to look.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

import structlog
from aiokafka.errors import KafkaError

from ...codecs.blocks import MAX_EVENTS, Event
from ...codecs.errors import DoesNotHoldError, SluiceError, UnreachableError
from ..kafka.claiming import NotAMemberError
from ..kafka.transactions import FencedError, TooLargeError

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
        """How many seconds the lane pauses.

        Args:
            error: what has ended it.
            blocks: how many it had closed since it was taken over.

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

        Args:
            error: what was too large.
            places: where the block's records came from, as `topic/partition/offset`.
            height: the block's.
            blocks: of how many blocks, to be committed as one, the records and the last height are.

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
