"""How long a worker takes to come back without a snapshot: `run.py --restore [INPUTS]…`.

Writes so many inputs through a real ledger, ends the worker, and starts another one with an empty state folder. What
counts is the time from its first claim to its last lane, and the processor time of all of it, start-up included: on a
machine that does other things besides, the second is the figure. Writes `restore.json` into `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import KafkaException
from contestants import Course
from measuring import FailedError
from report import output, write_section
from rich.console import Console
from usage import usage
from workers import Workers
from workload import create, delete, inputs_of, preload

from sluice.codecs.times import format_time
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import TOPICS

PARTITIONS = 4
IDLE_SECONDS = 120.0
RESTORE_SECONDS = 3600.0
console = Console(stderr=True, highlight=False)


def restored(broker: RealBroker, wanted: int) -> dict[str, Any]:
    """What a restart costs after so many inputs.

    Raises:
        FailedError: a worker ended, or took too long.
    """
    emissions = next(count for count in range(wanted // 3, wanted) if inputs_of(count) >= wanted)
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder:
        course = Course(broker.address, f"restore{wanted}.", Path(folder), PARTITIONS)
        create(course.address, course.prefix, TOPICS, PARTITIONS)
        try:
            with Workers(course, {"SLUICE_SNAPSHOT_INTERVAL": "0"}) as workers:
                workers.start(processes=2)
                console.print(f"{wanted:,} inputs through the ledger")
                began = time.monotonic()
                preload(course.address, course.prefix, emissions, format_time(time.time_ns() // 1_000_000))
                inputs = workers.await_inputs(IDLE_SECONDS)
                written = time.monotonic() - began
                workers.stop()
            with Workers(course, {"SLUICE_SNAPSHOT_INTERVAL": "0"}) as workers:
                number = workers.start()
                taken = workers.await_lanes(number, PARTITIONS, RESTORE_SECONDS)
                spent = usage(workers.pid(number))
                claimed = workers.told(number, "lane claimed")
        finally:
            delete(course.address, course.prefix)
    seconds = max(map(_at, taken)) - min(map(_at, claimed))
    return {
        "inputs": inputs,
        "blocks": sum(one["height"] + 1 for one in taken if one["fold"] == "adjudicate"),
        "written_seconds": round(written),
        "seconds": round(seconds, 1),
        "inputs_per_second": round(inputs / seconds),
        "cpu_seconds": round(spent.cpu, 1),
        "inputs_per_cpu_second": round(inputs / spent.cpu),
        "resident_mb": round(spent.resident / 1e6),
    }


def _at(line: dict[str, Any]) -> float:
    return datetime.fromisoformat(line["timestamp"]).timestamp()


def section(document: dict[str, Any]) -> str:
    """What `docs/capacity.md` says about restarts without a snapshot."""
    lines = [
        f"{document['at']}, {document['cores']} cores, load {document['load']} at the beginning; {PARTITIONS} "
        "partitions, one process.",
        "",
        "| inputs in the ledgers | blocks | seconds | CPU seconds, start-up included | inputs/s of CPU | resident MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {one['inputs']:,} | {one['blocks']:,} | {one['seconds']:,} | {one['cpu_seconds']:,} | "
        f"{one['inputs_per_cpu_second']:,} | {one['resident_mb']:,} |"
        for one in document["restores"]
    ]
    return "\n".join(lines)


def restore(arguments: argparse.Namespace) -> int:
    """`run.py --restore`; returns the exit status."""
    from run import BROKER, CAPACITY

    document: dict[str, Any] = {
        "at": format_time(time.time_ns() // 1_000_000),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "restores": [],
    }
    shown = output()
    with RealBroker(heap=1024, properties=BROKER) as broker:
        for wanted in sorted(arguments.restore or [1_000_000, 10_000_000]):
            try:
                one = restored(broker, wanted)
            except (FailedError, KafkaException) as error:
                console.print(f"{wanted:,} inputs: not measured: {error}")
                return 1
            document["restores"].append(one)
            shown.print(", ".join(f"{name} {figure:,}" for name, figure in one.items()))
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "restore.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    if arguments.write_docs:
        write_section(CAPACITY, "restore", section(document))
    return 0
