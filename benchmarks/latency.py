"""End-to-end latency at a steady rate: from the producer's call to a read_committed consumer's hands.

An emission and its evidence are produced one right after the other; each statement's latency is counted from before
the call that produces the emission to the return of the call that consumes the statement as admitted. Producer and
consumer are librdkafka's, on the machine of broker and worker, in one process: one clock, and no network to speak of.
The load comes every 10 ms, and the producer lingers for 5 ms, the default of librdkafka and, since 4.0, of Kafka. With
1 ms and a load every 5 ms there were 1,600 requests a second, and the broker took a seventh of a core more.
"""

from __future__ import annotations

import gc
import math
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from completeness import Said
from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from contestants import Contestant, Course, environment_with
from measuring import FailedError, last_line, stop, topics_of
from workload import INPUTS, admitted_of, create, delete, producer, records, servers

WARM_SECONDS = 5.0
"""Not counted: connections, first blocks, and code that specialises itself."""
TICK_SECONDS = 0.01
LINGER_MS = 5
START_SECONDS = 60.0
DRAIN_SECONDS = 15.0


class Latency(msgspec.Struct, kw_only=True):
    """Milliseconds at a rate; `lost` counts what had not come when the wait was over."""

    p50: float
    p90: float
    p99: float
    most: float
    samples: int
    lost: int
    inputs_per_second: int
    achieved_inputs_per_second: int
    contestant: str


def percentile(ordered: Sequence[float], part: float) -> float:
    """The least value that at least this part (0 to 1) of the ascending values does not exceed.

    Raises:
        ValueError: there is no value.
    """
    if not ordered:
        raise ValueError("of no values there is no percentile")
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)]


def middle(turns: Sequence[Latency]) -> Latency:
    """Of one turn or more the middle one by its 99th percentile; of an even number the slower one of the two."""
    return sorted(turns, key=lambda turn: turn.p99)[len(turns) // 2]


class _Reader(threading.Thread):
    """Takes the time at which each id is first consumed as admitted."""

    def __init__(self, course: Course) -> None:
        super().__init__(daemon=True)
        self.came: dict[str, float] = {}
        self.over = threading.Event()
        self._consumer = Consumer(
            {
                "bootstrap.servers": servers(course.address),
                "group.id": "latency",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "log_level": 3,
            }
        )
        topic = course.prefix + "admitted"
        self._consumer.assign([TopicPartition(topic, one, OFFSET_BEGINNING) for one in range(course.partitions)])

    def run(self) -> None:
        decode = msgspec.json.Decoder(Said).decode
        while not self.over.is_set():
            message = self._consumer.poll(0.1)  # one by one: `consume` waits until its batch is full
            now = time.perf_counter()
            value = None if message is None or message.error() else message.value()
            if value is not None:
                self.came.setdefault(decode(value).name, now)
        self._consumer.close()


def measure_latency(
    address: str,
    prefix: str,
    rate: int,
    seconds: float,
    contestant: Contestant,
    now: str,
    partitions: int = 4,
    warm: float = WARM_SECONDS,
) -> Latency:
    """Runs a contestant under a steady load.

    Args:
        address: of the broker.
        prefix: of the topics, which are removed afterwards.
        rate: inputs a second.
        seconds: of load that count, after the warm-up.
        contestant: who.
        now: the time that stands in the records (RFC 3339).
        partitions: of each topic.
        warm: seconds of the same load before those that count.

    Raises:
        FailedError: the contestant ended, or admitted nothing.
        SetupError: it cannot be set up here.
    """
    emissions_per_second = max(rate / INPUTS, 1.0)
    total = int((warm + seconds) * emissions_per_second)
    made = [
        (list(records(number, now)), admitted_of(number)) for number in range(1, total + 1)
    ]  # not while the clock runs
    gc.collect()
    gc.freeze()  # nor may the collector walk through all of it then
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder:
        course = Course(address, prefix, Path(folder), partitions)
        command, environment = contestant.command(course), environment_with(contestant.environment(course))
        create(address, prefix, topics_of(contestant), course.partitions)
        with (course.folder / "log").open("wb") as log:
            worker = subprocess.Popen(
                command, env=environment, cwd=folder, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        reader = _Reader(course)
        reader.start()
        try:
            _await_first(course, worker, reader, now)
            sent, took = _load(course, made, emissions_per_second)
            _drain(reader, sent)
        finally:
            stop(worker)
            reader.over.set()
            reader.join()
            delete(address, prefix)
            gc.unfreeze()
    counted = {key: at for key, (at, due) in sent.items() if due >= warm}
    ordered = sorted((reader.came[key] - at) * 1000 for key, at in counted.items() if key in reader.came)
    if not ordered:
        raise FailedError("nothing was admitted under load")
    return Latency(
        p50=round(percentile(ordered, 0.5), 1),
        p90=round(percentile(ordered, 0.9), 1),
        p99=round(percentile(ordered, 0.99), 1),
        most=round(ordered[-1], 1),
        samples=len(ordered),
        lost=len(counted) - len(ordered),
        inputs_per_second=rate,
        achieved_inputs_per_second=round(sum(len(some) for some, _ in made) / took),
        contestant=contestant.name,
    )


def _await_first(course: Course, worker: subprocess.Popen[bytes], reader: _Reader, now: str) -> None:
    """Until some emissions a partition have come through: then all lanes run."""
    sender, probes = producer(course.address), list[str]()
    for number in range(10**9, 10**9 + 10 * course.partitions):
        probes += admitted_of(number)
        for topic, key, value in records(number, now):
            sender.produce(course.prefix + topic, key=key, value=value)
    sender.flush(30)
    until = time.monotonic() + START_SECONDS
    while not all(probe in reader.came for probe in probes):
        if worker.poll() is not None or time.monotonic() > until:
            raise FailedError(f"the worker does not run: {last_line(course.folder / 'log')}")
        time.sleep(0.1)


def _load(
    course: Course, made: list[tuple[list[tuple[str, bytes, bytes]], list[str]]], rate: float
) -> tuple[dict[str, tuple[float, float]], float]:
    """Produces at the rate; (call, seconds since the beginning) of each statement to be admitted, and how long all
    took."""
    sender = producer(course.address, **{"linger.ms": LINGER_MS})
    # Positional arguments, and names made once: at 80,000 calls a second the rest would take a tenth of a core more.
    produce, names = sender.produce, {name: course.prefix + name for name in ("emissions", "observations")}
    sent: dict[str, tuple[float, float]] = {}
    began, number = time.perf_counter(), 0
    while number < len(made):
        due = min(int((time.perf_counter() - began) * rate) + 1, len(made))
        for records_of_one, admitted in made[number:due]:
            at = time.perf_counter()
            for topic, key, value in records_of_one:
                produce(names[topic], value, key)
            sent |= dict.fromkeys(admitted, (at, at - began))
        number = due
        sender.poll(0)
        time.sleep(TICK_SECONDS)
    took = time.perf_counter() - began
    sender.flush(30)
    return sent, took


def _drain(reader: _Reader, sent: dict[str, tuple[float, float]]) -> None:
    """Until all have come, or too much time has passed."""
    until = time.monotonic() + DRAIN_SECONDS
    while time.monotonic() < until and not sent.keys() <= reader.came.keys():
        time.sleep(0.2)
