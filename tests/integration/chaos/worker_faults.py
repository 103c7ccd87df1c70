"""What befalls workers: how each fault is done, mended, and seen to have had its effect.

A fault that leaves no trace (nobody noticed the full disk) is a complaint: it would test nothing.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final

from .fleet import CLOCK_STEPS, Fleet, Slot
from .proxy import MEMBERSHIP, Proxy
from .schedule import Fault
from .told import PATIENCE, Told

GOES_ON_SECONDS: Final = 2.0
SNAPPED: Final = "adjudicate"
"""The fold whose lanes have snapshots."""
WRITTEN: Final = "snapshot written"
DISK_FULL: Final = "no snapshot could be written"
DAMAGED: Final = ("not restored from here", "a snapshot is not used")
GIVEN_UP: Final = "no answer of the group's coordinator for a session"
WRONG_CLOCK: Final = "this worker's clock differs from that of most brokers"
HOUR: Final = 3600


def is_snapped(slot: Slot) -> bool:
    """Whether a worker has lanes of which snapshots are taken."""
    return any(fold == SNAPPED for fold, _ in slot.lanes)


class WorkerFaults:
    """Faults of workers, by kind (`doing`).

    Args:
        fleet, proxies: what is hit. Of the fleet, the first slot reaches the brokers through the proxies only.
        lanes: how many there are, of all folds.
        random: where a snapshot is damaged.
        calm: held where brokers must not be hit meanwhile.
        told: the books.
    """

    def __init__(
        self, fleet: Fleet, proxies: Sequence[Proxy], lanes: int, random: Random, calm: asyncio.Lock, told: Told
    ) -> None:
        self._fleet, self._proxies = fleet, proxies
        self._lanes, self._random, self._calm, self._told = lanes, random, calm, told
        self.doing: Mapping[str, Callable[[Fault], Awaitable[None]]] = {
            "kill": self._kill,
            "freeze": self._freeze,
            "network": self._cut,
            "membership": self._lose_coordinator,
            "clock": self._step_clock,
            "disk": self._fill_disk,
            "snapshot": self._damage,
        }

    async def _kill(self, fault: Fault) -> None:
        async with self._fleet.claim(fault.pick) as slot:
            slot.kill()
            slot.back_at = time.monotonic() + fault.seconds
            then = "" if fault.workers is None else f"; {fault.workers} workers from now on"
            self._told.begins("kill", f"SIGKILL of {slot.name}{then}")

    async def _freeze(self, fault: Fault) -> None:
        """SIGSTOP past the session time-out: when it wakes, its lanes are others', and it must write nothing."""
        async with self._fleet.claim(fault.pick, lambda slot: slot.lanes) as slot:
            assert slot.process is not None
            slot.process.send_signal(signal.SIGSTOP)
            self._told.begins("freeze", f"SIGSTOP of {slot.name} for {fault.seconds:.1f} s")
            try:
                moved = await self._until_moved(slot, slot.lanes, fault.seconds)
            finally:
                slot.process.send_signal(signal.SIGCONT)
            self._told.tell(f"SIGCONT of {slot.name}: {moved}")
            await self._goes_on(slot, "SIGCONT")

    async def _until_moved(self, slot: Slot, lanes: frozenset[tuple[str, int]], seconds: float) -> str:
        """Waits so long, and then until others have lanes of a worker that cannot be heard: what it does with them."""
        began = time.monotonic()
        while True:
            await asyncio.sleep(0.5)
            moved, waited = self._fleet.have_moved(lanes, slot), time.monotonic() - began
            if waited >= seconds and moved:
                return f"others have {moved} of its {len(lanes)} lanes after {waited:.1f} s"
            if waited >= seconds + PATIENCE:
                self._told.complain(f"nobody has taken over a lane of {slot.name}")
                return "nobody has its lanes"

    async def _goes_on(self, slot: Slot, what: str) -> None:
        await asyncio.sleep(GOES_ON_SECONDS)
        if not slot.runs:
            self._told.complain(f"{slot.name} did not outlive {what}")

    # ------------------------------------------------------------ its network

    async def _cut(self, fault: Fault) -> None:
        """No word passes between one worker and the brokers, neither way; what was on its way comes late."""
        proxied = self._fleet.slots[0]
        async with self._fleet.claim(0, lambda slot: slot is proxied and slot.lanes) as slot:
            held, lanes = self._held, slot.lanes
            self._cut_proxies()
            self._told.begins("network", f"network of {slot.name} cut for {fault.seconds:.0f} s")
            try:
                moved = await self._until_moved(slot, lanes, fault.seconds)
            finally:
                self._mend_proxies()
            self._told.tell(f"network of {slot.name} is back: {moved}; {self._held - held} bytes come late")
            await self._goes_on(slot, "the cut of its network")

    async def _lose_coordinator(self, fault: Fault) -> None:
        """It reads and writes as before, but the group's coordinator hears nothing of it: it gives its lanes up.

        In the middle of a rebalance its lanes stand already, and it has nothing to say.
        """
        proxied = self._fleet.slots[0]
        async with self._calm, self._fleet.claim(0, lambda slot: slot is proxied and slot.lanes) as slot:
            lanes, before = slot.lanes, slot.log.count(GIVEN_UP)
            self._cut_proxies(MEMBERSHIP)
            self._told.begins("membership", f"{slot.name} loses its coordinator for {fault.seconds:.0f} s")
            try:
                moved = await self._until_moved(slot, lanes, fault.seconds)
            finally:
                self._mend_proxies()
            how = "gave its lanes up by itself" if slot.log.count(GIVEN_UP) > before else "had no lanes that ran"
            self._told.tell(f"{slot.name} {how}: {moved}")
            await self._goes_on(slot, "the loss of its coordinator")

    def _cut_proxies(self, only: Collection[int] = ()) -> None:
        for proxy in self._proxies:
            proxy.cut(only)

    def _mend_proxies(self) -> None:
        for proxy in self._proxies:
            proxy.mend()

    @property
    def _held(self) -> int:
        return sum(proxy.held for proxy in self._proxies)

    # ------------------------------------------------------------ its clock

    async def _step_clock(self, fault: Fault) -> None:
        """It ends, and does not come back to the group until its clock is right.

        A worker that starts while no broker is there ends, whatever its clock says: so none of them is away.
        """
        async with self._calm, self._fleet.claim(fault.pick, lambda slot: slot.lanes) as slot:
            assert slot.process is not None
            slot.expect_end()
            slot.process.send_signal(CLOCK_STEPS)
            self._told.begins("clock", f"the clock of {slot.name} is an hour ahead")
            first = slot.process
            if not await self._told.until(lambda: first.poll() is not None, f"{slot.name} goes on with a wrong clock"):
                return
            if WRONG_CLOCK not in slot.log:
                self._told.complain(f"{slot.name} does not say that its clock is wrong")
            slot.start(clock=HOUR)
            complaint = f"{slot.name} does not see at its start that its clock is wrong"
            await self._comes(slot, lambda: WRONG_CLOCK in slot.log, complaint)
            await asyncio.sleep(fault.seconds)
            if slot.lanes:
                self._told.complain(f"{slot.name} took lanes over with a wrong clock")
            if slot.runs:
                slot.process.send_signal(CLOCK_STEPS)
            self._told.tell(f"{slot.name} ended, waited outside the group, and has its clock set right")
            await self._goes_on(slot, "a clock that is set right")

    # ------------------------------------------------------------ its disk

    async def _fill_disk(self, fault: Fault) -> None:
        """Not a byte more for snapshots: the worker says so and goes on, and writes them again once it can."""
        async with self._fleet.claim(fault.pick, is_snapped) as slot:
            slot.disk.fill()
            self._told.begins("disk", f"full disk of {slot.name}")
            try:
                complaint = f"{slot.name} says nothing of its full disk"
                noticed = lambda: DISK_FULL in slot.log or not is_snapped(slot)  # noqa: E731 -- lanes may have left
                if await self._comes(slot, noticed, complaint):
                    await asyncio.sleep(fault.seconds)
                    if not slot.runs:
                        self._told.complain(f"{slot.name} did not outlive a full disk")
            finally:
                slot.disk.free()
            self._told.tell(f"{slot.name} said so {slot.log.count(DISK_FULL)} times; its disk has room again")
            before, complaint = slot.log.count(WRITTEN), f"{slot.name} writes no snapshots though its disk has room"
            await self._comes(slot, lambda: slot.log.count(WRITTEN) > before or not is_snapped(slot), complaint)

    async def _damage(self, fault: Fault) -> None:
        """A worker whose snapshots are damaged comes back alone, so that it has to look at them: it takes longer."""
        async with self._calm, self._fleet.claim_all() as slots:
            candidates = [slot for slot in slots if any(slot.disk.folder.rglob("*.snapshot"))]
            if not candidates:
                self._told.complain("no worker has a snapshot that could be damaged")
                return
            await asyncio.gather(*(slot.end() for slot in slots))
            slot = candidates[fault.pick % len(candidates)]
            files = sorted(slot.disk.folder.rglob("*.snapshot"))
            for path in files:
                self._flip(path)
            self._told.begins("snapshot", f"{len(files)} snapshots of {slot.name} damaged while all workers are away")
            slot.start()
            complaint = f"{slot.name} does not take over all lanes"
            await self._comes(slot, lambda: len(slot.lanes) >= self._lanes, complaint)
            reported = sum(slot.log.count(words) for words in DAMAGED)
            if not reported:
                self._told.complain(f"{slot.name} says nothing of its damaged snapshots")
            self._told.tell(f"{slot.name} has taken over all lanes, alone, and said {reported} times what it left out")

    def _flip(self, path: Path) -> None:
        """Turns bits anywhere in the file, its length unchanged."""
        data = bytearray(path.read_bytes())
        for _ in range(3):
            data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
        with path.open("r+b") as file:
            file.write(data)

    async def _comes(self, slot: Slot, trace: Callable[[], object], complaint: str) -> bool:
        """Waits for a trace of a fault, and complains where none comes."""
        if not await self._told.until(lambda: trace() or not slot.runs, complaint):
            return False
        if not trace():
            self._told.complain(f"{slot.name} ended where that should be seen: {complaint}")
            return False
        return True
