"""When the cyclic garbage collector runs: rarely, and between blocks (style.md, «Measured habits»).

Left to itself it halves throughput once the state is large: a full collection walks every live assertion, and those
make no cycles. So a worker process switches it off, and collects itself every so often; what survived is then frozen,
so that a collection only ever walks what came since the last one.
"""

from __future__ import annotations

import gc
from time import monotonic

from .heap import keep_freed

COLLECT_SECONDS = 30.0


class Collector:
    """Owns the process's collector from `start` to `stop`, and its heap for good (`heap.py`).

    Only a process of our own may use it.
    """

    def __init__(self) -> None:
        self._last = monotonic()
        self._running = False

    def start(self) -> None:
        """Switches automatic collection off, and has the C library keep what is let go of."""
        keep_freed()
        gc.disable()
        self._running = True

    def stop(self) -> None:
        """Gives the collector back as Python runs it."""
        if self._running:
            self._running = False
            gc.unfreeze()
            gc.enable()

    def settle(self) -> None:
        """A lane was restored: collects what that left behind, and freezes the state."""
        if self._running:
            gc.collect()
            gc.freeze()
            self._last = monotonic()

    def between_blocks(self) -> None:
        """Collects if it is time; cheap otherwise."""
        if self._running and monotonic() - self._last > COLLECT_SECONDS:
            self.settle()
