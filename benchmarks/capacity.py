"""The capacity model: what so many emissions a second need, from what a run measured; the formulas of docs/capacity.md.

One emission is 8.3 inputs here, and has 3.2 admitted assertions (workload.py). A model, and no measurement: it says
where the figures of one machine lead to on many, if nothing else becomes the limit first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from workload import ADMITTED, INPUTS

HEADROOM = 0.6
"""So much of what a process can do is planned for; the rest catches up after a failure."""
REPLICATION = 3
RATES = (1_000, 10_000, 100_000, 1_000_000)
WORKER_BYTES = 150_000_000
"""Of a process without any state: interpreter, libraries, buffers."""
LIVE_BYTES = 753
"""Of a live assertion beside its text, as the process grows (benchmarks/memory.py)."""


class Measured(NamedTuple):
    """What the model is fed with.

    Attributes:
        rate: inputs a second of one process.
        cpu_us: CPU microseconds an input.
        bytes_by_topic: on the broker's disk, an emission with its evidence, by topic and before replication.
        validity: seconds that an admitted assertion lives, on average.
        text: bytes of an assertion's text.
    """

    rate: float
    cpu_us: float
    bytes_by_topic: Mapping[str, float]
    validity: float = 3600.0
    text: float = 102.0


class Need(NamedTuple):
    """What so many emissions a second need."""

    emissions: int
    processes: int
    partitions: int
    cores: float
    live: int
    memory: float
    broker: float
    ledger_a_day: float


def need(emissions: int, measured: Measured) -> Need:
    """Processes, partitions, cores, live assertions, bytes of memory, bytes a second and a day on the brokers.

    As many partitions as processes at the least, and room to grow to twice that: the number never changes within a
    ledger. Brokers write every byte so many times as there are replicas.
    """
    inputs = emissions * INPUTS
    processes = math.ceil(inputs / (measured.rate * HEADROOM))
    live = round(emissions * ADMITTED * measured.validity)
    return Need(
        emissions=emissions,
        processes=processes,
        partitions=2 * processes,
        cores=inputs * measured.cpu_us / 1e6 / HEADROOM,
        live=live,
        memory=processes * WORKER_BYTES + live * (LIVE_BYTES + measured.text),
        broker=emissions * sum(measured.bytes_by_topic.values()) * REPLICATION,
        ledger_a_day=emissions * measured.bytes_by_topic.get("ledger", 0.0) * 86_400 * REPLICATION,
    )


def disk_bytes(data: Path, prefix: str) -> dict[str, int]:
    """Bytes of log that a broker's data folder holds for each topic under a prefix, indexes left out."""
    found: dict[str, int] = {}
    for folder in sorted((data / "log").glob(f"{prefix}*")):
        topic = folder.name.removeprefix(prefix).rpartition("-")[0]
        size = sum(path.stat().st_size for path in folder.glob("*.log"))
        if size:
            found[topic] = found.get(topic, 0) + size
    return found


def spoken(size: float) -> str:
    """Bytes with a decimal unit: `2.2 TB`."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.0f} PB"


def section(measured: Measured) -> str:
    """What `docs/capacity.md` says about need."""
    by_topic = ", ".join(f"{topic} {size:,.0f}" for topic, size in measured.bytes_by_topic.items())
    lines = [
        f"Measured: {measured.rate:,.0f} inputs/s a process, {measured.cpu_us:.1f} us CPU an input; bytes on disk an "
        f"emission with its evidence, before replication: {by_topic or 'not measured'}.",
        "",
        "| emissions/s | processes | partitions | cores | live assertions | memory | brokers write | ledger a day |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for rate in RATES:
        one = need(rate, measured)
        lines.append(
            f"| {one.emissions:,} | {one.processes:,} | {one.partitions:,} | {one.cores:,.1f} | {one.live:,} | "
            f"{spoken(one.memory)} | {spoken(one.broker)}/s | {spoken(one.ledger_a_day)} |"
        )
    return "\n".join(lines)
