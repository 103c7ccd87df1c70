"""The regression guard (`make bench-quick`): instructions that the fold takes for a fixed history, not time.

A count of instructions is the same on a loaded machine as on an idle one, so 5 per cent more are a finding and no
noise. What is counted is unsealing, folding and rooting the blocks of `fold.py`'s whole life of an assertion, in a
process of its own with `PYTHONHASHSEED=0`; two counts, of one pass and of several, are taken and subtracted, so that
the interpreter's start, imports and the first pass's specialising are not in the figure. valgrind's callgrind counts,
or `perf stat` where there is no valgrind; figures are stored by architecture, Python version and tool. A figure says
something about one interpreter build: with another of the same version store one anew.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import msgspec

from sluice.streams.policy.policy import PublishedVerdicts

HERE = Path(__file__).parent
EMISSIONS = 170
"""1,400 inputs: valgrind runs code some fifty times slower."""
PASSES = (1, 3)
TOLERANCE = 0.05
SECONDS = 900
ENOUGH, MISSING = 0, 3
COLLECTED = re.compile(r"Collected\s*:\s*(\d+)")


class CountError(Exception):
    """There is no count to be had here; the sentence says why."""


def parse_callgrind(output: str) -> int:
    """The instructions in what callgrind says at its end (`Collected : N`).

    Raises:
        CountError: it says none.
    """
    found = COLLECTED.search(output)
    if found is None:
        raise CountError(f"callgrind gives no count: {_last(output)}")
    return int(found[1])


def parse_perf(output: str) -> int:
    """The instructions in what `perf stat -x,` says (`N,,instructions:u,…`).

    Raises:
        CountError: it says none, as on a virtual machine without counters.
    """
    for line in output.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions") and fields[0].isdigit():
            return int(fields[0])
    raise CountError(f"perf gives no count: {_last(output)}")


def _last(output: str) -> str:
    lines = output.strip().splitlines()
    return lines[-1][:200] if lines else "it says nothing"


def tools() -> dict[str, Any]:
    """The counters of this machine, the better one first: command and parser by name."""
    found: dict[str, Any] = {}
    if shutil.which("valgrind"):
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        found["callgrind"] = (command, parse_callgrind)
    if shutil.which("perf"):
        found["perf"] = (["perf", "stat", "-x,", "-e", "instructions:u"], parse_perf)
    return found


def count(command: list[str], parse: Any, blocks: Path, passes: int) -> int:
    """Instructions of a process that folds the blocks so many times.

    Raises:
        CountError: the counter or the process fails.
    """
    environment = os.environ | {"PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    child = [sys.executable, str(HERE / "instructions.py"), str(blocks), str(passes)]
    try:
        done = subprocess.run(
            [*command, *child], env=environment, capture_output=True, text=True, errors="replace", timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CountError(f"{command[0]} does not come to an end: {error}") from None
    if done.returncode:
        raise CountError(f"{command[0]} fails: {_last(done.stderr)}")
    return parse(done.stderr)


def per_input(told: PublishedVerdicts = "settled") -> tuple[str, float]:
    """The tool that counted, and its instructions an input.

    Args:
        told: what the policy has told on `verdicts`.

    Raises:
        CountError: no tool gives a count.
    """
    from fold import events, make

    inputs = sum(1 for _ in events(EMISSIONS, False))
    complaints = list[str]()
    with tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder:
        blocks = Path(folder) / "blocks"
        blocks.write_bytes(msgspec.msgpack.encode(make(EMISSIONS, early=False, to_the_end=True, told=told)))
        for name, (command, parse) in tools().items():
            try:
                few, many = (count(command, parse, blocks, passes) for passes in PASSES)
            except CountError as error:
                complaints.append(str(error))
                continue
            return name, (many - few) / (PASSES[1] - PASSES[0]) / inputs
    raise CountError("; ".join(complaints) or "there is neither valgrind nor perf (Debian: apt install valgrind)")


def verdict(counted: float, stored: float) -> tuple[bool, str]:
    """Whether a count is within the tolerance of the stored one, and what to say."""
    change = counted / stored - 1
    said = f"{counted:,.0f} instructions an input, {change:+.1%} against the stored {stored:,.0f}"
    if change > TOLERANCE:
        return False, f"{said}: the fold has become slower; find out why, or store the new figure with --quick --update"
    if change < -TOLERANCE:
        return False, f"{said}: the fold has become faster; keep it so: store the new figure with --quick --update"
    return True, said


def guard(results: Path, *, update: bool) -> int:
    """Counts and compares with `instructions.json`, or stores; returns the exit status.

    0: within 5 per cent, or stored. 1: not. 3: nothing counts here, or nothing is stored for this machine's kind.
    """
    try:
        tool, counted = per_input()
    except CountError as error:
        print(f"bench-quick: no count: {error}", file=sys.stderr)
        return MISSING
    kind = f"{platform.machine()} python-{sys.version_info.major}.{sys.version_info.minor} {tool}"
    path = results / "instructions.json"
    stored: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}
    if update:
        stored[kind] = round(counted)
        results.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(stored, indent=2, sort_keys=True) + "\n")
        print(f"{kind}: stored {counted:,.0f} instructions an input")
        return ENOUGH
    if kind not in stored:
        print(
            f"bench-quick: {counted:,.0f} instructions an input, and none stored for {kind}: store them with "
            "--quick --update",
            file=sys.stderr,
        )
        return MISSING
    held, said = verdict(counted, stored[kind])
    print(f"{kind}: {said}")
    return int(not held)


def tell(told: PublishedVerdicts) -> int:
    """Counts under a policy that has so much told on `verdicts`, and compares with nothing; returns the exit status.

    0: counted. 3: nothing counts here.
    """
    try:
        tool, counted = per_input(told)
    except CountError as error:
        print(f"bench-quick: no count: {error}", file=sys.stderr)
        return MISSING
    print(f'{tool}: {counted:,.0f} instructions an input, verdicts = "{told}"')
    return ENOUGH


def child() -> None:
    """What is counted: so many passes over the blocks of a file."""
    from fold import run

    blocks = msgspec.msgpack.decode(Path(sys.argv[1]).read_bytes(), type=list[bytes])
    gc.disable()
    for _ in range(int(sys.argv[2])):
        run(blocks)


if __name__ == "__main__":
    child()
