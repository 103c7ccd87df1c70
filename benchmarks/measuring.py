"""One contestant over one preloaded input: how long, how much CPU, how much memory, and whether all is there.

The same clock for everybody. It starts when the first record has reached the application (a peer writes that down; of
sluice it is the time of the first block with records, less what a block may wait), so start-up is not measured. It
stops when the last output became visible to a reader with read_committed, by the ends of the output's partitions.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec
from completeness import Verdict, committed, judge
from confluent_kafka import IsolationLevel, KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec
from contestants import Contestant, Course, SetupError, environment_with
from transactions import commits
from usage import Sample, cpu_between, usage
from workload import admitted_names, create, delete, open_admin, preload

from sluice.codecs.blocks import EventKind, unseal
from sluice.topology.kafka.local_broker import RealBroker
from sluice.topology.kafka.topics import TOPICS
from sluice.topology.settings.settings import Settings

LOOK_SECONDS = 0.1
"""The clock's grain: a look costs the broker a request, so not more often."""
START_SECONDS = 120.0
"""So long may a contestant take until its first output."""
QUIET_SECONDS = 3.0
"""It is done when there is enough and nothing came for so long: with transactions, ends count their markers too."""
STALLED_SECONDS = 45.0
"""Something is missing, and nothing has come for so long: longer than a session time-out and a rebalance."""
BLIND_SECONDS = 15.0
"""So long may the broker give no answer about ends."""
STOP_SECONDS = 20.0

Tell = Callable[[str, int, int], None]
"""What happens, how much of it is done, and of how much."""


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One contestant's run; where it `failed`, the rest is empty.

    Attributes:
        seconds: from the first record to the last output's visibility.
        peak_mb: resident memory of all its processes together, at the most, start-up included.
        missing, doubled, foreign: outputs that are not as they must be.
        start_seconds: from its start to its first record.
        inputs_per_block: of sluice.
        transactions_per_second: committed while it ran, by the broker's log of transactions.
    """

    family: str
    guarantees: str
    inputs: int = 0
    seconds: float = 0.0
    inputs_per_second: int = 0
    cpu_us_per_input: float = 0.0
    broker_cpu_us_per_input: float = 0.0
    peak_mb: int = 0
    start_seconds: float = 0.0
    complete: bool = False
    missing: int = 0
    doubled: int = 0
    foreign: int = 0
    inputs_per_block: int = 0
    transactions_per_second: int = 0
    failed: str = ""


class FailedError(Exception):
    """A contestant did not come to its end."""


def topics_of(contestant: Contestant) -> Iterable[str]:
    """The topics that a contestant reads and writes."""
    return TOPICS if contestant.family == "sluice" else ("emissions", "observations", "admitted")


def measure(
    contestant: Contestant,
    broker: RealBroker,
    prefix: str,
    *,
    emissions: int,
    partitions: int,
    now: str,
    tell: Tell,
    keep: Callable[[Course, Result], None] | None = None,
) -> Result:
    """Preloads, runs and judges one contestant, under topics of its own.

    Args:
        contestant: who.
        broker: where.
        prefix: of its topics, which are removed afterwards.
        emissions, partitions, now: the input (`workload.records`).
        tell: is told what happens.
        keep: is called while the topics are still there, after the contestant has ended.
    """
    with tempfile.TemporaryDirectory(prefix="sluice-bench-", ignore_cleanup_errors=True) as folder:
        course = Course(broker.address, prefix, Path(folder), partitions)
        result = Result(family=contestant.family, guarantees=contestant.guarantees)
        tell("set up", 0, 0)
        try:
            command = contestant.command(course)
        except SetupError as error:
            result.failed = str(error)
            return result
        try:
            create(course.address, prefix, topics_of(contestant), partitions)
            tell("preload", 0, 0)
            result.inputs = preload(course.address, prefix, emissions, now)
            _run(contestant, command, course, broker, emissions, result, tell)
            if keep is not None:
                keep(course, result)
        except (FailedError, KafkaException, RuntimeError) as error:
            result.failed = str(error) or type(error).__name__
        finally:
            try:
                delete(course.address, prefix)
            except KafkaException as error:
                result.failed = result.failed or f"its topics cannot be removed: {error}"
        return result


def _run(
    contestant: Contestant,
    command: Sequence[str],
    course: Course,
    broker: RealBroker,
    emissions: int,
    result: Result,
    tell: Tell,
) -> None:
    expected = admitted_names(emissions)
    log = course.folder / "log"
    environment = environment_with(contestant.environment(course))
    started = time.time()
    with log.open("wb") as said:
        process = subprocess.Popen(
            command, env=environment, cwd=course.folder, stdin=subprocess.DEVNULL, stdout=said, stderr=said
        )
        try:
            samples = watch(process, broker.pid or 0, course, len(expected), tell)
        finally:
            stop(process)
    begin = sluice_begun(course, result) if contestant.family == "sluice" else _logged_begin(course, log)
    end = next(sample.at for sample in samples if sample.ends == samples[-1].ends)
    tell("check", 0, 0)
    verdict = judge(committed(course.address, course.prefix + "admitted", course.partitions), expected)
    fill(result, samples, begin, end, verdict)
    result.start_seconds = round(begin - started, 1)
    committed_then = commits(course.address, begin, end)
    result.transactions_per_second = round(committed_then / max(end - begin, 1e-3))


def fill(result: Result, samples: list[Sample], begin: float, end: float, verdict: Verdict) -> None:
    """Writes what was measured between begin and end (Unix seconds) into the result."""
    cpu, brokers = cpu_between(samples, begin, end)
    result.seconds = round(end - begin, 3)
    result.inputs_per_second = round(result.inputs / max(end - begin, 1e-3))
    result.cpu_us_per_input = round(cpu / result.inputs * 1e6, 1)
    result.broker_cpu_us_per_input = round(brokers / result.inputs * 1e6, 1)
    result.peak_mb = round(max(sample.usage.resident for sample in samples) / 1e6)
    result.complete = verdict.complete
    result.missing, result.doubled, result.foreign = verdict


def watch(process: subprocess.Popen[bytes], broker: int, course: Course, enough: int, tell: Tell) -> list[Sample]:
    """Looks at a run until it is done.

    Raises:
        FailedError: the contestant ended by itself, or nothing came.
    """
    admin = open_admin(course.address)
    partitions = {
        TopicPartition(course.prefix + "admitted", one): OffsetSpec.latest() for one in range(course.partitions)
    }
    samples, changed = list[Sample](), time.time()
    while True:
        try:
            found = admin.list_offsets(partitions, isolation_level=IsolationLevel.READ_COMMITTED)
            ends = sum(one.result().offset for one in found.values())
        except KafkaException:  # new topics have no leader yet
            if time.time() - (samples[-1].at if samples else changed) > BLIND_SECONDS:
                raise
            time.sleep(LOOK_SECONDS)
            continue
        now = time.time()
        if not samples or ends != samples[-1].ends:
            changed = now
        samples.append(Sample(now, usage(process.pid), usage(broker).cpu, ends))
        tell("run", min(ends, enough), enough)
        if process.poll() is not None:
            raise FailedError(f"it ended by itself ({process.returncode}): {last_line(course.folder / 'log')}")
        quiet = now - changed
        if quiet > (QUIET_SECONDS if ends >= enough else STALLED_SECONDS if ends else START_SECONDS):
            if not ends:
                raise FailedError(f"no output within {START_SECONDS:.0f} s: {last_line(course.folder / 'log')}")
            return samples
        time.sleep(LOOK_SECONDS)


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a contestant, gently first."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(log: Path) -> str:
    """What a contestant said last, cut to a sentence's length."""
    lines = log.read_text(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


def _logged_begin(course: Course, log: Path) -> float:
    try:
        return float(course.begun.read_text())
    except (FileNotFoundError, ValueError):
        raise FailedError(f"it did not tell of its first record: {last_line(log)}") from None


def sluice_begun(course: Course, result: Result) -> float:
    """When sluice's first records came, Unix seconds, by the ledgers; they must hold every input once.

    Raises:
        FailedError: they hold more inputs or less.
    """
    blocks = list(_blocks(course))
    inputs = sum(count for _, count in blocks)
    if inputs != result.inputs:
        raise FailedError(f"its ledgers hold {inputs} inputs of {result.inputs}")
    result.inputs_per_block = round(inputs / len(blocks))
    return min(at for at, _ in blocks) / 1000 - Settings().max_block_wait


def _blocks(course: Course) -> Iterator[tuple[int, int]]:
    """(time, records) of each block that has any."""
    for value in committed(course.address, course.prefix + "ledger", course.partitions):
        block = unseal(value)
        count = sum(event.kind == EventKind.RECORD for event in block.events)
        if count:
            yield block.header.time, count
