"""How long lanes stand still when a third worker joins two: `run.py --hand-over`.

Two workers hold so many live assertions in each lane. Every lane gets an emission with its evidence 20 times a second,
so it writes blocks all the time, and a pause is the time between two of its blocks, by the broker's clock (the time at
which they were appended). Then a third worker joins, with an empty state folder; with `--cold` lanes move to it at once
(`hand_over_blocks = 0`), as they did before. Writes `hand-over.json` into `benchmarks/results/`. Exit status: 1 where a
lane was handed over to a worker that had to restore it, or nothing could be measured; 0 otherwise, however long lanes
stood.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition
from contestants import Course
from measuring import FailedError
from report import output
from rich.console import Console
from rich.table import Table
from workers import FOLDS, Workers
from workload import PREFETCHED, create, is_admitted, producer, records, servers

from sluice.codecs.lane_claims import is_claim
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.topology.brokers import RealBroker
from sluice.topology.kafka.topics import TOPICS

WORKERS = 3
GOAL_MS = 1000
BEAT_SECONDS = 0.05
STEADY_SECONDS = 15.0
"""Before the third worker starts, and after it has its lanes."""
JOIN_SECONDS = 1800.0
IDLE_SECONDS = 120.0
console = Console(stderr=True, highlight=False)


class Setting(NamedTuple):
    """What is measured: partition numbers, live assertions in the lane of each, and whether lanes move at once."""

    lanes: int = 16
    live: int = 200_000
    cold: bool = False


class Block(NamedTuple):
    """A record of a ledger: when it was appended (Unix ms), and whether it is a claim."""

    at: int
    is_claim: bool


def numbers_by_lane(lanes: int, each: int, first: int = 0) -> dict[int, list[int]]:
    """Numbers of emissions that are admitted, by the lane that their keys belong to: so many of each.

    Args:
        lanes: how many there are.
        each: how many numbers of each lane.
        first: where to begin to count.
    """
    place = PARTITIONERS["murmur2"]
    found: dict[int, list[int]] = {lane: [] for lane in range(lanes)}
    number, left = first, lanes
    while left:
        if is_admitted(number):
            mine = found[place(f"em-{number}".encode(), lanes)]
            if len(mine) < each:
                mine.append(number)
                left -= len(mine) == each
        number += 1
    return found


def fill(course: Course, setting: Setting) -> int:
    """Writes what makes so many assertions live in each lane; returns how many records."""
    sender, sent, now = producer(course.address, **{"linger.ms": 20, "batch.size": 500_000}), 0, _now()
    for some in zip(*numbers_by_lane(setting.lanes, setting.live).values(), strict=True):
        for number in some:
            for topic, key, value in records(number, now):
                sender.produce(course.prefix + topic, value, key)
                sent += 1
        while len(sender) > PREFETCHED:
            sender.poll(0.05)
        sender.poll(0)
    if sender.flush(120):
        raise FailedError("the broker did not take all inputs")
    return sent


class Beat(threading.Thread):
    """Sends every lane an emission with its evidence every `BEAT_SECONDS`, until it is told to end."""

    def __init__(self, course: Course, first: int) -> None:
        super().__init__(daemon=True)
        self._course, self._first, self.over = course, first, threading.Event()

    def run(self) -> None:
        sender = producer(self._course.address, **{"linger.ms": 1})
        due, first = time.monotonic(), self._first
        while not self.over.is_set():
            some = numbers_by_lane(self._course.partitions, 20, first)
            first = 1 + max(number for numbers in some.values() for number in numbers)
            for beat in zip(*some.values(), strict=True):
                now = _now()
                for number in beat:
                    for topic, key, value in records(number, now):
                        sender.produce(self._course.prefix + topic, value, key)
                sender.poll(0)
                due += BEAT_SECONDS
                if self.over.wait(max(0.0, due - time.monotonic())):
                    break
        sender.flush(30)


def ledgers(course: Course, since: int) -> dict[int, list[Block]]:
    """What every lane's ledger has from a time on (Unix ms)."""
    reader = Consumer(
        {
            "bootstrap.servers": servers(course.address),
            "group.id": "hand-over",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "log_level": 3,
        }
    )
    topic, found = course.prefix + "ledger", defaultdict[int, list[Block]](list)
    try:
        reader.assign(
            reader.offsets_for_times([TopicPartition(topic, one, since) for one in range(course.partitions)], 30)
        )
        ended = set[int]()
        while len(ended) < course.partitions:
            message = reader.poll(30)
            if message is None:
                raise FailedError("the ledgers cannot be read to their ends")
            if message.error():
                ended.add(message.partition())  # the end of the partition is told as an error
            else:
                found[message.partition()].append(Block(message.timestamp()[1], is_claim(message.key())))
    finally:
        reader.close()
    return dict(found)


def longest(times: list[int], first: int, last: int) -> int:
    """The longest time between two blocks, of which the second was appended between two times; all in ms."""
    return max((after - before for before, after in pairwise(times) if first <= after <= last), default=last - first)


def measured(setting: Setting, properties: dict[str, str]) -> dict[str, Any]:
    """Runs it all; returns what `hand-over.json` holds.

    Args:
        setting: what to measure.
        properties: of the broker.

    Raises:
        FailedError: it could not be measured.
    """
    with (
        tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder,
        RealBroker(Path(folder) / "kafka", heap=1024, properties=properties) as broker,
    ):
        course = Course(broker.address, "hand-over.", Path(folder), setting.lanes)
        create(course.address, course.prefix, TOPICS, setting.lanes)
        settings = {"SLUICE_HAND_OVER_BLOCKS": "0"} if setting.cold else {}
        with Workers(course, settings) as workers:
            for number in (workers.start(), workers.start()):
                workers.await_lanes(number, setting.lanes // (WORKERS - 1), IDLE_SECONDS)
            console.print(f"filling {setting.lanes} lanes with {setting.live:,} live assertions each")
            inputs = fill(course, setting)
            workers.await_inputs(IDLE_SECONDS)
            beat = Beat(course, 10**9)
            beat.start()
            time.sleep(2)
            began = _ms()
            time.sleep(STEADY_SECONDS)
            joined = _ms()
            third = workers.start()
            console.print("a third worker joins")
            taken = workers.await_lanes(third, setting.lanes // WORKERS, JOIN_SECONDS)
            balanced = _ms()
            time.sleep(STEADY_SECONDS)
            beat.over.set()
            beat.join()
            ended = _ms()
            warm = [one for one in workers.told(third, "restored") if one["start"] == "standby"]
            asked = len(workers.told(third, "ready for lanes: asking for a rebalance"))
        blocks = ledgers(course, began)
    lanes = [
        {
            "lane": lane,
            "moved": any(block.is_claim and joined <= block.at <= ended for block in found),
            "before_ms": longest(times := [block.at for block in found if not block.is_claim], began, joined),
            "pause_ms": longest(times, joined, ended),
        }
        for lane, found in sorted(blocks.items())
    ]
    return {
        "at": format_time(began),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        **setting._asdict(),
        "inputs": inputs,
        "seconds_until_even": round((balanced - joined) / 1000, 1),
        "asked_for_rebalances": asked,
        "restored_cold": max(0, len({(one["fold"], one["lane"]) for one in taken}) - len(warm)),
        "longest_pause_ms": max(one["pause_ms"] for one in lanes),
        "longest_before_ms": max(one["before_ms"] for one in lanes),
        "by_lane": lanes,
    }


def hand_over(arguments: argparse.Namespace) -> int:
    """`run.py --hand-over`; returns the exit status."""
    from run import BROKER

    setting = Setting(6, 2_000) if arguments.small else Setting()
    try:
        found = measured(setting._replace(cold=arguments.cold), BROKER)
    except (FailedError, KafkaException) as error:
        console.print(f"not measured: {error}")
        return 1
    arguments.results.mkdir(parents=True, exist_ok=True)
    name = "hand-over-cold.json" if arguments.cold else "hand-over.json"
    (arguments.results / name).write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    table = Table("lane", "moved", "longest pause before, ms", "with the third worker, ms", title="from 2 to 3 workers")
    for one in found["by_lane"]:
        table.add_row(str(one["lane"]), "yes" if one["moved"] else "", f"{one['before_ms']:,}", f"{one['pause_ms']:,}")
    shown = output()
    shown.print(table)
    met = "met" if found["longest_pause_ms"] <= GOAL_MS else "NOT met"
    shown.print(f"longest pause: {found['longest_pause_ms']:,} ms (at most {GOAL_MS:,}): {met}")
    cold = found["restored_cold"]
    shown.print(f"lanes handed over to a worker that had to restore them: {cold} of {setting.lanes // WORKERS * FOLDS}")
    shown.print(f"even again after {found['seconds_until_even']:g} s")
    return int(bool(cold) and not arguments.cold)


def _ms() -> int:
    return time.time_ns() // 1_000_000


def _now() -> str:
    return format_time(_ms())
