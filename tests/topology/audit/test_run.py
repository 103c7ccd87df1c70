"""Processes of an audit: they end with whoever started them, and one that is killed is told in one sentence."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from audited_lanes import World

from sluice.codecs.errors import SluiceError
from sluice.topology.audit import run
from sluice.topology.audit.run import AuditRequest, audit
from sluice.topology.settings.settings import Settings

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

PATIENCE = 20.0
AUDITING = """
import asyncio, sys
from pathlib import Path
from sluice.topology.audit import run
from sluice.topology.settings.settings import Settings

async def main() -> None:
    async with run._crew(run.AuditRequest(Settings(), processes=3), range(3)):
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


def children_of(parent: int) -> list[int]:
    """The processes that a process has started and that run."""
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def runs(process: int) -> bool:
    """Whether it runs; one that has ended and that nobody has asked about does not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_processes_end_with_the_one_that_started_them(by: signal.Signals):
    """However it ends: nobody else would ever end them."""
    with subprocess.Popen([sys.executable, "-c", AUDITING], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"
        children = children_of(parent.pid)
        assert len(children) == 3
        parent.send_signal(by)
        parent.wait(PATIENCE)
    try:
        end = time.monotonic() + PATIENCE
        while (left := [child for child in children if runs(child)]) and time.monotonic() < end:
            time.sleep(0.05)
        assert left == []
    finally:
        for child in children:
            if runs(child):
                os.kill(child, signal.SIGKILL)


def test_a_process_that_is_killed_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """It says nothing about the ledger: the exit status is not that of what does not hold."""
    folder = World().save(tmp_path)

    others = multiprocessing.active_children()

    async def read(_: Any) -> None:
        for child in multiprocessing.active_children():
            if child not in others and child.pid is not None:
                os.kill(child.pid, signal.SIGKILL)

    monkeypatch.setattr(run.Signed, "read", read)  # the processes have been started by then
    with pytest.raises(SluiceError, match=r"a process of the audit was killed.*memory") as caught:
        asyncio.run(audit(AuditRequest(Settings(), folder, processes=2), "now"))

    assert caught.value.exit_status == 2


DEAF = """
import asyncio, signal, sys
from pathlib import Path
from sluice.topology.audit import run
from sluice.topology.settings.settings import Settings

async def main() -> None:
    async with run._crew(run.AuditRequest(Settings(), Path(sys.argv[2]), processes=2), range(2)):
        await asyncio.sleep(0.3)  # what the children inherit is at work in them
        raise RuntimeError("the cut failed")

signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == "ignored" else lambda *_: None)
asyncio.run(main())
"""


@pytest.mark.parametrize("how", ["ignored", "handled"])
def test_an_audit_that_fails_ends_where_its_program_does_not_end_by_sigterm(how: str, tmp_path: Path):
    """Children inherit what a program does about signals: they wait for lanes, and must be ended all the same."""
    command = [sys.executable, "-c", DEAF, how, str(World().save(tmp_path))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)

    assert "RuntimeError: the cut failed" in done.stderr
