"""Does what a schedule says: three tracks beside one another, each fault when it is due or as soon as it can be."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from .fleet import Fleet
from .schedule import KINDS, Fault
from .told import Told

FAULT_SECONDS: Final = 300.0
"""No fault takes so long, unless nobody is there whom it could hit."""


class Faults:
    """All faults of a run.

    Args:
        fleet: whose size SIGKILLs change.
        doing: how each kind is done.
        told: the books.
    """

    def __init__(self, fleet: Fleet, doing: Mapping[str, Callable[[Fault], Awaitable[None]]], told: Told) -> None:
        self._fleet, self._doing, self._told = fleet, doing, told

    async def run(self, plan: list[Fault]) -> None:
        """All of them."""
        began = time.monotonic()
        async with asyncio.TaskGroup() as tracks:
            for track in {kind.track for kind in KINDS.values()}:
                tracks.create_task(self._track(began, [one for one in plan if KINDS[one.kind].track == track]))

    async def _track(self, began: float, plan: list[Fault]) -> None:
        for fault in plan:
            await asyncio.sleep(max(0.0, began + fault.at - time.monotonic()))
            if fault.workers is not None:
                self._fleet.wanted = fault.workers
            try:
                async with asyncio.timeout(FAULT_SECONDS):
                    await self._doing[fault.kind](fault)
            except TimeoutError:
                self._told.complain(f"a fault could not be done within {FAULT_SECONDS:g} s: {fault}")
            except Exception as error:  # noqa: BLE001 -- whatever it is, the run goes on to its verdict
                self._told.complain(f"a fault could not be done: {fault}: {error!r}")
