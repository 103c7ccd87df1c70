"""One `sluice worker` alone on a real Kafka, to be profiled; `run.py` measures it beside its peers.

    python benchmarks/throughput.py [--emissions 100000] [--processes N] [--profile FILE]

The measurement is `run.py`'s. Under a profile (cProfile, main thread, one process) the worker is slower: look at the
shares, not at the rate.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from contestants import Contestant, sluice, sluice_environment
from measuring import measure
from report import output, table
from workload import records

from sluice.codecs.times import format_time
from sluice.topology.brokers import RealBroker

__all__ = ["records"]

HERE = Path(__file__).parent


def profiled(target: Path) -> Contestant:
    """A worker under cProfile, which writes its figures into the file when it is ended."""
    command = [sys.executable, str(HERE / "profiled.py"), str(target.absolute()), "worker", "--log-level", "warning"]
    return Contestant("sluice, profiled", "sluice", "exactly-once", lambda course: command, sluice_environment)


def main() -> int:
    """Measures and prints; returns the exit status: 1 where the worker lost something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, default=100_000)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--profile", metavar="FILE", type=Path, help="run one process under cProfile")
    arguments = parser.parse_args()
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
