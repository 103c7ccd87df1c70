"""Many lanes on one broker, beside Kafka Streams with as many tasks: `run.py --many-lanes [64 128]`.

For each number of partitions, in one run on one Kafka: sluice with one and two processes, and Kafka Streams (memory)
with one and two threads, each over the same preloaded input: rate, processor time of its own and of the broker, and
transactions a second. Then the latency of sluice with two processes and of Kafka Streams with two threads, at one load:
half of the best rate that sluice had. Writes `many-lanes.json` into `benchmarks/results/`.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from typing import Any

import msgspec
from confluent_kafka import KafkaException
from contestants import Contestant, SetupError, kafka_streams, sluice
from latency import measure_latency, middle
from measuring import FailedError, Result, measure
from report import output, write_section
from rich.console import Console
from rich.table import Table

from sluice.codecs.times import format_time
from sluice.topology.kafka.local_broker import RealBroker

PARTITIONS = (64, 128)
CONTESTANTS = (sluice(1), sluice(2), kafka_streams("memory", 1), kafka_streams("memory", 2))
UNDER_LOAD = (sluice(2), kafka_streams("memory", 2))
HEADS = (
    "partitions",
    "",
    "inputs/s",
    "CPU us/input",
    "broker CPU us/input",
    "transactions/s",
    "p50 ms",
    "p99 ms",
    "at inputs/s",
    "complete",
)
console = Console(stderr=True, highlight=False)


def rates(broker: RealBroker, partitions: int, emissions: int, now: str) -> dict[str, Result]:
    """Each contestant's run over the preloaded input, by name."""
    found: dict[str, Result] = {}
    for place, one in enumerate(CONTESTANTS):
        prefix = f"lanes{partitions}-{place}."
        found[one.name] = result = measure(
            one, broker, prefix, emissions=emissions, partitions=partitions, now=now, tell=lambda *_: None
        )
        said = f"not run: {result.failed}" if result.failed else f"{result.inputs_per_second:,} inputs/s"
        console.print(f"{partitions} partitions, {one.name}: {said}")
    return found


def latency(
    broker: RealBroker, one: Contestant, partitions: int, rate: int, seconds: float, turns: int, now: str
) -> dict[str, Any]:
    """A contestant's latency at a rate, of the middle one of some turns; the first does not count, and warms up."""
    try:
        found = [
            measure_latency(broker.address, f"load{partitions}-{turn}.", rate, seconds, one, now, partitions)
            for turn in range(turns + 1)
        ]
    except (FailedError, SetupError, KafkaException) as error:
        console.print(f"{partitions} partitions, {one.name}: latency not measured: {error}")
        return {"failed": str(error)}
    told = middle(found[1:])
    console.print(f"{partitions} partitions, {one.name}: {told.p50} ms (p50), {told.p99} ms (p99)")
    return msgspec.to_builtins(told)


def lines(document: dict[str, Any]) -> list[list[str]]:
    """The table's rows, under `HEADS`."""
    rows: list[list[str]] = []
    for one in document["lanes"]:
        result, late = one["result"], one["latency"]
        row = [str(one["partitions"]), one["name"]]
        if result.get("failed"):
            rows.append([*row, *[""] * 7, f"not run: {result['failed']}"])
            continue
        rows.append(
            [
                *row,
                f"{result['inputs_per_second']:,}",
                f"{result['cpu_us_per_input']}",
                f"{result['broker_cpu_us_per_input']}",
                f"{result.get('transactions_per_second', 0):,}",
                f"{late.get('p50', '')}",
                f"{late.get('p99', '')}",
                f"{late['achieved_inputs_per_second']:,}" if "p50" in late else "",
                "yes" if result.get("complete") else "no",
            ]
        )
    return rows


def section(document: dict[str, Any]) -> str:
    """What `docs/capacity.md` says about many lanes."""
    head = (
        f"{document['at']}, Python {document['python']}, {document['cores']} cores, load {document['load']} at the "
        f"beginning; {document['emissions']:,} emissions."
    )
    marks = ["---:", "---", *["---:"] * 7, "---"]
    return "\n".join(
        [head, "", *(f"| {' | '.join(row)} |" for row in [list(HEADS), marks, *lines(document)])],
    )


def many_lanes(arguments: argparse.Namespace) -> int:
    """`run.py --many-lanes`; returns the exit status: 1 where sluice failed or lost something."""
    from run import BROKER, CAPACITY

    document: dict[str, Any] = {
        "at": format_time(_ms()),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "emissions": arguments.emissions,
        "lanes": [],
    }
    with RealBroker(heap=1024, properties=BROKER) as broker:
        for partitions in arguments.many_lanes or PARTITIONS:
            results = rates(broker, partitions, arguments.emissions, format_time(_ms()))
            best = max((one.inputs_per_second for one in results.values() if one.family == "sluice"), default=0)
            late: dict[str, dict[str, Any]] = {}
            for one in UNDER_LOAD if arguments.latency and best else ():
                late[one.name] = latency(
                    broker, one, partitions, best // 2, arguments.latency, arguments.runs, format_time(_ms())
                )
            document["lanes"] += [
                {
                    "partitions": partitions,
                    "name": name,
                    "result": msgspec.to_builtins(result),
                    "latency": late.get(name, {}),
                }
                for name, result in results.items()
            ]
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "many-lanes.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    if arguments.write_docs:
        write_section(CAPACITY, "many lanes", section(document))
    table = Table(*HEADS, title="many lanes on one Kafka")
    for row in lines(document):
        table.add_row(*row)
    output().print(table)
    ours = [one["result"] for one in document["lanes"] if one["result"]["family"] == "sluice"]
    return int(any(one.get("failed") or not one.get("complete") or one.get("doubled") for one in ours))


def _ms() -> int:
    return time.time_ns() // 1_000_000
