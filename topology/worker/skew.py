"""How far this worker's clock is from the broker's, by the time that the broker gives to each block."""

from __future__ import annotations

from time import monotonic

import structlog

SKEW_MS = 30_000
"""A worker whose clock is so far away from the broker's is not ready: it would decay everything, or nothing."""
TELL_SECONDS = 60.0

log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


class Skew:
    """`milliseconds` is by how much this clock was ahead of the broker's at the last block."""

    def __init__(self) -> None:
        self.milliseconds = 0
        self._reported_at = 0.0

    def judge(self, now: int, appended_at: int | None) -> None:
        """A block was written: the broker gave it the time `appended_at`, if it tells one, and here it is `now`."""
        if appended_at is None:
            return
        self.milliseconds = now - appended_at
        if abs(self.milliseconds) > SKEW_MS and monotonic() - self._reported_at > TELL_SECONDS:
            self._reported_at = monotonic()
            log.error("this worker's clock is far from the broker's: not ready", milliseconds=self.milliseconds)
