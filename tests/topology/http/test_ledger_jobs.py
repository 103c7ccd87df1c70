"""Ledgers that are read for people: one at a time, and not for ever."""

import asyncio
import threading

import pytest

from sluice.codecs.errors import DoesNotHoldError, UnreachableError
from sluice.topology.http import ledger_jobs as walks_module
from sluice.topology.http.ledger_jobs import LedgerJobs
from sluice.topology.settings.settings import Settings


class Ledger:
    """A ledger that is read block by block, as slowly as the test likes."""

    def __init__(self, monkeypatch):
        self.blocks, self.read, self.ended = threading.Semaphore(0), 0, threading.Event()
        monkeypatch.setattr(walks_module, "open_logs", lambda _settings: self)
        monkeypatch.setattr(walks_module, "explain", self._explain)

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.ended.set()

    async def _explain(self, _logs, emission_id, _span, _now, progress):
        while self.read < 5:
            self.blocks.acquire(timeout=5)
            self.read += 1
            progress(self.read, 0, 5)
        if emission_id == "em-unknown":
            raise DoesNotHoldError("nothing about it")
        return emission_id


@pytest.fixture
def ledger(monkeypatch):
    return Ledger(monkeypatch)


async def test_one_is_read_at_a_time(ledger):
    """Whoever asks meanwhile is told so; whoever comes later has their turn."""
    walks = LedgerJobs(Settings())
    first = asyncio.create_task(walks.story("em-1", None))
    await asyncio.sleep(0.05)
    with pytest.raises(UnreachableError, match="for somebody else"):
        await walks.story("em-2", None)
    ledger.blocks.release(5)
    assert await first == "em-1"
    ledger.read = 0
    ledger.blocks.release(5)
    assert await walks.story("em-2", None) == "em-2"


async def test_what_takes_too_long_ends_at_its_next_block(ledger):
    """And the next one waits until its thread has really ended: many that take too long are never many threads."""
    walks = LedgerJobs(Settings(), patience=0.1)
    with pytest.raises(UnreachableError, match="longer than can be read here"):
        await walks.story("em-1", None)
    with pytest.raises(UnreachableError, match="for somebody else"):
        await walks.story("em-1", None)
    ledger.blocks.release(1)
    assert await asyncio.to_thread(ledger.ended.wait, 5)
    assert ledger.read == 1


async def test_whoever_leaves_leaves_no_thread(ledger):
    walks = LedgerJobs(Settings())
    asked = asyncio.create_task(walks.story("em-1", None))
    await asyncio.sleep(0.05)
    asked.cancel()
    await asyncio.gather(asked, return_exceptions=True)
    ledger.blocks.release(1)
    assert await asyncio.to_thread(ledger.ended.wait, 5)
    assert ledger.read == 1


async def test_what_does_not_hold_is_told(ledger):
    ledger.blocks.release(5)
    with pytest.raises(DoesNotHoldError, match="nothing about it"):
        await LedgerJobs(Settings()).story("em-unknown", None)
