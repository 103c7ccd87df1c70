"""How a worker process ends: in time and with the reason, even where something in it does not let go."""

from __future__ import annotations

import subprocess
import sys

import pytest

HANGS = """
import asyncio, sys
from sluice.codecs.errors import DoesNotHoldError, UnreachableError
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.cli import main
from sluice.topology.settings.settings import Settings
from sluice.topology.engine import worker as processes

class Worker:
    def __init__(self, *given, **named): pass
    async def start(self): self.task = asyncio.create_task(self.hang())
    async def hang(self):
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
    async def wait(self): raise {error}
    async def stop(self): pass

processes.Worker, processes.STOP_SECONDS = Worker, 0.6
processes.run_worker(Settings(), DEFAULT_POLICY)
"""


@pytest.mark.parametrize(
    ("error", "status", "sentence"),
    [
        ('DoesNotHoldError("the ledger does not hold")', 1, "sluice: the ledger does not hold"),
        ('UnreachableError("no broker answers")', 3, "sluice: no broker answers"),
    ],
)
def test_a_worker_that_hangs_as_it_ends_still_says_why(error: str, status: int, sentence: str):
    """A task that no cancelling ends: the process ends all the same, as `ended` would have had it."""
    done = subprocess.run(
        [sys.executable, "-c", HANGS.replace("{error}", error)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == status, done.stderr
    assert done.stderr.splitlines()[-1] == sentence


ENDS = """
from sluice.codecs.errors import DoesNotHoldError
from sluice.streams.policy.policy import DEFAULT_POLICY
from sluice.topology.settings.settings import Settings
from sluice.topology.engine import worker as processes

def fails(*_): raise DoesNotHoldError("a name of a stranger's: \x1b[2J")

processes.run_worker = fails
processes._child(Settings(), DEFAULT_POLICY.document, 0)
"""


def test_one_of_several_says_nothing_that_a_terminal_would_obey():
    """Whatever is in its sentence: as a worker alone does."""
    done = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=60, check=False)

    assert (done.returncode, done.stderr) == (1, "sluice: a name of a stranger's: \\u001b[2J\n")
