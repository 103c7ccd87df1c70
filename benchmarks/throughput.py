"""One `sluice worker` alone on a real Kafka: to be profiled, or to see what verdict records cost; `run.py` measures it
beside its peers.

    python benchmarks/throughput.py [--emissions 35000] [--processes N] [--profile FILE]
    python benchmarks/throughput.py --verdicts [--emissions 140000] [--runs 5]  # writes results/verdicts.json

The measurement is `run.py`'s. Under a profile (cProfile, main thread, one process) the worker is slower: look at the
shares, not at the rate.

`--verdicts` runs the worker under the policy's `verdicts = "none"`, `"settled"` and `"all"` in turn, on one broker, and
tells what an input costs the worker and the broker. A turn's runs are next to each other, and what a setting takes more
is a ratio within the turn; the middle of all turns' ratios counts, since a machine's mood changes over minutes.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, get_args

import msgspec
from completeness import committed
from contestants import Contestant, Course, sluice, sluice_environment, sluice_telling
from measuring import FailedError, Result, measure
from report import output, table
from workload import is_settled, records

from sluice.codecs.times import format_time
from sluice.streams.policy.policy import PublishedVerdicts
from sluice.topology.kafka.local_broker import RealBroker

__all__ = ["records"]

HERE = Path(__file__).parent
TOLD: tuple[PublishedVerdicts, ...] = ("none", "settled", "all")
MOST = 0.10
"""What `settled` may take more of a worker's CPU than `none`."""


def profiled(target: Path) -> Contestant:
    """A worker under cProfile, which writes its figures into the file when it is ended."""
    command = [sys.executable, str(HERE / "profiled.py"), str(target.absolute()), "worker", "--log-level", "warning"]
    return Contestant("sluice, profiled", "sluice", "exactly-once", lambda course: command, sluice_environment)


# ---------------------------------------------------------------- what verdict records cost


def demand_told(told: PublishedVerdicts, found: int, settled: int) -> None:
    """Demands that a run wrote the records on `verdicts` that its setting has written.

    Args:
        told: the policy's key.
        found: how many records are there.
        settled: of how many emissions all statements are admitted; the others have one that is pending.

    Raises:
        FailedError: there are more or fewer.
    """
    fine = {"none": found == 0, "settled": found == settled, "all": found > settled}[told]
    if not fine:
        raise FailedError(f'verdicts = "{told}" wrote {found} records for {settled} settled emissions')


def costs(turns: Sequence[Mapping[str, Result]]) -> dict[str, dict[str, float]]:
    """What an input costs under each setting.

    Args:
        turns: the results by setting, of each turn.

    Returns:
        By setting: microseconds of the worker's and of the broker's CPU and inputs a second, the middle of all turns
        each; the least of the worker's, which a busy machine disturbs least; and `more`, how much more CPU than under
        `none` the worker took, as the middle of the turns' ratios.
    """
    return {
        told: {
            "cpu_us_per_input": round(median(turn[told].cpu_us_per_input for turn in turns), 2),
            "least_us_per_input": min(turn[told].cpu_us_per_input for turn in turns),
            "broker_cpu_us_per_input": round(median(turn[told].broker_cpu_us_per_input for turn in turns), 2),
            "inputs_per_second": round(median(turn[told].inputs_per_second for turn in turns)),
            "more": round(median(turn[told].cpu_us_per_input / turn["none"].cpu_us_per_input for turn in turns) - 1, 3),
        }
        for told in turns[0]
    }


def compare(arguments: argparse.Namespace) -> int:
    """Measures all settings in turn, prints and stores; returns the exit status: 1 where a run failed or lost something
    or `settled` costs more than it may."""
    at, turns = format_time(time.time_ns() // 1_000_000), list[dict[str, Result]]()
    settled, load = sum(is_settled(number) for number in range(arguments.emissions)), os.getloadavg()[0]
    from run import BROKER, warm

    with RealBroker(heap=1024, properties=BROKER) as broker:
        warm(broker, arguments.emissions)
        for number in range(arguments.runs):
            turn = dict[str, Result]()
            # Each turn in another order: whoever comes first finds another broker than whoever comes last.
            for told in TOLD[number % len(TOLD) :] + TOLD[: number % len(TOLD)]:

                def keep(course: Course, result: Result, told: PublishedVerdicts = told) -> None:
                    written = committed(course.address, course.prefix + "verdicts", course.partitions)
                    demand_told(told, sum(1 for _ in written), settled)

                turn[told] = result = measure(
                    sluice_telling(told, arguments.processes),
                    broker,
                    f"told{number}-{told}.",
                    emissions=arguments.emissions,
                    partitions=arguments.partitions,
                    now=at,
                    tell=lambda *_: None,
                    keep=keep,
                )
                said = result.failed or f"{result.cpu_us_per_input} us, {result.inputs_per_second:,} inputs/s"
                print(f'turn {number + 1} of {arguments.runs}, verdicts = "{told}": {said}', file=sys.stderr)
                if result.failed or not result.complete or result.doubled:
                    return 1
            turns.append(turn)
    found = costs(turns)
    document: dict[str, Any] = {
        "at": at,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "load": round(load, 1),
        "emissions": arguments.emissions,
        "processes": arguments.processes,
        "partitions": arguments.partitions,
        "costs": found,
        "turns": [{told: turn[told].cpu_us_per_input for told in TOLD} for turn in turns],
    }
    arguments.results.mkdir(parents=True, exist_ok=True)
    (arguments.results / "verdicts.json").write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    for told, cost in found.items():
        print(
            f'verdicts = "{told}": worker {cost["cpu_us_per_input"]} us an input ({cost["more"]:+.1%}; '
            f"at least {cost['least_us_per_input']}), broker {cost['broker_cpu_us_per_input']} us, "
            f"{cost['inputs_per_second']:,} inputs/s"
        )
    met = found["settled"]["more"] <= MOST
    print(f'"settled" takes {found["settled"]["more"]:.1%} more (at most {MOST:.0%}): {"met" if met else "NOT met"}')
    return int(not met)


def main() -> int:
    """Measures and prints; returns the exit status: 1 where the worker lost something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, help="of the input [35000; with --verdicts 140000]")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--profile", metavar="FILE", type=Path, help="run one process under cProfile")
    parser.add_argument("--verdicts", action="store_true", help=f"compare {', '.join(get_args(PublishedVerdicts))}")
    parser.add_argument("--runs", type=int, default=5, help="with --verdicts: turns [5]")
    parser.add_argument("--results", type=Path, default=HERE / "results", metavar="DIR", help="with --verdicts")
    arguments = parser.parse_args()
    if arguments.profile and arguments.verdicts:
        parser.error("--profile and --verdicts do not go together")
    if arguments.emissions is None:
        arguments.emissions = 140_000 if arguments.verdicts else 35_000
    if min(arguments.emissions, arguments.processes, arguments.partitions, arguments.runs) < 1:
        parser.error("numbers are from 1 on")
    if arguments.verdicts:
        return compare(arguments)
    who = profiled(arguments.profile) if arguments.profile else sluice(arguments.processes)
    with RealBroker(heap=1024) as broker:
        result = measure(
            who,
            broker,
            "bench.",
            emissions=arguments.emissions,
            partitions=arguments.partitions,
            now=format_time(time.time_ns() // 1_000_000),
            tell=lambda *_: None,
        )
    output().print(table({who.name: result}))
    return int(bool(result.failed) or not result.complete)


if __name__ == "__main__":
    sys.exit(main())
