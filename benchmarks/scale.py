"""How sluice scales: by partitions and processes on a real Kafka, and by live assertions in one fold.

The first part runs a worker over a preloaded input for every number of partitions, with one process and with two. The
second makes so many assertions live in one lane's state, then measures what an input costs there: a windowed table
whose cost grows with what it holds would not be one. Writes `scaling.json` into `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import gc
import os
import platform
import statistics
import time
from typing import Any

import msgspec
from contestants import sluice
from measuring import measure
from memory import MINUTE, Lane, T, fill, resident
from memory import records as live_records
from report import output, write_section
from rich.console import Console
from rich.table import Table

from sluice.codecs.times import format_time
from sluice.streams.policy.policy import Policy
from sluice.topology.kafka.local_broker import RealBroker

PARTITIONS = (1, 2, 4, 8, 16)
PROCESSES = (1, 2)
BLOCK = 1000
"""Emissions of a measured block, with their evidence 3,000 inputs."""
BLOCKS = 12
"""The median of so many counts: the machine may be doing something else besides."""
console = Console(stderr=True, highlight=False)


def by_partitions(broker: RealBroker, emissions: int) -> list[dict[str, Any]]:
    """A worker's rate for every number of partitions and processes."""
    found: list[dict[str, Any]] = []
    for partitions in PARTITIONS:
        for processes in PROCESSES:
            result = measure(
                sluice(processes),
                broker,
                f"scale{partitions}-{processes}.",
                emissions=emissions,
                partitions=partitions,
                now=format_time(time.time_ns() // 1_000_000),
                tell=lambda *_: None,
            )
            line = {"partitions": partitions, "processes": processes, **msgspec.to_builtins(result)}
            found.append(line)
            said = f"not run: {result.failed}" if result.failed else f"{result.inputs_per_second:,} inputs/s"
            console.print(f"{partitions} partitions, {processes} processes: {said}")
    return found


def by_live(live: int) -> dict[str, Any]:
    """What an input costs in a lane that holds so many live assertions."""
    gc.collect()
    gc.disable()
    before, lane = resident(), Lane(Policy())
    fill(lane, live, f"{live:,} live")
    lane.state.at_rest()
    gc.collect()
    gc.freeze()
    grown, number, spent, at = resident() - before, live, list[float](), T + 11 * MINUTE
    for _ in range(BLOCKS):
        events = [event for one in range(number, number + BLOCK) for event in live_records(one, at)]
        number, at = number + BLOCK, at + 50
        began = time.process_time()
        lane.block(at, events)
        spent.append((time.process_time() - began) / len(events) * 1e6)
    gc.unfreeze()
    gc.enable()
    console.print(f"{live:,} live: {statistics.median(spent):.1f} us an input")
    return {
        "live": live,
        "fold_us_per_input": round(statistics.median(spent), 2),
        "least_us_per_input": round(min(spent), 2),
        "resident_bytes_per_live": round(grown / live),
    }


def section(document: dict[str, Any]) -> str:
    """What `docs/capacity.md` says about scaling."""
    lines = [
        f"{document['at']}, Python {document['python']}, {document['cores']} cores, load {document['load']} at the "
        f"beginning; {document['emissions']:,} emissions.",
        "",
        "| partitions | processes | inputs/s | CPU us/input | peak MB | complete |",
        "| ---: | ---: | ---: | ---: | ---: | --- |",
    ]
    for one in document["partitions"]:
        head = f"| {one['partitions']} | {one['processes']} |"
        if one.get("failed"):
            lines.append(f"{head} | | | not run: {one['failed']} |")
            continue
        whole = "yes" if one.get("complete") else "no"
        lines.append(
            f"{head} {one['inputs_per_second']:,} | {one['cpu_us_per_input']} | {one['peak_mb']:,} | {whole} |"
        )
    lines += ["", "| live assertions | fold, us/input | resident bytes each |", "| ---: | ---: | ---: |"]
    for one in document["live"]:
        lines.append(f"| {one['live']:,} | {one['fold_us_per_input']} | {one['resident_bytes_per_live']:,} |")
    return "\n".join(lines)


def scale(arguments: argparse.Namespace) -> int:
    """Both parts; returns the exit status: 1 where a run failed or lost something."""
    from run import BROKER, CAPACITY

    document: dict[str, Any] = {
        "at": format_time(time.time_ns() // 1_000_000),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "emissions": arguments.emissions,
        "live": [by_live(live) for live in sorted(arguments.live)],
    }
    with RealBroker(heap=1024, properties=BROKER) as broker:
        document["partitions"] = by_partitions(broker, arguments.emissions)
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "scaling.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    if arguments.write_docs:
        write_section(CAPACITY, "scaling", section(document))
    shown = output()
    table = Table("partitions", "processes", "inputs/s", "CPU us/input", "peak MB", title="sluice on one Kafka")
    for one in document["partitions"]:
        names = ("partitions", "processes", "inputs_per_second", "cpu_us_per_input", "peak_mb")
        table.add_row(*(f"{one.get(name, 0):,}" for name in names))
    shown.print(table)
    for one in document["live"]:
        shown.print(", ".join(f"{name} {figure:,}" for name, figure in one.items()))
    return int(any(one.get("failed") or not one.get("complete") for one in document["partitions"]))
