"""Runs commands of `sluice` in other processes: one against a broker, or many in one interpreter, for speed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from sluice.topology.settings.settings import Settings

SLUICE = [sys.executable, "-c", "from sluice.topology.cli import main; main()"]
"""The command, where it need not be on the PATH."""

_SCRIPT = """
import contextlib, io, json, sys
asked = json.load(sys.stdin)
{prelude}
from sluice.topology.cli import main
for arguments in asked:
    (out, err), status = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2)), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments, prog_name="sluice")
        except SystemExit as end:
            status = end.code or 0
    print(json.dumps([status, *(one.buffer.getvalue().decode() for one in (out, err))]), flush=True)
"""


class Done(NamedTuple):
    """What a command ended with."""

    status: int
    stdout: str
    stderr: str


def variables_of(settings: Settings, **further: str) -> dict[str, str]:
    """The environment of a command that is to use the broker, prefix and application of these settings."""
    ours = {"BROKER": settings.broker, "TOPIC_PREFIX": settings.topic_prefix, "APP_ID": settings.app_id}
    return os.environ | {f"SLUICE_{name}": value for name, value in ours.items()} | further


def run(settings: Settings, *arguments: str, folder: Path | None = None, text: str = "", **variables: str) -> Done:
    """Runs one command to its end.

    Args:
        settings: the broker, prefix and deployment.
        arguments: of the command.
        folder: where it runs; None: here.
        text: on its standard input.
        variables: of its environment, further ones or others.
    """
    done = subprocess.run(
        [*SLUICE, *arguments],
        cwd=folder,
        env=variables_of(settings, **variables),
        input=text,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


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
