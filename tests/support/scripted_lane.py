"""A broker's worth of make-believe for one lane: a ledger that can fail anywhere, inputs, and a small fold."""

from __future__ import annotations

import asyncio
from ast import literal_eval
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

from sluice.codecs.blocks import Block, Event, EventKind, Output, unseal
from sluice.streams.adjudication.state import MAX_TIMERS
from sluice.topology.engine.lane import Lane
from sluice.topology.kafka.membership import Member, NotAMemberError
from sluice.topology.kafka.polling import Bounds, Fetched
from sluice.topology.kafka.transactions import FencedError, Written

INPUTS = ("emissions", "observations")
POLICY = b'{"toy":true}'


class ToyFold:
    """Echoes each record, remembers them all, and fires a timer per record whose value is `@time` or `~watermark`."""

    name = "toy"
    version = "1 toy"
    form = "state=toy"
    inputs = INPUTS
    outputs = ("admitted",)
    ledger = "ledger"

    def __init__(self) -> None:
        self.folded = 0
        self.broken = False
        self.refuses_adoptions = ""

    def new(self, lane: int, lanes: int) -> Any:
        return SimpleNamespace(seen=[], timers=[], marks=[], policy="", time=0)

    def fold(self, state: Any, block: Block) -> list[Output]:
        self.folded += 1
        if self.broken and block.header.height:
            raise ZeroDivisionError("a bug")
        header, outputs = block.header, []
        fired = [one for one in state.timers if one <= header.time][:MAX_TIMERS]
        fired += [one for one in state.marks if one <= header.watermark][: MAX_TIMERS - len(fired)]
        for one in fired:
            (state.timers if one in state.timers else state.marks).remove(one)
            outputs.append(Output("admitted", b"fired", str(one).encode(), []))
        for event in block.events:
            if event.kind == EventKind.POLICY:
                state.policy = "sha256:" + sha256(event.value or b"").hexdigest()
                continue
            if event.kind in (EventKind.ADOPT, EventKind.GAP, EventKind.LEDGER):
                continue
            value = event.value or b""
            if value[:1] in (b"@", b"~"):
                (state.timers if value[:1] == b"@" else state.marks).append(int(value[1:]))
            state.seen.append((event.source, event.offset, value))
            outputs.append(Output("admitted", event.key, value, [("block", block.hash.encode())]))
        return outputs

    def due(self, state: Any, time: int, watermark: int) -> int:
        return sum(one <= time for one in state.timers) + sum(one <= watermark for one in state.marks)

    def next_due(self, state: Any) -> tuple[int | None, int | None]:
        return min(state.timers, default=None), min(state.marks, default=None)

    def named(self, state: Any, ledger: str = "") -> str:
        return self.version

    def policy_in_force(self, state: Any) -> None:
        return None

    def policy_hash(self, state: Any) -> str:
        return state.policy

    def refuses(self, state: Any, adoption: Event, time: int) -> str:
        return self.refuses_adoptions

    def counters(self, state: Any) -> dict[str, int]:
        return {"seen": len(state.seen)}

    def dump(self, state: Any) -> Iterator[bytes]:
        return iter([repr((state.seen, state.timers, state.marks, state.policy, state.time)).encode()])

    def load(self, chunks: Iterable[bytes]) -> Any:
        seen, timers, marks, policy, time = literal_eval(b"".join(chunks).decode())
        return SimpleNamespace(seen=seen, timers=timers, marks=marks, policy=policy, time=time)

    def event_for(
        self, source: int, offset: int, timestamp: int, headers: Any, key: bytes | None, value: bytes | None
    ) -> Event:
        return Event(EventKind.RECORD, source, offset, timestamp, list(headers), key, value)


class Log:
    """What stands on the make-believe broker: blocks with their outputs, and who may write."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        self.outputs: list[list[Output]] = []
        self.together: list[int] = []  # how many blocks each commit had
        self.owner: object = None

    @property
    def blocks(self) -> list[Block]:
        return [unseal(data) for data in self.records]

    @property
    def values(self) -> list[bytes]:
        """The values of all records that stand in blocks, in order."""
        return [e.value or b"" for block in self.blocks for e in block.events if e.kind == EventKind.RECORD]


class ToyLedger:
    """A ledger whose commits can be held, or fail before or after they are done."""

    def __init__(self, log: Log) -> None:
        self.log, self.begun_by = log, ""
        self.opened = 0
        self.claims: list[tuple[int, bytes]] = []  # each behind how many blocks
        self.refused = False
        self.foreign_claims = 0  # how many of others stand behind ours, to be read
        self.fail_before: list[BaseException] = []
        self.fail_after: list[BaseException] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self._token: object = None

    async def open(self) -> None:
        self.opened += 1
        self._token = self.log.owner = object()

    async def claim(self, value: bytes, member: Member) -> Written | None:
        if self.refused:
            raise NotAMemberError("replaced")
        self.claims.append((len(self.log.records), value))
        return Written(0, None)

    async def blocks(self, start: int | None = None) -> AsyncIterator[tuple[int, bytes]]:
        if self.foreign_claims:
            self.foreign_claims -= 1
            raise FencedError("another worker has claimed the lane since")
        for offset, data in enumerate(self.log.records[start or 0 :], start or 0):
            yield offset, data

    async def write(self, block: bytes, outputs: Sequence[Output]) -> Written:
        return (await self.write_together([(block, outputs)]))[0]

    async def write_together(self, blocks: Sequence[tuple[bytes, Sequence[Output]]]) -> Sequence[Written]:
        await self.gate.wait()
        if self.fail_before:
            raise self.fail_before.pop(0)
        if self._token is None or self.log.owner is not self._token:
            raise FencedError("somebody else")
        self.log.together.append(len(blocks))
        start = len(self.log.records)
        self.log.records += [block for block, _ in blocks]
        self.log.outputs += [list(outputs) for _, outputs in blocks]
        if self.fail_after:
            raise self.fail_after.pop(0)
        return [Written(offset, None) for offset in range(start, len(self.log.records))]

    async def close(self) -> None:
        self._token = None


class ToyInputs:
    """Logs of records that are fetched as soon as a lane has sought."""

    def __init__(self) -> None:
        self.logs: dict[str, list[bytes]] = {topic: [] for topic in INPUTS}
        self.first = dict.fromkeys(INPUTS, 0)
        self.partitions = 2
        self.ids: dict[str, str] = {}  # of the topics; empty where the broker tells none
        self.placed: list[dict[str, int]] = []
        self.lane: Lane | None = None
        self.handed = dict.fromkeys(INPUTS, 0)

    async def bounds(self, lane: int, topics: Sequence[str]) -> Mapping[str, Bounds]:
        return {
            topic: Bounds(self.partitions, self.first[topic], len(self.logs[topic]), self.ids.get(topic, ""))
            for topic in topics
        }

    async def place(self, lane: int, positions: Mapping[str, int]) -> int:
        self.placed.append(dict(positions))
        self.handed = dict(positions)
        asyncio.get_running_loop().call_soon(self.fetch)
        return len(self.placed)

    def send(self, topic: str, *values: bytes) -> None:
        """Appends to an input, and lets the lane have it."""
        self.logs[topic].extend(values)
        self.fetch()

    def fetch(self, most: int = 10**9) -> None:
        """Hands over what has not been handed over yet, one range a topic."""
        if self.lane is None or self.lane.intake.epoch != len(self.placed):
            return
        for topic in INPUTS:
            start, end = self.handed[topic], min(len(self.logs[topic]), self.handed[topic] + most)
            if start < end:
                self.handed[topic] = end
                self.lane.offer(fetched(topic, start, self.logs[topic][start:end], epoch=len(self.placed)))


def fetched(topic: str, start: int, values: Sequence[bytes], *, epoch: int = 1, next: int | None = None) -> Fetched:
    """A range of records with these values, at consecutive offsets."""
    source = INPUTS.index(topic)
    events = [Event(EventKind.RECORD, source, start + place, 1, [], b"k", value) for place, value in enumerate(values)]
    byte_count = sum(len(value) + 1 for value in values)
    return Fetched(topic, 0, epoch, start, start + len(values) if next is None else next, events, byte_count)


class World:
    """A lane with everything around it. `now` is its clock; `options` are the lane's."""

    def __init__(self, log: Log | None = None, inputs: ToyInputs | None = None, **options: Any) -> None:
        self.log, self.inputs, self.fold = log or Log(), inputs or ToyInputs(), ToyFold()
        self.ledger = ToyLedger(self.log)
        self.now = 1_000_000
        self.lane = self.make(**options)

    def make(self, **options: Any) -> Lane:
        """A new lane over the same log and inputs, as another worker would have it."""
        options = {
            "fold": self.fold,
            "ledger": self.ledger,
            "inputs": self.inputs,
            "policy": POLICY,
            "clock": lambda: self.now,
            "max_block_wait": 0.02,
        } | options
        self.lane = self.inputs.lane = Lane(0, 2, **options)
        return self.lane

    @asynccontextmanager
    async def running(self) -> AsyncIterator[World]:
        """The lane's task; ended in order, and any error of it raised, at the end."""
        task = asyncio.create_task(self.lane.run())
        try:
            yield self
            self.lane.stop()
            await asyncio.wait_for(task, 60)
        finally:
            task.cancel()

    async def until(self, true: Callable[[], Any]) -> None:
        """Waits until something is so."""
        async with asyncio.timeout(60):
            while not true():  # noqa: ASYNC110 -- any condition, not one event
                await asyncio.sleep(0.001)

    def read(self, time: int) -> None:
        """Fetch answers come, and the leaders, asked at `time`, say of every input that it ends where it ends."""
        inputs = self.inputs
        for topic in INPUTS:
            self.lane.answered(topic, len(inputs.logs[topic]), time, len(inputs.placed), inputs.handed[topic])
            self.lane.ended(topic, len(inputs.logs[topic]), time)
