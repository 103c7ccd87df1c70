"""Whatever goes wrong, and whenever: nothing is lost, nothing comes twice, and outputs are what the ledger folds to.

The first 200 worlds are run one by one, and also show that everything happens that can go wrong. `SEEDS` in the
environment says how many more are run, on all cores (default 60), `FIRST_SEED` where those begin; each commit has other
ones (`search.SEED`). Each planted mistake is among the first 75 (test_mutations.py). `make soak` runs 100,000.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from unittest.mock import patch

import pytest
from search import SEED

from . import run as seeds
from .partition import Fate
from .run import ROOT, Failure, Progress, pool, progress_line, replay, run_range
from .simulated_run import run

pytestmark = pytest.mark.slow

TOLD = 200
SEEDS = int(os.environ.get("SEEDS", "60"))
FIRST = int(os.environ.get("FIRST_SEED", str(TOLD + SEED % 1_000_000 * 1_000)))
CHUNK = max(1, -(-SEEDS // 20))


@pytest.fixture(scope="module")
def processes() -> Iterator[ProcessPoolExecutor]:
    """One a core, for all chunks."""
    with pool() as executor:
        yield executor


@pytest.mark.timeout(max(300, CHUNK))
@pytest.mark.parametrize("first", range(FIRST, FIRST + SEEDS, CHUNK))
def test_every_invariant_holds(first: int, processes: ProcessPoolExecutor) -> None:
    """In each of these worlds; one in which it does not can be replayed by the command that is told."""
    failures: list[Failure] = []
    for so_far in run_range(first, min(first + CHUNK, FIRST + SEEDS), processes):
        failures += so_far.failures

    assert not failures, "\n".join(f"seed {seed}: {why}\n    {replay(seed)}" for seed, why in sorted(failures))


@pytest.mark.parametrize("seed", range(0, 60, 5))
def test_a_seed_is_a_run(seed: int) -> None:
    """Replaying it brings the same events in the same order, to the last digit of their times."""
    first, second = list[str](), list[str]()

    run(seed, tell=first.append)
    run(seed, tell=second.append)

    assert first == second
    assert len(first) > 5


HAPPENINGS = (
    "dies",
    "freezes",
    "is told to end",
    "the group rebalances",
    "the broker is away",
    "the clock of",
    "begins at",
    "fenced: another worker",
    "a range was lost on the way",
    "the last range of",
    "lane resumed",
    "lane leaves",
    "snapshot loaded",
    "standing by",
    "'standby'",
    "retention has deleted",
    "has a new leader",
    "the coordinators move",
    "no answer of the group's coordinator for a session",
    "the group's coordinator answers again",
    "not claimed: this worker is no member",
    "the lane takes itself over again",
    "is made anew",
    "the lane does not read on",
    "a topic that was made anew is adopted",
    "goes astray by",
    "a worker ends: this worker's clock",
    "are gone",
    "the lane waits for blocks that were there",
    "hears nothing of its group any more",
    "in the midst of a take-over",
    "in the midst of a commit",
    "a broker is restarted",
    "fetching it once more",
    "the ledger records it, and the lane goes on",
)


def test_worlds_are_not_mild() -> None:
    """Some hundred of them have seen everything that can happen, transactions that were aborted half-way included.

    Every invariant holds in each of these as well: `run` raises where one does not.
    """
    why, aborted, checkpoints, bound = "", 0, 0, 0
    for seed in range(TOLD):
        lines: list[str] = []
        broker = run(seed, tell=lines.append).broker
        why += "\n".join(lines)
        observed = [broker.partition("observations", lane).visible() for lane in range(broker.lanes)]
        bound += sum(b'"seer-' in (record.value or b"") for records in observed for record, _ in records)
        ledgers = [broker.partition("ledger", lane) for lane in range(broker.lanes)]
        aborted += sum(batch.fate is Fate.ABORTED for ledger in ledgers for batch in ledger.batches)
        checkpoints += sum(len(broker.partition("checkpoints", lane).visible()) for lane in range(broker.lanes))

    assert [one for one in HAPPENINGS if one not in why] == []
    assert aborted > 5
    assert checkpoints > 300
    assert bound > 50


def test_the_command_replays_a_seed() -> None:
    """What a failure prints runs in the project's folder, and brings the same in every process, however it hashes."""
    _, *arguments = replay(13).split()
    said = [
        subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]

    assert said[0] == said[1]
    assert said[0].splitlines()[-1] == "seed 13: every invariant holds"


def test_the_soak_ends_with_its_result() -> None:
    """How many seeds were run, from which one on, and how many failed."""
    command = [sys.executable, "-m", "tests.simulation.run", "--first", "3", "--seeds", "2", "--processes", "1"]

    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert said.splitlines()[-1].startswith("seeds=2 first=3 failed=0 seconds=")


def test_progress_says_what_is_left() -> None:
    """At the rate of before."""
    line = progress_line(Progress(done=1000, until=900, failures=[]), 10_000, 2, 100.0)

    assert line == "1000 of 10000 seeds, 10.0 a second, 2 failed, 0:15:00 left"


def test_a_slice_that_is_not_done_is_where_to_go_on() -> None:
    """Slices end in any order: what comes after the first gap is run again."""
    may_end = threading.Event()

    def run_slice(first: int, past: int) -> list[Failure]:
        if first:
            return []
        may_end.wait(10)
        return [(7, "why")]

    with ThreadPoolExecutor(2) as threads, patch.object(seeds, "run_slice", run_slice):
        progress = run_range(0, 60, threads)
        first = next(progress)
        may_end.set()
        rest = list(progress)

    assert first.until == 0
    assert (rest[-1].done, rest[-1].until) == (60, 60)
    assert [failure for one in rest for failure in one.failures] == [(7, "why")]
