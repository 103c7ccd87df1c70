"""The one clock of the core: when something was retrieved [C §3].

A running program makes a retrieval, not a fold: no decision of a lane uses this clock. A test or a replay that needs
other times replaces the clock for as long as a `with` lasts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

Clock = Callable[[], int]
"""The present time in Unix milliseconds."""


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


_clock: ContextVar[Clock] = ContextVar("sluice.grounded.clock", default=_wall_clock)


def present() -> int:
    """The present time in Unix milliseconds, by the clock in use."""
    return _clock.get()()


@contextmanager
def using_clock(clock: Clock) -> Generator[None]:
    """Retrievals inside the `with` (its tasks included) are dated by this clock."""
    token = _clock.set(clock)
    try:
        yield
    finally:
        _clock.reset(token)
