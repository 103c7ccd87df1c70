"""What all tests of the worker share."""

from __future__ import annotations

import pytest

from sluice.topology.engine import lane


@pytest.fixture(autouse=True)
def no_fold_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folding takes no time but what a test tells: how fast this machine is decides nothing."""
    monkeypatch.setattr(lane.clocks, "thread_time", lambda: 0.0)
