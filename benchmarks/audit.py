"""The audit's rate beside that of the fold alone, in one run, on a ledger like that of `throughput.py`.

    python benchmarks/audit.py [--emissions 35000] [--broker] [--json]

The ledgers of four lanes, their outputs and checkpoints are made here, from the inputs of `throughput.py`, in blocks of
about the size that a lane under load takes. Measured, in inputs a second and microseconds of CPU an input: unsealing,
folding and rooting in a plain loop; the audit of an export; with `--broker` also the audit of the same records from a
real Kafka. Of several runs the best counts, since the machine may be doing something else besides.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import gc
import json
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from throughput import records

from sluice.codecs.blocks import GENESIS, Event, EventKind, Header, Output, Source, outputs_root, seal, unseal
from sluice.codecs.merkle import Frontier
from sluice.codecs.notes import NO_CHECKPOINT, Checkpoint, Head, Signer, leaf_of, origin
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.streams.adjudication import fold as core
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.engine.export_files import AUDITED, LATER, Cut, Range, Stored
from sluice.topology.engine.stored_topics import export
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import create_topics
from sluice.topology.kafka.transactions import LaneProducer
from sluice.topology.settings.settings import Settings

T = 1_790_000_000_000
LANES = 4
FRAME, BLOCK = 250, 2000
"""So many emissions come, then their observations; so many inputs make a block."""
CHECKPOINT = 60
"""A checkpoint every so many blocks."""
SIGNER = Signer("bench", bytes(32))


def events(emissions: int, lane: int) -> Iterator[Event]:
    """The inputs of a lane, in the order in which it takes them."""
    place, now, offsets = PARTITIONERS["murmur2"], format_time(T), [0, 0]
    numbers = [number for number in range(emissions) if place(b"em-%d" % number, LANES) == lane]
    for first in range(0, len(numbers), FRAME):
        found = [record for number in numbers[first : first + FRAME] for record in records(number, now)]
        for source in (0, 1):
            for topic, key, value in found:
                if topic == core.INPUTS[source]:
                    yield Event(EventKind.RECORD, source, offsets[source], T, [], key, value)
                    offsets[source] += 1


class Made:
    """The topics of all lanes, as `Logs`; and by lane, what was written as one."""

    where, lanes, app_id, ledger = "made", LANES, "bench", "ledger"

    def __init__(self, emissions: int) -> None:
        self.topics: dict[tuple[str, int], list[Stored]] = {
            (topic, lane): [] for topic in (*AUDITED, *LATER) for lane in range(LANES)
        }
        self.written: list[list[tuple[bytes, list[Output]]]] = [[] for _ in range(LANES)]
        self.inputs = 0
        for lane in range(LANES):
            self._make(lane, list(events(emissions, lane)))

    def _make(self, lane: int, some: list[Event]) -> None:
        state, tree, previous = core.new_state(lane, LANES), Frontier(), NO_CHECKPOINT
        self.inputs += len(some)
        blocks = [[Event(EventKind.POLICY, 0, 0, T, [], None, DEFAULT_POLICY.document)]]
        blocks += [some[first : first + BLOCK] for first in range(0, len(some), BLOCK)] + [[]]
        prev, root, read = GENESIS, outputs_root(()), [0] * len(core.INPUTS)
        for height, inside in enumerate(blocks):
            first = list(read)
            for event in inside:
                read[event.source] += event.kind == EventKind.RECORD
            header = Header(
                lane=lane,
                lanes=LANES,
                height=height,
                prev=prev,
                time=T + 20 * height,
                watermark=T + 20 * height,
                policy=state.policy_hash or DEFAULT_POLICY.hash,
                fold=core.fold_version(),
                sources=[Source(*one) for one in zip(core.INPUTS, first, read, strict=True)],
                outputs=root,
            )
            block, data = seal(header, inside)
            outputs = core.fold(state, block)
            prev, root, tree = block.hash, outputs_root(outputs), tree.append(leaf_of(block.hash))
            if height % CHECKPOINT == CHECKPOINT - 1 or height == len(blocks) - 1:
                head, name = Head(tree.size, tree.root()), origin("bench", "ledger", lane)
                tips = [head if other == lane else Head() for other in range(LANES)]
                said = Checkpoint(name, head, prev, header.time, previous, tips)
                previous = said.digest
                outputs = [*outputs, Output("checkpoints", name.encode(), SIGNER.sign(said.text()).encode(), [])]
            self.written[lane].append((data, outputs))
            for topic, key, value, headers in (("ledger", None, data, []), *outputs):
                records = self.topics[topic, lane]
                records.append(Stored(len(records), 0, key, value, headers))

    async def range(self, topic: str, lane: int) -> Range:
        return Range(0, len(self.topics[topic, lane]))

    async def cut(self) -> Cut:
        ends = {topic: [len(self.topics[topic, lane]) for lane in range(LANES)] for topic in (*AUDITED, *LATER)}
        return Cut(ends, ends)

    async def batches(
        self, topic: str, lane: int, start: int | None = None, end: int | None = None, *, having: str | None = None
    ) -> AsyncGenerator[list[Stored], None]:
        found = self.topics[topic, lane]
        for first in range(0, len(found), 2000):
            yield found[first : first + 2000]

    async def records(self, topic: str, lane: int, start: int | None = None) -> AsyncGenerator[Stored, None]:
        for record in self.topics[topic, lane]:
            yield record


def measured(inputs: int, began: tuple[float, float]) -> dict[str, float]:
    """A line of the result, from the clocks at the beginning."""
    seconds, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    return {
        "inputs_per_second": round(inputs / seconds),
        "cpu_us_per_input": round(cpu / inputs * 1e6, 2),
        "seconds": round(seconds, 3),
    }


def clocks() -> tuple[float, float]:
    """The time, and this process's."""
    return time.perf_counter(), time.process_time()


def plain(made: Made) -> dict[str, float]:
    """Unsealing, folding and rooting, and nothing else."""
    gc.collect()
    gc.disable()
    began = clocks()
    for lane in range(LANES):
        state = core.new_state(lane, LANES)
        for data, _ in made.written[lane]:
            outputs_root(core.fold(state, unseal(data, in_place=True)))
    found = measured(made.inputs, began)
    gc.enable()
    return found


async def timed(inputs: int, run: Callable[[], Awaitable[Any]]) -> dict[str, float]:
    """An audit, which must hold."""
    gc.collect()
    began = clocks()
    report = await run()
    found = measured(inputs, began)
    assert report.holds, report.divergences[:3]
    assert sum(lane.inputs for lane in report.lanes) == inputs
    assert report.verdict.completeness == "shown"
    return found


async def write(settings: Settings, made: Made) -> None:
    """The records onto a broker, as lanes write them."""
    await create_topics(settings)
    for lane in range(LANES):
        producer = LaneProducer(settings, "bench", lane)
        await producer.open()
        for data, outputs in made.written[lane]:
            await producer.commit(data, outputs)
        await producer.close()


async def run(emissions: int, broker: bool, runs: int, profile: str | None) -> dict[str, Any]:
    """All measurements."""
    made = Made(emissions)
    gc.collect()
    gc.freeze()  # what was made is not a part of what is measured
    results: dict[str, Any] = {"inputs": made.inputs, "blocks": sum(map(len, made.written))}
    results["outputs"] = sum(len(records) for (topic, _), records in made.topics.items() if topic != "ledger")

    def best(found: list[dict[str, float]]) -> dict[str, float]:
        return min(found, key=lambda one: one["cpu_us_per_input"])

    with tempfile.TemporaryDirectory() as folder:
        path, keys = Path(folder) / "export", (SIGNER.verifier,)
        await export(made, path, "now")
        question = AuditRequest(Settings(), path, verifiers=keys)
        if profile is not None:
            profiler = cProfile.Profile()
            profiler.enable()
            await audit(question, "now", collects=True)
            profiler.disable()
            profiler.dump_stats(profile)
            return results
        results["fold alone"] = best([plain(made) for _ in range(runs)])
        results["audit of an export"] = best(
            [await timed(made.inputs, lambda: audit(question, "now", collects=True)) for _ in range(runs)]
        )
    if broker:
        with RealBroker() as kafka:
            settings = Settings(broker=kafka.address, app_id="bench", partitions=LANES)
            await write(settings, made)
            of_broker = AuditRequest(settings, verifiers=keys)
            results["audit from a broker"] = best(
                [await timed(made.inputs, lambda: audit(of_broker, "now", collects=True)) for _ in range(runs)]
            )
    return results


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, default=35_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--broker", action="store_true", help="also from a real Kafka")
    parser.add_argument("--profile", metavar="FILE", help="one audit of the export under cProfile; writes its figures")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args()
    results = asyncio.run(run(arguments.emissions, arguments.broker, arguments.runs, arguments.profile))
    if arguments.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        shown = result if not isinstance(result, dict) else ", ".join(f"{key} {value}" for key, value in result.items())
        print(f"{name}: {shown}")


if __name__ == "__main__":
    sys.exit(main())
