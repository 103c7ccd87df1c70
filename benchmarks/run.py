"""The benchmark against peers (`make bench`): one run, one machine, one real Kafka, the same preloaded input.

    python benchmarks/run.py [--emissions 35000] [--runs N] [--only NAME]… [--write-docs]
    python benchmarks/run.py --quick [--update]       # instruction counts of the fold against the stored figure
    python benchmarks/run.py --quick --verdicts WHAT  # the same under that key of the policy, compared with nothing
    python benchmarks/run.py --scale                  # partitions, processes, and live assertions
    python benchmarks/run.py --many-lanes [64 128]    # so many partitions, beside Kafka Streams with as many tasks
    python benchmarks/run.py --hand-over [--small] [--cold]  # pauses of lanes when a third worker joins two
    python benchmarks/run.py --restore [INPUTS]…      # restarts without a snapshot

Writes `latest.json`, `latest.svg` and `latest.md` into `benchmarks/results/`. Contestants run one after the other, in
three turns, each on topics of its own with byte-identical input, and each one's output is read by an independent
reader. The middle run of each counts; whose first one took long does not run again. What sluice wrote is audited after
each of its runs; after all come sluice's latency at half of its best rate. Exit status: 0 done, 1 sluice lost, doubled
or invented something or its audit does not hold, 2 wrong usage, 3 no Kafka to be had.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any, Literal, NamedTuple

import msgspec
from capacity import Measured, disk_bytes, section
from confluent_kafka import KafkaException
from contestants import (
    CONTESTANTS,
    SLUICE,
    Contestant,
    Course,
    SetupError,
    environment_with,
    sluice,
    sluice_environment,
)
from latency import Latency, measure_latency, middle
from measuring import FailedError, Result, Tell, measure
from ratios import Goal, best, goals, ratios
from report import beside_markdown, goals_markdown, markdown, output, peers_section, svg, table, write_section
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from sluice.codecs.errors import SluiceError
from sluice.codecs.times import format_time
from sluice.topology.kafka.local_broker import RealBroker

HERE = Path(__file__).parent
CAPACITY = HERE.parent / "docs" / "capacity.md"
AUDIT_SECONDS = 600
AUDITS = 3
"""Of each ledger; the middle one of all counts: one takes a second, and a moment's disturbance is much of that."""
LONG_SECONDS = 10.0
"""A run of two seconds is at a moment's mercy, and is repeated; one of more than this is not."""
WARM_TURNS = 4
"""Of the latency's load, not counted: the broker's own compiler takes half a core for a minute and more once
thousands of small transactions begin. A broker that has run for a day has that behind it."""
TURNS = 3
"""Of it, counted: the middle one is told, by its 99th percentile, and all of them in `latest.json`."""
BESIDE_TURNS = 3
BESIDE_WARM_SECONDS = 15.0
"""Of the load that sluice and Kafka Streams are given in turn, not counted: a JVM gets warm in it."""
# A worker's processes, and a peer's threads, join one group within three seconds, as on any Kafka: without the wait the
# first would have all partitions, and a rebalance would fall into the measured time.
# An index is a sparse file of its full size, 10 MiB, of which the first look at a page has the kernel fill many with
# zeros: two for each partition that is written for the first time are a tenth of a short run's CPU, and nothing of a
# broker's that has run for a day.
BROKER = {"group.initial.rebalance.delay.ms": "3000", "log.index.size.max.bytes": "524288"}
console = Console(stderr=True)


def now() -> str:
    """The time for records and reports."""
    return format_time(time.time_ns() // 1_000_000)


class Audit(NamedTuple):
    """One audit, in inputs a second.

    Attributes:
        refolded: by the clock that everybody has, which starts when the first record is there to be taken.
        whole: from its call on, clients, the cut and processes included.
    """

    refolded: float
    whole: float


def audits_of(course: Course, result: Result, processes: int) -> list[Audit]:
    """`sluice audit` over what a run wrote: ledgers and outputs, from the broker, byte for byte.

    Raises:
        FailedError: it does not hold, or does not cover every input.
    """
    command = [*SLUICE, "audit", "--json", "--processes", str(processes)]
    environment = environment_with(sluice_environment(course))
    found = list[Audit]()
    for _ in range(AUDITS):
        done = subprocess.run(command, env=environment, cwd=course.folder, capture_output=True, timeout=AUDIT_SECONDS)
        if done.returncode:
            raise FailedError(f"its audit fails: {done.stderr.decode(errors='replace').strip()[-200:]}")
        report = msgspec.json.decode(done.stdout)
        inputs = sum(lane["inputs"] for lane in report["lanes"])
        if inputs != result.inputs:
            raise FailedError(f"its audit covers {inputs} inputs of {result.inputs}")
        refolding = max(report["seconds"] - report["start_seconds"], 0.001)  # the report's grain
        found.append(Audit(inputs / refolding, inputs / report["seconds"]))
    return found


class Found(NamedTuple):
    """What all turns found, by contestant's name.

    Attributes:
        runs: each one's, in order.
        audits: of what each run of sluice wrote.
        bytes_by_topic: on the broker's disk, by topic, of the last run of sluice.
        diverged: why an audit does not hold.
    """

    runs: dict[str, list[Result]]
    audits: dict[str, list[Audit]]
    bytes_by_topic: dict[str, int]
    diverged: dict[str, str]

    @property
    def results(self) -> dict[str, Result]:
        """Each one's middle run; of two, the slower one."""
        return {name: sorted(runs, key=_rank)[(len(runs) - 1) // 2] for name, runs in self.runs.items()}

    def audited(self, part: Literal["refolded", "whole"]) -> dict[str, float]:
        """Inputs a second of each one's middle audit."""
        return {name: median(getattr(audit, part) for audit in audits) for name, audits in self.audits.items()}


def warm(broker: RealBroker, emissions: int) -> None:
    """One run that does not count: a broker is compiled while it is first used, and whoever is first would pay."""
    with progress("warming the broker up") as tell:
        measure(CONTESTANTS[0], broker, "warm.", emissions=max(emissions // 2, 1), partitions=4, now=now(), tell=tell)


def compete(broker: RealBroker, data: Path, contestants: list[Contestant], arguments: argparse.Namespace) -> Found:
    """Runs all contestants in turns, on a broker with this data folder."""
    runs, audits, bytes_by_topic, diverged = found = Found({}, {}, {}, {})
    at, most = now(), LONG_SECONDS * max(1.0, arguments.emissions / 35_000)
    for turn in range(arguments.runs):
        for place, contestant in enumerate(contestants):
            before = runs.setdefault(contestant.name, [])
            if before and (before[0].failed or before[0].seconds > most):
                continue

            def keep(course: Course, result: Result, who: Contestant = contestant) -> None:
                if who.family == "sluice":
                    bytes_by_topic.clear()
                    bytes_by_topic.update(disk_bytes(data, course.prefix))
                    try:
                        made = audits_of(course, result, int(who.name.split()[1]))
                    except (FailedError, subprocess.TimeoutExpired) as error:
                        diverged[who.name] = str(error)
                        console.print(f"{who.name}: {error}", highlight=False)
                    else:
                        audits.setdefault(who.name, []).extend(made)

            with progress(f"{place + 1}/{len(contestants)} {contestant.name}") as tell:
                result = measure(
                    contestant,
                    broker,
                    f"bench{turn}-{place}.",
                    emissions=arguments.emissions,
                    partitions=arguments.partitions,
                    now=at,
                    tell=tell,
                    keep=keep,
                )
            before.append(result)
            outcome = f"not run: {result.failed}" if result.failed else f"{result.inputs_per_second:,} inputs/s"
            console.print(f"{contestant.name}: {outcome}", highlight=False)
    return found


def _rank(result: Result) -> tuple[bool, bool, int]:
    return not result.failed, result.complete and not result.doubled, result.inputs_per_second


@contextmanager
def progress(name: str) -> Iterator[Tell]:
    """A bar on a terminal, nothing in a pipe."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(name, total=None)

        def tell(what: str, done: int, total: int) -> None:
            bar.update(task, description=f"{name}: {what}", completed=done, total=total or None)

        yield tell


def latency_of(broker: RealBroker, results: dict[str, Result], seconds: float) -> dict[str, Any]:
    """sluice's latency at half of its best rate, of the middle turn; why not, where it was not measured."""
    ours = best(results, "sluice")
    if ours is None or seconds <= 0:
        return {"p50": None, "p99": None}
    name = next(name for name, result in results.items() if result is ours)
    console.print(f"latency: {name}, {ours.inputs_per_second // 2:,} inputs/s for {seconds:g} s", highlight=False)
    try:
        found = [
            measure_latency(
                broker.address,
                f"latency{turn}.",
                ours.inputs_per_second // 2,
                seconds,
                sluice(int(name.split()[1])),
                now(),
            )
            for turn in range(WARM_TURNS + TURNS)
        ]
    except (FailedError, KafkaException) as error:
        console.print(f"latency: not measured: {error}", highlight=False)
        return {"p50": None, "p99": None, "failed": str(error)}
    turns = [{"p50": turn.p50, "p99": turn.p99} for turn in found]
    return {**msgspec.to_builtins(middle(found[WARM_TURNS:])), "turns": turns, "warm_turns": WARM_TURNS}


def latency_beside(broker: RealBroker, results: dict[str, Result], seconds: float) -> list[dict[str, Any]]:
    """The latency of sluice and of Kafka Streams under the same load, in turn, of the middle turn each.

    The loads are half of what sluice takes at its best, and half of what Kafka Streams does: at the first the latter
    may fall behind. Each turn has 15 s of load before what counts, in which a JVM gets warm.
    """
    both = [one for family in ("sluice", "kafka_streams") if (one := best(results, family)) is not None]
    if seconds <= 0 or len(both) < 2:
        return []
    contestants = {one.name: one for one in CONTESTANTS}
    who = {one.family: contestants[name] for one in both for name, result in results.items() if result is one}
    beside: list[dict[str, Any]] = []
    for rate in (one.inputs_per_second // 2 for one in both):
        turns: dict[str, list[Latency]] = {family: [] for family in who}
        for turn in range(BESIDE_TURNS):
            for family, contestant in who.items():
                console.print(f"latency: {contestant.name}, {rate:,} inputs/s for {seconds:g} s", highlight=False)
                try:
                    turns[family].append(
                        measure_latency(
                            broker.address,
                            f"beside{rate}-{turn}-{family}.",
                            rate,
                            seconds,
                            contestant,
                            now(),
                            warm=BESIDE_WARM_SECONDS,
                        )
                    )
                except (FailedError, SetupError, KafkaException) as error:
                    console.print(f"latency: not measured: {error}", highlight=False)
        beside += [{"family": family, **msgspec.to_builtins(middle(found))} for family, found in turns.items() if found]
    return beside


def bench(arguments: argparse.Namespace) -> int:
    """The whole run; returns the exit status."""
    wanted = [
        one
        for one in CONTESTANTS
        if not arguments.only or any(part.lower() in one.name.lower() for part in arguments.only)
    ]
    if not wanted:
        console.print(f"no contestant is named so; there are: {', '.join(one.name for one in CONTESTANTS)}")
        return 2
    document: dict[str, Any] = {
        "at": now(),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "sluice": metadata.version("sluice-verdicts"),
        "emissions": arguments.emissions,
        "partitions": arguments.partitions,
        "runs": arguments.runs,
    }
    with (
        tempfile.TemporaryDirectory(prefix="sluice-bench-") as data,
        RealBroker(data, heap=1024, properties=BROKER) as broker,
    ):
        warm(broker, arguments.emissions)
        found = compete(broker, Path(data), wanted, arguments)
        results, bytes_by_topic = found.results, found.bytes_by_topic
        document["latency_ms"] = latency_of(broker, results, arguments.latency)
        document["latency_beside"] = latency_beside(broker, results, arguments.latency)
    document["ratios"] = ratios(results, found.audited("refolded"), found.audited("whole"))
    document["audit_inputs_per_second"] = {name: round(rate) for name, rate in found.audited("refolded").items()}
    document["runs_inputs_per_second"] = {
        name: [run.inputs_per_second for run in runs] for name, runs in found.runs.items()
    }
    held = goals(document["ratios"], document["latency_ms"], document["latency_beside"])
    document["goals"] = [{**goal._asdict(), "met": goal.met} for goal in held]
    document["audits_failed"] = found.diverged
    document["bytes_per_emission"] = {
        topic: round(size / arguments.emissions, 1) for topic, size in bytes_by_topic.items()
    }
    document["results"] = msgspec.to_builtins(results)
    write(arguments, document, results, held)
    show(results, held)
    for one in document["latency_beside"]:
        said = f"{one['p50']} ms (p50), {one['p99']} ms (p99), at {one['inputs_per_second']:,} inputs/s"
        output().print(f"{one['contestant']}: {said}")
    ours = [run for runs in found.runs.values() for run in runs if run.family == "sluice"]
    return int(bool(found.diverged) or any(result.failed or not result.complete or result.doubled for result in ours))


def write(
    arguments: argparse.Namespace, document: dict[str, Any], results: dict[str, Result], held: Sequence[Goal]
) -> None:
    """The files in `results/`, and where it is wanted the page's section."""
    where = f"{document['cores']} cores, broker on the same machine"
    subtitle = f"{document['at'][:10]}, {document['emissions']:,} emissions, {where}"
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "latest.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    (arguments.results / "latest.svg").write_text(svg(results, subtitle), "utf-8")
    page = "\n\n".join(
        ["# Latest run", subtitle + ".", markdown(results), goals_markdown(held), *beside_markdown(document)]
    )
    (arguments.results / "latest.md").write_text(page + "\n", "utf-8")
    if arguments.write_docs:
        write_section(CAPACITY, "peers", peers_section(document, results, held))
        one = results.get("sluice, 1 process")
        if one is not None and not one.failed:
            measured = Measured(one.inputs_per_second, one.cpu_us_per_input, document["bytes_per_emission"])
            write_section(CAPACITY, "need", section(measured))


def show(results: dict[str, Result], held: Sequence[Goal]) -> None:
    """The table and the goals, on standard output."""
    shown = output()
    shown.print(table(results))
    for goal in held:
        figure = "not measured" if goal.figure is None else f"{goal.figure:g}"
        met = {True: "met", False: "NOT met", None: "not known"}[goal.met]
        shown.print(f"{goal.name}: {figure} ({goal.wanted}): {met}")


def parse(given: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, help="of the input [35000; with --scale 7000]")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3, help="turns; of each contestant the middle run counts [3]")
    parser.add_argument("--only", action="append", metavar="NAME", help="contestants whose name has this; repeatable")
    parser.add_argument("--latency", type=float, default=20.0, metavar="SECONDS", help="of load; 0 leaves it out")
    parser.add_argument("--results", type=Path, default=HERE / "results", metavar="DIR", help="where to write")
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/capacity.md")
    parser.add_argument("--quick", action="store_true", help="only the fold's instruction count against the stored one")
    parser.add_argument("--update", action="store_true", help="with --quick: store the count")
    parser.add_argument(
        "--verdicts",
        choices=("settled", "all", "none"),
        help="with --quick: only count, where the policy says so",
    )
    parser.add_argument("--scale", action="store_true", help="partitions, processes, and cost by live assertions")
    parser.add_argument("--hand-over", action="store_true", help="how long lanes stand when a third worker joins two")
    parser.add_argument("--small", action="store_true", help="with --hand-over: little state, to see that it works")
    parser.add_argument("--cold", action="store_true", help="with --hand-over: lanes move at once, as they did before")
    many = "with so many partitions, beside Kafka Streams with as many tasks [64 128]"
    parser.add_argument("--many-lanes", type=int, nargs="*", metavar="PARTITIONS", help=many)
    inputs = "restarts without a snapshot, after so many inputs [1000000 10000000]"
    parser.add_argument("--restore", type=int, nargs="*", metavar="INPUTS", help=inputs)
    live = "live assertions of --scale %(default)s; 10 million take 7 GB"
    parser.add_argument("--live", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000], metavar="N", help=live)
    arguments = parser.parse_args(given)
    if arguments.update and not arguments.quick:
        parser.error("--update goes with --quick")
    if arguments.verdicts and (arguments.update or not arguments.quick):
        parser.error("--verdicts goes with --quick, and without --update")
    if (arguments.small or arguments.cold) and not arguments.hand_over:
        parser.error("--small and --cold go with --hand-over")
    if arguments.emissions is None:
        arguments.emissions = 7_000 if arguments.scale else 35_000
    if (
        min(
            arguments.emissions,
            arguments.partitions,
            arguments.runs,
            *arguments.live,
            *(arguments.restore or ()),
            *(arguments.many_lanes or ()),
        )
        < 1
    ):
        parser.error("numbers are from 1 on")
    return arguments


def main() -> int:
    """Does what the command line says."""
    arguments = parse()
    if arguments.quick:
        from instructions import guard, tell

        if arguments.verdicts:
            return tell(arguments.verdicts)
        return guard(arguments.results, update=arguments.update)
    try:
        if arguments.scale:
            from scale import scale

            return scale(arguments)
        if arguments.hand_over:
            from hand_over import hand_over

            return hand_over(arguments)
        if arguments.many_lanes is not None:
            from many_lanes import many_lanes

            return many_lanes(arguments)
        if arguments.restore is not None:
            from restoring import restore

            return restore(arguments)
        return bench(arguments)
    except SluiceError as error:
        console.print(str(error), highlight=False)
        return 3


if __name__ == "__main__":
    sys.exit(main())
