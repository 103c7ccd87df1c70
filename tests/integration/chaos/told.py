"""What was done and what it did not show: the books of a run's faults."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Final

PATIENCE: Final = 240.0
"""So long may the trace of a fault be in coming, on a busy machine."""
LOOK_SECONDS: Final = 0.2


class Told:
    """`done` counts faults by kind; `complaints` is what a fault should have shown, and did not; `take_overs` are the
    seconds of lanes that were taken over while one node stood still.

    Args:
        planned: how many faults there are to be.
        tell: what is done with a line about each.
    """

    def __init__(self, planned: int, tell: Callable[[str], None]) -> None:
        self._planned, self.tell = planned, tell
        self.done: Counter[str] = Counter()
        self.complaints: list[str] = []
        self.take_overs: list[float] = []

    def begins(self, kind: str, what: str) -> None:
        """A fault is done now."""
        self.done[kind] += 1
        self.tell(f"fault {self.done.total()}/{self._planned} {kind}: {what}")

    def complain(self, what: str) -> None:
        """A fault did not show what it should have."""
        self.complaints.append(what)
        self.tell(f"NOT AS IT SHOULD BE: {what}")

    async def until(self, holds: Callable[[], object], complaint: str, seconds: float = PATIENCE) -> bool:
        """Waits until something holds, and complains where that is not so after so many seconds."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():  # noqa: ASYNC110
                    await asyncio.sleep(LOOK_SECONDS)
                return True
        self.complain(complaint)
        return False
