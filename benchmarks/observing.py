"""How many statements a second `sluice observe` looks at, on a real Kafka and a repository of 5,000 files.

    python benchmarks/observing.py [--files 5000] [--emissions 300] [--json]
    python benchmarks/observing.py --profile FILE     # looks alone, in this process, under cProfile

The repository is made first, the same each time: Python modules of 45 lines with classes, methods, constants, imports,
conditions and errors, in 40 commits, packed. Answers have as many statements and checks as those of `workload.py`, but
each statement is about one module and says what its checks say, which name what stands there; every fifth statement has
a false one. Each statement is looked at by code.read and by git.log.

The caches are warm: before the clock runs, the observer has looked at every file once. Then two things are measured:

    end to end      emissions in, observations out, in one `sluice observe`: statements for each second of its CPU time,
                    git and the parser's process included, so that a busy machine changes little
    a look          one statement by one class, in this process: p50 and p95, of CPU time and of the time that passed
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, suppress
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from contestants import SLUICE, Course, environment_with, sluice_environment
from latency import percentile
from measuring import last_line, stop
from usage import usage
from workload import CHECKS, CLASSES, create, delete, open_admin, producer, statements_of

from sluice.codecs.decode import decode_emission
from sluice.codecs.errors import Fault
from sluice.codecs.times import format_time
from sluice.streams.judging.check_texts import render
from sluice.streams.judging.checks import Check, parse_check
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.observers.look import look
from sluice.topology.observers.observer_registry import ObserverRegistry
from sluice.topology.observers.roots import Roots
from sluice.topology.settings.settings import Settings

COMMITS = 40
FALSE_EVERY = 5
SECONDS = 900.0
GOAL_STATEMENTS, GOAL_MS = 200, 20.0
_TIMES = [number for number, times in CHECKS for _ in range(times)]


class Module(NamedTuple):
    """One file of the repository."""

    number: int
    path: str
    text: str
    checks: list[str]


def module(number: int) -> Module:
    """A module and the checks that hold of it."""
    choose = Random(number)
    name, other = f"part_{number}", f"helper_{number % 997}"
    limit, size = choose.randrange(2, 9000), choose.randrange(2, 90)
    word = f"state {number} is not {size}"
    path = f"src/group_{number // 50}/{name}.py"
    text = f'''"""Keeps what part {number} needs."""

import json
from collections import deque

LIMIT_{number} = {limit}
NAME_{number} = "name of {number}"


class Error{number}(ValueError):
    """Something is wrong with part {number}."""


class Part{number}:
    """A part with at most {limit} items."""

    size: int = {size}

    def __init__(self, items: list[int], label: str = "none") -> None:
        self.items = deque(items, LIMIT_{number})
        self.label = label

    def take(self, wanted: int) -> int:
        """Takes an item, or says why not."""
        if wanted > LIMIT_{number}:
            raise Error{number}("{word}")
        self.count_{number}(wanted)
        return self.items.popleft()

    def count_{number}(self, wanted: int) -> None:
        """Counts."""
        self.size += {other}(wanted)


def {other}(wanted: int) -> int:
    """Helps with {number}."""
    if not wanted:
        return 0
    return wanted % {size}


def shown_{number}(part: Part{number}) -> str:
    """As JSON."""
    return json.dumps([part.label, {other}(part.size)])
'''
    where = f", path={path}"
    checks = [
        f"equals(LIMIT_{number}, {limit}{where})",
        f'equals(NAME_{number}, "name of {number}"{where})',
        f"defines(Part{number}.take{where})",
        f"calls(Part{number}.take, Part{number}.count_{number}{where})",
        f"calls(shown_{number}, {other}{where})",
        f"uses(Part{number}.count_{number}, {other}{where})",
        f"uses(shown_{number}, json.dumps{where})",
        f"raises(Part{number}.take, Error{number}{where})",
        f"extends(Error{number}, ValueError{where})",
        f'parameter(Part{number}.__init__, label, default="none"{where})',
        f'when(Part{number}.take, "wanted > LIMIT_{number}", "raise Error{number}"{where})',
        f'contains("{word}"{where})',
        f'returns({other}, "wanted % {size}"{where})',
        f"field(Part{number}, size{where})",
    ]
    return Module(number, path, text, checks)


def make_repository(root: Path, files: int) -> None:
    """Writes and commits so many modules."""
    commit = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.org", "commit", "-q", "-m"]
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    step = max(1, files // COMMITS)
    for first in range(0, files, step):
        for number in range(first, min(first + step, files)):
            made = module(number)
            path = root / made.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(made.text, "utf-8")
        subprocess.run(["git", "-C", str(root), "add", "."], check=True)
        subprocess.run([*commit, f"Add parts from {first} on"], cwd=root, check=True)
    subprocess.run(["git", "-C", str(root), "repack", "-adq"], check=True)  # as a clone has it


def said(checks: list[str]) -> str:
    """A sentence that says what the checks say."""
    each = [
        render(one, path=None, lines=None, commit=None)[:-1]
        for one in map(parse_check, checks)
        if isinstance(one, Check)
    ]
    return f"{', and '.join(each)}."


def emission(number: int, files: Iterator[int], now: str) -> dict[str, Any]:
    """An answer about modules that are looked at in turn."""
    choose, text, assertions = Random(number), "", list[dict[str, Any]]()
    for index in range(statements_of(number)):
        about = module(next(files))
        checks = choose.sample(about.checks, max(1, choose.choice(_TIMES)))
        if (number + index) % FALSE_EVERY == 0:
            checks[0] = f"equals(LIMIT_{about.number}, -1, path={about.path})"
        start = len(text) + bool(text)
        text += f"{' ' if text else ''}{said(checks)}"
        assertions.append(
            {
                "span": {"chars": [start, len(text)]},
                "provenance": [
                    {
                        "substrate_class": name,
                        "locator": {"path": about.path},
                    }
                    for name in CLASSES
                ],
                "checks": checks,
            }
        )
    return {
        "emission_id": f"em-{number}",
        "emitted_at": now,
        "emitter": {"system": "release-notes-bot", "model": "some-model-1", "prompt": "summarise-changelog"},
        "text": text,
        "assertions": assertions,
    }


def emissions(files: int, wanted: int, now: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Those that look at every file once, and those that are measured, about files in another order."""
    order, warm = iter(range(files)), list[dict[str, Any]]()
    looked = 0
    while looked + 6 <= files:
        warm.append(emission(len(warm), order, now))
        looked += len(warm[-1]["assertions"])
    mixed = (number * 1009 % looked for number in count())
    return warm, [emission(len(warm) + number, mixed, now) for number in range(wanted)]


class Observed(NamedTuple):
    """What `sluice observe` took for some emissions."""

    statements: int
    cpu_seconds: float
    seconds: float
    outcomes: dict[str, int]


def end_to_end(root: Path, broker: RealBroker, warm: list[dict[str, Any]], some: list[dict[str, Any]]) -> Observed:
    """Runs the observer over the warming emissions, then measures it over the others."""
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder:
        course = Course(broker.address, "observing.", Path(folder), 4)
        create(course.address, course.prefix, TOPICS, course.partitions)
        log = course.folder / "log"
        with log.open("wb") as said:
            command = [*SLUICE, "observe", "--root", str(root), "--log-level", "warning"]
            environment = environment_with(sluice_environment(course) | {"XDG_CACHE_HOME": folder})
            process = subprocess.Popen(
                command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        try:
            _await(course, process, log, _send(course, warm))
            before, began = usage(process.pid).cpu, time.monotonic()
            wanted = _send(course, some)
            _await(course, process, log, _looks(warm) + wanted)
            took, passed = usage(process.pid).cpu - before, time.monotonic() - began
        finally:
            stop(process)
            outcomes = _outcomes(course)
            delete(course.address, course.prefix)
    return Observed(wanted // len(CLASSES), took, passed, outcomes)


def _looks(some: list[dict[str, Any]]) -> int:
    return sum(len(one["assertions"]) for one in some) * len(CLASSES)


def _send(course: Course, some: list[dict[str, Any]]) -> int:
    sender = producer(course.address, **{"linger.ms": 5})
    for one in some:
        sender.produce(course.prefix + "emissions", json.dumps(one).encode(), one["emission_id"].encode())
        sender.poll(0)
    sender.flush(60)
    return _looks(some)


def _await(course: Course, process: subprocess.Popen[bytes], log: Path, wanted: int) -> None:
    admin, until = open_admin(course.address), time.monotonic() + SECONDS
    ends = {TopicPartition(course.prefix + "observations", n): OffsetSpec.latest() for n in range(course.partitions)}
    while True:
        with suppress(KafkaException):  # a topic that was just made may have no leader yet
            told = admin.list_offsets(ends, isolation_level=IsolationLevel.READ_COMMITTED)
            if sum(end.result().offset for end in told.values()) >= wanted:
                return
        if process.poll() is not None or time.monotonic() > until:
            raise SystemExit(f"sluice observe does not come to its end: {last_line(log)}")
        time.sleep(0.1)


def _outcomes(course: Course) -> dict[str, int]:
    from completeness import committed

    values = committed(course.address, course.prefix + "observations", course.partitions)
    return dict(Counter(json.loads(value)["outcome"] for value in values).most_common())


def looks(
    root: Path, warm: list[dict[str, Any]], some: list[dict[str, Any]], profile: cProfile.Profile | None = None
) -> tuple[list[float], list[float]]:
    """CPU milliseconds and milliseconds that passed of each look, one class of one statement, in this process."""
    settings, busy, passed = Settings(root=str(root)), list[float](), list[float]()
    roots = Roots.of(settings.root)
    with closing(ObserverRegistry(settings)) as instruments:
        for number, one in enumerate([*warm, *some]):
            if profile is not None and number == len(warm):
                profile.enable()
            for assertion in one["assertions"]:
                alone = decode_emission(json.dumps(one | {"assertions": [assertion]}).encode())
                assert not isinstance(alone, Fault), alone
                for name in CLASSES:
                    cpu, began = time.process_time(), time.perf_counter()
                    look(alone, settings, roots, instruments=instruments, only={name})
                    if number >= len(warm):
                        busy.append((time.process_time() - cpu) * 1e3)
                        passed.append((time.perf_counter() - began) * 1e3)
        if profile is not None:
            profile.disable()
    return sorted(busy), sorted(passed)


def main() -> int:
    """Measures and prints; returns 1 where a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--emissions", type=int, default=300, help="that are measured, beside those that warm")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="only looks, under cProfile")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder:
        root = Path(folder, "repository")
        make_repository(root, given.files)
        now = format_time(time.time_ns() // 1_000_000 + 1000)  # files that are younger have changed since
        warm, some = emissions(given.files, given.emissions, now)
        if given.profile:
            profile = cProfile.Profile()
            looks(root, warm, some, profile)
            profile.dump_stats(given.profile)
            return 0
        busy, passed = looks(root, warm, some)
        with RealBroker(heap=512) as broker:
            found = end_to_end(root, broker, warm, some)
    rate = found.statements / found.cpu_seconds
    report = {
        "files": given.files,
        "statements": found.statements,
        "statements_per_core_second": round(rate),
        "cpu_ms_per_statement": round(1e3 * found.cpu_seconds / found.statements, 2),
        "seconds": round(found.seconds, 1),
        "look_cpu_ms": {"p50": round(percentile(busy, 0.5), 2), "p95": round(percentile(busy, 0.95), 2)},
        "look_ms": {"p50": round(percentile(passed, 0.5), 2), "p95": round(percentile(passed, 0.95), 2)},
        "outcomes": found.outcomes,
        "machine": f"{platform.machine()}, Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}",
    }
    if given.json:
        print(json.dumps(report))
    else:
        for name, value in report.items():
            print(f"{name}: {value}")
    return int(rate < GOAL_STATEMENTS or percentile(busy, 0.95) > GOAL_MS)


if __name__ == "__main__":
    sys.exit(main())
