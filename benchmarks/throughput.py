"""Throughput of one `sluice worker` process, exactly-once, beside a plain Faust agent doing the same join.

Both run on one real Kafka, on the same machine, in the same run: preload, start, measure. The worker is measured by
the times of its own ledger blocks, from the first with records to the last, and by the CPU seconds of its process.

    python benchmarks/throughput.py [--emissions 100000] [--plain 10000] [--profile FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from rich.console import Console
from rich.table import Table

from sluice.codecs.blocks import EventKind, unseal
from sluice.codecs.times import format_time
from sluice.topology.brokers import RealBroker
from sluice.topology.settings import Settings, bootstrap
from sluice.topology.topics import create_topics

HERE = Path(__file__).parent
CLASSES = ("substrate.code.read", "substrate.git.log")
TICK = os.sysconf("SC_CLK_TCK")


def records(number: int, now: str) -> Iterator[tuple[str, bytes, bytes]]:
    """(topic, key, value) of one emission and its evidence; every fifth has one observation only, the rest two."""
    key, text = f"em-{number}", "CHANGELOG.md has an entry dated 2026-05-25. It was written by the release job."
    span, seen = {"chars": [0, 43]}, f"sha256:{number:064x}"
    annotations = [{"substrate_class": name, "observation_id": seen, "ts": now} for name in CLASSES]
    emission = {
        "emission_id": key,
        "emitted_at": now,
        "emitter": {"system": "release-notes-bot", "model": "some-model-1", "prompt": "summarise-changelog"},
        "text": text,
        "assertions": [{"span": span, "provenance": annotations}],
    }
    yield "emissions", key.encode(), json.dumps(emission).encode()
    for name in CLASSES[: 2 if number % 5 else 1]:
        observation = {
            "observation_id": seen,
            "substrate_class": name,
            "observed_at": now,
            "observer": "observer-2",
            "subject": {"emission_id": key, "span": span},
            "outcome": "corroborates",
        }
        yield "observations", key.encode(), json.dumps(observation).encode()


async def preload(settings: Settings, emissions: int) -> int:
    """Writes the inputs; returns how many records."""
    options: dict[str, Any] = {"acks": "all", "linger_ms": 20, "max_batch_size": 250_000}
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap(settings), **options)
    await producer.start()
    now, sent = format_time(time.time_ns() // 1_000_000), 0
    for number in range(emissions):
        for topic, key, value in records(number, now):
            await producer.send(settings.topic_prefix + topic, key=key, value=value)
            sent += 1
    await producer.stop()
    return sent


def cpu_seconds(pid: int) -> float:
    """CPU seconds that a process has used, in user and system."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mb(pid: int) -> float:
    """Resident memory of a process, in MB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


async def measure_worker(settings: Settings, sent: int, profile: str | None) -> dict[str, Any]:
    """Runs one worker until its ledgers hold all records."""
    environment = os.environ | {
        "SLUICE_BROKER": settings.broker,
        "SLUICE_TOPIC_PREFIX": settings.topic_prefix,
        "SLUICE_APP_ID": settings.app_id,
        "SLUICE_PARTITIONS": str(settings.partitions),
    }
    code = "from sluice.topology.cli import main; main()"
    python = [sys.executable, "-c", code] if profile is None else [sys.executable, str(HERE / "profiled.py"), profile]
    process = subprocess.Popen([*python, "worker", "--log-level", "warning"], env=environment)  # noqa: ASYNC220
    try:
        blocks = await follow_ledger(settings, sent)
        cpu, memory = cpu_seconds(process.pid), resident_mb(process.pid)
    finally:
        process.terminate()
        await asyncio.to_thread(process.wait, 20)
    times = [time for time, count in blocks if count]
    seconds = (max(times) - min(times)) / 1000
    return {
        "inputs": sent,
        "seconds": seconds,
        "inputs_per_second": round(sent / seconds),
        "cpu_us_per_input": round(cpu / sent * 1e6, 1),
        "blocks": len(times),
        "inputs_per_block": round(sent / len(times)),
        "resident_mb": round(memory),
    }


async def follow_ledger(settings: Settings, sent: int) -> list[tuple[int, int]]:
    """(time, records) of each block, once all records stand in blocks."""
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap(settings), isolation_level="read_committed", max_partition_fetch_bytes=5_000_000
    )
    await consumer.start()
    try:
        partitions = [TopicPartition(settings.topic_prefix + "ledger", lane) for lane in range(settings.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        # Not while the worker runs: reading blocks costs CPU that it is measured with.
        while True:
            await asyncio.sleep(1)
            ends = sum((await consumer.end_offsets(partitions)).values())
            await asyncio.sleep(1)
            if ends > 2 * len(partitions) and ends == sum((await consumer.end_offsets(partitions)).values()):
                break
        found: list[tuple[int, int]] = []
        async with asyncio.timeout(120):
            while sum(count for _, count in found) < sent:
                for batch in (await consumer.getmany(timeout_ms=500)).values():
                    for block in (unseal(record.value) for record in batch):
                        count = sum(event.kind == EventKind.RECORD for event in block.events)
                        found.append((block.header.time, count))
        return found
    finally:
        await consumer.stop()


PLAIN = """
import json, sys, time
import faust
broker, prefix, total, result = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
sys.argv = [sys.argv[0], "worker", "-l", "ERROR", "--without-web"]
app = faust.App(prefix + "plain", broker=broker, store="memory://", value_serializer="raw", topic_disable_leader=True,
                consumer_auto_offset_reset="earliest", topic_allow_declare=False, datadir=sys.path[0])
emissions, seen, done = {}, {}, [0, 0.0]
out = app.topic(prefix + "admitted", value_serializer="raw")

@app.agent(app.topic(prefix + "emissions", prefix + "observations", value_serializer="raw"))
async def join(stream):
    async for event in stream.events():
        record = json.loads(event.value)
        if "subject" in record:
            key = record["subject"]["emission_id"]
            seen.setdefault(key, {})[record["substrate_class"]] = record
        else:
            key = record["emission_id"]
            emissions[key] = record
        if key in emissions and len(seen.get(key, ())) == 2:
            await out.send(key=key, value=json.dumps({"emission_id": key, "classes": sorted(seen[key])}).encode())
        done[0] += 1
        if done[0] == 1:
            done[1] = time.time()
        if done[0] == total:
            with open(result, "w") as file:  # Faust takes standard output for its log
                json.dump({"seconds": time.time() - done[1], "cpu": time.process_time()}, file)

app.main()
"""


async def measure_plain(settings: Settings, sent: int) -> dict[str, Any]:
    """Runs a plain Faust agent over the same kind of inputs: a dict, a join, one message out for each match.

    It is measured over 99% of them: Faust is known to drop a partition's first message after a rebalance.
    """
    sent = sent * 99 // 100
    with tempfile.TemporaryDirectory() as folder:
        script, result = Path(folder) / "plain.py", Path(folder) / "result.json"
        script.write_text(PLAIN)
        command = [sys.executable, str(script), settings.broker, settings.topic_prefix, str(sent), str(result)]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=folder)  # noqa: ASYNC220
        try:
            async with asyncio.timeout(120):
                while not result.exists():
                    if process.poll() is not None:
                        raise RuntimeError(f"the plain agent ended with {process.returncode}")
                    await asyncio.sleep(0.5)
            found = json.loads(result.read_text())
        finally:
            process.terminate()
            process.wait(20)
    return {
        "inputs": sent,
        "seconds": round(found["seconds"], 3),
        "inputs_per_second": round(sent / found["seconds"]),
        "cpu_us_per_input": round(found["cpu"] / sent * 1e6, 1),
    }


async def run(emissions: int, plain: int, profile: str | None) -> dict[str, Any]:
    """Both measurements on one broker."""
    with RealBroker() as broker:
        ours = Settings(broker=broker.address, topic_prefix="bench.", app_id="bench")
        theirs = Settings(broker=broker.address, topic_prefix="plain.", app_id="plain")
        results: dict[str, Any] = {}
        for name, settings, count in (("sluice worker", ours, emissions), ("plain Faust agent", theirs, plain)):
            if not count:
                continue
            await create_topics(settings)
            sent = await preload(settings, count)
            if settings is ours:
                results[name] = await measure_worker(settings, sent, profile)
            else:
                results[name] = await measure_plain(settings, sent)
        return results


def show(results: dict[str, Any]) -> None:
    """A table for people."""
    table = Table(title="Throughput on one Kafka, this machine, this run")
    columns = list(dict.fromkeys(column for result in results.values() for column in result))
    table.add_column("")
    for column in columns:
        table.add_column(column.replace("_", " "), justify="right")
    for name, result in results.items():
        table.add_row(name, *(f"{result[column]:,}" if column in result else "" for column in columns))
    Console().print(table)


def main() -> None:
    """Measures, prints, and writes `benchmarks/results/latest.json`."""
    parser = argparse.ArgumentParser(description="throughput of one worker beside a plain Faust agent")
    parser.add_argument("--emissions", type=int, default=100_000, help="emissions for the worker")
    parser.add_argument("--plain", type=int, default=10_000, help="emissions for the plain agent; 0 leaves it out")
    parser.add_argument("--profile", metavar="FILE", help="run the worker under cProfile and write its figures there")
    arguments = parser.parse_args()
    results = asyncio.run(run(arguments.emissions, arguments.plain, arguments.profile))
    show(results)
    document = {
        "at": format_time(time.time_ns() // 1_000_000),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "sluice": metadata.version("sluice"),
        "profiled": arguments.profile is not None,
        "results": results,
    }
    target = HERE / "results" / "latest.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(document, indent=2) + "\n")


if __name__ == "__main__":
    main()
