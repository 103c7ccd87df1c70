"""Runs seeds: `run.py --seed N [--trace]` replays one, `run.py --seeds A..B` many, on all cores.

.venv/bin/python -m tests.simulation.run --seeds 0..100000
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from tests.simulation.simulated_run import ViolationError, run

ROOT = Path(__file__).parents[2]

SLICE = 25
"""So many seeds one process runs before it tells."""
Failure = tuple[int, str]


def replay(seed: int) -> str:
    """The command that runs a seed again, with its trace."""
    return f".venv/bin/python -m tests.simulation.run --seed {seed} --trace"


def run_slice(first: int, past: int) -> list[Failure]:
    """Runs the seeds of a range; returns those that fail, each with what did not hold."""
    failures: list[Failure] = []
    for seed in range(first, past):
        try:
            run(seed)
        except ViolationError as error:
            failures.append((seed, str(error)))
    gc.collect()
    return failures


def pool() -> ProcessPoolExecutor:
    """Processes for `run_slice`, one a core."""
    return ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn"))


def run_range(first: int, past: int, processes: ProcessPoolExecutor) -> Iterator[tuple[int, list[Failure]]]:
    """Runs the seeds of a range, and tells after each slice: how many are done by now, and which of it fail."""
    waiting = [processes.submit(run_slice, start, min(start + SLICE, past)) for start in range(first, past, SLICE)]
    for number, done in enumerate(as_completed(waiting), 1):
        yield min(number * SLICE, past - first), done.result()


def main() -> int:
    parser = argparse.ArgumentParser(description="Deterministic simulation of the lanes: one seed, one run.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this one")
    which.add_argument("--seeds", metavar="A..B", help="run these, B not included")
    parser.add_argument("--trace", action="store_true", help="print what happens (with --seed)")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _run_one(asked.seed, asked.trace)
    first, _, past = asked.seeds.partition("..")
    return _run_many(int(first), int(past))


def _run_one(seed: int, trace: bool) -> int:
    try:
        run(seed, tell=print if trace else None)
    except ViolationError as error:
        print(f"seed {seed}: {error}")
        return 1
    print(f"seed {seed}: every invariant holds")
    return 0


def _run_many(first: int, past: int) -> int:
    failed = 0
    with pool() as processes:
        for done, failures in run_range(first, past, processes):
            for seed, sentence in failures:
                failed += 1
                print(f"\nseed {seed}: {sentence}\n    {replay(seed)}")
            print(f"\r{done} of {past - first} seeds, {failed} failed", end="", flush=True)
    print()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
