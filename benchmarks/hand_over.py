"""How long lanes stand still when a third worker joins two: `run.py --hand-over`.

Two workers hold so many live assertions in each lane. Every lane gets an emission with its evidence 20 times a second,
so it writes blocks all the time. Then a third worker joins, with an empty state folder; with `--cold` lanes move to it
at once (`hand_over_blocks = 0`), as they did before. Writes `hand-over.json` into `benchmarks/results/`.

| what is told of each lane | ms |
| --- | --- |
| longest pause, before and with the third worker | between two blocks, by the broker's clock; or none up to the end |
| hand-over, of a lane that moved | between the last block of the owner before and the first of the new one |
| longest gap of its input | between two of its emissions: a pause is the workers' only where this is short |

Exit status: 1 where a lane was handed over to a worker that had to restore it, or nothing could be measured; 0
otherwise, however long lanes stood.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
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
from workload import ADMITTED, PREFETCHED, create, producer, records, servers

from sluice.codecs.ledger_statements import is_claim
from sluice.codecs.partition import PARTITIONERS
from sluice.codecs.times import format_time
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import TOPICS

WORKERS = 3
GOAL_MS = 1000
BEAT_SECONDS = 0.05
UNSTEADY_MS = 250
"""Where a lane got nothing for longer than this, a pause of it may be ours, who send."""
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


class Record(NamedTuple):
    """A record of a ledger or an input: when it was appended or sent (Unix ms), and whether it is a claim."""

    at: int
    is_claim: bool = False


def numbers_by_lane(lanes: int, each: int, first: int = 0) -> dict[int, list[int]]:
    """Numbers of emissions by the lane that their keys belong to: so many of each.

    Args:
        lanes: how many there are.
        each: how many numbers of each lane.
        first: where to begin to count.
    """
    place = PARTITIONERS["murmur2"]
    found: dict[int, list[int]] = {lane: [] for lane in range(lanes)}
    number, left = first, lanes
    while left:
        mine = found[place(f"em-{number}".encode(), lanes)]
        if len(mine) < each:
            mine.append(number)
            left -= len(mine) == each
        number += 1
    return found


def fill(course: Course, setting: Setting) -> int:
    """Writes what makes so many assertions live in each lane; returns how many records."""
    sender, sent, now = producer(course.address, **{"linger.ms": 20, "batch.size": 500_000}), 0, _now()
    for some in zip(*numbers_by_lane(setting.lanes, round(setting.live / ADMITTED)).values(), strict=True):
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


def by_lane(course: Course, name: str, since: int) -> dict[int, list[Record]]:
    """What every lane's partition of a topic has from a time on (Unix ms), in order."""
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
    topic, found = course.prefix + name, defaultdict[int, list[Record]](list)
    try:
        reader.assign(
            reader.offsets_for_times([TopicPartition(topic, one, since) for one in range(course.partitions)], 30)
        )
        ended = set[int]()
        while len(ended) < course.partitions:
            message = reader.poll(30)
            if message is None:
                raise FailedError(f"{topic} cannot be read to its end")
            if message.error():
                ended.add(message.partition())  # the end of the partition is told as an error
            else:
                found[message.partition()].append(Record(message.timestamp()[1], is_claim(message.key())))
    finally:
        reader.close()
    return dict(found)


def longest(times: list[int], first: int, last: int) -> int:
    """The longest time between two records, of which the second came between two times; all in ms.

    A record that did not come by then has let us wait until then.
    """
    known = [first] if not times or times[0] > last else [one for one in times if one <= last]
    return max(after - before for before, after in pairwise([*known, last]) if after >= first)


def hand_overs(ledger: Sequence[Record], first: int, last: int) -> list[int]:
    """For each change of the lane's owner: ms between the last block before the claim and the first behind it.

    Args:
        ledger: the lane's records in order.
        first, last: claims between these times count, Unix ms; who has written no block by then has taken until then.
    """
    found, before, claimed = list[int](), None, False
    for record in ledger:
        if record.is_claim:
            claimed = claimed or first <= record.at <= last
            continue
        if claimed and before is not None:
            found.append(record.at - before)
        before, claimed = record.at, False
    if claimed and before is not None:
        found.append(last - before)
    return found


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
        ledgers, inputs_by_lane = by_lane(course, "ledger", began), by_lane(course, "emissions", began)
    lanes = [
        _lane(lane, ledgers.get(lane, []), [one.at for one in inputs_by_lane.get(lane, [])], began, joined, ended)
        for lane in range(setting.lanes)
    ]
    moved = [one["hand_over_ms"] for one in lanes if one["moved"]]
    pauses = [one["pause_ms"] for one in lanes]
    return {
        "at": format_time(began),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        **setting._asdict(),
        "inputs": inputs,
        "seconds_until_even": round((balanced - joined) / 1000, 1),
        "asked_for_rebalances": asked,
        "restored_cold": max(0, len({(one["fold"], one["lane"]) for one in taken}) - len(warm)),
        "longest_pause_ms": max(pauses),
        "median_pause_ms": round(statistics.median(pauses)),
        "longest_hand_over_ms": max(moved, default=None),
        "median_hand_over_ms": round(statistics.median(moved)) if moved else None,
        "longest_before_ms": max(one["before_ms"] for one in lanes),
        "longest_input_gap_ms": max(one["input_gap_ms"] for one in lanes),
        "by_lane": lanes,
    }


def _lane(lane: int, ledger: list[Record], inputs: list[int], began: int, joined: int, ended: int) -> dict[str, Any]:
    """What is told of one lane; the times are Unix ms."""
    blocks, changes = [one.at for one in ledger if not one.is_claim], hand_overs(ledger, joined, ended)
    return {
        "lane": lane,
        "moved": bool(changes),
        "before_ms": longest(blocks, began, joined),
        "pause_ms": longest(blocks, joined, ended),
        "hand_over_ms": max(changes, default=None),
        "input_gap_ms": longest(inputs, joined, ended),
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
    heads = ("longest pause before, ms", "with the third worker, ms", "hand-over, ms", "longest gap of its input, ms")
    table = Table("lane", *heads, title="from 2 to 3 workers")
    for one in found["by_lane"]:
        columns = (one["before_ms"], one["pause_ms"], one["hand_over_ms"], one["input_gap_ms"])
        table.add_row(str(one["lane"]), *("" if ms is None else f"{ms:,}" for ms in columns))
    shown = output()
    shown.print(table)
    met = "met" if found["longest_pause_ms"] <= GOAL_MS else "NOT met"
    shown.print(f"longest pause: {found['longest_pause_ms']:,} ms (at most {GOAL_MS:,}): {met}")
    shown.print(f"half of the lanes: {found['median_pause_ms']:,} ms at most")
    if found["longest_hand_over_ms"] is not None:
        told = f"{found['longest_hand_over_ms']:,} ms at most, {found['median_hand_over_ms']:,} ms in the middle"
        shown.print(f"lanes that moved, from the last block before to the first one after: {told}")
    if found["longest_input_gap_ms"] > UNSTEADY_MS:
        shown.print(f"the input was not steady: a lane got nothing for {found['longest_input_gap_ms']:,} ms")
    cold = found["restored_cold"]
    shown.print(f"lanes handed over to a worker that had to restore them: {cold} of {setting.lanes // WORKERS * FOLDS}")
    shown.print(f"even again after {found['seconds_until_even']:g} s")
    return int(bool(cold) and not arguments.cold)


def _ms() -> int:
    return time.time_ns() // 1_000_000


def _now() -> str:
    return format_time(_ms())
