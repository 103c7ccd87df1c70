"""The clocks, as everything outside the pure core reads them, and what a broker said of its own."""

from __future__ import annotations

import time
from typing import NamedTuple


class BrokerTime(NamedTuple):
    """A broker's own time for a record.

    Attributes:
        node: the broker's number.
        appended_at: what it gave the record, Unix ms.
        sent, answered: between which monotonic instants of this machine it did so, milliseconds.
    """

    node: int
    appended_at: int
    sent: int
    answered: int


def now_ms() -> int:
    """The wall clock in Unix milliseconds."""
    return time.time_ns() // 1_000_000


def monotonic_ms() -> int:
    """Milliseconds since whenever; nobody can set this clock."""
    return time.monotonic_ns() // 1_000_000
