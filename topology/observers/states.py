"""What tells whether a file was written since it was read: its times, size and number, as the file system has them.

Two writes in one tick of the clock leave the same times; so a state counts only once it is older than any tick.
"""

from __future__ import annotations

import os
import time
from typing import Final

State = tuple[int, int, int, int, int]
"""Modification and change time in nanoseconds, size, number, device."""
SETTLED_NS: Final = 100_000_000
"""Longer than any file system's tick."""


def state_from(found: os.stat_result) -> State:
    """The state that a file system tells."""
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def state_of(path: str) -> State | None:
    """The state of what stands at a path; None where nothing does."""
    try:
        return state_from(os.stat(path))
    except OSError:
        return None


def is_settled(state: State) -> bool:
    """Whether another write after this state was read would have told other times."""
    return max(state[0], state[1]) + SETTLED_NS < time.time_ns()
