"""Runs many commands of `sluice` in one other interpreter: to start one for each costs two seconds of CPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_SCRIPT = """
import contextlib, io, json, sys
asked = json.load(sys.stdin)
{prelude}
from sluice.topology.cli import main
for arguments in asked:
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments, prog_name="sluice")
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([status, out.getvalue(), err.getvalue()]), flush=True)
"""


class Done(NamedTuple):
    """What a command ended with."""

    status: int
    stdout: str
    stderr: str


def run_each(
    commands: Iterable[Sequence[str]], folder: Path, *, prelude: str = "", environment: Mapping[str, str] | None = None
) -> list[Done]:
    """Runs commands one after another, with nothing on standard input.

    Args:
        commands: the arguments of each.
        folder: where they run.
        prelude: Python that comes before sluice is imported.
        environment: None: that of the tests.
    """
    asked = [list(command) for command in commands]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT.format(prelude=prelude)],
        cwd=folder,
        env=environment,
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = [Done(*json.loads(line)) for line in done.stdout.splitlines()]
    assert len(found) == len(asked), done.stderr
    return found
