"""What a process and its descendants use of a machine, from /proc: CPU seconds and resident memory."""

from __future__ import annotations

import bisect
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """Of a process and its descendants."""

    cpu: float
    """Seconds, user and system, of those that live and of those that they waited for."""
    resident: int
    """Bytes; what processes share counts for each."""


class Sample(NamedTuple):
    """A look at a run.

    Attributes:
        at: Unix seconds.
        usage: of the contestant.
        broker: CPU seconds of the broker.
        ends: committed ends of the output's partitions, summed.
    """

    at: float
    usage: Usage
    broker: float
    ends: int


def usage(pid: int) -> Usage:
    """What a process and its descendants have used so far; nothing, where it has ended."""
    cpu, resident, todo = 0.0, 0, [pid]
    while todo:
        one = todo.pop()
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
            pages = Path(f"/proc/{one}/statm").read_text().split()[1]
            todo += children(one)
        except (FileNotFoundError, ProcessLookupError):
            continue
        cpu += sum(map(int, fields[11:15])) / TICK
        resident += int(pages) * PAGE
    return Usage(cpu, resident)


def children(pid: int) -> list[int]:
    """Ids of the processes that any thread of this one started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has ended
    return found


def cpu_between(samples: Sequence[Sample], begin: float, end: float) -> tuple[float, float]:
    """CPU seconds of the contestant and of the broker between two times, on straight lines between the samples."""

    def at(moment: float) -> tuple[float, float]:
        place = bisect.bisect_left(samples, moment, key=lambda sample: sample.at)
        if place in (0, len(samples)):
            near = samples[min(place, len(samples) - 1)]
            return near.usage.cpu, near.broker
        before, after = samples[place - 1], samples[place]
        part = (moment - before.at) / (after.at - before.at)
        return (
            before.usage.cpu + part * (after.usage.cpu - before.usage.cpu),
            before.broker + part * (after.broker - before.broker),
        )

    first, last = at(begin), at(end)
    return last[0] - first[0], last[1] - first[1]
