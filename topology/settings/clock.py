"""The wall clock, as everything outside the pure core reads it."""

from __future__ import annotations

import time


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000
