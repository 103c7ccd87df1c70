"""Flame graphs of where the time goes, a stage each: the live worker, the pure fold, the audit.

    python benchmarks/flames.py [--emissions 35000]

Writes `worker.svg`, `fold.svg` and `audit.svg` into `benchmarks/results/flames/`: py-spy's samples of all threads that
run, 250 a second; any browser opens them. What the compiled core and other extensions do is counted for the Python
function that calls them. Sampling from outside costs the worker a little: look at the shares, not at the rate.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from contestants import SLUICE, Course, environment_with, peers_python, sluice, sluice_environment
from measuring import Result, measure
from usage import children

from sluice.codecs.times import format_time
from sluice.topology.kafka.local_broker import RealBroker

HERE = Path(__file__).parent
FLAMES = HERE / "results" / "flames"
RATE = 250
SECONDS = 600
"""At the most: a stage ends before."""
STAGES = {
    "worker": "A live worker, one process: its event loop and its consumer's thread",
    "fold": "The pure fold: unsealed blocks, their outputs and roots",
    "audit": "An audit of a broker's ledgers and outputs, one process",
}


def spy(target: Path) -> list[str]:
    """The sampler's command line, but for whom it samples."""
    program = str(peers_python().parent / "py-spy")
    more = ["--format", "flamegraph", "--rate", str(RATE), "--threads", "--nonblocking", "--duration", str(SECONDS)]
    return [program, "record", *more, "--output", str(target)]


def sample(target: Path, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
    """Runs a command under the sampler.

    Raises:
        subprocess.CalledProcessError: either fails.
    """
    subprocess.run([*spy(target), "--", *command], env=environment, cwd=folder, check=True, capture_output=True)


@contextmanager
def sampling(target: Path, marked: bytes) -> Iterator[None]:
    """Samples the first child of ours whose command line has this word, from when it is there until it ends."""
    begun: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.05):
            for pid in children(os.getpid()):
                if marked in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                    command, quiet = [*spy(target), "--pid", str(pid)], subprocess.DEVNULL
                    begun.append(subprocess.Popen(command, stdout=quiet, stderr=quiet))
                    return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        for one in begun:
            one.wait(60)


def tidy(target: Path, title: str) -> None:
    """Takes this machine's paths out of a picture, and gives it a title in place of the sampler's command line."""
    svg = re.sub(r'(<text id="title"[^>]*>)[^<]*', rf"\g<1>{title}", target.read_text("utf-8"))
    for path in (f"{HERE.parent}/", f"{sys.prefix}/", f"{sys.base_prefix}/"):
        svg = svg.replace(path, "")
    target.write_text(svg, "utf-8")


def draw(emissions: int) -> None:
    """All three."""
    FLAMES.mkdir(parents=True, exist_ok=True)

    def audit(course: Course, _: Result) -> None:
        command = [*SLUICE, "audit", "--json"]
        sample(FLAMES / "audit.svg", command, environment_with(sluice_environment(course)), course.folder)

    now = format_time(time.time_ns() // 1_000_000)
    peers_python()  # set up before the clock runs
    with RealBroker(heap=1024) as broker, sampling(FLAMES / "worker.svg", b"worker"):
        measure(
            sluice(1),
            broker,
            "flames.",
            emissions=emissions,
            partitions=4,
            now=now,
            tell=lambda *_: None,
            keep=audit,
        )
    fold = [sys.executable, str(HERE / "fold.py"), "--emissions", str(emissions // 4), "--runs", "3"]
    sample(FLAMES / "fold.svg", fold, environment_with({}), HERE)
    for stage, title in STAGES.items():
        tidy(FLAMES / f"{stage}.svg", title)


def main() -> None:
    """Does what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--emissions", type=int, default=35_000)
    draw(parser.parse_args().emissions)


if __name__ == "__main__":
    main()
