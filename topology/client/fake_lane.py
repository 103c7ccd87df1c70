"""One lane of every fold in memory: the real folds over real blocks, with a clock that somebody else moves.

What stands on its topics can be read like an export (`interfaces.Logs`), so the real auditor audits a fake.
"""

from __future__ import annotations

import bisect
from collections.abc import AsyncGenerator, Sequence

from ...codecs.blocks import Event
from ...streams.policy.policy import Policy
from ...streams.policy.privacy import NO_SECRETS
from ..kafka.input_records import Prepared
from ..kafka.topics import TOPICS
from ..ledger.block_builder import BlockBuilder, NewBlock
from ..ledger.export_files import AUDITED, LATER, Cut, Range, Stored
from ..ledger.folds import folds
from ..ledger.interfaces import Fold


class FakeLane:
    """The only lane of each fold, with ledgers that start with one policy.

    Each fold reads its inputs from the topics; what one writes, another may read. While `is_down`, nobody does.

    Attributes:
        topics: the records of every topic, by its logical name; offsets are those of a log, also after compaction.
    """

    where, lanes, app_id, ledger, secrets = "a fake", 1, "fake", "ledger", NO_SECRETS

    def __init__(self, policy: Policy, start: int) -> None:
        self.topics: dict[str, list[Stored]] = {name: [] for name in TOPICS}
        self.is_down = False
        self._chains = [_Chain(self, fold, policy, start) for fold in folds(secrets=NO_SECRETS)]

    # ------------------------------------------------------------ what happens

    def take(self, record: Prepared, time: int) -> int:
        """An input record comes; returns its offset."""
        self.pass_to(time)
        offset = self.put(record.topic, record.key, record.value, list(record.headers), time)
        self._read(time)
        return offset

    def pass_to(self, time: int) -> None:
        """Time passes: whatever is due meanwhile fires at its instant, a block each."""
        while not self.is_down:
            dues = [(due, number) for number, chain in enumerate(self._chains) if (due := chain.next_due()) is not None]
            if not dues or min(dues)[0] > time:
                return
            due, number = min(dues)
            self._chains[number].settle(due)
            self._read(due)

    def come_back(self, time: int) -> None:
        """The lane runs again: it reads what came meanwhile before it closes anything for lack of evidence."""
        self.is_down = False
        self._read(time, marks=False)
        self.pass_to(time)

    def compact(self, topic: str) -> None:
        """What Kafka's log cleaner does: of each key the last record stays, at its offset."""
        last = {record.key: record.offset for record in self.topics[topic]}
        self.topics[topic] = [record for record in self.topics[topic] if last[record.key] == record.offset]

    def put(self, topic: str, key: bytes | None, value: bytes, headers: list[tuple[str, bytes]], time: int) -> int:
        """A record is stored; returns its offset."""
        offset = self.end(topic)
        self.topics[topic].append(Stored(offset, time, key, value, headers))
        return offset

    def _read(self, time: int, *, marks: bool = True) -> None:
        """Every fold reads what its inputs hold, until none finds anything; `marks`: whether watermarks move."""
        while not self.is_down and any(chain.read(time, marks=marks) for chain in self._chains):
            pass

    # ------------------------------------------------------------ what is there (`interfaces.Logs`)

    def after(self, topic: str, offset: int) -> list[Stored]:
        """The records from an offset on."""
        stored = self.topics[topic]
        return stored[bisect.bisect_left(stored, offset, key=lambda record: record.offset) :]

    def end(self, topic: str) -> int:
        """The offset behind the last record."""
        stored = self.topics[topic]
        return stored[-1].offset + 1 if stored else 0

    def expect(self, topic: str, lane: int) -> None:
        pass  # it is all there

    async def range(self, topic: str, lane: int) -> Range:
        return Range(0, self.end(topic))

    def as_of(self) -> int:
        return max((records[-1].timestamp for records in self.topics.values() if records), default=0)

    async def cut(self) -> Cut:
        ends = {topic: [self.end(topic)] for topic in (*AUDITED, *LATER)}
        return Cut(ends, ends)

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        found = [one for one in self.after(topic, start or 0) if end is None or one.offset < end]
        if found:
            yield found

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        for record in self.after(topic, start or 0):
            yield record


class _Chain:
    """One fold's blocks, made as lanes make them.

    Invariant: block times and watermarks never decrease.
    """

    def __init__(self, lane: FakeLane, fold: Fold, policy: Policy, start: int) -> None:
        self._lane, self._fold = lane, fold
        self._builder = BlockBuilder(fold, 0, 1, policy.hash)
        self._time = self._mark = start
        self._store(self._builder.start(start, policy.document))

    def read(self, time: int, *, marks: bool) -> bool:
        """Takes in what its inputs hold; whether there was anything."""
        events = [
            self._fold.event_for(number, one.offset, one.timestamp, one.headers, one.key, one.value)
            for number, topic in enumerate(self._fold.inputs)
            for one in self._lane.after(topic, self._builder.position(topic))
        ]
        if events:
            self._close(time, time if marks else self._mark, events)
            self._finish()
        return bool(events)

    def next_due(self) -> int | None:
        """The instant at which something fires; watermarks go with time."""
        dues = self._fold.next_due(self._builder.state)
        found = [due for due in dues if due is not None]
        return max(min(found), self._time) if found else None

    def settle(self, time: int) -> None:
        """Lets fire what is due at this instant."""
        self._close(time, time, ())
        self._finish()

    def _finish(self) -> None:
        """Closes empty blocks until nothing is due at this instant."""
        while self._fold.due(self._builder.state, self._time, self._mark):
            self._close(self._time, self._mark, ())

    def _close(self, time: int, mark: int, events: Sequence[Event]) -> None:
        self._time, self._mark = max(self._time, time), max(self._mark, mark)
        self._store(self._builder.add(self._time, self._mark, events))

    def _store(self, made: NewBlock) -> None:
        self._lane.put(self._fold.ledger, None, made.data, [], self._time)
        for output in made.outputs:
            self._lane.put(output.topic, output.key, output.value, output.headers, self._time)
