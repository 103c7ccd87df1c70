"""Memory and restarts: bytes of a live assertion, a simulated day, and a million assertions back from a snapshot.

`.venv/bin/python benchmarks/memory.py [--live N] [--day EMISSIONS_PER_SECOND] [--json]`. One fold in this process, no
broker: blocks of 4,000 records. A live assertion is one that is admitted on evidence of two classes, without checks;
each is an emission of its own with another sentence (workload.py), whose bytes are taken off. The day
runs 24 hours of block time with a window short enough to fill (`max_validity` below), so memory
must stop growing once it has.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import track
from workload import sentence_of

from sluice.codecs.blocks import GENESIS, Block, Event, EventKind, Header, Source
from sluice.streams.adjudication import fold as core
from sluice.streams.adjudication import snapshot
from sluice.streams.policy.policy import Admissibility, Policy
from sluice.topology.engine.chain import ChainHead
from sluice.topology.engine.snapshots import SnapshotStore, read_chunks

T = 1_790_000_000_000
MINUTE = 60_000
CLASSES = ("substrate.code.read", "substrate.git.log")
console = Console(stderr=True)


class Lane:
    """One fold, fed with blocks that are not sealed: hashes are not what is measured."""

    def __init__(self, policy: Policy) -> None:
        self.state = core.new_state(0, 1)
        self._height = 0
        self.block(T, [Event(EventKind.POLICY, 0, 0, T, [], None, policy.document)])

    def block(self, time: int, events: list[Event]) -> None:
        """Folds a block whose watermark is its time."""
        sources = [Source(topic, 0, 0) for topic in core.INPUTS]
        header = Header(
            lane=0, lanes=1, height=self._height, prev=GENESIS, time=time, watermark=time, policy="", fold="",
            sources=sources, outputs="",
        )  # fmt: skip
        self._height += 1
        core.fold(self.state, Block(header, events, GENESIS))


def records(number: int, at: int) -> Iterator[Event]:
    """An emission with one assertion, and evidence of two classes."""
    key, text, seen = f"em-{number:08x}", sentence_of(number), f"sha256:{number:064x}"
    span = {"chars": [0, len(text)]}
    notes = [{"substrate_class": name, "observation_id": seen, "ts": at} for name in CLASSES]
    emission = {
        "emission_id": key,
        "emitted_at": at,
        "emitter": {"system": "release-notes-bot"},
        "text": text,
        "assertions": [{"span": span, "provenance": notes}],
    }
    yield core.event_for(0, 0, at, [], key.encode(), msgspec.json.encode(emission))
    for name in CLASSES:
        observation = {
            "observation_id": seen,
            "substrate_class": name,
            "observed_at": at,
            "observer": "observer-2",
            "subject": {"emission_id": key, "span": span},
            "outcome": "corroborates",
        }
        yield core.event_for(1, 0, at, [], key.encode(), msgspec.json.encode(observation))


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(lane: Lane, live: int, label: str) -> None:
    """Makes so many assertions live, and lets their pending times pass."""
    events: list[Event] = []
    for number in track(range(live), label, console=console, disable=not console.is_terminal):
        events += records(number, T)
        if len(events) >= 4000:
            lane.block(T, events)
            events = []
    lane.block(T, events)
    lane.block(T + 11 * MINUTE, [])  # the horizon has passed: its timers are gone
    assert lane.state.live == live


def per_assertion(live: int) -> dict[str, float]:
    """Bytes of a live assertion, by the allocator's own count and by what the process grew."""
    before, lane = resident(), Lane(Policy())  # first: what is freed later is not given back
    fill(lane, live, "resident")
    lane.state.at_rest()
    gc.collect()
    texts = sum(len(sentence_of(number)) for number in range(live)) / live
    grown = (resident() - before) / live - texts
    del lane
    gc.collect()
    tracemalloc.start()
    lane = Lane(Policy())
    fill(lane, live, "traced")
    lane.state.at_rest()
    gc.collect()
    traced = tracemalloc.get_traced_memory()[0] / live - texts
    tracemalloc.stop()
    return {"traced": round(traced), "resident": round(grown)}


def restart(live: int) -> dict[str, float]:
    """Seconds to write a snapshot of so many live assertions, and to be ready from it."""
    lane = Lane(Policy())
    fill(lane, live, "restart")
    with tempfile.TemporaryDirectory() as folder:
        store = SnapshotStore(Path(folder), 0, 1, "bench")
        began = time.perf_counter()
        chunks = snapshot.dump(lane.state)
        frozen = time.perf_counter() - began
        store.write(ChainHead(height=1), 0, chunks)
        written = time.perf_counter() - began
        del lane, chunks
        gc.collect()
        ((path, facts),) = store.found()
        size, began = path.stat().st_size, time.perf_counter()
        state = snapshot.load(read_chunks(path, facts))
        loaded = time.perf_counter() - began
        assert state.live == live
    return {
        "live": live,
        "megabytes": round(size / 1e6),
        "stops_the_lane_seconds": round(frozen, 3),
        "written_seconds": round(written, 2),
        "ready_seconds": round(loaded, 2),
    }


def day(rate: int) -> list[dict[str, float]]:
    """Memory at every second hour of a day of `rate` emissions a second.

    To be done within minutes, only every hundredth emission is made, and the window is ten minutes: what is live is
    what `rate / 100` leaves in ten minutes, and must stay that.
    """
    rules = Admissibility(
        max_validity=20 * MINUTE, horizon=MINUTE, window=dict.fromkeys(Policy().admissibility.window, 10 * MINUTE)
    )
    lane, number, found = Lane(Policy(admissibility=rules)), 0, list[dict[str, float]]()
    per_step = max(1, rate * 10 // 100)
    for step in track(range(24 * 360), "a day", console=console, disable=not console.is_terminal):
        at, events = T + step * 10_000, list[Event]()
        for _ in range(per_step):
            events += records(number, at)
            number += 1
        lane.block(at, events)
        if step % 720 == 719:
            gc.collect()
            found.append({"hour": (step + 1) // 360, "live": lane.state.live, "resident_mb": round(resident() / 1e6)})
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--live", type=int, default=1_000_000, help="live assertions for the restart")
    parser.add_argument("--day", type=int, default=1000, metavar="RATE", help="emissions a second of the simulated day")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    arguments = parser.parse_args()
    gc.disable()
    results = {
        "bytes_per_live_assertion": per_assertion(100_000),
        "restart": restart(arguments.live),
        "day": day(arguments.day) if arguments.day else [],
    }
    if arguments.json:
        print(json.dumps(results))
        return
    for name, result in results.items():
        for line in result if isinstance(result, list) else [result]:
            print(f"{name}: " + ", ".join(f"{key} {value:,}" for key, value in line.items()))


if __name__ == "__main__":
    sys.exit(main())
