"""Runs seeds: `--seed N [--trace]` replays one, `--first N --seeds N` runs so many from there on, on all cores.

.venv/bin/python -m tests.simulation.run --first 0 --seeds 100000

What is done is told as it goes on. Ended early (Ctrl-C, SIGTERM), it says from which seed on to go on. The last line is
the result: `seeds=100000 first=0 failed=0 seconds=9000`.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from tests.simulation.simulated_run import ViolationError, run

ROOT = Path(__file__).parents[2]

SLICE = 25
"""So many seeds one process runs before it tells."""
TELL_SECONDS = 30.0
"""How often progress is told where nobody watches."""
Failure = tuple[int, str]


class Progress(NamedTuple):
    """How far a range of seeds is run.

    Attributes:
        done: how many seeds are.
        until: all seeds before this one are.
        failures: of the slice that was done last.
    """

    done: int
    until: int
    failures: list[Failure]


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


def pool(processes: int | None = None) -> ProcessPoolExecutor:
    """Processes for `run_slice`; without a number, one a core."""
    return ProcessPoolExecutor(processes or os.cpu_count(), mp_context=get_context("spawn"), initializer=_begin)


def _begin() -> None:
    """In a process that runs slices: Ctrl-C is for the one that started it; what is loaded is never collected."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()


def run_range(first: int, past: int, processes: Executor) -> Iterator[Progress]:
    """Runs the seeds of a range, and tells after each slice how far it is."""
    waiting = {processes.submit(run_slice, at, min(at + SLICE, past)): at for at in range(first, past, SLICE)}
    begun, done = set(waiting.values()), 0
    try:
        for slice_ in as_completed(waiting):
            at = waiting[slice_]
            begun.remove(at)
            done += min(at + SLICE, past) - at
            yield Progress(done, min(begun, default=past), slice_.result())
    finally:
        for slice_ in waiting:
            slice_.cancel()


def main() -> int:
    parser = argparse.ArgumentParser(description="Deterministic simulation of the lanes: one seed, one run.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="run this one")
    which.add_argument("--seeds", type=int, metavar="N", help="run so many")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="the first one of --seeds (default: 0)")
    parser.add_argument("--processes", type=int, metavar="N", help="for --seeds (default: one a core)")
    parser.add_argument("--trace", action="store_true", help="print what happens (with --seed)")
    asked = parser.parse_args()
    if asked.seed is not None:
        return _run_one(asked.seed, asked.trace)
    return _run_many(asked.first, asked.first + asked.seeds, asked.processes)


def _run_one(seed: int, trace: bool) -> int:
    try:
        run(seed, tell=print if trace else None)
    except ViolationError as error:
        print(f"seed {seed}: {error}")
        return 1
    print(f"seed {seed}: every invariant holds")
    return 0


def _run_many(first: int, past: int, processes: int | None) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    watched, began, told, failed = sys.stdout.isatty(), monotonic(), 0.0, 0
    so_far = Progress(0, first, [])
    try:
        with pool(processes) as executor:
            for so_far in run_range(first, past, executor):
                for seed, sentence in so_far.failures:
                    failed += 1
                    print(f"{_LINE if watched else ''}seed {seed}: {sentence}\n    {replay(seed)}", flush=True)
                now = monotonic()
                if watched or now - told >= TELL_SECONDS:
                    told = now
                    line = progress_line(so_far, past - first, failed, now - began)
                    print(f"{_LINE}{line}" if watched else line, end="" if watched else "\n", flush=True)
    except KeyboardInterrupt:
        print(f"\nended early; to go on: make soak FIRST={so_far.until} SEEDS={past - so_far.until}")
    if watched:
        print()
    print(f"seeds={so_far.done} first={first} failed={failed} seconds={monotonic() - began:.0f}")
    return 1 if failed or so_far.done < past - first else 0


_LINE = "\r\x1b[K"
"""Begins the terminal's line anew."""


def progress_line(so_far: Progress, seeds: int, failed: int, seconds: float) -> str:
    """How far a range of so many seeds is after so many seconds, and how long the rest will take."""
    rate = so_far.done / seconds
    left = round((seeds - so_far.done) / rate)
    time = f"{left // 3600}:{left // 60 % 60:02}:{left % 60:02}"
    return f"{so_far.done} of {seeds} seeds, {rate:.1f} a second, {failed} failed, {time} left"


if __name__ == "__main__":
    sys.exit(main())
