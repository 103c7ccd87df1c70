"""The judge: reads all topics as any reader of committed records would, and counts what is lost and what is doubled.

Inputs are held against the load's own books by the number that each record carries; blocks against the inputs; outputs
against the blocks of both ledgers folded anew, byte for byte and in order.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import takewhile
from time import monotonic
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from lanes_on_kafka import OUTPUTS

from sluice.codecs.blocks import GENESIS, Block, EventKind, outputs_root, unseal
from sluice.codecs.errors import DoesNotHoldError
from sluice.streams.adjudication import fold as core
from sluice.streams.attestations import framing
from sluice.topology.audit.report import Report
from sluice.topology.settings.settings import Settings, bootstrap

from .load import NUMBER, Load

INPUTS = (*core.INPUTS, *framing.INPUTS)
TOPICS = (*INPUTS, "ledger", "frame-ledger", "grounded", *OUTPUTS)
SETTLE_SECONDS = 40.0
"""An open transaction of a killed worker is aborted after its time-out (8 s), in the broker's next round (10 s)."""


LOOK_SECONDS = 1.0


class Reader:
    """All committed records of all topics, read on and on; `found[topic][partition]` has them in order."""

    def __init__(self, settings: Settings) -> None:
        self._prefix, self._address = settings.topic_prefix, bootstrap(settings)
        self._places = [
            TopicPartition(self._prefix + topic, number) for topic in TOPICS for number in range(settings.partitions)
        ]
        self.found: dict[str, list[list[Any]]] = {topic: [[] for _ in range(settings.partitions)] for topic in TOPICS}
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=self._address,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=5_000_000,
            fetch_max_wait_ms=50,
        )

    async def __aenter__(self) -> Reader:
        await self._consumer.start()
        self._consumer.assign(self._places)
        await self._consumer.seek_to_beginning(*self._places)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def _more(self) -> int:
        got = await self._consumer.getmany(timeout_ms=200)
        for place, batch in got.items():
            some = [one for one in batch if one.key != b"claim"]  # between a ledger's blocks
            self.found[place.topic.removeprefix(self._prefix)][place.partition] += some
        return len(got)

    async def until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Reads until something is true of what was found; False where it is not after so long."""
        end = monotonic() + seconds
        while True:
            look_at = monotonic() + LOOK_SECONDS  # lanes may write without end: what is admitted decays
            while await self._more() and monotonic() < look_at:
                pass
            if holds():
                return True
            if monotonic() > end:
                return False

    async def to_end(self, seconds: float = SETTLE_SECONDS) -> bool:
        """Reads until nothing is hidden behind an open transaction any more, and all is read that the call found there.

        The broker is asked for the ends: those that fetches told are as old as each partition's last fetch, and with
        them the outputs of a block could be read, and the block not.
        """
        async with asyncio.timeout(seconds + 60):
            ends = await self._ends()
            end = monotonic() + seconds
            while monotonic() < end:
                await self._more()
                if all([await self._consumer.position(place) >= high for place, high in ends.items()]):
                    return True
        return False

    async def _ends(self) -> dict[TopicPartition, int]:
        """The high watermarks as of now. A reader of committed records would be told how far it can read instead."""
        asking = AIOKafkaConsumer(bootstrap_servers=self._address, isolation_level="read_uncommitted")
        await asking.start()
        try:
            return await asking.end_offsets(self._places)
        finally:
            await asking.stop()


def is_settled(found: dict[str, list[list[Any]]], acknowledged: int) -> bool:
    """Whether every input, and of them at least as many as were acknowledged, has had its block or output."""
    if sum(len(records) for topic in INPUTS for records in found[topic]) < acknowledged:
        return False
    for ledger, inputs in (("ledger", core.INPUTS), ("frame-ledger", framing.INPUTS)):
        for lane, blocks in enumerate(found[ledger]):
            if not blocks:
                return False
            positions = {source.topic: source.next for source in unseal(blocks[-1].value).header.sources}
            if any(found[topic][lane] and positions[topic] <= found[topic][lane][-1].offset for topic in inputs):
                return False
    return True


def _is_framing(headers: Iterable[tuple[str, bytes]]) -> bool:
    return dict(reversed(list(headers)))["sluice-source"].startswith(b"attestations/")


# ---------------------------------------------------------------- judging


class Verdict(NamedTuple):
    """What a run came to. `complaints` says in sentences what `lost` and `doubled` count."""

    lost: int
    doubled: int
    complaints: list[str]
    figures: dict[str, int]


class Counts:
    """Lost and doubled so far, with a sentence for each place where any was."""

    def __init__(self) -> None:
        self.lost = self.doubled = 0
        self.complaints: list[str] = []

    def add(self, lost: int, doubled: int, what: str) -> None:
        if lost or doubled:
            self.lost, self.doubled = self.lost + lost, self.doubled + doubled
            self.complaints.append(f"{what}: {lost} lost, {doubled} doubled")

    def compare(self, wanted: Sequence[Hashable], written: Sequence[Hashable], what: str) -> None:
        """Counts what is missing from, and what is too much in, a sequence; what stands elsewhere is both."""
        if wanted == written:
            return
        must, is_ = Counter(wanted), Counter(written)
        lost, doubled = (must - is_).total(), (is_ - must).total()
        if not lost and not doubled:
            lost = doubled = sum(one != other for one, other in zip(wanted, written, strict=True))
            what += " (order)"
        equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(wanted, written, strict=False)))
        self.add(lost, doubled, f"{what}, from place {equal} of {len(wanted)} wanted and {len(written)} written")


def judge(settings: Settings, found: dict[str, list[list[Any]]], load: Load) -> Verdict:
    """The verdict on all that was found.

    Args:
        settings: how many lanes there are.
        found: of a `Reader` that has read to the end.
        load: with its books complete.
    """
    counts, blocks, outputs = Counts(), 0, 0
    _judge_inputs(counts, found, load)
    for lane in range(settings.partitions):
        written = {topic: [_content(one) for one in found[topic][lane]] for topic in OUTPUTS}
        framed = [one for one in written["dead-letters"] if _is_framing(one[2])]
        written["dead-letters"] = [one for one in written["dead-letters"] if not _is_framing(one[2])]
        frames = {"grounded": [_content(one) for one in found["grounded"][lane]], "dead-letters": framed}
        lanes = settings.partitions
        for ledger, inputs, fold, state, its_own in (
            ("ledger", core.INPUTS, core.fold, core.new_state(lane, lanes), written),
            ("frame-ledger", framing.INPUTS, framing.fold, framing.State(lane, lanes, settings.partitioner), frames),
        ):
            chain = [unseal(one.value) for one in found[ledger][lane]]
            _judge_chain(counts, chain, lane)
            _judge_blocks(counts, chain, {topic: found[topic][lane] for topic in inputs}, lane)
            _judge_outputs(counts, chain, its_own, fold, state)
            blocks, outputs = blocks + len(chain), outputs + sum(map(len, its_own.values()))
    inputs = sum(len(records) for topic in INPUTS for records in found[topic])
    figures = {"inputs": inputs, "blocks": blocks, "outputs": outputs}
    figures |= {topic: sum(map(len, found[topic])) for topic in ("grounded", *OUTPUTS)}
    return Verdict(counts.lost, counts.doubled, counts.complaints, figures)


def compare_with_audit(report: Report, verdict: Verdict) -> list[str]:
    """What `sluice audit` says otherwise than the judge, in sentences: it recomputes the same ledgers on its own."""
    complaints = [f"audit: {one.kind} at {one.place}: {one.sentence}" for one in report.divergences]
    blocks = sum(lane.chain for lane in (*report.lanes, *report.frame))
    if blocks != verdict.figures["blocks"]:
        complaints.append(f"audit: it counts {blocks} blocks, and the judge {verdict.figures['blocks']}")
    return complaints


def _content(record: Any) -> tuple[bytes | None, bytes | None, tuple[tuple[str, bytes], ...]]:
    return record.key, record.value, tuple(record.headers)


def _judge_inputs(counts: Counts, found: dict[str, list[list[Any]]], load: Load) -> None:
    """What was acknowledged is there once, where the broker said; what was aborted is nowhere."""
    there: Counter[int] = Counter()
    elsewhere = 0
    for topic in INPUTS:
        for lane, records in enumerate(found[topic]):
            for record in records:
                number = int(dict(record.headers)[NUMBER])
                there[number] += 1
                place = load.acknowledged.get(number)
                elsewhere += place is not None and place[2] >= 0 and place != (topic, lane, record.offset)
    missing = sum(number not in there for number in load.acknowledged)
    twice = sum(count - 1 for count in there.values())
    counts.add(missing, twice, "acknowledged inputs in their topics")
    counts.add(elsewhere, elsewhere, "acknowledged inputs at the offsets that were acknowledged")
    counts.add(0, sum(number in there for number in load.aborted), "aborted inputs")


def _judge_chain(counts: Counts, chain: list[Block], lane: int) -> None:
    """Heights have no gap, and each block names the one before."""
    height, prev, time, mark = 0, GENESIS, 0, 0
    for block in chain:
        header = block.header
        where = f"ledger of lane {lane} at height {header.height}"
        counts.add(max(0, header.height - height), int(header.height < height), where)
        if header.prev != prev and header.height == height:
            counts.add(1, 1, f"{where}: it continues another block")
        if header.time < time or header.watermark < mark or header.lane != lane:
            counts.add(1, 1, f"{where}: time, watermark or lane")
        height, prev, time, mark = header.height + 1, block.hash, header.time, header.watermark


def _judge_blocks(counts: Counts, chain: list[Block], inputs: dict[str, list[Any]], lane: int) -> None:
    """Every input stands in exactly one block, in order, with its bytes."""
    taken: dict[str, list[Any]] = {topic: [] for topic in inputs}
    for block in chain:
        for event in block.events:
            if event.kind in (EventKind.RECORD, EventKind.OVERSIZE):
                content = None if event.kind == EventKind.OVERSIZE else (event.key, event.value, tuple(event.headers))
                taken[block.header.sources[event.source].topic].append((event.offset, content))
            elif event.kind == EventKind.GAP:
                counts.add(1, 0, f"lane {lane}: a gap at height {block.header.height}")
    for topic, records in inputs.items():
        wanted = [(one.offset, None if _is_oversize(one) else _content(one)) for one in records]
        counts.compare(wanted, taken[topic], f"inputs of lane {lane} in its blocks: {topic}")


def _is_oversize(record: Any) -> bool:
    return core.event_for(0, 0, 0, list(record.headers), record.key, record.value).kind == EventKind.OVERSIZE


def _judge_outputs(
    counts: Counts, chain: list[Block], written: dict[str, list[Any]], fold: Callable[..., Any], state: Any
) -> None:
    """Outputs are what the blocks fold to; each header names the root of the outputs before it."""
    lane, root = state.lane, outputs_root(())
    wanted: dict[str, list[Any]] = {topic: [] for topic in written}
    for block in chain:
        if block.header.outputs != root:
            counts.add(1, 1, f"ledger of lane {lane} at height {block.header.height}: root of the outputs before")
        try:
            outputs = fold(state, block)
        except DoesNotHoldError as error:
            counts.add(1, 0, f"ledger of lane {lane} at height {block.header.height}: {error}")
            break
        root = outputs_root(outputs)
        for output in outputs:
            wanted[output.topic].append((output.key, output.value, tuple(output.headers)))
    for topic in written:
        counts.compare(wanted[topic], written[topic], f"outputs of lane {lane}: {topic}")
