"""When the cyclic garbage collector runs: rarely, and between blocks (docs/internals.md).

Left to itself it halves throughput once the state is large: a full collection walks every live assertion, and those
make no cycles. So a worker process switches it off, and collects itself every so often; what survived is then frozen,
so that each collection looks only at the objects made since the last one.

What the C library does with large blocks that were let go of: it keeps them, in a process of our own.

A batch that is unpacked, and an answer of a broker, are blocks of megabytes that live for a moment. glibc gives such a
block back to the kernel, and the next one comes from there again: page by page, each cleared at its first touch. That
was a fifth of an audit's page faults, and a twentieth of its time. The process stays as large as it was at its largest;
what is free in it is used again.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Final

COLLECT_SECONDS = 30.0
SOON_SECONDS = 5.0
"""Lanes that are restored within so long of the last collection wait for the next: where several move at once, each
would walk what the others have made."""
SELDOM: Final = (100_000, 20, 100)
"""Thresholds of the collector for a command that makes much and ends soon."""
SERVICE: Final = (10_000, 10, 20)
"""As `SELDOM`, for one that goes on: a full collection while thousands of records are under way takes 0.4 s."""
TRIM_THRESHOLD: Final = -1
MMAP_THRESHOLD: Final = -3
"""glibc's numbers for what `mallopt` sets (malloc.h)."""
LARGEST: Final = 32 << 20
"""Larger blocks go back: glibc takes no greater threshold where a word has 64 bits."""
NEVER: Final = 2**31 - 1
"""So many bytes must be free at the heap's end before they go back: what an int holds."""
SAID: Final = ("MALLOC_", "glibc.malloc.")
"""What an operator says of the allocator begins so: in names of the environment, and within GLIBC_TUNABLES."""


class Collector:
    """Owns the process's collector from `start` to `stop`, and its heap for good (`keep_freed`).

    Only a process of our own may use it.
    """

    def __init__(self) -> None:
        self._last = monotonic()
        self._running = False

    def start(self) -> None:
        """Switches automatic collection off, and has the C library keep what is let go of.

        What is there is frozen, uncollected: the first lane that is restored would walk all modules.
        """
        keep_freed()
        gc.disable()
        gc.freeze()
        self._running, self._last = True, monotonic()

    def stop(self) -> None:
        """Gives the collector back as Python runs it."""
        if self._running:
            self._running = False
            gc.unfreeze()
            gc.enable()

    def settle(self) -> None:
        """A lane was restored: collects what that left behind, and freezes the state; the first of several, only."""
        if self._running and monotonic() - self._last > SOON_SECONDS:
            self._collect()

    def between_blocks(self) -> None:
        """Collects if it is time; cheap otherwise."""
        if self._running and monotonic() - self._last > COLLECT_SECONDS:
            self._collect()

    def _collect(self) -> None:
        gc.collect()
        gc.freeze()
        self._last = monotonic()


@contextmanager
def seldom_collected(thresholds: tuple[int, int, int] = SELDOM) -> Iterator[None]:
    """Has the collector run seldom, and leave alone what is there already.

    Only a process of our own may use it; one that is forked meanwhile goes on so.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*thresholds)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def keep_freed() -> bool:
    """Has glibc keep blocks of up to `LARGEST` bytes that are let go of; it cannot be taken back.

    Returns:
        Whether it does now. Another C library has its own way, and what the environment says of glibc's stands.
    """
    names, tunables = SAID
    if any(name.startswith(names) for name in os.environ) or tunables in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl; macOS; Windows, which has no library without a name
        return False
    return bool(mallopt(MMAP_THRESHOLD, LARGEST)) and bool(mallopt(TRIM_THRESHOLD, NEVER))
