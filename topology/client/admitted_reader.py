"""The admitted reader: the changes of the admitted set, in order, and the set itself, for as long as it is read.

It reads the topic from its beginning, read_committed: compaction keeps that short, and only so is the set whole after
a restart. What was handed out before the position that it is given is taken in silently. Decays are told though nobody
writes them: while a lane or the broker is down, the reader's clock goes on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Unpack

from ...codecs.errors import DoesNotHoldError
from ..settings.settings import Settings
from .admitted_set import AdmittedRead, AdmittedSet
from .changes import AdmittedRecord, AnyChange
from .ports import Position, demand_there
from .positioned_reader import LONGEST_FETCH, PositionedReader, Reading

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
